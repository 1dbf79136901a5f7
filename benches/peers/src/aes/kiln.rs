//! Kiln's kernels, called directly.
//!
//! Unsafe is needed for that.

use std::mem::transmute;

use kiln_kernels::aes::{aes128_cbc_encrypt, aes128_ecb_encrypt};
use kiln_peers_rust_crypto::call::{Contender, Span, each};
use kiln_peers_rust_crypto::setup::Block;
use kiln_runtime::verify::Verified;

use super::task::{Make, RoundKeys};

/// Every contract of a mode without an `iv`.
type Blocks = aes128_ecb_encrypt::Function;
/// Every contract of a mode with one.
type Chain = aes128_cbc_encrypt::Function;

/// Round keys, chain and function of a kernel.
#[repr(C, align(64))]
struct State<F> {
    keys: RoundKeys,
    iv: Block,
    function: F,
}

/// A variant of a kernel whose task is the one that it is then set up for.
pub fn kernel(variant: &Verified) -> Make {
    let (entry, kernel) = (variant.entry().address(), variant.kernel());
    let exact = variant.candidate().exact();
    let key_bits = kernel.cipher.map_or(0, |cipher| cipher.key_bits);
    Box::new(move |setup| {
        if setup.key.len() != key_bits as usize / 8 {
            return None;
        }
        let (keys, iv) = (RoundKeys::new(setup.mode, setup.key), setup.iv);
        let everywhere = match kernel.arguments.len() {
            4 if !setup.mode.chained() => {
                // SAFETY: verified, so it keeps the contract of its kernel: (output, input, n, round keys).
                let function = unsafe { transmute::<*const std::ffi::c_void, Blocks>(entry) };
                each(State { keys, iv, function }, |state, span| {
                    // SAFETY: this CPU has its features; a span is so many bytes to read and to write, at one address or
                    // apart; there are as many round keys as the key is long, aligned to 64; `Exactly` sees to n.
                    unsafe { (state.function)(span.output(), span.input(), span.length() / 16, state.keys.as_ptr()) };
                })
            }
            5 if setup.mode.chained() => {
                // SAFETY: as above: (output, input, n, round keys, iv).
                let function = unsafe { transmute::<*const std::ffi::c_void, Chain>(entry) };
                each(State { keys, iv, function }, |state, span| {
                    let (output, input, n) = (span.output(), span.input(), span.length() / 16);
                    // SAFETY: as above, and the `iv` is a block.
                    unsafe { (state.function)(output, input, n, state.keys.as_ptr(), state.iv.as_mut_ptr()) };
                })
            }
            _ => return None,
        };
        Some(match exact {
            Some(n) => Box::new(Exactly { n: n as usize, contender: everywhere }),
            None => everywhere,
        })
    })
}

/// A variant that may be called with one number of blocks alone.
struct Exactly {
    n: usize,
    contender: Box<dyn Contender>,
}

impl Contender for Exactly {
    fn repeat(&mut self, span: Span<'_>, calls: u32) {
        assert_eq!(span.length(), 16 * self.n, "a variant for one number of blocks");
        self.contender.repeat(span, calls);
    }
}
