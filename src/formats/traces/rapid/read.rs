//! Reads STD.
//!
//! What a file leaves open is decided as RAPID's users need it:
//!
//! - A thread that no line forks has started before the trace. RAPID takes its operations in the same way.
//! - A fork of a thread that has done something, and an operation of a thread that was joined, are errors: the lines
//!   are out of order, and their order is all that a file says.
//! - A thread has ended where it is joined for the first time.
//! - A lock that its holder acquires again is held once, until its last release ([`Builder`]).
//! - A release of a lock that the thread does not hold is skipped, and an acquisition of a lock that another thread
//!   holds takes it: the trace lacks a release, as where a program waits. Notes say so.
//! - `begin` and `end` are kept ([`Trace::transactions`]), `dummy` and `req` are skipped.
//!
//! In memory are 20 bytes for each operation (Rust's `Vec` may reserve twice as much), 32 bytes for each mark of a
//! transaction, each name once, and one line of at most 1 MiB.

use super::grammar::{self, Line, Word};
use crate::base::{Id, IndexVec, counted};
use crate::formats::traces::lines::Lines;
use crate::formats::traces::{DISORDER, LineError, ReadError};
use crate::trace::{Action, Builder, NameTable, ThreadNo, Trace, TraceError};
use std::io::BufRead;

const CUT: &str =
    "the last line has no newline, so that the file may be cut off here: remove the line, or copy the file again";

/// Reads a file whose first line is the current line.
pub(in crate::formats::traces) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Trace, ReadError> {
    let mut file = StdFile::default();
    loop {
        // RAPID reads no blank lines; they say nothing.
        if !lines.text().trim().is_empty() {
            let number = lines.number();
            let read = grammar::line(lines.text())
                .map_err(|wrong| if lines.is_cut() { LineError { advice: CUT, ..wrong } } else { wrong })
                .and_then(|line| file.line(&line, number));
            read.map_err(|wrong| lines.error(wrong))?;
        }
        if !lines.advance()? {
            return Ok(file.finish());
        }
    }
}

/// What was read of a file.
#[derive(Default)]
struct StdFile {
    builder: Builder,
    names: NameTable<ThreadNo>,
    threads: IndexVec<ThreadNo, StdThread>,
    marks: u64,
    dummies: u64,
    requests: u64,
}

#[derive(Clone, Copy, Default)]
struct StdThread {
    acts: bool,
    forked: bool,
    // The line that has joined the thread first.
    joined: Option<u32>,
}

impl StdFile {
    fn thread(&mut self, name: &str) -> ThreadNo {
        let thread = self.names.add(name);
        if thread.index() == self.threads.len() {
            self.threads.add(StdThread::default());
            self.builder.thread(name);
        }
        thread
    }

    fn line(&mut self, line: &Line<'_>, number: u32) -> Result<(), LineError> {
        match line.word {
            Word::Dummy => {
                self.dummies += 1;
                return Ok(());
            }
            Word::Request => {
                self.requests += 1;
                return Ok(());
            }
            _ => {}
        }
        let thread = self.thread(line.thread);
        self.perform(thread, line, number).map_err(|wrong| {
            let joined = self.threads[thread].joined.filter(|_| matches!(wrong, TraceError::Ended(_)));
            let reason = match joined {
                Some(by) => format!("{wrong}: line {by} has joined it"),
                None => wrong.to_string(),
            };
            LineError::new(line.at, reason, DISORDER)
        })
    }

    fn perform(&mut self, thread: ThreadNo, line: &Line<'_>, number: u32) -> Result<(), TraceError> {
        let site = self.builder.site(line.statement);
        // The grammar has an operand for each word that stands here.
        let operand = line.operand.unwrap_or_default();
        let action = match line.word {
            Word::Read => Action::Read(self.builder.location(operand, operand)),
            Word::Write => Action::Write(self.builder.location(operand, operand)),
            Word::Acquire => Action::Acquire(self.builder.lock(operand)),
            Word::Release => Action::Release(self.builder.lock(operand)),
            Word::Fork => {
                let child = self.thread(operand);
                self.threads[child].forked = true;
                Action::Fork(child)
            }
            Word::Join => {
                let child = self.thread(operand);
                if self.threads[child].joined.is_none() {
                    self.threads[child].joined = Some(number);
                    self.builder.push(child, Action::ThreadExit, site, number)?;
                }
                Action::Join(child)
            }
            Word::Begin | Word::End => {
                self.marks += 1;
                return self.builder.transaction(thread, line.word == Word::Begin, line.operand, site);
            }
            Word::Dummy | Word::Request => return Ok(()),
        };
        self.threads[thread].acts = true;
        self.builder.push(thread, action, site, number)
    }

    fn finish(mut self) -> Trace {
        let started = self.threads.iter().filter(|thread| thread.acts && !thread.forked).count();
        let held = self.builder.held() as u64;
        let skipped = |n: u64, word: &str| (n > 0).then(|| format!("{} with `{word}` skipped", counted(n, "line")));
        let notes = [
            (started > 1)
                .then(|| format!("{started} threads have no fork: they are taken to have started before the trace")),
            (held > 0).then(|| format!("the trace ends while {} held: it may be cut off", are(held, "lock"))),
            (self.marks > 0).then(|| {
                format!("{} of transactions, which only the analysis of atomicity reads", counted(self.marks, "mark"))
            }),
            skipped(self.dummies, Word::Dummy.text()),
            skipped(self.requests, Word::Request.text()),
        ];
        notes.into_iter().flatten().for_each(|note| self.builder.note(note));
        self.builder.finish()
    }
}

fn are(n: u64, what: &str) -> String {
    format!("{} {}", counted(n, what), if n == 1 { "is" } else { "are" })
}
