//! Parses the parts that items and statements share: types, fields, parameters, ranges, blocks.

use super::super::ast::{BaseType, Block, Expr, Field, Name, Param, Range, Type};
use super::super::diagnostic::Diagnostic;
use super::super::token::TokenKind;
use super::super::words::TYPES;
use super::{Parse, Parser, ReportedError};

impl Parser<'_> {
    /// Parses a field: `name: type = value`
    pub(super) fn field(&mut self, what: &str) -> Parse<Field> {
        let name = self.name(what)?;
        let ty = self.annotation()?;
        if let TokenKind::AssignOp(_) = self.peek() {
            return Err(self.expected("`=`"));
        }
        let value = if self.eat(TokenKind::Assign) { Some(self.value()?) } else { None };
        Ok(Field { name, ty, value })
    }

    /// Parses `: type`, if there is one.
    pub(super) fn annotation(&mut self) -> Parse<Option<Type>> {
        if self.eat(TokenKind::Colon) { self.ty().map(Some) } else { Ok(None) }
    }

    fn ty(&mut self) -> Parse<Type> {
        let start = self.start();
        let base = if matches!(self.word(), "list" | "channel" | "job") && self.of_a_type() {
            let of = self.word();
            self.bump();
            self.bump();
            let inner = Box::new(self.deeper(|parser| parser.bracketed(TokenKind::RightBracket, Self::ty))?);
            match of {
                "list" => BaseType::List(inner),
                "channel" => BaseType::Channel(inner),
                _ => BaseType::Job(inner),
            }
        } else {
            BaseType::Name(self.name("a type")?)
        };
        let mut lengths = Vec::new();
        while self.eat(TokenKind::LeftBracket) {
            lengths.push(self.deeper(|parser| parser.bracketed(TokenKind::RightBracket, Self::expr))?);
        }
        Ok(Type { base, lengths, at: self.at_from(start) })
    }

    // Returns whether brackets with a type follow the next word. After `job` they can also hold the length of an array.
    // The checker decides about `job[N]`, where N is the name of a class or of a constant.
    fn of_a_type(&self) -> bool {
        let is_job = self.word() == "job";
        self.kind_at(1) == TokenKind::LeftBracket && (!is_job || TYPES.contains(&self.word_at(2)))
    }

    /// Parses parameters: `(a, b: type)`
    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        self.expect(TokenKind::LeftParen)?;
        self.list(TokenKind::RightParen, Self::param)
    }

    pub(super) fn param(&mut self) -> Parse<Param> {
        let name = self.name("the name of a parameter")?;
        Ok(Param { name, ty: self.annotation()? })
    }

    /// Parses parameters; without a `(` there are none.
    pub(super) fn optional_params(&mut self) -> Parse<Vec<Param>> {
        if self.peek() == TokenKind::LeftParen { self.params() } else { Ok(Vec::new()) }
    }

    /// Parses `name in a..b`
    pub(super) fn each(&mut self) -> Parse<(Name, Range)> {
        let name = self.name("the name of a variable")?;
        self.expect_word("in")?;
        Ok((name, self.range()?))
    }

    /// Parses a range. The height of the last expression is then that of the higher end.
    pub(super) fn range(&mut self) -> Parse<Range> {
        let from = self.expr()?;
        if self.peek() != TokenKind::DotDot {
            let diagnostic = self.expected_diagnostic("`..`").help("write a range as `0..N`, without its end");
            return Err(self.report(diagnostic));
        }
        self.bump();
        let height = self.height;
        let to = self.end_of_range()?;
        self.height = self.height.max(height);
        Ok(Range { from, to })
    }

    /// Parses the end of a range, after its `..`.
    pub(super) fn end_of_range(&mut self) -> Parse<Expr> {
        if self.peek() == TokenKind::Assign {
            let diagnostic = self.expected_diagnostic("the end of the range");
            return Err(self.report(diagnostic.help("use `0..N + 1`: a range does not include its end")));
        }
        self.expr()
    }

    /// Consumes the `{` of `what`. Reports a `{` on a later line, and consumes it as well.
    pub(super) fn open_brace(&mut self, what: &str) -> Parse<()> {
        if self.eat(TokenKind::LeftBrace) {
            return Ok(());
        }
        let mut diagnostic = self.expected_diagnostic(&format!("the `{{` of {what}"));
        if self.peek() == TokenKind::Newline && self.token().kind == TokenKind::LeftBrace {
            diagnostic.help = Some("a newline ends a statement: put the `{` on the line before".to_owned());
            self.report(diagnostic);
            self.bump();
            return Ok(());
        }
        Err(self.report(diagnostic))
    }

    /// Parses `{ statements }`. Statements with errors are reported and skipped.
    pub(super) fn block(&mut self, what: &str) -> Parse<Block> {
        let start = self.start();
        self.open_brace(what)?;
        let stmts = self.deeper(|parser| parser.in_braces(start, "statement", Self::stmt))?;
        Ok(Block { stmts, at: self.at_from(start) })
    }

    /// Parses the rest of `{ a; b }` after the `{`, which is at offset `start`.
    pub(super) fn in_braces<T>(
        &mut self,
        start: u32,
        what: &str,
        mut one: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut all = Vec::new();
        loop {
            self.separators();
            if self.eat(TokenKind::RightBrace) {
                return Ok(all);
            }
            if self.peek() == TokenKind::End {
                return Err(self.unclosed(start));
            }
            if self.item_at_margin() && self.unclosed_before_item() {
                self.unclosed(start);
                self.to_item = true;
                return Err(ReportedError);
            }
            let begun = self.pos;
            match one(self).and_then(|one| self.ended(what).map(|()| one)) {
                Ok(one) => all.push(one),
                Err(ReportedError) if self.to_item || self.stop => return Err(ReportedError),
                Err(ReportedError) => self.skip_statement(begun),
            }
            if self.to_item {
                return Err(ReportedError);
            }
        }
    }

    /// Returns whether an item at the margin means that a block was not closed. A `var` at the margin inside a class or
    /// an activity is more likely a field that was not indented.
    fn unclosed_before_item(&self) -> bool {
        !matches!(self.word(), "var" | "atomic")
    }

    fn unclosed(&mut self, start: u32) -> ReportedError {
        let open = super::Span { start, end: (start + 1).min(self.base + self.text.len() as u32) };
        let what = if self.peek() == TokenKind::End { "the end of the file" } else { "the next item" };
        let diagnostic = Diagnostic::new(open, "the `{` is not closed", format!("there is no `}}` before {what}"))
            .note(self.token().span, "expected `}` before this");
        self.report(diagnostic)
    }
}
