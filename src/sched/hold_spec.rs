//! The name of the `hold` strategy on a command line: the orders, what is kept out of them, and the options.

use super::SiteSpec;
use super::error::SpecError;
use super::hold::{HoldOrders, Holding};
use super::spec::{ProfileNeed, Spec};
use crate::base::IndexVec;
use crate::event::{Site, SiteId};
use std::fmt;
use std::sync::Arc;

/// Parameters of the `hold` strategy: orders of statements, and the way to force them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldSpec {
    /// Sequences of statements in the order that is wanted, each of at least two.
    pub sequences: Vec<Vec<SiteSpec>>,
    /// Statements that must not be performed between the first and the last one of the first sequence.
    pub without: Vec<SiteSpec>,
    /// Ordinal of the way to use, from 1. If `None`, each run draws one.
    pub way: Option<u32>,
    /// `guided`: whether all other actors follow the run that shows the ways. If false, they are chosen at random.
    pub guided: bool,
    /// The run that shows causes and ways: the seed of a detection run, or 0 for round robin.
    pub profile: u64,
    /// Which pair of instances of the first two statements is meant: 0 for the first pair that the run performs on one
    /// location, n for the n-th later pair.
    pub later: u32,
    /// `ring`: whether the operations are those of a deadlock ring that the profile run shows. The orders are those of
    /// its neighbours ([`Ring::orders`](crate::detect::Ring::orders)).
    pub ring: bool,
    /// The ways, once the profile run has been performed
    /// ([`StrategySpec::with_holds`](super::StrategySpec::with_holds)).
    pub holds: Option<Arc<HoldOrders>>,
}

// The options, for errors.
const OPTIONS: &str = "`SITE<SITE`, `without=SITE`, `way=2` (from 1), `guided`, `later=1`, `ring` or `profile=SEED`";

impl Spec for HoldSpec {
    type Strategy = Holding;

    const NAME: &'static str = "hold";
    const SYNTAX: &'static str =
        "hold:SITE<SITE[<..][,..][,without=SITE][,way=N][,guided][,later=N][,ring][,profile=SEED]";
    const EXAMPLES: &'static [&'static str] = &["hold:SITE<SITE"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let Some(text) = text else { return Ok(None) };
        let (order, options) = text.split_once(',').map_or((text, None), |(order, options)| (order, Some(options)));
        if !order.contains('<') {
            return Ok(None);
        }
        let sequence = |text: &str| text.split('<').map(|site| site.trim().parse()).collect::<Result<Vec<_>, _>>();
        let mut spec = Self {
            sequences: vec![sequence(order)?],
            without: Vec::new(),
            way: None,
            guided: false,
            profile: 0,
            later: 0,
            ring: false,
            holds: None,
        };
        for option in options.iter().flat_map(|o| o.split(',')) {
            let bad = || Self::no_option(option, OPTIONS);
            match option.split_once('=') {
                None if option == "guided" => spec.guided = true,
                None if option == "ring" => spec.ring = true,
                None if option.contains('<') => spec.sequences.push(sequence(option)?),
                Some(("without", site)) => spec.without.push(site.trim().parse()?),
                Some(("way", n)) => spec.way = Some(n.parse().ok().filter(|n| *n > 0).ok_or_else(bad)?),
                Some(("later", n)) => spec.later = n.parse().map_err(|_| bad())?,
                Some(("profile", n)) => spec.profile = n.parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        Ok(Some(spec))
    }

    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Holds(self)
    }

    fn targets(&self) -> Vec<SiteSpec> {
        self.sequences.iter().flatten().chain(&self.without).cloned().collect()
    }

    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Holding, SpecError> {
        for site in self.targets() {
            site.resolve(sites)?;
        }
        let holds = self.holds.clone();
        let holds = holds.ok_or_else(|| self.missing("a run that shows how the order can be forced"))?;
        let ways = holds.ways.len();
        let way = self.way.map(|way| way as usize - 1);
        if way.map_or(ways == 0, |way| way >= ways) {
            return Err(Self::wrong(&self.to_string(), format!("not possible: {}", no_way(ways))));
        }
        let holding = Holding::new(holds, way);
        Ok(if self.guided { holding.guided() } else { holding })
    }
}

impl HoldSpec {
    /// Returns whether the goal is one order of two statements.
    #[must_use]
    pub fn is_of_two(&self) -> bool {
        !self.ring && self.without.is_empty() && matches!(self.sequences.as_slice(), [sequence] if sequence.len() == 2)
    }
}

fn no_way(ways: usize) -> String {
    match ways {
        0 => "the profile run shows no way to bring this order about: it does not perform the statements on one location, or nothing can wait; try another `profile=SEED`".to_owned(),
        1 => "there is one way: use `way=1`".to_owned(),
        n => format!("there are {n} ways: use `way=1` to `way={n}`"),
    }
}

impl fmt::Display for HoldSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sequence = |of: &Vec<SiteSpec>| of.iter().map(ToString::to_string).collect::<Vec<_>>().join("<");
        let sequences: Vec<String> = self.sequences.iter().map(sequence).collect();
        write!(f, "{}:{}", Self::NAME, sequences.join(","))?;
        for site in &self.without {
            write!(f, ",without={site}")?;
        }
        if let Some(way) = self.way {
            write!(f, ",way={way}")?;
        }
        if self.guided {
            f.write_str(",guided")?;
        }
        if self.later != 0 {
            write!(f, ",later={}", self.later)?;
        }
        if self.ring {
            f.write_str(",ring")?;
        }
        if self.profile != 0 { write!(f, ",profile={}", self.profile) } else { Ok(()) }
    }
}
