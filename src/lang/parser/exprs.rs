//! Parses expressions, by precedence climbing, and places.

use super::super::ast::{At, BinaryOp, Expr, ExprKind, Span, UnaryOp, Value};
use super::super::diagnostic::Diagnostic;
use super::super::token::TokenKind;
use super::super::words::precedence;
use super::{Parse, Parser};

impl Parser<'_> {
    /// Parses an expression that is not an operation such as `post`.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.binary(precedence::OR)
    }

    /// Parses a whole right side, or the content of parentheses. Operations are allowed here.
    pub(super) fn right_side(&mut self) -> Parse<Expr> {
        if self.at_op() {
            return self.op();
        }
        match self.verb_as_value() {
            Some(reported) => Err(reported),
            None => self.expr(),
        }
    }

    /// Parses the right side of a field or an assignment.
    pub(super) fn value(&mut self) -> Parse<Value> {
        let start = self.start();
        if self.eat(TokenKind::LeftBracket) {
            let all = self.list(TokenKind::RightBracket, Self::expr)?;
            return Ok(Value::List(all, self.at_from(start)));
        }
        self.right_side().map(Value::Expr)
    }

    /// Parses operators with a precedence of at least `least`. The right operand must bind tighter than the operator,
    /// so equal operators group to the left. Comparisons in a row are an error.
    fn binary(&mut self, least: u8) -> Parse<Expr> {
        let mut left = self.unary()?;
        let mut height = self.height;
        let mut compared: Option<Span> = None;
        while let TokenKind::Op(op) = self.peek() {
            let tightness = op.precedence();
            if tightness < least {
                break;
            }
            let span = self.token().span;
            if tightness == precedence::COMPARISON {
                if let Some(first) = compared {
                    return Err(self.chained_comparison(first, span));
                }
                compared = Some(span);
            } else {
                compared = None;
            }
            self.bump();
            let right = self.deeper(|parser| parser.binary(tightness + 1))?;
            let at = At(Span { start: left.at.0.start, end: self.end() });
            height = 1 + height.max(self.height);
            self.grow(height, at)?;
            left = Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, at };
        }
        self.height = height;
        Ok(left)
    }

    fn chained_comparison(&mut self, first: Span, second: Span) -> super::ReportedError {
        let diagnostic = Diagnostic::new(second, "comparisons do not chain", "this is a second comparison")
            .note(first, "this is the first one")
            .help("write `a < b && b < c`, or put one of them in parentheses");
        self.report(diagnostic)
    }

    fn unary(&mut self) -> Parse<Expr> {
        let op = match self.peek() {
            TokenKind::Bang => UnaryOp::Not,
            TokenKind::Op(BinaryOp::Sub) => UnaryOp::Neg,
            _ => return self.place(),
        };
        let start = self.start();
        self.bump();
        if op == UnaryOp::Neg && self.peek() == TokenKind::Int(1 << 63) {
            // -2^63 is the one number without a positive counterpart, so its digits alone do not fit an `i64`.
            self.bump();
            self.height = 1;
            return Ok(Expr { kind: ExprKind::Int(i64::MIN), at: self.at_from(start) });
        }
        let operand = self.deeper(Self::unary)?;
        let at = self.at_from(start);
        self.grow(self.height + 1, at)?;
        Ok(Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, at })
    }

    /// Parses a primary expression with its fields, calls and indices. Any expression that binds looser must be in
    /// parentheses.
    pub(super) fn place(&mut self) -> Parse<Expr> {
        let start = self.start();
        let mut object = self.primary()?;
        let mut height = self.height;
        loop {
            let kind = match self.peek() {
                TokenKind::Dot => {
                    self.bump();
                    if let TokenKind::Int(_) = self.peek() {
                        let diagnostic = self.expected_diagnostic("the name of a field");
                        return Err(self.report(diagnostic.help("use integers: the language has no fractions")));
                    }
                    let name = self.name("the name of a field")?;
                    if self.arguments_at() {
                        let args = self.args(&mut height)?;
                        ExprKind::Method { object: Box::new(object), name, args }
                    } else {
                        ExprKind::Field { object: Box::new(object), name }
                    }
                }
                TokenKind::LeftBracket => {
                    self.bump();
                    let index = self.deeper(|parser| {
                        parser.bracketed(TokenKind::RightBracket, |parser| parser.measured(&mut height, Self::expr))
                    })?;
                    ExprKind::Index { object: Box::new(object), index: Box::new(index) }
                }
                _ => break,
            };
            let at = self.at_from(start);
            height += 1;
            self.grow(height, at)?;
            object = Expr { kind, at };
        }
        self.height = height;
        Ok(object)
    }

    /// Returns whether arguments begin here. After the channel of a `send`, parentheses apart from it are the value.
    fn arguments_at(&self) -> bool {
        self.peek() == TokenKind::LeftParen && (!self.in_send || self.touches(0))
    }

    /// Parses `(a, b)`. Raises `height` to the height of the highest argument.
    pub(super) fn args(&mut self, height: &mut u32) -> Parse<Vec<Expr>> {
        self.expect(TokenKind::LeftParen)?;
        self.deeper(|parser| parser.list(TokenKind::RightParen, |parser| parser.measured(height, Self::argument)))
    }

    /// Parses an argument. In a kind the last one can be `..`.
    fn argument(&mut self) -> Parse<Expr> {
        if !(self.in_kind && self.peek() == TokenKind::DotDot && self.kind_at(1) == TokenKind::RightParen) {
            return self.right_side();
        }
        self.height = 1;
        Ok(Expr { kind: ExprKind::Rest, at: At(self.bump().span) })
    }

    fn primary(&mut self) -> Parse<Expr> {
        let start = self.start();
        self.height = 1;
        let kind = match self.peek() {
            TokenKind::Word => return self.word_primary(),
            TokenKind::Int(value) => match i64::try_from(value) {
                Ok(value) => {
                    self.bump();
                    ExprKind::Int(value)
                }
                Err(_) => {
                    let diagnostic =
                        Diagnostic::new(self.token().span, "the number is too large", "it does not fit into 64 bits")
                            .help(format!("use a number up to {}", i64::MAX));
                    return Err(self.report(diagnostic));
                }
            },
            TokenKind::Str(_) => match self.string() {
                Some(text) => ExprKind::Str(text.text),
                None => return Err(self.expected("an expression")),
            },
            TokenKind::LeftParen => {
                self.bump();
                let mut inner = self.deeper(|parser| parser.bracketed(TokenKind::RightParen, Self::right_side))?;
                inner.at = self.at_from(start);
                return Ok(inner);
            }
            TokenKind::LeftBracket => {
                let diagnostic = self.expected_diagnostic("an expression");
                return Err(self.report(diagnostic.help("put a list `[a, b]` alone on the right of a `=`")));
            }
            TokenKind::Op(BinaryOp::Mul) => {
                let diagnostic = self.expected_diagnostic("an expression");
                return Err(self.report(
                    diagnostic
                        .help("use `*`, which goes either way, only as the whole condition of an `if` or `while`"),
                ));
            }
            TokenKind::Assign => {
                let diagnostic = self.expected_diagnostic("an expression");
                return Err(self.report(diagnostic.help("use `==` for equality")));
            }
            _ => return Err(self.expected("an expression")),
        };
        Ok(Expr { kind, at: self.at_from(start) })
    }

    fn word_primary(&mut self) -> Parse<Expr> {
        let start = self.start();
        let mut height = 0;
        let kind = match self.word() {
            "true" | "false" | "null" | "self" | "this" => {
                let span = self.bump().span;
                match self.text_of(span) {
                    "null" => ExprKind::Null,
                    "self" => ExprKind::SelfThread,
                    "this" => ExprKind::This,
                    word => ExprKind::Bool(word == "true"),
                }
            }
            "new" => {
                self.bump();
                let name = self.name("the name of a class")?;
                if self.peek() == TokenKind::LeftParen && self.touches(0) {
                    let diagnostic =
                        Diagnostic::new(self.token().span, "`new` takes no arguments", "the arguments begin here")
                            .help(format!("write `new {}` and set its fields after that", name.text));
                    return Err(self.report(diagnostic));
                }
                ExprKind::New(name)
            }
            word @ ("none" | "some") if self.in_kind && self.name_at(1) => {
                self.bump();
                ExprKind::Other { some: word == "some", kind: None, stage: self.name("the name of a stage")? }
            }
            "asked" if self.in_kind && self.name_at(1) => {
                self.bump();
                ExprKind::Asked(self.name("the name of a row")?)
            }
            "plain" if self.name_at(1) || self.word_at(1) == "this" => {
                self.bump();
                let place = self.measured(&mut height, Self::place)?;
                ExprKind::Plain(Box::new(place))
            }
            _ if self.misplaced_op() => return Err(self.op_out_of_place()),
            _ if self.name_at(0) => {
                let name = self.name("a name")?;
                if self.arguments_at() {
                    let args = self.args(&mut height)?;
                    ExprKind::Call { name, args }
                } else {
                    ExprKind::Name(name.text)
                }
            }
            _ => return Err(self.expected("an expression")),
        };
        let at = self.at_from(start);
        self.grow(height + 1, at)?;
        Ok(Expr { kind, at })
    }
}
