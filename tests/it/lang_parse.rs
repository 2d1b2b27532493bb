//! Every model parses, and prints to itself.

use std::path::Path;

use raceflip::lang::{Source, parse, print, render};

#[test]
fn every_model_parses_and_prints_to_itself() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut models = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "race") {
            continue;
        }
        models += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = Source::from_bytes(name.as_str(), &std::fs::read(&path).unwrap()).unwrap();
        let tree = parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false)));
        let printed = Source::new(name, &print(&tree)).unwrap();
        let again = parse(&printed).unwrap_or_else(|errors| panic!("{}", render(&printed, &errors, false)));
        assert_eq!(tree, again, "{}", printed.text());
        assert_eq!(printed.text(), print(&again), "printing is stable");
    }
    assert!(models >= 95, "{models} models");
}
