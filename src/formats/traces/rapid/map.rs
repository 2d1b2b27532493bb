//! The names and the numbers of statements that a written file has, and what they stand for.

use super::grammar::is_statement;
use crate::base::{Id, clean};
use crate::formats::traces::write::distinct;
use crate::trace::{ChannelNo, EventNo, LockNo, Operation, SiteNo, ThreadNo, Trace};
use indexmap::IndexMap;
use std::fmt::Write as _;
use xxhash_rust::xxh3::Xxh3Builder;

/// Names of one kind, as the trace has them and as the file has them.
pub(super) struct Names {
    what: &'static str,
    before: Vec<String>,
    after: Vec<String>,
    // Whether the file has the name.
    used: Vec<bool>,
}

impl Names {
    /// Makes names that STD can have, each one different from the others. Names that are so already stay as they are.
    pub(super) fn new(what: &'static str, before: Vec<String>) -> Self {
        let fitting: Vec<String> = before.iter().map(|name| fit(name)).collect();
        let after = distinct(fitting.iter().map(String::as_str));
        let used = vec![false; before.len()];
        Self { what, before, after, used }
    }

    /// Returns a name for the file.
    pub(super) fn get(&mut self, i: usize) -> &str {
        self.used[i] = true;
        &self.after[i]
    }

    // Returns the names that have changed: those in the file, and those before.
    fn changed(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.after.iter().zip(&self.before).zip(&self.used);
        all.filter(|((a, b), used)| **used && a != b).map(|((a, b), _)| (a.as_str(), b.as_str()))
    }

    /// Number of names that have changed.
    pub(super) fn changes(&self) -> usize {
        self.changed().count()
    }

    /// Adds a line for each name that has changed.
    pub(super) fn tell(&self, map: &mut String) {
        for (name, before) in self.changed() {
            // Writing to a string does not fail.
            let _ = writeln!(map, "{}\t{name}\t{}", self.what, clean(before));
        }
    }
}

// Replaces what STD does not allow in a name. The reader takes all else, also control characters that are no blanks.
fn fit(name: &str) -> String {
    let fits = |c: char| !(c == '|' || c.is_whitespace());
    if name.is_empty() { "_".to_owned() } else { name.chars().map(|c| if fits(c) { c } else { '_' }).collect() }
}

// A statement of an operation: its site, or else the line that the operation was read from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Statement {
    Site(SiteNo),
    Line(u32),
}

/// The numbers of statements.
///
/// A statement that is a number already keeps it, as in a trace that was read from STD. Others get the numbers behind
/// the largest of these, in the order of the trace.
pub(super) struct Statements<'t> {
    trace: &'t Trace,
    numbers: IndexMap<Statement, i64, Xxh3Builder>,
    next: i64,
}

impl<'t> Statements<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        let largest = trace.sites.iter().filter_map(|site| site.parse::<i64>().ok()).max();
        let next = largest.map_or(1, |n| n.saturating_add(1).max(1));
        Self { trace, numbers: IndexMap::with_hasher(Xxh3Builder::new()), next }
    }

    /// Adds the number of the statement of an operation to a line.
    pub(super) fn add(&mut self, operation: &Operation, line: u32, to: &mut String) {
        self.add_site(operation.site, line, to);
    }

    /// Adds the number of a statement to a line. `line` counts if the site is not known.
    pub(super) fn add_site(&mut self, site: SiteNo, line: u32, to: &mut String) {
        let statement = match site {
            SiteNo::NONE => Statement::Line(line),
            site if is_statement(&self.trace.sites[site]) => return to.push_str(&self.trace.sites[site]),
            site => Statement::Site(site),
        };
        let next = &mut self.next;
        let number = *self.numbers.entry(statement).or_insert_with(|| {
            *next = next.saturating_add(1);
            *next - 1
        });
        let _ = write!(to, "{number}");
    }

    /// Adds a line for each number that was given.
    pub(super) fn tell(&self, map: &mut String) {
        for (statement, number) in &self.numbers {
            let what = match statement {
                Statement::Site(site) => clean(&self.trace.sites[*site]).to_owned(),
                Statement::Line(0) => "no place is known".to_owned(),
                Statement::Line(line) => format!("line {line}"),
            };
            let _ = writeln!(map, "statement\t{number}\t{what}");
        }
    }
}

/// Returns the names of the threads of a file: first those of the threads of the trace, then those of its tasks, which
/// are threads of their own.
pub(super) fn contexts(trace: &Trace) -> Names {
    let threads = trace.threads.iter().map(|thread| thread.name.clone());
    let tasks = trace.tasks.iter().map(|task| {
        let looper = &trace.threads[task.looper].name;
        match task.name.strip_prefix(looper.as_str()).is_some_and(|rest| rest.starts_with('/')) {
            true => task.name.clone(),
            false => format!("{looper}/{}", task.name),
        }
    });
    Names::new("thread", threads.chain(tasks).collect())
}

/// The names of locks in a file: those of the trace, and those that stand for other synchronization.
pub(super) struct LockNames {
    names: Names,
    queues: usize,
    channels: usize,
    events: usize,
}

impl LockNames {
    pub(super) fn new(trace: &Trace) -> Self {
        let locks = trace.locks.iter().map(str::to_owned);
        let queues = trace.threads.iter().map(|thread| format!("queue:{}", thread.name));
        let channels = (0..trace.channels).map(|channel| format!("signal:{channel}"));
        let events = trace.events.iter().map(|event| format!("enable:{event}"));
        let names = Names::new("lock", locks.chain(queues).chain(channels).chain(events).collect());
        let queues = trace.locks.len();
        let channels = queues + trace.threads.len();
        Self { names, queues, channels, events: channels + trace.channels as usize }
    }

    pub(super) fn get(&mut self, lock: LockFor) -> &str {
        let i = match lock {
            LockFor::Lock(lock) => lock.index(),
            LockFor::Queue(thread) => self.queues + thread.index(),
            LockFor::Channel(channel) => self.channels + channel.index(),
            LockFor::Event(event) => self.events + event.index(),
        };
        self.names.get(i)
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }
}

/// What a lock of a file stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LockFor {
    Lock(LockNo),
    Queue(ThreadNo),
    Channel(ChannelNo),
    Event(EventNo),
}
