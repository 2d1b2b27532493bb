//! Variables of which each thread has its own.

use super::run::with;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

// The macro is exported at the top of the package.
pub use super::super::native_thread_local as thread_local;

/// Declares variables of which each thread has its own, as `std::thread_local!`.
#[macro_export]
#[doc(hidden)]
macro_rules! native_thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::native_thread_local!($(#[$attr])* $vis static $name: $t = $init $(; $($rest)*)?);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])*
        $vis static $name: $crate::native::thread::LocalKey<$t> = $crate::native::thread::LocalKey::new(|| $init);
        $($crate::native_thread_local!($($rest)*);)?
    };
}

/// A variable of which each thread of a run has its own, as [`std::thread::LocalKey`].
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

/// The variable was dropped, because its thread has come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the variable of the thread was dropped already")
    }
}

impl std::error::Error for AccessError {}

/// The variable of one thread.
pub(super) struct Local {
    // Address of its key. It reaches no result.
    key: usize,
    // `None` once it was dropped.
    value: Option<Rc<dyn Any>>,
}

/// Drops the variables of the thread that runs, in the order of their first uses. Their destructors may use others.
pub(super) fn end() {
    let next = || {
        with(|run| {
            let thread = run.thread;
            run.fibers[thread].locals.iter_mut().find_map(|local| local.value.take())
        })
    };
    while let Some(Some(value)) = next() {
        drop(value);
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(init: fn() -> T) -> Self {
        Self { init }
    }

    // Returns the variable of the thread that runs. `None` if it has none yet, or had one.
    fn find(&'static self) -> Option<Result<Rc<T>, AccessError>> {
        let key = std::ptr::from_ref(self) as usize;
        with(|run| {
            let thread = run.thread;
            let local = run.fibers[thread].locals.iter().find(|local| local.key == key)?;
            let value = local.value.clone().ok_or(AccessError);
            Some(value.map(|value| value.downcast::<T>().expect("the key has this type")))
        })
        .expect("a variable of a thread of raceflip was used outside of a check")
    }

    /// Calls `f` with the variable of this thread.
    ///
    /// # Errors
    ///
    /// The variable was dropped, because the thread is at its end.
    ///
    /// # Panics
    ///
    /// Outside of a check.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if let Some(found) = self.find() {
            return found.map(|value| f(&value));
        }
        // The code that computes the first value may use other variables, and even this one.
        let value = Rc::new((self.init)());
        let key = std::ptr::from_ref(self) as usize;
        let kept = value.clone();
        with(|run| {
            let thread = run.thread;
            run.fibers[thread].locals.push(Local { key, value: Some(kept) });
        });
        Ok(f(&value))
    }

    /// Calls `f` with the variable of this thread.
    ///
    /// # Panics
    ///
    /// The variable was dropped, because the thread is at its end. Outside of a check.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Returns a copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value, and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value, and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with the value.
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with the value, which it may change.
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| drop(cell.replace(value)));
    }

    /// Takes the value, and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value, and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
