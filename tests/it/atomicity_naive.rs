//! The definition of a violation of atomicity, computed step by step from what it says, and by trying all orders.
//!
//! It shares with the analysis only the numbers of steps.

use raceflip::base::Id;
use raceflip::detect::atomicity::{EdgeRules, Specification, StepKind, StepNo, Steps};
use raceflip::trace::{Action, ChannelNo, TaskNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// Where a step happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// A step of the environment, which is by itself.
    Alone(usize),
    /// A thread's own code.
    Own(u32),
    Task(TaskNo),
}

/// A declared transaction: an instance, the root of a tree, or an execution of a block (the index of its mark).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Owner {
    Instance(u32),
    Root(TaskNo),
    Block(usize),
}

/// The direct edges and transactions of a trace.
pub(crate) struct Definition<'t> {
    trace: &'t Trace,
    pub(crate) places: Vec<Place>,
    pub(crate) owners: Vec<Option<Owner>>,
    pub(crate) edges: BTreeSet<(usize, usize)>,
}

impl<'t> Definition<'t> {
    pub(crate) fn new(steps: &Steps<'t>, specification: Specification, rules: EdgeRules) -> Self {
        let trace = steps.trace;
        let places = places(steps);
        let owners = match specification {
            Specification::Blocks => blocks(steps, &places),
            _ => tasks(steps, &places, specification),
        };
        let mut definition = Self { trace, places, owners, edges: BTreeSet::new() };
        let kinds: Vec<StepKind> = steps.all.iter().map(|step| step.kind).collect();
        for j in 0..kinds.len() {
            for i in 0..j {
                if definition.is_edge(&kinds, i, j, rules) {
                    definition.edges.insert((i, j));
                }
            }
        }
        definition
    }

    // Whether there is a direct edge from step i to step j.
    fn is_edge(&self, kinds: &[StepKind], i: usize, j: usize, rules: EdgeRules) -> bool {
        use StepKind::{Acquire, Begin, Enable, Fork, Join, Post, Read, Receive, Release, Send, Write};
        let between = |of: &dyn Fn(usize) -> bool| (i + 1..j).any(of);
        if self.places[i] == self.places[j] && !between(&|k| self.places[k] == self.places[j]) {
            return true;
        }
        let own = Place::Own;
        let handles = |event: u32, task: u32| {
            let mut events = self.trace.tasks[TaskNo(task)].events.iter();
            events.any(|e| e.0 == event) && !between(&|k| kinds[k] == Enable(event))
        };
        let is_unposted = |task: u32| self.trace.tasks[TaskNo(task)].post.is_none();
        match (kinds[i], kinds[j]) {
            (Fork(child), _) if self.places[j] == own(child) => !(0..j).any(|k| self.places[k] == own(child)),
            (_, Join(child)) if self.places[i] == own(child) => !between(&|k| self.places[k] == own(child)),
            (Post(a), Begin(b)) => a == b,
            (Enable(event), Post(task)) => handles(event, task),
            (Enable(event), Begin(task)) if is_unposted(task) => handles(event, task),
            (Read(a) | Write(a), Read(b) | Write(b)) => {
                a == b
                    && (matches!(kinds[i], Write(_)) || matches!(kinds[j], Write(_)))
                    && !between(&|k| kinds[k] == Write(a) && self.party(k) != self.party(i))
            }
            (Send(a), Receive(b)) => {
                a == b && (rules == EdgeRules::Paper || !self.trace.lock_channels.contains(&ChannelNo(a)))
            }
            (Release(a), Acquire(b)) => rules == EdgeRules::Paper && a == b && !between(&|k| kinds[k] == Release(a)),
            _ => false,
        }
    }

    /// Whether forks, posts, joins and program order alone lead from one step to a later one.
    pub(crate) fn makes(&self, steps: &Steps<'_>, from: usize, to: usize) -> bool {
        use StepKind::{Begin, Fork, Join, Post};
        let kind = |step: usize| steps.all[StepNo::new(step)].kind;
        let is_direct = |i: usize, j: usize| {
            self.edges.contains(&(i, j))
                && (self.places[i] == self.places[j]
                    || match (kind(i), kind(j)) {
                        (Fork(child), _) => self.places[j] == Place::Own(child),
                        (_, Join(child)) => self.places[i] == Place::Own(child),
                        (Post(a), Begin(b)) => a == b,
                        _ => false,
                    })
        };
        let mut reached = BTreeSet::from([from]);
        for j in from + 1..=to {
            if reached.iter().any(|i| is_direct(*i, j)) {
                reached.insert(j);
            }
        }
        reached.contains(&to)
    }

    fn party(&self, step: usize) -> (Option<Owner>, Option<Place>) {
        (self.owners[step], self.owners[step].is_none().then_some(self.places[step]))
    }

    /// The trace.
    pub(crate) fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// All transactions.
    pub(crate) fn transactions(&self) -> BTreeSet<Owner> {
        self.owners.iter().flatten().copied().collect()
    }

    // The tasks that a transaction cannot interrupt.
    fn mates(&self, of: Owner) -> BTreeSet<TaskNo> {
        let tasks = |is_own: bool| {
            let steps = (0..self.places.len()).filter(move |i| (self.owners[*i] == Some(of)) == is_own);
            steps.filter_map(|i| if let Place::Task(task) = self.places[i] { Some(task) } else { None })
        };
        let own: BTreeSet<TaskNo> = tasks(true).collect();
        let loopers: BTreeSet<_> = own.iter().map(|task| self.trace.tasks[*task].looper).collect();
        tasks(false).filter(|t| loopers.contains(&self.trace.tasks[*t].looper) && !own.contains(t)).collect()
    }

    /// Returns the steps of a transaction at which a path comes back that has left it.
    pub(crate) fn hits(&self, of: Owner, joint: bool) -> BTreeSet<StepNo> {
        let mates = self.mates(of);
        // The node of each step, as the least step of it.
        let mut node: Vec<usize> = (0..self.places.len()).collect();
        let is_joined = |i: usize, j: usize| {
            let mate = matches!(self.places[i], Place::Task(task) if self.places[j] == self.places[i] && mates.contains(&task));
            mate || joint && self.owners[i].is_some() && self.owners[i] == self.owners[j]
        };
        loop {
            let before = node.clone();
            for j in 0..node.len() {
                for i in 0..j {
                    if is_joined(i, j) {
                        let least = node[i].min(node[j]);
                        (node[i], node[j]) = (least, least);
                    }
                }
            }
            if node == before {
                break;
            }
        }
        let is_own = |step: usize| self.owners[step] == Some(of);
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        loop {
            let more: BTreeSet<usize> = self
                .edges
                .iter()
                .filter(|(i, j)| (is_own(*i) || reached.contains(&node[*i])) && !is_own(*j))
                .map(|(_, j)| node[*j])
                .collect();
            let count = reached.len();
            reached.extend(more);
            if reached.len() == count {
                break;
            }
        }
        let back = self.edges.iter().filter(|(i, j)| !is_own(*i) && reached.contains(&node[*i]) && is_own(*j));
        back.map(|(_, j)| StepNo(*j as u32)).collect()
    }

    /// Returns whether some order keeps the edges and has a transaction in one piece, with each task that it cannot
    /// interrupt before it or after it. Tries all orders. The trace has at most 24 steps.
    pub(crate) fn has_serial_order(&self, of: Owner) -> bool {
        let n = self.places.len();
        assert!(n <= 24, "{n} steps");
        let before: Vec<u32> =
            (0..n).map(|j| self.edges.iter().filter(|(_, to)| *to == j).map(|(i, _)| 1 << i).sum()).collect();
        let set = |of: &dyn Fn(usize) -> bool| (0..n).filter(|i| of(*i)).map(|i| 1_u32 << i).sum::<u32>();
        let own = set(&|i| self.owners[i] == Some(of));
        let mates: Vec<u32> =
            self.mates(of).into_iter().map(|task| set(&|i| self.places[i] == Place::Task(task))).collect();
        let mut open = vec![0_u32];
        let mut seen: BTreeMap<u32, ()> = BTreeMap::new();
        while let Some(done) = open.pop() {
            if done == (1 << n) - 1 {
                return true;
            }
            if seen.insert(done, ()).is_some() {
                continue;
            }
            let in_own = done & own != 0 && done & own != own;
            for i in (0..n).filter(|i| done >> i & 1 == 0 && before[*i] & !done == 0) {
                let is_own = own >> i & 1 == 1;
                let begins = is_own && done & own == 0;
                let torn = |mate: &u32| done & mate != 0 && done & mate != *mate;
                if in_own && !is_own || begins && mates.iter().any(torn) {
                    continue;
                }
                open.push(done | 1 << i);
            }
        }
        false
    }
}

fn places(steps: &Steps<'_>) -> Vec<Place> {
    let mut running: BTreeMap<u32, TaskNo> = BTreeMap::new();
    let mut places = Vec::new();
    for (at, step) in steps.all.enumerate() {
        let thread = steps.thread_of(at);
        let action = steps.op_of(at).map(|op| steps.trace.ops[op].action);
        if let Some(Action::Begin(task)) = action {
            running.insert(thread.0, task);
        }
        places.push(match running.get(&thread.0) {
            _ if steps.trace.threads[thread].environment => Place::Alone(at.index()),
            Some(task) => Place::Task(*task),
            None => Place::Own(thread.0),
        });
        if let Some(Action::End(_)) = action {
            running.remove(&thread.0);
        }
        let _ = step;
    }
    places
}

fn tasks(steps: &Steps<'_>, places: &[Place], specification: Specification) -> Vec<Option<Owner>> {
    let trace = steps.trace;
    // The task in which each task was posted, if it runs on the same looper.
    let mut parents: BTreeMap<TaskNo, TaskNo> = BTreeMap::new();
    for (at, step) in steps.all.enumerate() {
        if let (StepKind::Post(task), Place::Task(parent)) = (step.kind, places[at.index()])
            && trace.tasks[parent].looper == trace.tasks[TaskNo(task)].looper
        {
            parents.insert(TaskNo(task), parent);
        }
    }
    let owner = |task: TaskNo| -> Option<Owner> {
        let line: Vec<TaskNo> = std::iter::successors(Some(task), |t| parents.get(t).copied()).collect();
        match specification {
            Specification::Lifecycle => {
                line.iter().find_map(|t| trace.tasks[*t].instance).map(|instance| Owner::Instance(instance.0))
            }
            // A task without a post is declared by nothing.
            Specification::Tree => {
                line.iter().rev().find(|t| trace.tasks[**t].post.is_some()).map(|root| Owner::Root(*root))
            }
            _ => trace.tasks[task].post.map(|_| Owner::Root(task)),
        }
    };
    let of = |(at, step): (StepNo, &raceflip::detect::atomicity::Step)| match (places[at.index()], step.kind) {
        (Place::Task(task), _) => owner(task),
        (Place::Alone(_), StepKind::Post(task)) => owner(TaskNo(task)),
        _ => None,
    };
    steps.all.enumerate().map(of).collect()
}

fn blocks(steps: &Steps<'_>, places: &[Place]) -> Vec<Option<Owner>> {
    let trace = steps.trace;
    // A step is in the block whose begin is the first of those that are open in its place.
    let is_before = |mark: usize, at: StepNo| {
        let mark_at = trace.transactions[mark].before;
        let atomic = steps.op_of(at).is_none();
        let order = |at: StepNo| steps.all.ids().filter(|s| *s < at && steps.op_of(*s).is_none()).count();
        match atomic {
            false => mark_at <= steps.all[at].op,
            true => mark < trace.atomics[order(at)].marks as usize,
        }
    };
    let mut owners = Vec::new();
    for at in steps.all.ids() {
        let place = places[at.index()];
        let (mut open, mut outermost) = (0_u32, None);
        for (i, mark) in trace.transactions.iter().enumerate().filter(|(i, mark)| !mark.unit && is_before(*i, at)) {
            if place_of_mark(steps, places, i) != Some(place) {
                continue;
            }
            if mark.begins {
                if open == 0 {
                    outermost = Some(i);
                }
                open += 1;
            } else {
                open = open.saturating_sub(1);
            }
        }
        owners.push(outermost.filter(|_| open > 0).map(Owner::Block));
    }
    owners
}

// Where a mark stands: in the task that its thread runs then, or in the thread's own code.
fn place_of_mark(steps: &Steps<'_>, places: &[Place], mark: usize) -> Option<Place> {
    let trace = steps.trace;
    let mark = &trace.transactions[mark];
    let mut running = None;
    for (at, op) in trace.ops.enumerate().filter(|(at, op)| *at < mark.before && op.thread == mark.thread) {
        match op.action {
            Action::Begin(task) => running = Some(task),
            Action::End(_) => running = None,
            _ => {}
        }
        let _ = at;
    }
    let _ = places;
    Some(running.map_or(Place::Own(mark.thread.0), Place::Task))
}
