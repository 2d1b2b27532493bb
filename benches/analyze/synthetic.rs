//! Generates synthetic traces with the statistics of DroidRacer's table 2. The apps' own traces are not public, but
//! their numbers of operations are.
//!
//! A shape fixes the numbers of operations, fields, threads, loopers and tasks. Everything else is the same for all
//! shapes and follows the logs that are public:
//!
//! - Of a thousand operations, some 940 are accesses. They come in runs of 25 on average, and a quarter of the runs is
//!   in a critical section.
//! - There is one location for each seven operations. A thread accesses 16 fields of one of its objects for a few runs,
//!   and one access in 50 is to a field that all threads share.
//! - A fifth of the tasks are events that earlier tasks have enabled, a fifth are posted by another thread, and a tenth
//!   are delayed.
//! - Threads without a queue are forked by a task and end; `joined` per mille of them are joined.

use raceflip::base::Rng;
use raceflip::event::PostTime;
use raceflip::trace::{Action, Builder, EventNo, LocationNo, LockNo, SiteNo, TaskNo, ThreadNo, Trace};
use std::collections::VecDeque;

/// Size and statistics of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) operations: usize,
    pub(crate) fields: u32,
    pub(crate) threads: u32,
    pub(crate) loopers: u32,
    pub(crate) tasks: u32,
    /// Share of threads that are joined, per mille.
    pub(crate) joined: u32,
    /// Shares of tasks that are events, that another thread posts, and that are delayed, per mille. Tasks of the first
    /// looper post the others. These three kinds produce tasks without an order.
    pub(crate) loose: [u32; 3],
}

/// Shares as in the public logs.
pub(crate) const LOOSE: [u32; 3] = [200, 200, 100];

const fn app(name: &'static str, operations: usize, [fields, threads, loopers, tasks]: [u32; 4]) -> Shape {
    Shape { name, operations, fields, threads, loopers, tasks, joined: 300, loose: LOOSE }
}

/// Shapes of the apps in DroidRacer's table 2.
pub(crate) const APPS: [Shape; 15] = [
    app("Aard Dictionary", 1_355, [189, 2, 1, 58]),
    app("Music Player", 5_532, [521, 3, 2, 62]),
    app("My Tracks", 7_305, [573, 11, 7, 164]),
    app("Messenger", 10_106, [845, 11, 4, 99]),
    app("Tomdroid Notes", 10_120, [413, 3, 1, 348]),
    app("FBReader", 10_723, [322, 14, 1, 119]),
    app("Browser", 19_062, [963, 13, 4, 103]),
    app("OpenSudoku", 24_901, [334, 5, 1, 45]),
    app("K-9 Mail", 29_662, [1_296, 7, 2, 689]),
    app("SGTPuzzles", 38_864, [566, 4, 1, 80]),
    app("Remind Me", 10_348, [348, 3, 1, 176]),
    app("Twitter", 16_975, [1_362, 21, 5, 97]),
    app("Adobe Reader", 33_866, [1_267, 17, 4, 226]),
    app("Facebook", 52_146, [801, 16, 3, 16]),
    app("Flipkart", 157_539, [2_065, 36, 3, 105]),
];

/// Shapes of the apps in CAFA's table 1, of which the numbers of events are known: traces of 10 to 30 seconds.
/// Everything else is as in the apps above, with as many operations for an event as K-9 Mail has.
pub(crate) const CAFA_APPS: [Shape; 10] = [
    cafa_app("ConnectBot", 3_058),
    cafa_app("MyTracks", 6_628),
    cafa_app("ZXing", 4_554),
    cafa_app("ToDoList", 7_122),
    cafa_app("Browser", 3_965),
    cafa_app("Firefox", 5_467),
    cafa_app("VLC", 2_805),
    cafa_app("FBReader", 3_528),
    cafa_app("Camera", 7_287),
    cafa_app("Music", 6_684),
];

const fn cafa_app(name: &'static str, events: u32) -> Shape {
    app(name, 43 * events as usize, [1_296, 7, 2, events])
}

/// Returns the seconds that DroidRacer took for the races of an app, where its own record of the run is public
/// (`pldi-race.log`).
pub(crate) fn published_seconds(app: &str) -> Option<u32> {
    let known = [
        ("Flipkart", 1_460),
        ("OpenSudoku", 18_093),
        ("K-9 Mail", 3_358),
        ("Remind Me", 66),
        ("Twitter", 945),
        ("Adobe Reader", 1_151),
    ];
    known.iter().find(|(name, _)| *name == app).map(|(_, seconds)| *seconds)
}

struct Maker<'s> {
    shape: &'s Shape,
    rng: Rng,
    builder: Builder,
    environment: ThreadNo,
    loopers: Vec<ThreadNo>,
    workers: Vec<ThreadNo>,
    forked: usize,
    alive: Vec<ThreadNo>,
    ended: Vec<ThreadNo>,
    queues: Vec<VecDeque<TaskNo>>,
    running: Vec<Option<TaskNo>>,
    posted: u32,
    batch: u32,
    enabled: VecDeque<EventNo>,
    locks: Vec<LockNo>,
    places: Vec<LocationNo>,
}

/// Generates the trace of a shape and a seed.
pub(crate) fn trace(shape: &Shape, seed: u64) -> Trace {
    let mut builder = Builder::new();
    let environment = builder.environment("environment");
    let loopers: Vec<ThreadNo> = (0..shape.loopers).map(|i| builder.thread(&format!("looper {i}"))).collect();
    let workers = (0..shape.threads).map(|i| builder.thread(&format!("worker {i}"))).collect();
    let locks = (0..8).map(|i| builder.lock(&format!("lock {i}"))).collect();
    let place =
        |i| (format!("object {}, field {}", i / shape.fields, i % shape.fields), format!("field {}", i % shape.fields));
    let places =
        (0..(shape.operations / 7) as u32).map(place).map(|(name, field)| builder.location(&name, &field)).collect();
    let (queues, running) = (vec![VecDeque::new(); loopers.len()], vec![None; loopers.len()]);
    let rng = Rng::seeded(seed);
    let mut maker = Maker {
        shape,
        rng,
        builder,
        environment,
        loopers,
        workers,
        forked: 0,
        alive: Vec::new(),
        ended: Vec::new(),
        queues,
        running,
        posted: 0,
        batch: 0,
        enabled: VecDeque::new(),
        locks,
        places,
    };
    maker.start();
    while maker.builder.len() < shape.operations {
        maker.step();
    }
    maker.builder.finish()
}

impl Maker<'_> {
    fn push(&mut self, thread: ThreadNo, action: Action) {
        let site = match action {
            Action::Read(at) | Action::Write(at) => self.site(at, matches!(action, Action::Write(_))),
            _ => SiteNo::NONE,
        };
        self.builder.push(thread, action, site, 0).expect("the maker keeps to the rules");
    }

    // Returns one of a few statements that read or write a field.
    fn site(&mut self, at: LocationNo, writes: bool) -> SiteNo {
        SiteNo(at.0 % self.shape.fields * 6 + self.rng.below(3) * 2 + u32::from(writes))
    }

    fn start(&mut self) {
        for site in 0..self.shape.fields * 6 {
            self.builder.site(&format!("statement {site}"));
        }
        for (i, looper) in self.loopers.clone().into_iter().enumerate() {
            if i > 0 {
                self.push(self.loopers[0], Action::Fork(looper));
            }
            self.push(looper, Action::AttachQueue);
            if i > 0 {
                self.push(looper, Action::Loop);
            }
        }
        self.push(self.loopers[0], Action::Loop);
    }

    fn step(&mut self) {
        // The probabilities depend on the steps that are left and on the tasks and threads that still have to come.
        let left = (self.shape.operations - self.builder.len()).max(1) as u32;
        let tasks = self.shape.tasks - self.posted.min(self.shape.tasks);
        let waiting: usize = self.queues.iter().map(VecDeque::len).sum();
        match self.rng.below(left.div_ceil(25)) {
            n if n < tasks => self.post(),
            n if n < 2 * tasks + waiting as u32 => self.turn(),
            n if n < 2 * tasks + waiting as u32 + (self.workers.len() - self.forked) as u32 => self.fork(),
            _ => self.work(),
        }
    }

    // Returns a random thread that can act: a looper in a task, or a worker.
    fn somebody(&mut self) -> Option<ThreadNo> {
        let busy: Vec<ThreadNo> =
            (0..self.loopers.len()).filter(|i| self.running[*i].is_some()).map(|i| self.loopers[i]).collect();
        let all = busy.len() + self.alive.len();
        if all == 0 {
            return None;
        }
        let at = self.rng.below(all as u32) as usize;
        Some(*busy.get(at).unwrap_or_else(|| &self.alive[at - busy.len()]))
    }

    fn post(&mut self) {
        let at = self.rng.below(self.loopers.len() as u32) as usize;
        let [events, crossed, delayed] = self.shape.loose;
        let poster = match self.rng.below(1000) {
            n if n < events => None,
            n if n < events + crossed && !self.alive.is_empty() => {
                Some(self.alive[self.rng.below(self.alive.len() as u32) as usize])
            }
            _ => self.running[0].map(|_| self.loopers[0]),
        };
        if poster.is_none() && self.enabled.is_empty() && self.running[0].is_some() {
            // Events are enabled by earlier tasks, as callbacks are in Android.
            for _ in 0..1 + self.rng.below(4) {
                let event = self.builder.new_event("event");
                self.push(self.loopers[0], Action::Enable(event));
                self.enabled.push_back(event);
            }
            return;
        }
        let time = if self.rng.below(1000) < delayed {
            PostTime::After(10 * i64::from(1 + self.rng.below(4)))
        } else {
            PostTime::Now
        };
        self.posted += 1;
        let task = self.builder.task(&format!("task {}", self.posted), self.loopers[at], time, false);
        if let (None, Some(event)) = (poster, self.enabled.pop_front()) {
            self.builder.handles(task, event);
        }
        self.push(poster.unwrap_or(self.environment), Action::Post(task));
        self.queues[at].push_back(task);
        self.turn();
    }

    // A looper ends its task and begins the next one in its queue.
    fn turn(&mut self) {
        let at = self.rng.below(self.loopers.len() as u32) as usize;
        if let Some(task) = self.running[at].take() {
            self.push(self.loopers[at], Action::End(task));
        }
        if let Some(task) = self.queues[at].pop_front() {
            self.push(self.loopers[at], Action::Begin(task));
            self.running[at] = Some(task);
        }
    }

    fn fork(&mut self) {
        self.busy();
        let parent = self.loopers[0];
        let worker = self.workers[self.forked];
        self.forked += 1;
        self.push(parent, Action::Fork(worker));
        self.push(worker, Action::ThreadInit);
        self.alive.push(worker);
        // At most eight workers are alive at a time.
        if self.alive.len() > 8 {
            let first = self.alive.remove(0);
            self.push(first, Action::ThreadExit);
            if self.rng.below(1000) < self.shape.joined {
                self.push(parent, Action::Join(first));
            }
            self.ended.push(first);
        }
    }

    // Adds a run of accesses, sometimes in a critical section.
    fn work(&mut self) {
        self.busy();
        let Some(thread) = self.somebody() else { return };
        let lock = (self.rng.below(4) == 0).then(|| self.locks[self.rng.below(self.locks.len() as u32) as usize]);
        lock.into_iter().for_each(|lock| self.push(thread, Action::Acquire(lock)));
        let part = (self.places.len() as u32 / 8).max(1);
        let object = self.object(thread, part);
        for _ in 0..1 + self.rng.below(50) {
            let shared = self.rng.below(50) == 0;
            let at = if shared { self.rng.below(part) } else { object + self.rng.below(16) };
            let at = self.places[at.min(self.places.len() as u32 - 1) as usize];
            let writes = self.rng.below(10) == 0;
            self.push(thread, if writes { Action::Write(at) } else { Action::Read(at) });
        }
        lock.into_iter().for_each(|lock| self.push(thread, Action::Release(lock)));
    }

    // Returns the first location of the object that a thread accesses now. Each thread has objects of its own and moves
    // from one to the next.
    fn object(&mut self, thread: ThreadNo, part: u32) -> u32 {
        let rest = (self.places.len() as u32).saturating_sub(part);
        let objects = (rest / 16 / 8).max(1);
        self.batch += 1;
        part + (thread.0 % 8 * objects + self.batch / 4 % objects) * 16 % rest.max(1)
    }

    // Makes the first looper run a task: a waiting one, or a new event.
    fn busy(&mut self) {
        if self.running[0].is_some() {
            return;
        }
        if self.queues[0].is_empty() {
            let task = self.builder.task("one more", self.loopers[0], PostTime::Now, false);
            self.push(self.environment, Action::Post(task));
            self.queues[0].push_back(task);
        }
        if let Some(task) = self.queues[0].pop_front() {
            self.push(self.loopers[0], Action::Begin(task));
            self.running[0] = Some(task);
        }
    }
}
