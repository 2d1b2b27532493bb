//! Compares the directed scheduler with RaceFuzzer's algorithms 1 and 2, implemented line by line.

use crate::load::{all_models, load};
use raceflip::base::{Rng, mix};
use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, NoProgress, detect};
use raceflip::event::{Actor, Choice, SiteId, ThreadId};
use raceflip::exec::{NoObserver, run};
use raceflip::sched::{Directed, Divergence, Hit, Strategy, View};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, Question};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

/// Algorithm 1 on plain vectors. It differs from the paper only as `docs/decisions.md` says: a removed thread
/// continues, and long waits end.
struct Naive {
    race_set: Vec<SiteId>,
    patience: u64,
    rng: Rng,
    postponed: Vec<(ThreadId, u64)>,
    removed: Vec<ThreadId>,
    executing: VecDeque<ThreadId>,
    reported: Vec<Hit>,
}

fn next_statement(view: &View<'_>, thread: ThreadId) -> Option<SiteId> {
    view.world.thread(thread).site
}

// Algorithm 2 of the paper: returns the postponed threads whose pending access conflicts with that of `thread`.
fn racing(view: &View<'_>, thread: ThreadId, postponed: &[(ThreadId, u64)]) -> Vec<ThreadId> {
    let access = |t: ThreadId| view.world.access(&view.world.thread(t).pending);
    let own = access(thread).expect("a statement of the race set is an access");
    postponed.iter().map(|(t, _)| *t).filter(|t| access(*t).expect("and so is a postponed one").races(&own)).collect()
}

impl Naive {
    fn remove(&mut self, at: usize) {
        let (thread, _) = self.postponed.remove(at);
        self.removed.push(thread);
    }

    fn choose(&mut self, view: &View<'_>) -> Actor {
        let now = view.world.steps();
        if let Some(thread) = self.executing.pop_front() {
            return Actor::Thread(thread);
        }
        let enabled: Vec<Actor> =
            (0..view.openings.total()).map(|k| view.world.open_actor(&view.openings, k)).collect();
        loop {
            // Invariant: each postponed thread is enabled and pending at a statement of the race set, and no two of
            // them race.
            for (thread, _) in &self.postponed {
                assert!(self.race_set.contains(&next_statement(view, *thread).expect("a statement")));
                assert!(racing(view, *thread, &self.postponed).iter().all(|t| t == thread));
                assert!(enabled.contains(&Actor::Thread(*thread)));
            }
            // Section 4: a thread that has waited for too long is removed.
            if let Some(at) = self.postponed.iter().position(|(_, since)| since + self.patience <= now) {
                self.remove(at);
            }
            // Lines 26 and 27.
            let is_postponed = |all: &[(ThreadId, u64)], a: &Actor| all.iter().any(|(t, _)| Actor::Thread(*t) == *a);
            if enabled.iter().all(|a| is_postponed(&self.postponed, a)) {
                let at = self.rng.below(self.postponed.len() as u32) as usize;
                self.remove(at);
            }
            // Line 5.
            let rest: Vec<Actor> = enabled.iter().filter(|a| !is_postponed(&self.postponed, a)).copied().collect();
            let actor = rest[self.rng.below(rest.len() as u32) as usize];
            let Actor::Thread(thread) = actor else { return actor };
            // Line 6.
            let Some(site) = next_statement(view, thread).filter(|s| self.race_set.contains(s)) else { return actor };
            let all = racing(view, thread, &self.postponed);
            if !all.is_empty() {
                // Lines 9 to 18.
                let coin = self.rng.coin();
                for other in &all {
                    let theirs = next_statement(view, *other).expect("a statement");
                    let (first, second) = if coin { (site, theirs) } else { (theirs, site) };
                    if !self.reported.iter().any(|h| h.is_of(first, second)) {
                        let threads = if coin { (thread, *other) } else { (*other, thread) };
                        self.reported.push(Hit { step: now, first, second, threads });
                    }
                }
                if coin {
                    return actor;
                }
                self.postponed.push((thread, now));
                self.postponed.retain(|(t, _)| !all.contains(t));
                self.executing = all.into();
                return Actor::Thread(self.executing.pop_front().expect("R is not empty"));
            }
            if self.removed.contains(&thread) {
                return actor;
            }
            // Line 21.
            self.postponed.push((thread, now));
        }
    }
}

/// Runs both implementations in parallel and asserts that they choose the same.
struct Both {
    fast: Directed,
    naive: Naive,
}

impl Strategy for Both {
    fn begin(&mut self, seed: u64) {
        self.fast.begin(seed);
        let (race_set, patience) = (self.naive.race_set.clone(), self.naive.patience);
        self.naive = naive(race_set, patience, seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let actor = self.fast.choose(view)?;
        assert_eq!(actor, self.naive.choose(view), "at step {}", view.world.steps());
        Ok(actor)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let argument = self.fast.argument(view, actor, question)?;
        let rng = &mut self.naive.rng;
        let drawn = match question {
            Question::Waiter(n) | Question::Instance(n) | Question::Case(n) => u64::from(rng.below(n as u32)),
            Question::Branch => u64::from(rng.coin()),
            Question::Value { values, .. } => u64::from(rng.below(values)),
            Question::Instant => {
                let all = view.world.instants();
                all[rng.below(all.len() as u32) as usize]
            }
        };
        assert_eq!(argument, drawn);
        Ok(argument)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.fast.observe(view, choice);
        self.naive.removed.retain(|t| Actor::Thread(*t) != choice.actor);
    }
}

fn naive(race_set: Vec<SiteId>, patience: u64, seed: u64) -> Naive {
    Naive {
        race_set,
        patience,
        rng: Rng::seeded(seed),
        postponed: vec![],
        removed: vec![],
        executing: VecDeque::new(),
        reported: vec![],
    }
}

/// The directed scheduler makes the same choices and reports the same races as the naive algorithms of the paper.
#[test]
fn it_does_what_the_paper_prints() {
    const SEEDS: u64 = 20;
    let go_on = AtomicBool::new(false);
    let (mut races, mut pairs) = (0, 0);
    for path in all_models() {
        let model = load(&path, &[]);
        let limits = Limits { steps: 2_000, ..Limits::default() };
        let plan = CampaignPlan {
            limits,
            seed: 1,
            jobs: 2,
            detection: DetectionPlan { runs: 10, ..DetectionPlan::default() },
            ..CampaignPlan::new(&model)
        };
        let found = detect(&plan, CampaignContext { stop: &go_on, progress: &NoProgress });
        let mut machine = Machine::new(Vm::new(model.code.clone()), limits);
        for candidate in &found.candidates {
            pairs += 1;
            let race_set = vec![candidate.pair.a, candidate.pair.b];
            // Patience that runs out alternates with patience that does not.
            for seed in 0..SEEDS {
                let patience = if seed % 2 == 0 { 5 } else { 1_000 };
                let fast = Directed::new(race_set.clone(), patience);
                let mut both = Both { fast, naive: naive(race_set.clone(), patience, seed) };
                run(&mut machine, &mut both, mix(3, seed), &mut NoObserver, &go_on);
                assert_eq!(both.fast.races(), both.naive.reported, "{} {race_set:?} {seed}", path.display());
                races += both.naive.reported.len();
            }
        }
    }
    assert!(pairs > 100 && races > 500, "{pairs} pairs, {races} races");
}
