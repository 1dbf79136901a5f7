//! The interface of the shared library: a contender behind a pointer.
//!
//! Unsafe is needed because it is one of C. Both sides are built from this crate, by one compiler, from one lock file.

use std::ffi::c_void;

use crate::call::{Contender, Span};
use crate::rust_crypto::today;
use crate::setup::{Block, Mode, Setup};

type Handle = Box<dyn Contender>;

/// Whether this library has VAES in its baseline.
#[unsafe(no_mangle)]
extern "C" fn kiln_peers_native_vaes() -> bool {
    cfg!(target_feature = "vaes")
}

/// A contender, or null; `mode` is an index of [`Mode::ALL`].
///
/// # Safety
/// There are `length` bytes of key and a block at the pointers.
#[unsafe(no_mangle)]
unsafe extern "C" fn kiln_peers_native_new(
    mode: usize,
    key: *const u8,
    length: usize,
    iv: *const Block,
) -> *mut c_void {
    // SAFETY: the caller vouches for both.
    let (key, iv) = unsafe { (std::slice::from_raw_parts(key, length), *iv) };
    let contender = Mode::ALL.get(mode).and_then(|&mode| today::make(&Setup { mode, key, iv }));
    contender.map_or(std::ptr::null_mut(), |contender| Box::into_raw(Box::<Handle>::new(contender)).cast())
}

/// [`Contender::repeat`].
///
/// # Safety
/// The contender comes from `kiln_peers_native_new`; the rest is as [`Span::new`] asks for.
#[unsafe(no_mangle)]
unsafe extern "C" fn kiln_peers_native_repeat(
    contender: *mut c_void,
    input: *const u8,
    output: *mut u8,
    length: usize,
    calls: u32,
) {
    // SAFETY: the caller vouches for all of it.
    let (contender, span) = unsafe { (&mut *contender.cast::<Handle>(), Span::new(input, output, length)) };
    contender.repeat(span, calls);
}

/// Drops a contender.
///
/// # Safety
/// It comes from `kiln_peers_native_new` and is not used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn kiln_peers_native_drop(contender: *mut c_void) {
    // SAFETY: the caller vouches for it.
    drop(unsafe { Box::from_raw(contender.cast::<Handle>()) });
}
