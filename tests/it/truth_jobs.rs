//! Generates random models with async tasks, promises, channels and what a queue can do besides posts: timers, idle
//! handlers, microtasks, handles and tokens. Their races are as harmful as those of `truth_models`.
//!
//! The models are small enough for `truth`: whatever repeats is cancelled soon.

use crate::truth_models::{Generator, LEAVES};
use raceflip::base::mix;

/// Statements of an async task. `$s` stands for a leaf, `$w` for a suspension point, `$j` for a task to launch.
const ASYNC: [&str; 35] = [
    "$s",
    "$s",
    "$w",
    "$w; $s",
    "$s; $w; $s",
    "let $n = $v; $w; $v = $n + $k",
    "let $n = $v; $w; assert $n == $v, \"$m\"",
    "down s; $s; up s",
    "down s; $s; yield; $s; up s",
    "down s; try { $w; $s } finally { up s }",
    "if (down s for 2) { $s; up s }",
    "try { $w; $s } finally { $s }",
    "try { $w; $s } catch { $s }",
    "try { $w } catch Cancelled { $s }",
    "if !(await $v == $k for 2) { $s }",
    "switch to other; $s",
    "switch to other; $s; switch to main; $s",
    "launch $j; $s",
    "launch $j now; $s",
    "launch $j on other; $s",
    "launch $j detached; $s",
    "let $n = launch $j; join $n; $s",
    "let $n = launch $j; $s; cancel $n",
    "kept = launch $j",
    "g($k)",
    "sync m { $s }",
    "$s; send c $k; $s",
    "let $n = recv c; $s",
    "$s; send d $k",
    "recv d; $s",
    "select { recv c as $n { x = $n }; send d $k { $s }; after 2 { $s } }",
    "scope { launch $j; $s }; $s",
    "try { scope { launch $j now; $w } } catch { $s }",
    "supervise { launch $j; $s }",
    "try { $w; $s } finally { uncancellable { $w; $s } }",
];

/// Suspension points.
const SUSPENSIONS: [&str; 5] = ["yield", "yield", "sleep 2", "await $v == $k", "switch to other"];

/// Statements of threads that start jobs.
const STARTS: [&str; 12] = [
    "launch $j on main",
    "launch $j on main; $s",
    "launch $j on main; launch $j on main",
    "let $n = launch $j on main; join $n; $s",
    "let $n = launch $j on main; cancel $n; $s",
    "let $n = launch $j on main; if $n.done { $s }",
    "let $n = launch $j on main; $s; cancel $n",
    "let $n = spawn scope; launch $j on main in $n; $s; cancel $n",
    "if kept != null { cancel kept }",
    "if kept != null { join kept; $s }",
    "let $n = launch r() on main; join $n; let $n_ = $n.result; assert $n_ != $k, \"$m\"",
    "post go() to main",
];

/// Statements about channels.
const CHANNELS: [&str; 22] = [
    "send c $k",
    "send c $k; $s",
    "let $n = recv c; $s",
    "let $n = recv c; assert $n != $k, \"$m\"",
    "recv c",
    "send d $k; $s",
    "$s; send d $k",
    "recv d; $s",
    "let $n = recv d; x = $n",
    "send e $k",
    "let $n = recv e; assert $n != $k, \"$m\"",
    "close c",
    "$s; close c",
    "for $n in c { $s }",
    "if c.closed { $s }",
    "if c.len > 0 { $s }",
    "select { recv c as $n { x = $n }; recv e { $s } }",
    "select { recv c { $s }; send d $k { $s } }",
    "select { recv d { $s }; after 2 { $s } }",
    "select { recv c { $s }; else { $s } }",
    "select { send d $k { $s }; else { $s } }",
    "select { send c $k { $s }; recv d as $n { y = $n } }",
];

/// Statements about queues.
const QUEUES: [&str; 22] = [
    "post $t to main; $s",
    "post $t to main after 2",
    "post tick() to main every 2",
    "post tick() to main every 2 daemon",
    "post tick() to main at 1 every 1; $s",
    "let $n = post tick() to main every 1; $s; cancel $n",
    "post $t to main daemon",
    "post $t to main idle",
    "post $t to main idle; post $t to main",
    "post $t to main idle; post $t to main after 2",
    "post keep() to main idle keep; post $t to main",
    "let $n = post $t to main; $s; cancel $n",
    "let $n = post $t to main after 2; if (cancel $n) { $s }",
    "let $n = post $t to main idle; $s; cancel $n",
    "post $t to main with fixed; post $t to main; cancel t with fixed on main",
    "post $t to main with fixed; $s; cancel all with fixed on main",
    "cancel all with fixed on main",
    "post $t to main or now; $s",
    "post go() to main",
    "quit main safely",
    "sync m for 2 { $s } else { $s }",
    "w.add(1); post done() to main; w.wait(); $s",
];

/// Statements of the tasks of a looper.
const TASKS: [&str; 9] = [
    "$s",
    "$s",
    "$s; $s",
    "post $t to self micro; $s",
    "post u(1) to self micro; post u(2) to self micro",
    "post u(1) to main or now; $s",
    "post u(1) to main idle; $s",
    "cancel all with fixed on main; $s",
    "sync m { $s }",
];

/// Returns the model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let jobs = [&STARTS[..], &["$s"]].concat();
    let tables: [(&str, &[&'static str]); 8] = [
        ("$J", &jobs),
        ("$C", &CHANNELS),
        ("$Q", &QUEUES),
        ("$A", &ASYNC),
        ("$T", &TASKS),
        ("$w", &SUSPENSIONS),
        ("$j", &["f()", "f()", "g(0)", "g(1)"]),
        ("$s", &LEAVES),
    ];
    let mut g = Generator::new(mix(seed, 0x10b5), &tables, &["t(0)", "t(1)", "u(0)"]);
    let uncaught = g.uncaught();
    let micro = if g.rng.below(3) == 0 { " micro" } else { "" };
    // One theme, or two: with all three a model has too many states.
    let (one, two) = [("$J", "$J"), ("$J", "$J"), ("$C", "$C"), ("$Q", "$Q"), ("$J", "$C"), ("$J", "$Q"), ("$C", "$Q")]
        [g.rng.below(7) as usize];
    let [more, last] = [0; 2].map(|_| if g.rng.coin() { "; $s" } else { "" });
    let mut body = format!("thread a {{ {one}{more} }}\nthread b {{ {two}{last} }}\n");
    body += ["", "", "thread h { $s }\n", "daemon thread h { $C }\n"][g.rng.below(4) as usize];
    body += "async task f()$M { $A; $A }\nasync task g(i)$M { $s; $w; $s }\nasync task r(): int { $w; return $v }\n";
    body += "task go() { launch $j; $s }\ntask t(i) { $T }\ntask u(i) { $s }\n";
    body += "task tick() { $s; if fetch_add(ticks, 1) > 0 { cancel tick on main } }\n";
    body += "task keep() { $s; if fetch_add(ticks, 1) > 0 { cancel keep on main } }\ntask done() { $s; w.done() }\n";
    let first = if g.rng.coin() { "null" } else { "fixed" };
    let body = g.fill(body.replace("$M", micro));
    format!(
        "app \"generated\" {{ uncaught = {uncaught} }}\nclass Box {{ var v = 0 }}\nvar x = 0\nvar y = 1\n\
         let fixed = new Box\nvar o: Box = {first}\nvar l: list[int] = [1]\nvar kept: job = null\natomic ticks = 0\n\
         lock m\nsemaphore s = 1\nwaitgroup w\nchannel c: int[1]\nchannel d: int[0]\nchannel e: int[conflated]\n\
         looper main\nlooper other\n{body}\n"
    )
}
