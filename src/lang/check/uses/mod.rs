//! Finds the uses and guards of references: the reads whose values are dereferenced, and the conditions that keep null
//! from them.
//!
//! CAFA (Hsiao et al., PLDI 2014, section 4.3) approximates both on bytecode: a use is the nearest earlier read that
//! got the same object, and a guard protects a range of addresses. Here both are exact, by the graph of the statements:
//!
//! - A read is a **use** if the same expression dereferences its value (`use p`, `p.f`, `sync p`, `post f() to p`), or
//!   if its value is stored in a local that is assigned nowhere else, and the local is dereferenced.
//! - A use has a **guard** if a condition that tests the same location is on every way to it, came out as "not null"
//!   there, and nothing on the way from the condition to the use writes the location or lets other tasks run. The
//!   conditions are `p != null`, `!(p == null)`, and `p == q` for a `q` that is never null (`self`, `this`, a name at
//!   the top level), alone or as a part of `&&`, `||` and `!`. An `assert` is no guard: it fails if it does not hold.
//! - The value of a use in a local may be tested in that local. Then the use guards itself, if the test guards each
//!   dereference of the local.
//!
//! The same location is the same cell of a global, with constant indices, or the same field of the object in a local or
//! behind a name at the top level. An element of a list is none: a list is one location for all its elements.
//!
//! The pass is a forward analysis over the statements of each body: a state is the set of tests that hold ([`facts`]),
//! the states of two ways are intersected, and loops are repeated until nothing changes. A first round collects what
//! each body writes, so that the second one knows what a call may change. A site that no way leads to is neither use
//! nor guard.

mod exprs;
mod facts;
mod stmts;

use crate::base::{Id, IndexVec};
use crate::event::{BodyId, SiteId, Uses};
use crate::lang::program::{Body, LocalId, MemoryPlace, NO_SITE, Program};
use facts::{Change, Effects, Facts, State};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the table of the uses and guards of a program.
pub(super) fn uses(program: &Program) -> Uses {
    let bodies: Vec<Collected> = program.bodies.iter().map(|body| Pass::new(program, body).round()).collect();
    let effects = closed(&bodies);
    let mut table = Uses::default();
    for (body, collected) in program.bodies.iter().zip(bodies) {
        let mut pass = Pass::new(program, body);
        pass.sources = collected.sources;
        pass.effects = Some(&effects);
        pass.round().write_to(&mut table);
    }
    table
}

// Returns what each body may write, with all bodies that it calls.
fn closed(bodies: &[Collected]) -> IndexVec<BodyId, Effects> {
    let mut effects: IndexVec<BodyId, Effects> = bodies.iter().map(|_| Effects::default()).collect();
    let mut callers: IndexVec<BodyId, Vec<BodyId>> = bodies.iter().map(|_| Vec::new()).collect();
    for (body, collected) in effects.ids().zip(bodies) {
        collected.calls.iter().for_each(|callee| callers[*callee].push(body));
    }
    // A body is looked at again when the effects of one that it calls have grown.
    let mut open: BTreeSet<BodyId> = effects.ids().collect();
    while let Some(body) = open.pop_last() {
        let mut all = effects[body].clone();
        all.add(&bodies[body.index()].own);
        bodies[body.index()].calls.iter().for_each(|callee| all.add(&effects[*callee]));
        if all != effects[body] {
            effects[body] = all;
            open.extend(&callers[body]);
        }
    }
    effects
}

/// Maximum number of statements that a round visits with repeated loops. Loops in loops may need twice the rounds for
/// each level. Beyond this number a loop starts without facts, and needs one round.
const MOST_VISITS: u32 = 100_000;

/// What one round over a body has found.
#[derive(Default)]
struct Collected {
    own: Effects,
    calls: BTreeSet<BodyId>,
    // Locals that are assigned, each with the read that gives it its value. `None` if something else does as well.
    sources: BTreeMap<LocalId, Option<SiteId>>,
    // Writes of references.
    writes: BTreeSet<SiteId>,
    // Reads whose values are dereferenced.
    derefs: BTreeSet<SiteId>,
    // Reads whose values are tested.
    tested: BTreeSet<SiteId>,
    // For each read the guards of its location there.
    guards: BTreeMap<SiteId, Vec<SiteId>>,
    // Reads whose values are in a local, each with whether a test of the local guards all its dereferences.
    by_local: BTreeMap<SiteId, bool>,
}

impl Collected {
    fn write_to(self, table: &mut Uses) {
        self.writes.iter().for_each(|site| table.add_write(*site));
        for site in &self.tested {
            table.row(*site).tested = true;
        }
        for site in self.derefs {
            let mut guards = self.guards.get(&site).cloned().unwrap_or_default();
            if self.by_local.get(&site) == Some(&true) {
                guards.push(site);
                guards.sort_unstable();
                guards.dedup();
            }
            let row = table.row(site);
            row.derefs = true;
            row.guards = guards;
        }
    }
}

/// A loop that the pass is in.
struct LoopFlow {
    // The states in which it is left by `break`, and repeated by `continue`.
    breaks: State,
    continues: State,
    // Number of `finally` blocks around the loop.
    finals: usize,
}

/// One round over a body.
struct Pass<'p> {
    program: &'p Program,
    body: &'p Body,
    // Of the first round; empty during it.
    sources: BTreeMap<LocalId, Option<SiteId>>,
    // `None` during the first round.
    effects: Option<&'p IndexVec<BodyId, Effects>>,
    out: Collected,
    loops: Vec<LoopFlow>,
    // What holds at every point so far of each `try` around, innermost last: an exception may come from any of them.
    handlers: Vec<Facts>,
    finals: usize,
    // Number of statements visited.
    visits: u32,
}

impl<'p> Pass<'p> {
    fn new(program: &'p Program, body: &'p Body) -> Self {
        Self {
            program,
            body,
            sources: BTreeMap::new(),
            effects: None,
            out: Collected::default(),
            loops: Vec::new(),
            handlers: Vec::new(),
            finals: 0,
            visits: 0,
        }
    }

    fn round(mut self) -> Collected {
        let mut state = State(Some(Facts::default()));
        (0..self.body.params).for_each(|param| self.assigns(LocalId(param), None));
        self.block(&self.body.block, &mut state);
        self.out
    }

    // Notes an assignment to a local. The round may see the same assignment more than once.
    fn assigns(&mut self, local: LocalId, from: Option<SiteId>) {
        let known = self.out.sources.entry(local).or_insert(from);
        if *known != from {
            *known = None;
        }
    }

    // The read whose value a local has, if it is assigned once.
    fn source(&self, local: LocalId) -> Option<SiteId> {
        self.sources.get(&local).copied().flatten()
    }

    fn change(&mut self, state: &mut State, change: Change<'_>) {
        match change {
            Change::Global(global, _) => drop(self.out.own.globals.insert(global)),
            Change::Field(class, field) => drop(self.out.own.fields.insert((class, field))),
            Change::OthersRun => self.out.own.lets_others_run = true,
            Change::Local(_) | Change::Call(_) => {}
        }
        state.0.iter_mut().chain(&mut self.handlers).for_each(|facts| facts.change(change));
    }

    fn write(&mut self, place: &MemoryPlace, site: SiteId, state: &mut State) {
        if place.ty.has_null() && site != NO_SITE {
            self.out.writes.insert(site);
        }
        self.change(state, Change::write(place));
    }

    fn call(&mut self, state: &mut State, body: BodyId) {
        self.out.calls.insert(body);
        if let Some(effects) = self.effects {
            self.change(state, Change::Call(&effects[body]));
        }
    }

    // A point at which an async task gives up its looper. Any other task keeps it.
    fn suspends(&mut self, state: &mut State) {
        if self.body.is_async() {
            self.change(state, Change::OthersRun);
        }
    }
}
