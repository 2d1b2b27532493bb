//! Compares the shared flows of the library `coroutines` with the numbering of values that the [documentation] of
//! `MutableSharedFlow` describes: a buffer with a replay cache, and a place in it for each collector. The library keeps
//! a list for each collector instead. Random coroutines run on one looper, so there is one order.
//!
//! [documentation]: https://kotlinlang.org/api/kotlinx.coroutines/kotlinx-coroutines-core/kotlinx.coroutines.flow/

use crate::explore::search;
use crate::load::load_bytes;
use raceflip::base::Rng;
use raceflip::campaign::named;
use raceflip::explore::SearchPlan;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

/// What a flow does with a value that finds the buffer full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overflow {
    Suspend,
    DropOldest,
    DropLatest,
}

/// An operation of a coroutine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    Emit(i64),
    TryEmit(i64),
    Yield,
    Collect,
    Next,
    Leave,
}

/// Random coroutines around one flow.
#[derive(Debug)]
struct Case {
    replay: usize,
    extra: usize,
    overflow: Overflow,
    jobs: Vec<Vec<Deed>>,
}

fn case(rng: &mut Rng) -> Case {
    let overflow = [Overflow::Suspend, Overflow::Suspend, Overflow::DropOldest, Overflow::DropLatest];
    let overflow = overflow[rng.below(4) as usize];
    let replay = rng.below(3) as usize;
    let extra = rng.below(3) as usize;
    let extra = if overflow != Overflow::Suspend && replay + extra == 0 { 1 } else { extra };
    // Which of several collectors goes on first is not promised once one has left.
    let leaves = rng.below(2) == 0;
    let collectors = 1 + rng.below(if leaves { 2 } else { 3 });
    let mut jobs: Vec<Vec<Deed>> = (0..collectors).map(|_| collector(rng, leaves)).collect();
    for emitter in 0..1 + rng.below(2) as i64 {
        let deeds = 2 + rng.below(4) as i64;
        let deed = |(i, kind)| match kind {
            0 => Deed::Yield,
            1 => Deed::TryEmit(10 * emitter + i),
            _ => Deed::Emit(10 * emitter + i),
        };
        let job = (0..deeds).map(|i| deed((i, rng.below(5)))).collect();
        let at = rng.below(jobs.len() as u32 + 1) as usize;
        jobs.insert(at, job);
    }
    Case { replay, extra, overflow, jobs }
}

fn collector(rng: &mut Rng, leaves: bool) -> Vec<Deed> {
    let mut deeds = vec![Deed::Collect];
    for _ in 0..1 + rng.below(4) {
        deeds.push(Deed::Next);
        if rng.below(3) == 0 {
            deeds.push(Deed::Yield);
        }
    }
    if leaves {
        deeds.push(Deed::Leave);
    }
    deeds
}

// The model of a case. Each operation notes what it has done.
fn model(case: &Case) -> String {
    let mut text = String::from("use coroutines\nlet events = new SharedFlow\nvar log: list[int]\nlooper main\n");
    let overflow = match case.overflow {
        Overflow::Suspend => "SUSPEND",
        Overflow::DropOldest => "DROP_OLDEST",
        Overflow::DropLatest => "DROP_LATEST",
    };
    let (replay, extra) = (case.replay, case.extra);
    writeln!(text, "init {{ events.replay = {replay}; events.extra = {extra}; events.on_overflow = {overflow} }}")
        .unwrap();
    let mut launches = String::new();
    for (job, deeds) in case.jobs.iter().enumerate() {
        writeln!(launches, "    launch job{job}()").unwrap();
        writeln!(text, "daemon async task job{job}() {{").unwrap();
        for (at, deed) in deeds.iter().enumerate() {
            let base = 1_000 * job;
            match deed {
                Deed::Emit(value) => writeln!(text, "    emit(events, {value}); log.push({})", base + 100),
                Deed::TryEmit(value) => {
                    let sent = base + 200;
                    writeln!(
                        text,
                        "    if try_emit(events, {value}) {{ log.push({sent}) }} else {{ log.push({base}) }}"
                    )
                }
                Deed::Yield => writeln!(text, "    yield"),
                Deed::Collect => writeln!(text, "    let c = collect(events)"),
                Deed::Next => writeln!(text, "    let v{at} = next(c); log.push({} + v{at})", base + 300),
                Deed::Leave => writeln!(text, "    leave(c)"),
            }
            .unwrap();
        }
        text.push_str("}\n");
    }
    writeln!(text, "task go() {{\n{launches}}}\nthread env {{ post go() to main }}").unwrap();
    text.push_str("expect outcomes of log: ok []\n");
    text
}

/// A flow whose values are numbered. The buffer holds the values `head..end`, and the emitters in `queue` have those
/// after it. A collector has the number of its next value.
struct Numbered {
    replay: usize,
    capacity: usize,
    overflow: Overflow,
    values: Vec<i64>,
    head: usize,
    queue: VecDeque<(usize, i64)>,
    // Coroutine, number of its next value, whether it waits.
    collectors: Vec<(usize, usize, bool)>,
    // Number of the first value that is replayed.
    first_replayed: usize,
}

impl Numbered {
    fn slowest(&self) -> usize {
        self.collectors.iter().map(|(_, next, _)| *next).min().unwrap_or(self.values.len())
    }

    // Keeps the last values for new collectors, and forgets what no collector needs.
    fn settle(&mut self) {
        self.first_replayed = self.first_replayed.max(self.values.len().saturating_sub(self.replay));
        self.head = self.slowest().min(self.first_replayed);
    }

    fn try_emit(&mut self, value: i64, ready: &mut VecDeque<usize>) -> bool {
        if self.collectors.is_empty() {
            if self.replay > 0 {
                self.values.push(value);
                self.settle();
            }
            return true;
        }
        let full = self.values.len() - self.head >= self.capacity && self.slowest() <= self.first_replayed;
        if full && self.overflow != Overflow::DropOldest {
            return self.overflow == Overflow::DropLatest;
        }
        self.values.push(value);
        let oldest = self.values.len().saturating_sub(self.capacity);
        if self.values.len() - self.head > self.capacity {
            self.collectors.iter_mut().for_each(|(_, next, _)| *next = (*next).max(oldest));
        }
        self.settle();
        self.wake(ready);
        true
    }

    fn suspend(&mut self, job: usize, value: i64, ready: &mut VecDeque<usize>) {
        self.queue.push_back((job, value));
        if self.capacity == 0 {
            self.wake(ready);
        }
    }

    // The value that a collector can take.
    fn offered(&self, next: usize) -> Option<i64> {
        match self.values.get(next) {
            Some(value) => Some(*value),
            None if self.capacity == 0 && next == self.values.len() => self.queue.front().map(|(_, value)| *value),
            None => None,
        }
    }

    fn wake(&mut self, ready: &mut VecDeque<usize>) {
        for at in 0..self.collectors.len() {
            let (job, next, waits) = self.collectors[at];
            if waits && self.offered(next).is_some() {
                self.collectors[at].2 = false;
                ready.push_back(job);
            }
        }
    }

    // Lets emitters go on after a collector has moved or left.
    fn moved(&mut self, ready: &mut VecDeque<usize>) {
        let room = if self.collectors.is_empty() {
            self.queue.len()
        } else if self.capacity == 0 {
            usize::from(self.slowest() > self.values.len())
        } else {
            self.capacity.saturating_sub(self.values.len() - self.slowest())
        };
        for _ in 0..room {
            let Some((job, value)) = self.queue.pop_front() else { break };
            self.values.push(value);
            ready.push_back(job);
        }
        self.settle();
        self.wake(ready);
    }
}

// What the operations of a case note, by the numbers of values.
fn expected(case: &Case) -> Vec<i64> {
    let mut flow = Numbered {
        replay: case.replay,
        capacity: case.replay + case.extra,
        overflow: case.overflow,
        values: Vec::new(),
        head: 0,
        queue: VecDeque::new(),
        collectors: Vec::new(),
        first_replayed: 0,
    };
    let mut ready: VecDeque<usize> = (0..case.jobs.len()).collect();
    let (mut at, mut emitting) = (vec![0; case.jobs.len()], vec![false; case.jobs.len()]);
    let mut log = Vec::new();
    while let Some(job) = ready.pop_front() {
        let base = 1_000 * job as i64;
        if std::mem::take(&mut emitting[job]) {
            log.push(base + 100);
        }
        while let Some(deed) = case.jobs[job].get(at[job]) {
            at[job] += 1;
            let own = flow.collectors.iter().position(|(owner, ..)| *owner == job);
            match *deed {
                Deed::Yield => {
                    ready.push_back(job);
                    break;
                }
                Deed::TryEmit(value) => {
                    log.push(base + if flow.try_emit(value, &mut ready) { 200 } else { 0 });
                }
                Deed::Emit(value) if flow.try_emit(value, &mut ready) => log.push(base + 100),
                Deed::Emit(value) => {
                    emitting[job] = true;
                    flow.suspend(job, value, &mut ready);
                    break;
                }
                Deed::Collect => {
                    flow.collectors.push((job, flow.first_replayed, false));
                    flow.settle();
                }
                Deed::Next => {
                    let own = own.expect("it collects");
                    let next = flow.collectors[own].1;
                    let Some(value) = flow.offered(next) else {
                        flow.collectors[own].2 = true;
                        at[job] -= 1;
                        break;
                    };
                    flow.collectors[own].1 += 1;
                    flow.moved(&mut ready);
                    log.push(base + 300 + value);
                }
                Deed::Leave => {
                    flow.collectors.remove(own.expect("it collects"));
                    flow.moved(&mut ready);
                }
            }
        }
    }
    log
}

#[test]
fn shared_flows_do_what_numbered_values_say() {
    let mut rng = Rng::seeded(7_100);
    let (mut suspended, mut dropped, mut wrong) = (0, 0, Vec::new());
    for number in 0..300 {
        let case = case(&mut rng);
        let text = model(&case);
        let model = load_bytes("flow.race", text.as_bytes(), &[]);
        let plan = SearchPlan { observe: named(&model.program), reduce: true, ..SearchPlan::new(&model) };
        let ends: BTreeSet<String> = search(&plan).ends.keys().map(|end| end.ended.text()).collect();
        let log = expected(&case);
        let wanted: Vec<String> = log.iter().map(i64::to_string).collect();
        if ends != BTreeSet::from([format!("ok [{}]", wanted.join(", "))]) {
            wrong.push(format!("{number}: {ends:?}, not {wanted:?}\n{text}"));
        }
        let emits = case.jobs.iter().flatten().filter(|deed| matches!(deed, Deed::Emit(_))).count();
        let taken = log.iter().filter(|note| *note % 1_000 >= 300).count();
        suspended += usize::from(log.iter().filter(|note| *note % 1_000 == 100).count() < emits);
        dropped += usize::from(case.overflow != Overflow::Suspend && taken > 0);
    }
    assert!(wrong.is_empty(), "{} of 300:\n{}", wrong.len(), wrong[0]);
    assert!(suspended > 20 && dropped > 50, "{suspended} with an emitter that waits, {dropped} that drop");
}
