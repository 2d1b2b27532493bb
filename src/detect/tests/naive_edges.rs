//! The edges of locks, signals, atomics and awaits, implemented literally: for each event all earlier events from
//! which it learns.

use super::EventRecord;
use super::naive::{holds, made, op};
use super::random::BUFFER;
use crate::event::{EventKind, Location, Op};

/// Returns the edges of the precise relation that the hybrid one does not have.
pub(super) fn channel_edges(all: &[EventRecord]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for j in 0..all.len() {
        edges.extend((0..j).filter(|i| passes(all, *i, j)).map(|i| (i, j)));
        edges.extend(woken(all, j).map(|i| (i, j)));
        edges.extend(interrupted(all, j).into_iter().map(|i| (i, j)));
        edges.extend(awaited(all, j).into_iter().map(|i| (i, j)));
        edges.extend(exchanged(all, j).map(|i| (i, j)));
    }
    edges
}

// Whether there is an edge that does not depend on the events between.
fn passes(all: &[EventRecord], i: usize, j: usize) -> bool {
    let (x, y) = (&all[i], &all[j]);
    let Some((a, b)) = op(&x.event).zip(op(&y.event)) else { return false };
    let apart = x.event.thread != y.event.thread;
    match (a, b) {
        (Op::Release(l) | Op::Wait { lock: l, .. }, Op::Acquire(m)) => apart && l == m && !x.threw && !y.threw,
        (Op::Release(l) | Op::Wait { lock: l, .. }, Op::Reacquire { lock: m, .. }) => apart && l == m && !x.threw,
        (Op::WriteUnlock(l), Op::ReadLock(m) | Op::WriteLock(m)) => apart && l == m && !x.threw,
        (Op::ReadUnlock(l), Op::WriteLock(m)) => apart && l == m && !x.threw,
        (Op::Up(s), Op::Down(t)) => s == t,
        (Op::Up(s), Op::DownFor { semaphore: t, .. }) => s == t && y.value() == 1,
        (Op::Register { listener: l, .. }, Op::Perform(m)) => l == m,
        (Op::Quit { looper, .. }, Op::Begin) => {
            made(&y.event).is_none() && !x.threw && !y.threw && y.event.thread == Some(*looper)
        }
        _ => match (written(x), read(y)) {
            (Some(at), Some(from)) => at == from && !y.threw,
            _ => false,
        },
    }
}

impl EventRecord {
    fn value(&self) -> crate::event::Value {
        match self.event.what {
            EventKind::Performed { value, .. } => value,
            _ => 0,
        }
    }
}

fn written(seen: &EventRecord) -> Option<Location> {
    let EventKind::Performed { op, value, .. } = &seen.event.what else { return None };
    match *op {
        _ if seen.threw => None,
        Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => Some(at),
        Op::Cas { at, .. } => (*value == 1).then_some(at),
        _ => None,
    }
}

fn read(seen: &EventRecord) -> Option<Location> {
    match *op(&seen.event)? {
        Op::AtomicRead(at) | Op::FetchAdd(at, _) | Op::Exchange(at, _) | Op::Cas { at, .. } => Some(at),
        _ => None,
    }
}

// Returns the notify after which the thread was no longer in its wait set.
fn woken(all: &[EventRecord], j: usize) -> Option<usize> {
    let thread = all[j].event.thread?;
    let Op::Reacquire { .. } = op(&all[j].event)? else { return None };
    let wait = (0..j).rfind(|i| all[*i].event.thread == Some(thread))?;
    (wait + 1..j).find(|i| {
        let notifies = matches!(op(&all[*i].event), Some(Op::Notify { .. }));
        notifies && all[*i - 1].waiting.contains(&thread) && !all[*i].waiting.contains(&thread)
    })
}

// Whether a pending interrupt ends the operation of this event.
fn spends(all: &[EventRecord], j: usize) -> bool {
    let EventKind::Performed { op, value, .. } = &all[j].event.what else { return false };
    match op {
        Op::Sleep(_) | Op::Wake => true,
        Op::Reacquire { .. } => *value == 0,
        Op::Wait { lock, .. } => all[j].threw && holds(all, j).0.contains_key(lock),
        _ => false,
    }
}

fn interrupted(all: &[EventRecord], j: usize) -> Vec<usize> {
    let thread = all[j].event.thread;
    if !spends(all, j) {
        return vec![];
    }
    let last = (0..j).rfind(|i| all[*i].event.thread == thread && spends(all, *i)).unwrap_or(0);
    let is = |i: &usize| matches!(op(&all[*i].event), Some(Op::Interrupt(t)) if Some(*t) == thread);
    (last..j).filter(is).collect()
}

/// Returns the events that turned the condition of the `await` that event `j` ends, and whether to true.
pub(super) fn turns(all: &[EventRecord], j: usize) -> Vec<(usize, bool)> {
    let (Some(thread), Some(Op::Await { .. })) = (all[j].event.thread, op(&all[j].event)) else { return vec![] };
    let Some(arrival) = (0..j).rfind(|i| all[*i].event.thread == Some(thread)) else { return vec![] };
    let holds = |i: usize| all[i].awaits.get(&thread).copied();
    let turns = (arrival + 1..j).filter(|i| op(&all[*i].event).is_some() && holds(*i - 1) != holds(*i));
    turns.filter_map(|i| Some((i, holds(i)?))).collect()
}

// Returns the send, receive or close that an operation on the channel of these tests comes after, by counting.
fn exchanged(all: &[EventRecord], j: usize) -> Option<usize> {
    let (mut sent, mut taken, mut closed) = (Vec::new(), Vec::new(), None);
    for (i, seen) in all[..=j].iter().enumerate() {
        match op(&seen.event) {
            Some(Op::Send { .. }) if !seen.threw => {
                if i == j {
                    return sent.len().checked_sub(BUFFER).map(|k| taken[k]);
                }
                sent.push(i);
            }
            Some(Op::Receive { .. }) => {
                let value = sent.get(taken.len()).copied();
                if i == j {
                    return value.or(closed);
                }
                taken.extend(value.map(|_| i));
            }
            Some(Op::Close(_)) if !seen.threw => closed = Some(i),
            _ => {}
        }
    }
    None
}

fn awaited(all: &[EventRecord], j: usize) -> Vec<usize> {
    let EventKind::Performed { op: Op::Await { .. }, value, .. } = all[j].event.what else { return vec![] };
    let writes = |i: &usize| {
        let plain = matches!(op(&all[*i].event), Some(Op::Write(..) | Op::ListWrite { .. } | Op::Free(_)));
        plain && !all[*i].threw || written(&all[*i]).is_some()
    };
    match turns(all, j).last() {
        Some((i, true)) => vec![*i],
        _ if value == 1 => (0..j).filter(writes).collect(),
        _ => vec![],
    }
}
