//! Tests of `raceflip check`: warnings beside `ok`, the number of errors, and unknown names after a syntax error.

use crate::cli::{REFUSED, call, file, scratch};

#[test]
fn warnings_leave_the_status_as_it_is() {
    let folder = scratch("check_warnings");
    let text = "var x = 0\nlooper main\nthread t { post f() to main }\ntask f() { x = 1 }\nevent back on main { x = 2 }\nlock l\n";
    let ran = call(&["check", &file(&folder, "a.race", text)]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.ends_with(", 2 warnings\n"), "{}", ran.out);
    assert!(ran.err.contains("warning: nothing enables the event `back`"), "{}", ran.err);
    assert!(ran.err.contains("warning: nothing uses the lock `l`"), "{}", ran.err);
}

#[test]
fn harnesses_have_no_warnings() {
    for folder in ["bugs", "calfuzzer", "convul", "papers", "queue", "racefuzzer", "sctbench"] {
        for path in crate::support::models(&format!("harnesses/{folder}")) {
            let ran = call(&["check", &path]);
            assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{path}");
        }
    }
}

#[test]
fn several_errors_are_counted_and_syntax_errors_hide_no_unknown_names() {
    let folder = scratch("check_errors");
    let text = "var x = 0\nthread t {\n    let a = = 1\n    use a\n    y = 2\n    x = z\n}\n";
    let path = file(&folder, "a.race", text);
    for command in ["check", "run", "confirm"] {
        let ran = call(&[command, &path]);
        assert_eq!(ran.status, REFUSED, "{}", ran.out);
        for error in ["expected an expression, found `=`", "unknown name `y`", "unknown name `z`"] {
            assert!(ran.err.contains(error), "{command}: {}", ran.err);
        }
        // The statement with the syntax error declares `a`, so `a` is not reported as unknown.
        assert!(!ran.err.contains("unknown name `a`"), "{command}: {}", ran.err);
        assert!(ran.err.ends_with(&format!("\n{path}: 3 errors\n")), "{command}: {}", ran.err);
    }
    let many = format!("thread t {{\n{}}}\n", "    y = 1\n".repeat(30));
    let ran = call(&["check", &file(&folder, "many.race", &many)]);
    assert!(ran.err.ends_with("many.race: the first 20 errors; there may be more\n"), "{}", ran.err);
    let one = call(&["check", &file(&folder, "one.race", "thread t { y = 1 }\n")]);
    assert!(one.err.trim_end().ends_with("not declared"), "{}", one.err);
}

/// What static analysis knows to be a mistake is a warning with its reason, and a comment silences each.
#[test]
fn static_analysis_warns_and_can_be_silenced() {
    let folder = scratch("check_static");
    let text = |lock: &str, line: &str| {
        format!(
            "var x = 0\nlock m\nlooper main\nthread env {{ post a() to main; post b() to main }}\n\
             task a() {{\n    {lock}\n    sync m {{ x = 1 }}\n}}\ntask b() {{ @b: x = 2 }}\n\
             task c() {{ throw Oops; @c: x = 3 }}\nthread t {{ try {{ c() }} catch Oops {{ sync m {{ skip }} }} }}\n\
             {line}\nexpect order @b, @c: never\n"
        )
    };
    let ran = call(&["check", &file(&folder, "warned.race", &text("skip", "// no word"))]);
    assert!(ran.out.ends_with(", 2 warnings\n") && ran.status == 0, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("warning: the lock `m` protects nothing here"), "{}", ran.err);
    assert!(ran.err.contains("a is over before b begins: they are posted to main in this order"), "{}", ran.err);
    assert!(ran.err.contains("warning: this line holds because `@c` never comes"), "{}", ran.err);
    let silent = text("// allow: redundant-lock", "// allow: unused, never-comes");
    let ran = call(&["check", &file(&folder, "silent.race", &silent)]);
    assert_eq!(ran.err, "");
}

/// A task or event that only code names to which nothing comes is reported with that reason. Code that a variant of the
/// model reaches counts, and a comment silences the warning.
#[test]
fn what_no_code_reaches_is_reported() {
    let folder = scratch("check_idle");
    let text = |above: &str| {
        format!(
            "const FIXED = 0\nvar x = 0\nlooper main\nlistener l\n\
             thread t {{\n    if FIXED == 1 {{ post once() to main; enable fixed() }}\n    register heard to l\n    called()\n    return\n    \
             post never() to main\n    enable lost()\n    perform l()\n}}\n\
             task once() {{ x = 1 }}\nevent fixed on main {{ x = 2 }}\ntask heard() {{ x = 3 }}\ntask called() {{ x = 4 }}\n\
             {above}task never() {{ post behind() to main }}\n{above}task behind() {{ x = 5 }}\n{above}event lost on main {{ x = 6 }}\n\
             expect no failure if FIXED == 1\n"
        )
    };
    let path = file(&folder, "a.race", &text(""));
    let ran = call(&["check", &path]);
    assert!(ran.status == 0 && ran.out.ends_with(", 3 warnings\n"), "{}{}", ran.out, ran.err);
    for named in ["nothing runs the task `never`", "nothing runs the task `behind`", "nothing enables the event `lost`"]
    {
        assert!(ran.err.contains(&format!("warning: {named}")), "{named}: {}", ran.err);
    }
    assert!(ran.err.contains("no thread or task comes to code that enables it"), "{}", ran.err);
    // Without the line that names the variant, nothing sets the constant.
    let alone = text("").replace("expect no failure if FIXED == 1\n", "");
    let ran = call(&["check", &file(&folder, "alone.race", &alone)]);
    assert!(ran.out.ends_with(", 5 warnings\n"), "{}{}", ran.out, ran.err);
    let ran = call(&["check", "-D", "FIXED=1", &file(&folder, "alone.race", &alone)]);
    assert!(ran.out.ends_with(", 3 warnings\n"), "{}{}", ran.out, ran.err);
    let ran = call(&["check", &file(&folder, "silent.race", &text("// allow: unused\n"))]);
    assert_eq!(ran.err, "");
}
