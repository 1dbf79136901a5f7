//! The compiled catalogue of Kiln.

pub mod catalogue;
pub mod reference;
