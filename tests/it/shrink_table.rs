//! Generates `docs/results/shrinking.md` by shrinking failures of all harnesses:
//! `BLESS=1 cargo test --release --test optimized shrink_table -- --ignored` rewrites it.

use crate::load::{Model, models};
use crate::optimum::fewest_deviations;
use crate::shrink::{failing, limits, shrunk, variants_of};
use raceflip::shrink::{Effort, ShrinkResult};
use raceflip::token::Token;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

const HEAD: &str = "\
# Shrinking

Failing random walks of all harnesses, shrunk as `raceflip run` does it (at most 1,000 runs and 500,000 steps each). This table is made by
`BLESS=1 cargo test --release --test optimized shrink_table -- --ignored`.

For each model, variant and failure (by its signature) the first failing walks of the seeds 0 to 1,999, 20 at most: how many these are, their *steps* and *deviations* from the default
scheduler before and after, and the *runs* that were tried, as means. *Fewest* is the optimum: the fewest deviations of any run with this signature, by a 0-1 breadth-first search over states,
which knows nothing of the runs (*cut*: more than 50,000 states); *reached* says how many of the walks came to it.
";

const WALKS: u64 = 2_000;
const EACH: usize = 20;
const STATES: usize = 50_000;

#[derive(Default)]
struct Sums {
    rows: usize,
    cut: usize,
    always: usize,
    walks: usize,
    compared: usize,
    reached: usize,
    proven: usize,
    runs: u64,
    before: (u64, u64),
    after: (u64, u64),
    seconds: f64,
    slowest: f64,
}

fn mean(all: &[ShrinkResult], of: impl Fn(&ShrinkResult) -> u64) -> f64 {
    all.iter().map(of).sum::<u64>() as f64 / all.len() as f64
}

fn row(model: &Model, signature: &str, tokens: &[Token], sums: &mut Sums) -> String {
    let path = Path::new(model.source.name());
    let relative = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("below the top").display().to_string();
    let variant: Vec<String> = model.defines.iter().map(|(n, v)| format!("`{n}={v}`")).collect();
    let shrink = |token| {
        let start = Instant::now();
        let done = shrunk(&relative, model, token, Effort::QUICK);
        let seconds = start.elapsed().as_secs_f64();
        (sums.seconds, sums.slowest) = (sums.seconds + seconds, sums.slowest.max(seconds));
        done
    };
    let all: Vec<ShrinkResult> = tokens.iter().map(shrink).collect();
    let optimum = fewest_deviations(model.machine(limits()), signature, STATES);
    let reached = optimum.map(|best| all.iter().filter(|s| s.after.deviations == best).count());
    sums.rows += 1;
    sums.walks += all.len();
    sums.cut += usize::from(optimum.is_none());
    sums.always += usize::from(reached == Some(all.len()));
    sums.compared += optimum.map_or(0, |_| all.len());
    sums.reached += reached.unwrap_or(0);
    for s in &all {
        sums.proven += usize::from(s.fewest);
        sums.runs += s.runs;
        sums.before = (sums.before.0 + s.before.steps, sums.before.1 + s.before.deviations);
        sums.after = (sums.after.0 + s.after.steps, sums.after.1 + s.after.deviations);
        assert!(optimum.is_none_or(|best| s.after.deviations >= best), "{relative}: fewer than the optimum");
    }
    format!(
        "| [{}](../../{relative}) | {} | {} | {} | {:.1} → {:.1} | {:.1} → {:.1} | {} | {} | {:.0} |",
        path.file_stem().expect("a name").to_string_lossy(),
        variant.join(" "),
        signature.replace('|', "\\|"),
        all.len(),
        mean(&all, |s| s.before.steps),
        mean(&all, |s| s.after.steps),
        mean(&all, |s| s.before.deviations),
        mean(&all, |s| s.after.deviations),
        optimum.map_or("cut".to_owned(), |best| best.to_string()),
        reached.map_or(String::new(), |n| n.to_string()),
        mean(&all, |s| s.runs),
    )
}

fn page() -> String {
    let (mut rows, mut sums) = (String::new(), Sums::default());
    for path in models("harnesses") {
        for model in variants_of(&path) {
            for (signature, tokens) in failing(&model, WALKS, EACH) {
                writeln!(rows, "{}", row(&model, &signature, &tokens, &mut sums)).expect("a string takes all");
            }
        }
    }
    let s = &sums;
    println!("{:.2} s for {} walks, the slowest {:.3} s", s.seconds, s.walks, s.slowest);
    let each = |n: u64| n as f64 / s.walks as f64;
    format!(
        "{HEAD}\n{} failures, {} walks. On average {:.1} steps became {:.1}, and {:.1} deviations {:.1}, in {:.0} runs. Of {} walks whose optimum is known {} came to it ({:.1} %), of {} failures with \
         a known optimum {} in every walk; {} walks had all runs with fewer deviations tried. The optimum of {} failures is not known.\n\n\
         | model | variant | failure | walks | steps | deviations | fewest | reached | runs |\n|---|---|---|---|---|---|---|---|---|\n{rows}",
        s.rows,
        s.walks,
        each(s.before.0),
        each(s.after.0),
        each(s.before.1),
        each(s.after.1),
        each(s.runs),
        s.compared,
        s.reached,
        100.0 * s.reached as f64 / s.compared as f64,
        s.rows - s.cut,
        s.always,
        s.proven,
        s.cut,
    )
}

#[test]
#[ignore = "minutes; it writes docs/results/shrinking.md"]
fn shrink_table_is_what_shrinking_does() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/shrinking.md");
    let now = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &now).expect("a writable tree");
    }
    let then = std::fs::read_to_string(&file).expect("the page");
    for (now, then) in now.lines().zip(then.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(now.lines().count(), then.lines().count());
}
