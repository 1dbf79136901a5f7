//! RustCrypto as the build script has built it for the CPU at hand: a shared library.
//!
//! Unsafe is needed to call it.

use std::ffi::c_void;

use kiln_peers_rust_crypto::call::{Contender, Span};
use kiln_peers_rust_crypto::setup::{Block, Mode, Setup};

// The crate `kiln-peers-rust-crypto` with its feature `native`, by this compiler and from this lock file.
#[link(name = "kiln_peers_rust_crypto", kind = "dylib")]
unsafe extern "C" {
    safe fn kiln_peers_native_vaes() -> bool;
    fn kiln_peers_native_new(mode: usize, key: *const u8, length: usize, iv: *const Block) -> *mut c_void;
    fn kiln_peers_native_repeat(contender: *mut c_void, input: *const u8, output: *mut u8, length: usize, calls: u32);
    fn kiln_peers_native_drop(contender: *mut c_void);
}

/// Whether it has VAES in its baseline.
pub fn has_vaes() -> bool {
    kiln_peers_native_vaes()
}

struct Native(*mut c_void);

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: it comes from `kiln_peers_native_new`, and nobody uses it any more.
        unsafe { kiln_peers_native_drop(self.0) };
    }
}

impl Contender for Native {
    fn repeat(&mut self, span: Span<'_>, calls: u32) {
        // SAFETY: it comes from `kiln_peers_native_new`; the rest is a span.
        unsafe { kiln_peers_native_repeat(self.0, span.input(), span.output(), span.length(), calls) };
    }
}

/// Sets it up.
pub fn make(setup: &Setup<'_>) -> Option<Box<dyn Contender>> {
    let mode = Mode::ALL.iter().position(|mode| *mode == setup.mode)?;
    // SAFETY: a key of so many bytes and a block.
    let contender = unsafe { kiln_peers_native_new(mode, setup.key.as_ptr(), setup.key.len(), &raw const setup.iv) };
    if contender.is_null() { None } else { Some(Box::new(Native(contender))) }
}
