//! Walks over the statements and expressions of a program, and joins the nodes between which values flow.

use super::nodes::{Flow, Node, Nodes};
use super::{ThreadArray, head};
use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::BodyId;
use crate::lang::ast::{BinaryOp, Span};
use crate::lang::program::{
    ElementIndex, Expr, ExprKind, LocalId, MemoryPlace, PostTimeExpr, Program, Root, Simple, Stmt, Type,
};

/// Walks over a program.
pub(super) fn walk(program: &Program, arrays: &[ThreadArray], nodes: &mut Nodes) {
    for (id, body) in program.bodies.enumerate() {
        // The first state need not be symmetric. Nothing that `init` does is a step.
        if program.init == Some(id) {
            continue;
        }
        let mut walk = Walk { program, arrays, nodes, body: Some(id) };
        walk.whole(head(program, id), body.is_async(), "it is an async task");
        walk.block(&body.block);
    }
    let mut walk = Walk { program, arrays, nodes, body: None };
    for (number, property) in program.properties.iter().enumerate() {
        walk.nodes.property = Some(number);
        walk.expr(&property.expr);
    }
    walk.nodes.property = None;
    let all = Span::default();
    walk.whole(all, !program.components.is_empty(), "it has components");
    walk.whole(all, !program.pools.is_empty(), "it has pools of workers");
    walk.whole(all, !program.channels.is_empty(), "it has channels");
    walk.whole(all, program.handles, "some statement removes one message, so that values refer to messages");
    let has_list = program.globals.iter().any(|global| is_list(&global.ty));
    walk.whole(all, has_list, "it has lists");
}

fn is_list(ty: &Type) -> bool {
    match ty {
        Type::List(_) => true,
        Type::Array(of, _) => is_list(of),
        _ => false,
    }
}

struct Walk<'w> {
    program: &'w Program,
    arrays: &'w [ThreadArray],
    nodes: &'w mut Nodes,
    // `None` in a property.
    body: Option<BodyId>,
}

impl Walk<'_> {
    // Refuses the whole program if `is`.
    fn whole(&mut self, at: Span, is: bool, why: &str) {
        if is {
            self.nodes.refusals.push((at, why.to_owned()));
        }
    }

    fn local(&self, local: LocalId) -> Node {
        // A property has no locals.
        Node::Local(self.body.unwrap_or(BodyId::new(0)), local)
    }

    fn block(&mut self, block: &[Stmt]) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::SetLocal(local, value) => {
                let value = self.expr(value);
                self.nodes.flow(self.local(*local), value);
            }
            Stmt::ClearLocal(local) => self.clear(*local),
            Stmt::SetLocalElement { local, index, value } => {
                self.local_index(index);
                let value = self.expr(value);
                self.nodes.flow(self.local(*local), value);
            }
            Stmt::Write { place, value, .. } => {
                let place = self.place(place);
                let value = self.expr(value);
                self.nodes.compare(place, value);
            }
            Stmt::Update { place, value, .. } => {
                let (of, at) = (self.place(place), place.at);
                let value = self.expr(value);
                self.arithmetic(of, at);
                self.arithmetic(value, at);
            }
            Stmt::ListSet { value, .. } | Stmt::ListUpdate { value, .. } => {
                self.whole(value.at, true, "lists are no part of a renaming");
            }
            Stmt::Expr(e) => _ = self.expr(e),
            Stmt::If { cond, then, other } => {
                self.expr(cond);
                self.block(then);
                self.block(other);
            }
            Stmt::While { cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            Stmt::Loop { body } | Stmt::Block(body) | Stmt::Transaction { body, .. } => self.block(body),
            Stmt::ForRange { local, from, to, body } => {
                for end in [from, to] {
                    let value = self.expr(end);
                    self.nodes.misuse(value, end.at, "a loop counts from or to the index of a thread");
                }
                let at = Span { start: from.at.start, end: to.at.end.max(from.at.end) };
                self.nodes.breach(self.local(*local), at, "a loop meets the indices in their order");
                self.block(body);
            }
            Stmt::ForList { body, .. } => {
                self.whole(self.place_of_body(), true, "a loop over a list is no part of a renaming");
                self.block(body);
            }
            Stmt::ForChannel { channel, body, .. } => {
                self.whole(channel.at, true, "channels are no part of a renaming");
                self.block(body);
            }
            Stmt::SyncFor(sync) => {
                self.expr(&sync.object);
                self.delay(&sync.timeout);
                self.block(&sync.body);
                self.block(&sync.other);
            }
            Stmt::Select(..) | Stmt::JobBlock { .. } | Stmt::Platform(_) => {
                self.whole(self.place_of_body(), true, "it uses channels, async tasks or components");
            }
            Stmt::Break | Stmt::Continue | Stmt::Return(None) | Stmt::Fail { .. } | Stmt::Throw { .. } => {}
            Stmt::Return(Some(e)) => {
                let value = self.expr(e);
                if let Some(body) = self.body {
                    self.nodes.flow(Node::Result(body), value);
                }
            }
            Stmt::Assert { cond, .. } => _ = self.expr(cond),
            Stmt::Try { body, catch, finally } => {
                self.block(body);
                catch.iter().for_each(|(_, block)| self.block(block));
                self.block(finally.as_deref().unwrap_or_default());
            }
            Stmt::Sync { object, body, .. } | Stmt::Rw { object, body, .. } => {
                self.expr(object);
                self.block(body);
            }
            Stmt::Do { op, .. } => self.simple(op),
        }
    }

    fn place_of_body(&self) -> Span {
        self.body.map_or(Span::default(), |body| head(self.program, body))
    }

    // A local gets its default value: the number 0, or the lock with the number 0.
    fn clear(&mut self, local: LocalId) {
        let Some(body) = self.body else { return };
        let (at, ty) = (self.place_of_body(), &self.program.bodies[body].locals[local].1);
        match element_type(ty) {
            Type::Int => self.nodes.flow(Node::Local(body, local), Flow::Constant(0, at)),
            Type::Lock => self.nodes.named_locks.push((0, at)),
            Type::Condition => self.nodes.named_conditions.push((0, at)),
            _ => {}
        }
    }

    fn simple(&mut self, op: &Simple) {
        match op {
            Simple::Sleep(e) => self.delay(e),
            Simple::Enable { event, args, .. } => {
                let body = self.program.events[*event].body;
                self.arguments(body, args);
            }
            // Callbacks get the arguments of each `perform`, whatever their parameters are.
            Simple::Perform { args, .. } => {
                for arg in args {
                    let value = self.expr(arg);
                    self.nodes.misuse(value, arg.at, "it is passed to the callbacks of a listener");
                }
            }
            Simple::Register { body, .. } => {
                let at = head(self.program, *body);
                for parameter in 0..self.program.bodies[*body].params as usize {
                    let node = Node::Local(*body, LocalId::new(parameter));
                    self.nodes.breach(node, at, "its value is what a listener is performed with");
                }
            }
            Simple::Cancel { token, target, .. } => {
                self.expr(target);
                token.iter().for_each(|token| _ = self.expr(token));
            }
            Simple::Send { channel, .. } => self.whole(channel.at, true, "channels are no part of a renaming"),
            Simple::AttachQueue | Simple::LoopQueue => {
                self.whole(self.place_of_body(), true, "a thread makes itself a looper");
            }
            _ => _ = op.operand().map(|e| self.expr(e)),
        }
    }

    // A number of milliseconds.
    fn delay(&mut self, e: &Expr) {
        let value = self.expr(e);
        self.nodes.misuse(value, e.at, "it is a time");
    }

    fn arithmetic(&mut self, value: Flow, at: Span) {
        if !mutant::is(Mutant::IndexArithmeticAccepted) {
            self.nodes.misuse(value, at, "it is computed with, so that its value counts");
        }
    }

    fn arguments(&mut self, body: BodyId, args: &[Expr]) {
        for (number, arg) in args.iter().enumerate() {
            let value = self.expr(arg);
            self.nodes.flow(Node::Local(body, LocalId::new(number)), value);
        }
    }

    fn local_index(&mut self, index: &ElementIndex) {
        for dimension in index {
            let value = self.expr(&dimension.index);
            self.nodes.misuse(value, dimension.index.at, "it is the index of a local array");
        }
    }

    // Returns the values at a place.
    fn place(&mut self, place: &MemoryPlace) -> Flow {
        let node = match &place.root {
            Root::Global(global) => {
                for (number, dimension) in place.index.iter().enumerate() {
                    let value = self.expr(&dimension.index);
                    if number > 0 && !is_local(&dimension.index) {
                        self.nodes.half_indexed.push((*global, dimension.index.at));
                    }
                    self.nodes.flow(Node::Dimension(*global, number), value);
                }
                Node::Value(*global)
            }
            Root::Field { object, class, field, .. } => {
                self.expr(object);
                for dimension in &place.index {
                    let value = self.expr(&dimension.index);
                    self.nodes.misuse(value, dimension.index.at, "it is the index of an array in an object");
                }
                Node::Field(*class, *field)
            }
        };
        if place.ty == Type::Int { Flow::Of(node) } else { Flow::Other }
    }

    // Returns the value of an expression.
    #[allow(clippy::too_many_lines, reason = "one arm for each kind of expression")]
    pub(super) fn expr(&mut self, e: &Expr) -> Flow {
        let of_type = |node: Node| if e.ty == Type::Int { Flow::Of(node) } else { Flow::Other };
        match &e.kind {
            ExprKind::Word(value) => match e.ty {
                Type::Int => return Flow::Constant(*value, e.at),
                Type::Lock => self.nodes.named_locks.push((*value, e.at)),
                Type::Condition => self.nodes.named_conditions.push((*value, e.at)),
                Type::Thread | Type::Looper => self.nodes.named_threads.push((*value, e.at)),
                _ => {}
            },
            ExprKind::Local(local) => return of_type(self.local(*local)),
            ExprKind::LocalElement { local, index } => {
                self.local_index(index);
                return of_type(self.local(*local));
            }
            ExprKind::SelfThread | ExprKind::Star { .. } => {}
            ExprKind::Indexed { first, len, index, .. } => self.indexed(e, (*first as u32, *len), index),
            ExprKind::Read { place, .. } => return self.place(place),
            ExprKind::Unary(_, operand) => {
                let value = self.expr(operand);
                self.arithmetic(value, e.at);
                return Flow::Computed(e.at);
            }
            ExprKind::Binary { op, left, right, .. } => return self.binary(*op, left, right, e.at),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Call { body, args, .. } => {
                self.arguments(*body, args);
                return of_type(Node::Result(*body));
            }
            ExprKind::Cas { place, old, new, .. } => {
                let place = self.place(place);
                for value in [old, new] {
                    let value = self.expr(value);
                    self.nodes.compare(place, value);
                }
            }
            ExprKind::FetchAdd { place, delta, .. } => {
                let (of, at) = (self.place(place), place.at);
                let delta = self.expr(delta);
                self.arithmetic(of, at);
                self.arithmetic(delta, at);
                return Flow::Computed(e.at);
            }
            ExprKind::Exchange { place, value, .. } => {
                let place = self.place(place);
                let value = self.expr(value);
                self.nodes.compare(place, value);
                return place;
            }
            ExprKind::Post { body, args, target, time, options, .. } => {
                self.expr(target);
                self.arguments(*body, args);
                match time {
                    PostTimeExpr::After(at) | PostTimeExpr::At(at) => self.delay(at),
                    _ => {}
                }
                options.every.iter().for_each(|every| self.delay(every));
                options.with.iter().for_each(|token| _ = self.expr(token));
            }
            ExprKind::Accepted(value) | ExprKind::ReadInterrupt { thread: value, .. } => _ = self.expr(value),
            ExprKind::Wait { object, with, timeout, .. } => {
                self.expr(object);
                with.iter().for_each(|with| _ = self.expr(with));
                timeout.iter().for_each(|timeout| self.delay(timeout));
            }
            ExprKind::DownFor { semaphore: of, timeout, .. } | ExprKind::AcquireFor { lock: of, timeout, .. } => {
                self.expr(of);
                self.delay(timeout);
            }
            ExprKind::GroupAdd { group, delta, .. } => {
                self.expr(group);
                self.delay(delta);
            }
            ExprKind::GroupWait { group, .. } => _ = self.expr(group),
            ExprKind::Now { .. } | ExprKind::Choose { .. } => return Flow::Computed(e.at),
            ExprKind::Await { cond, timeout, .. } => {
                self.expr(cond);
                timeout.iter().for_each(|timeout| self.delay(timeout));
            }
            ExprKind::ListLen { .. }
            | ExprKind::ListGet { .. }
            | ExprKind::ListPush { .. }
            | ExprKind::ListPop { .. }
            | ExprKind::ListRemove { .. }
            | ExprKind::ListClear { .. } => self.whole(e.at, true, "lists are no part of a renaming"),
            ExprKind::New(_) => self.whole(e.at, true, "it makes an object while it runs"),
            ExprKind::Fork { .. } | ExprKind::SpawnLooper { .. } => {
                self.whole(e.at, true, "it makes a thread while it runs");
            }
            ExprKind::NewHandler { .. } => self.whole(e.at, true, "it makes a handler while it runs"),
            ExprKind::Fence { .. } => self.whole(e.at, true, "the token of a fence refers to a queue"),
            ExprKind::CancelMessage { .. } => self.whole(e.at, true, "it removes one message"),
            ExprKind::Receive { .. } | ExprKind::ChannelRead { .. } => {
                self.whole(e.at, true, "channels are no part of a renaming");
            }
            ExprKind::Launch { .. } | ExprKind::SpawnScope { .. } | ExprKind::AskJob { .. } => {
                self.whole(e.at, true, "async tasks are no part of a renaming");
            }
            ExprKind::Platform(_) => self.whole(e.at, true, "components are no part of a renaming"),
        }
        Flow::Other
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, at: Span) -> Flow {
        let (of_left, of_right) = (self.expr(left), self.expr(right));
        match op {
            BinaryOp::Eq | BinaryOp::Ne => self.nodes.compare(of_left, of_right),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                for value in [of_left, of_right] {
                    self.nodes.misuse(value, at, "it is compared by order, so that its value counts");
                }
            }
            _ => {
                self.arithmetic(of_left, at);
                self.arithmetic(of_right, at);
                return Flow::Computed(at);
            }
        }
        Flow::Other
    }

    // An element of an array of locks, conditions or threads.
    fn indexed(&mut self, e: &Expr, (first, len): (u32, u32), index: &Expr) {
        let value = self.expr(index);
        let node = match e.ty {
            Type::Lock => Some(Node::Locks { first, len }),
            Type::Condition => Some(Node::Conditions { first, len }),
            Type::Thread => {
                let array = self.arrays.iter().find(|array| array.first == first);
                array.map(|array| Node::Local(array.body, LocalId::new(0)))
            }
            _ => None,
        };
        match node {
            Some(node) => self.nodes.flow(node, value),
            None => self.nodes.misuse(value, index.at, "it is the index of an array that is not renamed"),
        }
    }
}

// Returns whether an expression has no step.
fn is_local(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Word(_) | ExprKind::Local(_) => true,
        ExprKind::Unary(_, operand) => is_local(operand),
        ExprKind::Binary { left, right, .. } => is_local(left) && is_local(right),
        _ => false,
    }
}

fn element_type(ty: &Type) -> &Type {
    match ty {
        Type::Array(of, _) => element_type(of),
        _ => ty,
    }
}
