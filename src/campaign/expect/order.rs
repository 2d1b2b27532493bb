//! Judges `expect order` and `expect executes_before` lines: watches single runs, and counts the results of many runs.
//!
//! A run performs `@a, @b` in this order if some operation of `@b` comes after some operation of `@a`. An order is
//! harmful if some failure comes in runs with the order and in no run without it, and if there is a run without it.

use crate::event::{BodyId, Event, EventKind, Op, Outcome, SiteId};
use crate::exec::Observer;
use crate::lang::program::{Expectation, ExpectationKind, OrderWord, SiteRef};
use crate::world::{CreationKind, World};
use std::collections::BTreeMap;

/// Whether a line is about the order of operations within a run, so that runs must be watched to judge it.
#[must_use]
pub(super) fn is_about_order(expectation: &ExpectationKind) -> bool {
    matches!(expectation, ExpectationKind::Order { .. } | ExpectationKind::ExecutesBefore(..))
}

// State of one line about order in a run.
#[derive(Clone)]
enum LineState<'p> {
    // Statements of the line, and number of them that were performed so far, one after the other.
    Order(&'p [SiteRef], usize),
    // Two tasks, and whether the second began, and whether it did before the first had ended.
    Before { first: BodyId, second: BodyId, began: bool, broken: bool },
}

impl LineState<'_> {
    // Number of stages of the question.
    fn stages(&self) -> u64 {
        match self {
            LineState::Order(refs, _) => refs.len() as u64 + 1,
            LineState::Before { .. } => 4,
        }
    }

    // Current stage of the question, from 0.
    fn stage(&self) -> u64 {
        match self {
            LineState::Order(_, at) => *at as u64,
            LineState::Before { began, broken, .. } => u64::from(*began) + 2 * u64::from(*broken),
        }
    }

    fn set_stage(&mut self, stage: u64) {
        match self {
            LineState::Order(_, at) => *at = stage as usize,
            LineState::Before { began, broken, .. } => (*began, *broken) = (stage & 1 != 0, stage & 2 != 0),
        }
    }
}

/// Observer of a run for all lines about order.
#[derive(Clone)]
pub(super) struct OrderWatch<'p> {
    questions: Vec<LineState<'p>>,
}

impl<'p> OrderWatch<'p> {
    pub(in crate::campaign) fn new(expectations: &'p [Expectation]) -> Self {
        let question = |e: &'p Expectation| match &e.kind {
            ExpectationKind::Order { refs, .. } => Some(LineState::Order(refs, 0)),
            ExpectationKind::ExecutesBefore(first, second) => {
                Some(LineState::Before { first: *first, second: *second, began: false, broken: false })
            }
            _ => None,
        };
        Self { questions: expectations.iter().filter_map(question).collect() }
    }

    /// Returns whether no line is about order.
    pub(super) fn is_idle(&self) -> bool {
        self.questions.is_empty()
    }

    /// Returns the number of lines about order.
    pub(super) fn questions(&self) -> usize {
        self.questions.len()
    }

    /// Returns whether the stages of all lines fit into one number.
    pub(super) fn fits_a_word(&self) -> bool {
        self.questions.iter().try_fold(1u64, |all, question| all.checked_mul(question.stages())).is_some()
    }

    /// Returns the stages of all lines, packed into one number.
    pub(in crate::campaign) fn code(&self) -> u64 {
        debug_assert!(self.fits_a_word());
        self.questions.iter().fold(0, |code, question| code * question.stages() + question.stage())
    }

    /// Returns a watch whose lines are at the stages that the number encodes.
    pub(in crate::campaign) fn at(&self, mut code: u64) -> Self {
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
            if let LineState::Order(refs, at) = question
                && refs.get(*at).is_some_and(|r| r.sites.contains(&site))
            {
                *at += 1;
            }
        }
    }

    /// Returns for each line about order whether this run has the order; for `executes_before` whether the run breaks
    /// the line.
    pub(in crate::campaign) fn finish(mut self, outcome: Option<&Outcome>) -> Vec<bool> {
        // The statement that fails performs no operation, but counts as performed.
        if let Some(Outcome::Failure(failure)) = outcome
            && let Some(site) = failure.site
        {
            self.performed(site);
        }
        let shows = |q: &LineState<'_>| match q {
            LineState::Order(refs, at) => *at == refs.len(),
            LineState::Before { broken, .. } => *broken,
        };
        self.questions.iter().map(shows).collect()
    }
}

impl Observer for OrderWatch<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        let body = |context| match world.contexts().made(context) {
            CreationKind::Body(body) => Some(body),
            CreationKind::Event(event) => Some(world.setup().events[event].body),
            _ => None,
        };
        match &event.what {
            EventKind::Performed { op: Op::Begin, made: Some(task), .. } => {
                let body = body(*task);
                for question in &mut self.questions {
                    if let LineState::Before { first, second, began, broken } = question {
                        *broken |= *began && body == Some(*first);
                        *began |= body == Some(*second);
                    }
                }
            }
            EventKind::End => {
                let ended = event.context.and_then(body);
                for question in &mut self.questions {
                    if let LineState::Before { first, began, broken, .. } = question {
                        *broken |= *began && ended == Some(*first);
                    }
                }
            }
            EventKind::Performed { .. } => {
                if let Some(site) = event.site {
                    self.performed(site);
                }
            }
            _ => {}
        }
    }
}

/// Results of many runs for one line: their ends with the order and without it.
#[derive(Default)]
pub(in crate::campaign) struct OrderTally {
    // Whether all ends of a search were counted instead of walks.
    of_ends: bool,
    // Whether some run has the order, even if it never ends.
    anywhere: bool,
    with: u32,
    without: u32,
    // Number of runs with each failure, by signature: with the order, and without it.
    failures: BTreeMap<String, (u32, u32)>,
}

impl OrderTally {
    /// Returns an empty tally for the ends of a search. `anywhere` says whether some state shows the order, since a run
    /// need not end.
    pub(super) fn of_ends(anywhere: bool) -> Self {
        Self { of_ends: true, anywhere, ..Self::default() }
    }

    /// Adds a run. `failure` is its signature, if it failed.
    pub(in crate::campaign) fn add(&mut self, shows: bool, failure: Option<&str>) {
        *(if shows { &mut self.with } else { &mut self.without }) += 1;
        if let Some(signature) = failure {
            let (with, without) = self.failures.entry(signature.to_owned()).or_default();
            *(if shows { with } else { without }) += 1;
        }
    }

    // Whether the order is harmful: some failure comes in runs with it and in no run without it.
    fn hurts(&self) -> bool {
        self.without > 0 && self.failures.values().any(|(with, without)| *with > 0 && *without == 0)
    }

    /// Returns the reason why the line does not hold; `None` if it holds.
    pub(in crate::campaign) fn judge(&self, expectation: &ExpectationKind) -> Option<String> {
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
                .then(|| format!("in {with} of {all} {runs} the second task begins before the first one has ended")),
            _ => None,
        }
    }

    /// Returns whether more runs could make the line hold.
    pub(super) fn wants_more(&self, expectation: &ExpectationKind) -> bool {
        let existence = matches!(expectation, ExpectationKind::Order { word, .. } if *word != OrderWord::Never);
        existence && self.judge(expectation).is_some()
    }
}
