//! Generates `docs/results/confirm.md`: the results of campaigns on all harnesses.
//! `cargo test --release --test it confirm_table -- --ignored` rewrites it.

use crate::complete::all_variants;
use crate::load::{Model, load};
use raceflip::base::interval;
use raceflip::campaign::{CampaignContext, CampaignPlan, Confirmation, NoProgress, PairReport, Verdict, confirm};
use raceflip::sched::site_text;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const HEAD: &str = "\
# What campaigns make of the harnesses

Written by `cargo test --release --test it confirm_table -- --ignored`: `raceflip confirm` with seed 0 and its usual limits, on every variant of every harness. Times are those of one
run with two workers on a shared machine (AMD EPYC, 2 cores). *First* is the first trial that failed, over all pairs. *Hits* are the trials of the way that did best at a confirmed pair: how often both
accesses were side by side, or the order that was wanted came about; of several pairs the lowest.

";

fn campaign(model: &Model) -> Confirmation {
    confirm(
        &CampaignPlan { jobs: 2, ..CampaignPlan::new(model) },
        CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress },
    )
}

// Returns the hits and trials of the best way to force a confirmed pair; `None` if trials did not force it.
fn rate(pair: &PairReport) -> Option<(u32, u32)> {
    // A hold has a best way for each of the two orders, and the worse of them counts.
    let of = |way: &&raceflip::campaign::WayReport| f64::from(way.hits) / f64::from(way.trials);
    let held = |first: bool| {
        let all = pair.trials.ways.iter().filter(|w| w.strategy.starts_with("hold:") && w.hits > 0);
        let key = |w: &&raceflip::campaign::WayReport| w.strategy.split(',').next().map(str::to_owned);
        let one = all.clone().next().and_then(|w| key(&w));
        all.filter(move |w| (key(w) == one) == first)
            .max_by(|x, y| of(x).total_cmp(&of(y)).then(x.trials.cmp(&y.trials)))
    };
    let directed = pair.trials.ways.iter().filter(|w| w.strategy.starts_with("directed:") && w.hits > 0);
    let best = directed.max_by(|x, y| of(x).total_cmp(&of(y)).then(x.trials.cmp(&y.trials)));
    let worse = [held(true), held(false)].into_iter().flatten().min_by(|x, y| of(x).total_cmp(&of(y)));
    best.into_iter()
        .chain(worse)
        .max_by(|x, y| of(x).total_cmp(&of(y)).then(x.trials.cmp(&y.trials)))
        .map(|w| (w.hits, w.trials))
}

#[test]
#[ignore = "it writes a file"]
fn confirm_table() {
    let (mut rows, mut low, mut firsts) = (String::new(), String::new(), Vec::new());
    let (mut pairs, mut driven, mut enough) = (0, 0, 0);
    let mut counts = [0; 4];
    for (path, defines) in all_variants() {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let start = Instant::now();
        let found = campaign(&model);
        let took = start.elapsed().as_secs_f64();
        let harmful = found.pairs.iter().filter(|p| p.verdict() == Verdict::Harmful).count();
        let confirmed = found.pairs.iter().filter(|p| p.proof.confirmed()).count();
        let refuted = found.pairs.iter().filter(|p| p.proof.refuted()).count();
        let of = [harmful, confirmed - harmful, refuted, found.pairs.len() - confirmed - refuted];
        counts.iter_mut().zip(of).for_each(|(all, n)| *all += n);
        let variant: Vec<String> = defines.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let (variant, name) = (variant.join(" "), path.trim_start_matches("harnesses/").to_owned());
        let mut worst: Option<(u32, u32)> = None;
        for pair in found.pairs.iter().filter(|p| p.proof.confirmed()) {
            pairs += 1;
            let Some((hits, trials)) = rate(pair) else { continue };
            driven += 1;
            let good = f64::from(hits) >= 0.95 * f64::from(trials);
            enough += usize::from(good);
            if !good {
                let text = |site| site_text(&model.code.setup.sites, site);
                let (from, to) = interval(hits, trials);
                writeln!(
                    low,
                    "| {name} {variant} | {} ~ {} | {hits} of {trials} | {from:.2}..{to:.2} |",
                    text(pair.pair.a),
                    text(pair.pair.b)
                )
                .unwrap();
            }
            if worst.is_none_or(|(h, t)| u64::from(hits) * u64::from(t) < u64::from(h) * u64::from(trials)) {
                worst = Some((hits, trials));
            }
        }
        let first = found.pairs.iter().filter_map(|p| p.trials.first_failure).min();
        if harmful > 0 {
            firsts.extend(first);
        }
        let number = |n: Option<u32>| n.map_or(String::new(), |n| n.to_string());
        let hits = worst.map_or(String::new(), |(hits, trials)| format!("{hits} of {trials}"));
        let [h, r, f, u] = of;
        writeln!(
            rows,
            "| [{name}](../../{path}) | {variant} | {} | {h} | {r} | {f} | {u} | {hits} | {} | {took:.2} |",
            found.pairs.len(),
            number(first)
        )
        .unwrap();
    }
    firsts.sort_unstable();
    let median = firsts[firsts.len() / 2];
    let [h, r, f, u] = counts;
    let text = format!(
        "{HEAD}{} potential pairs in all: {h} harmful, {r} real, {f} refuted, {u} unconfirmed. Of {pairs} confirmed pairs {driven} were driven to by trials, {enough} of these in 95 % of the trials or more. \
         The first trial that fails in a variant with a harmful pair: number {median} in the median of {} variants.\n\n\
         ## Below 95 %\n\n| model | pair | hits | 95 % |\n|---|---|---|---|\n{low}\n\
         ## All\n\n| model | variant | pairs | harmful | real | refuted | unconfirmed | hits | first | seconds |\n|---|---|---|---|---|---|---|---|---|---|\n{rows}",
        h + r + f + u,
        firsts.len(),
    );
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/confirm.md"), text).unwrap();
}
