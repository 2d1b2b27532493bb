//! Tests of renaming: the renamed model is the same program, and names that clash are refused.

use crate::client::{Client, applied, models, place, raceflip, read};
use crate::names::{FOLDERS, analysis};
use raceflip::base::Rng;
use raceflip::lang::editor::{NameScope, RenameError, SourceAnalysis};
use raceflip::lang::program::BUILT_IN_EXCEPTIONS;
use raceflip::vm::Model;
use serde_json::json;

fn replaced(analysis: &SourceAnalysis, offset: u32, new: &str) -> Result<String, RenameError> {
    let mut text = analysis.source().text().to_owned();
    for span in analysis.rename(offset, new)?.into_iter().rev() {
        text.replace_range(span.start as usize..span.end as usize, new);
    }
    Ok(text)
}

// What a model does, without its names: its sites, and the ends of runs.
fn shape(name: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let model = Model::from_text(name, text, &[]).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    let sites = model.program.sites.iter().map(|site| format!("{:?} {} {}", site.kind, site.line, site.ordinal));
    let mut machine = model.machine(raceflip::world::Limits { steps: 3000, ..Default::default() });
    let (mut strategy, stop) = (raceflip::sched::RandomWalk::new(), std::sync::atomic::AtomicBool::new(false));
    let runs = (0..6).map(|seed| {
        let end = raceflip::exec::run(&mut machine, &mut strategy, seed, &mut raceflip::exec::NoObserver, &stop);
        format!("{} {:?}", end.steps, end.outcome().map(std::mem::discriminant))
    });
    (sites.collect(), runs.collect())
}

/// Any symbol of any model can get a new name. Two of each model are compared by their runs.
#[test]
fn every_symbol_can_be_renamed() {
    let mut rng = Rng::seeded(11);
    let mut renamed = 0;
    for path in models(&FOLDERS) {
        let text = read(&path);
        let before = analysis(&path, &text);
        let symbols = before.names().symbols().iter();
        let own: Vec<_> = symbols.filter(|symbol| symbol.library.is_none()).collect();
        // Large models have many symbols of one kind.
        let step = own.len().div_ceil(25).max(1);
        let compared = rng.below(own.len().max(1) as u32) as usize;
        for (i, symbol) in own.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == compared) {
            let at = symbol.definition.start;
            let after = replaced(&before, at, "fresh_name_1");
            if symbol.scope == NameScope::Exception && BUILT_IN_EXCEPTIONS.contains(&symbol.name.as_str()) {
                assert!(matches!(after, Err(RenameError::Clash { .. })), "{path}: {symbol:?}");
                continue;
            }
            let after = after.unwrap_or_else(|error| panic!("{path}: {symbol:?}: {error}"));
            assert!(after.contains("fresh_name_1"));
            renamed += 1;
            if i == compared {
                assert_eq!(shape(&path, &text), shape(&path, &after), "{path}: {symbol:?}");
            }
            // Back again it is the old text.
            let again = analysis(&path, &after);
            let moved = after.find("fresh_name_1").unwrap() as u32;
            assert_eq!(replaced(&again, moved, &symbol.name).as_deref(), Ok(text.as_str()), "{path}: {symbol:?}");
        }
    }
    assert!(renamed > 2_000, "{renamed}");
}

/// A name that another symbol has, in any place where it would matter, is refused. What is accepted is the same
/// program.
#[test]
fn names_of_others_are_refused_where_it_matters() {
    let mut rng = Rng::seeded(3);
    let (mut refused, mut accepted) = (0, 0);
    for path in models(&["tests/models", "harnesses/bugs"]) {
        let text = read(&path);
        let before = analysis(&path, &text);
        let own: Vec<_> = before.names().symbols().iter().filter(|symbol| symbol.library.is_none()).collect();
        if own.len() < 2 {
            continue;
        }
        for _ in 0..4 {
            let [a, b] = [0, 1].map(|_| own[rng.below(own.len() as u32) as usize]);
            if a.name == b.name {
                continue;
            }
            match replaced(&before, a.definition.start, &b.name) {
                Ok(after) => {
                    accepted += 1;
                    assert_eq!(shape(&path, &text), shape(&path, &after), "{path}: {} to {}", a.name, b.name);
                    assert!(
                        a.scope != b.scope || a.scope != NameScope::File,
                        "{path}: {} to {}, both of the file",
                        a.name,
                        b.name
                    );
                }
                Err(RenameError::Clash { .. } | RenameError::Reserved(_)) => refused += 1,
                Err(error) => panic!("{path}: {error}"),
            }
        }
    }
    assert!(refused > 100 && accepted > 20, "{refused} {accepted}");
}

#[test]
fn what_is_no_name_is_refused() {
    let text = "var x = 0\nuse android\nthread t { x = 1 }\n\nthread u { let y = x; assert y == 0 }";
    let of = analysis("a.race", text);
    let check = |offset: u32, new: &str, why: &str| {
        let error = of.rename(offset, new).expect_err(new).to_string();
        assert!(error.contains(why), "{new}: {error}");
    };
    check(4, "", "is not a name");
    check(4, "1x", "is not a name");
    check(4, "a b", "is not a name");
    check(4, "\u{e9}", "is not a name");
    check(4, &"\u{1b}[31m".repeat(1000), "is not a name");
    check(4, "while", "is a reserved word");
    check(4, "t", "declared twice");
    check(4, "y", "hides a variable");
    check(0, "z", "there is no name here");
    assert_eq!(of.rename(4, "x"), Ok(Vec::new()), "the same name changes nothing");
    assert_eq!(of.rename(4, "post").map(|places| places.len()), Ok(3), "a word of the language may be a name");
    let thrown = "thread t { try { throw Oops, \"x\" } catch Oops { skip } }";
    let error = analysis("b.race", thrown).rename(23, "NullPointer").unwrap_err();
    assert!(error.to_string().contains("`NullPointer` is a built-in exception"), "{error}");
    let own = "thread t { throw NullPointer }\nthread u { try { skip } catch NullPointer { skip } }";
    let error = analysis("c.race", own).rename(17, "Other").unwrap_err();
    assert!(error.to_string().contains("`NullPointer` is a built-in exception"), "{error}");
}

/// The names of libraries stay as they are.
#[test]
fn names_of_libraries_are_refused() {
    let text = read(
        &models(&["tests/models"]).into_iter().find(|path| read(path).contains("use android")).expect("one uses it"),
    );
    let of = analysis("a.race", &text);
    let library: Vec<_> = of.names().symbols().iter().filter(|symbol| symbol.library.is_some()).collect();
    let mut checked = 0;
    for one in of.names().occurrences() {
        if of.names().symbols()[one.symbol].library.is_some() {
            checked += 1;
            let error = of.rename(one.span.start, "other").unwrap_err();
            assert!(error.to_string().contains("of the library `android`"), "{error}");
        }
    }
    assert!(checked > 2 && !library.is_empty(), "{checked}");
}

#[test]
fn a_client_renames_and_the_model_stays_valid() {
    let mut client = Client::start();
    let uri = "file:///r.race";
    let text = "// \u{1f600} `count`\nvar count = 0\nthread t { /* */ count += 1 }\n".replace("/* */ ", "");
    let text = text + "thread u { @here: count += 1 }\nexpect outcomes of count: ok 1, ok 2\n";
    client.open(uri, &text);
    let position = |at: usize| {
        let (line, character) = place(&text, at);
        json!({ "line": line, "character": character })
    };
    let count = text.rfind("count").unwrap();
    let found = client.at("textDocument/prepareRename", uri, place(&text, count + 2)).unwrap();
    assert_eq!((found["placeholder"].as_str(), &found["range"]["start"]), (Some("count"), &position(count)));
    let params = json!({ "textDocument": { "uri": uri }, "position": position(count), "newName": "total" });
    let edit = client.request("textDocument/rename", params).unwrap();
    let after = applied(&text, &edit["changes"][uri]);
    assert_eq!(after.matches("total").count(), 4, "{after}");
    assert!(after.contains("`count`"), "a comment is no name");
    assert_eq!(shape("r", &text), shape("r", &after));
    let params = json!({ "textDocument": { "uri": uri }, "position": position(count), "newName": "t" });
    let error = client.request("textDocument/rename", params).unwrap_err();
    assert_eq!(error["code"], -32803);
    assert!(error["message"].as_str().unwrap().contains("`t` is declared twice"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("after.race");
    std::fs::write(&path, &after).unwrap();
    assert!(raceflip().arg("check").arg(&path).status().unwrap().success());
    client.finish();
}
