//! RustCrypto's AES as contenders of `kiln-peers`, and what a contender is.
//!
//! A crate of its own because the program has it twice: linked in, as a program has it that is built for any x86-64; and as a
//! shared library that the build script builds for the CPU at hand, since that is what it takes for `aes` 0.9 to use VAES on a
//! CPU without AVX-512.

pub mod call;
#[cfg(feature = "native")]
mod native;
pub mod rust_crypto;
pub mod setup;
