//! Draws the plot of the growth: operations a second, and bytes an operation, by the number of tasks, as lines. The
//! axes are logarithmic.

use crate::numbers::{Axis, Spread};
use crate::svg::{curve, decade, head, sign, upright};
use std::fmt::Write as _;

/// The cost of a trace.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) tasks: u32,
    /// Millions of operations a second.
    pub(crate) rate: f64,
    /// Bytes an operation.
    pub(crate) bytes: f64,
}

/// Traces that differ in their number of tasks.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<Point>,
}

// All lengths are in pixels.
const TOP: f64 = 58.0;
const PANEL: f64 = 300.0;
const HEIGHT: f64 = 240.0;
const GAP: f64 = 70.0;

// CSS classes of the series.
const CLASSES: [&str; 3] = ["raceflip", "stateright", "spin"];

// What a panel shows of a point, and its title.
type Shown = (fn(&Point) -> f64, &'static str);

const RATE: Shown = (|p| p.rate, "millions of operations a second, by tasks");
const BYTES: Shown = (|p| p.bytes, "bytes an operation, by tasks");

/// Returns a plot with two panels: operations a second and bytes an operation, by tasks.
pub(crate) fn growth(series: &[Series]) -> String {
    let label = "Operations a second and bytes an operation by number of tasks, on logarithmic axes";
    let size = (2.0 * (GAP + PANEL) + 40.0, TOP + HEIGHT + 60.0);
    let mut out = head(size, label, "Analysis of traces, by tasks", (STYLE, DARK));
    for (i, (series, class)) in series.iter().zip(CLASSES).enumerate() {
        out += &sign(GAP, 2 * i, class, series.name);
        out.push('\n');
    }
    let over = |of: fn(&Point) -> f64, start, length| {
        let values: Vec<Spread> = series.iter().flat_map(|s| &s.points).map(|p| Spread::of([of(p)])).collect();
        Axis::over(&values, start, length)
    };
    let bottom = TOP + HEIGHT;
    let panels = [(GAP, RATE), (2.0 * GAP + PANEL, BYTES)];
    for (left, (of, text)) in panels {
        let tasks = over(|p| f64::from(p.tasks), left, PANEL);
        // A negative length makes an axis point upwards.
        let up = over(of, bottom, -HEIGHT);
        out += &upright(&up, (left, PANEL));
        for power in tasks.from..=tasks.to {
            let (x, y) = (tasks.at(10f64.powi(power)), bottom + 18.0);
            let _ = writeln!(out, "<text class=\"mid\" x=\"{x:.1}\" y=\"{y}\">{}</text>", decade(power));
        }
        let _ = writeln!(out, "<text x=\"{left}\" y=\"{}\">{text}</text>", bottom + 40.0);
        for (series, class) in series.iter().zip(CLASSES) {
            out += &curve(class, series.points.iter().map(|p| (tasks.at(f64::from(p.tasks)), up.at(of(p)))));
        }
    }
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "\
.spin { fill: #d4780a }
.stateright { fill: #8c959f; stroke: none }
.line { fill: none; stroke-width: 2 }
.line.raceflip { stroke: #0969da }
.line.stateright { stroke: #8c959f }
.line.spin { stroke: #d4780a }
";

const DARK: &str = "\
.spin { fill: #e8963a }
.line { fill: none }
.line.raceflip { stroke: #4493f8 }
.line.spin { stroke: #e8963a }
";
