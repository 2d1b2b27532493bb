//! Writes the results as a page: two tables, the goals, and how to read them.

use crate::instructions::Instructions;
use crate::machine::{locked, machine};
use crate::measure::{COMPARED, Counted, Effort, Timed, Tool};
use crate::numbers::{Spread, grouped, short, spread, times};
use crate::workloads::Workload;
use std::fmt::Write as _;

/// All results of one workload.
pub(crate) struct Row {
    pub(crate) timed: Timed,
    pub(crate) counted: Counted,
    /// Instructions of raceflip; `None` if not measured.
    pub(crate) ours: Option<Instructions>,
    /// Instructions of shuttle; `None` if not measured.
    pub(crate) shuttle: Option<Instructions>,
    /// Instructions of raceflip over Rust code; `None` if not measured.
    pub(crate) native: Option<Instructions>,
}

impl Row {
    /// Returns the runs per second of a tool; `None` if it does not run this workload.
    pub(crate) fn rate(&self, tool: Tool) -> Option<Spread> {
        self.timed.cells[tool as usize].clone().ok()
    }

    fn ours(&self) -> Spread {
        self.rate(Tool::Raceflip).expect("raceflip runs everything")
    }

    fn ratio(&self, tool: Tool) -> Option<Spread> {
        self.timed.ratios[tool as usize]
    }

    fn iterations(&self) -> f64 {
        self.timed.workload.iterations() as f64
    }

    fn instructions_an_iteration(&self) -> Option<f64> {
        self.ours.map(|i| i.a_run / self.iterations())
    }
}

/// Returns the page.
pub(crate) fn page(rows: &[Row], effort: Effort) -> String {
    let mut page = String::new();
    let out = &mut page;
    out.push_str(
        "# Speed\n\n\
         Written by `cargo bench --features peers --bench speed`; [benches/speed](../../benches/speed/main.rs) is what it does. Every number here was measured in one run of that command.\n\n",
    );
    writeln!(out, "{}\n", machine(&["shuttle", "loom"].map(|name| format!("{name} {}", locked(name))))).expect(STRING);
    out.push_str("![Iterations a second, by workload and tool](speed.svg)\n\n");
    compared(out, rows, effort);
    native(out, rows);
    costs(out, rows);
    goals(out, rows);
    page
}

const STRING: &str = "a string takes all";

fn compared(out: &mut String, rows: &[Row], effort: Effort) {
    out.push_str("## Against shuttle and loom\n\n");
    out.push_str("| workload | raceflip runs/s | iterations/s | shuttle runs/s | iterations/s | loom runs/s | iterations/s | raceflip : shuttle | in instructions |\n");
    out.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for row in rows.iter().filter(|row| row.timed.workload.compared()) {
        write!(out, "| {} |", row.timed.workload.title()).expect(STRING);
        for tool in COMPARED {
            match row.rate(tool) {
                Some(rate) => {
                    let iterations = short(rate.times(row.iterations()).median);
                    write!(out, " {} | {iterations} |", spread(rate, short)).expect(STRING);
                }
                None => out.push_str(" – | – |"),
            }
        }
        let ratio = row.ratio(Tool::Shuttle).map_or("–".to_owned(), |r| spread(r, times));
        let instructions = row.ours.zip(row.shuttle).map(|(ours, theirs)| times(theirs.a_run / ours.a_run));
        writeln!(out, " {ratio} | {} |", instructions.unwrap_or("not measured".to_owned())).expect(STRING);
    }
    write!(
        out,
        "\nMedian (least..most) of {} rounds. In each round every tool runs every workload for a while, in turns, on one thread; ratios are taken within a round.\n\
         An iteration is an increment of the counter, a statement under figure 2's lock, a task of the looper. Scheduling points are not compared: the tools \
         put them at different places. \"In instructions\" is the ratio of the instructions of a run, which no other load of the machine changes.\n\n\
         shuttle makes random walks, as raceflip does, and both keep the schedule. loom searches through all schedules: its runs are the first ones of its search, with the limit of \
         branches raised to where they fit. A search that is through is begun again:\n\n",
        effort.rounds,
    )
    .expect(STRING);
    for row in rows.iter().filter(|row| row.timed.workload.compared()) {
        let said = match (&row.timed.cells[Tool::Loom as usize], row.counted.loom_search) {
            (Err(reason), _) => format!("cannot be run: {reason}"),
            (_, Some(runs)) => format!("through after {} runs", grouped(runs)),
            (_, None) => format!("not through after {} runs", grouped(effort.endless)),
        };
        writeln!(out, "- {}: {said}", row.timed.workload.title()).expect(STRING);
    }
}

// The same Rust code under raceflip and shuttle.
fn native(out: &mut String, rows: &[Row]) {
    out.push_str("\n## The same Rust code\n\n| workload | raceflip runs/s | shuttle runs/s | raceflip : shuttle | raceflip, instructions a run | shuttle | shuttle : raceflip |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for row in rows.iter().filter(|row| row.timed.workload.compared()) {
        let rate = |tool| row.rate(tool).map_or("–".to_owned(), |rate| spread(rate, short));
        let ratio = row.timed.native.map_or("–".to_owned(), |ratio| spread(ratio, times));
        let counted = |of: Option<Instructions>| of.map_or("–".to_owned(), |of| grouped(of.a_run.round() as u64));
        let both = row.native.zip(row.shuttle).map(|(ours, theirs)| times(theirs.a_run / ours.a_run));
        writeln!(
            out,
            "| {} | {} | {} | {ratio} | {} | {} | {} |",
            row.timed.workload.title(),
            rate(Tool::Native),
            rate(Tool::Shuttle),
            counted(row.native),
            counted(row.shuttle),
            both.unwrap_or("not measured".to_owned()),
        )
        .expect(STRING);
    }
    out.push_str(
        "\nHere raceflip runs the Rust code that shuttle and loom run ([how](../rust.md)), as random walks with their choices kept. The looper is that of a mutex and a condition variable.\n",
    );
}

fn costs(out: &mut String, rows: &[Row]) {
    out.push_str("\n## What raceflip's runs cost\n\n");
    out.push_str("| workload | points a run | points/s | instructions a point | instructions a run | ns an iteration | allocations after the first run |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for row in rows {
        let points = row.counted.points_a_run;
        let instructions = |of: fn(Instructions) -> Option<f64>| match row.ours.and_then(of) {
            Some(n) if n < 1_000.0 => format!("{n:.1}"),
            Some(n) => grouped(n.round() as u64),
            None => "not measured".to_owned(),
        };
        writeln!(
            out,
            "| {} | {points:.1} | {} | {} | {} | {:.1} | {} in {} runs |",
            row.timed.workload.title(),
            short(row.ours().times(points).median),
            instructions(|i| i.a_point),
            instructions(|i| Some(i.a_run)),
            nanoseconds(row),
            grouped(row.counted.allocations),
            grouped(row.counted.runs),
        )
        .expect(STRING);
    }
    out.push_str(
        "\nA point is a step: a choice of who goes on, and the operation. Choices are recorded, nobody watches. Instructions are counted by callgrind, as the difference of two \
         numbers of runs. Allocations are those of runs that end well: a run that fails, as some of figure 2 do, makes the words of its failure.\n",
    );
}

fn nanoseconds(row: &Row) -> f64 {
    1e9 / row.ours().times(row.iterations()).median
}

fn goals(out: &mut String, rows: &[Row]) {
    let find = |workload: Workload| rows.iter().find(|row| row.timed.workload == workload).expect("it is measured");
    let (short_queue, long_queue) =
        (find(Workload::Looper { tasks: 1_000 }), find(Workload::Looper { tasks: 100_000 }));
    let worst_point: Option<f64> = rows.iter().map(|row| row.ours?.a_point).reduce(|a, b| Some(a?.max(b?))).flatten();
    let ratios = || rows.iter().filter_map(|row| row.ratio(Tool::Shuttle)).map(|r| r.median);
    let least = ratios().fold(f64::INFINITY, f64::min);
    let counter = find(Workload::Counter).ours().median;
    let allocations: u64 = rows.iter().map(|row| row.counted.allocations).sum();
    let time = nanoseconds(long_queue) / nanoseconds(short_queue);
    let instructions =
        long_queue.instructions_an_iteration().zip(short_queue.instructions_an_iteration()).map(|(a, b)| a / b);
    let goals = [
        (
            "under 120 instructions a point, in every workload",
            worst_point.map_or("not measured".to_owned(), |n| format!("{n:.1} at most")),
            worst_point.map(|n| n < 120.0),
        ),
        (
            "ten times the runs and iterations a second of shuttle, in every workload",
            format!("{} at least; {} of {}", times(least), ratios().filter(|r| *r >= 10.0).count(), ratios().count()),
            Some(least >= 10.0),
        ),
        ("3 million runs a second of the counter", short(counter), Some(counter >= 3e6)),
        ("no allocation in a run after the first", grouped(allocations), Some(allocations == 0)),
        (
            "a task of 100,000 costs no more than one of 1,000 (within 5%, in instructions)",
            format!(
                "{} the instructions, {time:.2} times the time",
                instructions.map_or("not measured:".to_owned(), |i| format!("{i:.2} times")),
            ),
            instructions.map(|i| i <= 1.05),
        ),
    ];
    out.push_str("\n## Goals\n\n| goal | measured | |\n|---|---|---|\n");
    for (goal, measured, met) in goals {
        let verdict = met.map_or("–", |met| if met { "met" } else { "not met" });
        writeln!(out, "| {goal} | {measured} | {verdict} |").expect(STRING);
    }
}
