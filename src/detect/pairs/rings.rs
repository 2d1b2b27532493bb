//! Deadlock rings: threads and tasks each of which may hold a lock and want one that the next of them holds. It is the
//! search of iGoodLock (Joshi, Park, Sen and Naik, "A Randomized Dynamic Program Analysis Technique for Detecting Real
//! Deadlocks", PLDI 2009), over the lock order of one run (`lock_order`).
//!
//! A ring consists of at least two edges of different contexts. Each of them wants what the next one has a claim on,
//! and any two of them may meet: their contexts may run at once, no lock around both acquisitions keeps them apart, and
//! the order that every run has (the hybrid relation) does not put one acquisition before the other. Locks, signals and
//! awaits are no such order, so that a ring may be false. Rings that differ only in their contexts or locks are one
//! ring: its statements name it.

use super::lock_order::{LockEdge, LockOrder};
use super::watch::RunState;
use crate::event::{Event, SiteId};
use crate::exec::Observer;
use crate::world::{Thing, World};
use std::collections::BTreeMap;

/// Maximum number of threads of a ring.
const LONGEST: usize = 6;

/// Maximum number of rings that are kept: the shortest and, among these, those whose acquisitions are nearest to each
/// other in a run.
const MOST_RINGS: usize = 64;

// Maximum number of steps of the search in one run.
const MOST_STEPS: u32 = 200_000;

/// The statements of one thread of a ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RingSites {
    /// The acquisition of the lock that the thread holds, and that the thread before it in the ring wants.
    pub holds: SiteId,
    /// The acquisition of the lock that the thread wants, and that the next thread in the ring holds.
    pub wants: SiteId,
}

/// A ring, by its statements: each thread wants what the next one holds, and the last one wants what the first one
/// holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ring {
    // invariant: of all rotations the least
    parts: Vec<RingSites>,
}

impl Ring {
    /// Returns the ring of these statements, from any of its threads on, and the index of the thread that is its first
    /// one.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::{detect::{Ring, RingSites}, event::SiteId};
    /// let part = |holds, wants| RingSites { holds: SiteId(holds), wants: SiteId(wants) };
    /// let (ring, first) = Ring::new(vec![part(4, 5), part(0, 1)]);
    /// assert_eq!((ring.parts()[0], first), (part(0, 1), 1));
    /// ```
    #[must_use]
    pub fn new(mut parts: Vec<RingSites>) -> (Self, usize) {
        let rotated = |first: usize| parts.iter().cycle().skip(first).take(parts.len());
        let first = (0..parts.len()).min_by(|a, b| rotated(*a).cmp(rotated(*b))).unwrap_or(0);
        parts.rotate_left(first);
        (Self { parts }, first)
    }

    /// Returns the statements of each thread.
    #[must_use]
    pub fn parts(&self) -> &[RingSites] {
        &self.parts
    }

    /// Returns the orders that close the ring: each thread acquires its lock before the thread in front of it wants it.
    pub fn orders(&self) -> impl Iterator<Item = [SiteId; 2]> + '_ {
        let next = self.parts.iter().cycle().skip(1);
        self.parts.iter().zip(next).map(|(part, next)| [next.holds, part.wants])
    }
}

/// One thread of a ring, in the run that shows the ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingPart {
    /// The pedigree of the thread or task.
    pub context: String,
    /// The name of what it holds.
    pub holds: String,
    /// The name of what it wants.
    pub wants: String,
    /// The steps of the two acquisitions.
    pub steps: (u64, u64),
}

/// A ring that may close.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingCandidate {
    /// The ring.
    pub ring: Ring,
    /// Its threads in the run `run`, in the order of the ring.
    pub parts: Vec<RingPart>,
    /// Number of the run whose acquisitions are shown, set by [`RingCandidates::add`]: the first one that performed all
    /// of them, or else the first one that shows the ring.
    pub run: u64,
    /// Whether that run performed all acquisitions. If not, it ended while some threads were blocked there.
    pub performed: bool,
    /// Number of the first run that ended while all its threads were blocked there, if one did.
    pub closed: Option<u64>,
    /// Number of runs that show the ring.
    pub count: u64,
}

impl RingCandidate {
    // Number of steps between the first and the last acquisition that is wanted.
    fn span(&self) -> u64 {
        let steps = || self.parts.iter().map(|part| part.steps.1);
        steps().max().unwrap_or(0) - steps().min().unwrap_or(0)
    }

    fn rank(&self) -> (usize, u64, &Ring) {
        (self.parts.len(), self.span(), &self.ring)
    }
}

// The shortest and nearest rings come first.
fn sorted(mut rings: Vec<RingCandidate>) -> Vec<RingCandidate> {
    rings.sort_by(|a, b| a.rank().cmp(&b.rank()));
    rings.truncate(MOST_RINGS);
    rings
}

/// The rings of several runs.
#[derive(Clone, Default, Debug)]
pub struct RingCandidates {
    all: BTreeMap<Ring, RingCandidate>,
}

impl RingCandidates {
    /// Adds the rings that run number `run` shows.
    pub fn add(&mut self, run: u64, found: Vec<RingCandidate>) {
        for mut ring in found {
            ring.run = run;
            ring.closed = ring.closed.map(|_| run);
            match self.all.get_mut(&ring.ring) {
                None => drop(self.all.insert(ring.ring.clone(), ring)),
                Some(known) => {
                    let closed = known.closed.into_iter().chain(ring.closed).min();
                    let count = known.count + ring.count;
                    if (!ring.performed, run) < (!known.performed, known.run) {
                        *known = ring;
                    }
                    (known.closed, known.count) = (closed, count);
                }
            }
        }
    }

    /// Returns the rings, the shortest and nearest first.
    #[must_use]
    pub fn finish(self) -> Vec<RingCandidate> {
        sorted(self.all.into_values().collect())
    }
}

/// Returns the rings of a run that has ended in this state.
pub(in crate::detect) fn rings(order: &LockOrder, watch: &mut RunState, world: &World) -> Vec<RingCandidate> {
    let edges = order.finish(watch, world);
    let mut of: BTreeMap<Thing, Vec<usize>> = BTreeMap::new();
    for (i, edge) in edges.iter().enumerate() {
        of.entry(edge.made.claim.thing()).or_default().push(i);
    }
    let mut search = RingSearch { edges: &edges, of, watch, world, steps: 0, path: Vec::new(), found: BTreeMap::new() };
    for length in 2..=LONGEST.min(edges.len()) {
        (0..edges.len()).for_each(|first| search.extend(first, length));
        if search.found.len() >= MOST_RINGS {
            break;
        }
    }
    sorted(search.found.into_values().collect())
}

struct RingSearch<'r> {
    edges: &'r [LockEdge],
    // Indices of the edges by what they have a claim on.
    of: BTreeMap<Thing, Vec<usize>>,
    watch: &'r RunState,
    world: &'r World,
    steps: u32,
    // Indices of the edges of the ring so far. The first one is the least, so that each ring is found once.
    path: Vec<usize>,
    found: BTreeMap<Ring, RingCandidate>,
}

impl RingSearch<'_> {
    // Adds an edge to the ring so far, and finds all rings of this length that go on with it.
    fn extend(&mut self, at: usize, length: usize) {
        let Self { edges, watch, .. } = *self;
        self.steps += 1;
        if self.steps > MOST_STEPS || !self.path.iter().all(|other| edges[*other].may_meet(&edges[at], watch)) {
            return;
        }
        self.path.push(at);
        let (first, wanted) = (self.path[0], edges[at].wanted);
        if self.path.len() == length {
            if edges[first].made.claim.blocks(wanted) {
                self.add();
            }
        } else {
            let next = self.of.get(&wanted.thing()).cloned().unwrap_or_default();
            let blocks = |i: &usize| *i > first && edges[*i].made.claim.blocks(wanted);
            next.into_iter().filter(blocks).for_each(|i| self.extend(i, length));
        }
        self.path.pop();
    }

    fn add(&mut self) {
        let Self { edges, world, .. } = *self;
        let path = || self.path.iter().map(|i| &edges[*i]);
        let (ring, first) = Ring::new(path().map(|e| RingSites { holds: e.made.site, wants: e.site }).collect());
        let part = |edge: &LockEdge| RingPart {
            context: world.contexts().name(world.setup(), edge.context),
            holds: edge.made.claim.name(world),
            wants: edge.wanted.name(world),
            steps: (edge.made.step, edge.step),
        };
        let mut parts: Vec<RingPart> = path().map(part).collect();
        parts.rotate_left(first);
        let performed = path().all(|edge| !edge.pending);
        let closed = path().all(|edge| edge.pending).then_some(0);
        let new = RingCandidate { ring: ring.clone(), parts, run: 0, performed, closed, count: 1 };
        match self.found.get_mut(&ring) {
            None => drop(self.found.insert(ring, new)),
            Some(known) => {
                let closed = known.closed.or(new.closed);
                if (!new.performed, new.span()) < (!known.performed, known.span()) {
                    *known = new;
                }
                known.closed = closed;
            }
        }
    }
}

/// The rings of one run: an [`Observer`] that must receive every event from the start of the app.
///
/// # Examples
///
/// ```
/// use raceflip::{detect::Rings, exec::run, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "lock l; lock m; thread a { sync l { sync m { skip } } }; thread b { sync m { sync l { skip } } }";
/// # let model = Model::from_text("two.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let (mut rings, mut machine) = (Rings::new(), model.machine(Limits::default()));
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut rings, &stop);
/// let found = rings.finish(&machine.world);
/// assert_eq!(found.len(), 1);
/// // The thread a holds l and wants m, and the thread b holds m and wants l.
/// assert_eq!(found[0].parts[0].wants, "lock m");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rings {
    watch: RunState,
    order: LockOrder,
}

impl Default for Rings {
    fn default() -> Self {
        Self::new()
    }
}

impl Rings {
    /// Returns a detector that has seen no event.
    #[must_use]
    pub fn new() -> Self {
        Self { watch: RunState::new(false), order: LockOrder::default() }
    }

    /// Returns the rings of the run, the shortest and nearest first. `world` is the state after the run.
    #[must_use]
    pub fn finish(mut self, world: &World) -> Vec<RingCandidate> {
        rings(&self.order, &mut self.watch, world)
    }
}

impl Observer for Rings {
    fn event(&mut self, world: &World, event: &Event) {
        self.watch.observe(world, event);
        if let Some((op, value, act)) = self.watch.act(world, event) {
            self.order.observe(world, &mut self.watch, (op, value, &act));
        }
        self.watch.close(world, event);
    }
}
