//! Extracts the text of a statement from the text of a model.

use super::Statement;
use crate::base::IndexVec;
use crate::base::clean;
use crate::event::{Site, SiteId, SiteKind};

/// Returns the statements of all sites.
pub(super) fn statements(source: &str, sites: &IndexVec<SiteId, Site>) -> IndexVec<SiteId, Statement> {
    let lines: Vec<&str> = source.lines().collect();
    let of = |site: &Site| {
        let line = lines.get((site.line as usize).saturating_sub(1)).copied().unwrap_or("");
        let mut text = segment(line, (site.column as usize).saturating_sub(1));
        if let Some(label) = &site.label
            && !has_label(&text, label)
        {
            // The label is on an earlier line.
            let from = site.from.as_ref().map_or(String::new(), |from| format!(" from {from:?}"));
            text = format!("@{label}{from}: {}", without_label(&text));
        }
        let label = site.label.as_ref().map_or(String::new(), |l| clean(&format!("@{l}")));
        Statement { line: site.line, text: clean(&text), label, said: said(site.kind) }
    };
    sites.iter().map(of).collect()
}

// Returns whether a statement begins with its label. A colon is no criterion, because the `from` text of a label may
// contain colons.
fn has_label(text: &str, label: &str) -> bool {
    let rest = text.strip_prefix('@').and_then(|text| text.strip_prefix(label));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

// Returns the statement without its label and `from` text.
fn without_label(text: &str) -> &str {
    if !text.starts_with('@') {
        return text;
    }
    let mut quoted = false;
    let colon = text.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == ':' && !quoted
    });
    colon.map_or(text, |(at, _)| text[at + 1..].trim())
}

// Returns whether the row of such an operation says everything that the statement says.
fn said(kind: SiteKind) -> bool {
    use SiteKind::{Await, Branch, Check, Lift, Perform};
    let access = kind.access().is_some() || kind.is_atomic();
    !access && !matches!(kind, Await | Branch | Check | Perform | Lift)
}

/// Returns the statement that declares a property.
pub(super) fn property(source: &str, name: &str) -> Option<Statement> {
    let declares = |line: &str| {
        line.trim_start()
            .strip_prefix("property ")
            .and_then(|rest| rest.trim_start().strip_prefix(name))
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let (at, line) = source.lines().enumerate().find(|(_, line)| declares(line))?;
    Some(Statement { line: at as u32 + 1, text: clean(code(line).trim()), ..Statement::default() })
}

/// Returns the identifiers in a text.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

// Returns a line without its comment.
fn code(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '/' if !quoted && line[at..].starts_with("//") => return &line[..at],
            _ => {}
        }
    }
    line
}

// Returns the text between the braces and semicolons around a column (from 0, in characters).
fn segment(line: &str, column: usize) -> String {
    let code: Vec<char> = code(line).chars().collect();
    let (mut from, mut to, mut quoted) = (0, code.len(), false);
    for (at, c) in code.iter().enumerate() {
        match c {
            '"' => quoted = !quoted,
            '{' | '}' | ';' if !quoted && at < column => from = at + 1,
            '{' | '}' | ';' if !quoted => {
                to = at;
                break;
            }
            _ => {}
        }
    }
    code[from.min(to)..to].iter().collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_between_braces_and_semicolons() {
        let check = |line: &str, column: usize, expected: &str| assert_eq!(segment(line, column - 1), expected);
        check("        @B: use bound", 13, "@B: use bound");
        check("    @B: sync networking { skip }", 14, "@B: sync networking");
        check("    if FIXED == 0 { @A: acquire m } // always", 25, "@A: acquire m");
        check("thread env { post a() to m; post b() to m }", 29, "post b() to m");
        check("if x { fail \"a; {b}\" }", 8, "fail \"a; {b}\"");
        check("", 3, "");
        check("}", 1, "");
    }

    #[test]
    fn a_label_ends_at_its_own_colon() {
        assert!(has_label("@a from \"Main.java:12\": x = 1", "a"));
        assert!(!has_label("@ab: x = 1", "a") && !has_label("x = 1", "a"));
        assert_eq!(without_label("@a from \"Main.java:12\": x = 1"), "x = 1");
        assert_eq!(without_label("@a: x = 1"), "x = 1");
        assert_eq!(without_label("f(\"a:b\")"), "f(\"a:b\")");
    }

    #[test]
    fn properties_are_found_by_name() {
        let source = "var x = 0\nproperty ab { x == 1 }\n  property a at end { x == 2 } // why\n";
        let found = property(source, "a").map(|s| (s.line, s.text));
        assert_eq!(found, Some((3, "property a at end { x == 2 }".to_owned())));
        assert_eq!(property(source, "b"), None);
    }
}
