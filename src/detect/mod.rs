//! Race detection over the recorded events of runs: from what happened once, the pairs of statements that might race in another run.
//!
//! [`Hybrid`] is phase 1 of RaceFuzzer (section 2.2: O'Callahan and Choi's hybrid detection), extended from threads to loopers,
//! posted tasks and events of the environment. Two accesses are a candidate if they belong to different contexts (a thread's own
//! code, or one task), touch the same memory, one of them writes, neither happens before the other, and, on different threads,
//! they hold no lock that excludes the other.
//!
//! Phase 2 tries every candidate, so that recall counts: a false candidate costs trials, a missed one is lost.
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
//! been cancelled. Atomics never race, whatever their use.
//!
//! # What it must never report
//!
//! Two accesses of one context; two accesses that an edge above orders; two reads; two accesses on different threads under one lock.
//!
//! # Cost
//!
//! One pass. A clock is a list of shared blocks: contexts that know the same share it, and a chain is a sequence of contexts each of
//! which is before the next, so that a thousand tasks in a row have one component. With n contexts and c chains: O(n c / 32) time and
//! pointers for clocks at worst, when nothing is ordered. An access looks at one entry for each chain, looper, lockset, site and kind that
//! its place has seen. 20,000 tasks of one thread: 4 chains, 0.1 s; 10,000 threads that post two tasks each to one looper, all
//! of which write one variable: 20,003 chains, 2 s and 60 MB. The worst are thousands of different delays on one looper: a begin asks
//! each delay that the poster has used, n^2 / 4 steps.

mod awaits;
mod candidate;
mod carried;
mod clock;
mod deed;
mod held;
mod hybrid;
mod order;
mod order_pairs;
mod queues;
mod section;
#[cfg(test)]
mod tests;
mod watch;

pub use candidate::{Candidate, Candidates, ContextKind, Evidence, Instance, Pair, Place, Rank};
pub use hybrid::Hybrid;
pub use order_pairs::OrderPairs;
