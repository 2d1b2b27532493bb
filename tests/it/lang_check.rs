//! Tests of the checker: every model passes, and every mistake is reported once and with a reason.

use raceflip::base::Rng;
use raceflip::event::{SiteKind, labelled};
use raceflip::lang::{CheckErrors, Program, Source, check, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

fn source(text: &str) -> Source {
    Source::new("test.race", text).unwrap()
}

fn checked(text: &str, defines: &[(&str, i64)]) -> Result<Program, CheckErrors> {
    let source = source(text);
    let file = parse(&source).unwrap_or_else(|e| panic!("{text}: {e:#?}"));
    let defines: Vec<(String, i64)> = defines.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    check(&file, &source, &defines)
}

/// Returns the models of a folder and its subfolders, sorted.
fn models(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    let inner = |p: PathBuf| if p.is_dir() { models(p.to_str().unwrap()) } else { vec![p] };
    paths.into_iter().flat_map(inner).filter(|p| p.extension().is_some_and(|e| e == "race")).collect()
}

#[test]
fn every_model_checks() {
    let mut files = models("tests/models");
    files.extend(models("harnesses"));
    assert!(files.len() > 70);
    let mut failed = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        for fixed in [None, Some(0), Some(1), Some(2)] {
            let defines: Vec<(&str, i64)> = match fixed {
                Some(value) if text.contains("const FIXED") => vec![("FIXED", value)],
                Some(_) => continue,
                None => Vec::new(),
            };
            match checked(&text, &defines) {
                Ok(_) => {}
                Err(errors) => failed.push(format!("{} {defines:?}: {errors:#?}", path.display())),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Returns whether an offset is in the file. The texts of libraries lie behind every file.
fn in_file(offset: u32, source: &Source) -> bool {
    offset as usize <= source.text().len() || offset >= 1 << 24
}

/// Returns the errors of a text, each as `line: message`, joined by ` | `.
fn errors(text: &str) -> String {
    match checked(text, &[]) {
        Ok(_) => "ok".into(),
        Err(e) => {
            let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
            let told: Vec<String> =
                e.diagnostics.iter().map(|d| format!("{}: {}", line(d.span.start), d.message)).collect();
            let places: BTreeSet<_> = e.diagnostics.iter().map(|d| (d.span, &d.message)).collect();
            assert_eq!(places.len(), told.len(), "an error is told twice: {told:?}");
            assert!(e.diagnostics.iter().all(|d| !d.reason.is_empty()), "{text}: an error without reason");
            told.join(" | ")
        }
    }
}

/// Declarations before each mistake, which is checked alone after them.
const GIVEN: &str = "const N = 2; const YES = true; var x = 0; var b = false; var o: Object = null; atomic at = 0; \
     var l: list[int]; var a: int[3]; lock m; mutex mu; condition c; rwlock rw; semaphore s = 1; barrier ba = 2; \
     looper main; handler h on main; listener li(n: int); class C { var f = 0; var g: C; atomic t = 0 }; let k = new C; \
     task go(i) { }; task give(): int { return 1 }; event ev(i) on main { }; thread w(j in 1..3) { }; \
     property p always { x >= 0 }\n";

fn table(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, expected)| {
            let expected =
                if *expected == "ok" { "ok".to_owned() } else { format!("2: {}", expected.replace(" | ", " | 2: ")) };
            let got = errors(&format!("{GIVEN}{text}"));
            (got != expected).then(|| format!("{text}\n  expected {expected}\n  got      {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_in_items() {
    table(&[
        ("var m = 0", "`m` is declared twice"),
        ("const D = E; const E = D", "`E` needs itself"),
        ("const D = 1 / (N - 2)", "division by zero in a constant"),
        ("const D = 1 % (N - 2)", "division by zero in a constant"),
        ("const D = 9223372036854775807 + N", "ok"),
        ("const D = x", "`x` is a variable, not a constant"),
        ("const D = F; const F = N + 1; var y: int[D]", "ok"),
        ("var y: int[a.len]; mutex z[a.len]", "`a` is a variable, not a constant"),
        ("const D = null", "a constant is an int or a bool"),
        ("const D = (choose 0..2)", "`choose` cannot be used in a constant"),
        ("var y = choose 0..2", "`choose` cannot be used in a first value"),
        ("property q always { x == (choose 0..2) }", "`choose` cannot be used in a property"),
        ("property q at end { all i in 0..(choose 1..2): x == i }", "`choose` cannot be used in a constant"),
        ("init { x = choose 0..2 }", "`choose` cannot be used in `init`"),
        ("const D in 1..N + 2 = 3", "ok"),
        ("const D in E..9 = 3; const E = N", "ok"),
        ("const D in E..9 = 3; const E in 0..5 = N", "the range of `D` depends on `E`, which has a range itself"),
        ("const D in E..9 = 3; const E in 0..D = 1", "`E` needs itself"),
        ("const D in 1..4 = 4", "the value of `D` is not in its range"),
        ("const D in 1..4 = 0", "the value of `D` is not in its range"),
        ("const D in N..N = 2", "the range of `D` is empty"),
        ("const D in 4..1 = 2; var y: int[D]", "the range of `D` is empty"),
        ("const D in 0..2 = YES", "a `bool` has no range"),
        ("const D in 0..YES = 1", "the end of the range of `D` is a `bool`, not an `int`"),
        ("const D in x..3 = 1", "`x` is a variable, not a constant"),
        ("const D in -9223372036854775807 - 1..9223372036854775807 = 1", "ok"),
        ("var y", "`y` needs a type or an initial value"),
        ("var y = null", "`y` needs a type"),
        ("var y: C = new Object", "the initial value is an `Object`, not a `C`"),
        ("var y: Object = new C", "ok"),
        ("var y: int = null", "the initial value is `null`, not an `int`"),
        ("var y = x", "`x` is a variable, not a constant"),
        ("var y: lock = m; var t: thread = main; var q: handler = h; let z = k; var v: thread = w[2]", "ok"),
        ("var t: looper = w[1]", "the initial value is a `thread`, not a `looper`"),
        ("var y: inte", "unknown type `inte`"),
        ("var y: list", "a list needs the type of its elements"),
        ("var y: list[list[int]]", "a list cannot contain lists"),
        ("var y: list[int] = [1, true]", "an element is a `bool`, not an `int`"),
        ("var y: list[C] = [new C]", "the literal of a list cannot have a new object"),
        ("var y: int[2] = [1]", "the literal has 1 value for an array of 2"),
        ("var y: int[-1]", "an array's length cannot be -1"),
        ("var y: int[2000000]", "an array's length cannot be 2000000"),
        ("var y: int[1000][1000]; var z: int[10]", "this needs more than 1000000 cells of memory"),
        ("var y: int[1000][1001]", "this needs more than 1000000 cells of memory"),
        ("var y = w[9]", "the index is out of bounds"),
        ("var y = w[9] == main", "the initial value has to be computed"),
        ("var y: condition", "`y` needs an initial value"),
        ("atomic y: list[int]", "a list cannot be atomic"),
        ("class int { }", "a class cannot be named `int`"),
        ("class D { var f = 0; var f = 1 }", "field `f` is declared twice"),
        ("class D { var d: D = new D }", "a new `D` needs new objects without end"),
        ("let y: C", "`y` needs a value"),
        ("let y = z; let z = 1", "`z` is not known yet"),
        ("task cas() { }", "a task cannot be named `cas`"),
        ("task t(y: list[int]) { }", "lists cannot be passed"),
        ("task t(i, i) { }", "`i` hides a name of this body"),
        ("task t(x) { }", "`x` hides a variable"),
        ("task t(): int { if b { return 1 } }", "`t` may end without a result"),
        ("task t(): int { loop { } }; task u(): int { if b { throw E } else { return 1 } }", "ok"),
        ("task t(): int { loop { break } }", "`t` may end without a result"),
        ("handler y on m", "`m` is a lock"),
        ("handler y on mian", "unknown looper `mian`"),
        ("event e on w { }", "`w` is a thread"),
        ("event e(i) on main initially 1 { }", "`e` has parameters, so it cannot start enabled"),
        ("thread t(i in 0..1000000000) { }", "`t` declares 1000000000 threads"),
        (
            "thread t(i in 0 - 9223372036854775807..9223372036854775807) { }",
            "`t` declares 18446744073709551614 threads",
        ),
        ("mutex y[1000000000]", "the number of locks cannot be 1000000000"),
        ("semaphore y = -1", "a semaphore's count cannot be -1"),
        ("rwlock y prefer writer", "unknown preference `writer`"),
        ("app \"a\" { uncaugt = thread }", "unknown setting `uncaugt`"),
        ("app \"a\" { uncaught = 3 }", "unknown value ``"),
        ("init { }; init { }", "the model has a second `init`"),
        ("async task t() { skip }; task u() { t() }", "`t` is an async task"),
        ("async task t() { skip }; task u() { post t() to main }", "a post of an async task"),
        ("async task t() { skip }; task u() { fork t() }", "a fork of an async task"),
        ("task t() { skip }; task u() { launch t() }", "`t` is not async"),
        ("async task t() { sync m { sleep 5 } }", "`sleep` while a lock is held"),
        ("async task t() { sync m { await b } }", "`await` while a lock is held"),
        ("async task t() { sync m { u() } }; async task u() { yield }", "a call of an async task while a lock is held"),
        ("task t() { switch to main }", "`switch` outside an async task"),
        ("async task t() { switch to m }", "`switch` needs a looper, a pool, or a thread with a queue"),
        ("async task t() { skip }; task u() { let j = launch t(); if j.result == 1 { } }", "this job has no result"),
        ("async task t() { skip }; task u() { let j = launch t(); if j.don { } }", "a job has no field `don`"),
        ("async task t() { skip }; task u() { let j = launch t(); await j.done }", "a job in a condition"),
        (
            "async task t(): int { return 1 }; var held: job[int] = null; task u() { held = launch t(); x = held.result }",
            "ok",
        ),
        (
            "async task t() { skip }; var held: job[int] = null; task u() { held = launch t() }",
            "the value is a `job`, not a `job[int]`",
        ),
        ("task t() { cancel x }", "`cancel` needs a message or a job"),
        ("task t() { cancel t }", "`cancel` needs a message or a job, or the queue of a task"),
        ("async task t() { skip }; task u() { launch t() in main }", "`in` needs a job"),
        ("task t() { try { skip } catch Cancelled { skip } }", "unknown exception `Cancelled`"),
        ("init { post go(1) to main }", "`post` cannot be used in `init`"),
        ("task t() { sleep 1 }; init { t() }", "`sleep` cannot be used in `t`, which `init` calls"),
        ("property q always { all i in 0..a.len: a[i] == 0 }", "ok"),
        ("property q always { all i in 0..20000: a[0] == i }", "the quantifier has too many values"),
        ("property q always { all i in 0..200: all j in 0..10000: a[i] == j }", "the quantifier has too many values"),
        ("property q always { all i in 0..3: a[i] == y }", "unknown name `y`"),
        ("property q always { give() == 1 }", "a call cannot be used in a property"),
        ("property q always { x }", "a property is an `int`, not a `bool`"),
    ]);
}

#[test]
fn mistakes_in_bodies() {
    let cases: Vec<(String, &str)> = [
        ("y = 1", "unknown name `y`"),
        ("y = z", "unknown name `y` | unknown name `z`"),
        ("let y = z; y = 1; x = y", "unknown name `z`"),
        ("let x = 1", "`x` hides a variable"),
        ("let y = 1; if b { let y = 2 }", "`y` hides a name of this body"),
        ("if b { let y = 1 } else { let y = 2 }", "ok"),
        ("let y = null", "`y` needs a type"),
        ("let y: list[int]", "a list cannot be local"),
        ("let y = l", "a list cannot be copied, passed or compared"),
        ("x = choose 0..N", "ok"),
        ("x = choose N..N", "the range of `choose` is empty"),
        ("x = choose 3..N", "the range of `choose` is empty"),
        ("if N > 2 { x = choose 3..N }", "ok"),
        ("x = choose 0..65536", "ok"),
        ("x = choose 0..65537", "this `choose` has 65537 values"),
        ("x = choose -9223372036854775807..9223372036854775807", "this `choose` has 18446744073709551614 values"),
        ("x = choose 0..x", "`x` is a variable, not a constant"),
        ("let y = 3; x = choose 0..y", "`y` is not constant"),
        ("x = choose 0..YES", "the end of the range of `choose` is a `bool`, not an `int`"),
        ("b = choose 0..2", "the value is an `int`, not a `bool`"),
        ("await x == (choose 0..2)", "`choose` cannot be used in the condition of an `await`"),
        ("go(choose 0..2); a[(choose 0..3)] = -(choose 1..4); sleep (choose 0..4)", "ok"),
        ("l = l", "a list cannot be assigned"),
        ("if l == l { }", "a list cannot be copied, passed or compared | a list cannot be copied, passed or compared"),
        ("let y: condition", "`y` needs an initial value"),
        ("let y: int[2]; y[0] = 1; y[give()] += 1; x = y.len", "ok"),
        ("N = 1", "`N` cannot be assigned"),
        ("k = new C", "`k` cannot be assigned"),
        ("k.f = 1; k.g = k; k.g.g.f += 1", "ok"),
        ("k.ff = 1", "`C` has no field `ff`"),
        ("x.f = 1", "an `int` has no fields"),
        ("x[0] = 1", "an `int` cannot be indexed"),
        ("a = a", "an array cannot be assigned"),
        ("let y = a", "an array cannot be copied, passed or compared"),
        ("a[b] = 1", "an index is a `bool`, not an `int`"),
        ("for i in 0..3 { i = 2 }", "the variable of a `for` cannot be assigned"),
        ("for i in a { }", "`for ... in` needs a range or a list"),
        ("for i in l { x = i }", "ok"),
        ("if x { }", "a condition is an `int`, not a `bool`"),
        ("if o { }", "a condition is an `Object`, not a `bool`"),
        ("while x == null { }", "an `int` and `null` cannot be compared"),
        ("if o == k { }; if k.g == o { }", "ok"),
        ("if m == k { }", "a `lock` and a `C` cannot be compared"),
        ("x = true", "the value is a `bool`, not an `int`"),
        ("b += 1", "`+=` cannot be applied to a `bool`"),
        ("at += 1", "`+=` is ambiguous on an atomic"),
        ("fetch_add(x, 1)", "`fetch_add` needs an atomic place"),
        ("fetch_add(at)", "`fetch_add` takes 2 arguments, not 1"),
        ("if cas(k.t, 0, 1) { x = exchange(at, 2) }", "ok"),
        ("fetch_ad(at, 1)", "unknown task `fetch_ad`"),
        ("goo(1)", "unknown task `goo`"),
        ("go()", "`go` takes 1 argument, not 0"),
        ("go(true)", "the argument `i` is a `bool`, not an `int`"),
        ("x = go(1)", "`go` gives no value"),
        ("ev(1)", "`ev` is an event"),
        ("x = m", "the value is a `lock`, not an `int`"),
        ("x = go", "`go` is a task"),
        ("l.push(b)", "the element is a `bool`, not an `int`"),
        ("l.pusch(1)", "unknown operation `pusch`"),
        ("x = l.len()", "unknown operation `len`"),
        ("x = l.size", "a list has no field `size`"),
        ("return 1", "`return` has a value in a body without a result"),
        ("break", "`break` cannot be used outside a loop"),
        ("post go(1) to m", "a post needs a looper, a pool, a handler, or a thread with a queue"),
        ("post go(1) to h after true", "a delay is a `bool`, not an `int`"),
        ("post go(1) to main as k", "`as` takes a name in quotes"),
        ("if (post go(1) to main) == null { }; b = post go(2) to h; if !(post go(3) to self) { }", "ok"),
        ("let q = fence h", "`fence` needs a looper, or a thread with a queue"),
        ("quit m", "`quit` needs a looper, a pool, or a thread with a queue"),
        ("cancel og on main", "unknown task `og`"),
        ("enable ev", "`ev` takes 1 argument, not 0"),
        ("enable go(1)", "`go` is a task"),
        ("perform li(b)", "the argument `_` is a `bool`, not an `int`"),
        ("register give to li", "`give` does not fit the listener `li`"),
        ("register go to li; perform li(x)", "ok"),
        ("sync rw { }", "`sync` needs a lock or an object"),
        ("read m { }", "`read` needs a rwlock"),
        ("wait mu", "a mutex has no wait set"),
        ("wait c", "`wait` needs a lock or an object"),
        ("wait m with c", "`wait ... with` needs a condition | `with` needs a lock or mutex"),
        ("wait c with mu for 10; wait o", "ok"),
        ("notify c", "`notify` needs a lock or an object"),
        ("signal m", "`signal` needs a condition"),
        ("down m", "the operand of `down` is a `lock`, not a `semaphore`"),
        ("use x", "the operand of `use` is an `int`, not an `Object`"),
        ("join w", "`w` names several values of type `thread`"),
        ("join w[1]; interrupt w[x]; join main", "ok"),
        ("await give() == 1", "a call cannot be used in the condition of an `await`"),
        ("await x == 1 && l.len > 0 && k.g != null for 5", "ok"),
        ("try { skip } catch Nul { }", "unknown exception `Nul`"),
        ("try { throw Odd } catch Odd { } catch NullPointer { } catch { } finally { skip }", "ok"),
        ("@q: skip; @q: skip", "label `@q` occurs twice"),
        ("if N == 2 { @q: skip } else { @q: skip }", "ok"),
        ("if N == 3 { y = 1 }", "unknown name `y`"),
        ("if N != 0 || 1 / (N - 2) == 0 { }", "ok"),
        ("x = 1 / (N - 2)", "division by zero in a constant"),
        ("use this", "`this` outside a component"),
        ("x = \"text\"", "a string is not a value"),
        ("let y: looper = self", "the value is a `thread`, not a `looper`"),
    ]
    .map(|(body, expected)| (format!("thread t {{ {body} }}"), expected))
    .into();
    table(&cases.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}

#[test]
fn mistakes_in_expectations() {
    const LABELLED: &str = "thread t { @q: x = x + a[0]; @r: skip; if N == 3 { @dead: x = 1; fail \"gone\" }; @s: loop { break }; \
         @as: assert b, \"no b\"; transaction \"step\" { throw Odd } }; ";
    let cases: Vec<(String, &str)> = [
        ("race @q ~ @q: real, harmful", "ok"),
        ("race @q.write ~ @q of a", "ok"),
        ("race @qq ~ @q", "unknown label `@qq`"),
        ("race @q.write of a ~ @q", "`@q.write of a` selects nothing"),
        ("race @q of aa ~ @q", "unknown name `aa`"),
        ("race @r ~ @q", "`@r` selects nothing"),
        ("order @r, @q: never", "ok"),
        ("order @s, @q: real", "`@s` selects nothing"),
        ("order @q, @r: often", "unknown word `often`"),
        ("race @q ~ @dead", "the expectation is unreachable"),
        ("race @q ~ @dead if N == 3", "ok"),
        ("race @q ~ @deed if N == 3", "unknown label `@deed`"),
        ("race @q ~ @q: rael", "unknown word `rael`"),
        ("race @q ~ @q: false, real", "`false` contradicts the other word"),
        ("no race @q ~ @q: real", "`no race` cannot have a word"),
        ("failure NulPointer", "unknown failure `NulPointer`"),
        ("failure Odd", "ok"),
        ("failure p at @as", "ok"),
        ("failure \"no bb\"", "unknown message \"no bb\""),
        ("failure \"gone\" if N == 3", "ok"),
        ("atomicity violation \"stap\"", "unknown transaction \"stap\""),
        ("no atomicity violation \"step\"", "ok"),
        ("atomicity violation go: harmful", "ok"),
        ("atomicity violation main", "`main` is a looper"),
        ("atomicity violation: real, real", "`real` occurs twice"),
        ("atomicity violation: joined", "unknown word `joined`"),
        ("no atomicity violation: joint", "`no atomicity violation` cannot have a word"),
        ("executes_before go, ev", "ok"),
        ("executes_before go, main", "`main` is a looper"),
        ("races N real N - 1", "ok"),
        ("races x", "`x` is a variable, not a constant"),
        ("outcomes of x: ok 1, deadlock, failure p, ok N + 1", "ok"),
        ("outcomes of x, l, a, o: ok [1, [2], [3, 4, 5], null]", "ok"),
        ("outcomes of x: ok true", "the end value is a `bool`, not an `int`"),
        ("outcomes of x: ok [1]", "`x` is an `int`"),
        ("outcomes of l: ok 1", "`l` is a `list[int]`"),
        ("outcomes of a: ok [1]", "`a` has 3 elements, not 1"),
        ("outcomes of x, b: ok [1]", "2 variables need 2 end values"),
        ("outcomes: ok 1", "the line has end values but no variables"),
        ("outcomes of m: ok 1", "`m` is a lock"),
        ("deadlock if N", "the condition of an expectation is an `int`, not a `bool`"),
        ("deadlock if M == 1", "unknown name `M`"),
    ]
    .map(|(line, expected)| (format!("{LABELLED}expect {line}"), expected))
    .into();
    table(&cases.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}

/// Returns the sites of a text, each as `kind place @label`, and the labels with the number of their sites.
fn sites(text: &str, defines: &[(&str, i64)]) -> String {
    let program = checked(text, defines).unwrap_or_else(|e| panic!("{e:#?}"));
    let mut ordinals = BTreeMap::new();
    let told: Vec<String> = program
        .sites
        .iter()
        .map(|s| {
            let next = ordinals.entry(s.body).or_insert(0);
            assert_eq!(s.ordinal, *next, "ordinals count within a body");
            *next += 1;
            let label = s.label.as_ref().map_or(String::new(), |l| format!(" @{l}"));
            format!("{} {}{label}", s.kind.word(), s.place).replace("  ", " ").trim_end().to_owned()
        })
        .collect();
    assert!(program.sites.windows(2).all(|s| s[0].body <= s[1].body), "by body");
    // For a label without a step, the places where its statement can fail count instead.
    let selected = |label: &str| {
        let all = labelled(&program.sites, label);
        let steps = all.iter().filter(|id| program.sites[**id].kind != SiteKind::Check).count();
        if steps > 0 { steps } else { all.len() }
    };
    let labels: Vec<String> = program.labels.iter().map(|l| format!("{}:{}", l.name, selected(&l.name))).collect();
    format!("{} [{}]", told.join(", "), labels.join(" "))
}

#[test]
fn folding_leaves_no_sites() {
    let text = "const F = 0; var x = 0; var y = 0; var d = false
        thread t {
            if F == 1 { @b: x = 1 } else { @b: y = 2 }
            @c: if x == 1 || F == 0 { skip }
            @d: if F == 0 || x == 2 { y = 4 }
            while F == 1 { let z = x; x = z }
            if F != 0 && !d { @e: d = true }
        }";
    assert_eq!(
        sites(text, &[]),
        "write y @b, read x @c, skip, write y [b:1 c:1 d:0]",
        "`x == 1 || true` still reads x"
    );
    assert_eq!(
        sites(text, &[("F", 1)]),
        "write x @b, read x @c, skip, read x @d, write y, read x, write x, read d, write d @e [b:1 c:1 d:1 e:1]"
    );
    let program = checked(text, &[]).unwrap();
    assert!(program.bodies[raceflip::event::BodyId(0)].locals.is_empty(), "locals of a dead branch");
}

#[test]
fn sites_of_statements() {
    let check = |body: &str, expected: &str| {
        let text = format!(
            "var x = 0; var o: Object = null; atomic n = 0; var l: list[int]; lock m; rwlock rw prefer writers; looper main; \
             class C {{ var t: int[3]; atomic a: C }}; let s = new C; task f(i): int {{ return i }}; task g() {{ }}; \
             thread t {{ {body} }}"
        );
        assert_eq!(sites(&text, &[]), expected, "{body}");
    };
    check("@a: x += n", "read x @a, atomic read n @a, write x @a [a:3]");
    check("@a: s.t[x] = l[0]", "read x @a, read l[] @a, write s.t[] @a [a:3]");
    check("@a: s.a.a = null", "atomic read s.a @a, atomic write s.a.a @a [a:2]");
    check("@a: use o", "read o @a, use o @a [a:2]");
    check("@a: l[x] += 1; l.push(x)", "read x @a, read l[] @a, write l[] @a, read x, write l [a:3]");
    check("@a: sync m { skip }", "acquire m @a, skip, release m @a [a:2]");
    check("write rw { skip }", "announce rw, write-lock rw, skip, write-unlock rw []");
    check("@a: post g() to main", "post g -> main @a [a:1]");
    check("@a: fork g(); cancel g on main", "fork g @a, cancel g -> main [a:1]");
    check("@a: assert x == 1, \"no\"", "read x @a, check @a [a:1]");
    check("@a: fail \"no\"", "check @a [a:1]");
    check("@a: x = f(f(1))", "check @a, write x @a [a:1]");
    check("x = (x + 1) % 3", "read x, write x []");
    check("x = 3 / x", "read x, check, write x []");
    check("await x > 0 && n == 1", "read x, atomic read n, await []");
    check("@a: while * { skip }", "branch @a, skip [a:1]");
    check("@a: for i in l { skip }", "read l @a, skip [a:1]");
    check("@a: if cas(n, 0, 1) { exchange(n, 2) }", "atomic update n @a, atomic update n [a:1]");
}

#[test]
fn references_select() {
    let text = "var x = 0; var y = 0; thread t { @a: x = x + y; @b: assert x == 0, \"e\" }
        expect race @a ~ @a.read of x; expect race @a.write ~ @a of y; expect failure \"e\" at @b";
    let program = checked(text, &[]).unwrap();
    let told: Vec<String> = program.expectations.iter().map(|e| format!("{}: {:?}", e.line, e.kind)).collect();
    let numbers = |s: &str| -> Vec<String> {
        s.split("sites: ").skip(1).map(|s| s[..=s.find(']').unwrap()].replace("SiteId", "")).collect()
    };
    assert_eq!(
        told.iter().map(|s| numbers(s).join(" ")).collect::<Vec<_>>(),
        ["[(0), (1), (2)] [(0)]", "[(2)] [(1)]", "[(3), (4)]"]
    );
    assert_eq!(program.expectations[1].text, "expect race @a.write ~ @a of y");
}

#[test]
fn constants_from_outside() {
    let text = "const N = 2; const D = N * 2; const BIG = N > 1; var a: int[D]; thread t(i in 0..N) { }";
    let values = |defines: &[(&str, i64)]| {
        let program = checked(text, defines).unwrap();
        (program.consts.iter().map(|(_, v)| *v).collect::<Vec<_>>(), program.threads.len())
    };
    assert_eq!(values(&[]), (vec![2, 4, 1], 2));
    assert_eq!(values(&[("N", 0)]), (vec![0, 0, 0], 0));
    assert_eq!(values(&[("N", 1), ("D", 7), ("N", 3), ("BIG", 0)]), (vec![3, 7, 0], 3));
    let refused = |name: &str, value: i64| {
        let e = checked(text, &[(name, value)]).unwrap_err();
        let lines: Vec<String> = e.defines.iter().map(ToString::to_string).collect();
        lines.into_iter().chain(e.diagnostics.into_iter().map(|d| d.message)).collect::<Vec<_>>().join(" | ")
    };
    assert_eq!(refused("M", 1), "-D M: the model has no constant `M`");
    assert_eq!(refused("BIGG", 1), "-D BIGG: the model has no constant `BIGG`; did you mean `BIG`?");
    assert_eq!(refused("a", 1), "-D a: `a` is a variable; only a `const` can be overridden");
    assert_eq!(refused("BIG", 2), "-D BIG=2: `BIG` is a bool; give 0 or 1");
    let ranged = "const LEAST = 1\nconst N in LEAST..4 = 2\nconst BIG in 0..10 = 2";
    let define = |values: &[(&str, i64)]| match checked(ranged, values) {
        Ok(program) => format!("{:?}", program.consts),
        Err(e) => {
            let lines = e.defines.iter().map(ToString::to_string);
            lines.chain(e.diagnostics.into_iter().map(|d| d.message)).collect::<Vec<_>>().join(" | ")
        }
    };
    assert_eq!(define(&[("N", 3), ("BIG", 0)]), r#"[("LEAST", 1), ("N", 3), ("BIG", 0)]"#);
    assert_eq!(define(&[("N", 9)]), "-D N=9: the range of `N` is 1..4, without its end (test.race:2:12)");
    assert_eq!(define(&[("N", 4)]), "-D N=4: the range of `N` is 1..4, without its end (test.race:2:12)");
    assert_eq!(define(&[("LEAST", 3)]), "the value of `N` is not in its range");
    assert_eq!(define(&[("LEAST", 3), ("N", 3)]), r#"[("LEAST", 3), ("N", 3), ("BIG", 2)]"#);
    let program = checked(ranged, &[]).unwrap();
    assert_eq!(raceflip::lang::variants::ranges(&program), [("N".to_owned(), 1..4), ("BIG".to_owned(), 0..10)]);
    assert_eq!(refused("N", i64::MAX), "an array's length cannot be -2 | `t` declares 9223372036854775807 threads");
    assert_eq!(refused("D", i64::MAX), "an array's length cannot be 9223372036854775807");
}

#[test]
fn suggestions_and_notes() {
    let first = |text: &str| {
        let mut all = checked(text, &[]).unwrap_err().diagnostics;
        assert_eq!(all.len(), 1, "{all:#?}");
        let d = all.remove(0);
        let notes: Vec<String> = d.notes.iter().map(|(_, n)| n.clone()).collect();
        format!("{}; {}; {}", d.reason, notes.join(", "), d.help.unwrap_or_default())
    };
    assert_eq!(
        first("var destroyed = false; thread t { destroyd = true }"),
        "this name is not declared; ; did you mean `destroyed`?"
    );
    assert_eq!(
        first("lock m; task m() { }"),
        "this is already the name of a lock; first declared here; top-level names share one namespace: choose another name"
    );
    assert_eq!(
        first("atomic n = 0; thread t { n -= 2 }"),
        "it may be one step, or two; ; write `fetch_add(n, -2)` for one step, or `n = n - 2` for a read and a write"
    );
    assert_eq!(
        first("thread t { @here: skip }; expect order @heer: real"),
        "no statement has this label; ; did you mean `@here`?"
    );
    assert_eq!(first("var x = 0; thread t { if x { } }"), "this is an `int`; ; compare it: `... != 0`");
}

#[test]
fn large_texts_are_told_about_not_run_into() {
    let chain: String = (0..20_000).map(|i| format!("const C{i} = C{} + 1\n", i + 1)).collect();
    assert!(checked(&format!("{chain}const C20000 = 0\n"), &[]).is_ok());
    let classes: String =
        (0..5_000).map(|i| format!("class C{i} {{ var n: C{} = new C{} }}\n", i + 1, i + 1)).collect();
    assert_eq!(errors(&format!("{classes}class C5000 {{ }}")), "1: a new `C0` needs new objects without end");
    let doubles: String =
        (0..40).map(|i| format!("class D{i} {{ var a: D{0} = new D{0}; var b: D{0} = new D{0} }}\n", i + 1)).collect();
    assert!(errors(&format!("{doubles}class D40 {{ }}")).ends_with("more than 1000000 cells of memory"));
    let locals: String = (0..20_000).map(|i| format!("let v{i} = {i}\n")).collect();
    assert!(checked(&format!("thread t {{ {locals} }}"), &[]).is_ok());
    let labels: String =
        (0..10_000).map(|i| format!("@l{i}: throw E{i}\nexpect failure E{i} at @l{i}\n").replace('\n', "; ")).collect();
    let (stmts, expects): (Vec<&str>, Vec<&str>) = labels.split_inclusive("; ").partition(|s| s.starts_with('@'));
    assert!(checked(&format!("thread t {{ {} }}; {}", stmts.concat(), expects.concat()), &[]).is_ok());
    let fields: String = (0..20_000).map(|i| format!("var f{i}: int; ")).collect();
    let uses: String = (0..10_000).map(|i| format!("k.f{i} = 1; ")).collect();
    assert!(checked(&format!("class K {{ {fields} }}; let k = new K; thread t {{ {uses} }}"), &[]).is_ok());
    let unknown: String = (0..15_000).map(|i| format!("thread t{i} {{ unknown{i} = 1 }}; var v{i} = w{i}; ")).collect();
    assert_eq!(checked(&unknown, &[]).unwrap_err().diagnostics.len(), 20);
    let many: String = (0..100).map(|i| format!("u{i} = 1\n")).collect();
    assert_eq!(checked(&format!("thread t {{ {many} }}"), &[]).unwrap_err().diagnostics.len(), 20);
}

/// On models with exchanged words, the checker never panics, its errors lie inside the text, and programs that pass are
/// consistent.
#[test]
fn mutated_models_are_refused_in_an_orderly_way() {
    const ROUNDS: u32 = 60;
    let mut rng = Rng::seeded(0x5eed);
    let (mut passed, mut refused) = (0, 0);
    for path in models("tests/models") {
        let text = fs::read_to_string(&path).unwrap();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        // Each piece is a word and the text after it, up to the next word.
        let pieces: Vec<(&str, &str)> = text
            .split_inclusive(|c: char| !is_word(c))
            .map(|piece| piece.split_at(piece.trim_end_matches(|c| !is_word(c)).len()))
            .collect();
        let words: Vec<usize> = (0..pieces.len()).filter(|i| !pieces[*i].0.is_empty()).collect();
        for _ in 0..ROUNDS {
            let mut mutated = pieces.clone();
            for _ in 0..=rng.below(2) {
                let mut any = || words[rng.below(u32::try_from(words.len()).unwrap()) as usize];
                let (from, to) = (any(), any());
                mutated[to].0 = pieces[from].0;
            }
            let mutated: String = mutated.into_iter().flat_map(|(word, rest)| [word, rest]).collect();
            let Ok(source) = Source::new("mutated.race", &mutated) else { continue };
            let Ok(file) = parse(&source) else { continue };
            match check(&file, &source, &[]) {
                Ok(program) => {
                    passed += 1;
                    assert!(program.sites.iter().all(|s| (s.body.0 as usize) < program.bodies.len()));
                }
                Err(e) => {
                    refused += 1;
                    assert!(!e.diagnostics.is_empty(), "{}", source.text());
                    assert!(e.diagnostics.iter().all(|d| in_file(d.span.end, &source)));
                }
            }
        }
    }
    assert!(passed > 100 && refused > 500, "{passed} passed, {refused} refused");
}

/// The value of a constant equals the value of the same expression at run time.
#[test]
fn constants_are_what_expressions_are() {
    let (least, most) = ("(-9223372036854775807 - 1)", "9223372036854775807");
    let (mut constants, mut asserts) = (String::new(), String::new());
    let values = [least, most, "-1", "0", "1", "2", "63", "64", "70", "-64"];
    let mut n = 0;
    for a in values {
        for b in values {
            for op in ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"] {
                if matches!(op, "/" | "%") && b == "0" {
                    continue;
                }
                constants.push_str(&format!("const C{n} = {a} {op} {b}\n"));
                asserts.push_str(&format!("  a = {a}; b = {b}; assert a {op} b == C{n}, \"{a} {op} {b}\"\n"));
                n += 1;
            }
        }
        constants.push_str(&format!("const N{n} = -{a}\n"));
        asserts.push_str(&format!("  a = {a}; assert -a == N{n}, \"-{a}\"\n"));
    }
    let text = format!("{constants}var a = 0\nvar b = 0\nthread t {{\n{asserts}}}\n");
    let model = raceflip::vm::Model::from_text("constants.race", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = model.machine(raceflip::world::Limits::default());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut strategy = raceflip::sched::RoundRobin::default();
    let summary = raceflip::exec::run(&mut machine, &mut strategy, 0, &mut raceflip::exec::NoObserver, &stop);
    assert_eq!(summary.outcome(), Some(&raceflip::event::Outcome::Ok));
}
