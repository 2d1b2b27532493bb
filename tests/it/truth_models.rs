//! Generates random models whose races are harmful: they assert values that they read, and they fail early or late,
//! always or rarely, in threads, tasks, events and arrays of threads.
//!
//! The models are small enough for `truth`. `small` covers every kind of operation; these models cover the ways in
//! which an order matters, and the ways in which it only seems to matter.

use raceflip::base::{Rng, mix};

/// Statements that end soon. `$n` stands for a new name, `$k` for a small number, `$m` for a message, `$v` for a
/// variable.
pub(crate) const LEAVES: [&str; 30] = [
    "$v = $k",
    "$v = $k",
    "$v += 1",
    "let $n = $v; assert $n != $k, \"$m\"",
    "let $n = $v; assert $n == $k, \"$m\"",
    "let $n = $v; if $n == $k { throw Oops$k }",
    "assert x == y, \"$m\"",
    "let $n = x; let $n_ = x; assert $n == $n_, \"$m\"",
    "let $n = x; x = $n * 2 + y",
    // These fail at a rate of 1/2, 1/4 or 1/8 even if `$v` is not `$k`, so the order of accesses changes only the rate.
    "let $n = $v == $k; if * { $n = true }; assert !$n, \"$m\"",
    "let $n = $v == $k; if * { if * { $n = true } }; assert !$n, \"$m\"",
    "let $n = $v == $k; if * { if * { if * { $n = true } } }; assert !$n, \"$m\"",
    "if * { fail \"$m\" }",
    "if * { if * { $v = $k } }",
    "use o",
    "if o != null { use o }",
    "o = fixed",
    "o = null",
    "o.v = $k",
    "delete fixed",
    "fixed.v = $k",
    "$v = fixed.v",
    "let $n = fixed.v; assert $n != $k, \"$m\"",
    "l.push($k)",
    "if l.len > 0 { let $n = l.pop() }",
    "for $n in l { skip }",
    "skip; skip; skip; o = fixed",
    "skip; skip; $v = $k",
    "try { $v = $k / $v } catch Arithmetic { $v = $k }",
    "$v = 4 / $v",
];

/// Statements of threads. `$s` stands for a leaf, `$t` for a task to post.
const STATEMENTS: [&str; 41] = [
    "$s",
    "$s",
    "$s",
    "$s",
    "$s; $s",
    "if * { $s }",
    "if * { $s } else { $s }",
    "sync m { $s }",
    "sync m { $s; $s }",
    "acquire m; $s; release m",
    "acquire m; $s",
    "sync m { if x == $k { wait m } }",
    "sync m { wait m for 2; $s }",
    "sync m { $v = $k; notify_all m }",
    "sync m { notify m }",
    "sync m2 { sync m { $s } }",
    "sync m { sync m2 { $s } }",
    "down s; $s; up s",
    "down s; $s",
    "if (down s for 2) { $s; up s } else { $s }",
    "up s",
    "await $v == $k; $s",
    "if !(await $v == $k for 2) { $s }",
    "for $n in 0..2 { $s }",
    "let $n = 0; while $n < 2 { $s; $n += 1 }",
    "while y == 1 { y = 2 }",
    "sleep 2; $s",
    "join (fork w())",
    "let $n = fork w(); $s; join $n",
    "fork w()",
    "post $t to main",
    "post $t to main",
    "post $t to main; post $t to main",
    "post $t to main after 2",
    "post $t to main at front",
    "post $t to other",
    "post $t to main; cancel t on main",
    "sync m { post $t to main }",
    "enable e()",
    "let $n = fence main; post $t to main; $s; lift $n",
    "throw Oops",
];

/// Bodies of tasks. A task may post itself again.
const TASKS: [&str; 5] =
    ["$s", "$s; $s", "$s; if i < 1 { post t(i + 1) to main }", "if i == 1 { $s } else { $s }", "sync m { $s }"];

/// Declarations of threads besides `a` and `b`.
const OTHERS: [&str; 8] = [
    "",
    "",
    "thread c { $S }",
    "daemon thread c { $s; $s }",
    "thread c(i in 0..2) { $S }",
    "thread c(i in 0..2) { sync m { if x == 0 { x = 1 } else { $s } } }",
    "thread c(i in 0..2) { let mine = false; sync m { if x == 0 { x = 3; mine = true } }; if !mine { await false } }",
    "thread c { for k in 0..2 { $s } }",
];

/// Returns the model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let tables = [("$S", &STATEMENTS[..]), ("$T", &TASKS), ("$s", &LEAVES)];
    let mut g = Generator::new(mix(seed, 0x7207), &tables, &["t(0)", "t(1)", "u(0)"]);
    let uncaught = g.uncaught();
    let mut body = String::new();
    body += "task t(i) { $T }\ntask u(i) { $T }\ntask w() { $s }\nevent e() on main { $s }\n";
    body += "thread a { $S; $S }\nthread b { $S";
    body += if g.rng.coin() { " }\n" } else { "; $S }\n" };
    body += g.rng.pick(&OTHERS);
    let first = if g.rng.coin() { "null" } else { "fixed" };
    let body = g.fill(body);
    format!(
        "app \"generated\" {{ uncaught = {uncaught} }}\nclass Box {{ var v = 0 }}\nvar x = 0\nvar y = 1\n\
         let fixed = new Box\nvar o: Box = {first}\nvar l: list[int] = [1]\nlock m\nlock m2\nsemaphore s = 1\n\
         looper main\nlooper other\n{body}\n"
    )
}

/// Fills the placeholders of a model with random statements.
pub(crate) struct Generator<'t> {
    pub(crate) rng: Rng,
    names: u32,
    /// Placeholders of statements, the outer ones first, each with what may stand in its place.
    tables: &'t [(&'t str, &'t [&'static str])],
    /// What stands for `$t`.
    tasks: &'t [&'static str],
}

impl<'t> Generator<'t> {
    pub(crate) fn new(seed: u64, tables: &'t [(&'t str, &'t [&'static str])], tasks: &'t [&'static str]) -> Self {
        Self { rng: Rng::seeded(seed), names: 0, tables, tasks }
    }

    /// Returns what an uncaught exception ends.
    pub(crate) fn uncaught(&mut self) -> &'static str {
        if self.rng.below(4) == 0 { "thread" } else { "app" }
    }

    /// Fills each placeholder on its own, the outer ones first. One statement gets one new name.
    pub(crate) fn fill(&mut self, mut text: String) -> String {
        for (hole, table) in self.tables {
            while text.contains(hole) {
                self.names += 1;
                let name = format!("n{}", self.names);
                let filling = self.rng.pick(table).replace("$n", &name).replace("$m", &format!("m{}", self.names));
                text = text.replacen(hole, &filling, 1);
            }
        }
        for (hole, table) in [("$t", self.tasks), ("$k", &["0", "1", "2"]), ("$v", &["x", "x", "y"])] {
            while text.contains(hole) {
                text = text.replacen(hole, self.rng.pick(table), 1);
            }
        }
        text
    }
}
