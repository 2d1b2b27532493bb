//! Performs the runs of a test that are no walks: campaigns as those of `confirm`, and runs that learn from each other,
//! as those of `fuzz`. They find ends that walks seldom have.

use super::ends::named;
use super::saved::{SavedSeed, replay_saved};
use super::test_result::Origin;
use super::variant::{EndGroup, RARE_STEPS, Test};
use crate::campaign::run::{FUZZED, RunSource};
use crate::campaign::runs::trial::Worker;
use crate::campaign::{CampaignContext, CampaignPlan, FuzzPlan, NoProgress, RingReport, confirm, fuzz};
use crate::exec::{EndKind, NoObserver, RunResult};
use crate::token::Token;
use std::collections::BTreeMap;

impl Test<'_> {
    // Performs a campaign: for the lines about pairs, and because directed runs may show ends that no walk does.
    pub(super) fn campaign(&mut self, plan: &CampaignPlan) -> bool {
        let found = confirm(plan, self.context);
        let trials = found.pairs.iter().map(|p| p.trials.count).sum::<u32>();
        let of_rings = found.rings.iter().map(RingReport::trials).sum::<u32>();
        self.count(u64::from(found.phase1.runs) + u64::from(trials) + u64::from(of_rings));
        let of_pairs = found.pairs.iter().flat_map(|p| p.comparison.failures());
        let of_rings = found.rings.iter().flat_map(|ring| &ring.deadlocks);
        for failure in found.phase1.failures.iter().chain(of_pairs).chain(of_rings).chain(&found.unexplained) {
            let end = RunResult { kind: EndKind::of(&failure.outcome), values: BTreeMap::new(), stuck: false };
            let seen = EndGroup {
                outcome: failure.outcome.clone(),
                signature: failure.signature.clone(),
                runs: failure.runs,
                origin: Origin::Drawn { strategy: failure.evidence.strategy.clone(), seed: failure.evidence.seed },
                token: Some(failure.evidence.token.clone()),
            };
            self.merge(end, seen);
        }
        let complete = found.complete();
        self.found = Some(found);
        complete
    }

    // Counts runs.
    fn count(&mut self, runs: u64) {
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        self.trials = Some(self.trials.unwrap_or(0).saturating_add(runs));
    }

    // Performs as many runs as walks, and adds the ends of those that fail and of those that show new pairs of a write
    // and a read. Returns false if they were interrupted.
    pub(super) fn learn(&mut self) -> bool {
        let (plan, stop) = (self.plan, self.context.stop);
        let of_a_walk = self.steps / u64::from(self.walks.max(1)) + 1;
        let runs = u64::from(plan.walks).min(RARE_STEPS / of_a_walk);
        let learning = FuzzPlan { runs, keeps_going: true };
        let found = fuzz(&plan.campaign, &learning, CampaignContext { progress: &NoProgress, ..self.context });
        self.count(found.runs);
        let of = named(&plan.model.program);
        let origin = || Origin::Drawn { strategy: FUZZED.to_owned(), seed: 0 };
        for failure in &found.failures {
            // The campaign has written the token, so it can be read and replayed.
            let Ok(token) = failure.report.evidence.token.parse::<Token>() else { continue };
            let failing = SavedSeed { name: String::new(), token };
            let (_, Some(again)) = replay_saved(plan, &of, &failing, stop) else { continue };
            let (signature, token) = (failure.report.signature.clone(), Some(again.token.to_string()));
            let (outcome, runs) = (again.outcome, failure.report.runs);
            self.merge(again.end, EndGroup { outcome, signature, runs, origin: origin(), token });
        }
        let mut worker = Worker::new(&plan.campaign);
        for covering in found.covering {
            let run = RunSource::Made { choices: covering.choices, by: FUZZED };
            let trial = worker.perform(&run, &mut NoObserver, stop);
            let Some(outcome) = trial.summary.outcome() else { continue };
            let end = RunResult::new(&plan.model.program, &of, outcome, &worker.machine.world);
            let (outcome, signature) = (outcome.clone(), trial.signature.clone());
            let token = Some(worker.token(&run).to_string());
            self.merge(end, EndGroup { outcome, signature, runs: 1, origin: origin(), token });
        }
        found.complete
    }
}
