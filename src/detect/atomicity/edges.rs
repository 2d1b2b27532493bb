//! The direct edges of a trace, one by one, for the paths of cycles. `bits` decides without them what is violated.
//!
//! Of the accesses of one party (a transaction, or a context outside transactions) by one statement only the last one
//! has an edge to a later access: an earlier one leads to it. The same holds for sends. Between two accesses of one
//! party there is an edge only if no write comes between them: the accesses before that write lead to it.

use super::accesses::{Access, Accesses};
use super::spec::Transactions;
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use super::{EdgeKind, EdgeRules};
use crate::base::{Id, IndexVec};
use crate::trace::{SiteNo, TaskNo};

/// A direct edge from a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Edge {
    pub(super) to: StepNo,
    pub(super) kind: EdgeKind,
}

/// Direct edges, by the step that they come from.
pub(super) struct Edges {
    // The edges of step i are those from `starts[i]` to `starts[i + 1]`, ascending.
    starts: Vec<u32>,
    all: Vec<Edge>,
    next: NextSteps,
}

/// For each step the next one of its context.
struct NextSteps(IndexVec<StepNo, StepNo>);

impl NextSteps {
    // Stands for no step.
    const NONE: StepNo = StepNo(u32::MAX);
}

impl Edges {
    pub(super) fn of(steps: &Steps<'_>, transactions: &Transactions, rules: EdgeRules) -> Self {
        // The edges are made twice, first to count them: a list of all of them to be sorted would need several times
        // the space.
        let mut starts = vec![0u32; steps.all.len() + 1];
        Maker::new(steps, transactions, rules).all(|from, _| starts[from.index() + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let none = Edge { to: StepNo(0), kind: EdgeKind::Program };
        let mut all = vec![none; starts[steps.all.len()] as usize];
        // Each start moves on to the end of its edges, which is the start of the next step's.
        let next = Maker::new(steps, transactions, rules).all(|from, edge| {
            let start = &mut starts[from.index()];
            all[*start as usize] = edge;
            *start += 1;
        });
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, all, next }
    }

    /// Returns the edges from a step, without program order.
    pub(super) fn from(&self, step: StepNo) -> &[Edge] {
        &self.all[self.starts[step.index()] as usize..self.starts[step.index() + 1] as usize]
    }

    /// Returns the next step of the context of a step.
    pub(super) fn next(&self, step: StepNo) -> Option<StepNo> {
        Some(self.next.0[step]).filter(|next| *next != NextSteps::NONE)
    }
}

struct Maker<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    rules: EdgeRules,
    // The edges to the current step.
    found: Vec<(StepNo, EdgeKind)>,
    next: NextSteps,
    // The last step of each context, the fork of each thread, and so on.
    last: Vec<Option<StepNo>>,
    forks: Vec<Option<StepNo>>,
    posts: Vec<Option<StepNo>>,
    enables: Vec<Option<StepNo>>,
    releases: Vec<Option<StepNo>>,
    sends: Vec<Vec<Access>>,
    accesses: Vec<Accesses>,
}

impl<'a> Maker<'a> {
    fn new(steps: &'a Steps<'a>, transactions: &'a Transactions, rules: EdgeRules) -> Self {
        let trace = steps.trace;
        Self {
            steps,
            transactions,
            rules,
            found: Vec::new(),
            next: NextSteps(steps.all.iter().map(|_| NextSteps::NONE).collect()),
            last: vec![None; steps.contexts()],
            forks: vec![None; trace.threads.len()],
            posts: vec![None; trace.tasks.len()],
            enables: vec![None; trace.events.len()],
            releases: vec![None; trace.locks.len()],
            sends: vec![Vec::new(); trace.channels as usize],
            accesses: vec![Accesses::default(); steps.locations()],
        }
    }

    // Hands over all edges, ascending by their ends. Of several edges between two steps the first kind counts.
    fn all(mut self, mut each: impl FnMut(StepNo, Edge)) -> NextSteps {
        for to in self.steps.all.ids() {
            self.step(to);
            self.found.sort_unstable();
            self.found.dedup_by_key(|(from, _)| *from);
            self.found.drain(..).for_each(|(from, kind)| each(from, Edge { to, kind }));
        }
        self.next
    }

    fn edge(&mut self, from: Option<StepNo>, kind: EdgeKind) {
        self.found.extend(from.map(|from| (from, kind)));
    }

    fn source(&self, step: StepNo, writes: bool) -> Access {
        let context = self.steps.all[step].context;
        let outside = || self.transactions.all.len() as u32 + context.0.min(u32::MAX / 2);
        let site = self.steps.site_of(step);
        let statement = if site == SiteNo::NONE { 1 << 31 | context.0 } else { site.0 };
        let party = self.transactions.of_step(step).map_or_else(outside, |transaction| transaction.0);
        Access { step, context, party, statement, writes }
    }

    fn step(&mut self, at: StepNo) {
        let step = self.steps.all[at];
        if step.context != ContextNo::NONE {
            let context = step.context.index();
            let before = self.last[context].replace(at);
            match before {
                Some(before) => self.next.0[before] = at,
                None if context < self.forks.len() => self.edge(self.forks[context], EdgeKind::Cause),
                None => {}
            }
        }
        match step.kind {
            StepKind::Read(place) => self.access(place as usize, self.source(at, false)),
            StepKind::Write(place) => self.access(place as usize, self.source(at, true)),
            StepKind::Fork(thread) => self.forks[thread as usize] = Some(at),
            StepKind::Join(thread) => self.edge(self.last[thread as usize], EdgeKind::Cause),
            StepKind::Post(task) => {
                self.after_events(TaskNo(task));
                self.posts[task as usize] = Some(at);
            }
            StepKind::Begin(task) => {
                self.edge(self.posts[task as usize], EdgeKind::Cause);
                if self.steps.trace.tasks[TaskNo(task)].post.is_none() {
                    self.after_events(TaskNo(task));
                }
            }
            StepKind::Enable(event) => self.enables[event as usize] = Some(at),
            StepKind::Send(channel) => {
                let source = self.source(at, true);
                let sends = &mut self.sends[channel as usize];
                sends.retain(|other| (other.party, other.statement) != (source.party, source.statement));
                sends.push(source);
            }
            StepKind::Receive(channel) => {
                let is_lock = self.steps.trace.lock_channels.binary_search(&crate::trace::ChannelNo(channel)).is_ok();
                let kind = if is_lock { EdgeKind::Lock } else { EdgeKind::Signal };
                if kind == EdgeKind::Signal || self.rules == EdgeRules::Paper {
                    for i in 0..self.sends[channel as usize].len() {
                        self.edge(Some(self.sends[channel as usize][i].step), kind);
                    }
                }
            }
            StepKind::Acquire(lock) if self.rules == EdgeRules::Paper => {
                self.edge(self.releases[lock as usize], EdgeKind::Lock);
            }
            StepKind::Release(lock) => self.releases[lock as usize] = Some(at),
            StepKind::Acquire(_) | StepKind::Other => {}
        }
    }

    fn after_events(&mut self, task: TaskNo) {
        for i in 0..self.steps.trace.tasks[task].events.len() {
            let event = self.steps.trace.tasks[task].events[i];
            self.edge(self.enables[event.index()], EdgeKind::Cause);
        }
    }

    fn access(&mut self, place: usize, access: Access) {
        let found = &mut self.found;
        self.accesses[place].add(access, |from| found.push((from, EdgeKind::Conflict)));
    }
}
