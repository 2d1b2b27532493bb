//! The workloads in raceflip: models of `benches/models` and the harness of figure 2, under random walks whose
//! choices are recorded, without an observer of events, on one machine for all runs.

use crate::workloads::Workload;
use raceflip::event::Outcome;
use raceflip::exec::run;
use raceflip::sched::{ChoiceLog, RandomWalk};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine};
use std::sync::atomic::AtomicBool;

/// A compiled workload and its machine.
pub(crate) struct Ours {
    workload: Workload,
    machine: Machine<Vm>,
    strategy: RandomWalk,
    choices: ChoiceLog,
    never: AtomicBool,
    // Seed of the next run.
    seed: u64,
    /// Number of steps of all runs; each step is a scheduling point.
    pub(crate) points: u64,
}

impl Ours {
    /// Compiles the workload.
    pub(crate) fn new(workload: Workload) -> Self {
        let (text, defines) = model(workload);
        let model = Model::from_text(&workload.to_string(), text, &defines).unwrap_or_else(|e| panic!("{e}"));
        Self {
            workload,
            machine: model.machine(Limits { steps: u64::MAX, ..Limits::default() }),
            strategy: RandomWalk::new(),
            choices: ChoiceLog::new(),
            never: AtomicBool::new(false),
            seed: 0,
            points: 0,
        }
    }

    /// Performs `runs` runs.
    pub(crate) fn batch(&mut self, runs: u64) {
        for _ in 0..runs {
            self.one();
        }
    }

    /// Performs a run, and returns whether it ended well. Only figure 2 may fail.
    #[inline]
    pub(crate) fn one(&mut self) -> bool {
        let summary = run(&mut self.machine, &mut self.strategy, self.seed, &mut self.choices, &self.never);
        self.seed += 1;
        self.points += summary.steps;
        let ended_well = matches!(summary.outcome(), Some(Outcome::Ok));
        match self.workload {
            Workload::Figure2 { .. } => {}
            _ if !ended_well => panic!("{} ended so: {:?}", self.workload, summary.end),
            // The first cell of these models counts iterations.
            Workload::Counter => assert!(matches!(self.counted(), 1 | 2)),
            _ => assert_eq!(self.counted(), self.workload.iterations() as i64),
        }
        ended_well
    }

    fn counted(&self) -> i64 {
        self.machine.world.memory().cell(0)
    }
}

fn model(workload: Workload) -> (&'static str, Vec<(String, i64)>) {
    let (text, defines): (_, &[(&str, u64)]) = match workload {
        Workload::Counter => (include_str!("../models/counter.race"), &[]),
        Workload::Lock { threads, iterations } => {
            (include_str!("../models/lock.race"), &[("THREADS", threads), ("ITERATIONS", iterations)])
        }
        Workload::Figure2 { k } => (include_str!("../../harnesses/papers/racefuzzer_fig2.race"), &[("K", k)]),
        Workload::Looper { tasks } => (include_str!("../models/looper.race"), &[("POSTS", tasks / 2)]),
    };
    (text, defines.iter().map(|(name, value)| ((*name).to_owned(), *value as i64)).collect())
}
