//! `raceflip trace stat`: counts what traces contain.

use crate::base::counted;
use crate::cli::args::Format;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::{BOLD, paint};
use crate::cli::{CommandContext, Refusal};
use crate::formats::traces::stat::{Stat, StatReport};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  raceflip trace stat abc_log.txt
  raceflip trace stat --format json run.jsonl | jq '.files[0].kinds'
  raceflip trace stat - < trace.txt         from stdin";

/// Count the contents of traces: operations by kind, threads, loopers, tasks, locations
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// The traces, or `-` for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    from: super::FromArg,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = crate::cli::args::head::RESULT)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let (mut stats, mut status) = (Vec::new(), ExitStatus::Nothing);
    for path in &args.files {
        match super::read(path, args.from) {
            Ok(trace) => {
                let stat = Stat::new(&super::name(path), &trace);
                if args.format == Format::Text {
                    print_stat(&stat, context);
                }
                stats.push(stat);
            }
            Err(refusal) => {
                context.out.refuse(&refusal);
                status = ExitStatus::Refused;
            }
        }
    }
    if args.format == Format::Json {
        context.out.json(&StatReport::new(stats).to_json());
    }
    Ok(status)
}

fn print_stat(stat: &Stat, context: &mut CommandContext) {
    let out = &mut context.out;
    let some = |n: usize, what: &str| counted(n as u64, what);
    writeln!(out, "{}: {}", paint(BOLD, &stat.file), some(stat.operations, "operation"));
    let kinds: Vec<String> = stat.kinds.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    writeln!(out, "  {}", kinds.join(", "));
    writeln!(out, "  {}, of them {}", some(stat.threads, "thread"), some(stat.loopers, "looper"));
    writeln!(
        out,
        "  {} posted, {} of them delayed, {} begun; {} that no operation has posted",
        some(stat.posted, "task"),
        stat.delayed,
        stat.begun,
        stat.unposted
    );
    let rest = [
        (stat.locks, "lock"),
        (stat.locations, "location"),
        (stat.fields, "field"),
        (stat.events, "event"),
        (stat.statements, "statement"),
    ];
    writeln!(out, "  {}", rest.map(|(n, what)| some(n, what)).join(", "));
    for note in &stat.notes {
        writeln!(out, "  note: {}", note);
    }
}
