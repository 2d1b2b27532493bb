//! Goals of several operations that violate a transaction: how often directed runs meet them. The goals are those that
//! the analysis derives from a run that has the transaction in one piece.

use crate::atomicity_models::{Recorder, load, one};
use crate::support::read;
use raceflip::base::mix;
use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, ViolationVerdict, confirm_violations, holds};
use raceflip::detect::TraceRecorder;
use raceflip::detect::atomicity::{
    AtomicityOptions, EdgeRules,
    Specification::{self, Blocks, Lifecycle, Tree},
    StepNo, Steps, Transactions, candidates,
};
use raceflip::exec::run;
use raceflip::sched::{RandomWalk, Strategy, StrategySpec};
use raceflip::trace::Trace;
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

/// Number of directed runs of a goal.
pub(crate) const TRIALS: u64 = 100;

/// A transaction that directed runs violate.
pub(crate) struct Goal {
    pub(crate) model: &'static str,
    pub(crate) defines: &'static [(&'static str, i64)],
    pub(crate) specification: Specification,
    pub(crate) declared: &'static str,
}

const fn goal(model: &'static str, specification: Specification, declared: &'static str) -> Goal {
    Goal { model, defines: &[], specification, declared }
}

const fn chain(defines: &'static [(&'static str, i64)]) -> Goal {
    Goal { model: "atomicity/chain", defines, specification: Blocks, declared: "A" }
}

pub(crate) const GOALS: [Goal; 10] = [
    goal("atomicity/block", Blocks, "append"),
    chain(&[("K", 5)]),
    chain(&[("K", 20)]),
    chain(&[("K", 100)]),
    goal("atomicity/seal3", Lifecycle, "MainActivity"),
    goal("atomicity/seal3", Tree, "onResume"),
    goal("atomicity/seal4", Lifecycle, "Counter"),
    goal("atomicity/seal6", Tree, "withdraw"),
    goal("papers/mondal_ch5", Lifecycle, "LocalService"),
    goal("papers/mondal_fig1_1", Lifecycle, "A"),
];

impl Goal {
    pub(crate) fn load(&self) -> Model {
        load(&format!("harnesses/{}.race", self.model), self.defines)
    }

    fn trace(model: &Model, strategy: &mut impl Strategy, seed: u64) -> Trace {
        let mut recorder = Recorder(TraceRecorder::new());
        strategy.begin(seed);
        run(&mut model.machine(Limits::default()), strategy, seed, &mut recorder, &AtomicBool::new(false));
        recorder.0.finish()
    }

    fn is_violated(&self, trace: &Trace) -> bool {
        let found = one(trace, self.specification, EdgeRules::Data);
        found.findings.iter().any(|finding| finding.is_violation_of(Some(self.declared)))
    }

    /// Returns the number of runs under a strategy that violate the transaction.
    pub(crate) fn rate(&self, model: &Model, strategy: &mut impl Strategy) -> usize {
        (0..TRIALS).filter(|i| self.is_violated(&Self::trace(model, strategy, mix(7, *i)))).count()
    }

    pub(crate) fn walks(&self, model: &Model) -> usize {
        self.rate(model, &mut RandomWalk::default())
    }

    /// Returns the goals that the analysis derives from a run with this transaction in one piece, the longest of twenty
    /// such random walks, as strategies, one for each way.
    pub(crate) fn strategies(&self, model: &Model) -> Vec<StrategySpec> {
        let plan = CampaignPlan::new(model);
        let walk = |seed: u64| Self::trace(model, &mut RandomWalk::default(), seed);
        let in_one_piece = |trace: &Trace| {
            let found = one(trace, self.specification, EdgeRules::Data);
            found.declared.contains(self.declared) && !self.is_violated(trace)
        };
        let walks = (1..1_000).map(walk).filter(in_one_piece).take(20);
        let Some(trace) = walks.max_by_key(|trace| trace.ops.len()) else { return Vec::new() };
        let steps = Steps::of(&trace);
        let transactions = Transactions::of(&steps, self.specification);
        let own = |(_, own): &(_, &raceflip::detect::atomicity::Transaction)| own.declared == self.declared;
        let (of, _) = transactions.all.enumerate().find(own).expect("the run has it");
        let site = |at: StepNo| {
            let name = &trace.sites[steps.site_of(at)];
            let (site, _) = model.program.sites.enumerate().find(|(_, site)| site.trace_name() == *name)?;
            Some(plan.site(site).to_string())
        };
        let text = |edges: Vec<(StepNo, StepNo)>| -> Option<String> {
            match edges.as_slice() {
                [(a1, b), (c, a2)] if b == c => Some(format!("hold:{}<{}<{}", site(*a1)?, site(*b)?, site(*a2)?)),
                _ => {
                    let pairs = edges.iter().map(|(x, y)| Some(format!("{}<{}", site(*x)?, site(*y)?)));
                    Some(format!("hold:{}", pairs.collect::<Option<Vec<_>>>()?.join(",")))
                }
            }
        };
        // The first of some runs of detection that shows the way.
        let way = |text: &str, way: u32| {
            (0..20).find_map(|profile| {
                let spec: StrategySpec = format!("{text},way={way},profile={profile}").parse().ok()?;
                let spec = spec.with_holds(|hold| holds(&plan, hold)).ok()?;
                spec.build(&model.program.sites).is_ok().then_some(spec)
            })
        };
        let all = candidates(&steps, &transactions, of, 16, &|_, _| false).into_iter().filter_map(text);
        all.flat_map(|text| (1..=2).filter_map(move |n| way(&text, n)).collect::<Vec<_>>()).collect()
    }

    /// Returns the best goal, and the number of its runs that violate the transaction.
    pub(crate) fn best(&self, model: &Model) -> Option<(String, usize)> {
        let rate = |spec: &StrategySpec| {
            let mut strategy = spec.build(&model.program.sites).ok()?;
            Some((spec.to_string(), self.rate(model, &mut strategy)))
        };
        let mut best: Option<(String, usize)> = None;
        for found in self.strategies(model).iter().filter_map(rate) {
            if best.as_ref().is_none_or(|(_, hits)| found.1 > *hits) {
                best = Some(found);
            }
        }
        best
    }
}

#[test]
fn directed_runs_meet_the_goals() {
    let mut wrong = Vec::new();
    for goal in &GOALS {
        let model = goal.load();
        let (best, walks) = (goal.best(&model), goal.walks(&model));
        if best.as_ref().is_none_or(|(_, hits)| *hits < 95) {
            wrong.push(format!("{} {:?} {}: {best:?}", goal.model, goal.defines, goal.declared));
        }
        if goal.defines == [("K", 100)] && walks > 5 {
            wrong.push(format!("{walks} random walks meet the chain of a hundred steps"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A bug with the block that should be in one piece, and the constant that repairs it; some have no repair.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    pub(crate) model: &'static str,
    pub(crate) repair: Option<&'static str>,
    /// The statements that are declared as a block here, where the model has no block of its own: saved failures of the
    /// model hold its places in the text.
    block: Option<&'static str>,
}

impl Bug {
    /// Returns the model with its block, repaired or not.
    pub(crate) fn load(&self, repaired: bool) -> Model {
        let defines: Vec<(String, i64)> =
            self.repair.iter().filter(|_| repaired).map(|name| ((*name).to_owned(), 1)).collect();
        let mut text = read(self.model);
        if let Some(block) = self.block {
            assert_eq!(text.matches(block).count(), 1, "{}", self.model);
            text = text.replace(block, &format!("transaction \"block\" {{ {block} }}"));
        }
        Model::from_text(self.model, &text, &defines).unwrap_or_else(|e| panic!("{e}"))
    }
}

const ZXING: &str = "\
@A: if open {
        @C: if !open { throw IllegalState, \"camera is not open\" }
    }";

const SERIES_GUIDE: &str = "\
@A: if running {
        skip                        // the call of the job service is on its way
        @C: if !running { throw SecurityException, \"caller no longer running\" }
    }";

const POOL_GUARD: &str = "\
@A: if f != null {
        @C: use f
    }";

const fn bug(name: &'static str, model: &'static str, repair: &'static str, block: Option<&'static str>) -> Bug {
    Bug { name, model, repair: Some(repair), block }
}

pub(crate) const BUGS: [Bug; 6] = [
    bug("AB40", "harnesses/bugs/zxing_preview.race", "FIXED", Some(ZXING)),
    bug("AB17", "harnesses/bugs/seriesguide_job.race", "FIXED", Some(SERIES_GUIDE)),
    Bug { name: "BE03", model: "harnesses/bugs/pool_guard.race", repair: None, block: Some(POOL_GUARD) },
    bug("stringbuffer", "harnesses/sctbench/stringbuffer.race", "OK", None),
    bug("linkedlist", "harnesses/racefuzzer/linkedlist.race", "OK", None),
    bug("account", "harnesses/atomicity/account.race", "FIXED", None),
];

/// Returns the verdicts of a campaign on the blocks of a model.
pub(crate) fn verdicts_on_blocks(model: &Model) -> Vec<ViolationVerdict> {
    let plan = CampaignPlan { jobs: 2, ..CampaignPlan::new(model) };
    let stop = AtomicBool::new(false);
    let context = CampaignContext { stop: &stop, progress: &NoProgress };
    let found = confirm_violations(&plan, &[Blocks], AtomicityOptions::default(), context);
    found.all.iter().map(|of| of.verdict).collect()
}

#[test]
fn blocks_of_real_bugs_are_harmful_until_they_are_repaired() {
    for bug in &BUGS {
        let buggy = verdicts_on_blocks(&bug.load(false));
        assert!(buggy.contains(&ViolationVerdict::Harmful), "{}: {buggy:?}", bug.name);
        if bug.repair.is_some() {
            let repaired = verdicts_on_blocks(&bug.load(true));
            assert!(
                !repaired.is_empty() && !repaired.contains(&ViolationVerdict::Harmful),
                "{}: {repaired:?}",
                bug.name
            );
        }
    }
}

/// SCTBench's account fails by an order of whole sections. No block that it may declare is to blame for that.
#[test]
fn an_order_of_whole_blocks_is_no_harm_of_a_block() {
    let text = read("harnesses/sctbench/account.race");
    let body = "    sync m {\n        if depositDone";
    assert!(text.contains(body));
    let text = text.replace(body, "    transaction \"check\" { sync m {\n        if depositDone");
    let end = "        }\n    }\n}\n\nexpect races 0";
    assert!(text.contains(end));
    let text = text.replace(end, "        }\n    } }\n}\n\nexpect races 0");
    let model = Model::from_text("account.race", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verdicts_on_blocks(&model), [ViolationVerdict::Refuted]);
}
