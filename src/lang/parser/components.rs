//! Parses kinds and components, and the verbs of kinds.

use super::super::ast::{
    At, Component, ComponentPart, Expr, ExprKind, Following, ItemKind, Kind, KindPart, Name, Op, Params, Row, Span,
    TaskMode, VerbMode,
};
use super::super::token::TokenKind;
use super::super::words::CANCEL;
use super::{Parse, Parser};

impl Parser<'_> {
    /// Parses `use name { settings }` after its word.
    pub(super) fn use_(&mut self) -> Parse<ItemKind> {
        let library = self.name("the name of a library")?;
        Ok(ItemKind::Use { library, settings: self.settings()? })
    }

    /// Parses a kind after its word.
    pub(super) fn kind(&mut self) -> Parse<ItemKind> {
        let name = self.name("the name of the kind")?;
        let start = self.start();
        self.open_brace("the kind")?;
        self.in_kind = true;
        let parts = self.in_braces(start, "part", Self::kind_part);
        self.in_kind = false;
        Ok(ItemKind::Kind(Box::new(Kind { name, parts: parts? })))
    }

    fn kind_part(&mut self) -> Parse<KindPart> {
        // Every word here is also a name: `start(..): during a { }` is a row.
        if !self.name_at(0) || self.kind_at(1) == TokenKind::Colon || self.kind_at(1) == TokenKind::LeftParen {
            return self.row();
        }
        match self.word() {
            "var" | "atomic" => {
                let (storage, field) = self.stored_field()?;
                Ok(KindPart::Field(storage, field))
            }
            "callback" => {
                self.bump();
                let one =
                    |parser: &mut Self| Ok((parser.name("the name of a callback")?, parser.optional_kind_params()?));
                self.commas(one).map(KindPart::Callbacks)
            }
            "stage" => {
                self.bump();
                self.commas(|parser| parser.name("the name of a stage")).map(KindPart::Stages)
            }
            "state" => {
                self.bump();
                let of = if self.name_at(0) && self.kind_at(1) == TokenKind::Dot {
                    let of = self.name("the name of a kind")?;
                    self.bump();
                    Some(of)
                } else {
                    None
                };
                let field = self.field("the name of a state variable")?;
                Ok(match of {
                    Some(of) => KindPart::Kept { of, field },
                    None => KindPart::State(field),
                })
            }
            "single" => {
                let start = self.start();
                self.bump();
                let until = if self.eat_word("until") { Some(self.name("the name of a stage")?) } else { None };
                Ok(KindPart::Single { at: self.at_from(start), until })
            }
            "events" => {
                self.bump();
                self.expect_word("during")?;
                Ok(KindPart::Events { stages: self.stages()? })
            }
            "follows" => {
                self.bump();
                let host = self.name("the name of a kind")?;
                self.expect(TokenKind::Colon)?;
                Ok(KindPart::Follows { host, pairs: self.commas(Self::following)? })
            }
            "verb" => {
                self.bump();
                let name = self.name("the name of a verb")?;
                let params = self.optional_kind_params()?;
                let mode = match () {
                    () if self.eat_word("makes") => VerbMode::Makes,
                    () if self.eat_word("all") => VerbMode::All,
                    () => VerbMode::One,
                };
                Ok(KindPart::Verb { name, params, mode, body: self.block("the verb")? })
            }
            "task" => {
                self.bump();
                let name = self.name("the name of the task")?;
                let params = self.optional_kind_params()?;
                let result = self.annotation()?;
                Ok(KindPart::Task { name, params, result, body: self.block("the task")? })
            }
            _ => Err(self.expected("a part of a kind")),
        }
    }

    fn following(&mut self) -> Parse<Following> {
        let before = self.word() == "before" && self.name_at(1);
        if before {
            self.bump();
        }
        let host = self.name("the name of a callback of the host")?;
        self.expect(TokenKind::Arrow)?;
        let own = self.name("the name of a callback")?;
        let value = if self.eat(TokenKind::Assign) { Some(self.expr()?) } else { None };
        Ok(Following { before, host, own, value })
    }

    fn row(&mut self) -> Parse<KindPart> {
        let name = self.name("a part of a kind")?;
        let params = self.optional_kind_params()?;
        self.expect(TokenKind::Colon)?;
        let during = self.word() == "during" && self.name_at(1);
        if during {
            self.bump();
        }
        let from = self.stages()?;
        let to = if during {
            None
        } else if self.peek() == TokenKind::Arrow {
            self.bump();
            Some(self.name("the name of a stage")?)
        } else {
            let help = format!("a row is `{0}: a -> b {{ }}`, or `{0}: during a {{ }}`", name.text);
            let diagnostic = self.expected_diagnostic("`->`").help(help);
            return Err(self.report(diagnostic));
        };
        let (mut by_request, mut when, mut at_most) = (None, None, None);
        loop {
            let start = self.start();
            let word = self.word();
            let twice = match word {
                "by" => by_request.is_some(),
                "when" => when.is_some(),
                "at" => at_most.is_some(),
                _ => break,
            };
            if twice {
                let diagnostic = super::Diagnostic::new(
                    self.token().span,
                    format!("a second `{word}` in one row"),
                    "a row has one of each",
                );
                return Err(self.report(diagnostic));
            }
            self.bump();
            match word {
                "by" => {
                    self.expect_word("request")?;
                    by_request = Some(self.at_from(start));
                }
                "when" => when = Some(self.expr()?),
                _ => at_most = Some(self.most()?),
            }
        }
        let body = self.block("the row")?;
        Ok(KindPart::Row(Box::new(Row { name, params, from, to, by_request, when, at_most, body })))
    }

    /// Parses the rest of `at most n` after `at`.
    fn most(&mut self) -> Parse<Expr> {
        self.expect_word("most")?;
        self.expr()
    }

    /// Parses `a | b | c`
    fn stages(&mut self) -> Parse<Vec<Name>> {
        let mut stages = vec![self.name("the name of a stage")?];
        while self.peek() == TokenKind::Op(super::super::ast::BinaryOp::BitOr) {
            self.bump();
            stages.push(self.name("the name of a stage")?);
        }
        Ok(stages)
    }

    /// Parses parameters that can end with `..`; without a `(` there are none.
    fn optional_kind_params(&mut self) -> Parse<Params> {
        if !self.eat(TokenKind::LeftParen) {
            return Ok(Params::default());
        }
        self.bracketed(TokenKind::RightParen, |parser| {
            let mut params = Params::default();
            while parser.peek() != TokenKind::RightParen {
                if parser.peek() == TokenKind::DotDot {
                    params.rest = Some(super::At(parser.bump().span));
                    break;
                }
                params.list.push(parser.param()?);
                if !parser.eat(TokenKind::Comma) {
                    break;
                }
            }
            Ok(params)
        })
    }

    /// Parses a component, which begins with the name of its kind.
    pub(super) fn component(&mut self) -> Parse<ItemKind> {
        let kind = self.name("the name of a kind")?;
        let name = self.name("the name of the component")?;
        let params = self.optional_params()?;
        let source = if self.eat_word("of") { Some(self.name("the name of a component")?) } else { None };
        let host = if self.eat_word("in") { Some(self.name("the name of a component")?) } else { None };
        let looper = if self.eat_word("on") { Some(self.name("the name of a looper")?) } else { None };
        let start = self.start();
        self.open_brace("the component")?;
        let parts = self.in_braces(start, "part", Self::component_part)?;
        Ok(ItemKind::Component(Box::new(Component { kind, name, params, source, host, looper, parts })))
    }

    fn component_part(&mut self) -> Parse<ComponentPart> {
        match self.word() {
            "var" | "atomic" => {
                let (storage, field) = self.stored_field()?;
                Ok(ComponentPart::Field(storage, field))
            }
            "on" => {
                self.bump();
                let name = self.name("the name of a callback")?;
                let params = self.optional_params()?;
                let instance = if self.eat_word("as") { Some(self.expr()?) } else { None };
                Ok(ComponentPart::On { name, params, instance, body: self.block("the callback")? })
            }
            "event" => {
                self.bump();
                let name = self.name("the name of the event")?;
                if self.peek() == TokenKind::LeftParen {
                    let diagnostic = self.expected_diagnostic("the `{` of the event");
                    let help = "nothing gives an event of a component arguments; it reads fields";
                    return Err(self.report(diagnostic.help(help)));
                }
                let at_most = if self.eat_word("at") { Some(self.most()?) } else { None };
                Ok(ComponentPart::Event { name, at_most, body: self.block("the event")? })
            }
            "task" | "async" | "daemon" => {
                let word = self.word();
                self.bump();
                let mode = match word {
                    "task" => TaskMode::Plain,
                    "async" => TaskMode::Async,
                    _ => {
                        self.expect_word("async")?;
                        TaskMode::AsyncDaemon
                    }
                };
                if mode != TaskMode::Plain {
                    self.expect_word("task")?;
                }
                let (mode, name, params, result, body) = self.task_parts(mode)?;
                Ok(ComponentPart::Task { mode, name, params, result, body })
            }
            "unit" => {
                self.bump();
                let name = self.name("the name of the unit")?;
                self.expect(TokenKind::Colon)?;
                let members = self.commas(|parser| parser.name("the name of a callback or task"))?;
                Ok(ComponentPart::Unit { name, members })
            }
            _ => Err(self.expected("`var`, `atomic`, `on`, `event`, `task`, `async task` or `unit`")),
        }
    }

    /// Returns whether a verb of a kind begins here: its word, and then a component or an instance. `cancel` is a
    /// statement of the language as well: [`cancel`](Self::cancel) parses it.
    pub(super) fn at_component_verb(&self) -> bool {
        let word = self.word();
        if word.is_empty()
            || word == CANCEL
            || !self.known.verbs.contains(word)
            || !(self.name_at(1) || self.word_at(1) == "this")
        {
            return false;
        }
        // These are statements of queues and listeners.
        !matches!((word, self.word_at(2)), ("register", "to") | ("unregister", "from"))
    }

    /// Parses the operand and the arguments of a verb.
    pub(super) fn component_verb(&mut self, verb: Name, height: &mut u32) -> Parse<Op> {
        let place = self.measured(height, Self::place)?;
        self.verb_with_arguments(verb, place, height)
    }

    /// Parses what `cancel`, which has been read, is applied to. With arguments it is a verb of a kind, if a kind has
    /// one of this name. Otherwise the type of the operand decides what it means.
    pub(super) fn cancel(&mut self, word: Span, height: &mut u32) -> Parse<Op> {
        let is_name = self.name_at(0) || self.word() == "this";
        let place = self.measured(height, Self::place)?;
        let has_arguments = matches!(place.kind, ExprKind::Call { .. } | ExprKind::Method { .. })
            || self.peek() == TokenKind::LeftParen;
        if is_name && has_arguments && self.known.verbs.contains(CANCEL) {
            return self.verb_with_arguments(Name { text: CANCEL.to_owned(), at: At(word) }, place, height);
        }
        Ok(Op::Cancel { message: place })
    }

    fn verb_with_arguments(&mut self, verb: Name, place: Expr, height: &mut u32) -> Parse<Op> {
        // The arguments in `start Player(1)` belong to the verb, so the operand is `Player`.
        let (kind, at, args) = match place.kind {
            ExprKind::Call { name, args } => (ExprKind::Name(name.text), name.at, Some(args)),
            ExprKind::Method { object, name, args } => {
                let at = super::At(super::Span { end: name.at.0.end, ..place.at.0 });
                (ExprKind::Field { object, name }, at, Some(args))
            }
            kind => (kind, place.at, None),
        };
        let args = match args {
            Some(args) => args,
            None if self.peek() == TokenKind::LeftParen => self.args(height)?,
            None => Vec::new(),
        };
        Ok(Op::Component { verb, target: Expr { kind, at }, args })
    }
}
