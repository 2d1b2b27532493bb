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
use raceflip::trace::{Mark, OpNo, Trace};
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

/// Returns the marks of all accesses, with the place of each, and the number of its guard among them. The lives of
/// objects are left out: a trace that is read does not know whether the program frees any.
fn marks(trace: &Trace) -> Vec<(String, Mark, Option<usize>)> {
    let at = |op: OpNo| trace.ops[op].action.access().map(|(at, _)| &trace.places[at]);
    let is_life = |op: OpNo| at(op).is_some_and(|at| &trace.fields[at.field] == "life");
    let marked: Vec<(OpNo, Mark)> = trace.marks.iter().filter(|(op, _)| !is_life(*op)).collect();
    let number = |guard: OpNo| marked.iter().position(|(op, _)| *op == guard).expect("a guard is tested");
    let told = |(op, mark): &(OpNo, Mark)| {
        let place = at(*op).map(|at| at.name.clone()).unwrap_or_default();
        (place, Mark { guard: None, ..*mark }, mark.guard.map(number))
    };
    marked.iter().map(told).collect()
}

#[test]
fn a_run_that_is_recorded_and_one_that_is_read_back_have_the_same_races_and_marks() {
    let (mut compared, mut total, mut marked) = (0, 0, [0; 3]);
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
            let recorded = both.recorder.finish();
            let read = traces::read(&path, bytes.as_slice()).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(marks(&recorded), marks(&read), "{path} {defines:?} seed {seed}");
            for (_, mark, guard) in marks(&read) {
                let counts = [mark.uses, guard.is_some(), mark.frees];
                marked.iter_mut().zip(counts).for_each(|(n, is)| *n += usize::from(is));
            }
            let (recorded, read) = (races(&recorded), races(&read));
            assert_eq!(recorded, read, "{path} {defines:?} seed {seed}");
            compared += 1;
            total += read.len();
        }
    }
    assert!(compared > 400 && total > 400, "{compared} {total}");
    assert!(marked.iter().all(|n| *n > 10), "uses, guarded, frees: {marked:?}");
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
