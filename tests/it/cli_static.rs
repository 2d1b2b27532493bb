//! Tests of `raceflip static`, of what `confirm` makes of it, and of programs that are too large to be unfolded.

use crate::cli::{FOUND, call, file, scratch};
use raceflip::statics::{SettledBy, SitesClaim, Statics, StaticsOptions, analyze};
use raceflip::vm::Model;
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    let ran = call(args);
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

fn analyzed(text: &str, options: &StaticsOptions) -> (Model, Statics) {
    let model = Model::from_text("static.race", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let statics = analyze(&model.program, options);
    (model, statics)
}

fn claim(text: &str, a: &str, b: &str) -> SitesClaim {
    let (model, statics) = analyzed(text, &StaticsOptions::default());
    let site = |label: &str| {
        let found = model.program.sites.enumerate().find(|(_, site)| site.label.as_deref() == Some(label));
        found.unwrap_or_else(|| panic!("no label {label}")).0
    };
    statics.sites(site(a), site(b))
}

fn words(report: &Value, list: &str, fields: [&str; 2]) -> Vec<String> {
    let all = report[list].as_array().expect("a list");
    all.iter().map(|one| format!("{} {}", one[fields[0]].as_str().unwrap(), one[fields[1]].as_str().unwrap())).collect()
}

/// AndRacer's figures: one race and five orders of tasks in figure 1a, no race in figures 10 and 12.
#[test]
fn the_figures_of_the_paper() {
    let report = json(&["static", "harnesses/papers/andracer_fig1a.race", "--format", "json"]);
    assert_eq!(words(&report, "pairs", ["a", "b"]), ["@after @write"]);
    // Three of the five orders; the others follow from these.
    assert_eq!(words(&report, "orders", ["before", "after"]), ["onCreate a", "a b", "a c"]);
    for figure in ["fig10", "fig12"] {
        let ran = call(&["static", &format!("harnesses/papers/andracer_{figure}.race"), "-q"]);
        assert!(ran.out.starts_with("0 pairs that nothing orders\n"), "{figure}: {}", ran.out);
        assert_eq!(ran.status, 0);
    }
}

/// Each claimed order has a reason that begins with what is claimed, and names a rule.
#[test]
fn orders_have_reasons() {
    for path in crate::support::models("harnesses/papers") {
        let report = json(&["static", &path, "--format", "json"]);
        for list in ["refuted", "orders", "both_orders", "pairs"] {
            for one in report[list].as_array().expect("a list") {
                assert!(one["why"].as_array().is_some_and(|why| !why.is_empty()), "{path}: {one}");
            }
        }
        for order in report["orders"].as_array().expect("a list") {
            let why = order["why"].to_string();
            let rules =
                ["FIFO", "NOPRE", "ENDED", "SURE", "FRONT", "FIRINGS", "LOOP", "JOIN", "QUIT", "FLAG", "UP", "MADE"];
            assert!(rules.iter().any(|rule| why.contains(rule)), "{path}: {why}");
        }
    }
}

#[test]
fn the_text_says_why() {
    let text = "var x = 0\nlooper main\nthread env {\n    post a() to main\n    post b() to main after 5\n}\n\
                task a() { x = 1 }\ntask b() { x = 2 }\n";
    let path = file(&scratch("static_text"), "app.race", text);
    let ran = call(&["static", &path, "--orders", "--graph"]);
    let expected = "0 pairs that nothing orders:\n1 order of tasks that every run has:\na < b\n    \
        a is over before b begins: they are posted to main in this order, without delay and after 5 ms (FIFO, :4 :5)\n";
    assert!(ran.out.starts_with(expected), "{}", ran.out);
    assert!(ran.out.contains("env -main-> a, once\nenv -main-> b, once\n"), "{}", ran.out);
    assert_eq!(ran.status, 0);
}

/// A pair that is in order is refuted without a search, and what `static` prints is a list of pairs.
#[test]
fn confirm_refutes_by_order() {
    let flag = "harnesses/static/flag.race";
    let report = json(&["confirm", flag, "--runs", "5", "--pair", "@setup~@read", "--format", "json"]);
    let verdict = &report["pairs"][0]["verdict"];
    assert_eq!((verdict["kind"].as_str(), verdict["by"].as_str()), (Some("refuted"), Some("order")), "{report}");
    assert_eq!(report["pairs"][0]["trials"], 0);
    let ran = call(&["confirm", flag, "--runs", "5", "--pair", "@setup~@read"]);
    assert!(ran.out.contains("ordered in every run: @setup before @read, as "), "{}", ran.out);
    let folder = scratch("static_pairs");
    let listed = call(&["static", "harnesses/papers/andracer_fig1a.race", "--format", "json"]);
    let list = file(&folder, "static.json", &listed.out);
    let ran = call(&["confirm", "harnesses/papers/andracer_fig1a.race", "--pairs-from", &list]);
    assert_eq!(ran.status, FOUND, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("REAL"), "{}", ran.out);
}

#[test]
fn settled_orders_are_told() {
    let (model, statics) = analyzed(&crate::support::read("harnesses/static/guard.race"), &StaticsOptions::default());
    let site = |label: &str, word: &str| {
        let mut all = model.program.sites.enumerate();
        all.find(|(_, site)| site.label.as_deref() == Some(label) && site.kind.word() == word).expect("a site").0
    };
    let (read, free) = (site("use", "read"), site("free", "write"));
    assert_eq!(statics.sites(read, free), SitesClaim::OrderOnly);
    let settled = statics.settled(read, free).expect("the guard settles it");
    assert_eq!((settled.first, settled.by), (read, SettledBy::Guard));
    // The guard's own read is in no order with the free.
    assert_eq!(statics.settled(site("guard", "read"), free), None);
    let report = json(&["static", "harnesses/static/guard.race", "--format", "json"]);
    let ranks: Vec<&str> =
        report["pairs"].as_array().unwrap().iter().map(|pair| pair["rank"].as_str().unwrap()).collect();
    assert_eq!(ranks, ["A", "D"]);
}

#[test]
fn locks_that_protect_nothing() {
    let redundant = |inside: &str, other: &str| {
        let text = format!(
            "var x = 0\nvar y = 0\nlock m\nlooper main\nthread env {{ post a() to main; post b() to main }}\n\
             task a() {{ sync m {{ {inside} }} }}\ntask b() {{ x = 2 }}\nthread t {{ {other} }}"
        );
        analyzed(&text, &StaticsOptions::default()).1.locks().len()
    };
    assert_eq!(redundant("x = 1", "y = 1"), 1);
    assert_eq!(redundant("x = 1", "x = 3"), 0, "the thread is in no order with a");
    assert_eq!(redundant("x = 1; post b() to main", "y = 1"), 0, "a post inside");
    assert_eq!(redundant("skip", "y = 1"), 0, "nothing inside");
}

/// Orders that look right and are not.
#[test]
fn what_must_not_be_claimed() {
    let looper = |posts: &str| {
        format!(
            "var x = 0\nlooper main\nthread env {{ {posts} }}\ntask a() {{ @a: x = 1 }}\ntask b() {{ @b: x = 2 }}\n"
        )
    };
    let ordered = |text: &str| matches!(claim(text, "a", "b"), SitesClaim::Ordered { .. });
    assert!(ordered(&looper("post a() to main; post b() to main")));
    assert!(!ordered(&looper("post a() to main after 5; post b() to main")));
    assert!(!ordered(&looper("post a() to main; post b() to main at front")));
    assert!(!ordered(&looper("while * { post a() to main; post b() to main }")));
    assert!(!ordered(&looper("try { post b() to main } catch { skip }; post a() to main after 1; post b() to main")));
    assert!(!ordered(&looper("post a() to main every 5 daemon; post b() to main after 7")));
    let flag = |writes: &str| {
        format!(
            "var x = 0\natomic f = false\nthread w {{ {writes} }}\nthread v {{ if * {{ f = true }} }}\n\
             thread r {{ await f; @b: x = 2 }}\n"
        )
    };
    assert!(!ordered(&flag("@a: x = 1; f = true")), "v may set the flag as well");
    let one = "var x = 0\natomic f = false\nthread w { @a: x = 1; f = true }\nthread r { await f; @b: x = 2 }\n";
    assert!(ordered(one));
}

/// Programs that cannot be unfolded get an answer: contexts are folded, and less is claimed.
#[test]
fn hostile_programs_get_an_answer() {
    let loops: String = (0..20).map(|i| format!("for i{i} in 0..64 {{ ")).collect();
    let rounds = loops + "x += 1" + &" }".repeat(20);
    let calls: String = (1..40).map(|i| format!("task f{i}() {{ f{}(); f{}() }}\n", i - 1, i - 1)).collect();
    let hostile = [
        format!("var x = 0\nthread t {{ {rounds} }}"),
        "var x = 0\ntask f(n) { if n > 0 { f(n - 1); f(n - 2) }; x = n }\nthread t { f(60) }".to_owned(),
        format!("var x = 0\ntask f0() {{ x = 1 }}\n{calls}thread t {{ f39() }}"),
        "var x = 0\nlooper main\ntask a(n) { x = n; post a(n + 1) to main; post b(n) to main }\n\
         task b(n) { post a(n * 2) to main; post b(n + 3) to main }\nthread t { post a(0) to main }"
            .to_owned(),
    ];
    let few = StaticsOptions { contexts: 500, operations: 20_000, ..StaticsOptions::default() };
    for text in hostile {
        let (_, statics) = analyzed(&text, &few);
        assert!(statics.counts().contexts <= 2_000 && !statics.pairs().is_empty(), "{text}");
    }
    let many: String = (0..400).map(|i| format!("task t{i}() {{ @a{i}: x = {i} }}\n")).collect();
    let posts: String = (0..400).map(|i| format!("post t{i}() to main\n")).collect();
    let text = format!("var x = 0\nlooper main\nthread env {{\n{posts}}}\n{many}");
    assert!(matches!(claim(&text, "a0", "a399"), SitesClaim::Ordered { .. }));
    let (_, cut) = analyzed(&text, &StaticsOptions { contexts: 50, ..few });
    assert!(!cut.complete());
    assert!(analyzed(&text, &few).1.complete());
}
