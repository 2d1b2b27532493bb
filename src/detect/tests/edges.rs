//! One case for each edge, and for each order that is no edge: the candidates of 60 random walks together.

use super::run;
use super::script::{Script, ScriptStep, post, site};
use crate::base::IndexVec;
use crate::detect::{Candidates, ConflictPlace, ContextKind, Pair};
use crate::event::{
    BarrierId, BodyId, EventId, Location, LockId, ObjectId, Op, PostTime, RwLockId, SemaphoreId, Target, ThreadId,
};
use crate::world::{EventSetup, FirstValue, Prefer, Setup, ThreadSetup};
use ContextKind::{SameLooper, TaskTask, ThreadTask, ThreadThread};
use PostTime::{After, At, Front, Now};
use std::collections::BTreeSet;

// Bodies: three that are posted, forked or fired, then those of the threads.
pub(super) const A: BodyId = BodyId(0);
pub(super) const B: BodyId = BodyId(1);
pub(super) const T: u32 = 3;
pub(super) const UI: ThreadId = ThreadId(0);
pub(super) const IO: ThreadId = ThreadId(1);

pub(super) fn global(cell: u32) -> Location {
    Location { cell, object: None }
}
pub(super) fn write() -> ScriptStep {
    ScriptStep::Do(Op::Write(global(0), 1))
}
pub(super) fn read() -> ScriptStep {
    ScriptStep::Do(Op::Read(global(0)))
}
pub(super) fn to(looper: ThreadId, body: BodyId, time: PostTime) -> ScriptStep {
    ScriptStep::Do(post(looper, body, time))
}
fn to_async(body: BodyId, time: PostTime) -> ScriptStep {
    ScriptStep::Do(Op::Post {
        target: Target::Thread(UI),
        body,
        args: Default::default(),
        time,
        is_async: true,
        options: Default::default(),
        instance: None,
    })
}
pub(super) fn fork(body: BodyId) -> ScriptStep {
    ScriptStep::Do(Op::Fork { body, args: Default::default() })
}
pub(super) fn enable() -> ScriptStep {
    ScriptStep::Do(Op::Enable { event: EventId(0), args: Default::default(), instance: None })
}
pub(super) fn locked(steps: Vec<ScriptStep>) -> Vec<ScriptStep> {
    around(Op::Acquire(LockId(0)), steps, Op::Release(LockId(0)))
}
pub(super) fn around(before: Op, steps: Vec<ScriptStep>, after: Op) -> Vec<ScriptStep> {
    [vec![ScriptStep::Do(before)], steps, vec![ScriptStep::Do(after)]].concat()
}

// `bodies`: A, B, C as far as the case uses them. Loopers are the threads that loop without attaching a queue
// themselves.
pub(super) fn app(bodies: Vec<Vec<ScriptStep>>, threads: Vec<Vec<ScriptStep>>) -> Script {
    let mut all = bodies;
    all.resize(T as usize, vec![]);
    let has = |steps: &[ScriptStep], what: fn(&ScriptStep) -> bool| steps.iter().any(what);
    let thread = |(i, steps): (usize, &Vec<ScriptStep>)| ThreadSetup {
        name: format!("t{i}"),
        daemon: false,
        looper: has(steps, |s| matches!(s, ScriptStep::Loop))
            && !has(steps, |s| matches!(s, ScriptStep::Do(Op::AttachQueue))),
    };
    let event = EventSetup { name: "e".to_owned(), body: A, looper: UI, initially: 0 };
    let setup = Setup {
        threads: threads.iter().enumerate().map(thread).collect(),
        bodies: (0..T as usize + threads.len()).map(|i| format!("b{i}")).collect(),
        locks: vec![("l".to_owned(), true), ("m".to_owned(), false)],
        rwlocks: vec![("rw".to_owned(), Prefer::None)],
        semaphores: vec![("s".to_owned(), 0)],
        barriers: vec![("bar".to_owned(), 2)],
        listeners: IndexVec::from(vec!["ls".to_owned()]),
        events: IndexVec::from(vec![event]),
        cells: vec![FirstValue::Word(0)],
        cell_names: vec!["x".to_owned()],
        classes: vec![("Node".to_owned(), vec![FirstValue::Word(0)])],
        field_names: vec![vec!["next".to_owned()]],
        objects: vec![0],
        uncaught_ends_thread: true,
        ..Setup::default()
    };
    let starts = (0..threads.len() as u32).map(|i| BodyId(T + i)).collect();
    all.extend(threads);
    Script::new(setup, all, starts, BodyId(2), vec![])
}

fn union(script: &Script) -> Candidates {
    let mut all = Candidates::new();
    for seed in 0..60 {
        all.add(seed, run(script.clone(), seed, 200).candidates);
    }
    all
}

type EdgeFinding = ((u32, usize), (u32, usize), ContextKind);

fn check(script: Script, expected: &[EdgeFinding]) {
    let of = |(body, pc): (u32, usize)| site(BodyId(body), pc);
    let expected: BTreeSet<_> = expected.iter().map(|(a, b, kind)| (Pair::new(of(*a), of(*b)), *kind)).collect();
    let found: BTreeSet<_> = union(&script).iter().flat_map(|c| c.kinds.iter().map(|k| (c.pair, *k))).collect();
    assert_eq!(found, expected, "{:?}", script.bodies);
}

pub(super) fn looper() -> Vec<ScriptStep> {
    vec![ScriptStep::Loop]
}

#[test]
fn locks_guard_threads_and_never_order() {
    check(
        app(vec![], vec![vec![write()], vec![write()], vec![read()]]),
        &[
            ((T, 0), (T + 1, 0), ThreadThread),
            ((T, 0), (T + 2, 0), ThreadThread),
            ((T + 1, 0), (T + 2, 0), ThreadThread),
        ],
    );
    check(app(vec![], vec![locked(vec![write()]), locked(vec![write()])]), &[]);
    check(
        app(vec![], vec![[vec![write()], locked(vec![])].concat(), [locked(vec![]), vec![write()]].concat()]),
        &[((T, 0), (T + 1, 2), ThreadThread)],
    );
    // Reentrant: the inner release does not end the outer hold.
    let twice = locked([locked(vec![]), vec![write()]].concat());
    check(app(vec![], vec![twice, locked(vec![write()])]), &[]);
    let rw = RwLockId(0);
    let reading = || around(Op::ReadLock(rw), vec![write()], Op::ReadUnlock(rw));
    let writing = || around(Op::WriteLock(rw), vec![write()], Op::WriteUnlock(rw));
    check(app(vec![], vec![reading(), reading()]), &[((T, 1), (T + 1, 1), ThreadThread)]);
    check(app(vec![], vec![reading(), writing()]), &[]);
    // Two tasks of one looper exclude each other without a lock.
    let posts = |body| vec![to(UI, body, Now)];
    check(
        app(vec![locked(vec![write()]), locked(vec![write()])], vec![looper(), posts(A), posts(B)]),
        &[((0, 1), (1, 1), SameLooper)],
    );
}

#[test]
fn a_wait_keeps_the_lock_at_every_access() {
    let waits = Op::Wait { on: crate::event::WaitSet::Lock(LockId(0)), lock: LockId(0), timeout: Some(1) };
    let waiter = locked(locked(vec![ScriptStep::Do(waits), write()]));
    check(app(vec![], vec![waiter, locked(vec![write()])]), &[]);
}

#[test]
fn fork_and_join() {
    let parent = vec![write(), fork(A), write(), ScriptStep::Join(0), write()];
    check(app(vec![vec![write()]], vec![parent]), &[((0, 0), (T, 2), ThreadThread)]);
}

#[test]
fn post_to_begin() {
    check(
        app(vec![vec![write()]], vec![looper(), vec![write(), to(UI, A, Now), write()]]),
        &[((0, 0), (T + 1, 2), ThreadTask)],
    );
    check(
        app(vec![vec![write()], vec![write()]], vec![looper(), looper(), vec![to(UI, A, Now), to(IO, B, Now)]]),
        &[((0, 0), (1, 0), TaskTask)],
    );
}

#[test]
fn fifo_of_ordered_posts() {
    // Posts of one thread whose first task may begin after the second one.
    let unordered = [
        (to(UI, A, After(5)), to(UI, B, Now)),
        (to(UI, A, After(5)), to(UI, B, After(4))),
        (to(UI, A, Now), to(UI, B, Front)),
        (to(UI, A, Front), to(UI, B, Front)),
        (to(UI, A, At(5)), to(UI, B, At(2))),
        (to(UI, A, Now), to(UI, B, At(9))),
        (to(UI, A, At(3)), to(UI, B, After(1))),
        (to(UI, A, Now), to_async(B, Now)),
        (to(UI, A, At(1)), to_async(B, Now)),
    ];
    let ordered = [
        (to(UI, A, Now), to(UI, B, Now)),
        (to(UI, A, Now), to(UI, B, After(5))),
        (to(UI, A, After(-3)), to(UI, B, After(0))),
        (to(UI, A, After(5)), to(UI, B, After(5))),
        (to(UI, A, Front), to(UI, B, Now)),
        (to(UI, A, At(0)), to(UI, B, At(1))),
        (to(UI, A, At(2)), to(UI, B, At(5))),
        (to(UI, A, At(3)), to(UI, B, After(2))),
        (to_async(A, Now), to_async(B, Now)),
        (to_async(A, Now), to(UI, B, Now)),
        (to(UI, A, Front), to_async(B, Now)),
    ];
    let app = |(a, b)| app(vec![vec![write()], vec![write()]], vec![looper(), vec![a, b]]);
    ordered.into_iter().for_each(|posts| check(app(posts), &[]));
    unordered.into_iter().for_each(|posts| check(app(posts), &[((0, 0), (1, 0), SameLooper)]));
}

#[test]
fn fifo_of_the_posts_of_init() {
    let order = |first, second, expected: &[EdgeFinding]| {
        let mut app = app(vec![vec![write()], vec![write()]], vec![looper()]);
        app.init = vec![post(UI, A, first), post(UI, B, second)];
        check(app, expected);
    };
    order(Now, After(3), &[]);
    // The clock is known in `init`.
    order(After(2), At(3), &[]);
    order(After(2), At(2), &[((0, 0), (1, 0), SameLooper)]);
    // Messages posted after `init` are posted later.
    let mut app = app(vec![vec![write()], vec![write()]], vec![looper(), vec![to(UI, B, Now)]]);
    app.init = vec![post(UI, A, Now)];
    check(app, &[]);
}

#[test]
fn posts_of_two_threads_are_not_ordered_by_chance() {
    check(
        app(vec![vec![write()], vec![write()]], vec![looper(), vec![to(UI, A, Now)], vec![to(UI, B, Now)]]),
        &[((0, 0), (1, 0), SameLooper)],
    );
}

#[test]
fn tasks_run_to_completion() {
    let app = |first: ScriptStep| {
        app(vec![vec![first, write()], vec![write()], vec![to(UI, B, Front)]], vec![looper(), vec![to(UI, A, Now)]])
    };
    check(app(to(UI, B, Front)), &[]);
    // The same path through another thread.
    check(app(fork(BodyId(2))), &[]);
}

#[test]
fn attach_to_post() {
    let late = vec![write(), ScriptStep::Do(Op::AttachQueue), write(), ScriptStep::Loop];
    check(app(vec![], vec![late.clone(), vec![to(UI, A, Now), write()]]), &[((T, 2), (T + 1, 1), ThreadThread)]);
    // A second queue is refused, and orders nothing.
    let refused = vec![write(), ScriptStep::Do(Op::AttachQueue)];
    let twice = app(vec![refused], vec![looper(), vec![to(UI, A, Now)], vec![to(UI, B, Now), write()]]);
    check(twice, &[((0, 0), (T + 2, 1), ThreadTask)]);
}

#[test]
fn the_code_around_a_loop() {
    let main = vec![
        to(UI, A, Now),
        ScriptStep::Do(Op::Quit { looper: UI, safely: true }),
        ScriptStep::Do(Op::Join(UI)),
        write(),
    ];
    check(app(vec![vec![write()]], vec![vec![write(), ScriptStep::Loop, write()], main]), &[]);
    // An exception ends the looper in the middle of its task.
    let thrower = vec![write(), ScriptStep::Do(Op::Release(LockId(0)))];
    check(app(vec![thrower], vec![looper(), vec![to(UI, A, Now), ScriptStep::Do(Op::Join(UI)), write()]]), &[]);
    // A spawned looper.
    let main = vec![
        ScriptStep::Do(Op::SpawnLooper),
        ScriptStep::Post(0, A, Now),
        ScriptStep::Quit(0),
        ScriptStep::Join(0),
        write(),
    ];
    check(app(vec![vec![write()], vec![], vec![ScriptStep::Loop]], vec![main]), &[]);
}

#[test]
fn barriers_in_both_directions() {
    let arrive = || ScriptStep::Do(Op::Arrive(BarrierId(0)));
    let thread = || vec![write(), arrive(), write()];
    check(
        app(vec![], vec![thread(), thread()]),
        &[((T, 0), (T + 1, 0), ThreadThread), ((T, 2), (T + 1, 2), ThreadThread)],
    );
    // Two generations.
    let first = vec![write(), arrive(), arrive()];
    let second = vec![arrive(), arrive(), write()];
    check(app(vec![], vec![first, second]), &[]);
}

#[test]
fn enables_pay_firings() {
    let main = vec![write(), enable(), write()];
    check(app(vec![vec![write()]], vec![looper(), main]), &[((0, 0), (T + 1, 2), ThreadTask)]);
    // The first firing uses the enable with which the event starts, so that nothing is before it.
    let mut free = app(vec![vec![write()]], vec![looper(), vec![write(), enable()]]);
    let mut setup = Setup::clone(&free.setup);
    setup.events[EventId(0)].initially = 1;
    free.setup = std::sync::Arc::new(setup);
    check(free, &[((0, 0), (0, 0), SameLooper), ((0, 0), (T + 1, 0), ThreadTask)]);
    // Two firings: the environment has no program order.
    check(app(vec![vec![write()]], vec![looper(), vec![enable(), enable()]]), &[((0, 0), (0, 0), SameLooper)]);
    // A disabled enable pays for no firing: the firing is paid for by a later enable, unless it came before.
    let disable = ScriptStep::Do(Op::Disable(EventId(0)));
    let main = vec![enable(), disable, write(), enable()];
    check(app(vec![vec![read()]], vec![looper(), main]), &[((0, 0), (T + 1, 2), ThreadTask)]);
    // A firing is an ordinary post with the clock of its enable.
    let main = vec![to(UI, B, Now), enable()];
    check(app(vec![vec![write()], vec![write()]], vec![looper(), main]), &[]);
    let main = vec![to(UI, B, After(1)), enable()];
    check(app(vec![vec![write()], vec![write()]], vec![looper(), main]), &[((0, 0), (1, 0), SameLooper)]);
}

#[test]
fn signals_and_atomics_are_no_edges() {
    let s = SemaphoreId(0);
    check(
        app(vec![], vec![vec![write(), ScriptStep::Do(Op::Up(s))], vec![ScriptStep::Do(Op::Down(s)), write()]]),
        &[((T, 0), (T + 1, 1), ThreadThread)],
    );
    let atomic = || vec![ScriptStep::Do(Op::AtomicWrite(global(0), 1)), ScriptStep::Do(Op::FetchAdd(global(0), 1))];
    check(app(vec![], vec![atomic(), atomic()]), &[]);
}

#[test]
fn a_free_meets_uses_and_every_cell() {
    let (o, field) = (ObjectId(0), Location { cell: 1, object: Some(ObjectId(0)) });
    let user = vec![ScriptStep::Do(Op::Use(o)), ScriptStep::Do(Op::Read(field))];
    let script = app(vec![], vec![vec![ScriptStep::Do(Op::Free(o))], user]);
    check(script.clone(), &[((T, 0), (T + 1, 0), ThreadThread), ((T, 0), (T + 1, 1), ThreadThread)]);
    let all = union(&script);
    for candidate in all.iter() {
        let evidence = &candidate.evidence;
        assert_eq!(evidence.place, Some(ConflictPlace::Life { object: "init-block/Node#1".to_owned(), class: 0 }));
        assert_eq!(evidence.location, "init-block/Node#1");
        assert_eq!(evidence.contexts, ("t0".to_owned(), "t1".to_owned()));
    }
}

#[test]
fn evidence_stands_in_the_order_of_the_pair() {
    let script = app(vec![vec![read()]], vec![looper(), locked(vec![to(UI, A, Now), write()])]);
    let all = union(&script);
    assert_eq!(all.len(), 1);
    let candidate = all.get(Pair::new(site(BodyId(T + 1), 2), site(A, 0))).expect("the pair");
    let evidence = &candidate.evidence;
    assert_eq!((evidence.run, evidence.place.clone()), (0, Some(ConflictPlace::Global { cell: 0 })));
    assert_eq!(evidence.location, "x");
    assert_eq!(evidence.contexts, ("t1/b0#1".to_owned(), "t1".to_owned()));
    assert_eq!(evidence.locksets, (vec![], vec!["lock l".to_owned()]));
    assert_eq!(candidate.count, 60);
}

#[test]
fn runs_merge_in_any_order() {
    let script =
        app(vec![vec![write()], vec![write()]], vec![looper(), vec![to(UI, A, Now), write()], vec![to(UI, B, Now)]]);
    let runs: Vec<_> = (0..10).map(|seed| (seed, run(script.clone(), seed, 5 + seed).candidates)).collect();
    let (mut forth, mut back) = (Candidates::new(), Candidates::new());
    runs.iter().for_each(|(seed, found)| forth.add(*seed, found.clone()));
    runs.iter().rev().for_each(|(seed, found)| back.add(*seed, found.clone()));
    assert!(!forth.is_empty());
    assert_eq!(forth, back);
}

#[test]
fn many_ordered_tasks_share_a_chain_and_many_threads_fit() {
    // The time is linear: 20,000 tasks of one poster, each of which has another access to be compared with; then
    // 1,000 threads that each post two tasks.
    let mut posts = vec![to(UI, A, Now); 20_000];
    posts.push(ScriptStep::Join(0));
    let script = app(vec![vec![write()]], vec![looper(), posts]);
    assert_eq!(run(script, 1, 100_000).candidates, []);
    let poster = vec![to(UI, A, Now), to(UI, A, Now)];
    let script = app(vec![vec![write()], poster], vec![looper(), vec![fork(B); 1_000]]);
    let found = run(script, 1, 100_000).candidates;
    assert_eq!(found.len(), 1);
}
