//! Puts the parts of an app together.

use super::template::{Names, fill, indented};
use super::{Component, Host, OrderKind};

impl Component {
    /// Returns the statement of the launcher that begins the harmless work of the component, if it needs one.
    pub(super) fn begin(&self) -> Option<String> {
        let name = self.name;
        match self.host {
            _ if self.has_task() => Some(self.filled("post $open() to main")),
            _ if self.order.is_some() => None,
            Host::Activity | Host::Service => Some(format!("start {name}")),
            Host::Receiver => Some(format!("broadcast {name}")),
            Host::AsyncTask => Some(format!("execute {name}()")),
            _ => None,
        }
    }

    // Whether a task begins the harmless work: where the platform begins an order, it begins that alone. A component
    // with an order needs no other work.
    fn has_task(&self) -> bool {
        match self.host {
            Host::Tasks => !self.works.is_empty() || self.items.is_empty(),
            _ => self.order.is_some() && !self.works.is_empty(),
        }
    }

    fn filled(&self, template: &str) -> String {
        fill(template, &Names { component: self.name, number: None, inside: false }, &[("name", self.name)])
    }

    // The component itself: what the platform calls, or a task or thread.
    fn body(&self) -> String {
        let works = if self.works.is_empty() { "skip\n".to_owned() } else { self.works.concat() };
        let mut out = String::new();
        if self.has_task() {
            out += &block(&self.filled("task $open()"), &works);
        }
        let within = match (self.host, self.order) {
            (Host::Service, Some(_)) => "on command(id) { begin() }\n".to_owned() + &self.inside,
            (Host::Receiver, Some(_)) => "on receive { begin() }\n".to_owned() + &self.inside,
            (Host::Activity, _) => {
                block("on create", &works)
                    + "on resume { visible = true }\n"
                    + "on pause { visible = false }\n"
                    + "event click {\n    if visible { clicks += 1 }\n}\n"
                    + "on destroy { clicks = 0 }\n"
            }
            (Host::Service, None) => {
                block("on command(id)", &format!("commands += 1\n{works}")) + "on destroy { commands = 0 }\n"
            }
            (Host::Receiver, None) => block("on receive", &works),
            (Host::AsyncTask, _) => {
                block("on background", &format!("{works}loaded = 7\n")) + "on done { shown = loaded }\n"
            }
            (Host::Tasks, _) => return out,
            (Host::Thread, _) => return block(&self.filled("thread %boot"), &works),
        };
        let fields = match (self.host, self.order) {
            (Host::Activity, _) => "var visible = false\nvar clicks = 0\n",
            (Host::Service, None) => "var commands = 0\n",
            (Host::AsyncTask, _) => "var loaded = 0\nvar shown = 0\n",
            _ => "",
        };
        out + &block(&format!("{} {} on main", self.kind(), self.name), &format!("{fields}{within}"))
    }

    fn kind(&self) -> &'static str {
        match self.host {
            Host::Activity => "activity",
            Host::Service => "service",
            Host::Receiver => "receiver",
            Host::AsyncTask => "async_task",
            Host::Tasks => "tasks of the main looper",
            Host::Thread => "thread",
        }
    }
}

fn block(head: &str, body: &str) -> String {
    format!("{head} {{\n{}}}\n", indented(body))
}

/// Returns the text of the app. `begins` are the statements of the launcher.
pub(super) fn written(components: &[Component], kinds: &[OrderKind], begins: &[String], seed: u64) -> String {
    let depth = kinds.len();
    let mut out = format!(
        "// A generated app with one planted order bug (benches/common/planted): {} components, seed {seed}.\n\
         // The app fails if and only if each @first comes before its @then:\n",
        components.len(),
    );
    for (i, kind) in kinds.iter().enumerate() {
        let k = i + 1;
        out += &format!("// - @first{k} before @then{k}: {}\n", kind.text());
    }
    out += &format!("\napp \"planted order bug of depth {depth}\"\n\n");
    out += "const FIXED = 0                     // k: the k-th order cannot come about\n\n";
    out += "use android { rounds = 0; rotations = 0 }\n\nlooper main\n";
    for c in components {
        let (items, body) = (c.items.trim_start(), c.body());
        let between = if items.is_empty() || body.is_empty() { "" } else { "\n" };
        out += &format!("\n// {}: {}.\n\n{items}{between}{body}", c.name, c.kind());
    }
    out += &format!("\n{}\n", block("thread launcher", &begins.join("\n")));
    out += "expect failure at @planted if FIXED == 0\n";
    for k in 1..=depth {
        out += &format!("expect no failure if FIXED == {k}\n");
    }
    out
}
