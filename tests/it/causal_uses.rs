//! Compares the use-free races of a random trace, their classes and their filters with the definitions.

use crate::causal_rules::Rules;
use crate::causal_traces;
use raceflip::detect::causality::{CausalityRules, External};
use raceflip::detect::happens_before::{Analysis, Options};
use raceflip::detect::{DetectorId, Rank};
use raceflip::trace::{Action, LockNo, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// Location, statements and class of a race.
type Key = (u32, BTreeSet<u32>, &'static str);

struct Definitions<'t> {
    trace: &'t Trace,
    order: Rules<'t>,
    // threads[j][i]: i is before j if all tasks of a looper are in program order.
    threads: Vec<Vec<bool>>,
    held: Vec<BTreeSet<LockNo>>,
}

impl<'t> Definitions<'t> {
    fn new(trace: &'t Trace, rules: CausalityRules) -> Self {
        let mut holds = vec![BTreeSet::new(); trace.threads.len()];
        let held = trace.ops.iter().map(|op| {
            let held: &mut BTreeSet<LockNo> = &mut holds[op.thread.0 as usize];
            match op.action {
                Action::Acquire(lock) => drop(held.insert(lock)),
                Action::Release(lock) => drop(held.remove(&lock)),
                _ => {}
            }
            held.clone()
        });
        let held = held.collect();
        Self { trace, order: Rules::new(trace, rules), threads: threads(trace), held }
    }

    fn context(&self, op: OpNo) -> (ThreadNo, Option<TaskNo>) {
        (self.trace.ops[op].thread, self.order.task[op.0 as usize])
    }

    fn share_looper(&self, a: OpNo, b: OpNo) -> bool {
        let ((x, first), (y, second)) = (self.context(a), self.context(b));
        let has_queue = self.trace.tasks.iter().any(|task| task.looper == x && task.post.is_some());
        x == y && first.is_some() && second.is_some() && has_queue
    }

    fn is_race(&self, usage: OpNo, free: OpNo) -> bool {
        let (i, j) = (usage.min(free), usage.max(free));
        let apart = self.context(i) != self.context(j);
        let locked =
            self.context(i).0 != self.context(j).0 && !self.held[i.0 as usize].is_disjoint(&self.held[j.0 as usize]);
        apart && !locked && !self.order.is_before(i.0 as usize, j.0 as usize)
    }

    fn class(&self, a: OpNo, b: OpNo) -> &'static str {
        if self.share_looper(a, b) {
            "intra-thread"
        } else if self.threads[a.max(b).0 as usize][a.min(b).0 as usize] {
            "inter-thread"
        } else {
            "conventional"
        }
    }

    fn is_filtered(&self, usage: OpNo, free: OpNo) -> bool {
        let at = |op: OpNo| self.trace.ops[op].action.access().map(|(at, _)| at);
        let allocates = |op: OpNo, as_of: OpNo| {
            let writes = matches!(self.trace.ops[op].action, Action::Write(_)) && !self.trace.marks.of(op).frees;
            writes && at(op) == at(as_of) && self.context(op) == self.context(as_of)
        };
        let before = self.trace.ops.ids().any(|op| op < usage && allocates(op, usage));
        let behind = self.trace.ops.ids().any(|op| op > free && allocates(op, free));
        self.share_looper(usage, free) && (self.trace.marks.of(usage).guard.is_some() || before || behind)
    }

    /// Returns all races, with whether all of their occurrences are filtered. On different threads, a race is
    /// conventional if one of its occurrences is.
    fn races(&self) -> BTreeMap<Key, bool> {
        let mut races = BTreeMap::new();
        let marked = |wanted: fn(raceflip::trace::Mark) -> bool| {
            self.trace.marks.iter().filter(move |(_, mark)| wanted(*mark)).map(|(op, _)| op)
        };
        for usage in marked(|mark| mark.uses) {
            for free in marked(|mark| mark.frees) {
                let at = |op: OpNo| self.trace.ops[op].action.access().map(|(at, _)| at.0);
                if at(usage) != at(free) || !self.is_race(usage, free) {
                    continue;
                }
                let sites = BTreeSet::from([usage, free].map(|op| self.trace.ops[op].site.0));
                let key = (at(usage).unwrap_or_default(), sites, self.class(usage, free));
                let filtered = self.is_filtered(usage, free);
                *races.entry(key).or_insert(true) &= filtered;
            }
        }
        let conventional = |key: &Key| (key.0, key.1.clone(), "conventional");
        let keys: BTreeSet<Key> = races.keys().cloned().collect();
        races.retain(|key, _| key.2 != "inter-thread" || !keys.contains(&conventional(key)));
        races
    }
}

// The order of a detector for threads: a thread's operations in program order, forks, joins, signals, posts, enables.
fn threads(trace: &Trace) -> Vec<Vec<bool>> {
    let n = trace.ops.len();
    let op = |i: usize| trace.ops[OpNo(i as u32)];
    let is_environment = |i: usize| trace.threads[op(i).thread].environment;
    let edge = |i: usize, j: usize| match (op(i).action, op(j).action) {
        _ if op(i).thread == op(j).thread && !is_environment(i) => true,
        (Action::Fork(child), _) => child == op(j).thread,
        (Action::ThreadExit, Action::Join(other)) => other == op(i).thread,
        (Action::AttachQueue, Action::Post(task)) if !is_environment(j) => trace.tasks[task].looper == op(i).thread,
        (Action::Post(p), Action::Begin(q)) => p == q,
        (Action::Enable(event), Action::Post(task)) => trace.tasks[task].events.contains(&event),
        (Action::Send(c), Action::Receive(d)) => c == d,
        _ => false,
    };
    let mut before = vec![vec![false; n]; n];
    for j in 0..n {
        for i in (0..j).filter(|i| edge(*i, j)) {
            before[j][i] = true;
            let of_i = before[i].clone();
            before[j].iter_mut().zip(of_i).for_each(|(to, from)| *to |= from);
        }
    }
    before
}

/// Returns what the rules find in a trace.
pub(crate) fn analyze(trace: &Trace, rules: CausalityRules) -> Analysis {
    let id = DetectorId::named(if rules.printed { "cafa-printed" } else { "cafa" }).expect("it has a row");
    let options = Options { external: Some(rules.external), ..Options::default() };
    let found = id.rules().expect("it reads traces").analyze(trace, options, &AtomicBool::new(false));
    found.expect("it is not too large").expect("it is not stopped")
}

/// Compares the races of a trace. Returns the number of races without a filter and with one, or a difference.
pub(crate) fn compare(seed: u64) -> Result<[usize; 2], String> {
    let trace = causal_traces::trace(seed, 160);
    let mut counts = [0; 2];
    for printed in [false, true] {
        for external in [External::Free, External::Ordered] {
            let rules = CausalityRules { printed, external };
            let definitions = Definitions::new(&trace, rules);
            let expected = definitions.races();
            let analysis = analyze(&trace, rules);
            let key = |race: &raceflip::detect::happens_before::Race| {
                let sites = BTreeSet::from([race.first, race.second].map(|op| trace.ops[op].site.0));
                (race.location.0, sites, race.class.name())
            };
            let found: BTreeMap<Key, bool> =
                analysis.races.iter().map(|race| (key(race), race.rank == Rank::Filtered)).collect();
            if !trace.marks.is_empty() && found != expected {
                return Err(format!("seed {seed}: {rules:?}: {found:?} {expected:?}"));
            }
            for race in analysis.races.iter().filter(|_| analysis.is_use_free) {
                let is_use = trace.marks.of(race.first).uses;
                let (usage, free) = if is_use { (race.first, race.second) } else { (race.second, race.first) };
                let filtered = race.rank == Rank::Filtered;
                if filtered != definitions.is_filtered(usage, free) || filtered != race.filter.is_some() {
                    return Err(format!("seed {seed}: {rules:?}: {race:?}"));
                }
                counts[usize::from(filtered)] += 1;
            }
        }
    }
    Ok(counts)
}
