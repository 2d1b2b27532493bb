//! Parses operations that have a value: `post`, `fork`, `wait` and the like.
//!
//! The words of operations are names, too. They begin an operation only at the start of a whole right side, of a
//! statement or of parentheses, and only before an operand.

use super::super::ast::{
    At, Expr, ExprKind, InstanceName, LaunchWords, Name, Op, PostOptionsAst, PostTimeAst, SyncMode, TextLiteral, Verb,
};
use super::super::diagnostic::Diagnostic;
use super::super::token::TokenKind;
use super::super::words::is_reserved;
use super::{Parse, Parser, ReportedError};

/// Words that can follow a whole expression on its line. A word before one of them can therefore be a name instead of
/// an operation.
const FOLLOWERS: [&str; 18] = [
    "after",
    "at",
    "async",
    "micro",
    "idle",
    "every",
    "daemon",
    "or",
    "as",
    "with",
    "for",
    "if",
    "real",
    "initially",
    "safely",
    "on",
    "now",
    "detached",
];

impl Parser<'_> {
    /// Returns whether the token `ahead`, on the same line, can begin an operand. A `(` that touches the word before it
    /// belongs to a call.
    pub(super) fn operand_at(&self, ahead: usize) -> bool {
        match self.kind_at(ahead) {
            TokenKind::Word => {
                let word = self.word_at(ahead);
                !is_reserved(word) || matches!(word, "true" | "false" | "null" | "self" | "this" | "new")
            }
            TokenKind::Int(_)
            | TokenKind::Str(_)
            | TokenKind::Bang
            | TokenKind::Op(super::super::ast::BinaryOp::Sub) => true,
            TokenKind::LeftParen => !self.touches(ahead),
            _ => false,
        }
    }

    /// Returns whether the token `ahead` can begin a place. A place does not begin with an operator.
    pub(super) fn place_at(&self, ahead: usize) -> bool {
        self.operand_at(ahead) && !matches!(self.kind_at(ahead), TokenKind::Bang | TokenKind::Op(_))
    }

    /// Returns whether an operation begins here, in a position where an operation is allowed.
    pub(super) fn at_op(&self) -> bool {
        if self.at_choose() || self.at_component_verb() {
            return true;
        }
        match self.word() {
            "await" => true,
            "post" => self.name_at(1) || self.word_at(1) == "this",
            "fork" | "launch" => self.name_at(1),
            "ask" => self.in_kind && self.name_at(1),
            "spawn" => matches!(self.word_at(1), "looper" | "scope"),
            "handler" => self.word_at(1) == "on",
            "fence" | "wait" | "down" | "recv" => self.place_at(1),
            "acquire" => self.place_at(1) && self.timed_acquisition(),
            "cancel" => self.place_at(1) && !self.at_removal(),
            _ => false,
        }
    }

    // Returns whether `choose` and its range begin here. Before anything else than an operand with a range on its line
    // the word is a name. A number alone is a range that was not written out.
    fn at_choose(&self) -> bool {
        self.word() == "choose"
            && self.operand_at(1)
            && (matches!(self.kind_at(1), TokenKind::Int(_))
                || self.on_line(|kind, _| match kind {
                    TokenKind::DotDot => Some(true),
                    TokenKind::Comma => Some(false),
                    _ => None,
                }))
    }

    /// Returns whether the next words are those of `cancel task on place`, which removes messages by their task, and
    /// not of `cancel m`, which removes one message.
    pub(super) fn at_removal(&self) -> bool {
        let is_name = self.name_at(1);
        let part = matches!(self.kind_at(2), TokenKind::Dot | TokenKind::LeftBracket | TokenKind::LeftParen);
        is_name && (self.word_at(1) == "all" && !part || matches!(self.word_at(2), "on" | "with"))
    }

    /// Returns whether an operation begins here, in a position where no operation is allowed. The test is stricter than
    /// [`at_op`](Self::at_op), because the word can be a name with another token after it.
    pub(super) fn misplaced_op(&self) -> bool {
        let followed = FOLLOWERS.contains(&self.word_at(1));
        match self.word() {
            "await" => true,
            "post" | "fork" | "launch" => self.name_at(1) && !followed,
            "spawn" => matches!(self.word_at(1), "looper" | "scope"),
            "handler" => self.word_at(1) == "on" && self.name_at(2),
            "choose" => self.place_at(1) && !followed && self.at_choose(),
            "fence" | "wait" | "down" | "recv" | "cancel" => {
                self.kind_at(1) == TokenKind::Word && self.place_at(1) && !followed
            }
            _ => false,
        }
    }

    pub(super) fn op_out_of_place(&mut self) -> ReportedError {
        let word = self.word().to_owned();
        let diagnostic = Diagnostic::new(
            self.token().span,
            format!("`{word}` cannot be used inside an expression"),
            "it can only be a whole right side",
        )
        .help(format!("put it in parentheses, `({word} ...)`, or bind its value with `let`"));
        self.report(diagnostic)
    }

    /// Parses an operation. The caller has checked with [`at_op`](Self::at_op) that one begins here.
    pub(super) fn op(&mut self) -> Parse<Expr> {
        let start = self.start();
        let mut height = 0;
        let of_kind = !self.at_choose() && self.at_component_verb();
        let word = self.bump().span;
        let op = match self.text_of(word) {
            verb if of_kind => {
                let verb = Name { text: verb.to_owned(), at: At(word) };
                self.component_verb(verb, &mut height)?
            }
            "ask" => {
                let row = self.name("the name of a row")?;
                Op::Ask { row, args: self.args(&mut height)? }
            }
            "post" => self.post(&mut height)?,
            "fork" => {
                let task = self.name("the name of a task")?;
                Op::Fork { task, args: self.args(&mut height)? }
            }
            "launch" => self.launch(&mut height)?,
            "spawn" if self.eat_word("scope") => Op::SpawnScope,
            "spawn" => {
                self.expect_word("looper")?;
                Op::SpawnLooper
            }
            "fence" => Op::Fence { target: self.measured(&mut height, Self::place)? },
            "cancel" => self.cancel(word, &mut height)?,
            "handler" => {
                self.expect_word("on")?;
                Op::HandlerOn { target: self.measured(&mut height, Self::place)? }
            }
            "wait" => {
                let object = self.measured(&mut height, Self::place)?;
                let with = if self.eat_word("with") { Some(self.measured(&mut height, Self::place)?) } else { None };
                Op::Wait { object, with, timeout: self.timeout(&mut height)? }
            }
            "acquire" => {
                let mode = self.side();
                let object = self.measured(&mut height, Self::place)?;
                let Some(timeout) = self.timeout(&mut height)? else {
                    return Err(self.no_value(Verb::Acquire, word));
                };
                Op::Acquire { mode, object, timeout }
            }
            "recv" => Op::Receive { channel: self.measured(&mut height, Self::place)? },
            "choose" => {
                let range = self.range()?;
                height = height.max(self.height);
                Op::Choose(range)
            }
            "down" => {
                let semaphore = self.measured(&mut height, Self::place)?;
                let Some(timeout) = self.timeout(&mut height)? else {
                    return Err(self.no_value(Verb::Down, word));
                };
                Op::Down { semaphore, timeout }
            }
            _ => {
                let cond = self.measured(&mut height, Self::expr)?;
                Op::Await { cond, timeout: self.timeout(&mut height)? }
            }
        };
        let at = self.at_from(start);
        self.grow(height + 1, at)?;
        Ok(Expr { kind: ExprKind::Op(Box::new(op)), at })
    }

    // Parses the side of a `rwlock`, if one is named.
    pub(super) fn side(&mut self) -> SyncMode {
        match SyncMode::from_word(self.word()) {
            Some(mode @ (SyncMode::Read | SyncMode::Write)) if self.place_at(1) => {
                self.bump();
                mode
            }
            _ => SyncMode::Sync,
        }
    }

    // Returns whether the line goes on with `for`: an acquisition without a timeout is a statement.
    fn timed_acquisition(&self) -> bool {
        self.on_line(|_, ahead| (self.word_at(ahead) == "for").then_some(true))
    }

    // Returns the first answer of `found` for the tokens after this one, up to the end of the line or of the brackets
    // around. It is not asked about tokens inside brackets, which belong to another operation.
    fn on_line(&self, found: impl Fn(TokenKind, usize) -> Option<bool>) -> bool {
        let ends = |kind| {
            matches!(kind, TokenKind::Newline | TokenKind::Semi | TokenKind::LeftBrace | TokenKind::RightBrace)
                || kind == TokenKind::End
        };
        let mut open = 0;
        for ahead in 1.. {
            // Inside brackets a newline ends nothing.
            let inside = self.tokens.get(self.pos + ahead).map_or(TokenKind::End, |token| token.kind);
            match if open > 0 { inside } else { self.kind_at(ahead) } {
                kind if ends(kind) => break,
                TokenKind::LeftParen | TokenKind::LeftBracket => open += 1,
                TokenKind::RightParen | TokenKind::RightBracket if open == 0 => break,
                TokenKind::RightParen | TokenKind::RightBracket => open -= 1,
                kind if open == 0 => {
                    if let Some(answer) = found(kind, ahead) {
                        return answer;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn timeout(&mut self, height: &mut u32) -> Parse<Option<Expr>> {
        if self.eat_word("for") { self.measured(height, Self::expr).map(Some) } else { Ok(None) }
    }

    /// Parses a post after its word. The options after the target can have any order, each at most once.
    fn post(&mut self, height: &mut u32) -> Parse<Op> {
        let (object, task) = self.posted(height)?;
        if self.peek() != TokenKind::LeftParen {
            let help = format!("name the task and its arguments, as in `post {}() to main`", task.text);
            let diagnostic = self.expected_diagnostic("`(`").help(help);
            return Err(self.report(diagnostic));
        }
        let args = self.args(height)?;
        if !self.eat_word("to") {
            let diagnostic = self.expected_diagnostic("`to`");
            let help = match self.word() {
                word @ ("async" | "after" | "at" | "micro" | "idle" | "or" | "with" | "every" | "daemon" | "as") => {
                    format!("put `{word}` after the place: `post {}() to main {word}`", task.text)
                }
                "on" => format!("write `post {}() to` and the looper, handler or thread", task.text),
                _ => format!("name the looper, handler or thread, as in `post {}() to main`", task.text),
            };
            return Err(self.report(diagnostic.help(help)));
        }
        let target = self.measured(height, Self::place)?;
        let mut time = None;
        let mut is_async = false;
        let mut instance = None;
        let mut options = PostOptionsAst::default();
        loop {
            let word = self.word();
            let twice = match word {
                "after" | "at" | "micro" | "idle" => time.is_some(),
                "or" if self.word_at(1) == "now" => time.is_some(),
                "async" => is_async,
                "with" => options.with.is_some(),
                "every" => options.every.is_some(),
                "daemon" => options.daemon,
                "as" => instance.is_some(),
                _ => break,
            };
            if twice {
                let diagnostic = Diagnostic::new(
                    self.token().span,
                    format!("the post has a second `{word}`"),
                    "a post has at most one",
                )
                .help(
                    "remove it: a post has one time (`after`, `at`, `micro`, `idle` or `or now`), and each option once",
                );
                return Err(self.report(diagnostic));
            }
            self.bump();
            match word {
                "after" => time = Some(PostTimeAst::After(self.measured(height, Self::expr)?)),
                "at" if self.at_front() => {
                    self.bump();
                    time = Some(PostTimeAst::Front);
                }
                "at" => time = Some(PostTimeAst::At(self.measured(height, Self::expr)?)),
                "micro" => time = Some(PostTimeAst::Micro),
                "idle" => time = Some(PostTimeAst::Idle { keep: self.eat_word("keep") }),
                "or" => {
                    self.bump();
                    time = Some(PostTimeAst::OrNow);
                }
                "async" => is_async = true,
                "with" => options.with = Some(self.measured(height, Self::place)?),
                "every" => options.every = Some(self.measured(height, Self::expr)?),
                "daemon" => options.daemon = true,
                _ => instance = Some(self.instance(height)?),
            }
        }
        Ok(Op::Post {
            object,
            task,
            args,
            target,
            time: time.unwrap_or(PostTimeAst::Now),
            is_async,
            options: Box::new(options),
            instance,
        })
    }

    /// Parses what is posted, up to its arguments: the name of a task, or an object and the name of a task of its
    /// component.
    fn posted(&mut self, height: &mut u32) -> Parse<(Option<Expr>, Name)> {
        if self.word() != "this" && self.kind_at(1) != TokenKind::Dot {
            return Ok((None, self.name("the name of a task")?));
        }
        let start = self.start();
        let span = self.bump().span;
        let kind = match self.text_of(span) {
            "this" => ExprKind::This,
            name => ExprKind::Name(name.to_owned()),
        };
        let mut object = Expr { kind, at: At(span) };
        loop {
            self.expect(TokenKind::Dot)?;
            let name = self.name("the name of a task")?;
            if self.peek() != TokenKind::Dot {
                return Ok((Some(object), name));
            }
            *height += 1;
            let at = self.at_from(start);
            self.grow(*height, at)?;
            object = Expr { kind: ExprKind::Field { object: Box::new(object), name }, at };
        }
    }

    /// Parses a launch after its word. The words after the arguments can have any order, each at most once.
    fn launch(&mut self, height: &mut u32) -> Parse<Op> {
        let task = self.name("the name of an async task")?;
        if self.peek() != TokenKind::LeftParen {
            let help = format!("a launch names the async task and its arguments: `launch {}() on main`", task.text);
            let diagnostic = self.expected_diagnostic("`(`").help(help);
            return Err(self.report(diagnostic));
        }
        let args = self.args(height)?;
        let mut words = LaunchWords::default();
        loop {
            let word = self.word();
            let twice = match word {
                "on" | "now" => words.on.is_some() || words.now,
                "in" | "detached" => words.within.is_some() || words.detached,
                _ => break,
            };
            if twice {
                let message = format!("`{word}` after another word of its kind");
                let diagnostic = Diagnostic::new(self.token().span, message, "one of the two is enough")
                    .help("a launch has one place (`on` or `now`) and one owner (`in` or `detached`)");
                return Err(self.report(diagnostic));
            }
            self.bump();
            match word {
                "on" => words.on = Some(self.measured(height, Self::place)?),
                "now" => words.now = true,
                "in" => words.within = Some(self.measured(height, Self::place)?),
                _ => words.detached = true,
            }
        }
        Ok(Op::Launch { task, args, words })
    }

    /// Returns whether the next word is `front` alone; `front + 1` is an expression.
    fn at_front(&self) -> bool {
        self.word() == "front"
            && !matches!(
                self.kind_at(1),
                TokenKind::Op(_) | TokenKind::Dot | TokenKind::LeftBracket | TokenKind::LeftParen
            )
    }

    /// Parses the instance after `as`. A string is a name.
    pub(super) fn instance(&mut self, height: &mut u32) -> Parse<InstanceName> {
        let expr = self.measured(height, Self::expr)?;
        Ok(match expr.kind {
            ExprKind::Str(text) => InstanceName::Name(TextLiteral { text, at: expr.at }),
            _ => InstanceName::Expr(Box::new(expr)),
        })
    }
}
