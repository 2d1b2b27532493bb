//! Generates `docs/results/states.md`: the sizes of the state spaces of all harnesses.
//! `cargo test --release --test it explore_table -- --ignored` rewrites it.

use crate::complete::all_variants;
use crate::explore::search;
use crate::load::load;
use indicatif::HumanCount;
use raceflip::campaign::named;
use raceflip::explore::{Bounds, Cut, SearchPlan};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

const STATES: u64 = 1_000_000;

const HEAD: &str = "\
# Every state of every harness

Written by `cargo test --release --test it explore_table -- --ignored`: unreduced searches, breadth first, with one worker, of at most 1,000,000 states or 4 GB. Times are
those of one run on a shared machine (AMD EPYC, 2 cores), and say what order of magnitude to expect. *Ends* are the kinds of all ends: of a search that was exhausted there is no other one; of one that was
cut there may be. States of one that was cut are those that were found.

";

#[test]
#[ignore = "it searches for minutes, and writes a file"]
fn explore_table() {
    let (mut rows, mut exhausted, mut all) = (String::new(), 0, 0);
    for (path, defines) in all_variants() {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let bounds = Bounds { states: STATES, ..Bounds::default() };
        let start = Instant::now();
        let found = search(&SearchPlan { bounds, observe: named(&model.program), ..SearchPlan::new(&model) });
        let took = start.elapsed().as_secs_f64();
        let ends: BTreeSet<String> = found.ends.keys().map(|e| e.ended.kind.word().replace('|', "\\|")).collect();
        let variant: Vec<String> = defines.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let how = match found.cut {
            None => "exhausted",
            Some(Cut::States) => "cut at 1,000,000 states",
            Some(Cut::Memory) => "cut at 4 GB",
            Some(Cut::Depth | Cut::Stopped) => "cut",
        };
        (all, exhausted) = (all + 1, exhausted + usize::from(found.complete()));
        let (states, transitions) = (HumanCount(found.states), HumanCount(found.transitions));
        let ends = ends.into_iter().collect::<Vec<_>>().join(", ");
        let name = path.trim_start_matches("harnesses/");
        writeln!(
            rows,
            "| [{name}](../../{path}) | {} | {states} | {transitions} | {} | {took:.2} | {ends} | {how} |",
            variant.join(" "),
            found.depth
        )
        .unwrap();
    }
    let text = format!(
        "{HEAD}{exhausted} of {all} variants were exhausted.\n\n\
         | model | variant | states | transitions | depth | seconds | ends | |\n|---|---|---|---|---|---|---|---|\n{rows}"
    );
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/states.md"), text).unwrap();
}
