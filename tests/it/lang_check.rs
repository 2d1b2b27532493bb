//! The checker: every model passes, every mistake is told once and with a reason.

use raceflip::lang::{CheckErrors, Program, Source, check, parse};
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

/// The models of a folder and its folders, sorted.
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
        let components = text.contains("\nactivity ");
        for fixed in [None, Some(0), Some(1), Some(2)] {
            let defines: Vec<(&str, i64)> = match fixed {
                Some(value) if text.contains("const FIXED") => vec![("FIXED", value)],
                Some(_) => continue,
                None => Vec::new(),
            };
            match checked(&text, &defines) {
                Ok(_) if !components => {}
                Err(e) if components => {
                    assert!(e.diagnostics.iter().all(|d| d.message.starts_with("components (activity")), "{e:#?}");
                }
                other => failed.push(format!("{} {defines:?}: {:#?}", path.display(), other.map(|_| ()))),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
