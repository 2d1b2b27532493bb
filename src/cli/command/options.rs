//! Tests that options are consistent over all commands: one name means one thing.

use super::Cli;
use clap::{Arg, Command, CommandFactory};
use std::collections::BTreeMap;

// Commands that print a result: it has a format, and is printed in full or in brief.
const WITH_RESULTS: [&str; 9] = ["run", "replay", "shrink", "detect", "confirm", "merge", "analyze", "test", "explore"];

fn commands(of: &Command, path: &str, all: &mut Vec<(String, Command)>) {
    for command in of.get_subcommands().filter(|c| c.get_name() != "help") {
        let path = format!("{path} {}", command.get_name()).trim().to_owned();
        commands(command, &path, all);
        all.push((path, command.clone()));
    }
}

fn tree() -> Vec<(String, Command)> {
    let mut all = Vec::new();
    let mut root = Cli::command();
    root.build();
    commands(&root, "", &mut all);
    all
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let own = |arg: &&Arg| !arg.is_positional() && !matches!(arg.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(own)
}

#[test]
fn an_option_is_the_same_in_each_command() {
    let mut known: BTreeMap<String, (String, [String; 4])> = BTreeMap::new();
    for (path, command) in tree() {
        for option in options(&command) {
            let name = option.get_long().map_or_else(|| option.get_id().to_string(), str::to_owned);
            // It selects what a command shows: columns of a timeline, or locations of a trace.
            if name == "only" {
                continue;
            }
            let text = |of: Option<String>| of.unwrap_or_default();
            let values = option.get_value_names().map(|n| n.join(" "));
            // `-o` is there where the file is what the command is for.
            let short = option.get_short().filter(|_| name != "out").map(String::from);
            let heading = option.get_help_heading().map(str::to_owned);
            let words = option.get_help().map(ToString::to_string);
            // The help of some options differs: the conditions of `--fail-on`, what `--runs` bounds, what `--pairs`
            // lists and what a journal records depend on the command. So does what the command leaves out without
            // `--all`, which also decides the heading of that option.
            let (heading, words) = match name.as_str() {
                "fail-on" | "runs" | "pairs" | "journal" | "resume" => (heading, None),
                "all" => (None, None),
                _ => (heading, words),
            };
            let mine = [text(values), text(short), text(heading), text(words)];
            let (first, theirs) = known.entry(name.clone()).or_insert_with(|| (path.clone(), mine.clone()));
            assert_eq!(*theirs, mine, "--{name} of `{first}` and of `{path}`");
        }
    }
}

#[test]
fn every_option_has_a_heading() {
    for (path, command) in tree() {
        let bare: Vec<_> = options(&command).filter(|o| o.get_help_heading().is_none()).map(Arg::get_id).collect();
        assert!(bare.is_empty(), "{path}: {bare:?}");
    }
}

#[test]
fn what_prints_results_has_a_form_and_a_brief_one() {
    let all = tree();
    for name in WITH_RESULTS {
        let (_, command) = all.iter().find(|(path, _)| path == name).expect("there is this command");
        for wanted in ["format", "quiet"] {
            assert!(options(command).any(|o| o.get_long() == Some(wanted)), "`{name}` has no --{wanted}");
        }
        let quiet = options(command).find(|o| o.get_long() == Some("quiet")).and_then(Arg::get_short);
        assert_eq!(quiet, Some('q'), "{name}");
    }
}

#[test]
fn times_have_units_everywhere() {
    for (args, is_good) in [
        (["run", "m.race", "--virtual-time", "5s"], true),
        (["run", "m.race", "--virtual-time", "5"], false),
        (["explore", "m.race", "--time", "500ms"], true),
        (["explore", "m.race", "--time", "2d"], true),
        (["explore", "m.race", "--time", "5"], false),
        (["confirm", "m.race", "--time", "5"], false),
        (["confirm", "m.race", "--virtual-time", "1h"], true),
    ] {
        let read = Cli::command().try_get_matches_from(["raceflip"].iter().chain(&args));
        assert_eq!(read.is_ok(), is_good, "{args:?}");
    }
}
