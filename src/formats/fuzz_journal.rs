//! Reads and writes the journal of a learning campaign, `raceflip-fuzz-journal` version 2 (`docs/formats.md`): the
//! state after a whole round, from which `fuzz --resume` goes on.
//!
//! The lines are like those of the other [`journal`](super::journal): a checksum and a JSON object. The first object is
//! the [`FuzzHeader`], the second one the state; a campaign that was killed before it kept a state has none.

use super::journal::{line, object};
use super::limits::LimitedRuns;
use crate::campaign::{
    CampaignPlan, CoveringRun, FuzzMemory, HowMade, InputMemory, KnownFailure, KnownPair, PairMemory, RareState,
    RareView, RunBase, StateMemory,
};
use crate::event::LimitKind;
use crate::sched::RawChoices;
use crate::world::{Statement, TouchedPlace};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Version of the format. It increases when a line changes its meaning.
pub const VERSION: u32 = 2;

const FORMAT: &str = "raceflip-fuzz-journal";

/// The first line of a journal: everything besides the number of runs that determines what the runs are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FuzzHeader {
    pub format: String,
    pub version: u32,
    /// The version of raceflip. Another version may make other runs.
    pub raceflip: String,
    pub program: String,
    pub defines: BTreeMap<String, i64>,
    pub seed: u64,
    /// Constants that are varied: the range of each, without its end.
    #[serde(default)]
    pub vary: BTreeMap<String, (i64, i64)>,
    /// Limits of runs that differ from the defaults, by option.
    pub limits: BTreeMap<String, u64>,
}

impl FuzzHeader {
    /// Returns the header of a campaign that this version of raceflip performs.
    #[must_use]
    pub fn new(plan: &CampaignPlan, varied: &[(String, Range<i64>)]) -> Self {
        Self {
            vary: varied.iter().map(|(name, range)| (name.clone(), (range.start, range.end))).collect(),
            format: FORMAT.to_owned(),
            version: VERSION,
            raceflip: env!("CARGO_PKG_VERSION").to_owned(),
            program: format!("{:016x}", plan.program.digest()),
            defines: plan.program.defines.iter().cloned().collect(),
            seed: plan.seed,
            limits: plan.limits.unusual().map(|(option, value)| (option.to_owned(), value)).collect(),
        }
    }

    /// Returns why a campaign with this header cannot go on from the journal with the header `there`, or `None` if it
    /// can.
    #[must_use]
    pub fn difference(&self, there: &FuzzHeader) -> Option<String> {
        if (there.version, &there.raceflip) != (self.version, &self.raceflip) {
            return Some(format!(
                "it was written by version {} of raceflip, and this is {}",
                there.raceflip, self.raceflip
            ));
        }
        if there.defines != self.defines {
            let text = |defines: &BTreeMap<String, i64>| match defines.is_empty() {
                true => "no -D".to_owned(),
                false => defines.iter().map(|(name, n)| format!("-D {name}={n}")).collect::<Vec<_>>().join(" "),
            };
            return Some(format!("it is with {}, and not with {}", text(&there.defines), text(&self.defines)));
        }
        if there.program != self.program {
            return Some("it is of another model, or the model was edited".to_owned());
        }
        if there.vary != self.vary {
            let text = |vary: &BTreeMap<String, (i64, i64)>| match vary.is_empty() {
                true => "no varied constants".to_owned(),
                false => {
                    vary.iter().map(|(name, (a, b))| format!("--vary {name}={a}..{b}")).collect::<Vec<_>>().join(" ")
                }
            };
            return Some(format!("it is with {}, and not with {}", text(&there.vary), text(&self.vary)));
        }
        if there.seed != self.seed {
            return Some(format!("its seed is {}, and not {}", there.seed, self.seed));
        }
        let options = there.limits.keys().chain(self.limits.keys());
        let differs = options.into_iter().find(|option| there.limits.get(*option) != self.limits.get(*option))?;
        Some(format!("it is with another limit of --{differs}"))
    }

    /// Returns the header as a line of the journal.
    #[must_use]
    pub fn to_line(&self) -> String {
        line(&serde_json::to_string(self).expect("texts and numbers can be written"))
    }
}

// A pair: the numbers of the writer and of the reader.
type PairNumbers = (u32, u32);

#[derive(Serialize, Deserialize)]
struct State {
    runs: u64,
    longest: u64,
    limits: Vec<LimitedRuns>,
    pairs: Vec<PairLine>,
    visits: Vec<u32>,
    last_new: Option<u64>,
    inputs: Vec<InputLine>,
    covering: Vec<(usize, usize, Vec<PairNumbers>)>,
    failures: Vec<FailureLine>,
    began: u64,
    // Choices of the runs that the others refer to by their places in this list.
    choices: Vec<(Vec<u32>, Vec<u64>)>,
}

#[derive(Serialize, Deserialize)]
struct PairLine {
    pair: PairNumbers,
    places: Vec<(u32, u32)>,
    seen: u32,
    asked: u32,
}

#[derive(Serialize, Deserialize)]
struct InputLine {
    values: Vec<i64>,
    runs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    states: [Vec<StateLine>; 3],
    new_coarse: Vec<u64>,
}

// Digest, visits, tries, run, steps.
type StateLine = (u64, u32, u32, usize, u64);

#[derive(Serialize, Deserialize)]
struct FailureLine {
    input: usize,
    run: u64,
    asked: Option<PairNumbers>,
    repeated: Option<u64>,
    base: String,
    runs: u32,
    choices: usize,
}

/// Returns the text of a journal.
#[must_use]
pub fn text(header: &FuzzHeader, memory: &FuzzMemory) -> String {
    let mut runs = RunTable::default();
    let numbers = |pair: (Statement, Statement)| (pair.0.number(), pair.1.number());
    let pair = |(pair, known): &((Statement, Statement), KnownPair)| PairLine {
        pair: numbers(*pair),
        places: known.places.iter().map(|place| place.numbers()).collect(),
        seen: known.seen,
        asked: known.asked,
    };
    let mut view = |view: &RareView| {
        let state = |(digest, state): (&u64, &RareState)| {
            (*digest, state.visits, state.tries, runs.place(&state.run), state.steps)
        };
        view.iter().map(state).collect()
    };
    let mut input = |input: &InputMemory| InputLine {
        values: input.values.clone(),
        runs: input.runs,
        refused: input.refused.clone(),
        states: input.states.views.each_ref().map(&mut view),
        new_coarse: input.states.new_coarse.clone(),
    };
    let inputs = memory.inputs.iter().map(&mut input).collect();
    let covering = memory.covering.iter().map(|run| {
        let shows = run.shows.iter().map(|pair| numbers(*pair)).collect();
        (run.input, runs.place(&run.choices), shows)
    });
    let covering = covering.collect();
    let failures = memory.failures.iter().map(|failure| {
        let (run, HowMade { asked, repeated, base }) = failure.first;
        let base = super::fuzz::base_name(base).to_owned();
        let choices = runs.place(&failure.choices);
        let input = failure.input;
        FailureLine { input, run, asked: asked.map(numbers), repeated, base, runs: failure.runs, choices }
    });
    let failures = failures.collect();
    let state = State {
        runs: memory.runs,
        longest: memory.longest,
        limits: LimitedRuns::all(&memory.limits),
        pairs: memory.pairs.all.iter().map(pair).collect(),
        visits: memory.pairs.visits.clone(),
        last_new: memory.pairs.last_new,
        inputs,
        covering,
        failures,
        began: memory.began,
        choices: runs.choices,
    };
    header.to_line() + &line(&serde_json::to_string(&state).expect("texts and numbers can be written"))
}

/// Reads the journal of a campaign with this header: the state of the campaign, if it has kept one.
///
/// # Errors
///
/// Returns a message with the reason if the file is not a journal, if it is one of another campaign, or if one of its
/// lines is damaged.
pub fn read(bytes: &[u8], header: &FuzzHeader) -> Result<Option<FuzzMemory>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let mut lines = text.lines();
    let there = lines.next().and_then(|line| object(line).ok()).ok_or_else(|| FOREIGN.to_owned())?;
    let there: FuzzHeader = serde_json::from_str(there).map_err(|_| FOREIGN.to_owned())?;
    if there.format != FORMAT {
        return Err(FOREIGN.to_owned());
    }
    if let Some(difference) = header.difference(&there) {
        return Err(format!("{difference}; continue with the original options, or give another name"));
    }
    let damaged = |why: &str| format!("line 2 is damaged: {why}; delete the file and begin again");
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err("line 3 is one too many; delete the file and begin again".to_owned());
    }
    let state = object(line).map_err(|why| damaged(&why))?;
    let state: State = serde_json::from_str(state).map_err(|e| damaged(&e.to_string()))?;
    state.memory().map(Some).ok_or_else(|| damaged("it does not fit the model"))
}

const FOREIGN: &str = "it is not the journal of a learning campaign (`raceflip fuzz --journal`)";

impl State {
    // Returns what the numbers stand for. `None` if one stands for nothing.
    fn memory(self) -> Option<FuzzMemory> {
        let choices = |(actors, arguments)| Arc::new(RawChoices::from_numbers(actors, arguments));
        let runs: Vec<Arc<RawChoices>> = self.choices.into_iter().map(choices).collect();
        let run = |place: usize| runs.get(place).cloned();
        let pair = |(writer, reader): PairNumbers| (Statement::from_number(writer), Statement::from_number(reader));
        let known = |line: PairLine| {
            let places = line.places.iter().map(|(kind, index)| TouchedPlace::from_numbers(*kind, *index));
            let places: Vec<_> = places.collect::<Option<_>>()?;
            Some((pair(line.pair), KnownPair { places: places.into(), seen: line.seen, asked: line.asked }))
        };
        let view = |lines: Vec<StateLine>| {
            let state = |(digest, visits, tries, place, steps): StateLine| {
                Some((digest, RareState { visits, tries, run: run(place)?, steps }))
            };
            lines.into_iter().map(state).collect::<Option<IndexMap<_, _, _>>>()
        };
        let input = |line: InputLine| {
            let [coarse, middle, fine] = line.states.map(view);
            let states = StateMemory { views: [coarse?, middle?, fine?], new_coarse: line.new_coarse };
            Some(InputMemory { values: line.values, runs: line.runs, refused: line.refused, states })
        };
        let covering = |(input, place, shows): (usize, usize, Vec<PairNumbers>)| {
            let shows = shows.into_iter().map(pair).collect();
            Some(CoveringRun { input, choices: run(place)?, shows })
        };
        let failure = |line: FailureLine| {
            let bases = [RunBase::Random, RunBase::Pos, RunBase::Pct, RunBase::Saved];
            let base = bases.into_iter().find(|base| super::fuzz::base_name(*base) == line.base)?;
            let first = (line.run, HowMade { asked: line.asked.map(pair), repeated: line.repeated, base });
            Some(KnownFailure { input: line.input, first, runs: line.runs, choices: run(line.choices)? })
        };
        let limit = |line: LimitedRuns| {
            let kind = LimitKind::ALL.into_iter().find(|kind| kind.option() == line.option)?;
            Some(((kind, line.limit), u64::from(line.runs)))
        };
        Some(FuzzMemory {
            runs: self.runs,
            longest: self.longest,
            limits: self.limits.into_iter().map(limit).collect::<Option<_>>()?,
            pairs: PairMemory {
                all: self.pairs.into_iter().map(known).collect::<Option<_>>()?,
                visits: self.visits,
                last_new: self.last_new,
            },
            inputs: self.inputs.into_iter().map(input).collect::<Option<_>>()?,
            covering: self.covering.into_iter().map(covering).collect::<Option<_>>()?,
            failures: self.failures.into_iter().map(failure).collect::<Option<_>>()?,
            began: self.began,
        })
    }
}

// The choices of runs, each once. Runs are compared by where they are in memory; their places are in the order of their
// first use.
#[derive(Default)]
struct RunTable {
    choices: Vec<(Vec<u32>, Vec<u64>)>,
    places: BTreeMap<*const RawChoices, usize>,
}

impl RunTable {
    fn place(&mut self, run: &Arc<RawChoices>) -> usize {
        let choices = &mut self.choices;
        *self.places.entry(Arc::as_ptr(run)).or_insert_with(|| {
            let (actors, arguments) = run.numbers();
            choices.push((actors.to_vec(), arguments.to_vec()));
            choices.len() - 1
        })
    }
}
