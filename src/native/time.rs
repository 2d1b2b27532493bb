//! Time on the virtual clock: it passes only when the scheduler lets it pass.

use super::run::perform;
use super::sync::value;
use crate::event::{Op, SiteKind};
use std::ops::{Add, Sub};
use std::panic::Location;
pub use std::time::Duration;

/// An instant of the virtual clock, in whole milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(Duration);

impl Instant {
    /// Reads the clock.
    #[track_caller]
    #[must_use]
    pub fn now() -> Self {
        Self::now_at(Location::caller())
    }

    /// Reads the clock for code at this place.
    pub(super) fn now_at(at: &'static Location<'static>) -> Self {
        let now = value(perform(Op::Now, SiteKind::Now, "clock", at));
        Self(Duration::from_millis(u64::try_from(now).unwrap_or(0)))
    }

    /// Returns the time since then.
    #[track_caller]
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// Returns the time from an earlier instant to this one; none if it is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns a later instant.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}
