//! Lowers lines such as `expect outcomes of a, b: ok [1, [2, 3]], deadlock`

use super::Checker;
use super::names::NameMeaning;
use super::types::{article, constant};
use crate::lang::ast::{self, At, OutcomeSpec, OutcomeSpecKind, OutcomeValue};
use crate::lang::program::{EndValue, ExpectationKind, GlobalId, OutcomeRef, OutcomeRefKind, Type};

impl Checker {
    /// Lowers the outcomes of an `expect` line.
    pub(super) fn outcomes(&mut self, of: &[ast::Name], outcomes: &[OutcomeSpec]) -> Option<ExpectationKind> {
        let mut globals: Vec<Option<GlobalId>> = Vec::new();
        for name in of {
            let global = self.global(name);
            if global.is_some() && globals.contains(&global) {
                self.error(name.at, format!("`{}` is named twice", name.text), "the line already names it");
            }
            globals.push(global);
        }
        let globals: Option<Vec<GlobalId>> = globals.into_iter().collect();
        let refs: Vec<Option<OutcomeRef>> = outcomes.iter().map(|o| self.outcome(globals.as_deref(), o)).collect();
        Some(ExpectationKind::Outcomes { of: globals?, outcomes: refs.into_iter().collect::<Option<_>>()? })
    }

    fn global(&mut self, name: &ast::Name) -> Option<GlobalId> {
        match self.find(name, "variable", |n| matches!(n, NameMeaning::Global(_)))? {
            NameMeaning::Global(global) => Some(global),
            NameMeaning::Broken => None,
            _ => {
                self.wrong_kind(name, "a variable", None);
                None
            }
        }
    }

    fn outcome(&mut self, globals: Option<&[GlobalId]>, outcome: &OutcomeSpec) -> Option<OutcomeRef> {
        let kind = match &outcome.kind {
            OutcomeSpecKind::Ok => OutcomeRefKind::Ok,
            OutcomeSpecKind::Deadlock => OutcomeRefKind::Deadlock,
            OutcomeSpecKind::Stuck => OutcomeRefKind::Stuck,
            OutcomeSpecKind::Failure(name) => OutcomeRefKind::Failure(self.failure_ref(name)?),
        };
        let Some(value) = &outcome.value else { return Some(OutcomeRef { kind, values: None }) };
        let values = match (globals?, value) {
            ([], _) => {
                let help = "name the variables, as in `expect outcomes of x: ok 1`";
                self.error_help(
                    outcome.at,
                    "the line has end values but no variables",
                    "these values belong to no variable",
                    help,
                );
                return None;
            }
            ([one], value) => vec![self.end_value(*one, value, outcome.at)?],
            (several, OutcomeValue::List(values)) if values.len() == several.len() => {
                let values: Vec<Option<EndValue>> = several
                    .iter()
                    .zip(values)
                    .map(|(global, value)| self.end_value(*global, value, outcome.at))
                    .collect();
                values.into_iter().collect::<Option<_>>()?
            }
            (several, _) => {
                let wanted = several.len();
                let message = format!("{wanted} variables need {wanted} end values");
                self.error_help(
                    outcome.at,
                    message,
                    "each variable needs one end value",
                    "list the end values, as in `ok [0, [1, 2]]`",
                );
                return None;
            }
        };
        Some(OutcomeRef { kind, values: Some(values) })
    }

    fn end_value(&mut self, global: GlobalId, value: &OutcomeValue, at: At) -> Option<EndValue> {
        let ty = self.out.globals[global].ty.clone();
        let name = self.out.globals[global].name.clone();
        let mut of = &ty;
        while let Type::Array(inner, _) = of {
            of = inner;
        }
        match (&ty, of, value) {
            (Type::Array(..), Type::List(_), _) => {
                self.error(at, "the end values of an array of lists cannot be written", "no line has a form for them");
                None
            }
            (Type::List(of), _, OutcomeValue::List(values)) => Some(EndValue::List(self.end_words(of, values, at)?)),
            (Type::Array(..), _, OutcomeValue::List(values)) => {
                if values.len() as u64 != ty.cells() {
                    let message = format!("`{name}` has {} elements, not {}", ty.cells(), values.len());
                    self.error(at, message, "each element needs one value");
                    return None;
                }
                Some(EndValue::List(self.end_words(of, values, at)?))
            }
            (Type::List(_) | Type::Array(..), _, OutcomeValue::Expr(e)) => {
                let message = format!("`{name}` is {}", article(&self.name_of(&ty)));
                self.error_help(
                    e.at,
                    message,
                    "this is one value",
                    "write its end values in brackets, as in `ok [1, 2]`",
                );
                None
            }
            (_, _, OutcomeValue::Expr(e)) => Some(EndValue::of(&ty, self.end_word(&ty, e)?)),
            (_, _, OutcomeValue::List(_)) => {
                let message = format!("`{name}` is {}", article(&self.name_of(&ty)));
                self.error(at, message, "its end value is one value, without brackets");
                None
            }
        }
    }

    fn end_words(&mut self, of: &Type, values: &[OutcomeValue], at: At) -> Option<Vec<EndValue>> {
        let mut words = Vec::new();
        for value in values {
            match value {
                OutcomeValue::Expr(e) => words.push(EndValue::of(of, self.end_word(of, e)?)),
                OutcomeValue::List(_) => {
                    self.error(at, "a list cannot contain a list", "the elements of a list are single words");
                    return None;
                }
            }
        }
        Some(words)
    }

    fn end_word(&mut self, ty: &Type, e: &ast::Expr) -> Option<i64> {
        let value = self.first_value(e)?;
        let value = self.fit(value, ty, e.at, "the end value")?;
        let word = constant(&value);
        if word.is_none() {
            self.error(e.at, "`new` cannot be an end value", "no variable can hold it");
        }
        word
    }
}
