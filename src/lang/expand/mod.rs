//! Writes components out: copies the text of a kind once for each component of it, with full names, and brings in the
//! libraries that a file uses. What remains are plain items, the instances of components ([`Instances`]), and the tasks
//! that belong to them ([`Member`]).
//!
//! The pass works on syntax trees, before names have types. So a bare name of a component (`destroyed`, `show()`)
//! becomes a field or a task of `this` here, and the checker resolves what needs the type of an object:
//! `act.destroyed`, `post act.show() to main`, and the operand of a verb.
//!
//! [`Instances`]: super::ast::Instances
//! [`Member`]: super::ast::Member

mod body;
mod component;
mod exprs;
mod kinds;
mod libraries;
mod links;
mod names;

use super::ast::{Component, File, Item, ItemKind, Name};
use super::diagnostic::Diagnostic;
pub(super) use component::{member_name, verb_name};
pub(super) use exprs::STAGE;
use kinds::KindText;
use libraries::Libraries;
pub(super) use links::Links;
use names::{HOST, SOURCE};
use std::collections::{BTreeMap, BTreeSet};

/// The most errors that are reported.
const MOST: usize = 20;

/// Writes out the components of a file. Returns `None` for a file without components, kinds, libraries and platform
/// memory, which stays as it is.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, expand, parse, print};
///
/// let kind = "kind lamp { callback on; stage dark, lit; press: dark -> lit { on() } }";
/// let text = format!("looper main\n{kind}\nlamp L on main {{ }}");
/// let source = Source::new("a.race", &text)?;
/// let written = expand(&parse(&source).unwrap()).unwrap().expect("it has a component");
/// assert!(print(&written).contains("event L.press(this: L) on main"));
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
pub fn expand(file: &File) -> Result<Option<File>, Vec<Diagnostic>> {
    expand_linked(file, &mut Links::default())
}

/// Like [`expand`], and adds to `links` what the names mean that only kinds and components have.
pub(super) fn expand_linked(file: &File, links: &mut Links) -> Result<Option<File>, Vec<Diagnostic>> {
    if !file.items.iter().any(|item| is_component(&item.kind)) {
        return Ok(None);
    }
    let mut errors = Vec::new();
    let libraries = Libraries::of(file, &mut errors);
    let kinds = kinds_of(file, &libraries, &mut errors);
    let components: Vec<&Component> = file.items.iter().filter_map(|item| component_of(&item.kind)).collect();
    let mut writer = Writer { kinds, components, libraries: &libraries, used: BTreeSet::new(), links, errors };
    writer.link_kinds();
    writer.link_settings(file);
    let mut items = Vec::new();
    for item in &file.items {
        match &item.kind {
            ItemKind::Use { .. } | ItemKind::Kind(_) => {}
            ItemKind::Component(component) => {
                let first = writer.component_named(&component.name.text).map_or(&component.name, |first| &first.name);
                if first.at.0 == component.name.at.0 {
                    writer.component(component, item.at, &mut items);
                } else {
                    writer.errors.push(declared_twice(&component.name, first, "a component"));
                }
            }
            _ => items.push(item.clone()),
        }
    }
    let Writer { used, mut errors, .. } = writer;
    if !errors.is_empty() {
        errors.sort_by_key(|error| (error.span.start, error.span.end));
        errors.dedup();
        errors.truncate(MOST);
        return Err(errors);
    }
    let mut all = libraries.items(&used, &items);
    all.append(&mut items);
    Ok(Some(File { items: all }))
}

fn is_component(kind: &ItemKind) -> bool {
    matches!(kind, ItemKind::Use { .. } | ItemKind::Kind(_) | ItemKind::Component(_) | ItemKind::State(_))
}

fn component_of(kind: &ItemKind) -> Option<&Component> {
    match kind {
        ItemKind::Component(component) => Some(component),
        _ => None,
    }
}

/// Collects the kinds of the file and of the libraries that it uses, by name. Reports kinds that have errors.
fn kinds_of<'f>(
    file: &'f File,
    libraries: &'f Libraries,
    errors: &mut Vec<Diagnostic>,
) -> BTreeMap<&'f str, KindText<'f>> {
    let mut kinds: BTreeMap<&str, KindText<'_>> = BTreeMap::new();
    let of_libraries = libraries.all.iter().flat_map(|one| one.file.items.iter().map(|item| (Some(one.name), item)));
    for (library, item) in of_libraries.chain(file.items.iter().map(|item| (None, item))) {
        let ItemKind::Kind(kind) = &item.kind else { continue };
        if let Some(first) = kinds.get(kind.name.text.as_str()) {
            errors.push(declared_twice(&kind.name, first.name, "a kind"));
            continue;
        }
        kinds.insert(&kind.name.text, KindText::new(kind, library, errors));
    }
    kinds
}

/// Returns the error that a name is declared twice. `what` is what the first one is.
fn declared_twice(name: &Name, first: &Name, what: &str) -> Diagnostic {
    Diagnostic::new(name.at.0, format!("`{}` is declared twice", name.text), format!("already the name of {what}"))
        .note(first.at.0, "first declared here")
        .help("choose another name")
}

/// The state of the pass.
struct Writer<'f> {
    kinds: BTreeMap<&'f str, KindText<'f>>,
    components: Vec<&'f Component>,
    libraries: &'f Libraries,
    // The full names of the items of libraries that some component needs.
    used: BTreeSet<String>,
    // What the names of kinds and components mean.
    links: &'f mut Links,
    errors: Vec<Diagnostic>,
}

impl<'f> Writer<'f> {
    fn component_named(&self, name: &str) -> Option<&'f Component> {
        self.components.iter().copied().find(|component| component.name.text == name)
    }

    /// Returns the components that follow the component with this name, in source order, and the field of each that
    /// holds it.
    fn followers(&self, of: &str) -> Vec<(&'f Component, &'static str)> {
        let field = |one: &Component| {
            let fields = [(&one.host, HOST), (&one.source, SOURCE)];
            fields
                .into_iter()
                .find(|(name, _)| name.as_ref().is_some_and(|name| name.text == of))
                .map(|(_, field)| field)
        };
        self.components.iter().filter_map(|one| Some((*one, field(one)?))).collect()
    }
}

/// Returns an item at the place of its name.
fn item(kind: ItemKind, at: super::ast::At) -> Item {
    Item { kind, at }
}
