//! Collects the source of the book: the README, the manual, and everything that they link to.

use pulldown_cmark::{Event, Options, Parser, Tag};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How much was collected.
pub(crate) struct Collected {
    pub(crate) pages: usize,
    pub(crate) files: usize,
}

/// Copies the README, the manual and the files that they link to from the top of the repository to the source folder of
/// a book, and writes its summary.
pub(crate) fn collect(top: &Path, source: &Path) -> Result<Collected, String> {
    let summary = read(top, "docs/SUMMARY.md")?;
    let listed = links(&summary).into_iter().map(|link| format!("docs/{link}"));
    let own: BTreeSet<String> = listed.chain(["README.md".to_owned()]).collect();
    // The pages that are not in the manual, with their titles.
    let mut others = BTreeMap::new();
    let mut files = BTreeSet::new();
    let (mut open, mut wrong): (Vec<String>, Vec<String>) = (own.iter().cloned().collect(), Vec::new());
    while let Some(page) = open.pop() {
        let text = read(top, &page)?;
        for link in links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || is_elsewhere(&link) {
                continue;
            }
            match beside(&page, path).filter(|target| top.join(target).is_file()) {
                None if beside(&page, path).is_some_and(|target| top.join(target).is_dir()) => {
                    wrong.push(format!("{page}: `{link}` is a folder, which has no page: link to a file in it"));
                }
                None => wrong.push(format!("{page}: `{link}` does not exist")),
                Some(target) if !target.ends_with(".md") => drop(files.insert(target)),
                Some(target) if own.contains(&target) || others.contains_key(&target) => {}
                Some(target) => {
                    others.insert(target.clone(), title(&read(top, &target)?, &target));
                    open.push(target);
                }
            }
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    for path in own.iter().chain(others.keys()).chain(&files) {
        let to = source.join(path);
        let error = |e| format!("{path}: {e}");
        fs::create_dir_all(to.parent().expect("a file is in a folder")).map_err(error)?;
        fs::copy(top.join(path), to).map_err(error)?;
    }
    let written = fs::write(source.join("SUMMARY.md"), whole(&summary, &others));
    written.map_err(|e| format!("SUMMARY.md: {e}"))?;
    Ok(Collected { pages: own.len() + others.len(), files: files.len() })
}

/// Returns the summary of the website: the README, the manual's summary with paths from the top, and the other pages.
fn whole(summary: &str, others: &BTreeMap<String, String>) -> String {
    let (title, rest) = summary.split_once('\n').unwrap_or((summary, ""));
    let mut text = format!("{title}\n\n[raceflip](README.md)\n{}", rest.replace("](", "](docs/"));
    text.push_str("\n# Beside the manual\n\n");
    for (path, title) in others {
        text.push_str(&format!("- [{title}]({path})\n"));
    }
    text
}

/// Returns the title of a page: its first heading, or else its path.
fn title(text: &str, path: &str) -> String {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or(path).to_owned()
}

fn read(top: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(top.join(path)).map_err(|e| format!("{path}: {e}"))
}

/// Returns whether a link leads out of the repository.
pub(crate) fn is_elsewhere(link: &str) -> bool {
    ["http://", "https://", "mailto:", "data:"].iter().any(|scheme| link.starts_with(scheme))
}

/// Returns the targets of the links and pictures of a page in Markdown.
fn links(text: &str) -> Vec<String> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES);
    let targets = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    targets.collect()
}

/// Returns the path from the top of what a page names by a relative path. `None` if it is not below the top.
pub(crate) fn beside(page: &str, relative: &str) -> Option<String> {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(relative).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => drop(path.pop().then_some(())?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{beside, links, whole};
    use std::collections::BTreeMap;

    #[test]
    fn links_are_found_in_prose_and_not_in_code() {
        let text = "[a](b.md#c) `[d](e.md)`\n\n```\n[f](g.md)\n```\n| h |\n|---|\n| ![i](j.svg) |\n";
        assert_eq!(links(text), ["b.md#c", "j.svg"]);
    }

    #[test]
    fn relative_paths_stay_below_the_top() {
        assert_eq!(beside("docs/results/a.md", "../../seeds/README.md").as_deref(), Some("seeds/README.md"));
        assert_eq!(beside("README.md", "./docs/ci.md").as_deref(), Some("docs/ci.md"));
        assert_eq!(beside("README.md", "../x"), None);
        assert_eq!(beside("README.md", "/etc/passwd"), None);
    }

    #[test]
    fn the_summary_names_pages_from_the_top() {
        let others = BTreeMap::from([("seeds/README.md".to_owned(), "Seeds".to_owned())]);
        let text = whole("# M\n\n[A](a.md)\n\n# P\n\n- [B](b.md)\n", &others);
        assert!(
            text.starts_with("# M\n\n[raceflip](README.md)\n\n[A](docs/a.md)\n\n# P\n\n- [B](docs/b.md)\n"),
            "{text}"
        );
        assert!(text.ends_with("\n# Beside the manual\n\n- [Seeds](seeds/README.md)\n"), "{text}");
    }
}
