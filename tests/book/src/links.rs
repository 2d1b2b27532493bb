//! Checks the links of a website on disk: those of the pages as a browser sees them, not those of their source.

use crate::pages::{beside, is_elsewhere};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What a page contains.
#[derive(Default)]
struct Page {
    /// Targets of `href` and `src`.
    links: Vec<String>,
    /// Values of `id`.
    ids: BTreeSet<String>,
}

/// Checks every page of a website. Returns the number of links, and a line for each link that leads nowhere.
pub(crate) fn check(site: &Path) -> Result<(usize, Vec<String>), String> {
    let (mut files, mut pages) = (BTreeSet::new(), BTreeMap::new());
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        let error = |e| format!("{folder}: {e}");
        for entry in fs::read_dir(site.join(&folder)).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if entry.path().is_dir() {
                open.push(path);
            } else {
                if path.ends_with(".html") {
                    let text = fs::read_to_string(entry.path()).map_err(|e| format!("{path}: {e}"))?;
                    pages.insert(path.clone(), page(&text));
                }
                files.insert(path);
            }
        }
    }
    let (mut count, mut dead) = (0, Vec::new());
    for (from, page) in &pages {
        for link in page.links.iter().filter(|link| !is_elsewhere(link)) {
            count += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { Some(from.clone()) } else { beside(from, path) };
            let has_id = |target: &String| pages.get(target).is_some_and(|page| page.ids.contains(fragment));
            let is_there = target.is_some_and(|t| files.contains(&t) && (fragment.is_empty() || has_id(&t)));
            if !is_there {
                dead.push(format!("{from}: `{link}` leads nowhere"));
            }
        }
    }
    Ok((count, dead))
}

/// Returns the links and the ids of a page. Text outside tags does not count, nor do scripts and comments.
fn page(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let end = end_of_tag(after);
        let (tag, behind) = (&after[..end], &after[end..]);
        for (name, value) in attributes(tag) {
            match name {
                "href" | "src" => page.links.push(value),
                "id" => drop(page.ids.insert(value)),
                _ => {}
            }
        }
        let is =
            |name: &str| tag.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
        rest = match ["script", "style"].into_iter().find(|name| is(name)) {
            Some(name) => behind.split_once(&format!("</{name}")).map_or("", |(_, rest)| rest),
            None => behind,
        };
    }
    page
}

/// Returns where a tag ends: at the first `>` outside quotes.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return at,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// Returns the attributes of a tag that have a value in quotes.
fn attributes(tag: &str) -> Vec<(&str, String)> {
    let (mut found, mut rest) = (Vec::new(), tag);
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            rest = after;
            continue;
        };
        let (value, behind) = after[1..].split_once(quote).unwrap_or((&after[1..], ""));
        found.push((name, value.replace("&amp;", "&").replace("&quot;", "\"").replace("&#39;", "'")));
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{check, page};
    use std::fs;

    #[test]
    fn links_and_ids_are_those_of_tags() {
        let text = "<a href=\"x.html#y\" title='a > b'>href=\"no\"</a><h2 id=\"z\">t</h2><!-- <a href=\"no\"> -->\
                    <script>\"<a href='no'>\"</script><img src='p.svg'>";
        let page = page(text);
        assert_eq!(page.links, ["x.html#y", "p.svg"]);
        assert_eq!(page.ids.into_iter().collect::<Vec<_>>(), ["z"]);
    }

    #[test]
    fn dead_links_are_found() {
        let site = tempfile::tempdir().unwrap();
        fs::create_dir(site.path().join("b")).unwrap();
        let links = ["b/c.html#d", "b/c.html#e", "b/f.html", "b", "../g", "https://h.example/"];
        let links: String = links.iter().map(|link| format!("<a href=\"{link}\">")).collect();
        fs::write(site.path().join("a.html"), links).unwrap();
        fs::write(site.path().join("b/c.html"), "<p id=\"d\"><a href=\"#d\"><a href=\"../a.html\">").unwrap();
        let (count, dead) = check(site.path()).unwrap();
        let leads = |link: &str| format!("a.html: `{link}` leads nowhere");
        assert_eq!((count, dead), (7, ["b/c.html#e", "b/f.html", "b", "../g"].map(leads).to_vec()));
    }
}
