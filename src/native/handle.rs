//! What a lock, an atomic or a shared value is called in the run at hand.
//!
//! An object is named by its first operation in each run, so that constructors can be `const`, and statics can be used
//! in every run.

use super::run::{Run, with};
use crate::world::MadeName;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

// Number of bits of the id; the number of the run has the others.
const ID_BITS: u32 = 24;
const MOST_IDS: u32 = (1 << ID_BITS) - 1;

// Objects of this process so far.
static OBJECTS: AtomicU64 = AtomicU64::new(0);

// Run number 0, which no run has.
const ELSEWHERE: u64 = 1;

/// Number of a run and the id of an object in it; 0 if no run has named it. All accesses are by one thread at a time,
/// or are by several checks at once, each of which then finds its own id in the table of its run.
#[derive(Debug)]
pub(super) struct Handle {
    named: AtomicU64,
    // Number of the object in this process; 0 before its first operation. It moves with the object, and reaches no
    // result.
    number: AtomicU64,
    at: &'static Location<'static>,
}

impl Handle {
    /// Creates the handle of an object that is made at this place.
    pub(super) const fn new(at: &'static Location<'static>) -> Self {
        Self { named: AtomicU64::new(0), number: AtomicU64::new(0), at }
    }

    /// Returns the place where the object was made.
    pub(super) const fn made_at(&self) -> &'static Location<'static> {
        self.at
    }

    /// Returns the id of the object in this run. `make` names it, with the words for its kind. Outside of a run it is
    /// 0, and no operation can follow.
    #[inline]
    pub(super) fn id(&self, kind: impl FnOnce() -> String, make: impl FnOnce(&mut Run, MadeName) -> u32) -> u32 {
        with(|run| {
            let named = self.named.load(Ordering::Relaxed);
            if named >> ID_BITS == run.number { named as u32 & MOST_IDS } else { self.name(run, named, kind, make) }
        })
        .unwrap_or(0)
    }

    #[cold]
    #[inline(never)]
    fn name(
        &self,
        run: &mut Run,
        named: u64,
        kind: impl FnOnce() -> String,
        make: impl FnOnce(&mut Run, MadeName) -> u32,
    ) -> u32 {
        if run.over {
            // No operation has an effect any more.
            return 0;
        }
        let number = self.number();
        if named != 0
            && let Some(id) = run.shared(number)
        {
            return id;
        }
        let name = run.name_of_next(&format!("{} at {}:{}", kind(), self.at.file(), self.at.line()));
        let id = make(run, name);
        run.share(number, id);
        // An object that does not fit is found by its number alone.
        let fits = id <= MOST_IDS;
        self.named.store(if fits { run.number << ID_BITS | u64::from(id) } else { ELSEWHERE }, Ordering::Relaxed);
        id
    }
}

impl Handle {
    fn number(&self) -> u64 {
        let known = self.number.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let new = OBJECTS.fetch_add(1, Ordering::Relaxed) + 1;
        self.number.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|other| other, |_| new)
    }
}

/// Returns the last part of the name of a type: `Screen` for `app::ui::Screen`. The arguments of a generic type are
/// shortened as well.
pub(super) fn short_name<T: ?Sized>() -> String {
    let whole = std::any::type_name::<T>();
    let mut short = String::new();
    let mut word = String::new();
    for c in whole.chars() {
        match c {
            ':' => word.clear(),
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            c => {
                short.push_str(&std::mem::take(&mut word));
                short.push(c);
            }
        }
    }
    short + &word
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn names_of_types_are_short() {
        assert_eq!(
            short_name::<Option<std::collections::BTreeMap<String, Vec<u8>>>>(),
            "Option<BTreeMap<String, Vec<u8>>>"
        );
        assert_eq!(short_name::<[u8]>(), "[u8]");
        assert_eq!(short_name::<&str>(), "&str");
    }
}
