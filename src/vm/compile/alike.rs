//! Code for symmetric searches: the kinds of its registers and cells tell which words a renaming changes.

use super::super::code::Code;
use super::places::MOST_CONSTANTS;
use super::setup::cell_kinds;
use super::{CompileError, Compiler, translate};
use crate::lang::program::{Expr, Type};
use crate::lang::{Alike, Program};
use crate::world::WordKind;

/// Compiles a checked program for a symmetric search. Otherwise the code is the same.
///
/// # Errors
///
/// Returns a [`CompileError`] if a part of the program exceeds a limit.
pub(in crate::vm) fn compile_alike(program: &Program, alike: &Alike) -> Result<Code, CompileError> {
    translate(program, true, Some(alike))
}

/// Returns the kind of each word of a value of this type. `class` is `None` in ordinary code; in code for a symmetric
/// search it is the class of the elements in the value, if there are any.
pub(super) fn kinds(ty: &Type, class: Option<Option<u16>>) -> Vec<WordKind> {
    let Some(of) = class else { return cell_kinds(ty) };
    match (ty, of) {
        (Type::Array(element, len), _) => kinds(element, class).repeat(*len as usize),
        (Type::Lock, _) => vec![WordKind::Lock],
        (Type::Condition, _) => vec![WordKind::Condition],
        (Type::Int, Some(class)) => vec![WordKind::Element(class)],
        _ => cell_kinds(ty),
    }
}

/// Returns the kind of each global cell.
pub(super) fn global_kinds(program: &Program, alike: Option<&Alike>) -> Vec<WordKind> {
    let globals = program.globals.enumerate();
    globals.flat_map(|(id, global)| kinds(&global.ty, alike.map(|alike| alike.global(id)))).collect()
}

/// Returns the kind of each cell of each class.
pub(super) fn class_kinds(program: &Program, alike: Option<&Alike>) -> Vec<Vec<WordKind>> {
    let classes = program.classes.enumerate();
    let of = classes.map(|(id, class)| {
        let fields = (0..).zip(&class.fields);
        fields.flat_map(|(n, field)| kinds(&field.ty, alike.map(|alike| alike.field(id, n)))).collect()
    });
    of.collect()
}

impl Compiler<'_> {
    /// Returns the kind of the register that takes the value of an expression of this body.
    pub(super) fn kind_of(&self, e: &Expr) -> WordKind {
        let class = self.shared.alike.as_ref().map(|alike| alike.expr(self.body, e));
        kinds(&e.ty, class).first().copied().unwrap_or(WordKind::Word)
    }

    /// Refuses code for a symmetric search in which a constant has no register of its own: it cannot be told from a
    /// value that a renaming changes.
    pub(super) fn check_constants(&self) -> Result<(), CompileError> {
        if self.shared.alike.is_some() && self.constants.len() >= MOST_CONSTANTS {
            let (what, limit) = ("constants", MOST_CONSTANTS);
            return Err(CompileError::TooLarge { body: self.name.to_owned(), what, limit });
        }
        Ok(())
    }
}
