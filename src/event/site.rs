//! Sites: the accesses and operations in the source.

use super::{BodyId, SiteId};
use crate::base::IndexVec;
use std::collections::{BTreeMap, BTreeSet};

/// One access or operation in the source. The statement `x += 1` has two sites: a read and a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The body that contains the site.
    pub body: BodyId,
    /// Ordinal of the site in its body, in source order. Together with the body's name and the kind it identifies the
    /// site across edits of other bodies.
    pub ordinal: u32,
    /// The kind of operation.
    pub kind: SiteKind,
    /// The operand as written in the source: `x`, `s.table[]`, `main`. Empty if the operation has none.
    pub place: String,
    /// Line in the model, from 1.
    pub line: u32,
    /// Column in the model, from 1.
    pub column: u32,
    /// Label of the statement, without `@`.
    pub label: Option<String>,
    /// The line of the real app that the label refers to.
    pub from: Option<String>,
    /// The bodies that the site's statement calls, or whose callbacks it performs.
    pub calls: Vec<BodyId>,
}

/// Returns the sites by their names in traces. Of several sites with one name the first one counts.
#[must_use]
pub fn by_trace_name(sites: &IndexVec<SiteId, Site>) -> BTreeMap<String, SiteId> {
    let mut names = BTreeMap::new();
    for (id, site) in sites.enumerate() {
        names.entry(site.trace_name()).or_insert(id);
    }
    names
}

/// Returns the sites that a label selects, in every place where a label can be used. These are the sites of its
/// statement and the sites of all bodies that the statement calls, directly or indirectly. A called body has only one
/// set of sites, so the selection also covers its calls from elsewhere.
#[must_use]
pub fn labelled(sites: &IndexVec<SiteId, Site>, label: &str) -> Vec<SiteId> {
    let own = sites.enumerate().filter(|(_, s)| s.label.as_deref() == Some(label)).map(|(id, _)| id);
    let mut found: BTreeSet<SiteId> = own.collect();
    let mut open: Vec<BodyId> = found.iter().flat_map(|id| sites[*id].calls.iter().copied()).collect();
    let mut seen = BTreeSet::new();
    while let Some(body) = open.pop() {
        if !seen.insert(body) {
            continue;
        }
        for (id, site) in sites.enumerate().filter(|(_, site)| site.body == body) {
            found.insert(id);
            open.extend(site.calls.iter().copied().filter(|callee| !seen.contains(callee)));
        }
    }
    found.into_iter().collect()
}

impl Site {
    /// Returns whether instances of the two sites could conflict, as far as their kinds and places tell. Two different
    /// variables are never the same memory, and neither are a variable and an object. Two fields, elements or objects
    /// may always be the same memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::sched::SiteSpec;
    /// use raceflip::vm::Model;
    ///
    /// let model = Model::from_text("two.race", "var x = 0; var y = 0; thread a { @set: x = 1; @copy: y = x }", &[])?;
    /// let site = |spec: &str| spec.parse::<SiteSpec>()?.resolve(&model.program.sites).map(|found| &model.program.sites[found[0]]);
    /// let (set, read, write) = (site("@set")?, site("@copy.read")?, site("@copy.write")?);
    /// assert!(set.can_conflict(set) && set.can_conflict(read));
    /// assert!(!read.can_conflict(read) && !set.can_conflict(write));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn can_conflict(&self, other: &Site) -> bool {
        let (Some(mine), Some(theirs)) = (self.kind.access(), other.kind.access()) else { return false };
        let writes = mine == AccessKind::Write || theirs == AccessKind::Write;
        writes && self.variable() == other.variable() && !(self.kind.is_atomic() && other.kind.is_atomic())
    }

    /// Returns whether the site is an operation that is not a plain access and whose order may matter.
    #[must_use]
    pub fn is_operation(&self) -> bool {
        (self.kind.access().is_none() || self.kind.is_atomic())
            && !matches!(
                self.kind,
                SiteKind::Branch | SiteKind::Choose | SiteKind::Check | SiteKind::Skip | SiteKind::Yield
            )
    }

    /// Returns whether the order of the two sites may matter although they cannot race: two operations, or an `await`
    /// and an access that may change its condition.
    #[must_use]
    pub fn may_be_ordered(&self, other: &Site) -> bool {
        match (self.is_operation(), other.is_operation()) {
            (true, true) => true,
            (true, false) => self.kind == SiteKind::Await && other.kind.access().is_some(),
            (false, true) => other.may_be_ordered(self),
            (false, false) => false,
        }
    }

    /// Returns whether the two sites can be a pair: they can race, or their order may matter.
    #[must_use]
    pub fn can_be_paired(&self, other: &Site) -> bool {
        self.can_conflict(other) || self.may_be_ordered(other)
    }

    /// Returns the name of the site in the trace of a run: `12:5 read`.
    #[must_use]
    pub fn trace_name(&self) -> String {
        format!("{}:{} {}", self.line, self.column, self.kind.word())
    }

    /// Returns whether the site acts on the given place: either the whole place as written, or the variable or field
    /// that it ends in (`table` of `s.table[]`).
    #[must_use]
    pub fn is_of(&self, name: &str) -> bool {
        self.place == name || self.last_part() == name
    }

    /// Returns the variable or field that the place ends in: `table` of `s.table[]`.
    #[must_use]
    pub fn last_part(&self) -> &str {
        let place = self.place.trim_end_matches("[]");
        place.rsplit('.').next().unwrap_or(place)
    }

    /// Returns the variable that an access reads or writes, as a whole or in one element. `None` for accesses to
    /// objects and their fields, and for operations that are no accesses.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        let name = self.place.split('[').next()?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let rest = &self.place[name.len()..];
        let elements = rest.chars().all(|c| matches!(c, '[' | ']'));
        let in_cell = matches!(self.kind, SiteKind::Read | SiteKind::Write) || self.kind.is_atomic();
        (in_cell && is_name && elements).then_some(name)
    }
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// The access reads.
    Read,
    /// The access writes, or reads and writes.
    Write,
}

macro_rules! site_kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// The kinds of sites: one for each kind of visible operation, and [`SiteKind::Check`].
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "each is the operation of the same name")]
        pub enum SiteKind { $($(#[$doc])* $name),+ }

        impl SiteKind {
            /// All kinds, in the order of declaration.
            pub const ALL: &'static [SiteKind] = &[$(SiteKind::$name),+];

            /// Returns the word for the kind in traces and messages: `read`, `acquire` and so on.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(SiteKind::$name => $word),+ }
            }
        }
    };
}

site_kinds! {
    Read = "read",
    Write = "write",
    AtomicRead = "atomic read",
    AtomicWrite = "atomic write",
    AtomicUpdate = "atomic update",
    Use = "use",
    Free = "free",
    Acquire = "acquire",
    Release = "release",
    Wait = "wait",
    Notify = "notify",
    ReadLock = "read-lock",
    Announce = "announce",
    WriteLock = "write-lock",
    ReadUnlock = "read-unlock",
    WriteUnlock = "write-unlock",
    Down = "down",
    Up = "up",
    Arrive = "arrive",
    Await = "await",
    Join = "join",
    Fork = "fork",
    SpawnLooper = "spawn looper",
    Post = "post",
    Begin = "begin",
    AttachQueue = "attach queue",
    Fence = "fence",
    Lift = "lift",
    Cancel = "cancel",
    Quit = "quit",
    NewHandler = "handler",
    Enable = "enable",
    Disable = "disable",
    Register = "register",
    Perform = "perform",
    Interrupt = "interrupt",
    Sleep = "sleep",
    Branch = "branch",
    Choose = "choose",
    Skip = "skip",
    Yield = "yield",
    Request = "request",
    Unregister = "unregister",
    Send = "send",
    Receive = "recv",
    Close = "close",
    ChannelRead = "channel read",
    Select = "select",
    GroupAdd = "add",
    GroupWait = "wait for group",
    ReadInterrupt = "read interrupt",
    Now = "now",
    Launch = "launch",
    Switch = "switch",
    CancelJob = "cancel job",
    AskJob = "ask job",
    SpawnScope = "spawn scope",
    OpenBlock = "open block",
    CloseBlock = "close block",
    /// An atomic read of an atomic that some statement accesses plainly.
    MixedRead = "atomic read",
    /// An atomic write of such an atomic.
    MixedWrite = "atomic write",
    /// An atomic update of such an atomic.
    MixedUpdate = "atomic update",
    /// No operation: the place of an assert, a fail or a throw.
    Check = "check",
}

impl SiteKind {
    /// Returns the kind of access to memory that can race, or `None` for every other operation. An atomic access can
    /// race if its atomic is accessed plainly as well.
    #[must_use]
    pub fn access(self) -> Option<AccessKind> {
        match self {
            SiteKind::Read | SiteKind::Use | SiteKind::MixedRead => Some(AccessKind::Read),
            SiteKind::Write | SiteKind::Free | SiteKind::MixedWrite | SiteKind::MixedUpdate => Some(AccessKind::Write),
            _ => None,
        }
    }

    /// Returns whether this is an operation on an atomic.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        use SiteKind::{AtomicRead, AtomicUpdate, AtomicWrite, MixedRead, MixedUpdate, MixedWrite};
        matches!(self, AtomicRead | AtomicUpdate | AtomicWrite | MixedRead | MixedUpdate | MixedWrite)
    }
}
