//! Describes in words what detection found: accesses, pairs, contexts, and the residual risk.

use crate::base::counted;
use crate::campaign::{FailureReport, Phase1};
use crate::cli::io::load::Model;
use crate::cli::io::output::Output;
use crate::cli::run::outcome::limit_text;
use crate::detect::{ContextKind, DetectorId, Pair, UseFreeFilter};
use crate::event::SiteId;
use crate::formats::campaign::context;
use crate::formats::failure_place::ending;
use crate::formats::report::words;
use std::collections::{BTreeMap, BTreeSet};

/// Describes an access, as in `:34 write @A`.
pub(in crate::cli) fn access(model: &Model, site: SiteId) -> String {
    let s = &model.code.setup.sites[site];
    words::statement(s.line, s.kind.word(), s.label.as_deref())
}

/// Describes a pair, as in `:34 write @A ~ :40 read @B`.
pub(in crate::cli) fn pair(model: &Model, pair: Pair) -> String {
    format!("{} ~ {}", access(model, pair.a), access(model, pair.b))
}

/// Describes the contexts in which a pair was seen: "two threads", "two tasks of one looper".
pub(in crate::cli) fn kinds(kinds: &BTreeSet<ContextKind>) -> String {
    words::contexts(&kinds.iter().map(context).collect::<Vec<String>>())
}

/// Prints the result of detection in a line, with the residual risk: the probability that one more random walk shows a
/// pair that none has shown.
pub(in crate::cli) fn potential(out: &mut Output, detectors: &[DetectorId], found: &Phase1) {
    let pairs = counted(found.candidates.len() as u64, "potential pair");
    let runs = counted(u64::from(found.runs), "run");
    let risk = match found.coverage.risk {
        risk if risk.once > 0 => format!("{:.2}", risk.estimate()),
        risk => format!("below {:.2}", 1.0 / f64::from(risk.walks.max(1))),
    };
    let by = match detectors {
        [DetectorId::HYBRID] => "hybrid detection".to_owned(),
        all => all.iter().map(|by| by.name()).collect::<Vec<_>>().join(", "),
    };
    writeln!(out, "{pairs} from {runs} ({by}); residual risk {risk}");
    let searched = found.candidates.iter().filter(|c| c.by.contains(&DetectorId::SEARCH)).count();
    if let Some(all) = found.coverage.searched.filter(|all| all.complete && searched > 0) {
        writeln!(out, "{searched} of them found only by a search of all {}", counted(all.states, "state"));
    }
    filtered(out, found);
    left_out(out, found);
    limits(out, found);
}

/// Prints how many use-free races were filtered, and why.
fn filtered(out: &mut Output, found: &Phase1) {
    if found.filtered.is_empty() {
        return;
    }
    let mut reasons: BTreeMap<UseFreeFilter, u64> = BTreeMap::new();
    let filters = found.filtered.iter().flat_map(|pair| &pair.use_free).flat_map(|pair| &pair.filters);
    filters.for_each(|filter| *reasons.entry(*filter).or_default() += 1);
    let reasons: Vec<String> = reasons.iter().map(|(filter, n)| format!("{n} {}", filter.text())).collect();
    let pairs = counted(found.filtered.len() as u64, "use-free pair");
    writeln!(out, "{pairs} filtered: {} (`raceflip detect --guarded` shows them)", reasons.join(", "));
}

/// Prints the locations and so on of which some pairs are left out.
fn left_out(out: &mut Output, found: &Phase1) {
    const NAMED: usize = 3;
    let mut names: Vec<&str> = found.coverage.left_out.iter().take(NAMED).map(String::as_str).collect();
    let more = found.coverage.left_out.len().saturating_sub(NAMED);
    let others = format!("{more} more");
    if more > 0 {
        names.push(&others);
    }
    if !names.is_empty() {
        writeln!(
            out,
            "some pairs are left out, because there are too many: of {} (`--most-pairs` raises the limit)",
            names.join(", ")
        );
    }
}

/// Prints the limits that cut detection runs short.
fn limits(out: &mut Output, found: &Phase1) {
    for ((kind, limit), runs) in &found.coverage.limits {
        let (runs, all) = (counted(u64::from(*runs), "run"), found.runs);
        writeln!(out, "{runs} of {all} reached the {}", limit_text(*kind, *limit));
    }
}

/// Describes a failure in a line: `NullPointer at :40 in main`, `deadlock a -> b -> a`.
pub(in crate::cli) fn failure(model: &Model, report: &FailureReport) -> String {
    ending(model, &report.outcome).unwrap_or_else(|| report.signature.clone())
}
