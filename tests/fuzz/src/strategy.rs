//! Fuzzes the names of strategies: the result is an error, or a strategy whose name parses to the same strategy and
//! whose run ends if the model has its statements.

use super::model::LIMITS;
use super::token::LOADED;
use raceflip::exec::{NoObserver, run};
use raceflip::sched::StrategySpec;
use std::sync::atomic::AtomicBool;

/// Checks the parser of strategy names on these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let spec: StrategySpec = match text.parse() {
        Ok(spec) => spec,
        Err(error) => return super::is_told(&error.to_string()),
    };
    let name = spec.to_string();
    let again: StrategySpec = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(again.to_string(), name);
    match spec.build(&LOADED.code.setup.sites) {
        Ok(mut strategy) => {
            let mut machine = LOADED.machine(LIMITS);
            let summary = run(&mut machine, &mut strategy, 1, &mut NoObserver, &AtomicBool::new(false));
            assert!(summary.steps <= LIMITS.steps && summary.outcome().is_some(), "{name}: {summary:?}");
        }
        Err(error) => super::is_told(&error.to_string()),
    }
}
