//! Cloning in place: a copy of a state reuses the memory of an older state, so that a search that copies millions of
//! states allocates nothing.

/// Implements `Clone` for a struct, field by field, with a `clone_from` that keeps the allocations of the fields. (The
/// derived `clone_from` drops them.)
#[doc(hidden)]
#[macro_export]
macro_rules! clone_in_place {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl Clone for $type {
            fn clone(&self) -> Self {
                Self { $($field: self.$field.clone()),+ }
            }

            #[inline]
            fn clone_from(&mut self, other: &Self) {
                $(self.$field.clone_from(&other.$field);)+
            }
        }
    };
}
