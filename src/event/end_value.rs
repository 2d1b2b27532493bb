//! Values of variables at the end of a run.

/// The value of a variable at the end of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndValue {
    /// A number.
    Word(i64),
    /// A truth value.
    Truth(bool),
    /// A reference. Across runs only whether it is null ([`NULL`](super::NULL)) is meaningful.
    Reference(i64),
    /// The values of a list or array.
    List(Vec<EndValue>),
}
