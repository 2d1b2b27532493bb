//! Components at run time: rows, requests, names, detection, tokens.

use crate::agree::{compare, search};
use crate::component_models::generate;
use crate::component_runs::compare_ends;
use crate::explore::context;
use crate::stateless::{facts, words};
use raceflip::detect::{Candidates, Hybrid};
use raceflip::event::SiteId;
use raceflip::exec::{RunSummary, run};
use raceflip::explore::{OrderResult, SearchPlan, site_orders};
use raceflip::sched::{RandomWalk, Replay, Schedule, ScheduleRecorder, Strategy, Tolerant};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Compares models of these seeds with the interpreter of the test and with the enumeration of all runs. Returns how
/// many were compared with each.
fn compare_models(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut interpreted, mut enumerated, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let model_of = generate(seed);
        let text = model_of.text();
        let model =
            Model::from_text(&format!("component {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(ends) = model_of.ends(20_000) else { continue };
        interpreted += 1;
        let mut result = compare_ends(&model, &ends);
        if let (Ok(()), Some(facts)) = (&result, facts(&model, &words(&model.program), 2_000)) {
            enumerated += 1;
            result = compare(&model, &facts).and_then(|_| same_orders(&model, &facts.orders));
        }
        if let Err(difference) = result {
            wrong.push(format!("{seed}: {difference}\n{text}"));
        }
    }
    let shown = wrong.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} models differ:\n{shown}", wrong.len());
    (interpreted, enumerated)
}

fn same_orders(model: &Model, happen: &BTreeSet<(SiteId, SiteId)>) -> Result<(), String> {
    let plan = SearchPlan { pairs: true, ..SearchPlan::new(model) };
    let orders = site_orders(&plan, &search(&plan), context());
    let all = orders.values().flat_map(|pair| &pair.orders);
    let found: BTreeSet<_> =
        all.filter(|o| matches!(o.2, OrderResult::Happens(_))).map(|(first, then, _)| (*first, *then)).collect();
    if found == *happen { Ok(()) } else { Err(format!("orders: {found:?}, all runs {happen:?}")) }
}

/// The search agrees with an interpreter that shares nothing with the machine, and with the enumeration of all runs.
#[test]
fn rows_are_what_they_mean() {
    let (interpreted, enumerated) = compare_models(0..300);
    assert!(interpreted > 250 && enumerated > 60, "{interpreted} {enumerated}");
}

#[test]
#[ignore = "takes minutes: cargo test --release --test it components -- --ignored"]
fn rows_of_two_thousand_models_are_what_they_mean() {
    let (interpreted, enumerated) = compare_models(0..2_450);
    assert!(interpreted > 2_000 && enumerated > 400, "{interpreted} {enumerated}");
}

/// A run of a model with components.
fn run_of(model: &Model, strategy: &mut impl Strategy, seed: u64, machine: &mut Machine<Vm>) -> (Schedule, RunSummary) {
    let mut recorder = ScheduleRecorder::new();
    *machine = model.machine(Limits::default());
    let summary = run(machine, strategy, seed, &mut recorder, &AtomicBool::new(false));
    (recorder.schedule(&machine.world), summary)
}

/// A schedule names the instance for which a row is fired, also in the bytes of a token.
#[test]
fn a_run_replays_by_the_names_of_instances() {
    let mut named = 0;
    for seed in 0..60 {
        let text = generate(seed).text();
        let model = Model::from_text("component", &text, &[]).unwrap();
        let mut machine = model.machine(Limits::default());
        let (schedule, first) = run_of(&model, &mut RandomWalk::new(), seed, &mut machine);
        let names: Vec<String> = (0..schedule.actors.len()).map(|a| schedule.actor_name(a as u32)).collect();
        named += names.iter().filter(|name| name.starts_with("event P#") || name.contains("/P#")).count();
        let mut replay = Replay::new(Arc::new(schedule.clone()));
        let (again, second) = run_of(&model, &mut replay, 0, &mut machine);
        assert_eq!((&again, second.outcome(), second.steps), (&schedule, first.outcome(), first.steps), "{text}");
        let mut tolerant = Tolerant::new(Arc::new(schedule.clone()));
        let (_, third) = run_of(&model, &mut tolerant, 0, &mut machine);
        assert_eq!((third.outcome(), third.steps), (first.outcome(), first.steps), "{text}");
        assert_eq!(tolerant.finish().departures, [], "{text}");
    }
    assert!(named > 60, "{named}");
}

const PLAYERS: &str = "use android { rounds = 0; rotations = 1 }
looper main
var shown = 0
var spare = 0
activity Player on main {
    on create(saved) { @made: shown = 1 }
    on pause { @hidden: shown = 2 }
    on destroy { @over: shown = 3 }
}
thread launcher { start Player; @beside: spare = shown }
";

/// The instance that a rotation makes is named by the one that was rotated.
#[test]
fn instances_are_named_by_their_makers() {
    let model = Model::from_text("players", PLAYERS, &[]).unwrap();
    let mut names = BTreeSet::new();
    for seed in 0..30 {
        let mut machine = model.machine(Limits::default());
        let (schedule, _) = run_of(&model, &mut RandomWalk::new(), seed, &mut machine);
        names.extend((0..schedule.actors.len()).map(|a| schedule.actor_name(a as u32)));
    }
    for name in ["event Player#1.launch", "event Player#1.rotate", "event Player#1/Player#1.hide"] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
}

/// The callbacks of one instance are in order, and the thread beside them is not.
#[test]
fn a_firing_comes_after_what_has_let_it() {
    let model = Model::from_text("players", PLAYERS, &[]).unwrap();
    let mut all = Candidates::new();
    for seed in 0..60 {
        let mut hybrid = Hybrid::new();
        run(&mut model.machine(Limits::default()), &mut RandomWalk::new(), seed, &mut hybrid, &AtomicBool::new(false));
        all.add(seed, hybrid.finish());
    }
    let label = |site: SiteId| model.program.sites[site].label.clone().unwrap_or_default();
    let pairs: BTreeSet<[String; 2]> = all.iter().map(|c| [label(c.pair.a), label(c.pair.b)]).collect();
    assert!(pairs.iter().any(|pair| pair.contains(&"beside".to_owned())), "{pairs:?}");
    assert!(pairs.iter().all(|pair| pair.contains(&"beside".to_owned())), "{pairs:?}");
}

/// Signs that blink when a bell rings, in windows that come and go twice. `LIT` is the state that says whether the
/// window is open: kept there by the kind of the signs, or written by hand in the kind of the windows.
const SIGNS: &str = "looper main
kind bell { single; callback rung; stage there; verb ring { rung() } }
kind window {
    callback open, close
    stage fresh, shown, gone
    HAS
    verb show makes { ask appear() }
    appear: fresh | gone -> shown by request { open() AFTER }
    leave: shown -> gone at most 1 { BEFORE close() }
    verb again_shown { ask appear() }
}
kind sign {
    callback blink(n)
    stage there
    FOLLOWS
    follows bell: rung -> hear
    verb add makes { }
    task none() { }
    task hear() { if host.lit > 0 { blink(host.lit) } }
}
bell Door on main { }
window Main on main {
    on open { add Left; add Right }
    on close { skip }
    task look() { ring Door }
}
sign Left of Door in Main { on blink(n) { seen = seen * 10 + n } }
sign Right of Door in Main { on blink(n) { seen = seen * 10 + 5 + n } }
var seen = 0
thread visitor {
    let first = show Main
    let second = show Main
    again_shown first
    post first.look() to main
}
";

/// A state that a kind keeps in the kind that it follows is what a state of that kind would be, whose text assigns it.
#[test]
fn a_kept_state_is_a_state_of_the_host() {
    let text = |parts: [&str; 4]| {
        let all = ["HAS", "AFTER", "BEFORE", "FOLLOWS"].into_iter().zip(parts);
        all.fold(SIGNS.to_owned(), |text, (name, part)| text.replace(name, part))
    };
    let kept = "state window.lit = 0\n    follows window: open -> lit = 1, before close -> lit = 0";
    let kept = text(["", "", "", kept]);
    let by_hand = text(["state lit = 0", "; lit = 1", "lit = 0;", "follows window: open -> none"]);
    let found = [kept, by_hand].map(|text| {
        let model = Model::from_text("signs", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let plan = SearchPlan { observe: words(&model.program), ..SearchPlan::new(&model) };
        let found = search(&plan);
        assert!(found.complete());
        let end = |end: &_| format!("{end:?}");
        let ends: Vec<(String, u64)> = found.ends.iter().map(|(e, way)| (end(&e.ended), way.steps)).collect();
        (found.states, found.transitions, ends)
    });
    assert!(found[0].2.len() > 2, "{:?}", found[0]);
    assert_eq!(found[0], found[1]);
}
