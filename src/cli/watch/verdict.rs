//! The verdict on one model: its errors and warnings, and whether its `expect` lines hold.

use super::WatchPlan;
use crate::base::counted;
use crate::campaign::{
    CampaignContext, CampaignPlan, LineVerdict, NoProgress, Origin, SEARCHED, ShownEnds, TestPlan, test,
};
use crate::cli::Refusal;
use crate::cli::io::output::Output;
use crate::cli::io::{load, replay_command};
use crate::cli::models::seeds::Seeds;
use crate::cli::models::suite::{Case, Suite, SuiteSelection, Variants};
use crate::formats::test::{CUT, end_words};
use crate::lang::render_warnings;
use crate::lang::variants::{Defines, constants};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of runs that are shown against one line.
const MOST_SHOWN: usize = 2;

/// How a model did, from the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Grade {
    /// It is well-formed; its lines hold, if it was tested.
    Passed,
    /// A line does not hold, or could not be checked because every run reached a limit.
    Failed,
    /// It has errors, or cannot be read.
    Refused,
}

/// The verdict on a model.
#[derive(Clone, Debug)]
pub(super) struct ModelVerdict {
    /// The path of the model.
    pub(super) name: String,
    pub(super) grade: Grade,
    /// What was done, as in `2 variants, 5 expectations`.
    pub(super) about: String,
    /// Errors, warnings, and lines that do not hold.
    pub(super) lines: Vec<String>,
}

/// Checks and tests a model. If `stop` is set meanwhile, the verdict means nothing.
pub(super) fn of(path: &Path, plan: &WatchPlan, stop: &AtomicBool, out: &Output) -> ModelVerdict {
    let name = path.to_string_lossy().into_owned();
    let mut verdict = ModelVerdict { name, grade: Grade::Passed, about: String::new(), lines: Vec::new() };
    if let Err(refusal) = verdict.judge(path, plan, stop, out) {
        verdict.refuse(&refusal);
    }
    verdict
}

// The names of the constants of a model. `None` if it does not parse.
fn constants_of(path: &Path, out: &Output) -> Option<BTreeSet<String>> {
    let source = load::source(path).ok()?;
    Some(constants(&load::parsed(&source, out).ok()?))
}

/// Returns a constant that is given a value and that no model has. `None` if a model does not parse, which may have it.
pub(super) fn unknown_constant<'p>(
    paths: impl Iterator<Item = &'p PathBuf>,
    defines: &Defines,
    out: &Output,
) -> Option<String> {
    let mut known = BTreeSet::new();
    for path in paths {
        known.append(&mut constants_of(path, out)?);
    }
    defines.iter().map(|(name, _)| name.clone()).find(|name| !known.contains(name))
}

impl ModelVerdict {
    fn refuse(&mut self, refusal: &Refusal) {
        let text = refusal.plain();
        let text = if matches!(refusal, Refusal::Message(_)) { format!("error: {text}") } else { text };
        self.grade = Grade::Refused;
        self.lines.extend(text.lines().map(str::to_owned));
    }

    fn judge(&mut self, path: &Path, plan: &WatchPlan, stop: &AtomicBool, out: &Output) -> Result<(), Refusal> {
        let seeds = Seeds::open(&plan.saved)?;
        // Another model may be the one that has a constant.
        let has = |names: BTreeSet<String>| plan.defines.iter().filter(|(n, _)| names.contains(n)).cloned().collect();
        let defines: Defines = constants_of(path, out).map_or_else(|| plan.defines.clone(), has);
        let given = SuiteSelection {
            paths: &[path.to_owned()],
            defines: &defines,
            filter: &[],
            which: if plan.walks.is_some() { Variants::All } else { Variants::AsWritten },
        };
        let suite = Suite::load(&given, &seeds, out)?;
        suite.refused.iter().for_each(|refusal| self.refuse(refusal));
        if let Some(first) = suite.cases.first() {
            let warnings = load::warnings_of(&first.model);
            let rendered = render_warnings(&first.model.source, &warnings, false);
            self.lines.extend(rendered.lines().map(str::to_owned));
        }
        let Some(walks) = plan.walks else { return Ok(()) };
        let mut tested = 0;
        for case in &suite.cases {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            tested += self.test(case, walks, plan, stop);
        }
        let variants = counted(suite.cases.len() as u64, "variant");
        self.about = format!("{variants}, {}", counted(tested, "expectation"));
        Ok(())
    }

    // Tests a variant. Returns the number of its lines.
    fn test(&mut self, case: &Case, walks: u32, plan: &WatchPlan, stop: &AtomicBool) -> u64 {
        let campaign =
            CampaignPlan { limits: plan.limits, seed: plan.seed, jobs: plan.jobs, ..CampaignPlan::new(&*case.model) };
        let plan = TestPlan {
            model: &case.model,
            states: TestPlan::STATES,
            campaign,
            walks,
            saved: &case.saved,
            shrinks: true,
        };
        let tested = test(&plan, CampaignContext { stop, progress: &NoProgress });
        for line in &tested.lines {
            let (why, shown, more) = match &line.verdict {
                LineVerdict::Met | LineVerdict::Unchecked(_) => continue,
                LineVerdict::Cut => (vec![format!("not checked: {CUT}")], &[][..], 0),
                LineVerdict::Unmet(why, shown, more) => (why.clone(), &shown[..], *more),
            };
            self.grade = self.grade.max(Grade::Failed);
            let text = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.lines.push(match line.line {
                0 => format!("{}: {text} (it has no `expect` lines, so no run may fail)", case.name()),
                n => format!("{}:{n}: {text}", case.name()),
            });
            self.lines.extend(why.iter().map(|why| format!("  {why}")));
            for end in shown.iter().take(MOST_SHOWN) {
                self.shown(case, &plan, end);
            }
            let left = more + shown.len().saturating_sub(MOST_SHOWN);
            if left > 0 {
                self.lines.push(format!("  and {}", counted(left as u64, "more forbidden end")));
            }
        }
        tested.lines.len() as u64
    }

    // Shows a run that contradicts a line, with the commands that replay it.
    fn shown(&mut self, case: &Case, plan: &TestPlan<'_>, end: &ShownEnds) {
        self.lines.push(format!("  {}", end_words(plan, end)));
        let (strategy, seed) = match &end.origin {
            Origin::Drawn { strategy, seed } => (strategy.as_str(), *seed),
            Origin::Searched => (SEARCHED, 0),
            Origin::Saved(number) => {
                let token = &plan.saved[*number].token;
                (token.strategy.as_str(), token.seed)
            }
        };
        let commands = replay_command::replay(&case.model, &end.token, strategy, seed, &plan.campaign.limits);
        self.lines.extend(commands.into_iter().map(|command| format!("    {command}")));
    }
}
