//! Kiln's generator: specs to IR, IR to Rust, assembly text or machine code.
#![forbid(unsafe_code)]

pub mod backend;
pub mod compile;
pub mod error;
pub mod estimate;
pub mod family;
pub mod ir;
pub mod isa;
pub mod pass;
pub mod plan;
pub mod spec;
mod vocabulary;

pub use compile::compile;
pub use vocabulary::vocabulary;
