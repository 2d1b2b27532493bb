//! One case for each kind of order pair, and for pairs that are none: the order pairs of 60 random walks together.

use super::edges::{A, B, IO, T, UI, app, around, enable, fork, global, locked, looper, read, to, write};
use super::run;
use super::script::{Script, ScriptStep, site};
use crate::detect::{Candidate, Candidates, ConflictPlace, ContextKind, Pair, Rank};
use crate::event::{
    BodyId, EventId, ListenerId, Location, LockId, NULL, ObjectId, Op, PostTime, RwLockId, SemaphoreId, Target,
    ThreadId, WaitSet,
};
use crate::world::Setup;
use ContextKind::{SameLooper, TaskTask, ThreadTask, ThreadThread};
use PostTime::Now;
use std::collections::BTreeSet;
use std::sync::Arc;

type OrderFinding<'a> = ((u32, usize), (u32, usize), ContextKind, &'a str);

fn act(op: Op) -> ScriptStep {
    ScriptStep::Do(op)
}

fn mutex(steps: Vec<ScriptStep>) -> Vec<ScriptStep> {
    around(Op::Acquire(LockId(1)), steps, Op::Release(LockId(1)))
}

fn union(script: &Script) -> Candidates {
    let mut all = Candidates::new();
    for seed in 0..60 {
        all.add(seed, run(script.clone(), seed, 300).orders);
    }
    all
}

fn check(script: Script, expected: &[OrderFinding<'_>]) {
    let of = |(body, pc): (u32, usize)| site(BodyId(body), pc);
    let expected: BTreeSet<_> =
        expected.iter().map(|(a, b, kind, at)| (Pair::new(of(*a), of(*b)), *kind, (*at).to_owned())).collect();
    let all = union(&script);
    let fields_of = |c: &Candidate| -> Vec<_> {
        assert!(c.rank == Rank::Order && !c.is_race());
        c.kinds.iter().map(|k| (c.pair, *k, c.evidence.location.clone())).collect()
    };
    let found: BTreeSet<_> = all.iter().flat_map(fields_of).collect();
    assert_eq!(found, expected, "{:?}", script.bodies);
}

#[test]
fn sections_that_conflict() {
    let l = "lock l";
    // Two stages: the operations between the two sections are under no lock.
    let stages = |step: fn() -> ScriptStep| [locked(vec![step()]), mutex(vec![step()])].concat();
    check(
        app(vec![], vec![stages(write), stages(read)]),
        &[((T, 0), (T + 1, 0), ThreadThread, l), ((T, 3), (T + 1, 3), ThreadThread, "mutex m")],
    );
    // A check and a use, each under the lock, and a change between them.
    let twice = [locked(vec![read()]), locked(vec![read()])].concat();
    check(
        app(vec![], vec![twice, locked(vec![write()])]),
        &[((T, 0), (T + 1, 0), ThreadThread, l), ((T, 3), (T + 1, 0), ThreadThread, l)],
    );
    // Nothing in common, or nothing that is changed.
    check(app(vec![], vec![locked(vec![read()]), locked(vec![read()])]), &[]);
    check(app(vec![], vec![locked(vec![write()]), locked(vec![])]), &[]);
    // Only the outermost acquisition of a lock counts, and operations under a common lock are represented by its
    // pair.
    let nested = || locked(locked(mutex(vec![write()])));
    check(app(vec![], vec![nested(), nested()]), &[((T, 0), (T + 1, 0), ThreadThread, l)]);
    // Sends in a section count as well.
    let posts = |body| locked(vec![to(UI, body, Now)]);
    check(app(vec![], vec![looper(), posts(A), posts(B)]), &[((T + 1, 0), (T + 2, 0), ThreadThread, l)]);
    // Sections that are ordered, or of one looper.
    let parent = [locked(vec![write()]), vec![fork(A)]].concat();
    check(app(vec![locked(vec![write()])], vec![parent]), &[]);
    let tasks = vec![locked(vec![write()]), locked(vec![write()])];
    check(app(tasks.clone(), vec![looper(), vec![to(UI, A, Now)], vec![to(UI, B, Now)]]), &[]);
    check(
        app(tasks, vec![looper(), looper(), vec![to(UI, A, Now)], vec![to(IO, B, Now)]]),
        &[((0, 0), (1, 0), TaskTask, l)],
    );
}

#[test]
fn readers_and_writers() {
    let rw = RwLockId(0);
    let reading = |step| around(Op::ReadLock(rw), vec![step], Op::ReadUnlock(rw));
    let writing = |step| around(Op::WriteLock(rw), vec![step], Op::WriteUnlock(rw));
    check(app(vec![], vec![reading(read()), writing(write())]), &[((T, 0), (T + 1, 0), ThreadThread, "rwlock rw")]);
    check(app(vec![], vec![reading(write()), reading(write())]), &[]);
    check(app(vec![], vec![reading(read()), writing(read())]), &[]);
}

#[test]
fn locks_in_opposite_orders() {
    // The sections access nothing, and every walk that does not end in the deadlock shows both pairs.
    check(
        app(vec![], vec![locked(mutex(vec![])), mutex(locked(vec![]))]),
        &[((T, 0), (T + 1, 1), ThreadThread, "lock l"), ((T, 1), (T + 1, 0), ThreadThread, "mutex m")],
    );
}

#[test]
fn a_section_that_never_ends_or_waits() {
    let l = "lock l";
    let stuck = locked(vec![write(), act(Op::Down(SemaphoreId(0)))]);
    check(app(vec![], vec![stuck, locked(vec![write()])]), &[((T, 0), (T + 1, 0), ThreadThread, l)]);
    let wait = Op::Wait { on: WaitSet::Lock(LockId(0)), lock: LockId(0), timeout: Some(1) };
    let waiter = locked(vec![act(wait), write()]);
    check(app(vec![], vec![waiter, locked(vec![read()])]), &[((T, 0), (T + 1, 0), ThreadThread, l)]);
    // The first part of the section is before everything that the forked thread does, the second part is not. The
    // other thread comes when both are over.
    let parent = locked(vec![fork(A), act(wait), write()]);
    let child = [vec![act(Op::Await { timeout: None })], locked(vec![write()])].concat();
    check(app(vec![child], vec![parent]), &[((0, 1), (T, 0), ThreadThread, l), ((0, 0), (T, 3), ThreadThread, "x")]);
}

#[test]
fn a_large_section_touches_what_is_not_known() {
    let writes = |n: u32| {
        let at = |i| Location { cell: 1 + i, object: Some(ObjectId(i)) };
        locked((0..n).map(|i| act(Op::Write(at(i), 1))).collect())
    };
    for (n, expected) in [(10, false), (70, true)] {
        let mut script = app(vec![], vec![writes(n), locked(vec![write()])]);
        let mut setup = Setup::clone(&script.setup);
        setup.objects = vec![0; n as usize];
        script.setup = Arc::new(setup);
        let pair = [((T, 0), (T + 1, 0), ThreadThread, "lock l")];
        check(script, if expected { &pair } else { &[] });
    }
}

#[test]
fn atomics_and_awaits() {
    let [set, get] = [Op::AtomicWrite(global(0), 1), Op::AtomicRead(global(0))].map(act);
    check(app(vec![], vec![vec![set.clone()], vec![get.clone()]]), &[((T, 0), (T + 1, 0), ThreadThread, "x")]);
    check(app(vec![], vec![vec![get.clone()], vec![get]]), &[]);
    // The pair of the acquisitions represents the operations that a lock guards.
    let guarded = || locked(vec![set.clone()]);
    check(app(vec![], vec![guarded(), guarded()]), &[((T, 0), (T + 1, 0), ThreadThread, "lock l")]);
    let tasks = vec![vec![set.clone()], vec![set.clone()]];
    check(app(tasks, vec![looper(), vec![to(UI, A, Now)], vec![to(UI, B, Now)]]), &[((0, 0), (1, 0), SameLooper, "x")]);
    // A write that enables an await, and one that blocks it again.
    let waits = || vec![act(Op::Await { timeout: None })];
    check(app(vec![], vec![vec![write()], waits()]), &[((T, 0), (T + 1, 0), ThreadThread, "x")]);
    check(app(vec![], vec![vec![set], waits()]), &[((T, 0), (T + 1, 0), ThreadThread, "x")]);
    let stops = vec![write(), act(Op::Write(global(0), 0)), write()];
    let with = |pc| ((T, pc), (T + 1, 0), ThreadThread, "x");
    check(app(vec![], vec![stops, waits()]), &[with(0), with(1), with(2)]);
}

#[test]
fn posts_against_what_undoes_them() {
    let cancel = |body| act(Op::Cancel { target: Target::Thread(UI), body, token: NULL });
    let quit = act(Op::Quit { looper: UI, safely: false });
    let posts = || vec![to(UI, A, Now)];
    let queue = "the queue of t0";
    let pair = [((T + 1, 0), (T + 2, 0), ThreadThread, queue)];
    check(app(vec![], vec![looper(), posts(), vec![cancel(Some(A))]]), &pair);
    check(app(vec![], vec![looper(), posts(), vec![cancel(None)]]), &pair);
    check(app(vec![], vec![looper(), posts(), vec![cancel(Some(B))]]), &[]);
    check(app(vec![], vec![looper(), posts(), vec![quit.clone()]]), &pair);
    // The quit is in a task that was posted before: the second post may come after the quit.
    let main = vec![to(UI, A, Now), to(UI, B, Now)];
    check(app(vec![vec![quit]], vec![looper(), main]), &[((0, 0), (T + 1, 1), ThreadTask, queue)]);
    let disable = act(Op::Disable(EventId(0)));
    check(
        app(vec![], vec![looper(), vec![enable()], vec![disable]]),
        &[((T + 1, 0), (T + 2, 0), ThreadThread, "event e")],
    );
}

#[test]
fn what_sends_and_what_receives() {
    let on = WaitSet::Lock(LockId(0));
    let waiter = locked(vec![act(Op::Wait { on, lock: LockId(0), timeout: None })]);
    let notifier = locked(vec![act(Op::Notify { on, all: false })]);
    // A lost notify: its pair, and the pair of the acquisitions.
    check(
        app(vec![], vec![waiter, notifier]),
        &[((T, 0), (T + 1, 0), ThreadThread, "lock l"), ((T, 1), (T + 1, 1), ThreadThread, "the wait set of lock l")],
    );
    let [up, down] = [Op::Up(SemaphoreId(0)), Op::Down(SemaphoreId(0))].map(act);
    let s = "semaphore s";
    check(
        app(vec![], vec![vec![up.clone(), up], vec![down.clone()], vec![down]]),
        &[
            ((T, 0), (T + 1, 0), ThreadThread, s),
            ((T, 1), (T + 1, 0), ThreadThread, s),
            ((T, 0), (T + 2, 0), ThreadThread, s),
            ((T, 1), (T + 2, 0), ThreadThread, s),
            ((T + 1, 0), (T + 2, 0), ThreadThread, s),
        ],
    );
    let interrupt = |k| vec![act(Op::Interrupt(ThreadId(k)))];
    check(app(vec![], vec![vec![act(Op::Sleep(2))], interrupt(0)]), &[((T, 0), (T + 1, 0), ThreadThread, "thread t0")]);
    check(app(vec![], vec![vec![act(Op::Sleep(2))], interrupt(1)]), &[]);
}

#[test]
fn instances_are_named_and_where_their_causes_part() {
    let parted = |script: &Script| -> BTreeSet<String> {
        (0..20)
            .flat_map(|seed| run(script.clone(), seed, 200).candidates)
            .map(|c| {
                let ((a, b), contexts) = (c.evidence.instances, c.evidence.contexts);
                assert_eq!(((a.site, b.site), (a.context, b.context)), ((c.pair.a, c.pair.b), contexts));
                c.evidence.parted
            })
            .collect()
    };
    let one = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(parted(&app(vec![], vec![vec![write()], vec![write()]])), one(""));
    assert_eq!(parted(&app(vec![vec![write()]], vec![vec![fork(A), write()]])), one("t0"));
    let posts = vec![to(UI, A, Now), to(IO, B, Now)];
    assert_eq!(parted(&app(vec![vec![write()], vec![write()]], vec![looper(), looper(), posts])), one("t2"));
    let far = vec![fork(B), fork(BodyId(2))];
    let script = app(vec![far, vec![write()], vec![write()]], vec![vec![fork(A)]]);
    assert_eq!(parted(&script), one("t0/b0#1"));

    // A callback that one context runs twice.
    let ls = ListenerId(0);
    let ops = [Op::Register { listener: ls, body: A }, Op::Perform(ls), Op::Perform(ls)];
    let script = app(vec![vec![write()]], vec![ops.map(act).to_vec(), vec![write()]]);
    let visits = (0..60).flat_map(|seed| run(script.clone(), seed, 200).candidates).map(|c| c.evidence.instances);
    let visits: BTreeSet<_> = visits.map(|(a, b)| (a.visit, b.visit)).collect();
    assert_eq!(visits, BTreeSet::from([(1, 1), (2, 1)]));
    // Both halves of a wait are one visit.
    let wait = Op::Wait { on: WaitSet::Lock(LockId(0)), lock: LockId(0), timeout: Some(1) };
    let notify = act(Op::Notify { on: WaitSet::Lock(LockId(0)), all: true });
    let script = app(vec![], vec![locked(vec![act(wait)]), locked(vec![notify])]);
    for candidate in union(&script).iter() {
        let evidence = &candidate.evidence;
        assert_eq!((evidence.instances.0.visit, evidence.instances.1.visit), (1, 1));
        assert_eq!(evidence.place, Some(ConflictPlace::Object { name: evidence.location.clone() }));
    }
}

#[test]
fn many_threads_and_many_sections_fit() {
    let script = app(vec![locked(vec![write()])], vec![vec![fork(A); 1_000]]);
    assert_eq!(run(script, 1, 100_000).orders.len(), 1);
    let often = |step: fn() -> ScriptStep| (0..1_000).flat_map(|_| locked(vec![step()])).collect();
    let script = app(vec![], vec![often(write), often(read)]);
    assert!(!run(script, 1, 100_000).orders.is_empty());
}
