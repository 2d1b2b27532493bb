//! Files of models: the commands that check, format and create them (`check`, `fmt`, `new`), the models and variants
//! that the paths of a command name (`suite`, `per_model`), and the saved failures of a variant (`seeds`).

pub(super) mod check;
pub(super) mod fmt;
pub(super) mod new;
pub(super) mod per_model;
pub(super) mod seeds;
pub(super) mod suite;
