//! Turns Kiln specs into kernels.
#![forbid(unsafe_code)]

pub mod error;
pub mod spec;
