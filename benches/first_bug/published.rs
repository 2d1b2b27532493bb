//! Published figures: small tables in `published/`, which name their sources.

use std::collections::BTreeMap;

/// A table: rows by program, cells by column.
pub(crate) struct Published {
    rows: BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>,
    /// What the file says of its sources.
    pub(crate) sources: Vec<&'static str>,
}

impl Published {
    /// Schedules to the first bug.
    pub(crate) fn schedules() -> Self {
        Self::of(include_str!("published/schedules.tsv"))
    }

    /// RaceFuzzer's table 1.
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

    /// The programs.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.rows.keys().copied()
    }

    /// A cell as it was published; empty if nothing was.
    pub(crate) fn text(&self, program: &str, column: &str) -> &'static str {
        self.rows.get(program).and_then(|row| row.get(column)).copied().unwrap_or_default()
    }

    /// The number of a cell, a mean over those that found it, also where not all did.
    pub(crate) fn number(&self, program: &str, column: &str) -> Option<f64> {
        let text = self.text(program, column);
        if text.starts_with("0/") { None } else { text.split(' ').next()?.parse().ok() }
    }

    /// The number where all trials found it.
    pub(crate) fn always(&self, program: &str, column: &str) -> Option<f64> {
        self.number(program, column).filter(|_| !self.text(program, column).contains('/'))
    }
}
