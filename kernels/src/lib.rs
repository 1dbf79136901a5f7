//! The compiled catalogue of Kiln: every shipped variant of every kernel, a plain reference, and the types that
//! `kernels!` fills in.

pub mod catalogue;
