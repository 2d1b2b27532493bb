//! Tests of tolerant replays of edited models, and of the printed state of a run.

use crate::cli::{ENDLESS, FOUND, MENU, Ran, call, file, scratch, token};
use raceflip::formats::result::{Ending, RunReport};
use raceflip::formats::state::ThreadCondition;

fn report(ran: &Ran) -> RunReport {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err))
}

/// A model with a lost update that a property reports. Its two threads also take locks and post.
const MODEL: &str = "\
var x = 0
var noise = 0
looper main
lock m
thread a {
    sync m { noise = 1 }
    @read: let r = x
    @write: x = r + 1
    post done() to main
}
thread b {
    sync m { noise = 2 }
    let r = x
    x = r + 1
    post done() to main
}
task done() { noise += 1 }
property both at end { x == 2 }
";

/// Checks that a strict replay of the edited model diverges (unless nothing has to be inserted or skipped), and that a
/// tolerant replay ends with the same failure and with these numbers of inserted and skipped choices.
fn edited(seed: u64, from: &str, to: &str, inserted: u64, skipped: u64) {
    let folder = scratch(&format!("tolerant-{seed}-{inserted}-{skipped}-{}", from.len() * 100 + to.len()));
    let before = file(&folder, "before.race", MODEL);
    assert!(MODEL.contains(from), "{from}");
    let after = file(&folder, "after.race", &MODEL.replacen(from, to, 1));
    let run = call(&["run", &before, "--seed", &seed.to_string(), "-q"]);
    assert!(run.out.contains("property both"), "seed {seed}: {}", run.out);
    let token = token(&run);
    let strict = call(&["replay", &after, &token, "-q"]);
    let tolerant = call(&["replay", &after, &token, "--tolerant", "--format", "json"]);
    let report = report(&tolerant);
    let kept = report.tolerance.expect("a tolerant replay says so");
    let what = format!("{from:?} -> {to:?}: {kept:?}");
    assert_eq!((kept.inserted, kept.skipped, kept.same), (inserted, skipped, true), "{what}");
    assert_eq!(strict.status, if inserted + skipped == 0 { FOUND } else { 3 }, "{what}");
    assert_eq!(tolerant.status, FOUND);
    // The tolerant run has a token of its own, which replays strictly.
    let again = call(&["replay", &after, &report.token.expect("a token"), "-q"]);
    assert_eq!((again.status, again.err.as_str()), (FOUND, ""), "{what}");
}

fn failing_seeds() -> Vec<u64> {
    let folder = scratch("tolerant-seeds");
    let path = file(&folder, "m.race", MODEL);
    let fails = |seed: &u64| call(&["run", &path, "--seed", &seed.to_string(), "-q"]).status == FOUND;
    (0..40).filter(fails).take(5).collect()
}

#[test]
fn tolerant_replays_follow_edited_models() {
    for seed in failing_seeds() {
        edited(seed, "@read:", "@renamed:", 0, 0);
        edited(seed, "    post done() to main\n}\nthread b", "}\nthread b", 0, 4);
        edited(seed, "    @read:", "    skip\n    @read:", 1, 0);
        edited(seed, "thread a {\n", "thread a {\n    skip\n    skip\n", 2, 0);
        edited(seed, "    sync m { noise = 2 }\n", "    sync m { skip; noise = 2 }\n", 1, 0);
        edited(seed, "    sync m { noise = 1 }\n", "", 0, 3);
    }
}

#[test]
fn a_tolerant_replay_of_the_same_model_is_a_replay() {
    for path in crate::load::models("harnesses/bugs") {
        let path = path.display().to_string();
        let run = call(&["run", &path, "--seed", "3", "--format", "json", "--no-shrink"]);
        let token = report(&run).token.expect("a token");
        let again = call(&["replay", &path, &token, "--tolerant", "--format", "json"]);
        let mut tolerant = report(&again);
        let kept = tolerant.tolerance.take().expect("it says so");
        assert_eq!((kept.moved, kept.skipped, kept.inserted, kept.departures.len()), (0, 0, 0, 0), "{path}");
        assert_eq!((tolerant, again.status), (report(&run), run.status), "{path}");
    }
}

#[test]
fn a_tolerant_replay_says_what_it_could_not_follow() {
    let folder = scratch("tolerant-text");
    let text = std::fs::read_to_string(MENU).expect("a model");
    let path =
        file(&folder, "m.race", &text.replace("    post onStart() to main\n", "    skip; post onStart() to main\n"));
    let run = call(&["run", MENU, "--seed", "7027375552431000598", "-q", "--no-shrink"]);
    let ran = call(&["replay", &path, &token(&run), "--tolerant", "-q"]);
    assert_eq!(ran.status, FOUND);
    let expected = "tolerant replay: 7 of 7 recorded choices followed, 0 skipped, 1 step inserted\n  \
                    step 1: a step is inserted: thread env at line 22: skip\n  \
                    the run ends like the recorded run: failure NullPointer onCreateContextMenu:1\n";
    assert!(ran.out.ends_with(expected), "{}", ran.out);
}

/// Choices of a thread that no longer exists are skipped at once, even if the token repeats them more often than any
/// run could.
#[test]
fn a_choice_that_is_gone_is_skipped_at_once() {
    use raceflip::sched::{ActorName, ScheduledChoice};
    let mut made_up: raceflip::token::Token = token(&call(&["run", MENU, "-q"])).parse().expect("a token");
    let schedule = &mut made_up.schedule;
    let gone = schedule.names.add("gone");
    schedule.actors.push(ActorName::Thread(gone));
    let actor = schedule.actors.len() as u32 - 1;
    let often = |count, check| ScheduledChoice { actor, argument: 0, check, count };
    schedule.choices = vec![often(1 << 62, 0), often(1 << 63, 1), often(1 << 63, 2)];
    let ran = call(&["replay", MENU, &made_up.to_string(), "--tolerant", "-q"]);
    let what = "4611686018427387904 equal choices of thread gone are skipped: it is not open, nor is what follows\n";
    assert!(ran.out.contains(what), "{}", ran.out);
    assert!(ran.status <= FOUND && ran.out.contains(&format!("{} skipped", u64::MAX)), "{}", ran.out);
    assert_eq!(call(&["replay", MENU, &made_up.to_string(), "-q"]).status, 3);
}

/// The work of a tolerant replay at each step does not grow with the length of the recording.
#[test]
fn a_long_recording_is_followed_in_time() {
    let folder = scratch("tolerant-long");
    let (before, after) = (file(&folder, "a.race", ENDLESS), ENDLESS.replace("x = 1", "skip; x = 1"));
    let run = call(&["run", &before, "-q", "--steps", "50000"]);
    let from_file = format!("@{}", file(&folder, "run.txt", &run.out));
    let start = std::time::Instant::now();
    let ran = call(&["replay", &file(&folder, "b.race", &after), &from_file, "--tolerant", "--format", "json"]);
    let kept = report(&ran).tolerance.expect("a tolerant replay says so");
    assert!(kept.same && kept.followed > 10_000 && kept.inserted > 10_000, "{kept:?}");
    // A scan of the whole recording at each step would take about a hundred times as long.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

/// A diagram cannot show the choices that a tolerant replay could not follow, so it is refused.
#[test]
fn a_tolerant_replay_is_not_drawn() {
    let ran = call(&["replay", MENU, "rf1-", "--tolerant", "--format", "mermaid"]);
    assert_eq!((ran.status, ran.out.as_str()), (crate::cli::REFUSED, ""));
    assert!(ran.err.contains("remove `--tolerant`"), "{}", ran.err);
}

#[test]
fn the_end_of_a_recording_is_one_departure() {
    let folder = scratch("tolerant-over");
    let run = call(&["run", &file(&folder, "a.race", "var x = 0\nthread a { x = 1 }\n"), "-q"]);
    let after = file(&folder, "b.race", "var x = 0\nthread a { x = 1; x = 2; x = 3; x = 4 }\n");
    let kept = report(&call(&["replay", &after, &token(&run), "--tolerant", "--format", "json"])).tolerance;
    let kept = kept.expect("a tolerant replay says so");
    let over = kept.departures.iter().filter(|d| d.what == "the recording has ended, and the run continues");
    let over: Vec<u64> = over.map(|d| d.step).collect();
    assert!(over == [2] && kept.inserted >= 3 && kept.more_departures == 0, "{kept:?}");
}

#[test]
fn the_state_at_a_deadlock_says_who_waits_for_what() {
    let folder = scratch("state-deadlock");
    let model = "var l: list[int] = [4, 5]\nclass Box { var v = 7 }\nvar o: Box = null\nlock a\nlock b\nlooper main\nevent tap on main initially 2 { skip }\n\
                 thread one { o = new Box; sync a { sync a { post late(3) to main after 9; sync b { skip } } } }\n\
                 thread two { sync b { sync a { skip } } }\ntask late(n) { skip }\n";
    let path = file(&folder, "m.race", model);
    let deadlock = |seed: &u64| {
        let ran = call(&["run", &path, "--seed", &seed.to_string(), "--state", "--format", "json"]);
        let report = report(&ran);
        matches!(report.outcome, Ending::Deadlock { .. }).then_some((ran, report))
    };
    let (ran, report) = (0..100).find_map(|seed| deadlock(&seed)).expect("a deadlock");
    assert_eq!(ran.status, FOUND);
    let state = report.state.expect("it was asked for");
    let thread = |name: &str| state.threads.iter().find(|t| t.name == name).expect("a thread");
    let one = thread("one");
    assert_eq!(one.standing, ThreadCondition::Waits);
    assert_eq!(one.waits_for.as_deref(), Some("lock b"));
    assert_eq!(one.held_by.as_deref(), Some("two"));
    assert_eq!(one.at.as_ref().map(|at| at.line), Some(8));
    let lock = |name: &str| state.locks.iter().find(|l| l.name == name).expect("a lock");
    assert_eq!((lock("lock a").owners.as_slice(), lock("lock a").count), (&["one".to_owned()][..], 2));
    assert_eq!(lock("lock b").blocked, ["one"]);
    let value = |name: &str| state.variables.iter().find(|v| v.name == name).expect("a variable").value.as_str();
    assert_eq!((value("l"), value("o")), ("[4, 5]", "one/Box#1"));
    assert_eq!(state.objects[0].fields[0].value, "7");
    assert!(state.events[0].enables <= 2);
    let ran = call(&["replay", &path, &report.token.expect("a token"), "--state", "-q"]);
    for line in
        ["waits for lock b, held by two: acquire b at ", "held by one, 2 times; awaited by two", "[4, 5]", "{v: 7}"]
    {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
}

#[test]
fn a_replay_stops_where_it_is_told_to() {
    let run = call(&["run", MENU, "--seed", "7027375552431000598", "-q", "--no-shrink"]);
    let token = token(&run);
    for (until, due) in
        [("0", &[][..]), ("1", &["env/onStart#1"]), ("2", &["env/onStart#1", "env/onCreateContextMenu#1"])]
    {
        let ran = call(&["replay", MENU, &token, "--until", until, "--state", "--format", "json"]);
        let report = report(&ran);
        assert_eq!((ran.status, &report.outcome, report.token), (0, &Ending::Stopped, None));
        let state = report.state.expect("it was asked for");
        assert_eq!(state.steps.to_string(), until);
        let main = state.threads.iter().find(|t| t.name == "main").expect("a looper");
        let tasks = main.queue.iter().flatten().filter_map(|m| m.task.as_deref());
        assert!(tasks.eq(due.iter().copied()), "{until}: {main:?}");
        assert_eq!(main.standing, if due.is_empty() { ThreadCondition::Idle } else { ThreadCondition::Ready });
    }
    // If --until is beyond the end of the run, the run ends as usual.
    let whole = call(&["replay", MENU, &token, "--until", "99", "-q"]);
    assert_eq!((whole.status, whole.out), (FOUND, run.out));
    let ran = call(&["replay", MENU, &token, "--until", "3", "-q"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "stopped after 3 steps (--until)\n"));
}

/// A tolerant replay of any schedule ends and accounts for every choice: each choice of the recording is followed or
/// skipped, and each choice of the new run is followed or inserted. Here it replays the run of one model on that model
/// and on the next model in the folder.
#[test]
fn a_tolerant_replay_accounts_for_every_choice() {
    use raceflip::exec::run;
    use raceflip::sched::{RandomWalk, ScheduleRecorder, Tolerant};
    use raceflip::vm::Vm;
    use raceflip::world::{Limits, Machine};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    let paths = crate::load::models("harnesses");
    let limits = Limits { steps: 3_000, ..Limits::default() };
    let go_on = AtomicBool::new(false);
    let (mut followed, mut moved, mut skipped, mut inserted) = (0, 0, 0, 0);
    for pair in paths.windows(2) {
        let machine = |path| Machine::new(Vm::new(crate::load::load(path, &[]).code), limits);
        let mut recorder = ScheduleRecorder::new();
        let mut first = machine(&pair[0]);
        run(&mut first, &mut RandomWalk::new(), 7, &mut recorder, &go_on);
        let recorded = Arc::new(recorder.schedule(&first.world));
        for path in pair {
            let (mut tolerant, mut recorder) = (Tolerant::new(recorded.clone()), ScheduleRecorder::new());
            let mut machine = machine(path);
            let summary = run(&mut machine, &mut tolerant, 0, &mut recorder, &go_on);
            assert!(summary.outcome().is_some(), "{}: {:?}", path.display(), summary.end);
            let made = recorder.schedule(&machine.world);
            let told = tolerant.finish();
            assert_eq!(told.followed + told.skipped, recorded.len(), "{}: {told:?}", path.display());
            assert_eq!(told.followed + told.inserted, made.len(), "{}: {told:?}", path.display());
            if *path == pair[0] {
                assert_eq!(made, *recorded, "{}: the same model", path.display());
            }
            followed += told.followed;
            moved += told.moved;
            skipped += told.skipped;
            inserted += told.inserted;
        }
    }
    assert!(followed.min(moved).min(skipped).min(inserted) > 10, "{followed} {moved} {skipped} {inserted}");
}

/// The state can be printed after any step of every model.
#[test]
fn any_state_can_be_told() {
    for path in crate::load::models("harnesses").iter().step_by(3) {
        let path = path.display().to_string();
        for until in ["0", "5", "17", "100000"] {
            let ran = call(&["run", &path, "--seed", "2", "--until", until, "--state", "-q", "--steps", "2000"]);
            assert!(ran.status <= FOUND && ran.out.contains("\nstate after "), "{path}: {}{}", ran.out, ran.err);
            assert!(!ran.out.contains("Skip"), "{path}: {}", ran.out);
        }
    }
}
