//! The command line: its commands, one row for each, and the options of the program itself.

use super::{completions, man};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::Colour;
use crate::cli::{CommandContext, Refusal, confirm, explore, fuzz, lsp, models, run, test, trace, watch};
use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

const ABOUT: &str = "\
A controlled-scheduling race fuzzer for modeled apps.

A model (a `.race` file) describes the threads and loopers of an app, the messages that they post to each other, and the memory \
that they share. raceflip runs the model under its own scheduler. A run is a sequence of choices, each of which selects the next \
actor. So every run can be replayed exactly.";

const AFTER: &str = "\
Examples:
  raceflip check models/*.race             check that these models are well-formed
  raceflip run app.race                    print the timeline of one run
  raceflip run app.race --seed 7 --quiet   only the outcome and the token of another run
  raceflip replay app.race rf1-...         replay a run from its token
  raceflip shrink app.race rf1-...         find the same failure with fewer preemptions
  raceflip detect app.race                 list pairs of accesses that may race
  raceflip confirm app.race                decide which pairs are real and which are harmful
  raceflip analyze abc_log.txt             list the races of a trace of raceflip or DroidRacer
  raceflip explore app.race                search all states: what can happen, and what cannot
  raceflip fuzz app.race                   look for any failure
  raceflip test models                     check the `expect` lines of these models
  raceflip watch models                    check and test what changes, until Ctrl-C
  raceflip new app.race                    write a first model, for you to edit
  raceflip fmt app.race                    format a model
  raceflip trace stat abc_log.txt          summarize an execution trace

Exit status:
  0    nothing found (after a search that was cut, `explore` may have missed something)
  1    something found: a run that does not end `ok`, a potential pair, a confirmed pair, a failure,
       a possible livelock, a file that is not formatted (`fmt --check`)
  2    bad input or usage
  3    a replay diverged from its recording
  130  interrupted
  101  a bug in raceflip: please report it";

/// The command line.
#[derive(Parser, Debug)]
#[command(name = "raceflip", version, about = "A controlled-scheduling race fuzzer for modeled apps", long_about = ABOUT, after_help = AFTER, max_term_width = 100)]
pub(in crate::cli) struct Cli {
    /// When to use colors
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set. `always` and `never` override both.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN", help_heading = "Global")]
    pub(in crate::cli) color: Colour,

    /// Write a log to stderr (give it twice for more detail)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global")]
    pub(in crate::cli) verbose: u8,

    #[command(subcommand)]
    pub(in crate::cli) command: Command,
}

macro_rules! commands {
    ($($name:ident = $($module:ident)::+),+ $(,)?) => {
        /// Commands of raceflip, one row for each.
        #[derive(Subcommand, Debug)]
        pub(in crate::cli) enum Command { $($name($($module::)+Args)),+ }

        impl Command {
            pub(in crate::cli) fn run(self, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
                match self { $(Command::$name(args) => $($module::)+run(args, context)),+ }
            }
        }
    };
}

commands! {
    Check = models::check,
    Run = run,
    Replay = run::replay,
    Shrink = run::shrink,
    Static = confirm::statics,
    Detect = confirm::detect,
    Confirm = confirm,
    Merge = confirm::merge,
    Analyze = trace::analyze,
    Trace = trace,
    Test = test,
    Watch = watch,
    Explore = explore,
    Fuzz = fuzz,
    Fmt = models::fmt,
    New = models::new,
    Lsp = lsp,
    Completions = completions,
    Man = man,
}

/// Returns the value of `--color` in arguments that clap has refused.
pub(in crate::cli) fn colour_in(arguments: &[OsString]) -> Colour {
    let texts: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    let after = texts.iter().position(|a| a == "--color").and_then(|i| texts.get(i + 1)).map(|v| v.as_ref());
    let value = texts.iter().find_map(|a| a.strip_prefix("--color=")).or(after);
    value.and_then(|v| Colour::from_str(v, false).ok()).unwrap_or_default()
}
