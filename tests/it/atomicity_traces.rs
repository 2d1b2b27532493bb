//! Generates random traces for the comparison of the analysis of atomicity with its definition: loopers, threads and
//! the environment, with instances, transaction blocks, operations on atomics, signals, locks and events.

use raceflip::base::Rng;
use raceflip::event::PostTime;
use raceflip::trace::{Action, Builder, ChannelNo, EventNo, LocationNo, LockNo, SiteNo, TaskNo, ThreadNo, Trace};

/// Statistics of a trace, in percent; drawn anew for each trace.
struct Shape {
    begins: u32,
    accesses: u32,
    writes: u32,
    instances: u32,
    blocks: u32,
}

struct Maker {
    rng: Rng,
    shape: Shape,
    builder: Builder,
    threads: Vec<ThreadNo>,
    loopers: Vec<ThreadNo>,
    environment: ThreadNo,
    locks: Vec<(LockNo, Option<ThreadNo>)>,
    events: Vec<EventNo>,
    channels: Vec<ChannelNo>,
    places: Vec<LocationNo>,
    queued: Vec<(TaskNo, ThreadNo)>,
    forked: Vec<ThreadNo>,
}

/// Returns a trace of at most about `most` operations.
pub(crate) fn trace(seed: u64, most: u32) -> Trace {
    let mut rng = Rng::seeded(seed);
    let mut builder = Builder::new();
    let threads: Vec<_> = (0..2 + rng.below(3)).map(|i| builder.thread(&format!("t{i}"))).collect();
    let loopers = threads[..1 + rng.below(2) as usize].to_vec();
    let environment = builder.environment("environment");
    let locks = (0..2).map(|i| (builder.lock(&format!("l{i}")), None)).collect();
    let events = (0..2).map(|i| builder.event(&format!("e{i}"))).collect();
    let channels: Vec<_> = (0..2).map(|_| builder.channel()).collect();
    if rng.coin() {
        builder.is_lock(channels[1]);
    }
    let places = (0..1 + rng.below(3)).map(|i| builder.location(&format!("x{i}"), "x")).collect();
    let shape = Shape {
        begins: 30 + rng.below(50),
        accesses: 30 + rng.below(60),
        writes: 20 + rng.below(60),
        instances: [0, 30, 70][rng.below(3) as usize],
        blocks: [0, 10, 30][rng.below(3) as usize],
    };
    let (queued, forked) = (vec![], vec![]);
    let mut maker =
        Maker { rng, shape, builder, threads, loopers, environment, locks, events, channels, places, queued, forked };
    // With few operations, queues exist from the start.
    for looper in maker.loopers.clone() {
        maker.push(looper, Action::AttachQueue);
        maker.push(looper, Action::Loop);
    }
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
        let site = if self.rng.chance(70) {
            self.builder.site(["a", "b", "c"][self.rng.below(3) as usize])
        } else {
            SiteNo::NONE
        };
        self.builder.push(thread, action, site, 0).is_ok()
    }

    fn step(&mut self) {
        if self.rng.chance(6) {
            let environment = self.environment;
            return self.post(environment);
        }
        let thread = self.rng.pick(&self.threads);
        if self.loopers.contains(&thread) {
            if self.rng.chance(self.shape.begins) && self.turn(thread) {
                return;
            }
            // A looper acts in its tasks alone, most of the time.
            if self.builder.running(thread).is_none() && self.rng.chance(90) {
                return;
            }
        }
        if self.rng.chance(self.shape.blocks) {
            let begins = self.rng.coin();
            let name = ["p", "q"][self.rng.below(2) as usize];
            let _ = self.builder.transaction(thread, begins, begins.then_some(name), SiteNo::NONE);
        }
        if self.rng.chance(self.shape.accesses) {
            return self.access(thread);
        }
        let other = self.rng.pick(&self.threads);
        match self.rng.below(16) {
            0 if self.rng.chance(10) && !self.loopers.contains(&thread) => drop(self.push(thread, Action::ThreadExit)),
            1 if other != thread && !self.forked.contains(&other) => {
                if self.push(thread, Action::Fork(other)) {
                    self.forked.push(other);
                }
            }
            2 if other != thread => drop(self.push(thread, Action::Join(other))),
            3..=7 => self.post(thread),
            8 | 9 => self.lock(thread),
            10 => {
                let event = self.rng.pick(&self.events);
                self.push(thread, Action::Enable(event));
            }
            11 | 12 => {
                let channel = self.rng.pick(&self.channels);
                let action = self.rng.pick(&[Action::Send(channel), Action::Receive(channel)]);
                self.push(thread, action);
            }
            13 | 14 => {
                let writes = self.rng.chance(self.shape.writes);
                self.builder.atomic(thread, "n", writes, SiteNo::NONE);
            }
            _ => self.access(thread),
        }
    }

    fn access(&mut self, thread: ThreadNo) {
        let place = self.rng.pick(&self.places);
        let writes = self.rng.chance(self.shape.writes);
        self.push(thread, if writes { Action::Write(place) } else { Action::Read(place) });
    }

    // A looper ends its task, or begins one.
    fn turn(&mut self, looper: ThreadNo) -> bool {
        if let Some(task) = self.builder.running(looper)
            && self.rng.chance(60)
            && self.push(looper, Action::End(task))
        {
            return true;
        }
        let waiting: Vec<usize> = (0..self.queued.len()).filter(|i| self.queued[*i].1 == looper).collect();
        if waiting.is_empty() {
            return false;
        }
        let at = self.rng.pick(&waiting);
        let begins = self.push(looper, Action::Begin(self.queued[at].0));
        if begins {
            self.queued.remove(at);
        }
        begins
    }

    fn post(&mut self, thread: ThreadNo) {
        let looper = self.rng.pick(&self.loopers);
        let task = self.builder.task("p#1", looper, PostTime::Now, false);
        if self.rng.chance(40) {
            let event = self.rng.pick(&self.events);
            self.builder.handles(task, event);
        }
        if self.rng.chance(self.shape.instances) {
            let name = ["A", "B#1", "B#2"][self.rng.below(3) as usize];
            let instance = self.builder.instance(name);
            self.builder.belongs(task, instance);
        }
        if self.push(thread, Action::Post(task)) {
            self.queued.push((task, looper));
        }
    }

    fn lock(&mut self, thread: ThreadNo) {
        let at = self.rng.below(self.locks.len() as u32) as usize;
        let (lock, holder) = self.locks[at];
        match holder {
            None if self.push(thread, Action::Acquire(lock)) => self.locks[at].1 = Some(thread),
            Some(holder) if self.push(holder, Action::Release(lock)) => self.locks[at].1 = None,
            _ => {}
        }
    }
}
