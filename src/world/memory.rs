//! Shared memory: cells for globals and for the fields of objects, and lists.

use super::contexts::CreationKind;
use super::setup::FirstValue;
use super::{ThrownException, World};
use crate::base::{IndexVec, Pool};
use crate::event::{
    AccessPlace, ContextId, LimitKind, ListId, ListRead, ListWrite, Location, LockId, ObjectId, Outcome, Value,
};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Value of `World::changed` if more than one cell may have changed. No memory has that many cells.
pub(super) const ANYTHING: u32 = u32::MAX;

/// The memory of a run.
#[derive(Default)]
pub struct Memory {
    /// All cells: globals first, then the fields of objects in order of allocation.
    pub(super) cells: Vec<Value>,
    pub(super) objects: IndexVec<ObjectId, Object>,
    pub(super) lists: Pool<ListId, ListMemory>,
}

crate::clone_in_place!(Memory { cells, objects, lists });

/// A heap object.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Class of the object.
    pub class: u32,
    /// Index of the object's first cell.
    pub base: u32,
    /// Monitor of the object.
    pub lock: LockId,
    /// Whether the object has been freed.
    pub freed: bool,
    /// Context that created the object, and the ordinal of the object among those of its class that the context
    /// created, from 1.
    pub maker: (ContextId, u32),
}

/// A list. It is one memory location.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct ListMemory {
    /// Elements of the list. Both ends are cheap, because a list that serves as a queue loses its elements at the
    /// front.
    pub items: VecDeque<Value>,
    // Number of changes of the length, for fail-fast iterators.
    pub(super) version: u32,
}

crate::clone_in_place!(ListMemory { items, version });

// Packs the state of an iterator: the list, and its version at the start of the iteration.
fn iterator(list: ListId, version: u32) -> Value {
    i64::from(list.0) << 32 | i64::from(version)
}

impl Memory {
    /// Returns the value of a cell. This is not a step.
    #[inline]
    #[must_use]
    pub fn cell(&self, cell: u32) -> Value {
        self.cells[cell as usize]
    }

    /// Returns the number of objects that have been created.
    #[must_use]
    pub fn objects_len(&self) -> usize {
        self.objects.len()
    }

    /// Returns an object.
    #[must_use]
    pub fn object(&self, object: ObjectId) -> &Object {
        &self.objects[object]
    }

    /// Returns the object that a reference points to. `None` for null.
    #[must_use]
    pub fn object_of(reference: Value) -> Option<ObjectId> {
        u32::try_from(reference).ok().map(ObjectId)
    }

    /// Returns the list that is stored in a cell.
    #[must_use]
    pub fn list_in(&self, cell: u32) -> ListId {
        ListId(self.cells[cell as usize] as u32)
    }

    /// Returns a list.
    #[must_use]
    pub fn list(&self, list: ListId) -> &ListMemory {
        &self.lists[list]
    }

    /// Returns an element of a list. This is not a step. Fails with `IndexOutOfBounds` if there is no such element.
    pub fn element(&self, list: ListId, index: i64) -> Result<Value, ThrownException> {
        usize::try_from(index)
            .ok()
            .and_then(|i| self.lists[list].items.get(i).copied())
            .ok_or(ThrownException::IndexOutOfBounds)
    }

    /// Fails with `UseAfterFree` if the location lies in an object that has been freed.
    #[inline]
    pub fn check_live(&self, at: Location) -> Result<(), ThrownException> {
        match at.object {
            Some(object) if self.objects[object].freed => Err(ThrownException::UseAfterFree),
            _ => Ok(()),
        }
    }

    pub(super) fn list_read(&self, list: ListId, what: ListRead) -> Result<Option<Value>, ThrownException> {
        let l = &self.lists[list];
        Ok(Some(match what {
            ListRead::Len => l.items.len() as i64,
            ListRead::Get(index) => self.element(list, index)?,
            ListRead::Iterate => iterator(list, l.version),
            // As in Java, the iterator ends where its index equals the length, before it compares versions. If the list
            // has become shorter than the index, it continues, and throws.
            ListRead::Next { index, .. } if index == l.items.len() as i64 => return Ok(None),
            ListRead::Next { version, .. } if version != iterator(list, l.version) => {
                return Err(ThrownException::ConcurrentModification);
            }
            ListRead::Next { index, .. } => self.element(list, index)?,
        }))
    }

    pub(super) fn list_write(&mut self, list: ListId, what: ListWrite) -> Result<Value, ThrownException> {
        let l = &mut self.lists[list];
        let slot = |index: i64, len: usize| {
            usize::try_from(index).ok().filter(|&i| i < len).ok_or(ThrownException::IndexOutOfBounds)
        };
        let value = match what {
            ListWrite::Set(index, value) => {
                let i = slot(index, l.items.len())?;
                l.items[i] = value;
                return Ok(0);
            }
            ListWrite::Push(value) => {
                l.items.push_back(value);
                0
            }
            ListWrite::Pop => l.items.pop_back().ok_or(ThrownException::IndexOutOfBounds)?,
            ListWrite::Remove(index) => {
                let i = slot(index, l.items.len())?;
                l.items.remove(i).ok_or(ThrownException::IndexOutOfBounds)?
            }
            ListWrite::Clear => {
                l.items.clear();
                0
            }
        };
        l.version = l.version.wrapping_add(1);
        Ok(value)
    }
}

impl World {
    /// Creates an object of the class with the first values of its fields, in the name of `maker`. This is not a step,
    /// but belongs to the one before it. At the limit of objects or cells, ends the run and returns null.
    pub fn allocate(&mut self, class: u32, maker: ContextId) -> Value {
        let first = self.shell(class, maker);
        self.fill_objects(first.into_iter().collect(), maker);
        first.map_or(crate::event::NULL, |object| i64::from(object.0))
    }

    // Gives the fields of new objects their first values. A field may start as a new object. A work list replaces
    // recursion, because a class may contain itself.
    fn fill_objects(&mut self, mut todo: SmallVec<[ObjectId; 8]>, maker: ContextId) {
        while let Some(object) = todo.pop() {
            let Object { class, base, .. } = self.memory.objects[object];
            let setup = self.setup.clone();
            for (i, init) in setup.classes[class as usize].1.iter().enumerate() {
                let value = match init {
                    FirstValue::New(inner) => match self.shell(*inner, maker) {
                        Some(inner) => {
                            todo.push(inner);
                            i64::from(inner.0)
                        }
                        None => crate::event::NULL,
                    },
                    other => self.first_value(other, maker),
                };
                self.memory.cells[base as usize + i] = value;
            }
        }
    }

    /// Creates the objects that immutable names stand for. They are numbered in order of declaration, before all other
    /// objects.
    pub(super) fn allocate_declared(&mut self, maker: ContextId) {
        let classes = self.setup.clone();
        let mut declared: SmallVec<[ObjectId; 8]> =
            classes.objects.iter().map_while(|class| self.shell(*class, maker)).collect();
        declared.reverse();
        self.fill_objects(declared, maker);
    }

    pub(super) fn first_value(&mut self, value: &FirstValue, maker: ContextId) -> Value {
        match value {
            FirstValue::Word(word) => *word,
            FirstValue::New(class) => self.allocate(*class, maker),
            FirstValue::List(items) => {
                let list = self.memory.lists.add(|l| {
                    l.items.clear();
                    l.items.extend(items);
                    l.version = 0;
                });
                i64::from(list.0)
            }
        }
    }

    // Creates an object whose cells are all 0. `None` at the limit of objects or cells, which ends the run.
    fn shell(&mut self, class: u32, maker: ContextId) -> Option<ObjectId> {
        if self.memory.objects.len() as u64 >= u64::from(self.limits.objects) {
            self.end(Outcome::Limit(LimitKind::Objects, u64::from(self.limits.objects)));
            return None;
        }
        let cells = self.setup.classes[class as usize].1.len();
        if !self.take_cells(cells) {
            return None;
        }
        let nth = self.contexts.count(maker, CreationKind::Class(class));
        let base = u32::try_from(self.memory.cells.len()).expect("cells are limited");
        self.memory.cells.resize(base as usize + cells, 0);
        let object = self.memory.objects.next_id();
        let lock = self.locks.add(|l| l.renew(true, Some(object)));
        Some(self.memory.objects.add(Object { class, base, lock, freed: false, maker: (maker, nth) }))
    }

    /// Returns the name of an object: `main/onCreate#1/Node#2`.
    #[must_use]
    pub fn object_name(&self, object: ObjectId) -> String {
        let Object { class, maker: (context, nth), .. } = self.memory.objects[object];
        if let Some(instance) = self.platform().and_then(|p| p.instance_of(i64::from(object.0)).ok()) {
            return self.instance_name(instance);
        }
        format!("{}/{}#{nth}", self.contexts.name(&self.setup, context), self.setup.classes[class as usize].0)
    }

    /// Returns the name of the place of an access: `x`, `a[2]`, `main/onCreate#1/Node#2.next`, or the name of an object
    /// for its life.
    #[must_use]
    pub fn place_name(&self, place: AccessPlace) -> String {
        match place {
            AccessPlace::Cell(Location { cell, object: None }) => self.cell_name(cell),
            AccessPlace::Cell(Location { cell, object: Some(object) }) => {
                let Object { class, base, .. } = self.memory.objects[object];
                let field = &self.setup.field_names[class as usize][(cell - base) as usize];
                format!("{}.{field}", self.object_name(object))
            }
            AccessPlace::Life(object) => self.object_name(object),
        }
    }
}
