//! Race detection over the recorded events of runs: from what happened once, the pairs of statements that might race in another run.
//!
//! [`Hybrid`] is phase 1 of RaceFuzzer (section 2.2: O'Callahan and Choi's hybrid detection), extended from threads to loopers,
//! posted tasks and events of the environment. Two accesses are a candidate if they belong to different contexts (a thread's own
//! code, or one task), touch the same memory, one of them writes, neither happens before the other, and, on different threads,
//! they hold no lock that excludes the other.
//!
//! Phase 2 tries every candidate, so that recall counts: a false candidate costs trials, a missed one is lost.
//!
//! # Ranks
//!
//! All candidates of the hybrid relation are kept, and ranked by two finer ones ([`Rank`]), so that the likelier ones are tried first:
//!
//! - A: the precise relation does not order them either. It has the hybrid edges and those of locks, signals, semaphores, atomics, awaits, interrupts and quits
//!   (`carried` lists them).
//! - B: the precise relation orders them.
//! - C: it does not, but FIFO of posts in the order in which they happened does. Firings have no such order: the environment may fire in any.
//! - E: order pairs. They are no races.
//!
//! There is no D, pairs of accesses under a common lock: the order of two sections decides that of all that is in them, and the pair of their acquisitions is an
//! E. A rank is the least of all occurrences that were looked at: of those in one chain the latest, which is unordered wherever an earlier one is. So an
//! A is always seen; between B and C an earlier one may have had the other.
//!
//! # Order pairs
//!
//! [`OrderPairs`] has the operations that are no accesses, and whose order may matter: acquisitions whose sections conflict, atomics, an await and what turns its
//! condition, posts against cancels and quits, enables against disables, what sends against what receives (`order_pairs` lists them). They are compared in the
//! hybrid relation, as races are. [`Hybrid::with_order_pairs`] finds both in one pass.
//!
//! # Where it departs from the paper
//!
//! - notify to wait is not an edge (there it is SND and RCV), nor is anything else whose order the scheduler chose: locks,
//!   signals, semaphores, atomics, awaits, interrupts, the registration of a listener. Such an order could have been another
//!   one. What those really order comes out as a false candidate.
//! - Tasks add the edges post to begin, enable to firing to begin, attach to post, FIFO and NOPRE (DroidRacer, figure 7), but FIFO
//!   and NOPRE only of posts that these edges order: not "the order in which they happened to be posted".
//! - Barriers add edges: no schedule takes a generation apart.
//! - Locksets count across threads only: a lock never orders two tasks of one looper.
//! - Each firing of an event is posted by nobody: the environment has no program order.
//!
//! # What it may miss
//!
//! What this run did not execute, and what it ordered by an edge that another run has not: a join or attach behind a branch, the k-th
//! enable that pays another firing, a barrier whose generations are composed differently, a FIFO edge through a post that might have
//! been cancelled. Atomics never race, whatever their use. What the condition of an await reads is not known: an order pair of it needs a thread that stood there
//! while it turned. Of deadlocks the order pairs show those of two locks, not longer cycles nor a reader that reads again while a writer waits; and no pair has the begin of
//! a task, which stands at no site (a quit that drops what the same thread has posted).
//!
//! # What it must never report
//!
//! Two accesses of one context; two accesses that an edge above orders; two reads; two accesses on different threads under one lock.
//!
//! # Cost
//!
//! One pass. A clock is a list of shared blocks: contexts that know the same share it, and a chain is a sequence of contexts each of
//! which is before the next, so that a thousand tasks in a row have one component. With n contexts and c chains: O(n c / 32) time and
//! pointers for clocks at worst, when nothing is ordered. An access looks at those earlier ones that it is not ordered with and has not met, and skips the others
//! wholesale (`met`): the work is that of the pairs that it finds, of which each location keeps 10,000 unless told otherwise ([`Hybrid::most_pairs`]). 20,000 tasks of one thread: 4 chains, 0.1 s; 10,000 threads that post two tasks each to one looper, all
//! of which write one variable: 20,003 chains, 2 s and 60 MB. Of a poster that has used many different delays a begin asks those that can matter (`delayed`). Ranks double the time, since each relation has clocks of its own. Order pairs cost about as much as races; a
//! step of a critical section looks up those earlier sections of its lock that have touched the same and are not ordered with it.

mod awaits;
mod candidate;
mod carried;
mod clock;
mod deed;
mod delayed;
mod fasttrack;
mod found;
pub mod happens_before;
mod held;
mod hybrid;
mod met;
mod order;
mod order_pairs;
mod queues;
mod record;
mod section;
mod sets;
mod signals;
#[cfg(test)]
mod tests;
mod traced;
mod watch;

pub use candidate::{Candidate, Candidates, ContextKind, Evidence, Instance, Pair, Place, Rank};
pub use deed::things;
pub use fasttrack::fasttrack;
pub use hybrid::{Findings, Hybrid};
pub(crate) use met::MOST_PAIRS;
pub use order_pairs::OrderPairs;
pub use record::Recorder;
pub use signals::{Passed, Signals};
pub use traced::{Detector, Traced};
