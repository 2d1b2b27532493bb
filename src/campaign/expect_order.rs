//! `expect order` and `expect executes_before` lines: what they need to know of a run, and what many runs say of them.
//!
//! A run performs `@a, @b` in this order if some operation of `@b` comes after some operation of `@a`. An order is harmful if some failure was
//! seen in runs with it and, of at least one run without it, in none.

use crate::event::{BodyId, Event, Happening, Op, Outcome, SiteId};
use crate::exec::Observer;
use crate::lang::program::{Expectation, ExpectationKind, OrderWord, SiteRef};
use crate::world::{Made, World};
use std::collections::BTreeMap;

/// Whether a line speaks of what happens within a run, so that runs must be watched to judge it.
#[must_use]
pub(super) fn is_about_order(expectation: &ExpectationKind) -> bool {
    matches!(expectation, ExpectationKind::Order { .. } | ExpectationKind::ExecutesBefore(..))
}

#[derive(Clone)]
enum Question<'p> {
    // How many of these were performed, one after the other.
    Order(&'p [SiteRef], usize),
    // Whether the second began before the first had ended.
    Before { first: BodyId, second: BodyId, began: bool, broken: bool },
}

impl Question<'_> {
    // How many stages there are.
    fn stages(&self) -> u64 {
        match self {
            Question::Order(refs, _) => refs.len() as u64 + 1,
            Question::Before { .. } => 4,
        }
    }

    // Which one it is at.
    fn stage(&self) -> u64 {
        match self {
            Question::Order(_, at) => *at as u64,
            Question::Before { began, broken, .. } => u64::from(*began) + 2 * u64::from(*broken),
        }
    }

    fn set_stage(&mut self, stage: u64) {
        match self {
            Question::Order(_, at) => *at = stage as usize,
            Question::Before { began, broken, .. } => (*began, *broken) = (stage & 1 != 0, stage & 2 != 0),
        }
    }
}

/// Watches a run for all lines about order.
#[derive(Clone)]
pub(super) struct OrderWatch<'p> {
    questions: Vec<Question<'p>>,
}

impl<'p> OrderWatch<'p> {
    pub(super) fn new(expectations: &'p [Expectation]) -> Self {
        let question = |e: &'p Expectation| match &e.kind {
            ExpectationKind::Order { refs, .. } => Some(Question::Order(refs, 0)),
            ExpectationKind::ExecutesBefore(first, second) => {
                Some(Question::Before { first: *first, second: *second, began: false, broken: false })
            }
            _ => None,
        };
        Self { questions: expectations.iter().filter_map(question).collect() }
    }

    /// Whether there is no such line.
    pub(super) fn is_idle(&self) -> bool {
        self.questions.is_empty()
    }

    /// How many such lines there are.
    pub(super) fn questions(&self) -> usize {
        self.questions.len()
    }

    /// Whether how far it is with all of them can be told in one number.
    pub(super) fn fits_a_word(&self) -> bool {
        self.questions.iter().try_fold(1u64, |all, question| all.checked_mul(question.stages())).is_some()
    }

    /// How far it is with all of them, in one number.
    pub(super) fn code(&self) -> u64 {
        debug_assert!(self.fits_a_word());
        self.questions.iter().fold(0, |code, question| code * question.stages() + question.stage())
    }

    /// One that is as far as this number says.
    pub(super) fn at(&self, mut code: u64) -> Self {
        let mut watch = self.clone();
        for question in watch.questions.iter_mut().rev() {
            let stages = question.stages();
            question.set_stage(code % stages);
            code /= stages;
        }
        watch
    }

    fn performed(&mut self, site: SiteId) {
        for question in &mut self.questions {
            if let Question::Order(refs, at) = question
                && refs.get(*at).is_some_and(|r| r.sites.contains(&site))
            {
                *at += 1;
            }
        }
    }

    /// For each line about order, whether this run shows it (of `executes_before`: whether it breaks it).
    pub(super) fn finish(mut self, outcome: Option<&Outcome>) -> Vec<bool> {
        // What fails is no operation of its own.
        if let Some(Outcome::Failure(failure)) = outcome
            && let Some(site) = failure.site
        {
            self.performed(site);
        }
        let shows = |q: &Question<'_>| match q {
            Question::Order(refs, at) => *at == refs.len(),
            Question::Before { broken, .. } => *broken,
        };
        self.questions.iter().map(shows).collect()
    }
}

impl Observer for OrderWatch<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        let body = |context| match world.contexts().made(context) {
            Made::Body(body) => Some(body),
            Made::Event(event) => Some(world.setup().events[event].body),
            _ => None,
        };
        match &event.what {
            Happening::Performed { op: Op::Begin, made: Some(task), .. } => {
                let body = body(*task);
                for question in &mut self.questions {
                    if let Question::Before { first, second, began, broken } = question {
                        *broken |= *began && body == Some(*first);
                        *began |= body == Some(*second);
                    }
                }
            }
            Happening::End => {
                let ended = event.context.and_then(body);
                for question in &mut self.questions {
                    if let Question::Before { first, began, broken, .. } = question {
                        *broken |= *began && ended == Some(*first);
                    }
                }
            }
            Happening::Performed { .. } => {
                if let Some(site) = event.site {
                    self.performed(site);
                }
            }
            _ => {}
        }
    }
}

/// What many runs say of one line: how they ended, with the order and without.
#[derive(Default)]
pub(super) struct OrderTally {
    // All ends were counted, not walks.
    of_ends: bool,
    // Some run has the order, whether it ends or not.
    anywhere: bool,
    with: u32,
    without: u32,
    // By signature: failures with the order and without.
    failures: BTreeMap<String, (u32, u32)>,
}

impl OrderTally {
    /// One that counts all ends, of a search; `anywhere` says whether some state shows it, since a run need not end.
    pub(super) fn of_ends(anywhere: bool) -> Self {
        Self { of_ends: true, anywhere, ..Self::default() }
    }

    /// Adds a run; `failure` is its signature, if it failed.
    pub(super) fn add(&mut self, shows: bool, failure: Option<&str>) {
        *(if shows { &mut self.with } else { &mut self.without }) += 1;
        if let Some(signature) = failure {
            let (with, without) = self.failures.entry(signature.to_owned()).or_default();
            *(if shows { with } else { without }) += 1;
        }
    }

    fn hurts(&self) -> bool {
        self.without > 0 && self.failures.values().any(|(with, without)| *with > 0 && *without == 0)
    }

    /// Why the line does not hold; `None` if it does.
    pub(super) fn judge(&self, expectation: &ExpectationKind) -> Option<String> {
        let (with, all) = (self.with, self.with + self.without);
        let runs = if self.of_ends { "ends" } else { "walks" };
        match expectation {
            ExpectationKind::Order { word: OrderWord::Never, .. } => {
                (with > 0 || self.anywhere).then(|| format!("{with} of {all} {runs} have this order"))
            }
            ExpectationKind::Order { .. } if with == 0 && !self.anywhere => {
                Some(format!("none of {all} {runs} has this order"))
            }
            ExpectationKind::Order { word: OrderWord::Harmful, .. } if !self.hurts() => {
                Some(format!("{with} of {all} {runs} have this order, and no failure needs it"))
            }
            ExpectationKind::ExecutesBefore(..) => (with > 0 || self.anywhere)
                .then(|| format!("in {with} of {all} {runs} the second begins before the first has ended")),
            _ => None,
        }
    }

    /// Whether more runs could make the line hold.
    pub(super) fn wants_more(&self, expectation: &ExpectationKind) -> bool {
        let existence = matches!(expectation, ExpectationKind::Order { word, .. } if *word != OrderWord::Never);
        existence && self.judge(expectation).is_some()
    }
}
