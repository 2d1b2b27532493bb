//! Mistakes in learning campaigns: the tiers of an asked run, the pairs of a run, the rounds, and the choice of rare
//! states.

use crate::{MISTAKE, fuzz_oracles, model, small};
use raceflip::base::mutant::{Mutant, make};
use raceflip::vm::Model;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

/// Returns whether what learning campaigns do is not what it should be.
fn fuzzing_is_wrong(models: &[(u64, Model)]) -> bool {
    let wrong = |(seed, model): &(u64, Model)| {
        let differs = |jobs| {
            let told = |jobs| format!("{:?}", fuzz_oracles::campaign(model, *seed, jobs, 60));
            told(1) != told(jobs)
        };
        let coverage = || fuzz_oracles::campaign(model, *seed, 1, 60).coverage;
        let turned = |states: [u64; 3]| states[0] > states[1] || states[1] > states[2];
        fuzz_oracles::tiers(model, *seed).is_err()
            || fuzz_oracles::pairs(model, *seed).is_err()
            || differs(2)
            || turned(coverage().states)
            || coverage().pairs.iter().any(|pair| pair.seen + pair.asked == 0)
    };
    // Under the lock each thread reads what it has written itself, which is no pair.
    let own = model("own", OWN);
    let own = fuzz_oracles::campaign(&own, 1, 1, 60).coverage.pairs;
    models.iter().any(wrong)
        || own.iter().filter(|pair| pair.seen == 0).count() != 2
        || fuzz_oracles::runs_to_answers(20) > ANSWERED_WITHIN
}

const OWN: &str = "var x = 0\nlock l\nthread a(i in 0..2) { sync l { @w: x = i; @r: if x == 2 { skip } } }\n";

/// Bound on the mean number of runs to twelve right answers. Unchanged, the mean of these seeds is about 70.
const ANSWERED_WITHIN: f64 = 150.0;

#[test]
fn each_mistake_in_fuzzing_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    let models: Vec<(u64, Model)> = (0..60).map(|seed| (seed, model("small", &small::model(seed)))).collect();
    assert!(!fuzzing_is_wrong(&models));
    for mutant in Mutant::OF_FUZZING {
        make(mutant);
        // A failed assertion also counts as noticing the mistake.
        let noticed = catch_unwind(AssertUnwindSafe(|| fuzzing_is_wrong(&models))).unwrap_or(true);
        make(Mutant::None);
        assert!(noticed, "not noticed: {mutant:?}");
    }
}
