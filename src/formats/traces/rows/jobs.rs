//! Reads the rows of jobs. In the trace of a run each part of a job between two suspensions is a task, which an event
//! enables at the suspension; a job whose task has ended is a thread, so that others can join it
//! (`detect::record` does the same).

use super::{Action, Actions, EventNo, PostTime, Reason, Row, Rows, SiteNo, need};
use crate::trace::ThreadNo;
use smallvec::smallvec;
use std::collections::{BTreeMap, BTreeSet};

/// The jobs of a trace so far, by name.
#[derive(Default)]
pub(super) struct JobRows {
    known: BTreeSet<String>,
    // Jobs that run inside the task that has launched them.
    nested: BTreeSet<String>,
    suspended: BTreeMap<String, EventNo>,
    // Jobs whose tasks have ended, with their children that have ended.
    ended: BTreeMap<String, Vec<String>>,
}

impl Rows {
    /// Returns the operations of a row about a job. `None` if the row is about something else.
    pub(super) fn job(&mut self, row: &Row, thread: ThreadNo, line: u32) -> Result<Option<Actions>, Reason> {
        let is_job = |name: &Option<String>| name.as_ref().is_some_and(|name| self.jobs.known.contains(name));
        let nothing = Ok(Some(Actions::new()));
        match row.kind.as_str() {
            "launch" => {
                let Some(made) = &row.made else { return nothing };
                self.known_job(row);
                if row.target.is_some() {
                    return self.post(row, line).map(|action| Some(smallvec![action]));
                }
                self.jobs.nested.insert(made.clone());
                nothing
            }
            "suspended" => {
                let context = need(&row.context, "context")?;
                // The resumption has an earlier row if the same step queued it.
                let running = self.builder.running(thread);
                let waits = self.tasks.get(context).is_none_or(|task| Some(*task) == running);
                let enables = waits.then(|| {
                    let event = self.builder.new_event(context);
                    self.jobs.suspended.insert(context.clone(), event);
                    Action::Enable(event)
                });
                let end = self.end_of_part(context, thread);
                Ok(Some([enables, end].into_iter().flatten().collect()))
            }
            "resumed" => {
                let (made, target) = (need(&row.made, "made")?, need(&row.target, "target")?);
                let looper = self.thread(target);
                let event = match row.context.as_ref() == Some(made) {
                    true => {
                        let event = self.builder.new_event(made);
                        self.builder.push(thread, Action::Enable(event), SiteNo::NONE, line)?;
                        Some(event)
                    }
                    false => self.jobs.suspended.remove(made),
                };
                let task = self.builder.task(made, looper, PostTime::Now, true);
                self.tasks.insert(made.clone(), task);
                if let Some(event) = event {
                    self.builder.handles(task, event);
                }
                let environment = self.environment();
                self.builder.push(environment, Action::Post(task), SiteNo::NONE, line)?;
                nothing
            }
            "end" => self.end_of_job(row, thread, line),
            "jobexit" => {
                let name = need(&row.place, "place")?;
                let Some(children) = self.jobs.ended.get(name).cloned() else { return nothing };
                let job = self.thread(name);
                for child in children {
                    let child = self.thread(&child);
                    self.builder.push(job, Action::Join(child), SiteNo::NONE, line)?;
                }
                self.builder.push(job, Action::ThreadExit, SiteNo::NONE, line)?;
                if let Some(parent) = &row.detail {
                    self.jobs.ended.entry(parent.clone()).or_default().push(name.clone());
                }
                nothing
            }
            "join" if is_job(&row.place) => self.join_job(row),
            "resume" if row.detail.as_deref() == Some("join") && row.value == Some(0) => {
                if is_job(&row.place) {
                    return self.join_job(row);
                }
                let other = self.thread(need(&row.place, "place")?);
                Ok(Some(smallvec![Action::Join(other)]))
            }
            _ => Ok(None),
        }
    }

    /// Notes the job that a launch has made.
    pub(super) fn known_job(&mut self, row: &Row) {
        self.jobs.known.extend(row.made.clone());
    }

    /// Returns the operations of a row with which the task of a job ends. `None` if another task ends.
    pub(super) fn end_of_job(&mut self, row: &Row, thread: ThreadNo, line: u32) -> Result<Option<Actions>, Reason> {
        let Some(context) = row.context.as_ref().filter(|name| self.jobs.known.contains(*name)) else {
            return Ok(None);
        };
        let job = self.thread(context);
        self.builder.push(thread, Action::Fork(job), SiteNo::NONE, line)?;
        self.builder.push(job, Action::ThreadInit, SiteNo::NONE, line)?;
        self.jobs.ended.entry(context.clone()).or_default();
        Ok(Some(self.end_of_part(context, thread).into_iter().collect()))
    }

    fn join_job(&mut self, row: &Row) -> Result<Option<Actions>, Reason> {
        let name = need(&row.place, "place")?;
        if !self.jobs.ended.contains_key(name) {
            return Ok(Some(Actions::new()));
        }
        let job = self.thread(name);
        Ok(Some(smallvec![Action::Join(job)]))
    }

    // The end of the task of the trace that a job runs in. A job that runs inside another task leaves that one open.
    // It is the task that runs: the one of the context may already be that of the resumption.
    pub(super) fn end_of_part(&mut self, context: &str, thread: ThreadNo) -> Option<Action> {
        if self.jobs.nested.remove(context) {
            return None;
        }
        self.end_in_pool(thread).or_else(|| self.builder.running(thread).map(Action::End))
    }
}
