//! Handles syntax errors: reports the expected token, once for each place, and finds the place to resume at.

use super::super::ast::Span;
use super::super::diagnostic::Diagnostic;
use super::super::lexer::MAX_ERRORS;
use super::super::token::TokenKind;
use super::super::words::ITEMS;
use super::{Parse, Parser, ReportedError};

impl Parser<'_> {
    /// Records a diagnostic, unless the lexer or an earlier diagnostic has reported the same token.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> ReportedError {
        if self.stop || self.blamed == Some(self.pos) {
            return ReportedError;
        }
        self.blamed = Some(self.pos);
        if self.token().kind != TokenKind::Unknown {
            self.errors.push(diagnostic);
        }
        // Errors of the lexer count as well. The limit is doubled, so that they do not hide the errors of the parser.
        if self.errors.len() >= 2 * MAX_ERRORS {
            self.stop = true;
        }
        ReportedError
    }

    pub(super) fn expected(&mut self, what: &str) -> ReportedError {
        let diagnostic = self.expected_diagnostic(what);
        self.report(diagnostic)
    }

    /// Returns a diagnostic such as "expected `to`, found `async`", which the caller can refine.
    pub(super) fn expected_diagnostic(&self, what: &str) -> Diagnostic {
        let found = match self.peek() {
            TokenKind::Newline => "the end of the line".to_owned(),
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Int(_) | TokenKind::Word | TokenKind::AssignOp(_) => self.quoted(self.token().span),
            kind => format!("`{}`", kind.symbol().unwrap_or("?")),
        };
        let mut span = self.token().span;
        if matches!(self.peek(), TokenKind::Newline | TokenKind::End) && self.pos > 0 {
            // The missing token belongs after the last one, not at the start of a later line.
            span.start = self.end();
            span.end = span.start;
        }
        Diagnostic::new(span, format!("expected {what}, found {found}"), format!("expected {what}"))
    }

    /// Returns a part of the text in backquotes, shortened if it is long.
    pub(super) fn quoted(&self, span: Span) -> String {
        let text = self.text_of(span);
        let cut: String = text.chars().take(40).collect();
        if cut.len() < text.len() { format!("`{cut}...`") } else { format!("`{cut}`") }
    }

    /// Consumes newlines and semicolons.
    pub(super) fn separators(&mut self) {
        loop {
            match self.peek() {
                TokenKind::Newline => self.taken = self.pos,
                TokenKind::Semi => {
                    self.bump();
                }
                _ => return,
            }
        }
    }

    /// Checks that a separator or a closing brace follows an item, statement or field.
    pub(super) fn ended(&mut self, what: &str) -> Parse<()> {
        let mut diagnostic = match self.peek() {
            TokenKind::Newline | TokenKind::Semi | TokenKind::RightBrace | TokenKind::End => return Ok(()),
            _ => self.expected_diagnostic(&format!("the end of the {what}")),
        };
        match self.peek() {
            TokenKind::Op(_) | TokenKind::Bang => {}
            TokenKind::DotDot => diagnostic = diagnostic.help("use a range only in a `for`, or after `choose`"),
            TokenKind::Word if matches!(self.word(), "else" | "catch" | "finally") => {
                diagnostic = diagnostic.help(format!("put `{}` right after the `}}` that it belongs to", self.word()));
            }
            TokenKind::RightParen | TokenKind::RightBracket => diagnostic.message += " that closes nothing",
            TokenKind::LeftBrace => {}
            _ => diagnostic = diagnostic.help("put each on a line of its own, or `;` between them"),
        }
        Err(self.report(diagnostic))
    }

    /// Returns whether the current token begins an item at the start of a line. The content of blocks is indented, so
    /// in a block such a token means that the block was not closed.
    pub(super) fn item_at_margin(&self) -> bool {
        let start = (self.start() - self.base) as usize;
        let token = self.token();
        token.kind == TokenKind::Word
            && (start == 0 || self.text.as_bytes()[start - 1] == b'\n')
            && (ITEMS.contains(&self.text_of(token.span)) || self.known.kinds.contains(self.text_of(token.span)))
            && self.tokens.get(self.pos + 1).is_some_and(|next| {
                matches!(next.kind, TokenKind::Word | TokenKind::Str(_)) || next.kind == TokenKind::LeftBrace && self.text_of(token.span) == "init"
            })
            // These words begin statements, too.
            && !matches!(self.text_of(token.span), "let" | "handler" | "use")
    }

    /// Skips to the end of the statement that began at token `begun`, or to the `}` of its block.
    pub(super) fn skip_statement(&mut self, begun: usize) {
        self.pass_statement(begun);
        self.lose(begun);
    }

    /// Records that the text from token `begun` to the current token is in no tree.
    pub(super) fn lose(&mut self, begun: usize) {
        let start = self.tokens[begun.min(self.tokens.len() - 1)].span.start;
        self.lost.push(Span { start, end: self.start().max(start) });
    }

    fn pass_statement(&mut self, begun: usize) {
        self.nesting = 0;
        let mut open = 0u32;
        loop {
            match self.peek() {
                TokenKind::End => return,
                TokenKind::Newline => {
                    if self.item_at_margin() {
                        self.to_item = true;
                        return;
                    }
                    if open == 0 {
                        return;
                    }
                    self.taken = self.pos;
                    continue;
                }
                TokenKind::Semi if open == 0 => return,
                // If `x = 1 +` is followed by `let y = 2` on the next line, the second line is a statement of its own.
                TokenKind::Word if open == 0 && self.token().first && self.pos > begun && self.pos != self.taken => {
                    return;
                }
                TokenKind::RightBrace if open == 0 => return,
                TokenKind::RightBrace => open -= 1,
                TokenKind::LeftBrace => open += 1,
                _ => {}
            }
            self.bump();
        }
    }

    /// Skips to the next line outside braces, where an item can begin.
    pub(super) fn skip_item(&mut self) {
        self.nesting = 0;
        let mut open = 0u32;
        loop {
            match self.peek() {
                TokenKind::End => return,
                TokenKind::Newline => {
                    if open == 0 || self.item_at_margin() {
                        return;
                    }
                    self.taken = self.pos;
                    continue;
                }
                TokenKind::RightBrace => open = open.saturating_sub(1),
                TokenKind::LeftBrace => open += 1,
                _ => {}
            }
            self.bump();
        }
    }
}
