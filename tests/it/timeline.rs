//! Tests of timelines: which steps have rows, how the rows look, and whether they fit the width.

use crate::load::{load, models};
use raceflip::event::Event;
use raceflip::exec::{Observer, RunSummary, run};
use raceflip::formats::timeline::text::lines;
use raceflip::formats::timeline::{ColumnId, Item, Marks, Timeline, TimelineRecorder, Window, mermaid};
use raceflip::sched::{RandomWalk, SiteSpec};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, World};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use unicode_width::UnicodeWidthStr;

/// Observer that counts tasks and steps independently of the recorder.
#[derive(Default)]
pub(crate) struct Counts {
    /// Number of tasks that have begun.
    pub(crate) tasks: usize,
    pub(crate) steps: BTreeSet<u64>,
}

impl Observer for Counts {
    fn event(&mut self, world: &World, event: &Event) {
        use raceflip::event::{EventKind, Op};
        if world.steps() > 0 {
            self.steps.insert(world.steps());
        }
        if let EventKind::Performed { op: Op::Begin, made: Some(_), .. } = &event.what {
            self.tasks += 1;
        }
    }
}

pub(crate) fn told(path: &Path, seed: u64, window: Window, marks: &[&str]) -> (Timeline, Counts, RunSummary) {
    told_with(path, &[], seed, window, marks)
}

fn told_with(
    path: &Path,
    defines: &[(String, i64)],
    seed: u64,
    window: Window,
    marks: &[&str],
) -> (Timeline, Counts, RunSummary) {
    let model = load(path, defines);
    let text = std::fs::read_to_string(path).expect("a readable model");
    let sites = &model.code.setup.sites;
    let spec = |m: &&str| m.parse::<SiteSpec>().expect("a site").resolve(sites).expect("it is there");
    let marks = Marks { sites: marks.iter().flat_map(spec).collect(), ..Marks::default() };
    let mut recorder = TimelineRecorder::new(&model.program, &text, window, marks);
    let mut counts = Counts::default();
    let limits = Limits { steps: 3_000, ..Limits::default() };
    let mut machine = Machine::new(Vm::new(model.code.clone()), limits);
    let mut both = (&mut recorder, &mut counts);
    let summary = run(&mut machine, &mut RandomWalk::new(), seed, &mut both, &AtomicBool::new(false));
    (recorder.finish(&machine.world, &summary), counts, summary)
}

pub(crate) fn text(timeline: &Timeline, width: usize) -> String {
    let line = |line: Vec<_>| {
        line.iter().map(|s: &raceflip::formats::timeline::text::TimelineSpan| &*s.text).collect::<String>()
    };
    lines(timeline, width).into_iter().map(|l| line(l) + "\n").collect()
}

fn harness(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses").join(name)
}

/// Timelines of some models match their snapshots. `INSTA_UPDATE=always cargo test timelines_of_models` rewrites the
/// snapshots.
#[test]
fn timelines_of_models() {
    let check = |name: &str, seed: u64, marks: &[&str], width: usize| {
        let (timeline, ..) = told(&harness(name), seed, Window::All, marks);
        let short = name.trim_end_matches(".race").replace('/', "_");
        insta::assert_snapshot!(format!("{short}_{width}"), text(&timeline.folded(), width));
    };
    check("bugs/connectbot_menu.race", 0, &["@A", "@B"], 80);
    check("bugs/connectbot_menu.race", 0, &["@A", "@B"], 40);
    check("bugs/mopub_deadlock.race", 0, &[], 80);
    check("bugs/missed_notify.race", 1, &[], 80);
    check("bugs/holo_lost_update.race", 0, &["@A", "@B"], 80);
    check("bugs/muzei_quit.race", 0, &[], 80);
    check("bugs/timer_lifecycle.race", 3, &[], 80);
    check("queue/q02_front_posts_first.race", 0, &[], 80);
    check("queue/q19_shorter_delay.race", 0, &[], 80);
    check("papers/racefuzzer_fig2.race", 3, &["@s8", "@s10"], 80);
    check("calfuzzer/testdeadlock8.race", 5, &[], 80);
    check("queue/q28_front_from_thread.race", 0, &[], 80);
    check("bugs/scissors_quit.race", 0, &[], 80);
    let setters = [("SETTERS".to_owned(), 9)];
    let (timeline, ..) = told_with(&harness("sctbench/reorder.race"), &setters, 1, Window::All, &[]);
    insta::assert_snapshot!("eleven_threads_80", text(&timeline.folded(), 80));
}

/// Returns the numbers of the steps that have rows in a text.
fn numbers(text: &str) -> BTreeSet<u64> {
    let number = |line: &str| {
        let mut words = line.trim_start_matches(['!', '*']).split_whitespace();
        // The number of a step is in the margin, before the lanes begin.
        let margin: String = line.chars().take(8).collect();
        words.next().filter(|w| margin.contains(*w))?.parse().ok()
    };
    text.lines().filter_map(number).collect()
}

#[test]
fn every_step_is_told_and_no_line_is_too_wide() {
    for path in models("harnesses") {
        for seed in 0..3 {
            let (timeline, counts, summary) = told(&path, seed, Window::All, &[]);
            let at = format!("{} seed {seed}", path.display());
            assert_eq!(counts.steps.len() as u64, summary.steps, "{at}");
            for width in [40, 53, 80, 131, 200] {
                let text = text(&timeline, width);
                for line in text.lines() {
                    assert!(line.width() <= width, "{at}: {} > {width}: {line}", line.width());
                    assert!(!line.chars().any(char::is_control), "{at}: {line:?}");
                    assert_eq!(line, line.trim_end(), "{at}");
                }
                let told = numbers(&text);
                assert!(counts.steps.is_subset(&told), "{at} {width}: {:?}", counts.steps.difference(&told));
            }
            let (from, to) = (summary.steps / 3, summary.steps / 2);
            let part = timeline.within(Window::Steps(from, to));
            let wanted: BTreeSet<u64> = counts.steps.iter().copied().filter(|s| (from..=to).contains(s)).collect();
            let rows: BTreeSet<u64> = part.items.iter().filter_map(step_of).collect();
            assert_eq!(rows, wanted, "{at}");
        }
    }
}

fn step_of(item: &Item) -> Option<u64> {
    match item {
        Item::Row(row) if row.counts => Some(row.step),
        _ => None,
    }
}

/// Steps without a row are counted in gaps, whether they are elided, folded, or belong to other columns.
#[test]
fn steps_that_are_not_told_are_counted() {
    let steps = |t: &Timeline| -> u64 {
        let of = |item: &Item| match item {
            Item::Row(row) => u64::from(row.counts),
            Item::Gap(gap) => gap.steps,
        };
        t.items.iter().map(of).sum()
    };
    for path in models("harnesses") {
        let at = path.display();
        let (all, _, summary) = told(&path, 1, Window::All, &[]);
        let window = Window::Ends { first: 7, last: 9 };
        let (ends, ..) = told(&path, 1, window, &[]);
        assert_eq!(ends.items, all.clone().within(window).items, "{at}: while it runs, and afterwards");
        assert!(ends.items.len() <= 17, "{at}");
        let column = ColumnId(1);
        let only = all.clone().only(&BTreeSet::from([column]));
        assert!(only.rows().all(|r| r.column.is_none_or(|c| c == column) || r.arrow.is_some()), "{at}");
        for timeline in [&all, &ends, &only, &all.clone().folded(), &all.clone().folded().within(window)] {
            assert_eq!(steps(timeline), summary.steps, "{at}");
        }
    }
}

#[test]
fn a_loop_is_told_once() {
    let (timeline, ..) = told(&harness("papers/racefuzzer_fig2.race"), 3, Window::All, &[]);
    let (whole, folded) = (text(&timeline, 80), text(&timeline.clone().folded(), 80));
    assert!(folded.contains("the last step"), "{folded}");
    assert!(folded.lines().count() < whole.lines().count());
}

/// Diagrams follow the grammar of Mermaid, as far as these diagrams use it.
#[test]
fn mermaid_diagrams_are_well_formed() {
    for path in models("harnesses") {
        let (timeline, ..) = told(&path, 2, Window::All, &[]);
        let diagram = mermaid::diagram(&timeline);
        let at = path.display();
        let mut lines = diagram.lines();
        assert_eq!(lines.next(), Some("sequenceDiagram"), "{at}");
        let (mut known, mut open, mut drawn) = (BTreeMap::new(), 0, 0);
        for line in lines.map(str::trim) {
            let text = line.split_once(": ").map_or("", |(_, text)| text);
            let plain = text.split('#').skip(1).fold(text.to_owned(), |t, code| {
                let code = code.split(';').next().unwrap_or("");
                assert!(code.parse::<u32>().is_ok(), "{at}: {line}");
                t.replace(&format!("#{code};"), "")
            });
            assert!(!plain.contains([';', '#', '%', '<', '{']), "{at}: {line}");
            let mut check = |names: &str| {
                for name in names.split(',') {
                    assert!(known.contains_key(name), "{at}: {line}");
                }
                drawn += 1;
            };
            if let Some(rest) = line.strip_prefix("participant ") {
                let (id, name) = rest.split_once(" as ").expect("a name");
                assert!(known.insert(id.to_owned(), name.to_owned()).is_none(), "{at}: {line}");
            } else if line.starts_with("rect rgb(") {
                open += 1;
            } else if line == "end" {
                open -= 1;
            } else if let Some(rest) = line.strip_prefix("Note over ").or(line.strip_prefix("Note right of ")) {
                check(rest.split_once(": ").expect("a text").0);
            } else {
                let (ends, _) = line.split_once(": ").expect("a text");
                let arrow = ["-->>", "->>", "-x"].into_iter().find(|a| ends.contains(a)).expect("an arrow");
                let (from, to) = ends.split_once(arrow).expect("two ends");
                check(from);
                check(to);
                drawn -= 1;
            }
            assert!((0..=1).contains(&open), "{at}: {line}");
        }
        assert_eq!(open, 0, "{at}");
        // Notes about the clock come between the rows, so the bound on rows is doubled.
        assert!(drawn <= mermaid::MOST * 2, "{at}: {drawn} messages and notes");
    }
}

/// With many threads, the columns that matter are drawn, the others share one column, and its rows name the thread that
/// acts.
#[test]
fn columns_that_do_not_fit_share_one() {
    let folder = crate::cli::scratch("columns");
    let model = "var x = 0\nlock m\nthread main { for i in 0..20 { fork work(i) } }\n\
                 task work(n) { sync m { let v = x\n x = v + n }\n assert x < 100, \"too much\" }";
    let model = crate::cli::file(&folder, "many.race", model);
    let (timeline, _, summary) = told(Path::new(&model), 3, Window::All, &[]);
    let raceflip::exec::LoopEnd::Outcome(raceflip::event::Outcome::Failure(failure)) = &summary.end else {
        panic!("{:?}", summary.end)
    };
    let text = text(&timeline, 80);
    let head = text.lines().find(|l| l.trim_start().starts_with("step")).expect("a head");
    assert!(head.contains(" +"), "{head}");
    let own = text.split("; +").next().expect("the columns that are drawn");
    assert!(own.contains(&format!("= {}", failure.thread)), "{own}");
    assert!(text.lines().all(|l| l.width() <= 80), "{text}");
}

#[test]
fn options_of_a_timeline() {
    use crate::cli::{FOUND, REFUSED, call, scratch};
    const TIMER: &str = "harnesses/bugs/timer_lifecycle.race";
    let run = |args: &[&str]| call(&[&["run", TIMER, "--seed", "3", "--no-shrink"], args].concat());
    let check = |args: &[&str], expected: &[&str], absent: &[&str]| {
        let ran = run(args);
        assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""), "{args:?}");
        expected.iter().for_each(|e| assert!(ran.out.contains(e), "{args:?}: `{e}` is not in\n{}", ran.out));
        absent.iter().for_each(|e| assert!(!ran.out.contains(e), "{args:?}: `{e}` is in\n{}", ran.out));
    };
    check(&["--only", "timer"], &["1 step of other columns", "begin tick#1", "cancel tick"], &["begin onDestroy#1"]);
    check(
        &["--around", "4", "--context", "1"],
        &["2 steps not shown", "6 steps not shown", "101 ms"],
        &["begin tick#1"],
    );
    check(&["--mark", "@A", "--mark", "@B"], &["\n*   10 ", "\n!   11 "], &[]);
    check(&["--format", "mermaid"], &["sequenceDiagram\n", "participant C1 as main (looper)"], &["rf1-"]);
    for option in ["--quiet", "--state"] {
        let ran = run(&["--format", "mermaid", option]);
        assert_eq!((ran.status, ran.out.as_str()), (REFUSED, ""), "{option}");
        assert!(ran.err.contains(&format!("prints only the diagram: remove `{option}`")), "{}", ran.err);
    }
    check(&["--color", "always"], &["\u{1b}["], &[]);
    check(&["--color", "never"], &[], &["\u{1b}["]);
    let narrow = run(&["--width", "40"]).out;
    let timeline = narrow.split("\n\n").next().expect("a timeline");
    assert!(timeline.lines().all(|l| l.width() <= 40), "{timeline}");
    for (args, why) in [
        (
            &["--only", "timmer"][..],
            "--only: no thread or looper `timmer` in this run; it has environment, main, timer, env",
        ),
        (&["--around", "99"], "--around 99: the run has 11 steps"),
        (&["--mark", "@Z"], "--mark: no statement has the label `@Z`; did you mean"),
        (&["--width", "12"], "40..=1000"),
        (&["--perfetto", "no/such/folder.json"], "cannot write the timeline to `no/such/folder.json`"),
        (&["--perfetto", TIMER], "it is the model"),
    ] {
        let ran = run(args);
        assert_eq!(ran.status, REFUSED, "{args:?}");
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
    let path = scratch("perfetto").join("run.json").display().to_string();
    assert_eq!(run(&["--quiet", "--perfetto", &path]).status, FOUND);
    let file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    assert_eq!(file["otherData"]["seed"], "3");
}

/// `confirm` prints the timeline of a replay, with the accesses of the pair marked.
#[test]
fn confirm_tells_failing_orders() {
    let ran = crate::cli::call(&["confirm", "harnesses/papers/racefuzzer_fig2.race", "--timeline", "--trials", "10"]);
    assert!(ran.out.contains("\n*    8     ●     read x: 0       :20 @s8: if x == 0\n"), "{}", ran.out);
    assert!(ran.out.contains("* marked access"), "{}", ran.out);
}
