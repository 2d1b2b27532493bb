//! Time limits as they are typed, and the timer that keeps one.

use super::exit::Status;
use super::output::Log;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A time as it is typed, everywhere: `500ms`, `30s`, `10m`, `1h`, `2d`. A number without a unit is refused, since readers would take it for one or the other.
fn milliseconds(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let each = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" if number.is_empty() => 1,
        "" => return Err(format!("`{text}` has no unit: write {text}ms, {text}s or {text}m")),
        _ => return Err(format!("`{unit}` is no unit of time: write 30s, 10m, 1h, 2d or 500ms")),
    };
    if number.is_empty() {
        return Err("write a whole number and a unit, as in 30s or 10m".to_owned());
    }
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is out of range"))?;
    number.checked_mul(each).ok_or_else(|| format!("`{text}` is out of range"))
}

/// A time limit of the real clock.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match milliseconds(text)? {
        0 => Err(format!("`{text}` is out of range")),
        n => Ok(Duration::from_millis(n)),
    }
}

/// A time of the virtual clock, in milliseconds.
pub(super) fn virtual_time(text: &str) -> Result<u64, String> {
    milliseconds(text)
}

/// Stops what is at work when its time is up.
pub(super) struct Timer {
    up: Arc<AtomicBool>,
}

impl Timer {
    pub(super) fn start(time: Option<Duration>, stop: Arc<AtomicBool>) -> Self {
        let up = Arc::new(AtomicBool::new(false));
        if let Some(time) = time {
            let flag = up.clone();
            // Nobody waits for it: it ends with the process.
            let timer = std::thread::Builder::new().spawn(move || {
                std::thread::sleep(time);
                // What has stopped already was interrupted.
                if !stop.swap(true, Ordering::Relaxed) {
                    flag.store(true, Ordering::Relaxed);
                }
            });
            // Nothing has begun yet.
            if let Err(error) = timer {
                Log.tell(&format!("error: --time cannot be kept, since the system gives no thread for it: {error}"));
                std::process::exit(i32::from(Status::Refused.number()));
            }
        }
        Self { up }
    }

    pub(super) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }
}
