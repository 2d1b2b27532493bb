//! Builds the manual as a website, and checks it: every link of a page leads to a file and to a heading that exist, and
//! mdBook has nothing to warn about.
//!
//! Pages of the manual link to files beside it, such as models and benchmarks. A website that contained only `docs/`
//! would not have these. So the website keeps the folders of the repository: the manual is in `docs/`, the README is
//! the first page, and each file that a page links to is copied to its place. Pages in Markdown that are reached in
//! this way become pages of the book.

mod links;
mod pages;
mod warnings;

use mdbook_driver::MDBook;
use mdbook_driver::config::Config;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match build() {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

/// Builds and checks the website. Returns what was done, or everything that is wrong.
fn build() -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let out = match std::env::args_os().nth(1) {
        Some(out) => new_folder(Path::new(&out))?,
        None => folder.path().join("site"),
    };
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = folder.path().join("src");
    let collected = pages::collect(&top, &source)?;
    let warnings = warnings::install();
    let book = MDBook::load_with_config(folder.path(), config(&top, &out)?).map_err(|e| format!("{e:#}"))?;
    book.build().map_err(|e| format!("{e:#}"))?;
    let mut wrong = warnings.take();
    let (links, dead) = links::check(&out)?;
    wrong.extend(dead);
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    Ok(format!("{} pages, {} files beside them, {links} links", collected.pages, collected.files))
}

/// Returns the absolute path of the folder for the website, which is created. Refuses one that contains something.
fn new_folder(out: &Path) -> Result<PathBuf, String> {
    let error = |e| format!("{}: {e}", out.display());
    std::fs::create_dir_all(out).map_err(error)?;
    if std::fs::read_dir(out).map_err(error)?.next().is_some() {
        return Err(format!("{} is not empty: name a new folder for the website", out.display()));
    }
    out.canonicalize().map_err(error)
}

/// Returns the manual's own settings, with the folders of this build.
fn config(top: &Path, out: &Path) -> Result<Config, String> {
    let file = top.join("docs/book.toml");
    let mut config = Config::from_disk(&file).map_err(|e| format!("{}: {e:#}", file.display()))?;
    config.book.src = "src".into();
    config.build.build_dir = out.to_owned();
    config.build.create_missing = false;
    // The preprocessors would rename `README.md`, to which pages link by its name.
    config.build.use_default_preprocessors = false;
    // The page that prints all pages contains nothing new. The one for wrong addresses knows the root of a host only.
    let set = [config.set("output.html.print.enable", false), config.set("output.html.input-404", "")];
    set.into_iter().collect::<Result<Vec<()>, _>>().map_err(|e| format!("{e:#}"))?;
    Ok(config)
}
