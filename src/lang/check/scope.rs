//! The state of the body that is being lowered: its locals, the visible names, and whether the code is live.

use super::names::NameMeaning;
use super::{Checker, did_you_mean};
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, SiteId};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, Span};
use crate::lang::library_text;
use crate::lang::program::{LocalId, Type};
use std::collections::BTreeMap;

/// The context of an expression, which decides what the expression can contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Mode {
    /// A body. Everything is allowed.
    #[default]
    Body,
    /// The condition of an `await`. It is evaluated without steps.
    Await,
    /// The condition of a row. It is evaluated without steps, and reads platform memory only.
    When,
    /// A property. It is evaluated without steps, and has no locals.
    Property,
    /// An initial value. It can contain constants, `new`, and the names of threads, locks and objects.
    First,
    /// A constant. It can only contain constants.
    Const,
}

/// The meaning of a visible local name.
#[derive(Clone, Debug)]
pub(super) enum LocalMeaning {
    /// A local; `fixed` if it cannot be assigned (the variable of a `for`).
    Local { id: LocalId, fixed: bool },
    /// The variable of a quantifier, with its current value.
    Value(i64),
    /// The declaration of the name has an error that was reported.
    Broken,
}

/// The state of the body that is being lowered.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) body: Option<BodyId>,
    pub(super) mode: Mode,
    /// Whether the code is in a branch that a constant rules out.
    pub(super) dead: bool,
    pub(super) init: bool,
    /// Whether the body is text of a kind, so that it can use platform memory and no shared memory.
    pub(super) of_kind: bool,
    /// The span of the component that the body belongs to, or of the item that brings it in. Sites in the text of a
    /// library are shown there.
    pub(super) home: Option<Span>,
    pub(super) result: Option<Type>,
    pub(super) locals: IndexVec<LocalId, (String, Type)>,
    pub(super) visible: BTreeMap<String, (LocalMeaning, Span)>,
    pub(super) order: Vec<String>,
    pub(super) loops: u32,
    /// Number of blocks around the statement that hold a lock.
    pub(super) held: u32,
    pub(super) label: Option<usize>,
    pub(super) stmt_at: ast::At,
    /// The check site of the current statement, once it is needed.
    pub(super) check: Option<SiteId>,
    pub(super) ordinal: u32,
}

impl Checker {
    /// Returns the visible local with this name.
    pub(super) fn local(&self, name: &str) -> Option<&LocalMeaning> {
        self.scope.visible.get(name).map(|(bound, _)| bound)
    }

    /// Makes a name visible up to the end of the block. Reports a name that hides another one. A name in the text of a
    /// library may hide one of the file: the library does not know the file, and means its own name.
    pub(super) fn bind(&mut self, name: &ast::Name, bound: LocalMeaning) {
        let hidden = match (self.scope.visible.get(&name.text), self.names.get(&name.text)) {
            (Some((_, first)), _) => Some((*first, "a name of this body")),
            (None, Some(entry)) if library_text(name.at.0).is_some() && library_text(entry.span).is_none() => None,
            (None, Some(entry)) => Some((entry.span, entry.what)),
            (None, None) => None,
        };
        if let Some((first, what)) = hidden {
            self.problems.add(
                Diagnostic::new(name.at.0, format!("`{}` hides {what}", name.text), "this name is already declared")
                    .note(first, "first declared here")
                    .help("choose another name"),
            );
            if self.scope.visible.contains_key(&name.text) {
                return;
            }
        }
        self.note_binding(name, &bound);
        self.scope.visible.insert(name.text.clone(), (bound, name.at.0));
        self.scope.order.push(name.text.clone());
    }

    /// Declares a local and makes it visible.
    pub(super) fn declare_local(&mut self, name: &ast::Name, ty: Type, fixed: bool) -> LocalId {
        let id = self.scope.locals.add((name.text.clone(), ty));
        self.bind(name, LocalMeaning::Local { id, fixed });
        id
    }

    /// Marks a local as broken. Its name stays known, and its uses are not reported.
    pub(super) fn break_local(&mut self, name: &ast::Name) {
        if let Some((bound, span)) = self.scope.visible.get_mut(&name.text)
            && *span == name.at.0
        {
            *bound = LocalMeaning::Broken;
        }
    }

    /// Adds a local without a name, for a value that is needed twice.
    pub(super) fn temporary(&mut self, ty: Type) -> LocalId {
        self.scope.locals.add((String::new(), ty))
    }

    /// Runs `f` in a block of its own: names that `f` declares are invisible after it.
    pub(super) fn in_block<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.scope.order.len();
        let result = f(self);
        while self.scope.order.len() > outer {
            let name = self.scope.order.pop().expect("it is longer");
            self.scope.visible.remove(&name);
        }
        result
    }

    /// Runs `f`. If `dead`, the code that `f` lowers is treated as dead: it creates no sites, and its locals are
    /// dropped.
    pub(super) fn in_dead<R>(&mut self, dead: bool, f: impl FnOnce(&mut Self) -> R) -> R {
        if !dead || self.scope.dead {
            return f(self);
        }
        let (locals, check) = (self.scope.locals.len(), self.scope.check);
        self.scope.dead = true;
        let result = f(self);
        self.scope.dead = false;
        self.scope.locals.truncate(locals);
        self.scope.check = check;
        result
    }

    /// Runs `f` in the given mode.
    pub(super) fn in_mode<R>(&mut self, mode: Mode, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.scope.mode, mode);
        let result = f(self);
        self.scope.mode = outer;
        result
    }

    /// Returns the meaning of a top-level name, or reports it as unknown and returns `None`. `wanted` selects the names
    /// that can be suggested.
    pub(super) fn find(
        &mut self,
        name: &ast::Name,
        what: &str,
        wanted: impl Fn(&NameMeaning) -> bool,
    ) -> Option<NameMeaning> {
        if let Some(entry) = self.names.get(&name.text) {
            let named = entry.named.clone();
            self.note_use(name);
            return Some(named);
        }
        let help = {
            let locals = self.scope.visible.keys().map(String::as_str);
            let globals = self.names.iter().filter(|(_, e)| wanted(&e.named)).map(|(n, _)| n.as_str());
            did_you_mean(&name.text, globals.chain(locals.filter(|_| what == "name")))
        };
        let mut problem =
            Diagnostic::new(name.at.0, format!("unknown {what} `{}`", name.text), "this name is not declared");
        problem.help = help;
        self.problems.add_unknown(problem);
        None
    }

    /// Returns the type of a local.
    pub(super) fn local_type(&self, id: LocalId) -> Type {
        debug_assert!(id.index() < self.scope.locals.len());
        self.scope.locals[id].1.clone()
    }
}
