//! Fuzzes the text of a model: parsing yields errors with places, or a tree that survives printing and formatting. A
//! model that compiles also has runs that end.

use raceflip::exec::{NoObserver, run};
use raceflip::lang::{Source, check as check_names, format, parse, print, render};
use raceflip::sched::RandomWalk;
use raceflip::vm::{Model, Vm, compile};
use raceflip::world::{Limits, Machine};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Limits that are small enough for one input to take only a moment.
pub(crate) const LIMITS: Limits = Limits {
    steps: 300,
    time: 1 << 40,
    objects: 100,
    threads: 32,
    queue: 50,
    list: 100,
    local: 2_000,
    depth: 40,
    cells: 20_000,
};

/// Checks the parser, the formatter, the checker and the machine on these bytes.
pub fn check(bytes: &[u8]) {
    let source = match Source::from_bytes("fuzz.race", bytes) {
        Ok(source) => source,
        Err(error) => return super::is_told(&error.to_string()),
    };
    let tree = match parse(&source) {
        Ok(tree) => tree,
        Err(errors) => {
            assert!((1..=20).contains(&errors.len()));
            return super::is_told(&render(&source, &errors, true));
        }
    };
    let printed = Source::new("printed.race", &print(&tree));
    if let Ok(printed) = printed {
        match parse(&printed) {
            Ok(again) => assert_eq!(tree, again),
            Err(errors) => panic!("{}", render(&printed, &errors, false)),
        }
    }
    let laid_out = format(&source).expect("it parses");
    if let Ok(laid_out) = Source::new("laid_out.race", &laid_out) {
        assert_eq!(parse(&laid_out).expect("what is laid out parses"), tree);
        assert_eq!(format(&laid_out).expect("it parses"), laid_out.text(), "laid out twice");
    }
    let program = match check_names(&tree, &source, &[]) {
        Ok(program) => program,
        Err(errors) => {
            assert!(!errors.diagnostics.is_empty());
            return super::is_told(&render(&source, &errors.diagnostics, false));
        }
    };
    match compile(&program) {
        Ok(code) => {
            let mut machine = Machine::new(Vm::new(Arc::new(code)), LIMITS);
            for seed in 0..3 {
                runs(&mut machine, seed);
            }
        }
        Err(error) => super::is_told(&error.to_string()),
    }
    // `from_text` combines all the stages above, so it must agree with them.
    assert!(Model::from_text("fuzz.race", source.text(), &[]).is_ok() || compile(&program).is_err());
}

// Checks that two runs with one seed are identical, and that they end.
fn runs(machine: &mut Machine<Vm>, seed: u64) {
    let go_on = AtomicBool::new(false);
    let first = run(machine, &mut RandomWalk::new(), seed, &mut NoObserver, &go_on);
    assert!(first.outcome().is_some(), "a random walk comes to an end");
    assert!(first.steps <= LIMITS.steps);
    let state = machine.canonical().digest();
    let again = run(machine, &mut RandomWalk::new(), seed, &mut NoObserver, &go_on);
    assert_eq!((first, state), (again, machine.canonical().digest()));
}
