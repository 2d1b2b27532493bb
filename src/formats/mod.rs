//! File formats and reports: what is read and written, each with types of its own and a version. `docs/formats.md` describes them.

pub mod campaign;
mod clean;
pub mod result;
pub mod seed;
pub mod state;
pub mod test;
pub mod timeline;
pub mod trace;
mod values;

pub use clean::clean;
