//! Generates random traces for the comparison of CAFA's order with its rules: loopers, threads, a binder thread and the
//! environment, with posts of all kinds, forks, joins, signals, locks, enables, and accesses with marks.

use raceflip::base::Rng;
use raceflip::event::PostTime;
use raceflip::trace::{
    Action, Builder, ChannelNo, EventNo, LocationNo, LockNo, Mark, OpNo, SiteNo, TaskNo, ThreadNo, Trace,
};
use std::collections::BTreeMap;

/// Statistics of a trace, in percent; drawn anew for each trace.
struct Shape {
    begins: u32,
    /// Share of begins that do not keep to the order of the queue, as in a log that lacks what was posted to the front.
    unordered: u32,
    fronts: u32,
    signals: u32,
    external: u32,
}

struct Maker {
    rng: Rng,
    shape: Shape,
    builder: Builder,
    threads: Vec<ThreadNo>,
    loopers: Vec<ThreadNo>,
    binder: ThreadNo,
    environment: ThreadNo,
    locks: Vec<(LockNo, Option<ThreadNo>)>,
    events: Vec<EventNo>,
    channels: Vec<ChannelNo>,
    places: Vec<LocationNo>,
    // Tasks that are posted and have not begun, with the key by which the queue is sorted.
    queued: Vec<(TaskNo, ThreadNo, (i64, i64))>,
    // The reads of the running contexts, for guards.
    reads: BTreeMap<(ThreadNo, LocationNo), OpNo>,
    time: i64,
}

/// Returns a trace of at most about `most` operations.
pub(crate) fn trace(seed: u64, most: u32) -> Trace {
    let mut rng = Rng::seeded(seed);
    let mut builder = Builder::new();
    let threads: Vec<_> = (0..3 + rng.below(3)).map(|i| builder.thread(&format!("t{i}"))).collect();
    let loopers = threads[..1 + rng.below(3) as usize].to_vec();
    let (binder, environment) = (builder.thread("binder"), builder.environment("environment"));
    let locks = (0..2).map(|i| (builder.lock(&format!("l{i}")), None)).collect();
    let events = (0..2).map(|i| builder.event(&format!("e{i}"))).collect();
    let channels = (0..3).map(|_| builder.channel()).collect();
    let places = (0..3).map(|i| builder.location(&format!("p{i}"), "p")).collect();
    let shape = Shape {
        begins: 20 + rng.below(50),
        unordered: [0, 0, 30][rng.below(3) as usize],
        fronts: [5, 15, 40][rng.below(3) as usize],
        signals: [0, 10, 30][rng.below(3) as usize],
        external: [0, 5, 20][rng.below(3) as usize],
    };
    let reads = BTreeMap::new();
    let mut maker = Maker {
        rng,
        shape,
        builder,
        threads,
        loopers,
        binder,
        environment,
        locks,
        events,
        channels,
        places,
        queued: vec![],
        reads,
        time: 1,
    };
    let ops = most / 2 + maker.rng.below(most / 2);
    for _ in 0..20 * ops {
        if maker.builder.len() >= ops as usize {
            break;
        }
        maker.step();
    }
    maker.builder.finish()
}

impl Maker {
    // The builder refuses what is not possible, and the maker goes on with something else.
    fn push(&mut self, thread: ThreadNo, action: Action) -> bool {
        let is_done = self.builder.push(thread, action, SiteNo::NONE, 0).is_ok();
        if is_done && matches!(action, Action::Begin(_) | Action::Loop | Action::Leave) {
            self.reads.retain(|(of, _), _| *of != thread);
        }
        is_done
    }

    fn step(&mut self) {
        self.time += i64::from(self.rng.below(3));
        if self.rng.chance(self.shape.external) {
            let poster = self.rng.pick(&[self.environment, self.binder]);
            return self.post(poster);
        }
        if self.rng.chance(3) {
            let _ = self.builder.begin_section(self.binder, 0);
            return self.reads.retain(|(of, _), _| *of != self.binder);
        }
        let thread = self.rng.pick(&self.threads);
        if self.loopers.contains(&thread) && self.rng.chance(self.shape.begins) && self.turn(thread) {
            return;
        }
        if self.rng.chance(self.shape.signals) {
            let channel = self.rng.pick(&self.channels);
            let action = self.rng.pick(&[Action::Send(channel), Action::Receive(channel)]);
            self.push(thread, action);
            return;
        }
        let other = self.rng.pick(&self.threads);
        match self.rng.below(20) {
            0 if self.rng.chance(10) => drop(self.push(thread, Action::ThreadExit)),
            1 | 2 if other != thread => drop(self.push(thread, Action::Fork(other))),
            3 if other != thread => drop(self.push(thread, Action::Join(other))),
            4..=8 => self.post(thread),
            9 | 10 => self.lock(thread),
            11 => {
                let event = self.rng.pick(&self.events);
                self.push(thread, Action::Enable(event));
            }
            12 => {
                let channel = self.rng.pick(&self.channels);
                let action = self.rng.pick(&[Action::Send(channel), Action::Receive(channel)]);
                self.push(thread, action);
            }
            _ => self.access(thread),
        }
    }

    fn access(&mut self, thread: ThreadNo) {
        let place = self.rng.pick(&self.places);
        let site = ["a", "b", "c", "d"][self.rng.below(4) as usize];
        let site = self.builder.site(site);
        let guard = self.reads.get(&(thread, place)).copied();
        let (action, mark) = match self.rng.below(8) {
            0..=2 => (Action::Read(place), Mark { uses: true, ..Mark::default() }),
            3 => (Action::Read(place), Mark { uses: true, guard, ..Mark::default() }),
            4 => (Action::Read(place), Mark { tested: true, ..Mark::default() }),
            5 | 6 => (Action::Write(place), Mark { frees: true, ..Mark::default() }),
            _ => (Action::Write(place), Mark::default()),
        };
        if self.builder.push_marked(thread, action, mark, site, 0).is_ok() && mark.tested {
            self.reads.insert((thread, place), OpNo(self.builder.len() as u32 - 1));
        }
    }

    // A looper goes on: it attaches, loops, ends its task, or begins one.
    fn turn(&mut self, looper: ThreadNo) -> bool {
        if self.push(looper, Action::AttachQueue) || self.push(looper, Action::Loop) {
            return true;
        }
        if let Some(task) = self.builder.running(looper)
            && self.push(looper, Action::End(task))
        {
            return true;
        }
        if self.rng.chance(1) {
            return self.push(looper, Action::Leave);
        }
        let mut waiting: Vec<_> = (0..self.queued.len()).filter(|i| self.queued[*i].1 == looper).collect();
        waiting.sort_by_key(|i| self.queued[*i].2);
        let Some(mut at) = waiting.first().copied() else { return false };
        if self.rng.chance(self.shape.unordered) {
            at = self.rng.pick(&waiting);
        }
        let task = self.queued[at].0;
        if !self.push(looper, Action::Begin(task)) {
            return false;
        }
        self.queued.remove(at);
        true
    }

    fn post(&mut self, thread: ThreadNo) {
        let looper = self.rng.pick(&self.loopers);
        let time = match self.rng.below(10) {
            _ if self.rng.chance(self.shape.fronts) => PostTime::Front,
            0 | 1 => PostTime::After(5),
            2 | 3 => PostTime::After(10),
            4 if self.rng.chance(30) => PostTime::At(20),
            5 if thread == looper && self.builder.running(looper).is_some() => PostTime::Micro,
            6 if self.rng.chance(30) => PostTime::Idle { keep: false },
            _ => PostTime::Now,
        };
        let is_async = self.rng.chance(5);
        let task = self.builder.task("p", looper, time, is_async);
        if self.rng.chance(30) {
            let event = self.rng.pick(&self.events);
            self.builder.handles(task, event);
        }
        // One in twenty is canceled.
        if self.push(thread, Action::Post(task)) && !self.rng.chance(5) {
            let place = self.queued.len() as i64;
            let key = match time {
                PostTime::Front => (0, -place),
                PostTime::At(t) => (t, place),
                PostTime::After(d) => (self.time + d, place),
                PostTime::Now => (self.time, place),
                PostTime::Micro => (i64::MIN, place),
                PostTime::Idle { .. } => (i64::MAX, place),
            };
            self.queued.push((task, looper, key));
        }
    }

    fn lock(&mut self, thread: ThreadNo) {
        let at = self.rng.below(self.locks.len() as u32) as usize;
        match self.locks[at] {
            (lock, Some(holder)) if holder == thread => {
                self.locks[at].1 = None;
                self.push(thread, Action::Release(lock));
            }
            (_, Some(_)) => {}
            (lock, None) => {
                self.locks[at].1 = Some(thread);
                self.push(thread, Action::Acquire(lock));
            }
        }
    }
}
