//! Generates `docs/results/detectors.md`: the share of each detector's potential pairs that is real.
//! `cargo test --release --test it detectors_table -- --ignored` rewrites it.

use crate::complete::all_variants;
use crate::load::load;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, DetectionPlan, NoProgress, PairReport, Verdict, confirm,
};
use raceflip::detect::{DetectorId, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const HEAD: &str = "\
# What of each detector's candidates is real

Written by `cargo test --release --test it detectors_table -- --ignored`: `raceflip confirm --detector DETECTOR` with seed 0 and its usual limits, on every variant of every harness (repaired variants
and models of false alarms among them). *True* are the harmful and the real ones. For comparison: of the 215 races that DroidRacer reported on open-source apps its authors could
reproduce 80, 37 % (PLDI 2014, table 3).

| detector | rank | candidates | harmful | real | unconfirmed | refuted | true | % |
|---|---|---|---|---|---|---|---|---|
";

// Numbers of harmful, real, unconfirmed and refuted pairs.
type Counts = [usize; 4];

fn kind(pair: &PairReport) -> usize {
    match pair.verdict() {
        Verdict::Harmful => 0,
        Verdict::Real => 1,
        Verdict::Unconfirmed => 2,
        Verdict::Refuted => 3,
    }
}

fn row(name: &str, rank: &str, counts: Counts) -> String {
    let [harmful, real, unconfirmed, refuted] = counts;
    let (all, good) = (counts.iter().sum::<usize>(), harmful + real);
    let percent = if all == 0 { String::new() } else { format!("{:.0}", 100.0 * good as f64 / all as f64) };
    format!("| {name} | {rank} | {all} | {harmful} | {real} | {unconfirmed} | {refuted} | {good} | {percent} |\n")
}

fn campaign(plan: &CampaignPlan) -> Confirmation {
    confirm(plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

#[test]
#[ignore = "it writes a file"]
fn detectors_table() {
    let mut counts: BTreeMap<(DetectorId, Rank), Counts> = BTreeMap::new();
    // Number of confirmed pairs for each set of detectors that report them.
    let mut seen: BTreeMap<BTreeSet<DetectorId>, usize> = BTreeMap::new();
    for (path, defines) in all_variants() {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let mut real: BTreeMap<_, BTreeSet<DetectorId>> = BTreeMap::new();
        for by in DetectorId::of_runs() {
            let plan = CampaignPlan {
                jobs: 2,
                detection: DetectionPlan { detectors: vec![by], ..DetectionPlan::default() },
                ..CampaignPlan::new(&model)
            };
            for pair in campaign(&plan).pairs {
                counts.entry((by, pair.discovery.rank)).or_default()[kind(&pair)] += 1;
                if pair.proof.confirmed() {
                    real.entry(pair.pair).or_default().insert(by);
                }
            }
        }
        real.into_values().for_each(|by| *seen.entry(by).or_default() += 1);
    }
    let mut text = HEAD.to_owned();
    for by in DetectorId::of_runs() {
        let of = |rank| counts.get(&(by, rank)).copied().unwrap_or_default();
        let ranks = [Rank::Unordered, Rank::ByLocks, Rank::ByQueue];
        let mut total = Counts::default();
        for rank in ranks {
            (0..4).for_each(|i| total[i] += of(rank)[i]);
            if of(rank) != Counts::default() {
                text += &row(by.name(), &rank.letter().to_string(), of(rank));
            }
        }
        text += &row(by.name(), "all", total);
    }
    text += "\n## Who has the true ones\n\nA pair counts once for each variant. \"Only\" with one name: no other detector has it as a candidate that is confirmed.\n\n| detectors | true pairs |\n|---|---|\n";
    for (by, n) in &seen {
        let names: Vec<&str> = by.iter().map(|by| by.name()).collect();
        let only = if names.len() == 1 { "only " } else { "" };
        writeln!(text, "| {only}{} | {n} |", names.join(", ")).unwrap();
    }
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/detectors.md"), text).unwrap();
}
