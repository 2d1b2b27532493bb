//! Basics for all other modules: typed indices, the seeded generator, a stable digest, a set of small indices,
//! statistics of counts, and text made safe to show.
//!
//! Nothing in this module depends on threads or programs.

mod binomial;
mod clone;
mod digest;
mod ids;
#[doc(hidden)]
pub mod mutant;
mod pool;
mod rng;
mod set;
mod shown;

pub use binomial::{all_in_one, at_most, at_most_by, fisher, interval};
pub use clone::Rare;
pub use digest::Digester;
pub use ids::{Id, IndexVec};
pub use pool::Pool;
pub use rng::{Rng, mix};
pub use set::IdSet;
pub(crate) use set::bits_of;
pub use shown::{clean, clean_json, command_at, counted, elided, hidden, phrased, push_clean};
