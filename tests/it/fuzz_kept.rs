//! Tests of what `raceflip fuzz` keeps for later: the journal of a search, and the corpus of a model.

use crate::cli::{FOUND, REFUSED, call, file, scratch};
use raceflip::formats::corpus::{Corpus, CorpusError};
use raceflip::formats::fuzz::FuzzReport;
use std::fs::{read_to_string, write};
use std::path::Path;

const MUSIC: &str = "harnesses/papers/music_player.race";
const SAFESTACK: &str = "harnesses/sctbench/safestack.race";

// A model without a failure, in which few runs show all pairs.
const QUIET: &str = "var x = 0\nlock l\nlooper main\ntask m() { x = x + 1 }\n\
    thread a(i in 0..3) { @w: x = i; post m() to main; @s: sync l { x += 1 } }\n\
    thread b { for i in 0..3 { @r: if x == 2 { skip } } }\n";

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn a_resumed_search_has_the_result_of_one_in_one_piece() {
    let folder = scratch("fuzz_journal");
    for (i, (model, options)) in [
        (SAFESTACK, &["--keep-going"][..]),
        (MUSIC, &["--keep-going", "--pairs", "--seed", "3"]),
        (MUSIC, &["--seed", "11", "--no-shrink"]),
        ("harnesses/sctbench/reorder.race", &["-D", "SETTERS=9", "--keep-going"]),
    ]
    .into_iter()
    .enumerate()
    {
        for format in ["text", "json"] {
            let runs = |runs, more: &[&str]| {
                call(&[&["fuzz", model, "--runs", runs, "--format", format], options, more].concat())
            };
            let whole = runs("500", &["--jobs", "2"]);
            for jobs in ["1", "2"] {
                let journal = path(&folder, &format!("{i}.{format}.{jobs}"));
                let keep = ["--journal", &journal, "--jobs", jobs];
                // A round is cut at 100, and another one at 333.
                assert!(runs("100", &keep).status < REFUSED);
                for part in ["333", "500", "500"] {
                    let ran = runs(part, &[&keep[..], &["--resume"]].concat());
                    assert!(ran.status < REFUSED && ran.err.contains("already in the journal"), "{}", ran.err);
                    if part == "500" {
                        assert_eq!((&ran.out, ran.status), (&whole.out, whole.status), "{model} {format} {jobs}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_search_that_was_stopped_at_any_run_goes_on() {
    let folder = scratch("fuzz_stopped");
    let whole = call(&["fuzz", SAFESTACK, "--runs", "1500", "--format", "json"]);
    for (i, time) in ["5ms", "20ms", "60ms", "150ms"].into_iter().enumerate() {
        let journal = path(&folder, &format!("{i}.journal"));
        let keep = ["fuzz", SAFESTACK, "--runs", "1500", "--format", "json", "--journal", &journal];
        let stopped = call(&[&keep[..], &["--time", time]].concat());
        assert_eq!(stopped.status, 0, "{}", stopped.err);
        let resumed = call(&[&keep[..], &["--resume"]].concat());
        assert_eq!((&resumed.out, resumed.status), (&whole.out, whole.status), "{time}");
    }
}

#[test]
fn a_journal_of_another_search_is_refused() {
    let folder = scratch("fuzz_refused");
    let (model, other) =
        (file(&folder, "quiet.race", QUIET), file(&folder, "other.race", &QUIET.replace("== 2", "== 1")));
    let journal = path(&folder, "j");
    let with = |model: &str, more: &[&str]| {
        let runs = if more.contains(&"--runs") { &[][..] } else { &["--runs", "50"] };
        call(&[&["fuzz", model, "--journal", &journal][..], runs, more].concat())
    };
    assert_eq!(with(&model, &[]).status, 0);
    let there = read_to_string(&journal).unwrap();
    let refused = |ran: crate::cli::Ran, why: &str| {
        let told = ran.err.contains("cannot use the journal") && ran.err.contains(why);
        assert!(ran.status == REFUSED && told && ran.out.is_empty(), "{why}: {}{}", ran.out, ran.err);
    };
    refused(with(&model, &[]), "it already exists; continue it with --resume");
    refused(with(&other, &["--resume"]), "another model, or the model was edited");
    refused(with(&model, &["--resume", "--seed", "1"]), "its seed is 0, and not 1");
    refused(with(&model, &["--resume", "--steps", "70"]), "another limit of --steps");
    refused(with(&model, &["--resume", "--runs", "10"]), "give at least that many with --runs");
    refused(with("harnesses/sctbench/reorder.race", &["--resume", "-D", "SETTERS=9"]), "no -D");
    let damage = |text: String, why: &str| {
        write(&journal, text).unwrap();
        refused(with(&model, &["--resume"]), why);
    };
    damage(there.replacen("\"longest\":", "\"longest\":1", 1), "line 2 is damaged: its checksum");
    damage(there[..there.len() - 9].to_owned(), "line 2 is damaged: its checksum");
    damage(format!("{there}x y\n"), "line 3 is one too many");
    damage(there[3..].to_owned(), "it is not the journal of a learning campaign");
    damage(String::new(), "it is not the journal of a learning campaign");
    // A search that was killed before it kept a state begins again.
    write(&journal, there.lines().next().unwrap().to_owned() + "\n").unwrap();
    assert_eq!(with(&model, &["--resume"]).out, call(&["fuzz", &model, "--runs", "50"]).out);
    assert_eq!(read_to_string(&journal).unwrap(), there);
    let many = call(&["fuzz", "harnesses/papers", "--journal", &journal]);
    assert!(many.status == REFUSED && many.err.contains("--journal needs a single model"), "{}", many.err);
    let none = call(&["fuzz", &model, "--resume"]);
    assert!(none.status == REFUSED && none.err.contains("--journal"), "{}", none.err);
}

fn report(args: &[&str]) -> FuzzReport {
    let ran = call(&[&["fuzz", "--format", "json"], args].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {} {}", ran.out, ran.err))
}

#[test]
fn a_search_begins_with_the_pairs_of_its_corpus() {
    let folder = scratch("fuzz_corpus");
    let model = file(&folder, "quiet.race", QUIET);
    let seeds = path(&folder, "seeds");
    let first = report(&[&model, "--runs", "300", "--corpus", &seeds]);
    let text = read_to_string(path(&folder, "seeds/quiet.corpus")).unwrap();
    let (corpus, tokens) = Corpus::read(&text).unwrap();
    assert_eq!((corpus.model.as_str(), corpus.to_toml() == text, first.began), ("quiet.race", true, 0));
    let seen = first.pairs.iter().filter(|pair| pair.seen > 0).count();
    let shown: std::collections::BTreeSet<&String> = corpus.runs.iter().flat_map(|run| &run.shows).collect();
    assert!(tokens.len() > 1 && shown.len() == seen, "{} runs show {} of {seen}", tokens.len(), shown.len());
    for run in &corpus.runs {
        assert_eq!(call(&["replay", &model, &run.token, "-q"]).status, 0);
    }
    // One run: the others are seen by the runs of the corpus.
    let second = report(&[&model, "--runs", "1", "--seed", "9", "--corpus", &seeds]);
    assert_eq!(second.began, tokens.len() as u64);
    assert!(second.pairs.iter().filter(|pair| pair.seen > 0).count() >= seen, "{:?}", second.pairs);
    assert_eq!(call(&["fuzz", &model, "--runs", "1", "--seed", "9", "--corpus", &seeds]).status, 0);
    // After an edit of the model its runs are replayed tolerantly.
    let edited = file(&folder, "quiet.race", &QUIET.replace("@r:", "skip; @r:"));
    let third = report(&[&edited, "--runs", "1", "--seed", "9", "--corpus", &seeds]);
    assert!(third.began > 0 && third.pairs.iter().filter(|pair| pair.seen > 0).count() * 2 > seen, "{third:?}");
    let (after, _) = Corpus::read(&read_to_string(path(&folder, "seeds/quiet.corpus")).unwrap()).unwrap();
    assert_ne!(after.program, corpus.program);
    // The number of workers changes no file.
    for jobs in ["1", "2"] {
        let seeds = path(&folder, jobs);
        call(&["fuzz", &edited, "--runs", "200", "--jobs", jobs, "--corpus", &seeds]);
    }
    let of = |jobs| read_to_string(path(&folder, &format!("{jobs}/quiet.corpus"))).unwrap();
    assert_eq!(of("1"), of("2"));
}

#[test]
fn corpora_of_one_model_can_be_joined() {
    let folder = scratch("fuzz_merge");
    let model = file(&folder, "quiet.race", QUIET);
    let made = |seed: &str| {
        let seeds = path(&folder, seed);
        call(&["fuzz", &model, "--runs", "60", "--seed", seed, "--corpus", &seeds]);
        path(&folder, &format!("{seed}/quiet.corpus"))
    };
    let (a, b, c) = (made("1"), made("2"), made("3"));
    let merge = |files: &[&str]| call(&[&["merge"], files].concat()).out;
    assert_eq!(merge(&[&a]), read_to_string(&a).unwrap());
    assert_eq!(merge(&[&a, &a]), read_to_string(&a).unwrap());
    assert_eq!(merge(&[&a, &b]), merge(&[&b, &a]));
    let whole = path(&folder, "whole.corpus");
    assert_eq!(call(&["merge", &a, &b, &c, "--out", &whole]).status, 0);
    let (joined, _) = Corpus::read(&read_to_string(&whole).unwrap()).unwrap();
    let pairs = |corpus: &Corpus| {
        corpus.runs.iter().flat_map(|run| run.shows.clone()).collect::<std::collections::BTreeSet<String>>()
    };
    let parts = [&a, &b, &c].map(|path| Corpus::read(&read_to_string(path).unwrap()).unwrap().0);
    assert_eq!(pairs(&joined), parts.iter().flat_map(pairs).collect());
    // The order of the runs in a file means nothing.
    let mut turned = joined.clone();
    turned.runs.reverse();
    assert_eq!(Corpus::read(&turned.to_toml()).unwrap().0, joined);
    let other = Corpus { program: "0".to_owned(), ..joined.clone() };
    assert_eq!(joined.clone().merged(vec![other]), Err(CorpusError::Other("program")));
    let wrong = call(&["merge", &a, "README.md"]);
    assert!(wrong.status == REFUSED && wrong.err.contains("cannot read `README.md`"), "{}", wrong.err);
}

#[test]
fn a_damaged_or_foreign_corpus_is_refused() {
    let folder = scratch("fuzz_damaged");
    let model = file(&folder, "quiet.race", QUIET);
    let seeds = path(&folder, "seeds");
    let ran = || call(&["fuzz", &model, "--runs", "20", "--corpus", &seeds]);
    assert_eq!(ran().status, 0);
    let name = path(&folder, "seeds/quiet.corpus");
    let text = read_to_string(&name).unwrap();
    for (damaged, why) in [
        (text.replace("rf1-", "rf1-AA"), "the `token` of its run 1"),
        (text.replace("version = 1", "version = 7"), "its `version` is 7"),
        (text.replace("raceflip-corpus", "raceflip-seed"), "its `format` is"),
        (text.replace("shows =", "shown ="), "line "),
        (text.replace("model = \"quiet.race\"", "model = \"a/quiet.race\""), "give another folder to --corpus"),
    ] {
        write(&name, &damaged).unwrap();
        let ran = ran();
        assert!(ran.status == REFUSED && ran.err.contains(why) && ran.err.contains("quiet.corpus"), "{}", ran.err);
        assert_eq!(read_to_string(&name).unwrap(), damaged, "it is left alone");
    }
}

#[test]
fn failures_are_saved_and_come_first() {
    let folder = scratch("fuzz_failures");
    let seeds = path(&folder, "seeds");
    let first = call(&["fuzz", MUSIC, "--corpus", &seeds]);
    assert!(first.status == FOUND && first.out.contains("saved in"), "{}{}", first.out, first.err);
    let saved = || {
        let names = std::fs::read_dir(&seeds).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".toml")).count()
    };
    assert_eq!(saved(), 1);
    let again = call(&["fuzz", MUSIC, "--corpus", &seeds, "--seed", "5"]);
    assert!(again.status == FOUND && again.out.starts_with("a saved run fails"), "{}{}", again.out, again.err);
    assert_eq!(saved(), 1);
    let all = report(&[MUSIC, "--corpus", &seeds, "--keep-going", "--runs", "100"]);
    let found = &all.failures[0];
    assert_eq!((all.runs, found.run, found.base.as_str()), (100, 0, "saved"));
    assert_eq!(saved(), all.failures.len(), "one file for each failure");
    assert!(found.failure.runs > 1);
    let tested = call(&["test", MUSIC, "--saved", &seeds]);
    assert!(tested.out.contains("dead activity"), "`test` replays it: {}{}", tested.out, tested.err);
}
