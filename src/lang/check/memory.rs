//! Lowers shared memory: globals, fields of classes, top-level `let`s, and their initial values.

use super::names::NameMeaning;
use super::scope::Mode;
use super::types::{article, constant};
use super::{Checker, MAX_CELLS};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, ItemKind, Storage, Value};
use crate::lang::program::{ClassId, Expr, ExprKind, Global, Init, Type};
use std::collections::BTreeMap;

impl Checker {
    /// Fills the memory. Top-level `let`s come first, because initial values of variables can use them. A `let` can
    /// only use a `let` that is declared before it.
    pub(super) fn memory(&mut self, file: &ast::File) {
        for item in &file.items {
            if let ItemKind::Field { storage: Storage::Let, field } = &item.kind
                && self.is_first(&field.name)
            {
                let named = self.top_level_let(field).unwrap_or(NameMeaning::Broken);
                self.define(&field.name, named);
            }
        }
        for item in &file.items {
            if self.enough() {
                return;
            }
            match &item.kind {
                ItemKind::Field { storage, field } if *storage != Storage::Let => {
                    let offset = self.out.globals.last().map_or(0, |g| g.offset + g.cells);
                    let named = match self.field(*storage, field, offset) {
                        Some(global) => NameMeaning::Global(self.out.globals.add(global)),
                        None => NameMeaning::Broken,
                    };
                    self.define(&field.name, named);
                }
                ItemKind::State(field) => {
                    let named = match self.state_variable(field) {
                        Some(state) => NameMeaning::State(self.out.components.states.add(state)),
                        None => NameMeaning::Broken,
                    };
                    self.define(&field.name, named);
                }
                ItemKind::Instances(instances) if self.is_first(&instances.name) => self.instance_memory(instances),
                ItemKind::Class { name, fields } => {
                    if let NameMeaning::Class(class) = self.names[&name.text].named
                        && self.is_first(name)
                    {
                        self.fields(class, fields);
                    }
                }
                _ => {}
            }
        }
        self.weigh_objects(file);
    }

    pub(super) fn fields(&mut self, class: ClassId, fields: &[(Storage, ast::Field)]) {
        let mut first: BTreeMap<&str, At> = BTreeMap::new();
        let mut offset = 0;
        for (storage, field) in fields {
            let name = &field.name;
            if let Some(at) = first.insert(&name.text, name.at) {
                let message = format!("field `{}` is declared twice", name.text);
                let problem = Diagnostic::new(name.at.0, message, "the class already has this field");
                self.problems.add(problem.note(at.0, "first declared here"));
                continue;
            }
            // A field with an error stays known by name, to avoid further errors. Its content does not matter, because
            // the model is rejected.
            let lowered = self.field(*storage, field, offset);
            self.note_field(class, name, lowered.as_ref().map(|global| &global.ty));
            let global = lowered.unwrap_or_else(|| Global {
                name: name.text.clone(),
                ty: Type::Void,
                atomic: false,
                mixed: false,
                offset,
                cells: 0,
                init: Vec::new(),
            });
            offset += global.cells;
            self.out.classes[class].fields.push(global);
        }
    }

    /// Lowers a variable or field with its initial value.
    pub(super) fn field(&mut self, storage: Storage, field: &ast::Field, offset: u32) -> Option<Global> {
        let name = &field.name;
        let annotated = match &field.ty {
            Some(ty) => Some(self.ty(ty)?),
            None => None,
        };
        let (ty, init) = match (&field.value, annotated) {
            (None, None) => {
                let message = format!("`{}` needs a type or an initial value", name.text);
                self.error_help(
                    name.at,
                    message,
                    "neither is given",
                    format!("give it one, as in `{}: int` or `{} = 0`", name.text, name.text),
                );
                return None;
            }
            (None, Some(ty)) => {
                let first = self.default_init(&ty, name)?;
                self.take_cells(&ty, name.at)?;
                let init = vec![first; usize::try_from(ty.cells()).expect("it was bounded")];
                (ty, init)
            }
            (Some(Value::List(elements, at)), ty) => self.literal(name, ty, elements, *at)?,
            (Some(Value::Expr(e)), ty) => {
                if let Some(ty @ (Type::List(_) | Type::Array(..))) = &ty {
                    let message = format!("the initial value of {} must be a literal", article(&self.name_of(ty)));
                    self.error_help(
                        e.at,
                        message,
                        "this is not a literal",
                        "write one, as in `[1, 2]`, or omit the value",
                    );
                    return None;
                }
                let value = self.first_value(e)?;
                let ty = self.settle(name, ty, &value, e.at)?;
                self.take_cells(&ty, name.at)?;
                let value = self.fit(value, &ty, e.at, "the initial value")?;
                (ty, vec![as_init(value)])
            }
        };
        if storage == Storage::Atomic && base(&ty) {
            self.error_help(
                name.at,
                "a list cannot be atomic",
                "an atomic location is one word",
                "guard the list with a lock",
            );
            return None;
        }
        let cells = u32::try_from(ty.cells()).expect("it was bounded");
        Some(Global {
            name: name.text.clone(),
            ty,
            atomic: storage == Storage::Atomic,
            mixed: false,
            offset,
            cells,
            init,
        })
    }

    /// Adds the cells of a type to the total, before they are allocated. Only the first excess is reported.
    fn take_cells(&mut self, ty: &Type, at: At) -> Option<()> {
        let full = self.cells > MAX_CELLS;
        self.cells = self.cells.saturating_add(ty.cells());
        if self.cells <= MAX_CELLS {
            return Some(());
        }
        if !full {
            self.too_large(at);
        }
        None
    }

    /// Returns the type of a variable: its annotation, or else the type of its initial value.
    pub(super) fn settle(&mut self, name: &ast::Name, ty: Option<Type>, value: &Expr, at: At) -> Option<Type> {
        match (ty, &value.ty) {
            (Some(ty), _) => Some(ty),
            (None, Type::Null) => {
                let help = format!("name the type, as in `{}: Object = null`", name.text);
                self.error_help(at, format!("`{}` needs a type", name.text), "null fits many types", help);
                None
            }
            (None, ty) => Some(ty.clone()),
        }
    }

    fn default_init(&mut self, ty: &Type, name: &ast::Name) -> Option<Init> {
        match ty {
            Type::Array(of, _) => self.default_init(of, name),
            Type::List(_) => Some(Init::List(Vec::new())),
            _ => match ty.default_word() {
                Some(value) => Some(Init::Word(value)),
                None => {
                    self.needs_value(name, ty);
                    None
                }
            },
        }
    }

    /// Reports a variable without an initial value whose type has no default value.
    pub(super) fn needs_value(&mut self, name: &ast::Name, ty: &Type) {
        let type_name = self.name_of(ty);
        let message = format!("`{}` needs an initial value", name.text);
        self.error(name.at, message, format!("{} is never null", article(&type_name)));
    }

    fn literal(
        &mut self,
        name: &ast::Name,
        ty: Option<Type>,
        elements: &[ast::Expr],
        at: At,
    ) -> Option<(Type, Vec<Init>)> {
        let values: Vec<Option<Expr>> = elements.iter().map(|e| self.first_value(e)).collect();
        let ty = match ty {
            Some(ty) => ty,
            None => {
                let message = format!("`{}` needs a type", name.text);
                self.error_help(
                    at,
                    message,
                    "this may be a list or an array",
                    format!("declare `{}: list[int] = [..]` or `{}: int[2] = [..]`", name.text, name.text),
                );
                return None;
            }
        };
        let (of, list) = match &ty {
            Type::List(of) => (of.clone(), true),
            Type::Array(of, len) if of.is_word() => {
                if *len as usize != elements.len() {
                    let message =
                        format!("the literal has {} for an array of {len}", super::count(elements.len(), "value"));
                    self.error(at, message, format!("{} is declared", article(&self.name_of(&ty))));
                    return None;
                }
                (of.clone(), false)
            }
            _ => {
                let message = format!("{} cannot start with a literal", article(&self.name_of(&ty)));
                self.error_help(at, message, "only lists and arrays of words can", "assign its elements in `init`");
                return None;
            }
        };
        self.take_cells(&ty, name.at)?;
        let mut inits = Vec::new();
        for (value, e) in values.into_iter().zip(elements) {
            let value = self.fit(value?, &of, e.at, "an element")?;
            inits.push(as_init(value));
        }
        if !list {
            return Some((ty, inits));
        }
        let mut words = Vec::new();
        for (init, e) in inits.into_iter().zip(elements) {
            let Init::Word(value) = init else {
                self.error_help(
                    e.at,
                    "the literal of a list cannot have a new object",
                    "only constants can be used here",
                    format!("add it in `init`: `init {{ {}.push(new ...) }}`", name.text),
                );
                return None;
            };
            words.push(value);
        }
        Some((ty, vec![Init::List(words)]))
    }

    /// Lowers an initial value: a constant, a name with a fixed value, or `new`.
    pub(super) fn first_value(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.in_mode(Mode::First, |c| c.value(e))?;
        match value.kind {
            ExprKind::Word(_) | ExprKind::New(_) => return Some(value),
            ExprKind::Indexed { .. } => self.error(e.at, "the index is out of bounds", "there is no such element"),
            _ => {
                self.error(e.at, "the initial value has to be computed", "it can have only constants, `new`, and names")
            }
        }
        None
    }

    fn top_level_let(&mut self, field: &ast::Field) -> Option<NameMeaning> {
        let name = &field.name;
        let annotated = match &field.ty {
            Some(ty) => Some(self.ty(ty)?),
            None => None,
        };
        let e = match &field.value {
            Some(Value::Expr(e)) => e,
            Some(Value::List(_, at)) => {
                self.error_help(
                    *at,
                    "a top-level `let` is one word",
                    "this is a literal",
                    format!("declare `var {} = ...`", name.text),
                );
                return None;
            }
            None => {
                self.error_help(
                    name.at,
                    format!("`{}` needs a value", name.text),
                    "a top-level `let` is immutable",
                    format!("declare `var {}` to assign it later", name.text),
                );
                return None;
            }
        };
        let value = self.first_value(e)?;
        let ty = self.settle(name, annotated, &value, e.at)?;
        let value = self.fit(value, &ty, e.at, "the value")?;
        match value.kind {
            ExprKind::New(class) => {
                self.out.objects.push(class);
                Some(NameMeaning::Word(ty, super::items::index(self.out.objects.len() - 1)))
            }
            _ => Some(NameMeaning::Word(ty, constant(&value)?)),
        }
    }
}

fn base(ty: &Type) -> bool {
    match ty {
        Type::Array(of, _) => base(of),
        ty => matches!(ty, Type::List(_)),
    }
}

fn as_init(value: Expr) -> Init {
    match value.kind {
        ExprKind::New(class) => Init::New(class),
        ExprKind::Word(value) => Init::Word(value),
        _ => unreachable!("a first value is a word or new"),
    }
}
