//! Prints kinds and components, and components that are written out.

use super::super::ast::{
    Component, ComponentPart, Instances, Kind, KindPart, Member, Name, Params, Role, Row, VerbMode,
};
use super::TreePrinter;

impl TreePrinter {
    pub(super) fn kind_item(&mut self, kind: &Kind) {
        self.named_item("kind ", &kind.name);
        self.braces(&kind.parts, Self::kind_part);
    }

    fn kind_part(&mut self, part: &KindPart) {
        match part {
            KindPart::Callbacks(all) => {
                self.push("callback ");
                self.commas(all, |printer, (name, params)| {
                    printer.name(name);
                    printer.optional_kind_params(params);
                });
            }
            KindPart::Stages(all) => {
                self.push("stage ");
                self.commas(all, Self::name);
            }
            KindPart::Field(storage, field) => {
                self.word(storage.word());
                self.field(field);
            }
            KindPart::State(field) => {
                self.push("state ");
                self.field(field);
            }
            KindPart::Kept { of, field } => {
                self.named_item("state ", of);
                self.push(".");
                self.field(field);
            }
            KindPart::Single { until, .. } => {
                self.push("single");
                if let Some(stage) = until {
                    self.named_item(" until ", stage);
                }
            }
            KindPart::Events { stages } => {
                self.push("events during ");
                self.stages(stages);
            }
            KindPart::Follows { host, pairs } => {
                self.named_item("follows ", host);
                self.push(": ");
                self.commas(pairs, |printer, pair| {
                    printer.push(if pair.before { "before " } else { "" });
                    printer.name(&pair.host);
                    printer.named_item(" -> ", &pair.own);
                    if let Some(value) = &pair.value {
                        printer.push(" = ");
                        printer.expr(value);
                    }
                });
            }
            KindPart::Row(row) => self.row(row),
            KindPart::Verb { name, params, mode, body } => {
                self.named_item("verb ", name);
                self.optional_kind_params(params);
                self.push(mode_word(*mode));
                self.block(body);
            }
            KindPart::Task { name, params, result, body } => {
                self.named_item("task ", name);
                self.kind_params(params);
                self.annotation(result.as_ref());
                self.block(body);
            }
        }
    }

    fn row(&mut self, row: &Row) {
        self.name(&row.name);
        self.optional_kind_params(&row.params);
        self.push(": ");
        match &row.to {
            None => {
                self.push("during ");
                self.stages(&row.from);
            }
            Some(to) => {
                self.stages(&row.from);
                self.named_item(" -> ", to);
            }
        }
        if row.by_request.is_some() {
            self.push(" by request");
        }
        if let Some(when) = &row.when {
            self.push(" when ");
            self.expr(when);
        }
        if let Some(most) = &row.at_most {
            self.push(" at most ");
            self.expr(most);
        }
        self.block(&row.body);
    }

    fn stages(&mut self, stages: &[Name]) {
        for (index, stage) in stages.iter().enumerate() {
            self.push(if index > 0 { " | " } else { "" });
            self.name(stage);
        }
    }

    fn kind_params(&mut self, params: &Params) {
        self.push("(");
        self.commas(&params.list, Self::param);
        if params.rest.is_some() {
            self.push(if params.list.is_empty() { ".." } else { ", .." });
        }
        self.push(")");
    }

    fn optional_kind_params(&mut self, params: &Params) {
        if !params.list.is_empty() || params.rest.is_some() {
            self.kind_params(params);
        }
    }

    pub(super) fn component(&mut self, component: &Component) {
        let Component { kind, name, params, source, host, looper, parts } = component;
        self.word(&kind.text);
        self.name(name);
        self.optional_params(params);
        if let Some(source) = source {
            self.named_item(" of ", source);
        }
        if let Some(host) = host {
            self.named_item(" in ", host);
        }
        if let Some(looper) = looper {
            self.named_item(" on ", looper);
        }
        self.braces(parts, Self::component_part);
    }

    fn component_part(&mut self, part: &ComponentPart) {
        match part {
            ComponentPart::Field(storage, field) => {
                self.word(storage.word());
                self.field(field);
            }
            ComponentPart::On { name, params, instance, body } => {
                self.named_item("on ", name);
                self.optional_params(params);
                if let Some(instance) = instance {
                    self.push(" as ");
                    self.expr(instance);
                }
                self.block(body);
            }
            ComponentPart::Event { name, at_most, body } => {
                self.named_item("event ", name);
                if let Some(most) = at_most {
                    self.push(" at most ");
                    self.expr(most);
                }
                self.block(body);
            }
            ComponentPart::Task { mode, name, params, result, body } => {
                self.push(mode.words());
                self.named_item("task ", name);
                self.params(params);
                self.rest_of_task(*mode, result.as_ref(), body);
            }
            ComponentPart::Unit { name, members } => {
                self.named_item("unit ", name);
                self.push(": ");
                self.commas(members, Self::name);
            }
        }
    }

    /// Prints the class of a component that is written out. What a class cannot say stands in a comment.
    pub(super) fn instances(&mut self, instances: &Instances) {
        let Instances { name, kind, params, fields, state, stages, single, .. } = instances;
        self.named_item("class ", name);
        self.push(" {");
        self.level += 1;
        self.named_item("    // the kind is ", kind);
        match single {
            None => {}
            Some(None) => self.push("; there is one instance"),
            Some(Some(stage)) => self.named_item("; there is one instance until it is ", stage),
        }
        for param in params {
            self.newline();
            self.push("let ");
            self.param(param);
        }
        for (storage, field) in fields {
            self.newline();
            self.word(storage.word());
            self.field(field);
        }
        for field in state {
            self.newline();
            self.push("state ");
            self.field(field);
        }
        if let Some(first) = stages.first() {
            self.newline();
            self.named_item("state stage = ", first);
            self.push("    // one of ");
            self.commas(stages, Self::name);
        }
        self.level -= 1;
        self.newline();
        self.push("}");
    }

    /// Prints a task of a component that is written out.
    pub(super) fn member(&mut self, member: &Member) {
        let Member { component, name, role, mode, params, result, body, looper, .. } = member;
        let with_this = |printer: &mut Self| {
            printer.named_item("(this: ", component);
            for param in params {
                printer.push(", ");
                printer.param(param);
            }
            printer.push(")");
        };
        match role {
            Role::Task => {
                self.push(mode.words());
                self.named_item("task ", name);
                with_this(self);
                self.rest_of_task(*mode, result.as_ref(), body);
            }
            Role::Verb(VerbMode::One) => {
                self.named_item("verb ", name);
                with_this(self);
                self.block(body);
            }
            Role::Verb(mode) => {
                self.named_item("verb ", name);
                self.params(params);
                self.push(mode_word(*mode));
                self.block(body);
            }
            Role::Row { from, to, by_request, when, at_most } => {
                self.named_item("event ", name);
                with_this(self);
                self.named_item(" on ", looper);
                self.push(" {    // open during ");
                self.stages(from);
                if *by_request {
                    self.push(", by request");
                }
                if let Some(when) = when {
                    self.push(", when ");
                    self.expr(when);
                }
                if let Some(most) = at_most {
                    self.push(", at most ");
                    self.expr(most);
                    self.push(" times");
                }
                if let Some(to) = to {
                    self.named_item("; at its end: stage = ", to);
                }
                self.level += 1;
                for stmt in &body.stmts {
                    self.newline();
                    self.stmt(stmt);
                }
                self.level -= 1;
                self.newline();
                self.push("}");
            }
        }
    }
}

fn mode_word(mode: VerbMode) -> &'static str {
    match mode {
        VerbMode::One => "",
        VerbMode::Makes => " makes",
        VerbMode::All => " all",
    }
}
