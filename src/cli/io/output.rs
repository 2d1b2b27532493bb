//! Prints: everything that reaches stdout or stderr goes through this module. No text from a model, a path, an option
//! or a file can command a terminal or a CI system.
//!
//! All text counts as foreign, unless this module has made it: a line stays one line, and [`clean`] escapes whatever it
//! was put together of. There are three exceptions: the styles of [`paint`]; documents in other formats
//! ([`Output::document`], [`Output::json`]), whose lines are kept; and files ([`Output::file`]). So no command can
//! forget to escape something. A stream that cannot be written never ends the program.

use super::exit::ExitStatus;
pub(in crate::cli) use super::lines::{BAD, BOLD, DIM, GOOD, NOTE, ODD, paint};
use super::lines::{Style, cut, line, lines, rendered};
use super::wrap::wrapped;
use crate::base::{clean, clean_json, hidden};
use crate::cli::Refusal;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use clap::builder::StyledStr;
use clap::error::ContextValue;
use indicatif::HumanCount;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};

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

/// Formats a number with its noun, as in `1,234 states`.
pub(in crate::cli) fn many(n: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(n), if n == 1 { "" } else { "s" })
}

// The cursor to the top left, and the removal of what follows it on the line and on the screen.
const HOME: &str = "\u{1b}[H";
const REST_OF_LINE: &str = "\u{1b}[0m\u{1b}[K";
const REST_OF_SCREEN: &str = "\u{1b}[J";

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

    /// Draws a whole screen of a terminal in place: lines, and a status below them. Lines are cut at the right, and
    /// of too many lines the last ones are shown. Everything goes out at once, and nothing is cleared before, so that
    /// the screen does not flicker.
    pub(in crate::cli) fn screen(&mut self, all: &[String], status: &str) {
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0).max(1), usize::from(height.0).max(2)));
        let rows = height - 1;
        let mut shown: Vec<String> = Vec::new();
        if all.len() > rows {
            shown.push(format!("({} lines above)", all.len() - rows + 1));
        }
        shown.extend(all[all.len().saturating_sub(rows - shown.len())..].iter().cloned());
        shown.push(status.to_owned());
        let mut text = String::from(HOME);
        for (at, one) in shown.iter().enumerate() {
            let mut row = String::new();
            line(one, &mut row);
            text.push_str(if at == 0 { "" } else { "\r\n" });
            text.push_str(&cut(&row, width));
            text.push_str(REST_OF_LINE);
        }
        text.push_str(REST_OF_SCREEN);
        self.put(&text);
        self.flush();
    }

    /// Returns whether stdout was closed, so that nothing is read any more.
    pub(in crate::cli) fn is_closed(&self) -> bool {
        self.closed
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

/// Stdout for messages of a protocol, each with its length before it. A program reads them, and their texts are JSON,
/// which escapes control characters.
pub(in crate::cli) struct ProtocolStream(io::Stdout);

impl ProtocolStream {
    pub(in crate::cli) fn new() -> Self {
        Self(io::stdout())
    }

    /// Writes a message.
    pub(in crate::cli) fn message(&mut self, json: &str) -> io::Result<()> {
        let mut out = self.0.lock();
        write!(out, "Content-Length: {}\r\n\r\n", json.len())?;
        out.write_all(json.as_bytes())?;
        out.flush()
    }
}
