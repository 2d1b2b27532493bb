//! Lowers expectations. An expectation with a false condition is checked for its names and then dropped.

use super::Checker;
use super::names::NameMeaning;
use super::refs::{Applicability, Use};
use super::scope::Scope;
use crate::event::BodyId;
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, Expect, ItemKind, Span, TransactionName};
use crate::lang::program::{Expectation, ExpectationKind, OrderWord, SiteRef, TransactionRef, Type};

impl Checker {
    /// Lowers every expectation.
    pub(super) fn expectations(&mut self, file: &ast::File) {
        self.scope = Scope::default();
        for item in &file.items {
            let ItemKind::Expect { expect, condition } = &item.kind else { continue };
            // Components would define some of the names, so nothing is reported about them.
            if self.enough() {
                return;
            }
            let counts = match condition {
                None => Applicability::Always,
                Some(e) => match self.constant_of(e, &Type::Bool, "the condition of an expectation") {
                    Some(0) => Applicability::Not,
                    Some(_) => Applicability::Conditionally,
                    None => continue,
                },
            };
            let dropped = counts == Applicability::Not;
            let kind = self.in_dead(dropped, |c| c.expectation(expect, counts));
            if let Some(kind) = kind.filter(|_| !dropped) {
                let (line, _) = self.lines.place(item.at.0.start);
                self.out.expectations.push(Expectation { line, text: self.lines.slice(item.at.0), kind });
            }
        }
    }

    fn expectation(&mut self, expect: &Expect, counts: Applicability) -> Option<ExpectationKind> {
        Some(match expect {
            Expect::Race { no, order, left, right, words } => {
                let uses = if *order { Use::Order } else { Use::Race };
                let refs = (self.reference(left, counts, uses), self.reference(right, counts, uses));
                let (real, harmful, false_) = self.pair_words((*no, *order), words)?;
                ExpectationKind::Race { no: *no, order: *order, left: refs.0?, right: refs.1?, real, harmful, false_ }
            }
            Expect::Order { refs, word } => {
                let refs: Vec<Option<SiteRef>> = refs.iter().map(|r| self.reference(r, counts, Use::Order)).collect();
                let words = [("real", OrderWord::Real), ("never", OrderWord::Never), ("harmful", OrderWord::Harmful)];
                let word = self.one_of(word, "word", &words)?;
                ExpectationKind::Order { refs: refs.into_iter().collect::<Option<_>>()?, word }
            }
            Expect::Failure { no, what, site } => {
                let what = what.as_ref().map(|what| self.failure_ref(what));
                let site = site.as_ref().map(|site| self.reference(site, counts, Use::Failure));
                let what = match what {
                    None => None,
                    Some(what) => Some(what?),
                };
                let site = match site {
                    None => None,
                    Some(site) => Some(site?),
                };
                ExpectationKind::Failure { no: *no, what, site }
            }
            Expect::Deadlock { no } => ExpectationKind::Deadlock { no: *no },
            Expect::Stuck { no } => ExpectationKind::Stuck { no: *no },
            Expect::Livelock { no } => ExpectationKind::Livelock { no: *no },
            Expect::Atomicity { no, name, words } => self.atomicity(*no, name.as_ref(), words)?,
            Expect::ExecutesBefore { first, second } => {
                let (first, second) = (self.queued(first), self.queued(second));
                ExpectationKind::ExecutesBefore(first?, second?)
            }
            Expect::Races { potential, real } => {
                let number = "a number of races";
                let potential = self.constant_between(potential, number, 0, i64::MAX as u64);
                let real = match real {
                    None => None,
                    Some(e) => Some(self.constant_between(e, number, 0, i64::MAX as u64)?),
                };
                ExpectationKind::Races { potential: potential?, real }
            }
            Expect::Outcomes { of, outcomes } => self.outcomes(of, outcomes)?,
        })
    }

    fn atomicity(&mut self, no: bool, name: Option<&TransactionName>, words: &[ast::Name]) -> Option<ExpectationKind> {
        let of = match name {
            None => TransactionRef::Any,
            Some(TransactionName::Text(text)) => {
                self.transaction_exists(text)?;
                TransactionRef::Text(text.text.clone())
            }
            Some(TransactionName::Task(task)) => {
                self.queued(task)?;
                TransactionRef::Task(task.text.clone())
            }
        };
        let [real, harmful, joint] = self.words(words, ["real", "harmful", "joint"])?;
        if let Some(word) = words.first()
            && no
        {
            self.error_help(
                word.at,
                "`no atomicity violation` cannot have a word",
                "`no` says that no run violates the transaction",
                "remove the word",
            );
            return None;
        }
        Some(ExpectationKind::Atomicity { no, of, real, harmful, joint })
    }

    /// Evaluates words behind a colon. Returns which of the known ones occur; each may occur once.
    fn words<const N: usize>(&mut self, words: &[ast::Name], known: [&str; N]) -> Option<[bool; N]> {
        let numbered: Vec<(&str, usize)> = known.into_iter().enumerate().map(|(i, word)| (word, i)).collect();
        let mut said = [false; N];
        for word in words {
            let index = self.one_of(word, "word", &numbered)?;
            if std::mem::replace(&mut said[index], true) {
                self.error(word.at, format!("`{}` occurs twice", word.text), "the line already has this word");
                return None;
            }
        }
        Some(said)
    }

    /// Evaluates the words of a race or order pair: `real`, `harmful`, `false`
    fn pair_words(&mut self, (no, order): (bool, bool), words: &[ast::Name]) -> Option<(bool, bool, bool)> {
        let [real, harmful, false_] = self.words(words, ["real", "harmful", "false"])?;
        if let Some(word) = words.first()
            && no
        {
            let line = if order { "order" } else { "race" };
            self.error_help(
                word.at,
                format!("`no {line}` cannot have a word"),
                "`no` says that no detector reports the pair",
                "remove the word",
            );
            return None;
        }
        if let Some(word) = words.last()
            && false_
            && (real || harmful)
        {
            self.error(
                word.at,
                "`false` contradicts the other word",
                "`false` says that the pair is reported, and never confirmed",
            );
            return None;
        }
        Some((real, harmful, false_))
    }

    /// Returns the body of a task, or of the handler of an event.
    fn queued(&mut self, name: &ast::Name) -> Option<BodyId> {
        match self.find(name, "task or event", |n| matches!(n, NameMeaning::Task(_) | NameMeaning::Event(..)))? {
            NameMeaning::Task(body) | NameMeaning::Event(_, body) => Some(body),
            NameMeaning::Broken => None,
            _ => {
                self.wrong_kind(name, "a task or an event", None);
                None
            }
        }
    }

    fn transaction_exists(&mut self, name: &ast::TextLiteral) -> Option<()> {
        if self.transactions.contains(&name.text) {
            // The name of a component names its instances' transactions as well.
            let inside = Span { start: name.at.0.start + 1, end: name.at.0.end.saturating_sub(1) };
            let component = ast::Name { text: name.text.clone(), at: At(inside) };
            if self.component_of(&component).is_some() {
                self.note_use(&component);
            }
            return Some(());
        }
        let near = super::near(&name.text, self.transactions.iter().map(String::as_str));
        let mut problem = Diagnostic::new(
            name.at.0,
            format!("unknown transaction \"{}\"", name.text),
            "no `transaction` and no `as` has this name",
        );
        problem.help = near.map(|near| format!("did you mean \"{near}\"?"));
        self.problems.add(problem);
        None
    }
}
