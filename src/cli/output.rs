//! Printing: everything that reaches stdout or stderr goes through here, and nothing that a model, a path, an option or a file says commands a terminal or a CI system.
//!
//! What is printed is taken for somebody else's text, unless this module has made it: a line is one line, and [`clean`] whatever it was put together of. The only
//! exceptions are the styles of [`paint`], documents in other formats ([`Output::document`], [`Output::json`]), whose lines are kept, and files ([`Output::file`]).
//! So no command can forget to escape something. A stream that cannot be written never ends the program.

use super::Refusal;
use super::exit::Status;
use super::wrap::wrapped;
use crate::base::{clean, clean_json, command_at, hidden, push_clean};
use anstream::{AutoStream, ColorChoice};
use anstyle::AnsiColor;
use clap::ValueEnum;
use clap::builder::StyledStr;
use clap::error::ContextValue;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::LazyLock;

/// `--color`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Colour {
    fn choice(self, stream: &impl anstream::stream::RawStream) -> ColorChoice {
        match self {
            Colour::Auto => AutoStream::choice(stream),
            Colour::Always => ColorChoice::Always,
            Colour::Never => ColorChoice::Never,
        }
    }
}

/// How a text looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Style(u8);

pub(super) const BOLD: Style = Style(0);
pub(super) const DIM: Style = Style(1);
pub(super) const BAD: Style = Style(2);
pub(super) const ODD: Style = Style(3);
pub(super) const GOOD: Style = Style(4);
pub(super) const NOTE: Style = Style(5);

// By the number of a style.
const LOOKS: [anstyle::Style; 6] = [
    anstyle::Style::new().bold(),
    anstyle::Style::new().dimmed(),
    AnsiColor::Red.on_default().bold(),
    AnsiColor::Yellow.on_default().bold(),
    AnsiColor::Green.on_default().bold(),
    AnsiColor::Cyan.on_default().bold(),
];

// What begins a mark for a style: two characters for private use, drawn when the program starts, so that no text that somebody wrote can hold a mark. They never leave
// the program.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let drawn = RandomState::new().hash_one("style");
    let private = |bits: u64| char::from_u32(0x10_0000 + (bits % 0xfffe) as u32).unwrap_or('\u{100000}');
    [private(drawn), private(drawn >> 32)].iter().collect()
});
const END: char = '.';

/// A text in a style, which [`Output`] knows from colours that a text brings along.
pub(super) fn paint(style: Style, text: impl fmt::Display) -> String {
    let mark = &*MARK;
    format!("{mark}{}{text}{mark}{END}", style.0)
}

/// A line as it goes out.
fn line(text: &str, to: &mut String) {
    let start = to.len();
    // Where the text begins that a reader sees.
    let mut begins = None;
    for (i, piece) in text.split(MARK.as_str()).enumerate() {
        let mut piece = piece;
        if i > 0 {
            let mut rest = piece.chars();
            let kind = rest.next();
            match kind.and_then(|c| c.to_digit(10)).and_then(|n| LOOKS.get(n as usize)) {
                Some(look) => to.push_str(&look.render().to_string()),
                None if kind == Some(END) => to.push_str(&anstyle::Reset.render().to_string()),
                None => continue,
            }
            piece = rest.as_str();
        }
        if begins.is_none() && !piece.trim().is_empty() {
            begins = Some(to.len());
        }
        push_clean(piece, to);
    }
    let begins = begins.unwrap_or(start);
    if let Some(at) = command_at(&to[begins..]) {
        escape(to, begins + at);
    }
}

// Writes the character at a byte as an escape.
fn escape(text: &mut String, at: usize) {
    if let Some(c) = text[at..].chars().next() {
        text.replace_range(at..at + c.len_utf8(), &c.escape_unicode().to_string());
    }
}

/// Lines as they go out, each with its end.
fn lines(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for text in text.lines() {
        line(text, &mut all);
        all.push('\n');
    }
    all
}

/// Lines in which a renderer of ours has set colours: only these are kept of what is hidden.
fn rendered(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        marked.push_str(&lines_kept(&rest[..at]));
        let code = &rest[at + 2..];
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(code.len());
        if code[end..].starts_with('m') {
            marked.push_str(&rest[at..at + 2 + end + 1]);
            rest = &code[end + 1..];
        } else {
            marked.push_str(&clean("\u{1b}["));
            rest = code;
        }
    }
    marked.push_str(&lines_kept(rest));
    // A line may begin with a colour.
    let mut all = String::with_capacity(marked.len());
    for text in marked.lines() {
        let seen = anstream::adapter::strip_str(text).to_string();
        let start = all.len();
        all.push_str(text);
        if command_at(&seen).is_some() {
            escape(&mut all, start + first_seen(text));
        }
        all.push('\n');
    }
    all
}

// Where the first character stands that is neither a blank nor of a colour.
fn first_seen(line: &str) -> usize {
    let mut rest = line;
    loop {
        let text = rest.trim_start();
        match text.strip_prefix("\u{1b}[").and_then(|code| code.split_once('m')) {
            Some((_, after)) => rest = after,
            None => return line.len() - text.len(),
        }
    }
}

fn lines_kept(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Both streams.
pub(super) struct Output {
    out: BufWriter<AutoStream<io::Stdout>>,
    err: AutoStream<io::Stderr>,
    // The reader of stdout has gone: nothing more is written, and the work goes on, so that the exit status is right.
    closed: bool,
    // How wide the terminal is, if stdout is one.
    width: Option<usize>,
    trouble: Option<io::Error>,
}

impl Output {
    pub(super) fn new(colour: Colour) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let width = if out.is_terminal() { terminal_size::terminal_size() } else { None };
        let (for_out, for_err) = (colour.choice(&out), colour.choice(&err));
        Self {
            out: BufWriter::with_capacity(1 << 16, AutoStream::new(out, for_out)),
            err: AutoStream::new(err, for_err),
            closed: false,
            width: width.map(|(width, _)| usize::from(width.0)),
            trouble: None,
        }
    }

    /// Whether stdout is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// `writeln!` to stdout, which cannot fail: one line, whatever is in it.
    pub(super) fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        let mut shown = String::with_capacity(text.len() + 16);
        line(text.strip_suffix('\n').unwrap_or(&text), &mut shown);
        shown.push('\n');
        self.put(&shown);
    }

    /// A document in another format, whose renderer has escaped what its format asks for. Its lines are kept.
    pub(super) fn document(&mut self, text: &str) {
        self.put(&lines(text));
    }

    /// Commands to GitHub that are ours; what else stands at the beginning of a line is none.
    pub(super) fn commands(&mut self, text: &str) {
        let ours = |text: &str| ["::error ", "::warning ", "::notice "].iter().any(|c| text.starts_with(c));
        for text in text.lines() {
            let shown = if ours(text) { clean(text) + "\n" } else { lines(text) };
            self.put(&shown);
        }
    }

    /// A JSON text, with the end of its line.
    pub(super) fn json(&mut self, text: &str) {
        self.put(&clean_json(text));
        self.put("\n");
    }

    /// What is meant for a file and not for people: a model that was laid out, a trace, a script for a shell. Its bytes are kept.
    pub(super) fn file(&mut self, text: &str) {
        self.put(text);
    }

    fn put(&mut self, text: &str) {
        if !self.closed {
            let written = self.out.write_all(text.as_bytes());
            self.keep(written);
        }
    }

    /// A line of prose to stdout: on a terminal it breaks between words.
    pub(super) fn prose(&mut self, text: impl fmt::Display) {
        let mut shown = String::new();
        line(&text.to_string(), &mut shown);
        let mut shown = self.width.map_or_else(|| shown.clone(), |width| wrapped(&shown, width));
        shown.push('\n');
        self.put(&shown);
    }

    fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.trouble.get_or_insert(error);
            }
        }
    }

    /// Writes what is waiting to be written.
    pub(super) fn flush(&mut self) {
        if !self.closed {
            let flushed = self.out.flush();
            self.keep(flushed);
        }
    }

    /// Whether errors are painted.
    pub(super) fn paints_errors(&self) -> bool {
        self.err.current_choice() != ColorChoice::Never
    }

    // What stdout has so far goes first, so that the two stay in order on a terminal. Nobody can be told of an error on stderr.
    fn tell(&mut self, shown: &str) {
        self.flush();
        let _ = self.err.write_all(shown.as_bytes());
    }

    fn say(&mut self, style: Style, word: &str, text: &dyn fmt::Display) {
        let mut shown = String::new();
        line(&format!("{}: {text}", paint(style, word)), &mut shown);
        shown.push('\n');
        self.tell(&shown);
    }

    /// `error: ...` on stderr.
    pub(super) fn error(&mut self, text: impl fmt::Display) {
        self.say(BAD, "error", &text);
    }

    /// `warning: ...` on stderr.
    pub(super) fn warning(&mut self, text: impl fmt::Display) {
        self.say(ODD, "warning", &text);
    }

    /// `note: ...` on stderr.
    pub(super) fn note(&mut self, text: impl fmt::Display) {
        self.say(NOTE, "note", &text);
    }

    /// A line on stderr below an error.
    pub(super) fn more(&mut self, text: impl fmt::Display) {
        let mut shown = String::new();
        line(&text.to_string(), &mut shown);
        shown.push('\n');
        self.tell(&shown);
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        match refusal {
            Refusal::Message(text) => self.error(text),
            Refusal::Rendered(text) => self.tell(&rendered(text)),
        }
    }

    /// Writes what is left; a result that could not be written is no result.
    pub(super) fn finish(mut self, status: Status) -> Status {
        self.flush();
        match self.trouble.take() {
            None => status,
            Some(error) => {
                self.error(format_args!("cannot write to stdout: {error}"));
                Status::Refused
            }
        }
    }
}

/// Help, the version, or an error of usage.
pub(super) fn usage(mut error: clap::Error, colour: Colour) -> Status {
    // What was typed.
    let typed: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in typed {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(clean(&text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(|t| clean(t)).collect()),
            // Advice that repeats what was typed.
            ContextValue::StyledStrs(texts) => {
                let plain = |t: &StyledStr| t.to_string();
                let seen = |t: StyledStr| if plain(&t).chars().any(hidden) { clean(&plain(&t)).into() } else { t };
                ContextValue::StyledStrs(texts.into_iter().map(seen).collect())
            }
            other => other,
        };
        error.insert(kind, value);
    }
    let refused = error.use_stderr();
    let mut text = error.render().ansi().to_string();
    // Why a value was refused, which may repeat it.
    if let Some(why) = std::error::Error::source(&error).map(ToString::to_string) {
        text = text.replace(&why, &clean(&why));
    }
    let text = rendered(&text);
    let written = if refused {
        let err = io::stderr();
        let choice = colour.choice(&err);
        AutoStream::new(err, choice).write_all(text.as_bytes())
    } else {
        let out = io::stdout();
        let choice = colour.choice(&out);
        let mut out = AutoStream::new(out, choice);
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    match written {
        _ if refused => Status::Refused,
        // Nobody can be told that the reader has gone.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Log.tell(&format!("error: cannot write to stdout: {error}"));
            Status::Refused
        }
        _ => Status::Nothing,
    }
}

/// Stderr for what is told besides the results, by whoever has no [`Output`]: the log, the report of a bug. It may be closed.
#[derive(Clone, Copy)]
pub(super) struct Log;

impl Log {
    /// Lines.
    pub(super) fn tell(self, text: &str) {
        let _ = io::stderr().write_all(lines(text).as_bytes());
    }
}

impl Write for Log {
    // An entry of the log comes as a whole, with one end of a line.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.tell(&clean(text.strip_suffix('\n').unwrap_or(&text)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        let mut shown = String::new();
        line(text, &mut shown);
        shown
    }

    #[test]
    fn only_our_own_colours_are_colours() {
        let painted = one(&format!("{} {}", paint(BAD, "a\u{1b}[1mb"), "\u{1b}[31mc"));
        assert_eq!(painted, "\u{1b}[1m\u{1b}[31ma\\u{1b}[1mb\u{1b}[0m \\u{1b}[31mc");
    }

    #[test]
    fn no_line_is_a_command() {
        assert_eq!(one("::error::x"), "\\u{3a}:error::x");
        assert_eq!(
            one(&format!("{}{}", paint(BOLD, "  "), paint(BOLD, "::error::x"))),
            "\u{1b}[1m  \u{1b}[0m\u{1b}[1m\\u{3a}:error::x\u{1b}[0m"
        );
        assert_eq!(lines("a\nsection_end:x\n"), "a\n\\u{73}ection_end:x\n");
        assert_eq!(rendered("\u{1b}[1m::x\u{1b}[0m\u{1b}]0;x\n"), "\u{1b}[1m\\u{3a}:x\u{1b}[0m\\u{1b}]0;x\n");
    }
}
