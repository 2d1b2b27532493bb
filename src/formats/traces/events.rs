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
//! Only true causes are enables: a receiver runs after it was registered, and after its intent was sent.
//! `REQUEST_UNBIND_SERVICE`, `ABC_UNREGISTER_RECEIVER` and `ABC_TRIGGER_ONRECIEVE_LATER` (the system forwards the
//! intent; its post follows) have no meaning here. The first word of an event's name is its category.

use super::Wrong;
use super::grammar::{Field, Line};
use std::collections::{BTreeMap, BTreeSet};

/// The meaning of a line: the names of the events that it enables, and of those that the running task handles.
#[derive(Default, Debug)]
pub(super) struct Said {
    pub(super) tid: u32,
    pub(super) enables: Vec<String>,
    pub(super) handles: Vec<String>,
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
pub(super) fn said(line: &Line<'_>, services: &mut Services) -> Result<Option<Said>, Wrong> {
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
        "SERVICE" if !enables => return services.said(line).map(Some),
        "BROADCAST" if !enables => return broadcast(line).map(Some),
        _ => return Ok(None),
    };
    let mut said = Said { tid: tid.number()?, ..Said::default() };
    if enables { &mut said.enables } else { &mut said.handles }.push(name);
    Ok(Some(said))
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

    fn lifecycle(&self, line: &Line<'_>, enables: bool) -> Result<Said, Wrong> {
        let [tid, component, id, state] = line.fields(["tid", "component", "id", "state"])?;
        let mut said = Said { tid: tid.number()?, ..Said::default() };
        let intent = self.intents.get(id.text).map_or(id.text, String::as_str);
        let name = match state.text {
            "RESUME-ACT" => format!("lifecycle {intent} RESUME-ACT"),
            _ => name("lifecycle", &[component, id, state]),
        };
        if enables {
            said.enables.push(name);
            return Ok(said);
        }
        said.handles.push(name);
        if state.text.ends_with("-ACT") {
            let step = format!("lifecycle {intent} steps");
            if state.text != "LAUNCH-ACT" {
                said.handles.push(step.clone());
            }
            said.enables.push(step);
        }
        Ok(said)
    }

    fn said(&mut self, line: &Line<'_>) -> Result<Said, Wrong> {
        let [tid, component, id, state] = line.fields(["tid", "component", "id", "state"])?;
        let mut said = Said { tid: tid.number()?, ..Said::default() };
        let of = |state: &str| format!("service {} {state}", component.text);
        let one = |state: &str| format!("service {} {} {state}", component.text, id.text);
        match state.text {
            "REQUEST_START_SERVICE" => {
                said.enables.push(one("SERVICE-ARGS"));
                self.ask(of("CREATE-SERVICE"), &mut said);
            }
            "REQUEST_BIND_SERVICE" => {
                said.enables.push(one("SERVICE_CONNECT"));
                self.ask(of("CREATE-SERVICE"), &mut said);
                self.ask(of("BIND-SERVICE"), &mut said);
            }
            "REQUEST_STOP_SERVICE" => self.ask(of("STOP-SERVICE"), &mut said),
            "STOP-SERVICE" => {
                for what in ["CREATE-SERVICE", "BIND-SERVICE", "STOP-SERVICE"] {
                    self.asked.remove(&of(what));
                }
                said.handles.extend(["STOP-SERVICE", "starts", "binds"].map(of));
            }
            "CREATE-SERVICE" => {
                said.handles.push(of("CREATE-SERVICE"));
                said.enables.extend(["starts", "binds"].map(of));
            }
            "BIND-SERVICE" => {
                said.handles.extend(["BIND-SERVICE", "binds"].map(of));
                said.enables.extend(["binds", "connects"].map(of));
            }
            "UNBIND-SERVICE" => {
                said.handles.push(of("binds"));
                said.enables.push(of("binds"));
            }
            "SERVICE-ARGS" => {
                said.handles.extend([one("SERVICE-ARGS"), of("starts")]);
                said.enables.push(of("starts"));
            }
            "SERVICE_CONNECT" => said.handles.extend([one("SERVICE_CONNECT"), of("connects")]),
            // Other requests enable nothing. Any other state says that the running task handles it.
            other if other.starts_with("REQUEST") => {}
            other => said.handles.push(one(other)),
        }
        Ok(said)
    }

    // Only the first request enables the event.
    fn ask(&mut self, event: String, said: &mut Said) {
        if self.asked.insert(event.clone()) {
            said.enables.push(event);
        }
    }
}

fn broadcast(line: &Line<'_>) -> Result<Said, Wrong> {
    let keys = ["tid", "action", "component", "intent", "onRecLater", "state"];
    let [tid, action, component, intent, _, state] = line.fields(keys)?;
    let mut said = Said { tid: tid.number()?, ..Said::default() };
    let receiver = format!("broadcast {} to {}", action.text, component.text);
    let sent = (intent.text != "0").then(|| format!("broadcast intent {}", intent.text));
    match state.text {
        "ABC_REGISTER_RECEIVER" => said.enables.push(receiver),
        "ABC_SEND_BROADCAST" | "ABC_SEND_STICKY_BROADCAST" => said.enables.extend(sent),
        "ABC_ONRECEIVE" => {
            said.handles.push(receiver);
            said.handles.extend(sent);
        }
        _ => {}
    }
    Ok(said)
}
