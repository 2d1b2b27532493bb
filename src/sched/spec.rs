//! The table of the strategies that a command line can name: `random`, `round-robin`, `pct:3,steps=200`,
//! `delay:2,steps=200`, `pos`, `surw:@a,@b`, `pctcp:3`, `directed:@a~@b`, `hold:@a<@b`,
//! `avoid:@a,@b`, `asked:@a>@b:pos`.
//!
//! Each strategy has one row. Everything else about it is in its own file, which implements [`Spec`].

use super::asked::Asked;
use super::asked_spec::AskedSpec;
use super::avoid::{AvoidSpec, Avoiding};
use super::counts::{ProfileCounts, SurwSpec};
use super::delay::{DelayBounded, DelaySpec};
use super::directed::{Directed, DirectedSpec};
use super::error::SpecError;
use super::hold::{HoldOrders, Holding};
use super::hold_spec::HoldSpec;
use super::pct::{Pct, PctSpec};
use super::pctcp::{Pctcp, PctcpSpec};
use super::pos::{Pos, PosSpec};
use super::random::{RandomSpec, RandomWalk};
use super::round_robin::{RoundRobin, RoundRobinSpec};
use super::sites::SiteSpec;
use super::surw::Surw;
use super::{Divergence, Strategy, View};
use crate::base::IndexVec;
use crate::event::{Actor, Choice, Site, SiteId};
use crate::world::Question;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The parameters of one strategy: their text, what they need, and the strategy that they make. `Display` writes the
/// text in full, and its parse gives the same parameters.
pub(super) trait Spec: Sized + fmt::Display {
    /// The strategy with these parameters.
    type Strategy: Strategy;

    /// Name of the strategy: its text up to the first colon.
    const NAME: &'static str;

    /// All parameters, as the help of a command shows them.
    const SYNTAX: &'static str;

    /// Short texts of the strategy, as an error proposes them.
    const EXAMPLES: &'static [&'static str];

    /// Parses the text behind the name and its colon. `text` is `None` if there is no colon. The result is `Ok(None)`
    /// if the text does not have the form of this strategy at all.
    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError>;

    /// Returns what the strategy needs from a profile run.
    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Nothing
    }

    /// Returns the statements that the strategy treats differently from others.
    fn targets(&self) -> Vec<SiteSpec> {
        Vec::new()
    }

    /// Builds the strategy for a program with these sites. Fails if the program has none of the named sites, or if the
    /// result of a profile run is missing.
    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Self::Strategy, SpecError>;

    /// Returns the error that an option, or its value, is wrong in this way.
    fn wrong(option: &str, problem: impl Into<String>) -> SpecError {
        SpecError::Option { strategy: Self::NAME, option: option.to_owned(), problem: problem.into() }
    }

    /// Returns the error that there is no such option, with the options that there are.
    fn no_option(option: &str, options: &str) -> SpecError {
        Self::wrong(option, format!("no option of `{}`: use {options}", Self::NAME))
    }

    /// Returns the error that the result of a profile run is missing.
    fn missing(&self, needs: impl Into<String>) -> SpecError {
        SpecError::Profile { spec: self.to_string(), needs: needs.into() }
    }
}

/// What a strategy needs from a profile run: the place for the result.
pub(super) enum ProfileNeed<'s> {
    /// No result of a profile run.
    Nothing,
    /// The number of steps of a run.
    Steps(&'s mut Option<u32>),
    /// The ways to force the order.
    Holds(&'s mut HoldSpec),
    /// The numbers of interesting events.
    Counts(&'s mut SurwSpec),
}

/// Makes two enums from the rows of the table, one of parameters and one of built strategies, and the functions that
/// delegate to the row. The methods of a built strategy are called in a `match`, not through `dyn`, so that the
/// compiler can inline the calls of each step.
macro_rules! strategies {
    ($($(#[$doc:meta])* $name:ident($spec:ty) => $strategy:ty;)*) => {
        /// A strategy with all its parameters, in the syntax of command lines and tokens.
        ///
        /// # Examples
        ///
        /// ```
        /// use raceflip::sched::{NamedStrategy, PctSpec, StrategySpec};
        ///
        /// let spec: StrategySpec = "pct:3,steps=200".parse()?;
        /// assert_eq!(spec, StrategySpec::Pct(PctSpec { depth: 3, steps: Some(200) }));
        /// assert_eq!(spec.to_string(), "pct:3,steps=200");
        /// // The sites are those of the program that it is for: `@a` of `directed:@a~@b` must be one.
        /// # use raceflip::vm::Model;
        /// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
        /// let strategy: NamedStrategy = spec.build(&model.program.sites)?;
        /// assert!("directed:@a~@b".parse::<StrategySpec>()?.build(&model.program.sites).is_err());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum StrategySpec {
            $($(#[$doc])* $name($spec),)*
        }

        /// A built strategy: one of those that have a name.
        #[derive(Clone)]
        #[allow(missing_docs, reason = "each is the strategy of the same name")]
        #[allow(clippy::large_enum_variant, reason = "there is one in a worker, made once")]
        pub enum NamedStrategy {
            $($name($strategy),)*
        }

        const SYNTAX: &[&str] = &[$(<$spec as Spec>::SYNTAX),*];

        const EXAMPLES: &[&[&str]] = &[$(<$spec as Spec>::EXAMPLES),*];

        impl StrategySpec {
            // `Ok(None)` if no strategy has this name, or the text behind it does not have the strategy's form.
            fn parse(name: &str, text: Option<&str>) -> Result<Option<Self>, SpecError> {
                match name {
                    $(<$spec as Spec>::NAME => Ok(<$spec as Spec>::parse(text)?.map(Self::$name)),)*
                    _ => Ok(None),
                }
            }

            fn profile(&mut self) -> ProfileNeed<'_> {
                match self {
                    $(Self::$name(spec) => spec.profile(),)*
                }
            }

            /// Returns the statements that the strategy treats differently from others: those of its pair or order, the
            /// interesting ones, or those that it avoids.
            #[must_use]
            pub fn targets(&self) -> Vec<SiteSpec> {
                match self {
                    $(Self::$name(spec) => spec.targets(),)*
                }
            }

            /// Builds the strategy for a program with these sites.
            ///
            /// # Errors
            ///
            /// Returns a [`SpecError`] if a parameter names a statement that these sites do not have.
            pub fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<NamedStrategy, SpecError> {
                Ok(match self {
                    $(Self::$name(spec) => NamedStrategy::$name(spec.build(sites)?.into()),)*
                })
            }
        }

        impl fmt::Display for StrategySpec {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(spec) => spec.fmt(f),)*
                }
            }
        }

        impl Strategy for NamedStrategy {
            fn begin(&mut self, seed: u64) {
                match self {
                    $(Self::$name(strategy) => strategy.begin(seed),)*
                }
            }

            #[inline]
            fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
                match self {
                    $(Self::$name(strategy) => strategy.choose(view),)*
                }
            }

            fn argument(
                &mut self,
                view: &View<'_>,
                actor: Actor,
                question: Question,
            ) -> Result<u64, Box<Divergence>> {
                match self {
                    $(Self::$name(strategy) => strategy.argument(view, actor, question),)*
                }
            }

            fn passes_over_forced(&self) -> bool {
                match self {
                    $(Self::$name(strategy) => strategy.passes_over_forced(),)*
                }
            }

            #[inline]
            fn observe(&mut self, view: &View<'_>, choice: Choice) {
                match self {
                    $(Self::$name(strategy) => strategy.observe(view, choice),)*
                }
            }
        }
    };
}

// The table. Helps and errors list the strategies in this order.
strategies! {
    /// `random`: a uniform random walk.
    Random(RandomSpec) => RandomWalk;
    /// `round-robin`: threads in turn.
    RoundRobin(RoundRobinSpec) => RoundRobin;
    /// `pct:D` or `pct:D,steps=K`: random priorities with D - 1 priority change points in K steps.
    Pct(PctSpec) => Box<Pct>;
    /// `pctcp:D` or `pctcp:D,steps=K`: PCT with one priority per chain of ordered threads and tasks.
    Pctcp(PctcpSpec) => Box<Pctcp>;
    /// `delay:D` or `delay:D,steps=K`: a deterministic schedule with D delays in K steps.
    Delay(DelaySpec) => Box<DelayBounded>;
    /// `pos`: a random priority for each pending operation.
    Pos(PosSpec) => Box<Pos>;
    /// `surw` or `surw:A,B`: each order of the interesting events is equally likely.
    Surw(SurwSpec) => Box<Surw>;
    /// `directed:A~B` or `directed:A~B,patience=N`: RaceFuzzer for one pair.
    Directed(DirectedSpec) => Box<Directed>;
    /// `hold:A<B`, `hold:A<B,way=2,profile=7`: B is held until A has been performed.
    Hold(HoldSpec) => Box<Holding>;
    /// `avoid:A,B`: a thread that is pending at one of these statements is held as long as another actor can act.
    Avoid(AvoidSpec) => Box<Avoiding>;
    /// `asked:A>B` or `asked:A>B:pos`: B should read what A has written last, or the first value.
    Asked(AskedSpec) => Box<Asked>;
}

impl Default for StrategySpec {
    fn default() -> Self {
        Self::Random(RandomSpec)
    }
}

impl FromStr for StrategySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if matches!(text, "explore" | "confirm" | "fuzz") {
            return Err(SpecError::Found(text.to_owned()));
        }
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        Self::parse(name, rest)?.ok_or_else(|| SpecError::Strategy(text.to_owned()))
    }
}

impl StrategySpec {
    /// Returns the syntax of all strategies, for the help of a command: "random, round-robin, ..., or asked:SITE>SITE".
    #[must_use]
    pub fn syntax() -> String {
        list(SYNTAX, ", or ")
    }

    // Examples of all strategies, for an error.
    pub(super) fn examples() -> String {
        let all: Vec<String> = EXAMPLES.concat().iter().map(|text| format!("`{text}`")).collect();
        list(&all, " or ")
    }

    /// Sets the number of steps of a run, if the strategy needs it and none was given. It comes from a fixed profile
    /// run, never from other runs of a campaign.
    #[must_use]
    pub fn profiled(mut self, profile: impl FnOnce() -> u64) -> Self {
        if let ProfileNeed::Steps(steps) = self.profile() {
            steps.get_or_insert_with(|| u32::try_from(profile()).unwrap_or(u32::MAX).max(1));
        }
        self
    }

    /// Sets the ways to force an order, if the strategy needs them. They come from a fixed profile run.
    ///
    /// # Errors
    ///
    /// Returns the error of `holds`, if the strategy needs the ways and `holds` fails.
    pub fn with_holds<E>(mut self, holds: impl FnOnce(&HoldSpec) -> Result<HoldOrders, E>) -> Result<Self, E> {
        if let ProfileNeed::Holds(spec) = self.profile()
            && spec.holds.is_none()
        {
            spec.holds = Some(Arc::new(holds(spec)?));
        }
        Ok(self)
    }

    /// Sets the numbers of interesting events, if the strategy needs them. They come from a fixed profile run
    /// ([`EventCounter`](super::EventCounter)).
    ///
    /// # Errors
    ///
    /// Returns the error of `counts`, if the strategy needs the numbers and `counts` fails.
    pub fn with_counts<E>(mut self, counts: impl FnOnce(&SurwSpec) -> Result<ProfileCounts, E>) -> Result<Self, E> {
        if let ProfileNeed::Counts(spec) = self.profile()
            && spec.counts.is_none()
        {
            spec.counts = Some(Arc::new(counts(spec)?));
        }
        Ok(self)
    }
}

// Joins the items with commas, and the last one with `last`.
fn list(items: &[impl AsRef<str>], last: &str) -> String {
    let mut text = String::new();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            text.push_str(if i + 1 == items.len() { last } else { ", " });
        }
        text.push_str(item.as_ref());
    }
    text
}

/// Parses a list of sites: `@a,@b`.
pub(super) fn parse_sites(text: &str) -> Result<Vec<SiteSpec>, SpecError> {
    text.split(',').map(|site| site.trim().parse()).collect()
}

/// Writes the name of a strategy and a list of sites: `avoid:@a,@b`, or the name only.
pub(super) fn write_sites(f: &mut fmt::Formatter<'_>, name: &str, sites: &[SiteSpec]) -> fmt::Result {
    f.write_str(name)?;
    for (i, site) in sites.iter().enumerate() {
        write!(f, "{}{site}", if i == 0 { ':' } else { ',' })?;
    }
    Ok(())
}
