//! Tests of the trace readers: real logs, traces that runs write, and damaged traces.

use crate::cli::{REFUSED, call, scratch};
use crate::support::models;
use proptest::prelude::*;
use raceflip::formats::trace::Row;
use raceflip::formats::traces::stat::Stat;
use raceflip::formats::traces::{ReadError, read, write};
use raceflip::trace::{Action, SiteNo, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Returns the real logs: their paths from the top of the repository, and their texts.
pub(crate) fn logs() -> Vec<(String, String)> {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut open) = (Vec::new(), vec![top.join("tests/it/traces")]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.file_name().is_some_and(|n| n == "trace.txt" || n.to_string_lossy().starts_with("abc_log")) {
            let name = path.strip_prefix(&top).unwrap().display().to_string();
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    assert_eq!(found.len(), 41);
    found
}

/// Returns the first log whose path contains `part`.
pub(crate) fn log(part: &str) -> String {
    logs().into_iter().find(|(name, _)| name.contains(part)).unwrap().1
}

/// Returns the value of `key` in a line.
fn value<'l>(line: &'l str, key: &str) -> &'l str {
    let start = line.find(key).map(|at| at + key.len()).unwrap_or_else(|| panic!("{line}: no {key}"));
    line[start..].split(|c: char| c.is_whitespace() || c == 't').next().unwrap()
}

/// Counts the operations of a log by kind, from the words of its lines alone, as an independent check of the reader.
fn counted(text: &str) -> BTreeMap<&'static str, usize> {
    let body: Vec<&str> = text.lines().take_while(|l| !l.contains("HB Graph") && !l.contains("End of trace")).collect();
    let word = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let called: BTreeSet<&str> = body.iter().filter(|l| word(l) == "CALL").map(|l| value(l, "msg:")).collect();
    let (mut counts, mut held, mut waiting) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut add = |kind, n| *counts.entry(kind).or_insert(0) += n;
    for line in body {
        let word = word(line);
        match word.as_str() {
            "THREADINIT" => add("threadinit", 1),
            "THREADEXIT" => add("threadexit", 1),
            "FORK" => add("fork", 1),
            "ATTACH-Q" => add("attachq", 1),
            "LOOP" => add("loop", 1),
            "NOTIFY" => add("send", 1),
            "WAIT" => add("receive", 1),
            "CALL" => add("call", 1),
            "LOCK" | "UNLOCK" => {
                let depth = held.entry((value(line, "tid:"), value(line, "lock-obj:"))).or_insert(0);
                if word == "LOCK" {
                    *depth += 1;
                    add("acquire", usize::from(*depth == 1));
                } else if *depth > 0 {
                    *depth -= 1;
                    add("release", usize::from(*depth == 0));
                }
            }
            "READ" | "READ-STATIC" | "WRITE" | "WRITE-STATIC" => {
                let kind = if word.starts_with("READ") { "read" } else { "write" };
                // An `rwId` line announces an access, which counts at the next `ACCESS` line of its thread.
                if line.starts_with("rwId") {
                    *waiting.entry((value(line, "tid:"), kind)).or_insert(0) += 1;
                } else {
                    add(kind, 1);
                }
            }
            "ACCESS" => {
                for kind in ["read", "write"] {
                    add(kind, waiting.remove(&(value(line, "tid:"), kind)).unwrap_or_default());
                }
            }
            post if post.ends_with("POST") => add("post", usize::from(called.contains(value(line, "msg:")))),
            _ => {}
        }
    }
    counts
}

#[test]
fn real_logs_have_what_their_lines_say() {
    let mut operations = 0;
    for (name, text) in logs() {
        let trace = read(&name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let stat = Stat::new(&name, &trace);
        operations += stat.operations;
        let mut counts = counted(&text);
        assert_eq!(stat.begun, counts.remove("call").unwrap_or_default(), "{name}");
        for (kind, n) in counts {
            assert_eq!(stat.kinds.get(kind).copied().unwrap_or_default(), n, "{name}: {kind}");
        }
        let begins = stat.kinds.get("begin").copied().unwrap_or_default();
        assert_eq!((stat.posted, begins), (stat.begun, stat.begun + stat.unposted), "{name}");
        assert_eq!(trace.lines.len(), trace.ops.len(), "{name}");
        // The line recorded for an access must be the one that names its location.
        let lines: Vec<&str> = text.lines().collect();
        for (op, line) in trace.ops.iter().zip(&trace.lines) {
            if let Some((at, _)) = op.action.access() {
                let (line, place) = (lines[*line as usize - 1], &trace.places[at].name);
                let object = place.split(' ').next().unwrap();
                assert!(line.contains(object) || !place.contains(' '), "{name}: {place} in {line}");
            }
        }
    }
    assert!(operations > 60_000, "{operations}");
}

#[test]
fn events_have_their_enables_and_handlers() {
    let trace = read("music", log("music/abc_log").as_bytes()).unwrap();
    let enabled: BTreeSet<&str> = (trace.ops.iter())
        .filter_map(|op| if let Action::Enable(event) = op.action { Some(&trace.events[event]) } else { None })
        .collect();
    let handled: BTreeSet<&str> = trace.tasks.iter().flat_map(|t| &t.events).map(|e| &trace.events[*e]).collect();
    for event in [
        "lifecycle MusicBrowserActivity 1091347856 PAUSE-ACT",
        "lifecycle 0 BIND-APP",
        "idle 1091367160",
        "service com.android.music.MediaPlaybackService 3 SERVICE-ARGS",
        "service com.android.music.MediaPlaybackService CREATE-SERVICE",
        "broadcast com.android.music.metachanged to 1091374704",
        "broadcast intent 5",
    ] {
        assert!(enabled.contains(event) && handled.contains(event), "{event}\n{enabled:#?}\n{handled:#?}");
    }
    let categories: BTreeSet<&str> = trace.events.iter().map(|e| e.split(' ').next().unwrap()).collect();
    let known = ["broadcast", "event", "idle", "lifecycle", "service", "window"];
    assert_eq!(categories, known.into_iter().collect());
}

/// Returns a trace as text with names instead of numbers, because numbers may differ between equal traces.
fn told(trace: &Trace) -> Vec<String> {
    let task = |t| {
        let task = &trace.tasks[t];
        let events: Vec<&str> = task.events.iter().map(|e| &trace.events[*e]).collect();
        let looper = &trace.threads[task.looper].name;
        format!("{} on {looper} {:?} {} {events:?}", task.name, task.time, task.is_async)
    };
    let op = |op: &raceflip::trace::Operation| {
        let thread = &trace.threads[op.thread];
        let what = match op.action {
            Action::Fork(t) | Action::Join(t) => trace.threads[t].name.clone(),
            Action::Post(t) | Action::Begin(t) | Action::End(t) => task(t),
            Action::Acquire(lock) | Action::Release(lock) => trace.locks[lock].to_owned(),
            Action::Read(at) | Action::Write(at) => {
                let place = &trace.places[at];
                format!("{} {}", place.name, &trace.fields[place.field])
            }
            Action::Enable(event) => trace.events[event].to_owned(),
            Action::Send(channel) | Action::Receive(channel) => channel.0.to_string(),
            Action::ThreadInit | Action::ThreadExit | Action::AttachQueue | Action::Loop | Action::Leave => {
                String::new()
            }
        };
        let word = format!("{:?}", op.action);
        let word = word.split('(').next().unwrap_or_default().to_owned();
        let site = if op.site == SiteNo::NONE { "" } else { &trace.sites[op.site] };
        format!("{} {} {word} {what} at {site}", thread.name, thread.environment)
    };
    trace.ops.iter().map(op).collect()
}

/// Asserts that a trace that is written and read again is the same trace.
pub(crate) fn comes_back(name: &str, trace: &Trace) {
    let mut rows = Vec::new();
    write(trace, name, &mut rows).unwrap();
    let again = read("rows", &rows[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (one, other) = (told(trace), told(&again));
    let differs = one.iter().zip(&other).find(|(a, b)| a != b);
    assert!(differs.is_none() && one.len() == other.len(), "{name}: {differs:?}");
    assert_eq!(trace.channels, again.channels, "{name}");
}

#[test]
fn what_is_converted_comes_back() {
    for (name, text) in logs() {
        comes_back(&name, &read(&name, text.as_bytes()).unwrap());
    }
}

#[test]
fn traces_of_runs_are_read() {
    let folder = scratch("traces-of-runs");
    let path = folder.join("run.jsonl").display().to_string();
    let (mut seen, mut accesses) = (BTreeSet::new(), 0);
    for model in ["harnesses/bugs", "harnesses/papers", "tests/models"].into_iter().flat_map(models) {
        for seed in ["1", "2"] {
            fs::remove_file(&path).ok();
            let ran = call(&["run", &model, "--seed", seed, "--quiet", "--trace", &path]);
            // Some models demonstrate refusals, so they have no runs.
            if ran.status == REFUSED {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let trace = read(&model, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(trace.notes, Vec::<String>::new(), "{model}");
            let rows = |kinds: &[&str]| {
                let is = |line: &&str| kinds.iter().any(|kind| line.contains(&format!("\"kind\":\"{kind}\"")));
                text.lines().filter(is).count()
            };
            let stat = Stat::new(&model, &trace);
            let of = |kind: &str| stat.kinds.get(kind).copied().unwrap_or_default();
            // An access to a cell of an object also reads the object's lifetime.
            let is_cell = |place: &str| {
                let tail = place.rsplit('/').next().unwrap_or_default();
                tail.find('#').is_some_and(|at| tail[at..].contains('.'))
            };
            let row = |line| serde_json::from_str::<Row>(line).unwrap();
            let cells = text.lines().skip(1).map(row).filter(|row| {
                matches!(row.kind.as_str(), "read" | "write") && row.place.as_deref().is_some_and(is_cell)
            });
            assert_eq!(of("read"), rows(&["read", "use"]) + cells.count(), "{model}");
            assert_eq!(of("write"), rows(&["write", "free"]), "{model}");
            assert_eq!(of("threadinit"), rows(&["threadinit"]), "{model}");
            accesses += of("read") + of("write");
            comes_back(&model, &trace);
            seen.extend(stat.kinds.into_keys());
        }
    }
    assert!(accesses > 1000, "{accesses}");
    for kind in ["post", "begin", "end", "enable", "fork", "join", "leave", "acquire", "release", "attachq", "loop"] {
        assert!(seen.contains(kind), "{kind} in {seen:?}");
    }
}

const HEADER: &str =
    r#"{"format":"raceflip-trace","version":1,"file":"","program":"","defines":{},"strategy":"","seed":0}"#;

/// Rows are read in the right order of operations: for a looper, a wait, and channels.
#[test]
fn rows_stand_for_operations() {
    let rows = [
        r#"{"step":0,"now":1,"thread":"main","kind":"threadinit"}"#,
        r#"{"step":0,"now":1,"thread":"t","kind":"threadinit","receives":[7]}"#,
        r#"{"step":1,"now":1,"thread":"t","kind":"acquire","place":"lock m"}"#,
        r#"{"step":2,"now":1,"thread":"t","kind":"acquire","place":"lock m"}"#,
        r#"{"step":3,"now":1,"thread":"t","kind":"wait","place":"condition c","detail":"lock m"}"#,
        r#"{"step":4,"now":1,"kind":"fire","place":"back","target":"main","made":"back#1"}"#,
        r#"{"step":5,"now":1,"thread":"main","kind":"begin","made":"back#1","receives":[7,9]}"#,
        r#"{"step":6,"now":1,"thread":"main","kind":"notify","place":"condition c","sends":[9]}"#,
        r#"{"step":7,"now":1,"thread":"main","context":"back#1","kind":"end","sends":[3]}"#,
        r#"{"step":8,"now":1,"thread":"t","kind":"return-from-wait","place":"condition c","detail":"lock m","receives":[9]}"#,
        r#"{"step":9,"now":1,"thread":"t","kind":"release","place":"lock m"}"#,
        r#"{"step":10,"now":1,"thread":"t","kind":"free","place":"a/N#1/F[2]","line":4,"column":5,"label":"L"}"#,
        r#"{"step":11,"now":1,"thread":"t","kind":"release","place":"lock m"}"#,
        r#"{"step":12,"now":1,"thread":"main","kind":"begin"}"#,
    ];
    let trace = read("rows", format!("{HEADER}\n{}\n", rows.join("\n")).as_bytes()).unwrap();
    let told: Vec<String> = told(&trace).iter().map(|line| line.replace(" false", "")).collect();
    let task = "back#1 on main Now [\"back\"] at ";
    let expected = [
        "main ThreadInit  at ".to_owned(),
        "t ThreadInit  at ".to_owned(),
        "t Receive 0 at ".to_owned(),
        "t Acquire lock m at ".to_owned(),
        "t Release lock m at ".to_owned(),
        "main AttachQueue  at ".to_owned(),
        "main Loop  at ".to_owned(),
        format!("environment true Post {task}"),
        format!("main Begin {task}"),
        "main Receive 0 at ".to_owned(),
        "main Receive 1 at ".to_owned(),
        "main Send 1 at ".to_owned(),
        "main Send 2 at ".to_owned(),
        format!("main End {task}"),
        "t Acquire lock m at ".to_owned(),
        "t Receive 1 at ".to_owned(),
        "t Write a/N#1/F[2] F[] at 4:5 free @L".to_owned(),
        "t Release lock m at ".to_owned(),
        "main Leave  at ".to_owned(),
    ];
    let order: Vec<&str> = told.iter().map(String::as_str).collect();
    // The receive of a wait comes before the wait acquires its lock again.
    let mut wanted: Vec<&str> = expected.iter().map(String::as_str).collect();
    wanted.swap(14, 15);
    assert_eq!(order, wanted);
}

#[test]
fn what_is_wrong_has_its_place() {
    let row = |rest: &str| format!("{HEADER}\n{{\"step\":1,\"now\":1,\"thread\":\"t\",{rest}}}\n");
    let start = "1 START\n2 THREADINIT tid:1\n";
    let looper =
        format!("{start}3 ATTACH-Q tid:1 queue:7\n4 LOOP tid:1\n5 POST src:1 msg:1 dest:1\n6 CALL tid:1 msg:1\n");
    let cases: Vec<(String, u32, u32, &str)> = vec![
        (String::new(), 1, 1, "the file is empty"),
        ("\n \n".into(), 2, 1, "the file is empty"),
        ("Android bug-checker log messages\n".into(), 1, 1, "ends before its first operation"),
        ("hello\n".into(), 1, 1, "`hello` is not an operation"),
        (format!("{start}  what is this\n"), 3, 3, "`what is this` is not an operation"),
        (format!("{start}3 FLY tid:1\n"), 3, 3, "`FLY` is not an operation"),
        (format!("{start}rwId:3 CALL tid:1 msg:2\n"), 3, 8, "`CALL` is not an operation"),
        (format!("{start}3 NOP\n"), 3, 6, "`tid:` of `NOP` is missing here"),
        (format!("{start}3 NOP tid:x1\n"), 3, 11, "`tid:` takes a whole number, not `x1`"),
        (format!("{start}3 NOP tid:é\n"), 3, 11, "not `é`"),
        (format!("{start}3 NOP tid:1 more\n"), 3, 11, "not `1 more`"),
        (format!("{start}3 START tid:1\n"), 3, 8, "`START` has no fields"),
        (format!("{start}3 POST src:1 msg:2\n"), 3, 19, "`dest:` of `POST` is missing here"),
        (format!("{start}3 POST src:1 msg:2 dest:1 delay:soon\n"), 3, 33, "not `soon`"),
        (format!("{start}3 READ tid:1 class:La; field:8\n"), 3, 14, "`obj:` of `READ` is missing here"),
        (format!("{start}3 WRITE tid:1 obj:0x1 class:é; field:y\n"), 3, 38, "`field:` takes a whole number"),
        (format!("{start}3 THREADINIT tid:1\n"), 3, 3, "thread thread 1 starts a second time"),
        (format!("{start}3 FORK par-tid:1 child-tid:1\n"), 3, 3, "is forked although it runs already"),
        (format!("{start}3 LOOP tid:1\n"), 3, 3, "starts to loop without a queue"),
        (
            format!("{start}3 THREADEXIT tid:1\n4 NOP tid:1\n5 WRITE tid:1 obj:1 class:a field:1\n"),
            5,
            3,
            "after its end",
        ),
        (format!("{start}3 CALL tid:1 msg:4\n"), 3, 3, "task msg 4 begins, but no operation has posted it"),
        (format!("{start}3 NATIVE-EXIT tid:2thread-name:B\n"), 3, 3, "ends, but does not run"),
        (format!("{looper}7 RET tid:1 msg:1\n8 RET tid:1 msg:1\n"), 8, 3, "task msg 1 ends, but does not run"),
        (format!("{looper}7 POST src:1 msg:1 dest:1\n"), 7, 3, "is posted a second time"),
        (format!("{looper}7 POST src:1 msg:2 dest:1\n8 CALL tid:1 msg:2\n"), 8, 3, "in the middle of task msg 1"),
        (format!("{looper}7 POST src:1 msg:2 dest:5\n8 CALL tid:1 msg:2\n"), 8, 3, "begins on thread thread 1, but"),
        (format!("{looper}7 ADD_IDLE_HANDLER idler:x queue:1\n"), 7, 26, "not `x`"),
        (format!("ADD\n{start}"), 1, 1, "`ADD` is not an operation"),
        ("1 ADD_IDLE_HANDLER idler:1 queue:1\n".into(), 1, 3, "names no thread"),
        (format!("{start}End of trace!!\n1 START\n"), 4, 3, "a second log begins here"),
        (format!("{start}{}\n", "x".repeat((1 << 20) + 1)), 3, 1, "the line is longer than 1048576 bytes"),
        ("{\"format\":3}\n".into(), 1, 11, "invalid type: integer `3`"),
        ("{\"format\":\"raceflip-run\",\"version\":1}".into(), 1, 2, "it is a `raceflip-run`, not a `raceflip-trace`"),
        (
            "{\"format\":\"raceflip-trace\",\"version\":2}".into(),
            1,
            28,
            "it has version 2, and this raceflip reads version 1",
        ),
        (format!("{HEADER}\n\n{{\n"), 3, 1, "EOF while parsing"),
        (row("\"kind\":3"), 2, 39, "invalid type: integer `3`"),
        (row("\"place\":\"x\""), 2, 43, "missing field `kind`"),
        (row("\"kind\":\"wirte\",\"place\":\"x\""), 2, 32, "`wirte` is not a kind of row, but `write` is one"),
        (row("\"kind\":\"Read\",\"place\":\"x\""), 2, 32, "`Read` is not a kind of row, but `read` is one"),
        (row("\"kind\":\"fly\",\"sends\":[1]"), 2, 32, "`fly` is not a kind of row"),
        (row("\"kind\":\"cas\",\"place\":\"x\",\"access\":\"wirte\""), 2, 57, "`wirte` is neither `read` nor `write`"),
        (row("\"kind\":\"read\""), 2, 32, "`read` lacks its `place`"),
        (row("\"kind\":\"post\",\"made\":\"a\""), 2, 32, "`post` lacks its `target`"),
        (row("\"kind\":\"begin\",\"made\":\"a\""), 2, 32, "task a begins, but no operation has posted it"),
        (row("\"kind\":\"end\",\"context\":\"t\""), 2, 32, "task t ends, but does not run"),
    ];
    for (text, line, column, reason) in cases {
        let error = read("x.log", text.as_bytes()).err().unwrap_or_else(|| panic!("{text}: {reason}"));
        let ReadError { line: l, column: c, .. } = error;
        let shown: String = text.chars().take(300).collect();
        assert!(
            (l, c) == (line, column) && error.reason.contains(reason),
            "{error}\nnot {line}:{column}: {reason}\n{shown}"
        );
        assert!(
            !error.advice.is_empty() && error.to_string().starts_with(&format!("x.log:{line}:{column}: ")),
            "{error}"
        );
    }
    let bytes = [b"1 START\n2 NOP tid:\xc3\xa9\xff\n".as_slice(), b"\xff"];
    let places = bytes.map(|bytes| read("x.log", bytes).unwrap_err()).map(|e| (e.line, e.column, e.reason));
    let expected =
        [(2, 12, "byte 13 of the line, 0xff, is not UTF-8"), (1, 1, "byte 1 of the line, 0xff, is not UTF-8")];
    assert_eq!(places, expected.map(|(line, column, reason)| (line, column, reason.to_owned())));
}

#[test]
fn ends_of_lines_and_marks_are_no_matter() {
    let text = log("multithreading-with-multiple-queues/trace7");
    let trace = read("a", text.as_bytes()).unwrap();
    let other = format!("\u{feff}\r\n{}", text.replace('\n', "\r\n").trim_end());
    assert_eq!(told(&trace), told(&read("b", other.as_bytes()).unwrap()));
}

/// One change of a text: its position (in thousandths), the kind of change, and some bytes.
type Change = (usize, u8, Vec<u8>);

fn changed(text: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for (at, what, new) in changes {
        let at = bytes.len() * at / 1000;
        let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| at + i + 1);
        match what {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, new.iter().copied())),
            3 => drop(bytes.splice(at..(at + new.len()).min(bytes.len()), new.iter().copied())),
            // Kind 4 moves a line to the front; any higher kind duplicates a line.
            4 => {
                let line: Vec<u8> = bytes.drain(at..end).collect();
                drop(bytes.splice(0..0, line));
            }
            _ => {
                let line = bytes[at..end].to_vec();
                drop(bytes.splice(end..end, line));
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_traces_are_refused_or_read(
        which in 0usize..4,
        changes in prop::collection::vec((0usize..1000, 0u8..6, prop::collection::vec(any::<u8>(), 0..6)), 0..4),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        static TEXTS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
        let texts = TEXTS.get_or_init(|| {
            let mut texts = vec![log("music/abc_log"), log("mytracks/trace.txt")];
            let mut rows = Vec::new();
            write(&read("music", texts[0].as_bytes()).unwrap(), "music", &mut rows).unwrap();
            texts.push(String::from_utf8(rows).unwrap());
            texts
        });
        let bytes = texts.get(which).map_or(noise, |text| changed(text.as_bytes(), &changes));
        if let Err(error) = read("damaged", &bytes[..]) {
            let lines = bytes.split(|b| *b == b'\n').count() as u32;
            prop_assert!((1..=lines.max(1)).contains(&error.line) && error.column > 0, "{error} of {lines} lines");
        }
    }
}
