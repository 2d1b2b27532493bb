//! Warnings about code that is allowed but hardly intended: a task that nothing runs, an event that nothing enables, a
//! lock that nothing takes. A search of such a model reports that nothing races, which is true but useless.
//!
//! The analysis reads the text, not the checked program, so code that one value of a constant rules out still counts as
//! a use. A name counts as used if it occurs in an item that runs. No warning is therefore false, but some cases are
//! missed.

use super::ast::{File, Item, ItemKind, Kind, KindPart, LockKind, Name, Span, Storage};
use super::diagnostic::Diagnostic;
use super::foreign::thrown;
use super::lexer::lex;
use super::source::Source;
use super::token::{Token, TokenKind};
use std::collections::{BTreeMap, BTreeSet};

/// The most warnings that are reported.
const MOST: usize = 20;

/// Returns the warnings of a file, in source order, at most twenty. `file` is the tree of `source`.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, parse, warnings};
///
/// let source = Source::new("a.race", "looper main\nthread t { post f() to main }\ntask f() { skip }\ntask g() { f() }")?;
/// let file = parse(&source).unwrap();
/// let messages: Vec<String> = warnings(&source, &file).into_iter().map(|warning| warning.message).collect();
/// assert_eq!(messages, ["nothing runs the task `g`"]);
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
pub fn warnings(source: &Source, file: &File) -> Vec<Diagnostic> {
    let uses = Uses::new(source, file);
    let reached = uses.reached(file);
    let mut all: Vec<Diagnostic> = Vec::new();
    if !file.items.iter().any(|item| starts(&item.kind)) {
        let end = source.text().len() as u32;
        let nothing = Diagnostic::new(Span { start: end, end }, "nothing starts in this model", "the file ends here");
        let help = "write a `thread`, a looper with a block, or an event that is `initially 1`";
        all.push(nothing.help(help).silenced_by("nothing-starts"));
    }
    for (at, item) in file.items.iter().enumerate() {
        if !reached.contains(&at)
            && !starts(&item.kind)
            && let Some(warning) = unused(&item.kind)
        {
            all.push(warning.silenced_by("unused"));
        }
    }
    for item in &file.items {
        if let ItemKind::Kind(kind) = &item.kind {
            all.extend(uses.idle_parts(item, kind).into_iter().map(|warning| warning.silenced_by("unreached")));
        }
    }
    all.extend(uses.foreign_exceptions().into_iter().map(|warning| warning.silenced_by("own-exception")));
    all.retain(|warning| !is_silenced(source, warning));
    all.sort_by_key(|warning| warning.span.start);
    all.truncate(MOST);
    all
}

/// Returns whether a comment silences a warning: `// allow: unused`, at the end of the line of the warning, or in the
/// lines of comments above it.
#[must_use]
pub fn is_silenced(source: &Source, warning: &Diagnostic) -> bool {
    let text = source.text();
    let at = (warning.span.start as usize).min(text.len());
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let before: Vec<&str> = text.get(..start).map_or_else(Vec::new, |before| before.lines().collect());
    let above = before.into_iter().rev().take_while(|line| line.trim_start().starts_with("//"));
    above.chain([line]).any(|line| {
        let allowed = line.split_once(ALLOW).map_or("", |(_, words)| words);
        allowed.split([',', ' ']).any(|word| !word.is_empty() && word == warning.word)
    })
}

/// The begin of a comment that silences warnings.
const ALLOW: &str = "// allow:";

// Whether the item runs without being posted, called or enabled.
fn starts(kind: &ItemKind) -> bool {
    matches!(
        kind,
        ItemKind::Thread { .. }
            | ItemKind::Init { .. }
            | ItemKind::Looper { body: Some(_), .. }
            | ItemKind::Event { initially: Some(_), .. }
    )
}

// Whether the item uses variables, constants and classes, but runs nothing: an `expect` line, a property, the settings
// of the app.
fn judges(kind: &ItemKind) -> bool {
    matches!(kind, ItemKind::Expect { .. } | ItemKind::Property { .. } | ItemKind::App { .. } | ItemKind::Use { .. })
}

fn unused(kind: &ItemKind) -> Option<Diagnostic> {
    let warn = |name: &Name, message: String, reason: &str| Diagnostic::new(name.at.0, message, reason);
    let unused = |what: &str, name: &Name| {
        Some(warn(name, format!("nothing uses the {what} `{}`", name.text), "it is only declared"))
    };
    match kind {
        ItemKind::Task { name, .. } => {
            let reason = "no code that runs posts, forks, calls or registers it";
            Some(warn(name, format!("nothing runs the task `{}`", name.text), reason))
        }
        ItemKind::Event { name, looper, .. } => {
            let help = format!(
                "write `enable {0}` in code that runs, or `event {0} on {1} initially 1`",
                name.text, looper.text
            );
            Some(warn(name, format!("nothing enables the event `{}`", name.text), "it never happens").help(help))
        }
        ItemKind::Looper { name, body: None } => {
            Some(warn(name, format!("nothing is posted to the looper `{}`", name.text), "it has nothing to do"))
        }
        ItemKind::Pool { name, .. } => {
            Some(warn(name, format!("nothing is posted to the pool `{}`", name.text), "it has nothing to do"))
        }
        ItemKind::Lock { kind: LockKind::Lock, name, .. } => unused("lock", name),
        ItemKind::Lock { kind: LockKind::Mutex, name, .. } => unused("mutex", name),
        ItemKind::Lock { kind: LockKind::Condition, name, .. } => unused("condition", name),
        ItemKind::RwLock { name, .. } => unused("rwlock", name),
        ItemKind::Semaphore { name, .. } => unused("semaphore", name),
        ItemKind::WaitGroup { name } => unused("waitgroup", name),
        ItemKind::Channel { name, .. } => unused("channel", name),
        ItemKind::Barrier { name, .. } => unused("barrier", name),
        ItemKind::Handler { name, .. } => unused("handler", name),
        ItemKind::Listener { name, .. } => unused("listener", name),
        ItemKind::Const { name, .. } => unused("constant", name),
        ItemKind::Class { name, .. } => unused("class", name),
        ItemKind::Field { storage: Storage::Let, field } => unused("name", &field.name),
        ItemKind::Field { field, .. } => unused("variable", &field.name),
        ItemKind::Kind(kind) => unused("kind", &kind.name),
        ItemKind::State(field) => unused("state", &field.name),
        ItemKind::Component(component) => {
            let message = format!("nothing uses the component `{}`", component.name.text);
            let warning = warn(&component.name, message, "no verb makes an instance of it or acts on it");
            Some(warning.help("use a verb of its kind in what runs"))
        }
        ItemKind::Looper { .. }
        | ItemKind::Use { .. }
        | ItemKind::Instances(_)
        | ItemKind::Member(_)
        | ItemKind::App { .. }
        | ItemKind::Thread { .. }
        | ItemKind::Init { .. }
        | ItemKind::Property { .. }
        | ItemKind::Expect { .. } => None,
    }
}

// The name by which other items can use an item.
fn name(kind: &ItemKind) -> Option<&Name> {
    match kind {
        ItemKind::Task { name, .. }
        | ItemKind::Event { name, .. }
        | ItemKind::Looper { name, .. }
        | ItemKind::Pool { name, .. }
        | ItemKind::Lock { name, .. }
        | ItemKind::RwLock { name, .. }
        | ItemKind::Semaphore { name, .. }
        | ItemKind::Channel { name, .. }
        | ItemKind::WaitGroup { name }
        | ItemKind::Barrier { name, .. }
        | ItemKind::Handler { name, .. }
        | ItemKind::Listener { name, .. }
        | ItemKind::Const { name, .. }
        | ItemKind::Class { name, .. } => Some(name),
        ItemKind::Field { field, .. } | ItemKind::State(field) => Some(&field.name),
        ItemKind::Kind(kind) => Some(&kind.name),
        ItemKind::Component(component) => Some(&component.name),
        ItemKind::Thread { .. }
        | ItemKind::App { .. }
        | ItemKind::Init { .. }
        | ItemKind::Property { .. }
        | ItemKind::Use { .. }
        | ItemKind::Instances(_)
        | ItemKind::Member(_)
        | ItemKind::Expect { .. } => None,
    }
}

// The words in each item, as an approximation of the names that it uses.
struct Uses<'s> {
    text: &'s str,
    tokens: Vec<Token>,
    // For each item the words in it that can be names of other items. `enabled` has those right after `enable`.
    words: Vec<BTreeSet<&'s str>>,
    enabled: Vec<BTreeSet<&'s str>>,
}

impl<'s> Uses<'s> {
    fn new(source: &'s Source, file: &File) -> Self {
        let (text, tokens) = (source.text(), lex(source.text()).tokens);
        let mut uses = Self { text, tokens, words: Vec::new(), enabled: Vec::new() };
        for item in &file.items {
            let (words, enabled) = uses.of(item);
            uses.words.push(words);
            uses.enabled.push(enabled);
        }
        uses
    }

    fn word(&self, token: &Token) -> &'s str {
        if token.kind == TokenKind::Word { &self.text[token.span.start as usize..token.span.end as usize] } else { "" }
    }

    fn of(&self, item: &Item) -> (BTreeSet<&'s str>, BTreeSet<&'s str>) {
        let (mut words, mut enabled) = (BTreeSet::new(), BTreeSet::new());
        let own = name(&item.kind).map(|name| name.at.0);
        let from = self.tokens.partition_point(|token| token.span.start < item.at.0.start);
        let inside = self.tokens[from..].iter().take_while(|token| token.span.end <= item.at.0.end);
        let mut before = (TokenKind::Newline, "");
        for token in inside {
            let word = self.word(token);
            // Labels (after `@`) and fields (after `.`) are not uses of top-level names.
            if !word.is_empty() && Some(token.span) != own && !matches!(before.0, TokenKind::At | TokenKind::Dot) {
                words.insert(word);
                if before.1 == "enable" {
                    enabled.insert(word);
                }
            }
            before = (token.kind, word);
        }
        (words, enabled)
    }

    // Returns the indices of the items that running code uses, directly or through other items, and of the variables,
    // constants and classes that properties and `expect` lines name.
    fn reached(&self, file: &File) -> BTreeSet<usize> {
        let named = file.items.iter().enumerate().filter_map(|(at, item)| Some((name(&item.kind)?.text.as_str(), at)));
        let named: BTreeMap<&str, usize> = named.collect();
        let roots = file.items.iter().enumerate().filter(|(_, item)| starts(&item.kind) || judges(&item.kind));
        let mut open: Vec<usize> = roots.map(|(at, _)| at).collect();
        let mut reached: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(at) = open.pop() {
            for word in &self.words[at] {
                let Some(&used) = named.get(word) else { continue };
                let uses = match &file.items[used].kind {
                    ItemKind::Event { .. } => self.enabled[at].contains(word),
                    ItemKind::Field { .. } | ItemKind::Const { .. } | ItemKind::Class { .. } | ItemKind::State(_) => {
                        true
                    }
                    _ => !judges(&file.items[at].kind),
                };
                if uses && reached.insert(used) {
                    open.push(used);
                }
            }
        }
        reached
    }

    // Warns about stages of a kind that no row reaches, and about rows that need a request but get none.
    fn idle_parts(&self, item: &Item, kind: &Kind) -> Vec<Diagnostic> {
        let from = self.tokens.partition_point(|token| token.span.start < item.at.0.start);
        let inside = self.tokens[from..].iter().take_while(|token| token.span.end <= item.at.0.end);
        let inside: Vec<(TokenKind, &str)> = inside.map(|token| (token.kind, self.word(token))).collect();
        let assigned = |stage: &str| {
            inside.windows(3).any(|w| w[0].1 == "stage" && w[1].0 == TokenKind::Assign && w[2].1 == stage)
        };
        let asked = |row: &str| inside.windows(2).any(|w| w[0].1 == "ask" && w[1].1 == row);
        let rows = || kind.parts.iter().filter_map(|part| if let KindPart::Row(row) = part { Some(row) } else { None });
        let reached = |stage: &str| rows().any(|row| row.to.as_ref().is_some_and(|to| to.text == stage));
        let stages =
            kind.parts.iter().filter_map(|part| if let KindPart::Stages(all) = part { Some(all) } else { None });
        let mut found = Vec::new();
        for stage in stages.flatten().skip(1) {
            if !reached(&stage.text) && !assigned(&stage.text) {
                let message = format!("no row reaches the stage `{}`", stage.text);
                let help = format!("write a row `r: a -> {0}`, or `stage = {0}` in the kind", stage.text);
                found.push(Diagnostic::new(stage.at.0, message, "no instance is ever in it").help(help));
            }
        }
        for row in rows().filter(|row| row.by_request.is_some() && !asked(&row.name.text)) {
            let message = format!("no verb asks for the row `{}`", row.name.text);
            let help = format!("write `ask {}()` in a verb", row.name.text);
            found.push(Diagnostic::new(row.name.at.0, message, "it never happens").help(help));
        }
        found
    }

    // Warns about exceptions with names of other languages: `throw NullPointerException` throws an exception of the
    // model, not the built-in `NullPointer`.
    fn foreign_exceptions(&self) -> Vec<Diagnostic> {
        let pairs = self.tokens.windows(2).filter(|pair| self.word(&pair[0]) == "throw");
        let warn = |token: &Token| {
            let word = self.word(token);
            let row = thrown(word)?;
            let message = format!("`{word}` is an exception of the model's own");
            Some(Diagnostic::new(token.span, message, "no operation throws this one").help(row.here))
        };
        pairs.filter_map(|pair| warn(&pair[1])).collect()
    }
}
