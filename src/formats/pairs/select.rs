//! Selects the accesses of a model that one text of a list names: by label, by position, or by the line of the real app
//! that a label names.

use crate::base::IndexVec;
use crate::detect::Pair;
use crate::event::{AccessKind, Site, SiteId};
use crate::sched::{SiteSpec, SpecError};
use std::collections::BTreeSet;

/// Mistakes in a pair of a list.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PairMistake {
    /// A line has one site, or more than two.
    #[error("a pair has two sites, and here {verb} {0}: write `SITE SITE`, or `SITE ~ SITE` if one of them has blanks", verb = if *.0 == 1 { "is" } else { "are" })]
    NotTwo(usize),
    /// A text is neither a site nor a place of the real app.
    #[error(
        "`{0}` is not a site: use `@label`, `@label.write of x`, `LINE:COLUMN`, or a line of the real app such as `Player.java:41`"
    )]
    NoSite(String),
    /// A site does not exist.
    #[error(transparent)]
    Site(#[from] SpecError),
    /// The two sites are not a pair.
    #[error("`{0}` is not a pair: {1}; take it out of the list")]
    Never(String, NoConflict),
}

/// Reasons why a place of the real app is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IgnoreReason {
    /// The model leaves the place out.
    #[error("no label's `from` names it")]
    Unnamed,
    /// The statement that models the place is not an access.
    #[error("the statement that models it accesses no plain memory")]
    NoAccess,
    /// The statements of the pair never conflict.
    #[error("{0}")]
    Never(NoConflict),
}

/// Why two statements never conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoConflict {
    /// Both statements only read.
    #[error("both only read")]
    Reads,
    /// One statement is an access, the other one is another operation.
    #[error(
        "one accesses memory and the other does not, so that they are neither a race nor two operations whose order matters"
    )]
    Unlike,
    /// One statement writes, but both never touch the same memory.
    #[error("they never touch the same memory, one of them writing")]
    Apart,
}

impl NoConflict {
    /// Returns why none of these sites can conflict.
    pub(super) fn of(a: &[SiteId], b: &[SiteId], sites: &IndexVec<SiteId, Site>) -> Self {
        let is_access = |id: &SiteId| sites[*id].kind.access().is_some();
        if a.iter().any(is_access) != b.iter().any(is_access) {
            return NoConflict::Unlike;
        }
        let writes = a.iter().chain(b).any(|id| sites[*id].kind.access() == Some(AccessKind::Write));
        if writes { NoConflict::Apart } else { NoConflict::Reads }
    }
}

/// Shortens a long text for a message.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns whether a text has the form `@label` or `LINE:COLUMN`, whatever follows. Such a site must exist.
pub(super) fn is_spec(text: &str) -> bool {
    let is_number = |head: &str| !head.is_empty() && head.bytes().all(|b| b.is_ascii_digit());
    text.starts_with('@') || text.split_once(':').is_some_and(|(head, _)| is_number(head))
}

/// Returns the accesses that a text selects. A place of the real app may select none, which is not a mistake.
pub(super) fn select(
    text: &str,
    sites: &IndexVec<SiteId, Site>,
) -> Result<Result<Vec<SiteId>, IgnoreReason>, PairMistake> {
    if is_spec(text) {
        let spec: SiteSpec = text.parse().map_err(|_| PairMistake::NoSite(shown(text)))?;
        return match spec.resolve_any(sites) {
            Err(SpecError::NoSite { spec, missing, near }) => {
                Err(SpecError::NoSite { spec: shown(&spec), missing, near }.into())
            }
            found => Ok(Ok(found?)),
        };
    }
    let models = |site: &Site| site.from.as_ref().is_some_and(|from| is_same_place(from, text));
    let modeled: Vec<(SiteId, &Site)> = sites.enumerate().filter(|(_, site)| models(site)).collect();
    let found: Vec<SiteId> = modeled.iter().filter(|(_, s)| s.kind.access().is_some()).map(|(id, _)| *id).collect();
    match (modeled.is_empty(), found.is_empty()) {
        (_, false) => Ok(Ok(found)),
        (false, true) => Ok(Err(IgnoreReason::NoAccess)),
        (true, true) if is_place(text) => Ok(Err(IgnoreReason::Unnamed)),
        (true, true) => Err(PairMistake::NoSite(shown(text))),
    }
}

// Returns whether a text has the form `File.java:41`, with any folders before it.
fn is_place(text: &str) -> bool {
    let is_line = |line: &str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    text.rsplit_once(':').is_some_and(|(file, line)| !file.is_empty() && is_line(line))
}

// Returns whether two places are equal, or one is the other with further folders in front.
fn is_same_place(x: &str, y: &str) -> bool {
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    !x.is_empty() && !y.is_empty() && (x == y || ends(x, y) || ends(y, x))
}

/// Returns all pairs of one site of each list that can conflict, or whose order may matter.
pub(super) fn combine(a: &[SiteId], b: &[SiteId], sites: &IndexVec<SiteId, Site>) -> BTreeSet<Pair> {
    let all = a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)));
    all.filter(|(x, y)| sites[*x].can_be_paired(&sites[*y])).map(|(x, y)| Pair::new(x, y)).collect()
}
