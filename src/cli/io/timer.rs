//! Parses times of the command line, and stops a command when its time limit is over.

use super::exit::ExitStatus;
use super::output::LogStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Parses a time with a unit to milliseconds: `500ms`, `1.5s`, `30s`, `10m`, `1h`, `2d`. All options use it. A number
/// without a unit is refused, because its unit would be a guess.
fn milliseconds(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let each = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" if number.is_empty() => 1,
        "" => return Err(format!("`{text}` has no unit: write {text}ms, {text}s or {text}m")),
        _ => return Err(format!("`{unit}` is not a unit of time: write 30s, 10m, 1h, 2d or 500ms")),
    };
    if number.is_empty() {
        return Err("write a number and a unit, as in 30s or 10m".to_owned());
    }
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || part.is_empty() || part.contains('.') {
        return Err(format!("`{number}` is not a number: write 1.5s, 30s or 500ms"));
    }
    let range = || format!("`{text}` is out of range");
    let whole = whole.parse::<u64>().ok().and_then(|n| n.checked_mul(each)).ok_or_else(range)?;
    // Trailing zeros change nothing. Any other digit beyond a whole millisecond is refused below.
    let part = part.trim_end_matches('0');
    let scale = 10_u64.checked_pow(part.len() as u32);
    let part = if part.is_empty() { 0 } else { part.parse::<u64>().unwrap_or(u64::MAX) };
    match scale.zip(part.checked_mul(each)) {
        Some((scale, part)) if part % scale == 0 => whole.checked_add(part / scale).ok_or_else(range),
        _ => Err(format!("`{text}` is not a whole number of milliseconds")),
    }
}

/// Parses a time limit of the real clock, which must not be zero.
pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    match milliseconds(text)? {
        0 => Err(format!("`{text}` is out of range")),
        n => Ok(Duration::from_millis(n)),
    }
}

/// Parses a time of the virtual clock, in milliseconds.
pub(in crate::cli) fn virtual_time(text: &str) -> Result<u64, String> {
    milliseconds(text)
}

/// Timer that sets the stop flag when the time is over.
pub(in crate::cli) struct Timer {
    up: Arc<AtomicBool>,
}

impl Timer {
    pub(in crate::cli) fn start(time: Option<Duration>, stop: Arc<AtomicBool>) -> Self {
        let up = Arc::new(AtomicBool::new(false));
        if let Some(time) = time {
            let flag = up.clone();
            // The thread is not joined: it ends with the process.
            let timer = std::thread::Builder::new().spawn(move || {
                std::thread::sleep(time);
                // If the flag is set already, the user interrupted the command.
                if !stop.swap(true, Ordering::Relaxed) {
                    flag.store(true, Ordering::Relaxed);
                }
            });
            // Exiting is safe, since nothing has begun yet.
            if let Err(error) = timer {
                LogStream.write_stderr(&format!(
                    "error: the time limit of --time cannot be kept, because the system cannot create a thread: {error}"
                ));
                std::process::exit(i32::from(ExitStatus::Refused.number()));
            }
        }
        Self { up }
    }

    pub(in crate::cli) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Returns why a command that was stopped did not end by itself.
    pub(in crate::cli) fn why_stopped(&self) -> &'static str {
        if self.is_up() { "the time is up" } else { "interrupted" }
    }
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times_have_units_and_may_have_parts() {
        for (text, is) in
            [("500ms", 500), ("1.5s", 1_500), ("0.25m", 15_000), ("1.50h", 5_400_000), ("2d", 172_800_000)]
        {
            assert_eq!(milliseconds(text), Ok(is), "{text}");
        }
        let all_wrong = [
            ("5", "has no unit"),
            ("1.5", "has no unit"),
            ("1.5ms", "not a whole number of milliseconds"),
            ("0.0001s", "not a whole number of milliseconds"),
            ("1.00000000000000000000001s", "not a whole number of milliseconds"),
            (".5s", "`.5` is not a number"),
            ("1.s", "`1.` is not a number"),
            ("1.2.3s", "`1.2.3` is not a number"),
            ("1,5s", "not a unit of time"),
            ("s", "write a number and a unit"),
            ("99999999999999999999s", "out of range"),
            ("18446744073709551615d", "out of range"),
        ];
        for (text, says) in all_wrong {
            assert!(milliseconds(text).is_err_and(|e| e.contains(says)), "{text}: {:?}", milliseconds(text));
        }
    }
}
