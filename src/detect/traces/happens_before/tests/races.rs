//! Compares races, their classes, ranks and coverage with their definitions, for all pairs of accesses.

use super::{generate, listing, naive::Naive};
use crate::base::Rng;
use crate::detect::Rank;
use crate::detect::traces::happens_before::{Options, Race, RaceClass, TraceEdges, analyze};
use crate::trace::{Action, LockNo, OpNo, SiteNo, TaskNo, ThreadNo, Trace};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

// Location and statements, or contexts if the statements are not known.
type NaiveKey = (u32, BTreeSet<(u32, u32, u32)>);

struct Definitions<'t> {
    trace: &'t Trace,
    full: Naive<'t>,
    forced: Naive<'t>,
    task: Vec<Option<TaskNo>>,
    held: Vec<BTreeSet<LockNo>>,
}

impl<'t> Definitions<'t> {
    fn new(trace: &'t Trace) -> Self {
        let mut running = vec![None; trace.threads.len()];
        let mut holds = vec![BTreeSet::new(); trace.threads.len()];
        let (mut task, mut held) = (Vec::new(), Vec::new());
        for operation in trace.ops.iter() {
            let t = operation.thread.0 as usize;
            match operation.action {
                Action::Begin(begun) => running[t] = Some(begun),
                Action::Acquire(lock) => drop(holds[t].insert(lock)),
                Action::Release(lock) => drop(holds[t].remove(&lock)),
                _ => {}
            }
            task.push(running[t]);
            held.push(holds[t].clone());
            if let Action::End(_) = operation.action {
                running[t] = None;
            }
        }
        let (full, forced) = (Naive::new(trace, TraceEdges::Full), Naive::new(trace, TraceEdges::Forced));
        Self { trace, full, forced, task, held }
    }

    fn thread(&self, op: OpNo) -> ThreadNo {
        self.trace.ops[op].thread
    }

    fn conflict(&self, i: OpNo, j: OpNo) -> bool {
        let access = |op: OpNo| self.trace.ops[op].action.access();
        let context = |op: OpNo| (self.thread(op), self.task[op.0 as usize]);
        access(i).zip(access(j)).is_some_and(|((a, x), (b, y))| a == b && (x || y)) && context(i) != context(j)
    }

    fn is_race(&self, i: OpNo, j: OpNo) -> bool {
        self.conflict(i, j) && !self.full.is_before(i.0 as usize, j.0 as usize)
    }

    fn is_only_locked(&self, i: OpNo, j: OpNo) -> bool {
        let guarded =
            self.thread(i) != self.thread(j) && !self.held[i.0 as usize].is_disjoint(&self.held[j.0 as usize]);
        self.conflict(i, j) && !self.forced.is_before(i.0 as usize, j.0 as usize) && !guarded
    }

    fn key(&self, i: OpNo, j: OpNo) -> NaiveKey {
        let end = |op: OpNo| match self.trace.ops[op].site {
            SiteNo::NONE => (1, self.thread(op).0, self.task[op.0 as usize].map_or(u32::MAX, |task| task.0)),
            site => (0, site.0, 0),
        };
        let at = self.trace.ops[i].action.access().map_or(0, |(at, _)| at.0);
        (at, BTreeSet::from([end(i), end(j)]))
    }

    // Returns the chain of posts of section 4.3, the last post first.
    fn chain(&self, op: OpNo) -> Vec<OpNo> {
        let post = |op: OpNo| self.task[op.0 as usize].and_then(|task| self.trace.tasks[task].post);
        std::iter::successors(post(op), |at| post(*at)).collect()
    }

    fn class(&self, i: OpNo, j: OpNo) -> RaceClass {
        if self.thread(i) != self.thread(j) {
            return RaceClass::MultiThreaded;
        }
        let callee = |post: OpNo| match self.trace.ops[post].action {
            Action::Post(task) => task,
            other => panic!("{other:?} is no post"),
        };
        let recent = |op: OpNo, holds: &dyn Fn(OpNo) -> bool| self.chain(op).into_iter().find(|post| holds(*post));
        let both = |holds: &dyn Fn(OpNo) -> bool| (recent(i, holds), recent(j, holds));
        let events = both(&|post| {
            let is_fired = self.trace.threads[self.thread(post)].environment;
            is_fired || !self.trace.tasks[callee(post)].events.is_empty()
        });
        let delayed = both(&|post| self.trace.tasks[callee(post)].is_delayed());
        let cross = both(&|post| self.thread(post) != self.thread(i));
        match events {
            (Some(a), Some(b)) if a != b && !(a < b && self.full.is_before(a.0 as usize, b.0 as usize)) => {
                RaceClass::CoEnabled
            }
            _ if delayed.0 != delayed.1 => RaceClass::Delayed,
            _ if cross.0 != cross.1 => RaceClass::CrossPosted,
            _ => RaceClass::Unknown,
        }
    }

    fn keys(&self, is: impl Fn(OpNo, OpNo) -> bool) -> BTreeSet<NaiveKey> {
        let pairs = self.trace.ops.ids().flat_map(|j| (0..j.0).map(move |i| (OpNo(i), j)));
        pairs.filter(|(i, j)| is(*i, *j)).map(|(i, j)| self.key(i, j)).collect()
    }

    fn covers(&self, q: &Race, r: &Race) -> bool {
        let before = |x: OpNo, y: OpNo| x == y || x < y && self.full.is_before(x.0 as usize, y.0 as usize);
        (q.first, q.second) != (r.first, r.second) && before(r.first, q.first) && before(q.second, r.second)
    }
}

fn check(trace: &Trace, merging: bool) -> [usize; 3] {
    let options = Options { merging, ..Options::default() };
    let found = analyze(trace, options, &AtomicBool::new(false)).unwrap();
    let definitions = Definitions::new(trace);
    let describe_trace = || listing(trace);
    let (only_locked, races): (Vec<&Race>, Vec<&Race>) =
        found.races.iter().partition(|race| race.rank == Rank::ByLocks);
    let key = |race: &&Race| definitions.key(race.first, race.second);
    let all = definitions.keys(|i, j| definitions.is_race(i, j));
    assert_eq!(races.iter().map(key).collect::<BTreeSet<_>>(), all, "{:#?}", describe_trace());
    let more: BTreeSet<NaiveKey> =
        definitions.keys(|i, j| definitions.is_only_locked(i, j)).difference(&all).cloned().collect();
    assert_eq!(only_locked.iter().map(key).collect::<BTreeSet<_>>(), more, "{:#?}", describe_trace());
    for race in &races {
        assert!(definitions.is_race(race.first, race.second), "{race:?} {:#?}", describe_trace());
        let covering: Vec<_> = races.iter().filter(|q| definitions.covers(q, race)).collect();
        let by = race.covered_by.map(|by| races[by]);
        assert_eq!(by.is_some(), !covering.is_empty(), "{race:?} {:#?}", describe_trace());
        assert!(by.is_none_or(|by| definitions.covers(by, race)), "{race:?} {:#?}", describe_trace());
    }
    for race in &found.races {
        if race.rank != Rank::ByLocks {
            assert_eq!(race.class, definitions.class(race.first, race.second), "{race:?} {:#?}", describe_trace());
        }
    }
    [races.len(), only_locked.len(), races.iter().filter(|race| race.covered_by.is_some()).count()]
}

#[test]
fn races_classes_ranks_and_coverage_are_what_their_definitions_say() {
    let mut total = [0; 3];
    for seed in 0..1500 {
        let trace = generate::trace(&mut Rng::seeded(seed), 80);
        let counts = check(&trace, seed % 4 != 0);
        (0..3).for_each(|i| total[i] += counts[i]);
    }
    assert!(total[0] > 3000 && total[1] > 30 && total[2] > 500, "{total:?}");
}
