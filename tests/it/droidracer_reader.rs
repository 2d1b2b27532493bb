//! Logs of DroidRacer, for tests: the trace of one, and the report at its end.
//!
//! What the app's parts go through (activities, services, receivers) is said by enables and events, as DroidRacer's `AbcModel.cpp` follows it: each step of an activity
//! enables the next one of the same activity, and so for services.

use raceflip::event::PostTime;
use raceflip::trace::{Action, Builder, LocationNo, SiteNo, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// A field of a class.
pub(crate) type Field = (String, String);

/// A race of the report: two accesses, by their numbers.
pub(crate) struct Reported {
    pub(crate) first: u32,
    pub(crate) second: u32,
    pub(crate) field: Field,
}

/// The report: its races, and for each heading the fields below it, or the objects (of those of co-enabled events).
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) races: Vec<Reported>,
    pub(crate) headings: BTreeMap<String, BTreeSet<Field>>,
    /// The line of each access.
    pub(crate) lines: BTreeMap<u32, u32>,
}

/// The value of a field of a line: up to the next blank.
fn value<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    let key = format!("{key}:");
    let starts = |at: usize| at == 0 || line[..at].ends_with([' ', '\t', ',']) || key == "thread-name:";
    let at = line.match_indices(&key).map(|(at, _)| at).find(|at| starts(*at))?;
    line[at + key.len()..].split([' ', '\t']).next()
}

fn text<'t>(line: &'t str, key: &str) -> &'t str {
    value(line, key).unwrap_or_default()
}

fn number(line: &str, key: &str) -> u32 {
    text(line, key).parse().unwrap_or_else(|_| panic!("{key} in {line}"))
}

/// The report at the end of a log.
pub(crate) fn report(log: &str) -> Report {
    let mut report = Report::default();
    let (mut first, mut heading) = (0, String::new());
    for (at, line) in log.lines().enumerate() {
        let part = |key: &str| line.split(key).nth(1).unwrap_or_default().split_whitespace().next().unwrap_or_default();
        let id = |key: &str| part(key).parse().unwrap_or_else(|_| panic!("{line}"));
        if line.starts_with("RACE ") {
            first = id("rwId1:");
        } else if line.starts_with("     rwId2:") {
            let field = (part("class - ").to_owned(), part("fieldIdx - ").to_owned());
            report.races.push(Reported { first, second: id("rwId2:"), field });
        } else if line.starts_with("rwId:") {
            report.lines.insert(id("rwId:"), u32::try_from(at).unwrap() + 1);
        } else if line.contains("aces due to") || line.contains("ed races") && !line.starts_with("Categ") {
            heading = line.trim().to_owned();
            report.headings.entry(heading.clone()).or_default();
        } else if line.starts_with("class: ") || line.starts_with("object: ") {
            let of = if line.starts_with("class") { "class: " } else { "object: " };
            report
                .headings
                .entry(heading.clone())
                .or_default()
                .insert((part(of).to_owned(), part("field:").to_owned()));
        }
    }
    report
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    threads: BTreeMap<u32, ThreadNo>,
    callers: BTreeMap<u32, u32>,
    tasks: BTreeMap<u32, TaskNo>,
    accesses: BTreeMap<ThreadNo, Vec<(Action, u32)>>,
    notified: BTreeMap<ThreadNo, raceflip::trace::ChannelNo>,
    // The intent that an activity was made for.
    intents: BTreeMap<String, String>,
    asked: BTreeSet<String>,
    previous: Option<ThreadNo>,
}

/// The trace of a log.
pub(crate) fn trace(log: &str) -> Trace {
    let mut reader = Reader::default();
    for line in log.lines().filter(|line| line.split(' ').nth(1) == Some("CALL")) {
        reader.callers.entry(number(line, "msg")).or_insert(number(line, "tid"));
    }
    for (line, at) in log.lines().zip(1..) {
        if line.contains("HB Graph") {
            break;
        }
        if line.starts_with("rwId:") {
            reader.access(line, at);
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            reader.operation(line, at);
        }
    }
    reader.builder.finish()
}

impl Reader {
    fn thread(&mut self, tid: u32) -> ThreadNo {
        let builder = &mut self.builder;
        *self.threads.entry(tid).or_insert_with(|| builder.thread(&format!("thread {tid}")))
    }

    fn push(&mut self, thread: ThreadNo, action: Action, at: u32) {
        self.builder.push(thread, action, SiteNo::NONE, at).unwrap_or_else(|e| panic!("line {at}: {e}"));
    }

    fn access(&mut self, line: &str, at: u32) {
        let field = format!("{}.{}", text(line, "class"), text(line, "field"));
        let place: LocationNo = match (value(line, "database"), value(line, "obj")) {
            (Some(path), _) => self.builder.location(&format!("database:{path}"), &format!("database:{path}")),
            (_, Some(object)) => self.builder.location(&format!("{object} {field}"), &field),
            _ => self.builder.location(&field, &field),
        };
        let thread = self.thread(number(line, "tid"));
        let action = if line.contains(" READ") { Action::Read(place) } else { Action::Write(place) };
        self.accesses.entry(thread).or_default().push((action, at));
    }

    fn operation(&mut self, line: &str, at: u32) {
        let word = line.split(' ').nth(1).unwrap_or_default();
        let tid = ["tid", "par-tid", "src"].into_iter().find_map(|key| value(line, key));
        let tid =
            tid.map(|tid| tid.trim_end_matches("thread-name:Binder").parse().unwrap_or_else(|_| panic!("{line}")));
        let Some(thread) = tid.map(|tid| self.thread(tid)).or(self.previous) else { return };
        self.previous = Some(thread);
        match word {
            "THREADINIT" => self.push(thread, Action::ThreadInit, at),
            "THREADEXIT" => self.push(thread, Action::ThreadExit, at),
            "ATTACH-Q" => self.push(thread, Action::AttachQueue, at),
            "LOOP" => self.push(thread, Action::Loop, at),
            "FORK" => {
                let child = self.thread(number(line, "child-tid"));
                self.push(thread, Action::Fork(child), at);
            }
            "NATIVE-ENTRY" => self.builder.begin_section(thread, at).unwrap(),
            "NATIVE-EXIT" => self.builder.end_section(thread, at).unwrap(),
            "POST" => self.post(thread, line, at),
            "CALL" => self.push(thread, Action::Begin(self.tasks[&number(line, "msg")]), at),
            "RET" => self.push(thread, Action::End(self.tasks[&number(line, "msg")]), at),
            "LOCK" | "UNLOCK" => {
                let lock = self.builder.lock(text(line, "lock-obj"));
                self.push(thread, if word == "LOCK" { Action::Acquire(lock) } else { Action::Release(lock) }, at);
            }
            "NOTIFY" => {
                let (to, channel) = (self.thread(number(line, "notifiedTid")), self.builder.channel());
                self.notified.insert(to, channel);
                self.push(thread, Action::Send(channel), at);
            }
            "WAIT" => {
                if let Some(channel) = self.notified.remove(&thread) {
                    self.push(thread, Action::Receive(channel), at);
                }
            }
            "ACCESS" => {
                let site = self.builder.site(&format!("access {}", text(line, "accessId")));
                for (action, at) in self.accesses.remove(&thread).unwrap_or_default() {
                    self.builder.push(thread, action, site, at).unwrap();
                }
            }
            "INSTANCE-INTENT" => {
                self.intents.insert(text(line, "instance").to_owned(), text(line, "intentId").to_owned());
            }
            _ => self.events(thread, word, line, at),
        }
    }

    fn post(&mut self, thread: ThreadNo, line: &str, at: u32) {
        let message = number(line, "msg");
        let Some(caller) = self.callers.get(&message).copied() else { return };
        let looper = self.thread(caller);
        let time = match number(line, "delay") {
            0 => PostTime::Now,
            delay => PostTime::After(delay.into()),
        };
        let task = self.builder.task(&format!("msg {message}"), looper, time, false);
        self.tasks.insert(message, task);
        self.push(thread, Action::Post(task), at);
    }

    fn enable(&mut self, thread: ThreadNo, name: &str, at: u32) {
        let event = self.builder.event(name);
        self.push(thread, Action::Enable(event), at);
    }

    fn handle(&mut self, thread: ThreadNo, name: &str) {
        let event = self.builder.event(name);
        if let Some(task) = self.builder.running(thread) {
            self.builder.handles(task, event);
        }
    }

    // A step of something that goes on step by step.
    fn step(&mut self, thread: ThreadNo, name: &str, at: u32) {
        self.handle(thread, name);
        self.enable(thread, name, at);
    }

    fn events(&mut self, thread: ThreadNo, word: &str, line: &str, at: u32) {
        let of = |keys: &[&str]| keys.iter().map(|key| text(line, key)).collect::<Vec<_>>().join(" ");
        let (name, enables) = match word.split_once('-').unwrap_or((word, "")) {
            ("TRIGGER", "SERVICE") => return self.service(thread, line, at),
            ("TRIGGER", "BROADCAST") => return self.broadcast(thread, line, at),
            (verb, "EVENT") => (format!("event {}", of(&["view", "event"])), verb == "ENABLE"),
            (verb, "WINDOW") | (verb, "WINDOW-FOCUS") => (format!("window {}", of(&["windowHash"])), verb == "ENABLE"),
            ("ENABLE" | "TRIGGER", "LIFECYCLE") => return self.lifecycle(thread, line, word == "ENABLE-LIFECYCLE", at),
            ("ADD_IDLE_HANDLER" | "QUEUE_IDLE", _) => {
                (format!("idle {}", of(&["idler", "queue"])), word == "ADD_IDLE_HANDLER")
            }
            _ => return,
        };
        if enables { self.enable(thread, &name, at) } else { self.handle(thread, &name) }
    }

    fn lifecycle(&mut self, thread: ThreadNo, line: &str, enables: bool, at: u32) {
        let (id, state) = (text(line, "id"), text(line, "state"));
        // An activity is enabled as an intent, before it is an instance.
        let known = self.intents.get(id).cloned().unwrap_or_else(|| id.to_owned());
        let name = format!("lifecycle {known} {state}");
        if enables {
            return self.enable(thread, &name, at);
        }
        self.handle(thread, &name);
        let step = format!("lifecycle step of {known}");
        match state {
            "LAUNCH-ACT" => self.enable(thread, &step, at),
            state if state.ends_with("-ACT") => self.step(thread, &step, at),
            _ => {}
        }
    }

    fn service(&mut self, thread: ThreadNo, line: &str, at: u32) {
        let (component, id) = (text(line, "component"), text(line, "id"));
        let of = |what: &str| format!("service {component} {what}");
        let one = |what: &str| format!("service {component} {what} {id}");
        match text(line, "state") {
            state @ ("REQUEST_START_SERVICE" | "REQUEST_BIND_SERVICE") => {
                let mut names = vec![one(if state.contains("START") { "SERVICE-ARGS" } else { "SERVICE_CONNECT" })];
                let first = ["CREATE-SERVICE", "BIND-SERVICE"];
                let first = &first[..if state.contains("START") { 1 } else { 2 }];
                names.extend(first.iter().map(|what| of(what)).filter(|name| self.asked.insert(name.clone())));
                names.iter().for_each(|name| self.enable(thread, name, at));
            }
            "REQUEST_STOP_SERVICE" if self.asked.insert(of("STOP-SERVICE")) => {
                self.enable(thread, &of("STOP-SERVICE"), at);
            }
            "CREATE-SERVICE" => {
                self.handle(thread, &of("CREATE-SERVICE"));
                self.enable(thread, &of("started"), at);
                self.enable(thread, &of("bound"), at);
            }
            "BIND-SERVICE" => {
                self.handle(thread, &of("BIND-SERVICE"));
                self.step(thread, &of("bound"), at);
                self.enable(thread, &of("connected"), at);
            }
            "UNBIND-SERVICE" => self.step(thread, &of("bound"), at),
            "SERVICE-ARGS" => {
                self.handle(thread, &one("SERVICE-ARGS"));
                self.step(thread, &of("started"), at);
            }
            "SERVICE_CONNECT" => {
                self.handle(thread, &one("SERVICE_CONNECT"));
                self.handle(thread, &of("connected"));
            }
            "STOP-SERVICE" => {
                ["STOP-SERVICE", "started", "bound"].iter().for_each(|what| self.handle(thread, &of(what)));
                ["CREATE-SERVICE", "BIND-SERVICE", "STOP-SERVICE"]
                    .iter()
                    .for_each(|what| _ = self.asked.remove(&of(what)));
            }
            _ => {}
        }
    }

    fn broadcast(&mut self, thread: ThreadNo, line: &str, at: u32) {
        let receiver = format!("broadcast {} to {}", text(line, "action"), text(line, "component"));
        let intent = format!("broadcast intent {}", text(line, "intent"));
        match text(line, "state") {
            "ABC_REGISTER_RECEIVER" if self.asked.insert(receiver.clone()) => self.enable(thread, &receiver, at),
            "ABC_SEND_BROADCAST" | "ABC_SEND_STICKY_BROADCAST" => self.enable(thread, &intent, at),
            "ABC_ONRECEIVE" => {
                self.handle(thread, &receiver);
                self.handle(thread, &intent);
            }
            _ => {}
        }
    }
}
