//! Lowers statements that are one operation.

use super::Checker;
use super::names::NameMeaning;
use super::ops::arrow;
use super::sites::place_text;
use crate::event::{BodyId, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, StmtKind as Ast, Verb};
use crate::lang::program::{ClassId, Expr, Simple, Type};

/// An operation, the kind of its site, and the text of its operand.
type Operation = (Simple, SiteKind, String);

impl Checker {
    /// Lowers a statement of one operation.
    pub(super) fn verb(&mut self, stmt: &Ast, at: At) -> Option<Operation> {
        let nothing = String::new();
        Some(match stmt {
            Ast::Verb { verb, operand } => {
                self.verb_suspends(*verb, at)?;
                self.verb_of(*verb, operand)?
            }
            Ast::Send { channel, value } => {
                self.suspends(at, "`send`")?;
                let (to, value) = self.sent(channel, value)?;
                (Simple::Send { channel: to, value }, SiteKind::Send, place_text(channel))
            }
            Ast::Skip => (Simple::Skip, SiteKind::Skip, nothing),
            Ast::Switch(to) => (self.switch(to, at)?, SiteKind::Switch, place_text(to)),
            Ast::Yield => {
                self.suspends(at, "`yield`")?;
                (Simple::Yield, SiteKind::Yield, nothing)
            }
            Ast::AttachQueue => (Simple::AttachQueue, SiteKind::AttachQueue, nothing),
            Ast::LoopQueue => (Simple::LoopQueue, SiteKind::Begin, nothing),
            Ast::Quit { target, safely } => {
                let looper = self.on_queue(target, "`quit`")?;
                (Simple::Quit { looper, safely: *safely }, SiteKind::Quit, place_text(target))
            }
            Ast::Cancel { task, with, target } => {
                let body = task.as_ref().map(|task| self.posted(task));
                let to = self.queue(target, "`cancel`")?;
                let token = with.as_ref().map(|token| self.token(token));
                let text = arrow(task.as_ref().map_or("all", |t| &t.text), target);
                let body = match body {
                    None => None,
                    Some(body) => Some(body?),
                };
                let token = match token {
                    None => None,
                    Some(token) => Some(token?),
                };
                (Simple::Cancel { body, token, target: to }, SiteKind::Cancel, text)
            }
            Ast::Enable { event, args, instance } => {
                let (id, body) = self.event_named(event)?;
                let args = self.args(body, event, args, at)?;
                let instance = match instance {
                    None => None,
                    Some(instance) => Some(self.instance(Some(instance))?),
                };
                (Simple::Enable { event: id, args, instance }, SiteKind::Enable, event.text.clone())
            }
            Ast::Disable { event } => {
                let (id, _) = self.event_named(event)?;
                (Simple::Disable(id), SiteKind::Disable, event.text.clone())
            }
            Ast::Register { task, listener } => {
                let (body, id) = (self.plain_task(task, "`register`"), self.listener(listener));
                let (body, id) = (body?, id?);
                self.same_parameters(task, body, listener, id)?;
                if !self.scope.dead {
                    self.registered.entry(id).or_default().insert(body);
                }
                let text = format!("{} -> {}", task.text, listener.text);
                (Simple::Register { body, listener: id }, SiteKind::Register, text)
            }
            Ast::Unregister { task, listener } => {
                let (body, id) = (self.task(task), self.listener(listener));
                let (body, id) = (body?, id?);
                self.same_parameters(task, body, listener, id)?;
                let text = format!("{} -> {}", task.text, listener.text);
                (Simple::Unregister { body, listener: id }, SiteKind::Unregister, text)
            }
            Ast::Perform { listener, args } => {
                let id = self.listener(listener)?;
                let params: Vec<(String, Type)> =
                    self.listeners[id].iter().map(|ty| ("_".into(), ty.clone())).collect();
                let args = self.args_for(&params, listener, args, at)?;
                (Simple::Perform { listener: id, args }, SiteKind::Perform, listener.text.clone())
            }
            _ => unreachable!("not a statement of one operation"),
        })
    }

    fn verb_of(&mut self, verb: Verb, e: &ast::Expr) -> Option<Operation> {
        let text = place_text(e);
        let object = |c: &mut Self, what| -> Option<Expr> {
            let value = c.value(e)?;
            if let Type::Object(_) = value.ty {
                return Some(value);
            }
            c.fit(value, &Type::Object(ClassId(0)), e.at, what)
        };
        let signal = |c: &mut Self, all| -> Option<Operation> {
            let (what, other) = if all { ("`signal_all`", "notify_all") } else { ("`signal`", "notify") };
            let condition =
                c.condition(e, what, &format!("notify a lock or object with `{other} {}`", place_text(e)))?;
            Some((Simple::Signal { condition, all }, SiteKind::Notify, place_text(e)))
        };
        let notify = |c: &mut Self, all| -> Option<Operation> {
            let object = c.monitor(e, if all { "`notify_all`" } else { "`notify`" })?;
            Some((Simple::Notify { object, all }, SiteKind::Notify, place_text(e)))
        };
        let thread = &Type::Thread;
        Some(match verb {
            Verb::Use => (Simple::Use(object(self, "the operand of `use`")?), SiteKind::Use, text),
            Verb::Delete => (Simple::Delete(object(self, "the operand of `delete`")?), SiteKind::Free, text),
            Verb::Lift => (Simple::Lift(self.expr_of(e, &Type::Fence, "the operand of `lift`")?), SiteKind::Lift, text),
            Verb::Join => (self.join(e)?, SiteKind::Join, text),
            Verb::Interrupt => {
                (Simple::Interrupt(self.expr_of(e, thread, "the operand of `interrupt`")?), SiteKind::Interrupt, text)
            }
            Verb::Acquire => (Simple::Acquire(self.monitor(e, "`acquire`")?), SiteKind::Acquire, text),
            Verb::Release => (Simple::Release(self.monitor(e, "`release`")?), SiteKind::Release, text),
            Verb::Notify => notify(self, false)?,
            Verb::NotifyAll => notify(self, true)?,
            Verb::Signal => signal(self, false)?,
            Verb::SignalAll => signal(self, true)?,
            Verb::Arrive => {
                (Simple::Arrive(self.expr_of(e, &Type::Barrier, "the operand of `arrive`")?), SiteKind::Arrive, text)
            }
            Verb::Down => {
                (Simple::Down(self.expr_of(e, &Type::Semaphore, "the operand of `down`")?), SiteKind::Down, text)
            }
            Verb::Up => (Simple::Up(self.expr_of(e, &Type::Semaphore, "the operand of `up`")?), SiteKind::Up, text),
            Verb::Close => (Simple::Close(self.closed(e)?), SiteKind::Close, text),
            Verb::Sleep => (Simple::Sleep(self.expr_of(e, &Type::Int, "a time")?), SiteKind::Sleep, String::new()),
        })
    }

    /// Returns the body that can be in a queue: a task, or the handler of an event.
    fn posted(&mut self, name: &ast::Name) -> Option<BodyId> {
        match self.names.get(&name.text).map(|e| e.named.clone()) {
            Some(NameMeaning::Event(_, body)) => {
                self.note_use(name);
                Some(body)
            }
            _ => self.task(name),
        }
    }

    fn event_named(&mut self, name: &ast::Name) -> Option<(crate::event::EventId, BodyId)> {
        match self.find(name, "event", |n| matches!(n, NameMeaning::Event(..)))? {
            NameMeaning::Event(event, body) => Some((event, body)),
            NameMeaning::Broken => None,
            _ => {
                self.wrong_kind(name, "an event", Some("declare it as `event name on looper { }`".into()));
                None
            }
        }
    }

    fn same_parameters(
        &mut self,
        task: &ast::Name,
        body: BodyId,
        listener: &ast::Name,
        id: crate::event::ListenerId,
    ) -> Option<()> {
        let have: Vec<Type> = self.signatures[body].params.iter().map(|(_, ty)| ty.clone()).collect();
        if have == self.listeners[id] {
            return Some(());
        }
        let list = |c: &Self, types: &[Type]| types.iter().map(|t| c.name_of(t)).collect::<Vec<_>>().join(", ");
        let (have, want) = (list(self, &have), list(self, &self.listeners[id]));
        let message = format!("`{}` does not fit the listener `{}`", task.text, listener.text);
        let problem =
            Diagnostic::new(task.at.0, message, format!("it takes ({have}), and the listener passes ({want})"));
        let declared = self.names[&listener.text].span;
        self.problems.add(problem.note(declared, "the listener is declared here"));
        None
    }
}
