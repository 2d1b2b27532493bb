//! Tokens, which the lexer produces and the parser reads.

use super::ast::{BinaryOp, Span};

/// One token with its position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
    /// Whether a newline before the token ends a statement, unless the parser is inside `()` or `[]`. Not set after a
    /// binary operator, `,` or `=`, or before `else`, `catch`, `finally`.
    pub(super) newline: bool,
    /// Whether the token is the first on its line. Recovery uses this: such a token probably begins a new statement,
    /// whatever precedes it.
    pub(super) first: bool,
}

/// The kinds of tokens. A word carries no text: its text is the source at its span.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TokenKind {
    Word,
    /// An integer up to 2^63. That value is only valid after a minus sign, which makes it an `i64`.
    Int(u64),
    /// A string literal, as an index into [`LexResult::strings`].
    Str(usize),
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Comma,
    Semi,
    Colon,
    Dot,
    DotDot,
    /// `->`
    Arrow,
    At,
    Tilde,
    Bang,
    Assign,
    AssignOp(BinaryOp),
    Op(BinaryOp),
    /// A token that the lexer has already reported as an error.
    Unknown,
    /// The end of a statement at a newline. The parser reports this kind; a token list never contains it.
    Newline,
    End,
}

impl TokenKind {
    /// Returns whether a line that ends with this token continues on the next line.
    pub(super) fn continues(self) -> bool {
        matches!(self, Self::Op(_) | Self::AssignOp(_) | Self::Assign | Self::Comma | Self::Tilde | Self::DotDot)
            || self == Self::Arrow
    }

    /// Returns the text of the token, for kinds that have only one text.
    pub(super) fn symbol(self) -> Option<&'static str> {
        Some(match self {
            Self::LeftParen => "(",
            Self::RightParen => ")",
            Self::LeftBracket => "[",
            Self::RightBracket => "]",
            Self::LeftBrace => "{",
            Self::RightBrace => "}",
            Self::Comma => ",",
            Self::Semi => ";",
            Self::Colon => ":",
            Self::Dot => ".",
            Self::DotDot => "..",
            Self::Arrow => "->",
            Self::At => "@",
            Self::Tilde => "~",
            Self::Bang => "!",
            Self::Assign => "=",
            Self::Op(op) => op.word(),
            _ => return None,
        })
    }
}
