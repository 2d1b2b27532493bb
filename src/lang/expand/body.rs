//! Writes out bodies: the statements of a component's callbacks and tasks, and those of its kind.

use super::super::ast::{
    At, BinaryOp, Block, Catch, Component, Cond, Else, Expr, ExprKind, Field, Following, Label, Name, Over, Param,
    Params, Range, SelectCase, SelectKind, Stmt, StmtKind, Value,
};
use super::super::diagnostic::Diagnostic;
use super::super::near::near;
use super::component::{kind_member_name, member_name};
use super::kinds::KindText;
use super::names::{Members, kept_name};
use super::{Links, Writer};
use std::collections::BTreeSet;

/// What a component does with a callback of the one that it follows.
pub(super) struct Follower<'f> {
    pub(super) component: &'f Component,
    /// Its field that holds the component which it follows.
    pub(super) field: &'static str,
    pub(super) pair: &'f Following,
    /// The name of its kind.
    pub(super) kind: &'f Name,
    /// The full name of its callback.
    pub(super) own: String,
}

impl Follower<'_> {
    // What happens with a callback of `object`.
    fn stmt(&self, at: At, object: &Expr) -> Stmt {
        let expr = |kind| Expr { kind, at };
        let field = |object: Expr, name| Box::new(expr(ExprKind::Field { object: Box::new(object), name }));
        let stmt = |kind| Stmt { label: None, kind, at };
        if let Some(value) = &self.pair.value {
            let place = *field(object.clone(), kept_name(self.kind, &self.pair.own));
            return stmt(StmtKind::Assign { place, op: None, value: Value::Expr(value.clone()) });
        }
        let each = Name { text: format!("each {}", self.component.name.text), at };
        let it = expr(ExprKind::Name(each.text.clone()));
        let left = field(it.clone(), Name { text: self.field.to_owned(), at });
        let is_it = ExprKind::Binary { op: BinaryOp::Eq, left, right: Box::new(object.clone()) };
        let call = ExprKind::Call { name: Name { text: self.own.clone(), at }, args: vec![it] };
        let block = |kind| Block { stmts: vec![stmt(kind)], at };
        let then = block(StmtKind::Expr(expr(call)));
        let test = StmtKind::If { cond: Cond::Expr(expr(is_it)), then, other: None };
        stmt(StmtKind::ForInstances { name: each, component: self.component.name.clone(), body: block(test) })
    }
}

/// Writes the bodies of one component.
pub(super) struct BodyWriter<'w, 'f> {
    pub(super) component: &'f Component,
    pub(super) kind: &'w KindText<'f>,
    pub(super) members: &'w Members<'f>,
    pub(super) looper: &'f Name,
    followers: &'w [Follower<'f>],
    pub(super) libraries: &'f super::Libraries,
    pub(super) used: &'w mut BTreeSet<String>,
    pub(super) links: &'w mut Links,
    errors: &'w mut Vec<Diagnostic>,
    /// Whether the text is that of the kind.
    pub(super) of_kind: bool,
    // The locals that are visible, innermost block last.
    locals: Vec<Name>,
    // The parameters that `..` stands for. `None` where `..` stands for nothing.
    pub(super) rest: Option<Vec<Name>>,
}

impl<'w, 'f> BodyWriter<'w, 'f> {
    pub(super) fn new(
        component: &'f Component,
        kind: &'w KindText<'f>,
        members: &'w Members<'f>,
        looper: &'f Name,
        writer: &'w mut Writer<'f>,
        followers: &'w [Follower<'f>],
    ) -> Self {
        Self {
            component,
            kind,
            members,
            looper,
            followers,
            libraries: writer.libraries,
            used: &mut writer.used,
            links: &mut *writer.links,
            errors: &mut writer.errors,
            of_kind: false,
            locals: Vec::new(),
            rest: None,
        }
    }

    pub(super) fn begin(&mut self, of_kind: bool) {
        self.of_kind = of_kind;
        self.locals.clear();
        self.rest = None;
    }

    /// Adds an error. One in the text of a kind names the component that it was written out for.
    pub(super) fn error(&mut self, error: Diagnostic) {
        let name = &self.component.name;
        let error =
            if self.of_kind { error.note(name.at.0, format!("written out for `{}`", name.text)) } else { error };
        // The text of a kind is written out for each component. Its errors are reported for the first one.
        if !self.errors.iter().any(|other| other.span == error.span && other.message == error.message) {
            self.errors.push(error);
        }
    }

    pub(super) fn member_name(&self, member: &Name) -> Name {
        let text = if self.of_kind {
            kind_member_name(self.component, self.kind, &member.text)
        } else {
            member_name(&self.component.name.text, &member.text)
        };
        Name { text, at: member.at }
    }

    pub(super) fn declare_params(&mut self, params: &[Param]) {
        params.iter().for_each(|param| self.declare(&param.name));
    }

    pub(super) fn set_rest(&mut self, rest: &[Param]) {
        self.rest = Some(rest.iter().map(|param| param.name.clone()).collect());
    }

    /// Makes a local visible. It must not hide a member of the component.
    fn declare(&mut self, name: &Name) {
        let hidden = if self.of_kind {
            self.members.kind_fields.contains(name.text.as_str()) || self.members.states.contains(name.text.as_str())
        } else {
            self.members.fields.contains(name.text.as_str())
        };
        if hidden {
            let message = format!("`{}` hides a field of `{}`", name.text, self.component.name.text);
            let error = Diagnostic::new(name.at.0, message, "already a field");
            self.error(error.help("choose another name; in a component a bare name is its own field first"));
        }
        self.locals.push(name.clone());
    }

    pub(super) fn is_local(&self, name: &str) -> bool {
        self.locals.iter().any(|local| local.text == name)
    }

    /// Checks the operand of `on callback as expr`: a name that costs no step.
    pub(super) fn instance_of_block(&mut self, instance: &Expr) {
        let local = match &instance.kind {
            ExprKind::This => true,
            ExprKind::Name(name) => self.is_local(name) || self.component.params.iter().any(|p| p.name.text == *name),
            _ => false,
        };
        if !local {
            let error = Diagnostic::new(instance.at.0, "`as` needs `this` or a parameter", "not one of them");
            self.error(error.help("take the instance as a parameter of the callback or of the component"));
        }
    }

    /// Returns the parameters that `..` stands for in a part of a kind: those that the component gives the callback
    /// which gets the `..`, beyond the ones that the kind gives it. Returns `None` if the component lacks the callback.
    pub(super) fn rest_of(&mut self, params: &'f Params, body: &'f Block) -> Option<Vec<Param>> {
        let mut found: Vec<&Name> = Vec::new();
        let mut seen = BTreeSet::new();
        self.callbacks_with_rest(body, &mut seen, &mut found);
        found.sort_by(|a, b| a.text.cmp(&b.text));
        found.dedup_by(|a, b| a.text == b.text);
        let at = params.rest.unwrap_or_default();
        match found[..] {
            [] => {
                let error = Diagnostic::new(at.0, "`..` stands for nothing", "no callback gets it");
                self.error(error.help("pass `..` on to a callback, a task, or a row, as in `connected(..)`"));
                Some(Vec::new())
            }
            [callback] => self.further(callback),
            [first, second, ..] => {
                let message = format!("`..` stands for the parameters of `{}` and of `{}`", first.text, second.text);
                self.error(Diagnostic::new(at.0, message, "of which one?").help("name the parameters of one of them"));
                Some(Vec::new())
            }
        }
    }

    // The parameters of a callback beyond those that the kind gives it.
    fn further(&self, callback: &Name) -> Option<Vec<Param>> {
        let given = self.kind.callbacks.iter().find(|(name, _)| name.text == callback.text);
        let own = self.members.callbacks.get(callback.text.as_str()).copied().flatten()?;
        Some(own.get(given.map_or(0, |(_, params)| params.list.len())..).unwrap_or_default().to_vec())
    }

    // Finds the callbacks that get a `..` from this body, or from the rows and tasks that get it from this body.
    fn callbacks_with_rest(&self, body: &'f Block, seen: &mut BTreeSet<&'f str>, found: &mut Vec<&'f Name>) {
        for name in super::exprs::calls_with_rest(body) {
            if !seen.insert(name) {
                continue;
            }
            if let Some((callback, _)) = self.kind.callbacks.iter().find(|(callback, _)| callback.text == name) {
                found.push(callback);
            } else if let Some(row) = self.kind.rows.iter().find(|row| row.name.text == name) {
                self.callbacks_with_rest(&row.body, seen, found);
            } else if let Some(task) = self.kind.tasks.iter().find(|task| task.name.text == name) {
                self.callbacks_with_rest(task.body, seen, found);
            }
        }
    }

    /// Writes a block, in a scope of its own.
    pub(super) fn block(&mut self, block: &Block) -> Block {
        let outer = self.locals.len();
        let mut stmts = Vec::new();
        for stmt in &block.stmts {
            self.stmt(stmt, &mut stmts);
        }
        self.locals.truncate(outer);
        Block { stmts, at: block.at }
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        if let Some(Label { name, .. }) = &stmt.label
            && self.of_kind
        {
            let error = Diagnostic::new(name.at.0, "a label in a kind", "a label names one statement of the model");
            self.error(error.help("label the statement in the callback of the component"));
        }
        if let StmtKind::Expr(e) = &stmt.kind
            && let Some(object) = self.called_callback(e)
        {
            return self.callback(stmt, e, &object, out);
        }
        let kind = self.kind_of(&stmt.kind);
        out.push(Stmt { label: stmt.label.clone(), kind, at: stmt.at });
    }

    // The object whose callback a statement of a kind calls.
    fn called_callback(&self, e: &Expr) -> Option<Expr> {
        let (object, name) = match &e.kind {
            ExprKind::Call { name, .. } => (Expr { kind: ExprKind::This, at: name.at }, name),
            ExprKind::Method { object, name, .. } => ((**object).clone(), name),
            _ => return None,
        };
        (self.of_kind && self.members.callbacks.contains_key(name.text.as_str())).then_some(object)
    }

    /// Writes the call of a callback with those of the components that follow this one. A callback that the component
    /// lacks is nothing.
    fn callback(&mut self, stmt: &Stmt, e: &Expr, object: &Expr, out: &mut Vec<Stmt>) {
        let (ExprKind::Call { name, args } | ExprKind::Method { name, args, .. }) = &e.kind else { return };
        let object = self.expr(object);
        if let Some((declared, _)) = self.kind.callbacks.iter().find(|(known, _)| known.text == name.text) {
            self.links.link(name, declared);
        }
        out.extend(self.following(name, &object, true));
        if let Some(Some(params)) = self.members.callbacks.get(name.text.as_str()) {
            let mut args = self.args(args);
            args.truncate(params.len());
            let call = self.member_call(name, object.clone(), args, e.at);
            out.push(Stmt { label: stmt.label.clone(), kind: StmtKind::Expr(call), at: stmt.at });
        }
        out.extend(self.following(name, &object, false));
    }

    // What happens with a callback of `object` in the kinds that follow it: the states that they keep there, and the
    // callbacks of the instances that follow it.
    fn following(&self, callback: &Name, object: &Expr, before: bool) -> Vec<Stmt> {
        let follows = |pair: &Following| pair.before == before && pair.host.text == callback.text;
        let all = self.followers.iter().filter(|follower| follows(follower.pair));
        all.map(|follower| follower.stmt(callback.at, object)).collect()
    }

    /// Returns a call of a task of this component.
    pub(super) fn member_call(&self, name: &Name, object: Expr, args: Vec<Expr>, at: At) -> Expr {
        let args = std::iter::once(object).chain(args).collect();
        Expr { kind: ExprKind::Call { name: self.member_name(name), args }, at }
    }

    fn kind_of(&mut self, stmt: &StmtKind) -> StmtKind {
        match stmt {
            StmtKind::Let(field) => {
                let value = field.value.as_ref().map(|value| self.value(value));
                self.declare(&field.name);
                StmtKind::Let(Field { value, ..field.clone() })
            }
            StmtKind::Assign { place, op, value } => {
                StmtKind::Assign { place: self.expr(place), op: *op, value: self.value(value) }
            }
            StmtKind::Expr(e) => StmtKind::Expr(self.expr(e)),
            StmtKind::If { cond, then, other } => self.if_(cond, then, other.as_ref()),
            StmtKind::While { cond, body } => StmtKind::While { cond: self.cond(cond), body: self.block(body) },
            StmtKind::Loop { body } => StmtKind::Loop { body: self.block(body) },
            StmtKind::For { name, over, body } => {
                let over = match over {
                    Over::Range(Range { from, to }) => Over::Range(Range { from: self.expr(from), to: self.expr(to) }),
                    Over::List(list) => Over::List(self.expr(list)),
                };
                let outer = self.locals.len();
                self.declare(name);
                let body = self.block(body);
                self.locals.truncate(outer);
                StmtKind::For { name: name.clone(), over, body }
            }
            StmtKind::Return(e) => StmtKind::Return(e.as_ref().map(|e| self.expr(e))),
            StmtKind::Assert { cond, message } => StmtKind::Assert { cond: self.expr(cond), message: message.clone() },
            StmtKind::Try { body, catch, finally } => StmtKind::Try {
                body: self.block(body),
                catch: catch.iter().map(|c| Catch { name: c.name.clone(), body: self.block(&c.body) }).collect(),
                finally: finally.as_ref().map(|block| self.block(block)),
            },
            StmtKind::Sync { mode, object, timeout, body, other } => StmtKind::Sync {
                mode: *mode,
                object: self.expr(object),
                timeout: timeout.as_ref().map(|e| self.expr(e)),
                body: self.block(body),
                other: other.as_ref().map(|block| self.block(block)),
            },
            StmtKind::Side { acquire, mode, object } => {
                StmtKind::Side { acquire: *acquire, mode: *mode, object: self.expr(object) }
            }
            StmtKind::Send { channel, value } => {
                StmtKind::Send { channel: self.expr(channel), value: self.expr(value) }
            }
            StmtKind::Select { cases } => {
                StmtKind::Select { cases: cases.iter().map(|case| self.select_case(case)).collect() }
            }
            StmtKind::Transaction { name, body } => {
                StmtKind::Transaction { name: name.clone(), body: self.block(body) }
            }
            StmtKind::Unit { name, body } => StmtKind::Unit { name: name.clone(), body: self.block(body) },
            StmtKind::JobBlock { kind, body } => StmtKind::JobBlock { kind: *kind, body: self.block(body) },
            StmtKind::Verb { verb, operand } => StmtKind::Verb { verb: *verb, operand: self.expr(operand) },
            StmtKind::Quit { target, safely } => StmtKind::Quit { target: self.expr(target), safely: *safely },
            StmtKind::Cancel { task, with, target } => {
                let task =
                    task.as_ref().map(|task| if self.is_task(task) { self.member_name(task) } else { task.clone() });
                let with = with.as_ref().map(|token| self.expr(token));
                StmtKind::Cancel { task, with, target: self.expr(target) }
            }
            StmtKind::Enable { event, args, instance } => {
                StmtKind::Enable { event: event.clone(), args: self.args(args), instance: instance.clone() }
            }
            StmtKind::Perform { listener, args } => {
                StmtKind::Perform { listener: listener.clone(), args: self.args(args) }
            }
            StmtKind::Switch(to) => StmtKind::Switch(self.expr(to)),
            StmtKind::CancelOne(place) => StmtKind::CancelOne(self.expr(place)),
            StmtKind::Withdraw { request } => StmtKind::Withdraw { request: self.expr(request) },
            StmtKind::ForInstances { .. }
            | StmtKind::LoopQueue
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Fail { .. }
            | StmtKind::Throw { .. }
            | StmtKind::Skip
            | StmtKind::Yield
            | StmtKind::AttachQueue
            | StmtKind::Disable { .. }
            | StmtKind::Register { .. }
            | StmtKind::Unregister { .. } => stmt.clone(),
        }
    }

    // Writes a case of a select. The names that a receive declares are visible in the block of the case.
    fn select_case(&mut self, case: &SelectCase) -> SelectCase {
        let outer = self.locals.len();
        let kind = match &case.kind {
            SelectKind::Receive { channel, value, received } => {
                let channel = self.expr(channel);
                value.iter().chain(received).for_each(|name| self.declare(name));
                SelectKind::Receive { channel, value: value.clone(), received: received.clone() }
            }
            SelectKind::Send { channel, value } => {
                SelectKind::Send { channel: self.expr(channel), value: self.expr(value) }
            }
            SelectKind::After(delay) => SelectKind::After(self.expr(delay)),
            SelectKind::Else => SelectKind::Else,
        };
        let body = self.block(&case.body);
        self.locals.truncate(outer);
        SelectCase { kind, body, at: case.at }
    }

    fn if_(&mut self, cond: &Cond, then: &Block, other: Option<&Else>) -> StmtKind {
        let (cond, then) = (self.cond(cond), self.block(then));
        let other = other.map(|other| match other {
            Else::Block(block) => Else::Block(self.block(block)),
            Else::If(stmt) => {
                let kind = self.kind_of(&stmt.kind);
                Else::If(Box::new(Stmt { label: stmt.label.clone(), kind, at: stmt.at }))
            }
        });
        StmtKind::If { cond, then, other }
    }

    fn cond(&mut self, cond: &Cond) -> Cond {
        match cond {
            Cond::Star(at) => Cond::Star(*at),
            Cond::Expr(e) => Cond::Expr(self.expr(e)),
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Expr(e) => Value::Expr(self.expr(e)),
            Value::List(all, at) => Value::List(all.iter().map(|e| self.expr(e)).collect(), *at),
        }
    }

    /// Returns whether a name is a task or callback of this component.
    pub(super) fn is_task(&self, name: &Name) -> bool {
        let name = name.text.as_str();
        if self.is_local(name) {
            return false;
        }
        let own = if self.of_kind { &self.members.kind_tasks } else { &self.members.tasks };
        own.contains(name) || self.members.callbacks.get(name).is_some_and(Option::is_some)
    }

    /// Reports a row that the kind does not have.
    pub(super) fn unknown_row(&mut self, name: &Name) {
        let message = format!("`{}` has no row `{}`", self.kind.name.text, name.text);
        let mut error = Diagnostic::new(name.at.0, message, "unknown row");
        error.help = near(&name.text, self.members.rows.keys().copied()).map(|near| format!("did you mean `{near}`?"));
        self.error(error);
    }

    /// Reports something that only the text of a kind can contain.
    pub(super) fn only_in_kind(&mut self, at: At, what: &str) {
        self.error(Diagnostic::new(
            at.0,
            format!("{what} outside a kind"),
            "only the text of a kind asks the platform",
        ));
    }
}
