//! `raceflip check`: parses, checks and compiles models, without running them.

use crate::base::counted;
use crate::cli::args::{DefineArgs, head};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::{GOOD, paint};
use crate::cli::io::{files, load};
use crate::cli::{CommandContext, Refusal};
use crate::lang::{Program, expand, print};
use std::collections::BTreeSet;
use std::path::PathBuf;

const ABOUT: &str = "\
Parses, checks and compiles models, without running them. Prints all errors of all files on stderr, with warnings about code that is \
hardly intended (a task that nothing runs, an event that nothing enables), and a line for each well-formed model on stdout. The exit status is 2 if any model is not well-formed; \
warnings do not change it.";

const AFTER: &str = "\
Examples:
  raceflip check app.race
  raceflip check models                  all models below a folder
  raceflip check --expand app.race       the components written out
  raceflip check -D FIXED=1 app.race     with another value of a constant";

/// Check models without running them
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Models, and folders of models
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print only a summary
    ///
    /// It omits well-formed models.
    #[arg(short, long, help_heading = head::RESULT)]
    quiet: bool,
    /// Print the model with its components written out
    ///
    /// Components become classes, tasks and events. The text shows what they mean; it is not a model of its own.
    #[arg(long, conflicts_with = "quiet", help_heading = head::RESULT)]
    expand: bool,
    #[command(flatten)]
    defines: DefineArgs,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let defines = args.defines.resolve();
    let mut status = ExitStatus::Nothing;
    let mut paths = Vec::new();
    // Paths are kept in the given order. What cannot be read is reported, and the rest is checked.
    for path in &args.paths {
        let below = if path.is_dir() { files::models(path) } else { Ok((vec![path.clone()], Vec::new())) };
        let (found, unread) = below.unwrap_or_else(|refusal| (Vec::new(), vec![refusal]));
        paths.extend(found);
        for refusal in unread {
            context.out.refuse(&refusal);
            status = ExitStatus::Refused;
        }
    }
    for path in &paths {
        match load::model(path, &defines, &context.out) {
            Ok(_) if args.quiet => {}
            Ok(model) if args.expand => {
                // The model was parsed and written out before, so neither can fail.
                let file = load::parsed(&model.source, &context.out)?;
                let written = expand(&file).ok().flatten();
                context.out.file(&print(written.as_ref().unwrap_or(&file)));
            }
            Ok(model) => {
                let warnings = load::warnings(&model, context);
                let warned = if warnings == 0 { String::new() } else { format!(", {}", counted(warnings, "warning")) };
                writeln!(context.out, "{}: {} ({}){warned}", model.name(), paint(GOOD, "ok"), contents(&model.program));
            }
            Err(refusal) => {
                context.out.refuse(&refusal);
                status = ExitStatus::Refused;
            }
        }
    }
    Ok(status)
}

/// Describes the contents of a program, as in `3 threads, 2 loopers, 5 tasks, 2 events, 14 sites`.
fn contents(program: &Program) -> String {
    let loopers = program.threads.iter().filter(|t| t.looper).count();
    let not_tasks: BTreeSet<_> = program
        .threads
        .iter()
        .filter_map(|t| t.body)
        .chain(program.events.iter().map(|e| e.body))
        .chain(program.init)
        .collect();
    let parts = [
        (program.components.all.len(), "component"),
        (program.threads.len() - loopers, "thread"),
        (loopers, "looper"),
        (program.bodies.len() - not_tasks.len(), "task"),
        (program.events.len(), "event"),
        (program.sites.len(), "site"),
    ];
    let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n as u64, what)).collect();
    if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") }
}
