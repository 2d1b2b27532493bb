//! CAFA's causality over traces (Hsiao, Yu, Narayanasamy, Kong, Pereira, Pokam, Chen, Flinn: Race detection for
//! event-driven mobile applications, PLDI 2014, section 3.3), and use-free races in it (section 4).
//!
//! The relation is transitive without exceptions, so that a context has one clock. `docs/detectors.md` lists its rules.
//! `order` computes them operation by operation, with `looper` for those about the tasks of a looper, `fronts` for
//! posts to the front and `external` for the outside world. `cafa` finds the races.
//!
//! # Passes
//!
//! If something arrives in the middle of a task that comes from another task of the same looper, the other task has
//! ended before the *begin* of this one (the atomicity rule). Operations before the arrival did not know that. The pass
//! notes the two tasks, and the next pass knows the order from the begin on. Passes end when nothing is noted. Edges
//! only grow, so that they do end; two passes are the rule.
//!
//! # Where it departs from the paper
//!
//! - The queue rules hold for all classes of messages (`PostClass`).
//! - FRONT-SEEN: a message at the front that is in the queue when another message begins comes before it. The paper's
//!   rules 2 and 3 need the order of the two posts for that.
//! - The creation of a queue comes before the posts to it.
//! - The events of the outside world are ordered only if [`External`] says so.
//! - Nothing orders the sections of a binder thread: another run may serve them on another thread.

mod cafa;
mod external;
mod filters;
mod fronts;
mod looper;
mod order;
mod query;

pub(in crate::detect) use cafa::Cafa;
pub use external::External;
pub use order::CausalityRules;
pub(in crate::detect) use query::order_of;
