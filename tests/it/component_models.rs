//! Small models with one kind of components, generated, as data and in the language.
//!
//! A model has a looper, up to two threads with a few commands each, and a kind with three stages, one state field and
//! up to four rows. `x` says in which order the commands were performed.

use raceflip::base::Rng;
use std::fmt::Write;

/// A command of a thread or of the body of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Command {
    /// `x = x * 4 + n`: two steps. In a row it is a callback.
    Mark(i64),
    /// One step.
    Skip,
    /// Makes an instance, which the thread then has.
    Make,
    /// Asks for a row. A thread has the request then.
    Ask(usize),
    /// Withdraws the last request of the thread.
    Withdraw,
    /// Assigns to the stage of the instance.
    Stage(u32),
    /// Assigns to the state field of the instance.
    Field(i64),
    /// Assigns to the state of the app.
    State(i64),
    /// Makes another instance. Only in rows.
    Again,
}

/// The condition of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Field(i64),
    State(i64),
    None(u32),
    Some(u32),
    Asked(usize),
    NotAsked(usize),
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct RowModel {
    pub(crate) from: Vec<u32>,
    pub(crate) to: Option<u32>,
    pub(crate) by_request: bool,
    pub(crate) when: Option<Condition>,
    pub(crate) at_most: Option<u32>,
    pub(crate) body: Vec<Command>,
}

/// A model.
#[derive(Clone, Debug)]
pub(crate) struct ComponentModel {
    pub(crate) rows: Vec<RowModel>,
    pub(crate) threads: Vec<Vec<Command>>,
    /// Whether there is one instance at a time, and the stage after which another one is made.
    pub(crate) single: Option<Option<u32>>,
}

const STAGES: u32 = 3;

/// Returns the model of a seed.
pub(crate) fn generate(seed: u64) -> ComponentModel {
    let mut rng = Rng::seeded(seed);
    let n = 2 + rng.below(3) as usize;
    let requested: Vec<bool> = (0..n).map(|_| rng.below(3) == 0).collect();
    let rows = (0..n).map(|i| row(&mut rng, i, &requested)).collect();
    let single = (rng.below(4) == 0).then(|| rng.coin().then(|| rng.below(STAGES)));
    let threads = (0..1 + rng.below(2)).map(|i| thread(&mut rng, i == 0, single.is_some(), &requested)).collect();
    ComponentModel { rows, threads, single }
}

fn row(rng: &mut Rng, index: usize, requested: &[bool]) -> RowModel {
    let by_request = requested[index];
    let from = if rng.below(4) == 0 { vec![0, 1] } else { vec![if index == 0 { 0 } else { rng.below(STAGES) }] };
    let to = rng.coin().then(|| rng.below(STAGES));
    let any = rng.below(requested.len() as u32) as usize;
    let when = rng.coin().then(|| match rng.below(6) {
        0 => Condition::Field(i64::from(rng.below(2))),
        1 => Condition::State(i64::from(rng.below(2))),
        2 => Condition::None(rng.below(STAGES)),
        3 => Condition::Some(rng.below(STAGES)),
        4 if requested[any] => Condition::Asked(any),
        _ if requested[any] => Condition::NotAsked(any),
        _ => Condition::State(0),
    });
    // Every row that no request opens is bounded, so that all runs end.
    let at_most = (!by_request || rng.below(4) == 0).then(|| 1 + u32::from(rng.below(4) == 0));
    let mut body = Vec::new();
    if when == Some(Condition::State(0)) && rng.coin() {
        body.extend([Command::State(1), Command::Again]);
    }
    for _ in 0..rng.below(3) {
        body.push(match rng.below(8) {
            0..=2 => Command::Mark(1 + i64::from(rng.below(3))),
            3 => Command::Skip,
            4 => Command::Stage(rng.below(STAGES)),
            5 => Command::Field(i64::from(rng.below(2))),
            // A row asks only for later ones, so that it cannot ask forever.
            6 if requested.get(index + 1) == Some(&true) => Command::Ask(index + 1),
            _ => Command::Field(1),
        });
    }
    RowModel { from, to, by_request, when, at_most, body }
}

fn thread(rng: &mut Rng, first: bool, single: bool, requested: &[bool]) -> Vec<Command> {
    let asked: Vec<usize> = (0..requested.len()).filter(|i| requested[*i]).collect();
    let mut commands = Vec::new();
    if !single {
        commands.push(Command::Make);
    }
    let mut has_request = false;
    for _ in 0..(if first { 1 + rng.below(3) } else { 1 }) {
        let ask = !asked.is_empty() && rng.coin();
        commands.push(match rng.below(6) {
            _ if ask => {
                has_request = true;
                Command::Ask(asked[rng.below(asked.len() as u32) as usize])
            }
            0 if has_request => Command::Withdraw,
            1 => Command::Stage(rng.below(STAGES)),
            2 => Command::Field(i64::from(rng.below(2))),
            3 if first && !single => Command::Make,
            4 => Command::State(1),
            _ => Command::Mark(1 + i64::from(rng.below(3))),
        });
    }
    commands
}

impl ComponentModel {
    /// Returns the model in the language.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("var x = 0\nlooper main\nstate g = 0\nkind k {\n");
        if let Some(until) = self.single {
            text += "    single";
            until.iter().for_each(|stage| write!(text, " until s{stage}").unwrap());
            text += "\n";
        }
        text += "    callback c1, c2, c3, pause\n    stage s0, s1, s2\n    state f = 0\n";
        if self.single.is_none() {
            text += "    verb produce makes { }\n";
        }
        (0..self.rows.len()).filter(|i| self.rows[*i].by_request).for_each(|i| {
            writeln!(text, "    verb want{i} {{ ask r{i}() }}").unwrap();
        });
        for i in 0..STAGES {
            writeln!(text, "    verb turn{i} {{ stage = s{i} }}").unwrap();
        }
        text += "    verb give_up(r: request) { withdraw r }\n    verb field0 { f = 0 }\n    verb field1 { f = 1 }\n";
        text += "    verb state1 { g = 1 }\n";
        for (i, row) in self.rows.iter().enumerate() {
            let from: Vec<String> = row.from.iter().map(|s| format!("s{s}")).collect();
            let stages = match row.to {
                Some(to) => format!("{} -> s{to}", from.join(" | ")),
                None => format!("during {}", from.join(" | ")),
            };
            let by = if row.by_request { " by request" } else { "" };
            let when = row.when.map_or(String::new(), |when| format!(" when {}", condition(when)));
            let most = row.at_most.map_or(String::new(), |most| format!(" at most {most}"));
            let body: Vec<String> = row.body.iter().map(in_row).collect();
            writeln!(text, "    r{i}: {stages}{by}{when}{most} {{ {} }}", body.join("; ")).unwrap();
        }
        text += "}\nk P on main {\n";
        for i in 1..4 {
            writeln!(text, "    on c{i} {{ x = x * 4 + {i} }}").unwrap();
        }
        text += "    on pause { skip }\n}\n";
        for (i, commands) in self.threads.iter().enumerate() {
            let (mut made, mut asked) = (false, false);
            let of = if self.single.is_some() { "P" } else { "p" };
            let lines: Vec<String> = commands
                .iter()
                .map(|command| match command {
                    Command::Mark(n) => format!("x = x * 4 + {n}"),
                    Command::Skip => "skip".to_owned(),
                    Command::Make if std::mem::replace(&mut made, true) => "p = produce P".to_owned(),
                    Command::Make => "let p = produce P".to_owned(),
                    Command::Ask(row) if std::mem::replace(&mut asked, true) => format!("r = want{row} {of}"),
                    Command::Ask(row) => format!("let r = want{row} {of}"),
                    Command::Withdraw => format!("give_up {of}(r)"),
                    Command::Stage(stage) => format!("turn{stage} {of}"),
                    Command::Field(value) => format!("field{value} {of}"),
                    Command::State(_) => format!("state1 {of}"),
                    Command::Again => unreachable!("threads make no instance again"),
                })
                .collect();
            writeln!(text, "thread t{i} {{ {} }}", lines.join("; ")).unwrap();
        }
        text
    }
}

fn condition(when: Condition) -> String {
    match when {
        Condition::Field(value) => format!("f == {value}"),
        Condition::State(value) => format!("g == {value}"),
        Condition::None(stage) => format!("none s{stage}"),
        Condition::Some(stage) => format!("some s{stage}"),
        Condition::Asked(row) => format!("asked r{row}"),
        Condition::NotAsked(row) => format!("!asked r{row}"),
    }
}

fn in_row(command: &Command) -> String {
    match command {
        Command::Mark(n) => format!("c{n}()"),
        Command::Skip => "pause()".to_owned(),
        Command::Ask(row) => format!("ask r{row}()"),
        Command::Stage(stage) => format!("stage = s{stage}"),
        Command::Field(value) => format!("f = {value}"),
        Command::State(value) => format!("g = {value}"),
        Command::Again => "let next = again(this)".to_owned(),
        Command::Make | Command::Withdraw => unreachable!("no row does that"),
    }
}
