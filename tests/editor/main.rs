//! Tests of what editors use: the language server, driven over stdio by a client, the names behind it, and
//! `raceflip watch`, driven through a pipe.

mod client;
mod commands;
mod completions;
mod edits;
mod hovers;
mod names;
mod protocol;
mod renames;
mod watch;
