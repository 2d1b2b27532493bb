//! Compares the order of a written file with the order that the table of [`write`](super::write) describes, computed
//! from the trace by definition.

use crate::base::{Id, Rng};
use crate::detect::happens_before::tests::generate;
use crate::detect::second_accesses;
use crate::formats::traces::{StdText, read_as, write_std};
use crate::formats::traces::{TraceForm, rapid::map::LockFor};
use crate::trace::{Action, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

fn written(trace: &Trace) -> (String, StdText) {
    let mut text = Vec::new();
    let about = write_std(trace, &mut text).unwrap();
    (String::from_utf8(text).unwrap(), about)
}

fn back(text: &str) -> Trace {
    read_as("x.std", text.as_bytes(), Some(TraceForm::Std)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns which accesses race with an earlier one, by their numbers among all accesses.
fn racy(trace: &Trace) -> BTreeSet<usize> {
    let found: BTreeSet<OpNo> = second_accesses(trace, &AtomicBool::new(false)).unwrap().into_iter().collect();
    let accesses = trace.ops.ids().filter(|op| trace.ops[*op].action.access().is_some());
    accesses.enumerate().filter(|(_, op)| found.contains(op)).map(|(i, _)| i).collect()
}

/// The order of the file, by definition: its edges between the operations of the trace.
struct Definition<'t> {
    trace: &'t Trace,
    // Pairs of operations, the earlier one first.
    edges: Vec<(usize, usize)>,
}

impl<'t> Definition<'t> {
    fn of(trace: &'t Trace) -> Self {
        let mut all = Self { trace, edges: Vec::new() };
        all.programs();
        all.locks();
        all.touches();
        all
    }

    fn op(&self, i: usize) -> (ThreadNo, Action) {
        let op = self.trace.ops[OpNo::new(i)];
        (op.thread, op.action)
    }

    fn is_environment(&self, i: usize) -> bool {
        self.trace.threads[self.op(i).0].environment
    }

    // Program order of threads, loopers with all their tasks included, and what makes and ends them.
    fn programs(&mut self) {
        for j in 0..self.trace.ops.len() {
            for i in 0..j {
                let ((from, first), (to, second)) = (self.op(i), self.op(j));
                let is_edge = from == to
                    || match (first, second) {
                        (Action::Fork(child), _) => child == to,
                        (Action::ThreadExit, Action::Join(other)) => other == from,
                        (Action::Post(posted), Action::Begin(begun)) => posted == begun,
                        _ => false,
                    };
                if is_edge && !self.is_environment(i) && !self.is_environment(j) {
                    self.edges.push((i, j));
                }
            }
        }
    }

    // A lock is released by its holder, or where the task that holds it ends, or where the first task begins after the
    // looper has acquired it.
    fn locks(&mut self) {
        let n = self.trace.ops.len();
        let mut held: Vec<Option<(ThreadNo, Option<TaskNo>)>> = vec![None; self.trace.locks.len()];
        let mut released: Vec<Vec<usize>> = vec![Vec::new(); held.len()];
        let mut running = vec![None; self.trace.threads.len()];
        let mut last: Vec<usize> = vec![0; running.len()];
        for j in (0..n).filter(|j| !self.is_environment(*j)).collect::<Vec<_>>() {
            let (thread, action) = self.op(j);
            let me = (thread, running[thread.index()]);
            match action {
                Action::Acquire(lock) => {
                    self.edges.extend(released[lock.index()].iter().map(|i| (*i, j)));
                    held[lock.index()] = Some(me);
                }
                Action::Release(lock) if held[lock.index()] == Some(me) => {
                    held[lock.index()] = None;
                    released[lock.index()].push(j);
                }
                Action::Begin(_) | Action::End(_) => {
                    // Before a begin the looper does not know yet what the post knows.
                    let at = if matches!(action, Action::End(_)) { j } else { last[thread.index()] };
                    for lock in (0..held.len()).filter(|lock| held[*lock] == Some(me)).collect::<Vec<_>>() {
                        held[lock] = None;
                        released[lock].push(at);
                    }
                }
                _ => {}
            }
            match action {
                Action::Begin(task) => running[thread.index()] = Some(task),
                Action::End(_) => running[thread.index()] = None,
                _ => {}
            }
            last[thread.index()] = j;
        }
    }

    // What the locks for enables and signals order.
    fn touches(&mut self) {
        let touched = |i: usize| -> Vec<LockFor> {
            let events = |task: TaskNo| self.trace.tasks[task].events.iter().map(|e| LockFor::Event(*e)).collect();
            match self.op(i).1 {
                _ if self.is_environment(i) => vec![],
                Action::Enable(event) => vec![LockFor::Event(event)],
                Action::Send(channel) | Action::Receive(channel) => vec![LockFor::Channel(channel)],
                Action::Post(task) if self.trace.tasks[task].begin.is_some() => events(task),
                Action::Begin(task)
                    if self.trace.tasks[task].post.is_some_and(|post| self.is_environment(post.index())) =>
                {
                    events(task)
                }
                _ => vec![],
            }
        };
        let all: Vec<Vec<LockFor>> = (0..self.trace.ops.len()).map(touched).collect();
        for j in 0..all.len() {
            for i in (0..j).filter(|i| all[*i].iter().any(|lock| all[j].contains(lock))) {
                self.edges.push((i, j));
            }
        }
    }

    fn racy(&self) -> BTreeSet<usize> {
        let n = self.trace.ops.len();
        let mut before = vec![vec![false; n]; n];
        let mut edges = self.edges.clone();
        edges.sort_by_key(|(_, j)| *j);
        for (i, j) in edges {
            let of_i = before[i].clone();
            before[j][i] = true;
            before[j].iter_mut().zip(of_i).for_each(|(to, from)| *to |= from);
        }
        let accesses: Vec<usize> = (0..n).filter(|i| self.op(*i).1.access().is_some()).collect();
        let races = |i: usize, j: usize| {
            let ((from, first), (to, second)) = (self.op(i), self.op(j));
            let Some(((a, writes), (b, also))) = first.access().zip(second.access()) else { return false };
            a == b && (writes || also) && from != to && !before[j][i]
        };
        let is_racy = |j: usize| accesses.iter().any(|i| *i < j && races(*i, j));
        accesses.iter().enumerate().filter(|(_, j)| is_racy(**j)).map(|(k, _)| k).collect()
    }
}

#[test]
fn a_written_trace_has_the_order_that_the_table_describes() {
    let (mut pairs, mut kept, mut same, mut held) = (0, 0, 0, 0);
    for seed in 0..3000 {
        let trace = generate::trace(&mut Rng::seeded(seed), 70);
        let (text, about) = written(&trace);
        let again = back(&text);
        let found = racy(&again);
        assert_eq!(found, Definition::of(&trace).racy(), "{seed}\n{text}");
        // What was written once is written in the same way again, and its statements have the same numbers.
        assert_eq!(written(&again).0, text, "{seed}");
        let lost = |what: &str| about.losses.iter().any(|loss| loss.starts_with(what));
        held += usize::from(lost("locks"));
        let before = racy(&trace);
        // Only an order that the file does not have makes a race that the trace does not have.
        if !["locks", "attachments", "joins"].iter().any(|what| lost(what)) {
            assert!(found.is_subset(&before), "{seed}: {found:?} {before:?}\n{text}");
            kept += 1;
            // Only locks that stand for something else hide races.
            if !["sends", "enables"].iter().any(|what| lost(what)) {
                assert_eq!(found, before, "{seed}\n{text}");
                same += 1;
            }
        }
        pairs += found.len();
    }
    assert!(pairs > 3000 && kept > 20 && same > 2 && held > 100, "{pairs} {kept} {same} {held}");
}

#[test]
fn tasks_come_after_the_fork_of_their_thread() {
    // The forked thread does nothing itself before its first task.
    let log = "1 START\n2 THREADINIT tid:1\n3 WRITE tid:1 obj:0x1 class:La; field:8\n4 FORK par-tid:1 child-tid:2\n\
               5 NATIVE-ENTRY tid:2thread-name:B\n6 READ tid:2 obj:0x1 class:La; field:8\n7 NATIVE-EXIT tid:2thread-name:B\n";
    let trace = read_as("log", log.as_bytes(), None).unwrap();
    let again = back(&written(&trace).0);
    assert_eq!((racy(&trace).len(), racy(&again).len()), (0, 0));
    // Without the fork the two accesses race.
    let free = read_as("log", log.replace("4 FORK par-tid:1 child-tid:2\n", "").as_bytes(), None).unwrap();
    assert_eq!(racy(&back(&written(&free).0)), BTreeSet::from([1]));
}
