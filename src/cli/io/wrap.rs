//! Breaks prose between words, for narrow terminals.

use unicode_width::UnicodeWidthChar;

/// Breaks a line between words, so that no part is wider than `width` columns unless a single word is. All parts after
/// the first are indented by two more columns. Escape sequences have no width.
pub(in crate::cli) fn wrapped(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let hang = indent + 2;
    if visible(line) <= width || width <= hang {
        return line.to_owned();
    }
    let (mut text, mut at) = (" ".repeat(indent), indent);
    let mut begins = true;
    for word in line.trim_start_matches(' ').split(' ') {
        let wide = visible(word);
        if !begins && at + 1 + wide > width {
            text.push('\n');
            text.push_str(&" ".repeat(hang));
            at = hang;
        } else if !begins {
            text.push(' ');
            at += 1;
        }
        text.push_str(word);
        at += wide;
        begins = false;
    }
    text
}

// Number of columns on a terminal, without color codes.
fn visible(text: &str) -> usize {
    let (mut columns, mut escape) = (0, false);
    for c in text.chars() {
        match (escape, c) {
            (true, c) => escape = !c.is_ascii_alphabetic(),
            (false, '\u{1b}') => escape = true,
            (false, c) => columns += c.width().unwrap_or(0),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::{visible, wrapped};

    #[test]
    fn lines_break_between_words() {
        assert_eq!(
            wrapped("  two tasks of one looper; both orders", 20),
            "  two tasks of one\n    looper; both\n    orders"
        );
        assert_eq!(wrapped("short", 20), "short");
        // A word that is wider than the terminal stays whole.
        assert_eq!(wrapped("a rf1-0123456789", 8), "a\n  rf1-0123456789");
        let red = "\u{1b}[31mit hurts\u{1b}[0m, and more";
        assert_eq!(visible(red), "it hurts, and more".len());
        assert!(wrapped(red, 12).split('\n').all(|line| visible(line) <= 12));
    }
}
