//! Generates `docs/results/window.md`: a failure that needs one access between two others, far into a run, and
//! RaceFuzzer's figure 2.

use crate::peers::windows::{on_loom, on_shuttle};
use crate::peers::{Peer, Program, Searched, loom_search, shuttle_first_failures};
use crate::runs::{Budget, first_failures, load};
use crate::table::{columns, goals, head, row};
use crate::tally::Tally;
use crate::{Effort, campaign, learning, sctbench};
use indicatif::HumanCount;

/// Numbers of accesses on each side.
const SIZES: [u64; 4] = [5, 50, 500, 5_000];

/// A program, written for all tools.
struct Subject {
    title: &'static str,
    path: &'static str,
    directed: &'static str,
    shuttle: fn(u64) -> Program,
    loom: fn(u64) -> Program,
    /// Maximum number of scheduling points of a run, divided by `k`.
    points: u64,
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        title: "window",
        path: "benches/models/window.race",
        directed: "directed:@set~@read",
        shuttle: on_shuttle::window,
        loom: on_loom::window,
        points: 4,
    },
    Subject {
        title: "RaceFuzzer's figure 2",
        path: "harnesses/papers/racefuzzer_fig2.race",
        directed: "directed:@s8~@s10",
        shuttle: on_shuttle::figure2,
        loom: on_loom::figure2,
        points: 1,
    },
];

/// Counts for one size.
struct Row {
    k: u64,
    directed: Tally,
    random: Tally,
    pct: Tally,
    confirm: Tally,
    fuzz: Tally,
    shuttle_random: Tally,
    shuttle_pct: Tally,
    loom: Searched,
}

// Returns the maximum number of schedules per seed, so that a seed has about `points` scheduling points.
fn cap(subject: &Subject, k: u64, cap: u64, points: u64) -> u64 {
    cap.min((points / (k * subject.points)).max(100))
}

fn count(subject: &Subject, k: u64, effort: Effort) -> Result<Row, String> {
    let model = load(subject.path, &[("K", k as i64)])?;
    let budget = |points| Budget::all(effort.seeds, cap(subject, k, effort.cap, points));
    let (ours, theirs) = (budget(OURS), budget(THEIRS));
    let own = |text| first_failures(&model, text, ours);
    let program = (subject.shuttle)(k);
    let peer = |peer| shuttle_first_failures(&program, peer, theirs);
    let branches = 1_000.max(10 * k as usize * subject.points as usize);
    Ok(Row {
        k,
        directed: own(subject.directed)?,
        random: own("random")?,
        pct: own("pct:3")?,
        confirm: campaign::first_failures(&model, ours),
        fuzz: learning::first_failures(&model, ours),
        shuttle_random: peer(Peer::Random),
        shuttle_pct: peer(Peer::Pct),
        loom: loom_search(&(subject.loom)(k), branches, theirs.cap),
    })
}

// Approximate numbers of scheduling points per cell and seed, for raceflip and for the other tools.
const OURS: u64 = 20_000_000;
const THEIRS: u64 = 4_000_000;

/// Counts both programs at all sizes and returns the page.
///
/// # Errors
///
/// A model cannot be loaded, or a strategy cannot be made.
pub(crate) fn page(effort: Effort) -> Result<String, String> {
    let mut out = head("A window, and RaceFuzzer's figure 2", "window", &["shuttle", "loom"]);
    out += &format!(
        "*window* ([model](../../benches/models/window.race)): a thread makes 2k accesses to memory of its own, with `x = 0; x = 1` in the middle; another one reads x in the middle of 2k accesses to memory of its \
         own, and fails at 0. *Figure 2* ([model](../../harnesses/papers/racefuzzer_fig2.race)): k statements under a lock before the read, nothing before the write. shuttle and loom run the same \
         [programs](../../benches/first_bug/peers/windows.rs).\n\n\
         In each cell: in which schedule the failure showed first, the median of {} seeds; `> n` where half of the seeds had not found it after n schedules. How many these are depends on k: {} scheduling points of a \
         seed, about, for raceflip, {} for shuttle and loom, and {} schedules at most. *Directed* drives at one pair (`{}`, `{}`). {} {}\n\n\
         loom draws nothing: it searches through all schedules that differ in the order of conflicting accesses, from one end; the number is that of the schedule in which its search meets the failure.\n\n\
         Two numbers are luck. The round robin, `confirm`'s first run, moves both threads of *window* in lockstep, and so into the window, which is in the middle of both. The first run of shuttle's PCT and of loom lets \
         each thread run as long as it can, the oldest first, and that is how figure 2 fails. PCT of depth 3 does badly there because both of its changes of priority fall into the long critical section, where they make \
         the other thread write first.\n",
        effort.seeds,
        HumanCount(OURS),
        HumanCount(THEIRS),
        HumanCount(effort.cap),
        SUBJECTS[0].directed,
        SUBJECTS[1].directed,
        sctbench::CONFIRM,
        learning::FUZZ,
    );
    let mut all = Vec::new();
    for subject in &SUBJECTS {
        out += &format!("\n## {}\n\n", subject.title);
        out += &columns(&[
            "k",
            "directed",
            "random walk",
            "PCT-3",
            "`confirm`",
            "`fuzz`",
            "shuttle: random",
            "shuttle: PCT-3",
            "loom",
        ]);
        for k in SIZES.into_iter().filter(|k| *k <= effort.most_accesses) {
            let start = std::time::Instant::now();
            let r = count(subject, k, effort)?;
            eprintln!("{}, k = {k}: {:.1} s", subject.title, start.elapsed().as_secs_f64());
            let tallies = [&r.directed, &r.random, &r.pct, &r.confirm, &r.fuzz, &r.shuttle_random, &r.shuttle_pct];
            let mut cells = vec![HumanCount(k).to_string()];
            cells.extend(tallies.map(Tally::median_text));
            cells.push(loom_text(r.loom));
            out += &row(&cells);
            all.push((subject.title, r));
        }
    }
    out += "\n";
    out += &judged(&all);
    Ok(out)
}

fn loom_text(searched: Searched) -> String {
    match searched {
        Searched::Fails(n) => HumanCount(n).to_string(),
        Searched::Through(n) => format!("none in all {}", HumanCount(n)),
        Searched::Cut(n) => format!("> {}", HumanCount(n)),
    }
}

fn judged(all: &[(&str, Row)]) -> String {
    let worst = all.iter().map(|(_, r)| r.directed.median().unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
    let at = |title: &str, k: u64| all.iter().find(|(t, r)| *t == title && r.k == k).map(|(_, r)| r);
    let cell = |r: Option<&Row>, of: fn(&Row) -> &Tally| r.map_or("not run".to_owned(), |r| of(r).median_text());
    let (window, figure) = (at(SUBJECTS[0].title, 500), at(SUBJECTS[1].title, 500));
    let pct = cell(window, |r| &r.pct);
    let peers = cell(window, |r| &r.shuttle_pct);
    let random = cell(figure, |r| &r.shuttle_random);
    let fuzzed = all.iter().map(|(_, r)| if r.fuzz.always() { r.fuzz.mean() } else { None });
    let fuzzed = fuzzed.map(|mean| mean.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
    let mut out = goals(&[
        (
            "a median of 2 directed runs at most, at every k, in both programs",
            format!("{} at most", crate::tally::number(worst)),
            worst <= 2.0,
        ),
        (
            "a mean of 3 runs of `fuzz` at most, at every k, in both programs",
            format!("{} at most", crate::tally::number(fuzzed)),
            fuzzed <= 3.0,
        ),
    ]);
    out += &format!(
        "\nTwo figures were named to compare with, without a source at hand: 2,027 schedules of PCT-3 in *window* at k = 500 (here the median is {pct}, of shuttle's PCT-3 {peers}), and that shuttle's random walk \
         never finds figure 2 at k = 500 (here: {random}, which is a cap and not never).\n"
    );
    out
}
