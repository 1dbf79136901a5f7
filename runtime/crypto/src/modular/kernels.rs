//! Montgomery products and woven tables, as safe methods on slices of 64-bit limbs: the one place here where an entry is called.
//! Whoever breaks a contract meets an assertion.

use kiln_kernels::catalogue::{Entry, Word};
use kiln_kernels::{mont, table};
use kiln_runtime::dispatch::LazySlots;

/// The most limbs of a modulus.
pub const MAX_LIMBS: usize = 128;

/// A kernel that is tuned at its first use.
struct Tuned {
    slots: LazySlots,
    call: unsafe fn(Entry, &[Word]) -> u64,
}

impl Tuned {
    /// Calls the function that serves `n` now; the first call tunes the kernel.
    ///
    /// # Safety
    /// `words` are the arguments of the kernel's contract in its order, with valid pointers that overlap only as it allows,
    /// and n in its range.
    #[inline]
    unsafe fn run(&'static self, n: usize, words: &[Word]) {
        let entry = self.slots.get().entry_for(n as u64);
        // SAFETY: `slots` and `call` are of one kernel, since `kernels!` alone makes a `Tuned`. The slots of a kernel hold its
        // portable function, its reference or one that was found eligible and right on this CPU, and `entry_for(n)` gives one
        // that serves n; the words are as the contract says by this function's own condition.
        unsafe { (self.call)(entry, words) };
    }
}

macro_rules! kernels {
    ($($static:ident = $family:ident::$kernel:ident $module:ident;)*) => {
        $(static $static: Tuned = Tuned { slots: LazySlots::new(&$family::$kernel), call: $family::$module::call };)*
    };
}

kernels! {
    MUL = mont::MONT_MUL mont_mul;
    SQUARE = mont::MONT_SQUARE mont_square;
    REDUCE = mont::MONT_REDUCE mont_reduce;
    STORE_WORD64_X16 = table::TABLE_STORE_WORD64_X16 table_store_word64_x16;
    STORE_WORD64_X32 = table::TABLE_STORE_WORD64_X32 table_store_word64_x32;
    STORE_VECTOR_X16 = table::TABLE_STORE_VECTOR_X16 table_store_vector_x16;
    STORE_VECTOR_X32 = table::TABLE_STORE_VECTOR_X32 table_store_vector_x32;
    STORE_WORD32_X32 = table::TABLE_STORE_WORD32_X32 table_store_word32_x32;
    STORE_BYTE_X32 = table::TABLE_STORE_BYTE_X32 table_store_byte_x32;
    READ_WORD64_X16 = table::TABLE_READ_WORD64_X16 table_read_word64_x16;
    READ_WORD64_X32 = table::TABLE_READ_WORD64_X32 table_read_word64_x32;
    READ_VECTOR_X16 = table::TABLE_READ_VECTOR_X16 table_read_vector_x16;
    READ_VECTOR_X32 = table::TABLE_READ_VECTOR_X32 table_read_vector_x32;
    READ_WORD32_X32 = table::TABLE_READ_WORD32_X32 table_read_word32_x32;
    READ_BYTE_X32 = table::TABLE_READ_BYTE_X32 table_read_byte_x32;
}

fn output(limbs: &mut [u64]) -> Word {
    Word { pointer: limbs.as_mut_ptr().cast() }
}

fn input(limbs: &[u64]) -> Word {
    // A kernel only reads through the pointer of an input.
    Word { pointer: limbs.as_ptr().cast::<u8>().cast_mut() }
}

fn count(limbs: usize) -> Word {
    Word { integer: limbs as u64 }
}

/// The modulus of the kernels: -m^-1 mod B, then the n limbs of an odd m.
#[derive(Clone, Copy)]
pub struct Parts<'a>(&'a [u64]);

impl<'a> Parts<'a> {
    /// # Panics
    /// When there are not 1 to [`MAX_LIMBS`] limbs of m. Whether the first limb belongs to it is the caller's word: a wrong one
    /// gives numbers that mean nothing.
    pub fn new(limbs: &'a [u64]) -> Parts<'a> {
        assert!((2..=MAX_LIMBS + 1).contains(&limbs.len()));
        Parts(limbs)
    }

    fn limbs(self) -> usize {
        self.0.len() - 1
    }
}

/// r := a * b / R mod m, below m; a and b are below m, t has 4n limbs.
#[inline]
pub fn mul(r: &mut [u64], a: &[u64], b: &[u64], m: Parts<'_>, t: &mut [u64]) {
    let n = m.limbs();
    assert!(r.len() == n && a.len() == n && b.len() == n && t.len() >= 4 * n);
    // SAFETY: `r` and `t` are exclusive, n and 4n limbs; `a`, `b` and `m` are apart from both, with n, n and n + 1 limbs; n is
    // in 1..=65536 by the bound in `Parts::new`.
    unsafe { MUL.run(n, &[output(r), input(a), input(b), input(m.0), count(n), output(t)]) };
}

/// r := r * b / R mod m.
#[inline]
pub fn mul_in_place(r: &mut [u64], b: &[u64], m: Parts<'_>, t: &mut [u64]) {
    let n = m.limbs();
    assert!(r.len() == n && b.len() == n && t.len() >= 4 * n);
    let r = output(r);
    // SAFETY: as in `mul`, with `a` equal to `r`, which the contract allows.
    unsafe { MUL.run(n, &[r, r, input(b), input(m.0), count(n), output(t)]) };
}

/// r := a^2 / R mod m, below m; a is below m, t has 4n limbs.
#[inline]
pub fn square(r: &mut [u64], a: &[u64], m: Parts<'_>, t: &mut [u64]) {
    let n = m.limbs();
    assert!(r.len() == n && a.len() == n && t.len() >= 4 * n);
    // SAFETY: `r` and `t` are exclusive, n and 4n limbs; `a` and `m` are apart from both, with n and n + 1 limbs.
    unsafe { SQUARE.run(n, &[output(r), input(a), input(m.0), count(n), output(t)]) };
}

/// r := r^2 / R mod m.
#[inline]
pub fn square_in_place(r: &mut [u64], m: Parts<'_>, t: &mut [u64]) {
    let n = m.limbs();
    assert!(r.len() == n && t.len() >= 4 * n);
    let r = output(r);
    // SAFETY: as in `square`, with `a` equal to `r`, which the contract allows.
    unsafe { SQUARE.run(n, &[r, r, input(m.0), count(n), output(t)]) };
}

/// r := x / R mod m, below m; x has 2n limbs and is below m R, t has 2n limbs.
#[inline]
pub fn reduce(r: &mut [u64], x: &[u64], m: Parts<'_>, t: &mut [u64]) {
    let n = m.limbs();
    assert!(r.len() == n && x.len() == 2 * n && t.len() >= 2 * n);
    // SAFETY: `r` and `t` are exclusive, n and 2n limbs; `x` and `m` are apart from both, with 2n and n + 1 limbs.
    unsafe { REDUCE.run(n, &[output(r), input(x), input(m.0), count(n), output(t)]) };
}

/// How the powers of a window lie in memory. Which is fastest is a matter of the CPU; reading one touches all bytes of all,
/// whatever the layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weave {
    /// 16 entries, limb beside limb.
    Word64X16,
    /// 16 entries, four limbs beside four limbs.
    VectorX16,
    /// 32 entries, limb beside limb.
    Word64X32,
    /// 32 entries, four limbs beside four limbs.
    VectorX32,
    /// 32 entries, 32 bits beside 32 bits.
    Word32X32,
    /// 32 entries, byte beside byte.
    ByteX32,
}

impl Weave {
    /// All of them.
    pub const ALL: [Weave; 6] =
        [Weave::Word64X16, Weave::VectorX16, Weave::Word64X32, Weave::VectorX32, Weave::Word32X32, Weave::ByteX32];

    /// The word for people and documents.
    pub const fn word(self) -> &'static str {
        match self {
            Weave::Word64X16 => "word64_x16",
            Weave::VectorX16 => "vector_x16",
            Weave::Word64X32 => "word64_x32",
            Weave::VectorX32 => "vector_x32",
            Weave::Word32X32 => "word32_x32",
            Weave::ByteX32 => "byte_x32",
        }
    }

    /// Bits of an index.
    pub const fn window(self) -> usize {
        match self {
            Weave::Word64X16 | Weave::VectorX16 => 4,
            Weave::Word64X32 | Weave::VectorX32 | Weave::Word32X32 | Weave::ByteX32 => 5,
        }
    }

    /// Entries of a table.
    pub const fn entries(self) -> usize {
        1 << self.window()
    }

    /// Weaves entries of n limbs, which lie one after another in `a`.
    pub fn store(self, table: &mut [u64], a: &[u64], n: usize) {
        assert!(n <= MAX_LIMBS && table.len() == self.entries() * n && a.len() == table.len());
        let kernel = match self {
            Weave::Word64X16 => &STORE_WORD64_X16,
            Weave::VectorX16 => &STORE_VECTOR_X16,
            Weave::Word64X32 => &STORE_WORD64_X32,
            Weave::VectorX32 => &STORE_VECTOR_X32,
            Weave::Word32X32 => &STORE_WORD32_X32,
            Weave::ByteX32 => &STORE_BYTE_X32,
        };
        // SAFETY: `table` is exclusive, `a` apart from it, and both have as many limbs as the contract asks for n.
        unsafe { kernel.run(n, &[output(table), input(a), count(n)]) };
    }

    /// The entry with that index, which is below [`entries`](Weave::entries).
    #[inline]
    pub fn read(self, r: &mut [u64], table: &[u64], index: u64) {
        let n = r.len();
        assert!(n <= MAX_LIMBS && table.len() == self.entries() * n);
        let kernel = match self {
            Weave::Word64X16 => &READ_WORD64_X16,
            Weave::VectorX16 => &READ_VECTOR_X16,
            Weave::Word64X32 => &READ_WORD64_X32,
            Weave::VectorX32 => &READ_VECTOR_X32,
            Weave::Word32X32 => &READ_WORD32_X32,
            Weave::ByteX32 => &READ_BYTE_X32,
        };
        // SAFETY: `r` is exclusive, `table` apart from it with as many limbs as the contract asks for n; the index is no address.
        unsafe { kernel.run(n, &[output(r), input(table), count(n), Word { integer: index }]) };
    }
}
