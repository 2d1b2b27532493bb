//! Parses `expect` lines.

use super::super::ast::{
    AccessSelector, At, Expect, FailureName, Name, OutcomeSpec, OutcomeSpecKind, OutcomeValue, Ref, TransactionName,
};
use super::super::diagnostic::Diagnostic;
use super::super::near::near;
use super::super::token::TokenKind;
use super::super::words::EXPECTATIONS;
use super::{Parse, Parser, ReportedError};

impl Parser<'_> {
    /// Parses an expectation: the text after `expect`, without the condition.
    pub(super) fn expectation(&mut self) -> Parse<Expect> {
        let first = self.token().span;
        let no = self.eat_word("no");
        let word = self.word();
        let negatable = matches!(word, "race" | "failure" | "deadlock" | "stuck" | "livelock" | "atomicity");
        if !negatable && !matches!(word, "order" | "executes_before" | "races" | "outcomes") {
            return Err(self.no_expectation());
        }
        if no && !negatable && word != "order" {
            let diagnostic = Diagnostic::new(
                first,
                format!("`no` cannot be used before `{word}`"),
                "this kind of line has no contrary",
            );
            return Err(self.report(diagnostic));
        }
        self.bump();
        Ok(match word {
            "race" => {
                let left = self.reference()?;
                if self.peek() != TokenKind::Tilde {
                    let diagnostic = self.expected_diagnostic("`~`").help("name two statements, as in `race @a ~ @b`");
                    return Err(self.report(diagnostic));
                }
                self.pair(no, false, left)?
            }
            "order" => {
                let refs = self.commas(Self::reference)?;
                if refs.len() == 1 && self.peek() == TokenKind::Tilde {
                    let left = refs.into_iter().next().expect("there is one");
                    return self.pair(no, true, left);
                }
                if no {
                    let diagnostic = Diagnostic::new(first, "`no` cannot be used before this `order`", "this kind of line has no contrary")
                        .help("write `expect order @a, @b: never`; for a pair that no detector reports, write `expect no order @a ~ @b`");
                    return Err(self.report(diagnostic));
                }
                if self.peek() != TokenKind::Colon {
                    let diagnostic = self.expected_diagnostic("`:`");
                    return Err(
                        self.report(diagnostic.help("add a word about the order: `: real`, `: never` or `: harmful`"))
                    );
                }
                self.bump();
                Expect::Order { refs, word: self.name("`real`, `never` or `harmful`")? }
            }
            "failure" => self.failure(no)?,
            "deadlock" => Expect::Deadlock { no },
            "stuck" => Expect::Stuck { no },
            "livelock" => Expect::Livelock { no },
            "atomicity" => {
                self.expect_word("violation")?;
                let name = match self.peek() {
                    TokenKind::Str(_) => self.string().map(TransactionName::Text),
                    TokenKind::Word if self.name_at(0) => Some(TransactionName::Task(self.name("a task")?)),
                    _ => None,
                };
                let word = |parser: &mut Self| parser.name("`real`, `harmful` or `joint`");
                let words = if self.eat(TokenKind::Colon) { self.commas(word)? } else { Vec::new() };
                Expect::Atomicity { no, name, words }
            }
            "executes_before" => {
                let first = self.name("the name of a task")?;
                self.expect(TokenKind::Comma)?;
                Expect::ExecutesBefore { first, second: self.name("the name of a task")? }
            }
            "races" => {
                let potential = self.expr()?;
                let real = if self.eat_word("real") { Some(self.expr()?) } else { None };
                Expect::Races { potential, real }
            }
            _ => {
                let of = if self.eat_word("of") {
                    self.commas(|parser| parser.name("the name of a variable"))?
                } else {
                    Vec::new()
                };
                self.expect(TokenKind::Colon)?;
                Expect::Outcomes { of, outcomes: self.commas(Self::outcome)? }
            }
        })
    }

    /// Parses the rest of `race @a ~ @b: words`, starting at the `~`.
    fn pair(&mut self, no: bool, order: bool, left: Ref) -> Parse<Expect> {
        self.bump();
        let right = self.reference()?;
        let words = if self.eat(TokenKind::Colon) { self.commas(Self::race_word)? } else { Vec::new() };
        Ok(Expect::Race { no, order, left, right, words })
    }

    fn no_expectation(&mut self) -> ReportedError {
        let mut diagnostic = self.expected_diagnostic("an expectation");
        diagnostic.help = Some(match near(self.word(), EXPECTATIONS.into_iter().chain(["executes_before"])) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "use one of race, order, failure, deadlock, stuck, livelock, atomicity violation, executes_before, races, outcomes".to_owned(),
        });
        self.report(diagnostic)
    }

    fn failure(&mut self, no: bool) -> Parse<Expect> {
        // `at` is the name of a failure unless a label follows it.
        let site_next = self.word() == "at" && self.kind_at(1) == TokenKind::At;
        let what = match self.peek() {
            TokenKind::Str(_) => self.string().map(FailureName::Message),
            TokenKind::Word if self.name_at(0) && !site_next => Some(FailureName::Name(self.name("a failure")?)),
            _ => None,
        };
        let site = if self.eat_word("at") { Some(self.reference()?) } else { None };
        Ok(Expect::Failure { no, what, site })
    }

    /// Parses one or more elements, separated by commas.
    pub(super) fn commas<T>(&mut self, mut one: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.eat(TokenKind::Comma) {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Parses a word of a race: a name or `false`, the only reserved word that is allowed.
    fn race_word(&mut self) -> Parse<Name> {
        if self.word() == "false" {
            let span = self.bump().span;
            return Ok(Name { text: "false".to_owned(), at: At(span) });
        }
        self.name("`real`, `harmful` or `false`")
    }

    /// Parses a reference such as `@label.read of x`.
    fn reference(&mut self) -> Parse<Ref> {
        let start = self.start();
        if self.name_at(0) {
            let help = format!("refer to a statement by its label, as in `@{}`", self.word());
            let diagnostic = self.expected_diagnostic("a label").help(help);
            return Err(self.report(diagnostic));
        }
        let label = self.label_name()?;
        let access = if self.eat(TokenKind::Dot) {
            match AccessSelector::from_word(self.word()) {
                Some(access) => {
                    self.bump();
                    Some(access)
                }
                None => {
                    let help = format!("use the label alone, `@{}`, to select all that its statement does", label.text);
                    let diagnostic = self.expected_diagnostic("`read` or `write`").help(help);
                    return Err(self.report(diagnostic));
                }
            }
        } else {
            None
        };
        let of = if self.eat_word("of") { Some(self.name("the name of a variable")?) } else { None };
        Ok(Ref { label, access, of, at: self.at_from(start) })
    }

    fn outcome(&mut self) -> Parse<OutcomeSpec> {
        let start = self.start();
        let kind = match self.word() {
            "ok" => OutcomeSpecKind::Ok,
            "deadlock" => OutcomeSpecKind::Deadlock,
            "stuck" => OutcomeSpecKind::Stuck,
            "failure" => {
                self.bump();
                let name = match self.string() {
                    Some(text) => FailureName::Message(text),
                    None => FailureName::Name(self.name("a message in quotes or the name of a failure")?),
                };
                let value = self.outcome_values()?;
                return Ok(OutcomeSpec { kind: OutcomeSpecKind::Failure(name), value, at: self.at_from(start) });
            }
            _ => return Err(self.expected("`ok`, `deadlock`, `stuck` or `failure`")),
        };
        self.bump();
        let value = self.outcome_values()?;
        Ok(OutcomeSpec { kind, value, at: self.at_from(start) })
    }

    fn outcome_values(&mut self) -> Parse<Option<OutcomeValue>> {
        let none = matches!(
            self.peek(),
            TokenKind::Comma | TokenKind::Newline | TokenKind::Semi | TokenKind::End | TokenKind::RightBrace
        );
        if none || self.word() == "if" { Ok(None) } else { self.outcome_value().map(Some) }
    }

    fn outcome_value(&mut self) -> Parse<OutcomeValue> {
        if !self.eat(TokenKind::LeftBracket) {
            return self.expr().map(OutcomeValue::Expr);
        }
        let all = self.deeper(|parser| parser.list(TokenKind::RightBracket, Self::outcome_value))?;
        Ok(OutcomeValue::List(all))
    }
}
