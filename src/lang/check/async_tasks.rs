//! Lowers what belongs to async tasks: launches, suspension points, questions about jobs.

use super::Checker;
use super::places::PlaceMeaning;
use super::sites::place_text;
use super::types::article;
use crate::event::{BlockKind, BodyId, JobQuestion, SiteKind};
use crate::lang::ast::{self, At, ItemKind, LaunchWords, Name, TaskMode, Verb};
use crate::lang::program::{Expr, ExprKind, LaunchParentExpr, LaunchPlaceExpr, Simple, Stmt, Type};
use crate::world::ThrownException;
use std::sync::Arc;

impl Checker {
    /// Adds the exception of cancellations to the program, if the file has async tasks.
    pub(super) fn async_exceptions(&mut self, file: &ast::File) {
        let is_async = |item: &ast::Item| match &item.kind {
            ItemKind::Task { mode, .. } => *mode != TaskMode::Plain,
            ItemKind::Member(member) => member.mode != TaskMode::Plain,
            _ => false,
        };
        if file.items.iter().any(is_async) {
            self.exception(ThrownException::Cancelled.name());
        }
    }

    /// Returns whether this is the name of the exception of cancellations, in a file with async tasks.
    pub(super) fn is_cancellation(&self, name: &str) -> bool {
        name == ThrownException::Cancelled.name() && self.out.bodies.iter().any(|body| body.is_async())
    }

    /// Returns whether the body that is being lowered is that of an async task.
    fn in_async(&self) -> bool {
        self.scope.body.is_some_and(|body| self.out.bodies[body].is_async())
    }

    /// Returns a task that is not async, or reports an error. `what` is the operation that needs it.
    pub(super) fn plain_task(&mut self, name: &Name, what: &str) -> Option<BodyId> {
        let body = self.task(name)?;
        if !self.out.bodies[body].is_async() {
            return Some(body);
        }
        let help = format!("write `launch {}(...) on main`", name.text);
        self.error_help(name.at, format!("{what} of an async task"), "an async task is launched", help);
        None
    }

    /// Checks a call of an async task, which may suspend the caller.
    pub(super) fn async_call(&mut self, name: &Name, body: BodyId) -> Option<()> {
        if !self.out.bodies[body].is_async() {
            return Some(());
        }
        if !self.in_async() {
            let help = format!("write `launch {}(...)`, or make the caller an `async task`", name.text);
            let message = format!("`{}` is an async task", name.text);
            self.error_help(name.at, message, "only async tasks call async tasks", help);
            return None;
        }
        self.suspends(name.at, "a call of an async task")
    }

    /// Reports a suspension point inside a block that holds a lock. Outside async tasks nothing is reported.
    pub(super) fn suspends(&mut self, at: At, what: &str) -> Option<()> {
        if self.scope.held == 0 || !self.in_async() {
            return Some(());
        }
        let help = "release the lock first; a `semaphore` can be held while the task waits: `down s` ... `up s`";
        self.error_help(at, format!("{what} while a lock is held"), "other messages would run meanwhile", help);
        None
    }

    /// Checks a statement of a verb that is a suspension point in an async task.
    pub(super) fn verb_suspends(&mut self, verb: Verb, at: At) -> Option<()> {
        match verb {
            Verb::Sleep | Verb::Join | Verb::Down => self.suspends(at, &format!("`{}`", verb.word())),
            _ => Some(()),
        }
    }

    // Returns whether a launch of this body makes a promise. It runs at once, and no job owns it.
    fn is_micro(&self, body: Option<BodyId>) -> bool {
        body.is_some_and(|body| self.out.bodies[body].mode == TaskMode::AsyncMicro)
    }

    /// Lowers a launch.
    pub(super) fn launch(&mut self, task: &Name, args: &[ast::Expr], words: &LaunchWords, at: At) -> Option<Expr> {
        let body = self.task(task);
        let args = body.map(|body| self.args(body, task, args, at));
        let place = match &words.on {
            Some(place) => self.queue(place, "a launch").map(|to| LaunchPlaceExpr::On(Box::new(to))),
            None if words.now || self.is_micro(body) => Some(LaunchPlaceExpr::Now),
            None => Some(LaunchPlaceExpr::Here),
        };
        let parent = match &words.within {
            Some(job) => self.job(job, "`in`").map(|job| LaunchParentExpr::In(Box::new(job))),
            None if words.detached || self.is_micro(body) => Some(LaunchParentExpr::NoParent),
            None => Some(LaunchParentExpr::Caller),
        };
        let (body, args, place, parent) = (body?, args??, place?, parent?);
        if !self.out.bodies[body].is_async() {
            let help = format!("declare it as `async task {}`, or `post` it", task.text);
            self.error_help(task.at, format!("`{}` is not async", task.text), "only async tasks are launched", help);
            return None;
        }
        let result = self.signatures[body].result.clone()?;
        let text = words.on.as_ref().map_or_else(|| task.text.clone(), |to| super::ops::arrow(&task.text, to));
        let site = self.site(SiteKind::Launch, text, at);
        Some(Expr::new(ExprKind::Launch { body, args, place, parent, site }, Type::Job(Arc::new(result))))
    }

    /// Lowers a block of an async task.
    pub(super) fn job_block(&mut self, kind: BlockKind, body: &ast::Block, out: &mut Vec<Stmt>) -> Option<()> {
        let at = self.scope.stmt_at;
        let what = format!("`{}`", kind.word());
        if !self.in_async() {
            let help = "write it in an `async task`; elsewhere, `spawn scope` makes a scope for jobs";
            self.error_help(at, format!("{what} outside an async task"), "only a job waits for its children", help);
            return None;
        }
        self.suspends(at, &what)?;
        let open = self.site(SiteKind::OpenBlock, kind.word().to_owned(), at);
        let body = self.block(body);
        let close = self.site(SiteKind::CloseBlock, kind.word().to_owned(), at);
        out.push(Stmt::JobBlock { kind, body, open, close });
        Some(())
    }

    /// Lowers a new scope.
    pub(super) fn spawn_scope(&mut self, at: At) -> Expr {
        let site = self.site(SiteKind::SpawnScope, String::new(), at);
        Expr::new(ExprKind::SpawnScope { site }, Type::Job(Arc::new(Type::Void)))
    }

    fn job(&mut self, e: &ast::Expr, what: &str) -> Option<Expr> {
        let value = self.value(e)?;
        if let Type::Job(_) = value.ty {
            return Some(value);
        }
        let ty = self.name_of(&value.ty);
        let help = "a job is the value of `launch task(...)` or `spawn scope`";
        self.error_help(e.at, format!("{what} needs a job"), format!("this is {}", article(&ty)), help);
        None
    }

    /// Lowers a `join` of a thread or a job.
    pub(super) fn join(&mut self, e: &ast::Expr) -> Option<Simple> {
        let value = self.value(e)?;
        if let Type::Job(_) = value.ty {
            return Some(Simple::Join(value));
        }
        self.fit(value, &Type::Thread, e.at, "the operand of `join`").map(Simple::Join)
    }

    /// Lowers a `switch`.
    pub(super) fn switch(&mut self, to: &ast::Expr, at: At) -> Option<Simple> {
        if !self.in_async() {
            self.error_help(
                at,
                "`switch` outside an async task",
                "only a job changes its looper",
                "`post` a task there",
            );
            return None;
        }
        self.suspends(at, "`switch`")?;
        self.on_queue(to, "`switch`").map(Simple::Switch)
    }

    /// Lowers a question about a job: `job.done`. `None` if the object is no job; then nothing is reported.
    pub(super) fn ask_job(&mut self, object: Expr, name: &Name, (of, at): (&ast::Expr, At)) -> Option<PlaceMeaning> {
        let Type::Job(result) = &object.ty else { return None };
        let (what, ty) = match name.text.as_str() {
            "done" => (JobQuestion::Done, Type::Bool),
            "cancelled" => (JobQuestion::Cancelled, Type::Bool),
            "result" if **result != Type::Void => (JobQuestion::Result, (**result).clone()),
            "result" => {
                let help =
                    "its task needs a result type: `async task name(): int`; a variable is declared as `job[int]`";
                self.error_help(name.at, "this job has no result", "its task returns nothing", help);
                return None;
            }
            _ => {
                let help = super::did_you_mean(&name.text, ["done", "cancelled", "result"])
                    .unwrap_or_else(|| "a job has `done`, `cancelled` and `result`".into());
                self.error_help(name.at, format!("a job has no field `{}`", name.text), "unknown", help);
                return None;
            }
        };
        if self.scope.mode != super::scope::Mode::Body {
            let help = "write `join j` to wait for a job; for a property, let the task set a variable";
            self.error_help(at, "a job in a condition", "a question about a job is a step of its own", help);
            return None;
        }
        let site = self.site(SiteKind::AskJob, format!("{}.{}", place_text(of), name.text), at);
        Some(PlaceMeaning::Value(Expr::new(ExprKind::AskJob { job: Box::new(object), what, site }, ty)))
    }
}
