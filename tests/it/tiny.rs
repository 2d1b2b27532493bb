//! Generates random tiny models with every kind of operation, and few enough operations that all runs can be
//! enumerated.

use raceflip::base::Rng;

/// Statements that end soon in any context.
const LEAVES: [&str; 51] = [
    "x = 1",
    "x = 2",
    "x += 1",
    "y = x",
    "y = 1",
    "log.push(1)",
    "log.clear()",
    "if log.len > 0 { x = log.pop() }",
    "fetch_add(n, 1)",
    "if cas(n, 0, 2) { x = 3 }",
    "o = new Box",
    "o = fixed",
    "o = null",
    "fixed.v = 1",
    "x = fixed.v",
    "use o",
    "delete fixed",
    "y = o.v",
    "signal c",
    "sync m { notify m }",
    "sync k { wait c with k for 3 }",
    "sync m { wait m }",
    "up s",
    "down s",
    "if !(down s for 3) { y = 5 }",
    "down s for 0",
    "arrive bar",
    "sleep 2",
    "interrupt a",
    "interrupt b",
    "await x == 1",
    "if !(await o.v == 1 for 3) { y = 4 }",
    "enable e()",
    "disable e",
    "cancel all on main",
    "lift (fence main)",
    "perform l(3)",
    "register t0 to l",
    "sync m { wait m for 2 }",
    "sync m { notify_all m }",
    "acquire m",
    "release m",
    "read rw { x = 4 }",
    "fence main",
    "quit main",
    "quit main safely",
    "assert x != 2, \"two\"",
    "throw Oops",
    "if * { x = 1 } else { x = 2 }",
    "y = sum(2)",
    "o = new Box; o.next = fixed; fixed.v = 2",
];

/// Statements for threads only, because a task that posts could post without end.
const POSTS: [&str; 11] = [
    "post t0(1) to main",
    "post t0(2) to h",
    "post t0(3) to main async",
    "post t0(4) to main at front",
    "post t0(5) to main at 2",
    "post t1(6) to main after 2",
    "cancel t0 on h",
    "cancel t0 on main",
    "sleep 3; post t0(7) to main",
    "sync m { acquire m; wait m }",
    "let f = fence main; post t0(8) to main async; lift f",
];

const APP: &str = "
class Box { var v = 0; var next: Box }
var x = 0
var y = 0
var log: list[int] = [5]
var o: Box = null
let fixed = new Box
atomic n = 0
lock m
mutex k
condition c
semaphore s = 1
barrier bar = 2
looper main
handler h on main
listener l(i)
task quit_it() { quit self }
task sum(i): int { let old = x; x = old + i; return old }
";

/// Returns models for each pair of statements: the first one may have been performed before the second, and the program
/// counter does not say whether it was.
pub(crate) fn pairs() -> impl Iterator<Item = String> {
    let all = || LEAVES.iter().chain(&POSTS);
    all().flat_map(move |effect| all().map(move |probe| pair(effect, probe)))
}

fn pair(effect: &str, probe: &str) -> String {
    format!(
        "app \"pair\" {{ uncaught = thread }}\n{APP}rwlock rw prefer writers\nevent e() on main {{ y = 3 }}\n\
         task t0(i) {{ log.push(i) }}\ntask t1(i) {{ log.push(i) }}\n\
         thread a {{ if * {{ {effect} }}; if true {{ {probe} }} }}\nthread b {{ x = 1 }}\n"
    )
}

/// Returns the random model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut g = Generator { rng: Rng::seeded(seed), names: 0 };
    let uncaught = g.rng.pick(&["app", "thread"]);
    let prefer = g.rng.pick(&["", " prefer readers", " prefer writers"]);
    let mut text = format!("app \"tiny\" {{ uncaught = {uncaught} }}\n{APP}rwlock rw{prefer}\n");
    text += &format!("event e() on main initially {} {{ {} }}\n", g.rng.below(2), g.leaf());
    text += &format!("task t0(i) {{ {} }}\n", g.leaf());
    text += &format!("task t1(i) {{ {} }}\n", g.either(false));
    let daemon = g.rng.pick(&["", "", "", "daemon "]);
    let (first, second) = (g.either(true), g.leaf());
    text += &format!("thread a {{ {first}; {second} }}\n{daemon}thread b {{ {} }}\n", g.either(true));
    if g.rng.coin() {
        text += &format!("thread d {{ {} }}\n", g.leaf());
    }
    text
}

struct Generator {
    rng: Rng,
    names: u32,
}

impl Generator {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("z{}", self.names)
    }

    fn either(&mut self, posts: bool) -> String {
        match self.rng.below(5) {
            0 | 1 if posts => self.queue(),
            2 => self.leaf(),
            _ => self.nested(posts),
        }
    }

    // Returns a statement that ends soon.
    fn leaf(&mut self) -> String {
        self.rng.pick(&LEAVES).to_owned()
    }

    fn queue(&mut self) -> String {
        let task = self.rng.pick(&["t0(1)", "t1(2)", "t0(2)"]);
        let to = self.rng.pick(&["main", "main", "h"]);
        let when =
            self.rng.pick(&["", "", " after 2", " after 3", " at 2", " at 4", " at front", " async", " async after 2"]);
        let post = format!("post {task} to {to}{when}");
        match self.rng.below(8) {
            0 => format!("{post}; post t0(3) to main"),
            1 => format!("{post}; cancel t0 on h"),
            2 => format!("{post}; quit main safely"),
            3 => format!("{post}; sleep 2; {}", self.leaf()),
            4 => {
                let f = self.name();
                format!("let {f} = fence main; {post}; lift {f}")
            }
            5 => format!("if !({post}) {{ y = 5 }}"),
            6 => format!("attach queue; post t0(1) to self; {}; post quit_it() to self; loop queue", self.leaf()),
            _ => post,
        }
    }

    fn nested(&mut self, posts: bool) -> String {
        let inner = self.leaf();
        let name = self.name();
        match self.rng.below(if posts { 17 } else { 13 }) {
            0 => format!("sync m {{ {inner} }}"),
            1 => format!("sync k {{ {inner} }}"),
            2 => format!("sync fixed {{ {inner} }}"),
            3 => format!("read rw {{ {inner} }}"),
            4 => format!("write rw {{ {inner} }}"),
            5 => format!("try {{ {inner} }} catch {{ y = 9 }}"),
            6 => format!("try {{ {inner} }} finally {{ y = 7 }}"),
            7 => format!("for {name} in log {{ x = {name} }}; {inner}"),
            8 => format!("let {name}: int[2]; {name}[x & 1] = 3; {inner}; y = {name}[n & 1]"),
            9 => format!("let {name}: Box = fixed; sync {name} {{ {name} = new Box; {inner} }}"),
            10 => format!("register t0 to l; let {name} = x; try {{ perform l(1) }} catch {{ y = {name} + 20 }}"),
            11 => format!("let {name} = x; {inner}; x = {name} + 10"),
            12 => format!("for {name} in 0..2 {{ if {name} == y {{ continue }}; {inner} }}"),
            13 => format!("let {name} = fork t0(1); {inner}; join {name}"),
            14 => format!("fork t1(1); {inner}"),
            15 => format!("let {name} = spawn looper; post t0(1) to {name}; {inner}"),
            _ => format!("acquire m; {inner}; release m"),
        }
    }
}
