//! Cloning in place: a copy of a state takes the room of an older one, so that a search that copies millions of them allocates nothing.

/// Implements `Clone` for a struct, field by field, with a `clone_from` that keeps what the fields have allocated. (The derived one throws it away.)
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
