//! Support for Kiln's tests: what more than one test file needs.
//!
//! `unsafe` is in `forms` and `mutants` alone: they call entries and vouch for generated functions.

#[forbid(unsafe_code)]
pub mod decode;
#[forbid(unsafe_code)]
pub mod encoding_cases;
pub mod forms;
pub mod mutants;
#[forbid(unsafe_code)]
pub mod sample_functions;
#[forbid(unsafe_code)]
pub mod tools;

pub use decode::disassemble;
