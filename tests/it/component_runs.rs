//! A second interpretation of the models of `component_models`. It shares nothing with the machine: it has its own
//! threads, queue, instances, rows and requests, and knows only these models.

use crate::agree::search;
use crate::component_models::{Command, ComponentModel, Condition};
use crate::stateless::words;
use raceflip::event::EndValue;
use raceflip::explore::SearchPlan;
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Hosts of the followers, in the order in which these were made.
    hosts: Vec<usize>,
    failed: bool,
}

/// Something that performs commands, from the next one on.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Runner {
    next: usize,
    /// The value that a mark has read and not written yet.
    half: Option<i64>,
    /// Number of marks that the command has made: that of the host, and those of followers.
    marks: usize,
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
    argument: i64,
    fired: bool,
    begun: bool,
    withdrawn: bool,
}

impl OneRequest {
    fn new(row: usize, instance: usize, argument: i64) -> Self {
        Self { row, instance, argument, fired: false, begun: false, withdrawn: false }
    }
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
            mark(state, &mut runner, &[n]);
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
                Command::Mark(n) => mark(state, &mut runner, &self.marks(state, n)),
                Command::Heard => {
                    let request = state.running.as_ref().and_then(|firing| firing.request).unwrap();
                    mark(state, &mut runner, &[state.requests[request].argument]);
                }
                _ => {
                    runner.next += 1;
                    state.hosts.extend(self.follows.then_some(runner.instance));
                }
            }
        }
        // Everything up to the next step belongs to this one.
        let body = &self.rows[state.running.as_ref().unwrap().row].body;
        while runner.half.is_none() && runner.marks == 0 && runner.next < body.len() {
            match &body[runner.next] {
                Command::Mark(_) | Command::Heard | Command::Skip => break,
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

    // The marks of a callback of the running instance and of its followers, in order.
    fn marks(&self, state: &State, n: i64) -> Vec<i64> {
        let of = state.running.as_ref().unwrap().instance;
        let followers = state.hosts.iter().filter(|host| **host == of).count();
        match n {
            1 => [vec![1], vec![3; followers]].concat(),
            2 => [vec![1; followers], vec![2]].concat(),
            _ => vec![n],
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
            Command::Mark(_) | Command::Heard | Command::Skip => {}
            Command::Make => runner.instance = self.make(state),
            Command::Again => _ = self.make(state),
            Command::Ask(row, argument) => {
                runner.request = state.requests.len();
                state.requests.push(OneRequest::new(row, of, argument));
            }
            Command::AskAll(row, argument) => {
                let all = 0..state.instances.len();
                state.requests.extend(all.map(|instance| OneRequest::new(row, instance, argument)));
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

// Performs the next step of a command with these marks.
fn mark(state: &mut State, runner: &mut Runner, marks: &[i64]) {
    match runner.half.take() {
        None => runner.half = Some(state.x),
        Some(read) => {
            state.x = read * 4 + marks[runner.marks];
            runner.marks = (runner.marks + 1) % marks.len();
            runner.next += usize::from(runner.marks == 0);
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
