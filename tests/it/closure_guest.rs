//! A kind of program that is no model: its threads are Rust closures. Detection, confirmation, shrinking and replay
//! work for it by the traits `Guest` and `Program` alone. A second guest with the same threads is a `Snapshot` as well,
//! so that its states can be searched and compared with what the campaign says of the first one.

use raceflip::campaign::{
    CampaignContext, CampaignPlan, Claim, Confirmation, First, NoProgress, PairReport, Proof, TrialPlan, Verdict,
    confirm,
};
use raceflip::detect::Pair;
use raceflip::event::{
    BodyId, EndValue, Failure, FailureKind, GlobalId, Location, LockId, Op, Outcome, Site, SiteId, SiteKind, ThreadId,
    Value,
};
use raceflip::exec::{LoopEnd, NoObserver, run};
use raceflip::explore::{self, explore};
use raceflip::sched::{RandomWalk, Replay, ScheduleRecorder};
use raceflip::shrink::{Effort, shrink};
use raceflip::token::Token;
use raceflip::world::{
    CanonicalWriter, EndValues, FirstValue, Guest, Limits, Machine, Memory, Next, Program, Reply, Search, Setup,
    Snapshot, ThreadSetup, WordKind, World, signature,
};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a thread does next.
enum Act {
    Perform(Op, SiteId),
    Fail(&'static str, SiteId),
    Return,
}

/// The body of a thread: from the number of operations that it has performed, and the value of the last one.
type Body = fn(u32, Value) -> Act;

const X: Location = Location { cell: 0, object: None };
const L: LockId = LockId(0);

const SITES: [(u32, SiteKind, &str); 7] = [
    (0, SiteKind::Acquire, "l"),
    (0, SiteKind::Write, "x"),
    (0, SiteKind::Release, "l"),
    (1, SiteKind::Acquire, "l"),
    (1, SiteKind::Read, "x"),
    (1, SiteKind::Check, ""),
    (1, SiteKind::Release, "l"),
];
const WRITE: SiteId = SiteId(1);
const READ: SiteId = SiteId(4);
const FAILURE: &str = "failure \"x is not set\" reader:2";

fn writer(performed: u32, _: Value) -> Act {
    match performed {
        0 => Act::Perform(Op::Acquire(L), SiteId(0)),
        1 => Act::Perform(Op::Write(X, 1), WRITE),
        2 => Act::Perform(Op::Release(L), SiteId(2)),
        _ => Act::Return,
    }
}

fn reader(performed: u32, value: Value) -> Act {
    match performed {
        0 => Act::Perform(Op::Read(X), READ),
        1 if value == 0 => Act::Fail("x is not set", SiteId(5)),
        _ => Act::Return,
    }
}

fn locking_reader(performed: u32, value: Value) -> Act {
    match performed {
        0 => Act::Perform(Op::Acquire(L), SiteId(3)),
        1 => Act::Perform(Op::Read(X), READ),
        2 if value == 0 => Act::Fail("x is not set", SiteId(5)),
        2 => Act::Perform(Op::Release(L), SiteId(6)),
        _ => Act::Return,
    }
}

/// A program of two threads, run by guests of type `G`.
struct App<G> {
    setup: Arc<Setup>,
    bodies: [Body; 2],
    guest: PhantomData<fn() -> G>,
}

fn app<G>(reader: Body) -> App<G> {
    let thread = |name: &str| ThreadSetup { name: name.to_owned(), daemon: false, looper: false };
    let site = |(i, (body, kind, place)): (usize, &(u32, SiteKind, &str))| Site {
        body: BodyId(*body),
        ordinal: if *body == 0 { i as u32 } else { i as u32 - 3 },
        kind: *kind,
        place: (*place).to_owned(),
        line: i as u32 + 1,
        column: 1,
        label: None,
        from: None,
        calls: Vec::new(),
    };
    let setup = Setup {
        threads: ["writer", "reader"].map(thread).into_iter().collect(),
        bodies: ["writer", "reader"].map(str::to_owned).into_iter().collect(),
        sites: SITES.iter().enumerate().map(site).collect(),
        cell_names: vec!["x".to_owned()],
        locks: vec![("l".to_owned(), true)],
        cells: vec![FirstValue::Word(0)],
        ..Setup::default()
    };
    App { setup: Arc::new(setup), bodies: [writer, reader], guest: PhantomData }
}

impl<G> EndValues for App<G> {
    fn end_value(&self, variable: GlobalId, memory: &Memory) -> EndValue {
        EndValue::Word(memory.cell(variable.0))
    }
}

/// A guest that runs an `App`.
trait AppGuest: Guest + Sized {
    fn new(app: &App<Self>) -> Self;

    fn search<S: Search<App<Self>>>(_: &App<Self>, _: S) -> Option<S::Answer> {
        None
    }
}

impl<G: AppGuest> Program for App<G> {
    type Guest = G;

    fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    fn machine(&self, limits: Limits) -> Machine<G> {
        Machine::new(G::new(self), limits)
    }

    fn digest(&self) -> u64 {
        0x5eed
    }

    fn defines(&self) -> &[(String, i64)] {
        &[]
    }

    fn search<S: Search<Self>>(&self, search: S) -> Option<S::Answer> {
        G::search(self, search)
    }
}

/// Closures that keep their own state. They can be neither copied nor compared.
struct Closures {
    setup: Arc<Setup>,
    bodies: [Body; 2],
    threads: Vec<Box<dyn FnMut(Value) -> Act>>,
}

/// Plain states of the same threads: the number of operations that each has performed.
#[derive(Clone)]
struct Counters {
    setup: Arc<Setup>,
    bodies: [Body; 2],
    performed: [u32; 2],
}

fn apply(world: &mut World, thread: ThreadId, act: Act) -> Next {
    match act {
        Act::Perform(op, site) => {
            world.pend(thread, op, Some(site));
            Next::Pending
        }
        Act::Fail(message, site) => {
            let failure: Failure = world.failure(FailureKind::Assert, thread, "", message, Some(site));
            world.end(Outcome::Failure(failure));
            Next::Ended
        }
        Act::Return => Next::Finished,
    }
}

fn value_of(reply: Reply) -> Value {
    if let Reply::Value(value) = reply { value } else { 0 }
}

impl Guest for Closures {
    fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    fn reset(&mut self) {
        self.threads.clear();
    }

    fn spawn(&mut self, world: &mut World, thread: ThreadId, _: Option<Op>) -> Next {
        let (body, mut performed) = (self.bodies[thread.0 as usize], 0);
        let mut closure = move |value| {
            performed += 1;
            body(performed - 1, value)
        };
        let first = closure(0);
        self.threads.push(Box::new(closure));
        apply(world, thread, first)
    }

    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        let act = self.threads[thread.0 as usize](value_of(reply));
        apply(world, thread, act)
    }
}

impl AppGuest for Closures {
    fn new(app: &App<Self>) -> Self {
        Self { setup: app.setup.clone(), bodies: app.bodies, threads: Vec::new() }
    }
}

impl Guest for Counters {
    fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    fn reset(&mut self) {
        self.performed = [0; 2];
    }

    fn spawn(&mut self, world: &mut World, thread: ThreadId, _: Option<Op>) -> Next {
        apply(world, thread, self.bodies[thread.0 as usize](0, 0))
    }

    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        let i = thread.0 as usize;
        self.performed[i] += 1;
        apply(world, thread, self.bodies[i](self.performed[i], value_of(reply)))
    }
}

impl Snapshot for Counters {
    type Stand = u32;

    fn global_kinds(&self) -> &[WordKind] {
        &[WordKind::Word]
    }

    fn class_kinds(&self, _: u32) -> &[WordKind] {
        &[]
    }

    fn parameter_kinds(&self, _: BodyId) -> &[WordKind] {
        &[]
    }

    fn write_thread(&self, thread: ThreadId, to: &mut CanonicalWriter<'_>) {
        to.word(u64::from(self.performed[thread.0 as usize]));
    }

    fn thread_key(&self, thread: ThreadId) -> Vec<u64> {
        vec![u64::from(self.performed[thread.0 as usize])]
    }

    fn bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }

    fn stand(&self, thread: ThreadId) -> Self::Stand {
        self.performed[thread.0 as usize]
    }

    fn set_stand(&mut self, thread: ThreadId, stand: &Self::Stand) {
        self.performed[thread.0 as usize] = *stand;
    }
}

impl AppGuest for Counters {
    fn new(app: &App<Self>) -> Self {
        Self { setup: app.setup.clone(), bodies: app.bodies, performed: [0; 2] }
    }

    fn search<S: Search<App<Self>>>(app: &App<Self>, search: S) -> Option<S::Answer> {
        Some(search.perform(app))
    }
}

fn confirmed<G: AppGuest>(reader: Body, pairs: Option<Vec<Pair>>) -> Confirmation {
    let plan = CampaignPlan {
        jobs: 2,
        trials: TrialPlan { pairs, ..TrialPlan::default() },
        ..CampaignPlan::of(Arc::new(app::<G>(reader)))
    };
    confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

fn only_pair(found: &Confirmation) -> &PairReport {
    let [pair] = found.pairs.as_slice() else { panic!("{} pairs", found.pairs.len()) };
    assert_eq!(pair.pair, Pair::new(WRITE, READ));
    pair
}

// The failure comes with the read first, and with no other order.
fn is_harmful(pair: &PairReport) -> &Claim {
    assert_eq!(pair.verdict(), Verdict::Harmful);
    let [write_first, read_first] = &pair.comparison.orders;
    assert!(write_first.runs > 0 && write_first.failures.is_empty());
    assert_eq!(read_first.failures[0].signature, FAILURE);
    &pair.comparison.harms[&(First::B, FAILURE.to_owned())]
}

fn replayed(token: &str) -> String {
    let token: Token = token.parse().unwrap_or_else(|e| panic!("{token}: {e}"));
    let app = app::<Closures>(reader);
    assert_eq!(token.program, app.digest());
    let mut replay = Replay::new(Arc::new(token.schedule));
    let summary =
        run(&mut app.machine(token.limits), &mut replay, token.seed, &mut NoObserver, &AtomicBool::new(false));
    let LoopEnd::Outcome(outcome) = &summary.end else { panic!("{:?}", summary.end) };
    assert_eq!(replay.left_over(summary.steps), None);
    signature(&app.setup, outcome)
}

#[test]
fn closures_are_detected_and_confirmed() {
    let found = confirmed::<Closures>(reader, None);
    let pair = only_pair(&found);
    assert_eq!((pair.discovery.place.as_str(), &pair.proof), ("x", &Proof::Adjacent));
    assert!(matches!(is_harmful(pair), Claim::Runs { .. }));
    assert_eq!(replayed(&pair.comparison.orders[1].failures[0].evidence.token), FAILURE);
    // Nothing was searched, and nothing is claimed about searches.
    assert!(found.searched.is_none() && found.phase1.coverage.searched.is_none() && pair.undecided_by_search.is_none());
    assert!(found.unexplained.is_empty() && found.livelocks.is_none());
}

#[test]
fn a_failing_run_of_closures_is_shrunk_and_replayed() {
    let (app, stop) = (app::<Closures>(reader), AtomicBool::new(false));
    let mut machine = app.machine(Limits::default());
    let mut failing = (0..100).filter_map(|seed| {
        let mut recorder = ScheduleRecorder::new();
        let summary = run(&mut machine, &mut RandomWalk::new(), seed, &mut recorder, &stop);
        let signature = signature(&app.setup, summary.outcome()?);
        let schedule = recorder.schedule(&machine.world);
        let (program, limits, strategy) = (app.digest(), Limits::default(), "random".to_owned());
        Some(Token { program, defines: vec![], limits, strategy, seed, signature, schedule })
    });
    let token =
        failing.find(|token| token.signature == FAILURE && token.schedule.len() > 1).expect("a walk that fails");
    let shrunk = shrink(&app, &token, Effort::QUICK, &stop).unwrap_or_else(|e| panic!("{e}"));
    // The default scheduler runs the writer first. In the smallest failing run the reader goes first, and fails.
    assert!(shrunk.after.deviations == 1 && shrunk.after.steps == 1 && shrunk.fewest);
    assert_eq!(replayed(&shrunk.token.to_string()), FAILURE);
}

#[test]
fn an_order_that_a_failure_cuts_off_is_found_without_copies() {
    let pairs = Some(vec![Pair::new(WRITE, READ)]);
    let [closures, counters] =
        [confirmed::<Closures>(locking_reader, pairs.clone()), confirmed::<Counters>(locking_reader, pairs)];
    for found in [&closures, &counters] {
        let pair = only_pair(found);
        let Proof::Flipped(flip) = &pair.proof else { panic!("{:?}", pair.proof) };
        assert_eq!(flip.cut, Some(First::B));
        assert_eq!(pair.verdict(), Verdict::Harmful);
    }
}

#[test]
fn a_search_of_the_same_program_agrees_with_the_campaign() {
    let app = app::<Counters>(reader);
    let stop = AtomicBool::new(false);
    let context = explore::SearchContext { stop: &stop, progress: &explore::NoSearchProgress };
    let observe = BTreeSet::from([GlobalId(0)]);
    let plan = explore::SearchPlan { observe, signatures: true, pairs: true, ..explore::SearchPlan::new(&app) };
    let searched = explore(&plan, context);
    assert!(searched.complete());
    let ends: Vec<String> = searched.ends.keys().map(|end| end.ended.text()).collect();
    assert_eq!(ends, ["ok 1", "x is not set 0"]);
    assert!(searched.adjacent.keys().eq([&Pair::new(WRITE, READ)]));

    let found = confirmed::<Counters>(reader, None);
    let pair = only_pair(&found);
    assert!(matches!(is_harmful(pair), Claim::Exhaustive { .. }));
    let failures: BTreeSet<&str> = pair.comparison.failures().map(|f| f.signature.as_str()).collect();
    let of_search: BTreeSet<&str> =
        searched.ends.keys().map(|end| end.signature.as_str()).filter(|s| *s != "ok").collect();
    assert_eq!(failures, of_search);
    // The guest without states has the same failures.
    let of_closures = confirmed::<Closures>(reader, None);
    let failures = only_pair(&of_closures).comparison.failures().map(|f| f.signature.as_str());
    assert_eq!(failures.collect::<BTreeSet<_>>(), of_search);
}
