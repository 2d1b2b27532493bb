//! Decides exit statuses; no other place does.

use crate::event::Outcome;
use std::process::ExitCode;

/// Status with which a command ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
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

impl Status {
    /// Returns the number that the shell sees. (101 is a panic: a bug of raceflip.)
    pub(super) fn number(self) -> u8 {
        match self {
            Status::Nothing => 0,
            Status::Found => 1,
            Status::Refused => 2,
            Status::Diverged => 3,
            Status::Interrupted => 130,
        }
    }

    pub(super) fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// Combines the statuses of several parts: the one that says most about what went wrong.
    pub(super) fn and(self, other: Status) -> Self {
        let rank = |s: Status| {
            [Status::Nothing, Status::Found, Status::Diverged, Status::Interrupted, Status::Refused]
                .iter()
                .position(|x| *x == s)
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// Returns the status of a run with this outcome: everything except `ok` counts as found.
    pub(super) fn of(outcome: &Outcome) -> Self {
        if *outcome == Outcome::Ok { Status::Nothing } else { Status::Found }
    }
}
