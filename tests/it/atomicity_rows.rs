//! The figures and benchmarks of Mondal's report as models: each cycle that they show over all their runs. The table of
//! `docs/results/atomicity.md` has the same rows.

use crate::atomicity_models::{Recorder, Systematic, all_runs, load, many_traces_of, one, path_of, traces_of};
use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, NoProgress, detect_violations};
use raceflip::detect::TraceRecorder;
use raceflip::detect::atomicity::{
    AtomicityOptions, Blame, EdgeRules, SeenFinding,
    Specification::{self, Lifecycle, Tree},
    Steps, Transactions, verdicts,
};
use raceflip::exec::run;
use raceflip::trace::{TaskNo, Trace};
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// A cycle: its priority, and the labels of its operations. An operation without a label is what it does.
type Cycle = (u8, &'static [&'static str]);

/// Which runs of a model are looked at.
#[derive(Clone, Copy)]
pub(crate) enum Runs {
    /// All of them, or a thousand random walks if there are more than 10,000.
    All,
    /// All of them, of which there are at most 100,000.
    Each,
    /// So many runs of detection. Some orders are too rare for a thousand random walks.
    Detection(u32),
}

/// What a model shows under one specification.
pub(crate) struct Row {
    /// What the model is in the report.
    pub(crate) of: &'static str,
    /// The numbers of violations in the report, by trees and by life cycles; empty if it gives none.
    pub(crate) report: &'static str,
    pub(crate) model: &'static str,
    pub(crate) defines: &'static [(&'static str, i64)],
    pub(crate) specification: Specification,
    /// The declared transactions that are looked at; empty stands for all.
    pub(crate) declared: &'static str,
    pub(crate) runs: Runs,
    /// The cycles for which it is to blame for certain, sorted. Two may have the same labels.
    pub(crate) cycles: &'static [Cycle],
}

const NO_DEFINES: &[(&str, i64)] = &[];

const fn row(
    of: &'static str,
    report: &'static str,
    model: &'static str,
    (specification, declared): (Specification, &'static str),
    cycles: &'static [Cycle],
) -> Row {
    Row { of, report, model, defines: NO_DEFINES, specification, declared, runs: Runs::All, cycles }
}

const SEAL5: &[Cycle] = &[
    (3, &["fork", "step", "lower", "ask"]),
    (3, &["fork", "step", "write", "read"]),
    (3, &["raise", "lower", "ask"]),
    (3, &["raise", "read", "lower", "ask"]),
    (3, &["raise", "read", "write", "read"]),
    (3, &["write", "lower", "ask"]),
    (3, &["write", "read"]),
];

const SEAL3: &[Cycle] = &[(1, &["x1", "x2", "x3"]), (2, &["y1", "y2", "y3"])];

/// The rows, in the order of the report.
pub(crate) const ROWS: [Row; 17] = [
    Row {
        runs: Runs::Each,
        ..row(
            "figure 1.1",
            "",
            "papers/mondal_fig1_1",
            (Lifecycle, "A"),
            &[(1, &["i3", "i10", "i11", "i15"]), (2, &["i3", "i7", "i14"])],
        )
    },
    Row { runs: Runs::Each, ..row("figure 3.1", "", "components/fig3_1", (Lifecycle, ""), &[(2, &["c", "o", "m"])]) },
    Row { runs: Runs::Each, ..row("figure 3.1", "", "components/fig3_1", (Tree, ""), &[(2, &["c", "o", "m"])]) },
    row(
        "chapter 5, Seal2",
        "0, 7",
        "papers/mondal_ch5",
        (Lifecycle, "LocalService"),
        &[
            (1, &["bind_read", "pause_write", "connected_read"]),
            (1, &["bind_read", "pause_write", "receive_write", "connected_read"]),
            (1, &["bind_read", "receive_write", "connected_read"]),
            (1, &["bind_read", "receive_write", "pause_write", "connected_read"]),
            (1, &["bind_write", "pause_write", "connected_read"]),
            (1, &["bind_write", "pause_write", "receive_write", "connected_read"]),
            (1, &["bind_write", "receive_read", "pause_write", "connected_read"]),
            (1, &["bind_write", "receive_read", "receive_write", "connected_read"]),
            (1, &["bind_write", "receive_write", "connected_read"]),
            (1, &["bind_write", "receive_write", "pause_write", "connected_read"]),
        ],
    ),
    row("chapter 5, Seal2", "0, 7", "papers/mondal_ch5", (Tree, ""), &[]),
    Row {
        runs: Runs::Detection(1_000),
        ..row(
            "chapter 5 with components",
            "",
            "components/mondal_ch5_components",
            (Lifecycle, "LocalService"),
            &[
                (1, &["bind", "read", "receive", "connected"]),
                (1, &["bind", "receive", "connected"]),
                (1, &["read", "receive", "connected"]),
            ],
        )
    },
    row("Seal1", "0, 0", "atomicity/seal1", (Lifecycle, ""), &[]),
    row("Seal1", "0, 0", "atomicity/seal1", (Tree, ""), &[]),
    row("Seal3", "2, 2", "atomicity/seal3", (Lifecycle, ""), SEAL3),
    row("Seal3", "2, 2", "atomicity/seal3", (Tree, ""), SEAL3),
    row(
        "Seal4",
        "0, 3",
        "atomicity/seal4",
        (Lifecycle, ""),
        &[
            (1, &["set", "more", "check"]),
            (1, &["set", "more", "check"]),
            (3, &["enable", "fire", "begin", "more", "check"]),
        ],
    ),
    row("Seal4", "0, 3", "atomicity/seal4", (Tree, ""), &[]),
    Row { defines: &[("FIXED", 1)], ..row("Seal4, repaired", "", "atomicity/seal4", (Lifecycle, ""), &[]) },
    row("Seal5", "1, 1", "atomicity/seal5", (Lifecycle, ""), SEAL5),
    row("Seal5", "1, 1", "atomicity/seal5", (Tree, ""), SEAL5),
    row(
        "Seal6",
        "1, 1",
        "atomicity/seal6",
        (Tree, ""),
        &[
            (1, &["read", "deposit", "read", "write"]),
            (1, &["read", "deposit", "write"]),
            (1, &["read", "deposit", "write"]),
            (1, &["read", "deposit", "write"]),
            (1, &["read", "deposit", "write", "read"]),
        ],
    ),
    row(
        "section 4.4, priority 3",
        "",
        "atomicity/parent",
        (Lifecycle, ""),
        &[(3, &["fork", "step", "x2", "x3"]), (3, &["x1", "x2", "x3"])],
    ),
];

impl Row {
    pub(crate) fn load(&self) -> Model {
        load(&format!("harnesses/{}.race", self.model), self.defines)
    }

    fn findings(&self, model: &Model) -> Vec<SeenFinding> {
        match self.runs {
            Runs::Each => all_runs(&traces_of(model, 100_000), self.specification, EdgeRules::Data),
            Runs::All => all_runs(&many_traces_of(model), self.specification, EdgeRules::Data),
            Runs::Detection(runs) => {
                let usual = CampaignPlan::new(model);
                let detection = DetectionPlan { runs, ..usual.detection.clone() };
                let plan = CampaignPlan { jobs: 2, detection, ..usual };
                let stop = AtomicBool::new(false);
                let context = CampaignContext { stop: &stop, progress: &NoProgress };
                let found = detect_violations(&plan, &[self.specification], AtomicityOptions::default(), context);
                found.specifications.into_iter().flat_map(|of| of.findings).map(|(seen, _)| seen).collect()
            }
        }
    }

    /// Returns the cycles that the model shows, sorted.
    pub(crate) fn found(&self) -> Vec<(u8, Vec<String>)> {
        let model = self.load();
        let mut findings = self.findings(&model);
        findings.retain(|seen| {
            let finding = &seen.finding;
            let is_named = self.declared.is_empty() || finding.declared == self.declared;
            is_named && finding.blame == Blame::Certain && finding.counts()
        });
        let cycles = findings.iter().flat_map(|seen| &seen.finding.cycles);
        let mut all: Vec<_> = cycles.map(|cycle| (cycle.priority, path_of(&model, cycle))).collect();
        all.sort();
        all
    }
}

#[test]
fn each_row_shows_exactly_its_cycles() {
    let mut wrong = Vec::new();
    for row in &ROWS {
        let found = row.found();
        let expected: Vec<(u8, Vec<String>)> =
            row.cycles.iter().map(|(p, path)| (*p, path.iter().map(|of| (*of).to_owned()).collect())).collect();
        if found != expected {
            wrong.push(format!("{} {:?} {:?}: {found:#?}", row.model, row.defines, row.specification));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Figure 3.1: of one instance, what starts it and what leaves it are two trees of tasks, and one life cycle.
#[test]
fn two_trees_are_one_life_cycle() {
    let model = load("harnesses/components/fig3_1.race", &[]);
    let number_of = |trace: &Trace, specification: Specification| {
        let steps = Steps::of(trace);
        let transactions = Transactions::of(&steps, specification);
        let of_steps = |task: TaskNo| {
            let (first, end) = steps.spans[task]?;
            (first.0..end.0).find_map(|at| transactions.of_step(raceflip::detect::atomicity::StepNo(at)))
        };
        let has_begun = |task: &TaskNo| trace.tasks[*task].begin.is_some();
        let of_main = |task: &TaskNo| trace.tasks[*task].name.contains("Main");
        let tasks: Vec<TaskNo> = trace.tasks.ids().filter(|task| has_begun(task) && of_main(task)).collect();
        let all: BTreeSet<_> = tasks.iter().map(|task| of_steps(*task)).collect();
        (tasks.len(), all.len())
    };
    let all: Vec<_> = many_traces_of(&model)
        .iter()
        .map(|trace| (number_of(trace, Tree), number_of(trace, Lifecycle)))
        .filter(|((tasks, _), _)| *tasks == 3)
        .collect();
    assert!(!all.is_empty() && all.iter().all(|(trees, life)| (trees.1, life.1) == (2, 1)), "{all:?}");
}

/// Section 4.5: of the same cycle in each of fifty rounds, one is left.
#[test]
fn fifty_cycles_of_a_loop_are_one_cycle() {
    let text = "
        const ROUNDS = 50
        class Box { var v = 0 }
        var x: Box[ROUNDS]
        init { for i in 0..ROUNDS { x[i] = new Box } }
        thread a { transaction \"loop\" { for i in 0..ROUNDS { @set: x[i].v = 1; @look: let seen = x[i].v } } }
        thread b { for i in 0..ROUNDS { @between: x[i].v = 2 } }";
    let model = Model::from_text("loop.race", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    // In each round the second thread acts between the two accesses of the first one. Each of them takes a box first.
    let mut strategy = Systematic::new([0, 0, 1, 1, 0, 0].repeat(50));
    let mut recorder = Recorder(TraceRecorder::new());
    run(&mut model.machine(Limits::default()), &mut strategy, 0, &mut recorder, &AtomicBool::new(false));
    let trace = recorder.0.finish();
    let steps = Steps::of(&trace);
    let blocks = Transactions::of(&steps, Specification::Blocks);
    let hits = verdicts(&steps, &blocks, EdgeRules::Data, &AtomicBool::new(false)).expect("nothing stops it");
    assert_eq!(hits.certain.len(), 50);
    let found = one(&trace, Specification::Blocks, EdgeRules::Data);
    let cycles: Vec<_> =
        found.findings.iter().flat_map(|finding| &finding.cycles).map(|cycle| path_of(&model, cycle)).collect();
    assert_eq!(cycles, [["set", "between", "look"].map(str::to_owned).to_vec()]);
}
