//! Compares a search with stubborn sets with the search of all states of the same model.

use crate::agree::search;
use raceflip::event::Outcome;
use raceflip::exec::EndKind;
use raceflip::explore::{Bounds, RunChoices, SearchEnd, SearchPlan, SearchReport, Stubbornness};
use raceflip::lang::program::GlobalId;
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::collections::{BTreeMap, BTreeSet};

/// All ways to switch parts of the reduction off.
const WAYS: [Stubbornness; 4] = [
    Stubbornness { guards: true, proviso: true },
    Stubbornness { guards: false, proviso: true },
    Stubbornness { guards: true, proviso: false },
    Stubbornness { guards: false, proviso: false },
];

/// Sizes of the searches of a model.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    pub(crate) models: u64,
    /// States of the search of all states, and of the reduced one.
    pub(crate) all: u64,
    pub(crate) reduced: u64,
    /// Models in which states were left out.
    pub(crate) smaller: u64,
    /// Ends.
    pub(crate) ends: u64,
}

impl Sizes {
    pub(crate) fn add(&mut self, other: Self) {
        self.models += other.models;
        self.all += other.all;
        self.reduced += other.reduced;
        self.smaller += other.smaller;
        self.ends += other.ends;
    }
}

/// The kind of an end with its site, and the sites of the threads that are blocked, without values.
type Form = (EndKind, Vec<Option<raceflip::event::SiteId>>);

fn form(end: &SearchEnd) -> Form {
    (end.ended.kind.clone(), end.blocked.clone())
}

/// Returns whether nothing more can move where a run has ended.
fn is_last(model: &Model, way: &RunChoices) -> bool {
    let mut machine = model.machine(Limits::default());
    let mut rerun = raceflip::sched::Rerun::new(std::sync::Arc::new(way.choices.clone()));
    let stop = std::sync::atomic::AtomicBool::new(false);
    raceflip::exec::run(&mut machine, &mut rerun, 0, &mut raceflip::exec::NoObserver, &stop);
    let world = &machine.world;
    world.enabled().is_empty() && world.fireable().is_empty() && !world.clock_open()
}

/// Compares the ends of reduced searches of a model with those of the search of all its states. `None` if that has more
/// than `most` states.
pub(crate) fn compare_reduced(model: &Model, observe: BTreeSet<GlobalId>, most: u64) -> Option<Result<Sizes, String>> {
    let bounds = Bounds { states: most, ..Bounds::default() };
    let plan = SearchPlan { bounds, observe, ..SearchPlan::new(model) };
    let all = search(&plan);
    if !all.complete() {
        return None;
    }
    let mut sizes = Sizes { models: 1, all: all.states, ends: all.ends.len() as u64, ..Sizes::default() };
    for how in WAYS {
        let reduced = search(&SearchPlan { stubborn: Some(how), ..plan.clone() });
        if let Err(difference) = same_ends(model, &all, &reduced, how.proviso) {
            return Some(Err(format!("{how:?}: {difference}")));
        }
        if how == Stubbornness::default() {
            sizes.reduced = reduced.states;
            sizes.smaller = u64::from(reduced.states < all.states);
        }
    }
    Some(Ok(sizes))
}

// A run may stop at rest although daemons and events could go on. These ends have the same values, like those at which
// nothing can move. The values at other ends depend on what happened before that has nothing to do with them.
fn same_ends(model: &Model, all: &SearchReport, reduced: &SearchReport, proviso: bool) -> Result<(), String> {
    if !reduced.complete() {
        return Err(format!("cut by {:?}", reduced.cut));
    }
    let surplus: Vec<_> = reduced.ends.keys().filter(|end| !all.ends.contains_key(end)).collect();
    if !surplus.is_empty() {
        return Err(format!("too many: {surplus:?}"));
    }
    let is_whole = |(end, way): &(&SearchEnd, &RunChoices)| match way.outcome {
        Outcome::Ok | Outcome::Stuck { .. } => true,
        Outcome::Deadlock(_) => !reduced.ends.contains_key(end) && is_last(model, way),
        Outcome::Failure(_) | Outcome::Limit(..) => false,
    };
    let missing: Vec<_> =
        all.ends.iter().filter(is_whole).map(|(end, _)| end).filter(|end| !reduced.ends.contains_key(end)).collect();
    if !missing.is_empty() {
        return Err(format!("missing: {missing:?}"));
    }
    if proviso {
        let forms = |found: &SearchReport| found.ends.keys().map(form).collect::<BTreeSet<Form>>();
        let missing: Vec<_> = forms(all).difference(&forms(reduced)).cloned().collect();
        if missing.iter().any(|(kind, _)| !matches!(kind, EndKind::Limit(_))) {
            return Err(format!("missing without values: {missing:?}"));
        }
    }
    Ok(())
}

/// Compares the models of these seeds. Panics with some of those whose ends differ. `made` is a generator with its
/// name.
pub(crate) fn compare_models((name, made): (&str, fn(u64) -> String), seeds: std::ops::Range<u64>, most: u64) -> Sizes {
    let (mut sum, mut wrong) = (Sizes::default(), BTreeMap::new());
    for seed in seeds {
        let text = made(seed);
        let model = Model::from_text(&format!("{name} {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let compared =
            std::panic::catch_unwind(|| compare_reduced(&model, crate::stateless::words(&model.program), most));
        match compared {
            Ok(None) => {}
            Ok(Some(Ok(sizes))) => sum.add(sizes),
            Ok(Some(Err(difference))) => _ = wrong.insert(seed, format!("{name} {seed}: {difference}\n{text}")),
            Err(_) => _ = wrong.insert(seed, format!("{name} {seed}: panics\n{text}")),
        }
    }
    println!("{name}: {sum:?}");
    let texts: Vec<&str> = wrong.values().take(3).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} models differ: {:?}\n{}", wrong.len(), wrong.keys(), texts.join("\n"));
    sum
}
