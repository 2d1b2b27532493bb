//! Writes the text of a model.

use super::contexts::Runner;
use super::keep::Kept;
use super::names::{LOCAL, Names};
use super::plan::{Plan, TaskForm, ThreadForm};
use super::statements::{Guards, InitialReference, OBJECT, Statement};
use super::{ModelOptions, NoModel, TraceModel};
use crate::base::{IndexVec, clean};
use crate::lang::{self, MAX_SOURCE, Source};
use crate::trace::{Action, ChannelNo, LocationNo, LockNo, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

// Maximum number of threads and loopers that may start with an app.
const MOST_THREADS: usize = lang::MAX_THREADS as usize;

/// Start and end of the first line of a model, with the name of the trace between them.
pub(super) const HEAD: &str = "// Model of the recorded trace ";
pub(super) const HEAD_END: &str = ", made by `raceflip trace to-model`.";

/// Makes the model of a trace.
pub(super) fn write(trace: &Trace, name: &str, options: &ModelOptions) -> Result<TraceModel, NoModel> {
    let mut kept = Kept::new(trace, options)?;
    let plan = Plan::new(&mut kept);
    let mut model = ModelText::new(&kept, &plan);
    model.bodies();
    let (bodies, statements) = (model.bodies, model.statements);
    let too_large = |reason: String| NoModel::TooLarge { bodies, statements, reason };
    if model.threads > MOST_THREADS {
        return Err(too_large(format!("at most {MOST_THREADS} threads can start with an app")));
    }
    let notes: Vec<String> = kept.left_out.iter().map(|(why, n)| format!("{}: {n}", why.text())).collect();
    let text = model.text(name, &notes);
    if text.len() > MAX_SOURCE {
        return Err(too_large(format!("a model has at most {} KiB", MAX_SOURCE / 1024)));
    }
    let source = Source::new(name, &text).map_err(|error| too_large(error.to_string()))?;
    let text = lang::format(&source).unwrap_or(text);
    let alive = trace.ops.ids().filter(|op| kept.alive[*op] && trace.ops[*op].action.access().is_some());
    let mut labels: BTreeMap<OpNo, OpNo> = alive.map(|op| (op, op)).collect();
    for op in kept.same.keys() {
        let mut other = *op;
        while let Some(next) = kept.same.get(&other) {
            other = *next;
        }
        if kept.alive[other] {
            labels.insert(*op, other);
        }
    }
    let uses = trace
        .marks
        .iter()
        .filter(|(op, mark)| mark.uses && matches!(kept.action(*op), Action::Read(_)))
        .map(|(op, _)| op)
        .collect();
    Ok(TraceModel { text, bodies, statements, notes, labels, uses })
}

/// The names of the model's own things, and its text.
pub(super) struct ModelText<'k, 't> {
    pub(super) kept: &'k Kept<'t>,
    pub(super) plan: &'k Plan,
    pub(super) names: Names,
    pub(super) guards: Guards,
    pub(super) threads_of: IndexVec<ThreadNo, String>,
    pub(super) tasks_of: IndexVec<TaskNo, String>,
    pub(super) locations: BTreeMap<LocationNo, String>,
    pub(super) locks: BTreeMap<LockNo, String>,
    pub(super) counters: BTreeMap<(ChannelNo, Runner), String>,
    pub(super) semaphores: BTreeMap<(OpNo, OpNo), String>,
    pub(super) gates: BTreeMap<ThreadNo, String>,
    pub(super) handles: BTreeMap<ThreadNo, String>,
    // Counter of the ended tasks of a looper that must leave its loop, with their number.
    pub(super) done: BTreeMap<ThreadNo, (String, usize)>,
    // For each need, its later operation, by the earlier one.
    pub(super) by_source: BTreeMap<OpNo, Vec<OpNo>>,
    pub(super) out: Vec<String>,
    pub(super) bodies: usize,
    pub(super) statements: usize,
    pub(super) threads: usize,
}

impl<'k, 't> ModelText<'k, 't> {
    fn new(kept: &'k Kept<'t>, plan: &'k Plan) -> Self {
        let trace = kept.trace;
        let mut names = Names::default();
        let threads_of = trace
            .threads
            .enumerate()
            .map(|(thread, about)| match plan.threads[thread] {
                ThreadForm::Absent | ThreadForm::Event(_) => String::new(),
                _ => names.add("thread", &about.name),
            })
            .collect();
        let tasks_of = trace
            .tasks
            .enumerate()
            .map(|(task, about)| match plan.tasks[task] {
                TaskForm::Absent => String::new(),
                _ => names.add("task", &about.name),
            })
            .collect();
        let mut by_source: BTreeMap<OpNo, Vec<OpNo>> = BTreeMap::new();
        for (from, to) in &kept.needs {
            by_source.entry(*from).or_default().push(*to);
        }
        let mut text = Self {
            kept,
            plan,
            names,
            guards: Guards::new(kept),
            threads_of,
            tasks_of,
            locations: BTreeMap::new(),
            locks: BTreeMap::new(),
            counters: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            gates: BTreeMap::new(),
            handles: BTreeMap::new(),
            done: BTreeMap::new(),
            by_source,
            out: Vec::new(),
            bodies: 0,
            statements: 0,
            threads: 0,
        };
        text.name_all();
        text
    }

    fn name_all(&mut self) {
        let (kept, trace) = (self.kept, self.kept.trace);
        for (op, operation) in trace.ops.enumerate().filter(|(op, _)| kept.alive[*op]) {
            match operation.action {
                Action::Read(at) | Action::Write(at) if !self.locations.contains_key(&at) => {
                    let name = self.names.add("x", field_name(&trace.places[at].name));
                    self.locations.insert(at, name);
                }
                Action::Acquire(lock) if !self.locks.contains_key(&lock) => {
                    let name = self.names.add("lock", trace.locks[lock].trim_start_matches("lock "));
                    self.locks.insert(lock, name);
                }
                Action::Receive(channel) => {
                    for runner in kept.awaits.get(&op).into_iter().flat_map(BTreeMap::keys) {
                        let key = (channel, *runner);
                        if !self.counters.contains_key(&key) {
                            let name = self.names.add("s", &format!("sent_{}", channel.0));
                            self.counters.insert(key, name);
                        }
                    }
                }
                _ => {}
            }
        }
        for (from, to) in &kept.needs {
            if self.event_of(*to).is_none() {
                let name = match trace.ops[*from].action {
                    Action::Enable(event) => format!("allow_{}", &trace.events[event]),
                    _ => "forked".to_owned(),
                };
                let name = self.names.add("allow", &name);
                self.semaphores.insert((*from, *to), name);
            }
        }
        for thread in trace.threads.ids() {
            let base = self.threads_of[thread].clone();
            if let ThreadForm::Looper { go: true } | ThreadForm::Thread { go: true, .. } = self.plan.threads[thread] {
                self.gates.insert(thread, self.names.add("go", &format!("go_{base}")));
            }
            if self.plan.threads[thread] == ThreadForm::Forked && kept.joins(thread).next().is_some() {
                self.handles.insert(thread, self.names.add("forked", &format!("forked_{base}")));
            }
            if self.plan.leaves[thread] && matches!(self.plan.threads[thread], ThreadForm::Thread { .. }) {
                let tasks = kept.tasks(thread).count();
                if tasks == 0 {
                    continue;
                }
                self.done.insert(thread, (self.names.add("done", &format!("done_{base}")), tasks));
            }
        }
    }

    /// Returns the event whose firing is the post, or the begin of a section.
    pub(super) fn event_of(&self, op: OpNo) -> Option<TaskNo> {
        match self.kept.action(op) {
            Action::Post(task) | Action::Begin(task) if matches!(self.plan.tasks[task], TaskForm::Event { .. }) => {
                Some(task)
            }
            _ => None,
        }
    }

    fn bodies(&mut self) {
        let trace = self.kept.trace;
        for thread in trace.threads.ids() {
            let context = self.kept.contexts.home[thread];
            let name = self.threads_of[thread].clone();
            let head = match self.plan.threads[thread] {
                ThreadForm::Absent | ThreadForm::Event(_) => continue,
                ThreadForm::Looper { .. } => format!("looper {name}"),
                ThreadForm::Thread { .. } => format!("thread {name}"),
                ThreadForm::Forked => format!("task {name}()"),
            };
            let statements = self.context(context);
            self.body(&head, &trace.threads[thread].name, statements);
            if let Some((done, tasks)) = self.done.get(&thread).cloned() {
                let head = format!("thread {}", self.names.add("quit", &format!("quit_{name}")));
                let statements = vec![format!("await {done} >= {tasks}"), format!("quit {name}")];
                self.body(&head, "", statements.into_iter().map(Statement::Plain).collect());
            }
        }
        for task in trace.tasks.ids() {
            let Some(context) = self.kept.contexts.tasks[task] else { continue };
            let name = self.tasks_of[task].clone();
            let looper = self.threads_of[trace.tasks[task].looper].clone();
            let head = match self.plan.tasks[task] {
                TaskForm::Absent => continue,
                TaskForm::Posted | TaskForm::Poster => format!("task {name}()"),
                TaskForm::Event { initially: true } => format!("event {name} on {looper} initially 1"),
                TaskForm::Event { initially: false } => format!("event {name} on {looper}"),
                TaskForm::Section => format!("thread {name}"),
            };
            let statements = self.context(context);
            self.body(&head, &trace.tasks[task].name, statements);
            if self.plan.tasks[task] == TaskForm::Poster {
                let head = format!("thread {}", self.names.add("post", &format!("post_{name}")));
                let start = trace.tasks[task].post.or(trace.tasks[task].begin);
                let mut statements: Vec<Statement> = start.map(|op| self.waits_for(op)).unwrap_or_default();
                statements.push(self.post(task));
                self.body(&head, "", statements);
            }
        }
    }

    // Writes a body.
    fn body(&mut self, head: &str, real: &str, statements: Vec<Statement>) {
        self.bodies += 1;
        self.threads += usize::from(head.starts_with("thread ") || head.starts_with("looper "));
        self.statements += statements.len();
        let real = clean(real);
        let comment = if real.is_empty() { String::new() } else { format!("  // {real}") };
        if statements.is_empty() {
            let block = if head.starts_with("looper ") { "" } else { " {\n}" };
            let at = if block.is_empty() { format!("{head}{comment}") } else { format!("{head} {{{comment}\n}}") };
            self.out.push(at);
            return;
        }
        let mut text = format!("{head} {{{comment}\n");
        if statements.iter().any(Statement::needs_local) {
            text.push_str(&format!("    let {LOCAL}: int\n"));
        }
        for local in statements.iter().filter_map(Statement::own_local) {
            text.push_str(&format!("    let {local}: Object\n"));
        }
        for statement in &statements {
            statement.push(&mut text);
        }
        text.push('}');
        self.out.push(text);
    }

    // Returns the whole text.
    fn text(&self, name: &str, notes: &[String]) -> String {
        let name = clean(name);
        let mut text = format!(
            "{HEAD}{name}{HEAD_END}\n//\n\
             // Each thread and each task of the trace has a body of its own. A run of the model is a reordering\n\
             // of the trace that forks, joins, posts, queues, enables, signals and locks allow. No value matters:\n\
             // each write writes 0. A label @aN is operation N of the trace, counted from 0.\n"
        );
        if !notes.is_empty() {
            text.push_str("//\n// Left out:\n");
            notes.iter().for_each(|note| text.push_str(&format!("//   {note}\n")));
        }
        text.push('\n');
        let mut declare = |keyword: &str, name: &str, value: &str, real: &str| {
            let comment = if real.is_empty() { String::new() } else { format!("  // {}", clean(real)) };
            text.push_str(&format!("{keyword} {name}{value}{comment}\n"));
        };
        let trace = self.kept.trace;
        let references = &self.kept.references;
        if self.locations.keys().any(|at| references.contains_key(at)) {
            declare("let", OBJECT, " = new Object", "");
        }
        for (at, name) in &self.locations {
            let value = match references.get(at) {
                None => " = 0".to_owned(),
                Some(InitialReference::Null) => ": Object = null".to_owned(),
                Some(InitialReference::Object) => format!(": Object = {OBJECT}"),
            };
            declare("var", name, &value, &trace.places[*at].name);
        }
        self.locks.iter().for_each(|(lock, name)| declare("lock", name, "", &trace.locks[*lock]));
        self.counters.values().for_each(|name| declare("atomic", name, " = 0", ""));
        self.done.values().for_each(|(name, _)| declare("atomic", name, " = 0", ""));
        let names: BTreeSet<&String> = self.semaphores.values().chain(self.gates.values()).collect();
        names.into_iter().for_each(|name| declare("semaphore", name, " = 0", ""));
        if self.out.is_empty() {
            // A model has to start something.
            text.push_str("thread nothing {  // no operation of the trace can take part in a race\n    skip\n}\n");
        }
        for body in &self.out {
            text.push('\n');
            text.push_str(body);
            text.push('\n');
        }
        text
    }
}

// The part of a location's name that says most: behind the name of the object.
fn field_name(name: &str) -> &str {
    match name.split_once(' ') {
        Some((object, field)) if object.starts_with("0x") => field,
        _ => name,
    }
}
