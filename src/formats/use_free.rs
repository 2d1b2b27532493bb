//! What JSON says about use-free races: fields of a pair that only such a pair has.

use crate::detect::UseFree;
use serde::{Deserialize, Serialize};

/// The fields of a use-free race. All are absent from a pair that no detector of use-free races reports.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct UseFreeFields {
    /// `use-free`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `intra-thread`, `inter-thread`, `conventional`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Why the free cannot make the use fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filtered: Vec<String>,
}

impl UseFreeFields {
    /// Returns the fields of a pair.
    #[must_use]
    pub fn of(found: Option<&UseFree>) -> Self {
        let Some(found) = found else { return Self::default() };
        Self {
            kind: Some("use-free".to_owned()),
            class: Some(found.class.name().to_owned()),
            filtered: found.filters.iter().map(|filter| filter.text().to_owned()).collect(),
        }
    }

    /// Returns the fields in words: `use-free, intra-thread, guarded`. Empty for another pair.
    #[must_use]
    pub fn words(&self) -> String {
        self.kind.iter().chain(&self.class).chain(&self.filtered).cloned().collect::<Vec<_>>().join(", ")
    }
}
