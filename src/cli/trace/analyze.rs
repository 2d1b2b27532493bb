//! `raceflip analyze`: finds the races of a recorded trace.

use crate::base::counted;
use crate::campaign::Verdict;
use crate::cli::args::{AtomicityArgs, Format, ResultArgs, head};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::io::output::{BOLD, paint};
use crate::cli::io::timer::{Timer, duration};
use crate::cli::trace::{atomicity, verdicts};
use crate::cli::{CommandContext, Refusal, trace};
use crate::detect::causality::External;
use crate::detect::happens_before::{Options, RaceClass};
use crate::detect::{DetectorId, Rules, UseFreeFilter, second_accesses};
use crate::formats::analysis::{AnalysisReport, End, FilterReason, FoundRace, SecondAccesses};
use crate::trace::Trace;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

const ABOUT: &str = "\
Reads a recorded trace (of `raceflip run --trace`, a log of DroidRacer, or STD, the form of RAPID), computes the happens-before relation of its operations, and prints the conflicting accesses \
that this relation does not order. For each race it prints the class (its likely cause: two threads, two events, a delay, a post from another thread), \
the rank, both accesses, the posts that led to them, and a race that covers it, if there is one: an order of the covering race also orders this one. \
An analysis knows only this trace. A reported race may be false, and other runs may have other races.";

const AFTER: &str = "\
Ranks:
  A  nothing orders the two accesses
  C  only the queue orders them, because one post came before the other
  B  only locks and signals order them (shown with --locked)
  D  a use-free race whose free cannot make the use fail (shown with --guarded)

Examples:
  raceflip analyze abc_log.txt
  raceflip analyze abc_log.txt --rules source      the races that DroidRacer itself reports
  raceflip analyze run.jsonl --uncovered           the races to look at first
  raceflip analyze trace.std --rules fasttrack     the races of RAPID's HB, and its counts
  raceflip run app.race --trace run.jsonl --quiet; raceflip analyze run.jsonl
  raceflip analyze run.jsonl --rules cafa          uses and frees of references without an order
  raceflip analyze abc_log.txt --atomicity         components that did not act in one piece
  raceflip analyze abc_log.txt --confirm           a verdict for each race, on a model of the trace
  raceflip analyze abc_log.txt --format json

Exit status: 0 no race was found (ranks B and D do not count; nor does a refuted race with --confirm), 1 races were found (with --atomicity: a violation of priority 1 to 3 and of certain blame), 2 the input is not a trace, 130 interrupted.";

/// Rules of a detector that reads traces.
#[derive(Clone, Copy, Debug)]
struct RulesArg {
    detector: DetectorId,
    rules: &'static Rules,
}

impl Default for RulesArg {
    fn default() -> Self {
        *Self::value_variants().iter().find(|arg| arg.rules.name == "printed").expect("the rules exist")
    }
}

impl ValueEnum for RulesArg {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<RulesArg>> = LazyLock::new(|| {
            let rules = |detector: DetectorId| Some(RulesArg { detector, rules: detector.rules()? });
            DetectorId::all().filter_map(rules).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let Self { detector, rules } = self;
        let value = PossibleValue::new(rules.name).help(rules.help);
        Some(if detector.name() == rules.name { value } else { value.alias(detector.name()) })
    }
}

/// What the external input rule of CAFA says.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExternalArg {
    /// Events of the outside world come one after another, in the order of their posts
    Ordered,
    /// Only what enables an event comes before it
    Free,
}

/// Print the races of a recorded trace
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// The trace, or `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    from: trace::FromArg,
    /// Rules of the happens-before relation
    #[arg(long, value_enum, default_value_t, value_name = "RULES", help_heading = head::EFFORT)]
    rules: RulesArg,
    /// Order of the events of the outside world, for the rules of CAFA
    ///
    /// Without this option, they are ordered in the log of a real app, which does not say what else its user could have
    /// done, and free in the run of a model.
    #[arg(long, value_enum, value_name = "ORDER", help_heading = head::EFFORT)]
    external: Option<ExternalArg>,
    /// Stop after this time, as in `30s`, `10m` or `1h`
    ///
    /// An analysis that is stopped reports no races, and ends with an error. With `--confirm`, the races that are not
    /// reached in this time have no verdict.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = head::EFFORT)]
    time: Option<Duration>,
    /// Print also the pairs that only locks and signals order (rank B)
    #[arg(long, help_heading = head::RESULT)]
    locked: bool,
    /// Print also what a filter of the detector `cafa` excludes (rank D), with the reason
    #[arg(long, help_heading = head::RESULT)]
    guarded: bool,
    /// Print only races that no other race covers
    #[arg(long, help_heading = head::RESULT)]
    uncovered: bool,
    /// Print all pairs of statements, not only one for each location and class; with `--atomicity` all cycles
    #[arg(long, alias = "all", help_heading = head::RESULT)]
    all_pairs: bool,
    /// Make a model of the trace, and confirm or refute each race on it
    ///
    /// The model has neither values nor branches: a verdict says what the app can do if it does the same in each order.
    #[arg(long, help_heading = head::EFFORT)]
    confirm: bool,
    /// Print which transactions did not happen in one piece, instead of races
    ///
    /// Life cycles of components are transactions, and blocks, if the trace has any; trees of tasks otherwise.
    #[arg(long, conflicts_with_all = ["rules", "locked", "uncovered", "confirm"], help_heading = head::EFFORT)]
    atomicity: bool,
    #[command(flatten)]
    atomic: AtomicityArgs,
    #[command(flatten)]
    result: ResultArgs,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let name = trace::name(&args.file);
    let rules = args.rules.rules;
    if args.locked && !rules.has_ranks || args.uncovered && !rules.has_coverage {
        return Err(Refusal::new(
            "only the printed and the hybrid rules have ranks, and only the printed rules have coverage: remove `--rules`, or `--locked` and `--uncovered`",
        ));
    }
    if !rules.has_filters && (args.external.is_some() || args.guarded) {
        return Err(Refusal::new(
            "only the rules of CAFA order the events of the outside world and have filters: add `--rules cafa`, or remove `--external` and `--guarded`",
        ));
    }
    let external = args.external.map(|external| match external {
        ExternalArg::Ordered => External::Ordered,
        ExternalArg::Free => External::Free,
    });
    let options = Options { external, ..Options::default() };
    if args.atomic.is_given() && !args.atomicity {
        return Err(Refusal::new(
            "`--atomic` and `--edges` are options of the analysis of atomicity: add `--atomicity`",
        ));
    }
    let trace = trace::read(&args.file, args.from)?;
    let stop = interrupt::install();
    let timer = Timer::start(args.time, stop.clone());
    if args.atomicity {
        let status = atomicity::run((&name, &trace), (&args.atomic, args.all_pairs), &args.result, &stop, context);
        return status.map_or_else(|| stopped(&timer, context), Ok);
    }
    let Some(found) = rules.analyze(&trace, options, &stop).map_err(Refusal::new)? else {
        return stopped(&timer, context);
    };
    let mut report = AnalysisReport::new(&name, rules.title, &trace, &found);
    // RAPID counts races in FastTrack's order, so only these rules have a number to compare.
    if DetectorId::named("fasttrack") == Some(args.rules.detector) {
        let Some(racy) = second_accesses(&trace, &stop) else { return stopped(&timer, context) };
        report.second_accesses = Some(SecondAccesses::new(&trace, &racy));
    }
    let mut left_out = Vec::new();
    if args.confirm && report.races.iter().any(|race| is_wanted(&args, race)) {
        let wanted = |race: &FoundRace| is_wanted(&args, race);
        match verdicts::confirm_races((&trace, &args.file), &mut report, wanted, &stop) {
            Ok(notes) => left_out = notes,
            Err(why) => {
                not_driven(&why, (&trace, &args.file), &report, context);
                if args.result.format == Format::Json {
                    report.notes.push(format!("no race was driven: {why}"));
                }
            }
        }
    }
    if args.result.format == Format::Json {
        context.out.json(&report.to_json());
    } else {
        print_report(&args, &report, context);
        if !args.result.quiet {
            left_out.iter().for_each(|note| writeln!(context.out, "note: the model leaves out {note}"));
            if !args.confirm {
                print_next_step((&trace, &args.file), &report, context);
            }
        }
    }
    if report.interrupted {
        let what = timer.why_stopped();
        context.out.note(format_args!("{what}: a race without a verdict was not driven, and may be real"));
        if !timer.is_up() {
            return Ok(ExitStatus::Interrupted);
        }
    }
    let is_refuted = |race: &FoundRace| race.verdict.as_deref() == Some(Verdict::Refuted.word());
    let races = report.races.iter().any(|race| !is_aside(race) && !is_refuted(race));
    Ok(if races { ExitStatus::Found } else { ExitStatus::Nothing })
}

// Says why no race was driven, and what the user can do.
fn not_driven(why: &str, (trace, file): (&Trace, &Path), report: &AnalysisReport, context: &mut CommandContext) {
    let next = match verdicts::next_step(trace, file, report, true) {
        Some(next) => format!("to confirm the races of one location: {}", next.command),
        None => "make a model of some locations, with `raceflip trace to-model --only LOCATION,..`".to_owned(),
    };
    context.out.note(format_args!("no race was driven: {why}; {next}"));
}

// Says how to confirm the races.
fn print_next_step((trace, file): (&Trace, &Path), report: &AnalysisReport, context: &mut CommandContext) {
    let Some(next) = verdicts::next_step(trace, file, report, false) else { return };
    let out = &mut context.out;
    writeln!(out);
    writeln!(out, "to confirm a race: {}", next.command);
    if next.all {
        writeln!(out, "to confirm all of them: --confirm");
    }
}

// Whether the race is of a rank that the user wants.
fn is_wanted(args: &Args, race: &FoundRace) -> bool {
    match race.rank {
        'B' => args.locked,
        'D' => args.guarded,
        _ => true,
    }
}

fn stopped(timer: &Timer, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    if timer.is_up() {
        return Err(Refusal::new("the time is up, and a part of a trace is not reported: give a longer `--time`"));
    }
    context.out.note("interrupted: a part of a trace is not reported");
    Ok(ExitStatus::Interrupted)
}

fn print_report(args: &Args, report: &AnalysisReport, context: &mut CommandContext) {
    let out = &mut context.out;
    let some = |n: usize, what: &str| counted(n as u64, what);
    let [ops, threads, tasks] = [(report.operations, "operation"), (report.threads, "thread"), (report.tasks, "task")]
        .map(|(n, what)| some(n, what));
    writeln!(out, "{}: {ops}, {threads}, {tasks}; {}", paint(BOLD, &report.file), report.rules);
    let total: usize = report.classes.values().sum();
    let classes = RaceClass::ALL.iter().chain(&RaceClass::CAUSAL).filter_map(|class| {
        let n = report.classes.get(class.name()).filter(|n| **n > 0)?;
        Some(format!("{n} {} ({})", class.name(), some(report.fields[class.name()], "field")))
    });
    let classes: Vec<String> = classes.collect();
    let colon = if classes.is_empty() { "" } else { ": " };
    let covered = report.races.iter().filter(|race| !is_aside(race) && race.covered_by.is_some()).count();
    let hidden = match covered {
        n if n > 0 && args.uncovered => format!("; {} that another race covers, not shown", some(n, "pair")),
        _ => String::new(),
    };
    let race = report.kind.as_ref().map_or_else(|| "race".to_owned(), |kind| format!("{kind} race"));
    writeln!(out, "{}{colon}{}{hidden}", some(total, &race), classes.join(", "));
    if let Some(SecondAccesses { events, statements }) = report.second_accesses {
        let [events, statements] = [some(events, "event"), some(statements, "statement")];
        writeln!(out, "second accesses of races: {events}, {statements}, as RAPID counts");
    }
    let verdicts = verdicts::summary(report.races.iter().filter(|race| is_wanted(args, race)));
    if args.confirm && !verdicts.is_empty() {
        writeln!(out, "verdicts: {verdicts}");
    }
    if args.result.quiet {
        return;
    }
    print_text(args, report, context);
    let out = &mut context.out;
    let locked = report.races.iter().filter(|race| race.rank == 'B').count();
    if locked > 0 && !args.locked {
        writeln!(out);
        writeln!(out, "{} that only locks and signals order: --locked prints them", some(locked, "more pair"));
    }
    let filtered = report.races.iter().filter(|race| race.rank == 'D').count();
    if filtered > 0 && !args.guarded {
        writeln!(out);
        writeln!(out, "{} that a filter excludes: --guarded prints them", some(filtered, "more pair"));
    }
    let mut notes = Vec::new();
    for (task, other) in &report.overtaken {
        notes.push(format!(
            "{task} began before {other}, which was posted before it: so it was posted to the front of the queue, which the trace does not record"
        ));
    }
    if report.lost {
        notes.push("a location had more unordered accesses than the analysis keeps: it may have more races".to_owned());
    }
    if !report.covered && args.rules.rules.has_coverage && total > 0 {
        notes.push("there are too many races to compute which of them cover others".to_owned());
    }
    notes.extend(report.notes.iter().cloned());
    if !notes.is_empty() {
        writeln!(out);
    }
    for note in notes {
        writeln!(out, "note: {}", &note);
    }
}

// Prints the races: the first one of each location and class, or all of them with `--all-pairs` and `--confirm`.
fn print_text(args: &Args, report: &AnalysisReport, context: &mut CommandContext) {
    let wanted = |race: &FoundRace| is_wanted(args, race) && !(args.uncovered && race.covered_by.is_some());
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: BTreeMap<(&str, &str, Option<char>), usize> = BTreeMap::new();
    for (i, race) in report.races.iter().enumerate().filter(|(_, race)| wanted(race)) {
        let key = (race.location.as_str(), race.class.as_str(), is_aside(race).then_some(race.rank));
        match known.get(&key).filter(|_| !(args.all_pairs || args.confirm)) {
            Some(at) => groups[*at].push(i),
            None => {
                known.insert(key, groups.len());
                groups.push(vec![i]);
            }
        }
    }
    // Of each group the first race that no other one covers is shown.
    let shown =
        |group: &Vec<usize>| group.iter().copied().find(|i| report.races[*i].covered_by.is_none()).unwrap_or(group[0]);
    let leaders: BTreeMap<usize, usize> =
        groups.iter().flat_map(|group| group.iter().map(|i| (*i, shown(group)))).collect();
    for group in &groups {
        let (i, rest) = (shown(group), group.len() as u64 - 1);
        let race = &report.races[i];
        let out = &mut context.out;
        let more = if rest > 0 { format!("  (and {})", counted(rest, "more pair")) } else { String::new() };
        writeln!(out);
        writeln!(out, "{}  #{}  {}  {}{more}", race.rank, i + 1, paint(BOLD, &race.location), race.class);
        for end in [&race.first, &race.second] {
            writeln!(out, "   {}", &access(end));
        }
        if let Some(filter) = &race.filter {
            writeln!(out, "   {}", &reason(filter));
        }
        if let Some(by) = race.covered_by.and_then(|by| leaders.get(&by)).filter(|by| **by != i) {
            writeln!(out, "   covered by #{}: an order of that race also orders this one", by + 1);
        }
        match (&race.verdict, &race.pair) {
            (Some(verdict), Some(pair)) => {
                writeln!(out, "   {} in the model of the trace ({pair})", paint(BOLD, verdict.to_uppercase()));
            }
            _ if args.confirm => writeln!(out, "   {}", paint(BOLD, verdicts::NOT_DRIVEN.to_uppercase())),
            _ => {}
        }
    }
}

/// Whether a race is listed only if it is asked for: its rank is B or D.
pub(super) fn is_aside(race: &FoundRace) -> bool {
    matches!(race.rank, 'B' | 'D')
}

// Says why a free cannot make a use fail: `guarded by the read at 8:5 @check`.
fn reason(FilterReason { reason, operation, line, site }: &FilterReason) -> String {
    let by = if reason == UseFreeFilter::Guarded.text() { " by the read" } else { "" };
    let at = match site {
        Some(site) => shortened(site),
        None if *line > 0 => format!("line {line}"),
        None => format!("operation {operation}"),
    };
    format!("{reason}{by} at {at}")
}

// Removes the kind of access from a site, which has it behind the place: `8:5 read @check`.
fn shortened(site: &str) -> String {
    let word = [" read", " write"].into_iter().find(|word| site.contains(word));
    word.map_or_else(|| site.to_owned(), |word| site.replacen(word, "", 1))
}

// Describes an access and what led to it: `write  line 812  on main, in msg 12 < msg 3, posted by 5`. For raceflip's
// own traces it names the place in the model instead of the line.
fn access(end: &End) -> String {
    let mut text = format!("{:<5}", end.access);
    match &end.site {
        // A statement of STD is a number.
        Some(site) if site.parse::<i64>().is_ok() => {
            text.push_str(&format!("  statement {site}, line {}", end.line));
        }
        Some(site) => text.push_str(&format!("  {}", shortened(site))),
        None if end.line > 0 => text.push_str(&format!("  line {}", end.line)),
        None => {}
    }
    text.push_str(&format!("  on {}", end.thread));
    if !end.tasks.is_empty() {
        text.push_str(&format!(", in {}", end.tasks.join(" < ")));
    }
    if let Some(poster) = &end.posted_by {
        text.push_str(&format!(", posted by {poster}"));
    }
    text
}
