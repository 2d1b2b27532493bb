//! Parses sends and selects.

use super::super::ast::{Expr, SelectCase, SelectKind, StmtKind};
use super::super::token::TokenKind;
use super::stmts::StmtHead;
use super::{Parse, Parser};

impl Parser<'_> {
    /// Parses the operands of a `send`: the channel and the value.
    pub(super) fn sent(&mut self) -> Parse<(Expr, Expr)> {
        self.in_send = true;
        let channel = self.place();
        self.in_send = false;
        let channel = channel?;
        if !self.operand_at(0) {
            let help = "a send names its channel and its value: `send c 1`; a signal is `send done true`";
            let diagnostic = self.expected_diagnostic("the value to send").help(help);
            return Err(self.report(diagnostic));
        }
        Ok((channel, self.expr()?))
    }

    /// Parses `select { cases }`.
    pub(super) fn select(&mut self) -> Parse<StmtHead> {
        self.bump();
        let end = self.end();
        let start = self.start();
        self.open_brace("the `select`")?;
        let cases = self.deeper(|parser| {
            parser.in_braces(start, "case", |parser| {
                let mut cases = vec![parser.select_case()?];
                // No newline ends anything before an `else`.
                while parser.word() == "else" {
                    cases.push(parser.select_case()?);
                }
                Ok(cases)
            })
        })?;
        Ok((StmtKind::Select { cases: cases.into_iter().flatten().collect() }, end))
    }

    fn select_case(&mut self) -> Parse<SelectCase> {
        let start = self.start();
        let kind = match self.word() {
            "recv" => {
                self.bump();
                let channel = self.place()?;
                let (mut value, mut received) = (None, None);
                if self.eat_word("as") {
                    value = Some(self.name("the name of the received value")?);
                    if self.eat(TokenKind::Comma) {
                        received = Some(self.name("a name for whether a value was received")?);
                    }
                }
                SelectKind::Receive { channel, value, received }
            }
            "send" => {
                self.bump();
                let (channel, value) = self.sent()?;
                SelectKind::Send { channel, value }
            }
            "after" => {
                self.bump();
                SelectKind::After(self.expr()?)
            }
            "else" => {
                self.bump();
                SelectKind::Else
            }
            _ => {
                let help = "a case is `recv c as v { }`, `send c v { }`, `after 5 { }` or `else { }`";
                let diagnostic = self.expected_diagnostic("a case of the `select`").help(help);
                return Err(self.report(diagnostic));
            }
        };
        let at = self.at_from(start);
        Ok(SelectCase { kind, body: self.block("the case")?, at })
    }
}
