//! Round robin: threads take turns, one step each. The clock advances and events fire only if no thread is enabled.

use super::error::SpecError;
use super::spec::Spec;
use super::{Divergence, Strategy, View};
use crate::base::{Id, IndexVec};
use crate::event::{Actor, Site, SiteId, ThreadId};
use crate::world::Question;
use std::fmt;

/// Parameters of the `round-robin` strategy: there are none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RoundRobinSpec;

impl Spec for RoundRobinSpec {
    type Strategy = RoundRobin;

    const NAME: &'static str = "round-robin";
    const SYNTAX: &'static str = "round-robin";
    const EXAMPLES: &'static [&'static str] = &["round-robin"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        Ok(text.is_none().then_some(Self))
    }

    fn build(&self, _: &IndexVec<SiteId, Site>) -> Result<RoundRobin, SpecError> {
        Ok(RoundRobin::default())
    }
}

impl fmt::Display for RoundRobinSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)
    }
}

/// A fair, deterministic strategy: each thread in turn performs one step. The seed has no effect.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut NoObserver, &stop);
/// // Both read, then both write.
/// assert_eq!(machine.world.memory().cell(0), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct RoundRobin {
    last: Option<ThreadId>,
}

impl Strategy for RoundRobin {
    fn begin(&mut self, _: u64) {
        self.last = None;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let enabled = view.world.enabled();
        let after = self.last.map_or(0, |t| t.index() + 1);
        let next = enabled.iter().find(|t| t.index() >= after).or_else(|| enabled.nth(0));
        if let Some(thread) = next {
            self.last = Some(thread);
            return Ok(Actor::Thread(thread));
        }
        Ok(view.world.open_actor(&view.openings, 0))
    }

    // A burst continues the thread that was chosen last, so `last` is still right after it.
    fn passes_over_forced(&self) -> bool {
        true
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(match question.answers() {
            Some(_) => 0,
            // The clock advances to the next deadline.
            None => view.world.next_deadline(),
        })
    }
}
