//! Compares the exhaustive search with other ways to the same results.

pub(crate) use crate::agree::search;
use crate::enumerate::{enumerate, words};
use crate::tiny;
use raceflip::explore::{
    self, ClockMode, Livelock, NoSearchProgress, OrderResult, SearchPlan, least_stalls, livelocks, site_order,
};
use raceflip::vm::Model;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Context of a search that is never stopped.
pub(crate) fn context() -> explore::SearchContext<'static> {
    static STOP: AtomicBool = AtomicBool::new(false);
    explore::SearchContext { stop: &STOP, progress: &NoSearchProgress }
}

fn model(text: &str) -> Model {
    Model::from_text("t.race", text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// The search finds the same ends as the enumeration of all states, and the same ends with and without reduction.
#[test]
fn it_comes_to_the_ends_of_all_runs() {
    let mut compared = 0;
    for (i, text) in tiny::pairs().chain((0..1_000).map(tiny::model)).enumerate() {
        let model = Model::from_text(&format!("tiny {i}"), &text, &[]).unwrap();
        let of = words(&model.program);
        // The critical instants of random walks make the enumeration and the search see the same instants.
        let Some(all) = enumerate(&model.program, &of, true, 3_000) else { continue };
        let ends = |reduce, clock| {
            let found = search(&SearchPlan { reduce, clock, observe: of.clone(), ..SearchPlan::new(&model) });
            assert!(found.complete(), "tiny {i}: {:?}", found.cut);
            let ends: BTreeSet<_> = found.ends.keys().map(|e| e.ended.clone()).collect();
            (found.states, ends)
        };
        assert_eq!(ends(false, ClockMode::Critical).1, all.ends, "tiny {i}\n{text}");
        let exact = ends(false, ClockMode::Exact);
        let missing: Vec<_> = all.ends.difference(&exact.1).collect();
        assert!(missing.is_empty(), "tiny {i}: {missing:?} are missing\n{text}");
        assert_eq!(ends(true, ClockMode::Exact), exact, "tiny {i}, reduced\n{text}");
        compared += 1;
    }
    assert!(compared > 3_000, "only {compared} models");
}

/// Two independent steps may end a run together: by a property that holds in every state, or by one that holds at rest
/// after the last steps of two loopers. What follows one of them alone is then reached in no other way.
#[test]
fn reduction_visits_what_follows_a_step_whose_other_order_ends_the_run() {
    let always = "var x = 0; var y = 0; var z = 0; property p always { !(x == 1 && y == 1) }
        thread a { x = 1; z = 1; x = 0; z = 2 }; thread b { y = 1; y = 0; y = 2; y = 0; y = 3 }";
    let rest = |property: &str, tasks: &str| {
        format!(
            "looper m; looper k; var x = 0; var u = 0; var v = 0; var p = 0; property r at end {{ {property} }}
            daemon thread b {{ await p == 1; x = 1; x = 2; x = 3 }}
            task one() {{ u = 1 }}; task two() {{ v = 1 }}; thread a {{ {tasks}; p = 1 }}"
        )
    };
    let one = "post one() to m";
    let two = "post one() to m; post two() to k";
    // Here the clock brings the run to rest: the fence holds back what has become due.
    let late = "let f = fence m; post one() to m after 2";
    for text in [always.to_owned(), rest("x == 2", one), rest("x == 2", two), rest("false", two), rest("x > 0", late)] {
        let model = model(&text.replace("; ", "\n"));
        let found = |reduce| {
            let found = search(&SearchPlan { reduce, ..SearchPlan::new(&model) });
            (found.states, found.ends.into_keys().collect::<BTreeSet<_>>())
        };
        assert_eq!(found(true), found(false), "{text}");
    }
}

#[test]
fn the_number_of_workers_changes_nothing() {
    for seed in 0..60 {
        let model = model(&tiny::model(seed));
        let searched = |jobs, reduce| {
            let bounds = explore::Bounds { states: 2_000, ..explore::Bounds::default() };
            let observe = words(&model.program);
            let found =
                search(&SearchPlan { jobs, reduce, bounds, observe, pairs: !reduce, ..SearchPlan::new(&model) });
            format!("{found:?}")
        };
        for reduce in [false, true] {
            assert_eq!(searched(1, reduce), searched(3, reduce), "{seed} {reduce}");
        }
    }
}

// A word of the canonical state is longer from some size on, and so is a part of it. The digests of two parts must not
// depend on each other.
#[test]
fn a_larger_constant_changes_no_number_of_states() {
    let states = |constant: u32| {
        let model = model(&format!("var x = 0\nthread a(i in 0..2) {{ for n in 0..{constant} {{ x += 1 }} }}"));
        let bounds = explore::Bounds { depth: 12, ..explore::Bounds::default() };
        let found = search(&SearchPlan { bounds, ..SearchPlan::new(&model) });
        (found.states, found.transitions)
    };
    let few = states(100);
    assert!(few.0 > 400, "{few:?}");
    for constant in [200, 239, 240, 241, 300, 100_000] {
        assert_eq!(states(constant), few, "0..{constant}");
    }
}

#[test]
fn depth_first_visits_the_same_states() {
    for seed in 0..200 {
        let model = model(&tiny::model(seed));
        let plan = SearchPlan { observe: words(&model.program), pairs: true, ..SearchPlan::new(&model) };
        let bounds = explore::Bounds { states: 5_000, ..explore::Bounds::default() };
        let nearest = search(&SearchPlan { bounds, ..plan.clone() });
        if !nearest.complete() {
            continue;
        }
        for reduce in [false, true] {
            let deepest =
                search(&SearchPlan { first: explore::SearchOrder::Deepest, reduce, pairs: !reduce, ..plan.clone() });
            assert_eq!((deepest.states, deepest.cut), (nearest.states, None), "{seed} {reduce}");
            assert!(deepest.ends.keys().eq(nearest.ends.keys()));
            assert!(reduce || deepest.adjacent.keys().eq(nearest.adjacent.keys()));
            assert!(reduce || deepest.transitions == nearest.transitions);
        }
    }
}

#[test]
fn what_is_told_of_the_whole_is_no_more_than_there_is() {
    // At every bound, including late ones, the estimate covers the visited states and those that runs met besides.
    let model = model("const N = 6\nvar x: int[N]\nthread w(i in 0..N) { x[i] = 1; x[i] = 2; x[i] = 3 }");
    for states in [100, 1_000, 3_500, 4_000] {
        for depth_first in [false, true] {
            let bounds = explore::Bounds { states, ..explore::Bounds::default() };
            let first = if depth_first { explore::SearchOrder::Deepest } else { explore::SearchOrder::Nearest };
            let found = search(&SearchPlan { bounds, first, ..SearchPlan::new(&model) });
            let at_least = found.estimate.expect("it was cut").at_least(found.states);
            assert!((states..=4_096).contains(&at_least), "{at_least} after {states}");
        }
    }
    // With 48 choices, the weights of runs differ so much that a few runs have nearly all weight, so no error can be
    // given.
    let text = "const N = 8\nvar x: int[N]\nthread w(i in 0..N) { x[i] = 1; x[i] = 2; x[i] = 3; x[i] = 1; x[i] = 2; x[i] = 3 }";
    let model = self::model(text);
    let bounds = explore::Bounds { states: 100, ..explore::Bounds::default() };
    let found = search(&SearchPlan { bounds, ..SearchPlan::new(&model) });
    let estimate = found.estimate.expect("it was cut");
    assert!(estimate.at_least(100) > 10_000 && estimate.error().is_none(), "{estimate:?}");
}

#[test]
fn a_search_that_was_cut_estimates_the_whole() {
    let text = "
        const N = 6
        var x: int[N]
        thread w(i in 0..N) { x[i] = 1; x[i] = 2; x[i] = 3 }";
    let model = model(text);
    let bounds = explore::Bounds { states: 1_000, ..explore::Bounds::default() };
    let found = search(&SearchPlan { bounds, ..SearchPlan::new(&model) });
    assert_eq!(found.cut, Some(explore::Cut::States));
    let estimate = found.estimate.unwrap();
    // There are 18! / 3!^6 schedules and 4^6 states. A deviation of five standard errors has a chance of one in a
    // million, and does not occur with these seeds.
    let schedules = 137_225_088_000.0;
    assert!((estimate.schedules - schedules).abs() < 5.0 * estimate.schedules_error, "{estimate:?}");
    let states = search(&SearchPlan::new(&model)).states;
    assert!((found.states + 1..=states).contains(&estimate.at_least(found.states)), "{estimate:?} of {states}");
    assert_eq!(search(&SearchPlan::new(&model)).estimate, None);
}

#[test]
fn ticks_in_a_row_do_not_run_away_from_the_bounds() {
    let text = "
        looper main
        task late() { skip }
        thread a { post late() to main after 2592001; sleep 7 }
        thread b { skip }";
    let model = model(text);
    let bounds = explore::Bounds { states: 1_000, ..explore::Bounds::default() };
    let found = search(&SearchPlan { bounds, ..SearchPlan::new(&model) });
    assert_eq!(found.cut, Some(explore::Cut::States));
    assert!(found.states < 10_000, "{}", found.states);
}

#[test]
fn orders_that_happen_and_orders_that_never_do() {
    let text = "
        class Box { var v = 0 }
        var x = 0
        var o: Box = null
        lock m
        looper main
        task first() { @first: x = 1 }
        task second() { @second: x = 2 }
        init { o = new Box }
        thread a { post first() to main; post second() to main; @field: o.v = 1; o = new Box; @fresh: o.v = 2 }
        thread b { @other: o.v = 3 }";
    let model = model(text);
    let site = |label: &str| {
        let is = |s: &raceflip::event::Site| s.label.as_deref() == Some(label) && s.kind.word() == "write";
        model.code.setup.sites.enumerate().find(|(_, s)| is(s)).map(|(id, _)| id).unwrap()
    };
    // Tasks posted by one thread begin in the order of their posts. A thread that has read the first box does not write
    // to the second one.
    let cases = [
        ("first", "second", true),
        ("second", "first", false),
        ("field", "other", true),
        ("other", "field", true),
        ("fresh", "other", true),
        ("other", "fresh", true),
        ("first", "first", false),
        ("first", "other", false),
    ];
    for (first, then, happens) in cases {
        let order = site_order(&SearchPlan::new(&model), (site(first), site(then)), false, context());
        assert_eq!(matches!(order, OrderResult::Happens(_)), happens, "{first} before {then}: {order:?}");
        assert!(happens || matches!(order, OrderResult::Never));
    }
}

/// A use after a free meets the null only if nothing is allocated between them.
#[test]
fn an_order_is_direct_if_no_other_write_comes_between() {
    let around = |free: &str| {
        format!(
            "app \"direct\"\nvar p: Object = new Object\nlock m\n\
             thread a {{ acquire m; @free: p = null; {free}; release m }}\n\
             thread b {{ acquire m; let q = @use: p; release m }}"
        )
    };
    for (free, happens) in [("skip", true), ("p = new Object", false), ("if * { p = new Object }", true)] {
        let text = around(free).replace("let q = @use: p", "@use: let q = p");
        let model = model(&text);
        let sites = &model.code.setup.sites;
        let [free, read] =
            ["free", "use"].map(|label| sites.enumerate().find(|(_, s)| s.label.as_deref() == Some(label)).unwrap().0);
        for (direct, happens) in [(false, true), (true, happens)] {
            let order = site_order(&SearchPlan::new(&model), (free, read), direct, context());
            assert_eq!(matches!(order, OrderResult::Happens(_)), happens, "{text}: direct {direct}: {order:?}");
        }
    }
}

#[test]
fn livelocks_are_just_and_go_on_for_ever() {
    let cases: [(&str, &[&str]); 9] = [
        // A fair scheduler must run the thread that sets the flag.
        ("var f = 0; thread a { while f == 0 { skip } }; thread b { f = 1 }", &[]),
        // No thread sets the flag.
        ("var f = 0; thread a { while f == 0 { skip } }; thread b { skip }", &["a"]),
        // The thread that would set the flag waits for the lock of the other one.
        (
            "var f = 0; lock m; thread a { sync m { while f == 0 { yield } } }; thread b { sync m { f = 1 } }",
            &["a", "b"],
        ),
        // Two threads give way to each other forever.
        (
            "atomic p = 0; atomic q = 0
             thread a { loop { p = 1; if q == 0 { break }; p = 0 } ; p = 0 }
             thread b { loop { q = 1; if p == 0 { break }; q = 0 } ; q = 0 }",
            &["a", "b"],
        ),
        ("var x = 0; daemon thread a { loop { x = 1 } }; thread b { x = 2 }", &[]),
        ("looper main; task tick() { post tick() to main after 5 }; thread a { post tick() to main }", &[]),
        ("looper main; task spin() { loop { skip } }; thread a { post spin() to main }", &["main"]),
        ("thread a { loop { sleep 3 } }", &["a"]),
        ("thread a { for i in 0..3 { skip } }", &[]),
    ];
    for (text, threads) in cases {
        let model = model(text);
        let (found, cut) = livelocks(&SearchPlan::new(&model), context());
        assert_eq!(cut, None);
        let setup = &model.code.setup;
        let name = |t: &raceflip::event::ThreadId| setup.threads[*t].name.clone();
        let names = |l: &Livelock| l.threads.iter().map(name).collect::<BTreeSet<_>>();
        let all: BTreeSet<String> = found.iter().flat_map(names).collect();
        assert_eq!(all, threads.iter().map(|t| (*t).to_owned()).collect(), "{text}: {found:?}");
        for livelock in &found {
            assert!(livelock.round.0 < livelock.round.1 && livelock.way.steps >= livelock.round.1);
        }
    }
}

#[test]
fn the_least_stall_of_an_end() {
    let text = "
        var done = 0
        lock m
        thread a { sleep 5; assert done == 1, \"late\" }
        thread b { skip; done = 1 }";
    let model = model(text);
    let plan = SearchPlan { observe: BTreeSet::new(), ..SearchPlan::new(&model) };
    let found = search(&plan);
    let ends: BTreeSet<_> = found.ends.keys().cloned().collect();
    let stalls = least_stalls(&plan, found.scale, &ends, context());
    let of = |word: &str| stalls.iter().find(|(end, _)| end.ended.kind.word() == word).map(|(_, stall)| *stall);
    assert_eq!((of("ok"), of("late")), (Some(0), Some(5)));
}
