//! Defines the command line. Options that several commands share are groups in this file. Options of a single command
//! are in its own file.

use super::exit::ExitStatus;
use super::output::Colour;
use super::reports::ReportFormat;
use super::timer::virtual_time;
use super::{CommandContext, Refusal};
use crate::sched::SiteSpec;
use crate::world::Limits;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Headings of options in the help. An option has the same heading in each command.
pub(super) mod head {
    pub(in crate::cli) const MODEL: &str = "Input";
    pub(in crate::cli) const EFFORT: &str = "Execution";
    pub(in crate::cli) const RESULT: &str = "Result";
    pub(in crate::cli) const SAVED: &str = "Saved failures";
    pub(in crate::cli) const GATE: &str = "Gate";
    pub(in crate::cli) const LONG: &str = "Long campaigns";
    pub(in crate::cli) const TIMELINE: &str = "Timeline";
    pub(in crate::cli) const LIMITS: &str = "Limits of a run (a run that reaches one ends with `limit`)";
    pub(in crate::cli) const BOUNDS: &str = "Bounds of the search (the result says which one was reached)";
}

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
  raceflip test models                     check the `expect` lines of these models
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
pub(super) struct Cli {
    /// When to use colors
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set. `always` and `never` override both.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN", help_heading = "Global")]
    pub(super) color: Colour,

    /// Write a log to stderr (give it twice for more detail)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global")]
    pub(super) verbose: u8,

    #[command(subcommand)]
    pub(super) command: Command,
}

macro_rules! commands {
    ($($name:ident = $module:ident),+ $(,)?) => {
        /// Commands of raceflip, one row for each.
        #[derive(Subcommand, Debug)]
        pub(super) enum Command { $($name(super::$module::Args)),+ }

        impl Command {
            pub(super) fn run(self, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
                match self { $(Command::$name(args) => super::$module::run(args, context)),+ }
            }
        }
    };
}

commands! {
    Check = check,
    Run = run,
    Replay = replay,
    Shrink = shrink,
    Detect = detect,
    Confirm = confirm,
    Merge = merge,
    Analyze = analyze,
    Trace = trace,
    Test = test,
    Explore = explore,
    Fmt = fmt,
    New = new,
    Completions = completions,
    Man = man,
}

/// Option `-D NAME=VALUE`.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Defines {
    /// Set a constant of the model, as in `-D FIXED=1` (may be repeated)
    ///
    /// VALUE is an integer, `true` or `false`. If a constant is set more than once, the last value counts.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define, help_heading = head::MODEL)]
    defines: Vec<(String, i64)>,
}

impl Defines {
    /// Returns the given constants, sorted by name. The last value of a constant counts.
    pub(super) fn resolve(&self) -> Vec<(String, i64)> {
        let last: std::collections::BTreeMap<_, _> = self.defines.iter().cloned().collect();
        last.into_iter().collect()
    }
}

/// Format of the result, and whether it is brief, for commands with two formats.
#[derive(Args, Clone, Debug)]
pub(super) struct ResultArgs {
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(super) format: Format,
    /// Print only a summary
    #[arg(short, long, help_heading = head::RESULT)]
    pub(super) quiet: bool,
}

/// Format of the result, and whether it is brief, for commands with reports for other tools.
#[derive(Args, Clone, Debug)]
pub(super) struct ToolArgs {
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(super) format: ReportFormat,
    /// Print only a summary
    #[arg(short, long, help_heading = head::RESULT)]
    pub(super) quiet: bool,
}

/// Number of workers.
#[derive(Args, Clone, Debug)]
pub(super) struct JobArgs {
    /// Number of workers; the result is the same for any number [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = head::EFFORT)]
    pub(super) jobs: Option<u16>,
}

/// Seed of all choices that are drawn.
#[derive(Args, Clone, Debug)]
pub(super) struct SeedArgs {
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = head::EFFORT)]
    pub(super) seed: u64,
}

fn define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in `-D FIXED=1`")?;
    let (name, value) = (name.trim(), value.trim());
    // The constant of a library has a name of two parts: `android.rounds`.
    let is_name = |name: &str| {
        name.chars().all(|c| c == '_' || c.is_alphanumeric())
            && !name.is_empty()
            && !name.starts_with(|c: char| c.is_numeric())
    };
    if !name.splitn(2, '.').all(is_name) {
        return Err(format!("`{name}` is not the name of a constant: write NAME=VALUE, as in `-D FIXED=1`"));
    }
    let value = match value {
        "true" => 1,
        "false" => 0,
        number => number
            .parse()
            .map_err(|_| format!("`{number}` is not a 64-bit integer: write NAME=VALUE, as in `-D {name}=1`"))?,
    };
    Ok((name.to_owned(), value))
}

/// Limits of a run. A run that reaches one ends with the outcome `limit`, which says which option raises it.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct LimitArgs {
    /// Number of steps [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = head::LIMITS)]
    steps: Option<u64>,
    /// Time of the virtual clock, as in `500ms`, `30s`, `10m`, `1h` or `2d` [default: 30d]
    #[arg(long, value_name = "TIME", value_parser = virtual_time, help_heading = head::LIMITS)]
    virtual_time: Option<u64>,
    /// Number of objects created, including deleted ones [default: 100000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    objects: Option<u32>,
    /// Number of threads created, including finished ones [default: 4096]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    threads: Option<u32>,
    /// Number of messages in one queue [default: 100000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    queue: Option<u32>,
    /// Number of elements of one list [default: 1000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    list: Option<u32>,
    /// Number of instructions of a thread between two visible operations [default: 1000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    local: Option<u64>,
    /// Depth of nested calls; a deeper call is the failure StackOverflow [default: 256]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    depth: Option<u32>,
    /// Number of cells of all objects and of all stacks at their maximum [default: 10000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    cells: Option<u32>,
}

impl LimitArgs {
    pub(super) fn resolve(&self) -> Limits {
        let d = Limits::default();
        Limits {
            steps: self.steps.unwrap_or(d.steps),
            time: self.virtual_time.unwrap_or(d.time),
            objects: self.objects.unwrap_or(d.objects),
            threads: self.threads.unwrap_or(d.threads),
            queue: self.queue.unwrap_or(d.queue),
            list: self.list.unwrap_or(d.list),
            local: self.local.unwrap_or(d.local),
            depth: self.depth.unwrap_or(d.depth),
            cells: self.cells.unwrap_or(d.cells),
        }
    }
}

/// Format of a result.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Format {
    /// Text for people
    #[default]
    Text,
    /// One JSON object (docs/formats.md)
    Json,
}

/// Format of the report of one run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum RunFormat {
    /// Timeline, outcome, and the command that replays the run
    #[default]
    Text,
    /// One JSON object (docs/formats.md)
    Json,
    /// A Mermaid sequence diagram, for Markdown
    Mermaid,
    /// An SVG picture, for pages and slides
    Svg,
}

/// Options of the report of one run.
#[derive(Args, Clone, Debug)]
pub(super) struct ReportArgs {
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(super) format: RunFormat,
    /// Print only a summary
    ///
    /// For a run, this is the outcome and the token, without the timeline.
    #[arg(short, long, help_heading = head::RESULT)]
    pub(super) quiet: bool,
    /// Write the timeline to a file as Chrome trace events, for ui.perfetto.dev
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    pub(super) perfetto: Option<PathBuf>,
    #[command(flatten)]
    pub(super) view: ViewArgs,
    /// Write all events to a file as JSON lines (docs/formats.md)
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    pub(super) trace: Option<PathBuf>,
}

impl ReportArgs {
    /// Refuses an option that changes how much is printed if the format is a diagram or a picture, which leaves no
    /// room for more or less.
    pub(super) fn alone(&self, option: &str, given: bool) -> Result<(), Refusal> {
        let (form, what) = match self.format {
            RunFormat::Mermaid => ("mermaid", "diagram"),
            RunFormat::Svg => ("svg", "picture"),
            RunFormat::Text | RunFormat::Json => return Ok(()),
        };
        match given {
            false => Ok(()),
            true => Err(Refusal::new(format_args!(
                "`--format {form}` prints only the {what}: remove `{option}`, or use `--format text` or `json`"
            ))),
        }
    }
}

/// Options that select the part of a timeline that is printed, and its form.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ViewArgs {
    /// Print all steps, including the middle of a long run and the steps of loops
    #[arg(long, conflicts_with = "around", help_heading = head::TIMELINE)]
    pub(super) all: bool,
    /// Print only the steps around this step
    #[arg(long, value_name = "STEP", help_heading = head::TIMELINE)]
    pub(super) around: Option<u64>,
    /// Number of steps to print before and after that step
    #[arg(long, value_name = "N", default_value_t = 10, requires = "around", help_heading = head::TIMELINE)]
    pub(super) context: u64,
    /// Print only the steps of these threads and loopers, by name
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = head::TIMELINE)]
    pub(super) only: Vec<String>,
    /// Mark the steps of an access: `@label`, `@label.read of x`, or LINE:COLUMN (may be repeated)
    #[arg(long, value_name = "SITE", help_heading = head::TIMELINE)]
    pub(super) mark: Vec<SiteSpec>,
    /// Draw with ASCII characters only
    ///
    /// For terminals and logs without other characters. Other characters of a model are printed as `?`. The locale does
    /// not change the output: the same command prints the same bytes everywhere.
    #[arg(long, help_heading = head::TIMELINE)]
    pub(super) ascii: bool,
    /// Maximum width of lines [default: width of the terminal, up to 160; otherwise 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000), help_heading = head::TIMELINE)]
    pub(super) width: Option<u16>,
}

/// Returns the value of `--color` in arguments that clap has refused.
pub(super) fn colour_in(arguments: &[OsString]) -> Colour {
    let texts: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    let after = texts.iter().position(|a| a == "--color").and_then(|i| texts.get(i + 1)).map(|v| v.as_ref());
    let value = texts.iter().find_map(|a| a.strip_prefix("--color=")).or(after);
    value.and_then(|v| Colour::from_str(v, false).ok()).unwrap_or_default()
}
