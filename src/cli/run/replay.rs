//! `raceflip replay`: performs a run again, from its token.

use super::plan::{ChoiceSource, Report, RunPlan};
use super::shrink_mode::ShrinkMode;
use super::state::StateArgs;
use super::{beside, one_run};
use crate::cli::args::{DefineArgs, LimitArgs, ReportArgs, RunFormat, head};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load;
use crate::cli::io::load::Model;
use crate::cli::{CommandContext, Refusal};
use crate::event::LimitKind;
use crate::formats::shell;
use crate::token::Token;
use crate::world::Limits;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Replays a run from its token, and prints exactly what `raceflip run` printed for it (except the line that says that the run was shrunk).

A token contains the choices of the run by name, the -D values and the limits. It survives edits elsewhere in the model: \
comments, labels, statements that the run does not reach. If the model no longer fits, the replay stops (exit status 3) \
and prints what it expected and what it found. It never guesses, unless --tolerant is given: then it follows the recording \
as far as possible, and prints how often it could not.

The limits of the token cannot exceed the limits of this command (the defaults, or the values of --steps and similar options). A run that needs more is stopped there, and a message names the option that allows it (exit status 2).";

const AFTER: &str = "\
Examples:
  raceflip replay app.race rf1-...
  raceflip replay app.race @token.txt                          from a file
  raceflip replay app.race @seeds/app-0123456789abcdef.toml    a failure that `raceflip test` saved
  raceflip run -q app.race --seed 7 | raceflip replay app.race -   from stdin
  raceflip replay app.race rf1-... --until 12 --state          the state after 12 steps
  raceflip replay app.race rf1-... --tolerant                  after an edit of the model
  raceflip replay app.race rf1-... --mark @a --mark @b --format svg > run.svg
  raceflip replay app.race rf1-... --transaction Player        where a transaction is not in one piece
  raceflip replay app.race rf1-... --beside rf1-... --mark @a --mark @b --format svg > both.svg
                                                               both orders of a pair, side by side

In a file or on stdin, all text around the token is ignored. So the output of `raceflip run` can be used.";

/// Recorded run, and the options of its report.
#[derive(clap::Args, Debug)]
pub(in crate::cli) struct RecordedArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
    /// The token; `-` for stdin, `@FILE` for a file
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    defines: DefineArgs,
    #[command(flatten)]
    pub(in crate::cli) report: ReportArgs,
    #[command(flatten)]
    pub(in crate::cli) limits: LimitArgs,
}

/// Replay a run from its token
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    recorded: RecordedArgs,
    #[command(flatten)]
    state: StateArgs,
    /// Continue where the model differs from the recording, and follow it as far as possible
    #[arg(long, help_heading = head::EFFORT)]
    tolerant: bool,
    /// Draw the run of this token beside the first one: both orders of a pair (with `--format svg`)
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["tolerant", "until", "trace", "perfetto"], help_heading = head::RESULT)]
    beside: Option<String>,
    /// Mark the transaction of this name that the run violates: a block, a component, or the root of a tree of tasks
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tolerant", "beside"], help_heading = head::TIMELINE)]
    transaction: Option<String>,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    // The choices that could not be followed would be printed after the diagram.
    args.recorded.report.alone("--tolerant", args.tolerant)?;
    if args.beside.is_some() && args.recorded.report.format != RunFormat::Svg {
        return Err(Refusal::new("`--beside` draws two runs in one picture: add `--format svg`"));
    }
    let (token, model) = args.recorded.resolve(context)?;
    if let Some(beside) = &args.beside {
        let other = args.recorded.other(beside, &token, &model, context)?;
        let report = Report::resolve(&args.recorded.report, args.state, &model)?;
        let allowed = args.recorded.limits.resolve();
        return beside::perform(&model, [&token, &other], &allowed, &report.view, context);
    }
    let allowed = args.recorded.limits.resolve();
    let mut report = Report::resolve(&args.recorded.report, args.state, &model)?;
    if let Some(name) = &args.transaction {
        report.view.mark_transaction(&model, &token, &allowed, name)?;
    }
    let plan = RunPlan {
        limits: token.limits,
        allowed,
        strategy: token.strategy.clone(),
        seed: token.seed,
        choices: if args.tolerant {
            ChoiceSource::Tolerant(Box::new(token))
        } else {
            ChoiceSource::Replay(Box::new(token))
        },
        report,
        shrinking: ShrinkMode::Off,
        model,
    };
    one_run::perform(plan, context)
}

impl RecordedArgs {
    /// Returns the given token, and the model with its constants.
    pub(in crate::cli) fn resolve(&self, context: &mut CommandContext) -> Result<(Token, Model), Refusal> {
        if let Some(file) = turned_round(&self.file, &self.token) {
            return Err(Refusal::new(format_args!(
                "give the model first, and then the token: `raceflip replay {file} TOKEN`"
            )));
        }
        let token: Token = token_text(&self.token)?.parse().map_err(Refusal::new)?;
        let constants = self.defines.resolve();
        for (name, value) in &constants {
            match token.defines.iter().find(|(n, _)| n == name) {
                Some((_, made)) if made == value => {}
                Some((_, made)) => {
                    context.out.note(format_args!("-D {name}={value} overrides the token's {name}={made}"))
                }
                None => context.out.note(format_args!("the token was made without -D {name}={value}")),
            }
        }
        let mut defines: std::collections::BTreeMap<_, _> = token.defines.iter().cloned().collect();
        defines.extend(constants);
        let defines: Vec<_> = defines.into_iter().collect();
        let model = load::model(&self.file, &defines, &context.out).inspect_err(|_| {
            if !token.defines.is_empty() {
                let list: Vec<String> = token.defines.iter().map(|(n, v)| format!("-D {n}={v}")).collect();
                context.out.note(format_args!("the token was made with {}", list.join(" ")));
            }
        })?;
        self.fits(&token, &model, context)?;
        Ok((token, model))
    }

    // Checks a token against the model and the limits of this command.
    fn fits(&self, token: &Token, model: &Model, context: &mut CommandContext) -> Result<(), Refusal> {
        if model.digest() != token.program {
            context.out.warning("the token was made for another version of this model; the replay follows its choices");
        }
        // A lower depth limit ends no run, but makes a deep call throw, which would be another run. So it is checked
        // before the replay.
        if let Some((option, value)) = token.limits.kept_from(&self.limits.resolve(), None) {
            return Err(Refusal::new(asks(option, value, &self.limits.resolve())));
        }
        Ok(())
    }

    // Returns the token of a second run of the same variant.
    fn other(&self, text: &str, first: &Token, model: &Model, context: &mut CommandContext) -> Result<Token, Refusal> {
        let other: Token = token_text(text)?.parse().map_err(|e| Refusal::new(format_args!("--beside: {e}")))?;
        if other.defines != first.defines {
            return Err(Refusal::new("--beside: the tokens are of two variants, with other constants (`-D`)"));
        }
        self.fits(&other, model, context)?;
        Ok(other)
    }
}

/// Describes what a token needs and the command does not allow.
pub(in crate::cli) fn asks(option: &str, value: u64, allowed: &Limits) -> String {
    let most = allowed.options().into_iter().find(|(o, _)| *o == option).map_or(0, |(_, most)| most);
    let unit = if option == LimitKind::VirtualTime.option() { "ms" } else { "" };
    format!(
        "the token needs --{option} {value}{unit}, and this command allows at most {most}{unit}; `--{option} {value}{unit}` allows it"
    )
}

// Path of the model, if the user gave the token first and the model second.
fn turned_round(file: &Path, token: &str) -> Option<String> {
    let looks_so =
        |text: &str| text == "-" || text.starts_with("rf1-") || text.starts_with("rf2-") || text.starts_with('@');
    let (first, then) = (file.to_string_lossy(), Path::new(token));
    let is_model = then.extension().is_some_and(|e| e == "race") || then.is_file();
    (looks_so(&first) && !file.exists() && !looks_so(token) && is_model).then(|| shell::path(token))
}

// Upper bound in bytes: more than the token of any run with the default limits, and the output around it.
const LARGEST: u64 = 256 << 20;

// Returns the token as it was given, or as a file or stdin contains it.
fn token_text(given: &str) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    // An endless file, such as a device, is not read to its end.
    let mut read = |from: &mut dyn Read| from.take(LARGEST + 1).read_to_end(&mut bytes);
    let (from, read) = match given.strip_prefix('@') {
        Some(path) => (format!("`{}`", path), std::fs::File::open(path).and_then(|mut file| read(&mut file))),
        None if given == "-" => ("stdin".to_owned(), read(&mut std::io::stdin())),
        None => return Ok(given.to_owned()),
    };
    let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot read the token from {from}: {why}"));
    read.map_err(|error| match error.kind() {
        ErrorKind::NotFound => cannot(&"there is no such file"),
        _ => cannot(&error),
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(cannot(&format_args!("it is larger than any token (more than {} MiB)", LARGEST >> 20)));
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_token = |word: &&str| {
        word.strip_prefix("rf").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('-'))
    };
    // In the file of a saved failure the token is in quotes.
    match text.split(|c: char| c.is_whitespace() || c == '"').find(is_token) {
        Some(word) => Ok(word.to_owned()),
        None => Err(Refusal::new(format_args!(
            "there is no replay token in {from}: a token starts with `rf1-` or `rf2-`, as `raceflip run` prints it"
        ))),
    }
}
