//! Commands that make a run again, to be pasted into a shell.

use super::load::Model;
use super::shell;
use crate::campaign::{CONTINUED, SEARCHED};
use crate::event::LimitKind;
use crate::sched::StrategySpec;
use crate::world::Limits;

// Windows takes command lines of 32767 characters, Linux arguments of 131071.
const LONGEST_ARGUMENT: usize = 32_000;

/// The command that draws the run from its seed; no seed draws what a search or a campaign has found, so there it is that.
pub(super) fn draw(model: &Model, strategy: &str, seed: u64, limits: &Limits) -> String {
    let found = is_found(strategy);
    let mut command = format!("raceflip {} {}", if found { strategy } else { "run" }, model.argument());
    if !found {
        if strategy.parse() != Ok(StrategySpec::Random) {
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
    strategy == SEARCHED || strategy == CONTINUED
}

/// The commands that replay the run from its token: one, or, where no shell takes the token as an argument, two. What a search or a campaign has found
/// cannot be drawn again alone: then the command is that one, and says where the token is.
pub(super) fn replay(model: &Model, token: &str, strategy: &str, seed: u64, limits: &Limits) -> Vec<String> {
    // A token does not raise the limits of the command that replays it.
    let raised: String = raised(limits);
    if token.len() <= LONGEST_ARGUMENT {
        return vec![format!("raceflip replay {}{raised} {token}", model.argument())];
    }
    if is_found(strategy) {
        let search = draw(model, strategy, seed, limits);
        return vec![format!("{search} --format json > found.json  # its token is there: too long for an argument")];
    }
    vec![
        format!("{} --quiet > token.txt", draw(model, strategy, seed, limits)),
        format!("raceflip replay {}{raised} @token.txt", model.argument()),
    ]
}

/// The options that allow a replay what a run with these limits was allowed, each with a space before it.
pub(super) fn raised(limits: &Limits) -> String {
    limits.beyond(&Limits::default()).map(|(option, value)| format!(" --{option} {value}")).collect()
}

/// Whether a token is too long to be printed on a terminal, or pasted.
pub(super) fn is_long(token: &str) -> bool {
    token.len() > LONGEST_ARGUMENT
}
