//! Printing: colours, buffering, a reader that has gone away.

use super::Refusal;
use super::exit::Status;
pub(super) use crate::formats::clean;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use std::fmt;
use std::io::{self, BufWriter, Write};

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

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const ODD: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(super) const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// A text in a style; the stream drops the style where there are no colours.
pub(super) fn paint(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Both streams.
pub(super) struct Output {
    out: BufWriter<AutoStream<io::Stdout>>,
    err: AutoStream<io::Stderr>,
    // The reader of stdout has gone: nothing more is written, and the work goes on, so that the exit status is right.
    closed: bool,
    trouble: Option<io::Error>,
}

impl Output {
    pub(super) fn new(colour: Colour) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let (for_out, for_err) = (colour.choice(&out), colour.choice(&err));
        Self {
            out: BufWriter::with_capacity(1 << 16, AutoStream::new(out, for_out)),
            err: AutoStream::new(err, for_err),
            closed: false,
            trouble: None,
        }
    }

    /// `write!` and `writeln!` to stdout; they cannot fail.
    pub(super) fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        if !self.closed {
            let written = self.out.write_fmt(text);
            self.keep(written);
        }
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
    fn tell(&mut self, text: &str) {
        self.flush();
        let _ = self.err.write_all(text.as_bytes());
    }

    /// `error: ...` on stderr.
    pub(super) fn error(&mut self, text: impl fmt::Display) {
        self.tell(&format!("{}: {}\n", paint(BAD, "error"), clean(&text.to_string())));
    }

    /// `warning: ...` on stderr.
    pub(super) fn warning(&mut self, text: impl fmt::Display) {
        self.tell(&format!("{}: {}\n", paint(ODD, "warning"), clean(&text.to_string())));
    }

    /// `note: ...` on stderr.
    pub(super) fn note(&mut self, text: impl fmt::Display) {
        self.tell(&format!("{}: {}\n", paint(NOTE, "note"), clean(&text.to_string())));
    }

    /// A line on stderr below an error.
    pub(super) fn more(&mut self, text: impl fmt::Display) {
        self.tell(&format!("{}\n", clean(&text.to_string())));
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        match refusal {
            Refusal::Message(text) => self.error(text),
            Refusal::Rendered(text) => self.tell(text),
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
pub(super) fn usage(error: &clap::Error, colour: Colour) -> Status {
    let text = error.render();
    let (out, err) = (io::stdout(), io::stderr());
    // Nobody can be told that the reader has gone.
    let _ = if error.use_stderr() {
        let choice = colour.choice(&err);
        AutoStream::new(err, choice).write_all(text.ansi().to_string().as_bytes())
    } else {
        let choice = colour.choice(&out);
        AutoStream::new(out, choice).write_all(text.ansi().to_string().as_bytes())
    };
    if error.use_stderr() { Status::Refused } else { Status::Nothing }
}
