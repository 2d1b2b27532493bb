//! Locks of which static executes-before says that they protect nothing: without such a lock no access of its block is
//! side by side with another one, in any run.

use crate::static_claims::{MOST_STATES, conflicting, load, named};
use crate::static_models::random;
use crate::static_truth::order_facts;
use raceflip::detect::Pair;
use raceflip::event::SiteId;
use raceflip::lang::Program;
use raceflip::statics::{StaticsOptions, analyze};
use raceflip::vm::Model;
use std::ops::Range;

// Returns a text without the lock of the block that begins in this line, and the last line of the block. A statement
// that holds nothing takes the place of the head, so that the places of all others stay.
fn without_lock(text: &str, line: u32) -> (String, u32) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = line as usize - 1;
    let head = lines[at].find("sync").expect("the line of a lock");
    lines[at].replace_range(head.., "if true {");
    let mut depth = 0;
    let end = lines[at..].iter().position(|line| {
        depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        depth <= 0
    });
    let last = line + end.expect("a block has an end") as u32;
    (lines.join("\n") + "\n", last)
}

/// Counts locks and blocks without an access that conflicts, and checks each lock that protects nothing.
fn check(seeds: Range<u64>) -> (u64, u64) {
    let (mut redundant, mut with_pairs) = (0, 0);
    for seed in seeds {
        let model = load(seed, &random(seed));
        let statics = analyze(&model.program, &StaticsOptions::default());
        for lock in &statics.locks()[..] {
            let line = model.program.sites[lock.acquire].line;
            let (text, last) = without_lock(model.source.text(), line);
            let bare = Model::from_text("without a lock", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let Some(facts) = order_facts(&bare, MOST_STATES) else { continue };
            redundant += 1;
            let is_inside = |program: &Program, site: SiteId| (line..=last).contains(&program.sites[site].line);
            let pairs = conflicting(&bare.program);
            let pairs = pairs.iter().filter(|(a, b)| is_inside(&bare.program, *a) || is_inside(&bare.program, *b));
            for (a, b) in pairs {
                with_pairs += 1;
                assert!(
                    !facts.beside.contains(&Pair::new(*a, *b)),
                    "random {seed}: the lock in line {line} protects {}\n{}",
                    named(&bare.program, *a, *b),
                    model.source.text()
                );
            }
        }
    }
    println!("{redundant} locks protect nothing; {with_pairs} pairs compared");
    (redundant, with_pairs)
}

#[test]
fn what_a_redundant_lock_guards_is_in_order_without_it() {
    let (redundant, pairs) = check(0..400);
    assert!(redundant > 0 && pairs > 0, "{redundant} {pairs}");
}

#[test]
#[ignore = "minutes"]
fn what_many_redundant_locks_guard_is_in_order_without_them() {
    let (redundant, pairs) = check(1_000..8_000);
    assert!(redundant > 20 && pairs > 50, "{redundant} {pairs}");
}

/// Where something else than an access can tell whether a block is there, no lock is said to protect nothing: an
/// acquisition within a time, by another thread or of the block itself, and a property that looks at each state.
#[test]
fn what_can_be_seen_from_outside_needs_its_lock() {
    let models = [
        "var x = 0 lock m thread t { sync m { x = 1 } let k = fork f() } task f() { x = 3 } thread o { let got = acquire m for 0 assert got }",
        "var x = 0 lock m looper main thread t { x = 1 post f() to main } task f() { sync m for 0 { x = 2 } else { fail \"busy\" } }",
        "var x = 0 lock m thread t { sync m { x = 1 } let k = fork f() } task f() { x = 3 } property two always { x != 2 }",
    ];
    let locks = |text: &str| {
        let text = text.replace(" lock", "\nlock").replace(" thread", "\nthread").replace(" task", "\ntask");
        let text = text.replace(" property", "\nproperty").replace(" looper", "\nlooper").replace(" let", "\nlet");
        let text = text.replace(" assert", "\nassert").replace(" post", "\npost");
        let model = Model::from_text("lock.race", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        analyze(&model.program, &StaticsOptions::default()).locks().len()
    };
    assert_eq!(models.map(locks), [0, 0, 0]);
    // The first and the last one without what sees the block.
    let without = [models[0].split(" thread o").next(), models[2].split(" property").next()];
    assert_eq!(without.map(|text| locks(text.expect("a text"))), [1, 1]);
}
