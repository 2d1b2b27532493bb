//! Small models with one kind of components, generated, and a second interpretation of them that shares nothing with
//! the machine: it has its own threads, queue, instances, rows and requests, and knows only these models.
//!
//! A model has a looper, up to two threads with a few commands each, and a kind with three stages, one state field and
//! up to four rows. `x` says in which order the commands were performed.

use crate::agree::search;
use crate::stateless::words;
use raceflip::base::Rng;
use raceflip::event::EndValue;
use raceflip::explore::SearchPlan;
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};
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
    from: Vec<u32>,
    to: Option<u32>,
    by_request: bool,
    when: Option<Condition>,
    at_most: Option<u32>,
    body: Vec<Command>,
}

/// A model.
#[derive(Clone, Debug)]
pub(crate) struct ComponentModel {
    rows: Vec<RowModel>,
    threads: Vec<Vec<Command>>,
    /// Whether there is one instance at a time, and the stage after which another one is made.
    single: Option<Option<u32>>,
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
    // Every row that nobody asks for is bounded, so that all runs end.
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
            // A row asks only for later ones, so that it cannot ask for ever.
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
        text += "    verb give_up(r) { withdraw r }\n    verb field0 { f = 0 }\n    verb field1 { f = 1 }\n";
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

/// How a run ends: whether it threw, and the value of `x`.
pub(crate) type ComponentEnd = (bool, i64);

/// Compares the ends of a search, and the fewest steps to each, with these. Returns the first difference in words.
pub(crate) fn compare_ends(model: &Model, ends: &BTreeMap<ComponentEnd, u64>) -> Result<(), String> {
    for reduce in [false, true] {
        let plan = SearchPlan { reduce, observe: words(&model.program), ..SearchPlan::new(model) };
        let found = search(&plan);
        if !found.complete() {
            return Err(format!("cut by {:?}", found.cut));
        }
        let mut there = BTreeMap::new();
        for (end, way) in &found.ends {
            let word = end.ended.kind.word();
            let Some(EndValue::Word(x)) = end.ended.values.values().next() else { return Err("no value".to_owned()) };
            let fewest: &mut u64 = there.entry((word != "ok", *x)).or_insert(way.steps);
            *fewest = way.steps.min(*fewest);
            if !["ok", "IllegalArgument"].contains(&word.as_str()) {
                return Err(format!("it ends with {word}"));
            }
        }
        // The ways of a reduced search are not shortest ways.
        let same = if reduce { there.keys().eq(ends.keys()) } else { there == *ends };
        if !same {
            return Err(format!("reduced {reduce}: the search finds {there:?}\nthe interpreter {ends:?}"));
        }
    }
    Ok(())
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    x: i64,
    g: i64,
    threads: Vec<Runner>,
    looper: Runner,
    running: Option<Firing>,
    queue: Vec<Firing>,
    instances: Vec<OneInstance>,
    requests: Vec<OneRequest>,
    failed: bool,
}

/// Something that performs commands, from the next one on.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Runner {
    next: usize,
    /// The value that a mark has read and not written yet.
    half: Option<i64>,
    instance: usize,
    request: usize,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Firing {
    row: usize,
    instance: usize,
    request: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OneInstance {
    stage: u32,
    /// The stage that a row under way leads to.
    leads_to: Option<u32>,
    field: i64,
    fired: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OneRequest {
    row: usize,
    instance: usize,
    fired: bool,
    begun: bool,
    withdrawn: bool,
}

impl ComponentModel {
    /// Returns all ends, each with the fewest steps to it. `None` if there are more than `most` states.
    pub(crate) fn ends(&self, most: usize) -> Option<BTreeMap<ComponentEnd, u64>> {
        let first = State { threads: vec![Runner::default(); self.threads.len()], ..State::default() };
        let (mut seen, mut level) = (BTreeSet::from([first.clone()]), vec![first]);
        let mut ends = BTreeMap::new();
        let mut steps = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for state in &level {
                if state.failed || self.rests(state) {
                    ends.entry((state.failed, state.x)).or_insert(steps);
                }
                if !state.failed {
                    next.extend(self.successors(state).into_iter().filter(|after| seen.insert(after.clone())));
                }
            }
            if seen.len() > most {
                return None;
            }
            level = next;
            steps += 1;
        }
        Some(ends)
    }

    fn rests(&self, state: &State) -> bool {
        let ended = |(i, runner): (usize, &Runner)| runner.next == self.threads[i].len();
        state.threads.iter().enumerate().all(ended) && state.running.is_none() && state.queue.is_empty()
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for i in 0..self.threads.len() {
            if state.threads[i].next < self.threads[i].len() {
                let mut after = state.clone();
                self.step_of_thread(&mut after, i);
                all.push(after);
            }
        }
        if state.running.is_some() || !state.queue.is_empty() {
            let mut after = state.clone();
            self.step_of_looper(&mut after);
            all.push(after);
        }
        for row in 0..self.rows.len() {
            for instance in (0..state.instances.len()).filter(|i| self.is_open(state, row, *i)) {
                let mut after = state.clone();
                self.fire(&mut after, row, instance);
                all.push(after);
            }
        }
        all
    }

    fn step_of_thread(&self, state: &mut State, i: usize) {
        let command = self.threads[i][state.threads[i].next].clone();
        let mut runner = state.threads[i].clone();
        if let Command::Mark(n) = command {
            mark(state, &mut runner, n);
        } else {
            if self.single.is_some() && command != Command::Skip {
                runner.instance = self.single_instance(state);
            }
            self.perform(state, &mut runner, &command);
            runner.next += 1;
        }
        state.threads[i] = runner;
    }

    fn step_of_looper(&self, state: &mut State) {
        let mut runner = state.looper.clone();
        if state.running.is_none() {
            let firing = state.queue.remove(0);
            runner = Runner { instance: firing.instance, ..Runner::default() };
            let withdrawn = firing.request.is_some_and(|r| state.requests[r].withdrawn);
            if let Some(request) = firing.request {
                state.requests[request].begun = true;
            }
            state.running = Some(firing);
            if withdrawn {
                return self.end(state, false);
            }
        } else {
            let row = state.running.as_ref().unwrap().row;
            match self.rows[row].body[runner.next] {
                Command::Mark(n) => mark(state, &mut runner, n),
                _ => runner.next += 1,
            }
        }
        // Everything up to the next step belongs to this one.
        let body = &self.rows[state.running.as_ref().unwrap().row].body;
        while runner.half.is_none() && runner.next < body.len() {
            match &body[runner.next] {
                Command::Mark(_) | Command::Skip => break,
                command => self.perform(state, &mut runner, command),
            }
            runner.next += 1;
        }
        let is_over = runner.next == body.len();
        state.looper = runner;
        if is_over {
            self.end(state, true);
        }
    }

    fn end(&self, state: &mut State, done: bool) {
        let firing = state.running.take().unwrap();
        state.looper = Runner::default();
        if self.rows[firing.row].to.is_some() {
            let instance = &mut state.instances[firing.instance];
            let stage = instance.leads_to.take().unwrap();
            if done {
                instance.stage = stage;
            }
        }
    }

    fn perform(&self, state: &mut State, runner: &mut Runner, command: &Command) {
        let of = runner.instance;
        match *command {
            Command::Mark(_) | Command::Skip => {}
            Command::Make => runner.instance = self.make(state),
            Command::Again => _ = self.make(state),
            Command::Ask(row) => {
                runner.request = state.requests.len();
                let request = OneRequest { row, instance: of, fired: false, begun: false, withdrawn: false };
                state.requests.push(request);
            }
            Command::Withdraw => {
                let request = &mut state.requests[runner.request];
                state.failed |= request.withdrawn;
                request.withdrawn = true;
            }
            Command::Stage(stage) => match &mut state.instances[of] {
                OneInstance { leads_to: Some(to), .. } => *to = stage,
                instance => instance.stage = stage,
            },
            Command::Field(value) => state.instances[of].field = value,
            Command::State(value) => state.g = value,
        }
    }

    fn make(&self, state: &mut State) -> usize {
        let fired = vec![0; self.rows.len()];
        state.instances.push(OneInstance { stage: 0, leads_to: None, field: 0, fired });
        state.instances.len() - 1
    }

    fn single_instance(&self, state: &mut State) -> usize {
        let over = |i: &OneInstance| self.single.flatten().is_some_and(|s| i.stage == s || i.leads_to == Some(s));
        match state.instances.last() {
            Some(last) if !over(last) => state.instances.len() - 1,
            _ => self.make(state),
        }
    }

    fn is_open(&self, state: &State, index: usize, of: usize) -> bool {
        let (row, instance) = (&self.rows[index], &state.instances[of]);
        let under_way = |i: usize| {
            let is = |firing: &Firing| firing.row == i && firing.instance == of;
            state.queue.iter().chain(&state.running).any(is)
        };
        let changes = (0..self.rows.len()).any(|i| self.rows[i].to.is_some() && under_way(i));
        row.from.contains(&instance.stage)
            && !changes
            && row.at_most.is_none_or(|most| instance.fired[index] < most)
            && row.when.is_none_or(|when| holds(state, of, when))
            && (!row.by_request || is_asked(state, of, index))
            && (row.to.is_some() || row.by_request || !under_way(index))
    }

    fn fire(&self, state: &mut State, row: usize, of: usize) {
        let waits = |r: &OneRequest| waits(r, of, row);
        let request = if self.rows[row].by_request { state.requests.iter().position(waits) } else { None };
        if let Some(request) = request {
            state.requests[request].fired = true;
        }
        let instance = &mut state.instances[of];
        instance.fired[row] += 1;
        if self.rows[row].to.is_some() {
            instance.leads_to = self.rows[row].to;
        }
        state.queue.push(Firing { row, instance: of, request });
    }
}

fn mark(state: &mut State, runner: &mut Runner, n: i64) {
    match runner.half.take() {
        None => runner.half = Some(state.x),
        Some(read) => {
            state.x = read * 4 + n;
            runner.next += 1;
        }
    }
}

fn waits(request: &OneRequest, of: usize, row: usize) -> bool {
    request.row == row && request.instance == of && !request.fired && !request.withdrawn
}

fn is_asked(state: &State, of: usize, row: usize) -> bool {
    state.requests.iter().any(|request| waits(request, of, row))
}

fn holds(state: &State, of: usize, when: Condition) -> bool {
    let in_stage = |stage| {
        let others = state.instances.iter().enumerate().filter(|(i, _)| *i != of);
        others.into_iter().any(|(_, i)| i.stage == stage || i.leads_to == Some(stage))
    };
    match when {
        Condition::Field(value) => state.instances[of].field == value,
        Condition::State(value) => state.g == value,
        Condition::None(stage) => !in_stage(stage),
        Condition::Some(stage) => in_stage(stage),
        Condition::Asked(row) => is_asked(state, of, row),
        Condition::NotAsked(row) => !is_asked(state, of, row),
    }
}
