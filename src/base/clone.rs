//! Cloning in place: a copy of a state reuses the memory of an older state, so that a search that copies millions of
//! states allocates nothing.

use super::IndexVec;

/// A part of a state that most programs do not use. Copying costs one comparison while it is unused.
pub trait Rare {
    /// Returns whether the part is as in a program that does not use it. Two unused parts are alike.
    fn is_unused(&self) -> bool;
}

impl<T> Rare for Vec<T> {
    #[inline(always)]
    fn is_unused(&self) -> bool {
        self.is_empty()
    }
}

impl<I, T> Rare for IndexVec<I, T> {
    #[inline(always)]
    fn is_unused(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Rare for Option<T> {
    #[inline(always)]
    fn is_unused(&self) -> bool {
        self.is_none()
    }
}

/// Implements `Clone` for a struct, field by field, with a `clone_from` that keeps the allocations of the fields. (The
/// derived `clone_from` drops them.) The fields behind `rare` are [`Rare`].
#[doc(hidden)]
#[macro_export]
macro_rules! clone_in_place {
    ($type:ty { $($field:ident),+ $(,)? } $(rare { $($rare:ident),+ $(,)? })?) => {
        impl Clone for $type {
            fn clone(&self) -> Self {
                Self { $($field: self.$field.clone(),)+ $($($rare: self.$rare.clone()),+)? }
            }

            #[inline]
            fn clone_from(&mut self, other: &Self) {
                $(self.$field.clone_from(&other.$field);)+
                $($(
                    if !$crate::base::Rare::is_unused(&self.$rare) || !$crate::base::Rare::is_unused(&other.$rare) {
                        self.$rare.clone_from(&other.$rare);
                    }
                )+)?
            }
        }
    };
}
