//! Detects the CPU, verifies and races kernels, and dispatches the winners.

pub mod detect;
mod sys;
