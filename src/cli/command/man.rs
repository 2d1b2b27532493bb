//! `raceflip man`: prints manual pages, made from the same text as `--help`.

use super::Cli;
use crate::cli::io::exit::ExitStatus;
use crate::cli::{CommandContext, Refusal};
use clap::CommandFactory;

const AFTER: &str = "\
Examples:
  raceflip man > ~/.local/share/man/man1/raceflip.1
  raceflip man run > ~/.local/share/man/man1/raceflip-run.1
  raceflip man confirm | man -l -";

/// Print the manual page of raceflip or of a command
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Name of a command [default: raceflip itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    // Clap names each command `raceflip-run` and so on, and gives it the global options.
    let mut all = Cli::command();
    all.build();
    let page = match &args.command {
        None => all,
        Some(name) => {
            let unknown = || Refusal::new(format_args!("there is no command `{name}`; `raceflip --help` lists them"));
            all.find_subcommand(name).cloned().ok_or_else(unknown)?
        }
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .source(concat!("raceflip ", env!("CARGO_PKG_VERSION")))
        .render(&mut roff)
        .map_err(|error| Refusal::new(format_args!("cannot write the page: {error}")))?;
    context.out.file(&String::from_utf8_lossy(&roff));
    Ok(ExitStatus::Nothing)
}
