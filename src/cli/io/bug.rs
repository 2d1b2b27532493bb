//! Reports a panic as a bug of raceflip.

use super::output::LogStream;
use crate::formats::shell::quote;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// Installs a panic hook that tells the user what to do. The exit status is 101 then, as with every Rust program that
/// panics.
pub(in crate::cli) fn install() {
    std::panic::set_hook(Box::new(|info| {
        let arguments: Vec<String> = std::env::args_os().map(|a| quote(&a.to_string_lossy())).collect();
        let mut text = report(&what(info), &arguments.join(" "));
        // The backtrace is printed only if the user asks for it (`RUST_BACKTRACE`).
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.push_str(&format!("  backtrace:\n{backtrace}\n"));
        }
        // Not `eprintln!`: it would panic in the panic hook if stderr is closed.
        LogStream.write_stderr(&text);
    }));
}

fn what(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("no message");
    let place = info.location().map_or(String::new(), |l| format!(" ({}:{})", l.file(), l.line()));
    format!("{message}{place}")
}

fn report(what: &str, command: &str) -> String {
    format!(
        "\
raceflip has a bug: {what}

Your model is not the cause. Please report this bug, with the model and these lines (RUST_BACKTRACE=1 prints more):
  version: raceflip {} ({} {})
  command: {command}
",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_report_has_all_that_is_needed() {
        let text = super::report("index out of bounds (src/x.rs:7)", "raceflip run 'a b.race'");
        for part in
            ["bug: index out of bounds (src/x.rs:7)", env!("CARGO_PKG_VERSION"), "command: raceflip run 'a b.race'"]
        {
            assert!(text.contains(part), "{text}");
        }
    }
}
