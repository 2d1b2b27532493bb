//! `raceflip trace orders`: which orders of the conflicts of a trace can come about together.

use crate::base::counted;
use crate::cli::args::{Format, ResultArgs, head};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::{BOLD, paint};
use crate::cli::io::timer::{Timer, duration};
use crate::cli::io::{interrupt, load};
use crate::cli::{CommandContext, Refusal};
use crate::detect::orders::{NoClasses, OrderOptions, order_classes};
use crate::formats::analysis::End;
use crate::formats::orders::{OpenConflict, OrderClass, OrdersReport};
use crate::formats::traces;
use crate::trace::{LocationNo, OpNo, Trace};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ABOUT: &str = "\
Tells which orders of a recorded trace's conflicts can come about together. Two operations conflict if two threads or tasks access the same memory, one of them with a write, or acquire the same lock. \
Forks, joins, posts, queues, enables, signals and locks order some conflicts in every run. The others are open, and each way to order them that a run with these operations can have is a class. \
The command counts the classes and lists each. It does not run anything: that the app, in another order, does the same is assumed.";

const AFTER: &str = "\
Conflicts with the same order in every class are one choice, with one letter. A class is the list of its choices: `a<` has the order of the trace, `a>` the other one. The first class is that of the trace.

Examples:
  raceflip trace orders abc_log.txt
  raceflip trace orders trace.txt --known dependence.txt     a trace of EM-Explorer, with the order of what the outside world does
  raceflip trace orders abc_log.txt --only 'La;.8'           the conflicts over one field, and over locks
  raceflip trace orders abc_log.txt --format json --limit 100

Exit status: 0 the classes are listed, 2 the input is not a trace, or is too large, 130 interrupted. If the limit or the time ends the count, the answer says `at least`.";

/// Count the orders of a trace's conflicts that can come about together, and list them
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(super) struct Args {
    /// The trace, or `-` for stdin
    #[arg(value_name = "TRACE")]
    file: PathBuf,
    #[command(flatten)]
    from: super::FromArg,
    /// Orders that the trace does not show: a file with lines like `src:21 dest:27`
    ///
    /// The numbers are lines of the trace. `dependence.txt`, which DroidRacer writes for EM-Explorer, is such a file.
    #[arg(long, value_name = "FILE", help_heading = head::MODEL)]
    known: Option<PathBuf>,
    /// Only accesses of these locations or fields, as `raceflip analyze` names them (may be repeated)
    #[arg(long, value_name = "LOCATION", value_delimiter = ',', help_heading = head::MODEL)]
    only: Vec<String>,
    /// End the count after this number of classes
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..), help_heading = head::EFFORT)]
    limit: u32,
    /// Stop after this time, as in `30s`, `10m` or `1h`
    ///
    /// The classes that were found so far are printed.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = head::EFFORT)]
    time: Option<Duration>,
    #[command(flatten)]
    result: ResultArgs,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let (name, trace) = (super::name(&args.file), super::read(&args.file, args.from)?);
    let known = match &args.known {
        Some(path) => known(path, &trace)?,
        None => Vec::new(),
    };
    let only = (!args.only.is_empty()).then(|| locations(&trace, &args.only)).transpose()?;
    let options = OrderOptions { most: args.limit as usize, known: &known, only: only.as_deref() };
    let stop = interrupt::install();
    let timer = Timer::start(args.time, stop.clone());
    let found = order_classes(&trace, &options, &stop).map_err(|error| {
        let advice = match error {
            NoClasses::Operations(_) | NoClasses::Conflicts(_) => {
                "name the locations that matter with `--only`, or cut the trace"
            }
            NoClasses::Contradiction if args.known.is_some() => "check the file of `--known`",
            NoClasses::Contradiction => "operations are missing in it",
        };
        Refusal::new(format_args!("cannot count the orders of `{name}`: {error}; {advice}"))
    })?;
    let report = OrdersReport::new(&name, &trace, &found);
    match args.result.format {
        Format::Json => context.out.json(&report.to_json()),
        Format::Text => print_report(&report, args.result.quiet, context),
    }
    if report.complete {
        return Ok(ExitStatus::Nothing);
    }
    let is_stopped = stop.load(std::sync::atomic::Ordering::Relaxed);
    let (why, advice) = match (is_stopped, timer.is_up()) {
        (false, _) => ("the limit is reached", "`--limit`"),
        (true, true) => ("the time is up", "`--time`"),
        (true, false) => {
            context.out.note("interrupted: there may be more classes");
            return Ok(ExitStatus::Interrupted);
        }
    };
    context.out.note(format_args!("{why}: there may be more classes; give a larger {advice}"));
    Ok(ExitStatus::Nothing)
}

fn known(path: &Path, trace: &Trace) -> Result<Vec<(OpNo, OpNo)>, Refusal> {
    let file = BufReader::new(load::open(path, &"the orders in it")?);
    traces::read_orders(&super::name(path), file, trace).map_err(Refusal::new)
}

// Returns the locations with these names, or with these fields.
fn locations(trace: &Trace, names: &[String]) -> Result<Vec<LocationNo>, Refusal> {
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        let is_named = |at: &LocationNo| {
            let place = &trace.places[*at];
            place.name == *name || trace.fields[place.field] == **name
        };
        found.extend(trace.places.ids().filter(is_named));
        if found.len() == before {
            return Err(Refusal::new(format_args!(
                "the trace has no location or field `{name}`: `raceflip analyze` names those with races"
            )));
        }
    }
    Ok(found)
}

fn print_report(report: &OrdersReport, quiet: bool, context: &mut CommandContext) {
    let out = &mut context.out;
    let some = |n: usize, what: &str| counted(n as u64, what);
    let (open, classes) = (report.open.len(), report.classes.len());
    let classes = match (report.complete, classes) {
        (true, 1) => "1 class".to_owned(),
        (true, n) => format!("{n} classes"),
        (false, n) => format!("at least {n} classes"),
    };
    writeln!(out, "{}: {}", paint(BOLD, &report.file), some(report.operations, "operation"));
    writeln!(out, "{}, {open} of them open; {classes} of orders", some(report.ordered + open, "conflict"));
    if quiet {
        return;
    }
    if open > 0 {
        writeln!(out);
    }
    for (choice, conflicts) in report.choices.iter().enumerate() {
        for (i, conflict) in conflicts.iter().enumerate() {
            let letter = if i == 0 { letters(choice) } else { String::new() };
            let OpenConflict { over, first, second, .. } = &report.open[*conflict];
            writeln!(out, "{letter:>4}  {over}: {}  <  {}", end(first), end(second));
        }
    }
    writeln!(out);
    for (i, OrderClass { turned }) in report.classes.iter().enumerate() {
        let sign = |choice| if turned.contains(&choice) { '>' } else { '<' };
        let choices: Vec<String> =
            (0..report.choices.len()).map(|choice| format!("{}{}", letters(choice), sign(choice))).collect();
        let remark = if turned.is_empty() { "(the trace)" } else { "" };
        writeln!(out, "{:>4}  {}", i + 1, [choices.join(" ").as_str(), remark].join("  ").trim_end());
    }
    for note in &report.notes {
        writeln!(out, "note: {note}");
    }
}

// Returns the name of a choice: a, b, .. z, aa, ab, ..
fn letters(choice: usize) -> String {
    let (mut name, mut left) = (String::new(), choice + 1);
    while left > 0 {
        left -= 1;
        name.insert(0, char::from(b'a' + (left % 26) as u8));
        left /= 26;
    }
    name
}

fn end(end: &End) -> String {
    let who = end.tasks.first().unwrap_or(&end.thread);
    let place = match (&end.site, end.line) {
        (Some(site), _) => format!(" at {site}"),
        (None, 0) => format!(" (operation {})", end.operation),
        (None, line) => format!(" (line {line})"),
    };
    format!("{who} {}{place}", end.access)
}
