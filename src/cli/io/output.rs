//! Prints: everything that reaches stdout or stderr goes through this module. No text from a model, a path, an option
//! or a file can command a terminal or a CI system.
//!
//! All text counts as foreign, unless this module has made it: a line stays one line, and [`clean`] escapes whatever it
//! was put together of. There are three exceptions: the styles of [`paint`]; documents in other formats
//! ([`Output::document`], [`Output::json`]), whose lines are kept; and files ([`Output::file`]). So no command can
//! forget to escape something. A stream that cannot be written never ends the program.

use super::exit::ExitStatus;
use super::wrap::wrapped;
use crate::base::{clean, clean_json, command_at, hidden, push_clean};
use crate::cli::Refusal;
use anstream::{AutoStream, ColorChoice};
use anstyle::AnsiColor;
use clap::ValueEnum;
use clap::builder::StyledStr;
use clap::error::ContextValue;
use indicatif::HumanCount;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::LazyLock;

/// When to print colors: the value of `--color`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::cli) enum Colour {
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

/// Style of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) struct Style(u8);

pub(in crate::cli) const BOLD: Style = Style(0);
pub(in crate::cli) const DIM: Style = Style(1);
pub(in crate::cli) const BAD: Style = Style(2);
pub(in crate::cli) const ODD: Style = Style(3);
pub(in crate::cli) const GOOD: Style = Style(4);
pub(in crate::cli) const NOTE: Style = Style(5);

// Terminal style of each `Style`, by its number.
const LOOKS: [anstyle::Style; 6] = [
    anstyle::Style::new().bold(),
    anstyle::Style::new().dimmed(),
    AnsiColor::Red.on_default().bold(),
    AnsiColor::Yellow.on_default().bold(),
    AnsiColor::Green.on_default().bold(),
    AnsiColor::Cyan.on_default().bold(),
];

// Start of a mark for a style: two private-use characters that are drawn when the program starts, so that no foreign
// text can contain a mark. They never leave the program.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let drawn = RandomState::new().hash_one("style");
    let private = |bits: u64| char::from_u32(0x10_0000 + (bits % 0xfffe) as u32).unwrap_or('\u{100000}');
    [private(drawn), private(drawn >> 32)].iter().collect()
});
const END: char = '.';

/// Returns a text in a style. [`Output`] distinguishes the style from colors that the text brings along.
pub(in crate::cli) fn paint(style: Style, text: impl fmt::Display) -> String {
    let mark = &*MARK;
    format!("{mark}{}{text}{mark}{END}", style.0)
}

/// Formats a number with its noun, as in `1,234 states`.
pub(in crate::cli) fn many(n: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(n), if n == 1 { "" } else { "s" })
}

/// Appends a line in the form in which it is printed: styles are rendered, and everything else is escaped.
fn line(text: &str, to: &mut String) {
    let start = to.len();
    // Start of the visible text: a CI system looks for commands there.
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

// Replaces the character at this byte by its escape sequence.
fn escape(text: &mut String, at: usize) {
    if let Some(c) = text[at..].chars().next() {
        text.replace_range(at..at + c.len_utf8(), &c.escape_unicode().to_string());
    }
}

/// Returns lines in the form in which they are printed, each with its line end.
fn lines(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for text in text.lines() {
        line(text, &mut all);
        all.push('\n');
    }
    all
}

/// Returns lines that a renderer of this program has colored. Of hidden characters only its color codes are kept.
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
    // A line may begin with a color code, so that its visible start is looked up.
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

// Returns the offset of the first character that is neither blank nor part of a color code.
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

/// Stdout and stderr of the program.
pub(in crate::cli) struct Output {
    out: BufWriter<AutoStream<io::Stdout>>,
    err: AutoStream<io::Stderr>,
    // Whether stdout is closed. Then nothing more is written, but the work continues, so that the exit status is right.
    closed: bool,
    // Width of the terminal in columns, if stdout is one.
    width: Option<usize>,
    trouble: Option<io::Error>,
}

impl Output {
    pub(in crate::cli) fn new(colour: Colour) -> Self {
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

    /// Returns whether stdout is a terminal.
    pub(in crate::cli) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Prints one line to stdout, whatever the text contains. `writeln!` calls it; it cannot fail.
    pub(in crate::cli) fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        let mut shown = String::with_capacity(text.len() + 16);
        line(text.strip_suffix('\n').unwrap_or(&text), &mut shown);
        shown.push('\n');
        self.put(&shown);
    }

    /// Prints a document in another format. Its renderer has escaped what the format requires, and its lines are kept.
    pub(in crate::cli) fn document(&mut self, text: &str) {
        self.put(&lines(text));
    }

    /// Prints workflow commands of GitHub that this program has made. No other start of a line can be a command.
    pub(in crate::cli) fn commands(&mut self, text: &str) {
        let ours = |text: &str| ["::error ", "::warning ", "::notice "].iter().any(|c| text.starts_with(c));
        for text in text.lines() {
            let shown = if ours(text) { clean(text) + "\n" } else { lines(text) };
            self.put(&shown);
        }
    }

    /// Prints a JSON text and a line end.
    pub(in crate::cli) fn json(&mut self, text: &str) {
        self.put(&clean_json(text));
        self.put("\n");
    }

    /// Prints a text that is meant for a file: a formatted model, a trace, a shell script. Its bytes are kept.
    pub(in crate::cli) fn file(&mut self, text: &str) {
        self.put(text);
    }

    fn put(&mut self, text: &str) {
        if !self.closed {
            let written = self.out.write_all(text.as_bytes());
            self.keep(written);
        }
    }

    /// Prints a line of prose to stdout. On a terminal it breaks between words.
    pub(in crate::cli) fn prose(&mut self, text: impl fmt::Display) {
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

    /// Writes all buffered text to stdout.
    pub(in crate::cli) fn flush(&mut self) {
        if !self.closed {
            let flushed = self.out.flush();
            self.keep(flushed);
        }
    }

    /// Returns whether errors are colored.
    pub(in crate::cli) fn paints_errors(&self) -> bool {
        self.err.current_choice() != ColorChoice::Never
    }

    // Prints to stderr. Stdout is flushed first, so that both stay in order on a terminal. An error of stderr cannot be
    // reported.
    fn write_stderr(&mut self, shown: &str) {
        self.flush();
        let _ = self.err.write_all(shown.as_bytes());
    }

    fn say(&mut self, style: Style, word: &str, text: &dyn fmt::Display) {
        let mut shown = String::new();
        line(&format!("{}: {text}", paint(style, word)), &mut shown);
        shown.push('\n');
        self.write_stderr(&shown);
    }

    /// Prints `error: ...` to stderr.
    pub(in crate::cli) fn error(&mut self, text: impl fmt::Display) {
        self.say(BAD, "error", &text);
    }

    /// Prints `warning: ...` to stderr.
    pub(in crate::cli) fn warning(&mut self, text: impl fmt::Display) {
        self.say(ODD, "warning", &text);
    }

    /// Prints `note: ...` to stderr.
    pub(in crate::cli) fn note(&mut self, text: impl fmt::Display) {
        self.say(NOTE, "note", &text);
    }

    /// Prints a line below an error to stderr.
    pub(in crate::cli) fn more(&mut self, text: impl fmt::Display) {
        let mut shown = String::new();
        line(&text.to_string(), &mut shown);
        shown.push('\n');
        self.write_stderr(&shown);
    }

    pub(in crate::cli) fn refuse(&mut self, refusal: &Refusal) {
        match refusal {
            Refusal::Message(text) => self.error(text),
            Refusal::Rendered(text) => self.write_stderr(&rendered(text)),
        }
    }

    /// Flushes stdout and returns the exit status. If the result could not be written, that is an error.
    pub(in crate::cli) fn finish(mut self, status: ExitStatus) -> ExitStatus {
        self.flush();
        match self.trouble.take() {
            None => status,
            Some(error) => {
                self.error(format_args!("cannot write to stdout: {error}"));
                ExitStatus::Refused
            }
        }
    }
}

/// Prints the help, the version, or a usage error of clap.
pub(in crate::cli) fn usage(mut error: clap::Error, colour: Colour) -> ExitStatus {
    // Clap repeats what the user typed, so the typed values are escaped.
    let typed: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in typed {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(clean(&text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(|t| clean(t)).collect()),
            // Advice of clap that repeats what was typed.
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
    // The reason why a value was refused may repeat the value.
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
        _ if refused => ExitStatus::Refused,
        // The reader is gone, so this cannot be reported.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            LogStream.write_stderr(&format!("error: cannot write to stdout: {error}"));
            ExitStatus::Refused
        }
        _ => ExitStatus::Nothing,
    }
}

/// Stderr for code without an [`Output`]: the log, and the report of a panic. It may be closed.
#[derive(Clone, Copy)]
pub(in crate::cli) struct LogStream;

impl LogStream {
    /// Prints lines to stderr.
    pub(in crate::cli) fn write_stderr(self, text: &str) {
        let _ = io::stderr().write_all(lines(text).as_bytes());
    }
}

impl Write for LogStream {
    // An entry of the log comes in one piece, with one line end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.write_stderr(&clean(text.strip_suffix('\n').unwrap_or(&text)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stdout for messages of a protocol, each with its length before it. Their texts are JSON, which escapes control
/// characters.
pub(in crate::cli) struct ProtocolStream(io::Stdout);

impl ProtocolStream {
    pub(in crate::cli) fn new() -> Self {
        Self(io::stdout())
    }

    /// Writes a message.
    pub(in crate::cli) fn message(&mut self, json: &str) -> io::Result<()> {
        let text = clean_json(json);
        write!(self.0, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.0.flush()
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
