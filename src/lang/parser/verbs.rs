//! Parses statements that begin with a verb. A verb is a word that has this meaning only before an operand.

use super::super::ast::{Expr, ExprKind, Op, Span, StmtKind, SyncMode, Verb};
use super::super::diagnostic::Diagnostic;
use super::super::token::TokenKind;
use super::{Parse, Parser, ReportedError};

impl Parser<'_> {
    /// Parses a statement of a verb. Returns `None` if the word is a name here.
    pub(super) fn verb_stmt(&mut self) -> Parse<Option<StmtKind>> {
        let word = self.word();
        if let Some(verb) = Verb::from_word(word) {
            if !self.operand_at(1) {
                return Ok(None);
            }
            if verb == Verb::Acquire && self.at_op() {
                return self.op().map(|op| Some(StmtKind::Expr(op)));
            }
            let start = self.start();
            self.bump();
            if matches!(verb, Verb::Acquire | Verb::Release) {
                let mode = self.side();
                if mode != SyncMode::Sync {
                    return Ok(Some(StmtKind::Side { acquire: verb == Verb::Acquire, mode, object: self.place()? }));
                }
            }
            let mut height = 0;
            let operand = self.measured(&mut height, Self::expr)?;
            if verb == Verb::Down && self.word() == "for" {
                return self.down_for(operand, start, height).map(Some);
            }
            if self.word() == "for" {
                return Err(self.no_timeout(verb));
            }
            return Ok(Some(StmtKind::Verb { verb, operand }));
        }
        if self.at_component_verb() {
            return self.op().map(|op| Some(StmtKind::Expr(op)));
        }
        let alone =
            matches!(self.kind_at(1), TokenKind::Newline | TokenKind::Semi | TokenKind::RightBrace | TokenKind::End);
        let kind = match word {
            "send" if self.place_at(1) => {
                self.bump();
                let (channel, value) = self.sent()?;
                StmtKind::Send { channel, value }
            }
            "skip" if alone => self.single(StmtKind::Skip),
            "yield" if alone => self.single(StmtKind::Yield),
            "attach" if self.word_at(1) == "queue" => {
                self.bump();
                self.single(StmtKind::AttachQueue)
            }
            "quit" if self.operand_at(1) => {
                self.bump();
                StmtKind::Quit { target: self.place()?, safely: self.eat_word("safely") }
            }
            "switch" if self.word_at(1) == "to" => {
                self.bump();
                self.bump();
                StmtKind::Switch(self.place()?)
            }
            "cancel" if self.operand_at(1) && !self.at_removal() => {
                let start = self.start();
                let (word, mut height) = (self.bump().span, 0);
                match self.cancel(word, &mut height)? {
                    Op::Cancel { message } => StmtKind::CancelOne(message),
                    op => {
                        let at = self.at_from(start);
                        self.grow(height + 1, at)?;
                        StmtKind::Expr(Expr { kind: ExprKind::Op(Box::new(op)), at })
                    }
                }
            }
            "cancel" if self.name_at(1) && self.at_removal() => {
                self.bump();
                let task = self.name("the name of a task, or `all`")?;
                let with = if self.eat_word("with") { Some(self.place()?) } else { None };
                if self.word() != "on" {
                    let help = format!("name the looper or handler, as in `cancel {} on main`", task.text);
                    let diagnostic = self.expected_diagnostic("`on`").help(help);
                    return Err(self.report(diagnostic));
                }
                self.bump();
                let task = if task.text == "all" { None } else { Some(task) };
                StmtKind::Cancel { task, with, target: self.place()? }
            }
            "enable" if self.name_at(1) => {
                self.bump();
                let event = self.name("the name of an event")?;
                let args = self.optional_args()?;
                let instance = if self.eat_word("as") { Some(self.instance(&mut 0)?) } else { None };
                StmtKind::Enable { event, args, instance }
            }
            "disable" if self.name_at(1) => {
                self.bump();
                StmtKind::Disable { event: self.name("the name of an event")? }
            }
            "register" if self.name_at(1) => {
                self.bump();
                let task = self.name("the name of a task")?;
                self.expect_word("to")?;
                StmtKind::Register { task, listener: self.name("the name of a listener")? }
            }
            "withdraw" if self.in_kind && self.operand_at(1) => {
                self.bump();
                StmtKind::Withdraw { request: self.expr()? }
            }
            "unregister" if self.name_at(1) => {
                self.bump();
                let task = self.name("the name of a task")?;
                self.expect_word("from")?;
                StmtKind::Unregister { task, listener: self.name("the name of a listener")? }
            }
            "perform" if self.name_at(1) => {
                self.bump();
                let listener = self.name("the name of a listener")?;
                StmtKind::Perform { listener, args: self.args(&mut 0)? }
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// Parses the rest of `down s for 25`.
    fn down_for(&mut self, semaphore: Expr, start: u32, mut height: u32) -> Parse<StmtKind> {
        self.bump();
        let timeout = self.measured(&mut height, Self::expr)?;
        let at = self.at_from(start);
        self.grow(height + 1, at)?;
        let op = Op::Down { semaphore, timeout };
        Ok(StmtKind::Expr(Expr { kind: ExprKind::Op(Box::new(op)), at }))
    }

    /// Reports a timeout of a verb that has none, as in `join t for 25`.
    fn no_timeout(&mut self, verb: Verb) -> ReportedError {
        let word = verb.word();
        let diagnostic = Diagnostic::new(
            self.token().span,
            format!("`{word}` has no limit of time"),
            "only `await`, `wait`, `down` and `acquire` have one",
        );
        self.report(diagnostic.help(timed(verb)))
    }

    /// Reports a verb without a value at the start of a right side, as in `let ok = down s`.
    pub(super) fn verb_as_value(&mut self) -> Option<ReportedError> {
        let verb = Verb::from_word(self.word())?;
        if self.kind_at(1) != TokenKind::Word || !self.operand_at(1) {
            return None;
        }
        Some(self.no_value(verb, self.token().span))
    }

    /// Reports a verb without a value in the position of a value; `at` is the position of the verb.
    pub(super) fn no_value(&mut self, verb: Verb, at: Span) -> ReportedError {
        let message = format!("`{}` gives no value", verb.word());
        self.report(Diagnostic::new(at, message, "it is a statement of its own").help(timed(verb)))
    }

    fn optional_args(&mut self) -> Parse<Vec<super::Expr>> {
        if self.peek() == TokenKind::LeftParen { self.args(&mut 0) } else { Ok(Vec::new()) }
    }
}

// Advice on how to use a verb with a timeout and learn whether it has passed.
fn timed(verb: Verb) -> &'static str {
    match verb {
        Verb::Down => {
            "add a limit of time: `let ok = down s for 25` waits for at most 25 ms, and is true if it has taken one; `for 0` does not wait"
        }
        Verb::Acquire => {
            "with a limit of time it has one: `let ok = acquire m for 25` waits for at most 25 ms, and is true if it has acquired; `for 0` does not wait"
        }
        Verb::Join => "let the thread say when it has ended: `atomic done = false`, `let ok = await done for 25`",
        Verb::Arrive => "count in an `atomic`: `let ok = await arrived == 2 for 25`",
        _ => "use `let ok = await CONDITION for 25`, which waits for at most 25 ms, and is true if the condition holds",
    }
}
