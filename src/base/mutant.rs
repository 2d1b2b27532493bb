//! Mistakes that a test can switch on, to see that it would notice them (mutation testing, chosen by hand).
//!
//! Without the feature `mutants` nothing of it is left: `is` is the constant false.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is one line, where it is made")]
pub enum Mutant {
    None,
    // Of the message queue.
    FrontFirstInFirstOut,
    TiesTurnedRound,
    FencesLetAllPass,
    AsyncIgnored,
    QuitSafelyDropsWhatIsDue,
    CancelByLooper,
    // Of the canonical state: too little in it.
    DeadlinesNotInForm,
    OverdueIsNotDue,
    WaitersNotInForm,
    FreedNotInForm,
    AsyncNotInForm,
    InterruptsNotInForm,
    DigestsOf16Bits,
    // Of the canonical state: too much in it.
    SequenceInForm,
    NegativeDistances,
    ObjectsByAllocation,
    // Of the search.
    SleepersNeverWake,
    AllStepsQuiet,
    PostsCommute,
    ClockBesidePosts,
    AccessesCommute,
    TicksToDeadlines,
    UnitsOfTheDivisor,
}

impl Mutant {
    /// All mistakes.
    #[cfg(feature = "mutants")]
    pub const ALL: [Mutant; 23] = [
        Mutant::FrontFirstInFirstOut,
        Mutant::TiesTurnedRound,
        Mutant::FencesLetAllPass,
        Mutant::AsyncIgnored,
        Mutant::QuitSafelyDropsWhatIsDue,
        Mutant::CancelByLooper,
        Mutant::DeadlinesNotInForm,
        Mutant::OverdueIsNotDue,
        Mutant::WaitersNotInForm,
        Mutant::FreedNotInForm,
        Mutant::AsyncNotInForm,
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
    ];
}

#[cfg(feature = "mutants")]
static MADE: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Makes this mistake from now on, in the whole process, and no other.
#[cfg(feature = "mutants")]
pub fn make(mutant: Mutant) {
    MADE.store(mutant as u8, std::sync::atomic::Ordering::Relaxed);
}

/// Whether this mistake is to be made.
#[cfg(feature = "mutants")]
pub(crate) fn is(mutant: Mutant) -> bool {
    MADE.load(std::sync::atomic::Ordering::Relaxed) == mutant as u8
}

/// Whether this mistake is to be made: no.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}
