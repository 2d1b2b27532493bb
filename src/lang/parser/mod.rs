//! Parses tokens into the syntax tree: hand-written recursive descent that reports several errors at once.
//!
//! A word has a meaning only at its place, so there is no separate list of keywords: each place looks at the word and
//! at the token after it. After an error the parser resumes at the next statement or item. The depth of nesting and the
//! height of an expression tree are limited ([`MAX_DEPTH`], [`MAX_HEIGHT`]), so every recursive pass over a parsed
//! tree, including its drop, is safe on a small stack.

mod channels;
mod components;
mod expects;
mod exprs;
mod items;
mod ops;
mod recovery;
mod stmts;
mod types;
mod verbs;

use super::ast::{At, Expr, File, Name, Span, TextLiteral};
use super::diagnostic::Diagnostic;
use super::foreign::explain;
use super::lexer::{MAX_ERRORS, lex_at};
use super::library::{ComponentWords, Library};
use super::source::Source;
use super::token::{Token, TokenKind};
use super::words::is_reserved;

/// Limit of the nesting of blocks, parentheses, types, `else if` and right operands in each other.
const MAX_DEPTH: u32 = 128;
/// Limit of the height of the tree of one expression: `a + b + c` nests to the left.
const MAX_HEIGHT: u32 = 256;

/// Parses a file. The errors are in source order, at most twenty.
///
/// # Errors
///
/// Returns all syntax errors, in source order, if the text does not parse.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, parse};
///
/// let good = Source::new("a.race", "var x = 0\nthread t { x = 1 }")?;
/// assert_eq!(parse(&good).unwrap().items.len(), 2);
///
/// // It continues after an error, and reports both.
/// let bad = Source::new("a.race", "var = 0\nthread { x = 1 }")?;
/// assert_eq!(parse(&bad).unwrap_err().len(), 2);
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
pub fn parse(source: &Source) -> Result<File, Vec<Diagnostic>> {
    let PartialParse { file, errors, .. } = recover(source);
    if errors.is_empty() { Ok(file) } else { Err(errors) }
}

/// Parses a library. The spans of the tree count from the base of the library.
pub(super) fn parse_library(library: Library) -> Result<File, Vec<Diagnostic>> {
    let PartialParse { file, errors, .. } = recovered(Parser::new(library.text, library.base));
    if errors.is_empty() { Ok(file) } else { Err(errors) }
}

/// The result of parsing a text with errors.
pub(super) struct PartialParse {
    /// The well-formed items, without the statements that were skipped.
    pub(super) file: File,
    /// The errors in source order, at most twenty.
    pub(super) errors: Vec<Diagnostic>,
    /// The skipped parts of the text; the whole text if the parser gave up.
    pub(super) lost: Vec<Span>,
}

/// Parses a file as far as possible.
pub(super) fn recover(source: &Source) -> PartialParse {
    let mut parsed = recovered(Parser::new(source.text(), 0));
    explain(source.text(), &mut parsed.errors);
    parsed
}

fn recovered(mut parser: Parser<'_>) -> PartialParse {
    let items = parser.items();
    let Parser { text, mut errors, mut lost, stop, .. } = parser;
    if stop {
        lost.push(Span { start: 0, end: text.len() as u32 });
    }
    errors.sort_by_key(|error| error.span.start);
    errors.truncate(MAX_ERRORS);
    PartialParse { file: File { items }, errors, lost }
}

/// The error of a parsing function whose diagnostic has been recorded. The caller must recover.
#[derive(Debug)]
struct ReportedError;

type Parse<T> = Result<T, ReportedError>;

struct Parser<'s> {
    text: &'s str,
    /// The offset at which the spans of the text begin.
    base: u32,
    /// The words that begin components and verbs.
    known: ComponentWords<'s>,
    /// Whether the parser is inside a kind, where more expressions exist.
    in_kind: bool,
    // Invariant: the last token is `End`, and no other one is.
    tokens: Vec<Token>,
    strings: Vec<String>,
    pos: usize,
    /// Number of open `(` and `[`. Newlines end statements only if it is 0.
    nesting: u32,
    /// The token whose newline has been consumed, as a separator or because no token precedes it.
    taken: usize,
    /// The current depth of nesting, see [`MAX_DEPTH`].
    depth: u32,
    /// The height of the expression that was parsed last.
    height: u32,
    errors: Vec<Diagnostic>,
    /// The token of the parser's last error. A token gets at most one error.
    blamed: Option<usize>,
    /// Whether the channel of a `send` is parsed. A value in parentheses may follow it.
    in_send: bool,
    /// Whether an item begins inside a block that was not closed. Blocks then give up, and parsing resumes at the level
    /// of the file.
    to_item: bool,
    /// Whether parsing stops for good: nested too deep, or too many errors.
    stop: bool,
    /// The parts of the text that recovery has skipped.
    lost: Vec<Span>,
}

impl<'s> Parser<'s> {
    fn new(text: &'s str, base: u32) -> Self {
        let lexed = lex_at(text, base);
        Self {
            text,
            base,
            known: ComponentWords::of(text, &lexed.tokens, base),
            in_kind: false,
            tokens: lexed.tokens,
            strings: lexed.strings,
            pos: 0,
            nesting: 0,
            taken: 0,
            depth: 0,
            height: 0,
            errors: lexed.errors,
            blamed: None,
            in_send: false,
            to_item: false,
            stop: false,
            lost: Vec::new(),
        }
    }

    /// The kind of the token `ahead` of the current one, or `Newline` if a newline before it ends a statement.
    fn kind_at(&self, ahead: usize) -> TokenKind {
        let pos = (self.pos + ahead).min(self.tokens.len() - 1);
        let token = self.tokens[pos];
        if token.newline && self.nesting == 0 && pos != self.taken { TokenKind::Newline } else { token.kind }
    }

    fn peek(&self) -> TokenKind {
        self.kind_at(0)
    }

    /// The current token, regardless of newlines.
    fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    fn text_of(&self, span: Span) -> &'s str {
        &self.text[(span.start - self.base) as usize..(span.end - self.base) as usize]
    }

    /// The word of the token `ahead` of the current one, reserved or not; empty if that token is not a word.
    fn word_at(&self, ahead: usize) -> &'s str {
        if self.kind_at(ahead) == TokenKind::Word { self.text_of(self.tokens[self.pos + ahead].span) } else { "" }
    }

    fn word(&self) -> &'s str {
        self.word_at(0)
    }

    fn name_at(&self, ahead: usize) -> bool {
        self.kind_at(ahead) == TokenKind::Word && !is_reserved(self.word_at(ahead))
    }

    /// Returns whether the tokens `ahead - 1` and `ahead` touch, as in `f(`.
    fn touches(&self, ahead: usize) -> bool {
        let pos = self.pos + ahead;
        pos > 0 && pos < self.tokens.len() && self.tokens[pos - 1].span.end == self.tokens[pos].span.start
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.pos += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        if found {
            self.bump();
        }
        found
    }

    /// Consumes a token of a kind that has only one text.
    fn expect(&mut self, kind: TokenKind) -> Parse<()> {
        if self.eat(kind) { Ok(()) } else { Err(self.expected(&format!("`{}`", kind.symbol().unwrap_or("?")))) }
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Start offset of the current token.
    fn start(&self) -> u32 {
        self.token().span.start
    }

    /// End offset of the previous token.
    fn end(&self) -> u32 {
        if self.pos == 0 { self.base } else { self.tokens[self.pos - 1].span.end }
    }

    fn at_from(&self, start: u32) -> At {
        At(Span { start, end: self.end().max(start) })
    }

    /// Parses a name. `what` describes it in errors: "a name for the looper".
    fn name(&mut self, what: &str) -> Parse<Name> {
        if self.name_at(0) {
            let span = self.bump().span;
            return Ok(Name { text: self.text_of(span).to_owned(), at: At(span) });
        }
        if self.peek() == TokenKind::Word {
            let word = self.word();
            let diagnostic =
                Diagnostic::new(self.token().span, format!("`{word}` is a reserved word"), format!("expected {what}"));
            return Err(self.report(diagnostic.help("choose another name")));
        }
        Err(self.expected(what))
    }

    /// Parses a string literal, if one is next.
    fn string(&mut self) -> Option<TextLiteral> {
        let TokenKind::Str(index) = self.peek() else { return None };
        let span = self.bump().span;
        // Each literal is taken only once, because the parser never backtracks.
        Some(TextLiteral { text: std::mem::take(&mut self.strings[index]), at: At(span) })
    }

    fn expect_string(&mut self, what: &str) -> Parse<TextLiteral> {
        self.string().ok_or_else(|| self.expected(what))
    }

    /// Runs `inner` with newlines ignored, and consumes the closing bracket after it.
    fn bracketed<T>(&mut self, close: TokenKind, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let opened = self.tokens[self.pos.saturating_sub(1)].span;
        self.nesting += 1;
        // Inside brackets no value follows a part of the channel of a `send`.
        let in_send = std::mem::replace(&mut self.in_send, false);
        let value = inner(self)?;
        self.in_send = in_send;
        if self.peek() != close {
            let symbol = close.symbol().unwrap_or("?");
            let mut diagnostic =
                self.expected_diagnostic(&format!("`{symbol}`")).note(opened, "this one is not closed");
            if self.peek() == TokenKind::DotDot {
                diagnostic = diagnostic.help("write `choose 0..N` without parentheses; other ranges belong to a `for`");
            }
            return Err(self.report(diagnostic));
        }
        // A newline before the closing bracket is ignored as well, so the bracket is consumed before `nesting` is
        // reduced.
        self.bump();
        self.nesting -= 1;
        Ok(value)
    }

    /// Parses `a, b, c` up to the closing bracket. The list may be empty, and may end with a comma.
    fn list<T>(&mut self, close: TokenKind, mut one: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.bracketed(close, |parser| {
            let mut all = Vec::new();
            while parser.peek() != close {
                all.push(one(parser)?);
                if !parser.eat(TokenKind::Comma) {
                    break;
                }
            }
            Ok(all)
        })
    }

    /// Runs `inner` one level deeper. Exceeding [`MAX_DEPTH`] is an error that stops the parser.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let diagnostic = Diagnostic::new(
                self.token().span,
                "the text is nested too deeply",
                format!("there are more than {MAX_DEPTH} levels here"),
            )
            .help("move the inner part into a task of its own, or give it a name with `let`");
            self.report(diagnostic);
            self.stop = true;
            return Err(ReportedError);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Sets the height of the expression that is being built, and reports it if it exceeds [`MAX_HEIGHT`].
    fn grow(&mut self, height: u32, at: At) -> Parse<()> {
        self.height = height;
        if height <= MAX_HEIGHT {
            return Ok(());
        }
        let diagnostic = Diagnostic::new(
            at.0,
            "the expression is too long",
            format!("there are more than {MAX_HEIGHT} operators in a row"),
        )
        .help(
            "give its parts names with `let`; write a property with many terms as `all i in 0..n: ..`, or as several properties",
        );
        Err(self.report(diagnostic))
    }

    /// Parses an expression, and raises `height` to its height if that is larger.
    fn measured(&mut self, height: &mut u32, parse: impl FnOnce(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        let expr = parse(self)?;
        *height = (*height).max(self.height);
        Ok(expr)
    }
}
