//! What the names in the text of a component and of its kind mean.

use super::super::ast::{Component, ComponentPart, Name, Param};
use super::super::diagnostic::Diagnostic;
use super::super::near::near;
use super::declared_twice;
use super::kinds::{CALLBACK, FIELD, KindText};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the implicit field that holds the component which an instance follows.
pub(super) const HOST: &str = "host";
/// The name of the implicit field that holds the component with one instance which an instance follows.
pub(super) const SOURCE: &str = "source";

/// Returns the full name of a state that a kind keeps in the instances of a kind that it follows.
pub(super) fn kept_name(kind: &Name, state: &Name) -> Name {
    Name { text: format!("{}.{}", kind.text, state.text), at: state.at }
}

/// The members of a component.
pub(super) struct Members<'f> {
    /// The fields that the component's text can use: its own, its parameters, and those of its kind.
    pub(super) fields: BTreeSet<&'f str>,
    /// The callbacks of the kind. Of those that the component has, their parameters.
    pub(super) callbacks: BTreeMap<&'f str, Option<&'f [Param]>>,
    /// The tasks of the component.
    pub(super) tasks: BTreeSet<&'f str>,
    /// The fields of the kind.
    pub(super) kind_fields: BTreeSet<&'f str>,
    /// The platform memory of an instance.
    pub(super) states: BTreeSet<&'f str>,
    /// The tasks of the kind.
    pub(super) kind_tasks: BTreeSet<&'f str>,
    /// The stages of the kind.
    pub(super) stages: BTreeSet<&'f str>,
    /// The rows of the kind. The value says whether a row needs a request.
    pub(super) rows: BTreeMap<&'f str, bool>,
}

impl<'f> Members<'f> {
    pub(super) fn new(component: &'f Component, kind: &KindText<'f>, errors: &mut Vec<Diagnostic>) -> Self {
        // The rest of a kind is not visible in the text of a component, so its names can occur there again.
        let visible = kind.members().into_iter().filter(|(_, what)| matches!(*what, CALLBACK | FIELD));
        let mut names: BTreeMap<&str, (&Name, &str)> =
            visible.map(|(name, what)| (name.text.as_str(), (name, what))).collect();
        let kind_fields: BTreeSet<&str> = kind.fields.iter().map(|(_, field)| field.name.text.as_str()).collect();
        let mut members = Self {
            fields: kind_fields.clone(),
            callbacks: kind.callbacks.iter().map(|(name, _)| (name.text.as_str(), None)).collect(),
            tasks: BTreeSet::new(),
            kind_fields,
            states: kind.states.iter().map(|field| field.name.text.as_str()).collect(),
            kind_tasks: kind.tasks.iter().map(|task| task.name.text.as_str()).collect(),
            stages: kind.stages.iter().map(|name| name.text.as_str()).collect(),
            rows: kind.rows.iter().map(|row| (row.name.text.as_str(), row.by_request.is_some())).collect(),
        };
        let mut declare = |name: &'f Name, what| {
            if let Some((first, what)) = names.get(name.text.as_str()) {
                errors.push(declared_twice(name, first, what));
            } else {
                names.insert(&name.text, (name, what));
            }
        };
        for param in &component.params {
            declare(&param.name, "a parameter of the component");
            members.fields.insert(&param.name.text);
        }
        members.fields.extend(component.host.is_some().then_some(HOST));
        members.fields.extend(component.source.is_some().then_some(SOURCE));
        for part in &component.parts {
            match part {
                ComponentPart::Field(_, field) => {
                    declare(&field.name, "a field of the component");
                    members.fields.insert(&field.name.text);
                }
                ComponentPart::Event { name, .. } => declare(name, "an event of the component"),
                ComponentPart::Task { name, .. } => {
                    declare(name, "a task of the component");
                    members.tasks.insert(&name.text);
                }
                ComponentPart::Unit { name, .. } => declare(name, "a unit of the component"),
                ComponentPart::On { .. } => {}
            }
        }
        members.callbacks_of(component, kind, errors);
        members.units_name_members(component, errors);
        members
    }

    fn callbacks_of(&mut self, component: &'f Component, kind: &KindText<'f>, errors: &mut Vec<Diagnostic>) {
        let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
        for part in &component.parts {
            let ComponentPart::On { name, params, .. } = part else { continue };
            if let Some(first) = seen.insert(&name.text, name) {
                errors.push(declared_twice(name, first, "a callback of the component"));
            }
            let Some((_, given)) = kind.callbacks.iter().find(|(known, _)| known.text == name.text) else {
                errors.push(unknown_callback(name, kind));
                continue;
            };
            self.callbacks.insert(&name.text, Some(params));
            if given.rest.is_none() && params.len() > given.list.len() {
                let list: Vec<&str> = given.list.iter().map(|param| param.name.text.as_str()).collect();
                let message = format!("`{}` gets at most {} parameters", name.text, given.list.len());
                let reason = format!("the kind gives it ({})", list.join(", "));
                errors.push(Diagnostic::new(params[given.list.len()].name.at.0, message, reason));
            }
            for (own, given) in params.iter().zip(&given.list) {
                let (Some(own), wanted) = (&own.ty, &given.ty) else { continue };
                let int = |ty: &super::super::ast::Type| matches!(&ty.base, super::super::ast::BaseType::Name(name) if name.text == "int");
                if wanted.as_ref().map_or(!int(own), |wanted| wanted != own) {
                    let message = format!("`{}` has another type in the kind", given.name.text);
                    let help = "leave the type out: it is the one that the kind gives";
                    errors.push(
                        Diagnostic::new(own.at.0, message, "another type")
                            .note(given.name.at.0, "given here")
                            .help(help),
                    );
                }
            }
        }
    }

    fn units_name_members(&self, component: &Component, errors: &mut Vec<Diagnostic>) {
        let events = component.parts.iter().filter_map(|part| match part {
            ComponentPart::Event { name, .. } => Some(name.text.as_str()),
            _ => None,
        });
        let known: BTreeSet<&str> = self.callbacks.keys().chain(&self.tasks).copied().chain(events).collect();
        for part in &component.parts {
            let ComponentPart::Unit { members, .. } = part else { continue };
            for (at, name) in members.iter().enumerate() {
                if members[..at].iter().any(|other| other.text == name.text) {
                    let message = format!("`{}` stands twice in the unit", name.text);
                    errors.push(Diagnostic::new(name.at.0, message, "once is enough"));
                }
                let of_component = match self.callbacks.get(name.text.as_str()) {
                    Some(own) => own.is_some(),
                    None => known.contains(name.text.as_str()),
                };
                if !of_component {
                    let message = format!("`{}` has no callback, task or event `{}`", component.name.text, name.text);
                    let mut error = Diagnostic::new(name.at.0, message, "a unit consists of these");
                    error.help = near(&name.text, known.iter().copied()).map(|n| format!("did you mean `{n}`?"));
                    errors.push(error);
                }
            }
        }
    }
}

fn unknown_callback(name: &Name, kind: &KindText<'_>) -> Diagnostic {
    let known = || kind.callbacks.iter().map(|(name, _)| name.text.as_str());
    let message = format!("`{}` has no callback `{}`", kind.name.text, name.text);
    let error = Diagnostic::new(name.at.0, message, "unknown callback");
    // Platforms write `onCreate` for what a kind calls `create`.
    let plain = snake_case(name.text.strip_prefix("on").unwrap_or(&name.text));
    let exact = known().find(|known| *known == plain);
    let help = match exact.or_else(|| near(&plain, known())).or_else(|| near(&name.text, known())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its callbacks are {}", known().collect::<Vec<_>>().join(", ")),
    };
    error.help(help)
}

// `StartCommand` as `start_command`
fn snake_case(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if c.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
