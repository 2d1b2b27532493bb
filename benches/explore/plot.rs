//! Draws the plots: transitions per second by workload and tool, as bars; states and rates by threads and tasks, as
//! lines. The axes are logarithmic. The plain SVG is readable on light and on dark pages.

use crate::measure::Timed;
use crate::numbers::{Axis, Spread};
use crate::report::Results;
use crate::svg::{BAR, bar, curve, decade, grid, head, sign, upright};
use crate::tools::{TOOLS, Tool};
use std::fmt::Write as _;

// All lengths are in pixels.
const LEFT: f64 = 190.0;
const WIDTH: f64 = 480.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 58.0;
const GROUP: f64 = 4.0 * BAR + 12.0;
const BOTTOM: f64 = 44.0;

const STRING: &str = "a string takes all";

// Returns the CSS class of a tool.
fn class(tool: Tool) -> &'static str {
    match tool {
        Tool::Raceflip | Tool::RaceflipLivelocks => "raceflip",
        Tool::Spin => "spin",
        Tool::SpinBreadth => "breadth",
        Tool::Stateright => "stateright",
    }
}

/// Returns the plot of transitions per second, by workload and tool.
pub(crate) fn compared(rows: &[Timed]) -> String {
    let rate = |row: &Timed, tool| row.cell(tool).map(|cell| cell.rate(row.counts.transitions));
    let rates: Vec<Spread> = rows.iter().flat_map(|row| TOOLS.map(|tool| rate(row, tool))).flatten().collect();
    let axis = Axis::over(&rates, LEFT, WIDTH);
    let bottom = TOP + GROUP * rows.len() as f64;
    let label = "Transitions a second of raceflip, SPIN and stateright, by workload, on a logarithmic axis";
    let title = "Transitions a second on a core, logarithmic axis: median, least and most";
    let mut out = head((LEFT + WIDTH + RIGHT, bottom + BOTTOM), label, title, (LIGHT, DARK));
    let mut line = |text: String| writeln!(out, "{text}").expect(STRING);
    // The longest name comes last, so that it has room.
    for (i, tool) in [Tool::Raceflip, Tool::Stateright, Tool::Spin, Tool::SpinBreadth].into_iter().enumerate() {
        line(sign(LEFT, i, class(tool), tool.name()));
    }
    line(grid(&axis, TOP, bottom));
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + GROUP * i as f64 + 6.0;
        let middle = top + 2.0 * BAR + 4.0;
        line(format!("<text class=\"end\" x=\"{}\" y=\"{middle}\">{}</text>", LEFT - 10.0, row.workload));
        for (j, tool) in TOOLS.into_iter().enumerate() {
            if let Some(rate) = rate(row, tool) {
                line(bar(&axis, (LEFT, top + BAR * j as f64), class(tool), rate));
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

const PANEL: f64 = 300.0;
const HEIGHT: f64 = 240.0;
const GAP: f64 = 70.0;

/// Returns a plot with two panels: states by threads or tasks, and states per second by states.
pub(crate) fn growth(results: &Results) -> String {
    let series = [("threads", "raceflip", &results.threads), ("tasks", "stateright", &results.tasks)];
    let label =
        "States by number of threads and of tasks, and states a second by number of states, on logarithmic axes";
    let mut out =
        head((2.0 * (GAP + PANEL) + 40.0, TOP + HEIGHT + 60.0), label, "Growth by threads and tasks", (LIGHT, DARK));
    for (i, (name, class, _)) in series.iter().enumerate() {
        writeln!(out, "{}", sign(GAP, i, class, name)).expect(STRING);
    }
    let all = || results.threads.iter().chain(&results.tasks);
    let exact = |n: u64| Spread::of([n as f64]);
    let rate = |row: &Timed| row.cell(Tool::Raceflip).map_or(1.0, |cell| cell.rate(row.counts.states).median);
    let bottom = TOP + HEIGHT;
    // A negative length makes an axis point upwards.
    let states_up = Axis::over(&all().map(|row| exact(row.counts.states)).collect::<Vec<_>>(), bottom, -HEIGHT);
    let rates_up = Axis::over(&all().map(|row| Spread::of([rate(row)])).collect::<Vec<_>>(), bottom, -HEIGHT);
    let second = 2.0 * GAP + PANEL;
    let states = Axis::over(&all().map(|row| exact(row.counts.states)).collect::<Vec<_>>(), second, PANEL);
    let most = all().map(|row| row.workload.size()).max().unwrap_or(1);
    let by_size = |row: &Timed| GAP + PANEL * row.workload.size() as f64 / most as f64;
    for (left, axis) in [(GAP, &states_up), (second, &rates_up)] {
        out += &upright(axis, (left, PANEL));
    }
    for size in (0..=most).step_by(1 + most as usize / 10) {
        let x = GAP + PANEL * size as f64 / most as f64;
        writeln!(out, "<text class=\"mid\" x=\"{x:.1}\" y=\"{}\">{size}</text>", bottom + 18.0).expect(STRING);
    }
    for power in states.from..=states.to {
        let x = states.at(10f64.powi(power));
        writeln!(out, "<text class=\"mid\" x=\"{x:.1}\" y=\"{}\">{}</text>", bottom + 18.0, decade(power))
            .expect(STRING);
    }
    for (x, text) in [(GAP, "states, by threads or tasks"), (second, "states a second on a core, by states")] {
        writeln!(out, "<text x=\"{x}\" y=\"{}\">{text}</text>", bottom + 40.0).expect(STRING);
    }
    for (_, class, rows) in series {
        let by_size = rows.iter().map(|row| (by_size(row), states_up.at(row.counts.states as f64)));
        let by_states = rows.iter().map(|row| (states.at(row.counts.states as f64), rates_up.at(rate(row))));
        out += &curve(class, by_size);
        out += &curve(class, by_states);
    }
    out.push_str("</svg>\n");
    out
}

const LIGHT: &str = "\
.spin { fill: #d4780a }
.breadth { fill: #bf8700 }
.stateright { fill: #8c959f; stroke: none }
.line { fill: none; stroke-width: 2 }
.line.raceflip { stroke: #0969da }
.line.stateright { stroke: #8c959f }
";

const DARK: &str = "\
.spin { fill: #e8963a }
.line { fill: none }
.line.raceflip { stroke: #4493f8 }
";
