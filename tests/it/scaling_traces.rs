//! Generates texts of traces of a given size in the format of DroidRacer's logs, one for each thing that a trace may
//! have many of.

/// A family of traces: its text for a size, a small size, and a full size.
pub(crate) struct Sized {
    pub(crate) name: &'static str,
    pub(crate) text: fn(usize) -> String,
    pub(crate) small: usize,
    pub(crate) full: usize,
}

const fn row(name: &'static str, [small, full]: [usize; 2], text: fn(usize) -> String) -> Sized {
    Sized { name, text, small, full }
}

const ONE: &str = "class:La; field:1";

fn write(thread: usize, object: usize) -> String {
    format!("WRITE tid:{thread} obj:0x{object} {ONE}")
}

fn init(thread: usize) -> String {
    format!("THREADINIT tid:{thread}")
}

fn looper(thread: usize) -> Vec<String> {
    vec![init(thread), format!("ATTACH-Q tid:{thread}"), format!("LOOP tid:{thread}")]
}

fn numbered(rows: Vec<Vec<String>>) -> String {
    rows.concat().iter().enumerate().map(|(i, row)| format!("{} {row}\n", i + 1)).collect()
}

fn each(n: usize, rows: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    (0..n).flat_map(rows).collect()
}

/// Returns a trace in which thread 2 posts `n` tasks to the looper, each with an operation in its body.
fn tasks(n: usize, post: impl Fn(usize) -> String, body: impl Fn(usize) -> String) -> String {
    let posts = each(n, |i| vec![post(i + 1)]);
    let calls = each(n, |i| vec![format!("CALL tid:1 msg:{}", i + 1), body(i), format!("RET tid:1 msg:{}", i + 1)]);
    numbered(vec![looper(1), vec![init(2)], posts, calls])
}

fn at_once(message: usize) -> String {
    format!("POST src:2 msg:{message} dest:1 delay:0")
}

fn later(message: usize) -> String {
    format!("DELAY-POST src:2 msg:{message} dest:1")
}

/// Returns a trace with `n` threads besides the first, each with the operations of `body`.
fn threads(n: usize, body: impl Fn(usize) -> Vec<String>) -> String {
    numbered(vec![each(n + 1, |i| vec![init(i + 1)]), each(n, body)])
}

/// Returns the text of the family with this name, for a size.
pub(crate) fn text(name: &str, n: usize) -> String {
    (TRACES.iter().find(|trace| trace.name == name).unwrap_or_else(|| panic!("no trace {name}")).text)(n)
}

/// All families of traces.
#[rustfmt::skip]
pub(crate) const TRACES: &[Sized] = &[
    row("posts_one_loc", [20, 1_000], |n| tasks(n, at_once, |_| write(1, 1))),
    row("posts_locs", [20, 1_000], |n| tasks(n, at_once, |i| format!("WRITE tid:1 obj:0x1 class:La; field:{i}"))),
    row("delayposts", [20, 500], |n| tasks(n, later, |_| write(1, 1))),
    row("delayposts_locs", [20, 500], |n| tasks(n, later, |i| write(1, i % 50))),
    row("delaypost_chain", [20, 500], |n| numbered(vec![looper(1), vec![init(2), later(1)], each(n, |i| vec![format!("CALL tid:1 msg:{}", i + 1), write(1, 1), format!("DELAY-POST src:1 msg:{} dest:1", i + 2), format!("RET tid:1 msg:{}", i + 1)])])),
    row("delay_alternate", [20, 500], |n| tasks(n, |message| if message % 2 == 0 { later(message) } else { at_once(message) }, |_| write(1, 1))),
    row("threads", [20, 500], |n| threads(n, |i| vec![write(i + 2, 1)])),
    row("threads_locs", [20, 1_000], |n| threads(n, |i| vec![write(i + 2, i)])),
    row("threads_locked", [20, 500], |n| threads(n, |i| vec![format!("LOCK tid:{} lock-obj:0x9", i + 2), write(i + 2, 1), format!("UNLOCK tid:{} lock-obj:0x9", i + 2)])),
    row("forkchain", [20, 1_000], |n| numbered(vec![vec![init(1)], each(n, |i| vec![format!("FORK par-tid:{} child-tid:{}", i + 1, i + 2), init(i + 2), write(i + 1, 1)])])),
    row("locks", [20, 2_000], |n| numbered(vec![vec![init(1)], each(n, |i| vec![format!("LOCK tid:1 lock-obj:0x{i}")]), each(n, |i| vec![write(1, i)]), each(n, |i| vec![format!("UNLOCK tid:1 lock-obj:0x{i}")])])),
    row("accesses", [50, 2_000], |n| numbered(vec![vec![init(1), init(2)], each(n, |i| vec![write(1 + i % 2, 1)])])),
    row("events", [20, 2_000], |n| numbered(vec![looper(1), each(n, |i| vec![format!("ENABLE-EVENT tid:1 view:{i} event:0")])])),
    row("loopers", [20, 500], |n| {
        let calls = each(n, |i| vec![format!("CALL tid:{0} msg:{0}", i + 1), write(i + 1, 1), format!("RET tid:{0} msg:{0}", i + 1)]);
        numbered(vec![each(n, |i| looper(i + 1)), each(n, |i| vec![format!("POST src:1 msg:{0} dest:{0} delay:0", i + 1)]), calls])
    }),
    row("notify", [20, 2_000], |n| numbered(vec![vec![init(1), init(2)], each(n, |_| vec!["NOTIFY tid:1 notifiedTid:2".to_owned(), "WAIT tid:2".to_owned(), write(1, 1), write(2, 1)])])),
    row("post_chain_two", [20, 1_000], |n| {
        let calls = each(n, |i| {
            let (this, other) = (1 + i % 2, 2 - i % 2);
            vec![format!("CALL tid:{this} msg:{}", i + 1), write(this, 1), format!("POST src:{this} msg:{} dest:{other} delay:0", i + 2), format!("RET tid:{this} msg:{}", i + 1)]
        });
        numbered(vec![looper(1), looper(2), vec![init(3), "POST src:3 msg:1 dest:1 delay:0".to_owned()], calls])
    }),
    row("longname", [1_000, 100_000], |n| numbered(vec![vec![init(1), format!("WRITE tid:1 obj:0x1 class:{} field:1", "a".repeat(n))]])),
    row("spaces", [1_000, 200_000], |n| format!("1 THREADINIT{}tid:1\n", " ".repeat(n))),
    row("blank_lines", [1_000, 500_000], |n| format!("{}1 THREADINIT tid:1\n", "\n".repeat(n))),
];
