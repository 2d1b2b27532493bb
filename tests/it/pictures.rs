//! Tests of SVG pictures of runs: they are well-formed and plain, show what the runs have, and are bounded. The picture
//! of the README is made anew.

use crate::cli::{FOUND, MENU, REFUSED, Ran, call, file, scratch};
use crate::load::models;
use crate::support::read;
use crate::timeline::told;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use raceflip::formats::timeline::svg::{MOST, Run, picture};
use raceflip::formats::timeline::{Item, Timeline, Window};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An element of a picture: its name, its attributes, and the text in it.
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
}

impl Element {
    fn is(&self, name: &str, class: &str) -> bool {
        self.name == name && self.attributes.get("class").is_some_and(|c| c.split(' ').any(|c| c == class))
    }

    fn length(&self, name: &str) -> Option<i64> {
        self.attributes.get(name).map(|value| value.parse().expect("a whole number"))
    }
}

/// Parses a picture. Asserts that it is well-formed, and plain: no script, no reference to anything else.
fn elements(svg: &str) -> Vec<Element> {
    // The reader checks that each end has the name of its start.
    let mut reader = Reader::from_str(svg);
    let (mut all, mut depth) = (Vec::<Element>::new(), 0);
    let element = |start: &BytesStart<'_>| Element {
        name: String::from_utf8_lossy(start.name().as_ref()).into_owned(),
        attributes: start
            .attributes()
            .map(|a| {
                let a = a.expect("an attribute");
                let value = std::str::from_utf8(&a.value).expect("UTF-8");
                let value = quick_xml::escape::unescape(value).expect("known references").into_owned();
                (String::from_utf8_lossy(a.key.as_ref()).into_owned(), value)
            })
            .collect(),
        text: String::new(),
    };
    loop {
        match reader.read_event().unwrap_or_else(|e| panic!("{e}\n{svg}")) {
            Event::Start(start) => {
                depth += 1;
                all.push(element(&start));
            }
            Event::Empty(start) => all.push(element(&start)),
            Event::End(_) => depth -= 1,
            // Between elements there are only line ends.
            Event::Text(text) if all.is_empty() || text.iter().all(|byte| *byte == b'\n') => {}
            Event::Text(text) => {
                all.last_mut().expect("an element").text.push_str(&text.decode().expect("UTF-8"));
            }
            Event::GeneralRef(reference) => {
                let name = format!("&{};", reference.decode().expect("UTF-8"));
                let text = quick_xml::escape::unescape(&name).expect("a known reference").into_owned();
                all.last_mut().expect("an element").text.push_str(&text);
            }
            Event::Eof => break,
            other => panic!("not in a plain picture: {other:?}"),
        }
    }
    assert_eq!(depth, 0, "{svg}");
    let known = ["svg", "title", "desc", "style", "rect", "line", "circle", "path", "text"];
    for e in &all {
        assert!(known.contains(&e.name.as_str()), "{}", e.name);
        let plain = ["class", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "width", "height"];
        let plain = |name: &str| plain.contains(&name) || e.name == "svg";
        assert!(e.attributes.keys().all(|name| plain(name)), "{:?}", e.attributes);
    }
    let style = &all.iter().find(|e| e.name == "style").expect("a style").text;
    assert!(!style.contains("url") && !style.contains("@import") && style.contains("prefers-color-scheme: dark"));
    all
}

fn texts(all: &[Element]) -> Vec<&str> {
    all.iter().filter(|e| e.name == "text").map(|e| e.text.as_str()).collect()
}

/// Returns the numbers of the steps that a picture of one run shows.
fn steps(all: &[Element]) -> BTreeSet<u64> {
    all.iter().filter(|e| e.is("text", "end")).filter_map(|e| e.text.parse().ok()).collect()
}

fn alone(timeline: Timeline) -> String {
    picture("a run", &Timeline::default(), &[Run { timeline, end: "ok".to_owned() }])
}

#[test]
fn pictures_are_well_formed_and_have_every_step() {
    for path in models("harnesses") {
        for seed in 0..2 {
            let (timeline, ..) = told(&path, seed, Window::All, &[]);
            let timeline = timeline.folded().brief(MOST);
            let at = format!("{} seed {seed}", path.display());
            let step = |item: &Item| match item {
                Item::Row(row) => row.counts.then_some(row.step),
                Item::Gap(_) => None,
            };
            let rows: BTreeSet<u64> = timeline.items.iter().filter_map(step).collect();
            let svg = alone(timeline.clone());
            assert_eq!(svg, alone(timeline), "{at}");
            let all = elements(&svg);
            assert_eq!(steps(&all), rows, "{at}");
            assert!(svg.len() < 60_000, "{at}: {} bytes", svg.len());
            let size = ["width", "height"].map(|side| all[0].length(side).expect("a size"));
            for e in &all[1..] {
                let within = |names: &[&str], most: i64| {
                    names.iter().filter_map(|name| e.length(name)).all(|length| (0..=most).contains(&length))
                };
                assert!(within(&["x", "x1", "x2", "cx"], size[0]), "{at}: {:?}", e.attributes);
                assert!(within(&["y", "y1", "y2", "cy"], size[1]), "{at}: {:?}", e.attributes);
            }
        }
    }
}

/// Returns the tokens of both orders of the pair of the menu, @A first.
fn orders() -> [String; 2] {
    let ran = call(&["confirm", MENU]);
    let tokens: Vec<&str> = ran.out.split_whitespace().filter(|word| word.starts_with("rf1-")).collect();
    [tokens[0].to_owned(), tokens[1].to_owned()]
}

fn beside(model: &str, tokens: &[String; 2], options: &[&str]) -> Ran {
    let both = ["replay", model, &tokens[0], "--beside", &tokens[1], "--format", "svg"];
    call(&[&both, options].concat())
}

/// `BLESS=1 cargo test --test it the_picture_of_the_readme` rewrites the picture.
#[test]
fn the_picture_of_the_readme_is_what_the_commands_make() {
    let ran = beside(MENU, &orders(), &["--mark", "@A", "--mark", "@B"]);
    assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures/finding.svg");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &ran.out).expect("a writable tree");
    }
    assert!(ran.out == read("docs/pictures/finding.svg"), "BLESS=1 cargo test --test it the_picture_of_the_readme");
}

#[test]
fn two_runs_are_side_by_side() {
    let ran = beside(MENU, &orders(), &["--mark", "@A", "--mark", "@B"]);
    let all = elements(&ran.out);
    let texts = texts(&all);
    let has = |text: &str| assert!(texts.contains(&text), "`{text}` is not in {texts:#?}");
    has("@A first: ok");
    has("@B first: NullPointer (bound is null) at :40:17 in main");
    has("the same in both runs up to here");
    // A long text is broken into lines.
    has("uncaught NullPointer (bound is");
    has("null)");
    // The heads are drawn once for each run, and the first step of both runs is the same.
    assert_eq!(texts.iter().filter(|t| **t == "activityManager").count(), 2);
    let first: Vec<&Element> = all.iter().filter(|e| e.is("text", "end") && e.text == "1").collect();
    assert_eq!(first.len(), 2);
    assert_eq!(first[0].length("y"), first[1].length("y"));
    // Each statement has one color, in every run that reaches it. The list has smaller squares.
    let middle = all[0].length("width").expect("a width") / 2;
    let rows = |class: &str, right: bool| {
        let row = |e: &&Element| e.is("rect", class) && e.length("width") != Some(14);
        all.iter().filter(row).filter(|e| (e.length("x") >= Some(middle)) == right).count()
    };
    assert_eq!((rows("race0", false), rows("race0", true)), (1, 0), "@A is reached in one run");
    assert!(rows("race1", false) >= 1 && rows("race1", true) == 1, "@B is reached in both runs");
    assert_eq!(all.iter().filter(|e| e.is("path", "cross")).count(), 1, "one run fails");
    // The same token twice: all steps are shared.
    let [token, _] = orders();
    let twice = beside(MENU, &[token.clone(), token], &[]);
    assert_eq!((twice.status, twice.err.as_str()), (0, ""));
    elements(&twice.out);
}

#[test]
fn hostile_texts_are_texts() {
    let folder = scratch("pictures");
    let text = "a < b && </text><script>alert('x')</script> ]]> &amp; \u{1b}[31m\u{202e}";
    let model = format!(
        "app \"{text}\"\nvar x = 0\nlooper main\nthread a {{ @l from \"{text}\": post t() to main; x = 1 }}\n\
         task t() {{ @m from \"{text}\": if x < 1 && x >= 0 {{ fail \"{text}\" }}; fail \"{text}\" }}\n"
    );
    let path = file(&folder, "m.race", &model);
    let ran = call(&["run", &path, "--format", "svg", "--mark", "@m"]);
    assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""));
    let all = elements(&ran.out);
    let shown = "a < b && </text><script>alert('x')</script> ]]> &amp; \\u{1b}[31m\\u{202e}";
    let has = |name: &str, part: &str| all.iter().any(|e| e.name == name && e.text.contains(part));
    assert!(has("title", shown) && has("desc", shown), "{}", ran.out);
    assert!(has("text", "a < b &&"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'));
}

#[test]
fn long_runs_are_elided() {
    let folder = scratch("pictures-long");
    let model =
        "var x = 0\nvar y = 0\nthread a { for i in 0..200 { x = i }\n @m: y = 1\n for i in 0..200 { x = i + 1000 } }";
    let path = file(&folder, "m.race", model);
    let run = |options: &[&str]| call(&[&["run", &path, "--format", "svg", "--mark", "@m"], options].concat());
    let all = elements(&run(&[]).out);
    let drawn = steps(&all);
    assert!(drawn.len() <= MOST && drawn.contains(&1) && drawn.contains(&401), "{drawn:?}");
    assert!(drawn.contains(&201), "the marked step is drawn: {drawn:?}");
    let gaps = texts(&all);
    let gaps = gaps.iter().filter_map(|text| text.strip_suffix(" steps not drawn")?.parse::<usize>().ok());
    let missing: usize = gaps.sum();
    assert_eq!(missing + drawn.len(), 401);
    assert_eq!(steps(&elements(&run(&["--all"]).out)).len(), 401);
    let around = steps(&elements(&run(&["--around", "100", "--context", "2"]).out));
    assert_eq!(around, (98..=102).collect());
}

#[test]
fn a_picture_that_cannot_be_drawn_is_refused() {
    let tokens = orders();
    let check = |ran: Ran, status: i32, why: &str| {
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{}", ran.err);
        assert!(ran.err.contains(why), "`{why}` is not in {}", ran.err);
    };
    let cut = |token: &str| token[..token.len() - 6].to_owned();
    let wrong = [tokens[0].clone(), cut(&tokens[1])];
    check(beside(MENU, &wrong, &[]), REFUSED, "--beside: ");
    let wrong = [cut(&tokens[0]), tokens[1].clone()];
    check(beside(MENU, &wrong, &[]), REFUSED, "error: ");
    check(beside(MENU, &tokens, &["--only", "mian"]), REFUSED, "no thread or looper `mian`");
    check(beside(MENU, &tokens, &["--mark", "@Z"]), REFUSED, "no statement has the label `@Z`");
    check(beside(MENU, &tokens, &["--quiet"]), REFUSED, "prints only the picture: remove `--quiet`");
    check(beside(MENU, &tokens, &["--steps", "3"]), REFUSED, "`--steps");
    let text = ["replay", MENU, &tokens[0], "--beside", &tokens[1]];
    check(call(&text), REFUSED, "add `--format svg`");
    check(call(&[&text[..], &["--format", "svg", "--tolerant"]].concat()), REFUSED, "--tolerant");
    let fixed = crate::cli::token(&call(&["run", MENU, "-D", "FIXED=1"]));
    check(beside(MENU, &[tokens[0].clone(), fixed], &[]), REFUSED, "two variants");
    // A run of another model leaves its recording.
    let other = crate::cli::token(&call(&["run", "harnesses/bugs/timer_lifecycle.race", "--quiet"]));
    let ran = beside(MENU, &[tokens[0].clone(), other], &[]);
    assert_eq!((ran.status, ran.out.as_str()), (3, ""), "{}", ran.err);
}
