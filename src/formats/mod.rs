//! File formats and reports: what is read and written, each with types of its own and a version. `docs/formats.md` describes them.

pub mod campaign;
mod clean;
pub mod result;
pub mod timeline;
pub mod trace;

pub use clean::clean;
