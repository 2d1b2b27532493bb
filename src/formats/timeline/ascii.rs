//! A timeline in ASCII alone, for terminals and logs that show nothing else: each sign has one of its own, as wide as it was, and what is left of other texts is shown as `?`.

use unicode_width::UnicodeWidthChar;

/// The sign in ASCII; each of a timeline has another one where that matters, and none is one of those that are ASCII already (`*` marked, `!` fails, `>` `<` arrows, `x` refused).
fn sign(c: char) -> Option<char> {
    Some(match c {
        '●' => 'o',
        '┏' => '/',
        '┗' => '\\',
        '■' => 'B',
        '┴' | '┘' | '└' => '+',
        '┃' => '#',
        '┇' => ':',
        '│' => '|',
        '┆' => ';',
        '⋮' => ':',
        '·' => '.',
        '○' => 'w',
        '✗' => 'X',
        '─' | '┄' => '-',
        '╌' => '~',
        '═' => '=',
        '┼' | '╪' => '+',
        '×' => '%',
        '…' => '~',
        '\u{a0}' => ' ',
        _ => return None,
    })
}

/// A text in ASCII, of the same width.
#[must_use]
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => plain.push(c),
            c => match sign(c) {
                Some(sign) => plain.push(sign),
                None => (0..c.width().unwrap_or(1)).for_each(|_| plain.push('?')),
            },
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::ascii;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn widths_stay() {
        for (text, expected) in [
            ("   ┗╌╌╌╌> post …", "   \\~~~~> post ~"),
            ("日本語 = 1", "?????? = 1"),
            ("● ┃ · ✗ ┴ ═>", "o # . X + =>"),
            ("e\u{301}", "e"),
        ] {
            assert_eq!(ascii(text), expected);
            assert_eq!(ascii(text).width(), text.width());
        }
    }
}
