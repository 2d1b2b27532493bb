//! The workloads in stateright: states are small structs, and an action is the thread that acts.
//!
//! stateright asks for the actions of a state and then for the state after each action. Every thread is an action, and
//! the action of a blocked thread leads to no state, so no condition is evaluated twice. A step here is a step of the
//! model of the same name in `benches/models/explore`.

use crate::tools::peak_memory;
use crate::workloads::{Counts, Memory, Program, Searched, Workload};
use ::stateright::{Checker, Model, Property};
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

/// Searches all states of a workload, breadth first, with one thread.
///
/// # Panics
///
/// There is no program of this size here.
pub(crate) fn search(workload: Workload) -> Searched {
    match (workload.program, workload.n, workload.second) {
        (Program::Philosophers, 3, _) => all_states(Philosophers::<3>),
        (Program::Philosophers, 6, _) => all_states(Philosophers::<6>),
        (Program::Philosophers, 12, _) => all_states(Philosophers::<12>),
        (Program::Buffer, 2, 3) => all_states(Buffer::<2, 3>),
        (Program::Buffer, 3, 5) => all_states(Buffer::<3, 5>),
        (Program::Peterson, 2, 5) => all_states(Peterson::<2> { rounds: 5 }),
        (Program::Peterson, 3, 2) => all_states(Peterson::<3> { rounds: 2 }),
        (Program::Peterson, 4, 5) => all_states(Peterson::<4> { rounds: 5 }),
        (Program::Readers, 2, _) => all_states(Readers::<2>),
        (Program::Readers, 5, _) => all_states(Readers::<5>),
        (Program::Readers, 9, _) => all_states(Readers::<9>),
        _ => panic!("{workload} is not written for stateright"),
    }
}

/// A program: threads that share a state.
trait Threads: Send + Sync + 'static {
    type State: Clone + Debug + Hash + PartialEq + Send + Sync;
    const THREADS: u8;

    fn start(&self) -> Self::State;

    /// Returns the state after the next step of a thread; `None` if the thread is blocked.
    fn step(&self, state: &Self::State, thread: usize) -> Option<Self::State>;
}

struct Of<T>(T);

impl<T: Threads> Model for Of<T> {
    type State = T::State;
    type Action = u8;

    fn init_states(&self) -> Vec<T::State> {
        vec![self.0.start()]
    }

    fn actions(&self, _: &T::State, actions: &mut Vec<u8>) {
        actions.extend(0..T::THREADS);
    }

    fn next_state(&self, state: &T::State, thread: u8) -> Option<T::State> {
        self.0.step(state, usize::from(thread))
    }

    // stateright does not search without a property.
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("assertions are in the steps", |_, _| true)]
    }
}

fn all_states<T: Threads>(threads: T) -> Searched {
    let start = Instant::now();
    let checker = Of(threads).checker().threads(1).spawn_bfs().join();
    let took = start.elapsed();
    assert!(checker.discoveries().is_empty());
    // stateright counts the initial state as generated, but no step leads to it.
    let (states, transitions) = (checker.unique_state_count() as u64, checker.state_count() as u64 - 1);
    let searched = Searched {
        counts: Counts { states, transitions },
        took,
        memory: Memory { visited: None, peak: peak_memory() },
    };
    // The time to free the memory does not count, as for the other tools.
    std::mem::forget(checker);
    searched
}

struct Philosophers<const N: usize>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Table<const N: usize> {
    at: [u8; N],
    taken: [bool; N],
}

impl<const N: usize> Threads for Philosophers<N> {
    type State = Table<N>;
    const THREADS: u8 = N as u8;

    fn start(&self) -> Table<N> {
        Table { at: [0; N], taken: [false; N] }
    }

    fn step(&self, state: &Table<N>, i: usize) -> Option<Table<N>> {
        // Each philosopher takes the fork with the lower number first, so there is no deadlock. `at` counts the steps
        // of a round: take twice, then put back twice.
        let (first, second) = if i == N - 1 { (0, i) } else { (i, i + 1) };
        let (stick, takes) = match state.at[i] {
            0 => (first, true),
            1 => (second, true),
            2 => (second, false),
            _ => (first, false),
        };
        if takes && state.taken[stick] {
            return None;
        }
        let mut next = state.clone();
        next.taken[stick] = takes;
        next.at[i] = (state.at[i] + 1) % 4;
        Some(next)
    }
}

struct Buffer<const N: usize, const SLOTS: usize>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ring<const N: usize, const SLOTS: usize> {
    // Positions of producers, then of consumers, and their local variables, which are 0 while not needed.
    at: [[u8; N]; 2],
    end: [[u8; N]; 2],
    // The tail, then the head.
    ends: [u8; 2],
    slot: [u8; SLOTS],
    // Numbers of free slots, then of full slots.
    count: [u8; 2],
    locked: bool,
}

impl<const N: usize, const SLOTS: usize> Threads for Buffer<N, SLOTS> {
    type State = Ring<N, SLOTS>;
    const THREADS: u8 = 2 * N as u8;

    fn start(&self) -> Ring<N, SLOTS> {
        let (at, end) = ([[0; N]; 2], [[0; N]; 2]);
        Ring { at, end, ends: [0; 2], slot: [0; SLOTS], count: [SLOTS as u8, 0], locked: false }
    }

    fn step(&self, state: &Ring<N, SLOTS>, thread: usize) -> Option<Ring<N, SLOTS>> {
        let (side, i) = (thread / N, thread % N);
        let at = state.at[side][i];
        if at == 0 && state.count[side] == 0 || at == 1 && state.locked {
            return None;
        }
        let mut next = state.clone();
        let end = &mut next.end[side][i];
        let mut to = at + 1;
        // Steps of a round: 0 takes from the own count, 1 locks, 2 reads the end of the ring, 3 uses the slot, 4 clears
        // it (consumers only), 5 advances the end, 6 unlocks, 7 adds to the other count.
        match (at, side) {
            (0, _) => next.count[side] -= 1,
            (1, _) => next.locked = true,
            (2, _) => *end = state.ends[side],
            // Only a consumer looks at the slot before it takes the item.
            (3, 0) => {
                next.slot[usize::from(*end)] = i as u8 + 1;
                to = 5;
            }
            (3, _) => assert!(state.slot[usize::from(*end)] > 0),
            (4, _) => next.slot[usize::from(*end)] = 0,
            (5, _) => {
                next.ends[side] = (*end + 1) % SLOTS as u8;
                *end = 0;
            }
            (6, _) => next.locked = false,
            _ => {
                next.count[1 - side] += 1;
                to = 0;
            }
        }
        next.at[side][i] = to;
        Some(next)
    }
}

struct Peterson<const N: usize> {
    rounds: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Stages<const N: usize> {
    at: [u8; N],
    // Local variables, which are 0 while not needed.
    s: [u8; N],
    k: [u8; N],
    stage: [u8; N],
    last: [u8; N],
    inside: u8,
    count: u8,
}

impl<const N: usize> Stages<N> {
    // Lets thread `i` look at the next thread, or move on to the next stage, or enter the critical section.
    fn look_on(&mut self, i: usize) {
        let mut k = self.k[i] + 1;
        if usize::from(k) == i {
            k += 1;
        }
        if usize::from(k) < N {
            (self.at[i], self.k[i]) = (2, k);
            return;
        }
        self.k[i] = 0;
        if usize::from(self.s[i]) < N - 1 {
            self.at[i] = 0;
            self.s[i] += 1;
        } else {
            self.at[i] = 4;
            self.s[i] = 0;
        }
    }
}

impl<const N: usize> Threads for Peterson<N> {
    type State = Stages<N>;
    const THREADS: u8 = N as u8;

    fn start(&self) -> Stages<N> {
        Stages { at: [0; N], s: [1; N], k: [0; N], stage: [0; N], last: [0; N], inside: 0, count: 0 }
    }

    fn step(&self, state: &Stages<N>, i: usize) -> Option<Stages<N>> {
        let mut next = state.clone();
        let (me, s, k) = (i as u8 + 1, state.s[i], state.k[i]);
        next.at[i] += 1;
        // Steps of a round: 0 and 1 enter a stage, 2 and 3 look at the other threads, 4 to 8 are the critical section,
        // and 9 leaves.
        match state.at[i] {
            0 => next.stage[i] = s,
            1 => {
                next.last[usize::from(s)] = me;
                next.k[i] = u8::from(i == 0);
            }
            2 if state.stage[usize::from(k)] >= s => {}
            3 if state.last[usize::from(s)] == me => next.at[i] = 2,
            2 | 3 => next.look_on(i),
            4 => next.inside = me,
            5 => next.k[i] = state.count,
            6 => {
                next.count = (k + 1) % self.rounds;
                next.k[i] = 0;
            }
            7 => assert_eq!(state.inside, me, "two are inside"),
            8 => next.inside = 0,
            _ => {
                next.stage[i] = 0;
                (next.at[i], next.s[i]) = (0, 1);
            }
        }
        Some(next)
    }
}

const WRITERS: usize = 2;

struct Readers<const N: usize>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Both<const N: usize> {
    writer: [u8; WRITERS],
    reader: [u8; N],
    // A local variable, which is 0 while not needed.
    seen: [u8; N],
    a: u8,
    b: u8,
    readers: u8,
    announced: u8,
    writing: bool,
}

impl<const N: usize> Threads for Readers<N> {
    type State = Both<N>;
    const THREADS: u8 = (WRITERS + N) as u8;

    fn start(&self) -> Both<N> {
        let (writer, reader, seen) = ([0; WRITERS], [0; N], [0; N]);
        Both { writer, reader, seen, a: 0, b: 0, readers: 0, announced: 0, writing: false }
    }

    fn step(&self, state: &Both<N>, thread: usize) -> Option<Both<N>> {
        let free = |others: u8| !state.writing && others == 0;
        let Some(i) = thread.checked_sub(WRITERS) else {
            let at = state.writer[thread];
            if at == 1 && !free(state.readers) {
                return None;
            }
            let mut next = state.clone();
            match at {
                0 => next.announced += 1,
                1 => {
                    next.announced -= 1;
                    next.writing = true;
                }
                2 => next.a = thread as u8,
                3 => next.b = thread as u8,
                _ => next.writing = false,
            }
            next.writer[thread] = (at + 1) % 5;
            return Some(next);
        };
        let at = state.reader[i];
        if at == 0 && !free(state.announced) {
            return None;
        }
        let mut next = state.clone();
        match at {
            0 => next.readers += 1,
            1 => next.seen[i] = state.a,
            2 => {
                assert_eq!(state.seen[i], state.b, "half written");
                next.seen[i] = 0;
            }
            _ => next.readers -= 1,
        }
        next.reader[i] = (at + 1) % 4;
        Some(next)
    }
}
