//! The layout of a source text: indentation, spaces between tokens, blank lines, comments. As gofmt does, it keeps the author's lines.
//!
//! Tokens and comments stay as they are, in their order, and so does every end of a line: nothing is joined, split or dropped, and the tree is the same.
//! What is laid out: four spaces for each bracket that is open (of several that one line opens, one counts) and for a line that goes on;
//! one space or none between tokens; at most one blank line, none at the edges of blocks. A comment behind code stays in its column where
//! the code leaves room, else it moves to the right together with those in the same column above and below it.

use super::ast::{BinaryOp, Span};
use super::diagnostic::Diagnostic;
use super::lexer::{Lexed, lex};
use super::parser::parse;
use super::source::Source;
use super::token::{Kind, Token};

const INDENT: usize = 4;

/// The source as it should be laid out; the errors of [`parse`] if it does not parse. Laying out twice is laying out once.
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
struct Line {
    // Of the token list.
    tokens: std::ops::Range<usize>,
    comment: Option<Span>,
    // Whether a blank line stands before it.
    blank: bool,
    indent: usize,
    // Its code without indentation.
    code: String,
    // The column of a comment that stands behind code, or below one that does, from 0.
    column: Option<usize>,
}

impl Line {
    fn has_code(&self) -> bool {
        !self.tokens.is_empty()
    }

    // The columns that its code takes.
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
        let opens = |l: &Line| l.has_code() && lexed.tokens[l.tokens.end - 1].kind == Kind::LeftBrace;
        let closes = line.has_code() && lexed.tokens[line.tokens.start].kind == Kind::RightBrace;
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

/// Tokens and comments by line.
fn lines(text: &str, lexed: &Lexed) -> Vec<Line> {
    let mut comments = lexed.comments.iter().copied().peekable();
    let (mut lines, mut end): (Vec<Line>, usize) = (Vec::new(), 0);
    // The line of what starts here; a new one unless it stands on the line of what came last.
    let mut place = |lines: &mut Vec<Line>, span: Span, token: usize| {
        let newlines = text[end..span.start as usize].matches('\n').count();
        end = span.end as usize;
        if newlines > 0 || lines.is_empty() {
            lines.push(Line { tokens: token..token, blank: newlines > 1, ..Line::default() });
        }
        lines.len() - 1
    };
    for (i, token) in lexed.tokens.iter().enumerate() {
        while let Some(comment) = comments.next_if(|c| c.start < token.span.start || token.kind == Kind::End) {
            let at = place(&mut lines, comment, i);
            lines[at].comment = Some(comment);
        }
        if token.kind != Kind::End {
            let at = place(&mut lines, token.span, i);
            lines[at].tokens.end = i + 1;
        }
    }
    lines
}

/// The brackets that are open: what each is, and the indentation of the line that it stands on.
type Open = Vec<(Kind, usize)>;

fn indent(text: &str, tokens: &[Token], lines: &mut [Line]) {
    let mut open: Open = Vec::new();
    // Own-line comments wait for the code that they stand before.
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
                Kind::LeftBrace | Kind::LeftParen | Kind::LeftBracket => open.push((token.kind, own)),
                Kind::RightBrace | Kind::RightParen | Kind::RightBracket => {
                    open.pop();
                }
                _ => {}
            }
        }
    }
}

// How many closing brackets a line begins with.
fn closers(line: &[Token]) -> usize {
    let closes = |t: &&Token| matches!(t.kind, Kind::RightBrace | Kind::RightParen | Kind::RightBracket);
    line.iter().take_while(closes).count()
}

fn inside(open: &Open) -> usize {
    open.last().map_or(0, |(_, indent)| indent + INDENT)
}

/// The indentation of the line that begins with this token, or with so many closing brackets.
fn own_indent(text: &str, tokens: &[Token], first: usize, closes: usize, open: &Open) -> usize {
    if closes > 0 {
        // Where the line stands that opened what the last of them closes.
        return open.len().checked_sub(closes).map_or(0, |at| open[at].1);
    }
    let token = tokens[first];
    let word = &text[token.span.start as usize..token.span.end as usize];
    let innermost = open.last().map(|(kind, _)| *kind);
    let goes_on = match first.checked_sub(1).map(|before| tokens[before].kind) {
        None => false,
        // A comma in braces parts what is in them, as in the settings of an app.
        Some(Kind::Comma) if innermost == Some(Kind::LeftBrace) => false,
        Some(_) => !token.newline && !matches!(word, "else" | "catch" | "finally"),
    };
    let in_parentheses = matches!(innermost, Some(Kind::LeftParen | Kind::LeftBracket));
    inside(open) + if goes_on && !in_parentheses { INDENT } else { 0 }
}

/// Tokens with the spaces between them.
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

/// Whether a space stands between token `i` and the one before it.
fn is_spaced(tokens: &[Token], i: usize) -> bool {
    use Kind::{At, Bang, Colon, Comma, Dot, DotDot, LeftBrace, LeftBracket, LeftParen, RightBrace, RightBracket};
    use Kind::{RightParen, Semi, Word};
    match (tokens[i - 1].kind, tokens[i].kind) {
        (LeftParen | LeftBracket | Dot | DotDot | At | Bang, _) => false,
        (_, Comma | Semi | RightParen | RightBracket | Colon | Dot | DotDot) => false,
        (LeftBrace, _) | (_, LeftBrace | RightBrace) => true,
        // `sleep (x)` is no call, and `= [1]` no index.
        (Word | RightParen | RightBracket, LeftParen | LeftBracket) => !touches(tokens, i),
        (Kind::Op(BinaryOp::Sub), _) => !is_sign(tokens, i - 1),
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
        // After a word of the language, as in `return -1`; only the grammar could tell it from a name, and the author has.
        Kind::Word => !touches(tokens, i) && touches(tokens, i + 1),
        Kind::Int(_) | Kind::Str(_) | Kind::RightParen | Kind::RightBracket => false,
        _ => true,
    }
}

/// The columns of comments that stand behind code, and of those right below them.
fn place_comments(text: &str, lines: &mut [Line]) {
    let written = |line: &Line| line.comment.map(|c| column(text, c.start as usize));
    let mut at = 0;
    while at < lines.len() {
        let Some(column) = written(&lines[at]).filter(|_| lines[at].has_code()) else {
            at += 1;
            continue;
        };
        let belongs = |line: &&Line| !line.blank && written(line) == Some(column);
        let end = at + 1 + lines[at + 1..].iter().take_while(belongs).count();
        let needed = lines[at..end].iter().map(Line::width).max().unwrap_or(0) + 1;
        lines[at..end].iter_mut().for_each(|l| l.column = Some(column.max(needed)));
        at = end;
    }
}

/// The column of an offset, from 0.
fn column(text: &str, offset: usize) -> usize {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    columns(0, &text[start..offset])
}

/// The column behind a text that begins at a column; tabs, which a string may have, stop at every fourth.
fn columns(from: usize, text: &str) -> usize {
    text.chars().fold(from, |at, c| if c == '\t' { at / INDENT * INDENT + INDENT } else { at + 1 })
}
