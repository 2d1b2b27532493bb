//! The flat namespace of a file, in which every top-level name occurs once.

use super::{Checker, did_you_mean};
use crate::event::{BodyId, EventId, ListenerId};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, ItemKind, LockKind, Role, Span, Storage, VerbMode};
use crate::lang::program::{ClassId, GlobalId, StateId, Type};

/// The operations that are called with the syntax of tasks.
pub(super) const BUILT_IN_CALLS: [&str; 3] = ["cas", "fetch_add", "exchange"];

/// A top-level name.
#[derive(Clone, Debug)]
pub(super) struct NameEntry {
    pub(super) named: NameMeaning,
    /// The kind of the item, with its article: "a lock".
    pub(super) what: &'static str,
    pub(super) span: Span,
}

/// The meaning of a top-level name.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum NameMeaning {
    /// The name is declared, but its declaration has not been lowered yet.
    Pending,
    /// The declaration has an error that was reported.
    Broken,
    /// A constant, with its type and value.
    Const(Type, i64),
    /// A name with a fixed value: `let`, locks, threads, handlers ...
    Word(Type, i64),
    /// An array of locks or conditions, or a parametrized thread. Index `from` is the word `first`.
    Family { ty: Type, first: i64, len: u32, from: i64 },
    /// A global variable: `var`, `atomic`
    Global(GlobalId),
    /// A class.
    Class(ClassId),
    /// A listener.
    Listener(ListenerId),
    /// A task.
    Task(BodyId),
    /// An event.
    Event(EventId, BodyId),
    /// A `state` of the app.
    State(StateId),
    /// A verb of a component.
    Verb(BodyId, VerbMode),
    /// A property.
    Property,
}

impl NameMeaning {
    /// Returns whether the name can be used as a value.
    pub(super) fn is_value(&self) -> bool {
        matches!(
            self,
            NameMeaning::Const(..) | NameMeaning::Word(..) | NameMeaning::Family { .. } | NameMeaning::Global(_)
        )
    }
}

impl Checker {
    /// Enters every top-level name of a file.
    pub(super) fn declare(&mut self, file: &ast::File) {
        let (mut app, mut init) = (None, None);
        for item in &file.items {
            match &item.kind {
                ItemKind::App { .. } => self.only_one("app", &mut app, item.at),
                ItemKind::Init { .. } => self.only_one("init", &mut init, item.at),
                kind => {
                    if let Some((name, what)) = name_of(kind) {
                        self.enter(name, what);
                    }
                }
            }
        }
    }

    fn only_one(&mut self, what: &str, first: &mut Option<Span>, at: ast::At) {
        if let Some(first) = *first {
            let problem = Diagnostic::new(at.0, format!("the model has a second `{what}`"), "a model has at most one");
            self.problems.add(problem.note(first, "the first is here"));
        } else {
            *first = Some(at.0);
        }
    }

    fn enter(&mut self, name: &ast::Name, what: &'static str) {
        let text = &name.text;
        if what == "a task" && BUILT_IN_CALLS.contains(&text.as_str()) {
            let message = format!("a task cannot be named `{text}`");
            self.error(name.at, message, "this is a built-in operation on atomics");
        }
        if matches!(what, "a class" | "a component") && Type::built_in(text).is_some() {
            self.error(name.at, format!("{what} cannot be named `{text}`"), "this is a built-in type");
        }
        if let Some(first) = self.names.get(text) {
            let (what_first, span) = (first.what, first.span);
            self.problems.add(
                Diagnostic::new(
                    name.at.0,
                    format!("`{text}` is declared twice"),
                    format!("this is already the name of {what_first}"),
                )
                .note(span, "first declared here")
                .help("top-level names share one namespace: choose another name"),
            );
            return;
        }
        let named = match what {
            "a property" => NameMeaning::Property,
            _ => NameMeaning::Pending,
        };
        self.names.insert(text.clone(), NameEntry { named, what, span: name.at.0 });
    }

    /// Sets the meaning of a name. Has no effect for a second declaration of the name.
    pub(super) fn define(&mut self, name: &ast::Name, named: NameMeaning) {
        if let Some(entry) = self.names.get_mut(&name.text)
            && entry.span == name.at.0
        {
            entry.named = named;
        }
    }

    /// Returns whether this is the first declaration of the name.
    pub(super) fn is_first(&self, name: &ast::Name) -> bool {
        self.names.get(&name.text).is_some_and(|e| e.span == name.at.0)
    }

    /// Reports that a name is of the wrong kind.
    pub(super) fn wrong_kind(&mut self, name: &ast::Name, wanted: &str, help: Option<String>) {
        let Some(entry) = self.names.get(&name.text) else { return };
        let mut problem =
            Diagnostic::new(name.at.0, format!("`{}` is {}", name.text, entry.what), format!("expected {wanted}"))
                .note(entry.span, "declared here");
        problem.help = help;
        self.problems.add(problem);
    }

    /// Returns the class with this name, or reports an error.
    pub(super) fn class(&mut self, name: &ast::Name) -> Option<ClassId> {
        if name.text == "Object" {
            return Some(ClassId(0));
        }
        match self.find(name, "class", |n| matches!(n, NameMeaning::Class(_)))? {
            NameMeaning::Class(class) => Some(class),
            NameMeaning::Broken => None,
            _ => {
                self.wrong_kind(name, "a class", None);
                None
            }
        }
    }

    /// Returns the task with this name, or reports an error.
    pub(super) fn task(&mut self, name: &ast::Name) -> Option<BodyId> {
        if self.local(&name.text).is_some() {
            self.error(name.at, format!("`{}` is a local", name.text), "expected a task");
            return None;
        }
        match self.find(name, "task", |n| matches!(n, NameMeaning::Task(_)))? {
            NameMeaning::Task(body) => Some(body),
            NameMeaning::Broken => None,
            NameMeaning::Event(..) => {
                let help = format!("write `enable {}`: the environment fires the event", name.text);
                self.wrong_kind(name, "a task", Some(help));
                None
            }
            NameMeaning::Listener(_) => {
                self.wrong_kind(
                    name,
                    "a task",
                    Some(format!("write `perform {}(...)` to run its callbacks", name.text)),
                );
                None
            }
            _ => {
                self.wrong_kind(name, "a task", None);
                None
            }
        }
    }

    /// Returns the listener with this name, or reports an error.
    pub(super) fn listener(&mut self, name: &ast::Name) -> Option<ListenerId> {
        match self.find(name, "listener", |n| matches!(n, NameMeaning::Listener(_)))? {
            NameMeaning::Listener(listener) => Some(listener),
            NameMeaning::Broken => None,
            _ => {
                self.wrong_kind(name, "a listener", None);
                None
            }
        }
    }

    /// Returns the looper with this name as an index into `threads`, or reports an error. A thread is not accepted.
    pub(super) fn looper(&mut self, name: &ast::Name) -> Option<usize> {
        match self.find(name, "looper", |n| matches!(n, NameMeaning::Word(Type::Looper, _)))? {
            NameMeaning::Word(Type::Looper, index) if self.names[&name.text].what == "a looper" => {
                Some(usize::try_from(index).expect("an index"))
            }
            NameMeaning::Broken => None,
            _ => {
                self.wrong_kind(name, "a looper", Some("declare it as `looper name`".into()));
                None
            }
        }
    }

    /// Returns the value of the word among `words` that equals `name`, or reports an error.
    pub(super) fn one_of<T: Copy>(&mut self, name: &ast::Name, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == name.text) {
            return Some(*value);
        }
        let list = words.iter().map(|(w, _)| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        let mut problem =
            Diagnostic::new(name.at.0, format!("unknown {what} `{}`", name.text), format!("expected {list}"));
        problem.help = did_you_mean(&name.text, words.iter().map(|(w, _)| *w));
        self.problems.add(problem);
        None
    }
}

/// Returns the name of an item, and the kind of the item with its article.
pub(in crate::lang) fn name_of(kind: &ItemKind) -> Option<(&ast::Name, &'static str)> {
    Some(match kind {
        ItemKind::App { .. }
        | ItemKind::Init { .. }
        | ItemKind::Expect { .. }
        | ItemKind::Use { .. }
        | ItemKind::Kind(_)
        | ItemKind::Component(_) => return None,
        ItemKind::Const { name, .. } => (name, "a constant"),
        ItemKind::Field { storage: Storage::Var, field } => (&field.name, "a variable"),
        ItemKind::Field { storage: Storage::Atomic, field } => (&field.name, "an atomic variable"),
        ItemKind::Field { storage: Storage::Let, field } => (&field.name, "a `let`"),
        ItemKind::Class { name, .. } => (name, "a class"),
        ItemKind::Lock { kind: LockKind::Lock, name, .. } => (name, "a lock"),
        ItemKind::Lock { kind: LockKind::Mutex, name, .. } => (name, "a mutex"),
        ItemKind::Lock { kind: LockKind::Condition, name, .. } => (name, "a condition"),
        ItemKind::RwLock { name, .. } => (name, "a rwlock"),
        ItemKind::Semaphore { name, .. } => (name, "a semaphore"),
        ItemKind::WaitGroup { name } => (name, "a waitgroup"),
        ItemKind::Channel { name, .. } => (name, "a channel"),
        ItemKind::Barrier { name, .. } => (name, "a barrier"),
        ItemKind::Looper { name, .. } => (name, "a looper"),
        ItemKind::Pool { name, .. } => (name, "a pool"),
        ItemKind::Handler { name, .. } => (name, "a handler"),
        ItemKind::Listener { name, .. } => (name, "a listener"),
        ItemKind::Thread { name, .. } => (name, "a thread"),
        ItemKind::Task { name, .. } => (name, "a task"),
        ItemKind::Event { name, .. } => (name, "an event"),
        ItemKind::Property { name, .. } => (name, "a property"),
        ItemKind::State(field) => (&field.name, "platform memory"),
        ItemKind::Instances(instances) => (&instances.name, "a component"),
        ItemKind::Member(member) => match member.role {
            Role::Task => (&member.name, "a task of a component"),
            Role::Verb(_) => (&member.name, "a verb"),
            Role::Row { .. } => (&member.name, "a row of a component"),
        },
    })
}
