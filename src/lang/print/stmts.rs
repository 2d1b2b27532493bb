//! Prints statements.

use super::super::ast::{
    BaseType, Block, Cond, Else, Expr, ExprKind, Field, Label, Name, Over, Range, SelectCase, SelectKind, Stmt,
    StmtKind, Type,
};
use super::TreePrinter;

impl TreePrinter {
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        if let Some(label) = &stmt.label {
            self.label(label);
        }
        match &stmt.kind {
            StmtKind::Let(field) => {
                self.push("let ");
                self.field(field);
            }
            StmtKind::Assign { place, op, value } => {
                match place.kind {
                    ExprKind::Plain(_) => self.expr(place),
                    _ => self.place(place),
                }
                self.push(" ");
                self.push(op.map_or("", |op| op.word()));
                self.push("= ");
                self.value(value);
            }
            StmtKind::Expr(expr) => self.right_side(expr),
            StmtKind::If { cond, then, other } => self.if_(cond, then, other.as_ref()),
            StmtKind::While { cond, body } => {
                self.push("while ");
                self.cond(cond);
                self.block(body);
            }
            StmtKind::Loop { body } => self.headed("loop", body),
            StmtKind::LoopQueue => self.push("loop queue"),
            StmtKind::For { name, over, body } => {
                self.push("for ");
                self.name(name);
                self.push(" in ");
                match over {
                    Over::Range(range) => self.range(range),
                    Over::List(list) => self.expr(list),
                }
                self.block(body);
            }
            StmtKind::Break => self.push("break"),
            StmtKind::Continue => self.push("continue"),
            StmtKind::Return(None) => self.push("return"),
            StmtKind::Return(Some(value)) => {
                self.push("return ");
                self.right_side(value);
            }
            StmtKind::Assert { cond, message } => {
                self.push("assert ");
                self.expr(cond);
                self.message(", ", message.as_ref());
            }
            StmtKind::Fail { message } => self.message("fail ", Some(message)),
            StmtKind::Throw { name, message } => {
                self.push("throw ");
                self.name(name);
                self.message(", ", message.as_ref());
            }
            StmtKind::Try { body, catch, finally } => {
                self.headed("try", body);
                for each in catch {
                    self.push(" catch");
                    if let Some(name) = &each.name {
                        self.push(" ");
                        self.name(name);
                    }
                    self.block(&each.body);
                }
                if let Some(body) = finally {
                    self.headed(" finally", body);
                }
            }
            StmtKind::Sync { mode, object, timeout, body, other } => {
                self.push(mode.word());
                self.push(" ");
                self.expr(object);
                self.timeout(timeout.as_ref());
                self.block(body);
                if let Some(other) = other {
                    self.headed(" else", other);
                }
            }
            StmtKind::Transaction { name, body } => {
                self.push("transaction");
                self.message(" ", name.as_ref());
                self.block(body);
            }
            // A component that is written out has no units: a block with the name of the unit stands for one.
            StmtKind::Unit { name, body } => {
                self.push("transaction");
                self.message(" ", Some(name));
                self.block(body);
            }
            StmtKind::JobBlock { kind, body } => self.headed(kind.word(), body),
            StmtKind::Select { cases } => self.select(cases),
            _ => self.verb_stmt(&stmt.kind),
        }
    }

    fn verb_stmt(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Verb { verb, operand } => {
                self.push(verb.word());
                self.push(" ");
                self.expr(operand);
            }
            StmtKind::Send { channel, value } => self.sends(channel, value),
            StmtKind::Side { acquire, mode, object } => {
                self.push(if *acquire { "acquire " } else { "release " });
                self.push(mode.word());
                self.push(" ");
                self.place(object);
            }
            StmtKind::Skip => self.push("skip"),
            StmtKind::Yield => self.push("yield"),
            StmtKind::AttachQueue => self.push("attach queue"),
            StmtKind::Quit { target, safely } => {
                self.push("quit ");
                self.place(target);
                self.push(if *safely { " safely" } else { "" });
            }
            StmtKind::Cancel { task, with, target } => {
                self.push("cancel ");
                self.push(task.as_ref().map_or("all", |task| &task.text));
                if let Some(token) = with {
                    self.push(" with ");
                    self.before_word(token);
                }
                self.push(" on ");
                self.place(target);
            }
            StmtKind::Enable { event, args, instance } => {
                self.named("enable ", event, args);
                self.instance(instance.as_ref());
            }
            StmtKind::Disable { event } => self.named("disable ", event, &[]),
            StmtKind::Register { task, listener } => {
                self.named("register ", task, &[]);
                self.named(" to ", listener, &[]);
            }
            StmtKind::Unregister { task, listener } => {
                self.named("unregister ", task, &[]);
                self.named(" from ", listener, &[]);
            }
            StmtKind::Perform { listener, args } => {
                self.push("perform ");
                self.name(listener);
                self.args(args);
            }
            StmtKind::Switch(to) => {
                self.push("switch to ");
                self.place(to);
            }
            StmtKind::CancelOne(place) => {
                self.push("cancel ");
                self.message_to_cancel(place);
            }
            StmtKind::Withdraw { request } => {
                self.push("withdraw ");
                self.expr(request);
            }
            StmtKind::ForInstances { name, component, body } => {
                self.named("for ", name, &[]);
                self.named(" in instances of ", component, &[]);
                self.block(body);
            }
            // `stmt` prints these statements.
            StmtKind::Let(_)
            | StmtKind::Assign { .. }
            | StmtKind::Expr(_)
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Loop { .. }
            | StmtKind::LoopQueue
            | StmtKind::For { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Assert { .. }
            | StmtKind::Fail { .. }
            | StmtKind::Throw { .. }
            | StmtKind::Try { .. }
            | StmtKind::Sync { .. }
            | StmtKind::Select { .. }
            | StmtKind::JobBlock { .. }
            | StmtKind::Transaction { .. }
            | StmtKind::Unit { .. } => {}
        }
    }

    fn label(&mut self, label: &Label) {
        self.push("@");
        self.name(&label.name);
        self.message(" from ", label.from.as_ref());
        self.push(": ");
    }

    fn cond(&mut self, cond: &Cond) {
        match cond {
            Cond::Star(_) => self.push("*"),
            Cond::Expr(expr) => self.expr(expr),
        }
    }

    fn if_(&mut self, cond: &Cond, then: &Block, other: Option<&Else>) {
        self.push("if ");
        self.cond(cond);
        self.block(then);
        match other {
            None => {}
            Some(Else::Block(block)) => self.headed(" else", block),
            Some(Else::If(stmt)) => {
                self.push(" else ");
                self.stmt(stmt);
            }
        }
    }

    fn sends(&mut self, channel: &Expr, value: &Expr) {
        self.push("send ");
        self.before_word(channel);
        self.push(" ");
        self.expr(value);
    }

    fn select(&mut self, cases: &[SelectCase]) {
        self.push("select");
        self.braces(cases, |printer, case| {
            match &case.kind {
                SelectKind::Receive { channel, value, received } => {
                    printer.push("recv ");
                    printer.place(channel);
                    for (before, name) in [(" as ", value), (", ", received)] {
                        if let Some(name) = name {
                            printer.push(before);
                            printer.name(name);
                        }
                    }
                }
                SelectKind::Send { channel, value } => printer.sends(channel, value),
                SelectKind::After(delay) => {
                    printer.push("after ");
                    printer.expr(delay);
                }
                SelectKind::Else => printer.push("else"),
            }
            printer.block(&case.body);
        });
    }

    fn headed(&mut self, head: &str, body: &Block) {
        self.push(head);
        self.block(body);
    }

    /// Prints a name, with its arguments if there are any.
    fn named(&mut self, before: &str, name: &Name, args: &[Expr]) {
        self.push(before);
        self.name(name);
        if !args.is_empty() {
            self.args(args);
        }
    }

    pub(super) fn range(&mut self, range: &Range) {
        self.expr(&range.from);
        self.push("..");
        self.expr(&range.to);
    }

    pub(super) fn field(&mut self, field: &Field) {
        self.name(&field.name);
        self.annotation(field.ty.as_ref());
        if let Some(value) = &field.value {
            self.push(" = ");
            self.value(value);
        }
    }

    pub(super) fn annotation(&mut self, ty: Option<&Type>) {
        if let Some(ty) = ty {
            self.push(": ");
            self.ty(ty);
        }
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.base {
            BaseType::Name(name) => self.name(name),
            BaseType::List(inner) | BaseType::Channel(inner) | BaseType::Job(inner) => {
                self.push(match ty.base {
                    BaseType::List(_) => "list[",
                    BaseType::Channel(_) => "channel[",
                    _ => "job[",
                });
                self.ty(inner);
                self.push("]");
            }
        }
        for length in &ty.lengths {
            self.push("[");
            self.expr(length);
            self.push("]");
        }
    }
}
