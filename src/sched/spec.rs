//! Strategies by name: `random`, `round-robin`, `pct:3,steps=200`, `delay:2,steps=200`, `pos`, `surw:@a,@b`, `pctcp:3`, `directed:@a~@b`, `avoid:@a,@b`.

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
    /// `pctcp:D` or `pctcp:D,steps=K`: the same as `pct` with priorities of chains.
    Pctcp {
        /// The depth of the bugs that are looked for.
        depth: u32,
        /// About how many steps a run takes.
        steps: Option<u32>,
    },
    /// `pos`: a random priority for each pending operation.
    Pos,
    /// `surw` or `surw:A,B`: each order of the interesting events is as likely as any other.
    Surw(SurwSpec),
    /// `directed:A~B` or `directed:A~B,patience=N`: RaceFuzzer at a pair.
    Directed {
        /// One statement.
        a: SiteSpec,
        /// The other.
        b: SiteSpec,
        /// Steps after which a postponed thread is released.
        patience: u64,
        /// `directed:A~B,visits=40/3`: how often each is visited in a run; each run passes over some of the first visits.
        visits: Option<(u32, u32)>,
    },
    /// `hold:A<B`, `hold:A<B,way=2,profile=7`: B waits until A has been performed.
    Hold(HoldSpec),
    /// `avoid:A,B`: whoever stands at one of these statements waits as long as anybody else can act.
    Avoid(AvoidSpec),
}

/// What is not there that a site asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Missing {
    /// No statement has this label.
    #[error("no statement has the label")]
    Label,
    /// There may be a statement, and it does something else.
    #[error("no memory access at")]
    Access,
    /// The same where operations are meant as well.
    #[error("no memory access and no operation whose order matters at")]
    Operation,
}

/// Why a strategy or site cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpecError {
    /// No such strategy.
    #[error(
        "unknown strategy `{0}`: use `random`, `round-robin`, `pct:3`, `pctcp:3`, `delay:2`, `pos`, `surw`, `surw:SITE,SITE`, `directed:SITE~SITE`, `hold:SITE<SITE` or `avoid:SITE,SITE`"
    )]
    Strategy(String),
    /// A strategy that tokens have, and that draws nothing.
    #[error(
        "`{0}` draws no run: it is the strategy of runs that a search or a campaign has found, and only their tokens make them again"
    )]
    Found(String),
    /// Not a site.
    #[error(
        "`{0}` is not a site: use `@label`, `@label.read`, `@label.write of x`, or `LINE:COLUMN` (accesses are read, write, use, free; other operations go by their word: `@label.acquire`)"
    )]
    Site(String),
    /// A site that does not exist.
    #[error("{missing} `{spec}`{}", near.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    NoSite {
        /// What was asked for.
        spec: String,
        /// What there is not.
        missing: Missing,
        /// A label like it.
        near: Option<String>,
    },
    /// Depth or delays that are none.
    #[error("`{text}` is not a number from {least} to {MOST}: use `{strategy}:3` or `{strategy}:3,steps=1000`")]
    Depth {
        /// What was asked for.
        text: String,
        /// `pct`, `pctcp` or `delay`.
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
    /// Visits that are none.
    #[error("`{0}` is not how often two statements are visited: use `visits=40/3`")]
    Visits(String),
    /// Something that `hold` does not know.
    #[error("`{0}` is no option of `hold`: use `way=2` (from 1), `guided`, `later=1` or `profile=SEED`")]
    HoldOption(String),
    /// Ways that nobody has looked for.
    #[error("`{0}` needs a run that shows how the order can be brought about")]
    NoHolds(String),
    /// Events that nobody has counted.
    #[error("`{0}` needs a run that shows how many interesting events there are")]
    NoCounts(String),
    /// A way that there is not.
    #[error("`{spec}`: {}", no_way(*there))]
    NoWay {
        /// What was asked for.
        spec: String,
        /// How many ways there are.
        there: usize,
    },
    /// Patience that is no number.
    #[error("`{0}` is not a number of steps: use `patience=20000`")]
    Patience(String),
}

/// The greatest depth, and the most delays: a bound of 1/k^1000 says nothing.
const MOST: u32 = 1_000;

// What follows `pct`, `pctcp` or `delay`: `:3`, `:3,steps=200`, or nothing. `None` if the text is another word.
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

/// Any strategy that has a name.
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
    /// With the steps that a run takes, where they are needed and were not given: those of a fixed profile run, never learnt from other runs of a campaign.
    #[must_use]
    pub fn profiled(mut self, profile: impl FnOnce() -> u64) -> Self {
        if let Self::Pct { steps, .. } | Self::Pctcp { steps, .. } | Self::Delay { steps, .. } = &mut self {
            steps.get_or_insert_with(|| u32::try_from(profile()).unwrap_or(u32::MAX).max(1));
        }
        self
    }

    /// With the ways to bring an order about, where they are needed: those that a fixed profile run shows.
    pub fn with_holds<E>(mut self, holds: impl FnOnce(&HoldSpec) -> Result<Holds, E>) -> Result<Self, E> {
        if let Self::Hold(spec) = &mut self
            && spec.holds.is_none()
        {
            spec.holds = Some(Arc::new(holds(spec)?));
        }
        Ok(self)
    }

    /// With the numbers of interesting events, where they are needed: those of a fixed profile run ([`Counting`](super::Counting)).
    pub fn with_counts<E>(mut self, counts: impl FnOnce(&SurwSpec) -> Result<Counts, E>) -> Result<Self, E> {
        if let Self::Surw(spec) = &mut self
            && spec.counts.is_none()
        {
            spec.counts = Some(Arc::new(counts(spec)?));
        }
        Ok(self)
    }

    /// The strategy, for a program with these sites.
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

/// Does something with the strategy, whichever it is; a call that the compiler can see through, since it is made at every step.
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
