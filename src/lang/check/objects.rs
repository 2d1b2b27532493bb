//! Checks nested objects: fields whose initial value is `new`. The nesting must be finite, and the objects must fit the
//! memory.

use super::names::NameMeaning;
use super::{Checker, MAX_CELLS};
use crate::base::Id;
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, ItemKind};
use crate::lang::program::{ClassId, Global, Init};

/// Limit of the depth to which new objects can contain new objects.
const MAX_DEPTH: u32 = 64;

/// The size of a new object of a class.
#[derive(Clone, Copy)]
struct Weight {
    // Number of cells of the object and of the objects that it contains. Each object counts as one more cell.
    cells: u64,
    height: u32,
}

impl Checker {
    /// Checks the size of every class, and of the objects that exist at the start.
    pub(super) fn weigh_objects(&mut self, file: &ast::File) {
        let mut known: Vec<Option<Weight>> = vec![None; self.out.classes.len()];
        for item in &file.items {
            let ItemKind::Class { name, .. } = &item.kind else { continue };
            let Some(&NameMeaning::Class(class)) = self.names.get(&name.text).map(|e| &e.named) else { continue };
            match self.weigh(class, 0, &mut known) {
                Some(weight) if weight.cells > MAX_CELLS => return self.too_large(name.at),
                Some(_) => {}
                None => {
                    let message = format!("a new `{}` needs new objects without end", name.text);
                    let problem =
                        Diagnostic::new(name.at.0, message, format!("more than {MAX_DEPTH} objects are nested here"));
                    self.problems.add(problem.help("start a field with null, and assign `new` where it is needed"));
                    return;
                }
            }
        }
        let globals = self.out.globals.iter().flat_map(|g| &g.init).filter_map(made);
        let start = globals.chain(self.out.objects.iter().copied());
        let cells = start.map(|c| known[c.index()].map_or(1, |w| w.cells)).fold(self.cells, u64::saturating_add);
        if cells > MAX_CELLS && self.cells <= MAX_CELLS {
            self.too_large(file.items.first().map_or(At::default(), |i| i.at));
        }
    }

    /// Returns the size of a new object of a class, or `None` if its objects nest deeper than [`MAX_DEPTH`], for
    /// example without end. `known` has the results so far.
    fn weigh(&self, class: ClassId, depth: u32, known: &mut Vec<Option<Weight>>) -> Option<Weight> {
        if let Some(weight) = known[class.index()] {
            return Some(weight);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let mut weight = Weight { cells: 1, height: 0 };
        for Global { init, cells, .. } in &self.out.classes[class].fields {
            weight.cells = weight.cells.saturating_add(u64::from(*cells));
            for inner in init.iter().filter_map(made) {
                let inner = self.weigh(inner, depth + 1, known)?;
                weight.cells = weight.cells.saturating_add(inner.cells);
                weight.height = weight.height.max(inner.height + 1);
            }
        }
        known[class.index()] = Some(weight);
        (weight.height <= MAX_DEPTH).then_some(weight)
    }
}

fn made(init: &Init) -> Option<ClassId> {
    match init {
        Init::New(class) => Some(*class),
        _ => None,
    }
}
