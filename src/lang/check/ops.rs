//! Lowers operations with a value: post, fork, fence, wait, await ...

use super::Checker;
use super::scope::Mode;
use super::sites::place_text;
use super::types::article;
use crate::event::SiteKind;
use crate::lang::ast::{self, At, InstanceName, Op};
use crate::lang::program::{Expr, ExprKind, TextId, Type};

/// The largest number of values that a `choose` may have.
const MOST_VALUES: u32 = 65_536;

impl Checker {
    /// Lowers an operation.
    pub(super) fn op(&mut self, op: &Op, at: At) -> Option<Expr> {
        match op {
            Op::Post { .. } => self.post(op, at),
            Op::Cancel { message } => self.cancel(message, at),
            Op::Component { verb, target, args } => self.component_verb(verb, target, args, at),
            Op::Ask { row, args } => self.ask(row, args, at),
            Op::Fork { task, args } => {
                let body = self.plain_task(task, "a fork")?;
                let args = self.args(body, task, args, at)?;
                let site = self.site(SiteKind::Fork, task.text.clone(), at);
                Some(Expr::new(ExprKind::Fork { body, args, site }, Type::Thread))
            }
            Op::Launch { task, args, words } => self.launch(task, args, words, at),
            Op::SpawnScope => Some(self.spawn_scope(at)),
            Op::SpawnLooper => {
                let site = self.site(SiteKind::SpawnLooper, String::new(), at);
                Some(Expr::new(ExprKind::SpawnLooper { site }, Type::Looper))
            }
            Op::Fence { target } => {
                let looper = Box::new(self.on_looper(target, "`fence`")?);
                let site = self.site(SiteKind::Fence, place_text(target), at);
                Some(Expr::new(ExprKind::Fence { looper, site }, Type::Fence))
            }
            Op::HandlerOn { target } => {
                let looper = Box::new(self.on_looper(target, "`handler on`")?);
                let site = self.site(SiteKind::NewHandler, place_text(target), at);
                Some(Expr::new(ExprKind::NewHandler { looper, site }, Type::Handler))
            }
            Op::Wait { object, with, timeout } => self.wait(object, with.as_ref(), timeout.as_ref(), at),
            Op::Down { semaphore, timeout } => {
                self.suspends(at, "`down`")?;
                let of = self.expr_of(semaphore, &Type::Semaphore, "the operand of `down`");
                let timeout = self.expr_of(timeout, &Type::Int, "a timeout");
                let (of, timeout) = (Box::new(of?), Box::new(timeout?));
                let site = self.site(SiteKind::Down, place_text(semaphore), at);
                Some(Expr::new(ExprKind::DownFor { semaphore: of, timeout, site }, Type::Bool))
            }
            Op::Acquire { mode, object, timeout } => self.acquire_for(*mode, object, timeout, at),
            Op::Receive { channel } => {
                self.suspends(at, "`recv`")?;
                self.receive(channel, at)
            }
            Op::Choose(range) => self.choose(range, at),
            Op::Await { cond, timeout } => {
                self.suspends(at, "`await`")?;
                let cond = self.in_mode(Mode::Await, |c| c.truth(cond));
                let timeout = self.milliseconds(timeout.as_ref())?;
                let site = self.site(SiteKind::Await, String::new(), at);
                Some(Expr::new(ExprKind::Await { cond: Box::new(cond?), timeout, site }, Type::Bool))
            }
        }
    }

    // Lowers a `choose`. Code that a constant rules out may have an empty range, as in `if N > 0 { x = choose 0..N }`.
    fn choose(&mut self, range: &ast::Range, at: At) -> Option<Expr> {
        let (from, to) = self.constant_range(range, "`choose`")?;
        let most = i128::from(MOST_VALUES);
        let values = i128::from(to) - i128::from(from);
        let values = match u32::try_from(values) {
            _ if self.scope.dead => 1,
            Ok(values @ 1..=MOST_VALUES) => values,
            _ if values > most => {
                let message = format!("this `choose` has {values} values");
                let reason = format!("it may have at most {most}");
                self.error_help(
                    range.at(),
                    message,
                    reason,
                    "choose from fewer values, and compute larger ones from them",
                );
                return None;
            }
            _ => {
                self.empty_range(range, (from, to), "`choose`");
                return None;
            }
        };
        let site = self.site(SiteKind::Choose, format!("{from}..{to}"), at);
        Some(Expr::new(ExprKind::Choose { from, values, site }, Type::Int))
    }

    /// Evaluates the ends of a range of constants.
    pub(super) fn constant_range(&mut self, range: &ast::Range, of: &str) -> Option<(i64, i64)> {
        let from = self.constant_of(&range.from, &Type::Int, &format!("the first value of {of}"));
        let to = self.constant_of(&range.to, &Type::Int, &format!("the end of the range of {of}"));
        Some((from?, to?))
    }

    /// Reports a range without values.
    pub(super) fn empty_range(&mut self, range: &ast::Range, (from, to): (i64, i64), of: &str) {
        let reason = format!("no value lies in {from}..{to}");
        let help =
            "write the smallest value, `..`, and one more than the largest value: a range does not include its end";
        self.error_help(range.at(), format!("the range of {of} is empty"), reason, help);
    }

    /// Lowers the name of an instance: `as "name"`
    pub(super) fn instance(&mut self, instance: Option<&InstanceName>) -> Option<TextId> {
        match instance? {
            InstanceName::Name(text) => {
                self.out.declares_transactions = true;
                self.transactions.insert(text.text.clone());
                Some(self.text(&text.text))
            }
            InstanceName::Expr(e) => {
                self.error_help(
                    e.at,
                    "`as` takes a name in quotes",
                    "this is an expression",
                    "write a name, as in `as \"MainActivity\"`",
                );
                None
            }
        }
    }

    /// Lowers an operand that must have a queue of its own: a looper or a thread.
    pub(super) fn on_looper(&mut self, e: &ast::Expr, what: &str) -> Option<Expr> {
        self.one_type(e, &[Type::Looper, Type::Thread], what, "a looper, or a thread with a queue")
    }

    /// Lowers an operand that names a whole queue: a looper, a thread or a pool.
    pub(super) fn on_queue(&mut self, e: &ast::Expr, what: &str) -> Option<Expr> {
        self.queue_of(e, &[Type::Looper, Type::Thread, Type::Pool], what, "a looper, a pool, or a thread with a queue")
    }

    /// Lowers the target of messages: a looper, thread, pool or handler.
    pub(super) fn queue(&mut self, e: &ast::Expr, what: &str) -> Option<Expr> {
        self.queue_of(
            e,
            &[Type::Looper, Type::Thread, Type::Pool, Type::Handler],
            what,
            "a looper, a pool, a handler, or a thread with a queue",
        )
    }

    // The workers of a pool stay alike if `self` only stands for their queue.
    fn queue_of(&mut self, e: &ast::Expr, types: &[Type], what: &str, wanted: &str) -> Option<Expr> {
        let seen = self.out.thread_values;
        let value = self.one_type(e, types, what, wanted);
        if let ast::ExprKind::SelfThread = e.kind {
            self.out.thread_values = seen;
        }
        value
    }

    /// Lowers an expression whose type must be one of `types`.
    pub(super) fn one_type(&mut self, e: &ast::Expr, types: &[Type], what: &str, wanted: &str) -> Option<Expr> {
        let value = self.value(e)?;
        if types.contains(&value.ty) {
            return Some(value);
        }
        let ty = self.name_of(&value.ty);
        let help = if matches!(value.ty, Type::Handler) {
            Some("name the looper itself: a handler only leads to it")
        } else {
            None
        };
        let mut problem =
            crate::lang::Diagnostic::new(e.at.0, format!("{what} needs {wanted}"), format!("this is {}", article(&ty)));
        problem.help = help.map(str::to_owned);
        self.problems.add(problem);
        None
    }

    /// Lowers an operand that can be held: a lock or an object. `what` is the statement.
    pub(super) fn monitor(&mut self, e: &ast::Expr, what: &str) -> Option<Expr> {
        let value = self.value(e)?;
        let help = match &value.ty {
            Type::Lock | Type::Object(_) => return Some(value),
            Type::RwLock => "hold a rwlock with `read rw { }` or `write rw { }`",
            Type::Condition if what == "`wait`" => "name the lock, as in `wait c with m`",
            Type::Condition if what == "`notify_all`" => "signal a condition with `signal_all c`",
            Type::Condition if what == "`notify`" => "signal a condition with `signal c`",
            Type::Semaphore => "use `down s` and `up s` for a semaphore",
            Type::Barrier => "use `arrive b` for a barrier",
            _ => "use a lock, or any object of a class",
        };
        let ty = self.name_of(&value.ty);
        self.error_help(e.at, format!("{what} needs a lock or an object"), format!("this is {}", article(&ty)), help);
        None
    }

    /// Lowers a condition. `what` is the statement; `other` is the advice for an operand that is a lock or object.
    pub(super) fn condition(&mut self, e: &ast::Expr, what: &str, other: &str) -> Option<Expr> {
        let value = self.value(e)?;
        if value.ty == Type::Condition {
            return Some(value);
        }
        let ty = self.name_of(&value.ty);
        let help = match value.ty {
            Type::Lock | Type::Object(_) => other.to_owned(),
            _ => "declare a condition with `condition c`".to_owned(),
        };
        self.error_help(e.at, format!("{what} needs a condition"), format!("this is {}", article(&ty)), help);
        None
    }

    fn milliseconds(&mut self, e: Option<&ast::Expr>) -> Option<Option<Box<Expr>>> {
        match e {
            None => Some(None),
            Some(e) => Some(Some(Box::new(self.expr_of(e, &Type::Int, "a timeout")?))),
        }
    }

    fn wait(&mut self, on: &ast::Expr, with: Option<&ast::Expr>, timeout: Option<&ast::Expr>, at: At) -> Option<Expr> {
        let (object, with) = if let Some(lock) = with {
            let text = place_text(on);
            let help = format!(
                "write `wait {text}` to wait on the lock itself, or `wait c with {text}` to wait on a condition"
            );
            let object = self.condition(on, "`wait ... with`", &help);
            let lock = self.one_type(lock, &[Type::Lock], "`with`", "a lock or mutex");
            (object?, Some(Box::new(lock?)))
        } else {
            let object = self.monitor(on, "`wait`")?;
            if self.is_mutex(&object) {
                self.error_help(
                    on.at,
                    "a mutex has no wait set",
                    "it is declared as `mutex`",
                    "declare it as `lock`, or wait on a condition: `wait c with m`",
                );
                return None;
            }
            (object, None)
        };
        let timeout = self.milliseconds(timeout)?;
        let site = self.site(SiteKind::Wait, place_text(on), at);
        Some(Expr::new(ExprKind::Wait { object: Box::new(object), with, timeout, site }, Type::Bool))
    }

    /// Returns whether an expression is a `mutex`, as far as this is known statically.
    fn is_mutex(&self, e: &Expr) -> bool {
        let first = match &e.kind {
            ExprKind::Word(index) | ExprKind::Indexed { first: index, .. } if e.ty == Type::Lock => *index,
            _ => return false,
        };
        usize::try_from(first).ok().and_then(|i| self.out.locks.get(i)).is_some_and(|lock| !lock.reentrant)
    }
}

/// Formats the place of a post or cancel: `task -> main`
pub(super) fn arrow(what: &str, to: &ast::Expr) -> String {
    format!("{what} -> {}", place_text(to))
}
