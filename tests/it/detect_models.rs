//! Tests of hybrid detection on every model, in complete runs.

use raceflip::base::mix;
use raceflip::detect::{Candidates, Hybrid};
use raceflip::exec::run;
use raceflip::lang::{Source, check, parse};
use raceflip::sched::RandomWalk;
use raceflip::vm::{Vm, compile};
use raceflip::world::{Limits, Machine};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn candidates(text: &str, runs: u64) -> Option<Candidates> {
    let source = Source::new("test.race", text).ok()?;
    let program = check(&parse(&source).ok()?, &source, &[]).ok()?;
    let mut machine = Machine::new(Vm::new(Arc::new(compile(&program).ok()?)), Limits::default());
    let mut all = Candidates::new();
    for i in 0..runs {
        let mut hybrid = Hybrid::new();
        run(&mut machine, &mut RandomWalk::new(), mix(1, i), &mut hybrid, &AtomicBool::new(false));
        all.add(i, hybrid.finish());
    }
    Some(all)
}

#[test]
fn every_model_is_watched_the_same_twice() {
    let mut files: Vec<_> = fs::read_dir("tests/models").unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let (mut seen, mut racy) = (0, 0);
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e == "race")) {
        let text = fs::read_to_string(path).unwrap();
        let Some(found) = candidates(&text, 5) else { continue };
        assert_eq!(Some(&found), candidates(&text, 5).as_ref(), "{}", path.display());
        seen += 1;
        racy += u32::from(!found.is_empty());
    }
    assert!(seen > 50 && racy > 20, "{racy} of {seen}");
}
