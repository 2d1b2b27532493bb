//! Generates random small models with channels, selects and timed acquisitions, each so small that all its runs can be
//! enumerated (`stateless`). `small` generates models with the other operations.

use raceflip::base::Rng;
use raceflip::vm::Model;

use crate::small::has_word;
use crate::stateless::{facts, words};

/// Declarations, each with the word that requires it. `$s` stands for the size of a buffer, `$p` for a
/// preference.
const DECLARATIONS: [(&str, &str); 13] = [
    ("Box", "class Box { var v = 0 }"),
    ("x", "var x = 0"),
    ("y", "var y = 0"),
    ("log", "var log: list[int]"),
    ("n", "atomic n = 0"),
    ("m", "lock m"),
    ("w", "waitgroup w"),
    ("rw", "rwlock rw$p"),
    ("r", "channel r: int[0]"),
    ("q", "channel q: int[0]"),
    ("c", "channel c: int$s"),
    ("d", "channel d: int$s"),
    ("objects", "channel objects: Box$s"),
];

/// Statements, each with its approximate number of steps. `$l` stands for another statement, `$c` for a channel of
/// numbers, `$r` for one of them without a buffer, `$d` for a delay, `$n` for a new name.
const STATEMENTS: [(u32, &str); 47] = [
    (1, "send $c 1"),
    (1, "send $c 2"),
    (2, "send $r 3"),
    (2, "x = recv $c"),
    (2, "log.push(recv $c)"),
    (2, "y = recv $r"),
    (1, "recv $c"),
    (1, "recv $r"),
    (1, "close $c"),
    (1, "close $r"),
    (2, "if $c.closed { y = 7 }"),
    (2, "x = $c.len"),
    (3, "for $n in $c { log.push($n) }"),
    (3, "for $n in $r { x = $n }"),
    (2, "select { recv $c as $n { x = $n } ; recv $c { $l } }"),
    (2, "select { recv $r as $n { x = $n } ; recv $c { $l } }"),
    (2, "select { recv $r { x = 4 } ; send $r 5 { y = 5 } }"),
    (2, "select { send $c 6 { x = 6 } ; send $c 7 { y = 6 } }"),
    (2, "select { send $r 6 { x = 6 } ; send $c 7 { y = 6 } }"),
    (2, "select { send $r 8 { x = 8 } ; else { y = 8 } }"),
    (2, "select { recv $r as $n { log.push($n) } ; else { y = 3 } }"),
    (2, "select { recv $c as $n { log.push($n) } ; else { y = 3 } }"),
    (2, "select { recv $r { x = 2 } ; after $d { y = 2 } }"),
    (2, "select { recv $c { x = 2 } ; after $d { y = 2 } }"),
    (2, "select { send $c 9 { x = 9 } ; recv $r { $l } ; after $d { y = 2 } }"),
    (2, "let $n = new Box; send objects $n; $n.v = 1"),
    (3, "let $n = recv objects; if $n != null { x = $n.v }"),
    (2, "try { send $c 1 } catch Closed { y = 4 }"),
    (2, "sync m { $l }"),
    (1, "x = 1"),
    (2, "x += 1"),
    (1, "log.push(5)"),
    (1, "fetch_add(n, 1)"),
    (2, "sleep $d"),
    (1, "w.add(1)"),
    (2, "w.add(2); w.done()"),
    (1, "w.done()"),
    (2, "w.wait(); x = 8"),
    (3, "sync m for $d { $l } else { y = 1 }"),
    (2, "if !(acquire m for $d) { y = 2 }"),
    (2, "release m"),
    (3, "write rw for $d { $l } else { x = 5 }"),
    (3, "read rw for $d { $l }"),
    (2, "acquire write rw; $l; release write rw"),
    (2, "acquire read rw; $l; release read rw"),
    (2, "interrupt t0; if self.interrupted { x = 7 }"),
    (2, "try { sleep $d } catch Interrupted { y = 6 }"),
];

/// Returns the random model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut g = Generator { rng: Rng::seeded(seed), names: 0, left: 0 };
    let threads = if g.rng.below(3) == 0 { 3 } else { 2 };
    g.left = if threads == 3 { 7 } else { 10 };
    let mut text = String::new();
    for name in &["t0", "t1", "t2"][..threads] {
        let daemon = if *name == "t2" && g.rng.below(6) == 0 { "daemon " } else { "" };
        let count = 1 + g.rng.below(3);
        let body: Vec<String> = (0..count).filter_map(|i| g.statement(i == 0)).collect();
        text += &format!("{daemon}thread {name} {{ {} }}\n", body.join("; "));
    }
    let mut head = format!("app \"channels\" {{ uncaught = {} }}\n", g.rng.pick(&["app", "thread"]));
    for (word, declaration) in DECLARATIONS.iter().rev() {
        if has_word(&text, word) || has_word(&head, word) {
            let size = g.rng.pick(&["[1]", "[1]", "[2]", "[conflated]", ""]);
            let prefer = g.rng.pick(&["", " prefer readers", " prefer writers"]);
            head += &format!("{}\n", declaration.replace("$s", size).replace("$p", prefer));
        }
    }
    head + &text
}

struct Generator {
    rng: Rng,
    names: u32,
    /// Approximate number of steps that the threads may still have.
    left: i64,
}

impl Generator {
    // Returns `None` if no statement fits the budget any more.
    fn statement(&mut self, first: bool) -> Option<String> {
        for _ in 0..6 {
            let (cost, text) = STATEMENTS[self.rng.below(STATEMENTS.len() as u32) as usize];
            if i64::from(cost) <= self.left {
                self.left -= i64::from(cost);
                return Some(self.fill(text));
            }
        }
        first.then(|| "skip".to_owned())
    }

    // Returns a short statement that contains no other statement.
    fn leaf(&mut self) -> String {
        loop {
            let (cost, text) = STATEMENTS[self.rng.below(STATEMENTS.len() as u32) as usize];
            if cost <= 2 && !text.contains("$l") {
                self.left -= i64::from(cost);
                return self.fill(text);
            }
        }
    }

    fn fill(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains("$n") {
            self.names += 1;
            text = text.replace("$n", &format!("z{}", self.names));
        }
        for hole in ["$l", "$c", "$r", "$d"] {
            while text.contains(hole) {
                let word = match hole {
                    "$l" => self.leaf(),
                    "$c" => self.rng.pick(&["c", "c", "d", "r"]).to_owned(),
                    "$r" => self.rng.pick(&["r", "r", "q"]).to_owned(),
                    _ => self.rng.pick(&["2", "3", "4"]).to_owned(),
                };
                text = text.replacen(hole, &word, 1);
            }
        }
        text
    }
}

#[test]
fn every_statement_is_in_some_of_the_models_and_the_models_are_small() {
    let texts: Vec<String> = (0..2_000).map(model).collect();
    for (_, text) in STATEMENTS {
        // The part before the first placeholder, without its last character, which may be in longer words.
        let start = text.split('$').next().expect("a text").trim();
        let found = texts.iter().filter(|t| t.contains(start)).count();
        assert!(found >= 20, "only {found} models have `{start}`");
    }
    let fits = |seed: &u64| {
        let model =
            Model::from_text("channels", &model(*seed), &[]).unwrap_or_else(|e| panic!("{e}\n{}", model(*seed)));
        facts(&model, &words(&model.program), 30_000).is_some()
    };
    let fitting = (0..100).filter(fits).count();
    assert!(fitting >= 80, "only {fitting} of 100 models have few runs");
}
