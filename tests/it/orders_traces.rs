//! Generates small traces of loopers whose queues keep their order, with posts of all kinds, locks, accesses and events
//! of the environment.

use raceflip::base::Rng;
use raceflip::event::PostTime;
use raceflip::trace::{Action, Builder, EventNo, LocationNo, LockNo, SiteNo, TaskNo, ThreadNo, Trace};

struct Maker {
    rng: Rng,
    builder: Builder,
    threads: Vec<ThreadNo>,
    loopers: Vec<ThreadNo>,
    environment: ThreadNo,
    locks: Vec<LockNo>,
    places: Vec<LocationNo>,
    enabled: Vec<EventNo>,
    // Messages that wait, with the key by which their looper takes them.
    queued: Vec<(ThreadNo, (i64, i64), TaskNo)>,
    posted: i64,
}

/// Returns a trace of some 20 to 40 operations.
pub(crate) fn trace(seed: u64) -> Trace {
    let mut rng = Rng::seeded(seed);
    let mut builder = Builder::new();
    let main = builder.thread("main");
    let loopers: Vec<_> = (0..1 + rng.below(2)).map(|i| builder.thread(&format!("looper {i}"))).collect();
    let mut threads: Vec<_> = (0..1 + rng.below(2)).map(|i| builder.thread(&format!("thread {i}"))).collect();
    threads.push(main);
    let environment = builder.environment("environment");
    let locks = (0..1).map(|i| builder.lock(&format!("lock {i}"))).collect();
    let places = (0..2).map(|i| builder.location(&format!("x{i}"), "x")).collect();
    let (enabled, queued) = (Vec::new(), Vec::new());
    let mut maker = Maker { rng, builder, threads, loopers, environment, locks, places, enabled, queued, posted: 0 };
    for looper in maker.loopers.clone() {
        maker.push(looper, Action::AttachQueue);
        maker.push(looper, Action::Loop);
    }
    for _ in 0..8 + maker.rng.below(10) {
        maker.step();
    }
    // Most messages are run.
    for _ in 0..12 {
        let looper = maker.rng.pick(&maker.loopers);
        maker.turn(looper);
    }
    maker.builder.finish()
}

impl Maker {
    fn push(&mut self, thread: ThreadNo, action: Action) {
        // What is not possible is left out.
        let _ = self.builder.push(thread, action, SiteNo::NONE, 0);
    }

    fn step(&mut self) {
        let looper = self.rng.pick(&self.loopers);
        if self.rng.chance(40) {
            return self.turn(looper);
        }
        let thread = if self.rng.chance(40) { looper } else { self.rng.pick(&self.threads) };
        if thread == looper && self.builder.running(looper).is_none() {
            return self.turn(looper);
        }
        match self.rng.below(10) {
            0..=4 => self.post(thread),
            5 => {
                let lock = self.rng.pick(&self.locks);
                self.push(thread, Action::Acquire(lock));
                self.access(thread);
                self.push(thread, Action::Release(lock));
            }
            6 => {
                let event = self.builder.new_event("event");
                self.push(thread, Action::Enable(event));
                self.enabled.push(event);
            }
            7 => self.post(self.environment),
            _ => self.access(thread),
        }
    }

    fn access(&mut self, thread: ThreadNo) {
        let place = self.rng.pick(&self.places);
        let action = if self.rng.chance(60) { Action::Write(place) } else { Action::Read(place) };
        self.push(thread, action);
    }

    fn post(&mut self, thread: ThreadNo) {
        let looper = self.rng.pick(&self.loopers);
        self.posted += 1;
        let (time, key) = match self.rng.below(8) {
            0 | 1 => (PostTime::Front, (-1, -self.posted)),
            2 => (PostTime::After(5), (self.posted + 3, self.posted)),
            3 => (PostTime::After(9), (self.posted + 5, self.posted)),
            4 if thread == looper => (PostTime::Micro, (-2, self.posted)),
            _ => (PostTime::Now, (self.posted, self.posted)),
        };
        let task = self.builder.task(&format!("task {}", self.posted), looper, time, false);
        if thread == self.environment
            && let Some(event) = self.enabled.pop()
        {
            self.builder.handles(task, event);
        }
        self.push(thread, Action::Post(task));
        self.queued.push((looper, key, task));
    }

    // A looper ends its task, or begins its next one, which mostly accesses something.
    fn turn(&mut self, looper: ThreadNo) {
        if let Some(task) = self.builder.running(looper) {
            return self.push(looper, Action::End(task));
        }
        let waiting = self.queued.iter().enumerate().filter(|(_, (of, ..))| *of == looper);
        let Some((at, _)) = waiting.min_by_key(|(_, (_, key, _))| *key) else { return };
        let (_, _, task) = self.queued.remove(at);
        self.push(looper, Action::Begin(task));
        if self.rng.chance(70) {
            self.access(looper);
        }
    }
}
