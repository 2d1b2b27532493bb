//! Compares hybrid detection over the events of a run with hybrid detection over the trace of the same run.

use crate::complete::all_variants;
use crate::load::{Model, load};
use crate::small;
use raceflip::detect::happens_before::Options;
use raceflip::detect::{DetectorId, Hybrid, Recorder};
use raceflip::event::{Event, Happening, Op, SiteId};
use raceflip::exec::{Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::trace::{OpNo, Trace};
use raceflip::world::{Limits, World};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

// The statements of a pair, as text.
type Pair = [String; 2];

/// Both detections of one run, and the operations of the run that a trace does not show to hybrid detection.
#[derive(Default)]
struct Both {
    hybrid: Hybrid,
    recorder: Recorder,
    // Whether a thread arrived at a barrier, or took a read-write lock: the trace detection finds more.
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
        if let Happening::Performed { op, made, .. } = &event.what {
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

fn compare(name: &str, model: &Model, seeds: u64) {
    let mut machine = model.machine(Limits { steps: 2_000, ..Limits::default() });
    for seed in 0..seeds {
        let mut both = Both::default();
        run(&mut machine, &mut RandomWalk::new(), seed, &mut both, &AtomicBool::new(false));
        let Both { hybrid, recorder, hides_order, spawns, refuses } = both;
        let (live, trace) = (in_events(model, hybrid), in_trace(&recorder.finish()));
        if live != trace {
            let more: Vec<_> = live.difference(&trace).collect();
            let less: Vec<_> = trace.difference(&live).collect();
            println!(
                "{name} {seed}: order {hides_order} spawns {spawns} refuses {refuses}\n  live only {more:?}\n  trace only {less:?}"
            );
        }
    }
}

#[test]
fn a_run_and_its_trace_have_the_same_hybrid_pairs() {
    for (path, defines) in all_variants() {
        compare(&format!("{path} {defines:?}"), &load(Path::new(&path), &defines), 3);
    }
    for seed in 0..3_000 {
        let text = small::model(seed);
        compare(&format!("small {seed}"), &Model::from_text("small.race", &text, &[]).unwrap(), 2);
    }
}
