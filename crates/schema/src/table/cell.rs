//! Columns and rows from one definition: [`table!`] makes a table's columns and the type of its rows, [`word_enum!`] an
//! enumeration whose words stand in a column.
//!
//! A row has a named field for each column, of the column's type: one that is missing, misspelled or of another type
//! does not compile, and the order in which a row names them does not matter.

// A log has millions of rows: a call for each value of each made writing it slower.
#![allow(clippy::inline_always)]

use super::{Column, ColumnType, Table};

/// Takes the values of a row, in the order of the columns.
pub trait Sink {
    /// Of a column of 32 bits.
    fn u32(&mut self, value: Option<u32>);
    /// Of a column of 64 bits.
    fn u64(&mut self, value: Option<u64>);
    /// Of a column of yes or no.
    fn bool(&mut self, value: Option<bool>);
    /// Of a column of text.
    fn text(&mut self, value: Option<&str>);
    /// Of a column of words, by the word's position.
    fn word(&mut self, known: &'static [&'static str], position: Option<u8>);
}

/// A row of a table.
pub trait Row {
    /// The table.
    const TABLE: &'static Table;
    /// True where the model made it: any column may be absent then.
    const IS_SIMULATED: bool;
    /// The same row with texts that live for `'a`.
    type With<'a>: Row;

    /// Gives every value to `sink`.
    fn put(self, sink: &mut impl Sink);
}

/// Who makes the rows of a table, and so which columns a row must have.
pub trait Maker {
    /// True where it is the model.
    const IS_SIMULATED: bool;
    /// The type that a row holds for a column that is not optional.
    type Held<T>;

    /// Holds a value.
    fn held<T>(value: T) -> Self::Held<T>;

    /// The value, if the row has it.
    fn value<T>(held: Self::Held<T>) -> Option<T>;
}

/// A host: its rows have every column that is not optional.
#[derive(Debug, Clone, Copy)]
pub enum Measured {}

impl Maker for Measured {
    const IS_SIMULATED: bool = false;
    type Held<T> = T;

    fn held<T>(value: T) -> T {
        value
    }

    fn value<T>(held: T) -> Option<T> {
        Some(held)
    }
}

/// The model: its rows have the columns for which it has a value.
#[derive(Debug, Clone, Copy)]
pub enum Simulated {}

impl Maker for Simulated {
    const IS_SIMULATED: bool = true;
    type Held<T> = Option<T>;

    fn held<T>(value: T) -> Option<T> {
        Some(value)
    }

    fn value<T>(held: Option<T>) -> Option<T> {
        held
    }
}

/// Facts about a column, from the type of its field in a table's definition.
pub trait Cell {
    /// The column's type.
    const TYPE: ColumnType;
    /// True where a row may lack it.
    const IS_OPTIONAL: bool = false;
    /// The words that it can hold; empty where anything can stand.
    const WORDS: &'static [&'static str] = &[];
    /// The content of a row: the value itself, or an option of it where the row may lack it.
    type Held<'a, M: Maker>;

    /// Gives what a row holds to `sink`.
    fn put<M: Maker>(held: Self::Held<'_, M>, sink: &mut impl Sink);
}

/// A column of text.
#[derive(Debug)]
pub enum Text {}

macro_rules! cell {
    ($cell:ty, $column_type:ident, $value:ty, $put:ident) => {
        impl Cell for $cell {
            const TYPE: ColumnType = ColumnType::$column_type;
            type Held<'a, M: Maker> = M::Held<$value>;

            #[inline(always)]
            fn put<M: Maker>(held: Self::Held<'_, M>, sink: &mut impl Sink) {
                sink.$put(M::value(held));
            }
        }
    };
}

cell!(u32, U32, u32, u32);
cell!(u64, U64, u64, u64);
cell!(bool, Bool, bool, bool);
cell!(Text, Text, &'a str, text);

impl<C: Cell> Cell for Option<C> {
    const TYPE: ColumnType = C::TYPE;
    const IS_OPTIONAL: bool = true;
    const WORDS: &'static [&'static str] = C::WORDS;
    type Held<'a, M: Maker> = C::Held<'a, Simulated>;

    #[inline(always)]
    fn put<M: Maker>(held: Self::Held<'_, M>, sink: &mut impl Sink) {
        C::put::<Simulated>(held, sink);
    }
}

/// Unit, meaning and source of a column.
pub(super) type About = (&'static str, &'static str, &'static str);

/// The column of a field.
pub(super) const fn column<C: Cell>(name: &'static str, (unit, meaning, source): About) -> Column {
    Column { name, column_type: C::TYPE, unit, meaning, source, values: C::WORDS, optional: C::IS_OPTIONAL }
}

/// A table's columns as a constant, and the type of its rows: `field: type = (unit, meaning, source);`.
/// A column that is called like a Rust keyword has a field of another name: `field as "name"`.
macro_rules! table {
    (
        $(#[$about:meta])*
        $table:ident: $row:ident = $name:literal, $meaning:literal;
        $($field:ident $(as $column:literal)?: $cell:ty = $text:expr;)*
    ) => {
        $(#[$about])*
        pub const $table: $crate::table::Table = $crate::table::Table {
            name: $name,
            row: $meaning,
            columns: &[$($crate::table::cell::column::<$cell>(table!(@name $field $($column)?), $text)),*],
        };

        #[doc = concat!("A row of `", $name, "`: ", $meaning, ".")]
        pub struct $row<'a, M: $crate::table::Maker = $crate::table::Measured> {
            $(
                #[doc = table!(@meaning $text)]
                pub $field: <$cell as $crate::table::Cell>::Held<'a, M>,
            )*
        }

        impl<M: $crate::table::Maker> $crate::table::Row for $row<'_, M> {
            const TABLE: &'static $crate::table::Table = &$table;
            const IS_SIMULATED: bool = M::IS_SIMULATED;
            type With<'a> = $row<'a, M>;

            #[inline(always)]
            fn put(self, sink: &mut impl $crate::table::Sink) {
                $(<$cell as $crate::table::Cell>::put::<M>(self.$field, sink);)*
            }
        }

        impl Default for $row<'_, $crate::table::Simulated> {
            fn default() -> Self {
                Self { $($field: None),* }
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $column:literal) => { $column };
    (@meaning ($unit:expr, $meaning:literal, $source:expr $(,)?)) => { $meaning };
    (@meaning $shared:expr) => { "As in other tables." };
}

/// An enumeration whose words stand in the record: `Variant = "word"`, coded by position.
macro_rules! word_enum {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        // Most words say what they mean.
        #[allow(missing_docs)]
        pub enum $name {
            $($(#[$meaning])* $variant,)*
        }

        impl $name {
            /// All of them, in the order of their codes.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];
            /// Their words, in the same order.
            pub const WORDS: [&'static str; [$($word),*].len()] = [$($word),*];

            /// The word used in the record.
            pub const fn name(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// That of a code, as BPF programs write it.
            #[inline(always)]
            pub fn of_code(code: u8) -> Option<Self> {
                Self::ALL.get(usize::from(code)).copied()
            }
        }

        impl $crate::table::Cell for $name {
            const TYPE: $crate::table::ColumnType = $crate::table::ColumnType::Text;
            const WORDS: &'static [&'static str] = &Self::WORDS;
            type Held<'a, M: $crate::table::Maker> = M::Held<Self>;

            #[inline(always)]
            fn put<M: $crate::table::Maker>(held: Self::Held<'_, M>, sink: &mut impl $crate::table::Sink) {
                sink.word(<Self as $crate::table::Cell>::WORDS, M::value(held).map(|word| word as u8));
            }
        }
    };
}

pub(crate) use {table, word_enum};
