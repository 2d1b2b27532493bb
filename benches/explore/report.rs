//! Writes the results as a page: rates, memory, growth, goals, and how to read them.

use crate::instructions::Counted;
use crate::machine::{locked, machine};
use crate::measure::{LeftOut, Timed};
use crate::numbers::{Spread, grouped, short, spread, times};
use crate::spin;
use crate::tools::{TOOLS, Tool};
use crate::workloads::{Counts, Memory, Program, Workload};
use std::fmt::Write as _;

/// All results of the benchmark.
pub(crate) struct Results {
    /// Workloads for which all tools have the same counts.
    pub(crate) equal: Vec<(Workload, Counts)>,
    pub(crate) compared: Vec<Timed>,
    pub(crate) threads: Vec<Timed>,
    pub(crate) tasks: Vec<Timed>,
    pub(crate) left_out: Vec<LeftOut>,
    /// `None` if valgrind is missing.
    pub(crate) instructions: Option<Vec<Counted>>,
    /// Versions of SPIN and gcc, or the reason why they are missing.
    pub(crate) spin: Result<Vec<String>, String>,
    pub(crate) rounds: usize,
}

const STRING: &str = "a string takes all";

/// Returns the page.
pub(crate) fn page(results: &Results) -> String {
    let mut page = String::new();
    let out = &mut page;
    out.push_str(
        "# Exhaustive search\n\n\
         Written by `cargo bench --features peers --bench explore`; [benches/explore](../../benches/explore/main.rs) is what it does. Every number here was measured in one run of that command.\n\n",
    );
    let mut others = vec![format!("stateright {}", locked("stateright"))];
    others.extend(results.spin.iter().flatten().cloned());
    writeln!(out, "{}\n", machine(&others)).expect(STRING);
    out.push_str("![Transitions a second, by workload and tool](explore.svg)\n\n");
    rates(out, results);
    equality(out, results);
    memory(out, results);
    instructions(out, results);
    left_out(out, results);
    growth(out, results);
    goals(out, results);
    page
}

fn rates(out: &mut String, results: &Results) {
    out.push_str("## Against SPIN and stateright\n\n| workload | states | transitions |");
    TOOLS.iter().for_each(|tool| write!(out, " {} states/s | transitions/s |", tool.name()).expect(STRING));
    out.push_str(" raceflip : SPIN | : SPIN, breadth first | : stateright |\n|---|---|---|");
    out.push_str(&"---|".repeat(2 * TOOLS.len() + 3));
    for timed in &results.compared {
        let Counts { states, transitions } = timed.counts;
        write!(out, "\n| {} | {} | {} |", timed.workload, grouped(states), grouped(transitions)).expect(STRING);
        for tool in TOOLS {
            match timed.cell(tool) {
                Some(cell) => {
                    let transitions = spread(cell.rate(transitions), short);
                    write!(out, " {} | {transitions} |", short(cell.rate(states).median)).expect(STRING);
                }
                None => out.push_str(" – | – |"),
            }
        }
        for tool in [Tool::Spin, Tool::SpinBreadth, Tool::Stateright] {
            write!(out, " {} |", timed.ratio(tool).map_or("–".to_owned(), |r| spread(r, times))).expect(STRING);
        }
    }
    write!(
        out,
        "\n\nMedian (least..most) of {} rounds. In each round every tool searches through every workload, in turns, each time in a new process; ratios are taken within a round. \
         All tools use one thread and reduce nothing. A rate is one per second of processor time, user and system, that the process took from its start to its end, so it is the rate of a core.\n\n",
        results.rounds,
    )
    .expect(STRING);
    match &results.spin {
        Ok(_) => writeln!(
            out,
            "SPIN's verifiers are made by `spin -a` and `gcc {}`, with `-DBFS` for breadth first, and run with `-m` as deep as there are states and `-w` for twice the states.\n",
            spin::OPTIONS.join(" "),
        ),
        Err(reason) => writeln!(out, "SPIN was left out: {reason}.\n"),
    }
    .expect(STRING);
}

fn equality(out: &mut String, results: &Results) {
    out.push_str(
        "A transition is one step of one thread: an access to shared memory, what is done to a lock or a semaphore. All tools count the same states and the same transitions: in the \
         workloads above in every round, and before anything was timed in these:\n\n| workload | states | transitions |\n|---|---|---|\n",
    );
    for (workload, Counts { states, transitions }) in &results.equal {
        writeln!(out, "| {workload} | {} | {} |", grouped(*states), grouped(*transitions)).expect(STRING);
    }
}

// Returns the bytes per state.
fn bytes(timed: &Timed, tool: Tool, of: fn(Memory) -> Option<u64>) -> Option<f64> {
    Some(of(timed.cell(tool)?.memory)? as f64 / timed.counts.states as f64)
}

fn memory(out: &mut String, results: &Results) {
    out.push_str("\n## Bytes a state\n\n| workload | raceflip, visited | whole |");
    out.push_str(" SPIN, visited | whole | SPIN, breadth first, visited | whole | stateright, whole |\n");
    out.push_str("|---|---|---|---|---|---|---|---|\n");
    for timed in &results.compared {
        write!(out, "| {} |", timed.workload).expect(STRING);
        for tool in TOOLS {
            let (visited, whole) = (bytes(timed, tool, |m| m.visited), bytes(timed, tool, |m| m.peak));
            for number in [visited, whole].into_iter().skip(usize::from(tool == Tool::Stateright)) {
                write!(out, " {} |", number.map_or("–".to_owned(), |n| format!("{n:.1}"))).expect(STRING);
            }
        }
        out.push('\n');
    }
    out.push_str(
        "\n\"Visited\" is the set of visited states: in raceflip with the link that leads back from each, in SPIN the hash table and the states in it, without such links (depth first its \
         stack has the way; breadth first the states in the queue are among them). \"Whole\" is the largest size of the process, for SPIN as its report says, with a stack for the longest way \
         that there could be.\n",
    );
}

fn instructions(out: &mut String, results: &Results) {
    out.push_str("\n## Instructions a transition\n\n");
    let Some(counted) = &results.instructions else {
        return out.push_str("They were not counted: valgrind is not installed.\n");
    };
    out.push_str(
        "Counted by callgrind: the instructions of a search less those of a smaller one, by the transitions that it has more.\n\n\
         | workload | transitions | instructions a transition | with livelocks | |\n|---|---|---|---|---|\n",
    );
    for Counted { workload, a_transition, with_livelocks, transitions } in counted {
        let (transitions, ratio) = (grouped(*transitions), times(with_livelocks / a_transition));
        writeln!(out, "| {workload} | {transitions} | {a_transition:.0} | {with_livelocks:.0} | {ratio} |")
            .expect(STRING);
    }
    out.push_str(
        "\n\"With livelocks\" is what `explore` does without options: it also finds the components of the graph of states.\n",
    );
}

fn left_out(out: &mut String, results: &Results) {
    out.push_str(
        "\n## What reductions leave\n\n\
         `explore --reduce` ([stubborn sets](../semantics.md#stubborn-sets)) and `explore --symmetry` ([alike threads](../explore.md#threads-that-are-alike)) on the same models; \"–\" where no threads are alike.\n\n\
         | workload | states | transitions | `--reduce`: states | transitions | `--symmetry`: states | transitions |\n|---|---|---|---|---|---|---|\n",
    );
    for LeftOut { workload, full, reduced, symmetric } in &results.left_out {
        let [states, transitions] =
            [symmetric.map(|c| c.states), symmetric.map(|c| c.transitions)].map(|n| n.map_or("–".to_owned(), grouped));
        writeln!(
            out,
            "| {workload} | {} | {} | {} | {} | {states} | {transitions} |",
            grouped(full.states),
            grouped(full.transitions),
            grouped(reduced.states),
            grouped(reduced.transitions),
        )
        .expect(STRING);
    }
}

fn growth(out: &mut String, results: &Results) {
    out.push_str("\n## Growth\n\n![States, and states a second, by threads and tasks](explore_growth.svg)\n");
    let tables = [
        ("threads", "Threads that write three times each, every one to a variable of its own", &results.threads),
        ("tasks", "Tasks that two threads post to a looper", &results.tasks),
    ];
    for (name, what, rows) in tables {
        writeln!(out, "\n{what}:\n").expect(STRING);
        writeln!(out, "| {name} | states | transitions | states/s | bytes a state |\n|---|---|---|---|---|")
            .expect(STRING);
        for timed in rows {
            let rate = timed.cell(Tool::Raceflip).map(|cell| short(cell.rate(timed.counts.states).median));
            let bytes = bytes(timed, Tool::Raceflip, |m| m.visited).map(|n| format!("{n:.1}"));
            writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                timed.workload.size(),
                grouped(timed.counts.states),
                grouped(timed.counts.transitions),
                rate.unwrap_or_default(),
                bytes.unwrap_or("–".to_owned()),
            )
            .expect(STRING);
        }
    }
    out.push_str("\nSearches of less than a tenth of a second are timed by the clock on the wall.\n");
}

fn goals(out: &mut String, results: &Results) {
    let least = |tool| {
        let ratios: Option<Vec<Spread>> = results.compared.iter().map(|timed| timed.ratio(tool)).collect();
        ratios.map(|ratios| ratios.iter().map(|r| r.median).fold(f64::INFINITY, f64::min))
    };
    let most_bytes: Option<Vec<f64>> =
        results.compared.iter().map(|timed| bytes(timed, Tool::Raceflip, |m| m.visited)).collect();
    let most_bytes = most_bytes.map(|bytes| bytes.into_iter().fold(0.0, f64::max));
    let whole: Option<Vec<f64>> =
        results.compared.iter().map(|timed| bytes(timed, Tool::Raceflip, |m| m.peak)).collect();
    let whole = whole.map(|bytes| bytes.into_iter().fold(0.0, f64::max));
    let of_philosophers = results.compared.iter().find(|timed| timed.workload.program == Program::Philosophers);
    let philosophers = of_philosophers.and_then(|timed| timed.ratio(Tool::Spin)).map(|r| r.median);
    let rate = |timed: &Timed| Some(timed.cell(Tool::Raceflip)?.rate(timed.counts.transitions).median);
    let tasks = results.tasks.last().and_then(rate);
    let most = |counted: &[Counted], tasks: bool| {
        let of = counted.iter().filter(|c| (c.workload.program == Program::Tasks) == tasks);
        of.map(|c| c.a_transition).fold(0.0, f64::max)
    };
    let instructions = results.instructions.as_ref().map(|counted| (most(counted, false), most(counted, true)));
    let of_philosophers = |counted: &Vec<Counted>| {
        let counted = counted.iter().find(|c| c.workload.program == Program::Philosophers);
        counted.map(|c| c.with_livelocks / c.a_transition)
    };
    let livelocks = results.instructions.as_ref().and_then(of_philosophers);
    let at_least = |n: Option<f64>| n.map_or("not measured".to_owned(), |n| format!("{} at least", times(n)));
    let (spin, breadth, stateright) = (least(Tool::Spin), least(Tool::SpinBreadth), least(Tool::Stateright));
    let goals = [
        ("twice SPIN's rate on a core, in every workload", at_least(spin), spin.map(|r| r >= 2.0)),
        ("the same of SPIN breadth first", at_least(breadth), breadth.map(|r| r >= 2.0)),
        ("four times SPIN's rate in philosophers", at_least(philosophers), philosophers.map(|r| r >= 4.0)),
        ("1.5 times the rate of stateright, in every workload", at_least(stateright), stateright.map(|r| r >= 1.5)),
        (
            "1.2 M transitions a second in the largest workload with tasks",
            tasks.map_or("not measured".to_owned(), short),
            tasks.map(|n| n >= 1.2e6),
        ),
        (
            "500 instructions a transition, 1,500 with tasks",
            instructions
                .map_or("not counted".to_owned(), |(others, tasks)| format!("{others:.0} and {tasks:.0} at most")),
            instructions.map(|(others, tasks)| others <= 500.0 && tasks <= 1500.0),
        ),
        (
            "1.4 times as many instructions if livelocks are found as well, in philosophers",
            livelocks.map_or("not counted".to_owned(), times),
            livelocks.map(|n| n <= 1.4),
        ),
        (
            "64 bytes a state, of the whole process",
            whole.map_or("not measured".to_owned(), |n| format!("{n:.1} at most")),
            whole.map(|n| n <= 64.0),
        ),
        (
            "40 bytes a visited state, with the link that leads back",
            most_bytes.map_or("not measured".to_owned(), |n| format!("{n:.1} at most")),
            most_bytes.map(|n| n <= 40.0),
        ),
    ];
    out.push_str("\n## Goals\n\n| goal | measured | |\n|---|---|---|\n");
    for (goal, measured, met) in goals {
        let verdict = met.map_or("–", |met| if met { "met" } else { "not met" });
        writeln!(out, "| {goal} | {measured} | {verdict} |").expect(STRING);
    }
}
