//! Prints `expect` lines.

use super::super::ast::{Expect, FailureName, OutcomeSpec, OutcomeSpecKind, OutcomeValue, Ref, TransactionName};
use super::TreePrinter;

impl TreePrinter {
    pub(super) fn expectation(&mut self, expect: &Expect) {
        match expect {
            Expect::Race { no, order, left, right, words } => {
                self.kind(*no, if *order { "order " } else { "race " });
                self.reference(left);
                self.push(" ~ ");
                self.reference(right);
                if !words.is_empty() {
                    self.push(": ");
                    self.commas(words, Self::name);
                }
            }
            Expect::Order { refs, word } => {
                self.push("order ");
                self.commas(refs, Self::reference);
                self.named_item(": ", word);
            }
            Expect::Failure { no, what, site } => {
                self.kind(*no, "failure");
                if let Some(what) = what {
                    self.failure(what);
                }
                if let Some(site) = site {
                    self.push(" at ");
                    self.reference(site);
                }
            }
            Expect::Deadlock { no } => self.kind(*no, "deadlock"),
            Expect::Stuck { no } => self.kind(*no, "stuck"),
            Expect::Livelock { no } => self.kind(*no, "livelock"),
            Expect::Atomicity { no, name, words } => {
                self.kind(*no, "atomicity violation");
                match name {
                    None => {}
                    Some(TransactionName::Text(text)) => self.message(" ", Some(text)),
                    Some(TransactionName::Task(task)) => self.named_item(" ", task),
                }
                if !words.is_empty() {
                    self.push(": ");
                    self.commas(words, Self::name);
                }
            }
            Expect::ExecutesBefore { first, second } => {
                self.named_item("executes_before ", first);
                self.named_item(", ", second);
            }
            Expect::Races { potential, real } => {
                self.push("races ");
                self.expr(potential);
                if let Some(real) = real {
                    self.push(" real ");
                    self.expr(real);
                }
            }
            Expect::Outcomes { of, outcomes } => {
                self.push("outcomes");
                if !of.is_empty() {
                    self.push(" of ");
                    self.commas(of, Self::name);
                }
                self.push(": ");
                self.commas(outcomes, Self::outcome);
            }
        }
    }

    fn kind(&mut self, no: bool, word: &str) {
        self.push(if no { "no " } else { "" });
        self.push(word);
    }

    fn failure(&mut self, what: &FailureName) {
        match what {
            FailureName::Message(text) => self.message(" ", Some(text)),
            FailureName::Name(name) => self.named_item(" ", name),
        }
    }

    fn outcome(&mut self, outcome: &OutcomeSpec) {
        match &outcome.kind {
            OutcomeSpecKind::Ok => self.push("ok"),
            OutcomeSpecKind::Deadlock => self.push("deadlock"),
            OutcomeSpecKind::Stuck => self.push("stuck"),
            OutcomeSpecKind::Failure(what) => {
                self.push("failure");
                self.failure(what);
            }
        }
        if let Some(value) = &outcome.value {
            self.push(" ");
            self.outcome_value(value);
        }
    }

    fn outcome_value(&mut self, value: &OutcomeValue) {
        match value {
            OutcomeValue::Expr(expr) => self.expr(expr),
            OutcomeValue::List(all) => {
                self.push("[");
                self.commas(all, Self::outcome_value);
                self.push("]");
            }
        }
    }

    fn reference(&mut self, reference: &Ref) {
        self.named_item("@", &reference.label);
        if let Some(access) = reference.access {
            self.push(".");
            self.push(access.word());
        }
        if let Some(of) = &reference.of {
            self.named_item(" of ", of);
        }
    }
}
