//! Generates texts of models of a given size, one for each thing that a model may have many of.

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(|i| line(i) + "\n").collect()
}

/// A family of models: its text for a size, a small size, a full size, and the commands that must handle it.
pub(crate) struct Sized {
    pub(crate) name: &'static str,
    pub(crate) text: fn(usize) -> String,
    pub(crate) small: usize,
    pub(crate) full: usize,
    pub(crate) commands: &'static [&'static str],
}

const fn row(
    name: &'static str,
    [small, full]: [usize; 2],
    commands: &'static [&'static str],
    text: fn(usize) -> String,
) -> Sized {
    Sized { name, text, small, full, commands }
}

const C: &[&str] = &["check"];
const CF: &[&str] = &["check", "fmt"];
const CFR: &[&str] = &["check", "fmt", "run"];
const CR: &[&str] = &["check", "run"];
const CRD: &[&str] = &["check", "run", "detect"];
const RD: &[&str] = &["run", "detect"];
const ALL: &[&str] = &["check", "fmt", "run", "detect"];

/// Returns the text of the family with this name, for a size.
pub(crate) fn text(name: &str, n: usize) -> String {
    (MODELS.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no model {name}")).text)(n)
}

/// All families of models.
#[rustfmt::skip]
pub(crate) const MODELS: &[Sized] = &[
    row("vars", [50, 5_000], CFR, |n| lines(n, |i| format!("var v{i} = 0"))),
    row("array", [1_000, 200_000], &["check", "run", "detect", "explore"], |n| format!("var a: int[{n}]\nthread t {{ a[0] = 1 }}\nthread u {{ a[0] = 2 }}\n")),
    row("tasks", [20, 500], ALL, |n| {
        let posts: Vec<String> = (0..n).map(|i| format!("post t{i}() to m")).collect();
        format!("var x = 0\nlooper m\n{}thread e {{ {} }}\n", lines(n, |i| format!("task t{i}() {{ x = {i} }}")), posts.join("; "))
    }),
    row("taskcalls", [40, 4_000], C, |n| format!("var x = 0\ntask t0() {{ x = 1 }}\n{}thread e {{ t{n}() }}\n", lines(n, |i| format!("task t{}() {{ t{i}() }}", i + 1)))),
    row("stmts", [40, 4_000], ALL, |n| format!("var x = 0\nthread a {{\n{}}}\nthread b {{ x = 1 }}\n", lines(n, |i| format!("x = {i}")))),
    row("nest_if", [10, 40], CFR, |n| format!("var x = 0\nthread a {{ {}x = 1{} }}\n", "if x == 0 { ".repeat(n), " }".repeat(n))),
    row("nest_paren", [10, 40], CF, |n| format!("var x = {}1{}\n", "(".repeat(n), ")".repeat(n))),
    row("chain_plus", [100, 10_000], CF, |n| format!("const c = {}\n", vec!["1"; n].join(" + "))),
    row("chain_and", [50, 1_000], CR, |n| format!("var x = true\nthread t {{ if {} {{ skip }} }}\n", vec!["x"; n].join(" && "))),
    row("elseif", [20, 100], CFR, |n| format!("var x = 0\nthread t {{ if x == 0 {{ skip }} {} }}\n", lines(n, |i| format!("else if x == {i} {{ skip }}")).replace('\n', " "))),
    row("consts", [40, 3_000], C, |n| format!("const c0 = 1\n{}", lines(n, |i| format!("const c{} = c{i} + 1", i + 1)))),
    row("consts_back", [40, 3_000], C, |n| format!("{}const c{n} = 1\n", lines(n, |i| format!("const c{i} = c{} + 1", i + 1)))),
    row("threads", [20, 200], CRD, |n| format!("var x = 0\nthread t(i in 0..{n}) {{ x = i }}\n")),
    row("forks", [20, 500], RD, |n| format!("var x = 0\ntask f() {{ x = 1 }}\nthread t {{ for i in 0..{n} {{ fork f() }} }}\n")),
    row("forkchain", [20, 500], RD, |n| format!("var x = 0\ntask f(i) {{ x = i\n if i < {n} {{ fork f(i + 1) }} }}\nthread t {{ fork f(0) }}\n")),
    // Each thread is forked by a task that the thread before it has posted. So the name of a thread contains the whole
    // path to it, and no thread has ended before the next one begins.
    row("timerthreads", [20, 500], RD, |n| format!("var x = 0\nlooper main\ntask tick(i) {{ fork fetch(i) }}\ntask fetch(i) {{ x = i\n post fetched(i) to main }}\ntask fetched(i) {{ if i < {n} {{ post tick(i + 1) to main after 1000 }} }}\nthread t {{ post tick(0) to main\n x = 5 }}\n")),
    row("locks", [20, 400], CRD, |n| format!("var x = 0\nlock l[{n}]\nthread t(i in 0..2) {{ for j in 0..{n} {{ acquire l[j] }}\n x = i\n for j in 0..{n} {{ release l[j] }} }}\n")),
    row("lockdecl", [40, 2_400], C, |n| lines(n, |i| format!("lock l{i}"))),
    row("delays", [20, 250], RD, |n| format!("var x = 0\nlooper m\ntask t(i) {{ x = i }}\nthread e {{ for i in 0..{n} {{ post t(i) to m after i }} }}\nthread f {{ x = 1 }}\n")),
    row("posts", [20, 250], RD, |n| format!("var x = 0\nlooper m\ntask t(i) {{ x = i }}\nthread e {{ for i in 0..{n} {{ post t(i) to m }} }}\nthread f {{ x = 1 }}\n")),
    row("front", [20, 500], RD, |n| format!("var x = 0\nlooper m\ntask t(i) {{ x = i }}\nthread e {{ for i in 0..{n} {{ post t(i) to m at front }} }}\n")),
    row("chainpost", [20, 500], RD, |n| format!("var x = 0\nlooper m\nlooper k\ntask t(i) {{ x = i\n if i < {n} {{ post u(i + 1) to k }} }}\ntask u(i) {{ x = i\n if i < {n} {{ post t(i + 1) to m }} }}\nthread e {{ post t(0) to m }}\nthread f {{ x = 1 }}\n")),
    row("list", [50, 5_000], RD, |n| format!("var l: list[int]\nthread t {{ for i in 0..{n} {{ l.push(i) }}\n for i in 0..{n} {{ l.remove(0) }} }}\n")),
    row("events", [10, 400], CRD, |n| format!("var x = 0\nlooper m\n{}", lines(n, |i| format!("event e{i} on m initially 1 {{ x = {i} }}")))),
    row("property", [20, 1_000], CR, |n| format!("var a: int[{n}]\nproperty p always {{ all i in 0..{n}: a[i] < 9 }}\nthread t {{ for i in 0..{n} {{ a[i] = 1 }} }}\n")),
    row("labels", [20, 500], &["check", "fmt", "detect"], |n| format!("var x = 0\nthread a {{\n{}}}\nthread b {{ @q: x = 1 }}\n{}", lines(n, |i| format!("@l{i}: x = {i}")), lines(n, |i| format!("expect race @l{i} ~ @q: real")))),
    row("outcomes", [40, 4_000], CF, |n| {
        let all: Vec<String> = (0..n).map(|i| format!("ok {i}")).collect();
        format!("var x = 0\nthread a {{ x = 1 }}\nexpect outcomes of x: {}\n", all.join(", "))
    }),
    row("comments", [40, 4_000], &["fmt"], |n| lines(n, |i| format!("var v{i} = 0 // {}", "c".repeat(i % 50)))),
    row("comments_stair", [40, 4_000], &["fmt"], |n| lines(n, |i| format!("var v{i}_{} = 0 // c", "x".repeat(i % 30)))),
    row("blank_comments", [100, 20_000], &["fmt"], |n| format!("thread t {{\n{}}}\n", "    // c\n".repeat(n))),
    row("one_long_line", [100, 20_000], CF, |n| format!("thread t {{ {}}}\n", "skip; ".repeat(n))),
    row("errors", [100, 10_000], C, |n| format!("thread t {{\n{}}}\n", "x = 1\n".repeat(n))),
    row("errors_oneline", [100, 10_000], C, |n| format!("thread t {{ {}}}\n", "x = 1; ".repeat(n))),
    row("syntax_errors", [100, 20_000], C, |n| "thread\n".repeat(n)),
    row("near_names", [20, 2_000], C, |n| format!("{}thread t {{\n{}}}\n", lines(n, |i| format!("var name_{i} = 0")), lines(n, |i| format!("nmae_{i} = 1")))),
    row("longname", [500, 50_000], CF, |n| { let (a, b) = ("a".repeat(n), "b".repeat(n)); format!("var {a} = 0\nthread t {{ {a} = 1 }}\nthread u {{ {b} = 1 }}\n") }),
    row("longstring", [1_000, 100_000], CFR, |n| format!("thread t {{ fail \"{}\" }}\n", "m".repeat(n))),
    row("classes", [40, 4_000], C, |n| lines(n, |i| format!("class C{i} {{ var a = 0 }}"))),
    row("objects", [40, 2_500], RD, |n| format!("class N {{ var next: N }}\nvar h: N = null\nthread t {{ for i in 0..{n} {{ let k = new N\n k.next = h\n h = k }} }}\n")),
    row("objread", [40, 1_000], RD, |n| format!("class N {{ var v = 0 }}\nvar h: N[{n}]\nthread t {{ for i in 0..{n} {{ h[i] = new N }} }}\nthread u {{ for i in 0..{n} {{ if h[i] != null {{ h[i].v = 1 }} }} }}\n")),
    row("trycatch", [8, 40], CR, |n| format!("thread t {{ {}throw A{} }}\n", "try { ".repeat(n), " } catch B { }".repeat(n))),
    row("finally", [4, 10], CR, |n| format!("var x = 0\nthread t {{ {}x = 1; return{} }}\n", "try { ".repeat(n), " } finally { x = 2 }".repeat(n))),
    row("variants", [3, 16], &["test"], |n| format!("{}var x = 0\nthread t {{ x = 1 }}\n{}", lines(n, |i| format!("const K{i} = 0")), lines(n, |i| format!("expect outcomes: ok if K{i} == 1")))),
    row("deadlockring", [8, 100], RD, |n| format!("lock l[{n}]\nthread t(i in 0..{n}) {{ sync l[i] {{ sync l[(i + 1) % {n}] {{ skip }} }} }}\n")),
    row("barrier", [8, 100], RD, |n| format!("barrier b = {n}\nthread t(i in 0..{n}) {{ arrive b }}\n")),
    row("monitor", [8, 100], RD, |n| format!("lock m\nthread t(i in 0..{n}) {{ sync m {{ wait m for 5 }} }}\nthread u {{ sync m {{ notify_all m }} }}\n")),
    row("interleaved", [40, 2_000], RD, |n| format!("var x = 0\nthread a {{ for i in 0..{n} {{ x = i }} }}\nthread b {{ for i in 0..{n} {{ x = i }} }}\n")),
    row("manysites", [10, 400], &["detect"], |n| format!("var x = 0\nthread a {{\n{}}}\nthread b {{\n{}}}\n", "x = 1\n".repeat(n), "x = 2\n".repeat(n))),
    row("local_array", [40, 2_500], CR, |n| format!("var x = 0\nthread t {{ let a: int[{n}]\n for i in 0..{n} {{ a[i] = i }}\n x = a[0] }}\n")),
    row("recursion", [20, 60], &["run"], |n| format!("var x = 0\ntask r(n) {{ if n > 0 {{ r(n - 1) }} else {{ x = 1 }} }}\nthread t {{ r({n}) }}\n")),
    row("listeners", [20, 500], RD, |n| format!("var x = 0\nlistener L\ntask c() {{ x += 1 }}\nthread t {{ for i in 0..{n} {{ register c to L }}\n perform L() }}\n")),
    row("cancel", [20, 500], RD, |n| format!("looper m\ntask c() {{ skip }}\nthread t {{ for i in 0..{n} {{ post c() to m after 9 }}\n for i in 0..{n} {{ cancel c on m }} }}\n")),
    row("fences", [20, 500], RD, |n| format!("looper m\nthread t {{ for i in 0..{n} {{ fence m }} }}\n")),
];
