//! Criterion benches of Kiln's kernels: see `benches/`. Nothing here is called by anything.
#![forbid(unsafe_code)]
