//! Tests of kinds and components in the language: how they parse, print, are written out and are refused.

use crate::lang_roundtrip::{block, expr, field, name, params, ty};
use crate::support::{program, read};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use raceflip::event::SiteKind;
use raceflip::lang::ast::*;
use raceflip::lang::words::is_verb_word;
use raceflip::lang::{Source, expand, format, parse, print, render};

/// A kind of lamps, which the small tests use.
const LAMP: &str = "\
looper main
kind lamp {
    callback on, off, say(x, ..)
    stage dark, lit, broken
    events during lit
    state presses = 0
    var color = 0
    atomic warm = false
    verb plug makes { presses = 1 }
    verb press { presses += 1; ask glow(presses) }
    verb wave(..) all { ask speak(1, ..) }
    glow(n): dark -> lit by request { on() }
    speak(x, ..): during dark | lit by request { say(x, ..) }
    fade: lit -> dark when presses > 1 && none lit at most 2 { off(); if presses == 3 { stage = broken } }
    burn: lit -> broken { cool() }
    task cool() { let other = again(this); other.stage = lit; other.off() }
}
";

fn with_lamp(text: &str) -> String {
    format!("{LAMP}{text}")
}

/// Returns the first line of the first error of a text, or `ok`.
fn first_error(text: &str) -> String {
    match program("a.race", text, &[]) {
        Ok(_) => "ok".to_owned(),
        Err(errors) => errors.lines().next().unwrap_or_default().to_owned(),
    }
}

fn written(text: &str) -> String {
    let source = Source::new("a.race", text).unwrap();
    let file = parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false)));
    match expand(&file) {
        Ok(written) => print(&written.unwrap_or(file)),
        Err(errors) => panic!("{}", render(&source, &errors, false)),
    }
}

#[test]
fn a_component_is_written_out() {
    let text = with_lamp(
        "lamp Desk(n) on main {
    var seen = 0
    on on { seen = n; post look(2) to main }
    on say(x, who: Desk) { who.color = seen; look(1) }
    event touch at most 3 { press this }
    task look(k) { seen += k }
}
thread t { let d = plug Desk(7); press d; wave Desk(d) }",
    );
    insta::assert_snapshot!(written(&text));
    program("a.race", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn the_library_is_written_out() {
    let text = "use android { rounds = 0 }
looper main
activity Player on main { on resume { execute Load(this) }; event click { skip } }
async_task Load(act: Player) on main { on background { publish this(1) }; on progress(n) { act.shown() } }
thread t { start Player }
";
    // A library's looper is there because a component uses it.
    let text = text.replace("act.shown()", "skip");
    let out = written(&text);
    assert!(out.contains("looper android.serial"), "{out}");
    assert!(!written("use android\nlooper main\nactivity A on main { }").contains("android.serial"));
    insta::assert_snapshot!(out);
}

/// A text without components has no tree of its own, so nothing in it changes.
#[test]
fn a_file_without_components_stays() {
    for path in ["harnesses/bugs/aard_lookup.race", "harnesses/papers/music_player.race"] {
        let source = Source::new(path, &read(path)).unwrap();
        assert!(expand(&parse(&source).unwrap()).unwrap().is_none(), "{path}");
    }
}

/// `cancel` is a verb of a kind of the library, and a statement about messages and jobs. The type of its operand
/// decides.
#[test]
fn cancel_means_what_its_operand_is() {
    let text = "use android { rounds = 0 }
looper main
var kept: job = null
activity Player on main { on resume { let l = execute Load(this); cancel l } }
async_task Load(act: Player) on main { on background { skip } }
task f() { skip }
async task work() { sleep 5 }
task go() {
    let m = post f() to main
    cancel m
    let n = post f() to main
    let gone = cancel n
    kept = launch work() on main
    cancel kept
    cancel (launch work())
    cancel f on main
}
thread t { start Player; post go() to main }
";
    let source = Source::new("a.race", text).unwrap();
    let tree = parse(&source).unwrap();
    let printed = print(&tree);
    assert_eq!(parse(&Source::new("b.race", &printed).unwrap()).unwrap(), tree, "{printed}");
    let program = program("a.race", text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let kinds: Vec<SiteKind> = program.sites.iter().map(|site| site.kind).collect();
    let count = |kind: SiteKind| kinds.iter().filter(|k| **k == kind).count();
    assert_eq!((count(SiteKind::CancelJob), count(SiteKind::Cancel)), (2, 3), "{kinds:?}");
    for (operand, expected) in [
        ("go", "error: `cancel` needs a message or a job, or the queue of a task"),
        ("Player", "error: `activity` has no verb `cancel`"),
        ("4", "error: `cancel` needs a message or a job"),
    ] {
        assert_eq!(first_error(&text.replace("cancel m", &format!("cancel {operand}"))), expected);
    }
}

#[test]
fn refusals() {
    let check = |text: &str, expected: &str| {
        let text = with_lamp(text);
        assert_eq!(first_error(&text), expected, "{text}");
    };
    let error = |text: &str, expected: &str| check(text, &format!("error: {expected}"));
    check("lamp L on main { }\nthread t { plug L }", "ok");
    error("lamp L on main { on onOn { } }", "`lamp` has no callback `onOn`");
    error("lamp L on main { on on { }; on on { } }", "`on` is declared twice");
    error("lamp L on main { on on(x) { } }", "`on` gets at most 0 parameters");
    error("lamp L on main { on say(x: bool) { } }", "`x` has another type in the kind");
    error("lamp L { }", "`L` needs a looper for its callbacks");
    error("lamp L on main { }\nlamp L on main { }", "`L` is declared twice");
    error("lamp L on nowhere { }", "unknown looper `nowhere`");
    error("lamp L on main { var color = 1 }", "`color` is declared twice");
    error("lamp L on main { unit u: on }", "`L` has no callback, task or event `on`");
    error("lamp L on main { on on { }; unit u: on, on }", "`on` stands twice in the unit");
    check("lamp L on main { on on { }; task f() { skip }; unit u: on, f }", "ok");
    error("lamp L on main { var x = 0; on on { let x = 1 } }", "`x` hides a field of `L`");
    error("lamp L on main { on on { off() } }", "`L` has no callback `off`");
    error("lamp L on main { }\nthread t { press L }", "`press` needs an instance of `L`");
    error("lamp L on main { }\nthread t { let l = plug L; plug l }", "`plug` makes an instance");
    error("lamp L on main { }\nthread t { let l = plug L; wave l }", "`wave` acts on all instances");
    error("lamp L on main { }\nthread t { press t }", "`press` needs a component or an instance of one");
    error("lamp L(n) on main { }\nthread t { plug L }", "`plug L` takes 1 argument, not 0");
    error("lamp L on main { }\nthread t { let l = new L }", "`new` cannot make an instance of the component `L`");
    error("lamp L on main { }\nthread t { let l = plug L; l.presses = 2 }", "`L` has no field `presses`");
    error("lamp L on main { }\nthread t { let l = plug L; post l.f() to main }", "`L` has no task `f`");
    error("lamp L on main { }\nthread t { let l = plug L; l.off() }", "`L` has no task `off`");
    error("lamp L(n) on main { on on { n = 1 } }", "this cannot be assigned");
    error("lamp L on main { on on as 1 + 1 { } }", "`as` needs `this` or a parameter");
    error("lamp L in M on main { }", "`L` cannot be in a component");
    error("thread t { use this }", "`this` outside a component");
    error("state s = 0\nthread t { s = 1 }", "`s` is platform memory");
    error("state s: list[int]", "the state `s` is one word");
    error("use nothing", "unknown library `nothing`");
    error("use android\nuse android", "`android` is used twice");
    error("use android { round = 1 }", "`android` has no setting `round`");
    error("use android { rounds = 1; rounds = 2 }", "`rounds` is set twice");
    error("activity A on main { }", "`activity` is in the library `android`");
    error("use android\nactivity A on main { }\nthread t { plug A }", "`activity` has no verb `plug`");
    error("use android\nservice S(n) on main { }", "`S` has parameters, but there is one instance at a time");
    error("use android\nservice S on main { event e { skip } }", "`service` has no events of components");
    error("use android\nkind activity { stage a }", "`activity` is declared twice");
}

#[test]
fn refusals_of_kinds() {
    let check = |parts: &str, expected: &str| {
        let text = format!("looper main\nvar shared = 0\nkind k {{ {parts} }}\nk C on main {{ on f {{ skip }} }}\n");
        let text = format!("{text}thread t {{ make C }}");
        assert_eq!(first_error(&text), expected, "{text}");
    };
    let error = |parts: &str, expected: &str| {
        check(&format!("callback f, g; verb make makes {{ }}; {parts}"), &format!("error: {expected}"));
    };
    check("callback f; stage a; verb make makes { f() }", "ok");
    error("var x = 0", "the kind `k` has no stage");
    error("stage a, a", "`a` is declared twice");
    error("stage a; state a = 0", "`a` is declared twice");
    error("stage a; r: a -> b { }", "`k` has no stage `b`");
    error("stage a; single until b", "`k` has no stage `b`");
    error("stage a; r: during a when none b { }", "`k` has no stage `b`");
    error("stage a; events during b", "`k` has no stage `b`");
    error("stage a; verb make { }", "`make` is declared twice");
    error("stage a; verb post { }", "a verb cannot be called `post`");
    assert_eq!(first_error("kind var { stage a }\nvar x = 0"), "error: a kind cannot be called `var`");
    error("stage a; verb v { ask r() }", "`k` has no row `r`");
    error("stage a; verb v { ask r() }; r: during a { }", "the row `r` needs no request");
    error("stage a; r: during a when asked r { }", "the row `r` needs no request");
    error("stage a; r: during a when shared == 0 { }", "the text of a kind touches shared memory");
    error("stage a; verb v { shared = 1 }", "the text of a kind touches shared memory");
    error("stage a; r: during a { let x = shared }", "the text of a kind touches shared memory");
    error("stage a; r: during a at most shared { }", "`shared` is a variable, not a constant");
    error("stage a; r: during a { stage = 1 }", "`stage` is assigned a stage of the kind");
    error("stage a; r: during a { @l: f() }", "a label in a kind");
    error("stage a; r: during a { let x = f() }", "a callback gives no value");
    error("stage a; verb v(..) { f() }", "`..` stands for nothing");
    error("stage a; verb v { f(..) }", "`..` stands for nothing here");
    error("stage a; follows z: f -> h", "`k` has no callback `h`");
    error("stage a; verb v { withdraw 1 }", "the operand of `withdraw` is an `int`, not a `request`");
    error("stage a; task f2() { again(1) }", "`again` needs an instance of a component");
}

/// What follows a component of one instance and one of several, and keeps a state in the second one.
const FOLLOWING: &str = "\
looper main
kind bell { single; callback rung(n); stage a; verb ring(n) { rung(n) } }
kind room { callback open, close; stage a, b; verb enter makes { open() }; leave: a -> b { close() } }
kind guest {
    callback woken
    stage a
    state room.lit = 0
    follows bell: rung -> hear
    follows room: open -> lit = 1, before close -> lit = 0
    verb sleep_in makes { }
    task hear() { if host.lit == 1 { woken() } }
}
bell Alarm on main { }
room One on main { task move_in() { sleep_in Guest } }
var woken = 0
";

#[test]
fn refusals_of_what_follows() {
    let error = |text: &str, expected: &str| {
        let text = format!("{FOLLOWING}{text}");
        assert_eq!(first_error(&text), format!("error: {expected}"), "{text}");
    };
    error("guest Guest in One { }", "`Guest` needs the component that it is of");
    error("guest Guest of Alarm on main { }", "`Guest` needs the component that it is in");
    error("guest Guest of One in One { }", "`Guest` needs the component that it is of");
    error("guest Guest of One in Alarm { }", "`Guest` cannot be of `One`");
    error("guest Guest of Nothing in One { }", "unknown component `Nothing`");
    error("room Two of Alarm on main { }", "`Two` cannot be of a component");
    let kind = |parts: &str| format!("kind k {{ callback f; stage a; {parts} }}\nk K in One {{ }}");
    error(&kind("state room.x = 0"), "`k` does not follow `room`");
    error(&kind("follows room: open -> x = 1"), "`k` keeps no state `x` in `room`");
    error(&kind("state room.x = 0; follows room: open -> x"), "`k` has no callback `x`");
    error(&kind("state room.x = 0; state x = 0; follows room: open -> f"), "`x` is declared twice");
    error(&kind("follows room: opne -> f"), "`room` has no callback `opne`");
    error(&kind("state room.stage = 0; follows room: open -> f"), "`room` has a state or field `stage` of its own");
}
/// A bell reaches the instances that are of it, unless their host has left the state that the kind keeps there.
#[test]
fn a_kind_follows_two_kinds() {
    let text = format!(
        "{FOLLOWING}guest Guest of Alarm in One {{ on woken {{ woken += 1 }} }}
        thread t {{ let one = enter One; post one.move_in() to main; ring Alarm(1); ring Alarm(2) }}"
    );
    let out = written(&text);
    for part in
        ["state guest.lit = 0", "this.guest.lit = 1", "if each Guest.source == this {", "if this.host.guest.lit == 1 {"]
    {
        assert!(out.contains(part), "{part}\n{out}");
    }
    program("a.race", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn a_component_has_async_tasks() {
    let text = "looper main
kind model { callback cleared; stage a, b; verb open makes { }; end: a -> b { cleared() } }
model Title on main {
    var scope: job = null
    var shown = 0
    task begin() { scope = spawn scope; launch load(1) in scope }
    async task load(n) { let page = fetch(n); shown = page }
    async task fetch(n): int { sleep 10; return n }
    on cleared { if scope != null { cancel scope } }
}
thread t { let m = open Title; post m.begin() to main }
";
    program("a.race", text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let source = Source::new("a.race", text).unwrap();
    assert!(print(&parse(&source).unwrap()).contains("    async task fetch(n): int {"));
    assert!(written(text).contains("async task Title.load(this: Title, n) {"));
    let blocked = text.replace("task begin() {", "task begin() { load(2);");
    assert_eq!(first_error(&blocked), "error: `Title.load` is an async task");
}

#[test]
fn errors_in_a_kind_name_the_component() {
    let text =
        "looper main\nkind k {\n    stage a\n    verb make makes { x = 1 }\n}\nk C on main { }\nthread t { make C }";
    insta::assert_snapshot!(program("a.race", text, &[]).unwrap_err());
    let text =
        "use android\nlooper main\nactivity A on main {\n    on create(saved) { saved = 1 }\n}\nthread t { start A }";
    insta::assert_snapshot!(program("a.race", text, &[]).unwrap_err());
}

/// The words of kinds and verbs are names in every other place, and in files without components.
#[test]
fn words_stay_names() {
    let text = "const kind = 5; var other = 0; var state = 1; var start = 2; var single = 3; var during = 4
looper main
task bind(ask) { other = ask; state += start; single = during }
const LAST = kind
const NEXT = 1
thread t { bind(1); start = 3; post bind(2) to main }";
    assert_eq!(first_error(text), "ok");
    assert_eq!(first_error("thread t { start Player }"), "error: `start` does not begin a statement");
    assert_eq!(first_error("atcivity Player on main { }"), "error: `atcivity` does not begin an item");
}

#[test]
fn the_layout_keeps_kinds() {
    let source = Source::new("a.race", LAMP).unwrap();
    parse(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors, false)));
    assert_eq!(format(&source).unwrap(), LAMP);
}

fn stages() -> impl Strategy<Value = Vec<Name>> {
    vec(name(), 1..3)
}

fn kind_params() -> impl Strategy<Value = Params> {
    (params(), any::<bool>()).prop_map(|(list, rest)| Params { list, rest: rest.then(At::default) })
}

// The name of a verb. A word that begins a statement or an operation of the language is refused as one.
fn verb_name() -> impl Strategy<Value = Name> {
    name().prop_filter("no verb of the language", |name| {
        !is_verb_word(&name.text)
            && !["spawn", "handler", "recv", "launch", "ask", "withdraw"].contains(&name.text.as_str())
    })
}

fn kind_part() -> impl Strategy<Value = KindPart> {
    let storage = || select(vec![Storage::Var, Storage::Atomic]);
    let mode = select(vec![VerbMode::One, VerbMode::Makes, VerbMode::All]);
    let following = (any::<bool>(), name(), name(), option::of(expr()))
        .prop_map(|(before, host, own, value)| Following { before, host, own, value });
    let row = (
        name(),
        kind_params(),
        stages(),
        option::of(name()),
        any::<bool>(),
        option::of(expr()),
        option::of(expr()),
        block(),
    );
    prop_oneof![
        vec((name(), kind_params()), 1..3).prop_map(KindPart::Callbacks),
        stages().prop_map(KindPart::Stages),
        (storage(), field()).prop_map(|(storage, field)| KindPart::Field(storage, field)),
        field().prop_map(KindPart::State),
        (name(), field()).prop_map(|(of, field)| KindPart::Kept { of, field }),
        option::of(name()).prop_map(|until| KindPart::Single { at: At::default(), until }),
        stages().prop_map(|stages| KindPart::Events { stages }),
        (name(), vec(following, 1..3)).prop_map(|(host, pairs)| KindPart::Follows { host, pairs }),
        row.prop_map(|(name, params, from, to, request, when, at_most, body)| {
            let by_request = request.then(At::default);
            KindPart::Row(Box::new(Row { name, params, from, to, by_request, when, at_most, body }))
        }),
        (verb_name(), kind_params(), mode, block()).prop_map(|(name, params, mode, body)| KindPart::Verb {
            name,
            params,
            mode,
            body
        }),
        (name(), kind_params(), option::of(ty()), block()).prop_map(|(name, params, result, body)| KindPart::Task {
            name,
            params,
            result,
            body
        }),
    ]
}

fn component_part() -> impl Strategy<Value = ComponentPart> {
    let storage = select(vec![Storage::Var, Storage::Atomic]);
    let mode = select(vec![TaskMode::Plain, TaskMode::Async, TaskMode::AsyncDaemon, TaskMode::AsyncMicro]);
    prop_oneof![
        (storage, field()).prop_map(|(storage, field)| ComponentPart::Field(storage, field)),
        (name(), params(), option::of(expr()), block()).prop_map(|(name, params, instance, body)| ComponentPart::On {
            name,
            params,
            instance,
            body
        }),
        (name(), option::of(expr()), block()).prop_map(|(name, at_most, body)| ComponentPart::Event {
            name,
            at_most,
            body
        }),
        (mode, name(), params(), option::of(ty()), block())
            .prop_map(|(mode, name, params, result, body)| ComponentPart::Task { mode, name, params, result, body }),
        (name(), stages()).prop_map(|(name, members)| ComponentPart::Unit { name, members }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kinds_and_components_survive_printing(
        parts in vec(kind_part(), 0..4),
        of in vec(component_part(), 0..4),
        params in params(),
        source in option::of(name()),
        host in option::of(name()),
        looper in option::of(name()),
    ) {
        let named = |text: &str| Name { text: text.to_owned(), at: At::default() };
        let kind = Kind { name: named("lamp"), parts };
        let component = Component { kind: named("lamp"), name: named("L"), params, source, host, looper, parts: of };
        let kinds = [ItemKind::Kind(Box::new(kind)), ItemKind::Component(Box::new(component))];
        let items = kinds.into_iter().map(|kind| Item { kind, at: At::default() }).collect();
        let tree = File { items };
        let printed = print(&tree);
        let source = Source::new("printed.race", &printed).unwrap();
        match parse(&source) {
            Ok(again) => prop_assert_eq!(again, tree, "{}", printed),
            Err(errors) => prop_assert!(false, "{}\n{}", printed, render(&source, &errors, false)),
        }
    }
}
