//! Shows the progress of a long run on stderr, if that is a terminal.

use crate::event::Event;
use crate::exec::Observer;
use crate::world::World;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

const STEPS_BETWEEN_LOOKS: u64 = 1 << 14;

/// Progress bar over the steps of one run.
pub(in crate::cli) struct RunProgress {
    bar: ProgressBar,
}

impl RunProgress {
    /// Creates a bar up to the step limit; `None` if stderr is no terminal.
    pub(in crate::cli) fn new(limit: u64) -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(Some(limit), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {bar:30} step {human_pos} of at most {human_len}") {
            bar.set_style(style);
        }
        Some(Self { bar })
    }

    /// Removes the bar.
    pub(in crate::cli) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for RunProgress {
    fn event(&mut self, world: &World, _: &Event) {
        if world.steps() > 0 && world.steps().is_multiple_of(STEPS_BETWEEN_LOOKS) {
            self.bar.set_position(world.steps());
        }
    }
}
