//! Builds commands that perform a run again, to be pasted into a shell.

use super::load::Model;
use crate::campaign::{CONTINUED, FUZZED, SEARCHED};
use crate::event::LimitKind;
use crate::formats::shell::{self, LONGEST_ARGUMENT};
use crate::sched::StrategySpec;
use crate::world::Limits;

/// Returns the command that draws a run from its seed. A run that a search or a campaign has found has no seed; for it
/// the command is that search or campaign.
pub(in crate::cli) fn draw(model: &Model, strategy: &str, seed: u64, limits: &Limits) -> String {
    let found = is_found(strategy);
    let mut command = format!("raceflip {} {}", if found { strategy } else { "run" }, model.argument());
    if !found {
        if strategy.parse() != Ok(StrategySpec::default()) {
            command.push_str(&format!(" --strategy {}", shell::quote(strategy)));
        }
        command.push_str(&format!(" --seed {seed}"));
    }
    for (name, value) in &model.defines {
        command.push_str(&format!(" -D {name}={value}"));
    }
    for (option, value) in limits.unusual() {
        let unit = if option == LimitKind::VirtualTime.option() { "ms" } else { "" };
        command.push_str(&format!(" --{option} {value}{unit}"));
    }
    command
}

fn is_found(strategy: &str) -> bool {
    [SEARCHED, CONTINUED, FUZZED].contains(&strategy)
}

/// Returns the commands that replay a run from its token: one command, or two if no shell accepts the token as an
/// argument. A run that a search or a campaign has found cannot be drawn alone. For a long token of such a run the
/// command repeats that search or campaign, and says where the token is.
pub(in crate::cli) fn replay(model: &Model, token: &str, strategy: &str, seed: u64, limits: &Limits) -> Vec<String> {
    // A token does not raise the limits of the command that replays it.
    let raised: String = raised(limits);
    if token.len() <= LONGEST_ARGUMENT {
        return vec![format!("raceflip replay {}{raised} {token}", model.argument())];
    }
    if is_found(strategy) {
        let search = draw(model, strategy, seed, limits);
        return vec![format!(
            "{search} --format json > found.json  # it contains the token, which is too long for an argument"
        )];
    }
    vec![
        format!("{} --quiet > token.txt", draw(model, strategy, seed, limits)),
        format!("raceflip replay {}{raised} @token.txt", model.argument()),
    ]
}

/// Returns the options that give a replay the same limits, each with a space before it.
pub(in crate::cli) fn raised(limits: &Limits) -> String {
    limits.beyond(&Limits::default()).map(|(option, value)| format!(" --{option} {value}")).collect()
}

/// Returns whether a token is too long to be printed on a terminal or pasted.
pub(in crate::cli) fn is_long(token: &str) -> bool {
    token.len() > LONGEST_ARGUMENT
}
