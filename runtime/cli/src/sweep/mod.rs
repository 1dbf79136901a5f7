//! Sweeps as files: the lines of a file and how they are read. Knows no kernel and no clock.

pub mod read;
pub mod record;
