//! Tests of the generator of planted order bugs (`benches/common/planted`): an app fails if and only if all orders of
//! its chain come about.
//!
//! Small apps are compared with the search of all their runs. Full apps have too many states for that; a strategy that
//! brings all orders about must make each run fail, and the usual order must not fail.

use crate::agree::search;
use crate::load::load_bytes;
use crate::planted_apps::{FULL, OrderKind, Size, app, small};
use raceflip::base::{Digester, Rng};
use raceflip::event::{Actor, Choice, Outcome, SiteId};
use raceflip::exec::{EndKind, NoObserver, run};
use raceflip::explore::SearchPlan;
use raceflip::lang::{Source, format, parse, warnings};
use raceflip::sched::{Divergence, RandomWalk, RoundRobin, Strategy, View};
use raceflip::vm::Model;
use raceflip::world::{Limits, Question};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Depths and sizes of small apps. With 15 seeds each, these are 60 apps.
const SMALL: [(usize, usize); 4] = [(2, 2), (2, 3), (3, 3), (4, 3)];

/// Depths and seeds of full apps.
const LARGE: [(usize, u64); 6] = [(2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)];

fn small_apps() -> impl Iterator<Item = (usize, Size, u64)> {
    SMALL.into_iter().flat_map(|(depth, components)| (0..15).map(move |seed| (depth, small(components), seed)))
}

fn model(text: &str, fixed: usize) -> Model {
    load_bytes("planted.race", text.as_bytes(), &[("FIXED".to_owned(), fixed as i64)])
}

/// Checks that the text has no warning, is laid out as `fmt` does, and does not fail in the usual order.
fn check_text(text: &str) {
    let source = Source::new("planted.race", text).unwrap();
    let found: Vec<String> = warnings(&source, &parse(&source).unwrap()).into_iter().map(|w| w.message).collect();
    assert_eq!(found, Vec::<String>::new(), "{text}");
    assert_eq!(format(&source).unwrap(), text);
    assert_eq!(text.matches("@planted:").count(), 1, "{text}");
    let mut machine = model(text, 0).machine(Limits::default());
    let ran = run(&mut machine, &mut RoundRobin::default(), 0, &mut NoObserver, &AtomicBool::new(false));
    assert!(matches!(ran.outcome(), Some(Outcome::Ok)), "{ran:?}\n{text}");
}

/// Returns whether an end is the planted failure.
fn is_planted(end: &EndKind, model: &Model) -> bool {
    let EndKind::Failure { site: Some(site), .. } = end else { return false };
    model.program.sites[*site].label.as_deref() == Some("planted")
}

/// Returns whether an outcome is the failure at `@planted`: by its label if it is a step, and else by its message.
fn fails_as_planted(outcome: Option<&Outcome>, model: &Model) -> bool {
    outcome.is_some_and(|outcome| is_planted(&EndKind::of(outcome), model))
}

#[test]
fn a_seed_gives_one_text() {
    let mut all = BTreeSet::new();
    let mut digester = Digester::new();
    for depth in 2..=4 {
        for seed in 0..20 {
            let text = app(depth, FULL, seed).text;
            assert_eq!(app(depth, FULL, seed).text, text);
            digester.text(&text);
            all.insert(text);
        }
    }
    assert_eq!(all.len(), 60);
    assert_eq!(digester.finish(), PINNED, "a change here needs new numbers in docs/results/planted.md");
}
const PINNED: u128 = 141_807_450_523_883_193_695_105_920_421_176_855_888;

#[test]
fn a_small_app_fails_if_all_orders_come_about_and_in_no_other_way() {
    let mut kinds = BTreeSet::new();
    for (depth, size, seed) in small_apps() {
        let app = app(depth, size, seed);
        check_text(&app.text);
        assert_eq!(app.orders.len(), depth);
        for (i, kind) in app.orders.iter().enumerate() {
            let line = format!("// - @first{0} before @then{0}: {1}\n", i + 1, kind.text());
            assert!(app.text.contains(&line), "{line} {}\n{}", kind.word(), app.text);
        }
        kinds.extend(app.orders);
        // With FIXED = k the k-th order is impossible: each of them is necessary.
        for fixed in 0..=depth {
            let model = model(&app.text, fixed);
            let found = search(&SearchPlan { reduce: true, ..SearchPlan::new(&model) });
            assert!(found.complete(), "{:?}\n{}", found.cut, app.text);
            let failures = found.ends.keys().map(|end| &end.ended.kind).filter(|kind| **kind != EndKind::Ok);
            let planted: Vec<bool> = failures.map(|kind| is_planted(kind, &model)).collect();
            let expected = if fixed == 0 { vec![true] } else { Vec::new() };
            assert_eq!(planted, expected, "FIXED = {fixed}: {:?}\n{}", found.ends.keys(), app.text);
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), OrderKind::ALL);
}

/// A random walk that brings all orders about: a thread that is about to perform `@then` waits until `@first` has been
/// performed, and the run does not end as long as anything else can happen.
struct InOrder {
    // The orders, and whether the first operation of each has been performed.
    orders: Vec<(SiteId, SiteId)>,
    done: Vec<bool>,
    rng: Rng,
    // Answers the questions.
    walk: RandomWalk,
}

impl InOrder {
    fn new(model: &Model, depth: usize) -> Self {
        let at = |name: String| model.program.sites.enumerate().find(|(_, site)| site.label.as_ref() == Some(&name));
        let site = |name: String| at(name.clone()).unwrap_or_else(|| panic!("no operation at @{name}")).0;
        let orders = (1..=depth).map(|k| (site(format!("first{k}")), site(format!("then{k}")))).collect();
        Self { orders, done: vec![false; depth], rng: Rng::seeded(0), walk: RandomWalk::new() }
    }

    fn waits(&self, site: Option<SiteId>) -> bool {
        let open = self.orders.iter().zip(&self.done).filter(|(_, done)| !**done);
        open.into_iter().any(|((_, then), _)| site == Some(*then))
    }
}

impl Strategy for InOrder {
    fn begin(&mut self, seed: u64) {
        self.done.fill(false);
        self.rng = Rng::seeded(seed);
        self.walk.begin(seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let all: Vec<Actor> = (0..view.openings.total()).map(|k| view.world.open_actor(&view.openings, k)).collect();
        let goes = |actor: &&Actor| match actor {
            Actor::Thread(thread) => !self.waits(view.world.thread(*thread).site),
            Actor::Stop => false,
            Actor::Clock | Actor::Event(_) => true,
        };
        let open: Vec<Actor> = all.iter().filter(goes).copied().collect();
        Ok(if open.is_empty() { all[0] } else { self.rng.pick(&open) })
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.walk.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        let Actor::Thread(thread) = choice.actor else { return };
        let site = view.world.thread(thread).site;
        for ((first, _), done) in self.orders.iter().zip(&mut self.done) {
            *done |= site == Some(*first);
        }
    }
}

#[test]
fn a_full_app_fails_in_each_run_that_has_all_orders() {
    for (depth, seed) in LARGE {
        let app = app(depth, FULL, seed);
        check_text(&app.text);
        let model = model(&app.text, 0);
        let mut machine = model.machine(Limits::default());
        let mut strategy = InOrder::new(&model, depth);
        for seed in 0..20 {
            let ran = run(&mut machine, &mut strategy, seed, &mut NoObserver, &AtomicBool::new(false));
            assert!(fails_as_planted(ran.outcome(), &model), "seed {seed}: {ran:?}\n{}", app.text);
        }
    }
}

/// Random walks, and random walks with all orders but one: no run fails otherwise, and none of a repaired app.
#[test]
fn a_full_app_fails_in_no_other_way() {
    for (depth, seed) in LARGE {
        let text = app(depth, FULL, seed).text;
        for fixed in 0..=depth {
            let model = model(&text, fixed);
            let mut machine = model.machine(Limits::default());
            for seed in 0..100 {
                let ran = run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &AtomicBool::new(false));
                let is_ok = matches!(ran.outcome(), Some(Outcome::Ok));
                let is_expected = fixed == 0 && fails_as_planted(ran.outcome(), &model);
                assert!(is_ok || is_expected, "FIXED = {fixed}, seed {seed}: {ran:?}\n{text}");
            }
        }
    }
}
