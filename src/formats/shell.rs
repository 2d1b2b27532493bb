//! Command lines that can be pasted into a shell.

use crate::base::hidden;
use std::fmt::Write;

/// An argument, quoted if a shell would take it apart. One that cannot be shown as it is, is told to `printf`, byte by byte where need be: any shell of POSIX takes that
/// back. (A newline at the very end gets lost there, as always between `$(` and `)`.)
#[must_use]
pub fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-+:@%=,".contains(c);
    if argument.chars().any(hidden) || argument.contains("##") {
        printed(argument.as_bytes())
    } else if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// A path as an argument: never taken for an option.
#[must_use]
pub fn path(path: &str) -> String {
    if path.starts_with('-') { quote(&format!("./{path}")) } else { quote(path) }
}

/// The same of a path as the system has it (`OsStr::as_encoded_bytes`), which need be no text.
#[must_use]
pub fn path_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => path(text),
        Err(_) if bytes.starts_with(b"-") => printed(&[b"./", bytes].concat()),
        Err(_) => printed(bytes),
    }
}

fn printed(bytes: &[u8]) -> String {
    let mut command = "\"$(printf '".to_owned();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'%' => command.push_str("%%"),
            // `printf` would take it for an option.
            b'-' if at == 0 => command.push_str("\\055"),
            b' '..=b'~' if !matches!(byte, b'\'' | b'\\' | b'#') => command.push(char::from(*byte)),
            byte => drop(write!(command, "\\{byte:03o}")),
        }
    }
    command + "')\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        let check = |given: &str, expected: &str| assert_eq!(path(given), expected);
        check("a/b-c.race", "a/b-c.race");
        check("my app.race", "'my app.race'");
        check("it's.race", r"'it'\''s.race'");
        check("-x.race", "./-x.race");
        check("$HOME/~a", "'$HOME/~a'");
        check("", "''");
    }

    #[test]
    fn what_cannot_be_shown_is_printed() {
        let check = |given: &[u8], expected: &str| assert_eq!(path_bytes(given), expected);
        check(b"a\nb", r#""$(printf 'a\012b')""#);
        check("\u{202e}%'$`\"".as_bytes(), r#""$(printf '\342\200\256%%\047$`"')""#);
        check(b"bad\xff", r#""$(printf 'bad\377')""#);
        check(b"-\xff", r#""$(printf './-\377')""#);
        check(b"a##b", r#""$(printf 'a\043\043b')""#);
        check(b"a b", "'a b'");
    }
}
