//! Converts a timeline to ASCII, for terminals and logs that show nothing else. Each sign becomes an ASCII sign of the
//! same width, and other characters become `?`.

use unicode_width::UnicodeWidthChar;

/// Returns the ASCII sign for a sign of a timeline. Signs that must differ get different ones, and none gets a
/// sign that a timeline already uses (`*` marked, `!` fails, `>` `<` arrows, `x` refused).
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
        '▌' => ']',
        '▏' => '}',
        '◆' => '^',
        '…' => '~',
        '\u{a0}' => ' ',
        _ => return None,
    })
}

/// Converts a text to ASCII, with the same width.
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
