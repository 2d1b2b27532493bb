//! Atomics, as those of [`std::sync::atomic`]. Each operation is a scheduling point, and sequentially consistent.

use crate::event::{Location as Place, Op, SiteKind};
use crate::native::handle::Handle;
use crate::native::run::{is_live, perform, with};
use std::fmt;
use std::panic::Location;
pub use std::sync::atomic::{Ordering, compiler_fence};

const PLACE: &str = "atomic";
const SEQ: Ordering = Ordering::SeqCst;

/// A fence. It changes nothing, since all atomics are sequentially consistent, but it is a scheduling point.
#[track_caller]
pub fn fence(_: Ordering) {
    perform(Op::Skip, SiteKind::Skip, "fence", Location::caller());
}

// What all atomics have in common: the cell of the world, and its operations.
#[derive(Debug)]
struct Cell {
    handle: Handle,
}

impl Cell {
    const fn new(at: &'static Location<'static>) -> Self {
        Self { handle: Handle::new(at) }
    }

    #[inline]
    fn at(&self, kind: &'static str, first: i64) -> Place {
        let cell = self.handle.id(|| kind.to_owned(), |run, name| run.world().make_cell(name, first));
        Place { cell, object: None }
    }

    #[inline]
    fn read(&self, kind: &'static str, now: i64, at: &'static Location<'static>) {
        perform(Op::AtomicRead(self.at(kind, now)), SiteKind::AtomicRead, PLACE, at);
    }

    // The new value of an update is known when the thread has been chosen: it belongs to the same step.
    #[inline]
    fn update(&self, kind: &'static str, now: i64, at: &'static Location<'static>) {
        perform(Op::FetchAdd(self.at(kind, now), 0), SiteKind::AtomicUpdate, PLACE, at);
    }

    #[inline]
    fn write(&self, kind: &'static str, now: i64, new: i64, at: &'static Location<'static>) {
        perform(Op::AtomicWrite(self.at(kind, now), new), SiteKind::AtomicWrite, PLACE, at);
    }

    // Tells the world the new value after an update.
    #[inline]
    fn updated(&self, kind: &'static str, new: i64) {
        if is_live() {
            let cell = self.at(kind, new).cell;
            with(|run| run.world().ride(cell, new));
        }
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty, $std:ident, |$v:ident| $word:expr) => {
        #[doc = concat!("An atomic, as [`std::sync::atomic::", stringify!($name), "`].")]
        pub struct $name {
            cell: Cell,
            value: std::sync::atomic::$std,
        }

        impl $name {
            /// Creates an atomic with this value.
            #[track_caller]
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Self { cell: Cell::new(Location::caller()), value: std::sync::atomic::$std::new(value) }
            }

            #[inline]
            fn word($v: $value) -> i64 {
                $word
            }

            #[inline]
            fn now(&self) -> i64 {
                Self::word(self.value.load(SEQ))
            }

            // Performs an update. `f` returns the result and the new value, or none to leave it.
            #[inline]
            fn change<R>(&self, at: &'static Location<'static>, f: impl FnOnce($value) -> (R, Option<$value>)) -> R {
                self.cell.update(stringify!($name), self.now(), at);
                let (result, new) = f(self.value.load(SEQ));
                if let Some(new) = new {
                    self.value.store(new, SEQ);
                    self.cell.updated(stringify!($name), Self::word(new));
                }
                result
            }

            /// Reads the value.
            #[track_caller]
            #[inline]
            pub fn load(&self, _: Ordering) -> $value {
                self.cell.read(stringify!($name), self.now(), Location::caller());
                self.value.load(SEQ)
            }

            /// Writes a value.
            #[track_caller]
            #[inline]
            pub fn store(&self, value: $value, _: Ordering) {
                self.cell.write(stringify!($name), self.now(), Self::word(value), Location::caller());
                self.value.store(value, SEQ);
            }

            /// Writes a value, and returns the old one.
            #[track_caller]
            #[inline]
            pub fn swap(&self, value: $value, _: Ordering) -> $value {
                self.change(Location::caller(), |old| (old, Some(value)))
            }

            /// Writes `new` if the value is `current`.
            ///
            /// # Errors
            ///
            /// The value is another one; the error has it.
            #[track_caller]
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                self.change(
                    Location::caller(),
                    |old| {
                        if old == current { (Ok(old), Some(new)) } else { (Err(old), None) }
                    },
                )
            }

            /// Writes `new` if the value is `current`. It never fails spuriously.
            ///
            /// # Errors
            ///
            /// The value is another one; the error has it.
            #[track_caller]
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Reads the value, and writes what `f` makes of it unless another thread has written meanwhile: then it
            /// tries again.
            ///
            /// # Errors
            ///
            /// `f` returned `None`; the error has the value.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(fetch);
                while let Some(new) = f(old) {
                    match self.compare_exchange(old, new, set, fetch) {
                        Ok(old) => return Ok(old),
                        Err(other) => old = other,
                    }
                }
                Err(old)
            }

            /// Returns the value: no other code can refer to it.
            pub fn get_mut(&mut self) -> &mut $value {
                self.value.get_mut()
            }

            /// Returns the value.
            #[must_use]
            pub fn into_inner(self) -> $value {
                self.value.into_inner()
            }
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(<$value>::default())
            }
        }

        impl From<$value> for $name {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl fmt::Debug for $name {
            // Looking at the value is no operation.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.value.fmt(f)
            }
        }
    };
}

macro_rules! fetches {
    ($name:ident, $value:ty, $($fetch:ident: $doc:literal, |$old:ident, $by:ident| $new:expr;)+) => {
        impl $name {
            $(
                #[doc = concat!($doc, " Returns the old value.")]
                #[track_caller]
                #[inline]
                pub fn $fetch(&self, $by: $value, _: Ordering) -> $value {
                    self.change(Location::caller(), |$old| ($old, Some($new)))
                }
            )+
        }
    };
}

macro_rules! integer {
    ($($name:ident: $value:ty),+ $(,)?) => {$(
        atomic!($name, $value, $name, |value| value as i64);
        fetches! {
            $name, $value,
            fetch_add: "Adds, and wraps around.", |old, by| old.wrapping_add(by);
            fetch_sub: "Subtracts, and wraps around.", |old, by| old.wrapping_sub(by);
            fetch_and: "Bitwise and.", |old, by| old & by;
            fetch_nand: "Bitwise and, negated.", |old, by| !(old & by);
            fetch_or: "Bitwise or.", |old, by| old | by;
            fetch_xor: "Bitwise exclusive or.", |old, by| old ^ by;
            fetch_max: "Writes the greater one of both values.", |old, by| old.max(by);
            fetch_min: "Writes the smaller one of both values.", |old, by| old.min(by);
        }
    )+};
}

integer! {
    AtomicI8: i8, AtomicI16: i16, AtomicI32: i32, AtomicI64: i64, AtomicIsize: isize,
    AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize,
}

atomic!(AtomicBool, bool, AtomicBool, |value| i64::from(value));
fetches! {
    AtomicBool, bool,
    fetch_and: "Logical and.", |old, by| old & by;
    fetch_nand: "Logical and, negated.", |old, by| !(old & by);
    fetch_or: "Logical or.", |old, by| old | by;
    fetch_xor: "Logical exclusive or.", |old, by| old ^ by;
}

impl AtomicBool {
    /// Gives the atomic a value before the first operation of a run.
    pub(super) fn renew(&self, value: bool) {
        self.value.store(value, SEQ);
    }

    /// Negates the value. Returns the old one.
    #[track_caller]
    pub fn fetch_not(&self, _: Ordering) -> bool {
        self.change(Location::caller(), |old| (old, Some(!old)))
    }
}

/// An atomic pointer, as [`std::sync::atomic::AtomicPtr`]. The world knows whether it is null.
pub struct AtomicPtr<T> {
    cell: Cell,
    value: std::sync::atomic::AtomicPtr<T>,
}

impl<T> AtomicPtr<T> {
    /// Creates an atomic with this pointer.
    #[track_caller]
    #[must_use]
    pub const fn new(value: *mut T) -> Self {
        Self { cell: Cell::new(Location::caller()), value: std::sync::atomic::AtomicPtr::new(value) }
    }

    // An address differs from run to run, so it reaches no result.
    fn word(value: *mut T) -> i64 {
        i64::from(!value.is_null())
    }

    fn now(&self) -> i64 {
        Self::word(self.value.load(SEQ))
    }

    fn change<R>(&self, at: &'static Location<'static>, f: impl FnOnce(*mut T) -> (R, Option<*mut T>)) -> R {
        self.cell.update("AtomicPtr", self.now(), at);
        let (result, new) = f(self.value.load(SEQ));
        if let Some(new) = new {
            self.value.store(new, SEQ);
            self.cell.updated("AtomicPtr", Self::word(new));
        }
        result
    }

    /// Reads the pointer.
    #[track_caller]
    pub fn load(&self, _: Ordering) -> *mut T {
        self.cell.read("AtomicPtr", self.now(), Location::caller());
        self.value.load(SEQ)
    }

    /// Writes a pointer.
    #[track_caller]
    pub fn store(&self, value: *mut T, _: Ordering) {
        self.cell.write("AtomicPtr", self.now(), Self::word(value), Location::caller());
        self.value.store(value, SEQ);
    }

    /// Writes a pointer, and returns the old one.
    #[track_caller]
    pub fn swap(&self, value: *mut T, _: Ordering) -> *mut T {
        self.change(Location::caller(), |old| (old, Some(value)))
    }

    /// Writes `new` if the pointer is `current`.
    ///
    /// # Errors
    ///
    /// The pointer is another one; the error has it.
    #[track_caller]
    pub fn compare_exchange(&self, current: *mut T, new: *mut T, _: Ordering, _: Ordering) -> Result<*mut T, *mut T> {
        self.change(Location::caller(), |old| if old == current { (Ok(old), Some(new)) } else { (Err(old), None) })
    }

    /// Writes `new` if the pointer is `current`. It never fails spuriously.
    ///
    /// # Errors
    ///
    /// The pointer is another one; the error has it.
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.compare_exchange(current, new, success, failure)
    }

    /// Returns the pointer: no other code can refer to it.
    pub fn get_mut(&mut self) -> &mut *mut T {
        self.value.get_mut()
    }

    /// Returns the pointer.
    #[must_use]
    pub fn into_inner(self) -> *mut T {
        self.value.into_inner()
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
