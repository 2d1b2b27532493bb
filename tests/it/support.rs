//! What tests of models share: a model is compiled, run under many seeded random walks, and its outcomes are compared with what it expects.

use raceflip::event::{FailureKind, LimitKind, Outcome, SiteId};
use raceflip::exec::{Unobserved, run};
use raceflip::lang::program::{
    EndValue, Expectation, ExpectationKind, FailureRef, Global, GlobalId, OutcomeRef, OutcomeRefKind, SiteRef, Type,
};
use raceflip::lang::{Program, Source, check, parse, render};
use raceflip::sched::RandomWalk;
use raceflip::vm::{Vm, compile};
use raceflip::world::{Limits, Machine, Memory, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a run ended, as far as expectations can tell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Ok,
    Stuck,
    Deadlock,
    Failure { kind: FailureKind, name: String, message: String, site: Option<SiteId> },
    Limit(LimitKind),
}

impl Kind {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Stuck { .. } => Self::Stuck,
            Outcome::Deadlock(_) => Self::Deadlock,
            Outcome::Limit(limit, _) => Self::Limit(*limit),
            Outcome::Failure(f) => {
                Self::Failure { kind: f.kind, name: f.name.clone(), message: f.message.clone(), site: f.site }
            }
        }
    }

    /// `ok`, `stuck`, `deadlock`, the name of the exception or property, or the message of the assert or fail.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Ok => "ok".into(),
            Self::Stuck => "stuck".into(),
            Self::Deadlock => "deadlock".into(),
            Self::Failure { name, message, .. } if name.is_empty() => message.clone(),
            Self::Failure { name, .. } => name.clone(),
            Self::Limit(limit) => format!("limit {}", limit.option()),
        }
    }

    fn fails_as(&self, what: Option<&FailureRef>, at: Option<&SiteRef>) -> bool {
        let Self::Failure { name, message, site, .. } = self else { return false };
        let named = match what {
            None => true,
            Some(FailureRef::Message(wanted)) => wanted == message,
            Some(FailureRef::Name(wanted)) => wanted == name,
        };
        named && at.is_none_or(|at| site.is_some_and(|site| at.sites.contains(&site)))
    }
}

/// The end of a run: its kind, and the end values of the variables that expectations name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ended {
    pub(crate) kind: Kind,
    pub(crate) values: BTreeMap<GlobalId, EndValue>,
}

/// A model out of the repository, by its path from the top.
pub(crate) fn read(path: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The paths of the `.race` files of a folder, sorted, from the top of the repository.
pub(crate) fn models(folder: &str) -> Vec<String> {
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let names = fs::read_dir(at).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<String> = names.filter(|n| n.ends_with(".race")).map(|n| format!("{folder}/{n}")).collect();
    paths.sort();
    paths
}

/// The checked program of a text, or what is wrong with it, rendered.
pub(crate) fn program(name: &str, text: &str, defines: &[(&str, i64)]) -> Result<Program, String> {
    let source = Source::new(name, text).map_err(|e| e.to_string())?;
    let file = parse(&source).map_err(|e| render(&source, &e, false))?;
    let defines: Vec<(String, i64)> = defines.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    check(&file, &source, &defines).map_err(|e| {
        let wrong: Vec<String> = e.defines.iter().map(|d| format!("{d}\n")).collect();
        wrong.concat() + &render(&source, &e.diagnostics, false)
    })
}

/// The variables that `expect outcomes of` lines name.
pub(crate) fn named(program: &Program) -> BTreeSet<GlobalId> {
    let of = program.expectations.iter().filter_map(|e| match &e.kind {
        ExpectationKind::Outcomes { of, .. } => Some(of),
        _ => None,
    });
    of.flatten().copied().collect()
}

/// Random walks with the seeds `0..seeds`: every end that was seen, with how often.
pub(crate) fn walk(program: &Program, of: &BTreeSet<GlobalId>, seeds: u64) -> BTreeMap<Ended, u64> {
    let code = Arc::new(compile(program).unwrap_or_else(|e| panic!("{e}")));
    let mut machine = Machine::new(Vm::new(code), Limits::default());
    let (mut strategy, go_on) = (RandomWalk::new(), AtomicBool::new(false));
    let mut ends = BTreeMap::new();
    for seed in 0..seeds {
        let summary = run(&mut machine, &mut strategy, seed, &mut Unobserved, &go_on);
        let outcome = summary.outcome().expect("a random walk comes to an end");
        *ends.entry(end(program, of, outcome, &machine.world)).or_insert(0) += 1;
    }
    ends
}

/// The end of a run that came to this outcome.
pub(crate) fn end(program: &Program, of: &BTreeSet<GlobalId>, outcome: &Outcome, world: &World) -> Ended {
    let values = of.iter().map(|id| (*id, end_value(&program.globals[*id], world.memory()))).collect();
    Ended { kind: Kind::of(outcome), values }
}

/// What a variable holds: a word, the elements of a list, or the cells of an array of words in order.
fn end_value(global: &Global, memory: &Memory) -> EndValue {
    match &global.ty {
        Type::List(_) => EndValue::List(memory.list(memory.list_in(global.offset)).items.clone()),
        Type::Array(..) => {
            EndValue::List((global.offset..global.offset + global.cells).map(|cell| memory.cell(cell)).collect())
        }
        _ => EndValue::Word(memory.cell(global.offset)),
    }
}

/// What is wrong with an expectation about outcomes, given all that was seen; `None` if it holds, or if it is about something else.
pub(crate) fn disappointed(expectation: &Expectation, ends: &BTreeMap<Ended, u64>) -> Option<String> {
    let seen = |wanted: &dyn Fn(&Kind) -> bool| ends.keys().any(|e| wanted(&e.kind));
    let holds = match &expectation.kind {
        ExpectationKind::Failure { no, what, site } => seen(&|kind| kind.fails_as(what.as_ref(), site.as_ref())) != *no,
        ExpectationKind::Deadlock { no } => seen(&|kind| *kind == Kind::Deadlock) != *no,
        ExpectationKind::Stuck { no } => seen(&|kind| *kind == Kind::Stuck) != *no,
        ExpectationKind::Outcomes { of, outcomes } => {
            let missing = outcomes.iter().any(|o| !ends.keys().any(|end| matches(o, of, end)));
            let surplus = ends.keys().any(|end| !outcomes.iter().any(|o| matches(o, of, end)));
            !missing && !surplus
        }
        _ => true,
    };
    (!holds).then(|| format!("line {}: `{}`, but seen: {}", expectation.line, expectation.text, text(ends)))
}

/// Whether an end is the one that is expected.
fn matches(expected: &OutcomeRef, of: &[GlobalId], end: &Ended) -> bool {
    let kind = match &expected.kind {
        OutcomeRefKind::Ok => end.kind == Kind::Ok,
        OutcomeRefKind::Deadlock => end.kind == Kind::Deadlock,
        OutcomeRefKind::Stuck => end.kind == Kind::Stuck,
        OutcomeRefKind::Failure(what) => end.kind.fails_as(Some(what), None),
    };
    kind && expected.values.as_ref().is_none_or(|v| of.iter().zip(v).all(|(id, v)| end.values[id] == *v))
}

/// The ends on one line, with how often each was seen.
pub(crate) fn text(ends: &BTreeMap<Ended, u64>) -> String {
    let mut short: BTreeMap<String, u64> = BTreeMap::new();
    for (end, times) in ends {
        let values: Vec<String> = end
            .values
            .values()
            .map(|v| match v {
                EndValue::Word(word) => word.to_string(),
                EndValue::List(words) => format!("{words:?}"),
            })
            .collect();
        *short.entry(format!("{} {}", end.kind.word(), values.join(" ")).trim_end().to_owned()).or_insert(0) += times;
    }
    short.iter().map(|(end, times)| format!("{end} ({times})")).collect::<Vec<_>>().join(", ")
}
