//! What exists at the start, out of the program's tables.

use crate::base::Id;
use crate::event::{HandlerId, ThreadId};
use crate::lang::Program;
use crate::lang::program::{self, ExprKind, Init, PostTime, Simple, Stmt, Type, Uncaught};
use crate::world::{EventSetup, FirstValue, Kind, Prefer, Setup, ThreadSetup};

/// The kinds of the cells (or registers) that a value of this type takes.
pub(super) fn cell_kinds(ty: &Type) -> Vec<Kind> {
    match ty {
        Type::Object(_) => vec![Kind::Object],
        Type::Thread | Type::Looper => vec![Kind::Thread],
        Type::Handler => vec![Kind::Handler],
        Type::Fence => vec![Kind::Fence],
        Type::List(element) => vec![match cell_kinds(element).first() {
            Some(Kind::Object) => Kind::ListOfObjects,
            Some(Kind::Thread) => Kind::ListOfThreads,
            Some(Kind::Handler) => Kind::ListOfHandlers,
            Some(Kind::Fence) => Kind::ListOfFences,
            _ => Kind::ListOfWords,
        }],
        Type::Array(element, len) => cell_kinds(element).repeat(*len as usize),
        _ => vec![Kind::Word],
    }
}

fn first_values(globals: &[program::Global]) -> Vec<FirstValue> {
    let first = |init: &Init| match init {
        Init::Word(word) => FirstValue::Word(*word),
        Init::New(class) => FirstValue::New(class.0),
        Init::List(items) => FirstValue::List(items.clone()),
    };
    globals.iter().flat_map(|g| g.init.iter().map(first)).collect()
}

pub(super) fn setup(program: &Program) -> Setup {
    let mut times = Times::default();
    program.bodies.iter().for_each(|b| times.block(&b.block));
    let sorted = |mut all: Vec<u64>| {
        all.sort_unstable();
        all.dedup();
        all
    };
    let instants = sorted(times.instants);
    let last_instant = instants.last().copied().unwrap_or(0);
    Setup {
        threads: program
            .threads
            .iter()
            .map(|t| ThreadSetup { name: t.name.clone(), daemon: t.daemon, looper: t.looper })
            .collect(),
        bodies: program.bodies.iter().map(|b| b.name.clone()).collect(),
        locks: program.locks.iter().map(|l| (l.name.clone(), l.reentrant)).collect(),
        conditions: program.conditions.clone(),
        rwlocks: program
            .rwlocks
            .iter()
            .map(|l| {
                let prefer = match l.prefer {
                    program::Prefer::None => Prefer::None,
                    program::Prefer::Readers => Prefer::Readers,
                    program::Prefer::Writers => Prefer::Writers,
                };
                (l.name.clone(), prefer)
            })
            .collect(),
        semaphores: program.semaphores.clone(),
        barriers: program.barriers.clone(),
        handlers: program
            .handlers
            .iter()
            .map(|(n, l)| (n.clone(), ThreadId::new(*l)))
            .collect::<crate::base::IndexVec<HandlerId, _>>(),
        listeners: program.listeners.clone(),
        events: program
            .events
            .iter()
            .map(|e| EventSetup {
                name: e.name.clone(),
                body: e.body,
                looper: ThreadId::new(e.looper),
                initially: e.initially,
            })
            .collect(),
        cells: first_values(&program.globals),
        classes: program.classes.iter().map(|c| (c.name.clone(), first_values(&c.fields))).collect(),
        objects: program.objects.iter().map(|c| c.0).collect(),
        delays: sorted(times.delays),
        absolute_until: if times.computed { u64::MAX } else { last_instant },
        instants,
        uncaught_ends_thread: program.uncaught == Uncaught::Thread,
    }
}

/// The delays and instants that a program names as constants. (Delays inside expressions other than a whole right side or condition are learnt while running.)
#[derive(Default)]
struct Times {
    delays: Vec<u64>,
    instants: Vec<u64>,
    computed: bool,
}

impl Times {
    fn delay(&mut self, e: &program::Expr) {
        if let ExprKind::Word(d) = e.kind
            && d > 0
        {
            self.delays.push(d as u64);
        }
    }

    fn expr(&mut self, e: &program::Expr) {
        match &e.kind {
            ExprKind::Post { time: PostTime::After(d), .. } => self.delay(d),
            ExprKind::Post { time: PostTime::At(t), .. } => match t.kind {
                ExprKind::Word(t) => self.instants.extend(u64::try_from(t).ok().filter(|t| *t > 0)),
                _ => self.computed = true,
            },
            ExprKind::Wait { timeout: Some(d), .. } | ExprKind::Await { timeout: Some(d), .. } => self.delay(d),
            ExprKind::Unary(_, e) => self.expr(e),
            ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Binary { left: a, right: b, .. } => {
                self.expr(a);
                self.expr(b);
            }
            _ => {}
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::SetLocal(_, e) | Stmt::Expr(e) | Stmt::Return(Some(e)) | Stmt::Assert { cond: e, .. } => {
                    self.expr(e);
                }
                Stmt::Write { value, .. }
                | Stmt::SetLocalElement { value, .. }
                | Stmt::ListSet { value, .. }
                | Stmt::Update { value, .. }
                | Stmt::ListUpdate { value, .. } => self.expr(value),
                Stmt::If { cond, then, other } => {
                    self.expr(cond);
                    self.block(then);
                    self.block(other);
                }
                Stmt::While { cond, body } => {
                    self.expr(cond);
                    self.block(body);
                }
                Stmt::Loop { body }
                | Stmt::ForRange { body, .. }
                | Stmt::ForList { body, .. }
                | Stmt::Sync { body, .. }
                | Stmt::Rw { body, .. }
                | Stmt::Transaction { body, .. }
                | Stmt::Block(body) => self.block(body),
                Stmt::Try { body, catch, finally } => {
                    self.block(body);
                    catch.iter().for_each(|(_, b)| self.block(b));
                    finally.iter().for_each(|b| self.block(b));
                }
                Stmt::Do { op: Simple::Sleep(d), .. } => self.delay(d),
                _ => {}
            }
        }
    }
}
