//! Lowers posts and the removal of one message.

use super::Checker;
use super::names::NameMeaning;
use super::ops::arrow;
use super::sites::place_text;
use super::types::article;
use crate::event::{ComponentId, SiteKind};
use crate::lang::ast::{self, At, Name, Op, PostTimeAst};
use crate::lang::program::{ClassId, Expr, ExprKind, PostOptionsExpr, PostTimeExpr, Simple, Stmt, Type};
use crate::lang::words::CANCEL;

impl Checker {
    /// Lowers a post.
    pub(super) fn post(&mut self, op: &Op, at: At) -> Option<Expr> {
        let Op::Post { object, task, args, target: on, time, is_async, options, instance } = op else {
            unreachable!("the caller has a post")
        };
        let object = match object {
            Some(e) => Some((self.value(e)?, e)),
            None => None,
        };
        let task = match &object {
            Some((object, e)) => &self.task_of_object(object, task, e.at)?,
            None => task,
        };
        let body = self.plain_task(task, "a post");
        let args = body.map(|body| self.args_with(body, object.map(|(object, _)| object), task, args, at));
        let to = self.queue(on, "a post");
        let is_pool = to.as_ref().is_some_and(|to| to.ty == Type::Pool);
        let fits = self.options_fit(time, *is_async, options, at) && (!is_pool || self.fits_pool(time, *is_async, at));
        let time = match time {
            PostTimeAst::Now => Some(PostTimeExpr::Now),
            PostTimeAst::Front => Some(PostTimeExpr::Front),
            PostTimeAst::Micro => Some(PostTimeExpr::Micro),
            PostTimeAst::Idle { keep } => Some(PostTimeExpr::Idle { keep: *keep }),
            PostTimeAst::OrNow => body.map(|body| PostTimeExpr::OrNow(self.call_of(body))),
            PostTimeAst::After(e) => self.expr_of(e, &Type::Int, "a delay").map(|e| PostTimeExpr::After(Box::new(e))),
            PostTimeAst::At(e) => self.expr_of(e, &Type::Int, "a time").map(|e| PostTimeExpr::At(Box::new(e))),
        };
        let with = options.with.as_ref().map(|token| self.token(token));
        let every = options.every.as_ref().map(|period| self.expr_of(period, &Type::Int, "a period"));
        let instance = self.instance(instance.as_ref());
        let (body, args, target, time) = (body?, args??, Box::new(to?), time?);
        let options = PostOptionsExpr {
            with: if let Some(token) = with { Some(token?) } else { None },
            every: if let Some(period) = every { Some(period?) } else { None },
            daemon: options.daemon,
            handle: self.out.handles,
        };
        if !fits {
            return None;
        }
        let site = self.site(SiteKind::Post, arrow(&task.text, on), at);
        let (is_async, options) = (*is_async, Box::new(options));
        let kind = ExprKind::Post { body, args, target, time, is_async, options, instance, site };
        Some(Expr::new(kind, Type::Message))
    }

    // The full name of a task of an object, which must be an instance of a component.
    fn task_of_object(&mut self, object: &Expr, task: &ast::Name, at: At) -> Option<ast::Name> {
        match self.task_of_instance(object, task) {
            Ok(full) => full,
            Err(()) => {
                let ty = self.name_of(&object.ty);
                self.error_help(
                    at,
                    "only instances of components have tasks of their own",
                    format!("this is {}", article(&ty)),
                    format!("pass the object as an argument: `post {}(..) to ..`", task.text),
                );
                None
            }
        }
    }

    // Reports options that do not go with the time of a post.
    fn options_fit(&mut self, time: &PostTimeAst, is_async: bool, options: &ast::PostOptionsAst, at: At) -> bool {
        let (what, plain) = match time {
            PostTimeAst::Micro => ("a microtask", false),
            PostTimeAst::Idle { .. } => ("an idle handler", false),
            PostTimeAst::OrNow => ("a post `or now`", false),
            PostTimeAst::Front => ("a post at the front", true),
            PostTimeAst::Now | PostTimeAst::After(_) | PostTimeAst::At(_) => return true,
        };
        let (option, reason) = match time {
            PostTimeAst::Micro if is_async => ("async", "fences never hold a microtask back"),
            PostTimeAst::Idle { .. } if is_async => ("async", "a looper behind a fence is not idle"),
            _ if options.every.is_some() => ("every", "only a message with a due time returns to its queue"),
            _ if options.daemon && !plain => ("daemon", "only a message can be a daemon"),
            _ if options.with.is_some() && !plain => ("with", "only messages are removed by their token"),
            _ => return true,
        };
        self.error_help(at, format!("{what} cannot be `{option}`"), reason, format!("leave `{option}` out"));
        false
    }

    // Reports what a post to a pool cannot have.
    fn fits_pool(&mut self, time: &PostTimeAst, is_async: bool, at: At) -> bool {
        let (word, reason) = match time {
            _ if is_async => ("async", "a pool has no fences"),
            PostTimeAst::Front => ("at front", "tasks of a pool begin in the order of their posts"),
            PostTimeAst::At(_) => ("at", "a pool knows delays, not instants"),
            PostTimeAst::Micro => ("micro", "no single thread runs the tasks of a pool"),
            PostTimeAst::Idle { .. } => ("idle", "a pool has no idle handlers"),
            PostTimeAst::OrNow => ("or now", "a post to a pool never runs its task inline"),
            PostTimeAst::Now | PostTimeAst::After(_) => return true,
        };
        let help = format!("leave `{word}` out, or post to a looper");
        self.error_help(at, format!("a post to a pool cannot be `{word}`"), reason, help);
        false
    }

    /// Lowers the token of messages: any object.
    pub(super) fn token(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.value(e)?;
        if let Type::Object(_) = value.ty {
            return Some(value);
        }
        self.fit(value, &Type::Object(ClassId(0)), e.at, "a token")
    }

    /// Lowers the statement `cancel place`: the place is one message, one job, or a component whose kind has such a
    /// verb.
    pub(super) fn cancel_one(&mut self, place: &ast::Expr, at: At) -> Option<Stmt> {
        if let Some(component) = self.named_component(place) {
            return self.cancel_component((component, None), place, at).map(Stmt::Expr);
        }
        let value = self.cancelled(place, "a message or a job")?;
        if let Type::Job(_) = value.ty {
            let site = self.site(SiteKind::CancelJob, place_text(place), at);
            return Some(Stmt::Do { op: Simple::CancelJob(value), site });
        }
        if value.ty == Type::Message {
            return Some(Stmt::Expr(self.cancel_message(value, at)));
        }
        if let Some(component) = self.component_of_type(&value.ty) {
            return self.cancel_component((component, Some(value)), place, at).map(Stmt::Expr);
        }
        self.not_cancelled(&value, place, "a message or a job")
    }

    // Lowers the verb `cancel` of a kind, without arguments.
    fn cancel_component(&mut self, of: (ComponentId, Option<Expr>), place: &ast::Expr, at: At) -> Option<Expr> {
        let start = at.0.start;
        let word = ast::Span { start, end: start + CANCEL.len() as u32 };
        let verb = Name { text: CANCEL.to_owned(), at: At(word) };
        self.verb_of_component(&verb, of, place.at, &[], at)
    }

    /// Lowers the expression `cancel m`. Its value says whether the message was removed. A verb of a kind may give a
    /// value as well.
    pub(super) fn cancel(&mut self, message: &ast::Expr, at: At) -> Option<Expr> {
        if let Some(component) = self.named_component(message) {
            return self.cancel_component((component, None), message, at);
        }
        let value = self.cancelled(message, "a message")?;
        if value.ty == Type::Message {
            return Some(self.cancel_message(value, at));
        }
        if let Some(component) = self.component_of_type(&value.ty) {
            return self.cancel_component((component, Some(value)), message, at);
        }
        self.not_cancelled(&value, message, "a message")
    }

    /// Lowers the removal of a message that has been lowered.
    fn cancel_message(&mut self, message: Expr, at: At) -> Expr {
        let site = self.site(SiteKind::Cancel, String::new(), at);
        Expr::new(ExprKind::CancelMessage { message: Box::new(message), site }, Type::Bool)
    }

    // Lowers the operand of a `cancel` without a queue.
    fn cancelled(&mut self, e: &ast::Expr, needed: &str) -> Option<Expr> {
        if let ast::ExprKind::Name(name) = &e.kind
            && self.local(name).is_none()
            && let Some(NameMeaning::Task(_) | NameMeaning::Event(..)) = self.names.get(name).map(|n| &n.named)
        {
            let help = format!("name the looper or handler, as in `cancel {name} on main`");
            let message = format!("`cancel` needs {needed}, or the queue of a task");
            self.error_help(e.at, message, "this is a task", help);
            return None;
        }
        self.value(e)
    }

    fn not_cancelled<T>(&mut self, value: &Expr, e: &ast::Expr, needed: &str) -> Option<T> {
        let ty = self.name_of(&value.ty);
        let help = "a message is the value of a post, `let m = post f() to main`; a job is that of a `launch`; an \
                    instance of a component is that of the verb which makes it, as in `let t = execute Load(this)`";
        self.error_help(e.at, format!("`cancel` needs {needed}"), format!("this is {}", article(&ty)), help);
        None
    }
}
