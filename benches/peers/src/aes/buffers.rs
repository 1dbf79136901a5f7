//! Input and output in memory.
//!
//! Unsafe is needed for the pointers that the contenders share.

use kiln_peers_rust_crypto::call::Span;

/// What is in memory that nobody may write.
const CANARY: u8 = 0xa5;
/// How much of it is before and after each buffer, at least.
const MARGIN: usize = 64;
/// How far the output is from the input modulo a page: a multiple of 64, far from 0 both ways, so that no load is taken for
/// one that waits for a store.
const APART: usize = 33 * 64;

#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u8; Page::SIZE]);

impl Page {
    const SIZE: usize = 4096;
}

/// An input and an output of equal length.
pub struct Buffers {
    pages: Vec<Page>,
    /// Where the input begins.
    input: usize,
    /// Where the output begins: apart from the input, or there.
    output: usize,
    length: usize,
}

impl Buffers {
    /// Buffers of so many bytes that begin `skew` bytes behind a multiple of 64.
    pub fn new(length: usize, in_place: bool, skew: usize) -> Buffers {
        let input = MARGIN + skew;
        let page_after = (input + length + MARGIN).next_multiple_of(Page::SIZE);
        let output = if in_place { input } else { page_after + input + APART };
        let pages = (output + length + MARGIN).div_ceil(Page::SIZE);
        Buffers { pages: vec![Page([CANARY; Page::SIZE]); pages], input, output, length }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: pages are bytes without padding, one behind the other.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.pages.len() * Page::SIZE) }
    }

    /// The input.
    pub fn input(&self) -> &[u8] {
        &self.bytes()[self.input..][..self.length]
    }

    /// The input, to be filled.
    pub fn input_mut(&mut self) -> &mut [u8] {
        let (start, length) = (self.input, self.length);
        // SAFETY: as in `bytes`, borrowed exclusively.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().cast::<u8>(), self.pages.len() * Page::SIZE)
        };
        &mut bytes[start..][..length]
    }

    /// The output.
    pub fn output(&self) -> &[u8] {
        &self.bytes()[self.output..][..self.length]
    }

    /// Whether nothing was written beside them.
    pub fn undisturbed(&self) -> bool {
        let inside =
            |at: usize| [self.input, self.output].iter().any(|start| (*start..start + self.length).contains(&at));
        self.bytes().iter().enumerate().all(|(at, byte)| *byte == CANARY || inside(at))
    }

    /// Both, for a call.
    pub fn span(&mut self) -> Span<'_> {
        let start: *mut u8 = self.pages.as_mut_ptr().cast();
        // SAFETY: `new` made pages for both, apart or the same, and they are borrowed exclusively for as long as the span is.
        unsafe { Span::new(start.add(self.input), start.add(self.output), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_lie_as_they_should() {
        for length in [16, 64, 4096, 8192, 70_000] {
            for skew in [0, 3] {
                let mut buffers = Buffers::new(length, false, skew);
                let span = buffers.span();
                let (input, output) = (span.input().addr(), span.output().addr());
                assert_eq!((input % 64, output % 64), (skew, skew));
                assert_eq!((output - input) % 4096, APART);
                assert!(output >= input + length + MARGIN);
                let mut buffers = Buffers::new(length, true, skew);
                assert_eq!(buffers.span().input(), buffers.span().output().cast_const());
            }
        }
    }

    #[test]
    fn a_stray_write_is_seen() {
        let mut buffers = Buffers::new(64, false, 0);
        buffers.input_mut().fill(1);
        assert!(buffers.undisturbed());
        let after = buffers.span().output().wrapping_add(64);
        // SAFETY: there is a margin behind the output.
        unsafe { after.write(0) };
        assert!(!buffers.undisturbed());
    }
}
