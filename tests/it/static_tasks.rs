//! Compares the order of tasks, as the printed rules of AndRacer and as `raceflip::statics` claim it, with all runs of
//! random programs.

use crate::static_claims::{MOST_STATES, load, marks, says};
use crate::static_printed::{Reading, printed};
use crate::static_tree::{Random, Step};
use crate::static_truth::order_facts;
use raceflip::statics::{StaticsOptions, analyze};
use std::collections::BTreeSet;
use std::ops::Range;

/// Counts of pairs of tasks over many programs: those with one order in all runs, and what is claimed of pairs.
#[derive(Default, Debug)]
pub(crate) struct TaskTally {
    pub(crate) programs: u64,
    /// Pairs of tasks of which the first is over before the other one begins, in all runs with both, and there is one.
    pub(crate) ordered: u64,
    /// For each reading of the printed rules: right and wrong claims.
    pub(crate) printed: [(Reading, [u64; 2]); 3],
    /// Claims of the analysis: right, wrong, and those of them that the corrected reading has and the analysis lacks.
    pub(crate) ours: [u64; 2],
    pub(crate) lacking: Vec<String>,
    pub(crate) wrong: Vec<String>,
    /// Pairs with one order of which the analysis claims nothing.
    pub(crate) missed: Vec<String>,
}

impl TaskTally {
    pub(crate) fn counts(&self) -> String {
        let printed = self.printed.iter().map(|(reading, [right, wrong])| format!("{reading:?} {right} / {wrong}"));
        format!(
            "{} programs, {} pairs of tasks in order; right / wrong: {}, ours {} / {}; {} of the printed ones lack, {} pairs \
             are missed",
            self.programs,
            self.ordered,
            printed.collect::<Vec<_>>().join(", "),
            self.ours[0],
            self.ours[1],
            self.lacking.len(),
            self.missed.len()
        )
    }
}

/// Returns the right and the wrong claims of a reading of the printed rules.
pub(crate) fn of_printed(all: &TaskTally, of: Reading) -> [u64; 2] {
    all.printed.iter().find(|(reading, _)| *reading == of).map_or([0, 0], |(_, counts)| *counts)
}

/// Counts claims about the order of tasks, by all runs.
pub(crate) fn count_printed(seeds: Range<u64>, make: fn(u64) -> Random) -> TaskTally {
    let none = [Reading::Corrected, Reading::Printed, Reading::Closed].map(|reading| (reading, [0, 0]));
    let mut all = TaskTally { printed: none, ..TaskTally::default() };
    for seed in seeds {
        let program = make(seed);
        let model = load(seed, &program);
        let Some(facts) = order_facts(&model, MOST_STATES) else { continue };
        let sites = marks(&program, &model);
        let ends = |body: usize| {
            let steps = &program.bodies[body].steps;
            let mark = |step: Option<&Step>| match step {
                Some(Step::Mark(mark)) => sites[*mark as usize],
                _ => unreachable!("a task begins and ends with a mark"),
            };
            (mark(steps.first()), mark(steps.last()))
        };
        let runs = |a: usize, c: usize| facts.orders.contains(&(ends(a).1, ends(c).0));
        let denies = |a: usize, c: usize| facts.orders.contains(&(ends(c).0, ends(a).1));
        let tasks = 1..program.bodies.len();
        let pairs: Vec<_> =
            tasks.clone().flat_map(|a| tasks.clone().map(move |c| (a, c))).filter(|(a, c)| a != c).collect();
        let is_ordered = |(a, c): (usize, usize)| runs(a, c) && !denies(a, c);
        all.programs += 1;
        let statics = analyze(&model.program, &StaticsOptions::default());
        let ours: BTreeSet<(usize, usize)> =
            pairs.iter().copied().filter(|(a, c)| statics.past_before(ends(*a).1, ends(*c).0)).collect();
        let text = |what: &str, (a, c): (usize, usize)| says(seed, &model, what, ends(a).1, ends(c).0);
        for pair in &pairs {
            all.ordered += u64::from(is_ordered(*pair));
            if is_ordered(*pair) && !ours.contains(pair) {
                all.missed.push(text("in one order, and not claimed", *pair));
            }
        }
        for (a, c) in ours.iter().filter(|(a, c)| runs(*a, *c) || denies(*a, *c)) {
            all.ours[usize::from(denies(*a, *c))] += 1;
            if denies(*a, *c) {
                all.wrong.push(text("claimed, and the other order happens", (*a, *c)));
            }
        }
        for (reading, counts) in &mut all.printed {
            let Some(claims) = printed(&program, *reading) else { continue };
            for (a, c) in claims.into_iter().filter(|(a, c)| runs(*a, *c) || denies(*a, *c)) {
                counts[usize::from(denies(a, c))] += 1;
                if *reading == Reading::Corrected && !denies(a, c) && !ours.contains(&(a, c)) {
                    all.lacking.push(text("claimed by the printed rules", (a, c)));
                }
            }
        }
    }
    all
}
