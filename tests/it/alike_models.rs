//! Generates random models with arrays of threads that use their index as an element, over shared and own variables,
//! locks, conditions, reader-writer locks, semaphores, barriers and queues. Some of them break a rule on purpose.

use raceflip::base::Rng;

/// Declarations, each with the word that requires it. `$N` is the number of threads of an array.
const DECLARATIONS: [(&str, &str); 22] = [
    ("x", "var x = 0"),
    ("y", "var y = 0"),
    ("own", "var own: int[$N]"),
    ("grid", "var grid: int[$N][2]"),
    ("seen", "var seen: int[$N]"),
    ("turn", "var turn = -1"),
    ("first", "var first = 0"),
    ("last", "var last = -1"),
    ("count", "atomic count = 0"),
    ("winner", "atomic winner = -1"),
    ("me", "var me: thread = null"),
    ("m", "lock m"),
    ("k", "mutex k"),
    ("c", "condition c"),
    ("ms", "lock ms[$N]"),
    ("cs", "condition cs[$N]"),
    ("rw", "rwlock rw prefer writers"),
    ("s", "semaphore s = 1"),
    ("bar", "barrier bar = $N"),
    ("main", "looper main"),
    ("say", "task say(who) { last = who }"),
    ("mark", "task mark(who) { if own[who] == 0 { own[who] = 4 } }"),
];

/// Statements of a thread whose index is `i`. `$l` stands for another statement, `$n` for a new name.
const STATEMENTS: [&str; 52] = [
    "own[i] = 1",
    "own[i] = x",
    "x = own[i]",
    "own[i] += 1",
    "x += 1",
    "x = 1",
    "y = x",
    "grid[i][0] = 1",
    "grid[i][1] = x",
    "turn = i",
    "if turn == i { x = 2 }",
    "if turn != i { y = 2 } else { own[i] = 2 }",
    "if turn == -1 { turn = i }",
    "first = i",
    "if first == turn { x = 3 }",
    "seen[i] = turn",
    "let $n = turn; if $n != -1 { own[$n] = 5 }",
    "let $n = turn; $l; turn = $n",
    "let $n = turn; if $n != -1 { sync ms[$n] { $l } }",
    "let $n = seen[i]; if $n == i { x = 6 }",
    "sync m { $l }",
    "sync k { $l }",
    "sync ms[i] { $l }",
    "sync ms[i] { sync m { $l } }",
    "sync m { sync ms[i] { $l } }",
    "sync m { wait m for 2 }",
    "sync m { wait m }",
    "sync m { notify m }",
    "sync m { notify_all m }",
    "sync k { wait c with k }",
    "signal c",
    "signal_all c",
    "sync k { wait cs[i] with k }",
    "signal cs[i]",
    "read rw { $l }",
    "write rw { $l }",
    "down s",
    "up s",
    "arrive bar",
    "sleep 1",
    "fetch_add(count, 1)",
    "if cas(winner, -1, i) { own[i] = 7 }",
    "let $n = exchange(winner, i); if $n == -1 { y = 8 }",
    "me = self",
    "if me == self { own[i] = 9 }",
    "if me != null { interrupt me }",
    "post say(i) to main",
    "post mark(i) to main",
    "post mark(i) to main after 1",
    "await x == 1",
    "assert turn == i || turn == -1, \"mine\"",
    "if * { $l } else { skip }",
];

/// Statements that break a rule: the threads are then not alike.
const BREACHES: [&str; 7] = [
    "own[0] = 1",
    "x = i + 1",
    "if i < 1 { x = 1 }",
    "for j in 0..$N { own[j] = 3 }",
    "if turn == 1 { x = 1 }",
    "x = 10 * i",
    "sync ms[1] { x = 2 }",
];

fn statement(rng: &mut Rng, names: &mut u32, depth: u32) -> String {
    let table: &[&str] = if rng.below(14) == 0 { &BREACHES } else { &STATEMENTS };
    let mut text = table[rng.below(table.len() as u32) as usize].to_owned();
    if text.contains("$n") {
        *names += 1;
        text = text.replace("$n", &format!("v{names}"));
    }
    while let Some(at) = text.find("$l") {
        let inner = if depth > 1 { "skip".to_owned() } else { statement(rng, names, depth + 1) };
        text.replace_range(at..at + 2, &inner);
    }
    text
}

fn block(rng: &mut Rng, most: u32) -> String {
    let mut names = 0;
    let count = 1 + rng.below(most);
    (0..count).map(|_| statement(rng, &mut names, 0)).collect::<Vec<_>>().join("; ")
}

// Whether a word occurs in a text.
fn uses(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

/// Returns the model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut rng = Rng::seeded(seed);
    let n = if rng.below(3) == 0 { 3 } else { 2 };
    let most = if n == 3 { 2 } else { 3 };
    let mut threads = vec![format!("thread a(i in 0..$N) {{ {} }}", block(&mut rng, most))];
    match rng.below(4) {
        0 => threads.push(format!("thread b(i in 0..$N) {{ {} }}", block(&mut rng, 1))),
        1 => threads.push("thread z { x = 1; y = 1 }".to_owned()),
        2 => threads.push("thread z { if turn != -1 { own[turn] = 6 } }".to_owned()),
        _ => {}
    }
    let mut text = threads.join("\n");
    // Tasks use names as well, so their declarations come first.
    for (word, declaration) in DECLARATIONS.iter().rev() {
        if uses(&text, word) {
            text = format!("{declaration}\n{text}");
        }
    }
    text.replace("$N", &n.to_string()) + "\n"
}
