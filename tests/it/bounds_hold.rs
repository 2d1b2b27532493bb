//! Tests that bounds of time, memory and states hold to within a tenth for states of any size, and that a search that
//! is cut short reports what it knows.

use crate::cli::{FOUND, REFUSED, Ran, call, file, raceflip, ran, scratch};
use crate::load::{Model, load, load_bytes};
use allocation_counter::measure;
use raceflip::campaign::{self, CampaignPlan as Campaign, TestPlan};
use raceflip::explore::{Bounds, Cut, NoSearchProgress, SearchContext, SearchOrder, SearchPlan, SearchReport, explore};
use raceflip::formats::explore::ExploreReport;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn fault(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/faults").join(name)
}

fn path(name: &str) -> String {
    fault(name).display().to_string()
}

fn search(plan: &SearchPlan<'_>) -> SearchReport {
    explore(plan, SearchContext { stop: &AtomicBool::new(false), progress: &NoSearchProgress })
}

/// Returns models with large states of every kind: many threads, large arrays, many objects, lists, full queues, and
/// many consecutive advances of the clock.
fn wide() -> Vec<(String, Model)> {
    let threads = |n: u32| (format!("{n} threads"), format!("var x = 0\nthread t(i in 0..{n}) {{ x = i }}"));
    let texts = [
        threads(20),
        threads(80),
        threads(200),
        ("the fault".to_owned(), std::fs::read_to_string(fault("wide_test_memory.race")).expect("the model")),
        ("arrays".to_owned(), "var a: int[20000]\nthread t(i in 0..40) { a[i] = 1; a[i + 100] = 2 }".to_owned()),
        (
            "objects".to_owned(),
            "class N { var next: N = null; var v = 0 }\nvar head: N = null\nthread t(i in 0..30) { for j in 0..50 { let n = new N; n.v = j; n.next = head; head = n } }"
                .to_owned(),
        ),
        ("lists".to_owned(), "var l: list[int]\nthread t(i in 0..20) { for j in 0..100 { l.push(j) } }".to_owned()),
        (
            "queues".to_owned(),
            "var x = 0\nlooper main\ntask f(i) { x = i }\nthread t(i in 0..30) { for j in 0..50 { post f(j) to main after j } }"
                .to_owned(),
        ),
        ("ticks".to_owned(), "var x = 0\nthread t(i in 0..20) { for j in 0..9 { sleep 1 + 999 * i; x = i } }".to_owned()),
    ];
    texts.into_iter().map(|(name, text)| (name, load_bytes("wide.race", text.as_bytes(), &[]))).collect()
}

#[test]
fn a_search_stops_at_its_bound_of_states() {
    for (name, model) in wide() {
        for first in [SearchOrder::Nearest, SearchOrder::Deepest] {
            let with = |jobs: usize, reduce: bool| {
                let bounds = Bounds { states: 1_000, ..Bounds::default() };
                let found = search(&SearchPlan { bounds, first, jobs, reduce, ..SearchPlan::new(&model) });
                assert_eq!((found.states, found.cut), (1_000, Some(Cut::States)), "{name}, {first:?}");
                assert!(found.frontier > 0, "{name}");
                (found.transitions, found.depth, found.frontier)
            };
            assert_eq!(with(1, false), with(3, false), "{name}, {first:?}");
            with(1, true);
        }
    }
}

#[test]
fn a_search_stops_at_its_bound_of_memory() {
    for (name, model) in wide() {
        for first in [SearchOrder::Nearest, SearchOrder::Deepest] {
            let bounds = Bounds { memory: 12 << 20, ..Bounds::default() };
            let stop = AtomicBool::new(false);
            let mut found = None;
            let plan = SearchPlan { bounds, first, ..SearchPlan::new(&model) };
            // A depth-first search needs little memory, even with large states, so it gets a bound of states as well.
            let limit = Bounds { states: 40_000, ..bounds };
            let plan = if first == SearchOrder::Deepest { SearchPlan { bounds: limit, ..plan } } else { plan };
            let info =
                measure(|| found = Some(explore(&plan, SearchContext { stop: &stop, progress: &NoSearchProgress })));
            let found = found.expect("it was searched");
            assert!(info.bytes_max * 10 <= bounds.memory * 11, "{name}, {first:?}: {} bytes", info.bytes_max);
            if first == SearchOrder::Nearest {
                assert_eq!(found.cut, Some(Cut::Memory), "{name}");
                assert!(found.memory * 10 >= bounds.memory * 8, "{name} stops early: {}", found.memory);
            }
        }
    }
}

/// States that are small vectors: most of the memory is that of the levels, also of a level whose states have been
/// expanded.
#[test]
fn a_search_of_small_states_stops_at_its_bound_of_memory() {
    let text = "var a = 0\nvar b = 0\nthread t(i in 0..8) { for j in 0..6 { a = i + j; b += 1 } }";
    let model = load_bytes("narrow.race", text.as_bytes(), &[]);
    for memory in [24 << 20, 48 << 20] {
        let bounds = Bounds { memory, ..Bounds::default() };
        let mut found = None;
        let info = measure(|| found = Some(search(&SearchPlan { bounds, ..SearchPlan::new(&model) })));
        let found = found.expect("it was searched");
        assert_eq!(found.cut, Some(Cut::Memory));
        assert!(info.bytes_max * 10 <= memory * 11, "{memory}: {} bytes", info.bytes_max);
        assert!(found.memory * 10 >= memory * 8, "{memory}: it stops early: {}", found.memory);
    }
}

/// A random run that is cut by a bound of preemptions counts as ended for the estimate, not as endless.
#[test]
fn a_bound_of_preemptions_makes_no_run_endless() {
    let model =
        file(&scratch("preemptions"), "m.race", "var x = 0\nvar y = 0\nthread a(i in 0..3) { x += i; y += x }\n");
    for preemptions in ["0", "1"] {
        let cut = call(&["explore", &model, "--preemptions", preemptions, "--states", "30"]).out;
        assert!(cut.contains("cut at 30 states") && !cut.contains("infinitely"), "{cut}");
    }
}

/// A search that fits into its bounds is complete, even if they leave hardly any room.
#[test]
fn a_bound_that_is_not_reached_changes_nothing() {
    let model = load_bytes("add.race", b"var x = 0\nthread t(i in 0..4) { x += 1 }", &[]);
    let whole = search(&SearchPlan::new(&model));
    assert!(whole.complete());
    for states in [whole.states + 1, 2 * whole.states] {
        for first in [SearchOrder::Nearest, SearchOrder::Deepest] {
            let bounds = Bounds { states, ..Bounds::default() };
            let found = search(&SearchPlan { bounds, first, ..SearchPlan::new(&model) });
            assert_eq!(
                (found.cut, found.states, found.ends.len()),
                (None, whole.states, whole.ends.len()),
                "{first:?}"
            );
        }
    }
}

#[test]
fn an_endless_space_is_not_estimated() {
    for name in ["repeating_timer.race", "profile_timer.race"] {
        let model = load(&fault(name), &[]);
        for states in [500, 2_000, 5_000] {
            let bounds = Bounds { states, ..Bounds::default() };
            let found = search(&SearchPlan { bounds, ..SearchPlan::new(&model) });
            let estimate = found.estimate.expect("it was cut");
            assert!(estimate.growing > 0, "{name}: {estimate:?}");
        }
    }
    let said = call(&["explore", &path("repeating_timer.race"), "--states", "2000"]).out;
    assert!(said.contains("there may be infinitely many: ") && !said.contains('±'), "{said}");
    // A run that loops forever over a few states is no sign of infinitely many states.
    let spin = "var stop = 0\nthread a { while stop == 0 { skip } }\nthread b(i in 0..5) { for j in 0..40 { skip } }";
    let model = load_bytes("spin.race", spin.as_bytes(), &[]);
    let found =
        search(&SearchPlan { bounds: Bounds { states: 2_000, ..Bounds::default() }, ..SearchPlan::new(&model) });
    let estimate = found.estimate.expect("it was cut");
    assert!(estimate.endless > 0 && estimate.growing == 0, "{estimate:?}");
}

/// `test` performs only the searches that some line needs.
#[test]
fn where_nothing_is_expected_nothing_is_searched() {
    let searched = |text: &[u8]| {
        let model = load_bytes("few.race", text, &[]);
        let campaign = Campaign { jobs: 1, ..Campaign::new(&model) };
        let plan = TestPlan { model: &model, campaign, walks: 4, states: 10_000, saved: &[], shrinks: false };
        let stop = AtomicBool::new(false);
        campaign::test(&plan, campaign::CampaignContext { stop: &stop, progress: &campaign::NoProgress }).states
    };
    let text = "var x = 0\nthread t(i in 0..3) { x = i }\n";
    assert_eq!(searched(text.as_bytes()), None);
    assert!(searched(format!("{text}expect no failure\n").as_bytes()).is_some());
}

// Waits for a process that must end on its own, or after this signal. The time limit is long enough for a slow machine.
fn ends(mut child: Child, signal: Option<&str>) -> Ran {
    if let Some(signal) = signal {
        std::thread::sleep(Duration::from_millis(1_500));
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
    }
    for _ in 0..1_200 {
        if child.try_wait().expect("a child").is_some() {
            return ran(child.wait_with_output().expect("it has ended"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().ok();
    panic!("it goes on and on");
}

fn begin(args: &[&str]) -> Child {
    let mut command = raceflip();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

#[test]
fn time_is_up_where_it_is_up() {
    let endless = path("explore_time_ignored.race");
    for args in [&["--jobs", "2"][..], &["--search", "depth"], &["--pairs"], &["--reduce"], &["--preemptions", "2"]] {
        let said = ends(begin(&[&["explore", &endless, "--time", "1s"], args].concat()), None);
        assert!(said.out.contains("cut by --time"), "{args:?}: {}{}", said.out, said.err);
    }
}

#[cfg(unix)]
#[test]
fn what_is_known_is_printed_when_it_is_interrupted() {
    let endless = path("explore_time_ignored.race");
    let said = ends(begin(&["explore", &endless, "--memory", "16G", "--states", "900000000"]), Some("-INT"));
    assert_eq!(said.status, 130, "{}", said.err);
    assert!(said.out.contains("interrupted, which is not reproducible"), "{}", said.out);
    let json = ["explore", &endless, "--memory", "16G", "--states", "900000000", "--format", "json"];
    let said = ends(begin(&json), Some("-INT"));
    let report: ExploreReport = serde_json::from_str(&said.out).expect("a report");
    assert_eq!((said.status, report.cut.as_deref(), report.complete), (130, Some("interrupted"), false));
    assert!(report.states > 0);
}

/// A token cannot raise the limits of the command that replays it.
#[test]
fn a_token_is_replayed_as_far_as_the_command_allows() {
    let (model, token) = (path("endless_token.race"), format!("@{}", path("endless_token.txt")));
    let asks = "the token needs --steps 18446744073709551615, and this command allows at most 100000; `--steps 18446744073709551615` allows it";
    for command in ["replay", "shrink"] {
        let said = ends(begin(&[command, &model, &token, "-q"]), None);
        assert_eq!(said.status, REFUSED, "{command}: {}", said.err);
        assert!(said.err.contains(asks), "{command}: {}", said.err);
    }
    let said = ends(begin(&["replay", &model, &token, "-q", "--tolerant", "--steps", "500"]), None);
    assert!(said.status == REFUSED && said.err.contains("at most 500"), "{}", said.err);

    let run = call(&["run", &model, "--steps", "200000"]);
    let command = run.out.lines().find_map(|l| l.split("raceflip replay ").nth(1)).expect("a command");
    assert!(command.contains(" --steps 200000 rf1-"), "{command}");
    let token = command.split(' ').next_back().expect("a token");
    let said = call(&["replay", &model, token, "-q"]);
    assert!(said.status == REFUSED && said.err.contains("`--steps 200000` allows it"), "{}", said.err);
    let allowed = call(&["replay", &model, "--steps", "200000", token]);
    assert_eq!((allowed.status, &allowed.out), (FOUND, &run.out));
}

/// A run that ends within the limits of the command replays, even if its token asks for higher limits. Calls that are
/// too deep throw an exception and so change the run; that limit must be allowed.
#[test]
fn only_what_a_run_needs_is_asked_for() {
    let folder = scratch("asks");
    let model = file(&folder, "m.race", "var x = 0\nthread a { x = 1 }\nthread b { assert x == 0 }\n");
    let run = call(&["run", &model, "-q", "--seed", "1", "--steps", "1000000", "--threads", "9000", "--no-shrink"]);
    let token = run.out.lines().last().expect("a token");
    let said = call(&["replay", &model, token, "-q"]);
    assert_eq!((said.out, said.status, said.err.as_str()), (run.out.clone(), run.status, ""));
    let deep = call(&["run", &model, "-q", "--depth", "1000"]);
    let said = call(&["replay", &model, deep.out.lines().last().expect("a token")]);
    assert!(said.status == REFUSED && said.err.contains("`--depth 1000` allows it"), "{}", said.err);
}

#[test]
fn a_saved_failure_is_made_again_as_far_as_the_test_allows() {
    let folder = scratch("asks-seeds");
    std::fs::create_dir_all(folder.join("seeds")).expect("a folder");
    file(&folder, "endless.race", "thread t { loop { skip } }\nexpect no failure\n");
    let token = std::fs::read_to_string(fault("endless_token.txt")).expect("a token");
    let seed = format!(
        "format = \"raceflip-seed\"\nversion = 1\nmodel = \"endless.race\"\nexpectation = \"no failure\"\nsignature = \"limit steps\"\ntoken = \"{}\"\n",
        token.trim()
    );
    file(&folder, "seeds/endless.toml", &seed);
    let mut command = raceflip();
    command.current_dir(&folder).args(["test", "endless.race", "--runs", "2", "--steps", "3000"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let said = ends(command.spawn().expect("it starts"), None);
    let asks = "its token needs --steps 18446744073709551615, and at most 3000 is allowed";
    assert!(said.out.contains(asks), "{}{}", said.out, said.err);
}
