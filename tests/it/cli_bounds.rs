//! Tests of the program on unbounded input: endless runs, names without a maximum length, endless files.

use crate::cli::{ENDLESS, FOUND, REFUSED, call, call_with, file, raceflip, scratch};
use std::process::Command;

#[test]
fn detection_says_what_cut_it_short_and_what_failed() {
    let folder = scratch("cut");
    let endless = file(&folder, "endless.race", ENDLESS);
    let ran = call(&["detect", &endless, "--steps", "50", "--runs", "3"]);
    assert!(ran.out.contains("3 runs of 3 reached the limit of 50 steps; --steps 100 raises it\n"), "{}", ran.out);
    let ran = call(&["confirm", &endless, "--steps", "50", "--runs", "3", "--trials", "2"]);
    assert!(ran.out.contains("3 runs of 3 reached the limit of 50 steps"), "{}", ran.out);
    let fails = file(&folder, "fails.race", "thread t { fail \"always\" }");
    let ran = call(&["detect", &fails, "--runs", "3"]);
    assert_eq!(ran.status, FOUND);
    assert!(ran.out.ends_with("always at :1:12 in t, in 3 runs (`raceflip confirm` explains them)\n"), "{}", ran.out);
}

/// A timer posts itself forever. Its pedigrees grow without bound, but the lines of a run do not.
#[test]
fn long_pedigrees_are_shortened() {
    let folder = scratch("pedigrees");
    let tick = "looper main\ntask tick() { post tick() to main after 10 }\nthread a { post tick() to main }";
    let model = file(&folder, "tick.race", tick);
    let ran = call(&["run", &model, "--steps", "3000"]);
    let narrow = |line: &str| line.chars().count() <= 80 || line.starts_with("replay: ");
    assert!(ran.out.lines().all(narrow), "{}", ran.out.len());
    assert!(ran.out.contains("begin tick#1 (from step 1)"), "{}", ran.out);
    assert!(ran.out.contains("the last 3 steps "), "{}", ran.out);
}

/// A model that is too large is refused. The message does not give the total size, because it is unknown for a pipe or
/// a device.
#[test]
fn a_model_that_is_too_large_is_refused() {
    let large = " ".repeat((1 << 20) + 1);
    let path = file(&scratch("large"), "large.race", &large);
    let refused = |ran: crate::cli::Ran, name: &str| {
        let said =
            format!("error: {name}: it has more than 1048576 bytes (1024 KiB), the most that a model may have\n");
        assert_eq!((ran.status, ran.err), (REFUSED, said));
    };
    refused(call(&["check", &path]), &path);
    refused(call(&["fmt", "--check", &path]), &path);
    refused(call_with(&["fmt", "-"], &large), "<stdin>");
    if cfg!(unix) {
        refused(call(&["check", "/dev/zero"]), "/dev/zero");
    }
    // A byte order mark does not count towards the size.
    let marked = format!("\u{feff}thread a {{ skip }}{}", &large["thread a { skip }".len() + 1..]);
    let ran = call(&["check", &file(&scratch("mark"), "mark.race", &marked)]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
}

/// While a model is read, raceflip has no handler for requests to terminate yet, so such a request takes effect.
#[cfg(unix)]
#[test]
fn a_model_that_never_comes_can_be_interrupted() {
    let folder = scratch("pipe");
    let pipe = folder.join("pipe.race");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut child = raceflip().arg("check").arg(&pipe).spawn().expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.expect("kill").success());
    for _ in 0..100 {
        if child.try_wait().expect("a child").is_some() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().ok();
    panic!("it waits on");
}
