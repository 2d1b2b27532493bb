//! Tests of the strategy `hold`: the four experiments of its design, and orders that it forces in every run.

use crate::load::{Model, load};
use raceflip::base::mix;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, NeverClaim, NoProgress, PairReport, Proof, confirm, holds,
};
use raceflip::event::{Event, EventKind, SiteId};
use raceflip::exec::{Observer, run};
use raceflip::sched::{Strategy, StrategySpec};
use raceflip::world::{Limits, World};
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub(crate) fn experiment(name: &str, k: i64) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name);
    let has_k = std::fs::read_to_string(&path).unwrap().contains("const K");
    load(&path, &if has_k { vec![("K".to_owned(), k)] } else { vec![] })
}

pub(crate) fn label(model: &Model, label: &str) -> SiteId {
    let is = |(_, s): &(SiteId, &raceflip::event::Site)| s.label.as_deref() == Some(label);
    model.program.sites.enumerate().find(is).expect("a label").0
}

fn campaign(model: &Model) -> Confirmation {
    let plan = CampaignPlan { seed: 3, jobs: 2, ..CampaignPlan::new(model) };
    confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

pub(crate) fn of<'c>(model: &Model, found: &'c Confirmation) -> &'c PairReport {
    let (x, y) = (label(model, "X"), label(model, "Y"));
    found.pairs.iter().find(|p| (p.pair.a, p.pair.b) == (x, y)).expect("X ~ Y is a potential pair")
}

/// Observer that collects the executions of given statements, in the order in which a run performs them.
pub(crate) struct Seen<'m> {
    pub(crate) of: &'m [SiteId],
    pub(crate) seen: Vec<SiteId>,
}

impl Observer for Seen<'_> {
    fn event(&mut self, _: &World, event: &Event) {
        if let (EventKind::Performed { .. }, Some(site)) = (&event.what, event.site)
            && self.of.contains(&site)
        {
            self.seen.push(site);
        }
    }
}

/// Returns the number of runs, out of 200, in which the statement `first` comes before the other one of X and Y.
fn rate(model: &Model, strategy: &str, first: &str) -> usize {
    let spec: StrategySpec = strategy.parse().unwrap();
    let plan = CampaignPlan::new(model);
    let spec = spec.with_holds(|hold| holds(&plan, hold)).unwrap();
    let mut strategy = spec.build(&model.program.sites).unwrap();
    let sites = [label(model, "X"), label(model, "Y")];
    let mut machine = model.machine(Limits::default());
    let mut comes_first = |seed| {
        let mut seen = Seen { of: &sites, seen: Vec::new() };
        strategy.begin(seed);
        run(&mut machine, &mut strategy, seed, &mut seen, &AtomicBool::new(false));
        seen.seen.first() == Some(&label(model, first))
    };
    (0..200).filter(|i| comes_first(mix(1, *i))).count()
}

#[test]
fn posts_are_held_before_their_lock_and_nearest_first() {
    for name in ["hold_lock.race", "hold_side_effect.race"] {
        for k in [0, 5, 20] {
            let model = experiment(name, k);
            // The nearest way forces either order in every run.
            for (order, first) in [("hold:@X<@Y,way=1", "X"), ("hold:@Y<@X,way=1", "Y")] {
                assert_eq!(rate(&model, order, first), 200, "{name} K = {k}: {order}");
            }
            let found = campaign(&model);
            let pair = of(&model, &found);
            assert!(pair.proof.confirmed(), "{name} K = {k}");
            assert!(pair.trials.ways.iter().filter(|w| w.strategy.contains("way=1")).all(|w| w.hits == w.trials));
        }
        // A random walk rarely has this order, because K steps have to come before a single one.
        let model = experiment(name, 20);
        let rare = rate(&model, "random", "Y");
        assert!(rare < 20, "{name}: {rare} of 200 walks");
    }
}

#[test]
fn a_dispatcher_flips_although_every_run_orders_it() {
    let model = experiment("hold_dispatcher.race", 0);
    assert!(of(&model, &campaign(&model)).proof.confirmed());
}

#[test]
fn f_g_f_shows_both_orders_and_does_not_flip() {
    let model = experiment("hold_fgf.race", 0);
    let found = campaign(&model);
    let pair = of(&model, &found);
    // Both orders happen, but with different instances of F: no two instances flip.
    let Proof::Refuted(refuted) = &pair.proof else { panic!("{:?}", pair.proof) };
    assert_eq!(refuted.never, NeverClaim::Turned);
}

/// Causes of all kinds can be held, in one model each: `@Y` comes before `@X` in every run.
#[test]
fn every_kind_of_cause_can_be_held() {
    let cases = [
        ("the access itself", "thread a { @X: x = 1 }; thread b { skip; skip; skip; @Y: x = 2 }"),
        ("a post", "looper m\nthread a { post f() to m }; thread b { skip; skip; skip; post g() to m }"),
        (
            "a post of a post",
            "looper m\nlooper n\nthread a { post h() to n }; task h() { post f() to m }; thread b { skip; skip; skip; post g() to m }",
        ),
        ("a fork", "thread a { let t = fork f() }; thread b { skip; skip; skip; let t = fork g() }"),
        (
            "a firing",
            "looper m\nevent tap() on m { @X: x = 1 }; thread a { enable tap }; thread b { skip; skip; skip; post g() to m }",
        ),
        (
            "the clock",
            "looper m\nthread a { post f() to m after 5 }; thread b { skip; skip; skip; post g() to m after 9 }",
        ),
        (
            "what an await waits for",
            "var go = 0\nthread c { go = 1 }; thread a { await go == 1; @X: x = 1 }; thread b { skip; skip; skip; @Y: x = 2 }",
        ),
        (
            "a semaphore",
            "semaphore s = 0\nthread c { up s }; thread a { down s; @X: x = 1 }; thread b { skip; skip; skip; @Y: x = 2 }",
        ),
    ];
    for (what, rest) in cases {
        let mut text = format!("app \"{what}\"\nvar x = 0\n{rest}\n");
        for (task, body) in [("f()", "@X: x = 1"), ("g()", "@Y: x = 2")] {
            if rest.contains(&format!(" {task}")) {
                text.push_str(&format!("task {task} {{ {body} }}\n"));
            }
        }
        let model = Model::from_text(what, &text, &[]).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(rate(&model, "hold:@Y<@X,way=1", "Y"), 200, "{what}");
    }
}

#[test]
fn bad_orders_are_told() {
    let model = experiment("hold_lock.race", 5);
    let plan = CampaignPlan::new(&model);
    let check = |text: &str, says: &str| {
        let spec = text.parse::<StrategySpec>().and_then(|spec| spec.with_holds(|hold| holds(&plan, hold)));
        let error = spec.and_then(|spec| spec.build(&model.program.sites).map(|_| ())).expect_err(text);
        assert!(error.to_string().contains(says), "{text}: {error}");
    };
    check("hold:@X", "unknown strategy `hold:@X`");
    check("hold:@X<@Z", "no statement has the label `@Z`");
    check("hold:@X<@Y,way=0", "`way=0` is no option of `hold`");
    check("hold:@X<@Y,way=9", "there are 2 ways: use `way=1` to `way=2`");
    check("hold:@X<@Y,after=2", "`after=2` is no option of `hold`");
    check("hold:@X<@Y,without=@Z", "no statement has the label `@Z`");
    check("hold:@X<@Y,without=", "``");
    check("hold:@X<@Y<", "``");
    check("hold:@X<@Y<@Z", "no statement has the label `@Z`");
    check("hold:@X<@X", "the profile run shows no way");
}
