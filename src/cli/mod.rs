//! Implements the command line, in three layers: the arguments (`args`), the plan that they resolve to (`plan`), and
//! the work (one file for each command).
//!
//! This is the only module that uses files, the environment and printing. A command is a file with `Args` and `run`,
//! and a row in `args::Command`. Everything on stdout is the result, and deterministic. Notes, warnings, errors and
//! progress go to stderr.

mod analyze;
mod args;
mod beside;
mod bug;
mod campaign;
mod check;
mod completions;
mod confirm;
mod detect;
mod exit;
mod explore;
mod files;
mod fmt;
mod followed;
mod gate;
mod interrupt;
mod journal;
mod load;
mod man;
mod merge;
mod new;
mod one_run;
#[cfg(test)]
mod options;
mod outcome;
mod output;
mod pair_options;
mod per_model;
mod plan;
mod progress;
mod replay;
mod replay_command;
mod reports;
mod run;
mod seeds;
mod shrink;
mod shrink_mode;
mod state;
mod suite;
mod test;
mod timeline;
mod timer;
mod tolerance;
mod trace;
mod wrap;

use crate::formats::shell;
use clap::Parser;
use exit::ExitStatus;
use output::Output;
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
    let cli = match args::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let colour = args::colour_in(&arguments);
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
    let error = args::Cli::try_parse_from(arguments).err().filter(clap::Error::use_stderr)?;
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
