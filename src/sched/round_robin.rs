//! Round robin: threads take turns, one step each. The clock advances and events fire only if no thread is enabled.

use super::{Divergence, Strategy, View};
use crate::base::Id;
use crate::event::{Actor, ThreadId};
use crate::world::Question;

/// A fair, deterministic strategy: each thread in turn performs one step. The seed has no effect.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut Unobserved, &stop);
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

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(match question {
            Question::Waiter(_) | Question::Branch => 0,
            // The clock advances to the next deadline.
            Question::Instant => view.world.next_deadline(),
        })
    }
}
