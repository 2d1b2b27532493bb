//! Strategies by name: `random`, `round-robin`, `directed:@a~@b`.

use super::sites::SiteSpec;
use super::{Directed, Divergence, RandomWalk, RoundRobin, Strategy, View};
use crate::base::IndexVec;
use crate::event::{Actor, Choice, Site, SiteId};
use crate::world::Question;
use std::fmt;
use std::str::FromStr;

/// A strategy with all its parameters, as a command line and a token say it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum StrategySpec {
    /// `random`: a uniform random walk.
    #[default]
    Random,
    /// `round-robin`: threads in turn.
    RoundRobin,
    /// `directed:A~B` or `directed:A~B,patience=N`: RaceFuzzer at a pair.
    Directed {
        /// One statement.
        a: SiteSpec,
        /// The other.
        b: SiteSpec,
        /// Steps after which a postponed thread is released.
        patience: u64,
    },
}

/// Why a strategy or site cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpecError {
    /// No such strategy.
    #[error("unknown strategy `{0}`: use `random`, `round-robin` or `directed:SITE~SITE`")]
    Strategy(String),
    /// Not a site.
    #[error(
        "`{0}` is not a site: use `@label`, `@label.read`, `@label.write of x`, or `LINE:COLUMN` (accesses are read, write, use, free)"
    )]
    Site(String),
    /// A site that does not exist.
    #[error("no memory access at `{spec}`{}", near.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    NoSite {
        /// What was asked for.
        spec: String,
        /// A label like it.
        near: Option<String>,
    },
    /// Patience that is no number.
    #[error("`{0}` is not a number of steps: use `patience=20000`")]
    Patience(String),
}

impl FromStr for StrategySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text {
            "random" => return Ok(Self::Random),
            "round-robin" => return Ok(Self::RoundRobin),
            _ => {}
        }
        let unknown = || SpecError::Strategy(text.to_owned());
        let rest = text.strip_prefix("directed:").ok_or_else(unknown)?;
        let (pair, patience) = match rest.split_once(',') {
            None => (rest, Directed::PATIENCE),
            Some((pair, option)) => {
                let n = option.strip_prefix("patience=").ok_or_else(|| SpecError::Patience(option.to_owned()))?;
                (pair, n.parse().map_err(|_| SpecError::Patience(n.to_owned()))?)
            }
        };
        let (a, b) = pair.split_once('~').ok_or_else(unknown)?;
        Ok(Self::Directed { a: a.trim().parse()?, b: b.trim().parse()?, patience })
    }
}

impl fmt::Display for StrategySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Directed { a, b, patience } => {
                write!(f, "directed:{a}~{b}")?;
                if *patience != Directed::PATIENCE {
                    write!(f, ",patience={patience}")?;
                }
                Ok(())
            }
        }
    }
}

/// Any strategy that has a name.
#[derive(Clone)]
#[allow(missing_docs, reason = "each is the strategy of the same name")]
#[allow(clippy::large_enum_variant, reason = "there is one in a worker, made once")]
pub enum Named {
    Random(RandomWalk),
    RoundRobin(RoundRobin),
    Directed(Box<Directed>),
}

impl StrategySpec {
    /// The strategy, for a program with these sites.
    pub fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Named, SpecError> {
        Ok(match self {
            Self::Random => Named::Random(RandomWalk::new()),
            Self::RoundRobin => Named::RoundRobin(RoundRobin::default()),
            Self::Directed { a, b, patience } => {
                let mut race_set = a.resolve(sites)?;
                race_set.extend(b.resolve(sites)?);
                Named::Directed(Box::new(Directed::new(race_set, *patience)))
            }
        })
    }
}

/// Does something with the strategy, whichever it is; a call that the compiler can see through, since it is made at every step.
macro_rules! each {
    ($named:expr, $strategy:ident => $does:expr) => {
        match $named {
            Named::Random($strategy) => $does,
            Named::RoundRobin($strategy) => $does,
            Named::Directed($strategy) => $does,
        }
    };
}

impl Strategy for Named {
    fn begin(&mut self, seed: u64) {
        each!(self, s => s.begin(seed));
    }

    #[inline]
    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        each!(self, s => s.choose(view))
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        each!(self, s => s.argument(view, actor, question))
    }

    #[inline]
    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        each!(self, s => s.observe(view, choice));
    }
}
