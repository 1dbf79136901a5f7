//! The kernels of both limb sizes, as safe methods on slices: the one place here where an entry is called. Knows no
//! [`Error`](super::Error): whoever breaks a contract meets an assertion.
//!
//! A kernel has a shape, which is the argument list that it shares with others; the method of its shape turns slices into
//! the words of a call. Slices that a method takes as `&mut` overlap no other, as Rust promises; where a contract allows the
//! same pointer for an output and an input, the input is [`Input::Output`]. Two inputs may overlap in any way, for a kernel
//! only reads them.

use core::marker::PhantomData;

use kiln_kernels::catalogue::{Entry, Word};
use kiln_kernels::limb;
use kiln_runtime::dispatch::LazySlots;
use subtle::ConstantTimeLess;
use zeroize::DefaultIsZeroes;

use super::MAX_LIMBS;

/// A kernel that is tuned at its first use.
pub struct Tuned<L, Shape> {
    slots: &'static LazySlots,
    call: unsafe fn(Entry, &[Word]) -> u64,
    shape: PhantomData<(L, Shape)>,
}

impl<L: Kernels, Shape> Tuned<L, Shape> {
    /// Calls the function that serves `n` now; the first call tunes the kernel.
    ///
    /// # Safety
    /// `words` are the arguments of the kernel's contract in its order, with valid pointers that overlap only as it allows
    /// and counts in its range; `n` is the first count, and 0 for a contract without one.
    #[inline]
    unsafe fn run(&self, n: usize, words: &[Word]) -> L {
        let entry = self.slots.get().entry_for(n as u64);
        // SAFETY: `slots` and `call` are of one kernel, since `kernels!` alone makes a `Tuned`. The slots of a kernel hold
        // its portable function, its reference or one that was found eligible and right on this CPU, and `entry_for(n)`
        // gives one that serves n; the words are as the contract says by this function's own condition.
        L::from_word(unsafe { (self.call)(entry, words) })
    }
}

fn output<L>(limbs: &mut [L]) -> Word {
    Word { pointer: limbs.as_mut_ptr().cast() }
}

fn input<L>(limbs: &[L]) -> Word {
    // A kernel only reads through the pointer of an input.
    Word { pointer: limbs.as_ptr().cast::<u8>().cast_mut() }
}

fn count(limbs: usize) -> Word {
    Word { integer: limbs as u64 }
}

/// The input of a kernel that works in place or out of place.
#[derive(Clone, Copy)]
pub enum Input<'a, L> {
    /// What is in the output before the call.
    Output,
    /// Other memory.
    Apart(&'a [L]),
}

impl<L> Input<'_, L> {
    /// The word of this input, which has as many limbs as the `output`.
    ///
    /// # Panics
    /// When it has not.
    #[inline]
    fn word(self, output: Word, limbs: usize) -> Word {
        match self {
            Input::Output => output,
            Input::Apart(own) => {
                assert_eq!(own.len(), limbs, "an input is as long as the output");
                input(own)
            }
        }
    }
}

/// `(r: n, a: n or r, n, w)`, and returns a limb.
pub struct RowByLimb;

impl<L: Kernels> Tuned<L, RowByLimb> {
    #[inline]
    pub fn call(&self, r: &mut [L], a: Input<'_, L>, w: L) -> L {
        let n = r.len();
        assert!(n <= MAX_LIMBS);
        let r = output(r);
        let a = a.word(r, n);
        // SAFETY: `r` is exclusive and of n limbs; `a` is the same pointer, which the contract allows, or n limbs apart.
        unsafe { self.run(n, &[r, a, count(n), w.to_word()]) }
    }
}

/// `(r: n, a: n or r, b: n or r or a, n)`, and returns a limb.
pub struct TwoRows;

impl<L: Kernels> Tuned<L, TwoRows> {
    #[inline]
    pub fn call(&self, r: &mut [L], a: Input<'_, L>, b: Input<'_, L>) -> L {
        let n = r.len();
        assert!(n <= MAX_LIMBS);
        let r = output(r);
        let (a, b) = (a.word(r, n), b.word(r, n));
        // SAFETY: `r` is exclusive and of n limbs; `a` and `b` are each the same pointer, which the contract allows, or n
        // limbs apart from it.
        unsafe { self.run(n, &[r, a, b, count(n)]) }
    }
}

/// `(r: n + more, a: n, n, more, w)`, and returns a limb.
pub struct LongByLimb;

impl<L: Kernels> Tuned<L, LongByLimb> {
    #[inline]
    pub fn call(&self, r: &mut [L], a: &[L], w: L) -> L {
        let n = a.len();
        assert!(n <= MAX_LIMBS && r.len() >= n && r.len() - n <= MAX_LIMBS);
        let more = r.len() - n;
        // SAFETY: `r` is exclusive and of n + more limbs, `a` is n limbs apart from it; both counts are in range.
        unsafe { self.run(n, &[output(r), input(a), count(n), count(more), w.to_word()]) }
    }
}

/// `(r: 2n + more, a: n, n, more)`, and returns a limb.
pub struct LongBySquares;

impl<L: Kernels> Tuned<L, LongBySquares> {
    #[inline]
    pub fn call(&self, r: &mut [L], a: &[L]) -> L {
        let n = a.len();
        assert!(n <= MAX_LIMBS && r.len() >= 2 * n && r.len() - 2 * n <= MAX_LIMBS);
        let more = r.len() - 2 * n;
        // SAFETY: `r` is exclusive and of 2n + more limbs, `a` is n limbs apart from it; both counts are in range.
        unsafe { self.run(n, &[output(r), input(a), count(n), count(more)]) }
    }
}

/// `(r: 2n, a: n, b: n or a, n, t: 2n)`.
pub struct Product;

impl<L: Kernels> Tuned<L, Product> {
    #[inline]
    pub fn call(&self, r: &mut [L], a: &[L], b: &[L], scratch: &mut [L]) {
        let n = a.len();
        assert!(n <= MAX_LIMBS && b.len() == n && r.len() == 2 * n && scratch.len() == 2 * n);
        // SAFETY: `r` and the scratch are exclusive and of 2n limbs each, initialised; `a` and `b` are n limbs apart from
        // both.
        unsafe { self.run(n, &[output(r), input(a), input(b), count(n), output(scratch)]) };
    }
}

/// `(r: 2n, a: n, n, t: 2n)`.
pub struct Square;

impl<L: Kernels> Tuned<L, Square> {
    #[inline]
    pub fn call(&self, r: &mut [L], a: &[L], scratch: &mut [L]) {
        let n = a.len();
        assert!(n <= MAX_LIMBS && r.len() == 2 * n && scratch.len() == 2 * n);
        // SAFETY: `r` and the scratch are exclusive and of 2n limbs each, initialised; `a` is n limbs apart from both.
        unsafe { self.run(n, &[output(r), input(a), count(n), output(scratch)]) };
    }
}

/// `(d)` with the top bit of d set, and returns its reciprocal.
pub struct Reciprocal;

impl<L: Kernels> Tuned<L, Reciprocal> {
    #[inline]
    pub fn call(&self, d: L) -> L {
        debug_assert!(d.top_bit());
        // SAFETY: there is no pointer. A divisor outside the domain would give a reciprocal that means nothing.
        unsafe { self.run(0, &[d.to_word()]) }
    }
}

/// `(q: 1, hi, lo, d, v)` with hi < d, the top bit of d set and v its reciprocal; returns the remainder.
pub struct ByReciprocal;

impl<L: Kernels> Tuned<L, ByReciprocal> {
    /// The quotient and the remainder.
    #[inline]
    pub fn call(&self, hi: L, lo: L, d: L, reciprocal: L) -> (L, L) {
        // No assertion in a release: limbs are secret here. The kernels neither branch nor divide, so operands outside the
        // domain would give limbs that mean nothing.
        debug_assert!(d.top_bit() && bool::from(hi.ct_lt(&d)));
        let mut q = [L::default()];
        let words = [output(&mut q), hi.to_word(), lo.to_word(), d.to_word(), reciprocal.to_word()];
        // SAFETY: `q` is one limb of this frame, and the only pointer.
        let remainder = unsafe { self.run(0, &words) };
        (q[0], remainder)
    }
}

/// `(q: 1, hi, lo, d)` with hi < d and the top bit of d set; returns the remainder.
pub struct ByInstruction;

impl<L: Kernels> Tuned<L, ByInstruction> {
    /// The quotient and the remainder.
    #[inline]
    pub fn call(&self, hi: L, lo: L, d: L) -> (L, L) {
        // The instruction faults on a quotient that is too long.
        assert!(d.top_bit() && bool::from(hi.ct_lt(&d)));
        let mut q = [L::default()];
        // SAFETY: `q` is one limb of this frame, and the only pointer; the values are in the domain.
        let remainder = unsafe { self.run(0, &[output(&mut q), hi.to_word(), lo.to_word(), d.to_word()]) };
        (q[0], remainder)
    }
}

/// What the functions of a limb type are made of. It is in no public module, so that [`Limb`](super::Limb) is sealed.
///
/// Each kernel has a static of its own: a program contains, and tunes, those that it calls.
macro_rules! kernels {
    ($($(#[$doc:meta])* $method:ident: $shape:ident = $static64:ident $module64:ident, $static32:ident $module32:ident;)*) => {
        /// The kernels of a limb type, and what their callers ask of a limb.
        pub trait Kernels: Copy + Default + DefaultIsZeroes + ConstantTimeLess {
            /// The limb as an argument.
            fn to_word(self) -> Word;
            /// The limb that a kernel returned.
            fn from_word(word: u64) -> Self;
            /// Whether the top bit is set, without a branch.
            fn top_bit(self) -> bool;
            $($(#[$doc])* fn $method() -> Tuned<Self, $shape>;)*
        }
        kernels! { u64: $($method: $shape = $static64 $module64;)* }
        kernels! { u32: $($method: $shape = $static32 $module32;)* }
    };
    ($limb:ident: $($method:ident: $shape:ident = $static:ident $module:ident;)*) => {
        impl Kernels for $limb {
            #[inline]
            fn to_word(self) -> Word {
                Word { integer: self.into() }
            }

            #[inline]
            fn from_word(word: u64) -> $limb {
                word as $limb
            }

            #[inline]
            fn top_bit(self) -> bool {
                self >> ($limb::BITS - 1) != 0
            }

            $(#[inline]
            fn $method() -> Tuned<$limb, $shape> {
                static SLOTS: LazySlots = LazySlots::new(&limb::$static);
                Tuned { slots: &SLOTS, call: limb::$module::call, shape: PhantomData }
            })*
        }
    };
}

kernels! {
    /// r := a * w.
    mul: RowByLimb = LIMB64_MUL limb64_mul, LIMB32_MUL limb32_mul;
    /// r := r + a * w.
    mul_add: RowByLimb = LIMB64_MUL_ADD limb64_mul_add, LIMB32_MUL_ADD limb32_mul_add;
    /// r := r - a * w.
    mul_sub: RowByLimb = LIMB64_MUL_SUB limb64_mul_sub, LIMB32_MUL_SUB limb32_mul_sub;
    /// r := a + b.
    add: TwoRows = LIMB64_ADD limb64_add, LIMB32_ADD limb32_add;
    /// r := a - b.
    sub: TwoRows = LIMB64_SUB limb64_sub, LIMB32_SUB limb32_sub;
    /// r := r + a * w, with the carry through all of r.
    mul_add_prop: LongByLimb = LIMB64_MUL_ADD_PROP limb64_mul_add_prop, LIMB32_MUL_ADD_PROP limb32_mul_add_prop;
    /// r := r + the squares of the limbs of a, with the carry through all of r.
    sqr_add_prop: LongBySquares = LIMB64_SQR_ADD_PROP limb64_sqr_add_prop, LIMB32_SQR_ADD_PROP limb32_sqr_add_prop;
    /// r := a * b.
    mul_nxn: Product = LIMB64_MUL_NXN limb64_mul_nxn, LIMB32_MUL_NXN limb32_mul_nxn;
    /// r := a^2.
    sqr_n: Square = LIMB64_SQR_N limb64_sqr_n, LIMB32_SQR_N limb32_sqr_n;
    /// The reciprocal of a normalised limb.
    reciprocal: Reciprocal = LIMB64_RECIPROCAL limb64_reciprocal, LIMB32_RECIPROCAL limb32_reciprocal;
    /// Two limbs by one, with the reciprocal.
    div_2by1: ByReciprocal = LIMB64_DIV_2BY1 limb64_div_2by1, LIMB32_DIV_2BY1 limb32_div_2by1;
    /// Two limbs by one, all public.
    div_2by1_public: ByInstruction =
        LIMB64_DIV_2BY1_PUBLIC limb64_div_2by1_public, LIMB32_DIV_2BY1_PUBLIC limb32_div_2by1_public;
}

#[cfg(test)]
mod tests;
