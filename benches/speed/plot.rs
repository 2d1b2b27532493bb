//! Draws the plot: iterations per second by workload and tool, as bars on a logarithmic axis. The plain SVG is readable
//! on light and on dark pages.

use crate::measure::{COMPARED, Tool};
use crate::numbers::{Axis, Spread};
use crate::report::Row;
use crate::svg::{BAR, bar, grid, head, sign};

// All lengths are in pixels.
const LEFT: f64 = 150.0;
const WIDTH: f64 = 520.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 58.0;
const GROUP: f64 = 3.0 * BAR + 12.0;
const BOTTOM: f64 = 44.0;

/// Returns the picture.
pub(crate) fn svg(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.timed.workload.compared()).collect();
    let rate = |row: &Row, tool| row.rate(tool).map(|rate| rate.times(row.timed.workload.iterations() as f64));
    let rates: Vec<Spread> = rows.iter().flat_map(|row| COMPARED.map(|tool| rate(row, tool))).flatten().collect();
    let axis = Axis::over(&rates, LEFT, WIDTH);
    let (width, bottom) = (LEFT + WIDTH + RIGHT, TOP + GROUP * rows.len() as f64);
    let label = "Iterations a second of raceflip, shuttle and loom, by workload, on a logarithmic axis";
    let title = "Iterations a second, logarithmic axis: median, least and most";
    let mut out = head((width, bottom + BOTTOM), label, title, (LIGHT, DARK));
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    for (i, tool) in COMPARED.into_iter().enumerate() {
        line(sign(LEFT, i, tool.name(), tool.name()));
    }
    line(grid(&axis, TOP, bottom));
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + GROUP * i as f64 + 6.0;
        let title = row.timed.workload.title();
        line(format!("<text class=\"end\" x=\"{}\" y=\"{}\">{title}</text>", LEFT - 10.0, top + 1.5 * BAR + 4.0));
        for (j, tool) in COMPARED.into_iter().enumerate() {
            line(bar_of(&axis, top + BAR * j as f64, tool, rate(row, tool)));
        }
    }
    out.push_str("</svg>\n");
    out
}

fn bar_of(axis: &Axis, y: f64, tool: Tool, rate: Option<Spread>) -> String {
    match rate {
        Some(rate) => bar(axis, (LEFT, y), tool.name(), rate),
        None => {
            format!("<text class=\"small\" x=\"{}\" y=\"{}\">{} cannot</text>", LEFT + 4.0, y + BAR - 2.5, tool.name())
        }
    }
}

const LIGHT: &str = "\
.shuttle { fill: #d4780a }
.loom { fill: #8c959f }
";

const DARK: &str = "\
.shuttle { fill: #e8963a }
.loom { fill: #8c959f }
";
