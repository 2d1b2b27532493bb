//! Interprets the lines of a DroidRacer log that enable an event, and those which say that the running task handles it.
//!
//! `ENABLE-x` and `TRIGGER-x` name one event if all their fields are equal. The later version of DroidRacer writes
//! services, broadcasts and idle handlers with `TRIGGER-x` alone, including requests. Their meaning here is that of
//! DroidRacer's `AbcModel.cpp`:
//!
//! | enables | handles |
//! |---|---|
//! | `REQUEST_START_SERVICE` | `SERVICE-ARGS` of the same id |
//! | `REQUEST_START_SERVICE` | `CREATE-SERVICE` of the component, if not requested before |
//! | `REQUEST_BIND_SERVICE` | `SERVICE_CONNECT` of the same id |
//! | `REQUEST_BIND_SERVICE` | `CREATE-SERVICE` and `BIND-SERVICE` of the component, if not requested before |
//! | `REQUEST_STOP_SERVICE` | `STOP-SERVICE` of the component |
//! | `ABC_REGISTER_RECEIVER` | `ABC_ONRECEIVE` of the same action and receiver |
//! | `ABC_SEND_BROADCAST`, `ABC_SEND_STICKY_BROADCAST` | `ABC_ONRECEIVE` of the same intent |
//! | `ADD_IDLE_HANDLER` | `QUEUE_IDLE` of the same handler |
//! | a step of an activity: `LAUNCH-ACT` and the following ones | the next step of the activity |
//! | `CREATE-SERVICE`, `SERVICE-ARGS` | the next `SERVICE-ARGS` of the component, `STOP-SERVICE` |
//! | `CREATE-SERVICE`, `BIND-SERVICE`, `UNBIND-SERVICE` | the next of the latter two, `STOP-SERVICE` |
//! | `BIND-SERVICE` | `SERVICE_CONNECT` of the component |
//!
//! An activity is enabled under the number of its intent before it has a number of its own (`INSTANCE-INTENT` has
//! both). Its `RESUME-ACT` and its steps are therefore named by the intent.
//!
//! The running task belongs to the instance of the component whose step or callback it handles: an activity with its
//! number, a service or a receiver.
//!
//! Only true causes are enables: a receiver runs after it was registered, and after its intent was sent.
//! `REQUEST_UNBIND_SERVICE`, `ABC_UNREGISTER_RECEIVER` and `ABC_TRIGGER_ONRECIEVE_LATER` (the system forwards the
//! intent; its post follows) have no meaning here. The first word of an event's name is its category.

use super::LineError;
use super::grammar::{Field, OperationLine};
use std::collections::{BTreeMap, BTreeSet};

/// The meaning of a line: the names of the events that it enables, and of those that the running task handles.
#[derive(Default, Debug)]
pub(super) struct LineMeaning {
    pub(super) tid: u32,
    pub(super) enables: Vec<String>,
    pub(super) handles: Vec<String>,
    /// The instance of a component that the running task belongs to.
    pub(super) instance: Option<String>,
}

/// State of the services and activities of the app.
#[derive(Default, Debug)]
pub(super) struct Services {
    /// Requested events of services that were not stopped since.
    asked: BTreeSet<String>,
    /// The intent that each activity was created for.
    intents: BTreeMap<String, String>,
}

/// Interprets an `ENABLE` or `TRIGGER` line. Returns `None` for any other line.
pub(super) fn meaning(line: &OperationLine<'_>, services: &mut Services) -> Result<Option<LineMeaning>, LineError> {
    let (enables, what) = match line.word.split_once('-') {
        Some(("ENABLE", what)) => (true, what),
        Some(("TRIGGER", what)) => (false, what),
        _ => return Ok(None),
    };
    let (tid, name) = match what {
        "LIFECYCLE" => return services.lifecycle(line, enables).map(Some),
        "EVENT" => {
            let [tid, view, event] = line.fields(["tid", "view", "event"])?;
            (tid, name("event", &[view, event]))
        }
        "WINDOW-FOCUS" => {
            let [tid, window] = line.fields(["tid", "windowHash"])?;
            (tid, name("window", &[window]))
        }
        "SERVICE" if !enables => return services.meaning(line).map(Some),
        "BROADCAST" if !enables => return broadcast(line).map(Some),
        _ => return Ok(None),
    };
    let mut meaning = LineMeaning { tid: tid.number()?, ..LineMeaning::default() };
    if enables { &mut meaning.enables } else { &mut meaning.handles }.push(name);
    Ok(Some(meaning))
}

fn name(category: &str, fields: &[Field<'_>]) -> String {
    let mut name = category.to_owned();
    for field in fields.iter().filter(|f| !f.text.is_empty()) {
        name.push(' ');
        name.push_str(field.text);
    }
    name
}

impl Services {
    /// Records that an activity was created for an intent.
    pub(super) fn instance(&mut self, instance: &str, intent: &str) {
        self.intents.insert(instance.to_owned(), intent.to_owned());
    }

    fn lifecycle(&self, line: &OperationLine<'_>, enables: bool) -> Result<LineMeaning, LineError> {
        let [tid, component, id, state] = line.fields(["tid", "component", "id", "state"])?;
        let mut meaning = LineMeaning { tid: tid.number()?, ..LineMeaning::default() };
        let intent = self.intents.get(id.text).map_or(id.text, String::as_str);
        let name = match state.text {
            "RESUME-ACT" => format!("lifecycle {intent} RESUME-ACT"),
            _ => name("lifecycle", &[component, id, state]),
        };
        if enables {
            meaning.enables.push(name);
            return Ok(meaning);
        }
        meaning.handles.push(name);
        meaning.instance = Some(format!("{}#{}", component.text, id.text));
        if state.text.ends_with("-ACT") {
            let step = format!("lifecycle {intent} steps");
            if state.text != "LAUNCH-ACT" {
                meaning.handles.push(step.clone());
            }
            meaning.enables.push(step);
        }
        Ok(meaning)
    }

    fn meaning(&mut self, line: &OperationLine<'_>) -> Result<LineMeaning, LineError> {
        let [tid, component, id, state] = line.fields(["tid", "component", "id", "state"])?;
        let mut meaning = LineMeaning { tid: tid.number()?, ..LineMeaning::default() };
        let of = |state: &str| format!("service {} {state}", component.text);
        let one = |state: &str| format!("service {} {} {state}", component.text, id.text);
        match state.text {
            "REQUEST_START_SERVICE" => {
                meaning.enables.push(one("SERVICE-ARGS"));
                self.ask(of("CREATE-SERVICE"), &mut meaning);
            }
            "REQUEST_BIND_SERVICE" => {
                meaning.enables.push(one("SERVICE_CONNECT"));
                self.ask(of("CREATE-SERVICE"), &mut meaning);
                self.ask(of("BIND-SERVICE"), &mut meaning);
            }
            "REQUEST_STOP_SERVICE" => self.ask(of("STOP-SERVICE"), &mut meaning),
            "STOP-SERVICE" => {
                for what in ["CREATE-SERVICE", "BIND-SERVICE", "STOP-SERVICE"] {
                    self.asked.remove(&of(what));
                }
                meaning.handles.extend(["STOP-SERVICE", "starts", "binds"].map(of));
            }
            "CREATE-SERVICE" => {
                meaning.handles.push(of("CREATE-SERVICE"));
                meaning.enables.extend(["starts", "binds"].map(of));
            }
            "BIND-SERVICE" => {
                meaning.handles.extend(["BIND-SERVICE", "binds"].map(of));
                meaning.enables.extend(["binds", "connects"].map(of));
            }
            "UNBIND-SERVICE" => {
                meaning.handles.push(of("binds"));
                meaning.enables.push(of("binds"));
            }
            "SERVICE-ARGS" => {
                meaning.handles.extend([one("SERVICE-ARGS"), of("starts")]);
                meaning.enables.push(of("starts"));
            }
            "SERVICE_CONNECT" => meaning.handles.extend([one("SERVICE_CONNECT"), of("connects")]),
            // Other requests enable nothing. Any other state says that the running task handles it.
            other if other.starts_with("REQUEST") => {}
            other => meaning.handles.push(one(other)),
        }
        // A request is a step of its caller, not of the service.
        meaning.instance = (!state.text.starts_with("REQUEST")).then(|| component.text.to_owned());
        Ok(meaning)
    }

    // Only the first request enables the event.
    fn ask(&mut self, event: String, meaning: &mut LineMeaning) {
        if self.asked.insert(event.clone()) {
            meaning.enables.push(event);
        }
    }
}

fn broadcast(line: &OperationLine<'_>) -> Result<LineMeaning, LineError> {
    let keys = ["tid", "action", "component", "intent", "onRecLater", "state"];
    let [tid, action, component, intent, _, state] = line.fields(keys)?;
    let mut meaning = LineMeaning { tid: tid.number()?, ..LineMeaning::default() };
    let receiver = format!("broadcast {} to {}", action.text, component.text);
    let sent = (intent.text != "0").then(|| format!("broadcast intent {}", intent.text));
    match state.text {
        "ABC_REGISTER_RECEIVER" => meaning.enables.push(receiver),
        "ABC_SEND_BROADCAST" | "ABC_SEND_STICKY_BROADCAST" => meaning.enables.extend(sent),
        "ABC_ONRECEIVE" => {
            meaning.handles.push(receiver);
            meaning.handles.extend(sent);
            meaning.instance = Some(component.text.to_owned());
        }
        _ => {}
    }
    Ok(meaning)
}
