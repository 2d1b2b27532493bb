//! Tests that every trace that can be read is written in a form that reads back as the same trace.

use crate::cli::{call, call_with};
use crate::traces::comes_back;
use proptest::prelude::*;
use raceflip::formats::traces::read;

/// Generates a line of a DroidRacer log with few threads, messages, locks and locations, regardless of its context.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let thread = 1..4u32;
    let message = 1..5u32;
    prop_oneof![
        thread.clone().prop_map(|t| format!("THREADINIT tid:{t}")),
        thread.clone().prop_map(|t| format!("THREADEXIT tid:{t}")),
        (thread.clone(), thread.clone()).prop_map(|(a, b)| format!("FORK par-tid:{a} child-tid:{b}")),
        thread.clone().prop_map(|t| format!("ATTACH-Q tid:{t} queue:7")),
        thread.clone().prop_map(|t| format!("LOOP tid:{t} queue:7")),
        (thread.clone(), message.clone(), -1..3i32)
            .prop_map(|(t, m, d)| format!("POST src:{t} msg:{m} dest:{d} delay:{}", d.max(0))),
        (thread.clone(), message.clone()).prop_map(|(t, m)| format!("CALL tid:{t} msg:{m}")),
        (thread.clone(), message).prop_map(|(t, m)| format!("RET tid:{t} msg:{m}")),
        thread.clone().prop_map(|t| format!("NATIVE-ENTRY tid:{t}thread-name:1")),
        thread.clone().prop_map(|t| format!("NATIVE-EXIT tid:{t}thread-name:1")),
        (thread.clone(), 1..3u32).prop_map(|(t, l)| format!("LOCK tid:{t} lock-obj:{l}")),
        (thread.clone(), 1..3u32).prop_map(|(t, l)| format!("UNLOCK tid:{t} lock-obj:{l}")),
        (thread.clone(), thread.clone()).prop_map(|(a, b)| format!("NOTIFY tid:{a} notifiedTid:{b}")),
        thread.clone().prop_map(|t| format!("WAIT tid:{t}")),
        (thread.clone(), 1..3u32).prop_map(|(t, f)| format!("READ tid:{t} obj:0x{f} class:La; field:8")),
        (thread.clone(), 1..3u32).prop_map(|(t, f)| format!("WRITE tid:{t} obj:0x{f} class:La/b#1.c; field:8")),
        (thread.clone(), 1..3u32).prop_map(|(t, f)| format!("WRITE-STATIC tid:{t} class:La; field:{f}")),
        (thread.clone(), 1..3u32).prop_map(|(t, w)| format!("ENABLE-WINDOW-FOCUS tid:{t} windowHash:{w}")),
        (thread, 1..3u32).prop_map(|(t, w)| format!("TRIGGER-WINDOW-FOCUS tid:{t} windowHash:{w}")),
    ]
}

/// Returns a log of these lines without those that are invalid at their place.
pub(crate) fn log(lines: Vec<String>) -> String {
    let mut text = "1 START\n".to_owned();
    for (i, line) in lines.iter().enumerate() {
        let longer = format!("{text}{} {line}\n", i + 2);
        if read("log", longer.as_bytes()).is_ok() {
            text = longer;
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_read_is_written_readable(lines in prop::collection::vec(line(), 1..40)) {
        let text = log(lines);
        let trace = read("log", text.as_bytes()).expect("each line was tried");
        comes_back(&text, &trace);
    }
}

#[test]
fn a_log_that_begins_in_the_middle_comes_back() {
    let log = "tests/data/faults/convert_not_readable.txt";
    let converted = call(&["trace", "convert", log]);
    assert_eq!(converted.status, 0, "{}", converted.err);
    let stat = call_with(&["trace", "stat", "-"], &converted.out);
    assert_eq!(stat.status, 0, "{}", stat.err);
    assert_eq!(
        stat.out.lines().skip(1).collect::<Vec<_>>(),
        call(&["trace", "stat", log]).out.lines().skip(1).collect::<Vec<_>>()
    );
}
