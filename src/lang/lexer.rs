//! Splits source text into tokens, with a hand-written scanner. Comments are kept aside for the formatter.

use super::ast::{BinaryOp, Span};
use super::diagnostic::Diagnostic;
use super::source::Source;
use super::token::{Token, TokenKind};

#[cfg(test)]
mod tests;

/// Errors beyond this number are not recorded. The tokens still are.
pub(super) const MAX_ERRORS: usize = 20;

/// Characters that users mistake for the quotes of a string.
const QUOTES: [char; 6] = ['\'', '`', '\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}'];

/// The result of lexing a text.
#[derive(Debug, Default)]
pub(super) struct LexResult {
    /// The tokens in source order. The list ends with exactly one [`TokenKind::End`].
    pub(super) tokens: Vec<Token>,
    /// The values of string literals.
    pub(super) strings: Vec<String>,
    /// `//` comments, without their newline, in source order.
    pub(super) comments: Vec<Span>,
    pub(super) errors: Vec<Diagnostic>,
}

/// Splits a text into tokens. Offsets are `u32`, so the text must be shorter than 4 GiB; a [`Source`] is.
pub(super) fn lex(text: &str) -> LexResult {
    lex_at(text, 0)
}

/// Splits a text into tokens whose offsets count from `base`.
pub(super) fn lex_at(text: &str, base: u32) -> LexResult {
    let mut lexer = Lexer { text, base, at: 0, newline: false, out: LexResult::default() };
    while lexer.token() {}
    lexer.out
}

/// Returns whether a text removes one message with `cancel m`. Without such a statement it does not matter which
/// message the value of a post stands for, so the value is only a truth value. The search looks at tokens: it comes
/// before the check.
pub(super) fn cancels_messages(text: &str) -> bool {
    if !text.contains("cancel") {
        return false;
    }
    let tokens = lex(text).tokens;
    let word = |token: &Token| match token.kind {
        TokenKind::Word => &text[token.span.start as usize..token.span.end as usize],
        _ => "",
    };
    tokens.windows(3).any(|three| {
        let [verb, operand, next] = three else { return false };
        let is_operand = match operand.kind {
            TokenKind::Word => word(operand) != "all",
            TokenKind::LeftParen => operand.span.start > verb.span.end,
            _ => false,
        };
        word(verb) == "cancel" && is_operand && !operand.newline && !matches!(word(next), "on" | "with")
    })
}

/// Returns the `//` comments of a source, without their newlines, in source order. A formatter needs them, because the
/// tree contains no comments.
pub fn comments(source: &Source) -> Vec<Span> {
    lex(source.text()).comments
}

struct Lexer<'t> {
    text: &'t str,
    base: u32,
    at: usize,
    newline: bool,
    out: LexResult,
}

impl Lexer<'_> {
    /// Reads one token. Returns false at the end of the text.
    fn token(&mut self) -> bool {
        self.blank();
        let start = self.at;
        let Some(c) = self.rest().chars().next() else {
            self.push(TokenKind::End, start);
            return false;
        };
        match c {
            '0'..='9' => self.number(),
            '"' => self.string(),
            _ if c == '_' || c.is_alphabetic() => self.word(),
            _ => match symbol(self.rest()) {
                Some((kind, length)) => {
                    self.at += length;
                    self.push(kind, start);
                }
                None => self.unknown(c),
            },
        }
        true
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize) -> Span {
        Span { start: self.base + start as u32, end: self.base + self.at as u32 }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        if self.out.errors.len() < MAX_ERRORS {
            self.out.errors.push(diagnostic);
        }
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span(start);
        // A newline does not end a statement after a token that continues on the next line, such as an operator, or
        // before a word that belongs to the preceding `}`.
        let goes_on = self.out.tokens.last().is_some_and(|last| last.kind.continues());
        let joins = kind == TokenKind::Word && matches!(&self.text[start..self.at], "else" | "catch" | "finally");
        let newline = self.newline && !goes_on && !joins && kind != TokenKind::End;
        let first = self.newline && !joins && !self.out.tokens.last().is_some_and(|last| last.kind == TokenKind::Comma);
        self.newline = false;
        self.out.tokens.push(Token { kind, span, newline, first });
    }

    /// Skips white space and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let length = rest.find(|c: char| !matches!(c, ' ' | '\t' | '\n' | '\r')).unwrap_or(rest.len());
            self.newline |= rest[..length].contains(['\n', '\r']);
            self.at += length;
            let start = self.at;
            if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                let span = self.span(start);
                self.out.comments.push(span);
            } else if self.rest().starts_with("/*") {
                self.at += self.rest().find("*/").map_or(self.rest().len(), |length| length + 2);
                let span = Span { end: self.span(start).start + 2, ..self.span(start) };
                self.error(
                    Diagnostic::new(span, "there are no `/* */` comments", "the comment begins here")
                        .help("use `//`, which goes to the end of the line"),
                );
            } else {
                return;
            }
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let rest = self.rest();
        self.at += rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        if !self.text[start..self.at].is_ascii() {
            let diagnostic =
                Diagnostic::new(self.span(start), "the name has letters that are not ASCII", "this is not a name")
                    .help("use a-z, A-Z, 0-9 and `_` in names");
            self.error(diagnostic);
        }
        self.push(TokenKind::Word, start);
    }

    fn number(&mut self) {
        let start = self.at;
        let rest = self.rest();
        self.at += rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        let written = &self.text[start..self.at];
        let (digits, radix) = match written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")) {
            Some(hexadecimal) => (hexadecimal, 16),
            None => (written, 10),
        };
        let span = self.span(start);
        let value = match value(digits, radix) {
            Ok(value) => value,
            Err(BadToken::TooLarge) => {
                self.error(
                    Diagnostic::new(span, "the number is too large", "it does not fit into 64 bits")
                        .help(format!("use a number up to {}", i64::MAX)),
                );
                0
            }
            Err(BadToken::Digit) => {
                self.error(
                    Diagnostic::new(span, "this is not a number", "there are letters in or after the digits")
                        .help("write integers as `42`, `1_000` or `0x2a`, and begin names with a letter"),
                );
                0
            }
        };
        self.push(TokenKind::Int(value), start);
    }

    fn string(&mut self) {
        let start = self.at;
        let mut value = String::new();
        let mut chars = self.text[start + 1..].char_indices();
        let length = loop {
            match chars.next() {
                Some((at, '"')) => break Some(at + 1),
                Some((at, '\\')) => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, c @ ('"' | '\\'))) => value.push(c),
                    None | Some((_, '\n')) => break None,
                    Some((end, c)) => {
                        let first = start + 1 + at;
                        let end = start + 1 + end + c.len_utf8();
                        let span = Span { start: first as u32, end: end as u32 };
                        self.error(
                            Diagnostic::new(span, "unknown escape in a string", "this escape means nothing")
                                .help(r#"use one of the escapes `\"`, `\\`, `\n`, `\r` and `\t`"#),
                        );
                    }
                },
                None | Some((_, '\n')) => break None,
                Some((_, c)) => value.push(c),
            }
        };
        self.at = match length {
            Some(length) => start + 1 + length,
            None => start + self.rest().find('\n').unwrap_or(self.rest().len()),
        };
        if length.is_none() {
            let span = Span { end: self.span(start).start + 1, ..self.span(start) };
            self.error(
                Diagnostic::new(span, "the string does not end", "the string begins here")
                    .help("end a string with `\"` on the line that it begins on, and write `\\n` for a newline in it"),
            );
        }
        self.out.strings.push(value);
        self.push(TokenKind::Str(self.out.strings.len() - 1), start);
    }

    /// Reports a sequence of characters that begin no token as one error.
    fn unknown(&mut self, first: char) {
        let start = self.at;
        if QUOTES.contains(&first) {
            // A whole quoted text such as 'text' is one mistake. Its content is not code.
            let rest = &self.rest()[first.len_utf8()..];
            if let Some((length, last)) = rest.char_indices().find(|&(_, c)| c == '\n' || QUOTES.contains(&c)) {
                self.at += first.len_utf8() + length;
                self.at += if last == '\n' { 0 } else { last.len_utf8() };
            }
        }
        while let Some(c) = self.rest().chars().next() {
            let blank = matches!(c, ' ' | '\t' | '\n' | '\r' | '"' | '_');
            if self.at > start && (blank || c.is_alphanumeric() || symbol(self.rest()).is_some()) {
                break;
            }
            self.at += c.len_utf8();
        }
        let help = match first {
            _ if QUOTES.contains(&first) => Some("put strings in straight double quotes"),
            '#' => Some("comments begin with `//`"),
            _ => None,
        };
        let name = if first.is_control() || first.is_whitespace() {
            format!("U+{:04X}", u32::from(first))
        } else {
            format!("`{first}`")
        };
        let mut diagnostic = Diagnostic::new(
            self.span(start),
            format!("unknown character {name}"),
            "the language has no such character",
        );
        diagnostic.help = help.map(str::to_owned);
        self.error(diagnostic);
        self.push(TokenKind::Unknown, start);
    }
}

enum BadToken {
    TooLarge,
    Digit,
}

fn value(digits: &str, radix: u32) -> Result<u64, BadToken> {
    if !digits.chars().any(|c| c != '_') || digits.chars().any(|c| c != '_' && !c.is_digit(radix)) {
        return Err(BadToken::Digit);
    }
    let mut value = 0u64;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)))
            .filter(|&value| value <= 1 << 63)
            .ok_or(BadToken::TooLarge)?;
    }
    Ok(value)
}

/// Returns the operator or bracket at the start of a text, and its length in bytes.
fn symbol(text: &str) -> Option<(TokenKind, usize)> {
    let bytes = text.as_bytes();
    let two = bytes.get(..2).unwrap_or_default();
    let kind = match two {
        b"||" => TokenKind::Op(BinaryOp::Or),
        b"&&" => TokenKind::Op(BinaryOp::And),
        b"==" => TokenKind::Op(BinaryOp::Eq),
        b"!=" => TokenKind::Op(BinaryOp::Ne),
        b"<=" => TokenKind::Op(BinaryOp::Le),
        b">=" => TokenKind::Op(BinaryOp::Ge),
        b"<<" => TokenKind::Op(BinaryOp::Shl),
        b">>" => TokenKind::Op(BinaryOp::Shr),
        b"+=" => TokenKind::AssignOp(BinaryOp::Add),
        b"-=" => TokenKind::AssignOp(BinaryOp::Sub),
        b"*=" => TokenKind::AssignOp(BinaryOp::Mul),
        b"/=" => TokenKind::AssignOp(BinaryOp::Div),
        b"%=" => TokenKind::AssignOp(BinaryOp::Rem),
        b".." => TokenKind::DotDot,
        b"->" => TokenKind::Arrow,
        _ => {
            let kind = match bytes.first()? {
                b'(' => TokenKind::LeftParen,
                b')' => TokenKind::RightParen,
                b'[' => TokenKind::LeftBracket,
                b']' => TokenKind::RightBracket,
                b'{' => TokenKind::LeftBrace,
                b'}' => TokenKind::RightBrace,
                b',' => TokenKind::Comma,
                b';' => TokenKind::Semi,
                b':' => TokenKind::Colon,
                b'.' => TokenKind::Dot,
                b'@' => TokenKind::At,
                b'~' => TokenKind::Tilde,
                b'!' => TokenKind::Bang,
                b'=' => TokenKind::Assign,
                b'|' => TokenKind::Op(BinaryOp::BitOr),
                b'^' => TokenKind::Op(BinaryOp::BitXor),
                b'&' => TokenKind::Op(BinaryOp::BitAnd),
                b'<' => TokenKind::Op(BinaryOp::Lt),
                b'>' => TokenKind::Op(BinaryOp::Gt),
                b'+' => TokenKind::Op(BinaryOp::Add),
                b'-' => TokenKind::Op(BinaryOp::Sub),
                b'*' => TokenKind::Op(BinaryOp::Mul),
                b'/' => TokenKind::Op(BinaryOp::Div),
                b'%' => TokenKind::Op(BinaryOp::Rem),
                _ => return None,
            };
            return Some((kind, 1));
        }
    };
    Some((kind, 2))
}
