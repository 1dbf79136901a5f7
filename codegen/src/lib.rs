//! Kiln's generator: specs to IR, IR to Rust, assembly text or machine code.
#![forbid(unsafe_code)]

pub mod backend;
pub mod error;
pub mod family;
pub mod ir;
pub mod isa;
pub mod plan;
pub mod spec;
mod vocabulary;

pub use vocabulary::vocabulary;
