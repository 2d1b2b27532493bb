//! Programs of one shape with many tasks, for the time of static executes-before.

use raceflip::event::{AccessKind, Site};
use raceflip::statics::{SitesClaim, StaticsOptions, analyze};
use raceflip::vm::Model;
use std::fmt::Write as _;

/// A shape of programs.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Number of tasks.
    pub(crate) tasks: usize,
    /// Returns the text of the program with so many tasks.
    pub(crate) text: fn(usize) -> String,
}

/// The four shapes with 10,000 tasks.
pub(crate) const SHAPES: [Shape; 4] = [
    Shape { name: "chain", tasks: 10_000, text: chain },
    Shape { name: "tree", tasks: 10_000, text: tree },
    Shape { name: "one poster", tasks: 10_000, text: one_poster },
    Shape { name: "100 posters, three delays", tasks: 10_000, text: posters },
];

/// Tasks with joins, flags and posts to the front; and more tasks than are unfolded one by one.
pub(crate) const MIXED: [Shape; 3] = [
    Shape { name: "joins, flags, posts to the front", tasks: 10_000, text: mixed },
    Shape { name: "one poster", tasks: 100_000, text: loops },
    Shape { name: "100 posters, three delays", tasks: 100_000, text: posters },
];

const HEAD: &str = "var v = 0\nlooper main\n";

fn chain(tasks: usize) -> String {
    let mut text = format!("{HEAD}thread a {{ post t0() to main }}\n");
    for i in 0..tasks {
        let next = if i + 1 < tasks { format!("post t{}() to main", i + 1) } else { "v = 1".to_owned() };
        writeln!(text, "task t{i}() {{ v = 1; {next} }}").expect("a string takes it");
    }
    text
}

fn tree(tasks: usize) -> String {
    let mut text = format!("{HEAD}thread a {{ post t0() to main }}\n");
    for i in 0..tasks {
        let below = (2 * i + 1..2 * i + 3).filter(|child| *child < tasks);
        let posts: String = below.map(|child| format!("; post t{child}() to main")).collect();
        writeln!(text, "task t{i}() {{ v = 1{posts} }}").expect("a string takes it");
    }
    text
}

fn one_poster(tasks: usize) -> String {
    let posts: String = (0..tasks).map(|_| "post t() to main\n").collect();
    format!("{HEAD}thread a {{\n{posts}}}\ntask t() {{ v = 1 }}\n")
}

fn posters(tasks: usize) -> String {
    let each = tasks / 100;
    let (outer, inner) = (each / 50, 50);
    let posts: String = [0, 5, 9]
        .iter()
        .enumerate()
        .map(|(i, delay)| format!("if (j + k) % 3 == {i} {{ post t() to main after {delay} }}\n"))
        .collect();
    format!(
        "{HEAD}thread a(i in 0..100) {{ for j in 0..{outer} {{ for k in 0..{inner} {{\n{posts}}} }} }}\ntask t() {{ v = 1 }}\n"
    )
}

fn loops(tasks: usize) -> String {
    let outer = tasks / (50 * 50);
    format!(
        "{HEAD}thread a {{ for i in 0..{outer} {{ for j in 0..50 {{ for k in 0..50 {{ post t() to main }} }} }} }}\n\
         task t() {{ v = 1 }}\n"
    )
}

// Each poster has a flag, and waits for that of the one before it.
fn mixed(tasks: usize) -> String {
    let mut text = HEAD.to_owned();
    for i in 0..100 {
        writeln!(text, "var g{i} = false").expect("a string takes it");
        let waits = if i > 0 { format!("await g{}\n", i - 1) } else { String::new() };
        let posts = format!("for k in 0..{} {{ post t() to main; post t() to main at front }}", tasks / 200);
        writeln!(
            text,
            "thread a{i} {{\n{waits}{posts}\nlet w = fork t()\njoin w\ng{i} = true\npost u() to main after 3 }}"
        )
        .expect("a string takes it");
    }
    text + "task t() { v = 1 }\ntask u() { v = 2 }\n"
}

/// Programs with many tasks, and those that unfold without end, have an answer.
#[test]
fn large_programs_have_an_answer() {
    for Shape { name, tasks, text } in SHAPES.into_iter().chain(MIXED) {
        let model = Model::from_text(name, &text(tasks), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let statics = analyze(&model.program, &StaticsOptions::default());
        assert_eq!(statics.complete(), tasks <= 10_000, "{name} {tasks}");
    }
}

/// Programs that unfold without end or nearly so, each with what is claimed of a write of `v` with itself.
const HOSTILE: [(&str, &str, SitesClaim); 5] = [
    (
        "a task that posts itself",
        "task t(i) { v = i; post t(i + 1) to main }\nthread a { post t(0) to main }\n",
        SitesClaim::OrderOnly,
    ),
    (
        "two tasks that post each other twice",
        "task t(i) { post u(i + 1) to main; post u(i + 2) to main }\n\
         task u(i) { v = i; post t(i + 1) to main; post t(i - 1) to main }\nthread a { post t(0) to main }\n",
        SitesClaim::OrderOnly,
    ),
    (
        "forks of forks",
        "task t(i) { v = i; fork t(i + 1); fork t(2 * i) }\nthread a { fork t(0) }\n",
        SitesClaim::MayRace,
    ),
    (
        "a call that calls itself twice",
        "task t(i) { v = i; if i < 1000 { t(i + 1); t(i + 2) } }\nthread a { t(0) }\n",
        SitesClaim::NeverBoth,
    ),
    (
        "events that enable each other",
        "event e(i) on main { v = i; enable f(i + 1) }\nevent f(i) on main { enable e(i + 1); enable e(i) }\n\
         thread a { enable e(0) }\n",
        SitesClaim::OrderOnly,
    ),
];

#[test]
fn programs_that_unfold_without_end_have_an_answer() {
    let opens = (0..64).map(|i| format!("for i{i} in 0..64 {{ ")).collect::<String>();
    let nested = format!("thread a {{ {opens} v = 1 {} }}\n", "}".repeat(64));
    let all = HOSTILE.into_iter().chain([("64 loops", nested.as_str(), SitesClaim::NeverBoth)]);
    for (name, text, wanted) in all {
        let model = Model::from_text(name, &format!("{HEAD}{text}"), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let statics = analyze(&model.program, &StaticsOptions::default());
        let is_write = |s: &Site| s.kind.access() == Some(AccessKind::Write);
        let (write, _) = model.program.sites.enumerate().find(|(_, s)| is_write(s)).expect("a write");
        assert_eq!(statics.sites(write, write), wanted, "{name}");
    }
}
