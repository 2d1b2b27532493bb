//! Generates random small models with pools, each so small that all its runs can be enumerated (`stateless`), and
//! writes them in two ways: with a pool, and with threads that receive the tasks from a channel.

use crate::small::has_word;
use raceflip::base::Rng;

/// Declarations, each with the word that requires it.
const DECLARATIONS: [(&str, &str); 7] = [
    ("x", "var x = 0"),
    ("y", "var y = 0"),
    ("log", "var log: list[int]"),
    ("n", "atomic n = 0"),
    ("m", "lock m"),
    ("s", "semaphore s = 1"),
    ("main", "looper main"),
];

/// Statements that both ways to write a model have. `$t` stands for a task.
const COMMON: [&str; 17] = [
    "x = 1",
    "x += 1",
    "y = x",
    "x = y + 1",
    "log.push(1)",
    "log.push(x)",
    "fetch_add(n, 1)",
    "if cas(n, 0, 2) { x = 3 }",
    "sync m { x += 1 }",
    "sync m { y = 2 }",
    "acquire m; y += 1; release m",
    "if * { x = 5 }",
    "down s; x = 6; up s",
    "if y == 0 { assert x != 1, \"one\" }",
    "$post",
    "$post",
    "$post",
];

/// Statements that only a pool has. `$d` stands for a delay.
const OF_POOLS: [&str; 13] = [
    "post $t() to io after $d",
    "post $t() to io after $d",
    "quit io",
    "quit io safely",
    "cancel $t on io",
    "cancel all on io",
    "if !(post $t() to io) { x = 7 }",
    "post $t() to self",
    "acquire m",
    "interrupt self",
    "sleep $d",
    "post $t() to main",
    "throw Oops",
];

/// The names of the tasks. A task posts only tasks with later names, so that the models end.
const TASKS: [&str; 3] = ["f", "g", "h"];

/// A generated model: bodies of its tasks and of its threads.
pub(crate) struct PoolModel {
    workers: u32,
    uncaught: &'static str,
    tasks: Vec<Vec<String>>,
    threads: Vec<Vec<String>>,
}

impl PoolModel {
    /// Returns the random model of a seed. With `all` it also has statements that only a pool has.
    pub(crate) fn new(seed: u64, all: bool) -> Self {
        let mut rng = Rng::seeded(seed);
        let mut left = 5 + rng.below(3);
        let workers = 1 + rng.below(3);
        let uncaught = if all && rng.below(2) == 0 { "thread" } else { "app" };
        let mut body = |from: usize, first: Option<usize>| {
            let mut body: Vec<String> = first.map(|task| format!("$post({})", TASKS[task])).into_iter().collect();
            for _ in 0..1 + rng.below(2) {
                if left == 0 {
                    break;
                }
                left -= 1;
                let table: &[&str] = if all && rng.below(3) == 0 { &OF_POOLS } else { &COMMON };
                let text = table[rng.below(table.len() as u32) as usize];
                let needs_task = text.contains("$t") || text.contains("$post");
                if needs_task && from == TASKS.len() {
                    continue;
                }
                let later = rng.below((TASKS.len() - from).max(1) as u32) as usize;
                let task = TASKS[(from + later).min(TASKS.len() - 1)];
                let delay = ["2", "3"][rng.below(2) as usize];
                body.push(text.replace("$post", &format!("$post({task})")).replace("$t", task).replace("$d", delay));
            }
            body
        };
        let threads = vec![body(0, Some(0)), body(0, Some(1))];
        let tasks = (1..=TASKS.len()).map(|from| body(from, None)).collect();
        Self { workers, uncaught, tasks, threads }
    }

    fn text(&self, head: &str, (begin, post, end): (&str, &str, &str)) -> String {
        let posts = |text: &String| {
            TASKS.iter().enumerate().fold(text.clone(), |text, (number, task)| {
                let post = post.replace("$task", task).replace("$number", &number.to_string());
                text.replace(&format!("$post({task})"), &post)
            })
        };
        let block = |body: &Vec<String>, end: &str| {
            let mut all: Vec<String> = body.iter().map(posts).collect();
            all.extend((!end.is_empty()).then(|| end.to_owned()));
            if all.is_empty() { "skip".to_owned() } else { all.join("; ") }
        };
        let mut text = String::new();
        for (name, body) in TASKS.iter().zip(&self.tasks) {
            text += &format!("task {name}() {{ {} }}\n", block(body, end));
        }
        for (number, body) in self.threads.iter().enumerate() {
            text += &format!("thread t{number} {{ {} }}\n", block(body, ""));
        }
        let mut all = format!("app \"pools\" {{ uncaught = {} }}\n{head}\n{begin}\n", self.uncaught);
        for (word, declaration) in DECLARATIONS {
            if has_word(&text, word) {
                all += &format!("{declaration}\n");
            }
        }
        all + &text
    }

    /// Returns the model with a pool.
    pub(crate) fn with_pool(&self) -> String {
        self.text(&format!("pool io = {}", self.workers), ("", "post $task() to io", ""))
    }

    /// Returns the model with a pool whose workers the search must keep apart, because the program has the value of
    /// `self` somewhere.
    pub(crate) fn with_unlike_workers(&self) -> String {
        self.text(
            &format!("pool io = {}", self.workers),
            ("task named(t: thread) { let u = self }", "post $task() to io", ""),
        )
    }

    /// Returns the model without a pool: each worker is a thread that receives the numbers of tasks from a channel. The
    /// run rests when all threads have ended and no task is left.
    pub(crate) fn with_channel(&self) -> String {
        let cases: Vec<String> = (0..TASKS.len()).map(|i| format!("if task == {i} {{ {}() }}", TASKS[i])).collect();
        let begin = format!(
            "atomic left = 0\ndaemon thread worker(i in 0..{}) {{ loop {{ let task = recv queued; {} }} }}\n\
             thread ending {{ join t0; join t1; await left == 0 }}",
            self.workers,
            cases.join(" else ")
        );
        self.text("channel queued: int", (&begin, "fetch_add(left, 1); send queued $number", "fetch_add(left, -1)"))
    }
}

/// Returns the random model of a seed, with every kind of statement.
pub(crate) fn model(seed: u64) -> String {
    PoolModel::new(seed, true).with_pool()
}
