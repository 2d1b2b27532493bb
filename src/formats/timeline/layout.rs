//! Determines which columns are drawn, where, and under which labels: names, shortened names, numbers, or one lane for
//! several columns.

use super::{ColumnId, Item, Timeline, TimelineRow};
use std::collections::{BTreeMap, BTreeSet};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The positions of the lanes.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) lanes: Vec<Lane>,
    /// The index of the lane of each column that is drawn.
    pub(super) lane_of: BTreeMap<ColumnId, usize>,
    /// Width of all lanes.
    pub(super) width: usize,
    /// Width of the name of the acting thread beside the lanes; 0 if the heads of the lanes have the names.
    pub(super) who: usize,
    /// Short names of the columns that are drawn.
    pub(super) names: BTreeMap<ColumnId, String>,
}

/// The space of a column, or of several columns that share it.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) columns: Vec<ColumnId>,
    pub(super) label: String,
    /// Text column at which the space of the lane starts.
    pub(super) from: usize,
    /// Text column of the line of the lane.
    pub(super) center: usize,
}

// Width between the labels of two lanes: room for the point of an arrow.
const BETWEEN: usize = 2;
// Width between the acting thread and its operation.
const AFTER_WHO: usize = 2;
// Width of a lane whose label is a number.
const NARROW: usize = 3;
const CAPS: [usize; 6] = [16, 12, 10, 8, 7, 6];

impl Layout {
    // The first choice is lanes with names, cut as far as necessary to fit the budget, as long as they stay distinct.
    // The second one is lanes with numbers, and the name of the acting thread beside them. If even those do not fit,
    // the most important columns get a lane each, and all others share the last one.
    pub(super) fn new(timeline: &Timeline, width: usize) -> Self {
        let shown: Vec<ColumnId> = timeline.active().into_iter().collect();
        let names = short_names(timeline, &shown);
        let budget = if width >= 80 { width * 42 / 100 } else { width * 30 / 100 };
        let fits = |labels: &[String]| {
            let distinct: BTreeSet<&String> = labels.iter().collect();
            let wide: usize = labels.iter().map(|l| l.width() + BETWEEN).sum();
            distinct.len() == labels.len() && wide <= budget
        };
        let labels = |cap: usize| shown.iter().map(|c| label(&names[c], cap)).collect::<Vec<_>>();
        if let Some(labels) = CAPS.iter().map(|cap| labels(*cap)).find(|l| fits(l)) {
            let lanes = shown.iter().map(|c| vec![*c]).zip(labels).collect();
            return Self::place(lanes, 0, names);
        }
        let widest = names.values().map(|n| n.width()).max().unwrap_or(0);
        let who = widest.min(width / 7);
        let room = (budget / NARROW).max(2);
        let numbers = (1..).map(|n: usize| n.to_string());
        let mut lanes: Vec<(Vec<ColumnId>, String)>;
        if shown.len() <= room {
            lanes = shown.iter().map(|c| vec![*c]).zip(numbers).collect();
        } else {
            let first = by_importance(timeline, &shown, room - 1);
            let (own, others): (Vec<_>, Vec<_>) = shown.iter().partition(|c| first.contains(c));
            lanes = own.into_iter().map(|c| vec![c]).zip(numbers).collect();
            let label = format!("+{}", others.len());
            lanes.push((others, label));
        }
        Self::place(lanes, who, names)
    }

    fn place(lanes: Vec<(Vec<ColumnId>, String)>, who: usize, names: BTreeMap<ColumnId, String>) -> Self {
        let mut layout = Self { lanes: Vec::new(), lane_of: BTreeMap::new(), width: 0, who, names };
        for (columns, label) in lanes {
            let from = layout.width;
            let wide = label.width();
            layout.width += if who > 0 { NARROW.max(wide + 1) } else { wide + BETWEEN };
            layout.lane_of.extend(columns.iter().map(|c| (*c, layout.lanes.len())));
            let center = from + wide.saturating_sub(1) / 2;
            layout.lanes.push(Lane { columns, label, from, center });
        }
        layout
    }

    /// Returns the heads of the lanes.
    pub(super) fn heads(&self) -> String {
        let mut heads = String::new();
        for lane in &self.lanes {
            heads.push_str(&" ".repeat(lane.from.saturating_sub(heads.width())));
            heads.push_str(&lane.label);
        }
        heads
    }

    /// Returns the width of the name of the acting thread, including the space behind it.
    pub(super) fn who_room(&self) -> usize {
        if self.who > 0 { self.who + AFTER_WHO } else { 0 }
    }

    /// Returns the name of the acting thread, padded to [`who_room`](Self::who_room). Empty if the heads have the
    /// names.
    pub(super) fn who(&self, row: &TimelineRow) -> String {
        match row.column.and_then(|c| self.names.get(&c)) {
            _ if self.who == 0 => String::new(),
            Some(name) => pad(&label(name, self.who), self.who + AFTER_WHO),
            None => " ".repeat(self.who + AFTER_WHO),
        }
    }

    /// Returns the meaning of the heads that are not full names.
    pub(super) fn legend(&self, timeline: &Timeline) -> Vec<String> {
        const MOST: usize = 12;
        let name = |c: &ColumnId| timeline.columns[*c].name.clone();
        let described = self.lanes.iter().filter(|l| l.columns.len() != 1 || name(&l.columns[0]) != l.label);
        described
            .map(|lane| {
                let names: Vec<String> = lane.columns.iter().take(MOST).map(name).collect();
                let more = lane.columns.len() - names.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{}\u{a0}=\u{a0}{}{more}", lane.label, names.join(", "))
            })
            .collect()
    }
}

// Returns a short name for each column: the last part of its pedigree, without the number if that part is unique, and
// with the part before it if necessary.
fn short_names<'t>(timeline: &'t Timeline, shown: &[ColumnId]) -> BTreeMap<ColumnId, String> {
    let full = |c: ColumnId| timeline.columns[c].name.as_str();
    let part = |c: ColumnId| full(c).rsplit('/').next().unwrap_or("");
    let bare = |c: ColumnId| part(c).split('#').next().unwrap_or("");
    let count = |of: &dyn Fn(ColumnId) -> String| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        shown.iter().for_each(|c| *counts.entry(of(*c)).or_default() += 1);
        counts
    };
    // The last two parts of the pedigree: the creator and its child.
    let two = |c: ColumnId| full(c).rmatch_indices('/').nth(1).map_or(full(c), |(at, _)| &full(c)[at + 1..]);
    let candidates: [&dyn Fn(ColumnId) -> &'t str; 3] = [&bare, &part, &two];
    let counts = candidates.map(|of| count(&|c| of(c).to_owned()));
    let name = |c: ColumnId| {
        let single = candidates.iter().zip(&counts).find(|(of, counts)| counts.get(of(c)) == Some(&1));
        single.map_or(full(c), |(of, _)| of(c))
    };
    shown.iter().map(|c| (*c, name(*c).to_owned())).collect()
}

// Returns the `room` most important columns: those with marked rows come first, then those with the most rows.
fn by_importance(timeline: &Timeline, shown: &[ColumnId], room: usize) -> BTreeSet<ColumnId> {
    let mut weight: BTreeMap<ColumnId, u64> = BTreeMap::new();
    let items = timeline.items.iter().filter_map(|i| if let Item::Row(row) = i { Some(row) } else { None });
    for row in items.chain(&timeline.ending) {
        let more = if row.mark.is_some() { 1 << 32 } else { 2 };
        row.column.into_iter().for_each(|c| *weight.entry(c).or_default() += more);
        row.arrow.into_iter().for_each(|a| *weight.entry(a.to).or_default() += 1);
    }
    let mut order: Vec<ColumnId> = shown.to_vec();
    order.sort_by_key(|c| (std::cmp::Reverse(weight.get(c).copied().unwrap_or(0)), *c));
    order.into_iter().take(room).collect()
}

// Shortens a name to at most `most` columns. A number at its end is kept, because it may be the only difference to
// another name.
fn label(name: &str, most: usize) -> String {
    let number = name.rfind(['[', '#']).map_or("", |at| &name[at..]);
    match most.checked_sub(number.width()) {
        Some(left) if left > 1 && name.width() > most => shorten(&name[..name.len() - number.len()], left) + number,
        _ => shorten(name, most),
    }
}

/// Shortens a text to at most `most` columns.
pub(super) fn shorten(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if short.width() + c.width().unwrap_or(0) >= most {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// Pads a text to at least `least` columns.
pub(super) fn pad(text: &str, least: usize) -> String {
    format!("{text}{}", " ".repeat(least.saturating_sub(text.width())))
}

/// Wraps a text into lines of at most `most` columns. A longer word is cut.
pub(super) fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(2);
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        let between = usize::from(!line.is_empty());
        if line.width() + between + word.width() <= most {
            line.push_str(&" ".repeat(between));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > most {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_take_the_room_they_have() {
        assert_eq!(shorten("activityManager", 8), "activit…");
        assert_eq!(shorten("short", 8), "short");
        assert_eq!(label("philosopher[10]", 8), "phi…[10]");
        assert_eq!(label("a#1", 8), "a#1");
        assert_eq!(shorten("日本語", 4), "日…");
        assert_eq!(wrap("a bc def ghijklm", 4), ["a bc", "def", "ghij", "klm"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
