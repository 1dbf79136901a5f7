//! One file a command: asks, fills in the JSON document, draws it.

pub mod cpu;
