//! Support for Kiln's tests: what more than one test file needs.
//!
//! `unsafe` is in `forms`, `mutants` and `refusal` alone: they call entries, vouch for generated functions, and ask the
//! system to refuse executable memory.

#[forbid(unsafe_code)]
pub mod cli;
#[forbid(unsafe_code)]
pub mod decode;
#[forbid(unsafe_code)]
pub mod encoding_cases;
pub mod forms;
pub mod mutants;
pub mod refusal;
#[forbid(unsafe_code)]
pub mod sample_functions;
#[forbid(unsafe_code)]
pub mod spec_cases;
#[forbid(unsafe_code)]
pub mod tools;

pub use decode::disassemble;
