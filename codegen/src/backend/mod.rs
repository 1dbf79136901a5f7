//! IR to code. A backend sees a `Func<Physical>`, the instruction table and a banner; it never sees TOML or an algorithm.

pub mod asm_text;
#[cfg(feature = "machine")]
pub mod machine;
pub mod rust_naked;
