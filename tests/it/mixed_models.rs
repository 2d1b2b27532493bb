//! Generates random small models with atomics that are accessed plainly as well, each so small that all its runs can be
//! enumerated (`stateless`).

use crate::small::has_word;
use raceflip::base::Rng;

/// Declarations, each with the word that requires it.
const DECLARATIONS: [(&str, &str); 7] = [
    ("Box", "class Box { atomic v = 0; atomic w = 0 }"),
    ("n", "atomic n = 0"),
    ("k", "atomic k = 0"),
    ("a", "atomic a: int[2]"),
    ("x", "var x = 0"),
    ("m", "lock m"),
    ("fixed", "let fixed = new Box"),
];

/// Statements, each with its number of steps. `n` is an atomic that may be accessed plainly, `k` one that never is.
const STATEMENTS: [(u32, &str); 20] = [
    (1, "plain n = 1"),
    (2, "plain n += 1"),
    (2, "x = plain n"),
    (1, "n = 2"),
    (2, "x = n"),
    (1, "fetch_add(n, 1)"),
    (2, "if cas(n, 1, 3) { x = 3 }"),
    (2, "x = exchange(n, 4)"),
    (1, "k = 1"),
    (2, "if k == 1 { plain n = 5 }"),
    (2, "if n == 2 { x = 6 }"),
    (1, "plain a[1] = 1"),
    (1, "fetch_add(a[1], 1)"),
    (1, "fetch_add(a[0], 1)"),
    (1, "fixed.v = 1"),
    (2, "x = plain fixed.v"),
    (1, "fixed.w = 1"),
    (3, "sync m { plain n += 2 }"),
    (1, "await n != 0"),
    (1, "delete fixed"),
];

/// Returns the random model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut rng = Rng::seeded(seed);
    let threads = 2 + rng.below(2);
    let mut left = 8;
    let mut text = "class Box { atomic v = 0; atomic w = 0 }\nlet fixed = new Box\n".to_owned();
    for thread in 0..threads {
        let mut body = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let (steps, statement) = STATEMENTS[rng.below(STATEMENTS.len() as u32) as usize];
            if steps <= left {
                left -= steps;
                body.push(statement);
            }
        }
        let body = if body.is_empty() { "skip".to_owned() } else { body.join("; ") };
        text += &format!("thread t{thread} {{ {body} }}\n");
    }
    let wanted = |(word, _): &&(&str, &str)| !["Box", "fixed"].contains(word) && has_word(&text, word);
    let head: Vec<&str> = DECLARATIONS.iter().filter(wanted).map(|(_, declaration)| *declaration).collect();
    head.join("\n") + "\n" + &text
}
