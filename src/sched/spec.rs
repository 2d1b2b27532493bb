//! Strategies by name: `random`, `round-robin`, `pct:3,steps=200`, `delay:2,steps=200`, `pos`, `surw:@a,@b`, `pctcp:3`,
//! `directed:@a~@b`, `hold:@a<@b`, `avoid:@a,@b`.

use super::sites::SiteSpec;
use super::{
    AvoidSpec, Avoiding, Counts, DelayBounded, Directed, Divergence, HoldSpec, Holding, Holds, Pct, Pctcp, Pos,
    RandomWalk, RoundRobin, Strategy, Surw, SurwSpec, View,
};
use crate::base::IndexVec;
use crate::event::{Actor, Choice, Site, SiteId};
use crate::world::Question;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A strategy with all its parameters, in the syntax of command lines and tokens.
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
    /// `pct:D` or `pct:D,steps=K`: random priorities with D - 1 priority change points in K steps.
    Pct {
        /// Depth of the bugs to look for.
        depth: u32,
        /// Approximate number of steps of a run.
        steps: Option<u32>,
    },
    /// `delay:D` or `delay:D,steps=K`: a deterministic schedule with D delays in K steps.
    Delay {
        /// Number of delays.
        delays: u32,
        /// Approximate number of steps of a run.
        steps: Option<u32>,
    },
    /// `pctcp:D` or `pctcp:D,steps=K`: PCT with one priority per chain of ordered threads and tasks.
    Pctcp {
        /// Depth of the bugs to look for.
        depth: u32,
        /// Approximate number of steps of a run.
        steps: Option<u32>,
    },
    /// `pos`: a random priority for each pending operation.
    Pos,
    /// `surw` or `surw:A,B`: each order of the interesting events is equally likely.
    Surw(SurwSpec),
    /// `directed:A~B` or `directed:A~B,patience=N`: RaceFuzzer for one pair.
    Directed {
        /// One statement of the pair.
        a: SiteSpec,
        /// The other statement of the pair.
        b: SiteSpec,
        /// Number of steps after which a postponed thread is released.
        patience: u64,
        /// `directed:A~B,visits=40/3`: the number of visits of each statement in a run. Each run lets a random number
        /// of the first visits pass.
        visits: Option<(u32, u32)>,
    },
    /// `hold:A<B`, `hold:A<B,way=2,profile=7`: B is held until A has been performed.
    Hold(HoldSpec),
    /// `avoid:A,B`: a thread that is pending at one of these statements is held as long as another actor can act.
    Avoid(AvoidSpec),
}

/// The reason why a selection of sites is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Missing {
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
    #[error(
        "unknown strategy `{0}`: use `random`, `round-robin`, `pct:3`, `pctcp:3`, `delay:2`, `pos`, `surw`, `surw:SITE,SITE`, `directed:SITE~SITE`, `hold:SITE<SITE` or `avoid:SITE,SITE`"
    )]
    Strategy(String),
    /// The strategy exists only in tokens: a search or a campaign found the run, and no seed draws it.
    #[error(
        "`{0}` draws no run: it is the strategy of runs that a search or a campaign has found, and only their tokens make them again"
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
        missing: Missing,
        /// A similar label that exists.
        near: Option<String>,
    },
    /// The depth or the number of delays is not a number, or out of range.
    #[error("`{text}` is not a number from {least} to {MOST}: use `{strategy}:3` or `{strategy}:3,steps=1000`")]
    Depth {
        /// The text that was given.
        text: String,
        /// The strategy: `pct`, `pctcp` or `delay`.
        strategy: &'static str,
        /// The least number that is allowed: 0 or 1.
        least: u32,
    },
    /// The number of steps is not a positive number.
    #[error("`{0}` is not a number of steps, at least 1: use `steps=1000`")]
    Steps(String),
    /// The number of steps is missing, and no profile run supplied it.
    #[error("`{0}` needs the number of steps that a run takes: use `{0},steps=1000`")]
    NoSteps(String),
    /// The numbers of visits are not two positive numbers.
    #[error("`{0}` is not how often two statements are visited: use `visits=40/3`")]
    Visits(String),
    /// `hold` has no such option, or the option's value is out of range.
    #[error("`{0}` is no option of `hold`: use `way=2` (from 1), `guided`, `later=1` or `profile=SEED`")]
    HoldOption(String),
    /// The ways to force the order are missing: no profile run was performed.
    #[error("`{0}` needs a run that shows how the order can be brought about")]
    NoHolds(String),
    /// The numbers of interesting events are missing: no profile run was performed.
    #[error("`{0}` needs a run that shows how many interesting events there are")]
    NoCounts(String),
    /// The profile run shows no way with this number, or no way at all.
    #[error("`{spec}`: {}", no_way(*there))]
    NoWay {
        /// The strategy that was given.
        spec: String,
        /// Number of ways that the profile run shows.
        there: usize,
    },
    /// The patience is not a number, or the option is unknown.
    #[error("`{0}` is not a number of steps: use `patience=20000`")]
    Patience(String),
}

/// Maximum depth and maximum number of delays. A bound of 1/k^1000 would say nothing.
const MOST: u32 = 1_000;

// Parses the text behind `pct`, `pctcp` or `delay`: `:3`, `:3,steps=200`, or nothing. `None` if the text continues
// another word.
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
            "pos" => return Ok(Self::Pos),
            "explore" | "confirm" => return Err(SpecError::Found(text.to_owned())),
            _ => {}
        }
        if let Some(found) = text.strip_prefix("pct").and_then(|r| bounded(r, "pct", 1, Pct::DEPTH)) {
            return found.map(|(depth, steps)| Self::Pct { depth, steps });
        }
        if let Some(found) = text.strip_prefix("pctcp").and_then(|r| bounded(r, "pctcp", 1, Pctcp::DEPTH)) {
            return found.map(|(depth, steps)| Self::Pctcp { depth, steps });
        }
        if let Some(found) = text.strip_prefix("delay").and_then(|r| bounded(r, "delay", 0, DelayBounded::DELAYS)) {
            return found.map(|(delays, steps)| Self::Delay { delays, steps });
        }
        let unknown = || SpecError::Strategy(text.to_owned());
        if let Some(rest) = text.strip_prefix("hold:") {
            return rest.parse().map(Self::Hold);
        }
        if let Some(rest) = text.strip_prefix("avoid:") {
            return rest.parse().map(Self::Avoid);
        }
        if let Some(rest) = text.strip_prefix("surw") {
            return rest.parse().map(Self::Surw);
        }
        let rest = text.strip_prefix("directed:").ok_or_else(unknown)?;
        let (pair, options) = rest.split_once(',').map_or((rest, None), |(pair, options)| (pair, Some(options)));
        let (mut patience, mut visits) = (Directed::PATIENCE, None);
        for option in options.iter().flat_map(|o| o.split(',')) {
            match option.split_once('=') {
                Some(("patience", n)) => patience = n.parse().map_err(|_| SpecError::Patience(n.to_owned()))?,
                Some(("visits", n)) => {
                    let both = n.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    let both = both.filter(|(a, b)| *a > 0 && *b > 0);
                    visits = Some(both.ok_or_else(|| SpecError::Visits(n.to_owned()))?);
                }
                _ => return Err(SpecError::Patience(option.to_owned())),
            }
        }
        let (a, b) = pair.split_once('~').ok_or_else(unknown)?;
        Ok(Self::Directed { a: a.trim().parse()?, b: b.trim().parse()?, patience, visits })
    }
}

fn no_way(there: usize) -> String {
    match there {
        0 => "the profile run shows no way to bring this order about: it does not perform both statements on one location, or nothing can wait; try another `profile=SEED`".to_owned(),
        1 => "there is one way: use `way=1`".to_owned(),
        n => format!("there are {n} ways: use `way=1` to `way={n}`"),
    }
}

impl fmt::Display for StrategySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Pct { depth: n, steps } | Self::Pctcp { depth: n, steps } | Self::Delay { delays: n, steps } => {
                let name = match self {
                    Self::Pct { .. } => "pct",
                    Self::Pctcp { .. } => "pctcp",
                    _ => "delay",
                };
                write!(f, "{name}:{n}")?;
                steps.map_or(Ok(()), |k| write!(f, ",steps={k}"))
            }
            Self::Pos => f.write_str("pos"),
            Self::Surw(surw) => write!(f, "{surw}"),
            Self::Directed { a, b, patience, visits } => {
                write!(f, "directed:{a}~{b}")?;
                if *patience != Directed::PATIENCE {
                    write!(f, ",patience={patience}")?;
                }
                visits.map_or(Ok(()), |(a, b)| write!(f, ",visits={a}/{b}"))
            }
            Self::Hold(hold) => write!(f, "{hold}"),
            Self::Avoid(avoid) => write!(f, "{avoid}"),
        }
    }
}

/// A built strategy: one of those that have a name.
#[derive(Clone)]
#[allow(missing_docs, reason = "each is the strategy of the same name")]
#[allow(clippy::large_enum_variant, reason = "there is one in a worker, made once")]
pub enum Named {
    Random(RandomWalk),
    RoundRobin(RoundRobin),
    Pct(Box<Pct>),
    Pctcp(Box<Pctcp>),
    Pos(Box<Pos>),
    Surw(Box<Surw>),
    Delay(Box<DelayBounded>),
    Directed(Box<Directed>),
    Hold(Box<Holding>),
    Avoid(Box<Avoiding>),
}

impl StrategySpec {
    /// Sets the number of steps of a run, if the strategy needs it and none was given. It comes from a fixed profile
    /// run, never from other runs of a campaign.
    #[must_use]
    pub fn profiled(mut self, profile: impl FnOnce() -> u64) -> Self {
        if let Self::Pct { steps, .. } | Self::Pctcp { steps, .. } | Self::Delay { steps, .. } = &mut self {
            steps.get_or_insert_with(|| u32::try_from(profile()).unwrap_or(u32::MAX).max(1));
        }
        self
    }

    /// Sets the ways to force an order, if the strategy needs them. They come from a fixed profile run.
    pub fn with_holds<E>(mut self, holds: impl FnOnce(&HoldSpec) -> Result<Holds, E>) -> Result<Self, E> {
        if let Self::Hold(spec) = &mut self
            && spec.holds.is_none()
        {
            spec.holds = Some(Arc::new(holds(spec)?));
        }
        Ok(self)
    }

    /// Sets the numbers of interesting events, if the strategy needs them. They come from a fixed profile run
    /// ([`EventCounter`](super::EventCounter)).
    pub fn with_counts<E>(mut self, counts: impl FnOnce(&SurwSpec) -> Result<Counts, E>) -> Result<Self, E> {
        if let Self::Surw(spec) = &mut self
            && spec.counts.is_none()
        {
            spec.counts = Some(Arc::new(counts(spec)?));
        }
        Ok(self)
    }

    /// Builds the strategy for a program with these sites.
    pub fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Named, SpecError> {
        let given = |steps: &Option<u32>| steps.ok_or_else(|| SpecError::NoSteps(self.to_string()));
        Ok(match self {
            Self::Random => Named::Random(RandomWalk::new()),
            Self::RoundRobin => Named::RoundRobin(RoundRobin::default()),
            Self::Pct { depth, steps } => Named::Pct(Box::new(Pct::new(*depth, given(steps)?))),
            Self::Pctcp { depth, steps } => Named::Pctcp(Box::new(Pctcp::new(*depth, given(steps)?))),
            Self::Pos => Named::Pos(Box::default()),
            Self::Surw(spec) => {
                let interesting = spec.interesting(sites)?;
                let counts = spec.counts.clone().ok_or_else(|| SpecError::NoCounts(spec.to_string()))?;
                Named::Surw(Box::new(Surw::new(interesting, counts)))
            }
            Self::Delay { delays, steps } => Named::Delay(Box::new(DelayBounded::new(*delays, given(steps)?))),
            Self::Directed { a, b, patience, visits } => {
                let (a, b) = (a.resolve(sites)?, b.resolve(sites)?);
                let directed = Directed::new([a.as_slice(), &b].concat(), *patience);
                Named::Directed(Box::new(match visits {
                    None => directed,
                    Some((of_a, of_b)) => directed.from_visit(|s| if a.contains(&s) { *of_a } else { *of_b }),
                }))
            }
            Self::Hold(spec) => {
                spec.first.resolve(sites)?;
                spec.then.resolve(sites)?;
                let holds = spec.holds.clone().ok_or_else(|| SpecError::NoHolds(spec.to_string()))?;
                let there = holds.ways.len();
                let way = spec.way.map(|way| way as usize - 1);
                if way.map_or(there == 0, |way| way >= there) {
                    return Err(SpecError::NoWay { spec: spec.to_string(), there });
                }
                let holding = Holding::new(holds, way);
                Named::Hold(Box::new(if spec.guided { holding.guided() } else { holding }))
            }
            Self::Avoid(spec) => {
                let all: Result<Vec<_>, _> = spec.sites.iter().map(|site| site.resolve(sites)).collect();
                Named::Avoid(Box::new(Avoiding::new(all?.concat())))
            }
        })
    }
}

/// Applies an expression to the strategy inside a [`Named`]. A match instead of a `dyn` call, so that the compiler can
/// inline the calls of each step.
macro_rules! each {
    ($named:expr, $strategy:ident => $does:expr) => {
        match $named {
            Named::Random($strategy) => $does,
            Named::RoundRobin($strategy) => $does,
            Named::Pct($strategy) => $does,
            Named::Pctcp($strategy) => $does,
            Named::Pos($strategy) => $does,
            Named::Surw($strategy) => $does,
            Named::Delay($strategy) => $does,
            Named::Directed($strategy) => $does,
            Named::Hold($strategy) => $does,
            Named::Avoid($strategy) => $does,
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
