//! Tests of the parser: every model parses and prints to itself, and words mean the right thing in each context.

use std::path::Path;
use std::sync::OnceLock;

use raceflip::lang::{Source, ast, parse, print, render};

/// Returns the models in `tests/models`: file name and text, ordered by name.
pub(crate) fn models() -> &'static [(String, String)] {
    static MODELS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
        let mut models: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "race"))
            .map(|path| {
                (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
            })
            .collect();
        models.sort();
        models
    })
}

fn tree(name: &str, text: &str) -> ast::File {
    let source = Source::new(name, text).unwrap();
    parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false)))
}

#[test]
fn every_model_parses_and_prints_to_itself() {
    for (name, text) in models() {
        let first = tree(name, text);
        let printed = print(&first);
        let again = tree(name, &printed);
        assert_eq!(first, again, "{printed}");
        assert_eq!(printed, print(&again), "printing is stable");
    }
    assert!(models().len() >= 95, "{} models", models().len());
}

#[test]
fn carriage_returns_change_nothing() {
    for (name, text) in models() {
        let expected = tree(name, text);
        assert_eq!(tree(name, &text.replace('\n', "\r\n")), expected, "{name}");
        assert_eq!(tree(name, &text.replace('\n', "\r")), expected, "{name}");
    }
}

/// Returns the kind of the only statement of a block, by its name in the syntax tree.
fn kind_of(stmt: &str) -> String {
    let file = tree("a.race", &format!("init {{ {stmt}\n}}"));
    let ast::ItemKind::Init { body } = &file.items[0].kind else { panic!("no init") };
    assert_eq!(body.stmts.len(), 1, "{stmt}");
    let text = format!("{:?}", body.stmts[0].kind);
    text.split(['(', ' ', '{']).next().unwrap().to_owned()
}

#[test]
fn words_mean_something_only_where_they_stand() {
    let check = |stmt: &str, expected: &str| assert_eq!(kind_of(stmt), expected, "{stmt}");
    check("register()", "Expr");
    check("register x to l", "Register");
    check("unregister x from l", "Unregister");
    check("register.x = 1", "Assign");
    check("quit = true", "Assign");
    check("quit ht", "Quit");
    check("quit ht safely", "Quit");
    check("quit[0] = 1", "Assign");
    check("quit(1)", "Expr");
    check("use f", "Verb");
    check("use = 1", "Assign");
    check("use += 1", "Assign");
    check("use(f)", "Expr");
    check("use (f)", "Verb");
    check("use.push(1)", "Expr");
    check("sleep 10", "Verb");
    check("sleep (a + b) * 2", "Verb");
    check("sleep(a)", "Expr");
    check("sleep -1", "Verb");
    check("join (fork f())", "Verb");
    check("up use", "Verb");
    check("skip", "Skip");
    check("skip = 1", "Assign");
    check("yield()", "Expr");
    check("attach queue", "AttachQueue");
    check("attach = queue", "Assign");
    check("loop queue", "LoopQueue");
    check("loop { }", "Loop");
    check("post(x)", "Expr");
    check("post post() to post", "Expr");
    check("post f() to fence after wait async as spawn", "Expr");
    check("post = post", "Assign");
    check("let post = post p() to main", "Let");
    check("wait = fork", "Assign");
    check("wait m", "Expr");
    check("wait (m) with l for 5", "Expr");
    check("wait(m)", "Expr");
    check("read rw { }", "Sync");
    check("read = 1", "Assign");
    check("read(1)", "Expr");
    check("cancel all on main", "Cancel");
    check("cancel a on handler", "Cancel");
    check("cancel(a)", "Expr");
    check("enable on as at", "Enable");
    check("start(1)", "Expr");
    check("transaction { }", "Transaction");
    check("transaction \"t\" { }", "Transaction");
    check("scope { }", "JobBlock");
    check("scope = 1", "Assign");
    check("uncancellable { skip }", "JobBlock");
    check("transaction = 1", "Assign");
    check("perform l(1)", "Perform");
    check("if * { } else if a { }\n else { }", "If");
    check("try { } catch A { } catch { }\n finally { }", "Try");
    check("for from in to { }", "For");
    check("for i in 0..n + 1 { }", "For");
    check("x = [1, 2]", "Assign");
    check("x[f(post g() to main)] = (await e for 3) && y", "Assign");
    check("a = b +\n c", "Assign");
    check("a =\n b", "Assign");
    check("f(\n a\n ,\n b,\n)", "Expr");
    check("a[\n 0\n ] = 1", "Assign");
    check("@a from \"A.java:1\": return post f() to main at front", "Return");
}

#[test]
fn precedence_is_rusts() {
    let check = |written: &str, expected: &str| {
        let printed = print(&tree("a.race", &format!("const c = {written}")));
        assert_eq!(printed, format!("const c = {expected}\n"), "{written}");
    };
    check("(a || b) && c", "(a || b) && c");
    check("a || (b && c)", "a || b && c");
    check("(a == b) == c", "(a == b) == c");
    check("((a & b)) == c", "a & b == c");
    check("(a | b) ^ (c & d)", "(a | b) ^ c & d");
    check("(1 + 2) << 3", "1 + 2 << 3");
    check("1 + (2 << 3)", "1 + (2 << 3)");
    check("a - (b - c)", "a - (b - c)");
    check("(a - b) - c", "a - b - c");
    check("-(-(1))", "--1");
    check("!(a.b)[1].c", "!a.b[1].c");
    check("(!a).b", "(!a).b");
    check("-9223372036854775808 - 1_000 + 0x1F", "-9223372036854775808 - 1000 + 31");
    check("(fork f()) == null", "(fork f()) == null");
}
