//! What a model lacks of its trace.

/// What a model lacks, with the number of times. The order is that of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LeftOut {
    Unselected,
    Unshared,
    Repeated,
    LocksOfOneThread,
    EmptySections,
    Signals,
    Tasks,
    Threads,
    Unbegun,
    OpenSections,
    LoneReleases,
    Fences,
    Fronts,
    Microtasks,
    Loops,
    Environment,
}

impl LeftOut {
    /// Returns what is left out, for a reader.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Unselected => "accesses of locations that `--only` does not name",
            Self::Unshared => "accesses of locations that only one context accesses, or that are never written",
            Self::Repeated => "accesses that repeat one right before them",
            Self::LocksOfOneThread => "operations on locks that only one thread takes",
            Self::EmptySections => "operations on locks around nothing that is left",
            Self::Signals => "sends and receives that order nothing in addition",
            Self::Tasks => "tasks without effect on other contexts, which are not posted",
            Self::Threads => "threads without effect on other contexts",
            Self::Unbegun => "posts of tasks that have not begun: they were cancelled, or the trace ends before them",
            Self::OpenSections => {
                "sections of locks without a release: they end with a wait, or else with their task or thread"
            }
            Self::LoneReleases => "releases of a lock that another task of the thread has taken",
            Self::Fences => "loopers with asynchronous messages: a trace has no fences, so that these pass nothing",
            Self::Fronts => "places of messages that have overtaken an earlier one: they are posted at the front",
            Self::Microtasks => "microtasks that another thread has posted: they are messages",
            Self::Loops => "loops of a thread over its queue, but the first one",
            Self::Environment => "operations of the environment that are no posts",
        }
    }
}
