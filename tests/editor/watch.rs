//! Tests of `raceflip watch`, through a pipe: what it prints after each kind of change.

use crate::client::{LONG, raceflip};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use tempfile::TempDir;

const GOOD: &str = "var x = 0\nthread t { x = 1 }\nexpect no failure\n";
const BAD: &str = "var x = 0\nthread t { assert x == 1, \"never\" }\nexpect no failure\n";
const BROKEN: &str = "thread t { y = 1 }\n";

struct Watch {
    folder: TempDir,
    child: Child,
    lines: Receiver<String>,
    errors: Option<std::process::ChildStderr>,
}

impl Watch {
    /// Writes files, and watches their folder.
    fn start(files: &[(&str, &str)], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut command = raceflip();
        command.arg("watch").args(arguments).current_dir(&folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let errors = child.stderr.take();
        let (sender, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Self { folder, child, lines, errors }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Replaces a file as editors do: another file gets its name.
    fn replace(&self, name: &str, text: &str) {
        self.write(".other~", text);
        std::fs::rename(self.path(".other~"), self.path(name)).unwrap();
    }

    /// Returns the lines up to the next summary, which is among them.
    fn summary(&self) -> Vec<String> {
        let until = Instant::now() + LONG;
        let mut all: Vec<String> = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no summary: {all:#?}"));
            assert!(!line.contains('\u{1b}'), "no commands of a terminal in a pipe: {line:?}");
            let ends = line.starts_with("watching: ");
            all.push(line);
            if ends {
                return all;
            }
        }
    }

    /// Waits for a summary with this text. One change may come as two, so that there may be others before it.
    fn until(&self, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..20 {
            all.extend(self.summary());
            if all.last().is_some_and(|line| line.contains(text)) {
                return all;
            }
        }
        panic!("never `{text}`: {all:#?}");
    }

    #[cfg(unix)]
    fn interrupt(mut self) -> (Option<i32>, String) {
        use std::io::Read;
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let status = self.child.wait().unwrap().code();
        let mut text = String::new();
        self.errors.take().unwrap().read_to_string(&mut text).unwrap();
        (status, text)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the first words of lines: `PASS a.race`.
fn heads(lines: &[String]) -> Vec<String> {
    let is_head = |line: &&String| ["PASS", "FAIL", "ERROR", "GONE"].iter().any(|word| line.starts_with(word));
    lines.iter().filter(is_head).map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[cfg(unix)]
#[test]
fn only_what_changes_is_tested_again() {
    let watch = Watch::start(&[("a.race", GOOD), ("inner/b.race", BAD), ("c.race", BROKEN)], &["."]);
    let first = watch.summary();
    assert_eq!(heads(&first), ["PASS ./a.race", "ERROR ./c.race", "FAIL ./inner/b.race"]);
    assert!(first.last().unwrap().ends_with("3 models: 1 passed, 1 failed, 1 with errors"), "{first:?}");
    let text = first.join("\n");
    assert!(text.contains("error: unknown name `y`") && text.contains("--> ./c.race:1:12"), "{text}");
    assert!(text.contains("./inner/b.race:3: expect no failure"), "{text}");
    // The command that replays the failure works.
    let command = first.iter().find_map(|line| line.trim().strip_prefix("raceflip replay ")).expect("a replay");
    let again = raceflip().arg("replay").args(command.split(' ')).current_dir(&watch.folder).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    // A new file, a file that is written, one that is replaced, and one that is deleted.
    watch.write("d.race", GOOD);
    assert_eq!(heads(&watch.until("4 models")), ["PASS ./d.race"]);
    watch.write("c.race", GOOD);
    assert_eq!(heads(&watch.until("3 passed, 1 failed")).last().unwrap(), "PASS ./c.race");
    watch.replace("inner/b.race", GOOD);
    assert_eq!(heads(&watch.until("4 passed")), ["PASS ./inner/b.race"]);
    watch.replace("a.race", BAD);
    assert_eq!(heads(&watch.until("3 passed, 1 failed")), ["FAIL ./a.race"]);
    std::fs::remove_file(watch.path("a.race")).unwrap();
    assert_eq!(heads(&watch.until("3 models: 3 passed")), ["GONE ./a.race"]);
    std::fs::remove_dir_all(watch.path("inner")).unwrap();
    assert_eq!(heads(&watch.until("2 models: 2 passed")), ["GONE ./inner/b.race"]);
    // A new folder with a file, and a file that gets its name later.
    std::fs::create_dir(watch.path("new")).unwrap();
    watch.write("new/e.race", BAD);
    assert_eq!(heads(&watch.until("3 models: 2 passed, 1 failed")), ["FAIL ./new/e.race"]);
    watch.write("draft", GOOD);
    std::fs::rename(watch.path("draft"), watch.path("f.race")).unwrap();
    assert_eq!(heads(&watch.until("4 models")), ["PASS ./f.race"]);
    // Other files change nothing, nor does a file that is written as it was.
    watch.write("note.txt", "no model");
    watch.write("f.race", GOOD);
    watch.write("d.race", BAD);
    assert_eq!(heads(&watch.until("2 failed")), ["FAIL ./d.race"]);
    assert_eq!(watch.interrupt(), (Some(130), String::new()));
}

#[cfg(unix)]
#[test]
fn one_file_is_watched_by_its_name() {
    let watch = Watch::start(&[("a.race", GOOD), ("b.race", GOOD)], &["a.race", "--no-test"]);
    assert_eq!(heads(&watch.until("1 model: 1 passed")), ["PASS a.race"]);
    watch.write("b.race", BAD);
    watch.replace("a.race", BROKEN);
    assert_eq!(heads(&watch.until("1 with errors")), ["ERROR a.race"]);
    std::fs::remove_file(watch.path("a.race")).unwrap();
    assert_eq!(heads(&watch.until("there is no `.race` file yet")), ["GONE a.race"]);
    // Without a test a line that does not hold is no failure.
    watch.write("a.race", BAD);
    assert_eq!(heads(&watch.until("1 passed")), ["PASS a.race"]);
    assert_eq!(watch.interrupt().0, Some(130));
}

/// A change stops a test that would take long, and so does Ctrl-C.
#[cfg(unix)]
#[test]
fn a_change_stops_a_long_test() {
    let long = format!(
        "var x = 0\n{}expect outcomes of x: ok 5\n",
        (0..4).map(|i| format!("thread t{i} {{ for i in 0..400 {{ x += 1 }} }}\n")).collect::<String>()
    );
    let arguments = ["--walks", "100000", "."];
    let watch = Watch::start(&[("a.race", &long)], &arguments);
    // The second model is tested after the first one, and the first one is still tested when it changes.
    watch.write("b.race", GOOD);
    watch.write("a.race", GOOD);
    watch.until("2 models: 2 passed");
    watch.write("a.race", &long);
    watch.write("c.race", BROKEN);
    assert_eq!(watch.interrupt(), (Some(130), String::new()));
}

#[cfg(unix)]
#[test]
fn saved_failures_count_as_a_part_of_their_model() {
    let text = "var x = 0\nthread a { x = 1 }\nthread b { assert x == 0, \"seen\" }\nexpect no failure\n";
    let watch = Watch::start(&[("models/a.race", text), ("models/b.race", GOOD)], &["models"]);
    assert_eq!(heads(&watch.until("2 models")), ["FAIL models/a.race", "PASS models/b.race"]);
    assert!(!watch.path("seeds").exists(), "it saves nothing");
    let saved = raceflip().args(["test", "models"]).current_dir(&watch.folder).output().unwrap();
    assert_eq!(saved.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(watch.path("seeds")).unwrap().count(), 1);
    assert_eq!(heads(&watch.until("1 failed")), ["FAIL models/a.race"]);
    assert_eq!(watch.interrupt().0, Some(130));
}

#[cfg(unix)]
#[test]
fn constants_are_for_the_models_that_have_them() {
    let text = "const N = 0\nvar x = 0\nthread t { assert N == 1, \"one\" }\nexpect no failure\n";
    let watch = Watch::start(&[("a.race", text), ("b.race", GOOD)], &["-D", "N=1", "."]);
    assert_eq!(heads(&watch.until("2 models: 2 passed")), ["PASS ./a.race", "PASS ./b.race"]);
    assert_eq!(watch.interrupt().0, Some(130));
}

#[test]
fn a_path_that_does_not_exist_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.race"), GOOD).unwrap();
    let ran = raceflip().args(["watch", "-D", "M=1"]).current_dir(&folder).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(String::from_utf8(ran.stderr).unwrap(), "error: -D M: no model has a constant `M`\n");
    let ran = raceflip().args(["watch", "nothing"]).current_dir(&folder).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(text.starts_with("error: cannot watch `nothing`: "), "{text}");
}

/// The results of a terminal are one screen: each drawing begins at the top left and clears nothing before.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_has_one_screen() {
    let has_script =
        std::process::Command::new("script").arg("--version").output().is_ok_and(|ran| ran.status.success());
    assert!(has_script, "`script` of util-linux makes a terminal");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.race"), GOOD).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_raceflip"));
    let command = format!("{} watch a.race", program.display());
    let mut child = std::process::Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &command, "/dev/null"])
        .current_dir(&folder)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    let until = Instant::now() + LONG;
    while !String::from_utf8_lossy(&seen).contains("waiting for changes") {
        let mut bytes = [0; 4096];
        let read = std::io::Read::read(&mut output, &mut bytes).unwrap();
        assert!(read > 0 && Instant::now() < until, "{}", String::from_utf8_lossy(&seen));
        seen.extend(&bytes[..read]);
    }
    // Ctrl-C, as a terminal has it.
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let text = String::from_utf8(seen).unwrap();
    let frames: Vec<&str> = text.split("\u{1b}[H").skip(1).collect();
    assert!(frames.len() >= 2, "{text:?}");
    assert!(frames[0].contains("testing a.race ..."), "{text:?}");
    let last = frames.last().unwrap();
    assert!(last.contains("PASS") && last.contains("1 model: ") && last.contains("Ctrl-C ends"), "{text:?}");
    assert!(!text.contains("\u{1b}[2J"), "nothing is cleared before it is drawn: {text:?}");
}
