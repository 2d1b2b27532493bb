//! Compares claims about the orders of accesses with all runs of random programs: those of `raceflip::statics`, and
//! those of the plain fixpoint ([`crate::static_rules`]), which also have to be the same.

use crate::static_rules::{Fixpoint, Mistake, fixpoint, with_mistake};
use crate::static_tree::Random;
use crate::static_truth::{OrderFacts, order_facts};
use raceflip::detect::Pair;
use raceflip::event::{AccessKind, SiteId};
use raceflip::lang::Program;
use raceflip::statics::{SitesClaim, Statics, StaticsOptions, analyze};
use raceflip::vm::Model;
use std::ops::Range;

/// Programs with more states are skipped.
pub(crate) const MOST_STATES: usize = 4_000;

/// Counts over many programs.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) programs: u64,
    pub(crate) too_large: u64,
    /// Programs whose contexts were folded because of the limits.
    pub(crate) folded: u64,
    pub(crate) states: u64,
    /// Pairs of sites that can conflict, and those of which an order is claimed.
    pub(crate) pairs: u64,
    pub(crate) claims: u64,
    /// Pairs that have one order in all runs, and those of them whose order is claimed or settled.
    pub(crate) one_order: u64,
    pub(crate) found: u64,
    /// Settled orders, and those of them in which the first access still comes where the task of the other one, which
    /// is pending, leaves: such an order must not refute a pair.
    pub(crate) settled: u64,
    pub(crate) cut: u64,
    /// Pairs of marks whose claim differs from that of the fixpoint: claimed by it alone, and by the analysis alone.
    pub(crate) compared: u64,
    pub(crate) lacking: Vec<String>,
    pub(crate) beyond: Vec<String>,
    /// Claims that some run contradicts, each with its program.
    pub(crate) wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn counts(&self) -> String {
        let Self { programs, too_large, states, pairs, claims, one_order, found, settled, cut, compared, .. } = self;
        format!(
            "{programs} programs ({too_large} are too large; {states} states), {pairs} pairs of sites, {claims} claims, \
             {} wrong; {found} of {one_order} pairs with one order found; {settled} orders settled, {cut} of them by a cut; {compared} pairs compared with the fixpoint: {} \
             orders lack, {} are beyond it",
            self.wrong.len(),
            self.lacking.len(),
            self.beyond.len()
        )
    }

    /// Share of the pairs with one order that are found.
    pub(crate) fn recall(&self) -> f64 {
        self.found as f64 / self.one_order as f64
    }
}

/// Returns how all runs contradict what is claimed of two sites.
pub(crate) fn contradiction(statics: &Statics, facts: &OrderFacts, a: SiteId, b: SiteId) -> Option<String> {
    let claim = statics.sites(a, b);
    let pair = Pair::new(a, b);
    let beside = facts.beside.contains(&pair).then_some("side by side in some state");
    let happens = facts.orders.contains(&(a, b)) || facts.orders.contains(&(b, a));
    let denied = match claim {
        SitesClaim::Ordered { first } => facts.denies(first, if first == a { b } else { a }),
        SitesClaim::BothOrders | SitesClaim::OrderOnly | SitesClaim::Locked => beside,
        SitesClaim::NeverBoth | SitesClaim::NoConflict if happens => Some("both come in some run"),
        SitesClaim::NeverBoth => beside.or_else(|| facts.denies(a, b)).or_else(|| facts.denies(b, a)),
        SitesClaim::NoConflict => beside,
        SitesClaim::MayRace => None,
    };
    if let Some(how) = denied {
        return Some(format!("{claim:?}, and {how}"));
    }
    let settled = statics.settled(a, b)?;
    let then = if settled.first == a { b } else { a };
    facts.orders.contains(&(then, settled.first)).then(|| format!("{settled:?}, and the other order happens"))
}

/// Returns the first claim about a model that some run contradicts.
pub(crate) fn contradicted(model: &Model, facts: &OrderFacts) -> Option<String> {
    let statics = analyze(&model.program, &StaticsOptions::default());
    conflicting(&model.program).into_iter().find_map(|(a, b)| {
        let what = contradiction(&statics, facts, a, b)?;
        Some(format!("{}: {what}", named(&model.program, a, b)))
    })
}

/// Returns the name of a pair with its places in the text.
pub(crate) fn named(program: &Program, a: SiteId, b: SiteId) -> String {
    let one = |site| {
        let s = &program.sites[site];
        format!("{}{}:{}", s.label.as_ref().map_or(String::new(), |l| format!("@{l} ")), s.line, s.place)
    };
    format!("{} ~ {}", one(a), one(b))
}

/// Returns all pairs of sites that can conflict.
pub(crate) fn conflicting(program: &Program) -> Vec<(SiteId, SiteId)> {
    let sites = &program.sites;
    let all = sites.ids().flat_map(|a| sites.ids().map(move |b| (a, b)));
    all.filter(|(a, b)| a <= b && sites[*a].can_conflict(&sites[*b])).collect()
}

/// Judges the claims about the programs with these seeds, by all their runs. `with_rules`: also compares them with the
/// fixpoint.
pub(crate) fn judge(seeds: Range<u64>, make: fn(u64) -> Random, with_rules: bool) -> Tally {
    judge_with(seeds, make, with_rules, |_| StaticsOptions::default())
}

/// The same with these limits of the analysis, by the seed.
pub(crate) fn judge_with(
    seeds: Range<u64>,
    make: fn(u64) -> Random,
    with_rules: bool,
    options: impl Fn(u64) -> StaticsOptions,
) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let program = make(seed);
        let model = load(seed, &program);
        let statics = analyze(&model.program, &options(seed));
        all.folded += u64::from(!statics.complete());
        let Some(facts) = order_facts(&model, MOST_STATES) else {
            all.too_large += 1;
            continue;
        };
        if with_rules {
            compare(seed, &program, &model, &statics, &facts, &mut all);
        }
        all.judge(seed, &model, &statics, &facts);
    }
    all
}

/// Judges the claims about the models with these seeds, by all their runs.
pub(crate) fn judge_texts(seeds: Range<u64>, make: fn(u64) -> String) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let text = make(seed);
        let model = Model::from_text(&format!("random {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(facts) = order_facts(&model, MOST_STATES) else {
            all.too_large += 1;
            continue;
        };
        all.judge(seed, &model, &analyze(&model.program, &StaticsOptions::default()), &facts);
    }
    all
}

/// Judges the claims of the fixpoint itself about the marks of these programs, by all their runs.
pub(crate) fn judge_fixpoint(seeds: Range<u64>, make: fn(u64) -> Random) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let program = make(seed);
        let model = load(seed, &program);
        let (Some(rules), Some(facts)) = (fixpoint(&program), order_facts(&model, MOST_STATES)) else {
            all.too_large += 1;
            continue;
        };
        all.count(&facts);
        let marks = marks(&program, &model);
        for (a, b, claim) in claims(&rules, &marks) {
            all.pairs += 1;
            all.claims += u64::from(claim.refutes());
            if facts.has_one_order(a, b) {
                all.one_order += 1;
                all.found += u64::from(claim.refutes());
            }
            if let Some(how) = claim.denied(&facts, a, b) {
                all.wrong.push(says(seed, &model, &format!("{claim:?}, and {how}"), a, b));
            }
        }
    }
    all
}

/// Returns for each mistake in the rules the seeds whose runs show it to be one, and the number of programs that were
/// searched.
pub(crate) fn notice(seeds: Range<u64>, make: fn(u64) -> Random) -> (Vec<(Mistake, Vec<u64>)>, u64) {
    let mut all: Vec<(Mistake, Vec<u64>)> = Mistake::ALL.into_iter().map(|m| (m, Vec::new())).collect();
    let mut searched = 0;
    for seed in seeds {
        let program = make(seed);
        let model = load(seed, &program);
        let Some(facts) = order_facts(&model, MOST_STATES) else { continue };
        searched += 1;
        let marks = marks(&program, &model);
        for (mistake, seeds) in &mut all {
            let rules = with_mistake(&program, Some(*mistake));
            let is_wrong = |rules: Fixpoint| {
                claims(&rules, &marks).into_iter().any(|(a, b, claim)| claim.denied(&facts, a, b).is_some())
            };
            if rules.is_some_and(is_wrong) {
                seeds.push(seed);
            }
        }
    }
    (all, searched)
}

// Returns what the fixpoint claims of all pairs of marks that conflict.
fn claims(rules: &Fixpoint, marks: &[SiteId]) -> Vec<(SiteId, SiteId, Claim)> {
    let mut all = Vec::new();
    for (i, a) in marks.iter().enumerate() {
        for (j, b) in marks.iter().enumerate().take(i + 1) {
            all.extend(of_rules(rules, i as u32, j as u32).map(|claim| (*a, *b, claim)));
        }
    }
    all
}

impl Tally {
    // Compares all claims about a model with all of its runs.
    fn judge(&mut self, seed: u64, model: &Model, statics: &Statics, facts: &OrderFacts) {
        self.count(facts);
        for (a, b) in conflicting(&model.program) {
            self.pairs += 1;
            let claims = matches!(statics.sites(a, b), SitesClaim::Ordered { .. } | SitesClaim::NeverBoth);
            self.claims += u64::from(claims);
            if facts.has_one_order(a, b) {
                self.one_order += 1;
                self.found += u64::from(claims || statics.settled(a, b).is_some());
            }
            if let Some(settled) = statics.settled(a, b) {
                let then = if settled.first == a { b } else { a };
                self.settled += 1;
                self.cut += u64::from(facts.denies(settled.first, then).is_some());
            }
            if let Some(what) = contradiction(statics, facts, a, b) {
                self.wrong.push(says(seed, model, &what, a, b));
            }
        }
    }

    fn count(&mut self, facts: &OrderFacts) {
        self.programs += 1;
        self.states += facts.states as u64;
    }
}

pub(crate) fn load(seed: u64, program: &Random) -> Model {
    let text = program.text();
    Model::from_text(&format!("random {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub(crate) fn says(seed: u64, model: &Model, what: &str, a: SiteId, b: SiteId) -> String {
    format!("// random {seed}: {}: {what}\n{}", named(&model.program, a, b), model.source.text())
}

// Returns the sites of the marks.
pub(crate) fn marks(program: &Random, model: &Model) -> Vec<SiteId> {
    let find = |mark: u32| {
        let label = format!("m{mark}");
        let is = |s: &raceflip::event::Site| {
            s.label.as_deref() == Some(&label) && s.kind.access() == Some(AccessKind::Write)
        };
        let found = model.program.sites.enumerate().find(|(_, s)| is(s));
        found.map(|(id, _)| id).expect("a mark has a site")
    };
    (0..program.marks).map(find).collect()
}

/// What the fixpoint claims of two marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    First,
    Then,
    Both,
    Exclusive,
    None,
}

impl Claim {
    fn refutes(self) -> bool {
        matches!(self, Self::First | Self::Then | Self::Exclusive)
    }

    // Returns how all runs contradict the claim.
    fn denied(self, facts: &OrderFacts, a: SiteId, b: SiteId) -> Option<&'static str> {
        match self {
            Self::First => facts.denies(a, b),
            Self::Then => facts.denies(b, a),
            Self::Exclusive => facts.denies(a, b).or_else(|| facts.denies(b, a)),
            Self::Both => facts.beside.contains(&Pair::new(a, b)).then_some("side by side in some state"),
            Self::None => None,
        }
    }
}

// Returns what the fixpoint claims of two marks; `None` if no way leads to one of them, or nothing conflicts.
fn of_rules(rules: &Fixpoint, a: u32, b: u32) -> Option<Claim> {
    let [of_a, of_b] = [a, b].map(|mark| rules.marks(mark));
    let all = of_a.iter().flat_map(|x| of_b.iter().map(move |y| (*x, *y)));
    let all: Vec<_> = all.filter(|(x, y)| rules.may_conflict(*x, *y)).collect();
    let ways = all.iter().map(|(x, y)| (rules.is_past(*x, *y), rules.is_past(*y, *x)));
    let ways: Vec<(bool, bool)> = ways.collect();
    if ways.is_empty() {
        return None;
    }
    let claim = if ways.contains(&(false, false)) {
        Claim::None
    } else if ways.iter().all(|way| *way == (true, true)) {
        Claim::Exclusive
    } else if ways.iter().all(|(forth, _)| *forth) {
        Claim::First
    } else if ways.iter().all(|(_, back)| *back) {
        Claim::Then
    } else {
        Claim::Both
    };
    Some(claim)
}

// Compares the claims about marks with those of the fixpoint.
fn compare(seed: u64, program: &Random, model: &Model, statics: &Statics, facts: &OrderFacts, all: &mut Tally) {
    let Some(rules) = fixpoint(program) else { return };
    let marks = marks(program, model);
    for (i, a) in marks.iter().enumerate() {
        for (j, b) in marks.iter().enumerate().take(i + 1) {
            let Some(wanted) = of_rules(&rules, i as u32, j as u32) else { continue };
            // What is claimed of operations to which no run comes does not matter.
            let is_dead = |mark: usize| rules.marks(mark as u32).iter().any(|node| rules.is_dead(*node));
            if ![a, b].iter().all(|site| facts.performed.contains(site)) || is_dead(i) || is_dead(j) {
                continue;
            }
            let claim = match statics.sites(*a, *b) {
                SitesClaim::Ordered { first } if a == b || first == *a => Claim::First,
                SitesClaim::Ordered { .. } => Claim::Then,
                SitesClaim::BothOrders => Claim::Both,
                SitesClaim::NeverBoth => Claim::Exclusive,
                _ => Claim::None,
            };
            all.compared += 1;
            // The instances of one site have no first one.
            if wanted == claim || a == b && wanted != Claim::None && claim != Claim::None {
                continue;
            }
            let what = format!("{claim:?}, and {wanted:?} by the fixpoint");
            let list = if claim == Claim::None { &mut all.lacking } else { &mut all.beyond };
            list.push(says(seed, model, &what, *a, *b));
        }
    }
}
