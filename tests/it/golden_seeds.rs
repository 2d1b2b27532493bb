//! The golden corpus: each saved failure in `seeds/` replays to the failure that its file names.
//!
//! A change that reads an old token differently, or that schedules its run differently, fails here.

use crate::support::read;
use raceflip::exec::{NoObserver, run};
use raceflip::formats::seed::SeedFile;
use raceflip::sched::Replay;
use raceflip::vm::Model;
use raceflip::world::signature;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bugs none of whose runs fails: a reported order cannot happen, or does no harm.
const WITHOUT_FAILURE: [&str; 4] = ["looper_fifo", "messenger_debug", "serial_null", "sgtpuzzles_guard"];

/// Names of the files of a folder that end in this, without the ending.
fn names(folder: &str, ending: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let all = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    all.filter_map(|name| name.to_string_lossy().strip_suffix(ending).map(str::to_owned)).collect()
}

#[test]
fn each_saved_failure_replays_as_it_was() {
    for name in names("seeds", ".toml") {
        let (file, token) = SeedFile::read(&read(&format!("seeds/{name}.toml"))).expect("a saved failure");
        let defines: Vec<(String, i64)> = file.defines.clone().into_iter().collect();
        let model = Model::from_text(&file.model, &read(&file.model), &defines).expect("a model");
        assert_eq!(token.program, model.digest(), "{name}: the model has changed since");
        let mut machine = model.machine(token.limits);
        let mut replay = Replay::new(Arc::new(token.schedule.clone()));
        let summary = run(&mut machine, &mut replay, 0, &mut NoObserver, &AtomicBool::new(false));
        let outcome = summary.outcome().unwrap_or_else(|| panic!("{name}: {:?}", summary.end));
        assert_eq!(signature(&model.code.setup, outcome), file.signature, "{name}");
    }
}

#[test]
fn each_bug_has_a_saved_failure() {
    let saved: BTreeSet<String> =
        names("seeds", ".toml").iter().filter_map(|n| n.split_once('-')).map(|(m, _)| m.to_owned()).collect();
    let without: BTreeSet<String> = names("harnesses/bugs", ".race").difference(&saved).cloned().collect();
    assert_eq!(without, WITHOUT_FAILURE.map(str::to_owned).into());
}
