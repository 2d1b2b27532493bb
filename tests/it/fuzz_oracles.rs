//! Oracles of learning campaigns: the tiers of an asked run, and the pairs that a run shows, each computed again from
//! the list of everything that the run has touched.

use crate::stateless::{choices, next_instants};
use raceflip::base::{Rng, mix};
use raceflip::campaign::{CampaignContext, CampaignPlan, FuzzPlan, FuzzReport, NoProgress, fuzz};
use raceflip::event::{Actor, Choice};
use raceflip::exec::{ChoiceInterest, NoObserver, Observer, run};
use raceflip::sched::{Ask, Asked, AskedBase, AskedScope, Divergence, Pos, RandomWalk, Strategy, View};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, Question, Statement, Touch, TouchContext, World};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// One touch of a run: who touched what.
type Touched = (Statement, TouchContext, Touch);

/// Observer that lists everything that a run touches.
#[derive(Default)]
struct All(Vec<Touched>);

fn add(all: &mut Vec<Touched>, world: &World, actor: Actor) {
    let Some(context) = world.touch_context(actor) else { return };
    world.touches(actor, |touch| all.push((world.statement(actor), context, touch)));
}

impl Observer for All {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::All;

    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        add(&mut self.0, view.world, choice.actor);
    }
}

/// Strategy that asks another one, and checks that it chooses from the highest tier.
struct Checked {
    asked: Asked,
    ask: Ask,
    touched: Vec<Touched>,
    passes: u32,
    avoided: u64,
    is_over: bool,
    /// Number of choices that were checked.
    checked: u64,
    wrong: Option<String>,
}

impl Checked {
    // 3 is the highest tier, as the design numbers them from 1: 3 taken, 2 as it comes, 1 avoided.
    fn tier(&self, world: &World, actor: Actor) -> u8 {
        if actor == Actor::Stop {
            return 1;
        }
        if self.passes > 0 {
            return 2;
        }
        let mut mine = Vec::new();
        add(&mut mine, world, actor);
        let (writer, reader) = (self.ask.writers[0], self.ask.readers[0]);
        let AskedScope::Places(places) = &self.ask.scope else { panic!("places are given") };
        let (mut taken, mut avoided) = (false, false);
        for (statement, context, touch) in mine.iter().filter(|(_, _, touch)| places.contains(&touch.place)) {
            let last = self.touched.iter().rev().find(|(_, _, t)| t.writes && t.place == touch.place);
            let wrote = last.map_or(Statement::FIRST, |last| last.0);
            let is_reader = touch.reads && *statement == reader;
            taken |= is_reader && wrote == writer && last.is_none_or(|last| last.1 != *context);
            avoided |= is_reader && writer != Statement::FIRST && wrote != writer;
            avoided |= touch.writes && *statement != writer && wrote == writer;
        }
        match (taken, avoided) {
            (true, false) => 3,
            (false, true) => 1,
            _ => 2,
        }
    }
}

impl Strategy for Checked {
    fn begin(&mut self, seed: u64) {
        self.asked.begin(seed);
        self.touched.clear();
        (self.passes, self.avoided, self.is_over) = (self.ask.passes, 0, false);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let actor = self.asked.choose(view)?;
        let open = || (0..view.openings.total()).map(|k| view.world.open_actor(&view.openings, k));
        if !self.is_over && view.openings.total() > 1 {
            let tiers: Vec<u8> = open().map(|actor| self.tier(view.world, actor)).collect();
            let best = tiers.iter().copied().max().unwrap_or(2);
            self.checked += 1;
            if self.tier(view.world, actor) != best {
                self.wrong.get_or_insert(format!("step {}: {actor:?} of {tiers:?}", view.world.steps()));
            }
            if best > 1 && tiers.contains(&1) {
                self.avoided += 1;
                self.is_over = self.avoided > self.ask.patience;
            }
        }
        Ok(actor)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.asked.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        let AskedScope::Places(places) = &self.ask.scope else { panic!("places are given") };
        let mut mine = Vec::new();
        add(&mut mine, view.world, choice.actor);
        let reads = |(statement, _, touch): &&Touched| {
            touch.reads && *statement == self.ask.readers[0] && places.contains(&touch.place)
        };
        if mine.iter().any(|touched| reads(&touched)) {
            let comes = mine.iter().filter(reads).any(|(_, context, touch)| {
                let last = self.touched.iter().rev().find(|(_, _, t)| t.writes && t.place == touch.place);
                last.map_or(Statement::FIRST, |last| last.0) == self.ask.writers[0]
                    && last.is_none_or(|last| last.1 != *context)
            });
            if self.passes > 0 {
                self.passes -= 1;
            } else if comes && !self.ask.stays {
                self.is_over = true;
            }
        }
        self.touched.extend(mine);
        self.asked.observe(view, choice);
    }
}

/// Makes some asked runs of a model, and compares each choice with the tiers. Returns the number of choices.
pub(crate) fn tiers(model: &Model, seed: u64) -> Result<u64, String> {
    let mut rng = Rng::seeded(seed);
    let mut machine = model.machine(Limits::default());
    let (mut all, stop) = (All::default(), AtomicBool::new(false));
    run(&mut machine, &mut RandomWalk::new(), seed, &mut all, &stop);
    let mut places: Vec<_> = all.0.iter().map(|touched| touched.2.place).collect();
    places.sort_unstable();
    places.dedup();
    let of = |does: fn(&Touch) -> bool| all.0.iter().filter(move |touched| does(&touched.2)).map(|touched| touched.0);
    let readers: Vec<Statement> = of(|touch| touch.reads).collect();
    let writers: Vec<Statement> = of(|touch| touch.writes).chain([Statement::FIRST]).collect();
    let mut checked = 0;
    for i in 0..8 {
        if readers.is_empty() {
            break;
        }
        let ask = Ask {
            writers: vec![rng.pick(&writers)],
            readers: vec![rng.pick(&readers)],
            scope: AskedScope::Places(places.iter().copied().filter(|_| rng.chance(80)).collect()),
            stays: rng.coin(),
            passes: rng.pick(&[0, 0, 1]),
            patience: rng.pick(&[3, 1_000]),
        };
        let base = if rng.coin() { AskedBase::Pos(Pos::new()) } else { AskedBase::Random(RandomWalk::new()) };
        let asked = Asked::new(base, Some(ask.clone()));
        let (touched, wrong) = (Vec::new(), None);
        let mut strategy = Checked { asked, ask, touched, passes: 0, avoided: 0, is_over: false, checked: 0, wrong };
        run(&mut machine, &mut strategy, mix(seed, i), &mut NoObserver, &stop);
        checked += strategy.checked;
        if let Some(wrong) = strategy.wrong {
            return Err(format!("{wrong}, asked for {:?}", strategy.ask));
        }
    }
    Ok(checked)
}

/// Performs a learning campaign.
pub(crate) fn campaign(model: &Model, seed: u64, jobs: usize, runs: u64) -> FuzzReport {
    let plan = CampaignPlan { seed, jobs, ..CampaignPlan::new(model) };
    let context = CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress };
    fuzz(&plan, &FuzzPlan { runs, keeps_going: true }, context)
}

/// A pair with whether it was seen.
type Seen = (Statement, Statement, bool);

fn told(report: &FuzzReport) -> BTreeSet<Seen> {
    report.coverage.pairs.iter().map(|pair| (pair.writer, pair.reader, pair.seen > 0)).collect()
}

/// Compares the pairs that a campaign of one run tells with their definition. Returns the number of possible pairs.
pub(crate) fn pairs(model: &Model, seed: u64) -> Result<usize, String> {
    // The first run asks for nothing, and its base is partial order sampling.
    let mut all = All::default();
    run(&mut model.machine(Limits::default()), &mut Pos::new(), mix(seed, 1), &mut all, &AtomicBool::new(false));
    let (mut possible, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (i, (reader, context, touch)) in all.0.iter().enumerate().filter(|(_, touched)| touched.2.reads) {
        let writes = |touched: &&Touched| touched.2.writes && touched.2.place == touch.place;
        for (writer, ..) in all.0.iter().filter(writes).filter(|touched| touched.1 != *context) {
            possible.extend([(Statement::FIRST, *reader), (*writer, *reader)]);
        }
        let last = all.0[..i].iter().rev().find(writes);
        if last.is_none_or(|last| last.1 != *context) {
            seen.insert((last.map_or(Statement::FIRST, |last| last.0), *reader));
        }
    }
    let defined: BTreeSet<Seen> = possible.into_iter().map(|pair| (pair.0, pair.1, seen.contains(&pair))).collect();
    let told = told(&campaign(model, seed, 1, 1));
    let differ: Vec<_> = told.symmetric_difference(&defined).collect();
    if differ.is_empty() { Ok(told.len()) } else { Err(format!("{differ:?}")) }
}

/// All runs of a model: the pairs that some run shows, and the possible ones.
#[derive(Default)]
struct AllRuns {
    shown: BTreeSet<(Statement, Statement)>,
    possible: BTreeSet<(Statement, Statement)>,
    touched: Vec<Touched>,
    /// Number of steps that may still be made.
    left: u64,
}

impl AllRuns {
    // Returns whether all runs from here were made within the bound.
    fn go(&mut self, mut machine: Machine<Vm>) -> bool {
        let Ok(choices) = choices(&mut machine, next_instants) else {
            for (reader, context, touch) in self.touched.iter().filter(|touched| touched.2.reads) {
                let foreign = |other: &&Touched| other.2.writes && other.2.place == touch.place && other.1 != *context;
                for writer in self.touched.iter().filter(foreign) {
                    self.possible.extend([(writer.0, *reader), (Statement::FIRST, *reader)]);
                }
            }
            return true;
        };
        for choice in choices {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            let before = self.touched.len();
            add(&mut self.touched, &machine.world, choice.actor);
            for (reader, context, touch) in self.touched[before..].iter().filter(|touched| touched.2.reads) {
                let last = self.touched[..before].iter().rev().find(|t| t.2.writes && t.2.place == touch.place);
                if last.is_none_or(|last| last.1 != *context) {
                    self.shown.insert((last.map_or(Statement::FIRST, |last| last.0), *reader));
                }
            }
            let mut next = machine.clone();
            next.step(choice);
            if !self.go(next) {
                return false;
            }
            self.touched.truncate(before);
        }
        true
    }
}

/// Compares the pairs that a campaign shows with those of all runs of a model. Returns how many of these it shows and
/// how many it only lists, or `None` if the runs are too many.
pub(crate) fn all_pairs(model: &Model, seed: u64) -> Option<Result<(usize, usize), String>> {
    let mut all = AllRuns { left: 3_000, ..AllRuns::default() };
    let mut machine = model.machine(Limits::default());
    machine.start(false);
    if !all.go(machine) {
        return None;
    }
    let told = told(&campaign(model, seed, 1, 20 * all.possible.len() as u64 + 20));
    let (mut shown, mut listed) = (0, 0);
    for (writer, reader) in all.shown.intersection(&all.possible) {
        if told.contains(&(*writer, *reader, true)) {
            shown += 1;
        } else if told.contains(&(*writer, *reader, false)) {
            listed += 1;
        } else {
            return Some(Err(format!("{writer:?} > {reader:?} is not known")));
        }
    }
    Some(Ok((shown, listed)))
}

/// A model that fails after twelve right answers in a row.
pub(crate) const ANSWERS: &str = "var right = 0\nthread a {\n    loop {\n        if * { right += 1 } else { break }\n        if right == 12 { fail \"all right\" }\n    }\n}\n";

/// Returns the mean number of runs until the twelve answers are right, over some seeds.
pub(crate) fn runs_to_answers(seeds: u64) -> f64 {
    let model = Model::from_text("answers.race", ANSWERS, &[]).unwrap_or_else(|e| panic!("{e}"));
    let first = |seed| {
        let plan = CampaignPlan { seed: mix(2026, seed), ..CampaignPlan::new(&model) };
        let context = CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress };
        fuzz(&plan, &FuzzPlan { runs: 20_000, keeps_going: false }, context).runs
    };
    (0..seeds).map(first).sum::<u64>() as f64 / seeds as f64
}
