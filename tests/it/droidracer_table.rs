//! Generates `docs/results/droidracer.md`: the races of eight logs of real apps under both relations.
//! `cargo test --release --test it droidracer_table -- --ignored` rewrites it.

use crate::droidracer_logs::{Case, LOGS};
use crate::droidracer_report::Field;
use raceflip::detect::happens_before::{Options, Race, RaceClass, SourceOrder, analyze};
use raceflip::trace::Trace;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const HEAD: &str = "\
# DroidRacer's logs

Written by `cargo test --release --test it droidracer_table -- --ignored`: eight logs that DroidRacer wrote of real apps, with the races that it reports at their end
(`tests/it/traces`), against the rules of its source (`src/detect/traces/happens_before/source`) and those that its paper prints. A field is one of a class, whatever the object, as DroidRacer counts.
DroidRacer leaves races of databases out, and so does this page. *Seconds* are of one run on a shared machine (AMD EPYC, 2 cores): relation and races, without reading the file.
DroidRacer itself, in an emulator of 2013, took 66 s for RemindMe, 945 s for Twitter and 1,151 s for Adobe Reader.

";

const WHY: &str = "
A class has all fields with a race of that class; DroidRacer's headings have more cross-posted fields, since it puts a race with different delayed posts below both headings if another
of the object has already been below the first.

The printed rules order every enable of an event before every later post of it. A log names an event that comes again as it did before, so that they order more where an app is clicked through several times
(RemindMe: 27 fields that DroidRacer reports); and they know nothing of what the program orders besides, so that they report more elsewhere.

What stands only on one side:

- Adobe Reader, `ARBackgroundRunnableAndroid` field 16 (multi-threaded, only there): the object had gone, and a `Message` had its address. DroidRacer knows objects by their address alone; here
  a location has a class as well.
- Adobe Reader, `AtomicInteger` field 8 (cross-posted, only here): it races in other classes in both. Why DroidRacer does not have this one is not known.

What each rule is for, by fields that are reported in vain without it (of remind-me, aarddict, RemindMe and Twitter, tried in a prototype of the same rules):

| without | fields besides |
|---|---|
| an enable comes before the post of what it enables, also if that is earlier in the log: before its begin instead | RemindMe 3, Twitter 8, remind-me 1 |
| the steps of an activity | RemindMe 16 |
| lifecycle enables | RemindMe 13, Twitter 8, remind-me 1 |
| window focus | RemindMe 12, Twitter 28, remind-me 1 |
| events of views | RemindMe 13, Twitter 28, remind-me 1 |
| services | aarddict 2 |
| receivers, and the order of intents | aarddict 1 |

## Life cycles

The components of the logs against the kinds of the library `android` (`tests/it/droidracer_life_cycles`): of each activity, service and receiver with callbacks in a log, the order of these callbacks, with what the app asked for between them, must be a run
that the rows of its kind allow. A search decides it, on a model that is written for the component. It holds for 23 of 25 instances: 14 of 16 activities, 7 of 7 services, 2 of 2 receivers. Twelve further receivers got nothing.

The other two are activities that finish before they are resumed (music `MusicBrowserActivity`, Twitter `StartActivity`). The log has a `PAUSE-ACT` of each, which is the message, and not a callback: Android does not call `onPause` of an activity that
[finished before it was resumed](https://android.googlesource.com/platform/frameworks/base/+/refs/tags/android-4.0.1_r1/core/java/android/app/ActivityThread.java) (`performPauseActivity`). Without this line their order is allowed as well.

Of 53 orders in which two callbacks that follow each other have changed places, 50 are refused. The other three are those of a service whose command and whose bind, or connection, may come in either order.
";

/// Returns the races under the rules that the paper prints.
fn printed(trace: &Trace) -> Vec<Race> {
    let options = Options { forced: false, coverage: false, ..Options::default() };
    analyze(trace, options, &AtomicBool::new(false)).unwrap().races
}

fn by_class(case: &Case, races: &[Race]) -> (String, usize, usize) {
    let ours = case.ours(races);
    let theirs = case.theirs();
    let count =
        |of: &std::collections::BTreeMap<RaceClass, BTreeSet<Field>>, class| of.get(&class).map_or(0, BTreeSet::len);
    let cells: Vec<String> =
        RaceClass::ALL.iter().map(|class| format!("{} / {}", count(&ours, *class), count(&theirs, *class))).collect();
    let all: BTreeSet<Field> = ours.into_values().flatten().collect();
    (cells.join(" | "), all.len(), all.difference(&case.fields()).count())
}

#[test]
#[ignore = "it writes a file"]
fn droidracer_table() {
    let (mut rows, mut classes, mut paper_classes) = (String::new(), String::new(), String::new());
    for log in &LOGS {
        let case = log.case();
        let start = Instant::now();
        let order = SourceOrder::new(&case.trace).unwrap();
        let races = order.races();
        let took = start.elapsed().as_secs_f64();
        let (cells, found, extra) = by_class(&case, &races);
        let start = Instant::now();
        let by_paper = printed(&case.trace);
        let paper_took = start.elapsed().as_secs_f64();
        let (paper_cells, paper_found, paper_extra) = by_class(&case, &by_paper);
        let all: BTreeSet<Field> = case.ours(&by_paper).into_values().flatten().collect();
        let missed = case.fields().difference(&all).count();
        let (name, ops, nodes) = (log.name, case.trace.ops.len(), order.nodes());
        let (reported, fields) = (case.report.races.len(), case.fields().len());
        writeln!(
            rows,
            "| {name} | {ops} | {nodes} | {reported} / {fields} | {found} | {extra} | {took:.3} | {paper_found} | {paper_extra} | {missed} | {paper_took:.3} |"
        )
        .unwrap();
        writeln!(classes, "| {name} | {cells} |").unwrap();
        writeln!(paper_classes, "| {name} | {paper_cells} |").unwrap();
    }
    let names: Vec<&str> = RaceClass::ALL.iter().map(|class| class.name()).collect();
    let text = format!(
        "{HEAD}| log | operations | nodes | races / fields reported | fields found | not reported | seconds | printed rules: fields | not reported | reported, not found | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|\n{rows}\n\
         ## Classes\n\nFields of each class, here / in the report.\n\n| log | {} |\n|---|---|---|---|---|---|\n{classes}\n\
         The same with the printed rules, here / in the report:\n\n| log | {} |\n|---|---|---|---|---|---|\n{paper_classes}{WHY}",
        names.join(" | "),
        names.join(" | ")
    );
    std::fs::write(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/droidracer.md"),
        text.trim_end().to_owned() + "\n",
    )
    .unwrap();
}
