//! Small models with one kind of components, generated, as data and in the language.
//!
//! A model has a looper, up to two threads with a few commands each, and a kind with three stages, one state field and
//! up to four rows, of which those by request have a parameter. Some have an event of the component, and some a second
//! kind that follows the first one: its components are made in an instance. `x` says in which order the commands were
//! performed.

use raceflip::base::Rng;
use std::fmt::Write;

/// A command of a thread or of the body of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Command {
    /// `x = x * 4 + n`: two steps. In a row it is a callback, which followers follow.
    Mark(i64),
    /// The same with the argument of the request. Only in rows by request.
    Heard,
    /// One step. In a row of a model with followers it makes a follower in the instance.
    Skip,
    /// Makes an instance, which the thread then has.
    Make,
    /// Asks for a row, with this argument. A thread has the request then.
    Ask(usize, i64),
    /// Asks all instances for a row, with this argument. Only in threads.
    AskAll(usize, i64),
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
    /// Whether this is an event of the component.
    pub(crate) is_event: bool,
}

/// A model.
#[derive(Clone, Debug)]
pub(crate) struct ComponentModel {
    pub(crate) rows: Vec<RowModel>,
    pub(crate) threads: Vec<Vec<Command>>,
    /// Whether there is one instance at a time, and the stage after which another one is made.
    pub(crate) single: Option<Option<u32>>,
    /// Whether there are followers. A follower marks 3 after callback 1 of its host, and 1 before callback 2.
    pub(crate) follows: bool,
}

const STAGES: u32 = 3;

/// Returns the model of a seed.
pub(crate) fn generate(seed: u64) -> ComponentModel {
    let mut rng = Rng::seeded(seed);
    let n = 2 + rng.below(3) as usize;
    let requested: Vec<bool> = (0..n).map(|_| rng.below(3) == 0).collect();
    let mut rows: Vec<RowModel> = (0..n).map(|i| row(&mut rng, i, &requested)).collect();
    if rng.below(3) == 0 {
        let from = if rng.coin() { vec![0, 1] } else { vec![rng.below(STAGES)] };
        let (at_most, body) = (Some(1 + rng.below(2)), vec![Command::Mark(3)]);
        rows.push(RowModel { from, to: None, by_request: false, when: None, at_most, body, is_event: true });
    }
    let follows = rng.below(3) == 0;
    let single = (rng.below(4) == 0).then(|| rng.coin().then(|| rng.below(STAGES)));
    let threads = (0..1 + rng.below(2)).map(|i| thread(&mut rng, i == 0, single.is_some(), &requested)).collect();
    ComponentModel { rows, threads, single, follows }
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
            0 if by_request => Command::Heard,
            0..=2 => Command::Mark(1 + i64::from(rng.below(3))),
            3 => Command::Skip,
            4 => Command::Stage(rng.below(STAGES)),
            5 => Command::Field(i64::from(rng.below(2))),
            // A row asks only for later ones, so that it cannot ask forever.
            6 if requested.get(index + 1) == Some(&true) => Command::Ask(index + 1, 2),
            _ => Command::Field(1),
        });
    }
    RowModel { from, to, by_request, when, at_most, body, is_event: false }
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
                let (row, argument) = (asked[rng.below(asked.len() as u32) as usize], 1 + i64::from(rng.below(3)));
                if !single && rng.below(3) == 0 {
                    Command::AskAll(row, argument)
                } else {
                    has_request = true;
                    Command::Ask(row, argument)
                }
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
        text += "    callback c1, c2, c3, pause, heard(n)\n    stage s0, s1, s2\n    state f = 0\n";
        if let Some(event) = self.rows.iter().find(|row| row.is_event) {
            writeln!(text, "    events during {}", stages(&event.from)).unwrap();
        }
        if self.single.is_none() {
            text += "    verb produce makes { }\n";
        }
        (0..self.rows.len()).filter(|i| self.rows[*i].by_request).for_each(|i| {
            writeln!(text, "    verb want{i}(n) {{ ask r{i}(n) }}\n    verb all{i}(n) all {{ ask r{i}(n) }}").unwrap();
        });
        for i in 0..STAGES {
            writeln!(text, "    verb turn{i} {{ stage = s{i} }}").unwrap();
        }
        text += "    verb give_up(r: request) { withdraw r }\n    verb field0 { f = 0 }\n    verb field1 { f = 1 }\n";
        text += "    verb state1 { g = 1 }\n";
        for (i, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.is_event) {
            let from = stages(&row.from);
            let stages = row.to.map_or(format!("during {from}"), |to| format!("{from} -> s{to}"));
            let (parameter, by) = if row.by_request { ("(n)", " by request") } else { ("", "") };
            let when = row.when.map_or(String::new(), |when| format!(" when {}", condition(when)));
            let most = row.at_most.map_or(String::new(), |most| format!(" at most {most}"));
            let body: Vec<String> = row.body.iter().map(in_row).collect();
            writeln!(text, "    r{i}{parameter}: {stages}{by}{when}{most} {{ {} }}", body.join("; ")).unwrap();
        }
        text += "}\nk P on main {\n    on heard(n) { x = x * 4 + n }\n";
        for i in 1..4 {
            writeln!(text, "    on c{i} {{ x = x * 4 + {i} }}").unwrap();
        }
        for most in self.rows.iter().filter(|row| row.is_event).filter_map(|row| row.at_most) {
            writeln!(text, "    event tap at most {most} {{ x = x * 4 + 3 }}").unwrap();
        }
        writeln!(text, "    on pause {{ {} }}\n}}", if self.follows { "add Q" } else { "skip" }).unwrap();
        if self.follows {
            text += "kind pane {\n    callback c1, c2\n    stage there\n    follows k: c1 -> c1, before c2 -> c2\n    \
                     verb add makes { }\n}\npane Q in P {\n    on c1 { x = x * 4 + 3 }\n    on c2 { x = x * 4 + 1 }\n}\n";
        }
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
                    Command::Ask(row, n) if std::mem::replace(&mut asked, true) => format!("r = want{row} {of}({n})"),
                    Command::Ask(row, n) => format!("let r = want{row} {of}({n})"),
                    Command::AskAll(row, n) => format!("all{row} P({n})"),
                    Command::Withdraw => format!("give_up {of}(r)"),
                    Command::Stage(stage) => format!("turn{stage} {of}"),
                    Command::Field(value) => format!("field{value} {of}"),
                    Command::State(_) => format!("state1 {of}"),
                    Command::Again | Command::Heard => unreachable!("no thread does that"),
                })
                .collect();
            writeln!(text, "thread t{i} {{ {} }}", lines.join("; ")).unwrap();
        }
        text
    }
}

fn stages(all: &[u32]) -> String {
    all.iter().map(|s| format!("s{s}")).collect::<Vec<_>>().join(" | ")
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
        Command::Heard => "heard(n)".to_owned(),
        Command::Ask(row, n) => format!("ask r{row}({n})"),
        Command::Stage(stage) => format!("stage = s{stage}"),
        Command::Field(value) => format!("f = {value}"),
        Command::State(value) => format!("g = {value}"),
        Command::Again => "let next = again(this)".to_owned(),
        Command::Make | Command::AskAll(..) | Command::Withdraw => unreachable!("no row does that"),
    }
}
