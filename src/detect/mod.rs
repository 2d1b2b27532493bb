//! Detects races in the recorded events of runs: from one run, the pairs of statements that might race in another
//! run.
//!
//! [`Hybrid`] is phase 1 of RaceFuzzer (section 2.2: O'Callahan and Choi's hybrid detection), extended from threads
//! to loopers, posted tasks and events of the environment. Two accesses are a candidate if
//!
//! - they belong to different contexts (a thread's own code, or one task),
//! - they touch the same memory and one of them writes,
//! - neither happens before the other, and
//! - on different threads, they hold no lock that excludes the other.
//!
//! Phase 2 tries every candidate. Recall therefore counts most: a false candidate costs trials, a missed one is lost.
//!
//! # Ranks
//!
//! All candidates of the hybrid relation are kept. Two finer relations rank them ([`Rank`]), so that the likelier
//! candidates are tried first:
//!
//! - A: the precise relation does not order the pair either. It has the hybrid edges and those of locks, signals,
//!   semaphores, atomics, awaits, interrupts and quits (`hybrid_channels` lists them).
//! - B: the precise relation orders the pair.
//! - C: the precise relation does not order the pair, but FIFO of posts in the order in which they happened does.
//!   Firings have no such order: the environment may fire in any order.
//! - D: a use-free race that a filter of CAFA excludes ([`UseFree`]). Only that detector finds it, and it is not
//!   driven.
//! - E: order pairs. They are no races.
//!
//! Pairs of accesses under a common lock have no rank: the order of two sections decides the order of everything in
//! them, and the pair of their acquisitions is an E.
//!
//! The rank of a candidate is the most suspicious rank of the occurrences that were compared. In each chain only the
//! latest occurrence is compared; it is unordered wherever an earlier one is. So an A is always seen; between B and
//! C, an earlier occurrence may have had the other rank.
//!
//! # Order pairs
//!
//! [`OrderPairs`] finds pairs of operations that are no accesses and whose order may matter: acquisitions whose
//! sections conflict, atomics, an await and the operation that turns its condition, posts against cancels and quits,
//! enables against disables, sends against receives (`order_pairs` lists them). Their order is decided in the hybrid
//! relation, as for races. [`Hybrid::with_order_pairs`] finds both in one pass.
//!
//! # Deadlock rings
//!
//! [`Rings`] finds threads and tasks each of which may hold a lock and want one that the next of them holds, in the
//! lock order of a run. [`Hybrid::with_order_pairs`] finds them as well.
//!
//! # Where it departs from the paper
//!
//! - Notify to wait is not an edge (in the paper it is SND and RCV), nor is any other order that the scheduler chose:
//!   locks, signals, semaphores, atomics, awaits, interrupts, the registration of a listener. Another run could have
//!   another order. Pairs that these operations do order are reported as false candidates.
//! - Tasks add the edges post to begin, enable to firing to begin, attach to post, FIFO and NOPRE (DroidRacer, figure
//!   7), but FIFO and NOPRE only for posts that these edges order, not for "the order in which they happened to be
//!   posted".
//! - A microtask belongs to the message before it: what NOPRE puts after the message comes after its microtasks too.
//!   FIFO puts an idle handler after the messages that were due when it was registered, and nothing after an idle
//!   handler. A message that returns to its queue is a post by the run that begins.
//! - A task of a pool with several workers is like a thread that its post forks: neither FIFO nor NOPRE order it with
//!   another task of the pool, since a task begins after the begins of earlier ones, and not after their ends. The
//!   begins themselves access nothing. A pool with one worker is a looper.
//! - Barriers add edges: no schedule takes a generation apart.
//! - Lock sets count across threads only: a lock never orders two tasks of one looper.
//! - A firing of an event has no poster: the environment has no program order.
//!
//! # What it may miss
//!
//! - Code that the run did not execute.
//! - Pairs that the run ordered by an edge that another run does not have: a join or attach behind a branch, the k-th
//!   enable that pays for another firing, a barrier whose generations are composed differently, a FIFO edge through a
//!   post that might have been canceled.
//! - Atomics that are never accessed plainly (`plain n`): they do not race. Two operations on an atomic never do.
//! - Order pairs of an await whose condition no operation turned while a thread was pending there: the memory that
//!   the condition reads is not known.
//! - Deadlocks over other things than locks, and rings of more than six threads (`rings` has the other bounds).
//! - Order pairs with the begin of a task, which has no site (a quit that drops a message that the same thread has
//!   posted).
//!
//! # What it must never report
//!
//! Two accesses of one context; two accesses that an edge above orders; two reads; two accesses on different threads
//! under one lock.
//!
//! # Cost
//!
//! Detection is one pass. A clock is a list of shared blocks: contexts with the same knowledge share it, and a chain
//! is a sequence of contexts each of which is before the next, so that a thousand tasks in a row have one component.
//! With n contexts and c chains, clocks take O(n c / 32) time and pointers at worst, when nothing is ordered.
//!
//! An access is compared with the earlier accesses that it is not ordered with and was not compared with yet. It
//! skips the others wholesale (`met`). The work is that of the pairs found, of which each location keeps 10,000 by
//! default ([`Hybrid::most_pairs`]). 20,000 tasks of one thread: 4 chains, 0.1 s; 10,000 threads that post two tasks
//! each to one looper, all of which write one variable: 20,003 chains, 2 s and 60 MB. If a poster has used many
//! different delays, a begin looks only at those that can matter (`delayed`).
//!
//! Ranks double the time, since each relation has clocks of its own. Order pairs cost about as much as races: a step
//! of a critical section looks up the earlier sections of its lock that touched the same and are not ordered with it.

pub mod atomicity;
mod detector_id;
mod detectors;
mod hybrid;
mod pairs;
mod relation;
#[cfg(test)]
mod tests;
mod traces;

pub use detector_id::DetectorId;
pub use detectors::{DETECTORS, DetectorRow, Make, Rules};
pub use hybrid::races::{Findings, Hybrid};
pub use pairs::candidate::{Candidate, Candidates, ConflictPlace, ContextKind, FirstOccurrence, Instance, Pair, Rank};
pub(crate) use pairs::executions::MOST_PAIRS;
pub use pairs::order_pairs::OrderPairs;
pub use pairs::partners::things;
pub use pairs::rings::{Ring, RingCandidate, RingCandidates, RingPart, RingSites, Rings};
pub use pairs::use_free::{UseFree, UseFreeClass, UseFreeFilter};
pub use relation::references::References;
pub use relation::signals::{EventChannels, Signals};
pub use traces::causality;
pub use traces::detector::Detector;
pub use traces::fasttrack::fasttrack;
pub use traces::happens_before;
pub use traces::orders;
pub use traces::record::TraceRecorder;
pub use traces::second_accesses::second_accesses;
