//! What the user typed: the groups of options that several commands share, with their parsers, and the headings of the
//! help. An option of a single command is in the file of that command.

mod atomicity;
mod campaign;
mod common;
mod limits;
mod report;

pub(in crate::cli) use atomicity::AtomicityArgs;
pub(in crate::cli) use campaign::{CampaignArgs, DetectorArg, number_of_runs, workers};
pub(in crate::cli) use common::{DefineArgs, Format, JobArgs, ResultArgs, SeedArgs, ToolArgs, VaryArgs};
pub(in crate::cli) use limits::LimitArgs;
pub(in crate::cli) use report::{ReportArgs, RunFormat, ViewArgs};

/// Headings of options in the help. An option has the same heading in each command.
pub(in crate::cli) mod head {
    pub(in crate::cli) const MODEL: &str = "Input";
    pub(in crate::cli) const EFFORT: &str = "Execution";
    pub(in crate::cli) const RESULT: &str = "Result";
    pub(in crate::cli) const SAVED: &str = "Saved failures";
    pub(in crate::cli) const GATE: &str = "Gate";
    pub(in crate::cli) const LONG: &str = "Long campaigns";
    pub(in crate::cli) const TIMELINE: &str = "Timeline";
    pub(in crate::cli) const LIMITS: &str = "Limits of a run (a run that reaches one ends with `limit`)";
    pub(in crate::cli) const BOUNDS: &str = "Bounds of the search (the result says which one was reached)";
}
