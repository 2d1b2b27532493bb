//! Tests of `raceflip fmt` on files, directories and pipes.

use crate::cli::{FOUND, REFUSED, call, call_with, file, scratch};
use crate::language::REFERENCE;
use crate::support::read;
use std::fs;

const UNTIDY: &str = "thread a{\nx=1 // one\n}\nvar x=0\n";
const TIDY: &str = "thread a {\n    x = 1 // one\n}\nvar x = 0\n";

#[test]
fn files_are_laid_out_in_place() {
    let folder = scratch("fmt");
    let (untidy, tidy) = (file(&folder, "untidy.race", UNTIDY), file(&folder, "tidy.race", TIDY));
    let before = fs::metadata(&tidy).unwrap().modified().unwrap();
    let check = call(&["fmt", "--check", &untidy, &tidy]);
    let diff = format!(
        "--- {untidy}\n+++ {untidy} (formatted)\n@@ -1,4 +1,4 @@\n-thread a{{\n-x=1 // one\n+thread a {{\n+    x = 1 // one\n }}\n-var x=0\n+var x = 0\n"
    );
    assert_eq!((check.status, check.out, check.err.as_str()), (FOUND, diff, ""));
    assert_eq!(fs::read_to_string(&untidy).unwrap(), UNTIDY, "a check changes nothing");
    let run = call(&["fmt", &untidy, &tidy]);
    assert_eq!((run.status, run.out, run.err.as_str()), (0, format!("{untidy}: formatted\n"), ""));
    assert_eq!(fs::read_to_string(&untidy).unwrap(), TIDY);
    assert_eq!(fs::metadata(&tidy).unwrap().modified().unwrap(), before, "what does not change is not written");
    let again = call(&["fmt", "--check", &untidy, &tidy]);
    assert_eq!((again.status, again.out.as_str()), (0, ""));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn directories_and_pipes() {
    let folder = scratch("fmt-directories");
    fs::create_dir_all(folder.join("b/c")).unwrap();
    let names = ["z.race", "b/y.race", "b/c/x.race"].map(|n| file(&folder, n, UNTIDY));
    let other = file(&folder, "b/readme.txt", UNTIDY);
    let run = call(&["fmt", &folder.display().to_string()]);
    let [z, y, x] = &names;
    assert_eq!((run.status, run.out), (0, format!("{x}: formatted\n{y}: formatted\n{z}: formatted\n")));
    assert!(names.iter().all(|n| fs::read_to_string(n).unwrap() == TIDY));
    assert_eq!(fs::read_to_string(other).unwrap(), UNTIDY);
    let piped = call_with(&["fmt", "-"], UNTIDY);
    assert_eq!((piped.status, piped.out.as_str(), piped.err.as_str()), (0, TIDY, ""));
    assert_eq!(call_with(&["fmt", "--check", "-"], UNTIDY).status, FOUND);
    assert_eq!(call_with(&["fmt", "--check", "-"], TIDY).status, 0);
    // Line endings and a byte order mark are part of the layout.
    let foreign = call_with(&["fmt", "--check", "-"], "\u{feff}var x = 0\r\n");
    assert_eq!(
        (foreign.status, foreign.out.as_str()),
        (FOUND, "<stdin>: line ends other than LF, or a byte order mark\n")
    );
}

#[test]
fn what_cannot_be_laid_out_is_left_alone() {
    let folder = scratch("fmt-refused");
    let (broken, untidy) = (file(&folder, "broken.race", "thread a{\nx=\n"), file(&folder, "untidy.race", UNTIDY));
    let run = call(&["fmt", &broken, &untidy]);
    assert_eq!(run.status, REFUSED);
    assert_eq!(run.out, format!("{untidy}: formatted\n"), "the others are laid out");
    assert!(run.err.contains("error: ") && run.err.contains("broken.race:"), "{}", run.err);
    assert_eq!(fs::read_to_string(&broken).unwrap(), "thread a{\nx=\n");
    let refuse = |path: &str, says: &str| {
        let run = call(&["fmt", path]);
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{path}");
        assert!(run.err.contains(says), "{path}: {}", run.err);
    };
    // With its indentation, this model would exceed the maximum size of a model.
    let deep = format!("thread a {{ {}{}{} }}", "loop {\n".repeat(100), "skip\n".repeat(10_000), "}\n".repeat(100));
    refuse(&file(&folder, "deep.race", &deep), "formatted it has ");
    refuse(&folder.join("none.race").display().to_string(), "there is no such file");
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    refuse(&empty.display().to_string(), "there is no `.race` file in `");
    let mut permissions = fs::metadata(&untidy).unwrap().permissions();
    fs::write(&untidy, UNTIDY).unwrap();
    permissions.set_readonly(true);
    fs::set_permissions(&untidy, permissions).unwrap();
    refuse(&untidy, "which was not changed: it is read-only");
    assert_eq!(fs::read_to_string(&untidy).unwrap(), UNTIDY);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = scratch("fmt-links");
    let real = file(&folder, "real.race", UNTIDY);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.join("link.race");
    symlink(&real, &link).unwrap();
    // A symbolic link to its own directory must not cause endless recursion.
    symlink(&folder, folder.join("self")).unwrap();
    assert_eq!(call(&["fmt", &link.display().to_string()]).status, 0);
    assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), TIDY);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(call(&["fmt", "--check", &folder.display().to_string()]).status, 0);
}

/// The models of this repository are formatted as `fmt` formats them, including the skeleton of `raceflip new`.
#[test]
fn the_models_here_are_laid_out() {
    let run = call(&["fmt", "--check", "harnesses", "tests/models", "src/cli/models/skeleton.race"]);
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "", ""), "run `raceflip fmt` on them");
    for page in REFERENCE.into_iter().chain(["README.md"]) {
        for model in read(page).split("```race\n").skip(1).filter_map(|t| t.split("```").next()) {
            assert_eq!(call_with(&["fmt", "--check", "-"], model).out, "", "{page}");
        }
    }
}
