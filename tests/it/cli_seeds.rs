//! Tests of saved failures of `raceflip test`: they are written, replayed first, and never lost.

use crate::cli::{FOUND, REFUSED, file, raceflip, scratch};
use crate::cli_test::{RIGHT, WRONG, counter, seeds, within};
use raceflip::formats::seed::SeedFile;

#[test]
fn failures_are_saved_and_made_again_first() {
    let folder = scratch("test-seeds");
    std::fs::create_dir_all(folder.join("app")).unwrap();
    let path = file(&folder, "app/m.race", &counter(WRONG));
    let none = within(&folder, &["test", "app", "--no-save"]);
    assert!(none.status == FOUND && seeds(&folder).is_empty());
    let first = within(&folder, &["test", "app"]);
    let [name] = &seeds(&folder)[..] else { panic!("{}", first.out) };
    assert!(first.out.contains("app/m.race:7: expect no failure if FIXED == 0\n"), "{}", first.out);
    assert!(first.out.contains(&format!("saved as seeds/{name})")), "{}", first.out);
    let text = std::fs::read_to_string(folder.join("seeds").join(name)).unwrap();
    let (seed, token) = SeedFile::read(&text).expect("a saved failure");
    assert_eq!((seed.model.as_str(), seed.defines["FIXED"]), ("app/m.race", 0));
    assert_eq!((seed.signature.as_str(), token.signature.as_str()), ("failure property both", "failure property both"));
    // The replay command in the file's comment works.
    let command = text.lines().find_map(|l| l.strip_prefix("#     raceflip ")).expect("a command");
    let replayed = within(&folder, &command.split(' ').collect::<Vec<_>>());
    assert!(replayed.status == FOUND && replayed.out.contains("failure: property both"), "{}", replayed.err);
    // With a single walk, the replay of the saved failure shows it, and no new file is saved. This also holds from
    // another folder, and for another path to the model.
    for args in [&["test", "app", "--runs", "1", "--seed", "5"][..], &["test", "./app/../app/m.race", "--runs", "1"]] {
        let again = within(&folder, args);
        assert_eq!(again.status, FOUND);
        assert!(again.out.contains(&format!("note: seeds/{name} still fails: failure property both")), "{}", again.out);
        assert_eq!(seeds(&folder), std::slice::from_ref(name));
    }
    let elsewhere = within(&folder.join("app"), &["test", "m.race", "--seeds", "../seeds", "--runs", "1"]);
    assert!(elsewhere.out.contains(&format!("note: ../seeds/{name} still fails")), "{}", elsewhere.out);
    assert_eq!(std::fs::read_to_string(folder.join("seeds").join(name)).unwrap(), text);
    // The same test writes the same bytes.
    std::fs::remove_dir_all(folder.join("seeds")).unwrap();
    within(&folder, &["test", "app", "--jobs", "1"]);
    assert_eq!(std::fs::read_to_string(folder.join("seeds").join(name)).unwrap(), text);
    // After an edit that the replay does not notice, the failure counts as fixed.
    std::fs::write(&path, counter(WRONG).replace("x == 2", "x >= 1")).unwrap();
    let fixed = within(&folder, &["test", "app"]);
    let note = format!("note: fixed: failure property both has become ok; delete seeds/{name}\n");
    assert!(fixed.status == 0 && fixed.out.contains(&note), "{}", fixed.out);
    // After an edit around the failure, a tolerant replay still finds it.
    std::fs::write(&path, counter(WRONG).replace("else { x += 1 } }", "else { skip; x += 1; skip } }")).unwrap();
    let edited = within(&folder, &["test", "app", "--runs", "1"]);
    assert!(edited.out.contains(&format!("note: seeds/{name} still fails")), "{}", edited.out);
    // After the repair, the run can no longer be replayed.
    std::fs::write(&path, counter(WRONG).replace("FIXED == 1", "FIXED == 0")).unwrap();
    let repaired = within(&folder, &["test", "app"]);
    assert!(
        repaired.status == 0 && repaired.out.contains("the model was edited (step 1: expected "),
        "{}",
        repaired.out
    );
    assert!(
        repaired.out.contains("the closest replay ends `ok`; if failure property both is fixed, delete the file"),
        "{}",
        repaired.out
    );
    // If a constant no longer exists, the failure is replayed without it, and the result is reported.
    std::fs::write(&path, "thread t { skip }\nexpect outcomes: ok\n").unwrap();
    let gone = within(&folder, &["test", "app"]);
    let note = format!("seeds/{name}: the model was edited (step 1: ");
    assert!(
        gone.status == 0 && gone.out.contains(&note) && gone.out.contains("the closest replay ends `ok`"),
        "{}",
        gone.out
    );
}

/// A saved failure is replayed whichever variants the lines name now, and whichever constants were given when it was
/// saved.
#[test]
fn a_saved_failure_of_any_variant_is_made_again() {
    let folder = scratch("test-seeds-variants");
    let model = |more: &str, lines: &str| {
        format!(
            "const N = 2\n{more}var x = 0\nthread t {{ x = N }}\nproperty small at end {{ x < 3 }}\n{lines}expect no failure\n"
        )
    };
    let path = file(&folder, "m.race", &model("", ""));
    let saved = within(&folder, &["test", "m.race", "-D", "N=7"]);
    let [name] = &seeds(&folder)[..] else { panic!("{}", saved.out) };
    let fails = format!("note: seeds/{name} still fails: failure property small\n");
    // The saved variant is tested besides those that the lines name, and only the saved one fails.
    let check = |args: &[&str], variants: &[&str]| {
        let ran = within(&folder, &[&["test", "m.race", "--runs", "20"], args].concat());
        let first: Vec<&str> = ran.out.lines().filter(|l| l.starts_with("PASS") || l.starts_with("FAIL")).collect();
        assert_eq!(first.len(), variants.len() + ran.out.matches("\nFAIL  m.race N=7").count().min(1), "{}", ran.out);
        for (line, variant) in first.iter().zip(variants) {
            assert!(line.starts_with(variant), "{}", ran.out);
        }
        assert!(ran.out.contains(&fails) && !ran.out.contains("delete"), "{}", ran.out);
        assert_eq!((ran.status, seeds(&folder)), (FOUND, vec![name.clone()]), "{}", ran.out);
    };
    check(&[], &["PASS  m.race  1", "FAIL  m.race N=7  1"]);
    check(&["-D", "N=7"], &["FAIL  m.race N=7  1"]);
    // With `-D` for another value, the saved variant is not tested.
    let other = within(&folder, &["test", "m.race", "-D", "N=1"]);
    assert!(other.status == 0 && !other.out.contains(name), "{}", other.out);
    // A new condition gives each variant another constant.
    std::fs::write(&path, model("const MODE = 0\n", "expect outcomes of x: ok 2 if MODE == 1 && N == 2\n")).unwrap();
    let variants = ["PASS  m.race MODE=0 N=2", "PASS  m.race MODE=1 N=2", "FAIL  m.race N=7  1"];
    check(&[], &variants);
    // Now the lines name the saved variant themselves.
    std::fs::write(&path, model("", "expect failure if N == 7\n").replace("expect no failure", "expect no deadlock"))
        .unwrap();
    let expected = within(&folder, &["test", "m.race", "--runs", "20"]);
    assert!(expected.status == 0 && expected.out.contains("PASS  m.race N=7  2"), "{}", expected.out);
    assert!(expected.out.contains(&fails), "{}", expected.out);
    // The saved variant has an error that the checker reports.
    std::fs::write(&path, model("const Z = 1 / (7 - N)\n", "")).unwrap();
    let refused = within(&folder, &["test", "m.race", "--runs", "20"]);
    assert!(refused.status == REFUSED && refused.out.contains("PASS  m.race  1"), "{}", refused.out);
    assert!(refused.err.contains(&format!("m.race with N=7, which seeds/{name} is of")), "{}", refused.err);
}

/// The folder of saved failures may be anywhere: the model has one relative path from it, and the replay command in a
/// file's comment works.
#[test]
fn seeds_lie_anywhere() {
    let folder = scratch("test-seeds-anywhere");
    for (number, (seeds, model, above)) in
        [("a/b/c", "../../m.race", "a/b"), ("new/../other/seeds", "../m.race", "other"), (".", "FOLDER/m.race", "..")]
            .into_iter()
            .enumerate()
    {
        let folder = folder.join(number.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        file(&folder, "m.race", &counter(WRONG));
        within(&folder, &["test", "m.race", "--seeds", seeds]);
        let again = within(&folder, &["test", "m.race", "--seeds", seeds, "--runs", "1"]);
        assert!(again.out.contains("still fails: failure property both"), "{seeds}: {}", again.out);
        let mut files = std::fs::read_dir(folder.join(seeds)).unwrap().map(|e| e.unwrap().path());
        let path = files.find(|p| p.extension().is_some_and(|e| e == "toml")).expect("a saved failure");
        let text = std::fs::read_to_string(path).unwrap();
        let (seed, _) = SeedFile::read(&text).expect("a saved failure");
        assert_eq!(seed.model, model.replace("FOLDER", &number.to_string()));
        let command = text.lines().find_map(|l| l.strip_prefix("#     raceflip ")).expect("a command");
        let replayed = within(&folder.join(above), &command.split(' ').collect::<Vec<_>>());
        assert!(replayed.status == FOUND && replayed.out.contains("failure: property both"), "{}", replayed.err);
    }
}

/// A failure that cannot be written completely leaves no file.
#[cfg(unix)]
#[test]
fn no_half_of_a_failure_is_saved() {
    let folder = scratch("test-full");
    file(&folder, "m.race", &counter(WRONG));
    // No file may grow, so each write fails as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" test m.race";
    let program = raceflip().get_program().to_owned();
    let output = std::process::Command::new("sh").current_dir(&folder).args(["-c", script]).arg(program).output();
    let output = output.expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("cannot save a failure in `seeds/m-"), "{err}");
    assert_eq!((output.status.code(), seeds(&folder)), (Some(REFUSED), Vec::new()));
    let next = within(&folder, &["test", "m.race"]);
    assert_eq!((next.status, seeds(&folder).len()), (FOUND, 1), "{}", next.err);
}

#[test]
fn a_saved_failure_is_never_overwritten() {
    let folder = scratch("test-overwrite");
    file(&folder, "m.race", &counter(WRONG));
    within(&folder, &["test", "m.race", "--explore-limit", "0"]);
    let name = seeds(&folder).remove(0);
    let at = folder.join("seeds").join(&name);
    // Another model's file has the same name.
    let foreign = std::fs::read_to_string(&at).unwrap().replace("model = \"m.race\"", "model = \"n.race\"");
    std::fs::write(&at, &foreign).unwrap();
    std::fs::write(folder.join("seeds/README"), "kept by hand").unwrap();
    let ran = within(&folder, &["test", "m.race", "--explore-limit", "0", "--seed", "9"]);
    assert_eq!(ran.status, FOUND, "{}", ran.err);
    let second = name.replace(".toml", "-2.toml");
    assert_eq!(seeds(&folder), ["README".to_owned(), second, name.clone()]);
    assert_eq!(std::fs::read_to_string(&at).unwrap(), foreign);
}

#[test]
fn a_seed_file_that_cannot_be_read_is_told_and_the_rest_is_tested() {
    let folder = scratch("test-bad-seeds");
    file(&folder, "m.race", &counter(RIGHT));
    std::fs::create_dir_all(folder.join("seeds")).unwrap();
    let check = |text: &str, expected: &str| {
        std::fs::write(folder.join("seeds/x.toml"), text).unwrap();
        let ran = within(&folder, &["test", "m.race", "--runs", "100"]);
        assert_eq!(ran.status, REFUSED);
        assert!(ran.out.contains("Summary: 2 variants: 2 passed\n"), "{}", ran.out);
        assert!(ran.err.contains("cannot read the saved failure `seeds/x.toml`: "), "{}", ran.err);
        assert!(ran.err.contains(expected) && ran.err.contains("repair or delete the file"), "{}", ran.err);
    };
    check("token = \n", "line 1: ");
    check("format = \"raceflip-seed\"\nversion = 1\n", "missing field");
    check("format = \"raceflip-seed\"\nversion = 7\n", "version");
    check("format = \"other\"\nversion = 1\n", "not \"raceflip-seed\"");
    let fields =
        "format = \"raceflip-seed\"\nversion = 1\nmodel = \"m.race\"\nexpectation = \"\"\nsignature = \"ok\"\n";
    check(&format!("{fields}token = \"rf1-AAAA\"\n"), "its `token` cannot be used");
    std::fs::write(folder.join("seeds/x.toml"), [0xff, 0xfe]).unwrap();
    assert_eq!(within(&folder, &["test", "m.race", "--runs", "100"]).status, REFUSED);
}
