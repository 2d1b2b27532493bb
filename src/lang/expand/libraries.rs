//! The libraries that a file uses: their trees with full names, and their settings.
//!
//! Settings, platform memory and loopers get names of two parts, so that they never collide with names of the file.
//! Kinds, classes, tasks and fixed names (`let`) are what a file names, so they keep their own names.

use super::super::ast::{At, Expr, ExprKind, Field, File, Item, ItemKind, Name, Span, Storage};
use super::super::diagnostic::Diagnostic;
use super::super::lexer::lex;
use super::super::library::{Library, libraries, library, qualified};
use super::super::near::near;
use super::super::parser::parse_library;
use super::super::print::print;
use super::super::token::TokenKind;
use std::collections::BTreeSet;

/// The libraries of a file.
#[derive(Default)]
pub(super) struct Libraries {
    pub(super) all: Vec<UsedLibrary>,
}

/// A library that a file uses.
pub(super) struct UsedLibrary {
    pub(super) name: &'static str,
    /// The tree of the library, with the values of its settings.
    pub(super) file: File,
    at: Span,
}

impl Libraries {
    /// Reads the libraries that `use` items name, and sets their settings.
    pub(super) fn of(file: &File, errors: &mut Vec<Diagnostic>) -> Self {
        let mut found = Self::default();
        for item in &file.items {
            let ItemKind::Use { library: name, settings } = &item.kind else { continue };
            let Some(library) = library(&name.text) else {
                errors.push(unknown(name));
                continue;
            };
            if let Some(first) = found.all.iter().find(|one| one.name == library.name) {
                let twice = Diagnostic::new(item.at.0, format!("`{}` is used twice", name.text), "once is enough");
                errors.push(twice.note(first.at, "first used here"));
                continue;
            }
            match parse_library(library) {
                Ok(mut file) => {
                    set(&mut file, library, settings, errors);
                    found.all.push(UsedLibrary { name: library.name, file, at: item.at.0 });
                }
                Err(mut wrong) => errors.append(&mut wrong),
            }
        }
        found
    }

    /// Returns the full name of an item of a library: `android.rounds`.
    pub(super) fn full_name(&self, library: Option<&str>, name: &str) -> Option<String> {
        let one = self.all.iter().find(|one| Some(one.name) == library)?;
        let declares = one.file.items.iter().any(|item| declared(&item.kind).is_some_and(|n| n.text == name));
        declares.then(|| qualified(one.name, name))
    }

    /// Returns the items of the libraries that belong to a file, with their full names. Settings and platform memory
    /// are always there, and a looper if it is in `used`. A class, a task or a fixed name is there if it is named by
    /// the file (`items` are its items, written out) or by another item of a library that is there.
    pub(super) fn items(&self, used: &BTreeSet<String>, items: &[Item]) -> Vec<Item> {
        let mut items = self.named_items(items);
        for one in &self.all {
            for item in &one.file.items {
                let Some(name) = declared(&item.kind) else { continue };
                let always = matches!(item.kind, ItemKind::Const { .. } | ItemKind::State(_));
                let full = Name { text: qualified(one.name, &name.text), at: name.at };
                if always || used.contains(&full.text) {
                    items.extend(renamed(&item.kind, full).map(|kind| Item { kind, at: item.at }));
                }
            }
        }
        items
    }

    // The classes, tasks and fixed names that a file needs, in the order of the libraries.
    fn named_items(&self, items: &[Item]) -> Vec<Item> {
        let mut rest: Vec<(&Name, &Item, Span)> = Vec::new();
        for one in &self.all {
            rest.extend(one.file.items.iter().filter_map(|item| Some((named(&item.kind)?, item, one.at))));
        }
        if rest.is_empty() {
            return Vec::new();
        }
        let (mut words, mut needed) = (words_of(items), Vec::new());
        while let Some(at) = rest.iter().position(|(name, ..)| words.contains(&name.text)) {
            let (_, item, used_at) = rest.remove(at);
            words.append(&mut words_of(std::slice::from_ref(item)));
            needed.push((item.at.0.start, Item { kind: item.kind.clone(), at: At(used_at) }));
        }
        needed.sort_by_key(|(start, _)| *start);
        needed.into_iter().map(|(_, item)| item).collect()
    }
}

// The words of items as they are printed. A word may be the name of something else, so that an item of a library may be
// brought in without need; nothing runs it then.
fn words_of(items: &[Item]) -> BTreeSet<String> {
    let text = print(&File { items: items.to_vec() });
    let words = lex(&text).tokens.into_iter().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| text[token.span.start as usize..token.span.end as usize].to_owned()).collect()
}

// The name of an item of a library that keeps its name.
fn named(kind: &ItemKind) -> Option<&Name> {
    match kind {
        ItemKind::Class { name, .. } | ItemKind::Task { name, .. } => Some(name),
        ItemKind::Field { storage: Storage::Let, field } => Some(&field.name),
        _ => None,
    }
}

// The name of an item of a library that gets a name of two parts.
fn declared(kind: &ItemKind) -> Option<&Name> {
    match kind {
        ItemKind::Const { name, .. } | ItemKind::Looper { name, body: None } | ItemKind::Pool { name, .. } => {
            Some(name)
        }
        ItemKind::State(field) => Some(&field.name),
        _ => None,
    }
}

fn renamed(kind: &ItemKind, full: Name) -> Option<ItemKind> {
    Some(match kind {
        ItemKind::Const { range, value, .. } => {
            ItemKind::Const { name: full, range: range.clone(), value: value.clone() }
        }
        ItemKind::Looper { .. } => ItemKind::Looper { name: full, body: None },
        ItemKind::Pool { value, .. } => ItemKind::Pool { name: full, value: value.clone() },
        ItemKind::State(field) => ItemKind::State(Field { name: full, ..field.clone() }),
        _ => return None,
    })
}

fn unknown(name: &Name) -> Diagnostic {
    let names = || libraries().map(|library| library.name);
    let message = format!("unknown library `{}`", name.text);
    let list: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    let help = match near(&name.text, names()) {
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("the libraries are: {}", list.join(", ")),
    };
    Diagnostic::new(name.at.0, message, "no library has this name").help(help)
}

/// Gives the constants of a library the values in `settings`.
fn set(file: &mut File, library: Library, settings: &[(Name, Expr)], errors: &mut Vec<Diagnostic>) {
    let mut seen: Vec<&Name> = Vec::new();
    for (name, value) in settings {
        if let Some(first) = seen.iter().find(|first| first.text == name.text) {
            let twice = Diagnostic::new(name.at.0, format!("`{}` is set twice", name.text), "a setting has one value");
            errors.push(twice.note(first.at.0, "first set here"));
            continue;
        }
        seen.push(name);
        let mut constants = file.items.iter_mut().filter_map(|item| match &mut item.kind {
            ItemKind::Const { name, value, .. } => Some((name, value)),
            _ => None,
        });
        if let Some((_, setting)) = constants.find(|(known, _)| known.text == name.text) {
            *setting = value.clone();
            continue;
        }
        let known: Vec<&str> = file.items.iter().filter_map(|item| constant(&item.kind)).collect();
        let message = format!("`{}` has no setting `{}`", library.name, name.text);
        let help = match near(&name.text, known.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None if known.is_empty() => "it has no settings".to_owned(),
            None => format!("its settings are {}", known.join(", ")),
        };
        errors.push(Diagnostic::new(name.at.0, message, "unknown setting").help(help));
    }
}

fn constant(kind: &ItemKind) -> Option<&str> {
    match kind {
        ItemKind::Const { name, .. } => Some(&name.text),
        _ => None,
    }
}

/// Returns an expression that is a name.
pub(super) fn name_expr(text: impl Into<String>, at: At) -> Expr {
    Expr { kind: ExprKind::Name(text.into()), at }
}
