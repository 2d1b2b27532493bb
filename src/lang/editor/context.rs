//! Where the cursor is: the word that is being typed, what comes before it, and which locals are visible.

use super::super::ast::Span;
use super::super::lexer::lex;
use super::super::token::{Token, TokenKind};
use super::analysis::SourceAnalysis;
use super::names::{NameScope, Symbol};

/// The place of the cursor in the tokens of a text.
pub(super) struct CursorContext<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    // Number of tokens before the word that is being typed.
    before: usize,
    // For each token the number of open braces after it.
    depths: Vec<u32>,
    /// The word that is being typed, or the empty place of the cursor.
    pub(super) word: Span,
}

impl<'t> CursorContext<'t> {
    /// Finds the place of a cursor. Returns `None` inside a comment, a string or a number.
    pub(super) fn new(text: &'t str, offset: u32) -> Option<Self> {
        let lexed = lex(text);
        if lexed.comments.iter().any(|comment| comment.start < offset && offset <= comment.end) {
            return None;
        }
        let tokens = lexed.tokens;
        let mut before = tokens.partition_point(|token| {
            token.span.end < offset || token.span.start == token.span.end && token.span.start < offset
        });
        let mut word = Span { start: offset, end: offset };
        if let Some(token) = tokens.get(before).filter(|token| token.span.start < offset) {
            match token.kind {
                TokenKind::Word => word = token.span,
                TokenKind::Str(_) if offset < token.span.end => return None,
                TokenKind::Int(_) | TokenKind::Unknown => return None,
                // The cursor is right behind another token.
                _ => before += 1,
            }
        }
        let mut depth = 0u32;
        let depths = tokens.iter().map(|token| {
            match token.kind {
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth
        });
        Some(Self { depths: depths.collect(), text, tokens, before, word })
    }

    /// Returns the kind and the text of the `nth` token before the word, counted from 1.
    pub(super) fn token(&self, nth: usize) -> Option<(TokenKind, &'t str)> {
        let token = self.tokens.get(self.before.checked_sub(nth)?)?;
        Some((token.kind, self.text_of(token.span)))
    }

    fn text_of(&self, span: Span) -> &'t str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Returns the number of open braces around the cursor.
    pub(super) fn depth(&self) -> u32 {
        self.before.checked_sub(1).and_then(|last| self.depths.get(last)).copied().unwrap_or(0)
    }

    /// Returns whether a statement or an item can begin at the word.
    pub(super) fn begins(&self) -> bool {
        match self.token(1) {
            None => true,
            Some((kind, _)) => {
                let ends = matches!(kind, TokenKind::LeftBrace | TokenKind::RightBrace | TokenKind::Semi);
                ends || !kind.continues() && self.is_first_on_line()
            }
        }
    }

    fn is_first_on_line(&self) -> bool {
        let before = self.text.get(..self.word.start as usize).unwrap_or_default();
        before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty())
    }

    /// Returns the words of the line before the cursor.
    pub(super) fn line(&self) -> impl Iterator<Item = &'t str> + '_ {
        let before = self.text.get(..self.word.start as usize).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.tokens[..self.before].iter().filter(move |token| token.span.start as usize >= start);
        line.map(|token| self.text_of(token.span))
    }

    /// Returns the words that are joined by dots before the word: `a` and `b` for `a.b.c`. An index counts as nothing.
    pub(super) fn path(&self) -> Vec<&'t str> {
        let (mut path, mut nth) = (Vec::new(), 1);
        while matches!(self.token(nth), Some((TokenKind::Dot, _))) {
            nth += 1;
            if matches!(self.token(nth), Some((TokenKind::RightBracket, _))) {
                nth += self.bracket(nth);
                path.push("[]");
            }
            let Some((TokenKind::Word, word)) = self.token(nth) else { return Vec::new() };
            path.push(word);
            nth += 1;
        }
        path.reverse();
        path
    }

    // Number of tokens of the brackets that end at the `nth` token before the word.
    fn bracket(&self, nth: usize) -> usize {
        let mut open = 0;
        for length in 0.. {
            match self.token(nth + length) {
                Some((TokenKind::RightBracket, _)) => open += 1,
                Some((TokenKind::LeftBracket, _)) => open -= 1,
                None => return length,
                _ => {}
            }
            if open == 0 {
                return length + 1;
            }
        }
        0
    }

    /// Returns the word that begins the innermost item around the cursor with one open brace: `class`, `kind`.
    pub(super) fn item(&self) -> &'t str {
        let outside = |at: &usize| self.depths[*at] == 0;
        let start = (0..self.before)
            .rev()
            .find(|at| outside(at))
            .map_or(0, |last| (0..=last).rev().find(|at| self.tokens[*at].first).unwrap_or(0));
        self.tokens.get(start).map_or("", |token| self.text_of(token.span))
    }

    /// Returns the locals that are visible at the cursor.
    pub(super) fn locals<'s>(&self, analysis: &'s SourceAnalysis) -> Vec<&'s Symbol> {
        // For each token before the cursor the least depth from there on.
        let mut least = self.depths[..self.before].to_vec();
        for at in (0..least.len().saturating_sub(1)).rev() {
            least[at] = least[at].min(least[at + 1]);
        }
        let is_visible = |symbol: &Symbol| {
            let at = self.tokens.partition_point(|token| token.span.start < symbol.definition.start);
            if at >= self.before {
                return false;
            }
            let depth = self.depths[at];
            let is_let = at.checked_sub(1).is_some_and(|last| self.text_of(self.tokens[last].span) == "let");
            if is_let {
                return depth > 0 && least[at] >= depth;
            }
            // A parameter or the variable of a loop: visible in the block that follows.
            let block = (at..self.before).find(|at| self.tokens[*at].kind == TokenKind::LeftBrace);
            block.is_some_and(|block| least[block] > depth)
        };
        let symbols = analysis.names().symbols().iter();
        symbols.filter(|symbol| symbol.scope == NameScope::Local && is_visible(symbol)).collect()
    }
}
