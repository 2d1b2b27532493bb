//! `raceflip confirm`: which potential pairs are real, which hurt, and how to see it again.

use super::args::Format;
use super::campaign::{Bar, CampaignArgs, failure, kinds, name, number_of_runs, pair, potential};
use super::check::counted;
use super::exit::Status;
use super::load::Model;
use super::output::{BAD, BOLD, GOOD, ODD, Output, paint};
use super::timeline::{self, View};
use super::{Context, Refusal, again, files, interrupt, listed};
use crate::base::{at_most, interval};
use crate::campaign::{
    self, Confirmation, Evidence, Explore, FailureReport, First, OrderReport, PairReport, Searched, Verdict, WayReport,
};
use crate::detect::Rank;
use crate::event::SiteId;
use crate::formats::campaign::ConfirmReport;
use crate::formats::timeline::Marks;
use clap::ValueEnum;
use std::path::PathBuf;

const ABOUT: &str = "\
Detects potential pairs, drives the scheduler at each, and prints which are real, which hurt, which are false, and a token for each order.

Two threads are driven by RaceFuzzer's directed scheduler until both statements are about to be performed at once. Where that cannot be (two tasks of \
one looper, or a post that would have to wait), one of them is held until the other has been performed: the same two accesses, in both orders, in two runs. \
Then both orders are continued with the same seeds from the point where the pair is decided.

  HARMFUL      confirmed, and some failure comes with one order and not with the other
  REAL         confirmed; either order fails in the same ways, or none does
  REFUTED      false: never side by side, and one order never, in all states there are
  UNCONFIRMED  none of these: it may be false, or too rare for so many trials";

const AFTER: &str = "\
Examples:
  raceflip confirm app.race
  raceflip confirm app.race -D FIXED=1          does the repair hold?
  raceflip confirm app.race --trials 1000 --jobs 8
  raceflip confirm app.race --pair '@check~@destroy'
  raceflip confirm app.race --pairs pairs.json  pairs of `raceflip detect --out pairs.json`, or of another tool
  raceflip confirm app.race --explore only      no trials: all states, for all pairs
  raceflip confirm app.race --format json | jq '.pairs[] | select(.harm == \"harmful\")'

Exit status:
  0    no pair was confirmed, and nothing failed
  1    a pair was confirmed, or a run failed
  2    bad input or usage
  130  interrupted; what is known by then is printed";

/// Confirm races: which are real, which hurt, and how to see it again
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(super) struct Args {
    /// Trials of each pair, for each kind of driving it
    #[arg(long, value_name = "N", default_value_t = campaign::Plan::TRIALS, value_parser = number_of_runs())]
    trials: u32,
    /// Drive the pairs of this list instead of those that detection finds: `raceflip-pairs` JSON, or lines `SITE SITE`
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Drive this pair: SITE~SITE, as in `@a~@b`; may be given more than once
    #[arg(long = "pair", value_name = "PAIR")]
    pair: Vec<String>,
    /// Write the result to this file as well, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Whether pairs are searched for in all states
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    explore: ExploreArg,
    /// States that are searched at most
    #[arg(long, value_name = "STATES", default_value_t = campaign::Plan::STATES)]
    explore_limit: u64,
    /// Drive no order pairs: two acquisitions of a lock, a post and a cancel ..., which are no races but may hurt
    #[arg(long)]
    no_orders: bool,
    /// Print the timeline of each failing run that is shown, with the statements of its pair marked
    #[arg(long)]
    timeline: bool,
    #[command(flatten)]
    campaign: CampaignArgs,
}

/// `--explore`
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ExploreArg {
    /// Pairs that no run confirms, if there are not too many states
    #[default]
    Auto,
    /// Nothing: no pair is refuted
    Off,
    /// All pairs, and no trials are made
    Only,
}

impl From<ExploreArg> for Explore {
    fn from(explore: ExploreArg) -> Self {
        match explore {
            ExploreArg::Auto => Explore::Auto,
            ExploreArg::Off => Explore::Off,
            ExploreArg::Only => Explore::Only,
        }
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    let (model, plan) = args.campaign.resolve(args.trials, context)?;
    let pairs = listed::pairs(args.pairs.as_deref(), &args.pair, &model, &mut context.out)?;
    let plan = campaign::Plan {
        pairs,
        orders: !args.no_orders,
        explore: args.explore.into(),
        states: args.explore_limit,
        ..plan
    };
    if let Some(path) = &args.out {
        files::may_write(path)?;
    }
    let bar = Bar::new("run");
    let stop = interrupt::install();
    let found = campaign::confirm(&plan, campaign::Context { stop: &stop, progress: &bar });
    bar.finish();
    let out = &mut context.out;
    let report = || ConfirmReport::new(model.name(), model.digest(), &plan, &found).to_json();
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", report()))?;
    }
    if args.campaign.format == Format::Json {
        writeln!(out, "{}", report());
    } else {
        Told { model: &model, plan: &plan, timeline: args.timeline, out: &mut *out }.all(&found)?;
    }
    if !found.complete() {
        let (done, all) = (found.pairs.len(), found.phase1.candidates.len());
        if done == 0 {
            out.note(format_args!(
                "interrupted after {} of {} detection runs; no pair was driven",
                found.phase1.runs, plan.runs
            ));
        } else {
            out.note(format_args!("interrupted: {done} of {all} pairs were driven, the last of them not to its end"));
        }
        return Ok(Status::Interrupted);
    }
    let harmless = found.orders.iter().all(|p| p.hurts().is_empty());
    let nothing = found.pairs.iter().all(|p| !p.verdict.confirmed()) && harmless && failures(&found).is_empty();
    Ok(if nothing { Status::Nothing } else { Status::Found })
}

// Failures of all runs that no confirmed pair's order explains.
fn failures(found: &Confirmation) -> Vec<(&FailureReport, &'static str)> {
    let explained = |f: &FailureReport| {
        found
            .pairs
            .iter()
            .chain(&found.orders)
            .filter(|p| p.verdict.confirmed())
            .flat_map(|p| &p.orders)
            .flat_map(|o| &o.failures)
            .any(|g| g.signature == f.signature)
    };
    let detection = found.phase1.failures.iter().map(|f| (f, "detection run"));
    let trials = found.unexplained.iter().map(|f| (f, "trial"));
    detection.chain(trials).filter(|(f, _)| !explained(f)).collect()
}

struct Told<'t> {
    model: &'t Model,
    plan: &'t campaign::Plan,
    timeline: bool,
    out: &'t mut Output,
}

impl Told<'_> {
    fn all(&mut self, found: &Confirmation) -> Result<(), Refusal> {
        potential(self.out, &found.phase1);
        for pair in &found.pairs {
            writeln!(self.out);
            self.pair(found, pair)?;
        }
        for pair in found.orders.iter().filter(|p| !p.hurts().is_empty()) {
            writeln!(self.out);
            self.pair(found, pair)?;
        }
        let others = failures(found);
        if !others.is_empty() {
            writeln!(self.out);
            writeln!(self.out, "{} that no confirmed pair explains:", counted(others.len() as u64, "failure"));
            for (other, runs) in others {
                let stall = stall(other);
                let text = failure(self.model, other);
                writeln!(self.out, "  {}, {}{stall}", paint(BAD, text), counted(u64::from(other.runs), runs));
                self.again(&other.evidence);
                self.told(&other.evidence, &[])?;
            }
        }
        writeln!(self.out);
        self.summary(found);
        Ok(())
    }

    fn pair(&mut self, found: &Confirmation, report: &PairReport) -> Result<(), Refusal> {
        let verdict = match &report.verdict {
            v if v.confirmed() && !report.hurts().is_empty() => paint(BAD, "HARMFUL"),
            v if v.confirmed() => paint(ODD, "REAL"),
            v if v.refuted() => paint(GOOD, "REFUTED"),
            _ => paint(ODD, "UNCONFIRMED"),
        };
        let order = if report.rank == Rank::Order { " order" } else { "" };
        writeln!(self.out, "{verdict}{order}  {}  {}", paint(BOLD, &report.place), pair(self.model, report.pair));
        writeln!(self.out, "  {}; {}", kinds(&report.kinds), self.proof(found, report));
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
            writeln!(self.out, "  {}", self.harm(report));
        }
        Ok(())
    }

    // What the orders come to, in words.
    fn harm(&self, report: &PairReport) -> String {
        let unseen = report.orders.iter().find(|o| o.runs == 0).map(|o| self.side(report, o.first));
        match (report.hurts().as_slice(), unseen) {
            ([], Some(side)) => format!("no run took {side} first: there is nothing to compare"),
            ([], None) if report.orders.iter().any(|o| o.failed() > 0) => "fails either way".to_owned(),
            ([], None) => paint(GOOD, "no failure was seen in either order"),
            (all, _) => {
                let each: Vec<String> = all
                    .iter()
                    .map(|(first, f)| format!("{} with {} first", failure(self.model, f), self.side(report, *first)))
                    .collect();
                format!(
                    "{}, and not in the other order from the same state: {}",
                    paint(BAD, "it hurts"),
                    each.join("; ")
                )
            }
        }
    }

    // What was proved, in words.
    fn proof(&self, found: &Confirmation, report: &PairReport) -> String {
        let trials = counted(u64::from(report.trials), "trial");
        let all = || found.searched.map_or(0, |s| s.states);
        match &report.verdict {
            Verdict::Adjacent => match report.best_way() {
                Some(way) => format!("side by side in {}", rate(way)),
                None => format!("side by side, by a search of all {}", counted(all(), "state")),
            },
            Verdict::Flipped(flip) => {
                let by = match report.best_way() {
                    Some(way) => format!("brought about in {}", rate(way)),
                    None if report.trials > 0 && plan_draws(self.plan) => format!("in {trials}"),
                    None => format!("by a search of all {}", counted(all(), "state")),
                };
                match flip.cut {
                    None => format!("the same two accesses in both orders, {by}"),
                    Some(first) => format!(
                        "both orders, {by} (with {} first, the other access was never reached)",
                        self.side(report, first)
                    ),
                }
            }
            Verdict::Refuted(refuted) => format!(
                "never side by side, and never {} before {}, in all {}",
                name(self.model, refuted.first),
                name(self.model, refuted.then),
                counted(refuted.states, "state")
            ),
            Verdict::Unconfirmed => {
                let searched = match found.searched {
                    Some(Searched { states, complete: true }) => {
                        format!(
                            "; both orders happen, but not of the same two accesses that were found, in all {}",
                            counted(states, "state")
                        )
                    }
                    Some(Searched { states, complete: false }) => {
                        format!("; there are more than {}, so it is not refuted", counted(states, "state"))
                    }
                    None => String::new(),
                };
                let bound = match report.reached {
                    0 => "none of them reached both".to_owned(),
                    n => format!("{n} reached both, so p <= {:.2}", at_most(n)),
                };
                format!("never side by side and never in both orders, in {trials} ({bound}){searched}")
            }
        }
    }

    fn order(&mut self, report: &PairReport, order: &OrderReport) -> Result<(), Refusal> {
        let head = format!(
            "  {} first: {}",
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

    // The run itself, if that is wanted.
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

    // How one statement of the pair is called when it comes first.
    fn side(&self, report: &PairReport, first: First) -> String {
        let site = if first == First::A { report.pair.a } else { report.pair.b };
        if report.pair.a != report.pair.b {
            let label = |s| self.model.code.setup.sites[s].label.clone();
            // The label alone, if it tells the two apart.
            return match label(site) {
                Some(own) if label(report.pair.a) != label(report.pair.b) => format!("@{own}"),
                _ => name(self.model, site),
            };
        }
        // One statement twice: its instances differ by who performs them.
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

    fn summary(&mut self, found: &Confirmation) {
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
            let rest = found.orders.len() - hurt - flipped;
            writeln!(self.out, "{all}: {hurt} harmful, {flipped} of no harm, {rest} not flipped");
        }
    }
}

fn plan_draws(plan: &campaign::Plan) -> bool {
    plan.explore != Explore::Only
}

// Hits of trials, and between what the probability of one lies.
fn rate(way: &WayReport) -> String {
    let (low, high) = interval(way.hits, way.trials);
    let kind = way.strategy.split_once(':').map_or(way.strategy.as_str(), |(kind, _)| kind);
    let kind = if kind == "hold" { "held" } else { kind };
    format!("{} of {} {kind} trials ({low:.2}..{high:.2})", way.hits, way.trials)
}

// A failure that needs no stall is likelier in the field.
fn stall(f: &FailureReport) -> String {
    if f.least_stall == 0 { String::new() } else { format!(" (stall {} ms)", f.least_stall) }
}
