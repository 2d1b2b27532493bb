//! The parts of a kind, sorted by what they are, and the errors of a kind that no component needs to show.

use super::super::ast::{Block, Field, Following, Kind, KindPart, Name, Params, Row, Storage, Type, VerbMode};
use super::super::diagnostic::Diagnostic;
use super::super::near::near;
use super::super::program::MOST_STAGES;
use super::super::words::{is_item_word, is_verb_word};
use super::declared_twice;
use std::collections::BTreeMap;

/// What messages call the members of a kind that the text of a component can use.
pub(super) const CALLBACK: &str = "a callback of the kind";
pub(super) const FIELD: &str = "a field of the kind";

/// The text of a kind.
pub(super) struct KindText<'f> {
    pub(super) name: &'f Name,
    /// The library that the kind is in.
    pub(super) library: Option<&'static str>,
    pub(super) callbacks: Vec<(&'f Name, &'f Params)>,
    pub(super) stages: Vec<&'f Name>,
    pub(super) fields: Vec<(Storage, &'f Field)>,
    pub(super) states: Vec<&'f Field>,
    /// The states that the kind keeps in instances of kinds that it follows. The name is that of such a kind.
    pub(super) kept: Vec<(&'f Name, &'f Field)>,
    pub(super) single: Option<Option<&'f Name>>,
    /// The stages in which events of the component can happen.
    pub(super) events: Option<&'f [Name]>,
    /// The kinds that this one follows, and what of theirs.
    pub(super) follows: Vec<(&'f Name, &'f [Following])>,
    pub(super) rows: Vec<&'f Row>,
    pub(super) verbs: Vec<KindVerb<'f>>,
    pub(super) tasks: Vec<KindTask<'f>>,
}

pub(super) struct KindVerb<'f> {
    pub(super) name: &'f Name,
    pub(super) params: &'f Params,
    pub(super) mode: VerbMode,
    pub(super) body: &'f Block,
}

pub(super) struct KindTask<'f> {
    pub(super) name: &'f Name,
    pub(super) params: &'f Params,
    pub(super) result: Option<&'f Type>,
    pub(super) body: &'f Block,
}

impl<'f> KindText<'f> {
    /// Sorts the parts of a kind, and reports its errors.
    pub(super) fn new(kind: &'f Kind, library: Option<&'static str>, errors: &mut Vec<Diagnostic>) -> Self {
        let mut text = Self {
            name: &kind.name,
            library,
            callbacks: Vec::new(),
            stages: Vec::new(),
            fields: Vec::new(),
            states: Vec::new(),
            kept: Vec::new(),
            single: None,
            events: None,
            follows: Vec::new(),
            rows: Vec::new(),
            verbs: Vec::new(),
            tasks: Vec::new(),
        };
        for part in &kind.parts {
            match part {
                KindPart::Callbacks(all) => text.callbacks.extend(all.iter().map(|(name, params)| (name, params))),
                KindPart::Stages(all) => text.stages.extend(all),
                KindPart::Field(storage, field) => text.fields.push((*storage, field)),
                KindPart::State(field) => text.states.push(field),
                KindPart::Kept { of, field } => text.kept.push((of, field)),
                KindPart::Single { until, .. } => text.single = Some(until.as_ref()),
                KindPart::Events { stages } => text.events = Some(stages),
                KindPart::Follows { host, pairs } => text.follows.push((host, pairs)),
                KindPart::Row(row) => text.rows.push(row),
                KindPart::Verb { name, params, mode, body } => {
                    text.verbs.push(KindVerb { name, params, mode: *mode, body });
                }
                KindPart::Task { name, params, result, body } => {
                    text.tasks.push(KindTask { name, params, result: result.as_ref(), body });
                }
            }
        }
        text.names_are_unique(errors);
        text.stages_exist(errors);
        text.words_are_new(errors);
        text.follows_own(errors);
        text
    }

    /// Returns every name of the kind except its verbs, and what it is.
    pub(super) fn members(&self) -> Vec<(&'f Name, &'static str)> {
        let mut all: Vec<(&Name, &str)> = Vec::new();
        all.extend(self.callbacks.iter().map(|(name, _)| (*name, CALLBACK)));
        all.extend(self.stages.iter().map(|name| (*name, "a stage of the kind")));
        all.extend(self.fields.iter().map(|(_, field)| (&field.name, FIELD)));
        all.extend(self.states.iter().map(|field| (&field.name, "a state of the kind")));
        all.extend(self.kept.iter().map(|(_, field)| (&field.name, "a state that the kind keeps in another one")));
        all.extend(self.rows.iter().map(|row| (&row.name, "a row of the kind")));
        all.extend(self.tasks.iter().map(|task| (task.name, "a task of the kind")));
        all
    }

    fn names_are_unique(&self, errors: &mut Vec<Diagnostic>) {
        let mut seen: BTreeMap<&str, (&Name, &str)> = BTreeMap::new();
        for (name, what) in self.members() {
            if let Some((first, what)) = seen.get(name.text.as_str()) {
                errors.push(declared_twice(name, first, what));
            } else {
                seen.insert(&name.text, (name, what));
            }
        }
        let mut verbs: BTreeMap<&str, &Name> = BTreeMap::new();
        for verb in &self.verbs {
            if let Some(first) = verbs.insert(&verb.name.text, verb.name) {
                errors.push(declared_twice(verb.name, first, "a verb of the kind"));
            }
        }
    }

    /// Returns the stage with this name, or the error that there is none.
    pub(super) fn stage(&self, name: &Name) -> Result<&'f Name, Diagnostic> {
        if let Some(stage) = self.stages.iter().find(|stage| stage.text == name.text) {
            return Ok(stage);
        }
        let message = format!("`{}` has no stage `{}`", self.name.text, name.text);
        let mut error = Diagnostic::new(name.at.0, message, "unknown stage");
        error.help = match near(&name.text, self.stages.iter().map(|stage| stage.text.as_str())) {
            Some(known) => Some(format!("did you mean `{known}`?")),
            None => Some(format!("write `stage {}` in the kind", name.text)),
        };
        Err(error)
    }

    fn stages_exist(&self, errors: &mut Vec<Diagnostic>) {
        if self.stages.is_empty() {
            let message = format!("the kind `{}` has no stage", self.name.text);
            let error = Diagnostic::new(self.name.at.0, message, "in which stage does an instance begin?");
            errors.push(error.help("write `stage a, b`; an instance begins in the first one"));
            return;
        }
        if let Some(name) = self.stages.get(MOST_STAGES) {
            let message = format!("more than {} stages", MOST_STAGES);
            errors.push(Diagnostic::new(name.at.0, message, "too many").help("keep a number in a `state`"));
        }
        let of_rows = self.rows.iter().flat_map(|row| row.from.iter().chain(&row.to));
        let others = self.events.into_iter().flatten().chain(self.single.flatten());
        for name in of_rows.chain(others) {
            errors.extend(self.stage(name).err());
        }
    }

    fn words_are_new(&self, errors: &mut Vec<Diagnostic>) {
        if is_item_word(&self.name.text) {
            let message = format!("a kind cannot be called `{}`", self.name.text);
            errors.push(Diagnostic::new(self.name.at.0, message, "an item of the language begins with this word"));
        }
        for verb in &self.verbs {
            if is_verb_word(&verb.name.text) {
                let message = format!("a verb cannot be called `{}`", verb.name.text);
                errors.push(Diagnostic::new(
                    verb.name.at.0,
                    message,
                    "a statement of the language begins with this word",
                ));
            }
        }
    }

    fn follows_own(&self, errors: &mut Vec<Diagnostic>) {
        for (of, field) in &self.kept {
            if !self.follows.iter().any(|(kind, _)| kind.text == of.text) {
                let message = format!("`{}` does not follow `{}`", self.name.text, of.text);
                let error = Diagnostic::new(of.at.0, message, format!("so it cannot keep `{}` there", field.name.text));
                errors.push(error.help("name a kind after `follows`"));
            }
        }
        for (kind, pair) in self.follows.iter().flat_map(|(kind, pairs)| pairs.iter().map(move |pair| (kind, pair))) {
            let kept = self.kept.iter().any(|(of, field)| of.text == kind.text && field.name.text == pair.own.text);
            let callback = self.callbacks.iter().any(|(name, _)| name.text == pair.own.text);
            let task = self.tasks.iter().any(|task| task.name.text == pair.own.text);
            let own = &pair.own.text;
            let (message, reason) = match pair.value {
                None if callback || task => continue,
                Some(_) if kept => continue,
                None => (
                    format!("`{}` has no callback `{own}`", self.name.text),
                    "neither a callback nor a task of this kind",
                ),
                Some(_) => (
                    format!("`{}` keeps no state `{own}` in `{}`", self.name.text, kind.text),
                    "only such a state is assigned here",
                ),
            };
            errors.push(Diagnostic::new(pair.own.at.0, message, reason));
        }
    }
}
