//! What is shown: on a terminal one screen, which is drawn in place; otherwise lines, as results come.

use super::WatchedModel;
use super::verdict::{Grade, ModelVerdict};
use crate::base::counted;
use crate::cli::io::output::{BAD, BOLD, DIM, GOOD, NOTE, ODD, Output, paint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Shows results.
pub(super) struct Screen {
    // The paths that are watched, as text.
    paths: String,
    // Whether the results are one screen.
    is_screen: bool,
    // Whether the summary of the last results was shown.
    rests: bool,
}

impl Screen {
    pub(super) fn new(paths: &[PathBuf], out: &Output) -> Self {
        let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Self { paths: paths.join(" "), is_screen: out.is_terminal(), rests: false }
    }

    /// Shows that a model is tested now.
    pub(super) fn begins(&mut self, path: &Path, known: &BTreeMap<PathBuf, WatchedModel>, out: &mut Output) {
        self.rests = false;
        if self.is_screen {
            let status = format!("testing {} ...", path.to_string_lossy());
            self.draw(known, &status, out);
        }
    }

    /// Shows the verdict on a model.
    pub(super) fn verdict(&mut self, verdict: &ModelVerdict, out: &mut Output) {
        if !self.is_screen {
            shown(verdict).iter().for_each(|line| writeln!(out, "{line}"));
            out.flush();
        }
    }

    /// Shows that a model is not there any more.
    pub(super) fn gone(&mut self, path: &Path, out: &mut Output) {
        self.rests = false;
        if !self.is_screen {
            writeln!(out, "{}  {}", paint(DIM, "GONE"), paint(BOLD, path.to_string_lossy()));
            out.flush();
        }
    }

    /// Shows that all models have verdicts.
    pub(super) fn rest(&mut self, known: &BTreeMap<PathBuf, WatchedModel>, out: &mut Output) {
        if self.rests {
            return;
        }
        self.rests = true;
        let summary = summary(known);
        if self.is_screen {
            self.draw(known, &format!("{summary}; waiting for changes, Ctrl-C ends"), out);
        } else {
            writeln!(out, "{}: {summary}", paint(NOTE, "watching"));
            out.flush();
        }
    }

    /// Leaves the screen as it is, with the cursor below it.
    pub(super) fn end(&mut self, out: &mut Output) {
        out.flush();
    }

    // Draws the whole screen. What is worst comes last, beside the status.
    fn draw(&self, known: &BTreeMap<PathBuf, WatchedModel>, status: &str, out: &mut Output) {
        let mut verdicts: Vec<&ModelVerdict> = known.values().filter_map(|model| model.verdict.as_ref()).collect();
        verdicts.sort_by_key(|verdict| verdict.grade);
        let mut lines = vec![paint(DIM, format_args!("raceflip watch {}", self.paths))];
        lines.extend(verdicts.into_iter().flat_map(shown));
        out.screen(&lines, status);
    }
}

fn shown(verdict: &ModelVerdict) -> Vec<String> {
    let (style, word) = match verdict.grade {
        Grade::Passed => (GOOD, "PASS"),
        Grade::Failed => (BAD, "FAIL"),
        Grade::Refused => (BAD, "ERROR"),
    };
    let about = if verdict.about.is_empty() { String::new() } else { format!("  {}", paint(DIM, &verdict.about)) };
    let head = format!("{}  {}{about}", paint(style, word), paint(BOLD, &verdict.name));
    std::iter::once(head).chain(verdict.lines.iter().map(|line| format!("      {line}"))).collect()
}

fn summary(known: &BTreeMap<PathBuf, WatchedModel>) -> String {
    let count = |grade| known.values().filter(|model| model.verdict.as_ref().is_some_and(|v| v.grade == grade)).count();
    let (passed, failed, refused) = (count(Grade::Passed), count(Grade::Failed), count(Grade::Refused));
    let mut parts = vec![paint(GOOD, format_args!("{passed} passed"))];
    if failed > 0 {
        parts.push(paint(BAD, format_args!("{failed} failed")));
    }
    if refused > 0 {
        parts.push(paint(BAD, format_args!("{refused} with errors")));
    }
    if known.is_empty() {
        parts = vec![paint(ODD, "there is no `.race` file yet")];
    }
    format!("{}: {}", counted(known.len() as u64, "model"), parts.join(", "))
}
