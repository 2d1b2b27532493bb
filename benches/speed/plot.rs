//! The plot: iterations a second by workload and tool, as bars on a logarithmic axis. Plain SVG that reads on light and on dark pages.

use crate::measure::{TOOLS, Tool};
use crate::numbers::{Axis, Spread, short};
use crate::report::Row;
use std::fmt::Write as _;

// All lengths are in pixels.
const LEFT: f64 = 150.0;
const WIDTH: f64 = 520.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 58.0;
const BAR: f64 = 12.0;
const GROUP: f64 = 3.0 * BAR + 12.0;
const BOTTOM: f64 = 44.0;

/// The picture.
pub(crate) fn svg(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.timed.workload.compared()).collect();
    let rate = |row: &Row, tool| row.rate(tool).map(|rate| rate.times(row.timed.workload.iterations() as f64));
    let rates: Vec<Spread> = rows.iter().flat_map(|row| TOOLS.map(|tool| rate(row, tool))).flatten().collect();
    let axis = Axis::over(&rates, LEFT, WIDTH);
    let (width, bottom) = (LEFT + WIDTH + RIGHT, TOP + GROUP * rows.len() as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{h}\" viewBox=\"0 0 {width} {h}\" role=\"img\" aria-label=\"Iterations a second of \
         raceflip, shuttle and loom, by workload, on a logarithmic axis\">\n{STYLE}<rect class=\"page\" width=\"{width}\" height=\"{h}\"/>\n\
         <text class=\"head\" x=\"16\" y=\"24\">Iterations a second, logarithmic axis: median, least and most</text>\n",
        h = bottom + BOTTOM,
    );
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    for (i, tool) in TOOLS.into_iter().enumerate() {
        let x = LEFT + 110.0 * i as f64;
        line(format!("<rect class=\"{}\" x=\"{x}\" y=\"36\" width=\"12\" height=\"10\"/>", tool.name()));
        line(format!("<text x=\"{}\" y=\"45\">{}</text>", x + 18.0, tool.name()));
    }
    for decade in axis.from..=axis.to {
        let x = axis.at(10f64.powi(decade));
        line(format!("<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>"));
        let text = short(10f64.powi(decade)).replace(".00", "").replace(".0", "");
        line(format!("<text class=\"mid\" x=\"{x:.1}\" y=\"{}\">{text}</text>", bottom + 18.0));
    }
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + GROUP * i as f64 + 6.0;
        let title = row.timed.workload.title();
        line(format!("<text class=\"end\" x=\"{}\" y=\"{}\">{title}</text>", LEFT - 10.0, top + 1.5 * BAR + 4.0));
        for (j, tool) in TOOLS.into_iter().enumerate() {
            line(bar(&axis, top + BAR * j as f64, tool, rate(row, tool)));
        }
    }
    out.push_str("</svg>\n");
    out
}

fn bar(axis: &Axis, y: f64, tool: Tool, rate: Option<Spread>) -> String {
    let name = tool.name();
    let (middle, baseline) = (y + BAR / 2.0 - 0.5, y + BAR - 2.5);
    let Some(rate) = rate else {
        return format!("<text class=\"small\" x=\"{}\" y=\"{baseline}\">{name} cannot</text>", LEFT + 4.0);
    };
    let mut text = String::new();
    let (end, least, most) = (axis.at(rate.median), axis.at(rate.least), axis.at(rate.most));
    let height = BAR - 1.0;
    write!(text, "<rect class=\"{name}\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{height}\"/>", end - LEFT)
        .and_then(|()| {
            write!(text, "<line class=\"range\" x1=\"{least:.1}\" y1=\"{middle}\" x2=\"{most:.1}\" y2=\"{middle}\"/>")
        })
        .and_then(|()| {
            write!(text, "<text class=\"small\" x=\"{:.1}\" y=\"{baseline}\">{}</text>", most + 5.0, short(rate.median))
        })
        .expect("a string takes all");
    text
}

const STYLE: &str = "<style>
text { font: 12px sans-serif; fill: #1f2328 }
.head { font-size: 14px; font-weight: bold }
.small { font-size: 10px }
.mid { text-anchor: middle }
.end { text-anchor: end }
.page { fill: #ffffff }
.grid { stroke: #d0d7de }
.range { stroke: #1f2328; stroke-width: 1.5 }
.raceflip { fill: #0969da }
.shuttle { fill: #d4780a }
.loom { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.page { fill: #0d1117 }
.grid { stroke: #30363d }
.range { stroke: #e6edf3 }
.raceflip { fill: #4493f8 }
.shuttle { fill: #e8963a }
.loom { fill: #8c959f }
}
</style>
";
