//! Plans the runs of a campaign: the kinds of runs in turn, where a run begins, what it is asked for, and how many runs
//! make a round.

use super::RunBase;
use super::inputs::InputProgram;
use super::names::NameMap;
use super::rare::Beginning;
use super::shown::ReadPair;
use super::state::Learned;
use crate::base::{Rng, mix};
use crate::sched::{Ask, AskedScope};

/// Maximum number of runs of a round.
const LONGEST_ROUND: u64 = 64;

/// Maximum number of runs at the start in which untried pairs come first.
const TOUR: u64 = 100;

/// Runs are planned with a generator of `mix(seed, PLANS + i)`, and performed with the seed `mix(seed, i)`.
const PLANS: u64 = 1 << 40;

/// The input of run i is drawn with a generator of `mix(seed, INPUTS + i)`.
const INPUTS: u64 = 2 << 40;

/// A kind of runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RunKind {
    pub(super) start: RunStart,
    /// The base strategy.
    pub(super) base: RunBase,
}

/// How a run of a kind starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RunStart {
    /// As a run of the base strategy alone.
    Plain,
    /// Asked for a pair.
    Ask,
    /// From a rare state.
    Rare,
}

const fn kind(start: RunStart, base: RunBase) -> RunKind {
    RunKind { start, base }
}

// As long as some possible pair was neither seen nor asked for. Small programs show all they have in the first half,
// which is without PCT. Programs with long threads need the priorities of PCT, which last for a whole run.
const EARLY: [RunKind; 16] = [
    kind(RunStart::Ask, RunBase::Pos),
    kind(RunStart::Ask, RunBase::Random),
    kind(RunStart::Ask, RunBase::Pos),
    kind(RunStart::Plain, RunBase::Random),
    kind(RunStart::Ask, RunBase::Random),
    kind(RunStart::Ask, RunBase::Pos),
    kind(RunStart::Ask, RunBase::Random),
    kind(RunStart::Plain, RunBase::Pos),
    kind(RunStart::Ask, RunBase::Pct),
    kind(RunStart::Ask, RunBase::Pos),
    kind(RunStart::Plain, RunBase::Pct),
    kind(RunStart::Ask, RunBase::Pct),
    kind(RunStart::Ask, RunBase::Pos),
    kind(RunStart::Ask, RunBase::Pct),
    kind(RunStart::Plain, RunBase::Pct),
    kind(RunStart::Ask, RunBase::Pct),
];

// Plain runs never end, so nothing gets much worse than it would be without learning.
const LATE: [RunKind; 12] = [
    kind(RunStart::Plain, RunBase::Pos),
    kind(RunStart::Ask, RunBase::Pct),
    kind(RunStart::Plain, RunBase::Random),
    kind(RunStart::Ask, RunBase::Pos),
    kind(RunStart::Rare, RunBase::Pos),
    kind(RunStart::Rare, RunBase::Random),
    kind(RunStart::Plain, RunBase::Pct),
    kind(RunStart::Ask, RunBase::Pct),
    kind(RunStart::Plain, RunBase::Pos),
    kind(RunStart::Ask, RunBase::Random),
    kind(RunStart::Rare, RunBase::Pos),
    kind(RunStart::Rare, RunBase::Random),
];

/// Largest depth of a run of PCT.
const DEEPEST: u32 = 4;

/// A planned run.
#[derive(Clone, Debug)]
pub(super) struct PlannedRun {
    /// Number of the run, from 1.
    pub(super) number: u64,
    /// Number of the input of the run.
    pub(super) input: usize,
    /// Seed of the run.
    pub(super) seed: u64,
    pub(super) kind: RunKind,
    /// Depth and number of steps of a run of PCT.
    pub(super) shape: Option<(u32, u32)>,
    /// The pair, as all inputs have it, and how the run is asked for it.
    pub(super) ask: Option<(ReadPair, Ask)>,
    /// Where the run begins, if not at the start.
    pub(super) beginning: Option<Beginning>,
}

/// Returns the number of runs of the round after `done` runs: one, then a quarter of what was run.
pub(super) fn round(done: u64) -> u64 {
    (done / 4).clamp(1, LONGEST_ROUND)
}

fn kind_of(learned: &Learned, number: u64) -> RunKind {
    // Nothing is known before the first run, so no pair is untried then.
    let is_early = number <= TOUR && (number <= 2 || learned.pairs.is_any_untried());
    let turn = |kinds: &[RunKind]| kinds[((number - 1) % kinds.len() as u64) as usize];
    if is_early { turn(&EARLY) } else { turn(&LATE) }
}

/// Plans a run of an input, and counts it, what it is asked for and where it begins.
pub(super) fn planned<P>(
    learned: &mut Learned,
    (input, program): (usize, &InputProgram<P>),
    seed: u64,
    number: u64,
) -> PlannedRun {
    let mut rng = Rng::seeded(mix(seed, PLANS + number));
    let state = &mut learned.inputs[input];
    state.runs = state.runs.saturating_add(1);
    let kind = kind_of(learned, number);
    let (mut ask, mut beginning) = (None, None);
    match kind.start {
        RunStart::Plain => {}
        RunStart::Ask => ask = asked(learned, program.names.as_ref(), &mut rng),
        RunStart::Rare => beginning = learned.inputs[input].states.begin(&mut rng),
    }
    let steps = u32::try_from(learned.longest).unwrap_or(u32::MAX).max(1);
    let shape = (kind.base == RunBase::Pct).then(|| (1 + rng.below(DEEPEST), steps));
    PlannedRun { number, input, seed: mix(seed, number), kind, shape, ask, beginning }
}

/// Returns the generator that draws the input of a run.
pub(super) fn input_rng(seed: u64, number: u64) -> Rng {
    Rng::seeded(mix(seed, INPUTS + number))
}

fn asked(learned: &mut Learned, names: Option<&NameMap>, rng: &mut Rng) -> Option<(ReadPair, Ask)> {
    let (pair, known) = learned.pairs.ask(rng, names)?;
    let stays = rng.coin();
    let visits = learned.pairs.most_visits(pair.1);
    let own = |statement| names.map_or(Some(statement), |names| names.own(statement));
    let (writer, reader) = (own(pair.0)?, own(pair.1)?);
    let passes = if known.asked > 0 && visits > 1 && rng.coin() { 1 + rng.below(visits - 1) } else { 0 };
    let ask = Ask {
        writers: vec![writer],
        readers: vec![reader],
        scope: AskedScope::Places(names.map_or_else(|| known.places.clone(), |names| names.own_places(&known.places))),
        stays,
        passes,
        patience: learned.longest.saturating_mul(2).saturating_add(100),
    };
    Some((pair, ask))
}
