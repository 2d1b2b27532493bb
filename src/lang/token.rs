//! What the lexer hands to the parser.

use super::ast::{BinaryOp, Span};

/// One token with its place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// A newline before it ends a statement, unless the parser is inside `()` or `[]`: so not after a binary operator,
    /// `,` or `=`, and not before `else`, `catch`, `finally`.
    pub(super) newline: bool,
    /// The first on its line, for recovery: what stands there is likely a new statement, whatever came before.
    pub(super) first: bool,
}

/// The kinds of tokens. Words carry no text: it is the source at their span.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Word,
    /// Up to 2^63, which only a minus sign before it makes an `i64`.
    Int(u64),
    /// An index into [`Lexed::strings`].
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
    At,
    Tilde,
    Bang,
    Assign,
    AssignOp(BinaryOp),
    Op(BinaryOp),
    /// The lexer has already said what is wrong here.
    Unknown,
    /// Never in a token list: what the parser sees at a newline that ends a statement.
    Newline,
    End,
}

impl Kind {
    /// Does a line that ends with this go on in the next?
    pub(super) fn continues(self) -> bool {
        matches!(self, Self::Op(_) | Self::AssignOp(_) | Self::Assign | Self::Comma | Self::Tilde | Self::DotDot)
    }

    /// The token in backquotes, for those whose text says it all.
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
            Self::At => "@",
            Self::Tilde => "~",
            Self::Bang => "!",
            Self::Assign => "=",
            Self::Op(op) => op.word(),
            _ => return None,
        })
    }
}
