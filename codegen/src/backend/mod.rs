//! IR to something that runs or reads. A backend sees IR, the instruction table and a banner; it never sees TOML or an
//! algorithm.

pub mod asm_text;
pub mod banner;
#[cfg(feature = "machine")]
pub mod machine;
pub mod rust_naked;
pub mod rust_portable;
