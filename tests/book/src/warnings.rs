//! Collects what mdBook warns about: to mdBook a warning is no failure.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::Mutex;

/// The warnings and errors that were logged.
pub(crate) struct Warnings(Mutex<Vec<String>>);

static WARNINGS: Warnings = Warnings(Mutex::new(Vec::new()));

/// Starts to collect.
pub(crate) fn install() -> &'static Warnings {
    log::set_logger(&WARNINGS).expect("no other logger is set");
    log::set_max_level(LevelFilter::Warn);
    &WARNINGS
}

impl Warnings {
    /// Returns what was collected.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no thread panics"))
    }
}

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().expect("no thread panics").push(format!("{}: {}", record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}
