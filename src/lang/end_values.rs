//! Reads the end values of a program's variables.

use super::program::{Program, Type};
use crate::event::{EndValue, GlobalId, NULL, Value};
use crate::world::{EndValues, Memory};

impl EndValue {
    /// Returns the end value of a word in a variable, or in an element, of this type.
    #[must_use]
    pub fn of(ty: &Type, word: i64) -> Self {
        match ty {
            Type::Int => Self::Word(word),
            Type::Bool | Type::Message => Self::Truth(word != 0),
            Type::List(of) | Type::Array(of, _) => Self::of(of, word),
            _ => Self::Reference(word),
        }
    }
}

impl EndValues for Program {
    /// Returns a word, the elements of a list, or the cells of an array of words in order. A reference is reduced to
    /// whether it is null, since object numbers mean nothing in another run.
    fn end_value(&self, variable: GlobalId, memory: &Memory) -> EndValue {
        let global = &self.globals[variable];
        let value_of = |value: Value| match EndValue::of(&global.ty, value) {
            EndValue::Reference(value) if value != NULL => EndValue::Reference(0),
            other => other,
        };
        match &global.ty {
            Type::List(_) => {
                EndValue::List(memory.list(memory.list_in(global.offset)).items.iter().copied().map(value_of).collect())
            }
            Type::Array(..) => {
                let cells = global.offset..global.offset + global.cells;
                EndValue::List(cells.map(|cell| value_of(memory.cell(cell))).collect())
            }
            _ => value_of(memory.cell(global.offset)),
        }
    }
}
