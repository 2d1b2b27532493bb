//! Threads that a program treats alike, and the renamings under which its steps stay the same.
//!
//! The elements of a *class* are the numbers `from..to` that the threads of an array have as their parameter. A
//! renaming permutes the elements of each class, and with them the threads, the cells, locks and conditions that have
//! an element as their index, and all values that are elements or refer to these things. If a program uses its elements
//! only as scalarsets, a state and its renamed state have the same future up to the renaming (Ip and Dill, *Better
//! verification through symmetry*, 1996).

use super::kind::WordKind;
use crate::event::Value;

/// The numbers that are the elements of a class: `from..to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementRange {
    /// The first element.
    pub from: i64,
    /// The first number behind the elements.
    pub to: i64,
}

impl ElementRange {
    /// Returns whether the number is an element.
    #[must_use]
    pub fn contains(self, value: i64) -> bool {
        (self.from..self.to).contains(&value)
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn count(self) -> usize {
        usize::try_from(self.to - self.from).unwrap_or(0)
    }

    // Position of an element in the range.
    fn place(self, value: i64) -> Option<usize> {
        self.contains(value).then(|| (value - self.from) as usize)
    }
}

/// Things of one kind with consecutive numbers, one for each index: an array of threads, locks or conditions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThingArray {
    /// Number of the thing with the first element of the class.
    pub first: u32,
    /// The class of its indices.
    pub class: u16,
}

/// One index of an array of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellDimension {
    /// Number of indices.
    pub len: u32,
    /// Number of cells between consecutive indices.
    pub stride: u32,
    /// The class of the indices. `None` if a renaming does not change them.
    pub class: Option<u16>,
}

/// An array of global cells of which some index is an element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellArray {
    /// The first cell.
    pub first: u32,
    /// The indices, outermost first.
    pub dimensions: Vec<CellDimension>,
}

impl CellArray {
    // The cells of the array.
    fn cells(&self) -> std::ops::Range<u32> {
        let count = self.dimensions.iter().map(|d| d.len).product::<u32>();
        self.first..self.first + count
    }

    // The indices of a cell of the array, outermost first.
    fn indices(&self, cell: u32) -> impl Iterator<Item = (CellDimension, u32)> + '_ {
        self.dimensions.iter().map(move |d| (*d, (cell - self.first) / d.stride % d.len))
    }
}

/// The classes of a program, and the things whose index is an element.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Symmetry {
    /// The elements of each class.
    pub classes: Vec<ElementRange>,
    /// Arrays of threads that are alike.
    pub threads: Vec<ThingArray>,
    /// Arrays of cells.
    pub cells: Vec<CellArray>,
    /// Arrays of locks.
    pub locks: Vec<ThingArray>,
    /// Arrays of conditions.
    pub conditions: Vec<ThingArray>,
}

/// Numbers of the things of a program that a renaming may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThingCounts {
    pub(super) threads: usize,
    pub(super) cells: usize,
    pub(super) locks: usize,
    pub(super) conditions: usize,
}

/// A permutation of the elements of each class, and what it makes of everything that depends on them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    classes: Vec<ElementRange>,
    // The new element of each element, by class.
    elements: Vec<Vec<i64>>,
    // The new number of each thing, by its number.
    pub(super) threads: Vec<u32>,
    pub(super) cells: Vec<u32>,
    pub(super) locks: Vec<u32>,
    pub(super) conditions: Vec<u32>,
}

fn same(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

impl Symmetry {
    /// Returns the renaming that gives each element a new one: `elements` has the new element of each element, by
    /// class.
    pub(super) fn renaming(&self, elements: &[Vec<i64>], counts: ThingCounts) -> Renaming {
        let of = |class: u16, value: i64| -> i64 {
            let place = self.classes[usize::from(class)].place(value);
            place.map_or(value, |place| elements[usize::from(class)][place])
        };
        let things = |arrays: &[ThingArray], by_element: bool, count: usize| {
            let mut numbers = same(count);
            for array in arrays {
                let range = self.classes[usize::from(array.class)];
                // Threads have one number for each element. Other arrays may have more indices.
                let from = if by_element { range.from } else { 0 };
                for element in range.from..range.to {
                    let number = |element: i64| i64::from(array.first) + element - from;
                    numbers[number(element) as usize] = number(of(array.class, element)) as u32;
                }
            }
            numbers
        };
        let mut cells = same(counts.cells);
        for array in &self.cells {
            for cell in array.cells() {
                let renamed = |(d, index): (CellDimension, u32)| {
                    d.stride * d.class.map_or(index, |class| of(class, i64::from(index)) as u32)
                };
                cells[cell as usize] = array.first + array.indices(cell).map(renamed).sum::<u32>();
            }
        }
        Renaming {
            classes: self.classes.clone(),
            elements: elements.to_vec(),
            threads: things(&self.threads, true, counts.threads),
            cells,
            locks: things(&self.locks, false, counts.locks),
            conditions: things(&self.conditions, false, counts.conditions),
        }
    }
}

impl Renaming {
    /// Returns the new value of a value of this kind.
    #[must_use]
    pub fn value(&self, kind: WordKind, value: Value) -> Value {
        let thing = |numbers: &[u32]| match usize::try_from(value).ok().and_then(|at| numbers.get(at)) {
            Some(new) => Value::from(*new),
            None => value,
        };
        match kind {
            WordKind::Thread => thing(&self.threads),
            WordKind::Lock => thing(&self.locks),
            WordKind::Condition => thing(&self.conditions),
            WordKind::Element(class) => {
                let place = self.classes[usize::from(class)].place(value);
                place.map_or(value, |place| self.elements[usize::from(class)][place])
            }
            // A global cell. The cells of objects keep their places.
            WordKind::Place if value >> 32 == 0 => thing(&self.cells),
            _ => value,
        }
    }

    /// Returns the new number of a declared thread.
    #[must_use]
    pub fn thread(&self, thread: usize) -> usize {
        self.threads.get(thread).map_or(thread, |new| *new as usize)
    }

    /// Returns the renaming that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let back = |numbers: &[u32]| {
            let mut back = numbers.to_vec();
            for (old, new) in numbers.iter().enumerate() {
                back[*new as usize] = old as u32;
            }
            back
        };
        let mut elements = self.elements.clone();
        for ((back, range), new) in elements.iter_mut().zip(&self.classes).zip(&self.elements) {
            for (old, new) in (range.from..range.to).zip(new) {
                back[(*new - range.from) as usize] = old;
            }
        }
        Self {
            classes: self.classes.clone(),
            elements,
            threads: back(&self.threads),
            cells: back(&self.cells),
            locks: back(&self.locks),
            conditions: back(&self.conditions),
        }
    }
}

/// How one element sees the things of a program: it tells itself from all other elements, but not these from one
/// another. What it sees is the same after a renaming, for the new element.
#[derive(Clone, Debug)]
pub struct Lens {
    classes: Vec<ElementRange>,
    class: u16,
    element: i64,
    pub(super) threads: Vec<u64>,
    pub(super) cells: Vec<u64>,
    pub(super) locks: Vec<u64>,
    pub(super) conditions: Vec<u64>,
}

// Codes of things whose number a renaming may change. Other things have their number.
const RENAMED: u64 = 1 << 63;

impl Symmetry {
    /// Returns the lens of an element.
    pub(super) fn lens(&self, class: u16, element: i64, counts: ThingCounts) -> Lens {
        let things = |arrays: &[ThingArray], by_element: bool, count: usize| {
            let mut codes: Vec<u64> = (0..count as u64).collect();
            for (number, array) in arrays.iter().enumerate() {
                let range = self.classes[usize::from(array.class)];
                let from = if by_element { range.from } else { 0 };
                for other in range.from..range.to {
                    let is_self = array.class == class && other == element;
                    codes[(i64::from(array.first) + other - from) as usize] =
                        RENAMED | (number as u64) << 1 | u64::from(is_self);
                }
            }
            codes
        };
        let mut cells: Vec<u64> = (0..counts.cells as u64).collect();
        for array in &self.cells {
            for cell in array.cells() {
                let (mut fixed, mut marks) = (array.first, 0);
                for (d, index) in array.indices(cell) {
                    let index_of = d.class.filter(|c| self.classes[usize::from(*c)].contains(i64::from(index)));
                    // Two bits for each index: whether it is an element, and whether it is this one.
                    marks = marks << 2 | u64::from(index_of.is_some());
                    marks |= u64::from(index_of == Some(class) && i64::from(index) == element) << 1;
                    if index_of.is_none() {
                        fixed += d.stride * index;
                    }
                }
                cells[cell as usize] = RENAMED | u64::from(fixed) << 20 | (marks & 0xf_ffff);
            }
        }
        Lens {
            classes: self.classes.clone(),
            class,
            element,
            threads: things(&self.threads, true, counts.threads),
            cells,
            locks: things(&self.locks, false, counts.locks),
            conditions: things(&self.conditions, false, counts.conditions),
        }
    }
}

impl Lens {
    /// Returns how the element sees a value that is an element, or a number outside of the class.
    pub(super) fn element(&self, class: u16, value: Value) -> u64 {
        match self.classes[usize::from(class)].contains(value) {
            true => RENAMED | u64::from(class == self.class && value == self.element),
            false => value as u64,
        }
    }
}

/// Returns the code of the thing with this number, or the number itself if it is none of them.
pub(super) fn seen(codes: &[u64], number: u64) -> u64 {
    usize::try_from(number).ok().and_then(|at| codes.get(at)).copied().unwrap_or(number)
}
