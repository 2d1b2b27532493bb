//! Generates random small models with every kind of operation, each so small that all its runs can be enumerated on a
//! clock of milliseconds (`stateless`).
//!
//! A model consists of threads and tasks with a few statements each. The statements are drawn from tables, up to a
//! budget of steps; only names that occur in them are declared. `tiny` generates larger models.

use crate::stateless::{facts, words};
use raceflip::base::Rng;
use raceflip::vm::Model;

/// Declarations, each with the word that requires it.
const DECLARATIONS: [(&str, &str); 17] = [
    ("Box", "class Box { var v = 0; var next: Box }"),
    ("x", "var x = 0"),
    ("y", "var y = 0"),
    ("log", "var log: list[int] = [5]"),
    ("o", "var o: Box = null"),
    ("fixed", "let fixed = new Box"),
    ("n", "atomic n = 0"),
    ("m", "lock m"),
    ("k", "mutex k"),
    ("c", "condition c"),
    ("s", "semaphore s = 1"),
    ("bar", "barrier bar = 2"),
    ("l", "listener l(i)"),
    ("main", "looper main"),
    ("h", "handler h on main"),
    ("say", "task say(i) { log.push(i) }"),
    ("stop", "task stop() { quit self }"),
];

/// Statements, each with its approximate number of steps. `$l` stands for another statement, `$d` for a delay, `$a` for
/// an instant, `$n` for a new name, `$q` for a looper or handler, `$t` for a task to post, `$c` for what to cancel.
const STATEMENTS: [(u32, &str); 71] = [
    (1, "x = 1"),
    (1, "x = 2"),
    (2, "x += 1"),
    (2, "y = x"),
    (1, "y = 1"),
    (1, "log.push(1)"),
    (1, "log.push(2)"),
    (1, "log.push(3)"),
    (2, "log.push(x)"),
    (2, "x = y + 1"),
    (3, "x += y"),
    (1, "log.clear()"),
    (2, "if log.len > 0 { x = log.pop() }"),
    (4, "for $n in log { x = $n }"),
    (1, "fetch_add(n, 1)"),
    (2, "if cas(n, 0, 2) { x = 3 }"),
    (2, "y = n"),
    (2, "n = exchange(n, 4)"),
    (1, "o = new Box"),
    (2, "let $n = new Box; $n.v = 3; o = $n"),
    (1, "o = fixed"),
    (1, "o = null"),
    (1, "fixed.v = 1"),
    (2, "x = fixed.v"),
    (2, "o.v = 2"),
    (3, "y = o.v"),
    (2, "let $n = o; if $n != null { use $n }"),
    (1, "use fixed"),
    (1, "delete fixed"),
    (2, "delete o"),
    (3, "sync o { $l }"),
    (3, "let $n = new Box; fixed.next = $n; $l"),
    (2, "sync m { $l }"),
    (2, "sync k { $l }"),
    (2, "sync fixed { $l }"),
    (1, "acquire m"),
    (1, "release m"),
    (4, "sync m { wait m }"),
    (4, "sync m { wait m for $d }"),
    (3, "sync m { notify m }"),
    (3, "sync m { notify_all m }"),
    (4, "sync k { wait c with k for $d }"),
    (4, "sync k { wait c with k }"),
    (1, "signal c"),
    (1, "signal_all c"),
    (2, "read rw { $l }"),
    (2, "write rw { $l }"),
    (1, "down s"),
    (1, "if !(down s for $d) { y = 5 }"),
    (1, "up s"),
    (2, "arrive bar"),
    (2, "sleep $d"),
    (2, "try { sleep $d } catch Interrupted { y = 6 }"),
    (1, "interrupt a"),
    (1, "interrupt b"),
    (1, "await x == 1"),
    (2, "if !(await x == 1 for $d) { y = 4 }"),
    (2, "assert x != 2, \"two\""),
    (0, "throw Oops"),
    (1, "try { $l } catch { y = 9 }"),
    (1, "try { $l } finally { y = 7 }"),
    (1, "if * { $l } else { $l }"),
    (1, "if * { $l } else { skip }"),
    (2, "if * { delete fixed } else { skip }"),
    (2, "let $n = x; $l; x = $n + 10"),
    (2, "register say to l; perform l(3)"),
    (1, "register say to l"),
    (2, "unregister say from l; perform l(4)"),
    (1, "unregister say from l"),
    (1, "skip"),
    (1, "yield"),
];

/// Statements about queues and about new threads, each with its approximate number of steps. The placeholders are those
/// of [`STATEMENTS`].
const QUEUES: [(u32, &str); 47] = [
    (2, "post $t to $q"),
    (2, "post $t to $q"),
    (2, "post $t to $q after $d"),
    (2, "post $t to $q after $d"),
    (2, "post $t to self micro"),
    (3, "post $t to self micro; post $t to self micro"),
    (3, "post $t to self micro; post $t to $q at front"),
    (2, "post $t to $q or now"),
    (2, "post $t to $q idle"),
    (3, "post $t to $q with fixed; cancel $c with fixed on $q"),
    (4, "post $t to $q after $d with fixed; post $t to $q; cancel $c with fixed on $q"),
    (3, "let $n = post $t to $q; if (cancel $n) { y = 8 }"),
    (3, "let $n = post $t to $q after $d; sleep $d; cancel $n"),
    (2, "post $t to $q daemon"),
    (3, "post $t to $q after $d daemon; post $t to $q"),
    (4, "post $t to $q idle keep; post $t to $q after $d"),
    (4, "post $t to $q idle; post $t to $q after $d"),
    (2, "post $t to $q at $a"),
    (3, "post $t to $q at $a; post $t to $q"),
    (2, "post $t to $q at front"),
    (2, "post $t to $q async"),
    (4, "let $n = fence main; if * { post $t to main async } else { post $t to main }; lift $n"),
    (2, "post $t to $q async after $d"),
    (4, "post $t to $q after $d; post $t to $q"),
    (4, "post $t to $q after $d; post $t to $q after $d"),
    (4, "post $t to $q; post $t to $q at front"),
    (3, "post $t to $q after $d; cancel $c on $q"),
    (3, "post $t to $q; cancel $c on $q"),
    (3, "post $t to $q after $d; quit main safely"),
    (3, "post $t to $q; quit main safely"),
    (3, "post $t to $q; quit main"),
    (3, "if !(post $t to $q) { y = 5 }"),
    (4, "let $n = fence main; post $t to $q async; lift $n"),
    (4, "let $n = fence main; post $t to $q; lift $n"),
    (3, "fence main; post $t to $q async after $d"),
    (1, "fence main"),
    (1, "cancel $c on $q"),
    (1, "quit main"),
    (1, "quit main safely"),
    (1, "enable e()"),
    (2, "enable e(); disable e"),
    (1, "disable e"),
    (3, "let $n = handler on main; post $t to $n; cancel all on $n"),
    (4, "let $n = fork do_it(1); $l; join $n"),
    (3, "fork do_it(2); $l"),
    (1, "join b"),
    (6, "let $n = spawn looper; post say(1) to $n; post stop() to $n after $d"),
];

/// The whole body of a thread that becomes a looper.
const LOOPER: &str = "attach queue; post say(2) to self after $d; post stop() to self after $d; loop queue";

/// Returns the random model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut rng = Rng::seeded(seed);
    let unit = [1, 1, 1, 2, 3, 5][rng.below(6) as usize];
    let mut g = Generator { rng, unit, names: 0, left: 0, in_go: false };
    let threads = if g.rng.below(3) == 0 { 3 } else { 2 };
    // Three threads have more orders, and so do delays, so the budget is smaller with three threads.
    g.left = if threads == 3 { 6 } else { 9 } - i64::from(g.rng.below(2));
    let queue = g.rng.below(5) > 1;
    let mut text = String::new();
    let first = g.rng.below(threads);
    for name in (0..threads).map(|i| ["a", "b", "d"][((first + i) % threads) as usize]) {
        let daemon = if name != "a" && g.rng.below(8) == 0 { "daemon " } else { "" };
        let body = if queue && g.rng.below(16) == 0 { g.looper() } else { g.body(queue, 3) };
        text += &format!("{daemon}thread {name} {{ {body} }}\n");
    }
    if has_word(&text, "go") {
        (g.left, g.in_go) = (4, true);
        text += &format!("task go() {{ {} }}\n", g.body(true, 2));
    }
    for (name, head) in [("do_it", "task do_it(i)"), ("e", "event e() on main")] {
        if has_word(&text, name) {
            let often = if name == "e" { g.rng.pick(&["", "", " initially 1"]) } else { "" };
            g.left = 2;
            text += &format!("{head}{often} {{ {} }}\n", g.body(false, 1));
        }
    }
    match g.rng.below(12) {
        0 => text += "property few always { x < 3 }\n",
        1 => text += "property less at end { x != 1 }\n",
        _ => {}
    }
    let uncaught = g.rng.pick(&["app", "thread"]);
    let mut head = format!("app \"small\" {{ uncaught = {uncaught} }}\n");
    if has_word(&text, "rw") {
        head += &format!("rwlock rw{}\n", g.rng.pick(&["", " prefer readers", " prefer writers"]));
    }
    // The last declarations come first, so that the names in them are declared as well.
    for (word, declaration) in DECLARATIONS.iter().rev() {
        if has_word(&text, word) || has_word(&head, word) {
            head += &format!("{declaration}\n");
        }
    }
    head + &text
}

/// Returns whether a text contains a word that is not part of a longer word, a field or a string.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '"';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(|c: char| inside(c) || c == '.') && !text[at + word.len()..].starts_with(inside)
    })
}

struct Generator {
    rng: Rng,
    /// Unit of time in milliseconds; all delays are multiples of it.
    unit: u32,
    names: u32,
    /// Approximate number of steps that the threads may still have.
    left: i64,
    /// Whether the body of `go` is being generated, which posts only tasks that do not post.
    in_go: bool,
}

impl Generator {
    fn body(&mut self, queue: bool, most: u32) -> String {
        let count = 1 + self.rng.below(most);
        let all: Vec<String> = (0..count).filter_map(|i| self.statement(queue, i == 0)).collect();
        all.join("; ")
    }

    // Returns `None` if no statement fits the budget any more.
    fn statement(&mut self, queue: bool, first: bool) -> Option<String> {
        for _ in 0..6 {
            let from: &[(u32, &str)] = if queue && self.rng.coin() { &QUEUES } else { &STATEMENTS };
            let (cost, text) = from[self.rng.below(from.len() as u32) as usize];
            // Only a looper has microtasks, so most of them are in its tasks.
            if text.contains("micro") && !self.in_go && self.rng.below(4) > 0 {
                continue;
            }
            if i64::from(cost) <= self.left {
                self.left -= i64::from(cost);
                return Some(self.fill(text));
            }
        }
        first.then(|| self.leaf())
    }

    fn looper(&mut self) -> String {
        self.left -= 7;
        self.fill(LOOPER)
    }

    // Returns a statement of at most two steps that contains no other statement.
    fn leaf(&mut self) -> String {
        loop {
            let (cost, text) = STATEMENTS[self.rng.below(STATEMENTS.len() as u32) as usize];
            if cost <= 2 && !text.contains("$l") {
                self.left -= i64::from(cost);
                return self.fill(text);
            }
        }
    }

    // Returns a delay that is a multiple of the unit: at most six milliseconds and three units, but at least one unit.
    fn delay(&mut self) -> u32 {
        self.unit * (1 + self.rng.below((6 / self.unit).min(3)))
    }

    fn fill(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains("$n") {
            self.names += 1;
            text = text.replace("$n", &format!("z{}", self.names));
        }
        // Each placeholder is filled on its own.
        for hole in ["$l", "$d", "$a", "$q", "$t", "$c"] {
            while text.contains(hole) {
                let word = match hole {
                    "$l" => self.leaf(),
                    "$d" => self.delay().to_string(),
                    "$a" if self.rng.below(5) == 0 => "0".to_owned(),
                    "$a" => (1 + self.delay()).to_string(),
                    "$q" => self.rng.pick(&["main", "main", "h"]).to_owned(),
                    "$t" if self.in_go => self.rng.pick(&["say(3)", "say(4)"]).to_owned(),
                    "$t" => self.rng.pick(&["say(1)", "say(1)", "say(2)", "do_it(3)", "go()"]).to_owned(),
                    _ => self.rng.pick(&["say", "all"]).to_owned(),
                };
                text = text.replacen(hole, &word, 1);
            }
        }
        text
    }
}

/// For each kind of operation, a text that occurs in a model with that kind; the texts are separated by `|`.
const KINDS: &str = "\
    x = 1|x += 1|y = x|log.push(|log.clear()|log.pop()|in log|fetch_add(|cas(|exchange(|new Box;|let fixed|o = null|fixed.v|o.v|\
    use |delete |sync m|sync k|sync fixed|acquire m|release m|wait m }|wait m for|notify m|notify_all m|with k for|with k }|\
    signal c|signal_all c|read rw|write rw|prefer readers|prefer writers|down s }|down s for|up s|arrive bar|sleep |interrupt |await x == 1 }|\
    await x == 1 for|assert |throw |catch |finally |if *|perform l|unregister say|daemon |always|at end|uncaught = thread|after |at front|async|micro|or now|idle;|idle }|idle keep|with fixed on|(cancel z|daemon;|\
    cancel say|cancel all|fence main|lift |quit main }|quit main safely|enable e|disable e|initially 1|on main;|fork do_it|\
    join z|join b|spawn looper|attach queue|to h| at 4| at 0|after 5|after 3|thread d";

#[test]
fn every_kind_of_operation_is_in_some_of_the_small_models() {
    const MODELS: u64 = 3_000;
    let texts: Vec<String> = (0..MODELS).map(model).collect();
    let often = |kind: &str| texts.iter().filter(|t| t.contains(kind)).count() as u64;
    let rare: Vec<(&str, u64)> = KINDS.split('|').map(|k| (k, often(k))).filter(|(_, n)| *n < MODELS / 250).collect();
    assert!(rare.is_empty(), "in fewer than one in 250 models: {rare:?}");
}

#[test]
fn small_models_are_small() {
    const MODELS: u64 = 100;
    let fits = |seed: &u64| {
        let model = Model::from_text("small", &model(*seed), &[]).unwrap();
        facts(&model, &words(&model.program), 30_000).is_some()
    };
    let fitting = (0..MODELS).filter(fits).count() as u64;
    assert!(fitting >= MODELS * 8 / 10, "only {fitting} of {MODELS} models have few runs");
}
