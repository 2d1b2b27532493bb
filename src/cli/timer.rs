//! Time limits as they are typed, and the timer that keeps one.

use super::exit::Status;
use super::output::Log;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// `30s`, `10m`, `1h`
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(format!("`{unit}` is no unit of time: write 30s, 10m or 1h")),
    };
    let number: u64 = number.parse().map_err(|_| "write a whole number and a unit, as in 30s or 10m".to_owned())?;
    number
        .checked_mul(seconds)
        .filter(|n| *n > 0)
        .map(Duration::from_secs)
        .ok_or_else(|| format!("`{text}` is out of range"))
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
