//! Why the text of a strategy or a site cannot be used.

use super::spec::StrategySpec;

/// The reason why a selection of sites is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MissingSite {
    /// No statement has the label.
    #[error("no statement has the label")]
    Label,
    /// The place may have a statement, but no memory access.
    #[error("no memory access at")]
    Access,
    /// The place may have a statement, but neither a memory access nor an operation whose order matters.
    #[error("no memory access and no operation whose order matters at")]
    Operation,
}

/// The reason why a strategy or a site cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpecError {
    /// The text names no strategy.
    #[error("unknown strategy `{0}`: use {examples}", examples = StrategySpec::examples())]
    Strategy(String),
    /// The strategy exists only in tokens: a search or a campaign found the run, and no seed draws it.
    #[error(
        "`{0}` draws no run: it is the strategy of runs that a search or a campaign has found, and only their tokens replay them"
    )]
    Found(String),
    /// The text is not a selection of sites.
    #[error(
        "`{0}` is not a site: use `@label`, `@label.read`, `@label.write of x`, or `LINE:COLUMN` (accesses are read, write, use, free; other operations go by their word: `@label.acquire`)"
    )]
    Site(String),
    /// The program has no such site.
    #[error("{missing} `{spec}`{}", near.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    NoSite {
        /// The selection that was given.
        spec: String,
        /// The reason why it is empty.
        missing: MissingSite,
        /// A similar label that exists.
        near: Option<String>,
    },
    /// The strategy does not have this option, or the option does not have this value.
    #[error("`{option}` is {problem}")]
    Option {
        /// Name of the strategy.
        strategy: &'static str,
        /// The option, its value, or the whole text of the strategy, as it was given.
        option: String,
        /// What is wrong, and what the strategy wants instead: "not a number of steps: use `patience=20000`".
        problem: String,
    },
    /// The strategy needs the result of a profile run, and none was supplied.
    #[error("`{spec}` needs {needs}")]
    Profile {
        /// The text of the strategy.
        spec: String,
        /// What a profile run supplies.
        needs: String,
    },
}
