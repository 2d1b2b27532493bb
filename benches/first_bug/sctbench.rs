//! Generates `docs/results/first_bug.md`: schedules to the first bug in the programs of SCTBench and ConVul.

use crate::peers::{PEERS, programs::program as peer, shuttle_first_failures};
use crate::programs::{ALL, Program, SAFESTACK};
use crate::published::Published;
use crate::runs::{Budget, SURW_OF_ONE, first_failures, load};
use crate::table::{columns, head, row};
use crate::tally::Tally;
use crate::{Effort, campaign, learning, ratios};
use indicatif::HumanCount;

/// The strategies: their names in the literature, and their names on the command line.
pub(crate) const STRATEGIES: [(&str, &str); 6] = [
    ("random walk", "random"),
    ("PCT-3", "pct:3"),
    ("POS", "pos"),
    ("URW", "surw"),
    ("SURW", SURW_OF_ONE),
    ("PCTCP-2", "pctcp:2"),
];

/// Explanation of the column of `confirm`, for the pages.
pub(crate) const CONFIRM: &str = "`confirm` is a whole campaign, and every run of it is counted: its detection runs, then for each pair (races, then order pairs) its trials and the continuations \
    of both orders; the number is that of the run in which a failure shows first. Detection's runs are looked at again for each pair, which makes no new ones. Searches are off, as states are no runs. A \
    campaign that shows no failure is followed by another one with another seed, and all count.";

/// Explanation of the columns of SURW, for the pages.
pub(crate) const SURW: &str = "URW is `surw`: all accesses, and all operations that wait or wake, are interesting. SURW is `surw:SITE,..` with those of one variable or lock, drawn anew for each run \
    among those that several threads or tasks touch in the profile run.";

/// Counts for one program.
pub(crate) struct Row {
    pub(crate) program: Program,
    pub(crate) confirm: Tally,
    pub(crate) fuzz: Tally,
    /// Tallies by strategy, in the order of [`STRATEGIES`].
    pub(crate) strategies: Vec<Tally>,
    /// Tallies by scheduler of shuttle; `None` if the program is not written for shuttle.
    pub(crate) shuttle: Option<Vec<Tally>>,
}

impl Row {
    /// Returns the tallies of raceflip by name, `confirm` and `fuzz` first.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&'static str, &Tally)> {
        let names = ["`confirm`", "`fuzz`"].into_iter().chain(STRATEGIES.map(|s| s.0));
        names.zip([&self.confirm, &self.fuzz].into_iter().chain(&self.strategies))
    }

    /// Returns the tally of a strategy, by its name on the command line.
    pub(crate) fn strategy(&self, text: &str) -> Option<&Tally> {
        Some(&self.strategies[STRATEGIES.iter().position(|s| s.1 == text)?])
    }
}

// Number of threads from which on runs take long.
const MANY: i64 = 10;

// Number of seeds that run first in programs with many threads.
const FIRST: usize = 5;

fn count(program: Program, effort: Effort) -> Result<Row, String> {
    let model = load(program.path, program.defines)?;
    let cap = if program.name == SAFESTACK { effort.hard_cap } else { effort.cap };
    let threads: i64 = program.defines.iter().map(|(_, n)| n).sum();
    let budget = Budget { seeds: effort.seeds, cap, first: if threads >= MANY { FIRST } else { 0 } };
    let strategies: Result<Vec<Tally>, String> =
        STRATEGIES.iter().map(|s| first_failures(&model, s.1, budget)).collect();
    // shuttle's runs of programs with many threads take much longer, so there are fewer of them.
    let theirs = Budget { cap: if threads >= MANY { cap / 10 } else { cap }, ..budget };
    let peer = peer(program.path, program.defines);
    let shuttle = peer.map(|p| PEERS.map(|s| shuttle_first_failures(&p, s, theirs)).into());
    let (confirm, fuzz) = (campaign::first_failures(&model, budget), learning::first_failures(&model, budget));
    Ok(Row { program, confirm, fuzz, strategies: strategies?, shuttle })
}

/// Counts all programs and returns the page.
///
/// # Errors
///
/// A model cannot be loaded, or a strategy cannot be made.
pub(crate) fn page(effort: Effort, only: &str) -> Result<String, String> {
    let published = Published::schedules();
    let rows: Result<Vec<Row>, String> = ALL
        .into_iter()
        .filter(|program| program.name.contains(only))
        .map(|program| {
            let start = std::time::Instant::now();
            let row = count(program, effort);
            eprintln!("{}: {:.1} s", program.name, start.elapsed().as_secs_f64());
            row
        })
        .collect();
    let rows = rows?;
    let mut out = head("Schedules to the first bug: SCTBench and ConVul", "sctbench", &["shuttle"]);
    out += &format!(
        "In each cell: in which schedule a bug showed first, the mean of {} seeds, up to {} schedules each ({} for SafeStack); `(7/20)` is how many seeds found a bug at all, where not all did, and the mean \
         is over those. In programs of {MANY} threads and more the other seeds are not run if the first {} have found nothing: `0/5`. {CONFIRM} {} {SURW}\n\n\
         **How to compare.** The published tools ran the C programs, or others' ports of them, and chose at instructions, calls or events of their own; here a model's step is a shared access or an operation \
         on a lock. So absolute counts of different tools do not compare: what does is whether a bug is found, and ratios of strategies within one tool. An empty cell has no published figure.\n\n",
        effort.seeds,
        HumanCount(effort.cap),
        HumanCount(effort.hard_cap),
        FIRST,
        learning::FUZZ,
    );
    out += &ratios::goals(&rows, &published);
    out += &main_table(&rows, &published);
    out += &ratios::within(&rows, &published);
    out += &ratios::shuttle(&rows);
    out += &format!(
        "\n## Programs that are left out\n\n{}\n\n## Sources of the published figures\n\n",
        left_out(&published)
    );
    published.sources.iter().for_each(|s| out += &format!("- {s}\n"));
    Ok(out)
}

fn main_table(rows: &[Row], published: &Published) -> String {
    let mut out = "\n## All programs\n\n".to_owned();
    let mut names = vec!["program", "`confirm`", "`fuzz`"];
    names.extend(STRATEGIES.map(|s| s.0));
    names.extend(["RFF, published", "SURW, published", "PERIOD, published"]);
    out += &columns(&names);
    for r in rows {
        let mut cells = vec![format!("[{}](../../{})", r.program.name, r.program.path)];
        cells.extend(r.ours().map(|(_, tally)| tally.mean_text()));
        cells.extend(["rff", "surw", "rff_period"].map(|c| published.text(r.program.name, c).to_owned()));
        out += &row(&cells);
    }
    out + "\nThe two work-stealing programs `WithState` and `StateWorkStealQueue` are one model, and the three of Splash2 as well. `Inspect_benchmarks/bbuf` is a control: it has no bug.\n"
}

// Returns the sentence about programs with published figures but without a model.
fn left_out(published: &Published) -> String {
    let modeled = |name: &str| ALL.iter().any(|p| p.name == name);
    let names: Vec<&str> = published.programs().filter(|name| !modeled(name)).collect();
    format!("Published figures, and no model ([why](../../harnesses/sctbench/README.md)): {}.", names.join(", "))
}
