//! Detects the CPU, verifies and races kernels, and dispatches the winners.

pub mod candidate;
pub mod detect;
#[forbid(unsafe_code)]
pub mod dispatch;
#[cfg(feature = "machine")]
pub mod exec;
#[forbid(unsafe_code)]
pub mod explain;
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
#[forbid(unsafe_code)]
pub mod tune;
pub mod verify;
