//! What the target's instructions are and which CPU features they need.

pub mod feature;
