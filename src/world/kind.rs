//! What a word of memory means, for the canonical state.

/// Meaning of a word of memory, which decides how the canonical state renumbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WordKind {
    /// A plain value: a number, a truth value, a declared lock.
    Word,
    /// A lock. Only code for symmetric searches tells locks from plain values.
    Lock,
    /// A condition, in code for symmetric searches.
    Condition,
    /// A number that may be an element of this class ([`Symmetry`](super::Symmetry)), in code for symmetric searches.
    Element(u16),
    /// An object, or null.
    Object,
    /// A thread, or null.
    Thread,
    /// A handler, or null.
    Handler,
    /// The token of a fence, or null.
    Fence,
    /// A request to the platform, or null.
    Request,
    /// The value of a post: 0 if it was refused, 1, or the handle of a message.
    Message,
    /// A cell with its object, packed by the guest: object + 1 above bit 32, or 0 for a global, and the cell below.
    Place,
    /// The state of a list iterator: the list and its version. Only whether the list has changed since then matters.
    Iterator,
    /// The index of a list of plain values.
    ListOfWords,
    /// The index of a list of objects.
    ListOfObjects,
    /// The index of a list of threads.
    ListOfThreads,
    /// The index of a list of handlers.
    ListOfHandlers,
    /// The index of a list of tokens of fences.
    ListOfFences,
    /// The index of a list of values of posts.
    ListOfMessages,
}

impl WordKind {
    /// Returns whether the canonical state has the value as it is.
    #[must_use]
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Word | Self::Lock | Self::Condition | Self::Element(_))
    }
}
