//! Tests of the fast paths of steps. `World::touches` says what a step changes if that is little, and must agree with
//! the table of effects for every operation. A run whose steps are performed in place and in bursts must be the run
//! whose events are recorded, which takes no fast path.

use crate::load::{all_models, load, load_bytes};
use raceflip::base::{Id, Rng};
use raceflip::event::{AccessPlace, Actor, Choice, Op, ThreadId};
use raceflip::exec::{NoObserver, Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::vm::{Model, Vm};
use raceflip::world::{How, Limits, Machine, Question, Thing, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// Defines the names of all operations, and the name of an operation. The match has no default, so an operation without
/// a name here does not compile, and one that no run performs fails the test.
macro_rules! operations {
    ($($name:ident)+) => {
        const OPERATIONS: &[&str] = &[$(stringify!($name)),+];

        fn name(op: &Op) -> &'static str {
            match op {
                $(Op::$name { .. } => stringify!($name)),+
            }
        }
    };
}

operations! {
    Read Write ListRead ListWrite AtomicRead AtomicWrite Cas FetchAdd Exchange Use Free Acquire Release Wait Reacquire
    Notify ReadLock Announce WriteLock ReadUnlock WriteUnlock Down DownFor Up Arrive Pass Await Join Fork SpawnLooper
    Post Begin AttachQueue Fence Lift Cancel Quit NewHandler Enable Disable Register Perform Interrupt Sleep Wake Branch
    Skip Yield Request CancelMessage Unregister
    Send Sent Receive Received Close ChannelRead Select Selected AcquireFor GroupAdd GroupWait GroupPass
    ReadInterrupt Now Launch Suspend Resume CancelJob AskJob SpawnScope OpenBlock
}

/// Operations that no model of the corpus has.
const OTHERS: &str = "\
looper main
semaphore s = 0
atomic n = 0
task f() { skip }
event tap on main { skip }
thread tapper { enable tap; disable tap }
thread a { exchange(n, 1); if (down s for 1) { skip }; yield; let l = spawn looper; post f() to l; quit l }
thread b { attach queue; post f() to self; quit self }
kind screen { stage off, shown; verb show makes { ask appear() }; appear: off -> shown by request { } }
screen S on main { }
listener changed
thread h { show S; let queued = post f() to main after 1; cancel queued; register f to changed; unregister f from changed }
thread c { let x = fence main; lift x; let to_main = handler on main; cancel f on to_main; up s }
channel q: int[0]
channel k: int[1]
waitgroup w
lock guard
thread d { w.add(1); send k 1; if k.closed { skip }; send q 2; w.done(); if now > 5 { skip } }
thread e { recv k; recv q; close q; if (acquire guard for 1) { release guard }; if self.interrupted { skip } }
async task job() { scope { sleep 1 } }
thread j { let o = spawn scope; let x = launch job() on main in o; if x.done { skip }; cancel x }
thread g(i in 0..4) { w.wait(); select { recv q { skip } ; recv k { skip } ; after 2 { skip } } }
";

/// Returns what the operation changes apart from its thread, according to the table of effects, in the words of
/// `StepChange`. `None` if it is more than one thing, or a thing without a fast path.
fn change(world: &World, thread: ThreadId, op: &Op) -> Option<String> {
    let effects = world.effects(thread, op);
    // The cell of a list contains its number. The elements lie elsewhere, so the table names only a part of the change.
    if effects.uses_clock || matches!(op, Op::ListRead { .. } | Op::ListWrite { .. }) {
        return None;
    }
    let mut touches = effects.touches();
    match (touches.next(), touches.next()) {
        (None, _) => Some("Nothing".to_owned()),
        (Some((Thing::Memory(AccessPlace::Cell(at)) | Thing::Atomic(at), how)), None) if at.object.is_none() => {
            Some(if how == How::Read { "Nothing".to_owned() } else { format!("Cell({})", at.cell) })
        }
        (Some((Thing::Lock(lock), How::Acquire | How::Release)), None) if lock.index() < world.setup().locks.len() => {
            Some(format!("Lock({lock:?})"))
        }
        (Some((Thing::Semaphore(semaphore), How::Down | How::Up)), None) => Some(format!("Semaphore({semaphore:?})")),
        _ => None,
    }
}

/// Compares `touches` with the table for all threads that can act. Counts the operations by name, and those with a fast
/// path.
fn compare(world: &World, seen: &mut BTreeMap<&'static str, u64>, fast: &mut BTreeSet<&'static str>) {
    // A step that may end an await changes more than its own thread, so it has no fast path.
    let awaits =
        world.threads().enumerate().any(|(id, t)| matches!(t.pending, Op::Await { .. }) && !world.finished(id));
    // A program with components has no fast paths.
    let is_slow = world.platform().is_some();
    for thread in world.enabled().iter() {
        let op = &world.thread(thread).pending;
        *seen.entry(name(op)).or_default() += 1;
        let declared = thread.index() < world.setup().threads.len();
        let touched = world.touches(Choice { actor: Actor::Thread(thread), argument: 0 });
        let expected = change(world, thread, op).filter(|_| declared && !is_slow);
        let expected = expected.map(|what| format!("StepChange {{ thread: {thread:?}, what: {what} }}"));
        if touched.is_some() || !awaits {
            assert_eq!(touched.map(|change| format!("{change:?}")), expected, "{op:?}");
        }
        if touched.is_some() {
            fast.insert(name(op));
        }
    }
}

/// Draws an open choice; `None` if there is none.
fn draw(world: &World, rng: &mut Rng) -> Option<Choice> {
    let openings = world.openings();
    if openings.total() == 0 {
        return None;
    }
    let actor = world.open_actor(&openings, rng.below(openings.total() as u32) as usize);
    let argument = match world.question(actor) {
        Some(Question::Waiter(n) | Question::Case(n)) => u64::from(rng.below(n as u32)),
        Some(Question::Branch) => u64::from(rng.below(2)),
        Some(Question::Instance(n)) => u64::from(rng.below(n as u32)),
        Some(Question::Instant) => world.next_deadline(),
        None => 0,
    };
    Some(Choice { actor, argument })
}

/// Observes nothing, but has all events recorded.
struct AllEvents;

impl Observer for AllEvents {}

fn machine(model: &Model) -> Machine<Vm> {
    Machine::new(Vm::new(model.code.clone()), Limits { steps: 400, ..Limits::default() })
}

#[test]
fn fast_paths_agree_with_the_table_of_effects() {
    let (mut seen, mut fast) = (BTreeMap::new(), BTreeSet::new());
    let mut all: Vec<Model> = all_models().iter().map(|path| load(path, &[])).collect();
    all.push(load_bytes("others.race", OTHERS.as_bytes(), &[]));
    for model in &all {
        for seed in 0..4 {
            let (mut plain, mut recorded) = (machine(model), machine(model));
            plain.start(false);
            recorded.start(true);
            let mut rng = Rng::seeded(seed);
            for _ in 0..150 {
                if plain.world.outcome().is_some() {
                    break;
                }
                compare(&plain.world, &mut seen, &mut fast);
                let Some(choice) = draw(&plain.world, &mut rng) else { break };
                plain.step(choice);
                recorded.step(choice);
                assert_eq!(plain.world.outcome(), recorded.world.outcome());
                assert_eq!(plain.canonical().digest(), recorded.canonical().digest(), "{choice:?}");
            }
        }
    }
    // A resumption is the second half of a suspension and is never pending.
    let missing: Vec<_> = OPERATIONS.iter().filter(|name| !seen.contains_key(**name) && **name != "Resume").collect();
    assert!(missing.is_empty(), "no run performs {missing:?}: add a model");
    assert!(fast.len() >= 12, "fast paths: {fast:?}");
}

#[test]
fn bursts_are_the_steps_of_a_recorded_run() {
    for path in all_models() {
        let model = load(&path, &[]);
        for seed in 0..4 {
            let (mut plain, mut recorded) = (machine(&model), machine(&model));
            let stop = AtomicBool::new(false);
            let one = run(&mut plain, &mut RandomWalk::default(), seed, &mut NoObserver, &stop);
            let two = run(&mut recorded, &mut RandomWalk::default(), seed, &mut AllEvents, &stop);
            let name = path.display();
            assert_eq!(one.outcome(), two.outcome(), "{name}, seed {seed}");
            assert_eq!((one.steps, one.now, one.stall), (two.steps, two.now, two.stall), "{name}, seed {seed}");
            assert_eq!(plain.canonical().digest(), recorded.canonical().digest(), "{name}, seed {seed}");
        }
    }
}
