//! Harmless work: what apps do besides, in ways that never fail.

use super::template::{Names, fill};
use raceflip::base::Rng;

/// A kind of harmless work: what it is, the statements that begin it, and the items of the file that it needs.
#[derive(Clone, Copy)]
pub(super) struct Work {
    what: &'static str,
    begin: &'static str,
    items: &'static str,
}

/// Draws so many different kinds of work.
pub(super) fn draw(rng: &mut Rng, count: u32) -> Vec<Work> {
    let mut left = WORKS.to_vec();
    (0..count).map(|_| left.swap_remove(rng.below(left.len() as u32) as usize)).collect()
}

/// Returns the statements that begin the work, and its items.
pub(super) fn text(rng: &mut Rng, work: Work, names: &Names, rounds: u32) -> (String, String) {
    let rounds = (1 + rng.below(rounds)).to_string();
    let delay = rng.pick(&["10", "20", "40", "100", "250"]);
    let texts: [(&str, &str); 2] = [("rounds", &rounds), ("delay", delay)];
    let items = format!("\n// {}\n{}\n", work.what, fill(work.items, names, &texts));
    (fill(work.begin, names, &texts) + "\n", items)
}

/// Returns statements that take a number of steps between these two. Some of them count in `%work`.
pub(super) fn steps(rng: &mut Rng, (least, most): (u32, u32)) -> String {
    let mut left = least + rng.below(most - least + 1);
    let mut out = String::new();
    while left > 0 {
        let (taken, line) = if left >= 2 && rng.coin() { (2, "%work += 1\n") } else { (1, "skip\n") };
        out += line;
        left -= taken;
    }
    out
}

const WORKS: [Work; 8] = [
    Work {
        what: "A counter that a thread and the main looper share, with a harmless race.",
        begin: "fork $count()\npost $report() to main",
        items: "\
var %hits = 0
var %reported = 0
task $count() {
    for i in 0..#rounds { %hits += 1 }
}
task $report() {
    %reported = %hits
    if %reported > 0 { %hits = 0 }
}",
    },
    Work {
        what: "A store under a lock.",
        begin: "fork $store()\npost $list() to main",
        items: "\
lock %guard
var %rows = 0
task $store() {
    for i in 0..#rounds {
        sync %guard { %rows += 1 }
    }
    post $list() to main
}
task $list() {
    sync %guard {
        if %rows > 2 { %rows = 2 }
    }
}",
    },
    Work {
        what: "A timer that posts itself again.",
        begin: "post $tick(#rounds) to main after #delay",
        items: "\
var %ticks = 0
task $tick(left) {
    %ticks += 1
    if left > 1 { post $tick(left - 1) to main after #delay }
}",
    },
    Work {
        what: "A search that waits until the user has stopped typing.",
        begin: "post $query(1) to %input after #delay\nfork $type_on()",
        items: "\
handler %input on main
var %asked = 0
task $type_on() {
    for i in 0..#rounds {
        cancel $query on %input
        post $query(i + 2) to %input after #delay
    }
}
task $query(n) { %asked = n }",
    },
    Work {
        what: "A thread with a queue that quits when it has done its work.",
        begin: "for i in 0..#rounds { post $write(i) to %writer }\npost $flush() to %writer",
        items: "\
looper %writer
var %written = 0
var %flushed = 0
task $write(n) { %written += n }
task $flush() {
    let all = %written
    post $done(all) to main
    quit self safely
}
task $done(all) { %flushed = all }",
    },
    Work {
        what: "Clicks, which may come or not.",
        begin: "enable %tap(#rounds)",
        items: "\
var %taps = 0
event %tap(n) on main {
    %taps += n
    if n > 1 { enable %tap(n - 1) }
}",
    },
    Work {
        what: "A download that tells how far it is.",
        begin: "fork $download()",
        items: "\
var %percent = 0
var %here = false
task $download() {
    for i in 0..#rounds { post $progress(i) to main }
    %here = true
    post $finish() to main
}
task $progress(n) { %percent = n }
task $finish() {
    if %here { %percent = 100 }
}",
    },
    Work {
        what: "A flag that a thread sets and the main looper looks at.",
        begin: "fork $warm_up()\npost $look(#rounds) to main",
        items: "\
atomic %ready = false
var %early = 0
task $warm_up() {
    skip
    %ready = true
}
task $look(left) {
    if !%ready {
        %early += 1
        if left > 1 { post $look(left - 1) to main }
    }
}",
    },
];
