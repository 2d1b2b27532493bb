//! File formats: what is read and written, each with types of its own and a version. `docs/formats.md` describes them.

pub mod campaign;
pub mod result;
pub mod seed;
pub mod state;
pub mod test;
pub mod trace;
