//! Generates models of which a reduced search leaves much out: threads that share only some of their variables, locks,
//! semaphores and queues, with loops in which some wait for others.

use raceflip::base::{Rng, mix};

/// Declarations, each with the word that requires it.
const DECLARATIONS: [(&str, &str); 16] = [
    ("x", "var x = 0"),
    ("y", "var y = 0"),
    ("z", "var z = 0"),
    ("a", "var a: int[3]"),
    ("n", "atomic n = 0"),
    ("l", "lock l[2]"),
    ("m", "mutex m"),
    ("c", "condition c"),
    ("s", "semaphore s = 1"),
    ("u", "semaphore u = 0"),
    ("rw", "rwlock rw$p"),
    ("bar", "barrier bar = 2"),
    ("main", "looper main"),
    ("other", "looper other"),
    ("one", "task one(i) { $K }"),
    ("two", "task two(i) { $K; $K }"),
];

/// Statements without others. `$v` stands for a variable, `$i` for the number of the thread, `$d` for 0, 1 or 2.
const LEAVES: [&str; 33] = [
    "x = $d",
    "y = $d",
    "z = $d",
    "x += 1",
    "y = x",
    "z = y + x",
    "a[$i] = $d",
    "a[$i] += 1",
    "a[$d] = $d",
    "x = a[$i]",
    "assert a[$i] < 2",
    "assert x < 2",
    "assert x + y < 3",
    "if y == 2 { throw Oops }",
    "fetch_add(n, 1)",
    "n = $d",
    "if cas(n, 0, 1) { z = 1 }",
    "await n > 0",
    "await x == 1 || y == 1",
    "down s",
    "up s",
    "down u",
    "up u",
    "arrive bar",
    "post one($d) to main",
    "post two($i) to main",
    "post one($d) to other",
    "post two($d) to other at front",
    "signal c",
    "signal_all c",
    "cancel one on main",
    "skip",
    "yield",
];

/// Statements around others, and loops. `$L` stands for a leaf, `$n` for a new name.
const AROUND: [&str; 21] = [
    "$L",
    "$L",
    "$L; $L",
    "sync l[0] { $L }",
    "sync l[1] { $L; $L }",
    "sync l[$i % 2] { $L }",
    "sync m { $L }",
    "sync l[0] { sync l[1] { $L } }",
    "sync m { sync l[$i % 2] { $L } }",
    "sync m { if x == 0 { wait c with m }; $L }",
    "sync m { x = 1; signal c }",
    "read rw { $L }",
    "write rw { $L; $L }",
    "down s; $L; up s",
    "if * { $L } else { $L }",
    "for $n in 0..2 { $L }",
    "while n == 0 { yield }",
    "loop { $L; $L }",
    "loop { sync l[$i % 2] { $L } }",
    "try { $L; $L } catch { z = 2 }",
    "acquire m; $L; release m",
];

/// Returns the model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut rng = Rng::seeded(mix(seed, 0x57b0));
    let mut text = String::new();
    let threads = 2 + rng.below(2);
    let array = rng.below(3) == 0;
    if array {
        let count = 2 + rng.below(2);
        text += &format!("thread t(i in 0..{count}) {{ {} }}\n", body(&mut rng, "i", 2));
    }
    for number in u32::from(array)..threads {
        let daemon = if number > 0 && rng.below(12) == 0 { "daemon " } else { "" };
        let most = if threads == 2 { 3 } else { 2 };
        text += &format!("{daemon}thread w{number} {{ {} }}\n", body(&mut rng, &number.to_string(), most));
    }
    if rng.below(8) == 0 {
        text += &filled(&mut rng, "event e() on main initially 1 { $L }\n", "0");
    }
    match rng.below(12) {
        0 => text += "property few always { x + y < 3 }\n",
        1 => text += "property less at end { x != 1 }\n",
        2 => text += "thread j { join w1; assert x < 1 }\n",
        _ => {}
    }
    let uncaught = rng.pick(&["app", "app", "thread"]);
    let mut head = format!("app \"shared\" {{ uncaught = {uncaught} }}\n");
    // The last declarations come first, so that the names in them are declared as well.
    for (word, declaration) in DECLARATIONS.iter().rev() {
        if crate::small::has_word(&text, word) || crate::small::has_word(&head, word) {
            let kind = rng.pick(&["", " prefer readers", " prefer writers"]);
            head += &format!("{}\n", filled(&mut rng, &declaration.replace("$p", kind), "0"));
        }
    }
    head + &text
}

fn body(rng: &mut Rng, number: &str, most: u32) -> String {
    let statements: Vec<String> = (0..1 + rng.below(most))
        .map(|_| {
            let text = rng.pick(&AROUND);
            filled(rng, text, number)
        })
        .collect();
    statements.join("; ")
}

fn filled(rng: &mut Rng, text: &str, number: &str) -> String {
    let mut text = text.to_owned();
    while text.contains("$L") {
        text = text.replacen("$L", rng.pick(&LEAVES), 1);
    }
    // What a task does needs no further declaration of a task.
    while text.contains("$K") {
        let leaf = rng.pick(&LEAVES);
        if !leaf.contains("one") && !leaf.contains("two") {
            text = text.replacen("$K", leaf, 1);
        }
    }
    text = text.replace("$i", number).replace("$n", &format!("k{}", rng.below(1 << 20)));
    while text.contains("$d") {
        text = text.replacen("$d", rng.pick(&["0", "1", "2"]), 1);
    }
    text
}
