//! Where files are: paths and URIs, with `/` on every system, and relative where they can be.

use std::fmt::Write as _;

/// A path with forward slashes, without `./` before it. A `\` is taken for a separator, as Windows has it, wherever the report was made.
pub(super) fn path(file: &str) -> String {
    let path = file.replace('\\', "/");
    let mut rest = path.as_str();
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    rest.to_owned()
}

/// The same as a URI reference (RFC 3986): relative, but for an absolute path, which is a `file:` URI.
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
    use super::uri;

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
