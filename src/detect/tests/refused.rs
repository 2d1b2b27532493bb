//! An operation that is refused (it throws and changes nothing) orders nothing. One case for each operation that can be
//! refused: as the last operation before the other access, which would send, and as the first one, which would receive.

use super::edges::{A, T, UI, app, global, looper, read, to, write};
use super::script::{Script, ScriptStep, site};
use super::{RecordedRun, run};
use crate::detect::{Pair, Rank};
use crate::event::{
    BodyId, EventKind, ListId, ListRead, ListWrite, Location, LockId, ObjectId, Op, PostTime, RwLockId, Target,
    ThreadId, WaitSet,
};
use crate::world::Setup;
use std::collections::BTreeSet;
use std::sync::Arc;

const OBJECT: ObjectId = ObjectId(0);
// The monitor of the object, after the two locks of the app.
const MONITOR: LockId = LockId(2);
const LOCK: LockId = LockId(0);
const RW: RwLockId = RwLockId(0);
// The field of the object, after the global variable.
const FIELD: Location = Location { cell: 1, object: Some(OBJECT) };
// A thread without a queue.
const PLAIN: ThreadId = ThreadId(1);

fn act(op: Op) -> ScriptStep {
    ScriptStep::Do(op)
}

// Operations that are refused: the object has been freed, no thread holds a lock, and the thread has no queue.
fn refused() -> Vec<Op> {
    let list = ListId(0);
    let mut all = vec![
        Op::Read(FIELD),
        Op::Write(FIELD, 1),
        Op::ListRead { at: FIELD, list, what: ListRead::Len },
        Op::ListWrite { at: FIELD, list, what: ListWrite::Clear },
        Op::AtomicRead(FIELD),
        Op::AtomicWrite(FIELD, 1),
        Op::Cas { at: FIELD, old: 0, new: 1 },
        Op::FetchAdd(FIELD, 1),
        Op::Exchange(FIELD, 1),
        Op::Use(OBJECT),
        Op::Free(OBJECT),
        Op::Acquire(MONITOR),
        Op::ReadUnlock(RW),
        Op::WriteUnlock(RW),
        Op::Begin,
        Op::Fence(PLAIN),
        Op::Lift(crate::event::NULL),
        Op::Cancel { target: Target::Thread(PLAIN), body: None },
        Op::Quit { looper: PLAIN, safely: false },
    ];
    for lock in [LOCK, MONITOR] {
        let on = WaitSet::Lock(lock);
        all.extend([
            Op::Release(lock),
            Op::Wait { on, lock, timeout: None },
            Op::Wait { on, lock, timeout: Some(1) },
            Op::Notify { on, all: true },
        ]);
    }
    all
}

// An app whose object has been freed, in which an uncaught exception does not end its thread.
fn dead(bodies: Vec<Vec<ScriptStep>>, threads: Vec<Vec<ScriptStep>>) -> Script {
    let mut script = app(bodies, threads);
    let setup = Setup { uncaught_ends_thread: false, ..Setup::clone(&script.setup) };
    script.setup = Arc::new(setup);
    script.init = vec![Op::Free(OBJECT)];
    script
}

type Sides = ((u32, usize), (u32, usize));

// Returns the ranks of a pair in the runs that this operation is refused in, or in all runs.
fn ranks(script: &Script, (a, b): Sides, op: Option<Op>) -> BTreeSet<Rank> {
    let pair = Pair::new(site(BodyId(a.0), a.1), site(BodyId(b.0), b.1));
    let refuses = |run: &RecordedRun| {
        run.events.iter().any(|seen| match &seen.event.what {
            EventKind::Performed { op: performed, refused, .. } => *refused && op == Some(*performed),
            _ => false,
        })
    };
    let runs = (0..40).map(|seed| run(script.clone(), seed, 200)).filter(|run| op.is_none() || refuses(run));
    runs.flat_map(|run| run.candidates).filter(|c| c.pair == pair).map(|c| c.rank).collect()
}

// Checks that the pair is unordered in all runs that refuse the operation, and that there are such runs.
fn check(script: &Script, sides: Sides, op: Op) {
    assert_eq!(ranks(script, sides, Some(op)), BTreeSet::from([Rank::Unordered]), "{op:?} {:?}", script.bodies);
}

#[test]
fn a_refused_operation_sends_nothing() {
    let field = || act(Op::AtomicRead(FIELD));
    let (rw, plain) = ([Op::ReadLock(RW), Op::WriteLock(RW)], [Op::Acquire(LOCK), Op::AtomicRead(global(0))]);
    for op in refused() {
        let receivers: Vec<Op> = match op {
            Op::ReadUnlock(_) | Op::WriteUnlock(_) => rw.to_vec(),
            _ => plain.to_vec(),
        };
        for receiver in receivers {
            let receives = vec![field(), act(receiver), write()];
            check(&dead(vec![], vec![vec![write(), act(op)], receives]), ((T, 0), (T + 1, 2)), op);
        }
    }
    // A condition that holds from the start comes after every earlier write, but not after a refused one.
    for op in [Op::Write(FIELD, 1), Op::Free(OBJECT), Op::AtomicWrite(FIELD, 1)] {
        let mut script = dead(vec![], vec![vec![read(), act(op)], vec![act(Op::Await { timeout: Some(0) }), write()]]);
        script.init.insert(0, Op::Write(global(0), 1));
        check(&script, ((T, 0), (T + 1, 1)), op);
    }
}

#[test]
fn a_refused_operation_receives_nothing() {
    for op in refused() {
        let senders = match op {
            Op::ReadUnlock(_) | Op::WriteUnlock(_) => vec![],
            Op::Wait { lock: LOCK, .. } | Op::Notify { on: WaitSet::Lock(LOCK), .. } | Op::Release(LOCK) => {
                vec![Op::Acquire(LOCK), Op::Notify { on: WaitSet::Lock(LOCK), all: true }, Op::Release(LOCK)]
            }
            _ => vec![Op::Interrupt(PLAIN)],
        };
        let sends = std::iter::once(write()).chain(senders.into_iter().map(act)).collect();
        check(&dead(vec![], vec![sends, vec![act(op), write()]]), ((T, 0), (T + 1, 1)), op);
    }
    // The last release of the monitor comes before the free, and an acquisition after it is refused.
    let owner = vec![write(), act(Op::Acquire(MONITOR)), act(Op::Release(MONITOR)), act(Op::Free(OBJECT))];
    let late = vec![act(Op::Sleep(9)), act(Op::Acquire(MONITOR)), write()];
    let mut script = dead(vec![], vec![owner, late]);
    script.init.clear();
    check(&script, ((T, 0), (T + 1, 2)), Op::Acquire(MONITOR));
}

/// The order of queues: a quit of a thread that has no queue yet, a loop inside a task, and a second queue.
#[test]
fn a_refused_operation_of_a_looper_orders_nothing() {
    // The first quit may be refused. The thread then leaves its loop after the second one, and after nothing that comes
    // before the first one.
    let [early, late] = [false, true].map(|safely| Op::Quit { looper: ThreadId(0), safely });
    let other = vec![act(Op::Sleep(5)), act(Op::AttachQueue), ScriptStep::Loop, write()];
    let last = vec![act(Op::Sleep(9)), act(late)];
    check(&dead(vec![], vec![other, vec![write(), act(early)], last]), ((T, 3), (T + 1, 0)), early);
    // Two tasks keep their order if one of them tries to run the queue, or to attach another one.
    let with = |step: ScriptStep| {
        let front = vec![to(UI, BodyId(1), PostTime::Front)];
        let posts = vec![to(UI, A, PostTime::After(1))];
        dead(vec![vec![step, write()], vec![write()]], vec![looper(), posts, front])
    };
    let sides = ((A.0, 1), (1, 0));
    for (step, op) in [(ScriptStep::Loop, Op::Begin), (act(Op::AttachQueue), Op::AttachQueue)] {
        let usual = ranks(&with(act(Op::Skip)), sides, None);
        assert!(!usual.is_empty());
        assert_eq!(ranks(&with(step), sides, Some(op)), usual, "{op:?}");
    }
}
