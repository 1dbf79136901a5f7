//! The kernels of the three key sizes, as safe methods on blocks: the one place here where an entry is called. Knows no
//! [`Error`](super::Error): whoever breaks a contract meets an assertion.
//!
//! A kernel has a shape, which is the argument list that it shares with others, and a kind of round keys. An input and an
//! output come as one [`InOutBuf`], which is what the contracts allow: the same memory, or memory that does not overlap.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::transmute;

use cipher::array::{Array, ArraySize};
use cipher::consts::{U16, U24, U32};
use cipher::inout::InOutBuf;
use kiln_kernels::catalogue::{Entry, Kernel, Origin, Variant};
use kiln_kernels::{aes, aes_sliced};
use kiln_runtime::dispatch::LazySlots;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::bundle::Present;

/// A block, as the traits of the crate `cipher` have it.
pub type Block = Array<u8, U16>;

/// A block of a mode's state, as a number, so that it is wiped in one write.
#[derive(Clone)]
pub struct State(u128);

impl State {
    #[inline]
    pub fn new(block: &[u8; 16]) -> State {
        State(u128::from_ne_bytes(*block))
    }

    #[inline]
    pub fn bytes(&self) -> [u8; 16] {
        self.0.to_ne_bytes()
    }

    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8; 16] {
        // SAFETY: the bytes of an exclusive number, each of which may have any value.
        unsafe { &mut *core::ptr::from_mut(&mut self.0).cast() }
    }
}

impl Zeroize for State {
    #[inline]
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Round keys of one kind and one size of the key: wiped when they are dropped.
pub trait Keys: Clone + Zeroize + ZeroizeOnDrop + Send + Sync + 'static {
    /// All zero, to be written by a kernel.
    fn blank() -> Self;
}

/// A kind of round keys: so many bytes, as wide numbers, so that they are wiped in few writes.
macro_rules! round_keys {
    ($(#[$doc:meta])* $name:ident<$count:ident>($numbers:ty, $blank:expr), aligned to $align:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[repr(C, align($align))]
        pub struct $name<const $count: usize>($numbers);

        impl<const $count: usize> Keys for $name<$count> {
            fn blank() -> Self {
                $name($blank)
            }
        }

        impl<const $count: usize> Zeroize for $name<$count> {
            fn zeroize(&mut self) {
                self.0.zeroize();
            }
        }

        impl<const $count: usize> Drop for $name<$count> {
            fn drop(&mut self) {
                self.zeroize();
            }
        }

        impl<const $count: usize> ZeroizeOnDrop for $name<$count> {}
    };
}

round_keys! {
    /// Round keys as FIPS 197 has them, in the order of their use.
    RoundKeys<COUNT>([u128; COUNT], [0; COUNT]), aligned to 16
}

round_keys! {
    /// Round keys as bitsliced kernels have them, for both directions.
    SlicedKeys<COUNT>([[u64; 8]; COUNT], [[0; 8]; COUNT]), aligned to 8
}

/// The argument list that kernels share.
pub trait Shape {
    /// The type of their entries.
    type Function;
}

/// `(output: 16n, input: 16n or output, n, keys)`.
pub struct Blocks;

impl Shape for Blocks {
    type Function = aes::aes128_ecb_encrypt::Function;
}

/// `(output: 16n STREAMS, input: as much or output, n, keys, iv: 16 STREAMS)`: with an `iv` for each stream.
pub struct Chain<const STREAMS: usize>;

impl<const STREAMS: usize> Shape for Chain<STREAMS> {
    type Function = aes::aes128_cbc_encrypt::Function;
}

/// `(keys, key: N)`.
pub struct Expand<N>(PhantomData<N>);

impl<N> Shape for Expand<N> {
    type Function = aes::aes128_expand_key::Function;
}

/// `(keys, from)`: round keys of one kind from those of another.
pub struct Convert<F>(PhantomData<F>);

impl<F> Shape for Convert<F> {
    type Function = aes::aes128_invert_keys::Function;
}

/// A kernel that is tuned at its first use, and what its round keys are.
pub struct Tuned<S: Shape, K> {
    slots: LazySlots,
    shape: PhantomData<fn(&S, &K)>,
}

/// Who serves a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serves {
    /// Code for this CPU.
    Machine,
    /// Portable code, or the reference.
    Portable,
}

impl<S: Shape, K> Tuned<S, K> {
    /// `function` is the type of the kernel's own entries, which has to be that of the shape.
    const fn new(kernel: &'static Kernel, _function: PhantomData<S::Function>) -> Self {
        Tuned { slots: LazySlots::new(kernel), shape: PhantomData }
    }

    /// The function that serves `n` now; the first call tunes the kernel.
    #[inline]
    fn entry(&self, n: usize) -> Entry {
        self.slots.entry_for(n as u64)
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.slots.get().kernel()
    }

    /// Who serves this `n`; the first call tunes the kernel.
    pub fn serves(&self, n: usize) -> Serves {
        let (kernel, entry) = (self.kernel(), self.entry(n));
        let portable = |variant: &Variant| variant.origin == Origin::Portable && variant.entry == entry;
        // What is none of the shipped functions was made for this CPU at run time.
        if entry == kernel.reference || kernel.variants.iter().any(portable) {
            Serves::Portable
        } else {
            Serves::Machine
        }
    }
}

impl<K: Keys> Tuned<Blocks, K> {
    /// The most blocks of a call.
    const MOST: usize = 67_108_863;

    #[inline]
    pub fn call(&self, blocks: InOutBuf<'_, '_, Block>, keys: &K) {
        if blocks.len() > Self::MOST {
            return self.in_pieces(blocks, keys);
        }
        self.run(self.entry(blocks.len()), blocks, keys);
    }

    /// The same, with what serves now: the kernel is not tuned for it.
    ///
    /// # Panics
    /// When there are more than [`Self::MOST`] blocks.
    pub fn call_untuned(&self, blocks: InOutBuf<'_, '_, Block>, keys: &K) {
        assert!(blocks.len() <= Self::MOST);
        self.run(self.slots.get().present(blocks.len() as u64), blocks, keys);
    }

    /// `entry` is one of this kernel's slots for so many blocks, which are at most [`Self::MOST`].
    #[inline]
    fn run(&self, entry: Entry, blocks: InOutBuf<'_, '_, Block>, keys: &K) {
        let n = blocks.len();
        let (input, output) = blocks.into_raw();
        // SAFETY: `new` was given the kernel and the type of its entries, which is this shape's; the slots of a kernel hold
        // its portable function, its reference or one that was found eligible and right on this CPU, and give one that serves
        // n when they are asked for n. So it is a function of this type and keeps the contract of the kernel.
        let function = unsafe { transmute::<*const c_void, <Blocks as Shape>::Function>(entry.address()) };
        // SAFETY: the contract is that of the shape (a test compares them). An `InOutBuf` of n blocks vouches for 16n bytes
        // that may be read and 16n that are the caller's alone to write, at the same address or apart; n is in range; `K` is
        // as many bytes as the kernel's round keys, aligned as they are.
        unsafe { function(output.cast(), input.cast(), n, core::ptr::from_ref(keys).cast()) }
    }

    #[cold]
    fn in_pieces(&self, mut blocks: InOutBuf<'_, '_, Block>, keys: &K) {
        while !blocks.is_empty() {
            let (piece, rest) = split(blocks, Self::MOST);
            self.call(piece, keys);
            blocks = rest;
        }
    }
}

impl<const STREAMS: usize, K: Keys> Tuned<Chain<STREAMS>, K> {
    /// The most blocks of a stream in a call.
    pub const MOST: usize = if STREAMS == 1 { 67_108_863 } else { 8_388_607 };

    /// The streams are one behind the other and equally long.
    ///
    /// # Panics
    /// When they are not, or there are several and they have more than [`Self::MOST`] blocks.
    #[inline]
    pub fn call(&self, blocks: InOutBuf<'_, '_, Block>, keys: &K, ivs: &mut [[u8; 16]; STREAMS]) {
        let n = blocks.len() / STREAMS;
        if n > Self::MOST {
            return self.in_pieces(blocks, keys, ivs);
        }
        assert!(STREAMS == 1 || n * STREAMS == blocks.len(), "equally long streams");
        let (input, output) = blocks.into_raw();
        // SAFETY: as in `Tuned<Blocks, _>::run`.
        let function =
            unsafe { transmute::<*const c_void, <Chain<STREAMS> as Shape>::Function>(self.entry(n).address()) };
        // SAFETY: as in `Tuned<Blocks, _>::run`, with n blocks for each of the streams, which are all blocks that there are;
        // `ivs` is 16 bytes for each of them, exclusive, hence apart from the rest.
        unsafe {
            function(output.cast(), input.cast(), n, core::ptr::from_ref(keys).cast(), ivs.as_mut_ptr().cast());
        }
    }

    /// Groups of streams of n blocks, one group behind the other, until fewer streams are left than are worked on at once; and
    /// what is left. Streams that are too long for this are all left.
    pub fn call_groups<'i, 'o, 'v>(
        &self,
        mut blocks: InOutBuf<'i, 'o, Block>,
        n: usize,
        keys: &K,
        ivs: &'v mut [[u8; 16]],
    ) -> (InOutBuf<'i, 'o, Block>, &'v mut [[u8; 16]]) {
        if STREAMS > 1 && n > Self::MOST {
            return (blocks, ivs);
        }
        let (groups, left) = ivs.as_chunks_mut();
        for ivs in groups {
            let (own, behind) = blocks.split_at(STREAMS * n);
            self.call(own, keys, ivs);
            blocks = behind;
        }
        (blocks, left)
    }

    #[cold]
    fn in_pieces(&self, mut blocks: InOutBuf<'_, '_, Block>, keys: &K, ivs: &mut [[u8; 16]; STREAMS]) {
        // A piece of several streams is not one piece of memory.
        assert!(STREAMS == 1, "streams of at most {} blocks", Self::MOST);
        while !blocks.is_empty() {
            let (piece, rest) = split(blocks, Self::MOST);
            self.call(piece, keys, ivs);
            blocks = rest;
        }
    }
}

/// The first so many, or all, and what is left.
fn split<'i, 'o, T>(blocks: InOutBuf<'i, 'o, T>, at: usize) -> (InOutBuf<'i, 'o, T>, InOutBuf<'i, 'o, T>) {
    let at = at.min(blocks.len());
    blocks.split_at(at)
}

impl<N: ArraySize, K: Keys> Tuned<Expand<N>, K> {
    /// The round keys of a key.
    pub fn call(&self, key: &Array<u8, N>) -> K {
        let mut keys = K::blank();
        // SAFETY: as in `Tuned<Blocks, _>::run`.
        let function = unsafe { transmute::<*const c_void, <Expand<N> as Shape>::Function>(self.entry(0).address()) };
        // SAFETY: `keys` is a local of as many bytes as the kernel writes, aligned as they are; the key is as long as those of
        // the kernel.
        unsafe { function(core::ptr::from_mut(&mut keys).cast(), key.as_ptr()) };
        keys
    }
}

impl<F: Keys, K: Keys> Tuned<Convert<F>, K> {
    /// Round keys from others.
    pub fn call(&self, from: &F) -> K {
        let mut keys = K::blank();
        // SAFETY: as in `Tuned<Blocks, _>::run`.
        let function = unsafe { transmute::<*const c_void, <Convert<F> as Shape>::Function>(self.entry(0).address()) };
        // SAFETY: `keys` is a local of as many bytes as the kernel writes, and `from` as many as it reads, each aligned as it
        // asks; they cannot overlap.
        unsafe { function(core::ptr::from_mut(&mut keys).cast(), core::ptr::from_ref(from).cast()) };
        keys
    }
}

/// The type of a kernel, by its shape and the round keys that it takes.
macro_rules! tuned {
    (Blocks $size:ty) => { Tuned<Blocks, <$size as Size>::RoundKeys> };
    (Chain $size:ty) => { Tuned<Chain<1>, <$size as Size>::RoundKeys> };
    (Chain2 $size:ty) => { Tuned<Chain<2>, <$size as Size>::RoundKeys> };
    (Chain4 $size:ty) => { Tuned<Chain<4>, <$size as Size>::RoundKeys> };
    (Chain8 $size:ty) => { Tuned<Chain<8>, <$size as Size>::RoundKeys> };
    (Expand $size:ty) => { Tuned<Expand<<$size as Size>::KeySize>, <$size as Size>::RoundKeys> };
    (SlicedBlocks $size:ty) => { Tuned<Blocks, <$size as Size>::SlicedKeys> };
    (SlicedChain $size:ty) => { Tuned<Chain<1>, <$size as Size>::SlicedKeys> };
    (Slice $size:ty) => { Tuned<Convert<<$size as Size>::RoundKeys>, <$size as Size>::SlicedKeys> };
    (Invert $size:ty) => { Tuned<Convert<<$size as Size>::RoundKeys>, <$size as Size>::RoundKeys> };
}

/// The kernels of each key size. They are in no public module, so that [`Size`] is sealed.
///
/// Each kernel has a static of its own: a program contains, and tunes, those that it calls.
macro_rules! kernels {
    ($($(#[$doc:meta])* $method:ident: $shape:ident = $family:ident
        $static128:ident $module128:ident, $static192:ident $module192:ident, $static256:ident $module256:ident;)*) => {
        /// A size of the key, with the kernels for it.
        pub trait Size: Send + Sync + 'static {
            /// Name of the cipher.
            const NAME: &'static str;
            /// Bits of the key.
            const BITS: u32;
            /// Bytes of the key.
            type KeySize: ArraySize;
            /// Its round keys.
            type RoundKeys: Keys;
            /// The same, for bitsliced kernels.
            type SlicedKeys: Keys;
            /// Which of the two new keys work with.
            fn present() -> &'static Present;
            $($(#[$doc])* fn $method() -> &'static tuned!($shape Self);)*
        }
        kernels! { Bits128, "Aes128", 128, U16, 11: $($method: $shape = $family $static128 $module128;)* }
        kernels! { Bits192, "Aes192", 192, U24, 13: $($method: $shape = $family $static192 $module192;)* }
        kernels! { Bits256, "Aes256", 256, U32, 15: $($method: $shape = $family $static256 $module256;)* }
    };
    ($size:ident, $name:literal, $bits:literal, $bytes:ident, $round_keys:literal:
        $($method:ident: $shape:ident = $family:ident $static:ident $module:ident;)*) => {
        impl Size for $size {
            const NAME: &'static str = $name;
            const BITS: u32 = $bits;
            type KeySize = $bytes;
            type RoundKeys = RoundKeys<$round_keys>;
            type SlicedKeys = SlicedKeys<$round_keys>;

            #[inline]
            fn present() -> &'static Present {
                static PRESENT: Present = Present::new();
                &PRESENT
            }

            $(#[inline]
            fn $method() -> &'static tuned!($shape $size) {
                static TUNED: tuned!($shape $size) = Tuned::new(&$family::$static, PhantomData::<$family::$module::Function>);
                &TUNED
            })*
        }
    };
}

kernels! {
    /// Each block by itself.
    ecb_encrypt: Blocks = aes
        AES128_ECB_ENCRYPT aes128_ecb_encrypt, AES192_ECB_ENCRYPT aes192_ecb_encrypt, AES256_ECB_ENCRYPT aes256_ecb_encrypt;
    /// Each block by itself, with the keys of the inverse cipher.
    ecb_decrypt: Blocks = aes
        AES128_ECB_DECRYPT aes128_ecb_decrypt, AES192_ECB_DECRYPT aes192_ecb_decrypt, AES256_ECB_DECRYPT aes256_ecb_decrypt;
    /// One message.
    cbc_encrypt: Chain = aes
        AES128_CBC_ENCRYPT aes128_cbc_encrypt, AES192_CBC_ENCRYPT aes192_cbc_encrypt, AES256_CBC_ENCRYPT aes256_cbc_encrypt;
    /// Two messages.
    cbc_encrypt_x2: Chain2 = aes
        AES128_CBC_ENCRYPT_X2 aes128_cbc_encrypt_x2, AES192_CBC_ENCRYPT_X2 aes192_cbc_encrypt_x2, AES256_CBC_ENCRYPT_X2 aes256_cbc_encrypt_x2;
    /// Four messages.
    cbc_encrypt_x4: Chain4 = aes
        AES128_CBC_ENCRYPT_X4 aes128_cbc_encrypt_x4, AES192_CBC_ENCRYPT_X4 aes192_cbc_encrypt_x4, AES256_CBC_ENCRYPT_X4 aes256_cbc_encrypt_x4;
    /// Eight messages.
    cbc_encrypt_x8: Chain8 = aes
        AES128_CBC_ENCRYPT_X8 aes128_cbc_encrypt_x8, AES192_CBC_ENCRYPT_X8 aes192_cbc_encrypt_x8, AES256_CBC_ENCRYPT_X8 aes256_cbc_encrypt_x8;
    /// One message, with the keys of the inverse cipher.
    cbc_decrypt: Chain = aes
        AES128_CBC_DECRYPT aes128_cbc_decrypt, AES192_CBC_DECRYPT aes192_cbc_decrypt, AES256_CBC_DECRYPT aes256_cbc_decrypt;
    /// With a counter of 128 bits.
    ctr128: Chain = aes AES128_CTR128 aes128_ctr128, AES192_CTR128 aes192_ctr128, AES256_CTR128 aes256_ctr128;
    /// With a counter of 32 bits.
    ctr32: Chain = aes AES128_CTR32 aes128_ctr32, AES192_CTR32 aes192_ctr32, AES256_CTR32 aes256_ctr32;
    /// The round keys of a key.
    expand_key: Expand = aes
        AES128_EXPAND_KEY aes128_expand_key, AES192_EXPAND_KEY aes192_expand_key, AES256_EXPAND_KEY aes256_expand_key;
    /// The round keys of the inverse cipher from those of the cipher.
    invert_keys: Invert = aes
        AES128_INVERT_KEYS aes128_invert_keys, AES192_INVERT_KEYS aes192_invert_keys, AES256_INVERT_KEYS aes256_invert_keys;
    /// Each block by itself, with sliced keys.
    sliced_ecb_encrypt: SlicedBlocks = aes_sliced
        AES128_SLICED_ECB_ENCRYPT aes128_sliced_ecb_encrypt,
        AES192_SLICED_ECB_ENCRYPT aes192_sliced_ecb_encrypt,
        AES256_SLICED_ECB_ENCRYPT aes256_sliced_ecb_encrypt;
    /// Each block by itself, with sliced keys.
    sliced_ecb_decrypt: SlicedBlocks = aes_sliced
        AES128_SLICED_ECB_DECRYPT aes128_sliced_ecb_decrypt,
        AES192_SLICED_ECB_DECRYPT aes192_sliced_ecb_decrypt,
        AES256_SLICED_ECB_DECRYPT aes256_sliced_ecb_decrypt;
    /// One message, with sliced keys.
    sliced_cbc_encrypt: SlicedChain = aes_sliced
        AES128_SLICED_CBC_ENCRYPT aes128_sliced_cbc_encrypt,
        AES192_SLICED_CBC_ENCRYPT aes192_sliced_cbc_encrypt,
        AES256_SLICED_CBC_ENCRYPT aes256_sliced_cbc_encrypt;
    /// One message, with sliced keys.
    sliced_cbc_decrypt: SlicedChain = aes_sliced
        AES128_SLICED_CBC_DECRYPT aes128_sliced_cbc_decrypt,
        AES192_SLICED_CBC_DECRYPT aes192_sliced_cbc_decrypt,
        AES256_SLICED_CBC_DECRYPT aes256_sliced_cbc_decrypt;
    /// With a counter of 128 bits and sliced keys.
    sliced_ctr128: SlicedChain = aes_sliced
        AES128_SLICED_CTR128 aes128_sliced_ctr128,
        AES192_SLICED_CTR128 aes192_sliced_ctr128,
        AES256_SLICED_CTR128 aes256_sliced_ctr128;
    /// With a counter of 32 bits and sliced keys.
    sliced_ctr32: SlicedChain = aes_sliced
        AES128_SLICED_CTR32 aes128_sliced_ctr32,
        AES192_SLICED_CTR32 aes192_sliced_ctr32,
        AES256_SLICED_CTR32 aes256_sliced_ctr32;
    /// Sliced keys of round keys.
    slice_keys: Slice = aes_sliced
        AES128_SLICED_SLICE_KEYS aes128_sliced_slice_keys,
        AES192_SLICED_SLICE_KEYS aes192_sliced_slice_keys,
        AES256_SLICED_SLICE_KEYS aes256_sliced_slice_keys;
}

/// Keys of 128 bits.
pub enum Bits128 {}

/// Keys of 192 bits.
pub enum Bits192 {}

/// Keys of 256 bits.
pub enum Bits256 {}

#[cfg(test)]
mod tests;
