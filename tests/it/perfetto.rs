//! Tests of timelines as Chrome trace events: they are read back and compared with the rules of the format and with the
//! run.

use crate::load::models;
use crate::timeline::told;
use raceflip::formats::timeline::Window;
use raceflip::formats::timeline::perfetto::{File, TraceEvent};
use std::collections::{BTreeMap, BTreeSet};

fn slices<'f>(file: &'f File, cat: &str) -> Vec<&'f TraceEvent> {
    file.trace_events.iter().filter(|e| e.ph == "X" && e.cat == cat).collect()
}

fn end(slice: &TraceEvent) -> u64 {
    slice.ts + slice.dur.expect("a slice has a duration")
}

#[test]
fn traces_keep_the_rules_of_the_format() {
    let mut flows_seen = 0;
    for path in models("harnesses") {
        for seed in 0..3 {
            let at = format!("{} seed {seed}", path.display());
            let (timeline, counts, summary) = told(&path, seed, Window::All, &[]);
            let text = File::new(&timeline, BTreeMap::from([("file".to_owned(), at.clone())])).to_json();
            let file: File = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{at}: {e}"));
            let events = &file.trace_events;

            assert_eq!(slices(&file, "task").len(), counts.tasks, "{at}: tasks");
            let acting: Vec<u64> = slices(&file, "step").iter().map(|e| e.ts).collect();
            let ticks: BTreeSet<u64> = events.iter().filter(|e| e.ph == "C").map(|e| e.ts).collect();
            assert_eq!(ticks, counts.steps, "{at}: a value of the clock for each step");
            assert!(acting.iter().all(|ts| counts.steps.contains(ts)), "{at}");
            assert_eq!(acting.len(), acting.iter().collect::<BTreeSet<_>>().len(), "{at}: one step at a time");

            let times: Vec<u64> = events.iter().filter(|e| e.ph != "M").map(|e| e.ts).collect();
            assert!(times.is_sorted(), "{at}: times");
            assert!(times.iter().all(|ts| *ts <= summary.steps + 1), "{at}: times");

            let mut open: BTreeMap<u32, Vec<&TraceEvent>> = BTreeMap::new();
            for slice in events.iter().filter(|e| e.ph == "X") {
                let stack = open.entry(slice.tid).or_default();
                stack.retain(|outer| end(outer) > slice.ts);
                assert!(slice.dur > Some(0), "{at}: {slice:?}");
                for outer in stack.iter() {
                    assert!(end(slice) <= end(outer), "{at}: {slice:?} does not nest in {outer:?}");
                }
                stack.push(slice);
            }

            let ends: BTreeMap<_, &TraceEvent> =
                events.iter().filter(|e| e.ph == "f").map(|e| ((&e.cat, &e.name, e.id), e)).collect();
            let starts: Vec<&TraceEvent> = events.iter().filter(|e| e.ph == "s").collect();
            assert_eq!(starts.len(), ends.len(), "{at}: flows");
            let inside = |flow: &TraceEvent| {
                events.iter().any(|s| s.ph == "X" && s.tid == flow.tid && (s.ts..end(s)).contains(&flow.ts))
            };
            for start in starts {
                let Some(end) = ends.get(&(&start.cat, &start.name, start.id)) else { panic!("{at}: {start:?}") };
                assert!(end.ts >= start.ts && end.bp.as_deref() == Some("e"), "{at}: {end:?}");
                assert!(inside(start) && inside(end), "{at}: {start:?} {end:?}");
                flows_seen += 1;
            }

            let named: BTreeSet<u32> = events.iter().filter(|e| e.name == "thread_name").map(|e| e.tid).collect();
            assert!(events.iter().filter(|e| e.ph == "X").all(|e| named.contains(&e.tid)), "{at}");
            let sorted: BTreeSet<u32> =
                events.iter().filter(|e| e.name == "thread_sort_index").map(|e| e.tid).collect();
            assert_eq!(named, sorted, "{at}");
            let failed = events.iter().any(|e| e.ph == "i");
            assert_eq!(failed, !timeline.ending.is_empty(), "{at}: an instant for the failure");
        }
    }
    assert!(flows_seen > 100, "{flows_seen}");
}
