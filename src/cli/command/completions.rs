//! `raceflip completions`: prints a script with which a shell completes commands and options.

use super::Cli;
use crate::cli::io::exit::ExitStatus;
use crate::cli::{CommandContext, Refusal};
use clap::CommandFactory;
use clap_complete::Shell;

const AFTER: &str = "\
Examples:
  raceflip completions bash > ~/.local/share/bash-completion/completions/raceflip
  raceflip completions zsh > ~/.zfunc/_raceflip        (with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc)
  raceflip completions fish > ~/.config/fish/completions/raceflip.fish
  raceflip completions powershell >> $PROFILE
  raceflip completions elvish >> ~/.config/elvish/rc.elv";

/// Print a script that completes commands and options in a shell
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Name of the shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "raceflip", &mut script);
    context.out.file(&String::from_utf8_lossy(&script));
    Ok(ExitStatus::Nothing)
}
