//! Support for Kiln's tests: what more than one test file needs.
//!
//! `unsafe` is in `faults`, `forms`, `made_up` (generated), `mutants`, `refusal`, `runs` and `trial` alone: they vouch for generated functions, ask the system
//! to refuse executable memory, and call entries.

#[forbid(unsafe_code)]
pub mod aes_rows;
#[forbid(unsafe_code)]
pub mod answers;
#[forbid(unsafe_code)]
pub mod block_cipher;
#[forbid(unsafe_code)]
pub mod cipher_faults;
#[forbid(unsafe_code)]
pub mod cli;
#[forbid(unsafe_code)]
pub mod decode;
#[forbid(unsafe_code)]
pub mod edits;
#[forbid(unsafe_code)]
pub mod encoding_cases;
pub mod faults;
pub mod forms;
#[forbid(unsafe_code)]
pub mod kernel_by_hand;
pub mod made_up;
pub mod mutants;
#[forbid(unsafe_code)]
pub mod operands;
#[forbid(unsafe_code)]
pub mod patterns;
pub mod refusal;
pub mod runs;
#[forbid(unsafe_code)]
pub mod sample_functions;
#[forbid(unsafe_code)]
pub mod skips;
#[forbid(unsafe_code)]
pub mod spec_cases;
pub mod sweeps;
#[forbid(unsafe_code)]
pub mod tables;
#[forbid(unsafe_code)]
pub mod tools;
pub mod trial;

pub use decode::disassemble;
