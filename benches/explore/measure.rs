//! Measures time: tools take turns, round by round, and each search is a process of its own. Ratios are taken within a
//! round.
//!
//! A rate is per second of processor time, so it is the rate of a core, and other load of the machine matters less.

use crate::numbers::Spread;
use crate::tools::{self, TOOLS, Tool, Turn};
use crate::workloads::{self, Counts, Memory, Workload};
use crate::{Effort, spin};
use std::collections::BTreeMap;

/// Measurements of one tool with one workload.
pub(crate) struct Cell {
    /// Memory of the last round; it is the same in all rounds.
    pub(crate) memory: Memory,
    // Searches per second, by round.
    rates: Vec<f64>,
}

impl Cell {
    fn of(turns: &[Turn]) -> Self {
        let memory = turns[turns.len() - 1].searched.memory;
        Self { memory, rates: turns.iter().map(|turn| 1.0 / seconds(turn)).collect() }
    }

    /// Returns the rate of something that occurs `of` times in each search, per second.
    pub(crate) fn rate(&self, of: u64) -> Spread {
        Spread::of(self.rates.iter().copied()).times(of as f64)
    }
}

// The shell reports processor time in hundredths of a second. That is too coarse for a small search, for which the wall
// clock is used; other load hardly disturbs such a short time.
fn seconds(turn: &Turn) -> f64 {
    if turn.processor >= 0.1 { turn.processor } else { turn.searched.took.as_secs_f64().max(1e-6) }
}

/// Measurements of one workload.
pub(crate) struct Timed {
    pub(crate) workload: Workload,
    pub(crate) counts: Counts,
    /// Cells by tool, of those that are installed and search this workload.
    pub(crate) cells: BTreeMap<Tool, Cell>,
}

impl Timed {
    pub(crate) fn cell(&self, tool: Tool) -> Option<&Cell> {
        self.cells.get(&tool)
    }

    /// Returns the rate of raceflip divided by that of a tool.
    pub(crate) fn ratio(&self, tool: Tool) -> Option<Spread> {
        let (ours, theirs) = (self.cell(Tool::Raceflip)?, self.cell(tool)?);
        Some(Spread::of(ours.rates.iter().zip(&theirs.rates).map(|(ours, theirs)| ours / theirs)))
    }
}

fn runs(tool: Tool, workload: Workload, with_spin: bool) -> bool {
    match tool {
        Tool::Raceflip | Tool::RaceflipLivelocks => true,
        Tool::Spin | Tool::SpinBreadth => with_spin && workload.promela().is_some(),
        Tool::Stateright => workload.promela().is_some(),
    }
}

/// Searches the small workloads with all tools, and compares the counts.
///
/// # Errors
///
/// Two tools differ, or one fails.
pub(crate) fn compare(with_spin: bool) -> Result<Vec<(Workload, Counts)>, String> {
    workloads::SMALL.into_iter().map(|workload| Ok((workload, compared(workload, with_spin)?))).collect()
}

fn compared(workload: Workload, with_spin: bool) -> Result<Counts, String> {
    make(workload, with_spin)?;
    let mut first = None;
    for tool in TOOLS.into_iter().filter(|tool| runs(*tool, workload, with_spin)) {
        let counts = tools::search(tool, workload, 10_000)?.searched.counts;
        same(workload, *first.get_or_insert(counts), tool, counts)?;
    }
    first.ok_or_else(|| format!("nobody searches through {workload}"))
}

fn make(workload: Workload, with_spin: bool) -> Result<(), String> {
    if with_spin && workload.promela().is_some() {
        spin::build(workload, false)?;
        spin::build(workload, true)?;
    }
    Ok(())
}

fn same(workload: Workload, ours: Counts, tool: Tool, theirs: Counts) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{workload}: {} finds {theirs:?}, raceflip {ours:?}", tool.name()))
}

/// Measures some workloads with all available tools.
///
/// # Errors
///
/// Two tools differ in what they find, or one fails.
pub(crate) fn all(these: &[Workload], effort: Effort, with_spin: bool) -> Result<Vec<Timed>, String> {
    let mut turns: Vec<BTreeMap<Tool, Vec<Turn>>> = these.iter().map(|_| BTreeMap::new()).collect();
    for round in 1..=effort.rounds {
        for (workload, turns) in these.iter().zip(&mut turns) {
            eprintln!("round {round} of {}: {workload}", effort.rounds);
            // The verifiers of the small workloads were built for the comparison.
            if round == 1 && !workloads::SMALL.contains(workload) {
                make(*workload, with_spin)?;
            }
            for tool in TOOLS.into_iter().filter(|tool| runs(*tool, *workload, with_spin)) {
                // raceflip comes first and gives the number of states.
                let ours = turns.get(&Tool::Raceflip).map(|turns| turns[0].searched.counts);
                let turn = tools::search(tool, *workload, ours.map_or(0, |ours| ours.states))?;
                turns.entry(tool).or_default().push(turn);
                same(*workload, ours.unwrap_or(turn.searched.counts), tool, turn.searched.counts)?;
            }
        }
    }
    Ok(these.iter().zip(turns).map(|(workload, turns)| timed(*workload, &turns)).collect())
}

/// States and transitions of a workload: all of them, those that stubborn sets leave, and those up to renamings.
pub(crate) struct LeftOut {
    pub(crate) workload: Workload,
    pub(crate) full: Counts,
    pub(crate) reduced: Counts,
    pub(crate) symmetric: Option<Counts>,
}

/// Searches what was timed once more, with reductions.
///
/// # Errors
///
/// A search fails.
pub(crate) fn left_out<'t>(timed: impl Iterator<Item = &'t Timed>) -> Result<Vec<LeftOut>, String> {
    let one = |timed: &Timed| {
        let (workload, full) = (timed.workload, timed.counts);
        eprintln!("reduced: {workload}");
        let (reduced, symmetric) = (crate::ours::reduced(workload)?, crate::ours::symmetric(workload)?);
        Ok(LeftOut { workload, full, reduced, symmetric })
    };
    timed.map(one).collect()
}

fn timed(workload: Workload, turns: &BTreeMap<Tool, Vec<Turn>>) -> Timed {
    Timed {
        workload,
        counts: turns[&Tool::Raceflip][0].searched.counts,
        cells: turns.iter().map(|(tool, turns)| (*tool, Cell::of(turns))).collect(),
    }
}
