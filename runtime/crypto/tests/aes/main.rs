//! Whether `kiln::aes` computes what the standards and other implementations do, in every mode, length and piece, and leaves
//! its arguments alone when it refuses them.

mod bundles;
mod cbc;
mod common;
mod ctr;
mod ecb;
mod edges;
mod keys;
mod on_top;
mod refusals;
mod rows;
mod standards;
mod wycheproof;
