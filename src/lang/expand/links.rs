//! Collects what the names mean that only kinds and components have: kinds, callbacks, stages, units. An editor asks
//! for it. All other names of components are resolved by the checker, after the components are written out.

use super::super::ast::{Component, ComponentPart, File, ItemKind, Name, Span};
use super::Writer;
use super::kinds::KindText;

/// The names of kinds and components.
#[derive(Default)]
pub(in crate::lang) struct Links {
    /// The position of each use, and of the declaration that it means.
    pub(in crate::lang) uses: Vec<(Span, Span)>,
    /// The declarations, and what each of them is.
    pub(in crate::lang) declared: Vec<(Name, &'static str)>,
}

impl Links {
    /// Adds the use of a name.
    pub(super) fn link(&mut self, used: &Name, declared: &Name) {
        self.uses.push((used.at.0, declared.at.0));
    }

    /// Adds the names by which a component names parts of its kind, and of itself.
    pub(super) fn component(&mut self, component: &Component, kind: &KindText<'_>) {
        self.link(&component.kind, kind.name);
        let mut own: Vec<&Name> = Vec::new();
        for part in &component.parts {
            match part {
                ComponentPart::On { name, .. } => {
                    own.push(name);
                    if let Some((declared, _)) = kind.callbacks.iter().find(|(known, _)| known.text == name.text) {
                        self.link(name, declared);
                    }
                }
                ComponentPart::Event { name, .. } | ComponentPart::Task { name, .. } => own.push(name),
                ComponentPart::Unit { name, .. } => self.declared.push((name.clone(), "a unit")),
                ComponentPart::Field(..) => {}
            }
        }
        let members = component.parts.iter().filter_map(|part| match part {
            ComponentPart::Unit { members, .. } => Some(members),
            _ => None,
        });
        for member in members.flatten() {
            if let Some(declared) = own.iter().find(|name| name.text == member.text) {
                self.link(member, declared);
            }
        }
    }

    // Adds the stages, callbacks and followed kinds of a kind.
    fn kind(&mut self, kind: &KindText<'_>) {
        self.declared.push((kind.name.clone(), "a kind"));
        self.declared.extend(kind.stages.iter().map(|stage| ((*stage).clone(), "a stage")));
        self.declared.extend(kind.callbacks.iter().map(|(name, _)| ((*name).clone(), "a callback")));
        let of_rows = kind.rows.iter().flat_map(|row| row.from.iter().chain(&row.to));
        let others = kind.events.into_iter().flatten().chain(kind.single.flatten());
        for name in of_rows.chain(others) {
            if let Ok(declared) = kind.stage(name) {
                self.link(name, declared);
            }
        }
        for pair in kind.follows.iter().flat_map(|(_, pairs)| pairs.iter()) {
            let callbacks = kind.callbacks.iter().map(|(name, _)| *name);
            let kept = kind.kept.iter().map(|(_, field)| &field.name);
            let own = callbacks.chain(kept).chain(kind.tasks.iter().map(|task| task.name));
            if let Some(declared) = own.into_iter().find(|name| name.text == pair.own.text) {
                self.link(&pair.own, declared);
            }
        }
    }
}

impl Writer<'_> {
    /// Adds the settings of libraries.
    pub(super) fn link_settings(&mut self, file: &File) {
        for item in &file.items {
            let ItemKind::Use { library, settings } = &item.kind else { continue };
            let used = self.libraries.all.iter().filter(|used| used.name == library.text);
            for declared in used.flat_map(|used| &used.file.items) {
                let ItemKind::Const { name: declared, .. } = &declared.kind else { continue };
                for (setting, _) in settings.iter().filter(|(setting, _)| setting.text == declared.text) {
                    self.links.link(setting, declared);
                }
            }
        }
    }

    /// Adds the names that the kinds declare, and those by which they name each other.
    pub(super) fn link_kinds(&mut self) {
        for kind in self.kinds.values() {
            self.links.kind(kind);
            let of_follows = kind.follows.iter().map(|(name, pairs)| (*name, *pairs));
            for (name, pairs) in of_follows.chain(kind.kept.iter().map(|(name, _)| (*name, &[][..]))) {
                let Some(followed) = self.kinds.get(name.text.as_str()) else { continue };
                self.links.link(name, followed.name);
                for pair in pairs {
                    if let Some((declared, _)) = followed.callbacks.iter().find(|(own, _)| own.text == pair.host.text) {
                        self.links.link(&pair.host, declared);
                    }
                }
            }
        }
    }
}
