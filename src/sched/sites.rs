//! Names of sites, for command lines and reports: `@label`, `@label.read of x`, `12:5`, `12:5.write of x#2`.

use super::error::{MissingSite, SpecError};
use crate::base::IndexVec;
use crate::event::{Site, SiteId, SiteKind, labelled};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A selection of sites by label or position, and optionally by kind and place. If that selects several sites, a number
/// picks one, in the order of the program. All sites of a library's class are at the position of the `use`.
///
/// # Examples
///
/// ```
/// use raceflip::sched::{SiteSpec, site_text};
/// use raceflip::vm::Model;
///
/// let model = Model::from_text("add.race", "var x = 0; thread a { @inc: x += 1 }", &[])?;
/// let sites = &model.program.sites;
/// let all = "@inc".parse::<SiteSpec>()?.resolve(sites)?;
/// assert_eq!(all.len(), 2);
/// let write = "@inc.write".parse::<SiteSpec>()?.resolve(sites)?;
/// assert_eq!(site_text(sites, write[0]), "@inc.write");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteSpec {
    start: Start,
    access: Option<SiteKind>,
    of: Option<String>,
    // The number of the selected site, from 1, if there are several.
    nth: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Start {
    Label(String),
    Position(u32, u32),
}

impl FromStr for SiteSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let bad = || SpecError::Site(text.to_owned());
        let (rest, nth) = match text.trim().rsplit_once('#') {
            Some((rest, nth)) => (rest, Some(nth.parse().ok().filter(|nth| *nth > 0).ok_or_else(bad)?)),
            None => (text.trim(), None),
        };
        let (head, of) = match rest.split_once(" of ") {
            Some((head, of)) => (head.trim(), Some(of.trim().to_owned())),
            None => (rest, None),
        };
        let (head, access) = match head.split_once('.') {
            None => (head, None),
            Some((head, word)) => {
                let kind = SiteKind::ALL.iter().copied().find(|k| k.word() == word).ok_or_else(bad)?;
                (head, Some(kind))
            }
        };
        let start = match head.strip_prefix('@') {
            Some("") => return Err(bad()),
            Some(label) => Start::Label(label.to_owned()),
            None => {
                let (line, column) = head.split_once(':').ok_or_else(bad)?;
                Start::Position(line.parse().map_err(|_| bad())?, column.parse().map_err(|_| bad())?)
            }
        };
        Ok(Self { start, access, of, nth })
    }
}

impl fmt::Display for SiteSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.start {
            Start::Label(label) => write!(f, "@{label}")?,
            Start::Position(line, column) => write!(f, "{line}:{column}")?,
        }
        if let Some(kind) = self.access {
            write!(f, ".{}", kind.word())?;
        }
        if let Some(of) = &self.of {
            write!(f, " of {of}")?;
        }
        if let Some(nth) = self.nth {
            write!(f, "#{nth}")?;
        }
        Ok(())
    }
}

impl SiteSpec {
    // The sites at the label or position, of any kind.
    fn starts(&self, sites: &IndexVec<SiteId, Site>) -> Vec<SiteId> {
        match &self.start {
            Start::Label(label) => labelled(sites, label),
            Start::Position(line, column) => {
                let here = |s: &Site| (s.line, s.column) == (*line, *column);
                sites.enumerate().filter(|(_, s)| here(s)).map(|(id, _)| id).collect()
            }
        }
    }

    // Whether the site has the kind and place of the selection. Without a kind every access that can race is selected.
    fn takes(&self, site: &Site) -> bool {
        let is = |access: SiteKind| match site.kind {
            SiteKind::MixedRead => access == SiteKind::Read,
            SiteKind::MixedWrite => access == SiteKind::Write,
            SiteKind::MixedUpdate => matches!(access, SiteKind::Read | SiteKind::Write),
            kind => kind == access,
        };
        let kind = self.access.map_or(site.kind.access().is_some(), is);
        kind && self.of.as_ref().is_none_or(|of| site.is_of(of))
    }

    /// Returns the selected sites, as [`resolve`](Self::resolve) does. If no kind is named and there is no access, it
    /// returns the operations whose order may matter: `@a` then selects the acquisition of `@a: acquire l`.
    ///
    /// # Errors
    ///
    /// Returns a [`SpecError`] if no statement has the label or the position, or if nothing of it is selected.
    pub fn resolve_any(&self, sites: &IndexVec<SiteId, Site>) -> Result<Vec<SiteId>, SpecError> {
        let operation =
            |s: &Site| self.access.is_none() && s.is_operation() && self.of.as_ref().is_none_or(|of| s.is_of(of));
        self.resolve(sites).or_else(|_| {
            let wanted = |s: &Site| self.takes(s) || operation(s);
            self.select(sites, wanted, MissingSite::Operation)
        })
    }

    // The sites at the label or position for which `wanted` holds. If there are none, the error says what is `missing`.
    fn select(
        &self,
        sites: &IndexVec<SiteId, Site>,
        wanted: impl Fn(&Site) -> bool,
        missing: MissingSite,
    ) -> Result<Vec<SiteId>, SpecError> {
        let starts = self.starts(sites);
        let mut found: Vec<SiteId> = starts.iter().copied().filter(|id| wanted(&sites[*id])).collect();
        if let Some(nth) = self.nth {
            found = found.get(nth - 1).copied().into_iter().collect();
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let near = self.near(sites, wanted);
        match &self.start {
            Start::Label(label) if starts.is_empty() => {
                Err(SpecError::NoSite { spec: format!("@{label}"), missing: MissingSite::Label, near })
            }
            _ => Err(SpecError::NoSite { spec: self.to_string(), missing, near }),
        }
    }

    // The label most similar to the unknown one, among the labels that select a wanted site.
    fn near(&self, sites: &IndexVec<SiteId, Site>, wanted: impl Fn(&Site) -> bool) -> Option<String> {
        let Start::Label(label) = &self.start else { return None };
        let all: BTreeSet<&str> = sites.iter().filter_map(|s| s.label.as_deref()).collect();
        let distances = all.into_iter().map(|l| (strsim::damerau_levenshtein(l, label), l));
        let like = distances.filter(|(distance, l)| *distance > 0 && *distance <= l.len().div_ceil(3));
        like.filter(|(_, l)| labelled(sites, l).iter().any(|id| wanted(&sites[*id])))
            .min()
            .map(|(_, l)| format!("@{l}"))
    }

    /// Returns the accesses to plain memory that are selected, or the operations of a kind if one is named:
    /// `@a.acquire`, `12:5.post`.
    ///
    /// # Errors
    ///
    /// Returns a [`SpecError`] if no statement has the label or the position, or if nothing of it is selected.
    pub fn resolve(&self, sites: &IndexVec<SiteId, Site>) -> Result<Vec<SiteId>, SpecError> {
        self.select(sites, |s| self.takes(s), MissingSite::Access)
    }
}

/// Returns the shortest text that selects only this site.
#[must_use]
pub fn site_text(sites: &IndexVec<SiteId, Site>, site: SiteId) -> String {
    let s = &sites[site];
    // Kinds with one word are one kind in a text.
    let access = SiteKind::ALL.iter().copied().find(|kind| kind.word() == s.kind.word());
    let position = || Start::Position(s.line, s.column);
    let starts = s.label.iter().map(|l| Start::Label(l.clone())).chain(std::iter::once(position()));
    for start in starts {
        for (access, of) in [(None, None), (access, None), (access, Some(s.place.clone()))] {
            let spec = SiteSpec { start: start.clone(), access, of, nth: None };
            if spec.resolve(sites).is_ok_and(|found| found == [site]) {
                return spec.to_string();
            }
        }
    }
    let of = Some(s.place.clone()).filter(|place| !place.is_empty());
    let mut spec = SiteSpec { start: position(), access, of, nth: None };
    let alike = spec.resolve(sites).unwrap_or_default();
    spec.nth = alike.iter().position(|id| *id == site).map(|at| at + 1);
    spec.to_string()
}
