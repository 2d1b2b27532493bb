//! Texts from a model, a path or a token, made safe to print: none of them commands the terminal.

/// Control characters are escaped, also those that turn the direction of what follows; a tab is a space.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => clean.push(' '),
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                clean.extend(c.escape_default());
            }
            c => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(clean("a\tb \u{1b}[31m\u{202e}\u{e9}\u{7f}\n"), "a b \\u{1b}[31m\\u{202e}\u{e9}\\u{7f}\\n");
    }
}
