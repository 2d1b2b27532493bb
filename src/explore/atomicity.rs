//! Decides whether a declared transaction can be violated: a search of the product of the program with the analysis of
//! atomicity for one transaction ([`prefix_state`]), which is finite.
//!
//! A transaction of a name is searched for by its number in the order of the run: the first one of each run, then the
//! second one, and so on, up to one that no run has.
//!
//! The monitor keeps the trace of the way to each state. What counts of it is what later steps can depend on: what
//! live threads, queued tasks, memory, messages and signals carry. These are named as in all runs (by their makers), so
//! that two ways to one state agree only if everything that is live has the same name and carries the same.

use super::monitor::Monitor;
use super::{Cut, OrderResult, RunChoices, SearchContext, SearchPlan, search_for};
use crate::base::Id;
use crate::detect::TraceRecorder;
use crate::detect::atomicity::{
    AtomicityOptions, Carried, ContextNo, Nth, PrefixState, Specification, analyze, prefix_state,
};
use crate::event::{Cause, ContextId, Event, ObjectId, SiteKind};
use crate::exec::{Observer, run};
use crate::sched::Rerun;
use crate::trace::{LocationNo, TaskNo, ThreadNo};
use crate::world::{Canonicalizer, CreationKind, Program, Snapshot, ThreadStage, World};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use xxhash_rust::xxh3::xxh3_64;

/// Number of transactions of one name in a run, beyond which no proof is tried.
const MOST_TRANSACTIONS: u32 = 8;

/// Number of loopers whose subsets are tried.
const MOST_LOOPERS: usize = 4;

/// Whether transactions can be violated.
#[derive(Clone, Debug)]
pub enum Violations {
    /// This run violates one.
    Happens(RunChoices),
    /// No run violates one.
    Never,
    /// No visited run violates one, but the search is not complete, for this reason.
    Unknown(Unknown),
}

/// Why a search cannot decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// A bound of the search.
    Cut(Cut),
    /// Some run has more transactions of the name than are tried.
    Many,
    /// The program makes too many loopers.
    Program,
    /// A run violates the transaction by the rules of the search, and the analysis of the run does not list it: all
    /// edges of its cycles are forced, also conflicts that forks and posts order.
    Undecided,
}

impl Unknown {
    /// Says why a search cannot decide.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Unknown::Cut(Cut::Stopped) => "the search was interrupted",
            Unknown::Cut(_) => "there are too many states to search",
            Unknown::Many => "some run has too many transactions of the name for a search",
            Unknown::Program => "a search cannot tell the states of so many loopers apart",
            Unknown::Undecided => "the search found a cycle of which all edges may be forced, and looks no further",
        }
    }
}

/// Searches for a run that violates a transaction of a specification, with this name without numbers or with any.
/// Violations by causes only do not count. Returns also the number of visited states of all products.
#[must_use]
pub fn violations<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    (specification, name): (Specification, Option<&str>),
    context: SearchContext<'_>,
) -> (Violations, u64) {
    let mut search = AtomicitySearch { plan, context, states: 0 };
    for nth in 1..=MOST_TRANSACTIONS {
        let which = Nth { specification, name, nth, loopers: None };
        match search.one(which) {
            Violations::Never => {}
            decided => return (decided, search.states),
        }
        // If no run has the next one, no run has any of those after it.
        let next = AtomicityMonitor { only_begins: true, ..AtomicityMonitor::new(Nth { nth: nth + 1, ..which }) };
        match search.ask(&next) {
            OrderResult::Never => return (Violations::Never, search.states),
            OrderResult::Unknown(cut) => return (Violations::Unknown(Unknown::Cut(cut)), search.states),
            OrderResult::Happens(_) => {}
        }
    }
    (Violations::Unknown(Unknown::Many), search.states)
}

struct AtomicitySearch<'s, 'p, P> {
    plan: &'s SearchPlan<'p, P>,
    context: SearchContext<'s>,
    states: u64,
}

impl<P: Program<Guest: Snapshot>> AtomicitySearch<'_, '_, P> {
    fn ask(&mut self, monitor: &AtomicityMonitor<'_>) -> OrderResult {
        let (found, visited) = search_for(self.plan, monitor, self.context);
        self.states += visited;
        found
    }

    // Decides whether one transaction can be violated.
    fn one(&mut self, which: Nth<'_>) -> Violations {
        let way = match self.ask(&AtomicityMonitor::new(which)) {
            OrderResult::Never => return Violations::Never,
            OrderResult::Unknown(cut) => return Violations::Unknown(Unknown::Cut(cut)),
            OrderResult::Happens(way) => way,
        };
        if shows(self.plan, &way, which) {
            return Violations::Happens(way);
        }
        // Tasks of a looper on which the transaction has no task are no wholes. So each set of loopers is tried, and
        // a run counts only if the transaction has a task on each of them.
        let setup = self.plan.program.setup();
        let loopers: Vec<u32> = setup
            .threads
            .enumerate()
            .filter(|(_, about)| about.looper)
            .map(|(id, _)| TraceRecorder::number_of(id).0)
            .collect();
        let spawns = setup.sites.iter().any(|site| site.kind == SiteKind::SpawnLooper);
        if spawns || loopers.len() > MOST_LOOPERS {
            return Violations::Unknown(Unknown::Program);
        }
        for set in 0..1u64 << loopers.len() {
            let members = loopers.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
            let mask = members.fold(0, |mask, (_, looper)| mask | 1 << looper);
            match self.ask(&AtomicityMonitor::new(Nth { loopers: Some(mask), ..which })) {
                OrderResult::Never => {}
                OrderResult::Unknown(cut) => return Violations::Unknown(Unknown::Cut(cut)),
                OrderResult::Happens(way) if shows(self.plan, &way, which) => return Violations::Happens(way),
                OrderResult::Happens(_) => return Violations::Unknown(Unknown::Undecided),
            }
        }
        Violations::Never
    }
}

// Whether the analysis of a run shows that a transaction of the name is violated.
fn shows<P: Program>(plan: &SearchPlan<'_, P>, way: &RunChoices, which: Nth<'_>) -> bool {
    let mut recorder = Recorder(TraceRecorder::new());
    let mut machine = plan.program.machine(plan.limits);
    let mut rerun = Rerun::new(Arc::new(way.choices.clone()));
    run(&mut machine, &mut rerun, 0, &mut recorder, &AtomicBool::new(false));
    let trace = recorder.0.finish();
    let found = analyze(&trace, which.specification, AtomicityOptions::default(), &AtomicBool::new(false));
    found.is_some_and(|found| found.findings.iter().any(|finding| finding.is_violation_of(which.name)))
}

struct Recorder(TraceRecorder);

impl Observer for Recorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

#[derive(Clone)]
struct AtomicityMonitor<'n> {
    which: Nth<'n>,
    // Whether it is only asked if the transaction begins.
    only_begins: bool,
    // Shared by the states that have no step of their own yet.
    recorder: Arc<TraceRecorder>,
    // `None` if the program has too many loopers: then nothing is proved.
    state: Option<Arc<PrefixState>>,
}

impl<'n> AtomicityMonitor<'n> {
    fn new(which: Nth<'n>) -> Self {
        Self { which, only_begins: false, recorder: Arc::new(TraceRecorder::new()), state: None }
    }
}

impl Monitor for AtomicityMonitor<'_> {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        if self.accepts() {
            return;
        }
        Arc::make_mut(&mut self.recorder).observe(world, event);
        self.state = prefix_state(self.recorder.so_far(), self.which).map(Arc::new);
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        let Some(prefix) = &self.state else { return state.distinguish(0) };
        if self.accepts() || prefix.over {
            return state.distinguish(1 + u64::from(self.accepts()));
        }
        state.distinguish(3);
        Words { world, recorder: &self.recorder, prefix, of_carried: !self.only_begins }.write(state);
    }

    fn accepts(&self) -> bool {
        self.state.as_ref().is_some_and(|state| {
            let wholes = self.which.loopers.unwrap_or(0);
            if self.only_begins { state.name.is_some() } else { state.violated && state.loopers & wholes == wholes }
        })
    }
}

// The live part of a prefix in words.
struct Words<'a> {
    world: &'a World,
    recorder: &'a TraceRecorder,
    prefix: &'a PrefixState,
    // Whether what steps carry counts, and not only which transactions have begun.
    of_carried: bool,
}

impl Words<'_> {
    fn write(&self, state: &mut Canonicalizer) {
        // Before the transaction begins, those that have begun count: a later task of one is of no new transaction.
        let mut names: Vec<u64> = match &self.prefix.name {
            Some(name) => vec![1, text(name)],
            None => self.prefix.names.iter().map(|name| text(name)).collect(),
        };
        names.sort_unstable();
        list(state, &names);
        state.distinguish(u64::from(self.prefix.name.is_some()));
        self.threads(state);
        if !self.of_carried {
            return;
        }
        self.objects(state);
        let mut enables = Vec::new();
        for (event, enable) in self.recorder.open_enables() {
            enables.push(u64::from(event.0));
            carried(&mut enables, self.prefix.events[enable.index()]);
        }
        list(state, &enables);
        self.lets(state);
        self.places(state);
        self.channels(state);
        let mut last = Vec::new();
        carried(&mut last, self.prefix.taken);
        list(state, &last);
    }

    // The live threads in the order of the state, each with its name, its queue and what it carries.
    fn threads(&self, state: &mut Canonicalizer) {
        let live = state.threads().to_vec();
        for id in live {
            let thread = self.world.thread(id);
            let mut words = vec![self.name(thread.home), self.name(thread.context)];
            if let Some(number) = self.recorder.thread_of(id).filter(|_| self.of_carried) {
                // A fork is forgotten once its thread has begun, and an ended one is asked by a join only.
                carried(&mut words, self.prefix.contexts[number.index()]);
                carried(&mut words, self.prefix.forks[number.index()]);
                if thread.queue.is_some() {
                    words.push(u64::from(number.0));
                    words.push(u64::from(self.prefix.known.contains_key(&number)));
                    carried(&mut words, self.prefix.known.get(&number).copied().unwrap_or_default());
                }
            }
            self.task(&mut words, thread.context);
            if let Some(queue) = &thread.queue {
                queue.waiting_tasks().for_each(|task| self.task(&mut words, task.context));
            }
            list(state, &words);
        }
    }

    fn task(&self, words: &mut Vec<u64>, context: ContextId) {
        let Some(task) = self.recorder.task_of(context) else { return words.push(0) };
        words.push(self.name(context));
        match (&self.prefix.owners[task], &self.prefix.name) {
            (None, _) => words.push(0),
            (Some((owner, _)), Some(name)) => words.push(1 + u64::from(owner == name)),
            (Some((owner, begun)), None) => words.extend([3, text(owner), u64::from(*begun)]),
        }
        if self.of_carried {
            carried(words, self.prefix.posts[task.index()]);
            carried(words, self.prefix.contexts[self.context_of(task).index()]);
        }
    }

    fn context_of(&self, task: TaskNo) -> ContextNo {
        ContextNo::new(self.recorder.so_far().threads.len() + task.index())
    }

    // The name of each object that something refers to.
    fn objects(&self, state: &mut Canonicalizer) {
        let memory = self.world.memory();
        let known = |object: ObjectId| Some((state.object(object)?, object));
        let mut live: Vec<(u32, ObjectId)> = (0..memory.objects_len()).map(ObjectId::new).filter_map(known).collect();
        live.sort_unstable_by_key(|(number, _)| *number);
        let words: Vec<u64> = live.iter().map(|(_, object)| text(&self.world.object_name(*object))).collect();
        list(state, &words);
    }

    // What lets the environment fire rows of components. Instances have the same numbers in all runs to a state, and a
    // request is named by its place. One that does not wait any more lets nothing be fired.
    fn lets(&self, state: &mut Canonicalizer) {
        let Some(platform) = self.world.platform() else { return };
        let mut all: Vec<Vec<u64>> = Vec::new();
        for (cause, event) in self.recorder.open_lets() {
            let of = self.prefix.events[event.index()];
            let mut words = match cause {
                Cause::Stage(row, instance) => vec![0, u64::from(row.0), u64::from(instance.0), 0],
                Cause::Condition(row, instance) => vec![1, u64::from(row.0), u64::from(instance.0), 0],
                Cause::Request(request) => match platform.waiting_at(request) {
                    Some([instance, row, at]) => vec![2, row, instance, at],
                    None => continue,
                },
            };
            if !of.is_empty() {
                carried(&mut words, of);
                all.push(words);
            }
        }
        all.sort_unstable();
        list(state, &all.concat());
    }

    // The accesses of locations, by name. The contexts of accesses count as long as they can act.
    fn places(&self, state: &mut Canonicalizer) {
        let trace = self.recorder.so_far();
        let mut all: Vec<Vec<u64>> = Vec::new();
        for (place, accesses) in self.prefix.places.iter().enumerate() {
            let name = match place.checked_sub(trace.places.len()) {
                None => &trace.places[LocationNo::new(place)].name,
                Some(atomic) => &trace.atomic_names[LocationNo::new(atomic)],
            };
            let mut each: Vec<Vec<u64>> = Vec::new();
            let write = accesses.write.iter().map(|(context, of)| (1, context, of));
            for (kind, context, of) in write.chain(accesses.reads.iter().map(|(context, of)| (0, context, of))) {
                if !of.is_empty() {
                    let mut words = vec![kind, self.acting(*context)];
                    carried(&mut words, *of);
                    each.push(words);
                }
            }
            each.sort_unstable();
            each.dedup();
            if !each.is_empty() {
                all.push([vec![text(name)], each.concat()].concat());
            }
        }
        all.sort_unstable();
        list(state, &all.concat());
    }

    // A number for a context that can still act; 0 for one that has ended.
    fn acting(&self, context: ContextNo) -> u64 {
        let runs = |id| {
            let thread = self.world.thread(id);
            let task = self.recorder.task_of(thread.context).map(|task| self.context_of(task));
            let own = self.recorder.thread_of(id).map(|ThreadNo(number)| ContextNo(number));
            let is_task = task == Some(context);
            (thread.status == ThreadStage::Alive && (is_task || own == Some(context)))
                .then(|| self.name(if is_task { thread.context } else { thread.home }))
        };
        self.world.threads().ids().find_map(runs).unwrap_or(0)
    }

    // Signals have numbers of this run, so with them the numbers of threads and objects count as well.
    fn channels(&self, state: &mut Canonicalizer) {
        let rest = self.recorder.rest();
        if rest.is_empty() {
            return;
        }
        let mut words = vec![text(&rest)];
        words.extend(state.threads().iter().map(|thread| u64::from(thread.0)));
        let objects = (0..self.world.memory().objects_len()).map(ObjectId::new);
        words.extend(objects.map(|object| state.object(object).map_or(0, |number| 1 + u64::from(number))));
        for of in self.prefix.channels.iter().chain(&self.prefix.events).chain(&self.prefix.contexts) {
            carried(&mut words, *of);
        }
        list(state, &words);
    }

    // A word for the pedigree of a context.
    fn name(&self, context: ContextId) -> u64 {
        let mut bytes = Vec::new();
        for (made, nth) in self.world.contexts().chain(context) {
            let (kind, number) = match made {
                CreationKind::Body(body) => (0, body.0),
                CreationKind::Event(event) => (1, event.0),
                CreationKind::Declared(thread) => (2, thread.0),
                CreationKind::Class(class) => (3, class),
                CreationKind::Instance(component) => (4, component.0),
                CreationKind::Init => (5, 0),
                CreationKind::Looper => (6, 0),
                CreationKind::Scope => (7, 0),
            };
            [kind, number, nth].into_iter().for_each(|word: u32| bytes.extend(word.to_le_bytes()));
        }
        xxh3_64(&bytes)
    }
}

fn text(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

fn carried(words: &mut Vec<u64>, of: Carried) {
    let Carried { own, after: [causes, any], from } = of;
    words.push(u64::from(own) | u64::from(causes) << 1 | u64::from(any) << 2);
    words.extend(from);
}

fn list(state: &mut Canonicalizer, words: &[u64]) {
    state.distinguish(words.len() as u64);
    words.iter().for_each(|word| state.distinguish(*word));
}
