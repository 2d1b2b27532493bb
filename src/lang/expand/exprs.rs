//! Writes out expressions: bare names become fields of `this`, calls become calls of full names.

use super::super::ast::{
    At, Block, Cond, Else, Expr, ExprKind, LaunchWords, Name, Op, Over, PostOptionsAst, PostTimeAst, Range, Stmt,
    StmtKind, Value,
};
use super::super::diagnostic::Diagnostic;
use super::body::BodyWriter;
use super::libraries::name_expr;
use super::names::{HOST, SOURCE, kept_name};

/// The implicit state of an instance that is its stage.
pub(in crate::lang) const STAGE: &str = "stage";

impl BodyWriter<'_, '_> {
    /// Writes an expression.
    pub(super) fn expr(&mut self, e: &Expr) -> Expr {
        let at = e.at;
        let kind = match &e.kind {
            ExprKind::Name(name) => return self.bare(name, at),
            ExprKind::Call { name, args } => return self.call(name, args, at),
            ExprKind::Method { object, name, args } => {
                let (object, args) = (self.expr(object), self.args(args));
                if self.of_kind && self.is_task(name) {
                    return self.member_call(name, object, args, at);
                }
                ExprKind::Method { object: Box::new(object), name: name.clone(), args }
            }
            ExprKind::Field { object, name } => {
                let name = self.kept_state(object, name).unwrap_or_else(|| name.clone());
                ExprKind::Field { object: Box::new(self.expr(object)), name }
            }
            ExprKind::Index { object, index } => {
                ExprKind::Index { object: Box::new(self.expr(object)), index: Box::new(self.expr(index)) }
            }
            ExprKind::Unary { op, operand } => ExprKind::Unary { op: *op, operand: Box::new(self.expr(operand)) },
            ExprKind::Binary { op, left, right } => {
                ExprKind::Binary { op: *op, left: Box::new(self.expr(left)), right: Box::new(self.expr(right)) }
            }
            ExprKind::Op(op) => ExprKind::Op(Box::new(self.op(op))),
            ExprKind::Other { some, stage, .. } => {
                match self.kind.stage(stage) {
                    Ok(declared) => self.links.link(stage, declared),
                    Err(error) => self.error(error),
                }
                ExprKind::Other { some: *some, kind: Some(self.kind.name.clone()), stage: stage.clone() }
            }
            ExprKind::Asked(row) => {
                self.requested(row);
                ExprKind::Asked(self.member_name(row))
            }
            ExprKind::Plain(place) => ExprKind::Plain(Box::new(self.expr(place))),
            ExprKind::Again(instance) => ExprKind::Again(Box::new(self.expr(instance))),
            ExprKind::Int(_)
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::SelfThread
            | ExprKind::This
            | ExprKind::New(_)
            | ExprKind::Rest
            | ExprKind::Stage { .. } => e.kind.clone(),
        };
        Expr { kind, at }
    }

    /// Writes arguments, with what `..` stands for.
    pub(super) fn args(&mut self, args: &[Expr]) -> Vec<Expr> {
        let mut all = Vec::new();
        for arg in args {
            if arg.kind != ExprKind::Rest {
                all.push(self.expr(arg));
                continue;
            }
            match self.rest.clone() {
                Some(rest) => all.extend(rest.into_iter().map(|name| name_expr(name.text, arg.at))),
                None => {
                    let error = Diagnostic::new(arg.at.0, "`..` stands for nothing here", "no parameter is `..`");
                    self.error(error.help("add `..` as the last parameter"));
                }
            }
        }
        all
    }

    // The meaning of a bare name: a local, a field or state of the instance, a stage, an item of the library, and
    // otherwise a name of the file.
    fn bare(&mut self, name: &str, at: At) -> Expr {
        if self.is_local(name) {
            return name_expr(name, at);
        }
        let members = self.members;
        let own = if self.of_kind {
            let followed = match name {
                HOST => self.component.host.is_some(),
                SOURCE => self.component.source.is_some(),
                _ => name == STAGE,
            };
            followed || members.kind_fields.contains(name) || members.states.contains(name)
        } else {
            members.fields.contains(name)
        };
        if own {
            let this = Box::new(Expr { kind: ExprKind::This, at });
            return Expr { kind: ExprKind::Field { object: this, name: Name { text: name.to_owned(), at } }, at };
        }
        if !self.of_kind {
            return name_expr(name, at);
        }
        if members.stages.contains(name) {
            let stage = Name { text: name.to_owned(), at };
            if let Ok(declared) = self.kind.stage(&stage) {
                self.links.link(&stage, declared);
            }
            return Expr { kind: ExprKind::Stage { kind: self.kind.name.clone(), stage }, at };
        }
        if name == "looper" {
            return name_expr(self.looper.text.clone(), at);
        }
        match self.libraries.full_name(self.kind.library, name) {
            Some(full) => {
                self.used.insert(full.clone());
                name_expr(full, at)
            }
            None => name_expr(name, at),
        }
    }

    // Returns the full name of a state that this kind keeps in the instance that `object` is.
    fn kept_state(&self, object: &Expr, name: &Name) -> Option<Name> {
        let is_followed = matches!(&object.kind, ExprKind::Name(of) if [HOST, SOURCE].contains(&of.as_str()));
        let kept = self.kind.kept.iter().any(|(_, field)| field.name.text == name.text);
        (self.of_kind && is_followed && kept).then(|| kept_name(self.kind.name, name))
    }

    fn call(&mut self, name: &Name, args: &[Expr], at: At) -> Expr {
        if self.of_kind && name.text == "again" && args.len() == 1 {
            return Expr { kind: ExprKind::Again(Box::new(self.expr(&args[0]))), at };
        }
        let args = self.args(args);
        let callback = !self.is_local(&name.text) && self.members.callbacks.contains_key(name.text.as_str());
        if self.is_task(name) && !(callback && self.of_kind) {
            return self.member_call(name, Expr { kind: ExprKind::This, at: name.at }, args, at);
        }
        if callback && !self.of_kind {
            let message = format!("`{}` has no callback `{}`", self.component.name.text, name.text);
            let help = format!("write `on {} {{ }}` in the component", name.text);
            self.error(Diagnostic::new(name.at.0, message, "the kind has it, the component does not").help(help));
        }
        if callback && self.of_kind {
            let error = Diagnostic::new(at.0, "a callback gives no value", "it is a statement of its own");
            self.error(error);
        }
        Expr { kind: ExprKind::Call { name: name.clone(), args }, at }
    }

    /// Checks that a row exists and is by request.
    fn requested(&mut self, row: &Name) {
        if !self.of_kind {
            return self.only_in_kind(row.at, "`asked`");
        }
        match self.members.rows.get(row.text.as_str()) {
            None => self.unknown_row(row),
            Some(true) => {}
            Some(false) => {
                let message = format!("the row `{}` needs no request", row.text);
                self.error(
                    Diagnostic::new(row.at.0, message, "no verb can ask for it").help("write `by request` in the row"),
                );
            }
        }
    }

    fn op(&mut self, op: &Op) -> Op {
        match op {
            Op::Post { object, task, args, target, time, is_async, options, instance } => {
                let (target, args) = (self.expr(target), self.args(args));
                let time = match time {
                    PostTimeAst::After(e) => PostTimeAst::After(self.expr(e)),
                    PostTimeAst::At(e) => PostTimeAst::At(self.expr(e)),
                    PostTimeAst::Now
                    | PostTimeAst::Front
                    | PostTimeAst::Micro
                    | PostTimeAst::Idle { .. }
                    | PostTimeAst::OrNow => time.clone(),
                };
                let object = object.as_ref().map(|object| self.expr(object));
                let own = object.is_none() && self.is_task(task);
                let this = own.then_some(Expr { kind: ExprKind::This, at: task.at });
                let args = this.into_iter().chain(args).collect();
                let task = if own { self.member_name(task) } else { task.clone() };
                Op::Post {
                    object,
                    task,
                    args,
                    target,
                    time,
                    is_async: *is_async,
                    options: Box::new(PostOptionsAst {
                        with: options.with.as_ref().map(|token| self.expr(token)),
                        every: options.every.as_ref().map(|period| self.expr(period)),
                        daemon: options.daemon,
                    }),
                    instance: instance.clone(),
                }
            }
            Op::Fork { task, args } if self.is_task(task) => {
                let this = Expr { kind: ExprKind::This, at: task.at };
                let args = std::iter::once(this).chain(self.args(args)).collect();
                Op::Fork { task: self.member_name(task), args }
            }
            Op::Fork { task, args } => Op::Fork { task: task.clone(), args: self.args(args) },
            Op::SpawnLooper => Op::SpawnLooper,
            Op::SpawnScope => Op::SpawnScope,
            Op::Launch { task, args, words } => {
                let this = self.is_task(task).then_some(Expr { kind: ExprKind::This, at: task.at });
                let task = if this.is_some() { self.member_name(task) } else { task.clone() };
                let args = this.into_iter().chain(self.args(args)).collect();
                let words = LaunchWords {
                    on: words.on.as_ref().map(|place| self.expr(place)),
                    within: words.within.as_ref().map(|job| self.expr(job)),
                    ..words.clone()
                };
                Op::Launch { task, args, words }
            }
            Op::Acquire { mode, object, timeout } => {
                Op::Acquire { mode: *mode, object: self.expr(object), timeout: self.expr(timeout) }
            }
            Op::Receive { channel } => Op::Receive { channel: self.expr(channel) },
            Op::Choose(Range { from, to }) => Op::Choose(Range { from: self.expr(from), to: self.expr(to) }),
            Op::Cancel { message } => Op::Cancel { message: self.expr(message) },
            Op::Fence { target } => Op::Fence { target: self.expr(target) },
            Op::HandlerOn { target } => Op::HandlerOn { target: self.expr(target) },
            Op::Wait { object, with, timeout } => Op::Wait {
                object: self.expr(object),
                with: with.as_ref().map(|e| self.expr(e)),
                timeout: timeout.as_ref().map(|e| self.expr(e)),
            },
            Op::Down { semaphore, timeout } => {
                Op::Down { semaphore: self.expr(semaphore), timeout: self.expr(timeout) }
            }
            Op::Await { cond, timeout } => {
                Op::Await { cond: self.expr(cond), timeout: timeout.as_ref().map(|e| self.expr(e)) }
            }
            Op::Component { verb, target, args } => {
                Op::Component { verb: verb.clone(), target: self.expr(target), args: self.args(args) }
            }
            Op::Ask { row, args } => {
                self.requested(row);
                Op::Ask { row: self.member_name(row), args: self.args(args) }
            }
        }
    }
}

/// Returns the names of the callbacks, rows and tasks that a body calls, asks for, posts or forks with `..` as the last
/// argument.
pub(super) fn calls_with_rest(body: &Block) -> Vec<&str> {
    let mut found = Vec::new();
    let mut blocks = vec![body];
    let mut exprs: Vec<&Expr> = Vec::new();
    while let Some(block) = blocks.pop() {
        let mut stmts: Vec<&Stmt> = block.stmts.iter().collect();
        while let Some(stmt) = stmts.pop() {
            parts(&stmt.kind, &mut blocks, &mut stmts, &mut exprs);
        }
    }
    while let Some(e) = exprs.pop() {
        let (name, args) = match &e.kind {
            ExprKind::Call { name, args } | ExprKind::Method { name, args, .. } => (name, args),
            ExprKind::Op(op) => match &**op {
                Op::Post { task: name, args, .. } | Op::Fork { task: name, args } | Op::Ask { row: name, args } => {
                    (name, args)
                }
                _ => continue,
            },
            _ => continue,
        };
        if args.iter().any(|arg| arg.kind == ExprKind::Rest) {
            found.push(name.text.as_str());
        }
        exprs.extend(args);
    }
    found
}

// The blocks, statements and whole expressions of a statement.
fn parts<'b>(kind: &'b StmtKind, blocks: &mut Vec<&'b Block>, stmts: &mut Vec<&'b Stmt>, exprs: &mut Vec<&'b Expr>) {
    match kind {
        StmtKind::Let(field) => exprs.extend(field.value.iter().filter_map(whole)),
        StmtKind::Assign { value, .. } => exprs.extend(whole(value)),
        StmtKind::Expr(e) | StmtKind::Return(Some(e)) => exprs.push(e),
        StmtKind::If { cond, then, other } => {
            if let Cond::Expr(e) = cond {
                exprs.push(e);
            }
            blocks.push(then);
            match other {
                Some(Else::Block(block)) => blocks.push(block),
                Some(Else::If(stmt)) => stmts.push(stmt),
                None => {}
            }
        }
        StmtKind::While { body, .. }
        | StmtKind::Loop { body }
        | StmtKind::Sync { body, .. }
        | StmtKind::Transaction { body, .. }
        | StmtKind::Unit { body, .. }
        | StmtKind::JobBlock { body, .. }
        | StmtKind::ForInstances { body, .. } => blocks.push(body),
        StmtKind::For { over, body, .. } => {
            if let Over::List(list) = over {
                exprs.push(list);
            }
            blocks.push(body);
        }
        StmtKind::Try { body, catch, finally } => {
            blocks.push(body);
            blocks.extend(catch.iter().map(|clause| &clause.body).chain(finally));
        }
        _ => {}
    }
}

fn whole(value: &Value) -> Option<&Expr> {
    match value {
        Value::Expr(e) => Some(e),
        Value::List(..) => None,
    }
}
