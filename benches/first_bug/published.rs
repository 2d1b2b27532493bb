//! Reads published figures from small tables in `published/`, which name their sources.

use std::collections::BTreeMap;

/// A table with a row for each program and named columns.
pub(crate) struct Published {
    rows: BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>,
    /// Sources of the figures, as stated in the file.
    pub(crate) sources: Vec<&'static str>,
}

impl Published {
    /// Reads the published schedules to the first bug.
    pub(crate) fn schedules() -> Self {
        Self::of(include_str!("published/schedules.tsv"))
    }

    /// Reads RaceFuzzer's table 1.
    pub(crate) fn racefuzzer() -> Self {
        Self::of(include_str!("published/racefuzzer.tsv"))
    }

    fn of(text: &'static str) -> Self {
        let sources = text.lines().filter_map(|l| l.strip_prefix("# ")).collect();
        let mut lines = text.lines().filter(|l| !l.starts_with('#'));
        let columns: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        let row = |line: &'static str| {
            let cells: BTreeMap<_, _> = columns.iter().copied().zip(line.split('\t')).collect();
            (cells.get("program").copied().unwrap_or_default(), cells)
        };
        Self { rows: lines.map(row).collect(), sources }
    }

    /// Returns the programs.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.rows.keys().copied()
    }

    /// Returns a cell as it was published; empty if there is none.
    pub(crate) fn text(&self, program: &str, column: &str) -> &'static str {
        self.rows.get(program).and_then(|row| row.get(column)).copied().unwrap_or_default()
    }

    /// Returns the number of a cell: the mean over the trials that found the bug, even if some did not.
    pub(crate) fn number(&self, program: &str, column: &str) -> Option<f64> {
        let text = self.text(program, column);
        if text.starts_with("0/") { None } else { text.split(' ').next()?.parse().ok() }
    }

    /// Returns the number of a cell if all trials found the bug.
    pub(crate) fn always(&self, program: &str, column: &str) -> Option<f64> {
        self.number(program, column).filter(|_| !self.text(program, column).contains('/'))
    }
}
