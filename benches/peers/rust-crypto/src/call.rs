//! A call on an input and an output, and who makes it over and over.
//!
//! Unsafe is needed for the pointers that the contenders share and for the empty piece of assembly that keeps the compiler from
//! looking through a call.

use std::arch::asm;
use std::marker::PhantomData;

/// Input and output of a call: `length` bytes that may be read and as many that may be written, nobody else's, at the same
/// address or apart.
pub struct Span<'a> {
    input: *const u8,
    output: *mut u8,
    length: usize,
    buffers: PhantomData<&'a mut [u8]>,
}

impl Span<'_> {
    /// Both.
    ///
    /// # Safety
    /// There are `length` bytes at each of them, initialised, for as long as the span lives; nobody else writes the input or touches
    /// the output meanwhile; they are at the same address or do not overlap.
    pub const unsafe fn new(input: *const u8, output: *mut u8, length: usize) -> Self {
        Span { input, output, length, buffers: PhantomData }
    }

    /// Where the input begins.
    #[inline(always)]
    pub fn input(&self) -> *const u8 {
        self.input
    }

    /// Where the output begins.
    #[inline(always)]
    pub fn output(&self) -> *mut u8 {
        self.output
    }

    /// Bytes of each.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length
    }

    /// As slices.
    #[inline(always)]
    pub fn memory(&mut self) -> Memory<'_> {
        // SAFETY: a span is so many bytes to read and to write, nobody else's, at the same address or apart.
        unsafe {
            let to = std::slice::from_raw_parts_mut(self.output, self.length);
            if self.input == self.output.cast_const() {
                Memory::InPlace(to)
            } else {
                Memory::Apart(std::slice::from_raw_parts(self.input, self.length), to)
            }
        }
    }

    /// The same, of which the compiler knows nothing, nor of what is in memory and in `state`. Costs no instruction but moves
    /// between registers: each call is one that a program makes, with all that it has to load and check.
    #[inline(always)]
    fn opaque<S>(&mut self, state: &mut S) -> Span<'_> {
        let (mut input, mut output, mut length) = (self.input, self.output, self.length);
        // SAFETY: there is nothing in it; the registers keep their values.
        unsafe {
            asm!(
                "/* {} {} {} {} */",
                in(reg) std::ptr::from_mut(state),
                inout(reg) input,
                inout(reg) output,
                inout(reg) length,
                options(nostack, preserves_flags)
            );
        }
        Span { input, output, length, buffers: PhantomData }
    }
}

/// The memory of a call.
pub enum Memory<'a> {
    /// Input and output.
    Apart(&'a [u8], &'a mut [u8]),
    /// Both in one.
    InPlace(&'a mut [u8]),
}

/// Somebody with a key and, where the mode has one, a chain that goes on from call to call.
pub trait Contender {
    /// Calls it so many times on the whole of the buffers.
    fn repeat(&mut self, span: Span<'_>, calls: u32);
}

struct Each<S, F> {
    state: S,
    call: F,
}

impl<S, F: FnMut(&mut S, Span<'_>)> Contender for Each<S, F> {
    fn repeat(&mut self, mut span: Span<'_>, calls: u32) {
        for _ in 0..calls {
            let call = span.opaque(&mut self.state);
            (self.call)(&mut self.state, call);
        }
    }
}

/// A contender with this state that does this in each call. The loop around it is compiled for it alone, as if the call stood in
/// a program of its own.
pub fn each<S: 'static, F: FnMut(&mut S, Span<'_>) + 'static>(state: S, call: F) -> Box<dyn Contender> {
    Box::new(Each { state, call })
}
