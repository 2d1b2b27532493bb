//! Marks of accesses: what an access has to do with the references that a location holds (CAFA, section 4).
//!
//! A trace that says nothing about references has no marks. Marks are therefore a table beside the operations, with a
//! row for each marked access, so that they cost nothing where they are absent.

use super::OpNo;

/// What an access does to the reference that its location holds. The default says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Mark {
    /// Of a read: whether the value is dereferenced, so that null would fail there (a *use*).
    pub uses: bool,
    /// Of a read: whether a condition tests the value against null.
    pub tested: bool,
    /// Of a use: the earlier read of the same location, in the same context, whose test keeps null from this use.
    pub guard: Option<OpNo>,
    /// Of a write: whether it writes null, or deletes the object (a *free*).
    pub frees: bool,
}

/// The marked accesses of a trace.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Marks {
    // invariant: ascending by operation, without default marks
    rows: Vec<(OpNo, Mark)>,
}

impl Marks {
    /// Whether no access is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the mark of an operation; the default if it has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::trace::{Action, Builder, Mark, OpNo, SiteNo};
    ///
    /// let mut builder = Builder::new();
    /// let (main, p) = (builder.thread("main"), builder.location("p", "p"));
    /// let free = Mark { frees: true, ..Mark::default() };
    /// builder.push_marked(main, Action::Write(p), free, SiteNo::NONE, 0)?;
    /// builder.push(main, Action::Write(p), SiteNo::NONE, 0)?;
    /// let marks = builder.finish().marks;
    /// assert_eq!((marks.of(OpNo(0)), marks.of(OpNo(1))), (free, Mark::default()));
    /// # Ok::<(), raceflip::trace::TraceError>(())
    /// ```
    #[must_use]
    pub fn of(&self, op: OpNo) -> Mark {
        let at = self.rows.binary_search_by_key(&op, |(op, _)| *op);
        at.map_or_else(|_| Mark::default(), |at| self.rows[at].1)
    }

    /// Returns the mark of an operation, for a caller that asks for operations in their order: `from` is the number of
    /// marked operations before this one, which the caller keeps; 0 at first.
    #[must_use]
    pub fn next(&self, from: &mut usize, op: OpNo) -> Mark {
        while self.rows.get(*from).is_some_and(|(marked, _)| *marked < op) {
            *from += 1;
        }
        self.rows.get(*from).filter(|(marked, _)| *marked == op).map_or_else(Mark::default, |(_, mark)| *mark)
    }

    /// Returns the marked operations, in the order of the trace.
    pub fn iter(&self) -> impl Iterator<Item = (OpNo, Mark)> + '_ {
        self.rows.iter().copied()
    }

    /// Marks an operation that is later than all marked ones.
    pub(super) fn add(&mut self, op: OpNo, mark: Mark) {
        debug_assert!(self.rows.last().is_none_or(|(last, _)| *last < op), "{op:?}");
        if mark != Mark::default() {
            self.rows.push((op, mark));
        }
    }
}
