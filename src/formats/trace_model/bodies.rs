//! The statements of the bodies of a model, from the operations of their contexts.

use super::contexts::{ContextKind, ContextNo};
use super::plan::{ThreadForm, needs};
use super::statements::Statement;
use super::text::ModelText;
use crate::trace::{Action, LockNo, OpNo, TaskNo, ThreadNo};

impl ModelText<'_, '_> {
    /// Returns the `down` statements before an operation.
    pub(super) fn waits_for(&self, op: OpNo) -> Vec<Statement> {
        let semaphores = needs(self.kept, op).filter_map(|from| self.semaphores.get(&(from, op)));
        semaphores.map(|name| Statement::Plain(format!("down {name}"))).collect()
    }

    // What an enable or a fork makes possible.
    fn raises(&self, op: OpNo, to: &mut Vec<Statement>) {
        for later in self.by_source.get(&op).into_iter().flatten() {
            match self.event_of(*later) {
                Some(task) => to.push(Statement::Plain(format!("enable {}", self.tasks_of[task]))),
                None => to.push(Statement::Plain(format!("up {}", self.semaphores[&(op, *later)]))),
            }
        }
    }

    /// Returns the statement that posts a task.
    pub(super) fn post(&self, task: TaskNo) -> Statement {
        let about = &self.kept.trace.tasks[task];
        let posted_by = about.post.map(|post| self.kept.trace.ops[post].thread);
        let when = self.kept.times.of(self.kept.trace, task, posted_by == Some(about.looper));
        let is_async = if about.is_async { " async" } else { "" };
        Statement::Plain(format!("post {}() to {}{when}{is_async}", self.tasks_of[task], self.threads_of[about.looper]))
    }

    /// Returns the statements of a context.
    pub(super) fn context(&self, context: ContextNo) -> Vec<Statement> {
        let kept = self.kept;
        let mut to = Vec::new();
        let mut open: Vec<(OpNo, LockNo)> = Vec::new();
        let home = match kept.contexts.list[context].kind {
            ContextKind::Home(thread) => Some(thread),
            ContextKind::Task(_) => None,
        };
        let form = home.map(|thread| self.plan.threads[thread]);
        let (is_looper, born) = match form {
            Some(ThreadForm::Looper { .. }) => (true, false),
            Some(ThreadForm::Thread { born, .. }) => (false, born),
            _ => (false, false),
        };
        if born {
            to.push(Statement::Plain("attach queue".to_owned()));
        }
        to.extend(home.and_then(|thread| self.gates.get(&thread)).map(|go| Statement::Plain(format!("down {go}"))));
        for op in kept.contexts.list[context].ops.iter().copied() {
            let action = kept.action(op);
            if let (Action::Receive(_), Some(waits)) = (action, kept.sections.waits.get(&op)) {
                self.wait(op, waits, &mut to);
                continue;
            }
            if !kept.alive[op] {
                continue;
            }
            match action {
                Action::Acquire(lock) => {
                    to.push(Statement::Plain(format!("acquire {}", self.locks[&lock])));
                    if kept.sections.to_the_end.contains(&op) {
                        open.push((op, lock));
                    }
                }
                Action::Release(lock) => to.push(Statement::Plain(format!("release {}", self.locks[&lock]))),
                Action::AttachQueue if !is_looper && !born => to.push(Statement::Plain("attach queue".to_owned())),
                Action::Loop => {
                    self.close(&mut open, &mut to);
                    // A loop that runs no task and ends has no effect.
                    let ends_at_once = home.is_some_and(|t| self.plan.leaves[t] && !self.done.contains_key(&t));
                    if !is_looper && !ends_at_once {
                        to.push(Statement::Plain("loop queue".to_owned()));
                    }
                }
                _ => self.operation(op, action, &mut to),
            }
        }
        self.close(&mut open, &mut to);
        let done = kept.task_of(context).and_then(|_| self.done.get(&kept.contexts.list[context].thread));
        to.extend(done.map(|(done, _)| Statement::Plain(format!("fetch_add({done}, 1)"))));
        to
    }

    fn close(&self, open: &mut Vec<(OpNo, LockNo)>, to: &mut Vec<Statement>) {
        while let Some((_, lock)) = open.pop() {
            to.push(Statement::Plain(format!("release {}", self.locks[&lock])));
        }
    }

    // The wait of a monitor gives up its lock, and a log does not say which lock that is.
    fn wait(&self, op: OpNo, sections: &[(OpNo, bool)], to: &mut Vec<Statement>) {
        let held = sections.iter().filter(|(acquire, _)| self.kept.alive[*acquire]);
        let held: Vec<(&str, bool)> = held
            .filter_map(|(acquire, again)| match self.kept.action(*acquire) {
                Action::Acquire(lock) => Some((self.locks[&lock].as_str(), *again)),
                _ => None,
            })
            .collect();
        let waits = self.kept.alive[op];
        for (lock, again) in held.iter().rev() {
            if waits || !again {
                to.push(Statement::Plain(format!("release {lock}")));
            }
        }
        if waits {
            self.operation(op, self.kept.action(op), to);
            let again = held.iter().filter(|(_, again)| *again);
            to.extend(again.map(|(lock, _)| Statement::Plain(format!("acquire {lock}"))));
        }
    }

    fn operation(&self, op: OpNo, action: Action, to: &mut Vec<Statement>) {
        let kept = self.kept;
        let name = |thread: ThreadNo| &self.threads_of[thread];
        match action {
            Action::Read(at) | Action::Write(at) => {
                let place = self.locations[&at].clone();
                to.push(self.guards.access(kept, op, place));
            }
            Action::Fork(child) => {
                self.raises(op, to);
                match self.plan.threads[child] {
                    _ if self.plan.with_app[child] => {}
                    ThreadForm::Looper { go: true } | ThreadForm::Thread { go: true, .. } => {
                        to.push(Statement::Plain(format!("up {}", self.gates[&child])));
                    }
                    ThreadForm::Forked => to.push(Statement::Plain(match self.handles.get(&child) {
                        Some(handle) => format!("let {handle} = fork {}()", name(child)),
                        None => format!("fork {}()", name(child)),
                    })),
                    ThreadForm::Event(task) => {
                        to.push(Statement::Plain(format!("enable {}", self.tasks_of[task])));
                    }
                    _ => {}
                }
            }
            Action::Enable(_) => self.raises(op, to),
            Action::Join(other) => {
                to.extend(self.waits_for(op));
                let joined = self.handles.get(&other).unwrap_or(name(other));
                if !joined.is_empty() {
                    to.push(Statement::Plain(format!("join {joined}")));
                }
            }
            Action::Post(task) => {
                to.extend(self.waits_for(op));
                to.push(self.post(task));
            }
            Action::Send(channel) => {
                let runner = kept.contexts.runner(kept.contexts.of[op]);
                if let Some(counter) = self.counters.get(&(channel, runner)) {
                    to.push(Statement::Plain(format!("fetch_add({counter}, 1)")));
                }
            }
            Action::Receive(channel) => {
                let waits = kept.awaits.get(&op).into_iter().flatten();
                let terms = waits.map(|(runner, n)| format!("{} >= {n}", self.counters[&(channel, *runner)]));
                let terms: Vec<String> = terms.collect();
                if !terms.is_empty() {
                    to.push(Statement::Plain(format!("await {}", terms.join(" && "))));
                }
            }
            _ => {}
        }
    }
}
