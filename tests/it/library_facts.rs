//! Tests of the library for Android: each fact about it is a model, every line about an order is judged by a search of
//! all states, and mistakes in the text of the library are noticed.

use crate::load::load_bytes;
use crate::support::{models, read};
use fancy_regex::Regex;
use raceflip::campaign::{CampaignContext, CampaignPlan, LineVerdict, NoProgress, TestPlan, test};
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

const LIBRARY: &str = "src/lang/library/android.race";
const FOLDER: &str = "harnesses/components";

/// The facts, and the models of each.
const FACTS: [(&str, &[&str]); 35] = [
    ("ACT1", &["activity_back"]),
    ("ACT2", &["activity_back", "activity_returns"]),
    ("ACT3", &["activity_back"]),
    ("ACT4", &["activity_finish"]),
    ("ACT5", &["activity_order", "activity_starts"]),
    ("ACT6", &["activity_starts"]),
    ("ACT7", &["activity_back"]),
    ("ACT8", &["activity_back", "activity_save"]),
    ("ACT9", &["activity_rotates"]),
    ("ACT10", &["activity_order", "activity_starts"]),
    ("SVC1", &["service_started"]),
    ("SVC2", &["service_kept", "service_started"]),
    ("SVC3", &["service_started"]),
    ("SVC4", &["service_bound"]),
    ("SVC5", &["service_bound"]),
    ("SVC6", &["service_bound"]),
    ("SVC7", &["service_bound"]),
    ("SVC8", &["service_bound", "service_clients"]),
    ("SVC9", &["service_both"]),
    ("RCV1", &["receiver_registered"]),
    ("RCV2", &["receiver_registered"]),
    ("RCV3", &["receiver_and_service"]),
    ("AST1", &["task_serial"]),
    ("AST2", &["task_serial"]),
    ("AST3", &["task_pool"]),
    ("AST4", &["task_cancelled"]),
    ("AST5", &["task_and_activity"]),
    ("AST6", &["task_serial"]),
    ("FRG1", &["fragment_life"]),
    ("FRG2", &["fragment_save", "fragment_view"]),
    ("LIV1", &["live_data_set"]),
    ("LIV2", &["live_data_owner"]),
    ("INT1", &["intent_service"]),
    ("JOB1", &["job_service"]),
    ("PRV1", &["provider"]),
];

/// The mistakes: the fact that fails, the kind whose text is changed, a part of that text, and what takes its place.
const MISTAKES: [(&str, &str, &str, &str); 36] = [
    ("ACT1", "activity", "else { start(); resume() }", "else { resume(); start() }"),
    ("ACT2", "activity", "        restart()\n", ""),
    ("ACT3", "activity", "hide: front -> paused { pause() }", "hide: front -> paused { }"),
    ("ACT4", "activity", "if finishing { destroy(); stage = gone } else { start(); resume() }", "start(); resume()"),
    ("ACT5", "activity", "by request when none front {", "by request {"),
    ("ACT5", "activity", "when none fresh && (", "when ("),
    ("ACT6", "activity", "{ finishing = true; stack = stack - (1 << depth) }", "{ finishing = true }"),
    ("ACT7", "activity", "events during front", "events during front | paused"),
    (
        "ACT8",
        "activity",
        "        stop()\n        if save_after_stop == 1 && !finishing { save() }",
        "        if save_after_stop == 1 && !finishing { save() }\n        stop()",
    ),
    ("ACT9", "activity", "next.create(true)", "next.create(false)"),
    ("ACT10", "activity", "end: stopped -> gone when finishing {", "end: stopped -> gone {"),
    ("SVC1", "service", "when asked deliver || clients > 0 { create() }", "when asked deliver || clients > 0 { }"),
    ("SVC2", "service", "{ if id == last { started = false } }", "{ started = false }"),
    ("SVC3", "service", "single until gone", "single"),
    ("SVC4", "service", "by request when bound {", "by request {"),
    ("SVC6", "service", "withdraw r; ", ""),
    ("SVC8", "service", "clients += 1; ask", "clients += 1; bound = false; ask"),
    ("SVC9", "service", "!started && clients == 0 && !bound &&", "!started &&"),
    ("RCV1", "registered_receiver", "if stage == listening { receive(..) }", "receive(..)"),
    ("RCV3", "receiver", "ask deliver(..)", "receive(..)"),
    ("AST1", "async_task", "post body() to serial", "fork body()"),
    ("AST2", "async_task", "pre(); post body() to serial", "post body() to serial; pre()"),
    ("AST3", "async_task", "pre(); fork body()", "pre(); post body() to serial"),
    ("AST4", "async_task", "if cancel_asked { cancelled() } else { done() }", "done()"),
    ("AST5", "async_task", "post finish() to looper", "finish()"),
    ("FRG1", "fragment", "before pause -> lower, before stop -> lower", "pause -> lower, stop -> lower"),
    ("FRG2", "fragment", "post move() to looper }\n    verb replace", "move() }\n    verb replace"),
    ("FRG2", "fragment", "view = 0; destroy_view()", "destroy_view()"),
    ("FRG2", "fragment", "if host.saved { throw IllegalState }", ""),
    ("FRG2", "fragment", "    follows activity: start -> saved = false\n", ""),
    ("LIV1", "live_data", "verb set(v) { take(v) }", "verb set(v) { post take(v) to looper }"),
    ("LIV1", "live_data", "take(pending) }", "if pending > value { take(pending) } }"),
    ("LIV2", "observer", "if host.shown && ", "if "),
    ("INT1", "intent_service", "post work(id, ..) to worker", "fork work(id, ..)"),
    ("JOB1", "job_service", " when !finished { stop_job() }", " { stop_job() }"),
    ("PRV1", "provider", "follows application: before create", "follows application: create"),
];

/// Returns the facts that the comment of a model names.
fn named_facts(text: &str) -> BTreeSet<String> {
    let comment: String = text.lines().take_while(|line| line.starts_with("//")).collect();
    let fact = Regex::new("[A-Z]{3}[0-9]+").expect("a pattern");
    fact.find_iter(&comment).map(|found| found.expect("no limit").as_str().to_owned()).collect()
}

fn model_text(name: &str) -> String {
    read(&format!("{FOLDER}/{name}.race"))
}

/// The table of facts agrees with the comments of the models. Each fact has a line that says what happens and one that
/// says what never does.
#[test]
fn every_fact_is_a_model() {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in models(FOLDER) {
        let name = path.trim_start_matches(FOLDER).trim_matches('/').trim_end_matches(".race").to_owned();
        for fact in named_facts(&read(&path)).into_iter().filter(|fact| fact[..3] != *"AB0") {
            named.entry(fact).or_default().insert(name.clone());
        }
    }
    let row = |(fact, models): &(&str, &[&str])| ((*fact).to_owned(), models.iter().map(|m| (*m).to_owned()).collect());
    assert_eq!(named, FACTS.iter().map(row).collect());
    let mut lines = BTreeSet::new();
    for (fact, models) in FACTS {
        let texts: Vec<String> = models.iter().map(|model| model_text(model)).collect();
        for word in [": real", ": never"] {
            let has = |text: &String| text.lines().any(|line| line.starts_with("expect order") && line.contains(word));
            assert!(texts.iter().any(has), "{fact}{word}");
        }
        for (model, text) in models.iter().zip(&texts) {
            lines.extend(text.lines().filter(|l| l.starts_with("expect order")).map(|l| format!("{model}: {l}")));
        }
    }
    assert!(lines.len() >= 74, "{} lines", lines.len());
}

/// Returns the lines of a model that do not hold. Every line was judged by all states.
fn broken(name: &str, text: &str) -> Vec<String> {
    let model: Model = load_bytes(name, text.as_bytes(), &[]);
    let campaign = CampaignPlan::new(&model);
    let plan = TestPlan { model: &model, campaign, walks: 0, states: 50_000, saved: &[], shrinks: false };
    let tested = test(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    assert!(tested.states.is_some(), "{name} has too many states");
    let wrong = tested.lines.iter().filter(|line| !matches!(line.verdict, LineVerdict::Met));
    wrong.map(|line| line.text.clone()).collect()
}

/// Returns a model with the text of the library in the place of its `use`.
fn with_library(model: &str, library: &str) -> String {
    let item = model.lines().find(|line| line.starts_with("use android")).expect("a model of the library");
    let mut library = library.to_owned();
    let setting = Regex::new("([a-z_]+) = ([0-9]+)").expect("a pattern");
    for found in setting.captures_iter(item) {
        let found = found.expect("no limit");
        let constant = Regex::new(&format!("const {} = [0-9]+", &found[1])).expect("a pattern");
        library = constant.replace(&library, format!("const {} = {}", &found[1], &found[2])).into_owned();
    }
    library + "\n" + &model.replacen(item, "", 1)
}

/// The facts hold with the library, and with its text in the file of the model. The second way is what the mistakes
/// are put into.
#[test]
fn the_facts_hold() {
    let library = read(LIBRARY);
    let all: BTreeSet<&str> = FACTS.iter().flat_map(|(_, models)| models.iter().copied()).collect();
    let mut wrong = Vec::new();
    for name in all {
        let text = model_text(name);
        for text in [with_library(&text, &library), text] {
            wrong.extend(broken(name, &text).into_iter().map(|line| format!("{name}: {line}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each mistake in the text of the library breaks a line of a model of its fact.
#[test]
fn mistakes_in_the_library_are_noticed() {
    let library = read(LIBRARY);
    let mut unnoticed = Vec::new();
    for (fact, kind, right, mistake) in MISTAKES {
        let begin = library.find(&format!("kind {kind} {{")).unwrap_or_else(|| panic!("no kind {kind}"));
        let end = library[begin..].find("\n}\n").map_or(library.len(), |end| begin + end);
        let body = &library[begin..end];
        assert_eq!(body.matches(right).count(), 1, "{kind}: {right}");
        let changed = format!("{}{}{}", &library[..begin], body.replacen(right, mistake, 1), &library[end..]);
        let (_, models) = FACTS.iter().find(|(known, _)| *known == fact).expect("a fact");
        if models.iter().all(|name| broken(name, &with_library(&model_text(name), &changed)).is_empty()) {
            unnoticed.push(format!("{fact}: {right} -> {mistake}"));
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}
