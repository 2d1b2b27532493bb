//! A closure as a program under test.

use super::guest::Native;
use super::known::{Known, Met};
use crate::base::Digester;
use crate::event::{EndValue, GlobalId};
use crate::world::{EndValues, Limits, Machine, Memory, Program, Setup};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A closure that runs again and again, and what is known of its statements. Clones note what they meet in one place.
#[derive(Clone)]
pub struct NativeProgram {
    name: String,
    body: Arc<dyn Fn() + Send + Sync>,
    known: Arc<Known>,
    setup: Arc<Setup>,
    // What runs have met that is not in the table.
    met: Arc<Mutex<BTreeSet<Met>>>,
}

impl NativeProgram {
    /// Creates a program of which nothing is known. Its name distinguishes its tokens from those of others.
    #[must_use]
    pub fn new(name: &str, body: impl Fn() + Send + Sync + 'static) -> Self {
        Self::with(name.to_owned(), Arc::new(body), Known::new(BTreeSet::new()))
    }

    fn with(name: String, body: Arc<dyn Fn() + Send + Sync>, known: Known) -> Self {
        let setup = Arc::new(known.setup());
        Self { name, body, known: Arc::new(known), setup, met: Arc::default() }
    }

    /// Returns the program with all statements that its runs have met since. `None` if they have met no new ones: then
    /// its table is complete for these runs, and their results do not depend on the order in which workers met them.
    #[must_use]
    pub fn grown(&self) -> Option<Self> {
        let known = self.known.with(&self.met.lock())?;
        Some(Self::with(self.name.clone(), self.body.clone(), known))
    }

    /// Returns whether runs have met something that is not in the table.
    pub(super) fn has_grown(&self) -> bool {
        !self.met.lock().is_empty()
    }

    /// Returns the name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl EndValues for NativeProgram {
    // The variables of Rust code are not the world's.
    fn end_value(&self, _: GlobalId, _: &Memory) -> EndValue {
        EndValue::Word(0)
    }
}

impl Program for NativeProgram {
    type Guest = Native;

    fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    fn machine(&self, limits: Limits) -> Machine<Native> {
        Machine::new(Native::new(self.setup.clone(), self.body.clone(), self.known.clone(), self.met.clone()), limits)
    }

    fn digest(&self) -> u64 {
        let mut digest = Digester::new();
        digest.text("raceflip native").text(&self.name);
        digest.finish() as u64
    }

    fn defines(&self) -> &[(String, i64)] {
        &[]
    }
}
