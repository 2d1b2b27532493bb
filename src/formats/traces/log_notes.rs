//! What a log of DroidRacer has and its trace lacks: phrases about one such thing, and about several.

/// The singular and the plural, to follow a number.
pub(super) type Phrases = [&'static str; 2];

pub(super) const UNCALLED: Phrases = [
    "post of a message that is never called: it is left out",
    "posts of messages that are never called: they are left out",
];

pub(super) const OUTSIDE: Phrases = [
    "event is handled outside of any task: that is left out",
    "events are handled outside of any task: that is left out",
];

pub(super) const LATE: Phrases = [
    "operation in the middle of the report: it is left out",
    "operations in the middle of the report: they are left out",
];

pub(super) const WAITING: Phrases =
    ["access without an ACCESS after it: it is left out", "accesses without an ACCESS after them: they are left out"];
