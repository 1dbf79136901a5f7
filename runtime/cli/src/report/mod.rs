//! Reports on sweeps: files in; pages, pictures and tables out. The same files give the same bytes.
//!
//! ```text
//! sweep::read -> model (machines, variants, points) -> section (one kernel) -> chart -> page, svg files
//!                                                         |-> atlas             `-> table -> page, markdown, csv
//! ```

pub mod atlas;
pub mod model;
pub mod section;
