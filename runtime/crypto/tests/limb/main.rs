//! Whether every function of `kiln::limb` computes what its reference computes, while its kernels are tuned and after, and
//! leaves its arguments alone when it refuses them.

mod division;
mod products;
mod reference;
mod refusals;
mod rows;

use std::time::Duration;

/// Lengths with every tail, and some beyond the size classes.
fn lengths(beyond: &[usize]) -> impl Iterator<Item = usize> {
    (0..=70).chain(beyond.iter().copied())
}

/// Runs checks while the kernels that they call are tuned by the way, tunes everything, and runs them again.
fn while_it_tunes_and_after(check: impl Fn(u64)) {
    check(1);
    let decided = kiln::tune(Some(Duration::from_millis(1)));
    assert_eq!(decided.len(), kiln_kernels::kernels().count());
    check(2);
    assert!(kiln::explain().keys().eq(decided.keys()));
}
