//! Evaluates constants: `-D` values, constants that depend on each other in any order, cycles.

use super::names::NameMeaning;
use super::scope::Mode;
use super::types::{article, constant};
use super::{Checker, did_you_mean};
use crate::lang::ast::{self, ExprKind, ItemKind};
use crate::lang::program::CAUGHT;
use crate::lang::program::Type;
use crate::lang::{Diagnostic, Source};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use thiserror::Error;

/// A `-D NAME=value` that does not fit the model.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DefineError {
    /// The model has no constant of this name.
    #[error("-D {name}: the model has no constant `{name}`{}", near.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    Unknown {
        /// The name in the `-D` value.
        name: String,
        /// The nearest name of a constant, if there is one.
        near: Option<String>,
    },
    /// The name belongs to something that is not a constant.
    #[error("-D {name}: `{name}` is {what}; only a `const` can be overridden")]
    NotConst {
        /// The name in the `-D` value.
        name: String,
        /// The kind of the item, with its article.
        what: &'static str,
    },
    /// A `-D` value for a bool that is neither 0 nor 1.
    #[error("-D {name}={value}: `{name}` is a bool; give 0 or 1")]
    NotBool {
        /// The name of the constant.
        name: String,
        /// The rejected value.
        value: i64,
    },
    /// A `-D` value that is not in the declared range of its constant.
    #[error("-D {name}={value}: the range of `{name}` is {}..{}, without its end ({place})", range.start, range.end)]
    OutOfRange {
        /// The name of the constant.
        name: String,
        /// The rejected value.
        value: i64,
        /// The range of the constant.
        range: Range<i64>,
        /// The position of the range: file, line and column.
        place: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Open,
    Done,
}

/// A declared constant.
#[derive(Clone, Copy)]
struct Constant<'f> {
    name: &'f ast::Name,
    range: Option<&'f ast::Range>,
    value: &'f ast::Expr,
}

impl<'f> Constant<'f> {
    // Returns the names of the constants on which this one depends.
    fn needs(&self) -> Vec<&'f str> {
        let ends = self.range.into_iter().flat_map(|range| [&range.from, &range.to]);
        ends.chain([self.value]).flat_map(needs).collect()
    }
}

impl Checker {
    /// Assigns a value to every constant, in the order of their dependencies. Returns the errors in `defines`.
    pub(super) fn constants(
        &mut self,
        file: &ast::File,
        source: &Source,
        defines: &[(String, i64)],
    ) -> Vec<DefineError> {
        let mut consts: IndexMap<&str, Constant<'_>> = IndexMap::new();
        for item in &file.items {
            if let ItemKind::Const { name, range, value } = &item.kind
                && self.is_first(name)
            {
                consts.insert(&name.text, Constant { name, range: range.as_ref(), value });
            }
        }
        let mut ranges: BTreeMap<&str, Range<i64>> = BTreeMap::new();
        let given: BTreeMap<&str, i64> = defines.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let mut wrong: Vec<DefineError> = Vec::new();
        match given.get(CAUGHT) {
            None => {}
            Some(value @ (0 | 1)) => self.out.caught_fails = *value == 1,
            Some(value) => wrong.push(DefineError::NotBool { name: CAUGHT.to_owned(), value: *value }),
        }
        for &name in given.keys().filter(|n| **n != CAUGHT && !consts.contains_key(**n)) {
            let unknown = || DefineError::Unknown {
                name: name.into(),
                near: super::near(name, consts.keys().copied()).map(str::to_owned),
            };
            wrong.push(
                self.names
                    .get(name)
                    .map_or_else(unknown, |entry| DefineError::NotConst { name: name.into(), what: entry.what }),
            );
        }
        for name in self.in_order(&consts) {
            let Constant { name, range, value: written } = consts[name];
            let given = given.get(name.text.as_str()).copied();
            let Some((ty, value)) = self.value_of_const(written, given.is_some()) else {
                self.define(name, NameMeaning::Broken);
                continue;
            };
            if let Some(value) = given.filter(|v| ty == Type::Bool && !(0..=1).contains(v)) {
                wrong.push(DefineError::NotBool { name: name.text.clone(), value });
            }
            if let Some(range) = range {
                self.refuse_open_ends(name, range, &consts);
                let Some(values) = self.range_of_const(name, range, (&ty, written.at)) else {
                    self.define(name, NameMeaning::Broken);
                    continue;
                };
                match given {
                    Some(value) if !values.contains(&value) => {
                        let (line, column) = self.lines.place(range.at().0.start);
                        let place = format!("{}:{line}:{column}", source.name());
                        let (name, range) = (name.text.clone(), values.clone());
                        wrong.push(DefineError::OutOfRange { name, value, range, place });
                    }
                    None if !values.contains(&value) => self.out_of_range(name, (range, &values), (value, written.at)),
                    _ => {}
                }
                ranges.insert(&name.text, values);
            }
            self.define(name, NameMeaning::Const(ty, given.unwrap_or(value)));
        }
        for name in consts.keys() {
            if let NameMeaning::Const(_, value) = self.names[*name].named {
                self.out.consts.push(((*name).to_owned(), value));
                self.out.ranges.extend(ranges.remove(name).map(|range| ((*name).to_owned(), range)));
            }
        }
        wrong
    }

    /// Returns the constants, each after those that it depends on. Constants on a cycle are reported and marked as
    /// broken.
    fn in_order<'f>(&mut self, consts: &IndexMap<&'f str, Constant<'f>>) -> Vec<&'f str> {
        let mut state: BTreeMap<&str, Visit> = BTreeMap::new();
        let mut order = Vec::new();
        for &root in consts.keys() {
            if state.contains_key(root) {
                continue;
            }
            // An explicit stack, because a chain of constants can be as long as the file.
            let mut path: Vec<(&str, Vec<&str>)> = vec![(root, consts[root].needs())];
            state.insert(root, Visit::Open);
            while let Some((name, rest)) = path.last_mut() {
                let name = *name;
                let Some(next) = rest.pop() else {
                    state.insert(name, Visit::Done);
                    order.push(name);
                    path.pop();
                    continue;
                };
                let Some((&next, found)) = consts.get_key_value(next) else { continue };
                match state.get(next) {
                    Some(Visit::Done) => {}
                    Some(Visit::Open) => {
                        let (at, declared) = (consts[name].name.at, found.name);
                        self.problems.add(
                            Diagnostic::new(
                                at.0,
                                format!("`{name}` needs itself"),
                                "a constant cannot need its own value",
                            )
                            .note(declared.at.0, format!("it needs `{next}`, which needs it")),
                        );
                        self.define(declared, NameMeaning::Broken);
                        self.define(consts[name].name, NameMeaning::Broken);
                    }
                    None => {
                        state.insert(next, Visit::Open);
                        path.push((next, found.needs()));
                    }
                }
            }
        }
        order.retain(|name| self.names[*name].named != NameMeaning::Broken);
        order
    }

    /// Returns the type and the value of a constant. The value is ignored if it is `overridden`.
    fn value_of_const(&mut self, e: &ast::Expr, overridden: bool) -> Option<(Type, i64)> {
        let value = self.in_dead(overridden, |c| c.in_mode(Mode::Const, |c| c.value(e)))?;
        match (&value.ty, constant(&value)) {
            (Type::Int | Type::Bool, Some(word)) => Some((value.ty.clone(), word)),
            _ => {
                self.error(e.at, "a constant is an int or a bool", "this is neither");
                None
            }
        }
    }

    // Returns the range of a constant of type `ty`, whose value is written at `at`.
    fn range_of_const(
        &mut self,
        name: &ast::Name,
        range: &ast::Range,
        (ty, at): (&Type, ast::At),
    ) -> Option<Range<i64>> {
        let of = format!("`{}`", name.text);
        let (from, to) = self.constant_range(range, &of)?;
        if *ty != Type::Int {
            let ty = self.name_of(ty);
            let problem =
                Diagnostic::new(range.at().0, format!("{} has no range", article(&ty)), "only an `int` has one");
            let value = format!("the value of {of} is {}", article(&ty));
            self.problems.add(problem.note(at.0, value).help("leave the range out"));
            return None;
        }
        if from >= to {
            self.empty_range(range, (from, to), &of);
            return None;
        }
        Some(from..to)
    }

    // Reports a range whose ends depend on a constant that has a range itself: which values are possible would depend
    // on the other value.
    fn refuse_open_ends(&mut self, name: &ast::Name, range: &ast::Range, consts: &IndexMap<&str, Constant<'_>>) {
        let mut open: Vec<&str> = [&range.from, &range.to].into_iter().flat_map(needs).collect();
        let mut seen = BTreeSet::new();
        while let Some(needed) = open.pop() {
            let Some(constant) = consts.get(needed).filter(|_| seen.insert(needed)) else { continue };
            if let Some(other) = constant.range {
                let message = format!("the range of `{}` depends on `{needed}`, which has a range itself", name.text);
                let problem = Diagnostic::new(range.at().0, message, "the same range for all inputs is needed here");
                let problem = problem.note(other.at().0, format!("the range of `{needed}`"));
                self.problems.add(problem.help("end the range at a number or a constant without a range"));
                return;
            }
            open.extend(needs(constant.value));
        }
    }

    // Reports a constant whose written value is not in its range.
    fn out_of_range(
        &mut self,
        name: &ast::Name,
        (range, values): (&ast::Range, &Range<i64>),
        (value, at): (i64, ast::At),
    ) {
        let message = format!("the value of `{}` is not in its range", name.text);
        let problem = Diagnostic::new(at.0, message, format!("{value} is not in {}..{}", values.start, values.end));
        let problem = problem.note(range.at().0, "this is the range, without its end");
        self.problems.add(problem.help("give a value from the range, or make the range larger"));
    }

    /// Returns "did you mean `x`?" with the nearest name of a constant, if there is one.
    pub(super) fn suggest_const(&self, name: &str) -> Option<String> {
        let consts = self.names.iter().filter(|(_, e)| matches!(e.named, NameMeaning::Const(..)));
        did_you_mean(name, consts.map(|(n, _)| n.as_str()))
    }
}

/// Returns the names in the expression of a constant.
pub(super) fn needs(e: &ast::Expr) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open = vec![e];
    while let Some(e) = open.pop() {
        match &e.kind {
            ExprKind::Name(name) => names.push(name.as_str()),
            ExprKind::Unary { operand, .. } => open.push(operand),
            ExprKind::Binary { left, right, .. } => open.extend([&**left, &**right]),
            _ => {}
        }
    }
    names
}
