//! Generates bodies with reads, tests and writes of references, and computes their uses and guards by definition: from
//! the set of all facts with which some way leads to a use. The product intersects the facts of several ways where the
//! ways meet; this keeps each way's facts apart, and intersects only at the uses.

use raceflip::base::Rng;
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};

/// Line and column of a read.
type Read = (u32, u32);
/// A location, or the local with this number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    P,
    Q,
    Element(u32),
    Field,
    Local(u32),
}
/// Tests that have come out as "not null", each with its read.
type Facts = BTreeSet<(Place, Read)>;

enum Cond {
    Flag,
    Test { place: Place, read: Read, not_null: bool },
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
}

enum Stmt {
    Use(Place, Read),
    UseLocal(u32),
    Let(u32, Place, Read),
    // What ends the facts about these places.
    Write(Vec<Place>),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    While(Cond, Vec<Stmt>),
    Loop(Vec<Stmt>),
    Try(Vec<Stmt>, Vec<Stmt>),
    Leave(Exit),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Exit {
    Normal,
    Break,
    Continue,
    Return,
}

/// A generated body with its text.
pub(crate) struct Generated {
    text: String,
    body: Vec<Stmt>,
    // The local of each `let`, with its read.
    lets: BTreeMap<u32, Read>,
}

const PRELUDE: &str = "class Node { var f: Node = null }; var p: Node = new Node; var q: Node = new Node; var a: Node[2]; var i = 0; \
    var flag = 0; looper main; task clear_p() { p = null }; task clear_q() { clear_p(); q = null }; task clear_f(n: Node) { n.f = null }; \
    thread t { post body() to main }\n";

struct Writer {
    rng: Rng,
    text: String,
    lets: BTreeMap<u32, Read>,
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    // Writes a mention of a place, and returns where it is.
    fn place(&mut self, place: Place) -> Read {
        let line = self.text.matches('\n').count() as u32 + 1;
        let column = self.text.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
        match place {
            Place::P => self.push("p"),
            Place::Q => self.push("q"),
            Place::Element(i) => self.push(&format!("a[{i}]")),
            Place::Field => self.push("o.f"),
            Place::Local(k) => self.push(&format!("k{k}")),
        }
        (line, column)
    }

    fn any_place(&mut self) -> Place {
        [Place::P, Place::P, Place::P, Place::Q, Place::Element(0), Place::Element(1), Place::Field]
            [self.rng.below(7) as usize]
    }

    fn cond(&mut self, depth: u32, known: &[u32]) -> Cond {
        match self.rng.below(if depth == 0 { 5 } else { 8 }) {
            0 => {
                self.push("flag == 1");
                Cond::Flag
            }
            1..=4 => {
                let local = (!known.is_empty() && self.rng.below(3) == 0)
                    .then(|| known[self.rng.below(known.len() as u32) as usize]);
                let place = local.map_or_else(|| self.any_place(), Place::Local);
                let at = self.place(place);
                let read = local.map_or(at, |k| self.lets[&k]);
                let not_null = self.rng.below(3) > 0;
                self.push(if not_null { " != null" } else { " == null" });
                Cond::Test { place, read, not_null }
            }
            5 => {
                self.push("!(");
                let inner = self.cond(depth - 1, known);
                self.push(")");
                Cond::Not(Box::new(inner))
            }
            which => {
                self.push("(");
                let left = Box::new(self.cond(depth - 1, known));
                self.push(if which == 6 { ") && (" } else { ") || (" });
                let right = Box::new(self.cond(depth - 1, known));
                self.push(")");
                if which == 6 { Cond::And(left, right) } else { Cond::Or(left, right) }
            }
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool, known: &[u32]) -> Vec<Stmt> {
        let mut known = known.to_vec();
        let mut all = Vec::new();
        self.push("{\n");
        for _ in 0..=self.rng.below(3) {
            let stmt = self.stmt(depth, in_loop, &mut known);
            self.push("\n");
            all.push(stmt);
        }
        self.push("}");
        all
    }

    fn stmt(&mut self, depth: u32, in_loop: bool, known: &mut Vec<u32>) -> Stmt {
        let (p, q, f) = (Place::P, Place::Q, Place::Field);
        match self.rng.below(if depth == 0 { 12 } else { 20 }) {
            0..=2 => {
                self.push("use ");
                let place = self.any_place();
                Stmt::Use(place, self.place(place))
            }
            3 if !known.is_empty() => {
                let k = known[self.rng.below(known.len() as u32) as usize];
                self.push(&format!("use k{k}"));
                Stmt::UseLocal(k)
            }
            3 | 4 => {
                let k = self.lets.len() as u32;
                self.push(&format!("let k{k} = "));
                let place = self.any_place();
                let read = self.place(place);
                self.lets.insert(k, read);
                known.push(k);
                Stmt::Let(k, place, read)
            }
            5 => self.write("p = null", &[p]),
            6 => self.write("a[0] = q", &[Place::Element(0)]),
            7 => self.write("a[i] = null", &[Place::Element(0), Place::Element(1)]),
            8 => match self.rng.below(3) {
                0 => self.write("clear_p()", &[p]),
                1 => self.write("clear_q()", &[p, q]),
                _ => self.write("clear_f(o)", &[f]),
            },
            9 => match self.rng.below(3) {
                0 => self.write("o = new Node", &[f]),
                1 => self.write("q = new Node", &[q]),
                _ => self.write("skip", &[]),
            },
            10 if in_loop => {
                self.push("break");
                Stmt::Leave(Exit::Break)
            }
            11 if in_loop => {
                self.push("continue");
                Stmt::Leave(Exit::Continue)
            }
            10 | 11 => {
                self.push("if flag == 2 { return }");
                Stmt::If(Cond::Flag, vec![Stmt::Leave(Exit::Return)], Vec::new())
            }
            12..=16 => {
                self.push("if ");
                let cond = self.cond(2, known);
                self.push(" ");
                let then = self.block(depth - 1, in_loop, known);
                let other = if self.rng.coin() {
                    self.push(" else ");
                    self.block(depth - 1, in_loop, known)
                } else {
                    Vec::new()
                };
                Stmt::If(cond, then, other)
            }
            17 => {
                self.push("while ");
                let cond = self.cond(1, known);
                self.push(" ");
                Stmt::While(cond, self.block(depth - 1, true, known))
            }
            18 => {
                self.push("loop ");
                Stmt::Loop(self.block(depth - 1, true, known))
            }
            _ => {
                self.push("try ");
                let body = self.block(depth - 1, in_loop, known);
                self.push(" catch ");
                Stmt::Try(body, self.block(depth - 1, in_loop, known))
            }
        }
    }

    fn write(&mut self, text: &str, ends: &[Place]) -> Stmt {
        self.push(text);
        Stmt::Write(ends.to_vec())
    }
}

/// Returns the body of this seed.
pub(crate) fn generated(seed: u64) -> Generated {
    let mut writer = Writer { rng: Rng::seeded(seed), text: PRELUDE.to_owned(), lets: BTreeMap::new() };
    writer.push("task body() {\nlet o = q\n");
    let (mut body, mut known) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        body.push(writer.stmt(3, false, &mut known));
        writer.push("\n");
    }
    writer.push("}");
    Generated { text: writer.text, body, lets: writer.lets }
}

#[derive(Default)]
struct Naive {
    // For each use of a location, and each read into a local, the guards that every way to it has.
    guards: BTreeMap<Read, BTreeSet<Read>>,
    uses: BTreeSet<Read>,
    tested: BTreeSet<Read>,
    // Locals that are dereferenced, each with whether a test of it guards every dereference on every way.
    locals: BTreeMap<u32, bool>,
    // The facts at all points so far of each `try` around.
    tries: Vec<BTreeSet<Facts>>,
}

impl Naive {
    fn read(&mut self, place: Place, read: Read, facts: &Facts) {
        let here: BTreeSet<Read> = facts.iter().filter(|(of, _)| *of == place).map(|(_, guard)| *guard).collect();
        let known = self.guards.entry(read).or_insert_with(|| here.clone());
        known.retain(|guard| here.contains(guard));
    }

    fn cond(&mut self, cond: &Cond, facts: Facts) -> BTreeSet<(bool, Facts)> {
        match cond {
            Cond::Flag => BTreeSet::from([(true, facts.clone()), (false, facts)]),
            Cond::Test { place, read, not_null } => {
                self.tested.insert(*read);
                if !matches!(place, Place::Local(_)) {
                    self.read(*place, *read, &facts);
                }
                let mut known = facts.clone();
                known.insert((*place, *read));
                BTreeSet::from([(*not_null, known), (!*not_null, facts)])
            }
            Cond::Not(inner) => self.cond(inner, facts).into_iter().map(|(out, facts)| (!out, facts)).collect(),
            Cond::And(left, right) | Cond::Or(left, right) => {
                let goes_on = matches!(cond, Cond::And(..));
                let (mut all, firsts) = (BTreeSet::new(), self.cond(left, facts));
                for (out, facts) in firsts {
                    match out == goes_on {
                        true => all.extend(self.cond(right, facts)),
                        false => drop(all.insert((out, facts))),
                    }
                }
                all
            }
        }
    }

    fn block(&mut self, block: &[Stmt], start: Facts) -> BTreeSet<(Exit, Facts)> {
        let mut ends = BTreeSet::new();
        let mut here = BTreeSet::from([start]);
        for stmt in block {
            let mut next = BTreeSet::new();
            for facts in here {
                for (exit, facts) in self.stmt(stmt, facts) {
                    if exit == Exit::Normal {
                        next.insert(facts);
                    } else {
                        ends.insert((exit, facts));
                    }
                }
            }
            here = next;
        }
        ends.extend(here.into_iter().map(|facts| (Exit::Normal, facts)));
        ends
    }

    fn point(&mut self, facts: &Facts) {
        self.tries.iter_mut().for_each(|points| points.extend([facts.clone()]));
    }

    fn stmt(&mut self, stmt: &Stmt, mut facts: Facts) -> BTreeSet<(Exit, Facts)> {
        self.point(&facts);
        let one = |facts| BTreeSet::from([(Exit::Normal, facts)]);
        match stmt {
            Stmt::Use(place, read) => {
                self.uses.insert(*read);
                self.read(*place, *read, &facts);
                one(facts)
            }
            Stmt::UseLocal(k) => {
                let guarded = facts.iter().any(|(place, _)| *place == Place::Local(*k));
                *self.locals.entry(*k).or_insert(true) &= guarded;
                one(facts)
            }
            Stmt::Let(k, place, read) => {
                self.read(*place, *read, &facts);
                facts.retain(|(place, _)| *place != Place::Local(*k));
                one(facts)
            }
            Stmt::Write(ends) => {
                facts.retain(|(place, _)| !ends.contains(place));
                self.point(&facts);
                one(facts)
            }
            Stmt::If(cond, then, other) => {
                let mut all = BTreeSet::new();
                for (out, facts) in self.cond(cond, facts) {
                    all.extend(self.block(if out { then } else { other }, facts));
                }
                all
            }
            Stmt::While(cond, body) => self.repeat(Some(cond), body, facts),
            Stmt::Loop(body) => self.repeat(None, body, facts),
            Stmt::Try(body, catch) => {
                self.tries.push(BTreeSet::from([facts.clone()]));
                let mut all = self.block(body, facts);
                let points = self.tries.pop().unwrap_or_default();
                for facts in points {
                    all.extend(self.block(catch, facts));
                }
                all
            }
            Stmt::Leave(exit) => BTreeSet::from([(*exit, facts)]),
        }
    }

    fn repeat(&mut self, cond: Option<&Cond>, body: &[Stmt], facts: Facts) -> BTreeSet<(Exit, Facts)> {
        let (mut seen, mut open, mut all) = (BTreeSet::new(), vec![facts], BTreeSet::new());
        while let Some(facts) = open.pop() {
            if !seen.insert(facts.clone()) {
                continue;
            }
            let ways = match cond {
                Some(cond) => self.cond(cond, facts),
                None => BTreeSet::from([(true, facts)]),
            };
            for (out, facts) in ways {
                if !out {
                    all.insert((Exit::Normal, facts));
                    continue;
                }
                for (exit, facts) in self.block(body, facts) {
                    match exit {
                        Exit::Normal | Exit::Continue => open.push(facts),
                        Exit::Break => drop(all.insert((Exit::Normal, facts))),
                        Exit::Return => drop(all.insert((exit, facts))),
                    }
                }
            }
        }
        all
    }
}

type Row = (bool, bool, BTreeSet<Read>);

/// Compares the table of a body with its definition. Returns the number of uses with a guard, and of those without one.
pub(crate) fn compare(Generated { text, body, lets }: &Generated) -> (usize, usize) {
    let mut naive = Naive::default();
    naive.block(body, Facts::new());
    let mut expected: BTreeMap<Read, Row> = BTreeMap::new();
    naive.tested.iter().for_each(|read| expected.entry(*read).or_default().1 = true);
    for read in &naive.uses {
        let row = expected.entry(*read).or_default();
        (row.0, row.2) = (true, naive.guards[read].clone());
    }
    for (k, guarded) in &naive.locals {
        let read = lets[k];
        let row = expected.entry(read).or_default();
        (row.0, row.2) = (true, naive.guards[&read].clone());
        row.2.extend(guarded.then_some(read));
    }
    let model = Model::from_text("generated.race", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let sites = &model.program.sites;
    let at = |site| (sites[site].line, sites[site].column);
    let rows = model.program.uses.iter().filter(|(site, _)| at(*site).0 > 1);
    // The local `o` gets its value from `q` first, and may get another one.
    let found: BTreeMap<Read, Row> = rows
        .map(|(site, row)| (at(site), (row.derefs, row.tested, row.guards.iter().map(|guard| at(*guard)).collect())))
        .collect();
    let o = (3, 9);
    let (mut found, mut expected) = (found, expected);
    found.remove(&o);
    expected.remove(&o);
    assert_eq!(found, expected, "{text}");
    let uses = found.values().filter(|row| row.0);
    let (guarded, bare): (Vec<_>, Vec<_>) = uses.partition(|row| !row.2.is_empty());
    (guarded.len(), bare.len())
}
