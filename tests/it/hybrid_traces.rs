//! Compares hybrid detection over the events of a run with hybrid detection over the trace of the same run.

use crate::complete::all_variants;
use crate::load::{Model, load};
use crate::mixed_models;
use crate::pool_models;
use crate::small;
use raceflip::detect::happens_before::Options;
use raceflip::detect::{DetectorId, Hybrid, TraceRecorder};
use raceflip::event::{Event, EventKind, Op, SiteId};
use raceflip::exec::{Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::trace::{OpNo, Trace};
use raceflip::world::{Limits, World};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

// The statements of a pair, as text.
type Pair = [String; 2];

/// Both detections of one run, and whether the run has operations that hybrid detection does not see in a trace.
#[derive(Default)]
struct Both {
    hybrid: Hybrid,
    recorder: TraceRecorder,
    // Whether a thread arrived at a barrier or took a read-write lock: more pairs are found in the trace.
    hides_order: bool,
    // Whether a looper was spawned: its queue is attached in the trace, and posts come after that.
    spawns: bool,
    // Whether a post was refused: it comes after the attach of the queue, and is not in the trace.
    refuses: bool,
}

impl Observer for Both {
    fn event(&mut self, world: &World, event: &Event) {
        self.hybrid.observe(world, event);
        self.recorder.observe(world, event);
        if let EventKind::Performed { op, made, .. } = &event.what {
            self.hides_order |= matches!(op, Op::Arrive(_) | Op::ReadLock(_) | Op::WriteLock(_));
            self.spawns |= matches!(op, Op::SpawnLooper);
            self.refuses |= matches!(op, Op::Post { .. }) && made.is_none();
        }
    }
}

fn pair(mut ends: Pair) -> Pair {
    ends.sort();
    ends
}

fn in_events(model: &Model, hybrid: Hybrid) -> BTreeSet<Pair> {
    let text = |site: SiteId| {
        let site = &model.code.setup.sites[site];
        format!("{}:{} {}", site.line, site.column, site.kind.word())
    };
    hybrid.finish().iter().map(|found| pair([text(found.pair.a), text(found.pair.b)])).collect()
}

fn in_trace(trace: &Trace) -> BTreeSet<Pair> {
    let rules = DetectorId::HYBRID.rules().unwrap();
    let found = rules.analyze(trace, Options::default(), &AtomicBool::new(false)).unwrap().unwrap();
    let text = |op: OpNo| trace.sites[trace.ops[op].site].to_owned();
    found.races.iter().map(|race| pair([text(race.first), text(race.second)])).collect()
}

/// Numbers of compared runs.
#[derive(Default, Debug)]
struct Counts {
    pairs: usize,
    more: u32,
    spawns: u32,
    refuses: u32,
}

fn compare(name: &str, model: &Model, seeds: u64, counts: &mut Counts) {
    let mut machine = model.machine(Limits { steps: 2_000, ..Limits::default() });
    for seed in 0..seeds {
        let mut both = Both::default();
        run(&mut machine, &mut RandomWalk::new(), seed, &mut both, &AtomicBool::new(false));
        let Both { hybrid, recorder, hides_order, spawns, refuses } = both;
        let (live, trace) = (in_events(model, hybrid), in_trace(&recorder.finish()));
        if hides_order {
            assert!(trace.is_superset(&live), "{name} seed {seed}: {live:#?} {trace:#?}");
            counts.more += u32::from(trace != live);
        } else {
            assert_eq!(live, trace, "{name} seed {seed}");
        }
        counts.pairs += live.len();
        counts.spawns += u32::from(spawns);
        counts.refuses += u32::from(refuses);
    }
}

#[test]
fn a_run_and_its_trace_have_the_same_hybrid_pairs() {
    let mut counts = Counts::default();
    for (path, defines) in all_variants() {
        compare(&format!("{path} {defines:?}"), &load(Path::new(&path), &defines), 3, &mut counts);
    }
    for seed in 0..3_000 {
        let text = small::model(seed);
        let model = Model::from_text("small.race", &text, &[]).unwrap();
        compare(&format!("small {seed}"), &model, 2, &mut counts);
    }
    for seed in 0..1_000 {
        let model = Model::from_text("pools.race", &pool_models::model(seed), &[]).unwrap();
        compare(&format!("pools {seed}"), &model, 2, &mut counts);
        let model = Model::from_text("mixed.race", &mixed_models::model(seed), &[]).unwrap();
        compare(&format!("mixed {seed}"), &model, 2, &mut counts);
    }
    assert!(counts.pairs > 500 && counts.more > 0, "{counts:?}");
}
