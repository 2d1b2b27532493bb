//! Order pairs, implemented literally: all pairs of operations, and all pairs of intervals in which a lock is held.

use super::naive::{Relation, guarded, holds, kind, op};
use super::naive_edges::turns;
use super::{EventRecord, Pair, PairKinds, RecordedRun};
use crate::detect::ContextKind;
use crate::event::{AccessKind, AccessPlace, EventKind, Op, PostTime, WaitSet};
use crate::world::World;

/// Returns the order pairs of a run.
pub(super) fn pairs(run: &RecordedRun, relation: &Relation<'_>) -> PairKinds {
    let all = &relation.all;
    let mut found = PairKinds::new();
    let mut add = |i: usize, j: usize| {
        let (x, y) = (&all[i].event, &all[j].event);
        found.extend(x.site.zip(y.site).map(|(s, t)| (Pair::new(s, t), kind(run, x, y))));
    };
    for j in 0..all.len() {
        let earlier = (0..j).filter(|i| all[*i].event.context != all[j].event.context && !relation.before[j][*i]);
        earlier.filter(|i| ordered(run, all, *i, j)).for_each(|i| add(i, j));
        turns(all, j).into_iter().for_each(|(i, _)| add(i, j));
    }
    let sections = sections(all);
    for (n, y) in sections.iter().enumerate() {
        for x in &sections[..n] {
            let apart = kind(run, &all[x.acquired].event, &all[y.acquired].event) != ContextKind::SameLooper;
            let by_two_contexts = all[x.acquired].event.context != all[y.acquired].event.context
                && !relation.before[y.start][x.start]
                && !guarded(all, x.acquired, y.acquired);
            if apart && by_two_contexts && excluding(all, x, y) && conflict(run, all, x, y) {
                add(x.acquired, y.acquired);
            }
        }
    }
    found
}

// Whether the two operations are of kinds whose order matters.
fn ordered(run: &RecordedRun, all: &[EventRecord], i: usize, j: usize) -> bool {
    let (x, y) = (&all[i], &all[j]);
    let Some((a, b)) = op(&x.event).zip(op(&y.event)) else { return false };
    if let Some(((at, writes), (other, too))) = atomic(x).zip(atomic(y)) {
        let unguarded = x.event.thread == y.event.thread || !guarded(all, i, j);
        return at == other && (writes || too) && unguarded;
    }
    signals((a, x), (b, y), &run.machine.world) || signals((b, y), (a, x), &run.machine.world)
}

fn signals((a, x): (&Op, &EventRecord), (b, y): (&Op, &EventRecord), world: &World) -> bool {
    match (a, b) {
        // Nothing removes microtasks, and a removal by task finds no idle handlers.
        (Op::Post { time: PostTime::Micro, .. }, _) => false,
        (Op::Post { target, body, time, .. }, Op::Cancel { target: of, body: what, .. }) => {
            target == of && (what.is_none() || *what == Some(*body)) && !matches!(time, PostTime::Idle { .. })
        }
        (Op::Post { target, .. }, Op::Quit { looper, .. }) => world.thread_of(*target) == *looper,
        (Op::Enable { event: e, .. }, Op::Disable(f)) => e == f,
        (Op::Unregister { listener: l, .. }, Op::Register { listener: m, .. } | Op::Perform(m)) => l == m,
        (Op::Notify { on: a, .. }, Op::Wait { on: b, .. }) => a == b,
        (
            Op::Up(s) | Op::Down(s) | Op::DownFor { semaphore: s, .. },
            Op::Down(t) | Op::DownFor { semaphore: t, .. },
        ) => s == t,
        (Op::Send { channel: a, .. }, Op::Send { channel: b, .. })
        | (Op::Receive { channel: a, .. }, Op::Receive { channel: b, .. }) => a == b,
        (Op::Close(a), Op::Send { channel, .. } | Op::Receive { channel, .. }) => *channel == Some(*a),
        // The second one throws.
        (Op::Close(a), Op::Close(b)) => a == b,
        (Op::Interrupt(t), Op::Sleep(_) | Op::Wait { .. }) => y.event.thread == Some(*t) && x.event.thread.is_some(),
        _ => false,
    }
}

fn atomic(seen: &EventRecord) -> Option<(u32, bool)> {
    let EventKind::Performed { op, value, .. } = &seen.event.what else { return None };
    match *op {
        _ if seen.threw => None,
        Op::AtomicRead(at) => Some((at.cell, false)),
        Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => Some((at.cell, true)),
        Op::Cas { at, .. } => Some((at.cell, *value == 1)),
        _ => None,
    }
}

// An interval in which a thread holds a lock, with the acquisition that began it.
struct Section {
    acquired: usize,
    start: usize,
    end: usize,
}

fn sections(all: &[EventRecord]) -> Vec<Section> {
    let mut sections = Vec::new();
    for acquired in (0..all.len()).filter(|i| takes(all, *i)) {
        let mut start = acquired;
        let own = |from: usize| {
            (from + 1..all.len()).filter(|i| all[*i].event.thread == all[acquired].event.thread).collect::<Vec<_>>()
        };
        loop {
            let end = own(start).into_iter().find(|i| gives_up(all, acquired, *i)).unwrap_or(all.len());
            sections.push(Section { acquired, start, end });
            let back = own(end).into_iter().find(|i| matches!(op(&all[*i].event), Some(Op::Reacquire { .. })));
            match back.filter(|_| matches!(op(&all[end].event), Some(Op::Wait { .. }))) {
                Some(back) => start = back,
                None => break,
            }
        }
    }
    sections.sort_by_key(|s| s.start);
    sections
}

// Whether the event is an acquisition by a thread that does not hold the lock yet.
fn takes(all: &[EventRecord], i: usize) -> bool {
    let (locks, reads, _) = holds(all, i);
    match op(&all[i].event) {
        Some(Op::Acquire(lock)) => !all[i].threw && !locks.contains_key(lock),
        Some(Op::ReadLock(lock)) => !reads.contains_key(lock),
        Some(Op::WriteLock(_)) => true,
        _ => false,
    }
}

fn gives_up(all: &[EventRecord], acquired: usize, i: usize) -> bool {
    let (locks, reads, _) = holds(all, i);
    match (op(&all[acquired].event), op(&all[i].event)) {
        _ if all[i].threw => false,
        (Some(Op::Acquire(l)), Some(Op::Release(m))) => l == m && locks.get(l) == Some(&1),
        (Some(Op::Acquire(l)), Some(Op::Wait { lock: m, .. })) => l == m,
        (Some(Op::ReadLock(l)), Some(Op::ReadUnlock(m))) => l == m && reads.get(l) == Some(&1),
        (Some(Op::WriteLock(l)), Some(Op::WriteUnlock(m))) => l == m,
        _ => false,
    }
}

fn excluding(all: &[EventRecord], x: &Section, y: &Section) -> bool {
    match (op(&all[x.acquired].event), op(&all[y.acquired].event)) {
        (Some(Op::Acquire(l)), Some(Op::Acquire(m))) => l == m,
        (Some(Op::WriteLock(l)), Some(Op::WriteLock(m) | Op::ReadLock(m))) => l == m,
        (Some(Op::ReadLock(l)), Some(Op::WriteLock(m))) => l == m,
        _ => false,
    }
}

fn conflict(run: &RecordedRun, all: &[EventRecord], x: &Section, y: &Section) -> bool {
    let (mine, theirs) = (touched(run, all, x), touched(run, all, y));
    mine.iter().any(|(a, how)| {
        theirs.iter().any(|(b, too)| (*how || *too) && (a == b || a == "any" || b == "any" || frees(a, b, *how, *too)))
    })
}

// Whether one place is the life of an object that is freed, and the other one a cell of it: `life 1` and `cell 7 of
// 1`.
fn frees(a: &str, b: &str, how: bool, too: bool) -> bool {
    let one = |life: &str, cell: &str| {
        life.strip_prefix("life ").zip(cell.split_once(" of ")).is_some_and(|(object, (_, of))| object == of)
    };
    how && one(a, b) || too && one(b, a)
}

fn touched(run: &RecordedRun, all: &[EventRecord], section: &Section) -> Vec<(String, bool)> {
    let (locks, reads, writes) = holds(all, section.acquired);
    let mut touched: Vec<_> = locks.keys().map(|l| (format!("{l:?}"), true)).collect();
    touched.extend(reads.keys().map(|l| (format!("{l:?}"), false)));
    touched.extend(writes.keys().map(|l| (format!("{l:?}"), true)));
    let own = |i: &usize| all[*i].event.thread == all[section.acquired].event.thread;
    let last = all.len().min(section.end + 1);
    (section.start + 1..last).filter(own).for_each(|i| touched.extend(touch(run, all, i)));
    touched
}

fn touch(run: &RecordedRun, all: &[EventRecord], i: usize) -> Vec<(String, bool)> {
    let world = &run.machine.world;
    let Some(op) = op(&all[i].event) else { return vec![] };
    let queue = |looper| vec![(format!("queue {looper:?}"), true)];
    if let Some(access) = op.access() {
        let name = match access.place {
            AccessPlace::Cell(at) => match at.object {
                Some(object) => format!("cell {} of {}", at.cell, object.0),
                None => format!("global {}", at.cell),
            },
            AccessPlace::Life(object) => format!("life {}", object.0),
        };
        return vec![(name, access.kind == AccessKind::Write)];
    }
    if let Some((cell, writes)) = atomic(&all[i]) {
        return vec![(format!("global {cell}"), writes)];
    }
    let set = |on: &WaitSet| (format!("wait {on:?}"), true);
    let own = all[i].event.thread.unwrap();
    match op {
        Op::Acquire(l) if takes(all, i) => vec![(format!("{l:?}"), true)],
        Op::ReadLock(l) if takes(all, i) => vec![(format!("{l:?}"), false)],
        Op::WriteLock(l) => vec![(format!("{l:?}"), true)],
        Op::Post { target, .. } | Op::Cancel { target, .. } => queue(world.thread_of(*target)),
        Op::Quit { looper, .. } | Op::Fence(looper) => queue(*looper),
        Op::AttachQueue => queue(own),
        Op::Enable { event, .. } | Op::Disable(event) => vec![(format!("{event:?}"), true)],
        Op::Notify { on, .. } => vec![set(on)],
        Op::Wait { on, .. } => vec![set(on), (format!("thread {own:?}"), false)],
        Op::Up(s) | Op::Down(s) | Op::DownFor { semaphore: s, .. } => vec![(format!("{s:?}"), true)],
        Op::Interrupt(t) => vec![(format!("thread {t:?}"), true)],
        Op::Send { channel: Some(c), .. } | Op::Receive { channel: Some(c), .. } | Op::Close(c) => {
            vec![(format!("{c:?}"), true)]
        }
        Op::Sleep(_) => vec![(format!("thread {own:?}"), false)],
        Op::Register { listener, .. } | Op::Unregister { listener, .. } => vec![(format!("{listener:?}"), true)],
        Op::Perform(listener) => vec![(format!("{listener:?}"), false)],
        Op::Arrive(barrier) => vec![(format!("{barrier:?}"), true)],
        Op::Await { .. } => vec![("any".to_owned(), false)],
        _ => vec![],
    }
}
