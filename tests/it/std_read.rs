//! Tests of the reader of STD: what it makes of odd lines, and what it refuses.

use crate::cli::{FOUND, REFUSED, call, call_with};
use crate::std_counts::{parsed, traces};
use raceflip::base::Rng;
use raceflip::formats::traces::{ReadError, TraceForm, read, read_as};
use raceflip::trace::{Action, Trace};
use std::io::{BufReader, Read};

fn refused(text: &[u8]) -> ReadError {
    let Err(error) = read_as("x.std", text, Some(TraceForm::Std)) else {
        panic!("it is read: {}", String::from_utf8_lossy(text))
    };
    error
}

#[test]
fn odd_lines_are_refused_with_their_place() {
    let start = "T0|fork(T1)|1\nT1|w(x)|2\n";
    for (line, column, reason) in [
        ("T0", 3, "the line has 1 field, not 3"),
        ("T0|w(x)", 8, "the line has 2 fields, not 3"),
        ("T0|w(x)|3|4", 10, "the line has 4 fields, not 3"),
        ("T0|w(a|b)|3", 10, "the line has 4 fields, not 3"),
        ("# a comment", 12, "the line has 1 field, not 3"),
        ("|w(x)|3", 1, "the thread has no name"),
        (" T0|w(x)|3", 1, "the name of the thread has a blank"),
        ("main thread|w(x)|3", 5, "the name of the thread has a blank"),
        ("T0||3", 4, "`` is not an operation"),
        ("T0|W(x)|3", 4, "`W(x)` is not an operation"),
        ("T0|free(x)|3", 4, "`free(x)` is not an operation"),
        ("é|beginning|3", 3, "`beginning` is not an operation"),
        ("T0|w|3", 5, "`w` lacks its operand"),
        ("T0|req|3", 7, "`req` lacks its operand"),
        ("T0|w(x|3", 7, "the `)` of `w(` is missing"),
        ("T0|w(x) |3", 9, "the `)` of `w(` is missing"),
        ("T0|acq()|3", 8, "the operand has no name"),
        ("T0|acq(a b)|3", 9, "the name of the operand has a blank"),
        ("T0|begin()|3", 10, "the operand has no name"),
        ("T0|w(x)|", 9, "the number of the statement is missing"),
        ("T0|w(x)|bank.c:14", 9, "`bank.c:14` is not a whole number"),
        ("T0|w(x)|3 ", 9, "`3 ` is not a whole number"),
        ("T0|w(x)|99999999999999999999", 9, "`99999999999999999999` is not a whole number"),
        ("T0|fork(T1)|3", 4, "thread T1 is forked although it runs already"),
        ("T0|fork(T0)|3", 4, "thread T0 is forked although it runs already"),
        ("T0|join(T0)|3", 4, "thread T0 does something after its end: line 3 has joined it"),
    ] {
        for end in ["\n", "\r\n", "\nT0|w(x)|4\n"] {
            let error = refused(format!("{start}{line}{end}").as_bytes());
            assert_eq!((error.line, error.column, error.reason.as_str()), (3, column, reason), "{line}");
            assert!(!error.advice.is_empty() && !error.advice.contains("cut off"), "{error}");
        }
    }
    let after = refused(format!("{start}T0|join(T1)|3\nT0|w(x)|3\nT1|end|3\n").as_bytes());
    assert_eq!(
        after.to_string(),
        "x.std:5:4: thread T1 does something after its end: line 3 has joined it; operations are missing before it, or out of order"
    );
    let bytes = refused(b"T0|w(x)|1\nT0|w(\xff)|1\n");
    assert_eq!((bytes.line, bytes.column), (2, 6), "{bytes}");
    assert_eq!(refused(b"\n\r\n").reason, "the file is empty");
}

#[test]
fn a_file_that_is_cut_off_says_so_where_that_can_be_known() {
    let text = "T0|acq(L)|1\nT0|w(x)|2\nT0|rel(L)|3\n";
    let mut told = 0;
    for n in 1..text.len() {
        match read_as("x.std", &text.as_bytes()[..n], Some(TraceForm::Std)) {
            Err(error) => {
                assert!(error.advice.contains("cut off") && error.column > 0, "{n}: {error}");
                told += 1;
            }
            // Whole lines, with or without the last newline.
            Ok(trace) => {
                let is_whole = trace.ops.len() == 3;
                let note = "the trace ends while 1 lock is held: it may be cut off";
                assert_eq!(trace.notes, if is_whole { vec![] } else { vec![note.to_owned()] }, "{n}");
            }
        }
    }
    assert!(told > 20, "{told}");
}

/// Endless bytes without a newline; counts what was read.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        to.fill(b'x');
        self.0 += to.len() as u64;
        Ok(to.len())
    }
}

#[test]
fn a_long_line_is_refused_without_reading_it_whole() {
    let mut endless = Endless(0);
    let start = &b"T0|w(x)|1\nT0|w("[..];
    let error = read("x.std", BufReader::new(start.chain(&mut endless))).unwrap_err();
    assert_eq!((error.line, error.column), (2, 1));
    assert_eq!(error.reason, "the line is longer than 1048576 bytes");
    assert!(endless.0 < 2 << 20, "{} bytes were read", endless.0);
}

fn actions(trace: &Trace) -> Vec<Action> {
    trace.ops.iter().map(|op| op.action).collect()
}

#[test]
fn ends_of_lines_blank_lines_and_marks_do_not_matter() {
    for (name, text) in traces() {
        let trace = parsed(&name, &text);
        for other in [
            text.replace('\n', "\r\n"),
            text.trim_end().to_owned(),
            format!("\u{feff}\n{text}\n\n"),
            text.replacen('\n', "\nT0|dummy|0\n", 1),
        ] {
            // The form is recognized by the first line.
            let again = read(&name, other.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(actions(&again), actions(&trace), "{name}");
        }
    }
}

#[test]
fn what_a_file_leaves_open_is_decided_and_noted() {
    let trace = parsed(
        "x",
        "A|acq(L)|1\nA|acq(L)|2\nA|rel(L)|3\nA|rel(L)|4\nA|rel(L)|5\nB|req(L)|6\nB|acq(L)|6\nB|rel(L)|6\nB|dummy(x)|7\n\
         A|join(C)|8\nA|join(C)|8\nB|begin|9\nB|begin(a(b))|9\nB|r(f(x))|-1\nB|end|9\nA|fork(D)|9\nA|rel(M)|9\n",
    );
    assert_eq!(
        trace.notes,
        [
            "2 threads have no fork: they are taken to have started before the trace",
            "3 marks of transactions, which only the analysis of atomicity reads",
            "1 line with `dummy` skipped",
            "1 line with `req` skipped",
            "2 releases of a lock that the thread did not hold: they are left out",
        ]
    );
    // A note about one thing is in the singular.
    let single = parsed("x", "A|acq(L)|1\nB|acq(L)|2\nB|rel(M)|3\n");
    assert_eq!(
        single.notes[2..],
        [
            "1 acquisition of a lock that another thread held: the trace lacks its release",
            "1 release of a lock that the thread did not hold: it is left out",
        ]
    );
    let names: Vec<&str> = trace.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["A", "B", "C", "D"]);
    // Two holds of a reentrant lock are one, and a thread ends where it is joined first.
    let lines: Vec<u32> = trace.lines.clone();
    assert_eq!(lines, [1, 4, 7, 8, 10, 10, 11, 14, 16]);
    let marks: Vec<(u32, Option<&str>)> =
        trace.transactions.iter().map(|mark| (mark.before.0, mark.name.as_deref())).collect();
    assert_eq!(marks, [(7, None), (7, Some("a(b)")), (8, None)]);
    assert_eq!(trace.places.iter().next().unwrap().name, "f(x)");
    // A lock of a name, a variable of the name and a thread of the name are three things.
    let same = parsed("x", "a|acq(a)|1\na|w(a)|1\na|fork(b)|1\nb|r(a)|1\n");
    assert_eq!((same.locks.len(), same.places.len(), same.threads.len()), (1, 1, 2));
}

#[test]
fn the_form_is_recognized_or_named() {
    let std = format!("{}/tests/it/traces/std/rapid/c_bluetooth_driver_bad.std", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&std).unwrap();
    for args in [&["analyze", "-"][..], &["analyze", "-", "--from", "std"]] {
        let ran = call_with(args, &text);
        assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""), "{}", ran.out);
    }
    let stat = call(&["trace", "stat", &std]);
    assert!(
        stat.out.contains("acquire 3") && stat.out.contains("fork 1") && stat.out.contains("join 1"),
        "{}",
        stat.out
    );
    // A damaged first line is one of STD only if it is said.
    let damaged = text.replacen('|', "", 1);
    let ran = call_with(&["trace", "stat", "-", "--from", "std"], &damaged);
    assert!(ran.status == REFUSED && ran.err.contains("<stdin>:1:"), "{}", ran.err);
    assert!(ran.err.contains("fields, not 3; a line of STD has three fields"), "{}", ran.err);
    let ran = call_with(&["trace", "stat", "-"], &damaged);
    assert!(ran.status == REFUSED && ran.err.contains("a line of STD has two `|`"), "{}", ran.err);
    for (form, text) in [("jsonl", text.as_str()), ("droidracer", &text), ("std", "1 START\n"), ("std", "{}\n")] {
        let ran = call_with(&["trace", "convert", "-", "--from", form], text);
        assert_eq!((ran.status, ran.out.as_str()), (REFUSED, ""), "{form}");
    }
    let ran = call(&["analyze", &std, "--from", "xml"]);
    assert!(ran.status == REFUSED && ran.err.contains("jsonl, droidracer, std"), "{}", ran.err);
    // Operations that STD does not have are refused.
    let ran = call(&["analyze", "tests/it/traces/std/rff/trace_filter.std"]);
    assert!(ran.status == REFUSED && ran.err.contains(".std:95:4: `wait_sleep(0x55b59a74d498)` is not"), "{}", ran.err);
}

#[test]
fn random_bytes_are_refused_or_read() {
    let all: Vec<Vec<u8>> =
        traces().into_iter().map(|(_, text)| text.into_bytes()).filter(|t| t.len() < 2000).collect();
    let pieces =
        ["|", "(", ")", "acq(", "fork(T1)", "join(T1)", "\n", "T1", "begin", "-", "99", "\u{2028}", "\0", "\r"];
    let mut rng = Rng::seeded(3);
    let (mut fine, mut wrong) = (0, 0);
    for _ in 0..4000 {
        let mut bytes = all[rng.below(all.len() as u32) as usize].clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u32 + 1) as usize;
            let piece = pieces[rng.below(pieces.len() as u32) as usize].as_bytes();
            match rng.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.splice(at..at, piece.iter().copied())),
                2 => drop(bytes.drain(at..bytes.len().min(at + 5))),
                _ => bytes.insert(at, rng.below(256) as u8),
            }
        }
        match read_as("x", &bytes[..], Some(TraceForm::Std)) {
            Ok(trace) => {
                fine += 1;
                assert_eq!(trace.lines.len(), trace.ops.len());
            }
            Err(error) => {
                wrong += 1;
                let line = bytes.split(|b| *b == b'\n').nth(error.line as usize - 1).expect("the line exists");
                let most = String::from_utf8_lossy(line).chars().count() + 1;
                assert!(error.column >= 1 && error.column as usize <= most, "{error}");
            }
        }
    }
    assert!(fine > 300 && wrong > 1000, "{fine} {wrong}");
}
