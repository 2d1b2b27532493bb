//! Ranks by hand: which ranks a pair has in 60 random walks.

use super::edges::{A, B, T, UI, app, enable, global, locked, looper, read, to, write};
use super::run;
use super::script::{Script, ScriptStep, site};
use crate::detect::{Candidates, Pair, Rank};
use crate::event::{BodyId, Location, LockId, ObjectId, Op, PostTime, RwLockId, SemaphoreId, ThreadId, WaitSet};
use PostTime::Now;
use Rank::{ByLocks, ByQueue, Unordered};
use std::collections::BTreeSet;

fn check(script: Script, (a, b): ((u32, usize), (u32, usize)), expected: &[Rank]) {
    let pair = Pair::new(site(BodyId(a.0), a.1), site(BodyId(b.0), b.1));
    let (mut ranks, mut all) = (BTreeSet::new(), Candidates::new());
    for seed in 0..60 {
        let found = run(script.clone(), seed, 200).candidates;
        ranks.extend(found.iter().filter(|c| c.pair == pair).map(|c| c.rank));
        all.add(seed, found);
    }
    assert_eq!(ranks, expected.iter().copied().collect(), "{:?}", script.bodies);
    // The union has the most suspicious rank.
    assert_eq!(all.get(pair).map(|c| c.rank), expected.iter().copied().min());
}

fn act(op: Op) -> ScriptStep {
    ScriptStep::Do(op)
}

#[test]
fn locks_and_what_is_like_them() {
    let [t0, t1] = [T, T + 1];
    check(app(vec![], vec![vec![write()], vec![write()]]), ((t0, 0), (t1, 0)), &[Unordered]);
    // If the first section comes first, the lock orders the accesses; otherwise nothing orders them.
    let before = [vec![write()], locked(vec![])].concat();
    let after = [locked(vec![]), vec![write()]].concat();
    check(app(vec![], vec![before, after]), ((t0, 0), (t1, 2)), &[Unordered, ByLocks]);
    let [up, down] = [Op::Up(SemaphoreId(0)), Op::Down(SemaphoreId(0))].map(act);
    check(app(vec![], vec![vec![write(), up], vec![down, write()]]), ((t0, 0), (t1, 1)), &[ByLocks]);
    // Downs with a time limit: a down within the limit is ordered; a down that has timed out learns nothing.
    for (timeout, limit) in [(1_000, &[Unordered, ByLocks][..]), (0, &[Unordered, ByLocks])] {
        let down = act(Op::DownFor { semaphore: SemaphoreId(0), timeout });
        check(
            app(vec![], vec![vec![write(), act(Op::Up(SemaphoreId(0)))], vec![down, write()]]),
            ((t0, 0), (t1, 1)),
            limit,
        );
    }
    let down = act(Op::DownFor { semaphore: SemaphoreId(0), timeout: 0 });
    check(app(vec![], vec![vec![write()], vec![down, write()]]), ((t0, 0), (t1, 1)), &[Unordered]);
    let on = WaitSet::Lock(LockId(0));
    let waiter = locked(vec![act(Op::Wait { on, lock: LockId(0), timeout: None })]);
    let notifier = locked(vec![act(Op::Notify { on, all: true })]);
    let script = app(vec![], vec![[waiter, vec![write()]].concat(), [vec![write()], notifier].concat()]);
    check(script, ((t0, 3), (t1, 0)), &[ByLocks]);
    // Readers do not order each other.
    let rw = RwLockId(0);
    let [enter, leave] = [Op::ReadLock(rw), Op::ReadUnlock(rw)].map(act);
    let script = app(vec![], vec![vec![write(), enter.clone(), leave.clone()], vec![enter, leave, write()]]);
    check(script, ((t0, 0), (t1, 2)), &[Unordered]);
    let quits = vec![write(), act(Op::Quit { looper: UI, safely: true })];
    check(app(vec![], vec![vec![ScriptStep::Loop, write()], quits]), ((t0, 1), (t1, 0)), &[ByLocks]);
}

#[test]
fn atomics_and_awaits() {
    let [t0, t1] = [T, T + 1];
    let [set, get] = [Op::AtomicWrite(global(0), 1), Op::AtomicRead(global(0))].map(act);
    let field = Location { cell: 1, object: Some(ObjectId(0)) };
    let data = || act(Op::Write(field, 1));
    check(app(vec![], vec![vec![data(), set], vec![get, data()]]), ((t0, 0), (t1, 1)), &[Unordered, ByLocks]);
    let waits = act(Op::Await { timeout: None });
    check(app(vec![], vec![vec![data(), write()], vec![waits.clone(), data()]]), ((t0, 0), (t1, 1)), &[ByLocks]);
    // An await that has timed out learns nothing.
    let timed = act(Op::Await { timeout: Some(0) });
    check(app(vec![], vec![vec![data()], vec![timed, data()]]), ((t0, 0), (t1, 1)), &[Unordered]);
    check(app(vec![], vec![vec![write()], vec![waits, read()]]), ((t0, 0), (t1, 1)), &[ByLocks]);
}

#[test]
fn an_interrupt_orders_what_it_breaks_off() {
    let sleeper = vec![act(Op::Sleep(2)), write()];
    let mut script = app(vec![], vec![sleeper, vec![write(), act(Op::Interrupt(ThreadId(0)))]]);
    let mut setup = crate::world::Setup::clone(&script.setup);
    setup.uncaught_ends_thread = false;
    script.setup = std::sync::Arc::new(setup);
    check(script, ((T, 1), (T + 1, 0)), &[Unordered, ByLocks]);
}

#[test]
fn queues() {
    let bodies = || vec![vec![write()], vec![write()]];
    let posts = |body| vec![to(UI, body, Now)];
    let pair = ((0, 0), (1, 0));
    check(app(bodies(), vec![looper(), posts(A), posts(B)]), pair, &[ByQueue]);
    // There is no FIFO in either order.
    let front = vec![to(UI, B, PostTime::Front)];
    check(app(bodies(), vec![looper(), posts(A), front]), pair, &[Unordered, ByQueue]);
    // A lock around both orders the posts in the precise relation, and therefore the tasks.
    check(app(bodies(), vec![looper(), locked(posts(A)), locked(posts(B))]), pair, &[ByLocks]);
    // Firings have no order of their own.
    let main = vec![enable(), enable()];
    check(app(vec![vec![write()]], vec![looper(), main]), ((0, 0), (0, 0)), &[Unordered]);
    check(app(bodies(), vec![looper(), vec![enable()], posts(B)]), pair, &[Unordered]);
}
