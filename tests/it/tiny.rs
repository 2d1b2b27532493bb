//! Random tiny models: every kind of operation, few enough of them that all runs can be enumerated.

use raceflip::base::Rng;

/// The model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut g = Generator { rng: Rng::seeded(seed), names: 0 };
    let uncaught = g.pick(&["app", "thread"]);
    let prefer = g.pick(&["", " prefer readers", " prefer writers"]);
    let mut text = format!(
        "app \"tiny\" {{ uncaught = {uncaught} }}\nclass Box {{ var v = 0; var next: Box }}\nvar x = 0\nvar y = 0\n\
         var log: list[int] = [5]\nvar o: Box = null\nlet fixed = new Box\natomic n = 0\nlock m\nmutex k\ncondition c\n\
         rwlock rw{prefer}\nsemaphore s = 1\nbarrier bar = 2\nlooper main\nhandler h on main\nlistener l(i)\ntask quit_it() {{ quit self }}\n"
    );
    text += &format!("event e() on main initially {} {{ {} }}\n", g.rng.below(2), g.leaf());
    text += &format!("task t0(i) {{ {} }}\n", g.leaf());
    text += &format!("task t1(i) {{ {} }}\n", g.either(false));
    text += "task sum(i): int { let old = x; x = old + i; return old }\n";
    let daemon = g.pick(&["", "", "", "daemon "]);
    text += &format!("thread a {{ {}; {} }}\n", g.either(true), g.leaf());
    text += &format!("{daemon}thread b {{ {} }}\n", g.either(true));
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
    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.below(from.len() as u32) as usize]
    }

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

    // Ends soon.
    fn leaf(&mut self) -> String {
        self.pick(&[
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
            "fence main",
            "quit main",
            "quit main safely",
            "assert x != 2, \"two\"",
            "throw Oops",
            "if * { x = 1 } else { x = 2 }",
            "y = sum(2)",
            "o = new Box; o.next = fixed; fixed.v = 2",
        ])
        .to_owned()
    }

    fn queue(&mut self) -> String {
        let task = self.pick(&["t0(1)", "t1(2)", "t0(2)"]);
        let to = self.pick(&["main", "main", "h"]);
        let when =
            self.pick(&["", "", " after 2", " after 3", " at 2", " at 4", " at front", " async", " async after 2"]);
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
