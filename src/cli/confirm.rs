//! `raceflip confirm`: which potential pairs are real, which hurt, and how to see it again.

use super::args::Format;
use super::campaign::{Bar, CampaignArgs, failure, kinds, limits, name, number_of_runs, pair};
use super::check::counted;
use super::exit::Status;
use super::load::Model;
use super::output::{BAD, BOLD, DIM, GOOD, ODD, Output, paint};
use super::timeline::{self, View};
use super::{Context, Refusal, again, interrupt};
use crate::campaign::{self, Confirmation, Evidence, FailureReport, First, OrderReport, PairReport, Verdict};
use crate::event::SiteId;
use crate::formats::campaign::ConfirmReport;
use crate::formats::timeline::Marks;

const ABOUT: &str = "\
Detects potential pairs, drives the scheduler at each, and prints which are real, which hurt, and a token for each order.

Two threads are driven by RaceFuzzer's directed scheduler: the pair is CONFIRMED if both statements were about to be performed \
at once. For two tasks of one looper, and for pairs that are never side by side, the same two accesses must have \
been performed in both orders, in two runs. A pair that was not confirmed is UNCONFIRMED: that is no proof that it is false.";

const AFTER: &str = "\
Examples:
  raceflip confirm app.race
  raceflip confirm app.race -D FIXED=1          does the repair hold?
  raceflip confirm app.race --trials 1000 --jobs 8
  raceflip confirm app.race --format json | jq '.pairs[] | select(.verdict.kind != \"unconfirmed\")'";

/// Confirm races: which are real, which hurt, and how to see it again
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(super) struct Args {
    /// Trials of each pair, for each way of driving it
    #[arg(long, value_name = "N", default_value_t = campaign::Plan::TRIALS, value_parser = number_of_runs())]
    trials: u32,
    /// Print the timeline of each failing run that is shown, with the statements of its pair marked
    #[arg(long)]
    timeline: bool,
    #[command(flatten)]
    campaign: CampaignArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    let (model, plan) = args.campaign.resolve(args.trials, context)?;
    let bar = Bar::new("run");
    let stop = interrupt::install();
    let found = campaign::confirm(&plan, campaign::Context { stop: &stop, progress: &bar });
    bar.finish();
    let out = &mut context.out;
    if args.campaign.format == Format::Json {
        writeln!(out, "{}", ConfirmReport::new(model.name(), model.digest(), &plan, &found).to_json());
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
    let nothing = found.pairs.iter().all(|p| !p.verdict.confirmed()) && failures(&found).is_empty();
    Ok(if nothing { Status::Nothing } else { Status::Found })
}

// Failures of all runs that no confirmed pair's order explains.
fn failures(found: &Confirmation) -> Vec<(&FailureReport, &'static str)> {
    let explained = |f: &FailureReport| {
        found
            .pairs
            .iter()
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
        writeln!(
            self.out,
            "{} from {} (hybrid detection)",
            counted(found.phase1.candidates.len() as u64, "potential pair"),
            counted(u64::from(found.phase1.runs), "run"),
        );
        limits(self.out, &found.phase1);
        for pair in &found.pairs {
            writeln!(self.out);
            self.pair(pair)?;
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

    fn pair(&mut self, report: &PairReport) -> Result<(), Refusal> {
        let verdict = if report.verdict.confirmed() { paint(BAD, "CONFIRMED") } else { paint(ODD, "UNCONFIRMED") };
        writeln!(self.out, "{verdict}  {}  {}", paint(BOLD, &report.place), pair(self.model, report.pair));
        writeln!(self.out, "  {}; {}", kinds(&report.kinds), self.proof(report));
        let hurts = report.hurts();
        for order in &report.orders {
            if order.runs > 0 {
                self.order(report, order)?;
            }
        }
        if report.undecided > 0 {
            writeln!(self.out, "  in {} neither order was seen", counted(u64::from(report.undecided), "trial"));
        }
        if report.limits > 0 {
            writeln!(self.out, "  {} came to a limit", counted(u64::from(report.limits), "trial"));
        }
        if report.verdict.confirmed() {
            let unseen = report.orders.iter().find(|o| o.runs == 0).map(|o| self.side(report, o.first));
            let text = match (hurts.as_slice(), unseen) {
                ([], Some(side)) => format!("no trial took {side} first: there is nothing to compare"),
                ([], None) if report.orders.iter().any(|o| o.failed() > 0) => "fails either way".to_owned(),
                ([], None) => paint(GOOD, "no failure was seen in either order"),
                (all, _) => {
                    let each: Vec<String> = all
                        .iter()
                        .map(|(first, f)| {
                            format!("{} only with {} first", failure(self.model, f), self.side(report, *first))
                        })
                        .collect();
                    format!("{}: {}", paint(BAD, "it hurts"), each.join("; "))
                }
            };
            writeln!(self.out, "  {text}");
        }
        Ok(())
    }

    // What was proved, in words.
    fn proof(&self, report: &PairReport) -> String {
        let (directed, hits) = report.directed;
        let trials = counted(u64::from(report.trials), "trial");
        match &report.verdict {
            Verdict::Adjacent => {
                format!("side by side in {hits} of {}", counted(u64::from(directed), "directed trial"))
            }
            Verdict::Flipped(flip) => match flip.cut {
                None => format!("the same two accesses in both orders, in {trials}"),
                Some(first) => format!(
                    "both orders in {trials} (with {} first, the other access was never reached)",
                    self.side(report, first)
                ),
            },
            Verdict::Unconfirmed => format!("never side by side and never in both orders, in {trials}"),
        }
    }

    fn order(&mut self, report: &PairReport, order: &OrderReport) -> Result<(), Refusal> {
        let head = format!("  {} first: {}", self.side(report, order.first), counted(u64::from(order.runs), "trial"));
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
        let Evidence { id, token } = evidence;
        for command in again::replay(self.model, token, &id.strategy.to_string(), id.seed, &self.plan.limits) {
            writeln!(self.out, "    {command}");
        }
        let drawn = format!("(strategy {}, seed {})", id.strategy, id.seed);
        writeln!(self.out, "    {}", paint(DIM, drawn));
    }

    fn summary(&mut self, found: &Confirmation) {
        let confirmed = found.pairs.iter().filter(|p| p.verdict.confirmed());
        let hurt = confirmed.clone().filter(|p| !p.hurts().is_empty()).count();
        let (all, real) = (found.pairs.len(), confirmed.count());
        let pairs = counted(all as u64, "pair");
        let verb = if hurt == 1 { "hurts" } else { "hurt" };
        writeln!(self.out, "{pairs}: {real} confirmed ({hurt} {verb}), {} unconfirmed", all - real);
    }
}

// A failure that needs no stall is likelier in the field.
fn stall(f: &FailureReport) -> String {
    if f.least_stall == 0 { String::new() } else { format!(" (stall {} ms)", f.least_stall) }
}
