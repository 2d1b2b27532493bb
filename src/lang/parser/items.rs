//! Parses the items of a file.

use super::super::ast::{
    Block, Expr, Field, Item, ItemKind, LockKind, Name, Param, Prop, Storage, TaskMode, Type, When,
};
use super::super::diagnostic::Diagnostic;
use super::super::library::library_kinds;
use super::super::near::near;
use super::super::token::TokenKind;
use super::super::words::ITEMS;
use super::{Parse, Parser, ReportedError};

/// The parts of a task: its mode, name, parameters, result and body.
pub(super) type TaskParts = (TaskMode, Name, Vec<Param>, Option<Type>, Block);

impl Parser<'_> {
    /// Parses all items. Items with errors are reported and skipped.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            self.separators();
            if self.peek() == TokenKind::End || self.stop {
                return items;
            }
            let begun = self.pos;
            match self.item().and_then(|item| self.ended("item").map(|()| item)) {
                Ok(item) => {
                    items.push(item);
                    if self.peek() == TokenKind::RightBrace {
                        self.unopened();
                    }
                }
                Err(ReportedError) if self.to_item => {
                    self.to_item = false;
                    self.nesting = 0;
                    self.lose(begun);
                }
                Err(ReportedError) => {
                    self.skip_item();
                    self.lose(begun);
                }
            }
        }
    }

    fn unopened(&mut self) -> ReportedError {
        let diagnostic = Diagnostic::new(self.token().span, "this `}` closes nothing", "no `{` is open here");
        let reported = self.report(diagnostic);
        self.bump();
        reported
    }

    fn item(&mut self) -> Parse<Item> {
        let start = self.start();
        if self.peek() == TokenKind::RightBrace {
            return Err(self.unopened());
        }
        let kind = self.item_kind()?;
        Ok(Item { kind, at: self.at_from(start) })
    }

    fn item_kind(&mut self) -> Parse<ItemKind> {
        let word = self.word();
        if self.known.kinds.contains(word) && self.name_at(1) {
            return self.component();
        }
        if let Some(storage) = Storage::from_word(word) {
            self.bump();
            return Ok(ItemKind::Field { storage, field: self.field("the name of a variable")? });
        }
        if let Some(kind) = LockKind::from_word(word) {
            self.bump();
            let name = self.name(&format!("the name of the {word}"))?;
            let count = if self.eat(TokenKind::LeftBracket) {
                Some(self.deeper(|parser| parser.bracketed(TokenKind::RightBracket, Self::expr))?)
            } else {
                None
            };
            return Ok(ItemKind::Lock { kind, name, count });
        }
        match word {
            "app" | "const" | "class" | "rwlock" | "semaphore" | "barrier" | "waitgroup" | "channel" | "looper"
            | "pool" | "handler" | "listener" | "daemon" | "thread" | "async" | "task" | "event" | "init"
            | "property" | "expect" | "use" | "kind" | "state" => {
                self.bump();
            }
            _ => return Err(self.no_item()),
        }
        match word {
            "app" => self.app(),
            "const" => {
                let name = self.name("the name of a constant")?;
                let range = if self.eat_word("in") { Some(self.range()?) } else { None };
                self.expect(TokenKind::Assign)?;
                Ok(ItemKind::Const { name, range, value: self.expr()? })
            }
            "class" => self.class(),
            "rwlock" => {
                let name = self.name("the name of the rwlock")?;
                let prefer = if self.eat_word("prefer") { Some(self.name("`readers` or `writers`")?) } else { None };
                Ok(ItemKind::RwLock { name, prefer })
            }
            "semaphore" | "barrier" | "pool" => {
                let name = self.name(&format!("the name of the {word}"))?;
                if self.peek() != TokenKind::Assign {
                    let help = format!("give the number, as in `{word} {} = 1`", name.text);
                    let diagnostic = self.expected_diagnostic("`=`").help(help);
                    return Err(self.report(diagnostic));
                }
                self.bump();
                let value = self.expr()?;
                Ok(match word {
                    "semaphore" => ItemKind::Semaphore { name, value },
                    "barrier" => ItemKind::Barrier { name, value },
                    _ => ItemKind::Pool { name, value },
                })
            }
            "waitgroup" => Ok(ItemKind::WaitGroup { name: self.name("the name of the waitgroup")? }),
            "channel" => {
                let name = self.name("the name of the channel")?;
                let count = if self.eat(TokenKind::LeftBracket) {
                    Some(self.deeper(|parser| parser.bracketed(TokenKind::RightBracket, Self::expr))?)
                } else {
                    None
                };
                let Some(of) = self.annotation()? else {
                    let help = format!("say what it carries: `channel {}: int[2]`", name.text);
                    let diagnostic = self.expected_diagnostic("`:`").help(help);
                    return Err(self.report(diagnostic));
                };
                Ok(ItemKind::Channel { name, count, of })
            }
            "looper" => {
                let name = self.name("the name of the looper")?;
                let body = if self.peek() == TokenKind::LeftBrace { Some(self.block("the looper")?) } else { None };
                Ok(ItemKind::Looper { name, body })
            }
            "handler" => {
                let name = self.name("the name of the handler")?;
                Ok(ItemKind::Handler { name, looper: self.on()? })
            }
            "listener" => {
                let name = self.name("the name of the listener")?;
                Ok(ItemKind::Listener { name, params: self.optional_params()? })
            }
            "daemon" if self.eat_word("async") => {
                self.expect_word("task")?;
                self.task(TaskMode::AsyncDaemon)
            }
            "daemon" => {
                self.expect_word("thread")?;
                self.thread(true)
            }
            "async" => {
                self.expect_word("task")?;
                self.task(TaskMode::Async)
            }
            "thread" => self.thread(false),
            "task" => self.task(TaskMode::Plain),
            "event" => {
                let name = self.name("the name of the event")?;
                let params = self.optional_params()?;
                let looper = self.on()?;
                let initially = if self.eat_word("initially") { Some(self.expr()?) } else { None };
                Ok(ItemKind::Event { name, params, looper, initially, body: self.block("the event")? })
            }
            "use" => self.use_(),
            "kind" => self.kind(),
            "state" => Ok(ItemKind::State(self.field("the name of a state variable")?)),
            "init" => Ok(ItemKind::Init { body: self.block("`init`")? }),
            "property" => self.property(),
            _ => {
                let expect = self.expectation()?;
                let condition = if self.eat_word("if") { Some(self.expr()?) } else { None };
                Ok(ItemKind::Expect { expect, condition })
            }
        }
    }

    fn no_item(&mut self) -> ReportedError {
        let mut diagnostic = self.expected_diagnostic("an item");
        let word = self.word();
        if !word.is_empty() {
            diagnostic.message = format!("{} does not begin an item", self.quoted(self.token().span));
            let of_libraries: Vec<&str> = library_kinds().collect();
            let kinds = self.known.kinds.iter().copied().chain(of_libraries.iter().copied());
            diagnostic.help = match near(word, ITEMS.into_iter().chain(kinds)) {
                Some(known) => Some(format!("did you mean `{known}`?")),
                None => Some("put statements in the block of a task, thread or event".to_owned()),
            };
        }
        self.report(diagnostic)
    }

    fn on(&mut self) -> Parse<Name> {
        self.expect_word("on")?;
        self.name("the name of a looper")
    }

    fn app(&mut self) -> Parse<ItemKind> {
        let title = self.expect_string("the title of the app in quotes")?;
        Ok(ItemKind::App { title, settings: self.settings()? })
    }

    /// Parses `{ name = expr }`, if it is there.
    pub(super) fn settings(&mut self) -> Parse<Vec<(Name, Expr)>> {
        let start = self.start();
        if !self.eat(TokenKind::LeftBrace) {
            return Ok(Vec::new());
        }
        self.in_braces(start, "setting", |parser| -> Parse<(Name, Expr)> {
            let name = parser.name("the name of a setting")?;
            parser.expect(TokenKind::Assign)?;
            Ok((name, parser.expr()?))
        })
    }

    /// Parses a field with its storage: `var x = 0`, `atomic x = 0`
    pub(super) fn stored_field(&mut self) -> Parse<(Storage, Field)> {
        let storage = match Storage::from_word(self.word()) {
            Some(storage @ (Storage::Var | Storage::Atomic)) => storage,
            _ => return Err(self.expected("`var` or `atomic`")),
        };
        self.bump();
        Ok((storage, self.field("the name of a field")?))
    }

    fn class(&mut self) -> Parse<ItemKind> {
        let name = self.name("the name of the class")?;
        let start = self.start();
        self.open_brace("the class")?;
        let fields = self.in_braces(start, "field", Self::stored_field)?;
        Ok(ItemKind::Class { name, fields })
    }

    fn thread(&mut self, daemon: bool) -> Parse<ItemKind> {
        let name = self.name("the name of the thread")?;
        let each = if self.eat(TokenKind::LeftParen) {
            Some(self.bracketed(TokenKind::RightParen, Self::each)?)
        } else {
            None
        };
        Ok(ItemKind::Thread { daemon, name, each, body: self.block("the thread")? })
    }

    fn task(&mut self, mode: TaskMode) -> Parse<ItemKind> {
        let (mode, name, params, result, body) = self.task_parts(mode)?;
        Ok(ItemKind::Task { mode, name, params, result, body })
    }

    /// Parses a task after its word.
    pub(super) fn task_parts(&mut self, mode: TaskMode) -> Parse<TaskParts> {
        let name = self.name("the name of the task")?;
        let params = self.params()?;
        let result = self.annotation()?;
        let micro = mode == TaskMode::Async && self.eat_word("micro");
        let mode = if micro { TaskMode::AsyncMicro } else { mode };
        Ok((mode, name, params, result, self.block("the task")?))
    }

    fn property(&mut self) -> Parse<ItemKind> {
        let name = self.name("the name of the property")?;
        let when = if self.eat_word("always") {
            When::Always
        } else if self.word() == "at" && self.word_at(1) == "end" {
            self.bump();
            self.bump();
            When::AtEnd
        } else {
            return Err(self.expected("`always` or `at end`"));
        };
        let start = self.start();
        self.open_brace("the property")?;
        let errors = self.errors.len();
        let mut props = self.in_braces(start, "property", Self::prop)?;
        match (props.pop(), props.is_empty()) {
            (None, _) if self.errors.len() > errors => Err(ReportedError),
            (Some(prop), true) => Ok(ItemKind::Property { name, when, prop }),
            _ => {
                let diagnostic =
                    Diagnostic::new(name.at.0, "a property is one expression", "this one has none, or several")
                        .help("join conditions with `&&`, or write several properties");
                // The error is about the name, so an earlier error at the current token must not suppress it.
                self.blamed = None;
                Err(self.report(diagnostic))
            }
        }
    }

    fn prop(&mut self) -> Parse<Prop> {
        let all = match self.word() {
            "all" if self.name_at(1) => true,
            "any" if self.name_at(1) => false,
            _ => return self.expr().map(Prop::Expr),
        };
        self.bump();
        let (name, range) = self.each()?;
        self.expect(TokenKind::Colon)?;
        let prop = Box::new(self.deeper(Self::prop)?);
        Ok(Prop::Quantified { all, name, range, prop })
    }
}
