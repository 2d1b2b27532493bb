//! Renders one run, or two runs side by side, as an SVG picture: a lane for each thread and looper, a box for each
//! task, a row for each step, and an arrow from a post to the task that it brings about.
//!
//! The picture is plain: it has no script and needs no other file. Its colors follow the reader's choice of a light or
//! a dark page. No information is in colors alone.

mod draw;
mod frame;
mod sheet;

use super::{Item, Timeline, TimelineRow};
use crate::event::SiteId;
use draw::Pen;
use frame::{Frame, LINE, ROW};
use sheet::{CHAR, Layer};
use std::collections::{BTreeMap, BTreeSet};

/// Number of rows of a run, of which a picture leaves out some if there are more.
pub const MOST: usize = 60;

/// A run in a picture.
#[derive(Clone, Debug)]
pub struct Run {
    /// The rows, in a picture of two runs those after the shared ones.
    pub timeline: Timeline,
    /// How the run ended, in words.
    pub end: String,
}

const MARGIN: i64 = 16;
// Width between two runs.
const BETWEEN: i64 = 28;
// Maximum number of marked statements that are listed.
const MOST_LISTED: usize = 8;

/// Draws one run, or several runs side by side that begin with the rows of `shared`. The columns of all timelines have
/// the same ids ([`Timeline::put_beside`]).
///
/// # Panics
///
/// Panics if there is no run.
#[must_use]
pub fn picture(title: &str, shared: &Timeline, runs: &[Run]) -> String {
    let all = together(shared, runs);
    let frame = Frame::new(&all, runs.len() == 1);
    let colours = colours(&all);
    let width = 2 * MARGIN + runs.len() as i64 * (frame.width + BETWEEN) - BETWEEN;
    let mut layers = [Layer::new(), Layer::new(), Layer::new()];
    layers[2].text("title", (MARGIN, 28), title);
    let mut y = key_of_marks(&mut layers, &all, &colours, 38);
    for line in frame.legend.iter().flat_map(|entry| frame.wrap(entry)) {
        layers[2].text("small dim", (MARGIN, y + 12), &line);
        y += LINE;
    }
    let heads = heads(&all, shared, runs);
    let lines: Vec<Vec<String>> = heads.iter().map(|head| frame.wrap(head)).collect();
    let top = y + 8 + ROW * lines.iter().map(|l| l.len() as i64).max().unwrap_or(0);
    let rows = top + 2 * LINE + 6;
    let shared_height: i64 = shared.items.iter().map(|item| frame.height(shared, item)).sum();
    if shared_height > 0 {
        zone(&mut layers, width, (rows, rows + shared_height));
    }
    let (mut bottom, mut used) = (rows, BTreeSet::new());
    for ((i, run), head) in (0..).zip(runs).zip(&lines) {
        let x = MARGIN + i * (frame.width + BETWEEN);
        let class = if run.timeline.ending.is_empty() { "head" } else { "bad" };
        for (line, text) in (1..).zip(head) {
            layers[2].text(class, (x, y + ROW * line), text);
        }
        let mut pen = Pen::new(&frame, &all, &colours, &mut layers, (x, top));
        pen.heads();
        pen.items(&shared.items);
        if shared_height > 0 {
            pen.skip(ROW);
        }
        pen.items(&run.timeline.items);
        let (end, signs) = pen.finish(run);
        bottom = bottom.max(end);
        used.extend(signs);
    }
    let key: Vec<&str> = used.iter().map(|sign| sign.meaning()).collect();
    let columns = ((width - 2 * MARGIN) / CHAR) as usize;
    for line in super::layout::wrap(&format!("Time runs down. {}.", key.join("; ")), columns) {
        bottom += LINE;
        layers[2].text("small dim", (MARGIN, bottom + 4), &line);
    }
    sheet::picture((width, bottom + MARGIN), title, &description(&heads), layers)
}

// Draws the background of the rows that all runs begin with.
fn zone(layers: &mut [Layer; 3], width: i64, (from, to): (i64, i64)) {
    let (x, wide, end) = (MARGIN / 2, width - MARGIN, to + ROW);
    layers[0].shape("rect", "shared", [("x", x), ("y", from), ("width", wide), ("height", end - from)]);
    layers[1].shape("line", "edge", [("x1", x), ("y1", end), ("x2", x + wide), ("y2", end)]);
    layers[2].text("small dim mid", (width / 2, end - 6), "the same in both runs up to here");
}

// Returns a timeline with the rows of all runs, for what they have in common.
fn together(shared: &Timeline, runs: &[Run]) -> Timeline {
    let first = &runs.first().expect("a picture has a run").timeline;
    let of = |run: &Run| run.timeline.items.clone();
    let items: Vec<Item> = shared.items.iter().cloned().chain(runs.iter().flat_map(of)).collect();
    let ending: Vec<TimelineRow> = runs.iter().flat_map(|run| run.timeline.ending.clone()).collect();
    let (columns, statements, marked) = (first.columns.clone(), first.statements.clone(), first.marked.clone());
    // Two runs beside each other have no transaction in common.
    let transaction = first.transaction.clone().filter(|_| runs.len() == 1);
    Timeline { columns, items, ending, statements, marked, transaction, ..Timeline::default() }
}

/// Colors of the marked statements that some row has: a number for each statement.
type Colours = BTreeMap<SiteId, usize>;

// All accesses of one statement have one color.
fn colours(all: &Timeline) -> Colours {
    let seen: BTreeSet<SiteId> = all.rows().filter_map(|row| row.site).filter(|s| all.marked.contains(s)).collect();
    let mut numbers = BTreeMap::new();
    let number = |site: SiteId| {
        let next = numbers.len();
        (site, *numbers.entry((all.statements[site].line, &all.statements[site].text)).or_insert(next))
    };
    seen.into_iter().map(number).collect()
}

/// Returns the class of a marked statement.
fn class(number: usize) -> &'static str {
    ["race0", "race1", "race2", "race3"][number % 4]
}

// Lists the marked statements with their colors. Returns the end of the list.
fn key_of_marks(layers: &mut [Layer; 3], all: &Timeline, colours: &Colours, mut y: i64) -> i64 {
    let mut listed = BTreeSet::new();
    for (site, number) in colours {
        if *number >= MOST_LISTED || !listed.insert(*number) {
            continue;
        }
        let statement = &all.statements[*site];
        layers[0].shape("rect", class(*number), [("x", MARGIN), ("y", y + 2), ("width", 14), ("height", 14)]);
        layers[2].text("", (MARGIN + 22, y + 13), &format!(":{} {}", statement.line, statement.text));
        y += ROW;
    }
    y
}

// Returns a head for each run: which of the marked statements came first, and how the run ended.
fn heads(all: &Timeline, shared: &Timeline, runs: &[Run]) -> Vec<String> {
    if let [run] = runs {
        return vec![run.end.clone()];
    }
    let marked = |row: &&TimelineRow| row.site.is_some_and(|site| all.marked.contains(&site));
    let first = |run: &Run| run.timeline.rows().chain(shared.rows()).find(marked).cloned();
    let name = |row: &TimelineRow| {
        row.site.map_or(String::new(), |site| match &all.statements[site] {
            statement if statement.label.is_empty() => format!(":{}", statement.line),
            statement => statement.label.clone(),
        })
    };
    let firsts: Vec<Option<TimelineRow>> = runs.iter().map(first).collect();
    let names: BTreeSet<String> = firsts.iter().flatten().map(name).collect();
    let head = |(i, run): (usize, &Run)| {
        let order = match &firsts[i] {
            None => format!("run {}", i + 1),
            Some(row) if names.len() == runs.len() => format!("{} first", name(row)),
            // Both accesses are one statement, so the threads distinguish them.
            Some(row) => {
                let by = row.column.map_or(String::new(), |c| format!(" by {}", all.columns[c].name));
                format!("{}{by} first", name(row))
            }
        };
        format!("{order}: {}", run.end)
    };
    runs.iter().enumerate().map(head).collect()
}

fn description(heads: &[String]) -> String {
    match heads {
        [left, right] => format!("Two runs of one model side by side; time runs down. Left: {left}. Right: {right}."),
        heads => format!("A run of a model; time runs down. It ends: {}.", heads.join(". ")),
    }
}
