//! Shared parts of the plots: plain SVG that is readable on light and on dark pages. All lengths are in pixels.

use crate::numbers::{Axis, Spread, short};

/// Height of a bar including the gap.
pub(crate) const BAR: f64 = 12.0;

/// Returns the start of a picture. `style` extends the common style on light and on dark pages.
pub(crate) fn head((width, height): (f64, f64), label: &str, title: &str, style: (&str, &str)) -> String {
    let (light, dark) = style;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n\
         <style>\n{LIGHT}{light}@media (prefers-color-scheme: dark) {{\n{DARK}{dark}}}\n</style>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n<text class=\"head\" x=\"16\" y=\"24\">{title}</text>\n",
    )
}

/// Returns the label of a decade.
pub(crate) fn decade(power: i32) -> String {
    short(10f64.powi(power)).replace(".00", "").replace(".0", "")
}

/// Returns the legend entry of a series, the n-th one from `left` on.
pub(crate) fn sign(left: f64, nth: usize, class: &str, name: &str) -> String {
    let x = left + 110.0 * nth as f64;
    format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"36\" width=\"12\" height=\"10\"/>\n<text x=\"{}\" y=\"45\">{name}</text>",
        x + 18.0
    )
}

/// Returns the grid lines of a horizontal axis, from `top` to `bottom`.
pub(crate) fn grid(axis: &Axis, top: f64, bottom: f64) -> String {
    let line = |power: i32| {
        let x = axis.at(10f64.powi(power));
        format!(
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\n<text class=\"mid\" x=\"{x:.1}\" y=\"{}\">{}</text>\n",
            bottom + 18.0,
            decade(power)
        )
    };
    (axis.from..=axis.to).map(line).collect()
}

/// Returns a bar from `left` to the median, with the range of the rounds.
pub(crate) fn bar(axis: &Axis, (left, y): (f64, f64), class: &str, rate: Spread) -> String {
    let (middle, baseline, height) = (y + BAR / 2.0 - 0.5, y + BAR - 2.5, BAR - 1.0);
    let (end, least, most) = (axis.at(rate.median), axis.at(rate.least), axis.at(rate.most));
    format!(
        "<rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"{:.1}\" height=\"{height}\"/>\
         <line class=\"range\" x1=\"{least:.1}\" y1=\"{middle}\" x2=\"{most:.1}\" y2=\"{middle}\"/>\
         <text class=\"small\" x=\"{:.1}\" y=\"{baseline}\">{}</text>",
        end - left,
        most + 5.0,
        short(rate.median),
    )
}

/// Returns the grid lines of a vertical axis over a panel that begins at `left` and has this width.
pub(crate) fn upright(axis: &Axis, (left, width): (f64, f64)) -> String {
    let line = |power: i32| {
        let (y, right) = (axis.at(10f64.powi(power)), left + width);
        format!(
            "<line class=\"grid\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\n<text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>\n",
            left - 8.0,
            y + 4.0,
            decade(power)
        )
    };
    (axis.from..=axis.to).map(line).collect()
}

/// Returns a line through points, and a dot at each.
pub(crate) fn curve(class: &str, points: impl Iterator<Item = (f64, f64)> + Clone) -> String {
    let path: Vec<String> = points.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dot = |(x, y): (f64, f64)| format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n");
    let dots: String = points.map(dot).collect();
    format!("<polyline class=\"{class} line\" points=\"{}\"/>\n{dots}", path.join(" "))
}

const LIGHT: &str = "\
text { font: 12px sans-serif; fill: #1f2328 }
.head { font-size: 14px; font-weight: bold }
.small { font-size: 10px }
.mid { text-anchor: middle }
.end { text-anchor: end }
.page { fill: #ffffff }
.grid { stroke: #d0d7de }
.range { stroke: #1f2328; stroke-width: 1.5 }
.raceflip { fill: #0969da }
";

const DARK: &str = "\
text { fill: #e6edf3 }
.page { fill: #0d1117 }
.grid { stroke: #30363d }
.range { stroke: #e6edf3 }
.raceflip { fill: #4493f8 }
";
