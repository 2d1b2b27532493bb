//! Tests of the fast paths of steps. `World::meets` says what a step of a thread depends on and changes if that is
//! little, and a step may change nothing else. A run whose steps are performed in place and in bursts must be the run
//! whose events are recorded, which takes no fast path.

use crate::load::{all_models, load, load_bytes};
use raceflip::base::{Id, Rng};
use raceflip::event::{Actor, Choice, Op};
use raceflip::exec::{NoObserver, Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::vm::{Model, Vm};
use raceflip::world::{Canonicalizer, Guest, Limits, Machine, Meets, Question, Slots, World};
use std::collections::BTreeMap;
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
    Choose Skip Yield Request CancelMessage Unregister
    Send Sent Receive Received Close ChannelRead Select Selected AcquireFor GroupAdd GroupWait GroupPass
    ReadInterrupt Now Launch Suspend Resume CancelJob AskJob SpawnScope OpenBlock
}

/// Operations whose footprint must be known in many states.
const KNOWN: [&str; 18] = [
    "Read",
    "Write",
    "AtomicRead",
    "AtomicWrite",
    "Cas",
    "FetchAdd",
    "Exchange",
    "Acquire",
    "Release",
    "Wait",
    "Reacquire",
    "ReadLock",
    "ReadUnlock",
    "WriteUnlock",
    "Down",
    "Up",
    "Post",
    "Begin",
];

/// Operations that no model of the corpus has.
const OTHERS: &str = "\
looper main
semaphore s = 0
atomic n = 0
task f() { skip }
event tap on main { skip }
thread tapper { enable tap; disable tap }
thread a { exchange(n, choose 0..3); if (down s for 1) { skip }; yield; let l = spawn looper; post f() to l; quit l }
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

/// Returns the digests of all slots of a state; `None` if the state does not fit into slots.
fn contents(machine: &Machine<Vm>, slots: &Slots) -> Option<Vec<u128>> {
    let mut room = Canonicalizer::new();
    let fits = machine.fits(slots);
    let mut digests = (0..slots.len()).map(|slot| machine.slot_digest(slots, slot, &mut room));
    fits.then(|| digests.by_ref().collect::<Option<Vec<u128>>>()).flatten()
}

/// Performs the step of each thread that can act, if it is known what the step meets: no other slot may change. Counts
/// the operations with a known footprint by name.
fn compare(machine: &Machine<Vm>, slots: &Slots, known: &mut BTreeMap<&'static str, u64>) {
    let Some(before) = contents(machine, slots) else { return };
    let world = &machine.world;
    for thread in world.enabled().iter().filter(|thread| thread.index() < slots.threads) {
        let met = match world.meets(slots, thread, |cell| machine.guest.watches_cell(cell)) {
            Meets::Nothing => None,
            Meets::Slot(slot) => Some(slot as usize),
            Meets::Ended | Meets::Unknown => continue,
        };
        let op = &world.thread(thread).pending;
        *known.entry(name(op)).or_default() += 1;
        let mut after = machine.clone();
        after.step(Choice { actor: Actor::Thread(thread), argument: 0 });
        after.world.forget_ring();
        if !after.kept_to_footprint(thread) {
            continue;
        }
        let Some(after) = contents(&after, slots) else { continue };
        for slot in (0..slots.clock()).filter(|slot| *slot != thread.index() && Some(*slot) != met) {
            assert_eq!(before[slot], after[slot], "{op:?} has changed {}", slots.names(&[slot]));
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
        Some(Question::Value { values, .. }) => u64::from(rng.below(values)),
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
fn fast_paths_change_what_they_say() {
    let (mut seen, mut known): (BTreeMap<&str, u64>, BTreeMap<&str, u64>) = (BTreeMap::new(), BTreeMap::new());
    let mut all: Vec<Model> = all_models().iter().map(|path| load(path, &[])).collect();
    all.push(load_bytes("others.race", OTHERS.as_bytes(), &[]));
    for model in &all {
        for seed in 0..4 {
            let (mut plain, mut recorded) = (machine(model), machine(model));
            plain.start(false);
            recorded.start(true);
            let slots = plain.clone().slots();
            let mut rng = Rng::seeded(seed);
            for step in 0..150 {
                if plain.world.outcome().is_some() {
                    break;
                }
                for thread in plain.world.enabled().iter() {
                    *seen.entry(name(&plain.world.thread(thread).pending)).or_default() += 1;
                }
                if step % 3 == 0
                    && let Some(slots) = &slots
                {
                    compare(&plain, slots, &mut known);
                }
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
    let rare: Vec<_> = KNOWN.iter().filter(|name| known.get(**name).is_none_or(|n| *n < 5)).collect();
    assert!(rare.is_empty(), "no footprint of {rare:?} was compared often: {known:?}");
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
