//! Results of checks.

use crate::campaign::Verdict;
use std::fmt;

/// The result of a check without a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckReport {
    /// Number of runs that looked for a failure. A search through all runs leaves out those that only swap independent
    /// steps of other runs.
    pub runs: u64,
    /// Number of these runs that reached the limit of steps. A random walk of the program reaches none, or the check
    /// fails: it lets every thread act again and again. Other strategies may leave a thread alone that waits in a loop.
    pub cut: u64,
    /// Whether these are all runs of the program, so that no run fails: a search through all runs has come to its end,
    /// without a bound, a limit, or time that passes while a thread could go on.
    pub complete: bool,
    /// Pairs of accesses that race, with their verdicts; empty if none were looked for.
    pub pairs: Vec<CheckedPair>,
}

/// Two accesses that race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedPair {
    /// The first access: `write at src/pool.rs:12:9`.
    pub a: String,
    /// The second access.
    pub b: String,
    /// The value that both access.
    pub object: String,
    /// The verdict on the pair.
    pub verdict: Verdict,
    /// Tokens of runs that prove it.
    pub tokens: Vec<String>,
}

/// A failure of a check.
#[derive(Clone, Debug)]
pub struct CheckFailure {
    /// Number of the run that failed, from 1; 0 if it was replayed.
    pub run: u64,
    /// How the run ended: `panic: left != right at src/pool.rs:12:9`.
    pub what: String,
    /// Token of the smallest run that fails in this way.
    pub token: String,
    /// The report: how the run ended, its steps, and how to replay it.
    pub text: String,
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CheckFailure {}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.complete { ": these are all runs" } else { "" };
        write!(f, "{} runs, no failure{all}", self.runs)?;
        if self.cut > 0 {
            write!(f, " ({} of them were cut at the limit of steps)", self.cut)?;
        }
        for pair in &self.pairs {
            write!(f, "\n{} race on {}: {} ~ {}", pair.verdict, pair.object, pair.a, pair.b)?;
        }
        Ok(())
    }
}
