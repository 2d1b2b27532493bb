//! Implements the command line. Each room uses only those before it in this list:
//!
//! - `io`: files, models, output, exit statuses;
//! - `args`: what the user typed, the options that commands share;
//! - `run`: one run, drawn, replayed or shrunk;
//! - `models`: files of models, their variants, saved failures;
//! - `confirm`, `explore`, `fuzz`, `test`, `trace`: campaigns, searches, learning campaigns, tests, recorded traces;
//! - `watch`: tests of what changes;
//! - `lsp`: the language server;
//! - `command`: the table of all commands.
//!
//! This is the only module that uses files, the environment and printing. A command is a file with `Args` and `run`,
//! and a row in `command::table`. Everything on stdout is the result, and deterministic. Notes, warnings, errors and
//! progress go to stderr.

mod args;
mod command;
mod confirm;
mod explore;
mod fuzz;
mod io;
mod lsp;
mod models;
mod run;
mod test;
mod trace;
mod watch;

use clap::Parser;
use io::exit::ExitStatus;
use io::output::{self, Output};
use io::{bug, interrupt};
use std::process::ExitCode;

/// Context of a command: its output.
struct CommandContext {
    out: Output,
}

/// Error that keeps a command from its work. It is always bad input.
#[derive(Debug)]
enum Refusal {
    /// Message that is printed after `error: `.
    Message(String),
    /// Errors that are already rendered.
    Rendered(String),
}

impl Refusal {
    fn new(message: impl std::fmt::Display) -> Self {
        Refusal::Message(message.to_string())
    }

    /// Returns the text without colors.
    fn plain(&self) -> String {
        match self {
            Refusal::Message(text) => text.clone(),
            Refusal::Rendered(text) => anstream::adapter::strip_str(text.trim_end()).to_string(),
        }
    }
}

/// Runs the program: reads the arguments, does what they say, and returns the exit status.
#[must_use]
pub fn main() -> ExitCode {
    bug::install();
    interrupt::outlive_limits();
    command_line().code()
}

fn command_line() -> ExitStatus {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Clap refuses the arguments before it returns any option, so `--color` is looked up separately.
    let cli = match command::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let colour = command::colour_in(&arguments);
            return output::usage(error, colour);
        }
    };
    start_log(cli.verbose);
    let mut context = CommandContext { out: Output::new(cli.color) };
    let status = match cli.command.run(&mut context) {
        Ok(status) => status,
        Err(refusal) => {
            context.out.refuse(&refusal);
            ExitStatus::Refused
        }
    };
    context.out.finish(status)
}

/// Returns the reason why these arguments would be refused before anything is done. `None` if they would be accepted,
/// or ask for help. The first argument is the name of the program.
#[must_use]
pub fn refusal(arguments: impl IntoIterator<Item = String>) -> Option<String> {
    let error = command::Cli::try_parse_from(arguments).err().filter(clap::Error::use_stderr)?;
    Some(error.render().to_string())
}

fn start_log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| output::LogStream)
        // The log would report its own errors on stderr, and panic if that is closed.
        .log_internal_errors(false)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .init();
}
