//! Strategies by name: `random`, `round-robin`, `pct:3,steps=200`, `delay:2,steps=200`, `directed:@a~@b`.

use super::sites::SiteSpec;
use super::{DelayBounded, Directed, Divergence, Pct, RandomWalk, RoundRobin, Strategy, View};
use crate::base::IndexVec;
use crate::event::{Actor, Choice, Site, SiteId};
use crate::world::Question;
use std::fmt;
use std::str::FromStr;

/// A strategy with all its parameters, as a command line and a token say it.
///
/// # Examples
///
/// ```
/// use raceflip::sched::{Named, StrategySpec};
///
/// let spec: StrategySpec = "pct:3,steps=200".parse()?;
/// assert_eq!(spec, StrategySpec::Pct { depth: 3, steps: Some(200) });
/// assert_eq!(spec.to_string(), "pct:3,steps=200");
/// // The sites are those of the program that it is for: `@a` of `directed:@a~@b` must be one.
/// # use raceflip::vm::Model;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let strategy: Named = spec.build(&model.program.sites)?;
/// assert!("directed:@a~@b".parse::<StrategySpec>()?.build(&model.program.sites).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum StrategySpec {
    /// `random`: a uniform random walk.
    #[default]
    Random,
    /// `round-robin`: threads in turn.
    RoundRobin,
    /// `pct:D` or `pct:D,steps=K`: random priorities, lowered at D - 1 of K steps.
    Pct {
        /// The depth of the bugs that are looked for.
        depth: u32,
        /// About how many steps a run takes.
        steps: Option<u32>,
    },
    /// `delay:D` or `delay:D,steps=K`: a deterministic schedule, delayed at D of K steps.
    Delay {
        /// How often.
        delays: u32,
        /// About how many steps a run takes.
        steps: Option<u32>,
    },
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
    #[error("unknown strategy `{0}`: use `random`, `round-robin`, `pct:3`, `delay:2` or `directed:SITE~SITE`")]
    Strategy(String),
    /// A strategy that tokens have, and that draws nothing.
    #[error(
        "`explore` draws no run: it is the strategy of runs that a search has found, and only their tokens make them again"
    )]
    Searched,
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
    /// Depth or delays that are none.
    #[error("`{text}` is not a number from {least} to {MOST}: use `{strategy}:3` or `{strategy}:3,steps=1000`")]
    Depth {
        /// What was asked for.
        text: String,
        /// `pct` or `delay`.
        strategy: &'static str,
        /// 0 or 1.
        least: u32,
    },
    /// Steps that are none.
    #[error("`{0}` is not a number of steps, at least 1: use `steps=1000`")]
    Steps(String),
    /// Steps that nobody gave.
    #[error("`{0}` needs the number of steps that a run takes: use `{0},steps=1000`")]
    NoSteps(String),
    /// Patience that is no number.
    #[error("`{0}` is not a number of steps: use `patience=20000`")]
    Patience(String),
}

/// The greatest depth, and the most delays: a bound of 1/k^1000 says nothing.
const MOST: u32 = 1_000;

// What follows `pct` or `delay`: `:3`, `:3,steps=200`, or nothing. `None` if the text is another word.
fn bounded(
    rest: &str,
    strategy: &'static str,
    least: u32,
    default: u32,
) -> Option<Result<(u32, Option<u32>), SpecError>> {
    if rest.is_empty() {
        return Some(Ok((default, None)));
    }
    let rest = rest.strip_prefix(':')?;
    let (number, option) = rest.split_once(',').map_or((rest, None), |(n, o)| (n, Some(o)));
    let number = || {
        let n = number.parse().ok().filter(|n| (least..=MOST).contains(n));
        n.ok_or_else(|| SpecError::Depth { text: number.to_owned(), strategy, least })
    };
    let steps = |option: &str| {
        let n = option.strip_prefix("steps=").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
        n.ok_or_else(|| SpecError::Steps(option.to_owned()))
    };
    Some(number().and_then(|n| Ok((n, option.map(steps).transpose()?))))
}

impl FromStr for StrategySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text {
            "random" => return Ok(Self::Random),
            "round-robin" => return Ok(Self::RoundRobin),
            "explore" => return Err(SpecError::Searched),
            _ => {}
        }
        if let Some(found) = text.strip_prefix("pct").and_then(|r| bounded(r, "pct", 1, Pct::DEPTH)) {
            return found.map(|(depth, steps)| Self::Pct { depth, steps });
        }
        if let Some(found) = text.strip_prefix("delay").and_then(|r| bounded(r, "delay", 0, DelayBounded::DELAYS)) {
            return found.map(|(delays, steps)| Self::Delay { delays, steps });
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
            Self::Pct { depth: n, steps } | Self::Delay { delays: n, steps } => {
                let name = if matches!(self, Self::Pct { .. }) { "pct" } else { "delay" };
                write!(f, "{name}:{n}")?;
                steps.map_or(Ok(()), |k| write!(f, ",steps={k}"))
            }
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
    Pct(Box<Pct>),
    Delay(Box<DelayBounded>),
    Directed(Box<Directed>),
}

impl StrategySpec {
    /// With the steps that a run takes, where they are needed and were not given: those of a fixed profile run, never learnt from other runs of a campaign.
    #[must_use]
    pub fn profiled(mut self, profile: impl FnOnce() -> u64) -> Self {
        if let Self::Pct { steps, .. } | Self::Delay { steps, .. } = &mut self {
            steps.get_or_insert_with(|| u32::try_from(profile()).unwrap_or(u32::MAX).max(1));
        }
        self
    }

    /// The strategy, for a program with these sites.
    pub fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Named, SpecError> {
        let given = |steps: &Option<u32>| steps.ok_or_else(|| SpecError::NoSteps(self.to_string()));
        Ok(match self {
            Self::Random => Named::Random(RandomWalk::new()),
            Self::RoundRobin => Named::RoundRobin(RoundRobin::default()),
            Self::Pct { depth, steps } => Named::Pct(Box::new(Pct::new(*depth, given(steps)?))),
            Self::Delay { delays, steps } => Named::Delay(Box::new(DelayBounded::new(*delays, given(steps)?))),
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
            Named::Pct($strategy) => $does,
            Named::Delay($strategy) => $does,
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

    fn passes_over_forced(&self) -> bool {
        each!(self, s => s.passes_over_forced())
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        each!(self, s => s.argument(view, actor, question))
    }

    #[inline]
    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        each!(self, s => s.observe(view, choice));
    }
}
