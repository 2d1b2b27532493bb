//! Tokens to the syntax tree: recursive descent by hand, several errors at once.
//!
//! Words mean something only where they stand, so there is no separate list of keywords: each place looks at the word
//! and at the token after it. After an error the parser goes on at the next statement or item. How deep things nest,
//! and how high an expression's tree grows, is limited ([`MAX_DEPTH`], [`MAX_HEIGHT`]): every recursive pass over a
//! tree that was parsed, dropping it included, is safe on a small stack.

mod expects;
mod exprs;
mod items;
mod ops;
mod recovery;
mod stmts;
mod types;
mod verbs;

use super::ast::{At, Expr, File, Name, Span, Text};
use super::diagnostic::Diagnostic;
use super::foreign::explain;
use super::lexer::{MAX_ERRORS, lex};
use super::source::Source;
use super::token::{Kind, Token};
use super::words::is_reserved;

/// How deep blocks, parentheses, types, `else if` and the right sides of operators may nest in each other.
const MAX_DEPTH: u32 = 128;
/// How high the tree of one expression may be: `a + b + c` nests to the left.
const MAX_HEIGHT: u32 = 256;

/// Parses a file. The errors are in source order, at most twenty.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, parse};
///
/// let good = Source::new("a.race", "var x = 0\nthread t { x = 1 }")?;
/// assert_eq!(parse(&good).unwrap().items.len(), 2);
///
/// // It goes on after an error, and tells both.
/// let bad = Source::new("a.race", "var = 0\nthread { x = 1 }")?;
/// assert_eq!(parse(&bad).unwrap_err().len(), 2);
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
pub fn parse(source: &Source) -> Result<File, Vec<Diagnostic>> {
    let Recovered { file, errors, .. } = recover(source);
    if errors.is_empty() { Ok(file) } else { Err(errors) }
}

/// What can be made of a text with errors.
pub(super) struct Recovered {
    /// The items that are well-formed but for statements that were left out.
    pub(super) file: File,
    /// The errors in source order, at most twenty.
    pub(super) errors: Vec<Diagnostic>,
    /// What was left out; the whole text where the parser gave up.
    pub(super) lost: Vec<Span>,
}

/// Parses a file as far as it can be parsed.
pub(super) fn recover(source: &Source) -> Recovered {
    let mut parser = Parser::new(source.text());
    let items = parser.items();
    let Parser { mut errors, mut lost, stop, .. } = parser;
    if stop {
        lost.push(Span { start: 0, end: source.text().len() as u32 });
    }
    errors.sort_by_key(|error| error.span.start);
    errors.truncate(MAX_ERRORS);
    explain(source.text(), &mut errors);
    Recovered { file: File { items }, errors, lost }
}

/// A diagnostic has been recorded: go on elsewhere.
#[derive(Debug)]
struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'s> {
    text: &'s str,
    // invariant: the last token is `End`, and the only one
    tokens: Vec<Token>,
    strings: Vec<String>,
    pos: usize,
    /// Inside how many `(` and `[`; newlines mean something at 0 only.
    nesting: u32,
    /// The token whose newline has been taken, as a separator or because nothing came before it.
    taken: usize,
    /// How deep the parser is, see [`MAX_DEPTH`].
    depth: u32,
    /// The height of the expression that was parsed last.
    height: u32,
    errors: Vec<Diagnostic>,
    /// The token of the last error of the parser: one error for each is enough.
    blamed: Option<usize>,
    /// Blocks give up, the file's level goes on: an item begins inside a block that was not closed.
    to_item: bool,
    /// Nothing goes on: too deep, or too many errors.
    stop: bool,
    /// What recovery has passed over.
    lost: Vec<Span>,
}

impl<'s> Parser<'s> {
    fn new(text: &'s str) -> Self {
        let lexed = lex(text);
        Self {
            text,
            tokens: lexed.tokens,
            strings: lexed.strings,
            pos: 0,
            nesting: 0,
            taken: 0,
            depth: 0,
            height: 0,
            errors: lexed.errors,
            blamed: None,
            to_item: false,
            stop: false,
            lost: Vec::new(),
        }
    }

    /// The token `ahead` of the current one, newlines seen.
    fn kind_at(&self, ahead: usize) -> Kind {
        let pos = (self.pos + ahead).min(self.tokens.len() - 1);
        let token = self.tokens[pos];
        if token.newline && self.nesting == 0 && pos != self.taken { Kind::Newline } else { token.kind }
    }

    fn peek(&self) -> Kind {
        self.kind_at(0)
    }

    /// The current token as it stands, without regard to newlines.
    fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    fn text_of(&self, span: Span) -> &'s str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The word `ahead` of the current token, reserved or not; empty if there is none.
    fn word_at(&self, ahead: usize) -> &'s str {
        if self.kind_at(ahead) == Kind::Word { self.text_of(self.tokens[self.pos + ahead].span) } else { "" }
    }

    fn word(&self) -> &'s str {
        self.word_at(0)
    }

    fn name_at(&self, ahead: usize) -> bool {
        self.kind_at(ahead) == Kind::Word && !is_reserved(self.word_at(ahead))
    }

    /// Do the tokens `ahead - 1` and `ahead` touch, as in `f(`?
    fn touches(&self, ahead: usize) -> bool {
        let pos = self.pos + ahead;
        pos > 0 && pos < self.tokens.len() && self.tokens[pos - 1].span.end == self.tokens[pos].span.start
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::End {
            self.pos += 1;
        }
        token
    }

    fn eat(&mut self, kind: Kind) -> bool {
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

    /// Takes a token whose text is all there is to it.
    fn expect(&mut self, kind: Kind) -> Parse<()> {
        if self.eat(kind) { Ok(()) } else { Err(self.expected(&format!("`{}`", kind.symbol().unwrap_or("?")))) }
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Where the current token begins.
    fn start(&self) -> u32 {
        self.token().span.start
    }

    /// Where the last token ended.
    fn end(&self) -> u32 {
        if self.pos == 0 { 0 } else { self.tokens[self.pos - 1].span.end }
    }

    fn at_from(&self, start: u32) -> At {
        At(Span { start, end: self.end().max(start) })
    }

    /// A name for `what`: "a name for the looper".
    fn name(&mut self, what: &str) -> Parse<Name> {
        if self.name_at(0) {
            let span = self.bump().span;
            return Ok(Name { text: self.text_of(span).to_owned(), at: At(span) });
        }
        if self.peek() == Kind::Word {
            let word = self.word();
            let diagnostic =
                Diagnostic::new(self.token().span, format!("`{word}` is a reserved word"), format!("expected {what}"));
            return Err(self.report(diagnostic.help("choose another name")));
        }
        Err(self.expected(what))
    }

    /// A string literal, if one is next.
    fn string(&mut self) -> Option<Text> {
        let Kind::Str(index) = self.peek() else { return None };
        let span = self.bump().span;
        // Each literal is taken once: the parser never goes back.
        Some(Text { text: std::mem::take(&mut self.strings[index]), at: At(span) })
    }

    fn expect_string(&mut self, what: &str) -> Parse<Text> {
        self.string().ok_or_else(|| self.expected(what))
    }

    /// Runs `inner` with newlines meaning nothing, up to the closing bracket, which it takes.
    fn bracketed<T>(&mut self, close: Kind, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let opened = self.tokens[self.pos.saturating_sub(1)].span;
        self.nesting += 1;
        let value = inner(self)?;
        if self.peek() != close {
            let symbol = close.symbol().unwrap_or("?");
            let diagnostic = self.expected_diagnostic(&format!("`{symbol}`")).note(opened, "to close this one");
            return Err(self.report(diagnostic));
        }
        // The closing bracket itself is inside: a newline before it means nothing either.
        self.bump();
        self.nesting -= 1;
        Ok(value)
    }

    /// `a, b, c` up to the closing bracket; none is fine, and so is a comma after the last.
    fn list<T>(&mut self, close: Kind, mut one: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.bracketed(close, |parser| {
            let mut all = Vec::new();
            while parser.peek() != close {
                all.push(one(parser)?);
                if !parser.eat(Kind::Comma) {
                    break;
                }
            }
            Ok(all)
        })
    }

    /// One level deeper; the error of [`MAX_DEPTH`] ends the parse.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let diagnostic =
                Diagnostic::new(self.token().span, "nested too deep", format!("more than {MAX_DEPTH} levels here"))
                    .help("move the inner part into a task of its own, or give it a name with `let`");
            self.report(diagnostic);
            self.stop = true;
            return Err(Reported);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Records the height of an expression that is being built.
    fn grow(&mut self, height: u32, at: At) -> Parse<()> {
        self.height = height;
        if height <= MAX_HEIGHT {
            return Ok(());
        }
        let diagnostic = Diagnostic::new(
            at.0,
            "the expression is too long",
            format!("more than {MAX_HEIGHT} operators in a row"),
        )
        .help(
            "give its parts names with `let`; a property with many terms is `all i in 0..n: ..`, or several properties",
        );
        Err(self.report(diagnostic))
    }

    /// An expression, with `height` raised to its height if that is larger.
    fn measured(&mut self, height: &mut u32, parse: impl FnOnce(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        let expr = parse(self)?;
        *height = (*height).max(self.height);
        Ok(expr)
    }
}
