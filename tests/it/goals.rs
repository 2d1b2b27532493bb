//! Tests of orders of more than two operations, and of operations that are kept out of an order (`hold`).

use crate::cli::call;
use crate::hold::{Seen, experiment, label, of};
use crate::support::read;
use crate::tiny;
use raceflip::base::{Rng, mix};
use raceflip::campaign::{CampaignContext, CampaignPlan, Explore, NoProgress, StatePlan, confirm, holds};
use raceflip::event::{Outcome, SiteId};
use raceflip::exec::{LoopEnd, NoObserver, run};
use raceflip::sched::{NamedStrategy, ReleaseReason, Strategy, StrategySpec};
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

/// Returns the number of runs, out of 200, in which the statements are performed in this order, each once.
fn in_order(model: &Model, strategy: &str, labels: &[&str]) -> usize {
    let plan = CampaignPlan::new(model);
    let spec: StrategySpec = strategy.parse().unwrap();
    let spec = spec.with_holds(|hold| holds(&plan, hold)).unwrap();
    let mut strategy = spec.build(&model.program.sites).unwrap();
    let sites: Vec<SiteId> = labels.iter().map(|of| label(model, of)).collect();
    let mut machine = model.machine(Limits::default());
    let mut is_met = |seed| {
        let mut seen = Seen { of: &sites, seen: Vec::new() };
        strategy.begin(seed);
        run(&mut machine, &mut strategy, seed, &mut seen, &AtomicBool::new(false));
        seen.seen == sites
    };
    (0..200).filter(|i| is_met(mix(1, *i))).count()
}

#[test]
fn a_sequence_of_six_operations_comes_about_in_every_run() {
    let labels = ["x1", "x2", "y1", "y2", "z1", "z2"];
    for k in [5, 20, 100] {
        let model = experiment("hold_chain.race", k);
        assert_eq!(in_order(&model, "hold:@x1<@x2<@y1<@y2<@z1<@z2", &labels), 200, "K = {k}");
        let walks = in_order(&model, "random", &labels);
        assert!(k == 5 || walks < 4, "K = {k}: {walks} random walks");
    }
}

#[test]
fn other_writes_are_kept_out_of_an_order() {
    let model = experiment("hold_between.race", 20);
    let both = ["X", "Y"];
    // The use fails, so that the allocation is the last operation, or is never performed.
    for strategy in ["hold:@X<@Y,without=@make", "hold:@X<@Y,without=@make,guided", "hold:@X<@Y,without=@make,way=1"] {
        let failing = in_order(&model, strategy, &["X", "Y", "make"]) + in_order(&model, strategy, &both);
        assert!(failing >= 200, "{strategy}: {failing} of 200");
    }
    let fails = |strategy: &str| {
        let three = ["X", "make", "Y"];
        200 - in_order(&model, strategy, &three)
    };
    assert!(fails("hold:@X<@Y") < 4);
    // The campaign finds the harm without a search.
    let base = CampaignPlan::new(&model);
    let search = StatePlan { explore: Explore::Off, ..base.search };
    let plan = CampaignPlan { seed: 3, jobs: 2, search, ..base };
    let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    let pair = of(&model, &found);
    let ways: Vec<_> = pair.trials.ways.iter().filter(|way| way.strategy.contains(",without=@make")).collect();
    assert!(!ways.is_empty() && ways.iter().all(|way| way.hits == way.trials), "{ways:?}");
    assert_eq!(pair.hurts().len(), 1, "{:?}", pair.comparison);
}

/// An order of two statements draws the runs that `hold` drew before it knew longer orders: each line of the golden
/// file has a model, the strategy, the seed, and the token of that version.
#[test]
fn an_order_of_two_statements_draws_the_runs_that_it_always_drew() {
    let golden = read("tests/golden/holds.txt");
    let lines: Vec<Vec<&str>> = golden.lines().map(|line| line.split(' ').collect()).collect();
    assert!(lines.len() > 100, "{} lines", lines.len());
    for line in lines {
        let [model, strategy, seed, token] = line[..] else { panic!("{line:?}") };
        let ran = call(&["run", model, "--strategy", strategy, "--seed", seed, "--no-shrink", "--format", "json"]);
        assert!(ran.out.contains(&format!("\"{token}\"")), "{model} {strategy} {seed}: {}{}", ran.out, ran.err);
    }
}

/// A ring of acquisitions: each thread has its first lock before its neighbour asks for it. So no run ends.
#[test]
fn orders_of_several_pairs_bring_a_deadlock_about() {
    for n in [2, 3, 5] {
        let mut text = String::from("app \"ring\"\n");
        let mut orders = Vec::new();
        for i in 0..n {
            let next = (i + 1) % n;
            text +=
                &format!("lock l{i}\nthread t{i} {{ for j in 0..20 {{ skip }}; @first{i}: acquire l{i}; skip; skip; ");
            text += &format!("@second{i}: acquire l{next}; release l{next}; release l{i} }}\n");
            orders.push(format!("@first{next}.acquire<@second{i}.acquire"));
        }
        let model = Model::from_text("ring.race", &text, &[]).unwrap();
        let deadlocks = |strategy: &str| {
            // The run that shows the ways must not be one of those that deadlock, as the round robin is.
            let built = (0..64).find_map(|profile| {
                let profiled =
                    if strategy == "random" { strategy.to_owned() } else { format!("{strategy},profile={profile}") };
                let spec: StrategySpec = profiled.parse().unwrap();
                let spec = spec.with_holds(|hold| holds(&CampaignPlan::new(&model), hold)).unwrap();
                spec.build(&model.program.sites).ok()
            });
            let mut strategy = built.expect("a run without a deadlock");
            let mut machine = model.machine(Limits::default());
            let mut is_one = |seed| {
                strategy.begin(seed);
                let summary = run(&mut machine, &mut strategy, seed, &mut NoObserver, &AtomicBool::new(false));
                matches!(summary.end, LoopEnd::Outcome(Outcome::Deadlock(_)))
            };
            (0..200).filter(|seed| is_one(*seed)).count()
        };
        assert_eq!(deadlocks(&format!("hold:{}", orders.join(","))), 200, "{n} threads");
        let walks = deadlocks("random");
        assert!(walks < 120, "{n} threads: {walks}");
    }
}

/// An operation that can only come before the sequence is waited for: the first operation of the sequence is held.
#[test]
fn what_is_kept_out_comes_before_where_it_cannot_come_after() {
    let text = "app \"before\"\nvar p: Object = null\nlooper main\n\
                thread a { @X: p = null }\n\
                event show on main initially 1 { for i in 0..20 { skip }; @make: p = new Object; for i in 0..20 { skip }; @Y: use p }\n";
    let model = Model::from_text("before.race", text, &[]).unwrap();
    let order = ["make", "X", "Y"];
    assert_eq!(in_order(&model, "hold:@X<@Y,without=@make", &order), 200);
    let loose = in_order(&model, "hold:@X<@Y", &order);
    assert!(loose < 120, "{loose}");
}

/// In generated models, for random goals of three or four statements: whenever the strategy says that all that was
/// waited for has been reached, the run has the order of the goal.
#[test]
fn a_goal_that_is_reached_is_the_order_of_the_run() {
    let (mut reached, mut goals) = (0, 0);
    for number in 0..3_000 {
        let text = tiny::model(number);
        let model = Model::from_text("generated", &text, &[]).unwrap();
        let is_access = |s: &SiteId| model.program.sites[*s].kind.access().is_some();
        let sites: Vec<SiteId> = model.program.sites.ids().filter(is_access).collect();
        let mut rng = Rng::seeded(number);
        if sites.len() < 3 {
            continue;
        }
        let plan = CampaignPlan::new(&model);
        for _ in 0..3 {
            let n = 3 + rng.below(2) as usize;
            let mut goal: Vec<SiteId> = Vec::new();
            // The statements of one location: others do not conflict.
            let place = &model.program.sites[sites[rng.below(sites.len() as u32) as usize]].place;
            let of_place: Vec<SiteId> =
                sites.iter().copied().filter(|s| model.program.sites[*s].place == *place).collect();
            while goal.len() < n.min(of_place.len()) {
                let site = of_place[rng.below(of_place.len() as u32) as usize];
                if !goal.contains(&site) {
                    goal.push(site);
                }
            }
            if goal.len() < 3 {
                continue;
            }
            let names: Vec<String> = goal.iter().map(|s| plan.site(*s).to_string()).collect();
            let spec: StrategySpec = format!("hold:{}", names.join("<")).parse().unwrap();
            let spec = spec.with_holds(|hold| holds(&plan, hold)).unwrap();
            let Ok(mut strategy) = spec.build(&model.program.sites) else { continue };
            goals += 1;
            let mut machine = model.machine(Limits::default());
            for seed in 0..8 {
                let mut seen = Seen { of: &goal, seen: Vec::new() };
                strategy.begin(seed);
                run(&mut machine, &mut strategy, seed, &mut seen, &AtomicBool::new(false));
                let NamedStrategy::Hold(holding) = &strategy else { unreachable!() };
                // A later operation may never come, since the task of an earlier one has failed, for example. A
                // statement that is performed twice may have been meant the other time.
                let all_came = goal.iter().all(|site| seen.seen.iter().filter(|seen| *seen == site).count() == 1);
                if holding.released() != Some(ReleaseReason::Reached) || !all_came {
                    continue;
                }
                reached += 1;
                // Some subsequence of the run performs the statements in the order of the goal.
                let mut left = goal.iter().peekable();
                for site in &seen.seen {
                    left.next_if(|next| *next == site);
                }
                assert!(left.peek().is_none(), "model {number}, {}: {:?}\n{text}", names.join("<"), seen.seen);
            }
        }
    }
    assert!(goals > 20 && reached > 60, "{goals} goals, reached {reached} times");
}
