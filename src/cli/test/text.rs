//! Prints the results of a test as text: a line for each variant, the failures again at the end, and a summary.

use crate::base::clean;
use crate::base::counted;
use crate::campaign::{LineResult, LineVerdict, Origin, SEARCHED, SeedResult, ShownEnds, TestPlan, TestResult};
use crate::cli::args::ToolArgs;
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::output::{BAD, BOLD, DIM, GOOD, NOTE, ODD, Output, paint};
use crate::cli::io::replay_command;
use crate::cli::io::reports::ReportFormat;
use crate::cli::models::seeds::{Files, StoredFailure};
use crate::cli::models::suite::{Case, Suite};
use crate::cli::run::outcome::limit_text;
use crate::cli::run::shrink_mode::sizes;
use crate::event::Outcome;
use crate::formats::test::CUT;
use std::collections::BTreeMap;

/// Numbers of the summary.
#[derive(Default)]
pub(super) struct Tally {
    /// Number of variants with a verdict.
    pub(super) done: usize,
    pub(super) failed: usize,
    passed: usize,
    skipped: usize,
    lines: [usize; 3],
    // Number of lines that could not be checked, by reason.
    unchecked: BTreeMap<&'static str, usize>,
}

/// Printer of results, which prints each one as it comes.
pub(super) struct ResultPrinter<'t> {
    suite: &'t Suite,
    plans: &'t [TestPlan<'t>],
    text: bool,
    quiet: bool,
    bar: &'t CampaignBar,
    out: &'t mut Output,
    tally: Tally,
    // Number of runs that hit a limit.
    cut: u64,
    // Failed variants, with the files of their saved failures.
    failures: Vec<(usize, TestResult, Files)>,
}

// Maximum number of runs that are shown against one line.
const SHOWN: usize = 3;

impl<'t> ResultPrinter<'t> {
    pub(super) fn new(
        suite: &'t Suite,
        plans: &'t [TestPlan<'t>],
        result: &ToolArgs,
        bar: &'t CampaignBar,
        out: &'t mut Output,
    ) -> Self {
        let (text, quiet) = (result.format == ReportFormat::Text, result.quiet);
        Self { suite, plans, text, quiet, bar, out, tally: Tally::default(), cut: 0, failures: Vec::new() }
    }

    /// Returns the verdict on a variant: `passed`, `failed`, `skipped` or `interrupted`.
    pub(super) fn verdict(&self, tested: &TestResult) -> &'static str {
        let unchecked = |l: &LineResult| matches!(l.verdict, LineVerdict::Unchecked(_));
        match tested {
            t if !t.passed() => "failed",
            t if !t.complete => "interrupted",
            t if t.lines.iter().all(unchecked) => "skipped",
            _ => "passed",
        }
    }

    /// Prints the result of a variant and counts it. `files` are its saved failures.
    pub(super) fn variant(&mut self, i: usize, tested: TestResult, files: Files) {
        let verdict = self.verdict(&tested);
        let (style, word) = match verdict {
            "passed" => (GOOD, "PASS"),
            "failed" => (BAD, "FAIL"),
            "skipped" => (ODD, "SKIP"),
            _ => (ODD, "STOP"),
        };
        self.count(verdict, &tested);
        self.cut += tested.limits.values().map(|n| u64::from(*n)).sum::<u64>();
        if self.text && (!self.quiet || verdict != "passed") {
            let name = &self.suite.cases[i].name();
            let line = format!("{}  {}  {}", paint(style, word), paint(BOLD, name), paint(DIM, did(&tested)));
            let notes = self.notes(i, &tested);
            let out = &mut *self.out;
            self.bar.suspend(|| {
                writeln!(out, "{line}");
                notes.iter().for_each(|note| writeln!(out, "      {note}"));
                out.flush();
            });
        }
        if verdict == "failed" {
            self.failures.push((i, tested, files));
        }
    }

    fn count(&mut self, verdict: &str, tested: &TestResult) {
        let tally = &mut self.tally;
        match verdict {
            "passed" => tally.passed += 1,
            "failed" => tally.failed += 1,
            "skipped" => tally.skipped += 1,
            _ => return,
        }
        tally.done += 1;
        for line in &tested.lines {
            let why = match &line.verdict {
                LineVerdict::Met => {
                    tally.lines[0] += 1;
                    continue;
                }
                LineVerdict::Unmet(..) => {
                    tally.lines[1] += 1;
                    continue;
                }
                LineVerdict::Unchecked(why) => why,
                LineVerdict::Cut => CUT,
            };
            tally.lines[2] += 1;
            *tally.unchecked.entry(why).or_default() += 1;
        }
    }

    // Notes on a variant: limits, and the results of its saved runs.
    fn notes(&self, i: usize, tested: &TestResult) -> Vec<String> {
        let note = paint(NOTE, "note");
        let limits = tested.limits.iter().map(|((kind, limit), runs)| {
            let runs = counted(u64::from(*runs), "run");
            format!("{note}: {runs} reached the {}; later steps are unknown", limit_text(*kind, *limit))
        });
        let saved = self.plans[i].saved.iter().zip(&tested.saved).filter_map(|(saved, end)| {
            let (name, then) = (&saved.name, &saved.token.signature);
            match end {
                SeedResult::Fails => Some(format!("{note}: {name} still fails: {then}")),
                SeedResult::Gone(now) => {
                    Some(format!("{note}: fixed: {then} has become {}; delete {name}", now))
                }
                SeedResult::Changed(divergence, now) => Some(format!(
                    "{note}: {name}: the model was edited (step {}: expected {}, found {}); the closest replay ends `{}`; if {then} is fixed, delete the file",
                    divergence.step + 1,
                    &divergence.expected,
                    &divergence.found,
                    now,
                )),
                SeedResult::Asks(option, value, most) => Some(format!(
                    "{note}: {name} could not be replayed: its token needs --{option} {value}, and at most {most} is allowed; `--{option} {value}` allows it"
                )),
                SeedResult::Interrupted => None,
            }
        });
        let proved = tested.lines.iter().filter_map(|line| {
            let why = line.proof.as_ref()?;
            let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
            Some(format!("{note}: `{}` holds in every run (no search needed){}", clean(&line.text), clean(&why)))
        });
        limits.chain(saved).chain(proved).collect()
    }

    /// Prints the failures again, and the summary.
    pub(super) fn finish(mut self) -> Tally {
        if !self.text {
            return self.tally;
        }
        let failures = if self.quiet { Vec::new() } else { std::mem::take(&mut self.failures) };
        for (i, tested, files) in &failures {
            writeln!(self.out);
            writeln!(self.out, "{}  {}", paint(BAD, "FAIL"), paint(BOLD, self.suite.cases[*i].name()));
            // Tokens that are printed already for this variant.
            let mut printed_tokens = Vec::new();
            for line in &tested.lines {
                match &line.verdict {
                    LineVerdict::Unmet(why, shown, more) => {
                        self.broken(*i, tested, line, (why, shown, *more), files, &mut printed_tokens);
                    }
                    LineVerdict::Cut => {
                        let why = format!("not checked: {CUT}");
                        self.broken(*i, tested, line, (&[why], &[], 0), files, &mut printed_tokens);
                    }
                    LineVerdict::Met | LineVerdict::Unchecked(_) => {}
                }
            }
        }
        self.summary();
        self.tally
    }

    fn broken(
        &mut self,
        i: usize,
        tested: &TestResult,
        line: &LineResult,
        (why, shown, more): (&[String], &[ShownEnds], usize),
        files: &[StoredFailure],
        printed_tokens: &mut Vec<String>,
    ) {
        let case = &self.suite.cases[i];
        let text = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.line {
            0 => writeln!(self.out, "  {}: {} (it has no `expect` lines, so no run may fail)", case.model.name(), text),
            n => writeln!(self.out, "  {}:{n}: {}", case.model.name(), text),
        }
        for why in why {
            writeln!(self.out, "    {} ({})", why, did_runs(tested));
        }
        for s in shown.iter().take(SHOWN) {
            // The text of a limit says which option raises it.
            let end = match &s.outcome {
                Outcome::Limit(kind, limit) => format!("the {}", limit_text(*kind, *limit)),
                _ => crate::formats::test::end_words(&self.plans[i], s),
            };
            writeln!(self.out, "    {} this way: {}", ended(s.runs), paint(BAD, end));
            if printed_tokens.contains(&s.token) {
                writeln!(self.out, "      {}", paint(DIM, "(replayed as above)"));
            } else {
                self.print_example(case, i, s, files);
                printed_tokens.push(s.token.clone());
            }
        }
        let more = shown.len().saturating_sub(SHOWN) + more;
        if more > 0 {
            writeln!(self.out, "    and {}", counted(more as u64, "more forbidden end"));
        }
    }

    fn print_example(&mut self, case: &Case, i: usize, shown: &ShownEnds, files: &[StoredFailure]) {
        let (strategy, seed, drawn) = match &shown.origin {
            Origin::Drawn { strategy, seed } => (strategy.clone(), *seed, format!("strategy {strategy}, seed {seed}")),
            Origin::Searched => (SEARCHED.to_owned(), 0, "a shortest run, found by search".to_owned()),
            Origin::Saved(number) => {
                let saved = &self.plans[i].saved[*number];
                (saved.token.strategy.clone(), saved.token.seed, format!("a replay of {}", saved.name))
            }
        };
        for command in
            replay_command::replay(&case.model, &shown.token, &strategy, seed, &self.plans[i].campaign.limits)
        {
            writeln!(self.out, "      {command}");
        }
        let file = files.iter().find(|kept| kept.token == shown.token);
        let kept = file.map_or(String::new(), |kept| format!(", saved as {}", kept.name));
        let shrunk = shown.shrunk.map_or(String::new(), |(before, after)| format!(", shrunk {}", sizes(before, after)));
        writeln!(self.out, "      {}", paint(DIM, format_args!("({}{shrunk}{kept})", drawn)));
    }

    fn summary(&mut self) {
        let Tally { done, failed, passed, skipped, lines: [met, unmet, unchecked], .. } = self.tally;
        writeln!(self.out);
        let mut parts = vec![paint(GOOD, format_args!("{passed} passed"))];
        if failed > 0 {
            parts.push(paint(BAD, format_args!("{failed} failed")));
        }
        if skipped > 0 {
            parts.push(paint(ODD, format_args!("{skipped} skipped (nothing to check)")));
        }
        let left = self.suite.cases.len() - done;
        if left > 0 {
            parts.push(paint(ODD, format_args!("{left} not tested")));
        }
        if !self.suite.refused.is_empty() {
            let models = counted(self.suite.refused.len() as u64, "model");
            parts.push(paint(BAD, format_args!("{models} could not be read")));
        }
        let cut: u64 = self.cut;
        if cut > 0 {
            parts.push(paint(ODD, format_args!("{} reached a limit", counted(cut, "run"))));
        }
        writeln!(self.out, "Summary: {}: {}", counted(done as u64, "variant"), parts.join(", "));
        let mut parts = vec![format!("{met} met")];
        if unmet > 0 {
            parts.push(format!("{unmet} not met"));
        }
        if unchecked > 0 {
            let why: Vec<String> = self.tally.unchecked.iter().map(|(why, n)| format!("{why}: {n}")).collect();
            parts.push(format!("{unchecked} could not be checked ({})", why.join("; ")));
        }
        writeln!(self.out, "{}: {}", counted((met + unmet + unchecked) as u64, "expectation"), parts.join(", "));
    }
}

fn ended(runs: u32) -> String {
    if runs == 1 { "1 run ends".to_owned() } else { format!("{runs} runs end") }
}

// Describes what was tested, as in `3 expectations, 1000 walks, 120 trials`.
fn did(tested: &TestResult) -> String {
    let lines = counted(tested.lines.len() as u64, "expectation");
    match tested.lines.first() {
        None => "no expectations with these constants".to_owned(),
        Some(first) if first.line == 0 => format!("no `expect` lines: no run may fail, {}", did_runs(tested)),
        Some(_) => format!("{lines}, {}", did_runs(tested)),
    }
}

fn did_runs(tested: &TestResult) -> String {
    let states = tested.states.map(|n| match tested.reduced {
        true => format!("{} of a reduced search", counted(n, "state")),
        false => format!("all {}", counted(n, "state")),
    });
    let walks = (tested.walks > 0).then(|| counted(u64::from(tested.walks), "walk"));
    let trials = tested.trials.map(|n| format!("{} of a campaign", counted(u64::from(n), "run")));
    let parts: Vec<String> = states.into_iter().chain(walks).chain(trials).collect();
    if parts.is_empty() { "no run".to_owned() } else { parts.join(", ") }
}
