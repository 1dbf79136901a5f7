//! Kiln for programs: cryptographic kernels that are measured on the machine they run on.
//!
//! The first use of a kernel verifies and races its variants within a small budget (2 ms of CPU time) and calls the winner
//! from then on; every other caller meanwhile gets the present answer, and a size for which time ran out is gone on with when
//! it is used. [`tune`] does that for every kernel at a time of
//! the program's choosing, and [`explain`] tells what was decided and why.
//!
//! ```
//! // r := r + a * w, least significant limb first; the carry limb comes back.
//! let mut r = [u64::MAX, 0, 0, 0];
//! let a = [1, 2, 3, 4];
//! let carry = kiln::limb::mul_add(&mut r, &a, 5).unwrap();
//! assert_eq!((r, carry), ([4, 11, 15, 20], 0));
//! ```

#![deny(unsafe_code)]

#[cfg(feature = "aes")]
pub mod aes;
#[cfg(feature = "limb")]
pub mod limb;
#[cfg(feature = "modular")]
pub mod modular;
#[cfg(feature = "rsa")]
#[forbid(unsafe_code)]
pub mod rsa;

pub use kiln_runtime::explain::{CandidateReport, CaseReport, Reason, State};

use kiln_runtime::dispatch::Runtime;
use std::collections::BTreeMap;
use std::time::Duration;

/// Tunes every kernel that is compiled in, with all its start-up candidates, those of `KILN_SPECS` too, and at most `budget` of CPU time for each kernel
/// (none: as long as it takes). Decisions are in force when it returns; they are also what [`explain`] gives.
pub fn tune(budget: Option<Duration>) -> BTreeMap<&'static str, Vec<CaseReport>> {
    #[cfg(feature = "machine")]
    let own = kiln_runtime::provide::from_environment;
    #[cfg(not(feature = "machine"))]
    let own = |_| Vec::new();
    let runtime = Runtime::global();
    for kernel in kiln_kernels::kernels() {
        runtime.tune(kernel, own(kernel), budget, &mut |_| ());
    }
    #[cfg(feature = "aes")]
    aes::choose_bundles_again();
    runtime.explain()
}

/// The decisions in force, by kernel and size class: candidates, timings, margin, p-value and reason. A kernel that was not
/// used yet is not in it.
pub fn explain() -> BTreeMap<&'static str, Vec<CaseReport>> {
    Runtime::global().explain()
}
