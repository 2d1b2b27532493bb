//! `raceflip analyze --atomicity`: which transactions of a trace did not happen in one piece.

use crate::base::counted;
use crate::cli::CommandContext;
use crate::cli::args::{AtomicityArgs, Format, ResultArgs};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::{BOLD, paint};
use crate::detect::atomicity::{analyze, usual};
use crate::formats::atomicity::{AtomicityReport, SpecificationReport};
use crate::trace::Trace;
use std::sync::atomic::AtomicBool;

/// Analyzes a trace and prints the result. `None` if `stop` was set.
pub(super) fn run(
    (name, trace): (&str, &Trace),
    (args, all): (&AtomicityArgs, bool),
    result: &ResultArgs,
    stop: &AtomicBool,
    context: &mut CommandContext,
) -> Option<ExitStatus> {
    let options = args.options();
    let asked = args.specifications();
    let specifications = if asked.is_empty() { usual(trace) } else { asked };
    let found: Option<Vec<SpecificationReport>> = specifications
        .iter()
        .map(|of| analyze(trace, *of, options, stop).map(|found| SpecificationReport::new(&found)))
        .collect();
    let mut report = AtomicityReport::new(name, None, options.edges, found?);
    report.notes.clone_from(&trace.notes);
    let status = if report.is_violated() { ExitStatus::Found } else { ExitStatus::Nothing };
    if result.format == Format::Json {
        context.out.json(&report.to_json());
        return Some(status);
    }
    let out = &mut context.out;
    let [ops, threads, tasks] =
        [(trace.ops.len(), "operation"), (trace.threads.len(), "thread"), (trace.tasks.len(), "task")]
            .map(|(n, what)| counted(n as u64, what));
    writeln!(out, "{}: {ops}, {threads}, {tasks}; atomicity", paint(BOLD, name));
    let lines = if result.quiet { report.counts() } else { report.text(all) };
    lines.iter().for_each(|line| writeln!(out, "{line}"));
    if !result.quiet && !report.notes.is_empty() {
        writeln!(out);
        report.notes.iter().for_each(|note| writeln!(out, "note: {note}"));
    }
    Some(status)
}
