//! What a campaign confirms is true: the runs that prove it are made again and looked at.

use crate::load::{Model, all_models, load, load_bytes, models};
use raceflip::campaign::{Context, Evidence, First, Flip, Instance, PairReport, Plan, Silent, Verdict, confirm};
use raceflip::detect::Pair;
use raceflip::event::{AccessPlace, Actor, Choice, Event, Happening, SiteId};
use raceflip::exec::{Observer, Unobserved, run};
use raceflip::lang::program::{ExpectationKind, SiteRef};
use raceflip::sched::{Divergence, Replay, Strategy, View};
use raceflip::token::Token;
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, Question, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn plan(model: &Model) -> Plan {
    let limits = Limits { steps: 5_000, ..Limits::default() };
    Plan { limits, seed: 5, runs: 20, jobs: 2, ..Plan::new(model) }
}

/// A strategy that looks whether two threads ever stand at these statements on one location.
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
                let access = |t| view.world.thread(t).pending.access();
                x != y && access(x).zip(access(y)).is_some_and(|(a, b)| a.conflicts(&b))
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

/// Every access of a run: the instance, and the location by name.
#[derive(Default)]
struct Accesses {
    all: Vec<(Instance, String)>,
    visits: BTreeMap<(SiteId, String), u32>,
}

impl Observer for Accesses {
    fn event(&mut self, world: &World, event: &Event) {
        let (Happening::Performed { op, .. }, Some(site), Some(context)) = (&event.what, event.site, event.context)
        else {
            return;
        };
        let Some(access) = op.access() else { return };
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

fn replay(model: &Model, evidence: &Evidence) -> (Machine<Vm>, Replay) {
    let token: Token = evidence.token.parse().unwrap();
    (Machine::new(Vm::new(model.code.clone()), token.limits), Replay::new(Arc::new(token.schedule)))
}

fn is_adjacent(model: &Model, pair: &PairReport) -> bool {
    let [proof] = &pair.proof[..] else { return false };
    let (mut machine, inner) = replay(model, proof);
    let mut looking = Looking { inner, pair: pair.pair, seen: false };
    run(&mut machine, &mut looking, 0, &mut Unobserved, &AtomicBool::new(false));
    looking.seen
}

fn is_flipped(model: &Model, pair: &PairReport, flip: &Flip) -> bool {
    assert_eq!(pair.proof.len(), 2);
    let i = &flip.instances;
    [(&i.a, &i.b), (&i.b, &i.a)].into_iter().enumerate().all(|(first, (earlier, later))| {
        let (mut machine, mut strategy) = replay(model, &pair.proof[first]);
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

/// Every event of a run: whose it is, what it is, and which thread or task it makes.
#[derive(Default)]
struct Events {
    all: Vec<(String, String, Option<String>)>,
}

impl Observer for Events {
    fn event(&mut self, world: &World, event: &Event) {
        let name = |context| world.contexts().name(world.setup(), context);
        let made = match &event.what {
            Happening::Performed { made, .. } => *made,
            Happening::Fire(_, made) => Some(*made),
            _ => None,
        };
        self.all.push((event.context.map(name).unwrap_or_default(), format!("{:?}", event.what), made.map(name)));
    }
}

/// The run that is cut off leaves the other one with a step of the thread or task of its access, or of who makes that; and there the other one has nothing of it
/// until the access that is cut off has come, or is on its way.
fn leaves_where_it_should(model: &Model, pair: &PairReport, flip: &Flip) -> bool {
    let Some(cut) = flip.cut else { return true };
    let (y, x) = match cut {
        First::A => (&flip.instances.a, &flip.instances.b),
        First::B => (&flip.instances.b, &flip.instances.a),
    };
    let [other, cut_off] = [1 - cut as usize, cut as usize].map(|i| {
        let (mut machine, mut strategy) = replay(model, &pair.proof[i]);
        let mut events = Events::default();
        run(&mut machine, &mut strategy, 0, &mut events, &AtomicBool::new(false));
        events.all
    });
    let same = other.iter().zip(&cut_off).take_while(|(o, c)| o == c).count();
    let (who, _, made) = &cut_off[same];
    let is_of = |name: &str| y.context == name || y.context.starts_with(&format!("{name}/"));
    let leads_to_y = is_of(who) || made.as_deref().is_some_and(is_of);
    let on_its_way = |e: &(String, String, Option<String>)| e.0 == x.context || e.2.as_ref() == Some(&x.context);
    // A thread that is there already is on its way when it acts next.
    let until = other[same..].iter().position(on_its_way).map(|i| same + i);
    leads_to_y && until.is_some_and(|until| other[same..until].iter().all(|e| e.0 != *who))
}

/// Every confirmed pair of every model: its proof is there to see.
#[test]
fn what_is_confirmed_is_seen() {
    let (mut adjacent, mut flipped, mut cut) = (0, 0, 0);
    for path in all_models() {
        let model = load(&path, &[]);
        let found = confirm(&plan(&model), Context { stop: &AtomicBool::new(false), progress: &Silent });
        for pair in &found.pairs {
            let text = format!("{}: {:?} {:?}", path.display(), pair.pair, pair.verdict);
            match &pair.verdict {
                Verdict::Adjacent => {
                    adjacent += 1;
                    assert!(is_adjacent(&model, pair), "{text}");
                }
                Verdict::Flipped(flip) => {
                    *if flip.cut.is_some() { &mut cut } else { &mut flipped } += 1;
                    assert!(is_flipped(&model, pair, flip), "{text}");
                    assert!(leaves_where_it_should(&model, pair, flip), "{text}");
                }
                Verdict::Refuted(_) | Verdict::Unconfirmed => {}
            }
        }
    }
    assert!(adjacent > 50 && flipped > 20 && cut > 3, "{adjacent} side by side, {flipped} flipped, {cut} by a cut");
}

/// The `expect race` lines of the models: what is false is never confirmed, and what is real is.
#[test]
fn race_expectations_of_the_models() {
    let mut wrong = Vec::new();
    for path in all_models().into_iter().filter(|p| models("tests/models").contains(p)) {
        let model = load(&path, &[]);
        let found = confirm(&plan(&model), Context { stop: &AtomicBool::new(false), progress: &Silent });
        for expectation in &model.program.expectations {
            let ExpectationKind::Race { no, left, right, real, false_, .. } = &expectation.kind else { continue };
            let is =
                |p: &PairReport, x: &SiteRef, y: &SiteRef| x.sites.contains(&p.pair.a) && y.sites.contains(&p.pair.b);
            let confirmed =
                found.pairs.iter().any(|p| (is(p, left, right) || is(p, right, left)) && p.verdict.confirmed());
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = format!("{name}:{} {}", expectation.line, expectation.text);
            if (confirmed && (*no || *false_)) || (*real && !confirmed) {
                wrong.push(text);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Orders that cannot be, with what could make a cut believe in them.
#[test]
fn no_cut_proves_an_order_that_cannot_be() {
    let never = [
        // x is skipped by a branch before y may go, and its thread lives on, or the run fails for another reason.
        "app \"a\"; var x = 0; atomic go = 0; thread s { if * { @X: x = 1 }; go = 1; skip }; thread t { await go == 1; @Y: x = 2 }",
        "app \"a\"; var x = 0; atomic go = 0; thread s { if * { @X: x = 1 }; go = 1; skip; fail \"other\" }; thread t { await go == 1; @Y: x = 2 }",
        // The task of x is taken out of its queue before y.
        "app \"a\"; var x = 0; looper m; thread s { post f() to m after 5; post g() to m }; task f() { @X: x = 1 }; task g() { cancel f on m; @Y: x = 2; fail \"other\" }",
        // Who comes first through the lock (or the swap) has settled whether x comes, long before y; no statement tells it, only values.
        "app \"a\"; lock L; var taken = 0; var done = false; var x = 0; thread s { let won = false; sync L { if taken == 0 { taken = 1; won = true } }; skip; if won { @X: x = 1; sync L { done = true } } }; thread t { let may = false; let first = false; sync L { if taken == 0 { taken = 2; may = true; first = true } }; if !may { sync L { may = done } }; if may { @Y: x = 2 }; if first { fail \"other\" } }",
        "app \"a\"; atomic taken = 0; atomic done = 0; var x = 0; thread s { let won = cas(taken, 0, 1); skip; if won { @X: x = 1; done = 1 } }; thread t { let first = cas(taken, 0, 2); if first || done == 1 { @Y: x = 2 }; if first { fail \"other\" } }",
        // f, g, f, by waiting, with a conditional x.
        "app \"a\"; var x = 0; var n = 0; looper m; thread A { post f() to m; await n == 2; post f() to m }; thread B { await n == 1; post g() to m }; task f() { if * { @X: x = 1 }; n += 1 }; task g() { @Y: x = 2; n += 1; if * { fail \"other\" } }",
    ];
    for text in never {
        let model = load_bytes("never", text.as_bytes(), &[]);
        let found = confirm(&plan(&model), Context { stop: &AtomicBool::new(false), progress: &Silent });
        let label = |s: SiteId| model.code.setup.sites[s].label.clone().unwrap_or_default();
        for pair in found.pairs.iter().filter(|p| label(p.pair.a) == "X" && label(p.pair.b) == "Y") {
            assert!(!pair.verdict.confirmed(), "{text}");
        }
    }
}

/// Two threads at one statement of a pair race with each other: that is no race of the pair.
#[test]
fn a_race_of_a_statement_with_itself_confirms_no_other_pair() {
    let text = "app \"a\"; var x = 0; atomic n = 0; thread w(i in 0..2) { @A: x = 1; fetch_add(n, 1) }; thread r { await n == 2; @B: x = 2 }";
    let model = load_bytes("itself", text.as_bytes(), &[]);
    let found = confirm(&plan(&model), Context { stop: &AtomicBool::new(false), progress: &Silent });
    let confirmed: Vec<_> = found.pairs.iter().map(|p| (p.pair.a == p.pair.b, p.verdict.confirmed())).collect();
    assert_eq!(confirmed, [(true, true), (false, false)]);
}
