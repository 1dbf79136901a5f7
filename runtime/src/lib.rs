//! Detects the CPU, verifies and races kernels, and dispatches the winners.
//!
//! ```text
//! detect -> candidate (eligible) -> verify (Verified) -> race -> tune (Choice, CaseReport) -> dispatch (Entry)
//!             ^ exec: code made at run time        isolate: the same checks in a child process
//! ```
//!
//! Unsafe code lives in `exec` (executable memory), `verify` (calls, the register trampoline, guard pages), `detect` and
//! `timer` (CPUID, XGETBV, RDTSCP) and `sys` (system calls); `provide` vouches for the functions that it has
//! made; [`candidate::Candidate::made`] is the one unsafe function of the interface. Every other module forbids it.

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
#[cfg(feature = "machine")]
#[forbid(unsafe_code)]
pub mod measure;
#[forbid(unsafe_code)]
pub mod prefer;
#[cfg(feature = "machine")]
pub mod provide;
#[forbid(unsafe_code)]
pub mod race;
#[forbid(unsafe_code)]
pub mod random;
#[forbid(unsafe_code)]
pub mod settings;
#[forbid(unsafe_code)]
pub mod statistics;
mod sys;
pub mod timer;
#[forbid(unsafe_code)]
pub mod tune;
pub mod verify;
