//! Resolves references of expectations: `@label.read of x`, and failures by message or name.

use super::{Checker, did_you_mean};
use crate::event::{SiteKind, labelled};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, AccessSelector, FailureName};
use crate::lang::program::{BUILT_IN_EXCEPTIONS, CLOSED, FailureRef, GROUP_EXCEPTIONS, SiteRef};

/// The kind of operations that a reference must select.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A race: accesses of memory.
    Race,
    /// An order: any operations.
    Order,
    /// A failure: any operations, and checks, at which a statement fails.
    Failure,
}

/// Whether an expectation applies to this variant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Applicability {
    /// The expectation has no condition.
    Always,
    /// The condition of the expectation is true.
    Conditionally,
    /// The condition of the expectation is false, so it is dropped.
    Not,
}

impl Checker {
    /// Resolves a reference. The reference of a dropped expectation only has to exist, and gives `None`.
    pub(super) fn reference(&mut self, reference: &ast::Ref, counts: Applicability, uses: Use) -> Option<SiteRef> {
        let name = &reference.label.text;
        let text = self.ref_text(reference);
        if let Some(of) = &reference.of {
            self.place_exists(of)?;
        }
        self.record.label(&reference.label, false);
        let Some(state) = self.labels.get(name).cloned() else {
            let mut problem = Diagnostic::new(
                reference.label.at.0,
                format!("unknown label `@{name}`"),
                "no statement has this label",
            );
            problem.help =
                super::near(name, self.labels.keys().map(String::as_str)).map(|n| format!("did you mean `@{n}`?"));
            self.problems.add(problem);
            return None;
        };
        if counts == Applicability::Not {
            return None;
        }
        // The label exists, but only in code that the constants rule out.
        let Some(span) = state.live else {
            let help = match counts {
                Applicability::Conditionally => {
                    "its `if` holds here, too: narrow it to the constants that have this code"
                }
                _ => "add the condition under which it holds: `expect ... if CONST == ..`",
            };
            self.error_help(
                reference.label.at,
                "the expectation is unreachable",
                format!("`@{name}` labels only code that the constants rule out"),
                help,
            );
            return None;
        };
        let mut sites = labelled(&self.out.sites, name);
        sites.retain(|id| {
            let site = &self.out.sites[*id];
            // A check, at which a statement fails, is not a step.
            if site.kind == SiteKind::Check && uses != Use::Failure {
                return false;
            }
            let kind = match reference.access {
                None => true,
                Some(access) => selects(access, site.kind),
            };
            kind && reference.of.as_ref().is_none_or(|of| site.is_of(&of.text))
        });
        let accesses = sites.iter().any(|id| is_access(self.out.sites[*id].kind));
        if sites.is_empty() || (uses == Use::Race && !accesses) {
            let (reason, help) = match uses {
                Use::Race => (
                    "neither the statement nor what it calls has such an access",
                    "label the statement that reads or writes, because a race is about memory; for locks, posts, signals and other operations, write `expect order @a ~ @b`. The label of an `if`, `while`, `for` or `sync` covers its head alone",
                ),
                Use::Order => (
                    "neither the statement nor what it calls performs a step",
                    "label the statement that performs the step: a read, a write, a post, a lock ... To say where a statement fails, write `failure ... at`. The label of an `if`, `while`, `for` or `sync` covers its head alone",
                ),
                Use::Failure => (
                    "the statement cannot fail",
                    "label the statement inside that fails: the label of an `if`, `while`, `for` or `sync` covers its head alone",
                ),
            };
            let problem = Diagnostic::new(reference.at.0, format!("`{text}` selects nothing"), reason)
                .note(span, "the statement is here")
                .help(help);
            self.problems.add(problem);
            return None;
        }
        Some(SiteRef { text, sites, access: reference.access })
    }

    fn ref_text(&self, reference: &ast::Ref) -> String {
        let mut text = format!("@{}", reference.label.text);
        text += match reference.access {
            Some(AccessSelector::Read) => ".read",
            Some(AccessSelector::Write) => ".write",
            None => "",
        };
        if let Some(of) = &reference.of {
            text += &format!(" of {}", of.text);
        }
        text
    }

    /// Checks that the name after `of` is known. Returns `None` after an error.
    fn place_exists(&mut self, of: &ast::Name) -> Option<()> {
        let fields = self.out.classes.iter().flat_map(|c| &c.fields).map(|f| f.name.as_str());
        let mut known = self.names.keys().map(String::as_str).chain(fields);
        if self.names.contains_key(&of.text) || known.clone().any(|name| name == of.text) {
            self.note_place(of);
            return Some(());
        }
        let help = did_you_mean(&of.text, known.by_ref());
        let mut problem = Diagnostic::new(
            of.at.0,
            format!("unknown name `{}`", of.text),
            "neither a variable nor a field has this name",
        );
        problem.help = help;
        self.problems.add(problem);
        None
    }

    /// Resolves a failure by its message, or by the name of an exception or property.
    pub(super) fn failure_ref(&mut self, name: &FailureName) -> Option<FailureRef> {
        match name {
            FailureName::Message(text) => {
                if self.messages.contains(&text.text) {
                    return Some(FailureRef::Message(text.text.clone()));
                }
                let near = super::near(&text.text, self.messages.iter().map(String::as_str));
                let help = match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "use the message of an `assert`, a `fail` or a `throw`".into(),
                };
                self.error_help(
                    text.at,
                    format!("unknown message \"{}\"", text.text),
                    "no statement fails with this message",
                    help,
                );
                None
            }
            FailureName::Name(name) => {
                let property = self.names.get(&name.text).is_some_and(|e| e.what == "a property");
                if property {
                    self.note_use(name);
                } else {
                    self.record.exception(name, false);
                }
                if property || self.is_exception(&name.text) {
                    return Some(FailureRef::Name(name.text.clone()));
                }
                let properties = self.names.iter().filter(|(_, e)| e.what == "a property").map(|(n, _)| n.as_str());
                let help = did_you_mean(&name.text, properties.chain(self.exception_names()));
                let mut problem = Diagnostic::new(
                    name.at.0,
                    format!("unknown failure `{}`", name.text),
                    "neither a thrown exception nor a property has this name",
                );
                problem.help = help;
                self.problems.add(problem);
                None
            }
        }
    }

    fn is_exception(&self, name: &str) -> bool {
        BUILT_IN_EXCEPTIONS.contains(&name)
            || self.thrown.contains(name)
            || name == CLOSED && !self.out.channels.is_empty()
            || GROUP_EXCEPTIONS.contains(&name) && !self.out.groups.is_empty()
            || self.is_cancellation(name)
    }

    fn exception_names(&self) -> impl Iterator<Item = &str> {
        BUILT_IN_EXCEPTIONS.into_iter().chain(self.thrown.iter().map(String::as_str))
    }

    /// Checks that every `catch` names an exception that a statement or operation can throw.
    pub(super) fn check_catches(&mut self) {
        for name in std::mem::take(&mut self.catches) {
            if self.is_exception(&name.text) {
                self.record.exception(&name, false);
                continue;
            }
            let help = did_you_mean(&name.text, self.exception_names());
            let mut problem =
                Diagnostic::new(name.at.0, format!("unknown exception `{}`", name.text), "nothing throws it");
            problem.help = help;
            self.problems.add(problem);
        }
    }
}

fn selects(access: AccessSelector, kind: SiteKind) -> bool {
    match kind {
        SiteKind::AtomicUpdate | SiteKind::MixedUpdate => true,
        SiteKind::Read | SiteKind::Use | SiteKind::AtomicRead | SiteKind::MixedRead => access == AccessSelector::Read,
        SiteKind::Write | SiteKind::Free | SiteKind::AtomicWrite | SiteKind::MixedWrite => {
            access == AccessSelector::Write
        }
        _ => false,
    }
}

fn is_access(kind: SiteKind) -> bool {
    selects(AccessSelector::Read, kind) || selects(AccessSelector::Write, kind)
}
