use raceflip::campaign::*;
use raceflip::lang::{Source, check, parse};
use raceflip::vm::compile;
use std::sync::{Arc, atomic::AtomicBool};
fn main() {
    for path in std::env::args().skip(1) {
        let source = Source::from_bytes(path.clone(), &std::fs::read(&path).unwrap()).unwrap();
        let program = check(&parse(&source).unwrap(), &source, &[]).unwrap();
        let code = Arc::new(compile(&program).unwrap());
        let plan = Plan { code: code.clone(), defines: vec![], limits: Default::default(), seed: 0, runs: 20, trials: 100, jobs: 2 };
        let stop = AtomicBool::new(false);
        let t = std::time::Instant::now();
        let c = confirm(&plan, Context { stop: &stop, progress: &Silent });
        println!("== {path} {:?}", t.elapsed());
        for p in &c.pairs {
            let v = match &p.verdict { Verdict::Adjacent => "ADJ".into(), Verdict::Flipped(f) => format!("FLIP cut={:?}", f.cut), Verdict::Unconfirmed => "UNCONF".to_string() };
            let s = |s| raceflip::sched::site_text(&code.setup.sites, s);
            print!("  {v} {} {} ~ {} {:?} directed {:?} undecided {} limits {}", p.place, s(p.pair.a), s(p.pair.b), p.kinds, p.directed, p.undecided, p.limits);
            for o in &p.orders { print!(" | {:?} {}/{} {:?}", o.first, o.failed(), o.runs, o.failures.iter().map(|f| (&f.signature, f.runs)).collect::<Vec<_>>()); }
            println!();
        }
        for f in &c.phase1.failures { println!("  p1 {} {}", f.signature, f.runs); }
        for f in &c.unexplained { println!("  unexplained {} {}", f.signature, f.runs); }
    }
}
