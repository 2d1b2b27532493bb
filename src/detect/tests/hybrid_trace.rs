//! Hybrid detection over traces, compared with its rules written down literally.

use crate::base::Rng;
use crate::detect::DetectorId;
use crate::detect::happens_before::Options;
use crate::detect::happens_before::tests::{generate, listing};
use crate::event::PostTime;
use crate::trace::{Action, LocationNo, LockNo, OpNo, SiteNo, Task, TaskNo, ThreadNo, Trace};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

// A location, and two statements, or contexts where statements are not known.
type Key = (LocationNo, BTreeSet<(u32, u32, u32)>);

struct NaiveHybrid<'t> {
    trace: &'t Trace,
    // The task of each operation.
    tasks: Vec<Option<TaskNo>>,
    locks: Vec<BTreeSet<LockNo>>,
    // before[j][i]: i is before j.
    before: Vec<Vec<bool>>,
}

impl<'t> NaiveHybrid<'t> {
    fn new(trace: &'t Trace) -> Self {
        let n = trace.ops.len();
        let mut running = vec![None; trace.threads.len()];
        let mut held = vec![BTreeSet::new(); trace.threads.len()];
        let (mut tasks, mut locks) = (Vec::new(), Vec::new());
        for op in trace.ops.iter() {
            let thread = op.thread.0 as usize;
            match op.action {
                Action::Begin(task) => running[thread] = Some(task),
                Action::Acquire(lock) => drop(held[thread].insert(lock)),
                Action::Release(lock) => drop(held[thread].remove(&lock)),
                _ => {}
            }
            tasks.push(running[thread]);
            locks.push(held[thread].clone());
            if let Action::End(_) = op.action {
                running[thread] = None;
            }
        }
        let mut naive = Self { trace, tasks, locks, before: vec![vec![false; n]; n] };
        for j in 0..n {
            for i in 0..j {
                if naive.edge(i, j) {
                    let of_i = naive.before[i].clone();
                    naive.before[j][i] = true;
                    naive.before[j].iter_mut().zip(of_i).for_each(|(to, from)| *to |= from);
                }
            }
        }
        naive
    }

    fn action(&self, i: usize) -> Action {
        self.trace.ops[OpNo(i as u32)].action
    }

    fn thread(&self, i: usize) -> ThreadNo {
        self.trace.ops[OpNo(i as u32)].thread
    }

    fn fired(&self, i: usize) -> bool {
        self.trace.threads[self.thread(i)].environment
    }

    fn context(&self, i: usize) -> (ThreadNo, Option<TaskNo>) {
        (self.thread(i), self.tasks[i])
    }

    // Whether an edge leads from one operation to a later one. The order before the later one is known.
    fn edge(&self, i: usize, j: usize) -> bool {
        if self.context(i) == self.context(j) && !self.fired(i) {
            return true;
        }
        let on_one_thread = self.thread(i) == self.thread(j) && !self.fired(i);
        match (self.action(i), self.action(j)) {
            // The own code of a looper up to its loop.
            (_, Action::Begin(_)) if on_one_thread && self.tasks[i].is_none() => true,
            (Action::End(_), Action::Leave | Action::ThreadExit) if on_one_thread => true,
            (Action::End(first), Action::Begin(second)) if on_one_thread => self.queue(first, second),
            (Action::Fork(child), _) if child == self.thread(j) => true,
            (Action::ThreadExit, Action::Join(other)) => other == self.thread(i),
            (Action::AttachQueue, Action::Post(task)) if !self.fired(j) => {
                self.trace.tasks[task].looper == self.thread(i)
            }
            (Action::Enable(event), Action::Post(task)) => self.trace.tasks[task].events.contains(&event),
            (Action::Post(task), Action::Begin(begun)) => task == begun,
            _ => false,
        }
    }

    // FIFO and NOPRE.
    fn queue(&self, first: TaskNo, second: TaskNo) -> bool {
        let (a, b) = (&self.trace.tasks[first], &self.trace.tasks[second]);
        let Some(post) = b.post else { return false };
        let is_before = |op: OpNo| self.before[post.0 as usize][op.0 as usize];
        // NOPRE orders microtasks: they belong to the message before them.
        let is_micro = |task: &Task| task.time == PostTime::Micro;
        if is_micro(a) {
            let message = self.message_of(first).or(a.begin);
            return message.is_some_and(is_before);
        }
        if is_micro(b) {
            return a.begin.is_some_and(is_before);
        }
        let is_fifo = |posted: OpNo| !self.fired(posted.0 as usize) && a.class().precedes(b.class());
        a.begin.is_some_and(is_before) || a.post.is_some_and(|posted| is_fifo(posted) && is_before(posted))
    }

    // The begin of the message that a microtask belongs to, if its post knows it.
    fn message_of(&self, micro: TaskNo) -> Option<OpNo> {
        let task = &self.trace.tasks[micro];
        let (begin, post) = (task.begin?, task.post?);
        let is_message = |op: &OpNo| match self.action(op.0 as usize) {
            Action::Begin(other) => {
                self.thread(op.0 as usize) == task.looper && self.trace.tasks[other].time != PostTime::Micro
            }
            _ => false,
        };
        let message = (0..begin.0).rev().map(OpNo).find(is_message)?;
        self.before[post.0 as usize][message.0 as usize].then_some(message)
    }

    // Whether some task began although an earlier one, which FIFO puts before it, had not ended.
    fn is_overtaken(&self) -> bool {
        let tasks = || self.trace.tasks.enumerate().filter_map(|(id, task)| Some((id, task, task.begin?)));
        let ended = |task: TaskNo, by: OpNo| (0..by.0).any(|i| self.action(i as usize) == Action::End(task));
        tasks().any(|(second, b, begin)| {
            let alike = tasks().filter(|(first, a, _)| *first != second && a.looper == b.looper);
            let mut early = alike.filter(|(first, ..)| self.queue(*first, second));
            early.any(|(first, ..)| !ended(first, begin))
        })
    }

    fn is_race(&self, i: usize, j: usize) -> bool {
        let Some(((at, writes), (other, also))) = self.action(i).access().zip(self.action(j).access()) else {
            return false;
        };
        let guarded = self.thread(i) != self.thread(j) && !self.locks[i].is_disjoint(&self.locks[j]);
        at == other && (writes || also) && self.context(i) != self.context(j) && !self.before[j][i] && !guarded
    }

    fn key(&self, i: usize, j: usize) -> Key {
        let end = |i: usize| match self.trace.ops[OpNo(i as u32)].site {
            SiteNo::NONE => (1, self.thread(i).0, self.tasks[i].map_or(u32::MAX, |task| task.0)),
            site => (0, site.0, 0),
        };
        (self.action(i).access().map_or(LocationNo(0), |(at, _)| at), BTreeSet::from([end(i), end(j)]))
    }
}

#[test]
fn over_a_trace_it_finds_what_the_rules_leave_unordered() {
    let rules = DetectorId::HYBRID.rules().unwrap();
    let (mut total, mut overtaken) = (0, 0);
    for seed in 0..1500 {
        let trace = generate::trace(&mut Rng::seeded(seed), 60);
        let naive = NaiveHybrid::new(&trace);
        let n = trace.ops.len();
        let pairs = (0..n).flat_map(|j| (0..j).map(move |i| (i, j)));
        let expected: BTreeSet<Key> =
            pairs.filter(|(i, j)| naive.is_race(*i, *j)).map(|(i, j)| naive.key(i, j)).collect();
        let found = rules.analyze(&trace, Options::default(), &AtomicBool::new(false)).unwrap().unwrap();
        let ends = found.races.iter().map(|race| (race.first.0 as usize, race.second.0 as usize));
        let keys: BTreeSet<Key> = ends.map(|(i, j)| naive.key(i, j)).collect();
        assert!(keys.is_superset(&expected), "{seed} {:#?}", listing(&trace));
        // A task that was overtaken is before nothing by FIFO: there may be more pairs.
        if naive.is_overtaken() {
            overtaken += 1;
        } else {
            assert_eq!(keys, expected, "{seed} {:#?}", listing(&trace));
            total += expected.len();
        }
    }
    assert!(total > 300 && overtaken > 5, "{total} {overtaken}");
}
