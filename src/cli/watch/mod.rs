//! `raceflip watch`: checks and tests models again when they change.
//!
//! The room of watching: the events of the file system and what they change (`changes`), the test of one model
//! (`verdict`), and what is shown (`screen`).

mod changes;
mod screen;
mod verdict;

use crate::cli::args::{DefineArgs, JobArgs, LimitArgs, SeedArgs, head, number_of_runs, workers};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::{CommandContext, Refusal};
use crate::lang::variants::Defines;
use crate::world::Limits;
use changes::{Changes, WatchedFiles};
use screen::Screen;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use verdict::ModelVerdict;

const ABOUT: &str = "\
Checks and tests the models below the given paths, and then again each model that changes, until Ctrl-C. It sees new files, deleted ones, and \
files that an editor replaces. A model is tested again as well if a saved failure of it changes.

A test is that of `raceflip test`, but nothing is saved: failures are shown, each with the command that replays it. A change stops the test that runs. \
On a terminal the results stay on one screen, which is drawn in place. Otherwise each result is printed as it comes.";

const AFTER: &str = "\
Examples:
  raceflip watch                         the models below this folder
  raceflip watch models app.race
  raceflip watch models --no-test        errors and warnings only
  raceflip watch app.race -D FIXED=1

Exit status:
  2    a path does not exist when the command starts, or cannot be watched
  130  ended by Ctrl-C";

/// Check and test models again when they change
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Models and folders of models
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    defines: DefineArgs,
    /// Check models without testing them
    #[arg(long, help_heading = head::EFFORT)]
    no_test: bool,
    /// Number of random walks for each variant
    #[arg(long, alias = "runs", value_name = "N", default_value = "2000", value_parser = number_of_runs(), help_heading = head::EFFORT)]
    walks: u32,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Folder of saved failures
    #[arg(long, alias = "seeds", value_name = "DIR", default_value = "seeds", help_heading = head::SAVED)]
    saved: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
}

/// How models are tested.
struct WatchPlan {
    defines: Defines,
    // `None` if models are only checked.
    walks: Option<u32>,
    seed: u64,
    jobs: usize,
    limits: Limits,
    saved: PathBuf,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let plan = WatchPlan {
        defines: args.defines.resolve(),
        walks: (!args.no_test).then_some(args.walks),
        seed: args.seed.seed,
        jobs: workers(args.jobs.jobs),
        limits: args.limits.resolve(),
        saved: args.saved,
    };
    // The flag stops a test. An interruption sets it, and a change as well.
    let stop = interrupt::install();
    let (files, changes) = WatchedFiles::start(&args.paths, &plan.saved, stop.clone())?;
    let mut watch =
        Watch { plan: &plan, files, known: BTreeMap::new(), screen: Screen::new(&args.paths, &context.out) };
    watch.run(&changes, &stop, context)
}

/// A model that is watched.
struct WatchedModel {
    // Digest of the text and the saved failures that the verdict is about.
    digest: u128,
    // `None` until it has been tested.
    verdict: Option<ModelVerdict>,
}

struct Watch<'p> {
    plan: &'p WatchPlan,
    files: WatchedFiles,
    // Invariant: the models that exist, by path.
    known: BTreeMap<PathBuf, WatchedModel>,
    screen: Screen,
}

impl Watch<'_> {
    fn run(
        &mut self,
        changes: &Changes,
        stop: &AtomicBool,
        context: &mut CommandContext,
    ) -> Result<ExitStatus, Refusal> {
        self.scan(context);
        if let Some(name) = verdict::unknown_constant(self.known.keys(), &self.plan.defines, &context.out)
            && !self.known.is_empty()
        {
            return Err(Refusal::new(format_args!("-D {name}: no model has a constant `{name}`")));
        }
        loop {
            if interrupt::was_asked() {
                self.screen.end(&mut context.out);
                return Ok(ExitStatus::Interrupted);
            }
            if context.out.is_closed() {
                return Ok(ExitStatus::Nothing);
            }
            // A change has stopped the last test, if there was one.
            stop.store(interrupt::was_asked(), Ordering::Relaxed);
            if changes.come() {
                self.scan(context);
            } else if let Some(path) = self.next() {
                self.test(&path, stop, context);
            } else {
                self.screen.rest(&self.known, &mut context.out);
                changes.wait();
            }
        }
    }

    // The next model without a verdict.
    fn next(&self) -> Option<PathBuf> {
        self.known.iter().find(|(_, model)| model.verdict.is_none()).map(|(path, _)| path.clone())
    }

    // Reads the folders again. Models that have changed lose their verdicts.
    fn scan(&mut self, context: &mut CommandContext) {
        let found = self.files.scan();
        let gone: Vec<PathBuf> = self.known.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        for path in gone {
            self.known.remove(&path);
            self.screen.gone(&path, &mut context.out);
        }
        for (path, digest) in found {
            let changed = self.known.get(&path).is_none_or(|known| known.digest != digest);
            if changed {
                self.known.insert(path, WatchedModel { digest, verdict: None });
            }
        }
    }

    fn test(&mut self, path: &PathBuf, stop: &AtomicBool, context: &mut CommandContext) {
        self.screen.begins(path, &self.known, &mut context.out);
        let verdict = verdict::of(path, self.plan, stop, &context.out);
        // What a change has cut is tested again.
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(known) = self.known.get_mut(path) {
            self.screen.verdict(&verdict, &mut context.out);
            known.verdict = Some(verdict);
        }
    }
}
