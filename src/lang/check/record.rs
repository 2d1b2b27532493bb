//! Records where names are declared and where they are used, while the check resolves them. Editors ask for it; the
//! check itself reads nothing of it.

use super::Checker;
use super::components::THIS;
use super::names::{NameEntry, NameMeaning};
use super::scope::LocalMeaning;
use crate::event::{BodyId, SiteId};
use crate::lang::ast::{Name, Span};
use crate::lang::editor::{NameDefinition, NameScope};
use crate::lang::expand::Links;
use crate::lang::program::{ClassId, Type};
use std::collections::{BTreeMap, BTreeSet};

/// The names of a text, as the check has resolved them.
#[derive(Default)]
pub(in crate::lang) struct Recorder {
    /// The position of each use, and of the declaration that it means.
    pub(in crate::lang) uses: BTreeSet<(Span, Span)>,
    /// What is declared at each position.
    pub(in crate::lang) definitions: BTreeMap<Span, NameDefinition>,
    /// The position of each statement; of a compound one, that of its head.
    pub(in crate::lang) statements: Vec<Span>,
    /// The position of each site, by its number.
    pub(in crate::lang) sites: Vec<(SiteId, Span)>,
    fields: BTreeMap<(ClassId, String), Span>,
    labels: BTreeMap<String, Span>,
    thrown: BTreeMap<String, Span>,
}

impl Recorder {
    fn define(&mut self, span: Span, name: &str, what: &'static str, detail: String, scope: NameScope) {
        self.definitions.entry(span).or_insert_with(|| NameDefinition { name: name.to_owned(), what, detail, scope });
    }

    /// Records that the name at a position means the declaration at another one.
    pub(super) fn link(&mut self, from: Span, to: Span) {
        if from != to {
            self.uses.insert((from, to));
        }
    }

    /// Records a label, at its statement or in a reference. Of several declarations the first one counts.
    pub(super) fn label(&mut self, label: &Name, declares: bool) {
        // The position includes the `@`.
        let length = u32::try_from(label.text.len()).unwrap_or(0);
        let span = Span { start: label.at.0.end.saturating_sub(length), end: label.at.0.end };
        match self.labels.get(&label.text) {
            Some(&first) => self.link(span, first),
            None if declares => {
                self.labels.insert(label.text.clone(), span);
                self.define(span, &label.text, "a label", format!("@{}", label.text), NameScope::Label);
            }
            None => {}
        }
    }

    /// Records an exception where it is thrown, caught or expected. The first `throw` declares it.
    pub(super) fn exception(&mut self, name: &Name, throws: bool) {
        match self.thrown.get(&name.text) {
            Some(&first) => self.link(name.at.0, first),
            None if throws => {
                self.thrown.insert(name.text.clone(), name.at.0);
                self.define(name.at.0, &name.text, "an exception", name.text.clone(), NameScope::Exception);
            }
            None => {}
        }
    }
}

impl Checker {
    /// Records the use of a top-level name.
    pub(super) fn note_use(&mut self, name: &Name) {
        if let Some(entry) = self.names.get(&name.text) {
            self.record.link(name.at.0, entry.span);
        }
    }

    /// Records the use of a local.
    pub(super) fn note_local(&mut self, name: &Name) {
        if let Some((_, declared)) = self.scope.visible.get(&name.text) {
            self.record.link(name.at.0, *declared);
        }
    }

    /// Records the declaration of a local. `this` has none: its place is that of the whole task.
    pub(super) fn note_binding(&mut self, name: &Name, meaning: &LocalMeaning) {
        if name.text == THIS {
            return;
        }
        let ty = match meaning {
            LocalMeaning::Local { id, .. } => self.name_of(&self.local_type(*id)),
            LocalMeaning::Value(_) => self.name_of(&Type::Int),
            LocalMeaning::Broken => String::new(),
        };
        self.record.define(name.at.0, &name.text, "a local", typed(&name.text, &ty), NameScope::Local);
    }

    /// Records the declaration of a field.
    pub(super) fn note_field(&mut self, class: ClassId, name: &Name, ty: Option<&Type>) {
        let ty = ty.map_or(String::new(), |ty| self.name_of(ty));
        self.record.fields.insert((class, name.text.clone()), name.at.0);
        let of = &self.out.classes[class].name;
        let detail = typed(&format!("{of}.{}", name.text), &ty);
        self.record.define(name.at.0, &name.text, "a field", detail, NameScope::Member);
    }

    /// Records the use of a field.
    pub(super) fn note_field_use(&mut self, class: ClassId, name: &Name) {
        if let Some(&declared) = self.record.fields.get(&(class, name.text.clone())) {
            self.record.link(name.at.0, declared);
        }
    }

    /// Records the use of a name that selects all variables and fields which are called so.
    pub(super) fn note_place(&mut self, name: &Name) {
        self.note_use(name);
        let fields: Vec<Span> =
            self.record.fields.iter().filter(|((_, field), _)| *field == name.text).map(|(_, span)| *span).collect();
        fields.into_iter().for_each(|span| self.record.link(name.at.0, span));
    }

    /// Returns what was recorded, with the top-level names and those of kinds and components.
    pub(super) fn recorded(&mut self, links: Links) -> Recorder {
        let mut record = std::mem::take(&mut self.record);
        record.uses.extend(links.uses.into_iter().filter(|(from, to)| from != to));
        for (name, what) in links.declared {
            record.define(name.at.0, &name.text, what, name.text.clone(), NameScope::Member);
        }
        for (name, entry) in &self.names {
            let detail = self.described(name, entry);
            record.define(entry.span, name, entry.what, detail, NameScope::File);
        }
        record.sites = self.out.sites.enumerate().map(|(id, _)| id).zip(std::mem::take(&mut self.site_spans)).collect();
        record
    }

    // The declaration of a top-level name in one line.
    fn described(&self, name: &str, entry: &NameEntry) -> String {
        match &entry.named {
            NameMeaning::Const(ty, value) => {
                let value = if *ty == Type::Bool { (*value != 0).to_string() } else { value.to_string() };
                format!("const {}", typed(name, &self.name_of(ty))) + &format!(" = {value}")
            }
            NameMeaning::Global(id) => {
                let global = &self.out.globals[*id];
                let word = if global.atomic || global.mixed { "atomic" } else { "var" };
                format!("{word} {}", typed(name, &self.name_of(&global.ty)))
            }
            NameMeaning::Word(ty, _) => typed(name, &self.name_of(ty)),
            NameMeaning::Family { ty, len, .. } => format!("{}[{len}]", typed(name, &self.name_of(ty))),
            NameMeaning::State(id) => {
                format!("state {}", typed(name, &self.name_of(&self.out.components.states[*id].ty)))
            }
            NameMeaning::Class(class) => {
                let fields = self.out.classes[*class].fields.iter();
                let fields: Vec<String> = fields.map(|field| typed(&field.name, &self.name_of(&field.ty))).collect();
                let list = if fields.is_empty() { String::new() } else { format!("{} ", fields.join("; ")) };
                format!("class {name} {{ {list}}}")
            }
            NameMeaning::Listener(id) => {
                let types: Vec<String> = self.listeners[*id].iter().map(|ty| self.name_of(ty)).collect();
                format!("listener {name}({})", types.join(", "))
            }
            NameMeaning::Task(body) => self.signature("task", name, *body),
            NameMeaning::Event(_, body) => self.signature("event", name, *body),
            NameMeaning::Verb(body, _) => self.signature("verb", name, *body),
            NameMeaning::Property => format!("property {name}"),
            NameMeaning::Pending | NameMeaning::Broken => name.to_owned(),
        }
    }

    fn signature(&self, word: &str, name: &str, body: BodyId) -> String {
        let signature = &self.signatures[body];
        let params: Vec<String> = signature.params.iter().map(|(name, ty)| typed(name, &self.name_of(ty))).collect();
        let result = match &signature.result {
            Some(ty) if *ty != Type::Void => format!(": {}", self.name_of(ty)),
            _ => String::new(),
        };
        format!("{word} {name}({}){result}", params.join(", "))
    }
}

fn typed(name: &str, ty: &str) -> String {
    if ty.is_empty() { name.to_owned() } else { format!("{name}: {ty}") }
}
