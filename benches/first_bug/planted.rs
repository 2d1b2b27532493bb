//! Generates `docs/results/planted.md`: runs to the failure in generated apps, each with one planted order bug.

use crate::planted_apps::{OrderKind, app};
use crate::runs::{SURW_OF_ONE, first_failure_of, seed};
use crate::table::{columns, goals, head, row};
use crate::tally::{Tally, number};
use crate::{Effort, learning};
use indicatif::HumanCount;
use raceflip::campaign::in_order;
use raceflip::vm::Model;
use std::sync::atomic::AtomicBool;

/// Depths of the bugs.
const DEPTHS: [usize; 3] = [2, 3, 4];

/// Number of ways to look for the failure.
const WAYS: usize = 6;

/// The ways: `fuzz`, and strategies by their names on the command line. `D` stands for the depth of the bug.
const NAMES: [(&str, &str); WAYS] = [
    ("`fuzz`", FUZZ),
    ("random walk", "random"),
    ("PCT-d", "pct:D"),
    ("PCTCP-d", "pctcp:D"),
    ("POS", "pos"),
    ("SURW", SURW_OF_ONE),
];
const FUZZ: &str = "fuzz";

/// Deepest bug that every search of `fuzz` should find.
const SHALLOW: usize = 3;

/// Explanation of the column of SURW.
const SURW: &str = "SURW is `surw:SITE,..` with the accesses, and the operations that wait or wake, of one variable or lock; it is drawn anew for each run among those that several threads or tasks touch in the profile run.";

/// How the bases of `fuzz` were chosen.
const BASES: &str = "`fuzz` has three bases: a random walk, POS, and, from run 9 on, PCT with a depth of 1 to 4 that is drawn. With the first two alone it took three times as many runs as PCT on apps of this generator (seeds 0 to 19): both draw anew all the time, and the order needs a thread that is late for long. So PCT was added, and its share was chosen on those apps. The apps of this page have other seeds, which were not looked at before.";

/// Seed of the first app.
const FIRST: usize = 100;

/// An app, and where each way found its bug first.
struct Row {
    depth: usize,
    number: usize,
    text: String,
    orders: Vec<OrderKind>,
    firsts: [Option<u64>; WAYS],
    cap: u64,
}

impl Row {
    fn name(&self) -> String {
        name(self.depth, self.number)
    }
}

fn name(depth: usize, number: usize) -> String {
    format!("d{depth}s{number}")
}

fn count(depth: usize, number: usize, effort: Effort) -> Result<Row, String> {
    let app = app(depth, effort.size, number as u64);
    let model = Model::from_text(&name(depth, number), &app.text, &[]).map_err(|e| e.to_string())?;
    let mut firsts = [None; WAYS];
    for (first, (_, way)) in firsts.iter_mut().zip(NAMES) {
        let seed = seed(number);
        *first = match way {
            FUZZ => learning::first_failure(&model, seed, effort.cap),
            _ => first_failure_of(&model, &way.replace('D', &depth.to_string()), seed, effort.cap)?,
        };
    }
    Ok(Row { depth, number, text: app.text, orders: app.orders, firsts, cap: effort.cap })
}

/// Counts all apps, or the one whose name `only` is, and returns the page. A page about one app contains its text.
///
/// # Errors
///
/// There is no such app, an app cannot be loaded, or a strategy cannot be made.
pub(crate) fn page(effort: Effort, only: &str) -> Result<String, String> {
    let all = DEPTHS.into_iter().flat_map(|depth| (FIRST..FIRST + effort.apps).map(move |number| (depth, number)));
    let is_meant = |(depth, number): &(usize, usize)| only.is_empty() || name(*depth, *number) == only;
    let apps: Vec<(usize, usize)> = all.filter(is_meant).collect();
    if apps.is_empty() {
        return Ok(format!("no planted app `{only}`: d2s100 is the one of depth 2 and seed 100\n"));
    }
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    let work = |(): &mut (), i: usize| count(apps[i].0, apps[i].1, effort);
    in_order(
        jobs,
        apps.len(),
        &AtomicBool::new(false),
        || (),
        work,
        |_, row| {
            if let Ok(Row { depth, number, firsts, .. }) = &row {
                eprintln!("{}: {firsts:?}", name(*depth, *number));
            }
            rows.push(row);
        },
    );
    let rows: Result<Vec<Row>, String> = rows.into_iter().collect();
    let rows = rows?;
    let mut out = written(&rows, effort);
    if !only.is_empty() {
        rows.iter().for_each(|row| out += &format!("\n## {}\n\n```race\n{}```\n", row.name(), row.text));
    }
    Ok(out)
}

/// Returns the tallies of the rows that are meant, by way.
fn tallies(rows: &[Row], meant: impl Fn(&Row) -> bool) -> Vec<Tally> {
    let meant: Vec<&Row> = rows.iter().filter(|row| meant(row)).collect();
    let tally = |way: usize| Tally {
        firsts: meant.iter().map(|row| row.firsts[way]).collect(),
        cap: meant.first().map_or(0, |row| row.cap),
    };
    (0..WAYS).map(tally).collect()
}

fn written(rows: &[Row], effort: Effort) -> String {
    let mut out = head("Runs to the failure: planted order bugs", "planted", &[]);
    out += &format!(
        "Generated apps in the style of Android ([generator](../../benches/common/planted/mod.rs)): {} components each, which are activities, services, receivers, `AsyncTask`s, threads with queues and plain tasks, \
         with timers, posts, clicks, locks and counters that do no harm; and exactly one planted bug. A bug of depth d needs d ordering constraints that the usual order does not satisfy, as PCT defines depth: every \
         run that satisfies all d of them fails, no other run fails, and no smaller number of constraints suffices. A test ([tests/it/planted.rs](../../tests/it/planted.rs)) compares small apps of the same generator \
         with the search of all their runs, and drives the full ones into their failures.\n\n\
         {} apps for each depth, each with one seed of its own, and {} runs at most. In each cell: in which run the app failed first, the mean over the apps; `(7/{})` is in how many apps the failure was found at all, \
         where it was not in all, and the mean is over those. {} PCT-d and PCTCP-d are told the depth d of the bug, which is not known of a real app; they profile a round-robin run for its number of steps. {} A run of \
         each column is one run of the app from its start to its end.\n\n\
         **How to compare.** All columns are strategies of raceflip, which chooses at each access to shared memory, each operation on a lock or a queue, each firing of an event and each move of the clock. Other tools \
         choose at different points, so their numbers of runs would not compare with these. A random walk chooses the clock and an event as often as a thread, so orders against timers and events come about often; an \
         app on a device has to be slow or a user quick for them.\n\n",
        effort.size.components,
        effort.apps,
        HumanCount(effort.cap),
        effort.apps,
        learning::FUZZ,
        SURW,
    );
    out += &judged(rows);
    out += &format!("\n## How the bases of `fuzz` were chosen\n\n{BASES}\n\n## By depth\n\n");
    out += &depths(rows, |tally| tally.mean_text());
    out += "\nThe median over all apps:\n\n";
    out += &depths(rows, Tally::median_text);
    out += "\nThe most that any app took:\n\n";
    out += &depths(rows, Tally::most_text);
    out += "\nThe geometric mean over all apps. An app in which the failure was not found counts with all its runs, so where these are many the number is too small:\n\n";
    out += &depths(rows, geometric_text);
    out += &kinds(rows);
    out += &each(rows);
    out
}

fn heads(first: &[&str]) -> String {
    let names: Vec<&str> = first.iter().copied().chain(NAMES.map(|n| n.0)).collect();
    columns(&names)
}

fn geometric_text(tally: &Tally) -> String {
    tally.geometric_mean_or_cap().map_or("–".to_owned(), number)
}

fn depths(rows: &[Row], text: impl Fn(&Tally) -> String) -> String {
    let mut out = heads(&["depth"]);
    let cells = |first: String, meant: Vec<Tally>| row(&[vec![first], meant.iter().map(&text).collect()].concat());
    for depth in DEPTHS.into_iter().filter(|depth| rows.iter().any(|row| row.depth == *depth)) {
        out += &cells(depth.to_string(), tallies(rows, |row| row.depth == depth));
    }
    out += &cells("all".to_owned(), tallies(rows, |_| true));
    out
}

fn judged(rows: &[Row]) -> String {
    let shallow = &tallies(rows, |row| row.depth <= SHALLOW)[0];
    let means: Vec<f64> = tallies(rows, |_| true).iter().filter_map(Tally::geometric_mean_or_cap).collect();
    let fuzz = means.first().copied().unwrap_or(f64::INFINITY);
    let best = means.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    let (name, best) = best.map_or(("–", f64::INFINITY), |(way, mean)| (NAMES[way].0, mean));
    goals(&[
        (
            "`fuzz` finds every planted bug of depth 3 at most",
            format!("{} of {}", shallow.found(), shallow.firsts.len()),
            shallow.always(),
        ),
        (
            "the geometric mean of `fuzz` over all apps is the best, or at most twice the best",
            format!("{}; the best is that of {name}, {}", number(fuzz), number(best)),
            fuzz <= 2.0 * best,
        ),
    ])
}

fn kinds(rows: &[Row]) -> String {
    let mut out = "\n## By kind\n\nThe apps of all depths whose chain has an order of this kind: the geometric mean as above, and in how many the failure was found, where it was not in all. An app counts once for each kind \
        that it has, so these numbers do not tell kinds apart as cleanly as depths.\n\n"
        .to_owned();
    out += &heads(&["kind of order", "apps"]);
    for kind in OrderKind::ALL.into_iter().filter(|kind| rows.iter().any(|row| row.orders.contains(kind))) {
        let meant = tallies(rows, |row| row.orders.contains(&kind));
        let apps = meant[0].firsts.len();
        let found = |tally: &Tally| match geometric_text(tally) {
            mean if tally.always() => mean,
            mean => format!("{mean} ({}/{apps})", tally.found()),
        };
        let mut cells = vec![kind.text().to_owned(), apps.to_string()];
        cells.extend(meant.iter().map(found));
        out += &row(&cells);
    }
    out
}

fn each(rows: &[Row]) -> String {
    let mut out = "\n## All apps\n\n`cargo bench --features peers --bench first_bug -- planted --program d2s100` prints the app `d2s100`, the one of depth 2 and seed 100. In each cell the first run that fails; an empty cell if none did.\n\n"
        .to_owned();
    out += &heads(&["app", "orders"]);
    for r in rows {
        let orders: Vec<&str> = r.orders.iter().map(|kind| kind.word()).collect();
        let mut cells = vec![r.name(), orders.join(", ")];
        cells.extend(r.firsts.map(|first| first.map_or(String::new(), |n| HumanCount(n).to_string())));
        out += &row(&cells);
    }
    out += "\nThe orders, in the order of the chain: ";
    let words: Vec<String> = OrderKind::ALL.map(|kind| format!("*{}* is {}", kind.word(), kind.text())).into();
    out + &words.join("; ") + ".\n"
}
