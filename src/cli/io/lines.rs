//! Brings lines into the form in which they are printed: styles are rendered, and whatever could command a terminal
//! or a CI system is escaped.

use crate::base::{clean, command_at, push_clean};
use anstyle::AnsiColor;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// Style of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) struct Style(u8);

pub(in crate::cli) const BOLD: Style = Style(0);
pub(in crate::cli) const DIM: Style = Style(1);
pub(in crate::cli) const BAD: Style = Style(2);
pub(in crate::cli) const ODD: Style = Style(3);
pub(in crate::cli) const GOOD: Style = Style(4);
pub(in crate::cli) const NOTE: Style = Style(5);

// Terminal style of each `Style`, by its number.
const LOOKS: [anstyle::Style; 6] = [
    anstyle::Style::new().bold(),
    anstyle::Style::new().dimmed(),
    AnsiColor::Red.on_default().bold(),
    AnsiColor::Yellow.on_default().bold(),
    AnsiColor::Green.on_default().bold(),
    AnsiColor::Cyan.on_default().bold(),
];

// Start of a mark for a style: two private-use characters that are drawn when the program starts, so that no foreign
// text can contain a mark. They never leave the program.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let drawn = RandomState::new().hash_one("style");
    let private = |bits: u64| char::from_u32(0x10_0000 + (bits % 0xfffe) as u32).unwrap_or('\u{100000}');
    [private(drawn), private(drawn >> 32)].iter().collect()
});
const END: char = '.';

/// Returns a text in a style. [`Output`] distinguishes the style from colors that the text brings along.
pub(in crate::cli) fn paint(style: Style, text: impl fmt::Display) -> String {
    let mark = &*MARK;
    format!("{mark}{}{text}{mark}{END}", style.0)
}

/// Appends a line in the form in which it is printed: styles are rendered, and everything else is escaped.
pub(super) fn line(text: &str, to: &mut String) {
    let start = to.len();
    // Start of the visible text: a CI system looks for commands there.
    let mut begins = None;
    for (i, piece) in text.split(MARK.as_str()).enumerate() {
        let mut piece = piece;
        if i > 0 {
            let mut rest = piece.chars();
            let kind = rest.next();
            match kind.and_then(|c| c.to_digit(10)).and_then(|n| LOOKS.get(n as usize)) {
                Some(look) => to.push_str(&look.render().to_string()),
                None if kind == Some(END) => to.push_str(&anstyle::Reset.render().to_string()),
                None => continue,
            }
            piece = rest.as_str();
        }
        if begins.is_none() && !piece.trim().is_empty() {
            begins = Some(to.len());
        }
        push_clean(piece, to);
    }
    let begins = begins.unwrap_or(start);
    if let Some(at) = command_at(&to[begins..]) {
        escape(to, begins + at);
    }
}

// Replaces the character at this byte by its escape sequence.
fn escape(text: &mut String, at: usize) {
    if let Some(c) = text[at..].chars().next() {
        text.replace_range(at..at + c.len_utf8(), &c.escape_unicode().to_string());
    }
}

/// Returns lines in the form in which they are printed, each with its line end.
pub(super) fn lines(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for text in text.lines() {
        line(text, &mut all);
        all.push('\n');
    }
    all
}

/// Returns lines that a renderer of this program has colored. Of hidden characters only its color codes are kept.
pub(super) fn rendered(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        marked.push_str(&lines_kept(&rest[..at]));
        let code = &rest[at + 2..];
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(code.len());
        if code[end..].starts_with('m') {
            marked.push_str(&rest[at..at + 2 + end + 1]);
            rest = &code[end + 1..];
        } else {
            marked.push_str(&clean("\u{1b}["));
            rest = code;
        }
    }
    marked.push_str(&lines_kept(rest));
    // A line may begin with a color code, so that its visible start is looked up.
    let mut all = String::with_capacity(marked.len());
    for text in marked.lines() {
        let seen = anstream::adapter::strip_str(text).to_string();
        let start = all.len();
        all.push_str(text);
        if command_at(&seen).is_some() {
            escape(&mut all, start + first_seen(text));
        }
        all.push('\n');
    }
    all
}

// Returns the offset of the first character that is neither blank nor part of a color code.
fn first_seen(line: &str) -> usize {
    let mut rest = line;
    loop {
        let text = rest.trim_start();
        match text.strip_prefix("\u{1b}[").and_then(|code| code.split_once('m')) {
            Some((_, after)) => rest = after,
            None => return line.len() - text.len(),
        }
    }
}

fn lines_kept(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Cuts a line that was made for a terminal, so that it takes at most `width` columns. Color codes take none.
pub(super) fn cut(row: &str, width: usize) -> String {
    let (mut kept, mut columns, mut rest) = (String::new(), 0, row);
    while let Some(c) = rest.chars().next() {
        if let Some((code, after)) = rest.strip_prefix("\u{1b}[").and_then(|code| code.split_once('m')) {
            kept.push_str(&format!("\u{1b}[{code}m"));
            rest = after;
            continue;
        }
        columns += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if columns > width {
            break;
        }
        kept.push(c);
        rest = &rest[c.len_utf8()..];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        let mut shown = String::new();
        line(text, &mut shown);
        shown
    }

    #[test]
    fn only_our_own_colours_are_colours() {
        let painted = one(&format!("{} {}", paint(BAD, "a\u{1b}[1mb"), "\u{1b}[31mc"));
        assert_eq!(painted, "\u{1b}[1m\u{1b}[31ma\\u{1b}[1mb\u{1b}[0m \\u{1b}[31mc");
    }

    #[test]
    fn rows_are_cut_at_their_width() {
        assert_eq!(cut("abcdef", 3), "abc");
        assert_eq!(cut("\u{1b}[31mab\u{1b}[0mcd", 3), "\u{1b}[31mab\u{1b}[0mc");
        assert_eq!(cut("\u{4e2d}\u{4e2d}", 3), "\u{4e2d}", "each takes two columns");
        assert_eq!(cut("", 3), "");
    }

    #[test]
    fn no_line_is_a_command() {
        assert_eq!(one("::error::x"), "\\u{3a}:error::x");
        assert_eq!(
            one(&format!("{}{}", paint(BOLD, "  "), paint(BOLD, "::error::x"))),
            "\u{1b}[1m  \u{1b}[0m\u{1b}[1m\\u{3a}:error::x\u{1b}[0m"
        );
        assert_eq!(lines("a\nsection_end:x\n"), "a\n\\u{73}ection_end:x\n");
        assert_eq!(rendered("\u{1b}[1m::x\u{1b}[0m\u{1b}]0;x\n"), "\u{1b}[1m\\u{3a}:x\u{1b}[0m\\u{1b}]0;x\n");
    }
}
