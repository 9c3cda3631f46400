//! The table's rows, and the macros that make types of them.

/// A C type, or those parts of one that we rely on.
#[derive(Debug, Clone, Copy)]
pub struct AbiRecord {
    /// As C spells it, with `struct` or `union`.
    pub c_name: &'static str,
    pub size: AbiSize,
    pub fields: &'static [AbiField],
}

#[derive(Debug, Clone, Copy)]
pub enum AbiSize {
    /// Passed by value.
    Exactly(usize),
    /// The library fills it, and it grows: ours is larger than any version's.
    AtMost(usize),
    /// Made by the library, and read through a pointer alone.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub struct AbiField {
    /// As it stands after `offsetof(…,`; empty for bytes of ours that C names otherwise.
    pub path: &'static str,
    pub offset: usize,
    pub size: usize,
    pub kind: AbiFieldKind,
}

/// What besides its size tells a field's type from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbiFieldKind {
    Unsigned,
    Signed,
    Pointer,
    Compound,
}

#[derive(Debug, Clone, Copy)]
pub struct AbiConstant {
    pub c_name: &'static str,
    pub value: u32,
}

/// A type of which all bytes zero is a value, as C programs make these with `memset`.
pub trait ZeroableType {
    const ZEROED: Self;
    const KIND: AbiFieldKind;
}

macro_rules! plain_integers {
    ($($type:ty: $kind:ident),*) => {
        $(impl ZeroableType for $type {
            const ZEROED: Self = 0;
            const KIND: AbiFieldKind = AbiFieldKind::$kind;
        })*
    };
}
plain_integers!(u8: Unsigned, u16: Unsigned, u32: Unsigned, u64: Unsigned, i32: Signed);

impl<T> ZeroableType for *mut T {
    const ZEROED: Self = std::ptr::null_mut();
    const KIND: AbiFieldKind = AbiFieldKind::Pointer;
}

impl<T: ZeroableType, const N: usize> ZeroableType for [T; N] {
    const ZEROED: Self = [const { T::ZEROED }; N];
    const KIND: AbiFieldKind = AbiFieldKind::Compound;
}

/// `field_path!(field)` is the field's own name; `field_path!(field "other")` another.
macro_rules! field_path {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $path:literal) => {
        $path
    };
}

/// Types that are passed by value.
macro_rules! records {
    ($(
        $(#[$attribute:meta])*
        $name:ident is $c_name:literal, $size:literal bytes {
            $($offset:literal $field:ident $(as $path:literal)?: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$attribute])*
            #[repr(C)]
            #[derive(Debug, Clone, Copy)]
            pub struct $name {
                $(pub $field: $type,)*
            }

            const _: () = {
                assert!(size_of::<$name>() == $size, $c_name);
                $(assert!(std::mem::offset_of!($name, $field) == $offset, stringify!($field));)*
            };

            impl $crate::table::ZeroableType for $name {
                const ZEROED: Self = Self { $($field: <$type as $crate::table::ZeroableType>::ZEROED,)* };
                const KIND: $crate::table::AbiFieldKind = $crate::table::AbiFieldKind::Compound;
            }
        )*

        pub(crate) const RECORDS: &[$crate::table::AbiRecord] = &[$($crate::table::AbiRecord {
            c_name: $c_name,
            size: $crate::table::AbiSize::Exactly($size),
            fields: &[$($crate::table::field::<$type>($crate::table::field_path!($field $($path)?), $offset),)*],
        },)*];
    };
}

/// Offsets into what the library has made or fills.
macro_rules! offsets {
    ($(
        $(#[$attribute:meta])*
        mod $name:ident is $c_name:literal, $size:expr => {
            $($offset:literal $field:ident as $path:literal: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$attribute])*
            pub mod $name {
                $(pub const $field: usize = $offset;)*
            }
        )*

        pub(crate) const OFFSETS: &[$crate::table::AbiRecord] = &[$($crate::table::AbiRecord {
            c_name: $c_name,
            size: $size,
            fields: &[$($crate::table::field::<$type>($path, $offset),)*],
        },)*];
    };
}

macro_rules! constants {
    ($($name:ident is $c_name:literal = $value:expr;)*) => {
        $(pub const $name: u32 = $value;)*

        pub(crate) const CONSTANTS: &[$crate::table::AbiConstant] = &[
            $($crate::table::AbiConstant { c_name: $c_name, value: $value },)*
        ];
    };
}

pub(crate) use {constants, field_path, offsets, records};

pub(crate) const fn field<T: ZeroableType>(path: &'static str, offset: usize) -> AbiField {
    AbiField {
        path,
        offset,
        size: size_of::<T>(),
        kind: T::KIND,
    }
}
