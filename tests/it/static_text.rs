//! Writes random programs for static executes-before as models.

use crate::static_tree::{
    BodyIndex, Condition, FLAGS, Joined, LOCKS, LOOPERS, Random, Runs, SEMAPHORES, Step, Target, When,
};
use std::fmt::Write as _;

impl Random {
    /// Returns the text of the program. Each mark has the label `m` with its number.
    pub(crate) fn text(&self) -> String {
        let uncaught = if self.thread_ends { "thread" } else { "app" };
        let mut text = format!("app \"random\" {{ uncaught = {uncaught} }}\nvar v = 0\nvar n = 2\natomic c = 2\n");
        (0..FLAGS).for_each(|i| writeln!(text, "var g{i} = false").expect("a string takes it"));
        (0..LOCKS).for_each(|i| writeln!(text, "lock k{i}").expect("a string takes it"));
        for i in 0..SEMAPHORES {
            writeln!(text, "semaphore s{i} = {}", usize::from(i + 1 == SEMAPHORES)).expect("a string takes it");
        }
        if self.bodies.iter().all(|b| b.runs != Runs::Looper) {
            writeln!(text, "looper {}", LOOPERS[0]).expect("a string takes it");
        }
        writeln!(text, "looper {}\nhandler h0 on main\nhandler h1 on other", LOOPERS[1]).expect("a string takes it");
        for body in &self.bodies {
            let name = &body.name;
            let head = match body.runs {
                Runs::Task => format!("task {name}(i)"),
                Runs::Event { looper, initially: 0 } => format!("event {name} on {}", LOOPERS[looper]),
                Runs::Event { looper, initially } => {
                    format!("event {name} on {} initially {initially}", LOOPERS[looper])
                }
                Runs::Thread => format!("thread {name}"),
                Runs::Looper => format!("looper {name}"),
            };
            writeln!(text, "{head} {{\n{}}}", self.steps_text(&body.steps, name)).expect("a string takes it");
        }
        text
    }

    fn steps_text(&self, steps: &[Step], own: &str) -> String {
        steps.iter().map(|step| self.step_text(step, own) + "\n").collect()
    }

    fn step_text(&self, step: &Step, own: &str) -> String {
        let block = |steps: &[Step]| self.steps_text(steps, own);
        let not = |value: bool| if value { "" } else { "!" };
        let target = |to: Target, by_handler: bool| match to {
            Target::Declared(i) if by_handler => format!("h{i}"),
            Target::Declared(i) => LOOPERS[i].to_owned(),
            Target::Local(local) => format!("l{local}"),
        };
        let due = |when: When| match when {
            When::After(0) => String::new(),
            When::After(delay) => format!(" after {delay}"),
            When::At(instant) => format!(" at {instant}"),
            When::Front => " at front".to_owned(),
        };
        let name = |body: BodyIndex| &self.bodies[body].name;
        match step {
            Step::Mark(mark) => format!("@m{mark}: v = 1"),
            Step::Post { task, to, when, by_handler } => {
                format!("post {}(0) to {}{}", name(*task), target(*to, *by_handler), due(*when))
            }
            Step::Recur { task, to, when } => {
                let post = format!("post {}(0) to {}{}", name(*task), target(*to, false), due(*when));
                format!("if fetch_add(c, 0 - 1) > 0 {{ {post} }}")
            }
            Step::Again { to, when } => {
                format!("if i < 1 {{ post {own}(i + 1) to {}{} }}", target(*to, false), due(*when))
            }
            Step::Fork { task, local } => format!("let l{local} = fork {}(0)", name(*task)),
            Step::Spawn { local } => format!("let l{local} = spawn looper"),
            Step::Join(Joined::Local(local)) => format!("join l{local}"),
            Step::Join(Joined::Declared(thread)) => format!("join {}", name(*thread)),
            Step::Join(Joined::Looper(looper)) => format!("join {}", LOOPERS[*looper]),
            Step::If(condition, then, other) => {
                let condition = match condition {
                    Condition::Any => "*".to_owned(),
                    Condition::Flag(flag, value) => format!("{}g{flag}", not(*value)),
                };
                let other = if other.is_empty() { String::new() } else { format!(" else {{\n{}}}", block(other)) };
                format!("if {condition} {{\n{}}}{other}", block(then))
            }
            Step::Await(flag, value) => format!("await {}g{flag}", not(*value)),
            Step::Assert(flag, value) => format!("assert {}g{flag}", not(*value)),
            Step::Loop { local, body } => {
                format!("let l{local} = n\nwhile l{local} > 0 {{\nl{local} -= 1\n{}}}", block(body))
            }
            Step::Twice { local, body } => format!("for l{local} in 0..2 {{\n{}}}", block(body)),
            Step::Try(body, handler) => format!("try {{\n{}}} catch {{\n{}}}", block(body), block(handler)),
            Step::Throw => "throw Oops".to_owned(),
            Step::Return => "return".to_owned(),
            Step::Lock(lock, body) => format!("sync k{lock} {{\n{}}}", block(body)),
            Step::Set(flag, value) => format!("g{flag} = {value}"),
            Step::Up(of) => format!("up s{of}"),
            Step::Down(of) => format!("down s{of}"),
            Step::Cancel { task, looper, by_handler } => {
                let task = task.map_or("all", |task| name(task).as_str());
                format!("cancel {task} on {}", target(Target::Declared(*looper), *by_handler))
            }
            Step::Quit { looper, safely } => {
                format!("quit {}{}", LOOPERS[*looper], if *safely { " safely" } else { "" })
            }
            Step::Enable(event) => format!("enable {}()", name(*event)),
            Step::Disable(event) => format!("disable {}", name(*event)),
        }
    }
}
