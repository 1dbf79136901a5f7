//! Statistics of windows, for sweeps and for comparing them: pure functions of samples, none of which takes them to be normal.
//!
//! | question | answer |
//! |---|---|
//! | within which bounds is a quantile? | [`quantile_interval`]: order statistics |
//! | and if neighbouring windows have something in common? | [`serial_interval`]: batch means |
//! | do two runs differ? | [`mann_whitney`]: ranks |
//! | which of many differences are real? | [`holm`], [`benjamini_hochberg`] |
//! | do windows follow each other at random? | [`von_neumann`]: ranks of neighbours |
//! | which of a pair measured side by side is faster? | [`sign_test`](crate::race::sign_test) |
//!
//! All others take the windows of one point to be independent of each other. Interleaved rounds help with that: between two windows
//! of a point lie those of all others, so that a disturbance shorter than a round meets each window by itself. A drift that is
//! longer than a round does not go away. It meets all points of a round alike, so that their order holds and a paired test
//! of two points of one run is sound; but an interval then says where the quantile was during this run, and the next run may be
//! elsewhere. [`von_neumann`] tells when that is so. For the same reason two runs are never said to differ by
//! significance alone: a threshold for the size of the difference belongs to it.

mod correct;
mod interval;
mod order;
#[cfg(test)]
mod tests;

pub use correct::{benjamini_hochberg, holm};
pub use interval::{Interval, Ranks, quantile_interval, ranks, serial_interval};
pub use order::{Shift, mann_whitney, von_neumann};

/// How likely a standard normal value is above `z`.
fn above(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}
