//! Prints items.

use super::super::ast::{Block, Expr, Item, ItemKind, Name, Param, Prop, TaskMode, Type, When};
use super::TreePrinter;

impl TreePrinter {
    pub(super) fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::App { title, settings } => {
                self.message("app ", Some(title));
                if !settings.is_empty() {
                    self.braces(settings, |printer, (name, value)| printer.equation("", name, value));
                }
            }
            ItemKind::Const { name, range, value } => {
                self.named_item("const ", name);
                if let Some(range) = range {
                    self.push(" in ");
                    self.range(range);
                }
                self.push(" = ");
                self.expr(value);
            }
            ItemKind::Field { storage, field } => {
                self.word(storage.word());
                self.field(field);
            }
            ItemKind::Class { name, fields } => {
                self.named_item("class ", name);
                self.braces(fields, |printer, (storage, field)| {
                    printer.word(storage.word());
                    printer.field(field);
                });
            }
            ItemKind::Lock { kind, name, count } => {
                self.word(kind.word());
                self.name(name);
                if let Some(count) = count {
                    self.push("[");
                    self.expr(count);
                    self.push("]");
                }
            }
            ItemKind::RwLock { name, prefer } => {
                self.named_item("rwlock ", name);
                if let Some(prefer) = prefer {
                    self.named_item(" prefer ", prefer);
                }
            }
            ItemKind::WaitGroup { name } => self.named_item("waitgroup ", name),
            ItemKind::Channel { name, count, of } => {
                self.push("channel ");
                self.name(name);
                if let Some(count) = count {
                    self.push("[");
                    self.expr(count);
                    self.push("]");
                }
                self.annotation(Some(of));
            }
            ItemKind::Semaphore { name, value } => self.equation("semaphore ", name, value),
            ItemKind::Barrier { name, value } => self.equation("barrier ", name, value),
            ItemKind::Pool { name, value } => self.equation("pool ", name, value),
            ItemKind::Looper { name, body } => {
                self.named_item("looper ", name);
                if let Some(body) = body {
                    self.block(body);
                }
            }
            ItemKind::Handler { name, looper } => {
                self.named_item("handler ", name);
                self.named_item(" on ", looper);
            }
            ItemKind::Listener { name, params } => {
                self.named_item("listener ", name);
                self.optional_params(params);
            }
            ItemKind::Thread { daemon, name, each, body } => {
                self.push(if *daemon { "daemon thread " } else { "thread " });
                self.name(name);
                if let Some((name, range)) = each {
                    self.named_item("(", name);
                    self.push(" in ");
                    self.range(range);
                    self.push(")");
                }
                self.block(body);
            }
            ItemKind::Task { mode, name, params, result, body } => {
                self.push(mode.words());
                self.named_item("task ", name);
                self.params(params);
                self.rest_of_task(*mode, result.as_ref(), body);
            }
            ItemKind::Event { name, params, looper, initially, body } => {
                self.named_item("event ", name);
                self.optional_params(params);
                self.named_item(" on ", looper);
                if let Some(count) = initially {
                    self.push(" initially ");
                    self.expr(count);
                }
                self.block(body);
            }
            ItemKind::Init { body } => {
                self.push("init");
                self.block(body);
            }
            ItemKind::Property { name, when, prop } => {
                self.named_item("property ", name);
                self.push(match when {
                    When::Always => " always { ",
                    When::AtEnd => " at end { ",
                });
                self.prop(prop);
                self.push(" }");
            }
            ItemKind::Use { library, settings } => {
                self.named_item("use ", library);
                if !settings.is_empty() {
                    self.braces(settings, |printer, (name, value)| printer.equation("", name, value));
                }
            }
            ItemKind::State(field) => {
                self.word("state");
                self.field(field);
            }
            ItemKind::Kind(kind) => self.kind_item(kind),
            ItemKind::Component(component) => self.component(component),
            ItemKind::Instances(instances) => self.instances(instances),
            ItemKind::Member(member) => self.member(member),
            ItemKind::Expect { expect, condition } => {
                self.push("expect ");
                self.expectation(expect);
                if let Some(condition) = condition {
                    self.push(" if ");
                    self.expr(condition);
                }
            }
        }
    }

    fn prop(&mut self, prop: &Prop) {
        match prop {
            Prop::Expr(expr) => self.expr(expr),
            Prop::Quantified { all, name, range, prop } => {
                self.word(if *all { "all" } else { "any" });
                self.name(name);
                self.push(" in ");
                self.range(range);
                self.push(": ");
                self.prop(prop);
            }
        }
    }

    /// Prints what follows the parameters of a task.
    pub(super) fn rest_of_task(&mut self, mode: TaskMode, result: Option<&Type>, body: &Block) {
        self.annotation(result);
        if mode == TaskMode::AsyncMicro {
            self.push(" micro");
        }
        self.block(body);
    }

    pub(super) fn word(&mut self, word: &str) {
        self.push(word);
        self.push(" ");
    }

    pub(super) fn named_item(&mut self, before: &str, name: &Name) {
        self.push(before);
        self.name(name);
    }

    fn equation(&mut self, before: &str, name: &Name, value: &Expr) {
        self.named_item(before, name);
        self.push(" = ");
        self.expr(value);
    }

    pub(super) fn params(&mut self, params: &[Param]) {
        self.push("(");
        self.commas(params, Self::param);
        self.push(")");
    }

    pub(super) fn param(&mut self, param: &Param) {
        self.name(&param.name);
        self.annotation(param.ty.as_ref());
    }

    pub(super) fn optional_params(&mut self, params: &[Param]) {
        if !params.is_empty() {
            self.params(params);
        }
    }
}
