//! Mistakes that a test can switch on to check that it notices them (mutation testing, with mutants chosen by hand).
//!
//! Without the feature `mutants` no code of this module remains: `is` is the constant false.

/// A mistake that can be switched on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is one line, where it is made")]
pub enum Mutant {
    None,
    // Mistakes in the message queue.
    FrontFirstInFirstOut,
    TiesTurnedRound,
    FencesLetAllPass,
    AsyncIgnored,
    QuitSafelyDropsWhatIsDue,
    CancelByLooper,
    MicrotasksLastInFirstOut,
    IdleBesideDueFences,
    IdleOnce,
    TokensIgnored,
    // Mistakes in the jobs of async tasks.
    CancelledJobKeepsPermit,
    LastWaitFirst,
    ParentDoesNotWait,
    SuspensionIgnoresCancellation,
    PromiseResumesByMessage,
    // Mistakes in the canonical state: it contains too little.
    DeadlinesNotInForm,
    OverdueIsNotDue,
    WaitersNotInForm,
    FreedNotInForm,
    AsyncNotInForm,
    MicrotasksNotInForm,
    SleepNotInForm,
    HandlesNotInForm,
    InterruptsNotInForm,
    DigestsOf16Bits,
    // Mistakes in the canonical state: it contains too much.
    SequenceInForm,
    NegativeDistances,
    ObjectsByAllocation,
    // Mistakes in the search.
    SleepersNeverWake,
    AllStepsQuiet,
    PostsCommute,
    ClockBesidePosts,
    AccessesCommute,
    TicksToDeadlines,
    UnitsOfTheDivisor,
    // Mistakes in what a step meets: a search takes it for the same step in too many states.
    FootprintWithoutCell,
    FootprintWithoutLock,
    FootprintWithoutRwLock,
    FootprintWithoutSemaphore,
    FootprintWithoutQueue,
    FootprintWithoutThread,
    // Mistakes in the stubborn sets of a search.
    LaterPostsCommute,
    WaitIsRelease,
    GuardsOfWaiters,
    NoProviso,
    FuturesWithoutTasks,
    OwnersForgotten,
    // Mistakes in renamings of threads that are alike, which only symmetric searches use.
    OwnersNotRenamed,
    OwnCellsNotRenamed,
    IndexArithmeticAccepted,
    // Mistakes in the environment of components.
    OpenRowMissed,
    UnderWayForgotten,
    RequestsOutOfOrder,
    // Mistakes in CAFA's order over traces, which the search does not use.
    AtomicAtPosts,
    DelaysTurned,
    LocksInOrder,
    OnePass,
    // Mistakes in the analysis of atomicity over traces.
    OwnNotDropped,
    OwnForgotten,
    ReadsNotSeen,
    ReadsKept,
    WritesJoined,
    PostsNotSeen,
    TasksInProgramOrder,
    MatesNotWhole,
    MateOfAll,
    OnePassOfMates,
    JointAlone,
    SlotFreedEarly,
    SlotNotCleared,
    // Mistakes in the search for deadlock rings.
    RingOfOneThread,
    RingOfOneLooper,
    RingUnderCommonLock,
    RingInForcedOrder,
    RingOfReaders,
    RingOfTimed,
    RingWithoutAnnounced,
    RingWithoutBlocked,
    RingWithReleased,
    // Mistakes in static executes-before.
    StaticDelaysIgnored,
    StaticLoopsIgnored,
    StaticNopreOfMany,
    StaticCancelsIgnored,
    StaticOneWriter,
    StaticFrontAtAnyTime,
    StaticWeakClosed,
    StaticQuitSafelyIgnored,
    StaticReadsUnderLocks,
    // Mistakes in learning campaigns.
    EarlyReadersNotAvoided,
    OtherWritersNotAvoided,
    OwnWritesAreForeign,
    RoundsByWorkers,
    AsksNotCounted,
    ViewsTurned,
    LastDrawnState,
}

impl Mutant {
    /// All mistakes in the order of traces.
    #[cfg(feature = "mutants")]
    pub const OF_TRACES: [Mutant; 4] =
        [Mutant::AtomicAtPosts, Mutant::DelaysTurned, Mutant::LocksInOrder, Mutant::OnePass];

    /// All mistakes in learning campaigns.
    #[cfg(feature = "mutants")]
    pub const OF_FUZZING: [Mutant; 7] = [
        Mutant::EarlyReadersNotAvoided,
        Mutant::OtherWritersNotAvoided,
        Mutant::OwnWritesAreForeign,
        Mutant::RoundsByWorkers,
        Mutant::AsksNotCounted,
        Mutant::ViewsTurned,
        Mutant::LastDrawnState,
    ];

    /// All mistakes in the analysis of atomicity.
    #[cfg(feature = "mutants")]
    pub const OF_ATOMICITY: [Mutant; 13] = [
        Mutant::OwnNotDropped,
        Mutant::OwnForgotten,
        Mutant::ReadsNotSeen,
        Mutant::ReadsKept,
        Mutant::WritesJoined,
        Mutant::PostsNotSeen,
        Mutant::TasksInProgramOrder,
        Mutant::MatesNotWhole,
        Mutant::MateOfAll,
        Mutant::OnePassOfMates,
        Mutant::JointAlone,
        Mutant::SlotFreedEarly,
        Mutant::SlotNotCleared,
    ];

    /// All mistakes in renamings of threads that are alike.
    #[cfg(feature = "mutants")]
    pub const OF_SYMMETRY: [Mutant; 3] =
        [Mutant::OwnersNotRenamed, Mutant::OwnCellsNotRenamed, Mutant::IndexArithmeticAccepted];

    /// All mistakes in the search for deadlock rings.
    #[cfg(feature = "mutants")]
    pub const OF_RINGS: [Mutant; 9] = [
        Mutant::RingOfOneThread,
        Mutant::RingOfOneLooper,
        Mutant::RingUnderCommonLock,
        Mutant::RingInForcedOrder,
        Mutant::RingOfReaders,
        Mutant::RingOfTimed,
        Mutant::RingWithoutAnnounced,
        Mutant::RingWithoutBlocked,
        Mutant::RingWithReleased,
    ];

    /// All mistakes in static executes-before.
    #[cfg(feature = "mutants")]
    pub const OF_STATICS: [Mutant; 9] = [
        Mutant::StaticDelaysIgnored,
        Mutant::StaticLoopsIgnored,
        Mutant::StaticNopreOfMany,
        Mutant::StaticCancelsIgnored,
        Mutant::StaticOneWriter,
        Mutant::StaticFrontAtAnyTime,
        Mutant::StaticWeakClosed,
        Mutant::StaticQuitSafelyIgnored,
        Mutant::StaticReadsUnderLocks,
    ];

    /// All mistakes in the stubborn sets of a search.
    #[cfg(feature = "mutants")]
    pub const OF_STUBBORN: [Mutant; 6] = [
        Mutant::LaterPostsCommute,
        Mutant::WaitIsRelease,
        Mutant::GuardsOfWaiters,
        Mutant::NoProviso,
        Mutant::FuturesWithoutTasks,
        Mutant::OwnersForgotten,
    ];

    /// All mistakes that a search can notice, without `None`.
    #[cfg(feature = "mutants")]
    pub const ALL: [Mutant; 44] = [
        Mutant::FrontFirstInFirstOut,
        Mutant::TiesTurnedRound,
        Mutant::FencesLetAllPass,
        Mutant::AsyncIgnored,
        Mutant::QuitSafelyDropsWhatIsDue,
        Mutant::CancelByLooper,
        Mutant::MicrotasksLastInFirstOut,
        Mutant::IdleBesideDueFences,
        Mutant::IdleOnce,
        Mutant::TokensIgnored,
        Mutant::CancelledJobKeepsPermit,
        Mutant::LastWaitFirst,
        Mutant::ParentDoesNotWait,
        Mutant::SuspensionIgnoresCancellation,
        Mutant::PromiseResumesByMessage,
        Mutant::DeadlinesNotInForm,
        Mutant::OverdueIsNotDue,
        Mutant::WaitersNotInForm,
        Mutant::FreedNotInForm,
        Mutant::AsyncNotInForm,
        Mutant::MicrotasksNotInForm,
        Mutant::SleepNotInForm,
        Mutant::HandlesNotInForm,
        Mutant::InterruptsNotInForm,
        Mutant::DigestsOf16Bits,
        Mutant::SequenceInForm,
        Mutant::NegativeDistances,
        Mutant::ObjectsByAllocation,
        Mutant::SleepersNeverWake,
        Mutant::AllStepsQuiet,
        Mutant::PostsCommute,
        Mutant::ClockBesidePosts,
        Mutant::AccessesCommute,
        Mutant::TicksToDeadlines,
        Mutant::UnitsOfTheDivisor,
        Mutant::FootprintWithoutCell,
        Mutant::FootprintWithoutLock,
        Mutant::FootprintWithoutRwLock,
        Mutant::FootprintWithoutSemaphore,
        Mutant::FootprintWithoutQueue,
        Mutant::FootprintWithoutThread,
        Mutant::OpenRowMissed,
        Mutant::UnderWayForgotten,
        Mutant::RequestsOutOfOrder,
    ];
}

#[cfg(feature = "mutants")]
static MADE: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Switches on this mistake in the whole process, and switches off any other.
#[cfg(feature = "mutants")]
pub fn make(mutant: Mutant) {
    MADE.store(mutant as u8, std::sync::atomic::Ordering::Relaxed);
}

/// Returns whether this mistake is switched on.
#[cfg(feature = "mutants")]
pub(crate) fn is(mutant: Mutant) -> bool {
    MADE.load(std::sync::atomic::Ordering::Relaxed) == mutant as u8
}

/// Returns false: without the feature `mutants` no mistake can be switched on.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}
