//! The deadlock rings of one run by their definition: all cycles of acquisitions are tried, and the order that every
//! run has is a plain reachability over the operations. It shares neither clocks, lock sets nor the search with the
//! product.

use raceflip::detect::{Ring, RingSites, Rings};
use raceflip::event::{ContextId, Event, EventKind, Op, RwLockId, SiteId, ThreadId};
use raceflip::exec::{Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::vm::Model;
use raceflip::world::{Limits, LockHold, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// What keeps others from a lock: a hold of it, or a writer that has announced itself.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Claim {
    Hold(LockHold),
    Announced(RwLockId),
}

impl Claim {
    fn blocks(self, wanted: LockHold) -> bool {
        match self {
            Claim::Hold(hold) => excludes(hold, wanted),
            Claim::Announced(lock) => wanted == LockHold::Read(lock),
        }
    }
}

fn excludes(a: LockHold, b: LockHold) -> bool {
    match (a, b) {
        (LockHold::Lock(a), LockHold::Lock(b)) => a == b,
        (LockHold::Write(a), LockHold::Read(b) | LockHold::Write(b)) | (LockHold::Read(a), LockHold::Write(b)) => {
            a == b
        }
        _ => false,
    }
}

/// An operation: who performed it, and what it makes.
struct Done {
    thread: ThreadId,
    context: ContextId,
    makes: Option<ContextId>,
    joins: Option<ThreadId>,
    /// The looper, if it is a post.
    posts_to: Option<ThreadId>,
}

/// An acquisition that a thread wanted while it had claims.
struct Want {
    /// Index of the operation.
    at: usize,
    wanted: LockHold,
    site: SiteId,
    claims: Vec<(Claim, SiteId)>,
}

/// A run with its operations and acquisitions.
#[derive(Default)]
struct Recording {
    done: Vec<Done>,
    wants: Vec<Want>,
    // What each thread has a claim on, each time that it took it, the outermost first.
    claims: BTreeMap<ThreadId, Vec<(Claim, SiteId)>>,
    looper_of: BTreeMap<ContextId, ThreadId>,
}

impl Recording {
    fn add(&mut self, world: &World, event: &Event, (op, value, made): (&Op, i64, Option<ContextId>)) {
        let (Some(thread), Some(context)) = (event.thread, event.context) else { return };
        let posts_to = match op {
            Op::Post { target, .. } => Some(world.thread_of(*target)),
            _ => None,
        };
        let joins = if let Op::Join(thread) = op { Some(*thread) } else { None };
        let makes = made.filter(|_| !matches!(op, Op::Begin));
        if let (Some(looper), Some(made)) = (posts_to, makes) {
            self.looper_of.insert(made, looper);
        }
        let at = self.done.len();
        self.done.push(Done { thread, context, makes, joins, posts_to });
        let Some(site) = event.site else { return };
        let claims = self.claims.entry(thread).or_default();
        let taken = match *op {
            Op::Acquire(lock) => Some(LockHold::Lock(lock)),
            Op::ReadLock(lock) => Some(LockHold::Read(lock)),
            Op::WriteLock(lock) => Some(LockHold::Write(lock)),
            _ => None,
        };
        if let Op::Announce(lock) = *op {
            claims.push((Claim::Announced(lock), site));
        }
        if let Some(wanted) = taken {
            let is_held = claims.iter().any(|(claim, _)| *claim == Claim::Hold(wanted));
            // A timed acquisition, which has a value, gives up. A lock that the thread holds is there for it; a read
            // lock is not, where a writer has announced itself.
            if value == 0 && (!is_held || matches!(wanted, LockHold::Read(_))) {
                self.wants.push(Want { at, wanted, site, claims: once(claims) });
            }
            if let LockHold::Write(lock) = wanted {
                claims.retain(|(claim, _)| *claim != Claim::Announced(lock));
            }
            claims.push((Claim::Hold(wanted), site));
        }
        let given_up = match *op {
            Op::Release(lock) => Some(LockHold::Lock(lock)),
            Op::ReadUnlock(lock) => Some(LockHold::Read(lock)),
            Op::WriteUnlock(lock) => Some(LockHold::Write(lock)),
            _ => None,
        };
        if let Some(hold) = given_up
            && let Some(last) = claims.iter().rposition(|(claim, _)| *claim == Claim::Hold(hold))
        {
            claims.remove(last);
        }
    }

    /// Adds the acquisitions at which threads are blocked in the last state of the run.
    fn blocked(&mut self, world: &World) {
        for thread in world.threads().ids() {
            let (Some(wanted), Some(site)) = (world.wanted(thread), world.thread(thread).site) else { continue };
            let context = world.thread(thread).context;
            let claims = once(self.claims.get(&thread).map_or(&[], |claims| claims));
            self.wants.push(Want { at: self.done.len(), wanted, site, claims });
            self.done.push(Done { thread, context, makes: None, joins: None, posts_to: None });
        }
    }

    /// Returns for each operation those that are before it in every run.
    fn before(&self) -> Vec<BTreeSet<usize>> {
        let n = self.done.len();
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        let of = |context: ContextId| (0..n).filter(move |i| self.done[*i].context == context);
        for (i, done) in self.done.iter().enumerate() {
            edges.extend(of(done.context).find(|j| *j > i).map(|j| (i, j)));
            edges.extend(done.makes.and_then(|made| of(made).next()).map(|j| (i, j)));
            let joined = done.joins.and_then(|thread| (0..i).rfind(|j| self.done[*j].thread == thread));
            edges.extend(joined.map(|j| (j, i)));
        }
        let posts: Vec<usize> = (0..n).filter(|i| self.done[*i].posts_to.is_some()).collect();
        loop {
            let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
            for j in 0..n {
                // Each edge leads to a later operation.
                let direct: Vec<usize> = edges.iter().filter(|(_, to)| *to == j).map(|(from, _)| *from).collect();
                let all: BTreeSet<usize> = direct.iter().flat_map(|i| before[*i].iter().copied()).collect();
                before[j] = all.into_iter().chain(direct).collect();
            }
            let known = edges.len();
            for (p, q) in posts.iter().flat_map(|p| posts.iter().map(move |q| (*p, *q))) {
                let (Some(first), Some(second)) = (self.done[p].makes, self.done[q].makes) else { continue };
                let (Some(last), Some(begin)) = (of(first).next_back(), of(second).next()) else { continue };
                // Of two tasks of one looper the first one ends before the second one begins if its post comes first,
                // or if the second one is posted after something that the first one does.
                let is_first = before[q].contains(&p) || of(first).any(|i| i == q || before[q].contains(&i));
                if first != second && self.looper_of[&first] == self.looper_of[&second] && is_first && last < begin {
                    edges.insert((last, begin));
                }
            }
            if edges.len() == known {
                return before;
            }
        }
    }

    fn rings(&self) -> BTreeSet<Ring> {
        let before = self.before();
        let mut found = BTreeSet::new();
        let edges: Vec<(&Want, Claim, SiteId)> = self
            .wants
            .iter()
            .flat_map(|want| want.claims.iter().map(move |(claim, site)| (want, *claim, *site)))
            .collect();
        let meet = |a: &Want, b: &Want| {
            let holds = |want: &Want| -> Vec<LockHold> {
                let hold =
                    |(claim, _): &(Claim, SiteId)| if let Claim::Hold(hold) = claim { Some(*hold) } else { None };
                want.claims.iter().filter_map(hold).collect()
            };
            let apart = holds(a).iter().any(|x| holds(b).iter().any(|y| excludes(*x, *y)));
            let ordered = before[b.at].contains(&a.at) || before[a.at].contains(&b.at);
            self.done[a.at].thread != self.done[b.at].thread && !apart && !ordered
        };
        let mut open: Vec<Vec<usize>> = (0..edges.len()).map(|i| vec![i]).collect();
        while let Some(path) = open.pop() {
            let last = path[path.len() - 1];
            if path.len() > 1 && edges[path[0]].1.blocks(edges[last].0.wanted) {
                let parts = path.iter().map(|i| RingSites { holds: edges[*i].2, wants: edges[*i].0.site }).collect();
                found.insert(Ring::new(parts).0);
            }
            for next in 0..edges.len() {
                let fits = edges[next].1.blocks(edges[last].0.wanted);
                if fits && path.iter().all(|i| meet(edges[*i].0, edges[next].0)) {
                    open.push(path.iter().copied().chain([next]).collect());
                }
            }
        }
        found
    }
}

// The claims, each with its first acquisition.
fn once(claims: &[(Claim, SiteId)]) -> Vec<(Claim, SiteId)> {
    let mut all: Vec<(Claim, SiteId)> = Vec::new();
    for (claim, site) in claims {
        if !all.iter().any(|(known, _)| known == claim) {
            all.push((*claim, *site));
        }
    }
    all
}

impl Observer for Recording {
    fn event(&mut self, world: &World, event: &Event) {
        if let EventKind::Performed { op, value, made, refused: false } = &event.what {
            self.add(world, event, (op, *value, *made));
        }
    }
}

/// Compares the rings of some random walks with their definition. Returns the number of rings.
pub(crate) fn compare(name: &str, text: &str, seeds: u64) -> Result<usize, String> {
    let model = Model::from_text(name, text, &[]).map_err(|e| e.to_string())?;
    let mut machine = model.machine(Limits::default());
    let mut count = 0;
    for seed in 0..seeds {
        let (mut rings, mut recording) = (Rings::new(), Recording::default());
        let both = &mut (&mut rings, &mut recording);
        run(&mut machine, &mut RandomWalk::default(), seed, both, &AtomicBool::new(false));
        let found: BTreeSet<Ring> = rings.finish(&machine.world).into_iter().map(|found| found.ring).collect();
        recording.blocked(&machine.world);
        let expected = recording.rings();
        if found != expected {
            return Err(format!("{name}, seed {seed}: {found:?}, but it is {expected:?}\n{text}"));
        }
        count += found.len();
    }
    Ok(count)
}
