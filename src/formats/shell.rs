//! Formats command lines that can be pasted into a shell.

use crate::base::hidden;
use std::fmt::Write;

/// The maximum length of an argument that every shell accepts, in bytes. Windows accepts command lines of 32767
/// characters, Linux arguments of 131071 bytes.
pub const LONGEST_ARGUMENT: usize = 32_000;

/// Returns an argument for a command line, quoted if a shell would split or expand it.
///
/// An argument that cannot be displayed as it is becomes a call of `printf`, with octal escapes where necessary, which
/// any POSIX shell accepts. (A newline at the very end is lost, as in every `$(...)`.)
#[must_use]
pub fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-+:@%=,".contains(c);
    // `##` can start a command in the log of a CI server (`##vso[`, for example), so it is escaped as well.
    if argument.chars().any(hidden) || argument.contains("##") {
        printed(argument.as_bytes())
    } else if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Returns a path as an argument that is never taken for an option.
#[must_use]
pub fn path(path: &str) -> String {
    if path.starts_with('-') { quote(&format!("./{path}")) } else { quote(path) }
}

/// Returns a path in the encoding of the system (`OsStr::as_encoded_bytes`), which need not be UTF-8, as an argument
/// that is never taken for an option.
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
            // `printf` would take a leading `-` for an option.
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
