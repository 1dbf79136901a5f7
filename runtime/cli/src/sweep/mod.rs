//! Sweeps: the space of a kernel's parameters, its points made and measured here, and the file that they are written to.
//!
//! ```text
//! set -> space -> search -> engine (make, check, measure) -> record -> store
//! ```

pub mod engine;
pub mod make;
pub mod record;
pub mod search;
pub mod set;
pub mod space;
pub mod store;
