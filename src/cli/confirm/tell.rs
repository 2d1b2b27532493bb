//! Prints the result of a campaign as text.

use super::super::campaign::{access, failure, kinds, name, pair, potential};
use super::super::check::counted;
use super::super::load::Model;
use super::super::output::{BAD, BOLD, GOOD, ODD, Output, paint};
use super::super::timeline::{self, View};
use super::super::{Refusal, again};
use crate::base::{at_most, interval};
use crate::campaign::{
    self, Confirmation, Evidence, FailureReport, First, Never, OrderReport, PairReport, Refutation, SEARCHED,
    Undecided, Verdict, WayReport, same_failure,
};
use crate::detect::Rank;
use crate::event::SiteId;
use crate::formats::failing::stalls;
use crate::formats::harms::{Hurts, hurts, often};
use crate::formats::report::words;
use crate::formats::timeline::Marks;
use std::collections::BTreeSet;

// Failure that is not the harm of one order: its report, the kind of its runs, and the pairs that have it with some
// order.
type Apart<'f> = (&'f FailureReport, &'static str, Vec<&'f PairReport>);

// Returns each failure that is not the harm of one order, once. `formats::report::findings` groups failures in the same
// way.
pub(super) fn failures(found: &Confirmation) -> Vec<Apart<'_>> {
    let told = || {
        // Of order pairs only the harmful ones are printed.
        let orders = found.orders.iter().filter(|p| !p.hurts().is_empty());
        found.pairs.iter().chain(orders).filter(|p| p.verdict.confirmed())
    };
    let harms: BTreeSet<String> = told().flat_map(PairReport::hurts).map(|(_, g)| same_failure(&g.signature)).collect();
    let hurts = |f: &FailureReport| harms.contains(&same_failure(&f.signature));
    let detection = found.phase1.failures.iter().map(|f| (f, "detection run"));
    let trials = found.unexplained.iter().map(|f| (f, "trial"));
    let orders = told().flat_map(|p| &p.orders).flat_map(|o| &o.failures).map(|f| (f, "run"));
    let mut known = BTreeSet::new();
    let once =
        detection.chain(trials).chain(orders).filter(|(f, _)| !hurts(f) && known.insert(same_failure(&f.signature)));
    let has = |p: &&PairReport, f: &FailureReport| {
        p.orders.iter().flat_map(|o| &o.failures).any(|g| same_failure(&g.signature) == same_failure(&f.signature))
    };
    once.map(|(f, runs)| (f, runs, told().filter(|p| has(p, f)).collect())).collect()
}

pub(super) struct Told<'t> {
    pub(super) model: &'t Model,
    pub(super) plan: &'t campaign::Plan,
    pub(super) timeline: bool,
    /// Whether only the head and the summary are printed.
    pub(super) quiet: bool,
    pub(super) out: &'t mut Output,
}

impl Told<'_> {
    pub(super) fn all(&mut self, found: &Confirmation) -> Result<(), Refusal> {
        potential(self.out, &self.plan.detectors, &found.phase1);
        self.livelocks(found);
        let others = failures(found);
        if !self.quiet {
            let mut leads: Vec<&PairReport> = Vec::new();
            // A user who names an order pair wants its result, even if it does no harm.
            let named = self.plan.pairs.is_some();
            let orders = found.orders.iter().filter(|p| named || !p.hurts().is_empty());
            for pair in found.pairs.iter().chain(orders) {
                writeln!(self.out);
                match leads.iter().find(|lead| shows_the_same(pair, lead)) {
                    Some(lead) => self.same(found, pair, lead),
                    None => self.pair(found, pair)?,
                }
                if !pair.hurts().is_empty() {
                    leads.push(pair);
                }
            }
            self.apart(&others)?;
            writeln!(self.out);
        }
        self.summary(found, others.len());
        Ok(())
    }

    // Prints the failures that are not the harm of one order.
    fn apart(&mut self, others: &[Apart<'_>]) -> Result<(), Refusal> {
        if others.is_empty() {
            return Ok(());
        }
        writeln!(self.out);
        writeln!(self.out, "{} that no pair's order explains:", counted(others.len() as u64, "failure"));
        for (other, runs, pairs) in others {
            let stall = stall(other);
            let text = failure(self.model, other);
            writeln!(self.out, "  {}, {}{stall}", paint(BAD, text), counted(u64::from(other.runs), runs));
            for p in pairs {
                writeln!(self.out, "    whatever the order of {}", pair(self.model, p.pair));
            }
            self.again(&other.evidence);
            self.told(&other.evidence, &[])?;
        }
        Ok(())
    }

    fn livelocks(&mut self, found: &Confirmation) {
        for endless in found.livelocks.iter().flatten() {
            let verb = if endless.threads.len() == 1 { "comes" } else { "come" };
            let text = format!("possible livelock: {} never {verb} to an end", endless.threads.join(", "));
            writeln!(self.out, "{}", paint(ODD, text));
            if !self.quiet {
                let evidence = &endless.evidence;
                // The token has the limit at which its run is cut off.
                for command in again::replay(self.model, &evidence.token, &evidence.strategy, 0, &self.plan.limits) {
                    writeln!(self.out, "    {command}");
                }
            }
        }
    }

    // Prints a pair that shows only failures that another pair has already shown, with a reference to that pair.
    fn same(&mut self, found: &Confirmation, report: &PairReport, lead: &PairReport) {
        self.head(report);
        self.out.prose(format_args!("  {}; {}", seen(report), self.proof(found, report)));
        self.out.prose(format_args!("  {}", self.harm(report)));
        writeln!(self.out, "  the same failure as with {}: its runs are there", pair(self.model, lead.pair));
    }

    // Prints the verdict, the location, the statements, and where these are in the real program.
    fn head(&mut self, report: &PairReport) {
        let verdict = match &report.verdict {
            v if v.confirmed() && !report.hurts().is_empty() => paint(BAD, "HARMFUL"),
            v if v.confirmed() => paint(ODD, "REAL"),
            v if v.refuted() => paint(GOOD, "REFUTED"),
            _ => paint(ODD, "UNCONFIRMED"),
        };
        let order = if report.rank == Rank::Order { " order" } else { "" };
        writeln!(self.out, "{verdict}{order}  {}  {}", paint(BOLD, &report.place), pair(self.model, report.pair));
        let from = |site: SiteId| self.model.code.setup.sites[site].from.as_deref();
        let side = |site| from(site).map_or_else(|| access(self.model, site), str::to_owned);
        if from(report.pair.a).or(from(report.pair.b)).is_some() {
            let (a, b) = (side(report.pair.a), side(report.pair.b));
            writeln!(self.out, "  {}", paint(BOLD, format_args!("{a} ~ {b}")));
        }
    }

    fn pair(&mut self, found: &Confirmation, report: &PairReport) -> Result<(), Refusal> {
        self.head(report);
        self.out.prose(format_args!("  {}; {}", seen(report), self.proof(found, report)));
        for order in &report.orders {
            if order.runs > 0 {
                self.order(report, order)?;
            }
        }
        let runs = if report.verdict.confirmed() { "run" } else { "trial" };
        if report.undecided > 0 && !report.verdict.refuted() {
            writeln!(self.out, "  in {} neither order was seen", counted(u64::from(report.undecided), runs));
        }
        if report.limits > 0 {
            writeln!(self.out, "  {} came to a limit", counted(u64::from(report.limits), "trial"));
        }
        if report.verdict.confirmed() {
            self.out.prose(format_args!("  {}", self.harm(report)));
        }
        self.harm_of_others(found, report);
        Ok(())
    }

    // Prints the failures of this pair that are the harm of another one, which is the one to fix.
    fn harm_of_others(&mut self, found: &Confirmation, report: &PairReport) {
        let mut told = BTreeSet::new();
        for f in report.orders.iter().flat_map(|o| &o.failures) {
            let hurts = |p: &&PairReport| p.hurts().iter().any(|(_, g)| g.signature == f.signature);
            if hurts(&report) || !told.insert(&f.signature) {
                continue;
            }
            if let Some(other) = found.pairs.iter().chain(&found.orders).find(hurts) {
                let (text, other) = (failure(self.model, f), pair(self.model, other.pair));
                writeln!(self.out, "  the same failure as the harm of the HARMFUL pair {other}: {text}");
            }
        }
    }

    // Describes the result of the comparison of both orders.
    fn harm(&self, report: &PairReport) -> String {
        let unseen = report.orders.iter().find(|o| o.runs == 0).map(|o| self.side(report, o.first));
        match (report.hurts().as_slice(), unseen) {
            ([], _) if !report.complete => words::INTERRUPTED.to_owned(),
            ([], Some(side)) => format!("no run took {side} first: there is nothing to compare"),
            ([], None) if report.fails_either_way() => {
                let shown = report.orders.iter().all(|o| o.failed() > 0);
                let by = if shown { "" } else { ", as a search of what follows shows" };
                let mut each = vec![format!("fails either way{by}")];
                for more in &report.more_often {
                    let mut all = report.orders.iter().flat_map(|o| &o.failures);
                    let text = all.find(|f| f.signature == more.signature).map(|f| failure(self.model, f));
                    let how = words::often(&often(more), &self.side(report, more.first));
                    each.push(format!("{} {how}", text.unwrap_or_default()));
                }
                each.join("; ")
            }
            ([], None) if report.orders.iter().any(|o| o.failed() > 0) => {
                "too few runs of the other order to say that it does not fail so".to_owned()
            }
            ([], None) => paint(GOOD, "no failure was seen in either order"),
            (all, _) => {
                let one = |((first, f), hurts): (&(First, &FailureReport), Hurts)| {
                    let (text, side) = (failure(self.model, f), self.side(report, *first));
                    format!("{text} with {side} first ({})", words::claim(&hurts))
                };
                let each: Vec<String> = all.iter().zip(hurts(report)).map(one).collect();
                format!(
                    "{}, and not in the other order from the same state: {}",
                    paint(BAD, "it hurts"),
                    each.join("; ")
                )
            }
        }
    }

    // Describes the proof of the verdict.
    fn proof(&self, found: &Confirmation, report: &PairReport) -> String {
        let trials = counted(u64::from(report.trials), "trial");
        // A search has found the runs that prove it, and no trial.
        let searched = report.proof.iter().any(|run| run.strategy == SEARCHED);
        let all = || found.searched.map_or(0, |s| s.states);
        match &report.verdict {
            Verdict::Adjacent => match report.best_way() {
                Some(way) => format!("side by side in {}", rate(way)),
                None if searched => format!("side by side, by a search of all {}", counted(all(), "state")),
                None => format!("side by side in {} of {trials}", report.adjacent),
            },
            Verdict::Flipped(flip) => {
                let by = match report.best_way() {
                    Some(way) => format!("brought about in {}", rate(way)),
                    None if searched => format!("by a search of all {}", counted(all(), "state")),
                    None if report.trials == 0 => "in the runs of detection".to_owned(),
                    None => format!("in {trials}"),
                };
                match flip.cut {
                    None => format!("the same two accesses in both orders, {by}"),
                    Some(first) => format!(
                        "both orders, {by} (with {} first, the other access was never reached)",
                        self.side(report, first)
                    ),
                }
            }
            Verdict::Refuted(Refutation { states, never }) => {
                let never = match *never {
                    Never::Order { first, then } if first == then => {
                        "never in two threads or tasks on the same memory".to_owned()
                    }
                    Never::Order { first, then } => {
                        let (first, then) = (name(self.model, first), name(self.model, then));
                        format!("never side by side, and never {first} before {then}")
                    }
                    Never::Turned => "never side by side, and no two instances in both orders".to_owned(),
                };
                format!("{never}, in all {}", counted(*states, "state"))
            }
            Verdict::Unconfirmed => self.unconfirmed(found, report),
        }
    }

    // Describes what was tried without success.
    fn unconfirmed(&self, found: &Confirmation, report: &PairReport) -> String {
        let states = found.searched.map_or(0, |s| s.states);
        let searched = match report.undecided_by_search {
            Some(Undecided::BothOrders) => {
                let all = counted(states, "state");
                format!("both orders happen, but not of the same two accesses that were found, in all {all}")
            }
            Some(Undecided::CutOff) => {
                let all = counted(states, "state");
                format!(
                    "one order never happens in all {all}, but a run ended after the other access that may have cut it off"
                )
            }
            Some(Undecided::Cut) if found.searched.is_some_and(|s| s.complete) => {
                "its orders have too many states, so it is not refuted".to_owned()
            }
            Some(Undecided::Cut) => format!("there are more than {states} states, so it is not refuted"),
            None => "no search was asked for".to_owned(),
        };
        let bound = match report.reached {
            0 => "none reached both".to_owned(),
            n => format!("{n} reached both, so p <= {:.2}", at_most(n)),
        };
        match report.trials {
            0 => format!("no trial was made; {searched}"),
            n => {
                let trials = counted(u64::from(n), "trial");
                format!("never side by side and never in both orders, in {trials} ({bound}); {searched}")
            }
        }
    }

    fn order(&mut self, report: &PairReport, order: &OrderReport) -> Result<(), Refusal> {
        let never = words::never_reached(order.cut_off, order.runs, || self.side(report, order.first.other()));
        let head = format!(
            "  {} first: {}{never}",
            self.side(report, order.first),
            counted(u64::from(order.runs), if report.verdict.confirmed() { "run" } else { "trial" })
        );
        if order.failures.is_empty() {
            writeln!(self.out, "{head}, none fails");
        }
        for f in &order.failures {
            let text = paint(BAD, failure(self.model, f));
            let verb = if f.runs == 1 { "fails" } else { "fail" };
            writeln!(self.out, "{head}, {} {verb}: {text}{}", f.runs, stall(f));
            self.again(&f.evidence);
            self.told(&f.evidence, &[report.pair.a, report.pair.b])?;
        }
        if let (Some(passes), true) = (&order.passes, order.failures.is_empty()) {
            self.again(passes);
        }
        Ok(())
    }

    // Prints the timeline of the run, if the user asked for timelines.
    fn told(&mut self, evidence: &Evidence, pair: &[SiteId]) -> Result<(), Refusal> {
        if !self.timeline {
            return Ok(());
        }
        let marks = Marks { sites: pair.iter().copied().collect(), ..Marks::default() };
        writeln!(self.out);
        timeline::print_token(self.out, self.model, &evidence.token, marks, &View::default())?;
        writeln!(self.out);
        Ok(())
    }

    // Name of the statement of the pair that comes first.
    fn side(&self, report: &PairReport, first: First) -> String {
        let site = if first == First::A { report.pair.a } else { report.pair.b };
        if report.pair.a != report.pair.b {
            let label = |s| self.model.code.setup.sites[s].label.clone();
            // The label is enough if it distinguishes the two statements.
            return match label(site) {
                Some(own) if label(report.pair.a) != label(report.pair.b) => format!("@{own}"),
                _ => name(self.model, site),
            };
        }
        // If both are one statement, its instances differ in the thread or task that performs them.
        match (&report.verdict, first) {
            (Verdict::Flipped(flip), First::A) => flip.instances.a.context.clone(),
            (Verdict::Flipped(flip), First::B) => flip.instances.b.context.clone(),
            (_, First::A) => "one instance".to_owned(),
            (_, First::B) => "the other instance".to_owned(),
        }
    }

    fn again(&mut self, evidence: &Evidence) {
        let Evidence { strategy, seed, token } = evidence;
        for command in again::replay(self.model, token, strategy, *seed, &self.plan.limits) {
            writeln!(self.out, "    {command}");
        }
    }

    fn summary(&mut self, found: &Confirmation, apart: usize) {
        let confirmed = found.pairs.iter().filter(|p| p.verdict.confirmed());
        let hurt = confirmed.clone().filter(|p| !p.hurts().is_empty()).count();
        let refuted = found.pairs.iter().filter(|p| p.verdict.refuted()).count();
        let (all, real) = (found.pairs.len(), confirmed.count());
        let pairs = counted(all as u64, "pair");
        let rest = all - real - refuted;
        writeln!(self.out, "{pairs}: {hurt} harmful, {} real, {refuted} refuted, {rest} unconfirmed", real - hurt);
        if !found.orders.is_empty() {
            let hurt = found.orders.iter().filter(|p| !p.hurts().is_empty()).count();
            let flipped = found.orders.iter().filter(|p| p.verdict.confirmed()).count() - hurt;
            let all = counted(found.orders.len() as u64, "order pair");
            let refuted = found.orders.iter().filter(|p| p.verdict.refuted()).count();
            let rest = found.orders.len() - hurt - flipped - refuted;
            writeln!(self.out, "{all}: {hurt} harmful, {flipped} of no harm, {refuted} refuted, {rest} not flipped");
        }
        let all = found.pairs.iter().chain(&found.orders);
        let harms: BTreeSet<String> =
            all.flat_map(PairReport::hurts).map(|(_, f)| same_failure(&f.signature)).collect();
        let what = match (harms.len() as u64, apart as u64) {
            (0, 0) => return,
            (n, 0) => format!("{}: harm of one order", counted(n, "failure")),
            (0, n) => format!("{}: not the harm of one order", counted(n, "failure")),
            (n, m) => format!("{}: {n} the harm of one order, {m} not", counted(n + m, "failure")),
        };
        writeln!(self.out, "{}", paint(BAD, what));
    }
}

// Whether a pair shows the same failures as an earlier one. `formats::report::findings` groups pairs in the same way.
fn shows_the_same(pair: &PairReport, lead: &PairReport) -> bool {
    let ways = |p: &PairReport| p.hurts().iter().map(|(_, f)| same_failure(&f.signature)).collect::<BTreeSet<_>>();
    !pair.hurts().is_empty() && ways(pair) == ways(lead)
}

// Hit rate of the trials, with the confidence interval of its probability.
fn rate(way: &WayReport) -> String {
    let (low, high) = interval(way.hits, way.trials);
    let kind = way.strategy.split_once(':').map_or(way.strategy.as_str(), |(kind, _)| kind);
    let kind = if kind == "hold" { "held" } else { kind };
    format!("{} of {} {kind} trials ({low:.2}..{high:.2})", way.hits, way.trials)
}

fn stall(f: &FailureReport) -> String {
    stalls(Some(f.stall), f.stall)
}

// Contexts in which the pair was seen, or the remark that only a search has found it.
fn seen(report: &PairReport) -> String {
    if report.searched { "found by exhaustive search".to_owned() } else { kinds(&report.kinds) }
}
