//! Kiln's generator: specs to IR, IR to Rust, assembly text or machine code.
#![forbid(unsafe_code)]

pub mod ir;
pub mod isa;
pub mod pass;
