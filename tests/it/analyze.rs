//! Tests of `raceflip analyze`, and of the two ways from a run to a trace: direct recording, and a trace file.

use crate::complete::all_variants;
use crate::load::load;
use raceflip::detect::happens_before::{Options, Race, analyze};
use raceflip::detect::{DetectorId, Hybrid, TraceRecorder};
use raceflip::event::Event;
use raceflip::exec::{Observer, run};
use raceflip::formats::trace::{Header, TraceWriter};
use raceflip::formats::traces;
use raceflip::sched::RandomWalk;
use raceflip::trace::{OpNo, Trace};
use raceflip::world::{Limits, World};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

struct Both<'b> {
    recorder: TraceRecorder,
    writer: TraceWriter<&'b mut Vec<u8>>,
}

impl Observer for Both<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.recorder.observe(world, event);
        self.writer.event(world, event);
    }
}

/// Returns the races of a trace by names that are the same both ways: location, statements, class and rank.
fn races(trace: &Trace) -> BTreeSet<(String, [String; 2], &'static str, char)> {
    let options = Options { coverage: false, ..Options::default() };
    let found = analyze(trace, options, &AtomicBool::new(false)).unwrap().races;
    let site = |op: OpNo| {
        let text = &trace.sites[trace.ops[op].site];
        text.split(' ').next().unwrap_or(text).to_owned()
    };
    // An access to an object also reads its lifetime; a trace file has one row for both.
    let is_life = |race: &Race| &trace.fields[trace.places[race.location].field] == "life";
    let told = |race: &Race| {
        let mut sites = [site(race.first), site(race.second)];
        sites.sort();
        (trace.places[race.location].name.clone(), sites, race.class.name(), race.rank.letter())
    };
    found.iter().filter(|race| !is_life(race)).map(told).collect()
}

#[test]
fn a_run_that_is_recorded_and_one_that_is_read_back_have_the_same_races() {
    let (mut compared, mut total) = (0, 0);
    for (path, defines) in all_variants() {
        let model = load(Path::new(&path), &defines);
        let mut machine = model.machine(Limits { steps: 2_000, ..Limits::default() });
        for seed in 0..2 {
            let mut bytes = Vec::new();
            let header = Header::new(&path, model.digest(), &[], "random", seed);
            let writer = TraceWriter::new(&mut bytes, &header);
            let mut both = Both { recorder: TraceRecorder::new(), writer };
            run(&mut machine, &mut RandomWalk::new(), seed, &mut both, &AtomicBool::new(false));
            both.writer.finish().unwrap();
            let recorded = races(&both.recorder.finish());
            let read = traces::read(&path, bytes.as_slice()).unwrap_or_else(|e| panic!("{e}"));
            let read = races(&read);
            assert_eq!(recorded, read, "{path} {defines:?} seed {seed}");
            compared += 1;
            total += read.len();
        }
    }
    assert!(compared > 400 && total > 400, "{compared} {total}");
}

#[test]
fn what_hybrid_detection_ranks_a_is_found_by_droidracer_as_well() {
    // The precise relation is transitive and has all edges of DroidRacer's relation, so DroidRacer leaves every pair
    // unordered that the precise relation leaves unordered.
    for (path, defines) in all_variants() {
        let model = load(Path::new(&path), &defines);
        let mut machine = model.machine(Limits { steps: 2_000, ..Limits::default() });
        for seed in 0..3 {
            let mut hybrid = Hybrid::new();
            run(&mut machine, &mut RandomWalk::new(), seed, &mut hybrid, &AtomicBool::new(false));
            let droidracer = [DetectorId::named("droidracer").unwrap()];
            let mut traced = Hybrid::new().record_for(&droidracer);
            run(&mut machine, &mut RandomWalk::new(), seed, &mut traced, &AtomicBool::new(false));
            let found: BTreeSet<_> =
                traced.finish_for(&droidracer, &machine.world).races.into_iter().map(|c| c.pair).collect();
            for candidate in hybrid.finish() {
                if candidate.rank.letter() == 'A' {
                    assert!(found.contains(&candidate.pair), "{path} {defines:?} seed {seed}: {candidate:?}");
                }
            }
        }
    }
}
