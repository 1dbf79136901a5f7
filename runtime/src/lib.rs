//! Detects the CPU, verifies and races kernels, and dispatches the winners.

pub mod candidate;
pub mod detect;
#[cfg(feature = "machine")]
pub mod exec;
#[forbid(unsafe_code)]
pub mod isolate;
#[forbid(unsafe_code)]
pub mod race;
#[forbid(unsafe_code)]
pub mod random;
#[forbid(unsafe_code)]
pub mod settings;
mod sys;
pub mod timer;
pub mod verify;
