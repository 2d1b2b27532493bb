//! The names that users of other tools know: a test changes one line.

pub mod loom;
pub mod shuttle;
