//! Sweeps: the space of a kernel's parameters, its points made and measured here, and the file that they are written to.
//!
//! ```text
//! set -> space -> search -> engine (make, check, measure) -> record -> store
//! ```

pub(crate) mod engine;
pub(crate) mod make;
pub mod read;
pub mod record;
pub(crate) mod search;
pub(crate) mod set;
pub(crate) mod space;
pub(crate) mod store;
