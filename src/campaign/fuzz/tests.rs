//! Tests of what campaigns learn: the choices that are kept lead to the states that they are kept for, and the rarest
//! of the drawn states is taken.

use super::inputs::Programs;
use super::plan::{PlannedRun, RunKind, RunStart, planned};
use super::rare::{Beginning, RareStates};
use super::rounds::Rounds;
use super::search::Campaign;
use super::shown::{Digests, RunWatch, atomic_cells};
use super::state::Learned;
use super::worker::Worker;
use super::{FuzzPlan, RunBase};
use crate::base::Rng;
use crate::campaign::{CampaignContext, CampaignPlan, NoProgress, fuzz};
use crate::exec::run;
use crate::sched::{Prefixed, RandomWalk, RawChoices};
use crate::vm::Model;
use crate::world::Limits;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const TEXT: &str = "atomic n = 0; var x = 0; lock l; looper main; task m() { x = x + n }\n\
     thread a(i in 0..2) { if * { fetch_add(n, 1) } else { x = 2 }; post m() to main; sync l { x += 1 } }";

fn model() -> Model {
    Model::from_text("states.race", TEXT, &[]).unwrap_or_else(|e| panic!("{e}"))
}

// What a campaign of so many runs has learned.
fn learned(plan: &CampaignPlan, runs: u64) -> Learned {
    let mut campaign = Campaign::new(plan, FuzzPlan { runs, keeps_going: true }, None);
    let programs = Programs::new(plan, None);
    let (rounds, mut worker) = (Rounds::new(Learned::new(Vec::new())), Worker::new(&programs));
    campaign.plan_round(&rounds);
    while !rounds.is_over() {
        let perform = |run: &PlannedRun| worker.perform(run, &rounds.learned.read(), &AtomicBool::new(false));
        let made: Vec<_> = rounds.runs().iter().map(perform).collect();
        campaign.end_round(&rounds, made, &mut None, &NoProgress);
    }
    rounds.learned.into_inner()
}

#[test]
fn repeated_choices_lead_to_the_state_that_was_kept() {
    let model = model();
    let plan = CampaignPlan::new(&model);
    let learned = learned(&plan, 200);
    let mut watch = RunWatch::new(atomic_cells(&model.code.setup));
    let mut machine = model.machine(Limits::default());
    let mut checked = 0;
    for (view, digest, Beginning { choices, steps, .. }) in learned.inputs[0].states.all() {
        watch.note_from(steps);
        let mut again = Prefixed::new(choices, steps, Vec::new(), RandomWalk::new());
        let summary = run(&mut machine, &mut again, checked, &mut watch, &AtomicBool::new(false));
        assert!(summary.outcome().is_some(), "{summary:?}");
        let (at, digests): (u64, Digests) = watch.states()[0];
        assert_eq!((at, digests[view]), (steps, digest));
        checked += 1;
    }
    assert!(checked > 200, "{checked}");
    let counts = learned.states;
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
}

#[test]
fn the_rarest_of_the_drawn_states_is_taken() {
    let mut states = RareStates::default();
    let run = Arc::new(RawChoices::default());
    // State i is visited 40 - i times.
    for i in 0..40u64 {
        for visit in 0..40 - i {
            let news = states.news(&[(i, [i, i, i])], [0; 3]);
            states.learn(40 * i + visit, &news, Some(&run), [0; 3]);
        }
    }
    for seed in 0..100 {
        let steps = states.begin(&mut Rng::seeded(seed)).expect("there are states").steps;
        let mut rng = Rng::seeded(seed);
        rng.below(3);
        let drawn: Vec<u64> = (0..32).map(|_| u64::from(rng.below(40))).collect();
        // Every beginning counts as a try, so the rarest one changes; it is among the drawn ones in any case.
        assert!(drawn.contains(&steps));
        if seed == 0 {
            assert_eq!(Some(&steps), drawn.iter().max());
        }
    }
}

#[test]
fn kinds_of_runs_come_in_turn() {
    let model = model();
    let plan = CampaignPlan::new(&model);
    let (mut learned, program) = (learned(&plan, 300), Programs::new(&plan, None).of(0, &[]));
    assert!(!learned.pairs.is_any_untried());
    let kinds: Vec<RunKind> = (301..=312).map(|n| planned(&mut learned, (0, &program), 1, n).kind).collect();
    let starts = |start: RunStart| {
        let mut bases: Vec<RunBase> = kinds.iter().filter(|kind| kind.start == start).map(|kind| kind.base).collect();
        bases.sort();
        bases
    };
    use RunBase::{Pct, Pos, Random};
    assert_eq!(starts(RunStart::Plain), [Random, Pos, Pos, Pct]);
    assert_eq!(starts(RunStart::Ask), [Random, Pos, Pct, Pct]);
    assert_eq!(starts(RunStart::Rare), [Random, Random, Pos, Pos]);
}

#[test]
fn a_stopped_campaign_tells_what_it_knows() {
    let plan = CampaignPlan { jobs: 2, ..CampaignPlan::new(&model()) };
    let context = CampaignContext { stop: &AtomicBool::new(true), progress: &NoProgress };
    let report = fuzz(&plan, &FuzzPlan::default(), context);
    assert_eq!((report.runs, report.complete, report.failures.len()), (0, false, 0));
}
