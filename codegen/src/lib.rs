//! Turns Kiln specs into IR, and IR into Rust, assembly text or machine code.
#![forbid(unsafe_code)]

pub mod isa;
