//! What a program says about its accesses of references: which values that it reads are dereferenced, which are tested,
//! and which of its writes are of references, so that they may free one.
//!
//! CAFA (Hsiao et al., PLDI 2014, section 4) finds uses and guards by heuristics on bytecode. A model says them, so the
//! table is computed once, by the check of the program.

use super::SiteId;
use std::collections::{BTreeMap, BTreeSet};

/// What the program does with the value of one read of a reference.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReadUse {
    /// Whether the value is dereferenced, so that null fails there: the read is a *use*.
    pub derefs: bool,
    /// Whether a condition tests that the value is not null.
    pub tested: bool,
    /// For a use the reads, in the same body, whose test guards it: each has come out as "not null" on every way to the
    /// use, and the location has not been written since. It is the use itself if its own value is tested before it is
    /// dereferenced. Ascending.
    pub guards: Vec<SiteId>,
}

/// The accesses of references of a program, by site.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Uses {
    // invariant: no row is the default one
    rows: BTreeMap<SiteId, ReadUse>,
    writes: BTreeSet<SiteId>,
}

impl Uses {
    /// Returns the row of a site, which must be that of a read of a reference. A new row is empty, and the caller sets
    /// something in it.
    pub(crate) fn row(&mut self, site: SiteId) -> &mut ReadUse {
        self.rows.entry(site).or_default()
    }

    /// Returns what the program does with the value of a read. `None` if it neither dereferences nor tests it.
    #[must_use]
    pub fn of(&self, site: SiteId) -> Option<&ReadUse> {
        self.rows.get(&site)
    }

    /// Adds the site of a write of a reference.
    pub(crate) fn add_write(&mut self, site: SiteId) {
        self.writes.insert(site);
    }

    /// Returns whether the site writes a location that holds a reference, so that a write of null frees it.
    #[must_use]
    pub fn writes_reference(&self, site: SiteId) -> bool {
        self.writes.contains(&site)
    }

    /// Returns all uses and tested reads, in the order of the sites.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SiteId, &ReadUse)> {
        self.rows.iter().map(|(site, row)| (*site, row))
    }
}
