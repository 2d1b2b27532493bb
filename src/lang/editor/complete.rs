//! What completes the word at a place.

use super::super::ast::{AccessSelector, File, ItemKind, Span, Verb};
use super::super::library::{libraries, library_kinds};
use super::super::program::{BUILT_IN_EXCEPTIONS, CLOSED, GROUP_EXCEPTIONS};
use super::super::token::TokenKind;
use super::super::words::{EXPECTATIONS, ITEMS, PARTICLES, RESERVED, STATEMENTS, TYPES};
use super::analysis::SourceAnalysis;
use super::context::CursorContext;
use super::names::{NameScope, Symbol};
use std::collections::BTreeMap;

/// Something that completes a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The whole word.
    pub text: String,
    /// What it is.
    pub kind: CompletionKind,
    /// More about it, such as the declaration of a name. May be empty.
    pub detail: String,
}

/// What a completion is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CompletionKind {
    /// A name; with its article what it names: "a lock".
    Name(&'static str),
    /// A member of a value of a built-in type: `len`.
    Member,
    /// A word of the language.
    Word,
    /// A built-in type, exception, kind or library.
    BuiltIn,
}

/// The words that can follow the colon of an `expect` line.
const JUDGMENTS: [&str; 4] = ["real", "harmful", "false", "never"];

/// The words that begin a new name. Nothing completes that.
const DECLARING: [&str; 24] = [
    "app",
    "const",
    "var",
    "atomic",
    "let",
    "class",
    "lock",
    "mutex",
    "condition",
    "rwlock",
    "semaphore",
    "barrier",
    "waitgroup",
    "channel",
    "looper",
    "pool",
    "listener",
    "thread",
    "task",
    "property",
    "kind",
    "state",
    "stage",
    "for",
];

/// The members of values of built-in types, by the begin of the type's name.
const MEMBERS: [(&str, &[&str]); 6] = [
    ("list[", &["push", "pop", "remove", "clear", "len"]),
    ("waitgroup", &["add", "done", "wait"]),
    ("channel[", &["closed", "len"]),
    ("job", &["done", "cancelled", "result"]),
    ("thread", &["interrupted"]),
    ("looper", &["interrupted"]),
];

impl SourceAnalysis {
    /// Returns the word that is being typed at an offset, and what completes it, sorted by text. Inside comments and
    /// texts there is nothing. The completions are not filtered by the word.
    #[must_use]
    pub fn complete(&self, offset: u32) -> (Span, Vec<Completion>) {
        let Some(context) = CursorContext::new(self.source().text(), offset) else {
            return (Span { start: offset, end: offset }, Vec::new());
        };
        let mut found = Found { analysis: self, context: &context, all: BTreeMap::new() };
        found.fill();
        let completion = |(text, (kind, detail))| Completion { text, kind, detail };
        (context.word, found.all.into_iter().map(completion).collect())
    }
}

// The completions found so far, by text.
struct Found<'a> {
    analysis: &'a SourceAnalysis,
    context: &'a CursorContext<'a>,
    all: BTreeMap<String, (CompletionKind, String)>,
}

impl Found<'_> {
    fn add(&mut self, text: &str, kind: CompletionKind, detail: &str) {
        self.all.entry(text.to_owned()).or_insert_with(|| (kind, detail.to_owned()));
    }

    fn words<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        words.into_iter().for_each(|word| self.add(word, CompletionKind::Word, ""));
    }

    fn built_in<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        words.into_iter().for_each(|word| self.add(word, CompletionKind::BuiltIn, ""));
    }

    fn symbols(&mut self, wanted: impl Fn(&Symbol) -> bool) {
        for symbol in self.analysis.names().symbols().iter().filter(|symbol| wanted(symbol)) {
            self.add(&symbol.name, CompletionKind::Name(symbol.what), &symbol.detail);
        }
    }

    // The names of the file that are one of these.
    fn names(&mut self, whats: &[&str]) {
        self.symbols(|symbol| symbol.scope == NameScope::File && whats.contains(&symbol.what));
    }

    fn fill(&mut self) {
        let last = self.context.token(1);
        let is_expect = self.context.line().next() == Some("expect");
        match last {
            Some((TokenKind::At, _)) => self.symbols(|symbol| symbol.scope == NameScope::Label),
            Some((TokenKind::Dot, _)) => self.members(),
            _ if self.context.begins() => self.beginnings(),
            Some((TokenKind::Colon, _)) if is_expect => self.words(JUDGMENTS),
            Some((TokenKind::Colon, _)) => self.types(),
            Some((TokenKind::Word, word)) => self.after(word, is_expect),
            _ => self.values(),
        }
    }

    fn after(&mut self, word: &str, is_expect: bool) {
        match word {
            "expect" => self.words(EXPECTATIONS.into_iter().chain(["no", "executes_before"])),
            "no" if is_expect => self.words(EXPECTATIONS),
            "failure" if is_expect => {
                self.exceptions();
                self.names(&["a property"]);
                self.words(["at"]);
            }
            "use" if self.context.depth() == 0 => self.built_in(libraries().map(|library| library.name)),
            "new" => self.names(&["a class"]),
            "post" | "fork" | "launch" | "register" | "unregister" => {
                self.names(&["a task", "an event", "a task of a component"]);
                self.locals();
            }
            "enable" | "disable" => self.names(&["an event"]),
            "perform" => self.names(&["a listener"]),
            "throw" | "catch" => self.exceptions(),
            "on" | "to" => {
                self.names(&[
                    "a looper",
                    "a pool",
                    "a handler",
                    "a listener",
                    "a variable",
                    "an atomic variable",
                    "a `let`",
                ]);
                self.locals();
            }
            "prefer" => self.words(["readers", "writers"]),
            _ if DECLARING.contains(&word) => {}
            _ => {
                self.values();
                self.words(PARTICLES);
            }
        }
    }

    fn types(&mut self) {
        self.built_in(TYPES);
        self.names(&["a class", "a component"]);
    }

    fn exceptions(&mut self) {
        self.symbols(|symbol| symbol.scope == NameScope::Exception);
        self.built_in(BUILT_IN_EXCEPTIONS.into_iter().chain(GROUP_EXCEPTIONS).chain([CLOSED]));
    }

    fn locals(&mut self) {
        for symbol in self.context.locals(self.analysis) {
            self.add(&symbol.name, CompletionKind::Name(symbol.what), &symbol.detail);
        }
    }

    // What can be in an expression.
    fn values(&mut self) {
        self.locals();
        self.symbols(|symbol| symbol.scope == NameScope::File && !matches!(symbol.what, "a property" | "a verb"));
        self.words(RESERVED);
        self.words(["now", "post", "fork", "launch", "choose", "recv", "wait", "await", "plain"]);
    }

    // What can begin an item or a statement.
    fn beginnings(&mut self) {
        let depth = self.context.depth();
        let item = self.context.item();
        if depth == 0 {
            self.words(ITEMS);
            let kinds = kinds_of(self.analysis.file());
            kinds.iter().for_each(|kind| self.add(kind, CompletionKind::Name("a kind"), ""));
            return;
        }
        match item {
            "class" if depth == 1 => return self.words(["var", "atomic", "let"]),
            "kind" if depth == 1 => {
                return self.words([
                    "callback", "stage", "var", "atomic", "state", "single", "events", "follows", "verb", "task",
                ]);
            }
            _ => {}
        }
        if depth == 1 && kinds_of(self.analysis.file()).iter().any(|kind| kind == item) {
            self.words(["on", "var", "atomic", "event", "task", "async", "daemon", "unit"]);
            return;
        }
        self.words(STATEMENTS);
        self.words(RESERVED);
        self.words(Verb::WORDS.iter().map(|(word, _)| *word));
        self.symbols(|symbol| symbol.what == "a verb");
        self.locals();
        self.names(&["a variable", "an atomic variable", "a task", "a task of a component", "a waitgroup"]);
    }

    // What can follow a dot: the members of the value before it.
    fn members(&mut self) {
        if let Some((TokenKind::Word, _)) = self.context.token(2)
            && let Some((TokenKind::At, _)) = self.context.token(3)
        {
            return self.words(AccessSelector::WORDS.iter().map(|(word, _)| *word));
        }
        let Some(ty) = self.type_of(&self.context.path()) else {
            // The type is not known, so it may be any member.
            self.symbols(|symbol| symbol.scope == NameScope::Member && symbol.what == "a field");
            return MEMBERS.iter().for_each(|(_, members)| self.member_words(members));
        };
        let fields = format!("{ty}.");
        self.symbols(|symbol| symbol.scope == NameScope::Member && symbol.detail.starts_with(&fields));
        let built_in = MEMBERS.iter().find(|(begin, _)| ty.starts_with(begin));
        built_in.into_iter().for_each(|(_, members)| self.member_words(members));
        if ty.ends_with(']') && !ty.starts_with("list[") && !ty.starts_with("channel[") {
            self.member_words(&["len"]);
        }
    }

    fn member_words(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.add(word, CompletionKind::Member, ""));
    }

    // The type of names that dots join.
    fn type_of(&self, path: &[&str]) -> Option<String> {
        let (first, rest) = path.split_first()?;
        let locals = self.context.locals(self.analysis);
        let is_global = |symbol: &&Symbol| symbol.scope == NameScope::File && symbol.name == *first;
        let local = locals.into_iter().find(|symbol| symbol.name == *first);
        let symbols = self.analysis.names().symbols();
        let mut ty = type_in(&local.or_else(|| symbols.iter().find(is_global))?.detail)?;
        for part in rest {
            if *part == "[]" {
                ty = element(&ty)?;
                continue;
            }
            let wanted = format!("{ty}.{part}");
            let is_field = |symbol: &&Symbol| {
                symbol.scope == NameScope::Member && symbol.detail.split(':').next() == Some(wanted.as_str())
            };
            ty = type_in(&symbols.iter().find(is_field)?.detail)?;
        }
        Some(ty)
    }
}

// The type at the end of a declaration.
fn type_in(detail: &str) -> Option<String> {
    let ty = detail.rsplit_once(": ")?.1;
    Some(ty.split(" = ").next().unwrap_or(ty).to_owned())
}

// The type of the elements of a list or array type.
fn element(ty: &str) -> Option<String> {
    match ty.strip_prefix("list[") {
        Some(of) => of.strip_suffix(']').map(str::to_owned),
        None => ty.split_once('[').map(|(of, _)| of.to_owned()),
    }
}

// The kinds that a file can have components of.
fn kinds_of(file: &File) -> Vec<String> {
    let own = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Kind(kind) => Some(kind.name.text.clone()),
        _ => None,
    });
    let uses = file.items.iter().any(|item| matches!(item.kind, ItemKind::Use { .. }));
    own.chain(library_kinds().filter(|_| uses).map(str::to_owned)).collect()
}
