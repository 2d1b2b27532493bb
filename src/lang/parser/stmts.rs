//! Parses statements: labels, control flow, assignments and calls. Statements that begin with a verb are in `verbs`.

use super::super::ast::{At, BinaryOp, Expr, Span, Verb};
use super::super::ast::{Catch, Cond, Else, ExprKind, Label, Name, Over, Range, Stmt, StmtKind, SyncMode};
use super::super::diagnostic::Diagnostic;
use super::super::near::near;
use super::super::token::TokenKind;
use super::super::words::{ITEMS, STATEMENTS};
use super::{Parse, Parser};
use crate::event::BlockKind;

/// A statement and the end offset of its head.
pub(super) type StmtHead = (StmtKind, u32);

impl Parser<'_> {
    pub(super) fn stmt(&mut self) -> Parse<Stmt> {
        let label = if self.peek() == TokenKind::At { Some(self.label()?) } else { None };
        let start = self.start();
        let (kind, end) = self.simple()?;
        Ok(Stmt { label, kind, at: At(Span { start, end: end.max(start) }) })
    }

    fn label(&mut self) -> Parse<Label> {
        let name = self.label_name()?;
        let from =
            if self.eat_word("from") { Some(self.expect_string("a string such as \"Player.java:41\"")?) } else { None };
        self.expect(TokenKind::Colon)?;
        if self.peek() == TokenKind::Newline {
            let diagnostic = self.expected_diagnostic("a statement").help("put a label on the line of its statement");
            return Err(self.report(diagnostic));
        }
        Ok(Label { name, from })
    }

    /// Parses `@name`. The position of the name includes the `@`.
    pub(super) fn label_name(&mut self) -> Parse<Name> {
        let start = self.start();
        self.expect(TokenKind::At)?;
        let mut name = self.name("the name of a label")?;
        name.at = self.at_from(start);
        Ok(name)
    }

    fn simple(&mut self) -> Parse<StmtHead> {
        let kind = match self.word() {
            "let" => {
                self.bump();
                StmtKind::Let(self.field("the name of a local variable")?)
            }
            "if" => return self.if_(),
            "while" => {
                self.bump();
                let cond = self.cond()?;
                let end = self.end();
                return Ok((StmtKind::While { cond, body: self.block("the loop")? }, end));
            }
            "loop" => return self.loop_(),
            "for" => return self.for_(),
            "break" => self.single(StmtKind::Break),
            "continue" => self.single(StmtKind::Continue),
            "return" => {
                self.bump();
                let nothing = matches!(
                    self.peek(),
                    TokenKind::Newline | TokenKind::Semi | TokenKind::RightBrace | TokenKind::End
                );
                StmtKind::Return(if nothing { None } else { Some(self.right_side()?) })
            }
            "assert" => {
                self.bump();
                let cond = self.expr()?;
                let message =
                    if self.eat(TokenKind::Comma) { Some(self.expect_string("a message in quotes")?) } else { None };
                StmtKind::Assert { cond, message }
            }
            "fail" => {
                self.bump();
                StmtKind::Fail { message: self.expect_string("a message in quotes")? }
            }
            "throw" => {
                self.bump();
                let name = self.name("the name of an exception")?;
                let message =
                    if self.eat(TokenKind::Comma) { Some(self.expect_string("a message in quotes")?) } else { None };
                StmtKind::Throw { name, message }
            }
            "try" => return self.try_(),
            "select" if self.kind_at(1) == TokenKind::LeftBrace => return self.select(),
            "sync" => return self.sync(SyncMode::Sync),
            "read" if self.operand_at(1) => return self.sync(SyncMode::Read),
            "write" if self.operand_at(1) => return self.sync(SyncMode::Write),
            "transaction" if matches!(self.kind_at(1), TokenKind::Str(_) | TokenKind::LeftBrace) => {
                self.bump();
                let name = self.string();
                let end = self.end();
                return Ok((StmtKind::Transaction { name, body: self.block("the transaction")? }, end));
            }
            "scope" | "supervise" | "uncancellable" if self.kind_at(1) == TokenKind::LeftBrace => {
                return self.job_block();
            }
            _ => match self.verb_stmt()? {
                Some(kind) => kind,
                None => self.assignment_or_call()?,
            },
        };
        Ok((kind, self.end()))
    }

    fn job_block(&mut self) -> Parse<StmtHead> {
        let kind = match self.word() {
            "supervise" => BlockKind::Supervise,
            "uncancellable" => BlockKind::Uncancellable,
            _ => BlockKind::Scope,
        };
        self.bump();
        let end = self.end();
        Ok((StmtKind::JobBlock { kind, body: self.block("the block")? }, end))
    }

    pub(super) fn single(&mut self, kind: StmtKind) -> StmtKind {
        self.bump();
        kind
    }

    fn cond(&mut self) -> Parse<Cond> {
        if self.peek() == TokenKind::Op(BinaryOp::Mul) {
            return Ok(Cond::Star(At(self.bump().span)));
        }
        let cond = self.expr()?;
        if self.peek() == TokenKind::Assign {
            let diagnostic = self.expected_diagnostic("`{`").help("use `==` for equality");
            return Err(self.report(diagnostic));
        }
        Ok(Cond::Expr(cond))
    }

    fn if_(&mut self) -> Parse<StmtHead> {
        self.bump();
        let cond = self.cond()?;
        let end = self.end();
        let then = self.block("the `if`")?;
        let other = if !self.eat_word("else") {
            None
        } else if self.word() == "if" {
            let start = self.start();
            let (kind, end) = self.deeper(Self::if_)?;
            Some(Else::If(Box::new(Stmt { label: None, kind, at: At(Span { start, end }) })))
        } else {
            Some(Else::Block(self.block("the `else`")?))
        };
        Ok((StmtKind::If { cond, then, other }, end))
    }

    fn loop_(&mut self) -> Parse<StmtHead> {
        self.bump();
        let end = self.end();
        if self.eat_word("queue") {
            return Ok((StmtKind::LoopQueue, self.end()));
        }
        Ok((StmtKind::Loop { body: self.block("the loop")? }, end))
    }

    fn for_(&mut self) -> Parse<StmtHead> {
        self.bump();
        if self.peek() == TokenKind::LeftParen {
            let diagnostic = self.expected_diagnostic("the name of a variable");
            return Err(self.report(diagnostic.help("write `for i in 0..3 { ... }` or `for e in list { ... }`")));
        }
        let name = self.name("the name of a variable")?;
        self.expect_word("in")?;
        let from = self.expr()?;
        let over = if self.eat(TokenKind::DotDot) {
            Over::Range(Range { from, to: self.end_of_range()? })
        } else {
            Over::List(from)
        };
        let end = self.end();
        Ok((StmtKind::For { name, over, body: self.block("the loop")? }, end))
    }

    fn try_(&mut self) -> Parse<StmtHead> {
        self.bump();
        let end = self.end();
        let body = self.block("the `try`")?;
        let mut catch = Vec::new();
        while self.eat_word("catch") {
            let name = if self.name_at(0) { Some(self.name("an exception")?) } else { None };
            catch.push(Catch { name, body: self.block("the `catch`")? });
        }
        let finally = if self.eat_word("finally") { Some(self.block("the `finally`")?) } else { None };
        if catch.is_empty() && finally.is_none() {
            let diagnostic = self.expected_diagnostic("`catch` or `finally`");
            return Err(
                self.report(diagnostic.help("add one, as in `try { } catch Name { }` or `try { } finally { }`"))
            );
        }
        Ok((StmtKind::Try { body, catch, finally }, end))
    }

    fn sync(&mut self, mode: SyncMode) -> Parse<StmtHead> {
        self.bump();
        let object = self.expr()?;
        let timeout = if self.eat_word("for") { Some(self.expr()?) } else { None };
        let end = self.end();
        let body = self.block(&format!("the `{}`", mode.word()))?;
        let timed = timeout.is_some();
        let other = if timed && self.eat_word("else") { Some(self.block("the `else`")?) } else { None };
        Ok((StmtKind::Sync { mode, object, timeout, body, other }, end))
    }

    /// Parses a statement that does not begin with a verb or keyword: an operation, an assignment or a call.
    fn assignment_or_call(&mut self) -> Parse<StmtKind> {
        let first = self.token().span;
        let begins_with_word = self.name_at(0);
        if self.at_op() {
            return self.op().map(StmtKind::Expr);
        }
        if !begins_with_word && !matches!(self.peek(), TokenKind::LeftParen) && !self.operand_at(0) {
            let mut diagnostic = self.expected_diagnostic("a statement");
            if let word @ ("else" | "catch" | "finally") = self.word() {
                diagnostic.help = Some(format!("put `{word}` right after the `}}` that it belongs to, without a `;`"));
            }
            return Err(self.report(diagnostic));
        }
        let place = self.place()?;
        let op = match self.peek() {
            TokenKind::Assign => None,
            TokenKind::AssignOp(op) => Some(op),
            _ => {
                return match place.kind {
                    ExprKind::Call { .. } | ExprKind::Method { .. } | ExprKind::Op(_) => Ok(StmtKind::Expr(place)),
                    _ => Err(self.no_statement(&place, first)),
                };
            }
        };
        let assigned = if let ExprKind::Plain(place) = &place.kind { &place.kind } else { &place.kind };
        if !matches!(assigned, ExprKind::Name(_) | ExprKind::Field { .. } | ExprKind::Index { .. }) {
            let diagnostic =
                Diagnostic::new(place.at.0, "this cannot be assigned", "this is not a variable, field or element");
            return Err(self.report(diagnostic));
        }
        self.bump();
        Ok(StmtKind::Assign { place, op, value: self.value()? })
    }

    /// Reports an expression that is not a statement, with a guess at the intention. Examples are `pots f() to main`,
    /// `x` and `task f() {`.
    fn no_statement(&mut self, place: &Expr, first: Span) -> super::ReportedError {
        let word = match &place.kind {
            ExprKind::Name(word) => word.as_str(),
            _ => "",
        };
        let same_line =
            !matches!(self.peek(), TokenKind::Newline | TokenKind::Semi | TokenKind::RightBrace | TokenKind::End);
        if same_line && ITEMS.contains(&word) {
            let diagnostic = Diagnostic::new(
                first,
                format!("`{word}` cannot be used in a block"),
                "it can be used only at the top of a file",
            );
            let help = if matches!(word, "var" | "const" | "atomic") {
                "declare a local variable with `let`"
            } else {
                "is a `}` missing before it?"
            };
            return self.report(diagnostic.help(help));
        }
        let known = || STATEMENTS.iter().copied().chain(Verb::WORDS.iter().map(|&(word, _)| word));
        let needs_operand = !same_line && known().any(|known| known == word);
        let help = match near(word, known()) {
            _ if needs_operand => {
                Some(format!("complete the statement: `{word}` needs something after it, and a call is `{word}()`"))
            }
            Some(known) => Some(format!("did you mean `{known}`?")),
            None => match (self.peek(), self.kind_at(1)) {
                (TokenKind::Op(op @ (BinaryOp::Add | BinaryOp::Sub)), TokenKind::Op(again)) if op == again => {
                    let text = self.text_of(place.at.0);
                    let text: String = text.chars().take(40).collect();
                    Some(format!("write `{text} {}= 1`", op.word()))
                }
                (TokenKind::Op(_), TokenKind::Assign) => {
                    Some("of the operators only + - * / % have an assignment".to_owned())
                }
                (TokenKind::Op(_), _) => Some(
                    "a comparison or sum alone does nothing: use it in an `if`, an `assert` or an assignment"
                        .to_owned(),
                ),
                _ if !word.is_empty() && !same_line => {
                    Some(format!("to call a task write `{}()`", self.text_of(first)))
                }
                _ => None,
            },
        };
        let mut diagnostic = if same_line && !word.is_empty() {
            Diagnostic::new(first, format!("{} does not begin a statement", self.quoted(first)), "expected a statement")
        } else {
            Diagnostic::new(place.at.0, "this is not a statement", "it has no effect")
        };
        diagnostic.help = help;
        self.report(diagnostic)
    }
}
