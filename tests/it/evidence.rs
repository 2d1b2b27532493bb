//! Tests that the verdicts of a campaign are true: the runs that prove a confirmed pair are replayed and observed.

use crate::load::{Model, all_models, load, load_bytes, models};
use raceflip::campaign::{
    CampaignContext, CampaignPlan, DetectionPlan, Explore, Flip, Instance, NoProgress, PairReport, Proof, RunEvidence,
    confirm,
};
use raceflip::detect::Pair;
use raceflip::event::{AccessPlace, Actor, Choice, Event, EventKind, SiteId};
use raceflip::exec::{NoObserver, Observer, run};
use raceflip::lang::program::{ExpectationKind, SiteRef};
use raceflip::sched::{Divergence, Replay, Strategy, View};
use raceflip::token::Token;
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, Question, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn plan(model: &Model) -> CampaignPlan {
    let limits = Limits { steps: 5_000, ..Limits::default() };
    CampaignPlan {
        limits,
        seed: 5,
        jobs: 2,
        detection: DetectionPlan { runs: 20, ..DetectionPlan::default() },
        ..CampaignPlan::new(model)
    }
}

/// Strategy that replays a run and checks whether two threads are ever pending and enabled at the statements of a pair,
/// with conflicting accesses.
struct Looking {
    inner: Replay,
    pair: Pair,
    seen: bool,
}

impl Strategy for Looking {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let at = |site: SiteId| view.world.enabled().iter().filter(move |t| view.world.thread(*t).site == Some(site));
        self.seen |= at(self.pair.a).any(|x| {
            at(self.pair.b).any(|y| {
                let access = |t| view.world.access(&view.world.thread(t).pending);
                x != y && access(x).zip(access(y)).is_some_and(|(a, b)| a.races(&b))
            })
        });
        self.inner.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
    }
}

/// Observer that collects every access of a run: its instance, and its location by name.
#[derive(Default)]
struct Accesses {
    all: Vec<(Instance, String)>,
    visits: BTreeMap<(SiteId, String), u32>,
}

impl Observer for Accesses {
    fn event(&mut self, world: &World, event: &Event) {
        let (EventKind::Performed { op, value, .. }, Some(site), Some(context)) =
            (&event.what, event.site, event.context)
        else {
            return;
        };
        let Some(access) = world.performed_access(op, *value) else { return };
        let context = world.contexts().name(world.setup(), context);
        let visit = self.visits.entry((site, context.clone())).or_default();
        *visit += 1;
        let place = match access.place {
            AccessPlace::Life(object) => world.object_name(object),
            place => world.place_name(place),
        };
        self.all.push((Instance { site, context, visit: *visit }, place));
    }
}

impl Accesses {
    fn of(&self, instance: &Instance) -> Option<(usize, &str)> {
        let at = self.all.iter().position(|(i, _)| i == instance)?;
        Some((at, &self.all[at].1))
    }
}

fn replay(model: &Model, evidence: &RunEvidence) -> (Machine<Vm>, Replay) {
    let token: Token = evidence.token.parse().unwrap();
    (Machine::new(Vm::new(model.code.clone()), token.limits), Replay::new(Arc::new(token.schedule)))
}

// Replays the proof, and returns whether the pair is side by side in it.
fn is_adjacent(model: &Model, pair: &PairReport) -> bool {
    let [proof] = &pair.evidence[..] else { return false };
    let (mut machine, inner) = replay(model, proof);
    let mut looking = Looking { inner, pair: pair.pair, seen: false };
    run(&mut machine, &mut looking, 0, &mut NoObserver, &AtomicBool::new(false));
    looking.seen
}

// Replays both proofs of a flip. In each one, the two instances must occur in its order and at one location; in a cut,
// only the first of them occurs.
fn is_flipped(model: &Model, pair: &PairReport, flip: &Flip) -> bool {
    assert_eq!(pair.evidence.len(), 2);
    let i = &flip.instances;
    [(&i.a, &i.b), (&i.b, &i.a)].into_iter().enumerate().all(|(first, (earlier, later))| {
        let (mut machine, mut strategy) = replay(model, &pair.evidence[first]);
        let mut accesses = Accesses::default();
        run(&mut machine, &mut strategy, 0, &mut accesses, &AtomicBool::new(false));
        let is_cut = flip.cut.is_some_and(|c| c as usize == first);
        match (accesses.of(earlier), accesses.of(later)) {
            (Some((x, at)), Some((y, there))) => !is_cut && x < y && (at.starts_with(there) || there.starts_with(at)),
            (Some((_, at)), None) => is_cut && at.starts_with(&i.place),
            _ => false,
        }
    })
}

/// The proof of every confirmed pair of every model shows the pair side by side, or in both orders.
#[test]
fn what_is_confirmed_is_seen() {
    let (mut adjacent, mut flipped, mut cut) = (0, 0, 0);
    for path in all_models() {
        let model = load(&path, &[]);
        let found = confirm(&plan(&model), CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
        for pair in &found.pairs {
            let text = format!("{}: {:?} {:?}", path.display(), pair.pair, pair.proof);
            match &pair.proof {
                Proof::Adjacent => {
                    adjacent += 1;
                    assert!(is_adjacent(&model, pair), "{text}");
                }
                Proof::Flipped(flip) => {
                    *if flip.cut.is_some() { &mut cut } else { &mut flipped } += 1;
                    assert!(is_flipped(&model, pair, flip), "{text}");
                }
                Proof::Refuted(_) | Proof::Ordered(_) | Proof::Unconfirmed => {}
            }
        }
    }
    assert!(adjacent > 50 && flipped > 20 && cut > 3, "{adjacent} side by side, {flipped} flipped, {cut} by a cut");
}

/// The `expect race` lines of the models hold: a pair called false is never confirmed, and a pair called real is
/// confirmed.
#[test]
fn race_expectations_of_the_models() {
    let mut wrong = Vec::new();
    for path in all_models().into_iter().filter(|p| models("tests/models").contains(p)) {
        let model = load(&path, &[]);
        let found = confirm(&plan(&model), CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
        for expectation in &model.program.expectations {
            let ExpectationKind::Race { no, left, right, real, false_, .. } = &expectation.kind else { continue };
            let is =
                |p: &PairReport, x: &SiteRef, y: &SiteRef| x.sites.contains(&p.pair.a) && y.sites.contains(&p.pair.b);
            let confirmed =
                found.pairs.iter().any(|p| (is(p, left, right) || is(p, right, left)) && p.proof.confirmed());
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = format!("{name}:{} {}", expectation.line, expectation.text);
            if (confirmed && (*no || *false_)) || (*real && !confirmed) {
                wrong.push(text);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Orders that cannot happen are not confirmed, in models that could make a cut look like one of them.
#[test]
fn no_cut_proves_an_order_that_cannot_be() {
    let never = [
        // A branch skips x before y may run, and x's thread continues, or the run fails for another reason.
        "app \"a\"; var x = 0; atomic go = 0; thread s { if * { @X: x = 1 }; go = 1; skip }; thread t { await go == 1; @Y: x = 2 }",
        "app \"a\"; var x = 0; atomic go = 0; thread s { if * { @X: x = 1 }; go = 1; skip; fail \"other\" }; thread t { await go == 1; @Y: x = 2 }",
        // The task of x is removed from its queue before y.
        "app \"a\"; var x = 0; looper m; thread s { post f() to m after 5; post g() to m }; task f() { @X: x = 1 }; task g() { cancel f on m; @Y: x = 2; fail \"other\" }",
        // The first thread through the lock (or the swap) has decided whether x comes, long before y. Only values show
        // this, no statement.
        "app \"a\"; lock L; var taken = 0; var done = false; var x = 0; thread s { let won = false; sync L { if taken == 0 { taken = 1; won = true } }; skip; if won { @X: x = 1; sync L { done = true } } }; thread t { let may = false; let first = false; sync L { if taken == 0 { taken = 2; may = true; first = true } }; if !may { sync L { may = done } }; if may { @Y: x = 2 }; if first { fail \"other\" } }",
        "app \"a\"; atomic taken = 0; atomic done = 0; var x = 0; thread s { let won = cas(taken, 0, 1); skip; if won { @X: x = 1; done = 1 } }; thread t { let first = cas(taken, 0, 2); if first || done == 1 { @Y: x = 2 }; if first { fail \"other\" } }",
        // Whether x comes is decided between the lock (or the post of y's task) and y, by another thread or by y's own
        // thread.
        "app \"a\"; atomic f = 0; atomic done = 0; var d = 0; lock L; thread t { sync L { await done == 1; @Y: let v = d; assert v == 2, \"not set\" } }; thread x { if cas(f, 0, 1) { @X: d = 2; done = 1 } }; thread third { if cas(f, 0, 2) { done = 1 } }",
        "app \"a\"; looper main; atomic f = 0; atomic done = 0; var d = 0; task y() { if done == 1 { @Y: let v = d; assert v == 2, \"not set\" } }; task x() { @X: d = 2; done = 1 }; thread z { post y() to main }; thread b { if cas(f, 0, 1) { post x() to main } }; thread third { if cas(f, 0, 2) { done = 1 } }",
        "app \"a\"; atomic f = 0; var d = 0; lock L; thread t { sync L { if !cas(f, 0, 2) { await f == 3 }; @Y: let v = d; assert v == 2, \"not set\" } }; thread x { if cas(f, 0, 1) { @X: d = 2; f = 3 } }",
        "app \"a\"; lock M; lock L; var f = 0; var done = 0; var d = 0; thread t { sync L { await done == 1; @Y: let v = d; assert v == 2, \"not set\" } }; thread x { sync M { if f == 0 { f = 1; @X: d = 2; done = 1 } } }; thread third { sync M { if f == 0 { f = 2; done = 1 } } }",
        "app \"a\"; atomic f = 0; atomic done = 0; var d = 0; lock L; thread t { sync L { await done == 1; @Y: d = 1 } }; thread x { if cas(f, 0, 1) { @X: d = 2; done = 1 } }; thread third { if cas(f, 0, 2) { done = 1 } }",
        "app \"a\"; semaphore one = 1; semaphore done = 0; atomic taken = 0; var d = 0; lock L; thread t { sync L { down done; @Y: let v = d; assert v == 2, \"not set\" } }; thread x { down one; if taken == 0 { taken = 1; @X: d = 2; up done }; up one }; thread third { down one; if taken == 0 { taken = 1; up done }; up one }",
        "app \"a\"; looper main; looper other; atomic f = 0; atomic done = 0; var d = 0; lock L; task y() { sync L { await done == 1; @Y: let v = d; assert v == 2, \"not set\" } }; task x() { if cas(f, 0, 1) { @X: d = 2; done = 1 } }; thread a { post x() to main; post y() to other }; thread third { if cas(f, 0, 2) { done = 1 } }",
        "app \"a\"; var d = 0; atomic closed = 0; lock L; thread t { sync L { let ok = await closed == 2 for 10; if !ok { if cas(closed, 0, 1) { skip } else { await closed == 2 } }; @Y: let v = d; assert v == 2, \"not set\" } }; thread x { if cas(closed, 0, 3) { @X: d = 2; closed = 2 } }",
        // The tasks run in the order f, g, f, forced by waits, and x is conditional.
        "app \"a\"; var x = 0; var n = 0; looper m; thread A { post f() to m; await n == 2; post f() to m }; thread B { await n == 1; post g() to m }; task f() { if * { @X: x = 1 }; n += 1 }; task g() { @Y: x = 2; n += 1; if * { fail \"other\" } }",
    ];
    for text in never {
        let model = load_bytes("never", text.as_bytes(), &[]);
        let found = confirm(&plan(&model), CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
        let label = |s: SiteId| model.code.setup.sites[s].label.clone().unwrap_or_default();
        let is_it =
            |p: &&PairReport| [label(p.pair.a), label(p.pair.b)].iter().all(|l| ["X", "Y"].contains(&l.as_str()));
        for pair in found.pairs.iter().filter(is_it) {
            assert!(!pair.proof.confirmed(), "{text}");
        }
    }
}

/// If a run fails at the first access, no run shows that order whole. The order counts as harmful all the same if the
/// other access was still to come.
#[test]
fn an_order_that_fails_at_once_is_harmful() {
    let all = [
        // The order depends on the clock, a fork, another looper, a turn that is taken, a choice, or the front of the
        // queue; or on a disable or cancel that comes too early to matter.
        "app \"a\"; looper main; var got = false; task answer() { @X: got = true }; task timeout() { @Y: assert got, \"too late\" }; task net() { post answer() to main }; thread a { post timeout() to main after 100; fork net() }",
        "app \"a\"; looper main; var got = false; event answer on main { @X: got = true }; task timeout() { @Y: assert got, \"too late\" }; thread a { post timeout() to main after 100; enable answer }",
        "app \"a\"; looper main; looper net; var p: Object = null; task i_() { @X: p = new Object }; task u_() { @Y: use p }; task req() { post i_() to main }; task go() { post u_() to main after 100; post req() to net }; thread a { post go() to main }",
        "app \"a\"; looper main; var p: Object = null; task i_() { @X: p = new Object }; task u_() { @Y: use p }; task go() { post i_() to main after 10; post u_() to main after 5 }; thread a { post go() to main }",
        "app \"a\"; looper main; atomic t = 0; var got = 0; task answer() { @X: got = 1 }; task check() { @Y: let v = got; if v == 0 { throw Late } }; thread c { if cas(t, 0, 1) { skip } else { await t == 2 }; post check() to main; t = 2 }; thread n { if cas(t, 0, 1) { skip } else { await t == 2 }; post answer() to main; t = 2 }",
        "app \"a\"; looper main; var p: Object = null; task i_() { @X: p = new Object }; task u_() { @Y: use p }; task go() { post u_() to main; if * { post i_() to main at front } else { post i_() to main } }; thread a { post go() to main }",
        "app \"a\"; looper main; looper bg; atomic urgent = false; var p: Object = null; task i_() { @X: p = new Object }; task u_() { @Y: use p }; task go() { post u_() to main; if urgent { post i_() to main at front } else { post i_() to main } }; thread a { post go() to main }; thread b { urgent = true }",
        "app \"a\"; looper main; atomic done = 0; var d = 0; task y() { if done == 1 { @Y: let v = d; assert v == 2, \"not set\" } }; event x on main initially 1 { @X: d = 2; done = 1 }; thread z { post y() to main }; thread third { disable x; done = 1 }",
        "app \"a\"; looper main; atomic done = 0; var d = 0; task y() { if done == 1 { @Y: let v = d; assert v == 2, \"not set\" } }; task x() { @X: d = 2; done = 1 }; thread a { post x() to main }; thread z { post y() to main }; thread third { cancel x on main; done = 1 }",
    ];
    for text in all {
        let model = load_bytes("at once", text.as_bytes(), &[]);
        for explore in [Explore::Auto, Explore::Off] {
            let mut plan = plan(&model);
            (plan.search.explore, plan.detection.runs) = (explore, 50);
            let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
            let label = |s: SiteId| model.code.setup.sites[s].label.clone().unwrap_or_default();
            let of = |p: &&PairReport| BTreeSet::from([label(p.pair.a), label(p.pair.b)]).into_iter().eq(["X", "Y"]);
            let pair = found.pairs.iter().find(of).unwrap_or_else(|| panic!("no such pair: {text}"));
            assert!(!pair.hurts().is_empty(), "{text}: {:?} {:?}", pair.proof, pair.comparison.harms);
        }
    }
}

/// Two threads at one statement of a pair race with each other, which does not confirm a pair of that statement with
/// another one.
#[test]
fn a_race_of_a_statement_with_itself_confirms_no_other_pair() {
    let text = "app \"a\"; var x = 0; atomic n = 0; thread w(i in 0..2) { @A: x = 1; fetch_add(n, 1) }; thread r { await n == 2; @B: x = 2 }";
    let model = load_bytes("itself", text.as_bytes(), &[]);
    let found = confirm(&plan(&model), CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    let confirmed: Vec<_> = found.pairs.iter().map(|p| (p.pair.a == p.pair.b, p.proof.confirmed())).collect();
    assert_eq!(confirmed, [(true, true), (false, false)]);
}
