//! What a run shows: its reads-from pairs, which statements met at which location, and the states that it went through.
//!
//! A *pair* (w, r) says that r read a location that w of another context was the last to write; w may be the first
//! value. The pair is *possible* once some run had both at one location, from two contexts, in any order.
//!
//! A *state* is noted at each choice between two actors or of an answer, as 64-bit digests in three views. A run that
//! repeats the beginning of another one notes states only from where it goes on.

use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, Choice, Op, ThreadId};
use crate::exec::{ChoiceInterest, Observer};
use crate::sched::View;
use crate::world::{Setup, Statement, ThreadStage, TouchContext, TouchMap, TouchedPlace, World};
use indexmap::IndexSet;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3Builder;

/// A reads-from pair: the writer and the reader.
pub(super) type ReadPair = (Statement, Statement);

/// Number of views of a state.
pub(super) const VIEWS: usize = 3;

/// Digests of one state, from the coarsest view to the finest.
pub(super) type Digests = [u64; VIEWS];

/// Maximum number of cells that the views contain.
const MOST_CELLS: usize = 48;

/// A statement at a location, with up to two of the contexts that were there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Visitor {
    pub(super) statement: Statement,
    pub(super) reads: bool,
    pub(super) writes: bool,
    context: TouchContext,
    // Whether a second context was there.
    is_shared: bool,
}

impl Visitor {
    /// Returns the visitor as another statement.
    pub(super) fn with(self, statement: Statement) -> Self {
        Self { statement, ..self }
    }

    /// Returns whether the two were there from two contexts.
    pub(super) fn meets(&self, other: &Visitor) -> bool {
        self.is_shared || other.is_shared || self.context != other.context
    }
}

/// Observer of what a run shows.
pub(super) struct RunWatch {
    // Global cells that some statement accesses atomically, of the first `MOST_CELLS`.
    atomics: Arc<[bool]>,
    // States are noted from this step on.
    from: u64,
    last: TouchMap<(Statement, TouchContext)>,
    pairs: IndexSet<ReadPair, Xxh3Builder>,
    // By location, where its visitors are in `visitors`.
    lists: TouchMap<u32>,
    places: Vec<TouchedPlace>,
    visitors: Vec<Vec<Visitor>>,
    // By statement, the number of its visits; `performed` are those with visits.
    visits: Vec<u32>,
    performed: Vec<Statement>,
    // By thread, the number of its steps.
    made: Vec<u64>,
    states: Vec<(u64, Digests)>,
    // Scratch space: the digest of each thread.
    standing: Vec<u64>,
}

impl RunWatch {
    /// Creates an observer for the runs of one program.
    pub(super) fn new(atomics: Arc<[bool]>) -> Self {
        Self {
            atomics,
            from: 0,
            last: TouchMap::new(),
            pairs: IndexSet::default(),
            lists: TouchMap::new(),
            places: Vec::new(),
            visitors: Vec::new(),
            visits: Vec::new(),
            performed: Vec::new(),
            made: Vec::new(),
            states: Vec::new(),
            standing: Vec::new(),
        }
    }

    /// Sets the step from which the next run notes states.
    pub(super) fn note_from(&mut self, from: u64) {
        self.from = from;
    }

    /// Returns the pairs that the run showed, each once, in the order in which they came.
    pub(super) fn pairs(&self) -> impl Iterator<Item = ReadPair> + '_ {
        self.pairs.iter().copied()
    }

    /// Returns the locations, each with the statements that were there, sorted.
    pub(super) fn places(&self) -> impl Iterator<Item = (TouchedPlace, &[Visitor])> {
        self.places.iter().copied().zip(self.visitors.iter().map(Vec::as_slice))
    }

    /// Returns the statements that the run performed, each with the number of its visits.
    pub(super) fn visits(&self) -> impl Iterator<Item = (Statement, u32)> + '_ {
        self.performed.iter().map(|statement| (*statement, statement.index().map_or(0, |i| self.visits[i])))
    }

    /// Returns the states in the order in which the run came to them, each with the number of steps before it.
    pub(super) fn states(&self) -> &[(u64, Digests)] {
        &self.states
    }

    fn visit(&mut self, statement: Statement) {
        let Some(index) = statement.index() else { return };
        if self.visits.len() <= index {
            self.visits.resize(index + 1, 0);
        }
        if self.visits[index] == 0 {
            self.performed.push(statement);
        }
        self.visits[index] += 1;
    }

    fn touch(&mut self, world: &World, actor: Actor, statement: Statement) {
        let Some(context) = world.touch_context(actor) else { return };
        world.touches(actor, |touch| {
            let before = self.last.get(touch.place);
            let is_own = before.is_some_and(|(_, other)| other == context);
            if touch.reads && (!is_own || mutant::is(Mutant::OwnWritesAreForeign)) {
                self.pairs.insert((before.map_or(Statement::FIRST, |(writer, _)| writer), statement));
            }
            if touch.writes {
                self.last.set(touch.place, (statement, context));
            }
            let list = self.lists.get(touch.place).unwrap_or_else(|| {
                let list = self.places.len();
                self.places.push(touch.place);
                self.lists.set(touch.place, list as u32);
                if self.visitors.len() == list {
                    self.visitors.push(Vec::new());
                }
                self.visitors[list].clear();
                list as u32
            });
            let here = &mut self.visitors[list as usize];
            match here.binary_search_by_key(&statement, |visitor| visitor.statement) {
                Ok(at) => {
                    let visitor = &mut here[at];
                    visitor.is_shared |= visitor.context != context;
                    visitor.reads |= touch.reads;
                    visitor.writes |= touch.writes;
                }
                Err(at) => {
                    let (reads, writes) = (touch.reads, touch.writes);
                    here.insert(at, Visitor { statement, reads, writes, context, is_shared: false });
                }
            }
        });
    }

    // The digests of the present state. The views differ in the cells and in what they know of threads.
    fn digests(&mut self, world: &World) -> Digests {
        let (mut all, mut atomic) = (START, START);
        for (i, is_atomic) in self.atomics.iter().enumerate() {
            let value = world.memory().cell(i as u32) as u64;
            all = mixed(all, value);
            if *is_atomic {
                atomic = mixed(atomic, value);
            }
        }
        self.standing.clear();
        let mut fine = all;
        for thread in world.threads().ids() {
            let (stands, written) = standing(world, thread);
            self.standing.push(stands);
            let made = self.made.get(thread.index()).copied().unwrap_or(0);
            fine = mixed(mixed(mixed(fine, stands), written), made);
        }
        // Threads are alike: only how many of them stand where counts.
        self.standing.sort_unstable();
        let (mut middle, mut coarse) = (all, atomic);
        for stands in &self.standing {
            middle = mixed(middle, *stands);
            coarse = mixed(coarse, *stands);
        }
        let views = if mutant::is(Mutant::ViewsTurned) { [fine, middle, coarse] } else { [coarse, middle, fine] };
        views.map(|digest| digest ^ (digest >> 31))
    }
}

const START: u64 = 0x243f_6a88_85a3_08d3;

fn mixed(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

// Returns where a thread stands (site, stage, location, operands of an atomic operation, length of its queue), and the
// value that it is about to write.
fn standing(world: &World, thread: ThreadId) -> (u64, u64) {
    let t = world.thread(thread);
    let stage = match t.status {
        ThreadStage::New => 0,
        ThreadStage::Alive => 1,
        ThreadStage::Finished => 2,
        ThreadStage::Job => 3,
    };
    let mut stands = mixed(START, t.site.map_or(u64::MAX, |site| u64::from(site.0)) << 2 | stage);
    let cell = |cell: u32| 1 + u64::from(cell);
    let (place, operands, written) = match t.pending {
        Op::Read(at) | Op::AtomicRead(at) | Op::ListRead { at, .. } | Op::ListWrite { at, .. } => (cell(at.cell), 0, 0),
        Op::Write(at, value) => (cell(at.cell), 0, value as u64),
        Op::AtomicWrite(at, value) | Op::Exchange(at, value) | Op::FetchAdd(at, value) => {
            (cell(at.cell), value as u64, 0)
        }
        Op::Cas { at, old, new } => (cell(at.cell), mixed(old as u64, new as u64), 0),
        Op::Acquire(lock) => (cell(lock.0), 0, 0),
        _ => (0, 0, 0),
    };
    let queued = t.queue.as_ref().map_or(0, |queue| queue.messages().count() as u64);
    for word in [place, operands, queued] {
        stands = mixed(stands, word);
    }
    (stands, written)
}

/// Returns which of the first global cells some statement accesses atomically.
pub(super) fn atomic_cells(setup: &Setup) -> Arc<[bool]> {
    let is_atomic = |name: &String| {
        let variable = name.split('[').next();
        setup.sites.iter().any(|site| site.kind.is_atomic() && site.variable() == variable)
    };
    setup.cell_names.iter().take(setup.cells.len().min(MOST_CELLS)).map(is_atomic).collect()
}

impl Observer for RunWatch {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::All;

    fn begin(&mut self, _: &World) {
        self.last.clear();
        self.lists.clear();
        self.pairs.clear();
        self.places.clear();
        for statement in self.performed.drain(..) {
            if let Some(index) = statement.index() {
                self.visits[index] = 0;
            }
        }
        self.made.clear();
        self.states.clear();
    }

    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let (world, actor) = (view.world, choice.actor);
        let is_choice = view.openings.total() > 1 || world.question(actor).is_some();
        if is_choice && world.steps() >= self.from {
            let digests = self.digests(world);
            self.states.push((world.steps(), digests));
        }
        let statement = world.statement(actor);
        self.visit(statement);
        self.touch(world, actor, statement);
        if let Actor::Thread(thread) = actor {
            if self.made.len() <= thread.index() {
                self.made.resize(thread.index() + 1, 0);
            }
            self.made[thread.index()] += 1;
        }
    }
}
