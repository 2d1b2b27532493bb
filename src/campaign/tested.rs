//! What a test of a variant does, and what came of it.

use super::Plan;
use super::saved::{Saved, SavedEnd};
use super::truth::Truth;
use crate::event::{LimitKind, Outcome};
use crate::shrink::Size;
use crate::vm::Model;
use std::collections::BTreeMap;

/// What a test of a variant does.
pub struct TestPlan<'p> {
    /// The variant.
    pub model: &'p Model,
    /// Its code, its `-D` values, limits, seed and workers; detection runs and trials of a campaign, if there is one.
    pub campaign: Plan,
    /// Random walks, if the variant cannot be searched.
    pub walks: u32,
    /// How many states are searched at most; 0: none.
    pub states: u64,
    /// Saved runs of this variant.
    pub saved: &'p [Saved],
    /// Whether runs that are shown are shrunk first.
    pub shrinks: bool,
}

impl TestPlan<'_> {
    /// States that are searched by default.
    pub const STATES: u64 = 20_000;
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Tested {
    /// States that it has, if all of them were visited: then lines about ends and orders are judged by these, and no walks were done.
    pub states: Option<u64>,
    /// Random walks that were done.
    pub walks: u32,
    /// Runs of the campaign, detection and trials; `None` without one.
    pub trials: Option<u32>,
    /// The lines that count for this variant, in order.
    pub lines: Vec<Line>,
    /// Walks that a limit cut short.
    pub limits: BTreeMap<(LimitKind, u64), u32>,
    /// What came of the saved runs, in their order.
    pub saved: Vec<SavedEnd>,
    /// Whether all planned runs were done.
    pub complete: bool,
}

/// An `expect` line with its verdict.
#[derive(Clone, Debug)]
pub struct Line {
    /// 1-based.
    pub line: u32,
    /// As the model says it.
    pub text: String,
    /// Whether it holds.
    pub verdict: LineVerdict,
    /// What it would have to say; `None` if it holds.
    pub truth: Option<Truth>,
}

/// Whether a line holds.
#[derive(Clone, Debug)]
pub enum LineVerdict {
    /// It does, as far as the runs tell.
    Met,
    /// It does not: why, the runs that contradict it, and how many more ends do so.
    Unmet(Vec<String>, Vec<Shown>, usize),
    /// Nothing here can tell yet: why.
    Unchecked(&'static str),
    /// It says what must not be, and no run came to its end, so that nothing is known.
    Cut,
}

/// Runs that ended as they must not.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The end in words, with the values that the line names.
    pub text: String,
    /// The outcome of the first of them.
    pub outcome: Outcome,
    /// What makes two ends the same.
    pub signature: String,
    /// How many runs ended so.
    pub runs: u32,
    /// Where the first of them comes from.
    pub origin: Origin,
    /// Its token; if it was shrunk, that of the smaller run.
    pub token: String,
    /// The sizes before and after, if it was.
    pub shrunk: Option<(Size, Size)>,
}

/// Where a run comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It was drawn.
    Drawn {
        /// By which strategy.
        strategy: String,
        /// From which seed.
        seed: u64,
    },
    /// A search found it.
    Searched,
    /// It was made for the saved run of this number in [`TestPlan::saved`].
    Saved(usize),
}

impl Tested {
    /// Whether no line is broken, nor without any run that could have broken it.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.lines.iter().all(|l| !matches!(l.verdict, LineVerdict::Unmet(..) | LineVerdict::Cut))
    }
}
