//! Converts file names to paths and URIs, with `/` on every system, relative where possible.

use std::fmt::Write as _;

/// Returns a path with forward slashes and without a leading `./`. A `\` always counts as a separator, because the
/// report may come from Windows.
pub(super) fn path(file: &str) -> String {
    let path = file.replace('\\', "/");
    let mut rest = path.as_str();
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    rest.to_owned()
}

/// A place in the source of the real app, parsed from a `from` text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AppPlace {
    /// The path as the model gives it, best from the top of the repository.
    pub(crate) path: String,
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column, from 1, if the text has one.
    pub(crate) column: Option<u32>,
}

/// Parses a `from` text: `app/Main.java:12`, `Main.java:12:3`. Returns `None` if the text has another form, such as the
/// title of a section.
pub(crate) fn source(from: &str) -> Option<AppPlace> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n > 0);
    let (rest, last) = from.trim().rsplit_once(':')?;
    let last = number(last)?;
    let (file, line, column) = match rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
        Some((file, line)) => (file, line, Some(last)),
        None => (rest, last, None),
    };
    let is_path =
        !file.is_empty() && !file.contains("://") && !file.contains(|c: char| c.is_whitespace() || c.is_control());
    is_path.then(|| AppPlace { path: path(file), line, column })
}

/// Returns the path of a file as a URI reference (RFC 3986): relative, except for an absolute path, which becomes a
/// `file:` URI.
pub(super) fn uri(file: &str) -> String {
    let path = path(file);
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes().get(2) == Some(&b'/');
    let mut uri = match (path.starts_with('/'), drive) {
        (true, _) => "file://".to_owned(),
        (_, true) => "file:///".to_owned(),
        _ => String::new(),
    };
    for byte in path.bytes() {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-._~/".contains(&b) => uri.push(char::from(b)),
            b => {
                let _ = write!(uri, "%{b:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::{AppPlace, source, uri};

    #[test]
    fn sources_are_read() {
        let check = |from: &str, expected: Option<(&str, u32, Option<u32>)>| {
            let expected = expected.map(|(path, line, column)| AppPlace { path: path.to_owned(), line, column });
            assert_eq!(source(from), expected, "{from}");
        };
        check("Main.java:12", Some(("Main.java", 12, None)));
        check(" app/src/Main.java:12:3 ", Some(("app/src/Main.java", 12, Some(3))));
        check(r"app\Main.kt:7", Some(("app/Main.kt", 7, None)));
        check("Main.java", None);
        check("Main.java:0", None);
        check("Main.java:twelve", None);
        check(":12", None);
        check("listing 3:4", None);
        check("https://example.org/Main.java:12", None);
        check("Main.java:99999999999", None);
    }

    #[test]
    fn uris_are_relative_and_have_slashes() {
        let check = |file: &str, expected: &str| assert_eq!(uri(file), expected);
        check("harnesses/bugs/a.race", "harnesses/bugs/a.race");
        check("././/my app, v1:2.race", "my%20app%2C%20v1%3A2.race");
        check(r".\models\a.race", "models/a.race");
        check("../ä%.race", "../%C3%A4%25.race");
        check("/tmp/a b.race", "file:///tmp/a%20b.race");
        check(r"C:\a.race", "file:///C%3A/a.race");
    }
}
