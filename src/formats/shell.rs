//! Command lines that can be pasted into a shell.

/// An argument, quoted if a shell would take it apart.
#[must_use]
pub fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-+:@%=,".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
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
}
