//! Generates random programs for static executes-before: loopers, tasks with delays, instants and posts to the front,
//! threads, joins, events, flags, semaphores, locks, `try`, cancels, quits, and loops whose end is not known.
//!
//! Each body writes `v` at its begin and at its end; these writes are *marks*. All of them write the same value, so
//! that they make no states.

use crate::static_tree::{
    BodyIndex, Condition, FLAGS, Joined, LOCKS, LOOPERS, Random, RandomBody, Runs, SEMAPHORES, Step, Target, When,
};
use raceflip::base::{Rng, mix};

/// Constructs that a program may have, each with a weight. A program has a few of them, so that they meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feature {
    Delay,
    Front,
    Instant,
    Join,
    Event,
    Flag,
    Semaphore,
    Try,
    Lock,
    Cancel,
    Quit,
    QuitSafely,
    Loop,
    Twice,
    Branch,
    Spawn,
    Again,
    Recur,
    Handler,
}

const FEATURES: [(u32, Feature); 19] = [
    (6, Feature::Delay),
    (6, Feature::Front),
    (2, Feature::Instant),
    (6, Feature::Join),
    (4, Feature::Event),
    (7, Feature::Flag),
    (4, Feature::Semaphore),
    (3, Feature::Try),
    (3, Feature::Lock),
    (6, Feature::Cancel),
    (6, Feature::Quit),
    (4, Feature::QuitSafely),
    (6, Feature::Loop),
    (2, Feature::Twice),
    (7, Feature::Branch),
    (3, Feature::Spawn),
    (3, Feature::Again),
    (2, Feature::Recur),
    (3, Feature::Handler),
];

/// Returns the program of a seed.
pub(crate) fn random(seed: u64) -> Random {
    (0..)
        .map(|round| Generator::new(mix(seed, round)).program())
        .find(|p| p.instances() <= MOST_INSTANCES)
        .expect("one")
}

/// Bound on the threads and tasks of a run.
const MOST_INSTANCES: u64 = 9;

struct Generator {
    rng: Rng,
    features: Vec<Feature>,
    bodies: usize,
    tasks: Vec<BodyIndex>,
    events: Vec<BodyIndex>,
    threads: Vec<BodyIndex>,
    locals: u32,
    marks: u32,
}

/// Where a statement is generated: its body, and the local variables that it sees.
#[derive(Clone)]
struct Place {
    body: BodyIndex,
    runs: Runs,
    depth: u32,
    spawned: Vec<u32>,
    forked: Vec<u32>,
    in_try: bool,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::seeded(seed);
        let count = 2 + rng.below(4);
        let total: u32 = FEATURES.iter().map(|(weight, _)| weight).sum();
        let mut features = Vec::new();
        for _ in 0..count {
            let mut at = rng.below(total);
            let drawn = FEATURES.iter().find(|(weight, _)| {
                let is = at < *weight;
                at = at.saturating_sub(*weight);
                is
            });
            features.extend(drawn.map(|(_, feature)| *feature));
        }
        // A cancel matters most where the end of the task says something: where it waits.
        if features.contains(&Feature::Cancel) {
            features.extend([Feature::Join; 3]);
        }
        // A lock matters most where a flag is set under it.
        if features.contains(&Feature::Lock) {
            features.extend([Feature::Flag; 2]);
        }
        let none = Vec::new;
        Self { rng, features, bodies: 0, tasks: none(), events: none(), threads: none(), locals: 0, marks: 0 }
    }

    fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    fn local(&mut self) -> u32 {
        self.locals += 1;
        self.locals
    }

    fn program(mut self) -> Random {
        let threads = 1 + self.rng.below(2) as usize + usize::from(self.rng.below(4) == 0);
        let tasks = 2 + self.rng.below(3) as usize;
        let events = if self.has(Feature::Event) { 1 + self.rng.below(2) as usize } else { 0 };
        let block = usize::from(self.rng.below(6) == 0);
        let mut heads: Vec<(String, Runs)> = (0..block).map(|_| (LOOPERS[0].to_owned(), Runs::Looper)).collect();
        heads.extend((0..threads).map(|i| (format!("a{i}"), Runs::Thread)));
        // Events come among the tasks.
        let mut kinds: Vec<bool> = (0..tasks + events).map(|i| i < tasks).collect();
        for i in (1..kinds.len()).rev() {
            kinds.swap(i, self.rng.below(i as u32 + 1) as usize);
        }
        for (i, is_task) in kinds.into_iter().enumerate() {
            let looper = usize::from(self.rng.below(4) == 0);
            let initially = u32::from(self.rng.below(4) == 0);
            let runs = if is_task { Runs::Task } else { Runs::Event { looper, initially } };
            heads.push((format!("{}{i}", if is_task { "t" } else { "e" }), runs));
        }
        let of = |is: &dyn Fn(Runs) -> bool| -> Vec<BodyIndex> {
            heads.iter().enumerate().filter(|(_, h)| is(h.1)).map(|(i, _)| i).collect()
        };
        self.tasks = of(&|r| r == Runs::Task);
        self.events = of(&|r| matches!(r, Runs::Event { .. }));
        self.threads = of(&|r| r == Runs::Thread);
        self.bodies = heads.len();
        let mut bodies = Vec::new();
        for (body, (name, runs)) in heads.into_iter().enumerate() {
            let steps = self.body(body, runs);
            bodies.push(RandomBody { name, runs, steps });
        }
        Random { bodies, marks: self.marks, thread_ends: self.rng.below(4) == 0 }
    }

    fn body(&mut self, body: BodyIndex, runs: Runs) -> Vec<Step> {
        let mut place = Place { body, runs, depth: 0, spawned: Vec::new(), forked: Vec::new(), in_try: false };
        let most = match runs {
            Runs::Thread => 4,
            _ if self.rng.coin() => 2,
            _ => 1,
        };
        let least = u32::from(matches!(runs, Runs::Thread | Runs::Looper));
        let mut steps = Vec::new();
        if runs != Runs::Thread || self.rng.coin() {
            steps.push(self.mark());
        }
        let count = least + self.rng.below(most + 1);
        self.extend(&mut steps, count, &mut place);
        if self.has(Feature::Again) && runs == Runs::Task && self.rng.below(3) == 0 {
            steps.push(Step::Again { to: self.target(&place), when: self.when() });
        }
        if self.has(Feature::Recur) && runs == Runs::Task && self.rng.coin() {
            let tasks: Vec<BodyIndex> = self.tasks.iter().copied().filter(|t| *t <= body).collect();
            let task = self.rng.pick(&tasks);
            steps.push(Step::Recur { task, to: self.target(&place), when: self.when() });
        }
        if self.rng.below(4) > 0 {
            steps.push(self.mark());
        }
        steps
    }

    fn mark(&mut self) -> Step {
        self.marks += 1;
        Step::Mark(self.marks - 1)
    }

    fn extend(&mut self, steps: &mut Vec<Step>, count: u32, place: &mut Place) {
        for _ in 0..count {
            let made = self.step(place);
            steps.extend(made);
        }
    }

    // Returns the statements of a block, which sees the local variables of `place` and declares its own.
    fn block(&mut self, place: &Place) -> Vec<Step> {
        let mut inner = Place { depth: place.depth + 1, ..place.clone() };
        let mut steps = Vec::new();
        if self.rng.below(4) == 0 {
            steps.push(self.mark());
        }
        let count = 1 + self.rng.below(2);
        self.extend(&mut steps, count, &mut inner);
        steps
    }

    fn step(&mut self, place: &mut Place) -> Option<Step> {
        if self.rng.below(100) < 45 {
            return self.post(place);
        }
        let feature = self.features[self.rng.below(self.features.len() as u32) as usize];
        let looper = usize::from(self.rng.below(4) == 0);
        let flag = self.rng.below(FLAGS as u32) as usize;
        // Mostly the values that flags do not have at the start.
        let value = self.rng.below(5) > 0;
        let is_deep = place.depth >= 2;
        match feature {
            Feature::Join => self.join(place),
            Feature::Event => {
                let later: Vec<BodyIndex> = self.events.iter().copied().filter(|e| *e > place.body).collect();
                let event = later.get(self.rng.below(later.len().max(1) as u32) as usize)?;
                Some(if self.rng.below(5) == 0 { Step::Disable(*event) } else { Step::Enable(*event) })
            }
            Feature::Flag => Some(match self.rng.below(8) {
                0..=2 => Step::Set(flag, value),
                3 | 4 => Step::Await(flag, value),
                5 if !is_deep => {
                    let condition = Condition::Flag(flag, value);
                    let mut then = self.block(place);
                    // A second read behind the first one is what a guard settles.
                    if self.rng.coin() {
                        then = vec![Step::If(condition, then, Vec::new())];
                    }
                    Step::If(condition, then, Vec::new())
                }
                6 if !is_deep => Step::If(Condition::Flag(flag, !value), vec![Step::Return], Vec::new()),
                5 | 6 => Step::Set(flag, true),
                _ => Step::Assert(flag, value),
            }),
            Feature::Semaphore => {
                let of = self.rng.below(SEMAPHORES as u32) as usize;
                Some(if self.rng.coin() { Step::Up(of) } else { Step::Down(of) })
            }
            Feature::Try if !is_deep => {
                let inner = Place { in_try: true, ..place.clone() };
                let mut body = self.block(&inner);
                if self.rng.coin() {
                    let at = self.rng.below(body.len() as u32 + 1) as usize;
                    let throw = Step::If(Condition::Any, vec![Step::Throw], Vec::new());
                    body.insert(at, throw);
                }
                Some(Step::Try(body, self.block(place)))
            }
            Feature::Try if place.in_try || self.rng.below(4) == 0 => {
                Some(Step::If(Condition::Any, vec![Step::Throw], Vec::new()))
            }
            Feature::Lock if !is_deep => {
                let lock = self.rng.below(LOCKS as u32) as usize;
                // A block with nothing but accesses may be one that protects nothing.
                let mut body = if self.rng.coin() { vec![self.mark()] } else { self.block(place) };
                // What the rest of the block does is past only for those who read the flag under the lock.
                if self.rng.coin() {
                    let step = if self.rng.coin() { Step::Set(flag, true) } else { Step::Await(flag, true) };
                    body.insert(0, step);
                }
                Some(Step::Lock(lock, body))
            }
            Feature::Cancel => {
                let task = self.tasks[self.rng.below(self.tasks.len() as u32) as usize];
                let task = (self.rng.below(6) > 0).then_some(task);
                let by_handler = task.is_none() || self.has(Feature::Handler) && self.rng.coin();
                Some(Step::Cancel { task, looper, by_handler })
            }
            Feature::Quit => Some(Step::Quit { looper, safely: false }),
            Feature::QuitSafely => Some(Step::Quit { looper, safely: self.rng.below(3) > 0 }),
            Feature::Loop if !is_deep => {
                let local = self.local();
                Some(Step::Loop { local, body: self.block(place) })
            }
            Feature::Twice if !is_deep => {
                let local = self.local();
                Some(Step::Twice { local, body: self.block(place) })
            }
            Feature::Branch if !is_deep => {
                let then = self.block(place);
                let other = if self.rng.coin() { self.block(place) } else { Vec::new() };
                Some(Step::If(Condition::Any, then, other))
            }
            Feature::Spawn => {
                let local = self.local();
                place.spawned.push(local);
                Some(Step::Spawn { local })
            }
            _ => self.post(place),
        }
    }

    fn join(&mut self, place: &mut Place) -> Option<Step> {
        match self.rng.below(8) {
            0..=2 => {
                let task = self.later_task(place)?;
                let local = self.local();
                place.forked.push(local);
                Some(Step::Fork { task, local })
            }
            3 | 4 if !place.forked.is_empty() => Some(Step::Join(Joined::Local(self.rng.pick(&place.forked)))),
            7 => Some(Step::Join(Joined::Looper(usize::from(self.rng.coin())))),
            _ => {
                let others: Vec<BodyIndex> = self.threads.iter().copied().filter(|t| *t != place.body).collect();
                (!others.is_empty()).then(|| Step::Join(Joined::Declared(self.rng.pick(&others))))
            }
        }
    }

    fn later_task(&mut self, place: &Place) -> Option<BodyIndex> {
        let later: Vec<BodyIndex> = self.tasks.iter().copied().filter(|t| *t > place.body).collect();
        // Mostly one of the next few, so that chains of posts are long.
        (!later.is_empty()).then(|| {
            let few = if self.rng.below(3) > 0 && place.runs != Runs::Thread { 1 } else { later.len() };
            later[self.rng.below(few as u32) as usize]
        })
    }

    fn post(&mut self, place: &Place) -> Option<Step> {
        let task = self.later_task(place)?;
        let by_handler = self.has(Feature::Handler) && self.rng.below(3) > 0;
        Some(Step::Post { task, to: self.target(place), when: self.when(), by_handler })
    }

    fn target(&mut self, place: &Place) -> Target {
        if !place.spawned.is_empty() && self.rng.coin() {
            return Target::Local(self.rng.pick(&place.spawned));
        }
        Target::Declared(usize::from(self.rng.below(5) == 0))
    }

    fn when(&mut self) -> When {
        if self.has(Feature::Front) && self.rng.below(3) == 0 {
            return When::Front;
        }
        if self.has(Feature::Instant) && self.rng.below(3) == 0 {
            return When::At(self.rng.pick(&[0, 1, 2, 3]));
        }
        When::After(if self.has(Feature::Delay) { self.rng.pick(&[0, 0, 1, 2]) } else { 0 })
    }
}

/// Returns a program of the paper's own language: one initial task, posts, branches, loops, and loopers made on the
/// way. Tasks post only later ones, so that every run ends.
pub(crate) fn of_paper(seed: u64) -> Random {
    of_tasks(seed, &[])
}

/// The same with delays, with posts to the front, with cancels, or with quits.
pub(crate) fn with_delays(seed: u64) -> Random {
    of_tasks(seed, &[Feature::Delay])
}

pub(crate) fn with_fronts(seed: u64) -> Random {
    of_tasks(seed, &[Feature::Front])
}

pub(crate) fn with_cancels(seed: u64) -> Random {
    of_tasks(seed, &[Feature::Cancel])
}

pub(crate) fn with_quits(seed: u64) -> Random {
    of_tasks(seed, &[Feature::Quit])
}

fn of_tasks(seed: u64, more: &[Feature]) -> Random {
    let own = [Feature::Branch, Feature::Loop, Feature::Spawn, Feature::Branch];
    let make = |round| {
        let mut g = Generator::new(mix(seed, round));
        g.features = own.into_iter().chain(more.iter().copied()).collect();
        let tasks = 3 + g.rng.below(4) as usize;
        // Body 0 posts the initial task, which is body 1.
        g.tasks = (1..=tasks).collect();
        let first = Step::Post { task: 1, to: Target::Declared(0), when: When::After(0), by_handler: false };
        let mut bodies = vec![RandomBody { name: "a0".to_owned(), runs: Runs::Thread, steps: vec![first] }];
        for body in 1..=tasks {
            let mut place = Place {
                body,
                runs: if body == 1 { Runs::Thread } else { Runs::Task },
                depth: 0,
                spawned: Vec::new(),
                forked: Vec::new(),
                in_try: false,
            };
            let mut steps = vec![g.mark()];
            let count = if body == 1 { 2 + g.rng.below(2) } else { g.rng.below(3) };
            g.extend(&mut steps, count, &mut place);
            steps.push(g.mark());
            bodies.push(RandomBody { name: format!("t{body}"), runs: Runs::Task, steps });
        }
        Random { bodies, marks: g.marks, thread_ends: false }
    };
    (0..).map(make).find(|p| p.instances() <= MOST_INSTANCES).expect("one")
}
