//! Formats a source text: indentation, spaces between tokens, blank lines and comments. Like gofmt, it keeps the line
//! breaks of the author.
//!
//! Tokens, comments and ends of lines stay as they are, in their order: nothing is joined, split or dropped, and the
//! tree does not change. The layout has these rules:
//!
//! - A line is indented by four spaces for each open bracket (several that one line opens count once), and by four more
//!   if it continues the previous line.
//! - Tokens are separated by one space or none.
//! - There is at most one blank line in a row, and none at the edges of blocks.
//! - A comment behind code stays in its column if the code leaves room. Otherwise it moves to the right, together with
//!   the comments in the same column directly below it.

use super::ast::{BinaryOp, Span};
use super::diagnostic::Diagnostic;
use super::lexer::{LexResult, lex};
use super::parser::parse;
use super::source::Source;
use super::token::{Token, TokenKind};

const INDENT: usize = 4;

/// Returns the source in its standard layout. Formatting is idempotent.
///
/// # Errors
///
/// Returns the errors of [`parse`] if the text does not parse.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, format};
///
/// let source = Source::new("a.race", "thread t {\n  // counts\n      x+=1\n}")?;
/// assert_eq!(format(&source).unwrap(), "thread t {\n    // counts\n    x += 1\n}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn format(source: &Source) -> Result<String, Vec<Diagnostic>> {
    let tree = parse(source)?;
    let laid_out = lay_out(source.text());
    let again = Source::new(source.name(), &laid_out).ok().and_then(|s| parse(&s).ok());
    assert!(again.is_none_or(|again| again == tree), "the layout of {} is another model", source.name());
    Ok(laid_out)
}

/// A line of the source: code, a comment, or both.
#[derive(Default)]
struct SourceLine {
    // Indices into the token list.
    tokens: std::ops::Range<usize>,
    comment: Option<Span>,
    // Whether a blank line precedes the line.
    blank: bool,
    indent: usize,
    // The code of the line without indentation.
    code: String,
    // The column, from 0, of a comment behind code, or of a comment below such a comment.
    column: Option<usize>,
}

impl SourceLine {
    fn has_code(&self) -> bool {
        !self.tokens.is_empty()
    }

    // Number of columns that the code and its indentation take.
    fn width(&self) -> usize {
        if self.has_code() { columns(self.indent, &self.code) } else { 0 }
    }
}

fn lay_out(text: &str) -> String {
    let lexed = lex(text);
    let mut lines = lines(text, &lexed);
    indent(text, &lexed.tokens, &mut lines);
    for line in &mut lines {
        line.code = code(text, &lexed.tokens, line.tokens.clone());
    }
    place_comments(text, &mut lines);
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let opens = |l: &SourceLine| l.has_code() && lexed.tokens[l.tokens.end - 1].kind == TokenKind::LeftBrace;
        let closes = line.has_code() && lexed.tokens[line.tokens.start].kind == TokenKind::RightBrace;
        if line.blank && i > 0 && !closes && !opens(&lines[i - 1]) {
            out.push('\n');
        }
        let mut written = " ".repeat(line.indent) + &line.code;
        if let Some(comment) = line.comment {
            let column = line.column.unwrap_or(line.indent);
            written += &" ".repeat(column.saturating_sub(columns(0, &written)));
            written += &text[comment.start as usize..comment.end as usize];
        }
        out.push_str(written.trim_end());
        out.push('\n');
    }
    out
}

/// Splits tokens and comments into lines.
fn lines(text: &str, lexed: &LexResult) -> Vec<SourceLine> {
    let mut comments = lexed.comments.iter().copied().peekable();
    let (mut lines, mut end): (Vec<SourceLine>, usize) = (Vec::new(), 0);
    // Returns the line of a token or comment that starts here: a new line if a newline precedes it, else the last one.
    let mut place = |lines: &mut Vec<SourceLine>, span: Span, token: usize| {
        let newlines = text[end..span.start as usize].matches('\n').count();
        end = span.end as usize;
        if newlines > 0 || lines.is_empty() {
            lines.push(SourceLine { tokens: token..token, blank: newlines > 1, ..SourceLine::default() });
        }
        lines.len() - 1
    };
    for (i, token) in lexed.tokens.iter().enumerate() {
        while let Some(comment) = comments.next_if(|c| c.start < token.span.start || token.kind == TokenKind::End) {
            let at = place(&mut lines, comment, i);
            lines[at].comment = Some(comment);
        }
        if token.kind != TokenKind::End {
            let at = place(&mut lines, token.span, i);
            lines[at].tokens.end = i + 1;
        }
    }
    lines
}

/// The open brackets: the kind of each, and the indentation of its line.
type OpenBrackets = Vec<(TokenKind, usize)>;

fn indent(text: &str, tokens: &[Token], lines: &mut [SourceLine]) {
    let mut open: OpenBrackets = Vec::new();
    // The first line without an indentation. A comment on its own line takes the indentation of the next code.
    let mut waiting = 0;
    for i in 0..lines.len() {
        if !lines[i].has_code() {
            continue;
        }
        let range = lines[i].tokens.clone();
        let closes = closers(&tokens[range.clone()]);
        let own = own_indent(text, tokens, range.start, closes, &open);
        let before = if closes > 0 { inside(&open) } else { own };
        lines[waiting..i].iter_mut().for_each(|l| l.indent = before);
        waiting = i + 1;
        lines[i].indent = own;
        for token in &tokens[range] {
            match token.kind {
                TokenKind::LeftBrace | TokenKind::LeftParen | TokenKind::LeftBracket => open.push((token.kind, own)),
                TokenKind::RightBrace | TokenKind::RightParen | TokenKind::RightBracket => {
                    open.pop();
                }
                _ => {}
            }
        }
    }
}

// Number of closing brackets at the start of a line.
fn closers(line: &[Token]) -> usize {
    let closes = |t: &&Token| matches!(t.kind, TokenKind::RightBrace | TokenKind::RightParen | TokenKind::RightBracket);
    line.iter().take_while(closes).count()
}

fn inside(open: &OpenBrackets) -> usize {
    open.last().map_or(0, |(_, indent)| indent + INDENT)
}

/// The indentation of a line that begins with the token `first`, or with `closes` closing brackets.
fn own_indent(text: &str, tokens: &[Token], first: usize, closes: usize, open: &OpenBrackets) -> usize {
    if closes > 0 {
        // The line gets the indentation of the line that opened the outermost bracket it closes.
        return open.len().checked_sub(closes).map_or(0, |at| open[at].1);
    }
    let token = tokens[first];
    let word = &text[token.span.start as usize..token.span.end as usize];
    let innermost = open.last().map(|(kind, _)| *kind);
    let goes_on = match first.checked_sub(1).map(|before| tokens[before].kind) {
        None => false,
        // A comma in braces separates entries, as in the settings of an app.
        Some(TokenKind::Comma) if innermost == Some(TokenKind::LeftBrace) => false,
        Some(_) => !token.newline && !matches!(word, "else" | "catch" | "finally"),
    };
    let in_parentheses = matches!(innermost, Some(TokenKind::LeftParen | TokenKind::LeftBracket));
    inside(open) + if goes_on && !in_parentheses { INDENT } else { 0 }
}

/// Joins tokens, with spaces between them.
fn code(text: &str, tokens: &[Token], range: std::ops::Range<usize>) -> String {
    let mut out = String::new();
    for i in range.clone() {
        if i > range.start && is_spaced(tokens, i) {
            out.push(' ');
        }
        let Span { start, end } = tokens[i].span;
        out.push_str(&text[start as usize..end as usize]);
    }
    out
}

/// Whether a space separates token `i` from the one before it.
fn is_spaced(tokens: &[Token], i: usize) -> bool {
    use TokenKind::{At, Bang, Colon, Comma, Dot, DotDot, LeftBrace, LeftBracket, LeftParen, RightBrace, RightBracket};
    use TokenKind::{RightParen, Semi, Word};
    match (tokens[i - 1].kind, tokens[i].kind) {
        (LeftParen | LeftBracket | Dot | DotDot | At | Bang, _) => false,
        (_, Comma | Semi | RightParen | RightBracket | Colon | Dot | DotDot) => false,
        (LeftBrace, _) | (_, LeftBrace | RightBrace) => true,
        // `sleep (x)` is not a call, and `= [1]` not an index, so the space of the author stays.
        (Word | RightParen | RightBracket, LeftParen | LeftBracket) => !touches(tokens, i),
        (TokenKind::Op(BinaryOp::Sub), _) => !is_sign(tokens, i - 1),
        _ => true,
    }
}

fn touches(tokens: &[Token], i: usize) -> bool {
    tokens[i - 1].span.end == tokens[i].span.start
}

/// Whether the minus at `i` has no left operand.
fn is_sign(tokens: &[Token], i: usize) -> bool {
    let Some(before) = i.checked_sub(1) else { return true };
    match tokens[before].kind {
        // After a reserved word, as in `return -1`. Only the grammar could distinguish it from a name, so the spaces of
        // the author decide.
        TokenKind::Word => !touches(tokens, i) && touches(tokens, i + 1),
        TokenKind::Int(_) | TokenKind::Str(_) | TokenKind::RightParen | TokenKind::RightBracket => false,
        _ => true,
    }
}

/// Computes the columns of comments behind code, and of the comments directly below them.
fn place_comments(text: &str, lines: &mut [SourceLine]) {
    let written = |line: &SourceLine| line.comment.map(|c| column(text, c.start as usize));
    let mut at = 0;
    while at < lines.len() {
        let Some(column) = written(&lines[at]).filter(|_| lines[at].has_code()) else {
            at += 1;
            continue;
        };
        let belongs = |line: &&SourceLine| !line.blank && written(line) == Some(column);
        let end = at + 1 + lines[at + 1..].iter().take_while(belongs).count();
        let needed = lines[at..end].iter().map(SourceLine::width).max().unwrap_or(0) + 1;
        lines[at..end].iter_mut().for_each(|l| l.column = Some(column.max(needed)));
        at = end;
    }
}

/// The column of an offset, from 0.
fn column(text: &str, offset: usize) -> usize {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    columns(0, &text[start..offset])
}

/// The column after a text that begins at column `from`. A tab, which a string may contain, advances to the next
/// multiple of four.
fn columns(from: usize, text: &str) -> usize {
    text.chars().fold(from, |at, c| if c == '\t' { at / INDENT * INDENT + INDENT } else { at + 1 })
}
