//! Fills the tables of a program: locks, threads, loopers, handlers, events, and the signatures of bodies.

use super::names::NameMeaning;
use super::{Checker, MAX_LOCKS, MAX_THREADS, Signature};
use crate::base::IndexVec;
use crate::event::BodyId;
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, ItemKind, LockKind, Name, Range, Span};
use crate::lang::program::{Body, ClassDef, EventDef, ExceptionScope, LockDef, PoolDef, RwLock, ThreadDef, Type};
use crate::world::Prefer;

/// Limit of the initial enables of an event, and of the count of a semaphore or barrier.
pub(super) const MAX_COUNT: u64 = 1_000_000;

/// Limit of the workers of a pool.
const MAX_WORKERS: u64 = 64;

impl Checker {
    /// Fills the tables: first the items that need no other names, then the others.
    pub(super) fn tables(&mut self, file: &ast::File) {
        for item in &file.items {
            match &item.kind {
                ItemKind::App { title, settings } => self.app(title, settings),
                ItemKind::Class { name, .. } if name.text != "Object" => {
                    let class = self.out.classes.add(ClassDef { name: name.text.clone(), fields: Vec::new() });
                    self.define(name, NameMeaning::Class(class));
                }
                ItemKind::Lock { kind, name, count } => self.lock(*kind, name, count.as_ref()),
                ItemKind::RwLock { name, prefer } => self.rwlock(name, prefer.as_ref()),
                ItemKind::Semaphore { name, value } => {
                    let first = self.constant_between(value, "a semaphore's count", 0, MAX_COUNT).unwrap_or(0);
                    self.define(name, NameMeaning::Word(Type::Semaphore, index(self.out.semaphores.len())));
                    self.out.semaphores.push((name.text.clone(), first));
                }
                ItemKind::WaitGroup { name } => self.group(name),
                ItemKind::Barrier { name, value } => {
                    let parties =
                        self.constant_between(value, "a barrier's number of parties", 1, MAX_COUNT).unwrap_or(1);
                    self.define(name, NameMeaning::Word(Type::Barrier, index(self.out.barriers.len())));
                    self.out.barriers.push((name.text.clone(), parties));
                }
                ItemKind::Pool { name, value } => self.pool(name, value),
                ItemKind::Looper { name, body } => {
                    let body = body.as_ref().map(|_| self.new_body(&name.text, item.at.0));
                    self.define(name, NameMeaning::Word(Type::Looper, index(self.out.threads.len())));
                    self.thread(
                        ThreadDef { name: name.text.clone(), daemon: false, looper: true, body, arg: None },
                        name.at,
                    );
                }
                ItemKind::Thread { daemon, name, each, .. } => {
                    let body = self.new_body(&name.text, item.at.0);
                    self.threads(*daemon, name, each.as_ref().map(|(_, range)| range), body);
                }
                ItemKind::Task { mode, name, .. } => {
                    let body = self.new_body(&name.text, item.at.0);
                    self.out.bodies[body].mode = *mode;
                    self.define(name, NameMeaning::Task(body));
                }
                ItemKind::Event { name, .. } => {
                    let body = self.new_body(&name.text, item.at.0);
                    let event = EventDef { name: name.text.clone(), body, looper: 0, initially: 0, row: None };
                    let event = self.out.events.add(event);
                    self.define(name, NameMeaning::Event(event, body));
                }
                ItemKind::Instances(instances) => self.instances(instances),
                ItemKind::Member(member) => self.member_item(member, item),
                ItemKind::Init { .. } => {
                    let body = self.new_body("init", item.at.0);
                    self.out.init.get_or_insert(body);
                }
                ItemKind::Listener { name, .. } => {
                    let listener = self.out.listeners.add(name.text.clone());
                    self.listeners.add(Vec::new());
                    self.define(name, NameMeaning::Listener(listener));
                }
                _ => {}
            }
        }
        self.channels(file);
        self.signatures(file);
        self.memory(file);
    }

    fn app(&mut self, title: &ast::TextLiteral, settings: &[(Name, ast::Expr)]) {
        self.out.title.clone_from(&title.text);
        for (name, value) in settings {
            if self.one_of(name, "setting", &[("uncaught", ())]).is_none() {
                continue;
            }
            let word = match &value.kind {
                ast::ExprKind::Name(text) => Name { text: text.clone(), at: value.at },
                _ => Name { text: String::new(), at: value.at },
            };
            let words = [("app", ExceptionScope::App), ("thread", ExceptionScope::Thread)];
            if let Some(uncaught) = self.one_of(&word, "value", &words) {
                self.out.uncaught = uncaught;
            }
        }
    }

    fn lock(&mut self, kind: LockKind, name: &Name, count: Option<&ast::Expr>) {
        let condition = kind == LockKind::Condition;
        let ty = if condition { Type::Condition } else { Type::Lock };
        let first = if condition { self.out.conditions.len() } else { self.out.locks.len() };
        let len = match count {
            None => 1,
            Some(count) => match self.constant_between(count, "the number of locks", 0, MAX_LOCKS) {
                Some(len) => usize::try_from(len).expect("it was bounded"),
                None => return self.define(name, NameMeaning::Broken),
            },
        };
        if (first + len) as u64 > MAX_LOCKS {
            self.error(
                name.at,
                format!("the model has more than {MAX_LOCKS} locks"),
                "this declaration exceeds the limit",
            );
            return self.define(name, NameMeaning::Broken);
        }
        for i in 0..len {
            let name = if count.is_some() { format!("{}[{i}]", name.text) } else { name.text.clone() };
            if condition {
                self.out.conditions.push(name);
            } else {
                self.out.locks.push(LockDef { name, reentrant: kind == LockKind::Lock });
            }
        }
        let (first, len) = (index(first), u32::try_from(len).expect("it was bounded"));
        let family = NameMeaning::Family { ty: ty.clone(), first, len, from: 0 };
        self.define(name, if count.is_some() { family } else { NameMeaning::Word(ty, first) });
    }

    fn rwlock(&mut self, name: &Name, prefer: Option<&Name>) {
        let words = [("readers", Prefer::Readers), ("writers", Prefer::Writers)];
        let prefer = prefer.and_then(|p| self.one_of(p, "preference", &words)).unwrap_or(Prefer::None);
        self.define(name, NameMeaning::Word(Type::RwLock, index(self.out.rwlocks.len())));
        self.out.rwlocks.push(RwLock { name: name.text.clone(), prefer });
    }

    fn threads(&mut self, daemon: bool, name: &Name, each: Option<&Range>, body: BodyId) {
        let first = index(self.out.threads.len());
        let Some(range) = each else {
            self.define(name, NameMeaning::Word(Type::Thread, first));
            let thread = ThreadDef { name: name.text.clone(), daemon, looper: false, body: Some(body), arg: None };
            return self.thread(thread, name.at);
        };
        let from = self.constant_of(&range.from, &Type::Int, "the first value");
        let to = self.constant_of(&range.to, &Type::Int, "the last value");
        let (Some(from), Some(to)) = (from, to) else { return self.define(name, NameMeaning::Broken) };
        // Computed in 128 bits, where no difference overflows.
        let len = (i128::from(to) - i128::from(from)).max(0);
        if len > i128::from(MAX_THREADS) {
            let message = format!("`{}` declares {len} threads", name.text);
            self.error(range.to.at, message, format!("at most {MAX_THREADS} threads can start with the app"));
            return self.define(name, NameMeaning::Broken);
        }
        let len = u32::try_from(len).expect("it was bounded");
        self.define(name, NameMeaning::Family { ty: Type::Thread, first, len, from });
        for arg in from..to.max(from) {
            let text = format!("{}[{arg}]", name.text);
            self.thread(ThreadDef { name: text, daemon, looper: false, body: Some(body), arg: Some(arg) }, name.at);
        }
    }

    fn pool(&mut self, name: &Name, workers: &ast::Expr) {
        let workers = self.constant_between(workers, "a pool's number of workers", 1, MAX_WORKERS).unwrap_or(1);
        let first = self.out.threads.len();
        self.define(name, NameMeaning::Word(Type::Pool, index(first)));
        for i in 0..workers {
            let name_of = format!("{}[{i}]", name.text);
            self.thread(ThreadDef { name: name_of, daemon: false, looper: true, body: None, arg: None }, name.at);
        }
        let workers = u32::try_from(self.out.threads.len() - first).expect("it was bounded");
        self.out.pools.push(PoolDef { name: name.text.clone(), first, workers });
    }

    fn thread(&mut self, thread: ThreadDef, at: At) {
        if self.out.threads.len() as u64 >= MAX_THREADS {
            let message = format!("more than {MAX_THREADS} threads start with the app");
            return self.error(at, message, "this declaration exceeds the limit");
        }
        self.out.threads.push(thread);
    }

    pub(super) fn new_body(&mut self, name: &str, span: Span) -> BodyId {
        self.signatures.add(Signature::default());
        self.out.bodies.add(Body {
            mode: ast::TaskMode::Plain,
            name: name.to_owned(),
            params: 0,
            locals: IndexVec::new(),
            result: Type::Void,
            block: Vec::new(),
            span,
        })
    }
}

/// Returns an index as a word.
pub(super) fn index(i: usize) -> i64 {
    i64::try_from(i).expect("tables are bounded")
}

/// Returns an error about a wrong number of arguments, with the place where the parameters are declared.
pub(super) fn wrong_number(at: At, message: String, reason: String, declared: Option<Span>) -> Diagnostic {
    let problem = Diagnostic::new(at.0, message, reason);
    match declared {
        Some(span) => problem.note(span, "declared here"),
        None => problem,
    }
}
