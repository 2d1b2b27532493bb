//! Generates random traces that figure 5 allows, with every kind of operation that the relation covers.

use crate::base::Rng;
use crate::event::PostTime;
use crate::trace::{Action, Builder, ChannelNo, EventNo, LocationNo, LockNo, SiteNo, TaskNo, ThreadNo, Trace};

/// Probabilities of some operations, in percent; drawn anew for each trace.
struct Shape {
    begin: u32,
    unordered: u32,
    broken: u32,
    sites: bool,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    shape: Shape,
    builder: Builder,
    threads: Vec<ThreadNo>,
    loopers: Vec<ThreadNo>,
    environment: ThreadNo,
    locks: Vec<(LockNo, Option<ThreadNo>)>,
    events: Vec<EventNo>,
    channels: Vec<ChannelNo>,
    places: Vec<LocationNo>,
    // Tasks that are posted and have not begun, with the sort key of a queue.
    queued: Vec<(TaskNo, ThreadNo, (i64, i64))>,
    running: Vec<TaskNo>,
    time: i64,
}

pub(crate) fn trace(rng: &mut Rng, most: u32) -> Trace {
    let mut builder = Builder::new();
    let threads: Vec<_> = (0..2 + rng.below(4)).map(|i| builder.thread(&format!("t{i}"))).collect();
    let loopers = threads[..1 + rng.below(2.min(threads.len() as u32 - 1) + 1) as usize].to_vec();
    let environment = builder.environment("environment");
    let locks = (0..1 + rng.below(2)).map(|i| (builder.lock(&format!("l{i}")), None)).collect();
    let events = (0..2).map(|i| builder.event(&format!("e{i}"))).collect();
    let channels = (0..2).map(|_| builder.channel()).collect();
    let places = (0..2).map(|i| builder.location(&format!("x{i}"), "x")).collect();
    let shape = Shape {
        begin: 20 + rng.below(60),
        unordered: [0, 0, 30][rng.below(3) as usize],
        broken: [0, 0, 5][rng.below(3) as usize],
        sites: rng.coin(),
    };
    let mut generator = Generator {
        rng,
        shape,
        builder,
        threads,
        loopers,
        environment,
        locks,
        events,
        channels,
        places,
        queued: vec![],
        running: vec![],
        time: 1,
    };
    let ops = 10 + generator.rng.below(most - 10);
    let mut tries = 0;
    while generator.builder.len() < ops as usize && tries < 20 * ops {
        generator.step();
        tries += 1;
    }
    generator.builder.finish()
}

impl Generator<'_> {
    // The builder refuses operations that are not possible; they are not retried.
    fn push(&mut self, thread: ThreadNo, action: Action) -> bool {
        let site = match action.access() {
            Some(_) if self.shape.sites => self.builder.site(["a", "b", "c"][self.rng.below(3) as usize]),
            _ => SiteNo::NONE,
        };
        self.builder.push(thread, action, site, 0).is_ok()
    }

    fn step(&mut self) {
        self.time += i64::from(self.rng.below(3));
        if self.rng.chance(4) {
            self.post(self.environment);
            return;
        }
        let thread = self.rng.pick(&self.threads);
        if self.loopers.contains(&thread) && self.rng.chance(self.shape.begin) && self.turn(thread) {
            return;
        }
        match self.rng.below(24) {
            0 => self.push(thread, Action::ThreadInit),
            1 if self.rng.chance(10) => self.push(thread, Action::ThreadExit),
            2 | 3 => {
                let child = self.rng.pick(&self.threads);
                child != thread && self.push(thread, Action::Fork(child))
            }
            4 => {
                let other = self.rng.pick(&self.threads);
                other != thread && self.push(thread, Action::Join(other))
            }
            5..=10 => {
                self.post(thread);
                true
            }
            11..=14 => self.lock(thread),
            15 => {
                let event = self.rng.pick(&self.events);
                self.push(thread, Action::Enable(event))
            }
            16 => {
                let channel = self.rng.pick(&self.channels);
                self.push(thread, Action::Send(channel))
            }
            17 => {
                let channel = self.rng.pick(&self.channels);
                self.push(thread, Action::Receive(channel))
            }
            n => {
                let place = self.rng.pick(&self.places);
                self.push(thread, if n % 2 == 0 { Action::Read(place) } else { Action::Write(place) })
            }
        };
    }

    // Performs the next operation of a looper: it attaches, loops, begins a task or ends one.
    fn turn(&mut self, looper: ThreadNo) -> bool {
        if self.push(looper, Action::AttachQueue) || self.push(looper, Action::Loop) {
            return true;
        }
        if let Some(at) = self.running.iter().position(|task| self.builder.running(looper) == Some(*task)) {
            let task = self.running.remove(at);
            return self.push(looper, Action::End(task));
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
        self.running.push(task);
        true
    }

    fn post(&mut self, thread: ThreadNo) {
        let looper = self.rng.pick(&self.loopers);
        let time = match self.rng.below(8) {
            0 => PostTime::Front,
            1 => PostTime::After(5),
            2 => PostTime::After(10),
            3 if self.rng.chance(30) => PostTime::At(20),
            4 if thread == looper && self.builder.running(looper).is_some() => PostTime::Micro,
            5 if self.rng.chance(30) => PostTime::Idle { keep: false },
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

    fn lock(&mut self, thread: ThreadNo) -> bool {
        let at = self.rng.below(self.locks.len() as u32) as usize;
        let (lock, holder) = self.locks[at];
        match holder {
            Some(holder) if holder == thread => {
                self.locks[at].1 = None;
                self.push(thread, Action::Release(lock))
            }
            Some(_) if !self.rng.chance(self.shape.broken) => false,
            _ => {
                self.locks[at].1 = Some(thread);
                self.push(thread, Action::Acquire(lock))
            }
        }
    }
}
