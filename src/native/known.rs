//! The statements, bodies and kinds of objects that runs have met, and their ids.
//!
//! A program in Rust declares nothing: what it has is known once a run has met it. Several workers would meet it in
//! different orders, so ids are not given as it is met. A program has a table of what is known, in the order of the
//! source. What a run meets besides is noted, has a common id in this run, and belongs to the table of the program that
//! is made next ([`NativeProgram::grown`](super::NativeProgram::grown)).

use crate::base::{Id, IndexVec};
use crate::event::{BodyId, Site, SiteId, SiteKind};
use crate::world::{Setup, ThreadSetup};
use std::collections::BTreeSet;
use std::panic::Location;

/// Something that a run has met, by its content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Met {
    /// A statement: file, line, column, kind, and what it acts on.
    Site(String, u32, u32, SiteKind, &'static str),
    /// Code that a thread or task runs, by its name.
    Body(String),
    /// A kind of objects, which are made at one place: `Mutex<Pool> at src/pool.rs:12`.
    Class(String),
}

impl Met {
    pub(super) fn site(at: &Location<'_>, kind: SiteKind, place: &'static str) -> Self {
        Met::Site(at.file().to_owned(), at.line(), at.column(), kind, place)
    }
}

/// What is known of a program.
#[derive(Clone, Default, Debug)]
pub(super) struct Known {
    all: BTreeSet<Met>,
    sites: Vec<Met>,
    // Files of the sites.
    files: Vec<String>,
    bodies: Vec<String>,
    classes: Vec<String>,
}

impl Known {
    /// Returns the table of these things.
    pub(super) fn new(all: BTreeSet<Met>) -> Self {
        let sites = all.iter().filter(|met| matches!(met, Met::Site(..))).cloned().collect();
        let files: BTreeSet<&str> = all.iter().filter_map(Met::file).collect();
        let files = files.into_iter().map(str::to_owned).collect();
        let name = |met: &Met| match met {
            Met::Body(name) => Some(name.clone()),
            _ => None,
        };
        let class = |met: &Met| match met {
            Met::Class(name) => Some(name.clone()),
            _ => None,
        };
        let (bodies, classes) = (all.iter().filter_map(name).collect(), all.iter().filter_map(class).collect());
        Self { all, sites, files, bodies, classes }
    }

    /// Returns the table that has these things as well. `None` if all of them are known.
    pub(super) fn with(&self, met: &BTreeSet<Met>) -> Option<Self> {
        let all: BTreeSet<Met> = self.all.union(met).cloned().collect();
        (all.len() > self.all.len()).then(|| Self::new(all))
    }

    /// Returns the id of a thing in the [`setup`](Self::setup). `None` if it is not known.
    pub(super) fn id(&self, met: &Met) -> Option<u32> {
        let at = match met {
            Met::Site(..) => self.sites.binary_search(met).ok()?,
            Met::Body(name) => self.files.len() + self.bodies.binary_search(name).ok()?,
            Met::Class(name) => self.classes.binary_search(name).ok()?,
        };
        // What is not known has the id 0.
        Some(at as u32 + 1)
    }

    /// Returns the declarations of the program. The first of the bodies, sites and classes stands for all that are not
    /// known.
    pub(super) fn setup(&self) -> Setup {
        let unknown = "code that no run had met before";
        let mut bodies: IndexVec<BodyId, String> = IndexVec::new();
        bodies.add(unknown.to_owned());
        self.files.iter().for_each(|file| _ = bodies.add(file.clone()));
        self.bodies.iter().for_each(|name| _ = bodies.add(name.clone()));
        let mut sites: IndexVec<SiteId, Site> = IndexVec::new();
        sites.add(site(BodyId::new(0), SiteKind::Skip, "", (0, 0)));
        for met in &self.sites {
            let Met::Site(file, line, column, kind, place) = met else { continue };
            let body = self.files.binary_search(file).map_or(0, |at| at + 1);
            sites.add(site(BodyId::new(body), *kind, place, (*line, *column)));
        }
        let classes = std::iter::once(unknown).chain(self.classes.iter().map(String::as_str));
        let main = ThreadSetup { name: "main".to_owned(), daemon: false, looper: false };
        Setup {
            threads: [main].into_iter().collect(),
            bodies,
            sites,
            classes: classes.map(|name| (name.to_owned(), Vec::new())).collect(),
            ..Setup::default()
        }
    }
}

impl Met {
    fn file(&self) -> Option<&str> {
        match self {
            Met::Site(file, ..) => Some(file),
            _ => None,
        }
    }
}

// A failure is known by its line, so that two failures of one file differ. An operation is known by its file and kind
// alone, so that a token still fits when lines have moved.
fn site(body: BodyId, kind: SiteKind, place: &str, (line, column): (u32, u32)) -> Site {
    let ordinal = if kind == SiteKind::Check { line } else { 0 };
    let place = place.to_owned();
    Site { body, ordinal, kind, place, line, column, label: None, from: None, calls: Vec::new() }
}
