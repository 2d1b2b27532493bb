//! Writes one component out: its instances, its callbacks and tasks, and the verbs, rows and tasks of its kind.

use super::super::ast::{
    At, BaseType, Block, Component, ComponentPart, Expr, ExprKind, Field, Instances, Item, ItemKind, Member, Name,
    Param, Params, Role, Stmt, StmtKind, TaskMode, TextLiteral, Type,
};
use super::super::diagnostic::Diagnostic;
use super::super::library::library_of_kind;
use super::STAGE;
use super::body::{BodyWriter, Follower};
use super::kinds::KindText;
use super::names::{HOST, Members, SOURCE, kept_name};
use super::{Writer, item};

/// The parts of the members of one component that are alike.
struct Shared<'a> {
    component: &'a Component,
    looper: &'a Name,
}

impl Shared<'_> {
    fn member(&self, name: Name, role: Role, params: Vec<Param>, body: Block) -> Member {
        let (component, looper) = (self.component.name.clone(), self.looper.clone());
        let (mode, of_kind, open, result) = (TaskMode::Plain, false, false, None);
        Member { component, name, role, mode, looper, of_kind, open, params, result, body }
    }
}

impl<'f> Writer<'f> {
    /// Writes a component out into `items`.
    pub(super) fn component(&mut self, component: &'f Component, at: At, items: &mut Vec<Item>) {
        let Some(kind) = self.kinds.remove(component.kind.text.as_str()) else {
            self.errors.push(unknown_kind(&component.kind));
            return;
        };
        self.of_kind(component, &kind, at, items);
        self.kinds.insert(&component.kind.text, kind);
    }

    fn of_kind(&mut self, component: &'f Component, kind: &KindText<'f>, at: At, items: &mut Vec<Item>) {
        self.links.component(component, kind);
        let Some(looper) = self.looper_of(component, kind) else { return };
        let members = Members::new(component, kind, &mut self.errors);
        let mut params = self.followed(component, kind);
        params.extend(component.params.iter().cloned());
        if kind.single.is_some() && !params.is_empty() {
            let message = format!("`{}` has parameters, but there is one instance at a time", component.name.text);
            let error = Diagnostic::new(params[0].name.at.0, message, "which arguments would that one have?");
            self.errors.push(error.help("give the arguments to the verb, as parameters of its callback"));
        }
        let mut fields: Vec<_> = kind.fields.iter().map(|(storage, field)| (*storage, (*field).clone())).collect();
        fields.extend(component.parts.iter().filter_map(|part| match part {
            ComponentPart::Field(storage, field) => Some((*storage, field.clone())),
            _ => None,
        }));
        let mut state: Vec<Field> = kind.states.iter().map(|field| (*field).clone()).collect();
        state.extend(self.kept_in(component));
        let instances = Instances {
            name: component.name.clone(),
            kind: kind.name.clone(),
            host: component.host.clone(),
            source: component.source.clone(),
            params: params.clone(),
            fields,
            state,
            stages: kind.stages.iter().map(|name| (*name).clone()).collect(),
            single: kind.single.map(|until| until.cloned()),
        };
        items.push(item(ItemKind::Instances(Box::new(instances)), at));
        let followers = self.followers_of(component);
        let mut members_out = Vec::new();
        let mut body = BodyWriter::new(component, kind, &members, looper, self, &followers);
        let shared = Shared { component, looper };
        for part in &component.parts {
            body.component_part(part, &shared, &mut members_out);
        }
        body.kind_text(&params, &shared, &mut members_out);
        items.extend(members_out.into_iter().map(|member| {
            let at = member.body.at;
            item(ItemKind::Member(Box::new(member)), at)
        }));
    }

    fn looper_of(&mut self, component: &'f Component, kind: &KindText<'f>) -> Option<&'f Name> {
        let host = component.host.as_ref().and_then(|host| self.component_named(&host.text));
        if let Some(looper) = component.looper.as_ref().or_else(|| host.and_then(|host| host.looper.as_ref())) {
            return Some(looper);
        }
        let (kind, name) = (&kind.name.text, &component.name);
        let message = format!("`{}` needs a looper for its callbacks", name.text);
        let help = format!("for example `{kind} {} on main {{ }}`, with `looper main`", name.text);
        self.errors.push(Diagnostic::new(name.at.0, message, "on which looper do they run?").help(help));
        None
    }

    /// Checks the components that a component follows. Returns the fields that hold them.
    fn followed(&mut self, component: &'f Component, kind: &KindText<'f>) -> Vec<Param> {
        let named = [(&component.host, HOST), (&component.source, SOURCE)];
        let named: Vec<(&Name, &str)> =
            named.into_iter().filter_map(|(name, field)| Some((name.as_ref()?, field))).collect();
        for (follows, _) in &kind.follows {
            let follows_it =
                |name: &Name| self.component_named(&name.text).is_none_or(|of| of.kind.text == follows.text);
            if !named.iter().any(|(name, _)| follows_it(name)) {
                let (kind, name) = (&kind.name.text, &component.name.text);
                let single = self.kinds.get(follows.text.as_str()).is_some_and(|kind| kind.single.is_some());
                let (message, help) = if single {
                    (
                        format!("`{name}` needs the component that it is of"),
                        format!("`{kind} {name} of SOURCE .. {{ }}`"),
                    )
                } else {
                    (format!("`{name}` needs the component that it is in"), format!("`{kind} {name} in HOST {{ }}`"))
                };
                let reason = format!("the kind `{kind}` follows `{}`", follows.text);
                self.errors.push(Diagnostic::new(component.name.at.0, message, reason).help(help));
            }
        }
        self.names_of_followed(kind);
        let mut fields = Vec::new();
        for (name, field) in named {
            match self.can_follow(component, kind, name, field == SOURCE) {
                Ok(()) => {
                    let ty = Type { base: BaseType::Name(name.clone()), lengths: Vec::new(), at: name.at };
                    fields.push(Param { name: Name { text: field.to_owned(), at: name.at }, ty: Some(ty) });
                }
                Err(error) => self.errors.push(*error),
            }
        }
        fields
    }

    // Checks what a kind says about the kinds that it follows. Their text may come after its own.
    fn names_of_followed(&mut self, kind: &KindText<'f>) {
        let mut wrong = Vec::new();
        for (of, pairs) in &kind.follows {
            let Some(followed) = self.kinds.get(of.text.as_str()) else { continue };
            for pair in pairs.iter() {
                if !followed.callbacks.iter().any(|(name, _)| name.text == pair.host.text) {
                    let message = format!("`{}` has no callback `{}`", of.text, pair.host.text);
                    let all: Vec<String> =
                        followed.callbacks.iter().map(|(name, _)| format!("`{}`", name.text)).collect();
                    let error = Diagnostic::new(pair.host.at.0, message, "only a callback can be followed");
                    wrong.push(error.help(format!("its callbacks are {}", all.join(", "))));
                }
            }
        }
        for (of, field) in &kind.kept {
            let Some(followed) = self.kinds.get(of.text.as_str()) else { continue };
            let name = &field.name.text;
            let own = followed.states.iter().map(|state| state.name.text.as_str());
            let fields = followed.fields.iter().map(|(_, field)| field.name.text.as_str());
            if own.chain(fields).chain([STAGE]).any(|known| known == name) {
                let message = format!("`{}` has a state or field `{name}` of its own", of.text);
                wrong.push(Diagnostic::new(field.name.at.0, message, "the kind that follows needs another name"));
            }
        }
        // Several components of one kind report the same.
        wrong.retain(|error| !self.errors.iter().any(|known| known.span == error.span));
        self.errors.extend(wrong);
    }

    // Checks that a component can be `in` another one, or `of` it.
    fn can_follow(
        &self,
        one: &Component,
        kind: &KindText<'f>,
        of: &Name,
        is_source: bool,
    ) -> Result<(), Box<Diagnostic>> {
        let (name, word) = (&one.name.text, if is_source { "of" } else { "in" });
        let wrong = |message: String, reason: String| Diagnostic::new(of.at.0, message, reason);
        let mut follows: Vec<String> = kind.follows.iter().map(|(name, _)| format!("`{}`", name.text)).collect();
        follows.dedup();
        if follows.is_empty() {
            let reason = format!("the kind `{}` follows no other kind", kind.name.text);
            return Err(Box::new(wrong(format!("`{name}` cannot be {word} a component"), reason)));
        }
        let Some(found) = self.component_named(&of.text) else {
            return Err(Box::new(wrong(format!("unknown component `{}`", of.text), "not declared".to_owned())));
        };
        if !kind.follows.iter().any(|(follows, _)| follows.text == found.kind.text) {
            let reason = format!("`{}` follows components of the kind {}", kind.name.text, follows.join(" and "));
            let error = wrong(format!("`{name}` cannot be {word} `{}`", of.text), reason);
            return Err(Box::new(error.note(found.kind.at.0, "another kind")));
        }
        // The kind that is being written out is not in the table.
        let kind_of_found = self.kinds.get(found.kind.text.as_str()).unwrap_or(kind);
        if is_source && kind_of_found.single.is_none() {
            let reason = format!("`{}` is not `single`, so it can have several instances", found.kind.text);
            let error = wrong(format!("`{name}` cannot be of `{}`", of.text), reason);
            return Err(Box::new(error.help(format!("write `in {}`, and use the verb in an instance of it", of.text))));
        }
        Ok(())
    }

    // The states that the kinds of the components which follow this one keep in its instances.
    fn kept_in(&self, of: &Component) -> Vec<Field> {
        let mut all: Vec<Field> = Vec::new();
        for (component, _) in self.followers(&of.name.text) {
            let Some(kind) = self.kinds.get(component.kind.text.as_str()) else { continue };
            let kept = kind.kept.iter().filter(|(name, _)| name.text == of.kind.text);
            let named = kept.map(|(_, field)| Field { name: kept_name(kind.name, &field.name), ..(*field).clone() });
            for field in named {
                if !all.iter().any(|other| other.name.text == field.name.text) {
                    all.push(field);
                }
            }
        }
        all
    }

    // The callbacks that run with those of a component, for each one that follows it.
    fn followers_of(&self, of: &Component) -> Vec<Follower<'f>> {
        let mut all = Vec::new();
        for (component, field) in self.followers(&of.name.text) {
            let Some(kind) = self.kinds.get(component.kind.text.as_str()) else { continue };
            // The states are those of the kind, so several components of one kind assign them once.
            let first = !all.iter().any(|other: &Follower<'_>| other.kind.text == kind.name.text);
            let pairs = kind.follows.iter().filter(|(name, _)| name.text == of.kind.text);
            for pair in pairs.flat_map(|(_, pairs)| pairs.iter()).filter(|pair| first || pair.value.is_none()) {
                let callback = kind.callbacks.iter().any(|(name, _)| name.text == pair.own.text);
                let lacks = callback
                    && !component
                        .parts
                        .iter()
                        .any(|part| matches!(part, ComponentPart::On { name, .. } if name.text == pair.own.text));
                if !lacks {
                    let own = kind_member_name(component, kind, &pair.own.text);
                    all.push(Follower { component, field, pair, kind: kind.name, own });
                }
            }
        }
        all
    }
}

impl<'f> BodyWriter<'_, 'f> {
    /// Writes the callbacks, tasks and events of the component.
    fn component_part(&mut self, part: &'f ComponentPart, shared: &Shared<'_>, out: &mut Vec<Member>) {
        self.begin(false);
        match part {
            ComponentPart::On { name, params, instance, body } => {
                let params = self.callback_params(name, params);
                self.declare_params(&params);
                if let Some(instance) = instance {
                    self.instance_of_block(instance);
                }
                let body = self.block(body);
                let body = in_unit(self.component, name, body);
                out.push(shared.member(self.member_name(name), Role::Task, params, body));
            }
            ComponentPart::Task { mode, name, params, result, body } => {
                self.declare_params(params);
                let body = self.block(body);
                let body = in_unit(self.component, name, body);
                let member = shared.member(self.member_name(name), Role::Task, params.clone(), body);
                out.push(Member { mode: *mode, result: result.clone(), ..member });
            }
            ComponentPart::Event { name, at_most, body } => {
                let Some(stages) = self.kind.events else {
                    let message = format!("`{}` has no events of components", self.kind.name.text);
                    let help = "write the event outside of the component, with `enable` where it can happen";
                    self.error(Diagnostic::new(name.at.0, message, "in which stages would it happen?").help(help));
                    return;
                };
                let once = || Expr { kind: ExprKind::Int(1), at: name.at };
                let role = Role::Row {
                    from: stages.to_vec(),
                    to: None,
                    by_request: false,
                    when: None,
                    at_most: Some(at_most.clone().unwrap_or_else(once)),
                };
                let body = self.block(body);
                let body = in_unit(self.component, name, body);
                out.push(shared.member(self.member_name(name), role, Vec::new(), body));
            }
            ComponentPart::Field(..) | ComponentPart::Unit { .. } => {}
        }
    }

    /// Writes the verbs, rows and tasks of the kind. `made` are the parameters of an instance.
    fn kind_text(&mut self, made: &[Param], shared: &Shared<'_>, out: &mut Vec<Member>) {
        let kind = self.kind;
        for verb in &kind.verbs {
            let (own, open) = self.begin_kind(verb.params, verb.body);
            let body = self.block(verb.body);
            let mut params = if verb.mode == super::super::ast::VerbMode::Makes { made.to_vec() } else { Vec::new() };
            params.extend(own);
            let text = verb_name(&verb.name.text, &shared.component.name.text);
            let name = Name { text, at: verb.name.at };
            let member = shared.member(name, Role::Verb(verb.mode), params, body);
            out.push(Member { of_kind: true, open, ..member });
        }
        for row in &kind.rows {
            let (params, _) = self.begin_kind(&row.params, &row.body);
            let when = row.when.as_ref().map(|when| self.expr(when));
            let at_most = row.at_most.as_ref().map(|most| self.expr(most));
            let body = self.block(&row.body);
            let (from, to) = (row.from.clone(), row.to.clone());
            let role = Role::Row { from, to, by_request: row.by_request.is_some(), when, at_most };
            let member = shared.member(self.member_name(&row.name), role, params, body);
            out.push(Member { of_kind: true, ..member });
        }
        for task in &kind.tasks {
            let (params, _) = self.begin_kind(task.params, task.body);
            let body = self.block(task.body);
            let member = shared.member(self.member_name(task.name), Role::Task, params, body);
            out.push(Member { of_kind: true, result: task.result.cloned(), ..member });
        }
    }

    // Begins a part of the kind's text. Returns its parameters, with those that `..` stands for, and whether `..` is
    // for a callback that the component lacks.
    fn begin_kind(&mut self, params: &'f Params, body: &'f Block) -> (Vec<Param>, bool) {
        self.begin(true);
        let (mut all, mut open) = (params.list.clone(), false);
        if params.rest.is_some() {
            let rest = self.rest_of(params, body);
            open = rest.is_none();
            let rest = rest.unwrap_or_default();
            self.set_rest(&rest);
            all.extend(rest);
        }
        self.declare_params(&all);
        (all, open)
    }

    // The parameters of a callback. One without a type has the type that the kind gives it.
    fn callback_params(&self, name: &Name, params: &[Param]) -> Vec<Param> {
        let given = self.kind.callbacks.iter().find(|(known, _)| known.text == name.text);
        let given = given.map_or(&[][..], |(_, params)| &params.list);
        let typed = |(at, param): (usize, &Param)| {
            let ty = param.ty.clone().or_else(|| given.get(at).and_then(|given| given.ty.clone()));
            Param { name: param.name.clone(), ty }
        };
        params.iter().enumerate().map(typed).collect()
    }
}

/// Returns the name of the body of a verb.
pub(in crate::lang) fn verb_name(verb: &str, component: &str) -> String {
    format!("{verb} {component}")
}

/// Returns the full name of a callback, task or row that the text of a kind names. A row or task of the kind can have
/// the name of a member of the component, and then has three parts.
pub(super) fn kind_member_name(component: &Component, kind: &KindText<'_>, member: &str) -> String {
    let of_kind = kind.rows.iter().map(|row| &row.name).chain(kind.tasks.iter().map(|task| task.name));
    let own = component.parts.iter().any(|part| match part {
        ComponentPart::Event { name, .. } | ComponentPart::Task { name, .. } => name.text == member,
        _ => false,
    });
    if own && of_kind.into_iter().any(|name| name.text == member) {
        return member_name(&member_name(&component.name.text, &kind.name.text), member);
    }
    member_name(&component.name.text, member)
}

/// Returns the name of a callback, task or row of a component.
pub(in crate::lang) fn member_name(component: &str, member: &str) -> String {
    format!("{component}.{member}")
}

// Marks the body of a member of a unit.
fn in_unit(component: &Component, member: &Name, body: Block) -> Block {
    let unit = component.parts.iter().find_map(|part| match part {
        ComponentPart::Unit { name, members } => members.iter().any(|m| m.text == member.text).then_some(name),
        _ => None,
    });
    let Some(unit) = unit else { return body };
    let at = body.at;
    let name = TextLiteral { text: member_name(&component.name.text, &unit.text), at: unit.at };
    Block { stmts: vec![Stmt { label: None, kind: StmtKind::Unit { name, body }, at: member.at }], at }
}

fn unknown_kind(name: &Name) -> Diagnostic {
    match library_of_kind(&name.text) {
        Some(library) => {
            let message = format!("`{}` is in the library `{library}`", name.text);
            let help = format!("add `use {library}`");
            Diagnostic::new(name.at.0, message, "the file does not use this library").help(help)
        }
        None => Diagnostic::new(name.at.0, format!("unknown kind `{}`", name.text), "not declared"),
    }
}
