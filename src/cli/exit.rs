//! Exit statuses: the one place where they are decided.

use crate::event::Outcome;
use std::process::ExitCode;

/// How a command ended.
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
    /// The number that the shell sees. (101 is a panic: our own bug.)
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

    /// The status of several things done one after the other: the one that says most of what went wrong.
    pub(super) fn and(self, other: Status) -> Self {
        let rank = |s: Status| {
            [Status::Nothing, Status::Found, Status::Diverged, Status::Interrupted, Status::Refused]
                .iter()
                .position(|x| *x == s)
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// The status of a run that ended so: everything but `ok` is something found.
    pub(super) fn of(outcome: &Outcome) -> Self {
        if *outcome == Outcome::Ok { Status::Nothing } else { Status::Found }
    }
}
