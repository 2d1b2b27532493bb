//! Finds the terms of always-properties that a write may have broken: the terms that read the written cell. All terms
//! held before the step, so the others still hold.
//!
//! Without this, a property over n cells has n terms, and a run that writes each cell once would evaluate n * n terms.

use super::code::{Code, Fragment};
use super::instr::{Address, Instr};
use super::pure::evaluate;
use crate::world::World;

/// The terms of all always-properties, indexed by the cells that they read. They are not part of the program's digest:
/// they repeat what the properties contain.
#[derive(Clone, Default, Debug)]
pub(super) struct PropertyTerms {
    terms: Vec<Fragment>,
    // Pairs of a cell and a term that reads it, sorted.
    of_cells: Vec<(u32, u32)>,
    // Terms that may read any cell: the code alone does not determine the cells.
    of_any: Vec<u32>,
}

impl PropertyTerms {
    pub(super) fn new(terms: Vec<Fragment>) -> Self {
        let mut watched = Self { terms, of_cells: Vec::new(), of_any: Vec::new() };
        for (term, number) in watched.terms.iter().zip(0..) {
            let cells: Option<Vec<u32>> = term.code.iter().filter_map(reads).collect();
            match cells {
                Some(cells) => watched.of_cells.extend(cells.iter().map(|cell| (*cell, number))),
                None => watched.of_any.push(number),
            }
        }
        watched.of_cells.sort_unstable();
        watched.of_cells.dedup();
        watched
    }

    /// Returns whether some term may read this cell.
    pub(super) fn reads(&self, cell: u32) -> bool {
        !self.of_any.is_empty() || self.of_cells.binary_search_by_key(&cell, |(of, _)| *of).is_ok()
    }

    /// Returns whether some term no longer holds after only this cell was written. A term that throws does not hold.
    pub(super) fn is_broken(&self, cell: u32, world: &World) -> bool {
        let from = self.of_cells.partition_point(|(of, _)| *of < cell);
        let of_cell = self.of_cells[from..].iter().take_while(|(of, _)| *of == cell).map(|(_, term)| *term);
        let mut asked = of_cell.chain(self.of_any.iter().copied());
        asked.any(|term| !matches!(evaluate(&self.terms[term as usize], &[], world, None), Ok(value) if value != 0))
    }
}

// The cell that an instruction reads. `Some(None)` if the cell is known only when the instruction runs, `None` if it
// reads no memory.
fn reads(instr: &Instr) -> Option<Option<u32>> {
    match *instr {
        Instr::Peek { at: Address::Cell(cell), .. } => Some(Some(cell)),
        Instr::Peek { .. } | Instr::PeekList { .. } | Instr::Field { .. } => Some(None),
        _ => None,
    }
}

impl Code {
    /// Returns whether an always-property may be broken. `cell` is the only cell that was written; `None` if more may
    /// have changed.
    pub(super) fn may_be_broken(&self, cell: Option<u32>, world: &World) -> bool {
        match (cell, &self.watched) {
            (Some(cell), Some(watched)) => watched.is_broken(cell, world),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::vm::Model;

    // For each cell of the properties the number of terms that a write to it evaluates, and the number of terms that
    // every write evaluates.
    fn asked(text: &str) -> (Vec<usize>, usize) {
        let model = Model::from_text("p.race", text, &[]).unwrap();
        let watched = model.code.watched.as_ref().unwrap();
        let cells = watched.of_cells.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
        (cells.collect(), watched.of_any.len())
    }

    #[test]
    fn a_write_asks_the_terms_of_its_cell() {
        let (cells, any) =
            asked("var a: int[500]\nproperty p always { all i in 0..500: a[i] < 9 }\nthread t { a[1] = 2 }");
        assert_eq!((cells, any), (vec![1; 500], 0));
        let text = "class C { var v = 0 }\nlet c = new C\nvar l: list[int]\nvar x = 0\nvar y = 0\n\
                    property p always { x < 5 && x < y + 7 && (x < 3 || y < 3) }\nproperty q always { c.v < 2 && l.len < 2 }\n\
                    thread t { x = 1 }";
        assert_eq!(asked(text), (vec![3, 2], 2));
    }
}
