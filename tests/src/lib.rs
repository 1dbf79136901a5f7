//! Support for Kiln's tests: what more than one test file needs.
#![forbid(unsafe_code)]

pub mod decode;
pub mod encoding_cases;
pub mod sample_functions;
pub mod tools;

pub use decode::disassemble;
