//! Random programs: the detector and the naive rules must find the same candidates.

use super::run;
use super::script::{Script, ScriptStep};
use super::{naive, naive_orders};
use crate::base::{IndexVec, Rng, mix};
use crate::detect::Rank;
use crate::detect::relation::RelationEdges;
use crate::event::{
    BarrierId, BodyId, ConditionId, EventId, HandlerId, ListId, ListRead, ListWrite, ListenerId, Location, LockId,
    ObjectId, Op, PostTime, RwLockId, SemaphoreId, Target, ThreadId, WaitSet,
};
use crate::world::{EventSetup, FirstValue, Prefer, Setup, ThreadSetup};
use std::collections::BTreeMap;

const PROGRAMS: u64 = 3_000;
const STEPS: u64 = 110;

// Kinds of order pairs that must occur, besides those that differ only in their words.
const ORDERS: [(&str, &str); 16] = [
    ("acquire", "acquire"),
    ("read-lock", "write-lock"),
    ("write-lock", "write-lock"),
    ("atomic read", "atomic write"),
    ("atomic write", "cas"),
    ("exchange", "fetch_add"),
    ("await", "write"),
    ("atomic write", "await"),
    ("cancel", "post"),
    ("post", "quit"),
    ("disable", "enable"),
    ("notify", "wait"),
    ("down", "up"),
    ("down", "down"),
    ("interrupt", "sleep"),
    ("interrupt", "wait"),
];

// Threads: two loopers, one that attaches its queue, two others.
const LOOPERS: u32 = 3;
const THREADS: u32 = 5;
// Bodies: tasks first, then forked ones, then that of a spawned looper, then one for each declared thread.
const TASKS: u32 = 6;
const FORKED: u32 = 2;
const SPAWNED: u32 = TASKS + FORKED;

// How a program is generated: which kinds of operations are likely.
struct Shape {
    signals: bool,
    nests: bool,
    times: u32,
    locks: u32,
    busy: u32,
    events: bool,
}

fn setup(rng: &mut Rng) -> Setup {
    let thread = |(i, name): (usize, &str)| ThreadSetup { name: name.to_owned(), daemon: false, looper: i < 2 };
    let event = |(i, initially)| EventSetup { name: format!("e{i}"), body: BodyId(i), looper: ThreadId(i), initially };
    Setup {
        threads: ["ui", "io", "late", "w", "v"].into_iter().enumerate().map(thread).collect(),
        bodies: (0..SPAWNED + 1 + THREADS).map(|i| format!("b{i}")).collect(),
        locks: vec![("l".to_owned(), true), ("m".to_owned(), false)],
        conditions: vec!["c".to_owned()],
        rwlocks: vec![("rw".to_owned(), Prefer::None)],
        barriers: vec![("bar".to_owned(), 1 + i64::from(rng.below(3)))],
        handlers: IndexVec::from(vec![("h".to_owned(), ThreadId(0)), ("g".to_owned(), ThreadId(1))]),
        listeners: IndexVec::from(vec!["ls".to_owned()]),
        events: [(0, rng.below(3)), (1, rng.below(2))].into_iter().map(event).collect(),
        semaphores: vec![("s".to_owned(), i64::from(rng.below(2)))],
        cells: vec![FirstValue::Word(0), FirstValue::Word(0), FirstValue::List(vec![]), FirstValue::Word(0)],
        cell_names: ["x", "y", "list", "atomic"].map(str::to_owned).to_vec(),
        classes: vec![
            ("Object".to_owned(), vec![]),
            ("Node".to_owned(), vec![FirstValue::Word(0), FirstValue::Word(0)]),
        ],
        field_names: vec![vec![], vec!["a".to_owned(), "b".to_owned()]],
        objects: vec![1, 1],
        delays: vec![1, 2, 3],
        uncaught_ends_thread: rng.below(4) == 0,
        ..Setup::default()
    }
}

fn time(rng: &mut Rng, shape: &Shape) -> PostTime {
    match rng.below(shape.times) {
        0..3 => PostTime::Now,
        3 => PostTime::After(i64::from(rng.below(4)) - 1),
        4 => PostTime::Front,
        5 => PostTime::After(i64::from(1 + rng.below(2))),
        _ => PostTime::At(i64::from(rng.below(6))),
    }
}

fn any_post(rng: &mut Rng, shape: &Shape) -> Op {
    let target = match rng.below(8) {
        0 => Target::Handler(HandlerId(rng.below(2))),
        i => Target::Thread(ThreadId([0, 0, 0, 1, 1, 1, 2][i as usize - 1])),
    };
    let special = (shape.times > 4).then(|| rng.below(12));
    let special = match special {
        Some(0) => Some(PostTime::Micro),
        Some(1) => Some(PostTime::Idle { keep: rng.coin() }),
        _ => None,
    };
    let is_async = special.is_none() && shape.times > 4 && rng.below(4) == 0;
    Op::Post {
        target,
        body: BodyId(rng.below(TASKS)),
        args: Default::default(),
        time: special.unwrap_or_else(|| time(rng, shape)),
        is_async,
        instance: None,
    }
}

fn any_access(rng: &mut Rng) -> Op {
    let global = |cell| Location { cell, object: None };
    // Cells 0 to 3 are globals, of which 3 is an atomic; the two objects have two cells each.
    let field = |rng: &mut Rng| {
        let object = rng.below(2);
        Location { cell: 4 + object * 2 + rng.below(2), object: Some(ObjectId(object)) }
    };
    match rng.below(16) {
        0..4 => Op::Read(global(rng.below(2))),
        4..8 => Op::Write(global(rng.below(2)), i64::from(rng.below(3) > 0)),
        8 => Op::ListRead { at: global(2), list: ListId(0), what: ListRead::Len },
        9 => Op::ListWrite { at: global(2), list: ListId(0), what: ListWrite::Push(1) },
        10 | 11 => Op::Read(field(rng)),
        12 => Op::Write(field(rng), 1),
        13 | 14 => Op::Use(ObjectId(rng.below(2))),
        _ => Op::Free(ObjectId(rng.below(2))),
    }
}

// A section of a lock, with accesses, a wait or a fork, and sections in it.
fn section(rng: &mut Rng, depth: u32, to: &mut Vec<ScriptStep>) {
    let (lock, rw) = (LockId(rng.below(2)), RwLockId(0));
    let (begin, end) = match rng.below(8) {
        0 => (Op::ReadLock(rw), Op::ReadUnlock(rw)),
        1 => (Op::WriteLock(rw), Op::WriteUnlock(rw)),
        _ => (Op::Acquire(lock), Op::Release(lock)),
    };
    let push = |to: &mut Vec<ScriptStep>, op| to.push(ScriptStep::Do(op));
    push(to, begin);
    for _ in 0..rng.below(3) {
        match rng.below(8) {
            0..3 if depth < 2 => section(rng, depth + 1, to),
            3 => push(to, Op::Wait { on: WaitSet::Lock(lock), lock, timeout: Some(1) }),
            4 => push(to, Op::Fork { body: BodyId(TASKS + rng.below(FORKED)), args: Default::default() }),
            _ => push(to, any_access(rng)),
        }
    }
    push(to, end);
}

// Returns an operation that carries order between threads, other than on locks.
fn any_signal(rng: &mut Rng) -> Op {
    let atomic = Location { cell: 3, object: None };
    match rng.below(16) {
        0..3 => Op::AtomicRead(atomic),
        3..5 => Op::AtomicWrite(atomic, i64::from(rng.below(3) > 0)),
        5 => Op::FetchAdd(atomic, 1),
        6 => Op::Exchange(atomic, 0),
        7 => Op::Cas { at: atomic, old: 0, new: 1 },
        8 | 9 => Op::Up(SemaphoreId(0)),
        10 if rng.coin() => Op::DownFor { semaphore: SemaphoreId(0), timeout: 2 },
        10 => Op::Down(SemaphoreId(0)),
        11 | 12 => Op::Await { timeout: rng.coin().then_some(2) },
        13 => Op::Interrupt(ThreadId(rng.below(THREADS))),
        14 => Op::Sleep(i64::from(rng.below(3))),
        _ => any_access(rng),
    }
}

// Adds steps to a body: mostly an operation, sometimes a section of a lock.
fn steps(rng: &mut Rng, shape: &Shape, to: &mut Vec<ScriptStep>) {
    let push = |to: &mut Vec<ScriptStep>, op| to.push(ScriptStep::Do(op));
    let (lock, rw) = (LockId(rng.below(2)), RwLockId(0));
    let condition = if rng.coin() { WaitSet::Lock(lock) } else { WaitSet::Condition(ConditionId(0)) };
    let event = EventId(rng.below(2));
    if shape.events && rng.coin() {
        to.push(ScriptStep::Do(match rng.below(6) {
            0 => Op::Disable(event),
            1 | 2 => any_access(rng),
            _ => Op::Enable { event, args: Default::default(), instance: None },
        }));
        return;
    }
    if shape.nests && rng.coin() {
        return section(rng, 0, to);
    }
    if shape.signals && rng.coin() {
        return push(to, any_signal(rng));
    }
    match rng.below(26 + shape.locks) {
        0..8 => push(to, any_access(rng)),
        8..13 => push(to, any_post(rng, shape)),
        13 => push(to, Op::Fork { body: BodyId(TASKS + rng.below(FORKED)), args: Default::default() }),
        14 => to.push(ScriptStep::Join(rng.below(2) as usize)),
        15 => push(to, Op::Enable { event: EventId(rng.below(2)), args: Default::default(), instance: None }),
        16 if rng.coin() => push(to, Op::Disable(EventId(rng.below(2)))),
        16 => push(to, Op::Register { listener: ListenerId(0), body: BodyId(TASKS) }),
        17 => push(to, Op::Arrive(BarrierId(0))),
        18 if rng.coin() => push(to, Op::SpawnLooper),
        18 => to.push(ScriptStep::Post(rng.below(2) as usize, BodyId(rng.below(TASKS)), time(rng, shape))),
        19 if rng.below(3) == 0 => push(to, Op::Quit { looper: ThreadId(rng.below(2)), safely: rng.coin() }),
        19 => to.push(ScriptStep::Quit(rng.below(2) as usize)),
        20 if shape.times > 4 => push(to, Op::Fence(ThreadId(rng.below(2)))),
        21 => to.push(ScriptStep::Lift),
        22 if rng.coin() => {
            push(to, Op::Cancel { target: Target::Thread(ThreadId(0)), body: Some(BodyId(rng.below(TASKS))) })
        }
        22 => push(to, Op::Join(ThreadId(rng.below(THREADS)))),
        23 if rng.below(3) == 0 => push(to, Op::Perform(ListenerId(0))),
        23 => push(to, Op::Interrupt(ThreadId(rng.below(THREADS)))),
        24 => push(to, Op::Sleep(2)),
        25 => push(to, Op::Notify { on: condition, all: rng.coin() }),
        26 | 27 => {
            push(to, Op::Acquire(lock));
            push(to, any_access(rng));
            if rng.below(3) == 0 {
                push(to, Op::Wait { on: condition, lock, timeout: rng.coin().then_some(1) });
            }
            push(to, any_access(rng));
            push(to, Op::Release(lock));
        }
        28 => {
            // The monitor of an object, twice; the object may die between.
            let monitor = LockId(2 + rng.below(2));
            let ops =
                [Op::Acquire(monitor), Op::Acquire(monitor), any_access(rng), Op::Release(monitor), any_access(rng)];
            ops.into_iter().chain([Op::Release(monitor), any_access(rng)]).for_each(|op| push(to, op));
        }
        29 => {
            [Op::ReadLock(rw), any_access(rng), Op::ReadUnlock(rw)].into_iter().for_each(|op| push(to, op));
        }
        30 => {
            [Op::WriteLock(rw), any_access(rng), Op::WriteUnlock(rw)].into_iter().for_each(|op| push(to, op));
        }
        31 => push(to, Op::Release(lock)),
        _ => push(to, Op::AttachQueue),
    }
}

fn body(rng: &mut Rng, shape: &Shape, most: u32) -> Vec<ScriptStep> {
    let mut to = Vec::new();
    for _ in 0..1 + rng.below(most) {
        steps(rng, shape, &mut to);
    }
    to
}

fn program(seed: u64) -> Script {
    let mut rng = Rng::seeded(seed);
    let rng = &mut rng;
    let shape = Shape {
        times: [3, 4, 8, 8][rng.below(4) as usize],
        locks: [0, 2, 7, 7][rng.below(4) as usize],
        busy: 2 + rng.below(6),
        events: rng.below(4) == 0,
        signals: rng.below(3) == 0,
        nests: rng.below(4) == 0,
    };
    let setup = setup(rng);
    let mut bodies: Vec<Vec<ScriptStep>> = (0..TASKS + FORKED).map(|_| body(rng, &shape, 3)).collect();
    bodies.push(vec![ScriptStep::Do(any_access(rng)), ScriptStep::Loop, ScriptStep::Do(any_access(rng))]);
    for thread in 0..THREADS {
        let mut own = body(rng, &shape, shape.busy);
        if thread == 2 {
            own.push(ScriptStep::Do(Op::AttachQueue));
            own.extend(body(rng, &shape, 2));
        }
        if thread < LOOPERS {
            own.push(ScriptStep::Loop);
            own.extend(body(rng, &shape, 2));
        }
        bodies.push(own);
    }
    let mut init = Vec::new();
    for _ in 0..rng.below(5) {
        init.push(match rng.below(6) {
            0 => Op::Enable { event: EventId(rng.below(2)), args: Default::default(), instance: None },
            1 => Op::Fork { body: BodyId(TASKS), args: Default::default() },
            _ => match any_post(rng, &shape) {
                Op::Post { body, time, is_async, .. } if time != PostTime::Micro => {
                    let target = Target::Thread(ThreadId(rng.below(2)));
                    Op::Post { target, body, args: Default::default(), time, is_async, instance: None }
                }
                _ => Op::Enable { event: EventId(0), args: Default::default(), instance: None },
            },
        });
    }
    let starts = (0..THREADS).map(|i| BodyId(SPAWNED + 1 + i)).collect();
    let mut script = Script::new(setup, bodies, starts, BodyId(SPAWNED), init);
    script.awaited = [0, 3];
    script
}

#[test]
fn finds_what_the_rules_say_on_random_programs() {
    let (mut kinds, mut ranks, mut words) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for seed in 0..PROGRAMS {
        let run = run(program(mix(1, seed)), mix(2, seed), STEPS);
        let relation = naive::Relation::new(&run, RelationEdges::Hybrid);
        let (expected, all_ranks) = naive::candidates(&run, &relation);
        for (_, kind) in &expected {
            *kinds.entry(*kind).or_insert(0) += 1;
        }
        let found = run.found();
        assert_eq!(found, expected, "seed {seed}");
        let orders = naive_orders::pairs(&run, &relation);
        assert_eq!(super::found(&run.orders), orders, "seed {seed}");
        assert!(run.orders.iter().all(|c| c.rank == Rank::Order), "seed {seed}");
        for (pair, _) in orders {
            let word = |site| {
                let mut of_site = run.events.iter().filter(|e| e.event.site == Some(site));
                of_site.find_map(|e| naive::op(&e.event)).map_or("?", Op::word)
            };
            let (a, b) = (word(pair.a), word(pair.b));
            *words.entry((a.min(b), a.max(b))).or_insert(0) += 1;
        }
        for candidate in &run.candidates {
            // Of the occurrences of one chain the detector compares only the latest. The earlier ones are unordered
            // only if it is, but between B and C an earlier one may have had the other rank.
            let (rank, all) = (candidate.rank, &all_ranks[&candidate.pair]);
            let unordered = all.contains(&Rank::Unordered) == (rank == Rank::Unordered);
            assert!(all.contains(&rank) && unordered, "seed {seed}: {candidate:?}, {all:?}");
            *ranks.entry(rank).or_insert(0) += 1;
        }
    }
    for pair in ORDERS {
        assert!(words.get(&pair).is_some_and(|n| *n > PROGRAMS / 200), "{pair:?} {words:?}");
    }
    assert!(ranks.len() == 3 && ranks.values().all(|n| *n > PROGRAMS / 20), "{ranks:?}");
    // The programs must not be so simple that nothing is found.
    assert!(kinds.len() == 4 && kinds.values().all(|n| *n > PROGRAMS / 5), "{kinds:?}");
}
