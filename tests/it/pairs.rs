//! Tests of lists of potential pairs: a list reads back as it was written, both formats, refusals with their messages,
//! and hostile texts.

use crate::cli::{REFUSED, call, file, scratch};
use crate::load::{Model, all_models, load};
use proptest::prelude::*;
use raceflip::base::Rng;
use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, NoProgress, detect};
use raceflip::detect::{Candidate, Pair};
use raceflip::formats::pairs::{ListedPairs, PairsError, PairsFile, read};
use raceflip::sched::{SiteSpec, site_text};
use raceflip::world::Limits;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

const APP: &str = r#"var x = 0
var y = 0
var list: list[int]
lock m
class Box { var v = 0; var w = 0 }
let box = new Box
thread a { @set from "app/src/Player.java:41": x = 1; @up: y += x; @lock from "Player.java:50": acquire m; release m }
thread b { @get from "Player.java:87": let z = x; @add: list.push(y); @both from "Player.java:90": x = y }
thread c { @v from "Box.java:7": box.v = box.w; @free: delete box; @peek: let l = list.len + x }
"#;

static MODEL: LazyLock<Model> =
    LazyLock::new(|| Model::from_text("app.race", APP, &[]).unwrap_or_else(|e| panic!("{e}")));

/// The JSON list of the potential pairs of [`MODEL`].
static WRITTEN: LazyLock<String> =
    LazyLock::new(|| PairsFile::new("app.race", 1, &MODEL.program.sites, &found(&MODEL)).to_json());

fn found(model: &Model) -> Vec<Candidate> {
    let limits = Limits { steps: 5_000, ..Limits::default() };
    let plan = CampaignPlan {
        limits,
        detection: DetectionPlan { runs: 4, ..DetectionPlan::default() },
        ..CampaignPlan::new(model)
    };
    detect(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress }).candidates
}

/// Returns the pairs of a list as text, with the unmatched ones, on one line; or the error.
fn told(text: &str) -> String {
    let sites = &MODEL.program.sites;
    match read(text, sites) {
        Err(error) => format!("error: {error}"),
        Ok(ListedPairs { pairs, unmatched, .. }) => {
            assert!(pairs.is_sorted_by(|p, q| p < q), "{pairs:?}");
            let pairs = pairs.iter().map(|p| format!("{} ~ {}", site_text(sites, p.a), site_text(sites, p.b)));
            pairs.chain(unmatched.iter().map(ToString::to_string)).collect::<Vec<_>>().join("; ")
        }
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(told(text), *expected, "{text:?}");
    }
}

/// Returns a list in JSON with these pairs.
fn json(pairs: &str) -> String {
    format!("{{\"format\": \"raceflip-pairs\", \"version\": 1, \"pairs\": [{pairs}]}}")
}

#[test]
fn what_is_written_reads_back_the_same() {
    let (mut models, mut pairs) = (0, 0);
    for path in all_models() {
        let model = load(&path, &[]);
        let candidates = found(&model);
        let text = PairsFile::new("a.race", model.digest(), &model.program.sites, &candidates).to_json();
        let listed = read(&text, &model.program.sites).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()));
        let expected: Vec<Pair> = candidates.iter().map(|c| c.pair).collect();
        assert_eq!((listed.pairs, listed.unmatched), (expected, vec![]), "{}\n{text}", path.display());
        assert_eq!(listed.program, Some(format!("{:016x}", model.digest())));
        models += 1;
        pairs += candidates.len();
    }
    println!("{models} models, {pairs} pairs");
    assert!(models > 250 && pairs > 450, "{models} models, {pairs} pairs");
}

#[test]
fn version_1_is_written_and_read() {
    let text =
        "var x = 0; thread a { @set: x = 1 }; looper main; task t() { @get: let y = x }; thread b { post t() to main }";
    let model = Model::from_text("two.race", text, &[]).unwrap();
    let mut file = PairsFile::new("two.race", 0xab, &model.program.sites, &found(&model));
    file.pairs[0].rank = Some("A".to_owned());
    let golden = r#"{
  "format": "raceflip-pairs",
  "version": 1,
  "file": "two.race",
  "program": "00000000000000ab",
  "pairs": [
    {
      "a": "@set",
      "b": "@get",
      "rank": "A",
      "location": "x",
      "contexts": [
        "thread-task"
      ],
      "seen": 4
    }
  ]
}"#;
    assert_eq!(file.to_json(), golden);
    let listed = read(golden, &model.program.sites).unwrap();
    assert_eq!((listed.pairs, listed.program.as_deref()), (vec![found(&model)[0].pair], Some("00000000000000ab")));
}

#[test]
fn a_site_stands_for_all_that_it_selects() {
    check(&[
        ("@set @get", "@set ~ @get"),
        ("@get @set", "@set ~ @get"),
        ("\n  # all\n\t@set\t~  @get # here\n@get @set", "@set ~ @get"),
        ("@up.write   of y ~ @add.read of y", "@up.write ~ @add.read"),
        ("@up @up", "@up.read of y ~ @up.write; @up.write ~ @up.write"),
        ("@set @set", "@set ~ @set"),
        ("7:48 8:48", "@set ~ @get"),
        ("Player.java:41 Player.java:87", "@set ~ @get"),
        ("src/Player.java:41 ~ a/b c/Player.java:87", "@set ~ @get"),
        ("/home/app/src/Player.java:41 @both.write", "@set ~ @both.write"),
        ("Player.java:90 Player.java:41", "@set ~ @both.write"),
        ("@free @v", "@v.read ~ @free; @v.write ~ @free"),
        ("\u{feff}@set @get\r\n\r\n# end\r\n@set @peek\r\n", "@set ~ @get; @set ~ @peek.read of x"),
        (&json(""), ""),
        (&json(r#"{"a": " @set", "b": "Player.java:87", "rank": 7, "note": [{}]}"#), "@set ~ @get"),
        (&format!("\u{feff}\r\n{}\r\n", json(r#"{"b": "@get", "a": "\u0040set"}"#)), "@set ~ @get"),
    ]);
}

#[test]
fn places_of_the_real_app_may_be_unknown() {
    check(&[
        (
            "@set @get\nPlayer.java:1 Menu.java:2\nayer.java:41 @get",
            "@set ~ @get; line 2: Player.java:1: no label's `from` names it; line 2: Menu.java:2: no label's `from` names it; \
             line 3: ayer.java:41: no label's `from` names it",
        ),
        (
            "@set @get\nother/Player.java:41 @get\nPlayer.java:50 @get",
            "@set ~ @get; line 2: other/Player.java:41: no label's `from` names it; \
             line 3: Player.java:50: the statement that models it accesses no plain memory",
        ),
        (
            "@set @get\nPlayer.java:87 Player.java:87\nPlayer.java:87 @v",
            "@set ~ @get; line 2: Player.java:87 ~ Player.java:87: both only read; \
             line 3: Player.java:87 ~ @v: they never touch the same memory, one of them writing",
        ),
        (
            "A.java:1 B.java:2\nA.java:1 @set",
            "error: none of its 2 pairs is in this model (the first: line 1: A.java:1: no label's `from` names it); \
             `@label from \"File.java:41\":` says which line a statement models",
        ),
    ]);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let not_two = "write `SITE SITE`, or `SITE ~ SITE` if one of them has blanks";
    let no_site = "is not a site: use `@label`, `@label.write of x`, `LINE:COLUMN`, or a line of the real app such as `Player.java:41`";
    check(&[
        ("", "error: it lists no pair: a line is `SITE SITE` or `SITE ~ SITE`"),
        ("# @set @get\n \n", "error: it lists no pair: a line is `SITE SITE` or `SITE ~ SITE`"),
        ("@set", &format!("error: line 1: a pair has two sites, and here is 1: {not_two}")),
        ("@set ~", &format!("error: line 1: a pair has two sites, and here is 1: {not_two}")),
        ("@up.write of y @add", &format!("error: line 1: a pair has two sites, and here are 4: {not_two}")),
        ("@set @get\n@set ~ @get ~ @up", &format!("error: line 2: a pair has two sites, and here are 3: {not_two}")),
        ("@set gut", &format!("error: line 1: `gut` {no_site}")),
        ("@set Player.java", &format!("error: line 1: `Player.java` {no_site}")),
        ("@set 12:x", &format!("error: line 1: `12:x` {no_site}")),
        ("@set 99999999999:1", &format!("error: line 1: `99999999999:1` {no_site}")),
        ("@set.wrote @get", &format!("error: line 1: `@set.wrote` {no_site}")),
        ("[]", &format!("error: line 1: a pair has two sites, and here is 1: {not_two}")),
        ("@set @gut", "error: line 1: no statement has the label `@gut`; did you mean `@get`?"),
        (
            "@set @lock",
            "error: line 1: `@set ~ @lock` is not a pair: one accesses memory and the other does not, so that they are neither a race nor two operations whose order matters; take it out of the list",
        ),
        ("\r\n@set 1:1", "error: line 2: no memory access and no operation whose order matters at `1:1`"),
        ("A.java:1 @gut", "error: line 1: no statement has the label `@gut`; did you mean `@get`?"),
        ("@get @peek", "error: line 1: `@get ~ @peek` is not a pair: both only read; take it out of the list"),
        (
            "@set @free",
            "error: line 1: `@set ~ @free` is not a pair: they never touch the same memory, one of them writing; take it out of the list",
        ),
        (
            &json("\n{\"a\": \"@set\", \"b\": \"@get\"},\n\n {\"a\": \"@get\", \n\"b\": \"@get\"}"),
            "error: line 4: `@get ~ @get` is not a pair: both only read; take it out of the list",
        ),
        (
            "{\"format\": \"raceflip-confirm\", \"version\": 1}",
            "error: its `format` is \"raceflip-confirm\", not \"raceflip-pairs\": `raceflip detect --out FILE` writes such a list",
        ),
        (
            "{\"format\": \"raceflip-pairs\", \"version\": 2, \"pairs\": 0}",
            "error: its `version` is 2; this raceflip reads version 1",
        ),
    ]);
}

#[test]
fn wrong_json_is_told_with_line_and_column() {
    let pair = |text: &str| json(&format!("\n\"\u{e9}\",\n{text}"));
    let cases = [
        ("{", (1, 1), "EOF while parsing an object"),
        ("{}", (1, 2), "missing field `format`"),
        ("\u{feff}{\n \"format\": \"\u{e9}\u{e9}\", x}", (2, 18), "key must be a string"),
        ("{\"format\": 7}", (1, 12), "invalid type: integer `7`, expected a string"),
        ("{\"format\": \"raceflip-pairs\"}", (1, 28), "missing field `version`"),
        ("{\"format\": \"raceflip-pairs\", \"version\": \"1\"}", (1, 43), "invalid type: string \"1\", expected u64"),
        ("{\"format\": \"raceflip-pairs\", \"version\": 1}", (1, 42), "missing field `pairs`"),
        (&json("\n")[..55], (2, 1), "EOF while parsing an object"),
        (&(json("") + "}"), (1, 56), "trailing characters"),
        (&pair("1"), (2, 3), "invalid type: string \"\u{e9}\", expected struct Ends"),
        (
            &json("\n{\"a\": \"\u{e9}\", \"c\": 1,\n  \"b\": 12}"),
            (3, 9),
            "invalid type: integer `12`, expected a string",
        ),
        (&json("{\"a\": \"@set\"}"), (1, 66), "missing field `b`"),
        (&json("[\"@set\", \"@get\", 1]"), (1, 71), "trailing characters"),
        (&json("{\"a\": \"@set\", \"a\": \"@set\"}"), (1, 70), "duplicate field `a`"),
    ];
    for (text, place, expected) in cases {
        match read(text, &MODEL.program.sites) {
            Err(PairsError::Json { line, column, reason }) => {
                assert_eq!(((line, column), &*reason), (place, expected), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn long_texts_are_cut_in_messages() {
    let long = "\u{e9}".repeat(1_000_000);
    for text in [
        format!("@set {long}"),
        format!("@set @{long}"),
        format!("@set {long}:1"),
        json(&format!("\"{long}\"")),
        json(&format!("{{\"a\": \"@{long}\", \"b\": \"1:1\"}}")),
        format!("{{\"format\": \"{long}\", \"version\": 1}}"),
        "[".repeat(1_000_000),
        "{\"a\":".repeat(1_000_000),
    ] {
        let error = told(&text);
        assert!(error.starts_with("error: ") && error.len() < 1_000, "{} bytes of error", error.len());
    }
}

#[test]
fn a_long_list_is_read_soon() {
    let row = "{\"a\": \"Player.java:41\", \"b\": \"Player.java:87\"}";
    assert_eq!(told(&json(format!("{row},\n").repeat(50_000).trim_end_matches(",\n"))), "@set ~ @get");
    assert_eq!(told(&"Player.java:41 Player.java:87\n".repeat(50_000)), "@set ~ @get");
}

/// Returns a text with a few changes: pieces are removed, repeated or inserted.
fn mutated(text: &str, seed: u64) -> String {
    const PIECES: [&str; 16] =
        ["{", "}", "[", "]", "\"", "\\", "\\u12", ":", ",", "~", "@", "#", "\n", "\u{1f980}", "9999999999", " of "];
    let mut rng = Rng::seeded(seed);
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=rng.below(4) {
        let at = rng.below(chars.len() as u32 + 1) as usize;
        let end = (at + rng.below(12) as usize).min(chars.len());
        let piece: Vec<char> = match rng.below(4) {
            0 => vec![],
            1 => chars[at..end].iter().chain(&chars[at..end]).copied().collect(),
            _ => PIECES[rng.below(PIECES.len() as u32) as usize].chars().collect(),
        };
        chars.splice(at..end, piece);
    }
    chars.into_iter().collect()
}

/// Reads a text, and checks the result or the error.
fn survive(text: &str) -> Result<(), TestCaseError> {
    let sites = &MODEL.program.sites;
    let lines = text.matches('\n').count() + 1;
    match read(text, sites) {
        Ok(listed) => {
            let can_be = |p: &Pair| sites[p.a].can_be_paired(&sites[p.b]);
            prop_assert!(listed.pairs.is_sorted_by(|p, q| p < q) && listed.pairs.iter().all(can_be));
            prop_assert!(listed.unmatched.iter().all(|u| (1..=lines).contains(&u.line)));
        }
        Err(error) => {
            prop_assert!(!error.to_string().is_empty());
            if let PairsError::Json { line, .. } | PairsError::Pair { line, .. } = error {
                prop_assert!((1..=lines).contains(&line), "line {line} of {lines}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,60}") {
        survive(&text)?;
        survive(&format!("{{{text}"))?;
        survive(&json(&format!("{{\"a\": \"@set\", \"b\": \"{text}\"}}")))?;
        let _ = text.parse::<SiteSpec>();
    }

    #[test]
    fn any_words_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "@set", "@get", "@up", "@up.write of y", "~", " ", "\n", "\r\n", "#", "Player.java:41", "/Player.java:41", "x/", ":", "7:48", "1:1",
            "Menu.java:1", ".read", "@lock", ".acquire", "@add.push", "\u{feff}", "{", "\u{85}",
        ]), 0..14)
    ) {
        survive(&words.concat())?;
        survive(&words.join(" "))?;
    }

    #[test]
    fn lists_with_changes_are_read_or_refused(seed: u64) {
        survive(&mutated(&WRITTEN, seed))?;
        survive(&mutated("@lock ~ @lock\n@add.push ~ @lock.acquire\n", seed))?;
        survive(&mutated("@set @get\n# x\nPlayer.java:41 ~ @up.write of y\n", seed))?;
    }
}

/// Order pairs are named like pairs of accesses, and a hint suggests only names that would work.
#[test]
fn order_pairs_can_be_named() {
    let folder = scratch("order-pairs");
    let text = "var x = 0\nvar y = 0\nlock l\nthread a { @p: acquire l; @x: x = 1; release l }\n\
        thread b { @q: acquire l; assert x == 1, \"late\"; release l }\nthread c { @p2: y = 1 }\n";
    let path = file(&folder, "o.race", text);
    for pair in ["@p~@q", "@q ~ @p", "@p.acquire~@q.acquire"] {
        let ran = call(&["confirm", &path, "--pair", pair]);
        assert!(
            ran.out.contains("HARMFUL order  lock l  :4 acquire @p ~ :5 acquire @q\n"),
            "{pair}: {}{}",
            ran.out,
            ran.err
        );
        assert!(ran.out.contains("\n0 pairs: ") && ran.out.contains("\n1 order pair: 1 harmful"), "{}", ran.out);
    }
    // A pair that is not harmful is reported as well, because the user asked for it.
    let calm = file(&folder, "calm.race", &text.replace("assert x == 1, \"late\"", "x = 2"));
    let ran = call(&["confirm", &calm, "--pair", "@p~@q"]);
    assert!(ran.out.contains("REAL order  lock l  "), "{}{}", ran.out, ran.err);
    let refused = |pair: &str, more: &[&str], says: &str| {
        let ran = call(&[&["confirm", &path, "--pair", pair], more].concat());
        assert!(ran.status == REFUSED && ran.err.contains(says), "{pair}: {}", ran.err);
    };
    refused("@p~@x", &[], "one accesses memory and the other does not");
    refused("@p~@qq", &[], "did you mean `@q`?");
    refused(
        "@p.write~@q",
        &[],
        "no memory access and no operation whose order matters at `@p.write`; did you mean `@p2`?",
    );
    refused("@p~@q", &["--no-orders"], "`--no-orders` excludes order pairs");
}
