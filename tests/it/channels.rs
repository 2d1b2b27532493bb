//! Tests of channels and `select`: the exhaustive search against the enumeration of all runs, and the meaning of a
//! model against a direct transcription of Go's runtime.

use crate::channel_models;
use crate::explore::search;
use crate::trust::compare_models;
use raceflip::base::Rng;
use raceflip::explore::SearchPlan;
use raceflip::vm::Model;
use std::collections::{BTreeSet, VecDeque};

/// The search has the same ends, pairs and orders as the enumeration of all runs, with one worker and with two.
#[test]
fn searches_find_what_all_runs_come_to() {
    let all = compare_models(("channels", channel_models::model), 0..1_200, 3_000);
    assert!(all.models > 600, "{all:?}");
}

#[test]
#[ignore = "takes minutes"]
fn searches_find_what_all_runs_of_many_models_come_to() {
    compare_models(("channels", channel_models::model), 0..8_000, 30_000);
}

/// An operation of a thread of the reference. Channels are numbers.
#[derive(Clone, Debug)]
enum Deed {
    Send(usize, i64),
    Receive(usize),
    Close(usize),
    /// Cases (channel, value of a send), and whether there is an `else`.
    Select(Vec<(usize, Option<i64>)>, bool),
}

/// Sizes of the buffers of the channels `c0`, `c1` and `c2`.
const SIZES: [usize; 3] = [0, 1, 0];

/// A waiting thread, in the list of a channel: thread, case, value of a send.
type Waiting = (usize, usize, i64);

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct GoChannel {
    buffer: VecDeque<i64>,
    closed: bool,
    senders: VecDeque<Waiting>,
    receivers: VecDeque<Waiting>,
}

/// A state of the reference: Go's runtime (`chan.go`, `select.go`), in which every operation that cannot complete
/// enqueues its thread, whatever the channel, and every completion hands over directly.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct GoState {
    channels: [GoChannel; 3],
    at: Vec<usize>,
    parked: Vec<bool>,
    // What each thread has seen so far.
    seen: Vec<Vec<i64>>,
    panicked: bool,
}

const CLOSED: i64 = 0;
const ELSE: i64 = 1000;

impl GoState {
    fn wake(&mut self, thread: usize, seen: i64) {
        self.channels.iter_mut().for_each(|c| {
            c.senders.retain(|w| w.0 != thread);
            c.receivers.retain(|w| w.0 != thread);
        });
        self.seen[thread].push(seen);
        self.parked[thread] = false;
        self.at[thread] += 1;
    }

    // Tries one case. Returns what the thread sees if it completes.
    fn attempt(&mut self, (channel, sends): (usize, Option<i64>), case: usize) -> Option<i64> {
        let c = &mut self.channels[channel];
        let tag = 100 * case as i64;
        match sends {
            Some(_) if c.closed => self.panicked = true,
            Some(value) => {
                if let Some((receiver, its_case, _)) = c.receivers.front().copied() {
                    self.wake(receiver, 100 * its_case as i64 + value);
                } else if c.buffer.len() < SIZES[channel] {
                    c.buffer.push_back(value);
                } else {
                    return None;
                }
            }
            None => {
                let value = c.buffer.pop_front();
                if let Some((sender, its_case, sent)) = c.senders.front().copied() {
                    if value.is_some() {
                        c.buffer.push_back(sent);
                    }
                    self.wake(sender, 100 * its_case as i64);
                    return Some(tag + value.unwrap_or(sent));
                }
                return match value {
                    Some(value) => Some(tag + value),
                    None => self.channels[channel].closed.then_some(tag + CLOSED),
                };
            }
        }
        Some(tag)
    }

    fn step(&self, program: &[Vec<Deed>], thread: usize) -> Vec<GoState> {
        let mut next = self.clone();
        let cases = match &program[thread][self.at[thread]] {
            Deed::Send(c, value) => vec![(*c, Some(*value))],
            Deed::Receive(c) => vec![(*c, None)],
            Deed::Select(cases, _) => cases.clone(),
            Deed::Close(c) => {
                if next.channels[*c].closed {
                    next.panicked = true;
                    return vec![next];
                }
                next.channels[*c].closed = true;
                while let Some((receiver, case, _)) = next.channels[*c].receivers.front().copied() {
                    next.wake(receiver, 100 * case as i64 + CLOSED);
                }
                next.panicked = !next.channels[*c].senders.is_empty();
                next.wake(thread, 0);
                return vec![next];
            }
        };
        let mut all = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            let mut tried = self.clone();
            if let Some(seen) = tried.attempt(*case, i) {
                if !tried.panicked {
                    tried.wake(thread, seen);
                }
                all.push(tried);
            }
        }
        if !all.is_empty() {
            return all;
        }
        if let Deed::Select(_, true) = program[thread][self.at[thread]] {
            next.wake(thread, ELSE);
            return vec![next];
        }
        for (i, (channel, sends)) in cases.iter().enumerate() {
            let c = &mut next.channels[*channel];
            let list = if sends.is_some() { &mut c.senders } else { &mut c.receivers };
            list.push_back((thread, i, sends.unwrap_or(0)));
        }
        next.parked[thread] = true;
        vec![next]
    }
}

/// Returns all ends of a program by the reference: how it ended, and what each thread has seen. What is seen of a run
/// that panicked is left out, since it depends on which step is the panic.
fn go_ends(program: &[Vec<Deed>]) -> BTreeSet<String> {
    let threads = program.len();
    let first = GoState {
        at: vec![0; threads],
        parked: vec![false; threads],
        seen: vec![Vec::new(); threads],
        ..GoState::default()
    };
    let (mut seen, mut open, mut ends) = (BTreeSet::new(), vec![first], BTreeSet::new());
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        if state.panicked {
            ends.insert("panic".to_owned());
            continue;
        }
        let ready: Vec<usize> =
            (0..threads).filter(|t| state.at[*t] < program[*t].len() && !state.parked[*t]).collect();
        if ready.is_empty() {
            let done = (0..threads).all(|t| state.at[t] == program[t].len());
            let seen: Vec<String> = state.seen.iter().map(|seen| format!("{seen:?}")).collect();
            ends.insert(format!("{} {}", if done { "ok" } else { "deadlock" }, seen.join(" ")));
        }
        open.extend(ready.into_iter().flat_map(|thread| state.step(program, thread)));
    }
    ends
}

/// Returns a program as a model: each thread keeps what it sees in a list of its own. The threads whose bits in `jobs` are
/// set are async tasks, each on a looper of its own.
fn text(program: &[Vec<Deed>], jobs: usize) -> String {
    let mut text = String::new();
    for (i, size) in SIZES.iter().enumerate() {
        text += &format!("channel c{i}: int[{size}]\n");
    }
    for (t, deeds) in program.iter().enumerate() {
        let is_job = jobs >> t & 1 == 1;
        let head = if is_job { format!("looper l{t}\nasync task t{t}()") } else { format!("thread t{t}") };
        text += &format!("var seen{t}: list[int]\n{head} {{\n");
        for deed in deeds {
            text += &match deed {
                Deed::Send(c, value) => format!("    send c{c} {value}; seen{t}.push(0)\n"),
                Deed::Receive(c) => format!("    seen{t}.push(recv c{c})\n"),
                Deed::Close(c) => format!("    close c{c}; seen{t}.push(0)\n"),
                Deed::Select(cases, otherwise) => {
                    let mut select = "    select {".to_owned();
                    for (i, (c, sends)) in cases.iter().enumerate() {
                        let tag = 100 * i;
                        select += &match sends {
                            Some(value) => format!(" send c{c} {value} {{ seen{t}.push({tag}) }};"),
                            None => format!(" recv c{c} as v {{ seen{t}.push({tag} + v) }};"),
                        };
                    }
                    let last =
                        if *otherwise { format!(" else {{ seen{t}.push({ELSE}) }} }}\n") } else { " }\n".into() };
                    select + &last
                }
            };
        }
        text += "}\n";
        if is_job {
            text += &format!("thread start{t} {{ launch t{t}() on l{t} }}\n");
        }
    }
    text
}

/// Returns all ends of the model of a program by exhaustive search, in the words of the reference.
fn model_ends(program: &[Vec<Deed>], jobs: usize) -> BTreeSet<String> {
    let text = text(program, jobs);
    let model = Model::from_text("go.race", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let observe = crate::enumerate::words(&model.program);
    let found = search(&SearchPlan { observe, ..SearchPlan::new(&model) });
    assert!(found.complete(), "{text}");
    let end = |end: String| if end.contains("Closed") { "panic".to_owned() } else { end };
    found.ends.keys().map(|e| end(e.ended.text())).collect()
}

fn program(rng: &mut Rng) -> Vec<Vec<Deed>> {
    let threads = 2 + rng.below(2) as usize;
    let mut value = 0;
    let channel = |rng: &mut Rng| rng.below(3) as usize;
    (0..threads)
        .map(|_| {
            (0..1 + rng.below(if threads == 2 { 4 } else { 3 }))
                .map(|_| {
                    value += 1;
                    let c = channel(rng);
                    match rng.below(9) {
                        0..=2 => Deed::Send(c, value),
                        3 | 4 => Deed::Receive(c),
                        5 if rng.coin() => Deed::Close(c),
                        _ => {
                            let cases = (0..1 + rng.below(3))
                                .map(|i| (channel(rng), rng.coin().then_some(10 * value + i64::from(i))))
                                .collect();
                            Deed::Select(cases, rng.coin())
                        }
                    }
                })
                .collect()
        })
        .collect()
}

/// A model means what the same program means in Go.
#[test]
fn channels_mean_what_they_mean_in_go() {
    let mut rng = Rng::seeded(20_260);
    let mut panics = 0;
    for number in 0..700 {
        let program = program(&mut rng);
        let go = go_ends(&program);
        panics += u32::from(go.contains("panic"));
        assert_eq!(model_ends(&program, 0), go, "program {number}: {program:?}\n{}", text(&program, 0));
    }
    assert!(panics > 50, "only {panics} programs panic");
}

/// Async tasks at channels mean what goroutines mean, alone and beside threads.
#[test]
fn channels_of_async_tasks_mean_what_they_mean_in_go() {
    let mut rng = Rng::seeded(20_261);
    for number in 0..250 {
        let program = program(&mut rng);
        let jobs = 1 + rng.below((1 << program.len()) - 1) as usize;
        let go = go_ends(&program);
        assert_eq!(model_ends(&program, jobs), go, "program {number}: {program:?}\n{}", text(&program, jobs));
    }
}
