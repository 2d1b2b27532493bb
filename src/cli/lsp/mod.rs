//! `raceflip lsp`: a language server for models, over stdin and stdout.
//!
//! The room of the server:
//!
//! - `transport`: messages from and to the client;
//! - `positions`, `documents`: places by line and UTF-16 unit, open files and their edits;
//! - `diagnostics`, `answers`, `symbols`, `lenses`: what the library knows of a text, in the types of the protocol;
//! - `libraries`: files with the texts of libraries, for editors to open;
//! - `judge`, `jobs`: campaigns, searches and runs in threads of their own, and warnings, which take longer than a key;
//! - `requests`: the table of requests about texts;
//! - `server`: the loop.
//!
//! Everything about a text comes from `lang::editor`. The library `lsp-server` has the forms of messages, `lsp-types`
//! the forms of their content.

mod answers;
mod diagnostics;
mod documents;
mod jobs;
mod judge;
mod lenses;
mod libraries;
mod positions;
mod requests;
mod server;
mod symbols;
mod transport;

use crate::cli::io::exit::ExitStatus;
use crate::cli::{CommandContext, Refusal};

const ABOUT: &str = "\
Runs a language server for models: an editor starts it, and talks to it over stdin and stdout in the Language Server Protocol. It has no \
output for people.

While you type it reports the errors and warnings of `raceflip check`. It knows where names are declared and used, renames them, completes \
words and names, shows types and the steps of a statement, and formats like `raceflip fmt`. The lines `confirm`, `explore`, `run` and `test` above a model, and \
`confirm` above each `expect` line, start such a command in the background; the verdicts appear beside the lines.

The manual shows how to set up VS Code, Neovim and Helix (docs/editors.md).";

const AFTER: &str = "\
Examples:
  raceflip lsp                           the command that an editor starts

Exit status:
  0    the client has said `shutdown`, then `exit`
  1    the client has said `exit` alone, or has closed stdin
  2    the client does not speak the protocol
  130  interrupted";

/// Run a language server for editors
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Talk over stdin and stdout, which is the only way; editors often add this option
    #[arg(long, hide = true, help_heading = crate::cli::args::head::RESULT)]
    stdio: bool,
}

pub(in crate::cli) fn run(_: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    server::serve(context)
}
