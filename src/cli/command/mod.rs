//! The table of all commands, and the two commands that print it in another form: completions for a shell, and manual
//! pages. The command line is read here, so that this is the only room that knows every command.

mod completions;
mod man;
#[cfg(test)]
mod options;
mod table;

pub(super) use table::{Cli, colour_in};
