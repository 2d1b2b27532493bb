//! Renders diagnostics for a reader: the source line, a caret, the reason and advice.

use std::borrow::Cow;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::ast::Span;
use super::diagnostic::Diagnostic;
use super::library::text_at;
use super::source::Source;
use crate::base::clean;

/// Number of characters kept on each side of a span in a line that is too long to show whole.
const MARGIN: usize = 80;
/// Lines up to this many bytes are shown whole.
const LONG_LINE: usize = 400;
/// Notes up to this many lines away share an excerpt with the error.
const NEAR: usize = 12;

/// Number of characters of a message that are shown. A name in it can be as long as the file.
const LONG_MESSAGE: usize = 500;

/// Renders the diagnostics of a source, one after another, each with a newline at its end.
pub fn render(source: &Source, diagnostics: &[Diagnostic], colour: bool) -> String {
    render_as(&Level::ERROR, source, diagnostics, colour)
}

/// Renders diagnostics that are warnings, in the format of [`render`].
pub fn render_warnings(source: &Source, diagnostics: &[Diagnostic], colour: bool) -> String {
    render_as(&Level::WARNING, source, diagnostics, colour)
}

fn render_as(level: &Level<'_>, source: &Source, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&one(level, source, diagnostic, &renderer));
        out.push('\n');
    }
    out
}

/// A part of the source to show: whole lines, or a part of one line.
struct Excerpt {
    start: usize,
    end: usize,
    line: usize,
}

/// A span to mark, and its text.
type Pointer<'d> = (AnnotationKind, Span, &'d str);

fn one(level: &Level<'_>, file: &Source, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    // A note can be in another text than the error: in a library, or in the file that uses it.
    let (source, first) = text_at(file, diagnostic.span);
    let notes: Vec<_> = diagnostic.notes.iter().map(|(span, text)| (text_at(file, *span), text)).collect();
    let mut excerpts: Vec<(&Source, Excerpt, Vec<Pointer<'_>>)> =
        vec![(&source, excerpt(&source, first), vec![(AnnotationKind::Primary, first, &diagnostic.reason)])];
    for ((of, span), text) in &notes {
        let new = excerpt(of, *span);
        let note = (AnnotationKind::Context, *span, text.as_str());
        let is_same = of.name() == source.name();
        match is_same.then(|| join(&source, &excerpts[0].1, &new)).flatten() {
            Some(joined) => {
                excerpts[0].1 = joined;
                excerpts[0].2.push(note);
            }
            None => excerpts.push((of, new, vec![note])),
        }
    }
    let mut elements: Vec<Element<'_>> = Vec::new();
    for (source, excerpt, annotations) in excerpts {
        let mut snippet =
            Snippet::source(&source.text()[excerpt.start..excerpt.end]).line_start(excerpt.line).fold(true);
        if whole(source, &excerpt) {
            snippet = snippet.path(clean(source.name()));
        } else {
            // Columns cannot be counted in the excerpt of a part of a line, so the place is given explicitly.
            let place = source.place(annotations[0].1.start);
            elements.push(Origin::path(clean(source.name())).line(place.line).char_column(place.column).into());
        }
        for (kind, span, label) in annotations {
            let start = source.floor(span.start).clamp(excerpt.start, excerpt.end);
            let end = source.floor(span.end).clamp(start, excerpt.end);
            let mut annotation = kind.span(start - excerpt.start..end - excerpt.start);
            if !label.is_empty() {
                annotation = annotation.label(short(label));
            }
            snippet = snippet.annotation(annotation);
        }
        elements.push(snippet.into());
    }
    let mut group: Group<'_> = level.clone().primary_title(short(&diagnostic.message)).elements(elements);
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(short(help)));
    }
    one_arrow(&renderer.render(&[group]))
}

// Replaces the `:::` before the places of later excerpts by the `-->` of the first one, because GitHub interprets a
// line that begins with two colons as a command.
fn one_arrow(rendered: &str) -> String {
    let arrows = |line: &str| {
        let before = line.split(":::").next().unwrap_or_default();
        let blank = before
            .split("\u{1b}[")
            .skip(1)
            .all(|part| part.split_once('m').is_some_and(|(_, rest)| rest.trim().is_empty()));
        let first = before.split("\u{1b}[").next().is_some_and(|part| part.trim().is_empty());
        if first && blank { line.replacen(":::", "-->", 1) } else { line.to_owned() }
    };
    rendered.split('\n').map(arrows).collect::<Vec<_>>().join("\n")
}

fn short(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(LONG_MESSAGE) {
        Some((end, _)) => clean(&format!("{}...", &message[..end])).into(),
        None => clean(message).into(),
    }
}

/// The line in which a span starts or, if that line is long, the part of it around the start of the span.
fn excerpt(source: &Source, span: Span) -> Excerpt {
    let text = source.text();
    let at = source.floor(span.start);
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let line = source.place(span.start).line;
    if end - start <= LONG_LINE {
        return Excerpt { start, end, line };
    }
    let first = text[start..at].char_indices().rev().take(MARGIN).last().map_or(at, |(offset, _)| start + offset);
    let last =
        text[at..end].char_indices().take(2 * MARGIN).last().map_or(end, |(offset, c)| at + offset + c.len_utf8());
    Excerpt { start: first, end: last, line }
}

/// Returns whether an excerpt consists of whole lines.
fn whole(source: &Source, excerpt: &Excerpt) -> bool {
    let bytes = source.text().as_bytes();
    (excerpt.start == 0 || bytes[excerpt.start - 1] == b'\n')
        && (excerpt.end == bytes.len() || bytes[excerpt.end] == b'\n')
}

/// Returns one excerpt that covers two, if both consist of whole lines and are near each other.
fn join(source: &Source, a: &Excerpt, b: &Excerpt) -> Option<Excerpt> {
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    let near = second.line - first.line <= NEAR && second.end.saturating_sub(first.start) <= NEAR * LONG_LINE;
    (near && whole(source, first) && whole(source, second)).then(|| Excerpt {
        start: first.start,
        end: first.end.max(second.end),
        line: first.line,
    })
}
