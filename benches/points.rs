//! probe
use raceflip::exec::{Unobserved, run};
use raceflip::lang::{Source, check, parse};
use raceflip::sched::{ChoiceLog, RandomWalk};
use raceflip::vm::{Vm, compile};
use raceflip::world::{Limits, Machine};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.len() < 3 {
        return;
    }
    let bytes = std::fs::read(&args[1]).unwrap();
    let runs: u64 = args[2].parse().unwrap();
    let defines: Vec<(String, i64)> = args[3..]
        .iter()
        .filter(|a| a.contains('='))
        .map(|a| {
            let (n, v) = a.split_once('=').unwrap();
            (n.to_owned(), v.parse().unwrap())
        })
        .collect();
    let source = Source::from_bytes(&args[1], &bytes).unwrap();
    let file = parse(&source).unwrap();
    let program = check(&file, &source, &defines).map_err(|e| e.diagnostics).unwrap();
    let code = Arc::new(compile(&program).unwrap());
    let mut machine = Machine::new(Vm::new(code), Limits { steps: 100_000_000, ..Limits::default() });
    let never = AtomicBool::new(false);
    let mut points = 0;
    let mut strategy = ChoiceLog::new(RandomWalk::new());
    let start = std::time::Instant::now();
    for i in 0..runs {
        points += run(&mut machine, &mut strategy, i, &mut Unobserved, &never).steps;
    }
    let t = start.elapsed().as_secs_f64();
    println!(
        "runs {runs} points {points} {:.2} M points/s {:.2} M runs/s",
        points as f64 / t / 1e6,
        runs as f64 / t / 1e6
    );
}
