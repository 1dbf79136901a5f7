//! IR to something that runs or reads. A backend sees IR, the instruction table and a banner; it never sees TOML.

pub mod banner;
pub mod rust_portable;
