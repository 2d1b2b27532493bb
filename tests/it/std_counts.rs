//! The races of traces in STD, as RAPID counts them: against its published numbers, and against its algorithm, written
//! down naively. `docs/results/std.md` shows them: `cargo test --release --test it std_table -- --ignored` rewrites it.
//!
//! `RACEFLIP_STD=FOLDER` adds the traces of a folder, which may be large; the ordinary tests leave these out.

use crate::support::read;
use raceflip::base::Rng;
use raceflip::detect::happens_before::Options;
use raceflip::detect::{DetectorId, fasttrack, second_accesses};
use raceflip::formats::analysis::SecondAccesses;
use raceflip::formats::traces::{TraceForm, read_as};
use raceflip::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const FOLDER: &str = "tests/it/traces/std";

/// The trace in which threads acquire locks that others hold. Its releases without a hold are left out here, and count
/// in RAPID.
const ILL_FORMED: &str = "rapid/java_IBM2003_boundedbuffer";

/// Seconds of RAPID's `HB` for large traces, the whole program.
const RAPID_SECONDS: [(&str, f64); 3] = [("c_qsort_mt", 7.9), ("c_splash2_lu", 2.2), ("c_stripe_8x20k", 5.0)];

const HEAD: &str = "\
# Traces in STD, beside RAPID

Written by `cargo test --release --test it std_table -- --ignored`. *RAPID* is what [RAPID](https://github.com/umangm/rapid) reports for a trace by `HB`: the racy events, and the statements of second accesses; `-` where no number is published.
*Here* are the `second_accesses` of `raceflip analyze --rules fasttrack`; *races* are the pairs of statements that FastTrack finds, and that hybrid detection finds. The last columns compare statements: those in a race of hybrid detection, and those that RAPID reports by SHB, WCP and SyncP.
The counts agree in every trace but `java_IBM2003_boundedbuffer`, and in every other trace hybrid detection has at least as many statements as each of RAPID's analyses. That trace is ill-formed: 13 times a thread acquires a lock that another one holds, as it does where a program waits and the trace lacks the release. RAPID takes a release
without a hold for one. raceflip leaves it out, so that it orders less there, and lock sets take that thread to hold the lock to its end.

";

/// Returns the names and texts of all traces of the repository, without the folder of other forms.
pub(crate) fn traces() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for folder in ["rapid", "speedygo"] {
        let at = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(folder);
        let files = std::fs::read_dir(at).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = files.filter_map(|file| Some(file.strip_suffix(".std")?.to_owned())).collect();
        // Numbers in their order.
        names
            .sort_by_key(|name| (name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len(), name.clone()));
        all.extend(names.into_iter().map(|name| {
            let text = read(&format!("{FOLDER}/{folder}/{name}.std"));
            (format!("{folder}/{name}"), text)
        }));
    }
    assert_eq!(all.len(), 34 + 33);
    all
}

pub(crate) fn parsed(name: &str, text: &str) -> Trace {
    read_as(name, text.as_bytes(), Some(TraceForm::Std)).unwrap_or_else(|error| panic!("{error}"))
}

/// The published numbers of each trace: HB, SHB, WCP, SyncP, each as events and lines.
fn published() -> BTreeMap<String, Vec<Option<(usize, usize)>>> {
    let number = |cell: &str| cell.split_once('/').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
    let text = read(&format!("{FOLDER}/published.tsv"));
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split('\t');
        (cells.next().unwrap().to_owned(), cells.map(number).collect())
    });
    rows.collect()
}

fn counts(trace: &Trace) -> (usize, usize) {
    let found = second_accesses(trace, &AtomicBool::new(false)).unwrap();
    let SecondAccesses { events, statements } = SecondAccesses::new(trace, &found);
    (events, statements)
}

type VectorClock = Vec<u32>;

fn join(to: &mut VectorClock, from: &VectorClock) {
    to.resize(to.len().max(from.len()), 0);
    to.iter_mut().zip(from).for_each(|(to, from)| *to = (*to).max(*from));
}

fn is_before(a: &VectorClock, b: &VectorClock) -> bool {
    a.iter().enumerate().all(|(i, n)| *n <= b.get(i).copied().unwrap_or_default())
}

/// RAPID's `HB`, naively: a full vector clock for each thread, each lock, and the reads and the writes of each
/// variable. It reads the lines itself. Returns the events and the lines that are racy.
fn naive(text: &str) -> (usize, usize) {
    let mut threads: BTreeMap<&str, usize> = BTreeMap::new();
    let mut clocks: Vec<VectorClock> = Vec::new();
    let mut depths: BTreeMap<(usize, &str), u32> = BTreeMap::new();
    let [mut locks, mut reads, mut writes]: [BTreeMap<&str, VectorClock>; 3] = Default::default();
    let (mut events, mut lines) = (0, BTreeSet::new());
    let mut number = |name, clocks: &mut Vec<VectorClock>| {
        let next = threads.len();
        let number = *threads.entry(name).or_insert(next);
        if number == clocks.len() {
            clocks.push((0..=number).map(|i| u32::from(i == number)).collect());
        }
        number
    };
    for line in text.lines() {
        let [thread, operation, statement] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (word, operand) = operation.split_once('(').map_or((operation, ""), |(w, o)| (w, &o[..o.len() - 1]));
        let t = number(thread, &mut clocks);
        let mut racy = false;
        match word {
            "acq" => {
                *depths.entry((t, operand)).or_default() += 1;
                join(&mut clocks[t], locks.entry(operand).or_default());
            }
            "rel" => {
                let depth = depths.entry((t, operand)).or_default();
                *depth = depth.saturating_sub(1);
                if *depth == 0 {
                    locks.insert(operand, clocks[t].clone());
                    clocks[t][t] += 1;
                }
            }
            "fork" => {
                let child = number(operand, &mut clocks);
                let clock = clocks[t].clone();
                join(&mut clocks[child], &clock);
                clocks[t][t] += 1;
            }
            "join" => {
                let child = number(operand, &mut clocks);
                let clock = clocks[child].clone();
                join(&mut clocks[t], &clock);
            }
            "r" => {
                racy = !is_before(writes.entry(operand).or_default(), &clocks[t]);
                join(reads.entry(operand).or_default(), &clocks[t]);
            }
            "w" => {
                racy = !is_before(reads.entry(operand).or_default(), &clocks[t])
                    || !is_before(writes.entry(operand).or_default(), &clocks[t]);
                join(writes.entry(operand).or_default(), &clocks[t]);
            }
            "begin" | "end" | "dummy" | "req" => {}
            _ => panic!("{line}"),
        }
        if racy {
            events += 1;
            lines.insert(statement);
        }
    }
    (events, lines.len())
}

#[test]
fn races_are_counted_as_rapid_counts_them() {
    let published = published();
    let (mut compared, mut differ) = (0, Vec::new());
    for (name, text) in traces() {
        let ours = counts(&parsed(&name, &text));
        let theirs = naive(&text);
        if ours != theirs {
            differ.push((name.clone(), ours, theirs));
        }
        // The naive version is RAPID's, also where the trace is ill-formed.
        if let Some(hb) = published.get(&name).and_then(|numbers| numbers[0]) {
            assert_eq!(theirs, hb, "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, published.len());
    assert_eq!(differ, [(ILL_FORMED.to_owned(), (163, 19), (114, 19))]);
}

/// Writes a random well-formed trace: nested and reentrant locks, forks, joins, accesses, marks.
fn random(rng: &mut Rng) -> String {
    let mut text = String::new();
    let mut state = [0u8; 5];
    state[0] = 1;
    let mut held: Vec<(usize, u32)> = Vec::new();
    for n in 0..20 + rng.below(80) {
        let running: Vec<usize> = (0..state.len()).filter(|t| state[*t] == 1).collect();
        let t = running[rng.below(running.len() as u32) as usize];
        let (x, lock, statement) = (rng.below(3), rng.below(3), rng.below(12));
        let mut line = |what: String| writeln!(text, "T{t}|{what}|{statement}").unwrap();
        match rng.below(12) {
            0 => {
                let fresh = (0..state.len()).find(|t| state[*t] == 0);
                fresh.into_iter().for_each(|t| {
                    state[t] = 1;
                    line(format!("fork(T{t})"));
                });
            }
            1 if t == 0 && n > 30 => {
                let ended = (1..state.len()).find(|t| state[*t] > 0 && !held.iter().any(|(by, _)| by == t));
                ended.into_iter().for_each(|t| {
                    state[t] = 2;
                    line(format!("join(T{t})"));
                });
            }
            2 | 3 if !held.iter().any(|(by, l)| *by != t && *l == lock) => {
                held.push((t, lock));
                line(format!("acq(L{lock})"));
            }
            4 | 5 => {
                if let Some(at) = held.iter().rposition(|(by, _)| *by == t) {
                    line(format!("rel(L{})", held.remove(at).1));
                }
            }
            6 => line(["begin", "end(a)", "dummy(x)", "req(L1)"][rng.below(4) as usize].to_owned()),
            n => line(format!("{}(x{x})", if n % 2 == 0 { "r" } else { "w" })),
        }
    }
    text
}

#[test]
fn random_traces_are_counted_in_the_same_way() {
    let (mut with, mut without, mut more) = (0, 0, 0);
    for seed in 0..3000 {
        let text = random(&mut Rng::seeded(seed));
        let trace = parsed("random", &text);
        let ours = counts(&trace);
        assert_eq!(ours, naive(&text), "{seed}\n{text}");
        // FastTrack finds a race where there is one, and a location with races has second accesses.
        let races = fasttrack(&trace, &AtomicBool::new(false)).unwrap();
        let racy = second_accesses(&trace, &AtomicBool::new(false)).unwrap();
        let places = |ops: &mut dyn Iterator<Item = raceflip::trace::OpNo>| -> BTreeSet<_> {
            ops.filter_map(|op| trace.ops[op].action.access()).map(|(place, _)| place).collect()
        };
        assert_eq!(places(&mut races.iter().map(|r| r.second)), places(&mut racy.iter().copied()), "{seed}\n{text}");
        more += usize::from(racy.len() > races.len());
        if ours.0 > 0 { with += 1 } else { without += 1 }
    }
    assert!(with > 500 && without > 50 && more > 100, "{with} {without} {more}");
}

/// A row of the page.
fn row(name: &str, text: &str, published: Option<&Vec<Option<(usize, usize)>>>) -> String {
    let trace = parsed(name, text);
    let (events, statements) = counts(&trace);
    let hybrid = DetectorId::HYBRID.rules().unwrap();
    let hybrid = hybrid.analyze(&trace, Options::default(), &AtomicBool::new(false)).unwrap().unwrap();
    let sites = hybrid.races.iter().flat_map(|race| [race.first, race.second]).map(|op| trace.ops[op].site);
    let sites: BTreeSet<_> = sites.collect();
    let number = |i: usize| published.and_then(|numbers| numbers[i]);
    let lines: Vec<String> = (1..4).map(|i| number(i).map_or("-".to_owned(), |(_, n)| n.to_string())).collect();
    for (_, n) in (1..4).filter_map(number).filter(|_| name != ILL_FORMED) {
        assert!(sites.len() >= n, "{name}: hybrid detection has {} statements, RAPID {n}", sites.len());
    }
    let races = fasttrack(&trace, &AtomicBool::new(false)).unwrap().len();
    let theirs = number(0).map_or("-".to_owned(), |(a, b)| format!("{a} / {b}"));
    let name = name.rsplit('/').next().unwrap();
    format!(
        "| {name} | {} | {} | {theirs} | {events} / {statements} | {races} | {} | {} | {} |\n",
        trace.ops.len(),
        trace.threads.len(),
        hybrid.races.len(),
        sites.len(),
        lines.join(", ")
    )
}

fn table() -> String {
    let published = published();
    let rows: String = traces().iter().map(|(name, text)| row(name, text, published.get(name))).collect();
    format!(
        "{HEAD}| trace | operations | threads | RAPID, events / statements | here | races | hybrid | its statements | SHB, WCP, SyncP |\n\
         |---|---|---|---|---|---|---|---|---|\n{rows}"
    )
}

/// The page has the rows that the detectors give, and hybrid detection has at least as many statements as the others.
#[test]
fn the_page_about_std_has_the_counts() {
    let (page, table) = (read("docs/results/std.md"), table());
    assert!(page.starts_with(&table), "rewrite docs/results/std.md:\n{table}");
}

/// The traces of the folder that `RACEFLIP_STD` names: names and paths.
fn large() -> Vec<(String, PathBuf)> {
    let Ok(folder) = std::env::var("RACEFLIP_STD") else { return Vec::new() };
    let files = std::fs::read_dir(folder).expect("RACEFLIP_STD names a folder").map(|file| file.unwrap().path());
    let mut all: Vec<(String, PathBuf)> = files
        .filter(|path| path.extension().is_some_and(|e| e == "std"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    all.sort();
    all
}

#[test]
#[ignore = "it writes a file, and reads the large traces of a folder"]
fn std_table() {
    let mut text = table();
    let mut rows = String::new();
    for (name, path) in large() {
        let start = Instant::now();
        let file = std::io::BufReader::with_capacity(1 << 16, std::fs::File::open(&path).unwrap());
        let trace = read_as(&name, file, None).unwrap_or_else(|error| panic!("{error}"));
        let parse = start.elapsed().as_secs_f64();
        let races = fasttrack(&trace, &AtomicBool::new(false)).unwrap().len();
        let whole = start.elapsed().as_secs_f64();
        let (events, statements) = counts(&trace);
        let all = start.elapsed().as_secs_f64();
        assert_eq!((events, statements), naive(&std::fs::read_to_string(&path).unwrap()), "{name}");
        let ops = trace.ops.len();
        writeln!(
            rows,
            "| {name} | {ops} | {} | {events} / {statements} | {races} | {parse:.2} | {:.2} | {:.2} | {} |",
            trace.threads.len(),
            whole - parse,
            all - whole,
            RAPID_SECONDS.iter().find(|(of, _)| *of == name).map_or("-".to_owned(), |(_, s)| s.to_string())
        )
        .unwrap();
    }
    if !rows.is_empty() {
        text += &format!(
            "\n## Large traces\n\nRecorded from programs of SCTBench and SPLASH-2, and too large for the repository: `RACEFLIP_STD=FOLDER` names the folder. *Here* agrees with a naive version of RAPID's `HB`. Seconds are of one run{}, on a shared machine (AMD EPYC, 2 cores); those of RAPID are of its `HB` as a whole, the median of three runs on a quiet machine.\n\n\
             | trace | operations | threads | here, events / statements | races | s to read | s of FastTrack | s of second accesses | s of RAPID |\n|---|---|---|---|---|---|---|---|---|\n{rows}",
            if cfg!(debug_assertions) { " with `opt-level = 1`" } else { "" }
        );
    }
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/std.md"), text).unwrap();
}
