//! Decides exit statuses; no other place does.

use crate::event::Outcome;
use std::process::ExitCode;

/// Status with which a command ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) enum ExitStatus {
    /// Nothing was found.
    Nothing,
    /// Something was found.
    Found,
    /// Bad input or usage.
    Refused,
    /// A replay left its recording.
    Diverged,
    /// Interrupted by the user.
    Interrupted,
}

impl ExitStatus {
    /// Returns the number that the shell sees. (101 is a panic: a bug of raceflip.)
    pub(in crate::cli) fn number(self) -> u8 {
        match self {
            ExitStatus::Nothing => 0,
            ExitStatus::Found => 1,
            ExitStatus::Refused => 2,
            ExitStatus::Diverged => 3,
            ExitStatus::Interrupted => 130,
        }
    }

    pub(in crate::cli) fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// Combines the statuses of several parts: the one that says most about what went wrong.
    pub(in crate::cli) fn and(self, other: ExitStatus) -> Self {
        let rank = |s: ExitStatus| {
            [ExitStatus::Nothing, ExitStatus::Found, ExitStatus::Diverged, ExitStatus::Interrupted, ExitStatus::Refused]
                .iter()
                .position(|x| *x == s)
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// Returns the status of a run with this outcome: everything except `ok` counts as found.
    pub(in crate::cli) fn of(outcome: &Outcome) -> Self {
        if *outcome == Outcome::Ok { ExitStatus::Nothing } else { ExitStatus::Found }
    }
}
