//! Defines the command line. Options that several commands share are groups in this file. Options of a single command
//! are in its own file.

use super::exit::Status;
use super::output::Colour;
use super::reports::ReportFormat;
use super::timer::virtual_time;
use super::{Context, Refusal};
use crate::sched::SiteSpec;
use crate::world::Limits;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Headings of options in the help. An option has the same heading in each command.
pub(super) mod head {
    pub(in crate::cli) const MODEL: &str = "What is looked at";
    pub(in crate::cli) const EFFORT: &str = "How it is looked at";
    pub(in crate::cli) const RESULT: &str = "Result";
    pub(in crate::cli) const SAVED: &str = "Saved failures";
    pub(in crate::cli) const GATE: &str = "Gate";
    pub(in crate::cli) const LONG: &str = "Long campaigns";
    pub(in crate::cli) const TIMELINE: &str = "Timeline";
    pub(in crate::cli) const LIMITS: &str = "Limits of a run (reaching one is the outcome `limit`)";
    pub(in crate::cli) const BOUNDS: &str = "Bounds of the search (where one cuts it the answer says so)";
}

const ABOUT: &str = "\
A controlled-scheduling race fuzzer for modeled apps.

A model (a `.race` file) says which threads and loopers an app has, what they post to each other and which memory they share. \
raceflip runs it under a scheduler of its own: every run is one choice of who acts next after another, so every run can be \
made again, to the byte.";

const AFTER: &str = "\
Examples:
  raceflip check models/*.race             are these models well-formed?
  raceflip run app.race                    one run, as a timeline
  raceflip run app.race --seed 7 --quiet   another one, its outcome and its token only
  raceflip replay app.race rf1-...         a run again, from its token
  raceflip shrink app.race rf1-...         the same failure, with fewer preemptions
  raceflip detect app.race                 which pairs of accesses may race?
  raceflip confirm app.race                which of them are real, and which hurt?
  raceflip analyze abc_log.txt             the races of a recorded trace, of ours or of DroidRacer
  raceflip explore app.race                every state: what can happen, and what never can
  raceflip test models                     do the `expect` lines of these models hold?
  raceflip new app.race                    a first model, to be changed into yours
  raceflip fmt app.race                    its layout put right
  raceflip trace stat abc_log.txt          what is in an execution trace?

Exit status:
  0    nothing found (by `explore`: so far, if its search was cut)
  1    something found: a run that does not end `ok`, a potential pair, a confirmed pair, a failure,
       a possible livelock, a layout that is not right (`fmt --check`)
  2    bad input or usage
  3    a replay that left its recording
  130  interrupted
  101  a bug in raceflip: please report it";

/// The command line.
#[derive(Parser, Debug)]
#[command(name = "raceflip", version, about = "A controlled-scheduling race fuzzer for modeled apps", long_about = ABOUT, after_help = AFTER, max_term_width = 100)]
pub(super) struct Cli {
    /// When to use colours
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set. `always` and `never` overrule both.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN", help_heading = "Everywhere")]
    pub(super) color: Colour,

    /// Log what raceflip does, on stderr (twice: more of it)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
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
            pub(super) fn run(self, context: &mut Context) -> Result<Status, Refusal> {
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
    /// Give a constant of the model another value (`-D FIXED=1`; may be repeated)
    ///
    /// VALUE is a whole number, `true` or `false`. Of two for one constant the last counts.
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
    /// The form of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(super) format: Format,
    /// Print in a few lines what it comes to, and no details
    #[arg(short, long, help_heading = head::RESULT)]
    pub(super) quiet: bool,
}

/// Format of the result, and whether it is brief, for commands with reports for other tools.
#[derive(Args, Clone, Debug)]
pub(super) struct ToolArgs {
    /// The form of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(super) format: ReportFormat,
    /// Print in a few lines what it comes to, and no details
    #[arg(short, long, help_heading = head::RESULT)]
    pub(super) quiet: bool,
}

/// Number of workers.
#[derive(Args, Clone, Debug)]
pub(super) struct JobArgs {
    /// Workers; the result is the same for any number [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = head::EFFORT)]
    pub(super) jobs: Option<u16>,
}

/// Seed of all choices that are drawn.
#[derive(Args, Clone, Debug)]
pub(super) struct SeedArgs {
    /// Decides every choice that is drawn
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = head::EFFORT)]
    pub(super) seed: u64,
}

fn define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in `-D FIXED=1`")?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !name.starts_with(|c: char| c.is_numeric());
    if name.is_empty() || !is_name {
        return Err(format!("`{name}` is not the name of a constant: write NAME=VALUE, as in `-D FIXED=1`"));
    }
    let value = match value {
        "true" => 1,
        "false" => 0,
        number => number.parse().map_err(|_| {
            format!("`{number}` is not a whole number of 64 bits: write NAME=VALUE, as in `-D {name}=1`")
        })?,
    };
    Ok((name.to_owned(), value))
}

/// Limits of a run. A run that reaches one ends with the outcome `limit`, which says which option raises it.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct LimitArgs {
    /// Steps [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = head::LIMITS)]
    steps: Option<u64>,
    /// The virtual clock, as in `500ms`, `30s`, `10m`, `1h` or `2d` [default: 30d]
    #[arg(long, value_name = "TIME", value_parser = virtual_time, help_heading = head::LIMITS)]
    virtual_time: Option<u64>,
    /// Objects made, dead ones as well [default: 100000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    objects: Option<u32>,
    /// Threads made, finished ones as well [default: 4096]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    threads: Option<u32>,
    /// Messages in one queue [default: 100000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    queue: Option<u32>,
    /// Elements of one list [default: 1000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    list: Option<u32>,
    /// Instructions of a thread from one visible operation to the next [default: 1000000]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    local: Option<u64>,
    /// Calls within calls; deeper is the failure StackOverflow [default: 256]
    #[arg(long, value_name = "N", help_heading = head::LIMITS)]
    depth: Option<u32>,
    /// Cells of all objects, and of the threads' stacks at their deepest [default: 10000000]
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
    /// For people
    #[default]
    Text,
    /// One JSON object (docs/formats.md)
    Json,
}

/// Format of the report of one run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum RunFormat {
    /// A timeline, the outcome, how to make the run again
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
    /// The form of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(super) format: RunFormat,
    /// Print in a few lines what it comes to, and no details
    ///
    /// Of a run: the outcome and the token, not the timeline.
    #[arg(short, long, help_heading = head::RESULT)]
    pub(super) quiet: bool,
    /// Write the timeline to a file, as Chrome trace events: ui.perfetto.dev opens it
    #[arg(long, value_name = "FILE", help_heading = head::RESULT)]
    pub(super) perfetto: Option<PathBuf>,
    #[command(flatten)]
    pub(super) view: ViewArgs,
    /// Write every event to a file, as JSON lines (docs/formats.md)
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
                "`--format {form}` prints the {what} and nothing else: leave out `{option}`, or take `--format text` or `json`"
            ))),
        }
    }
}

/// Options that select the part of a timeline that is printed, and its form.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ViewArgs {
    /// Tell all steps, also those in the middle of a long run and those of loops
    #[arg(long, conflicts_with = "around", help_heading = head::TIMELINE)]
    pub(super) all: bool,
    /// Tell the steps around this one
    #[arg(long, value_name = "STEP", help_heading = head::TIMELINE)]
    pub(super) around: Option<u64>,
    /// How many steps before and after it
    #[arg(long, value_name = "N", default_value_t = 10, requires = "around", help_heading = head::TIMELINE)]
    pub(super) context: u64,
    /// Tell only the steps of these threads and loopers, by name
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = head::TIMELINE)]
    pub(super) only: Vec<String>,
    /// Mark the steps of an access: `@label`, `@label.read of x`, or LINE:COLUMN (may be repeated)
    #[arg(long, value_name = "SITE", help_heading = head::TIMELINE)]
    pub(super) mark: Vec<SiteSpec>,
    /// Draw with ASCII characters only
    ///
    /// For terminals and logs that show no others. What is not ASCII in a model is shown as `?`. It is never chosen by
    /// the locale: the same command prints the same bytes everywhere.
    #[arg(long, help_heading = head::TIMELINE)]
    pub(super) ascii: bool,
    /// How wide lines may be [default: the terminal, up to 160; else 80]
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
