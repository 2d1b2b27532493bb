//! Tests symmetric search: which threads are alike, and that the states up to a renaming have the ends of all states.

use crate::agree::search;
use crate::alike_compare::{compare_alike, orbits, search_alike};
use crate::alike_models;
use raceflip::explore::{SearchOrder, SearchPlan};
use raceflip::lang::Alike;
use raceflip::vm::Model;
use std::path::Path;

fn model(text: &str) -> Model {
    Model::from_text("symmetry.race", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn workload(name: &str, defines: &[(&str, i64)]) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/models/explore").join(name);
    let defines: Vec<_> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Model::from_text(name, &std::fs::read_to_string(path).unwrap(), &defines).unwrap()
}

#[test]
fn readers_and_writers_have_few_states_up_to_a_renaming() {
    let model = workload("readers.race", &[("N", 5), ("WRITERS", 2)]);
    let plan = SearchPlan::new(&model);
    let (found, alike) = search_alike(&plan).unwrap();
    assert_eq!(alike.threads, [("writer".to_owned(), 2), ("reader".to_owned(), 5)]);
    assert_eq!(search(&plan).states, 8_212);
    assert!(found.complete() && found.states <= 352, "{} states", found.states);
    assert!(found.ends.is_empty());
}

#[test]
fn threads_with_a_variable_each_are_counted_and_not_told_apart() {
    // Of n threads, each in one of four states, (n + 3 over 3) states are left.
    for (n, states) in [(2, 10), (3, 20), (4, 35), (5, 56)] {
        let text = format!("var own: int[{n}]; thread t(i in 0..{n}) {{ own[i] = 1; own[i] = 2; own[i] = 3 }}");
        let model = model(&text);
        let (found, _) = search_alike(&SearchPlan::new(&model)).unwrap();
        assert_eq!((found.states, search(&SearchPlan::new(&model)).states), (states, 4u64.pow(n)), "{n}");
    }
}

#[test]
fn every_refusal_says_where_and_why() {
    let cases = [
        ("x = i + 1", "i + 1", "it is computed with"),
        ("if i < 1 { x = 1 }", "i < 1", "it is compared by order"),
        ("if i == 1 { x = 1 }", "1", "the number 1 is the index of `t[1]`"),
        ("own[2] = 1; own[i] = 2", "2", "the number 2 is the index of `t[2]`"),
        ("for j in 0..3 { own[j] = 1 }; own[i] = 2", "0..3", "a loop meets the indices in their order"),
        ("interrupt t[1]", "t[1]", "it names `t[1]` alone"),
        ("sync ms[1] { x = 1 }; sync ms[i] { x = 2 }", "ms[1]", "it names one element of an array"),
        ("sleep i", "i", "it is a time"),
        ("let a: int[3]; a[i] = 1", "i", "it is the index of a local array"),
        ("two[i] = 1", "thread t(i in 0..3)", "no element for some of these threads"),
        ("grid[i][x] = 1", "x", "a later index of the array is found by a step"),
        ("let o = new Box; o.v = 1", "new Box", "it makes an object while it runs"),
        ("x = i; x += 1", "x", "it is computed with"),
        ("x = next(i)", "of + 1", "it is computed with"),
    ];
    for (text, place, why) in cases {
        let text = format!(
            "class Box {{ var v = 0 }}\nvar x = 0\nvar own: int[3]\nvar two: int[2]\nvar grid: int[3][3]\nlock ms[3]\n\
             task next(of): int {{ return of + 1 }}\nthread t(i in 0..3) {{\n{text}\n}}\n"
        );
        let alike = Alike::of(&model(&text).program);
        assert!(alike.threads.is_empty(), "{text}");
        let [reason] = alike.refused.as_slice() else { panic!("{:?}\n{text}", alike.refused) };
        assert!(reason.reason.contains(why), "{}\n{text}", reason.reason);
        let at = &text[reason.span.start as usize..reason.span.end as usize];
        assert!(at.starts_with(place), "`{at}` for {why}\n{text}");
    }
}

#[test]
fn what_elements_may_do_is_accepted() {
    for text in [
        "own[i] = own[i] + 1",
        "if turn == -1 { turn = i }",
        "let j = turn; if j != -1 { own[j] = 1 }",
        "sync ms[i] { own[i] = 1 }",
        "x = same(i, turn)",
        "post say(i) to main",
        "if me == self { own[i] = 2 }",
    ] {
        let text = format!(
            "var x = 0\nvar turn = -1\nvar own: int[3]\nlock ms[3]\nvar me: thread = null\nlooper main\nvar last = 0\n\
             task say(who) {{ last = who }}\ntask same(a, b): int {{ if a == b {{ return 1 }}\nreturn 0 }}\n\
             init {{ own[1] = 5; turn = 2 }}\nthread t(i in 0..3) {{\n{text}\n}}\n"
        );
        let alike = Alike::of(&model(&text).program);
        assert_eq!(alike.threads, [("t".to_owned(), 3)], "{:?}\n{text}", alike.refused);
    }
}

#[test]
fn properties_may_name_all_elements_alike() {
    let cases = [
        ("property one always { all i in 0..3: own[i] <= 1 }", true),
        ("property one always { own[0] + own[1] + own[2] <= 3 }", true),
        (
            "property one always { !(own[0] == 1 && own[1] == 1) && !(own[0] == 1 && own[2] == 1) && !(own[2] == 1 && own[1] == 1) }",
            true,
        ),
        ("property one always { all i in 0..3: turn != i || own[i] <= 1 }", true),
        ("property last at end { any i in 0..3: own[i] == 1 }", true),
        ("property one always { own[0] <= 1 }", false),
        ("property one always { own[0] + own[1] <= 2 }", false),
        ("property one always { turn != 1 }", false),
        ("property one always { own[0] - own[1] - own[2] <= 1 }", false),
    ];
    for (property, is_alike) in cases {
        let text =
            format!("var own: int[3]\nvar turn = -1\n{property}\nthread t(i in 0..3) {{ own[i] = 1; turn = i }}\n");
        let model = model(&text);
        let alike = Alike::of(&model.program);
        assert_eq!(alike.threads.is_empty(), !is_alike, "{:?}\n{text}", alike.refused);
        compare_alike(&model, 1_000).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

/// Number of generated models that are compared.
const MODELS: u64 = 700;

#[test]
fn ends_of_generated_models_are_the_same_up_to_a_renaming() {
    let (mut compared, mut refused, mut fewer) = (0, 0, 0);
    for seed in 0..MODELS {
        let text = alike_models::model(seed);
        let model = model(&text);
        match compare_alike(&model, 8_000).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}")) {
            Some(found) => {
                compared += 1;
                fewer += u64::from(found.symmetric < found.full);
            }
            None => refused += 1,
        }
    }
    assert!(compared > MODELS / 3 && fewer > compared / 2 && refused > 20, "{compared} {refused} {fewer}");
}

#[test]
fn a_search_visits_few_more_states_than_there_are_orbits() {
    let (mut all, mut least) = (0, 0);
    for seed in 0..250 {
        let text = alike_models::model(seed);
        // The states of a clock have no end here.
        if ["for 2", "sleep", "after"].iter().any(|word| text.contains(word)) {
            continue;
        }
        let model = model(&text);
        let Some((found, alike)) = search_alike(&SearchPlan::new(&model)) else { continue };
        if found.states > 600 {
            continue;
        }
        let orbits = orbits(&model, &alike) as u64;
        assert!(orbits <= found.states, "seed {seed}: {orbits} orbits, {} states\n{text}", found.states);
        (all, least) = (all + found.states, least + orbits);
    }
    assert!(least > 1_000 && all * 10 <= least * 12, "{all} states, {least} orbits");
}

#[test]
fn a_symmetric_search_does_not_depend_on_workers_or_order() {
    for seed in 0..60 {
        let text = alike_models::model(seed);
        let model = model(&text);
        let observe = crate::stateless::words(&model.program);
        let of = |jobs, first| {
            let plan = SearchPlan { jobs, first, observe: observe.clone(), ..SearchPlan::new(&model) };
            let (found, _) = search_alike(&plan)?;
            Some((found.states, found.transitions, found.ends.into_keys().collect::<Vec<_>>()))
        };
        let one = of(1, SearchOrder::Nearest);
        assert_eq!(one, of(3, SearchOrder::Nearest), "{text}");
        let deepest = of(1, SearchOrder::Deepest);
        assert_eq!(one.as_ref().map(|one| one.2.len()), deepest.as_ref().map(|deepest| deepest.2.len()), "{text}");
    }
}

#[test]
fn harnesses_with_alike_threads_have_the_same_ends() {
    let mut compared = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|e| e != "race") {
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let Ok(model) = Model::from_text(&name, &text, &[]) else { continue };
            if Alike::of(&model.program).threads.is_empty() {
                continue;
            }
            compared += u32::from(compare_alike(&model, 50_000).unwrap_or_else(|e| panic!("{name}: {e}")).is_some());
        }
    }
    assert!(compared > 0, "no harness has alike threads");
}
