//! Which lines of a DroidRacer log enable an event, and which say that the task handles it.
//!
//! `ENABLE-x` and `TRIGGER-x` name one event if all their fields are the same. The later version writes services, broadcasts and idle handlers with `TRIGGER-x`
//! alone, requests as well; what the published source of DroidRacer does with them is unknown, so the reading is ours:
//!
//! | enables | handles |
//! |---|---|
//! | `REQUEST_START_SERVICE` | `SERVICE-ARGS` of the same id; `CREATE-SERVICE` of the component, if it was not asked for before |
//! | `REQUEST_BIND_SERVICE` | `SERVICE_CONNECT` of the same id; `CREATE-SERVICE` and `BIND-SERVICE` of the component, if not asked for before |
//! | `REQUEST_STOP_SERVICE` | `STOP-SERVICE` of the component |
//! | `ABC_REGISTER_RECEIVER` | `ABC_ONRECEIVE` of the same action and receiver |
//! | `ABC_SEND_BROADCAST`, `ABC_SEND_STICKY_BROADCAST` | `ABC_ONRECEIVE` of the same intent |
//! | `ADD_IDLE_HANDLER` | `QUEUE_IDLE` of the same handler |
//!
//! Only true causes are enables: a receiver runs after it was registered, and after its intent was sent. `REQUEST_UNBIND_SERVICE`, `ABC_UNREGISTER_RECEIVER` and
//! `ABC_TRIGGER_ONRECIEVE_LATER` (the system passes the intent on; its post follows) say nothing. The first word of an event's name is its category.

use super::Wrong;
use super::grammar::{Field, Line};
use std::collections::BTreeSet;

/// What a line says of events, by their names.
#[derive(Default, Debug)]
pub(super) struct Said {
    pub(super) tid: u32,
    pub(super) enables: Vec<String>,
    pub(super) handles: Vec<String>,
}

/// Services whose creation or binding has been asked for, and has not ended.
#[derive(Default, Debug)]
pub(super) struct Services {
    asked: BTreeSet<String>,
}

/// What an `ENABLE` or `TRIGGER` line says; nothing if it is none.
pub(super) fn said(line: &Line<'_>, services: &mut Services) -> Result<Option<Said>, Wrong> {
    let (enables, what) = match line.word.split_once('-') {
        Some(("ENABLE", what)) => (true, what),
        Some(("TRIGGER", what)) => (false, what),
        _ => return Ok(None),
    };
    let (tid, name) = match what {
        "LIFECYCLE" => {
            let [tid, component, id, state] = line.fields(["tid", "component", "id", "state"])?;
            (tid, name("lifecycle", &[component, id, state]))
        }
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
            "REQUEST_STOP_SERVICE" => said.enables.push(of("STOP-SERVICE")),
            "STOP-SERVICE" => {
                self.asked.remove(&of("CREATE-SERVICE"));
                self.asked.remove(&of("BIND-SERVICE"));
                said.handles.push(of("STOP-SERVICE"));
            }
            "CREATE-SERVICE" | "BIND-SERVICE" => said.handles.push(of(state.text)),
            "SERVICE-ARGS" | "SERVICE_CONNECT" => said.handles.push(one(state.text)),
            // Others enable nothing; a task that they belong to handles them.
            other if other.starts_with("REQUEST") => {}
            other => said.handles.push(one(other)),
        }
        Ok(said)
    }

    // Only the first request brings it about.
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
