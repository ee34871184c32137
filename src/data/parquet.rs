//! Files of Apache Parquet, whose rows are structs.

use std::cell::Cell;
use std::iter::from_fn;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use serde::de::value::{Error as ValueError, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::DataError;
use crate::files::disk;
use crate::reader::Item;

/// A reader of the rows of a file of Apache Parquet: with no compression, or that of snappy, gzip or LZ4.
///
/// A row is any type of `serde`: a struct whose fields are named as the columns, in any order, where further columns are left out;
/// or a tuple. A column that may be null is an `Option`, a list a `Vec`, a group a struct. What does not fit is a [`DataError`] with row group, row and
/// column. The file is read as a whole, and its rows are decoded one by one.
///
/// ```
/// use paddle::data::{DataError, Parquet};
/// use parquet::data_type::{ByteArrayType, DoubleType};
/// use parquet::file::writer::SerializedFileWriter;
/// use parquet::schema::parser::parse_message_type;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, Debug, PartialEq)]
/// struct House {
///     street: Option<String>,
///     rooms: f32,
/// }
///
/// # let path = std::env::temp_dir().join(format!("paddle-parquet-{}.parquet", std::process::id()));
/// // Written by the crate that reads it, too: two rows, of which one has no street.
/// let schema = parse_message_type("message house { required double rooms; optional binary street (UTF8); }")?;
/// let mut writer = SerializedFileWriter::new(std::fs::File::create(&path)?, schema.into(), Default::default())?;
/// let mut rows = writer.next_row_group()?;
/// let mut rooms = rows.next_column()?.expect("it is a column");
/// rooms.typed::<DoubleType>().write_batch(&[5.0, 4.5], None, None)?;
/// rooms.close()?;
/// let mut street = rows.next_column()?.expect("it is a column");
/// street.typed::<ByteArrayType>().write_batch(&["Elm".into()], Some(&[1, 0]), None)?;
/// street.close()?;
/// rows.close()?;
/// writer.close()?;
///
/// let houses: Vec<House> = Parquet::open(&path)?.rows()?;
/// assert_eq!(houses[0], House { street: Some("Elm".to_string()), rooms: 5.0 });
/// assert_eq!(houses[1], House { street: None, rooms: 4.5 });
///
/// let error = Parquet::<(f32, String)>::open(&path)?.rows().unwrap_err();
/// assert!(error.to_string().contains("row group 0, row 2, column `street`: invalid type: unit value"), "{error}");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is a [reader](crate::reader): `Parquet::<House>::open(path)?.map_data(..).batch(32)`.
pub struct Parquet<T> {
    path: PathBuf,
    rows: RowIter<'static>,
    /// Behind how many rows of the file each row group ends.
    ends: Vec<u64>,
    /// The number of the row that was read last, from 1.
    row: u64,
    is_broken: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Parquet<T> {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or is none of Parquet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref().to_path_buf();
        let bytes = disk::read(&path).map_err(|source| DataError::Io { path: path.clone(), source })?;
        let opened = whole(|| SerializedFileReader::new(Bytes::from(bytes)));
        let wrong =
            |found| DataError::Format { path: path.clone(), found, expected: "a file of Parquet".into() };
        let file = opened.map_err(wrong)?;
        let mut end = 0;
        let groups = file.metadata().row_groups().iter();
        let ends = groups.map(|group| {
            end += u64::try_from(group.num_rows()).unwrap_or_default();
            end
        });
        let ends = ends.collect();
        let rows = whole(|| RowIter::from_file_into(Box::new(file)).project(None)).map_err(wrong)?;
        Ok(Parquet { path, rows, ends, row: 0, is_broken: false, of: PhantomData })
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// The first row that cannot be read.
    pub fn rows(mut self) -> Result<Vec<T>, DataError> {
        let mut rows = Vec::new();
        while let Some(row) = self.read()? {
            rows.push(row);
        }
        Ok(rows)
    }

    fn read(&mut self) -> Result<Option<T>, DataError> {
        if self.is_broken {
            return Ok(None);
        }
        let read = whole(|| self.rows.next().transpose());
        self.row += 1;
        let row_group = self.ends.partition_point(|end| *end < self.row);
        let wrong = |column: Option<&str>, why: String| DataError::Cell {
            path: self.path.clone(),
            row_group,
            row: self.row,
            column: column.map(str::to_string),
            why,
        };
        let row = read.map_err(|why| {
            self.is_broken = true;
            wrong(None, why)
        })?;
        let Some(row) = row else { return Ok(None) };
        let at = Cell::new(None);
        T::deserialize(Columns { row: &row, at: &at })
            .map(Some)
            .map_err(|error| wrong(at.get(), error.to_string()))
    }
}

impl<T: DeserializeOwned> Iterator for Parquet<T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Item<T>> {
        match self.read() {
            Ok(row) => row.map(Item::Data),
            Err(error) => Some(Item::Failed(error.into())),
        }
    }
}

/// What comes of reading a part of the file, or what is wrong with it. Of a damaged file the crate may also panic.
fn whole<R>(read: impl FnOnce() -> Result<R, ParquetError>) -> Result<R, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err("what cannot be decoded".into()),
    }
}

/// A row as a map, or as a sequence, of its columns. It says which one is being read.
struct Columns<'de, 'a> {
    row: &'de Row,
    at: &'a Cell<Option<&'de str>>,
}

impl<'de, 'a> Columns<'de, 'a> {
    fn columns(self) -> impl Iterator<Item = (&'de str, Value<'de>)> + 'a
    where
        'de: 'a,
    {
        let Columns { row, at } = self;
        let columns = row.get_column_iter().map(|(name, field)| {
            at.set(Some(name));
            (name.as_str(), Value(field))
        });
        // What is wrong behind the last column is wrong with none.
        columns.chain(from_fn(|| {
            at.set(None);
            None
        }))
    }
}

impl<'de, 'a> Deserializer<'de> for Columns<'de, 'a> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_map(MapDeserializer::new(self.columns()))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_seq(SeqDeserializer::new(self.columns().map(|(_, value)| value)))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        map struct enum identifier ignored_any
    }
}

/// A value of a column.
struct Value<'de>(&'de Field);

impl<'de> IntoDeserializer<'de, ValueError> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Field::Null => visitor.visit_unit(),
            Field::Bool(value) => visitor.visit_bool(*value),
            Field::Byte(value) => visitor.visit_i8(*value),
            Field::Short(value) => visitor.visit_i16(*value),
            Field::Int(value) | Field::Date(value) | Field::TimeMillis(value) => visitor.visit_i32(*value),
            Field::Long(value) | Field::TimeMicros(value) => visitor.visit_i64(*value),
            Field::TimestampMillis(value) | Field::TimestampMicros(value) => visitor.visit_i64(*value),
            Field::UByte(value) => visitor.visit_u8(*value),
            Field::UShort(value) => visitor.visit_u16(*value),
            Field::UInt(value) => visitor.visit_u32(*value),
            Field::ULong(value) => visitor.visit_u64(*value),
            Field::Float16(value) => visitor.visit_f32(value.to_f32()),
            Field::Float(value) => visitor.visit_f32(*value),
            Field::Double(value) => visitor.visit_f64(*value),
            Field::Str(value) => visitor.visit_borrowed_str(value),
            Field::Bytes(value) => visitor.visit_borrowed_bytes(value.data()),
            Field::Group(row) => Columns { row, at: &Cell::new(None) }.deserialize_any(visitor),
            Field::ListInternal(list) => {
                visitor.visit_seq(SeqDeserializer::new(list.elements().iter().map(Value)))
            }
            Field::MapInternal(map) => {
                let entries = map.entries().iter().map(|(key, value)| (Value(key), Value(value)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
            Field::Decimal(_) => {
                Err(ValueError::custom("found a decimal; store it as a double, or as a text"))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Field::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0 {
            Field::Str(value) => value.as_str().into_deserializer().deserialize_enum(name, variants, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        House,
        Flat,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    struct Home {
        kind: Kind,
        price: f64,
        rooms: Option<i64>,
        years: Vec<i32>,
    }

    /// The kinds; the rooms, and which rows have any; the prices; the years, and which of the levels they are on, and begin.
    type Group = (
        &'static [&'static str],
        (&'static [i64], &'static [i16]),
        &'static [f64],
        (&'static [i32], [&'static [i16]; 2]),
    );

    /// A file of two row groups, with two rows and with one. Each test has its own.
    fn file(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("paddle-parquet-{test}-{}.parquet", std::process::id()));
        let schema = "message home {
            required binary kind (UTF8);
            optional int64 rooms;
            required double price;
            required group years (LIST) { repeated group list { required int32 element; } }
        }";
        let schema = parse_message_type(schema).unwrap();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Default::default()).unwrap();
        let groups: [Group; 2] = [
            (&["house", "flat"], (&[5], &[1, 0]), &[1.5, 2.5], (&[1990, 2010], [&[1, 1, 0], &[0, 1, 0]])),
            (&["castle"], (&[90], &[1]), &[1e9], (&[], [&[0], &[0]])),
        ];
        for (kinds, (rooms, has_rooms), prices, (years, [has_years, again])) in groups {
            let mut group = writer.next_row_group().unwrap();
            let kinds: Vec<ByteArray> = kinds.iter().map(|kind| (*kind).into()).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&kinds, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(rooms, Some(has_rooms), None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(prices, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int32Type>().write_batch(years, Some(has_years), Some(again)).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        fs::write(&path, writer.into_inner().unwrap()).unwrap();
        path
    }

    #[test]
    fn rows_are_structs() {
        let path = file("structs");
        let mut homes = Parquet::<Home>::open(&path).unwrap();
        let mut next = || match homes.next() {
            Some(Item::Data(home)) => Some(home),
            _ => None,
        };
        let house = Home { kind: Kind::House, price: 1.5, rooms: Some(5), years: vec![1990, 2010] };
        assert_eq!(next(), Some(house));
        assert_eq!(next(), Some(Home { kind: Kind::Flat, price: 2.5, rooms: None, years: vec![] }));
        let error = match homes.next() {
            Some(Item::Failed(error)) => error.to_string(),
            _ => panic!("a castle is no home"),
        };
        let expected =
            "row group 1, row 3, column `kind`: unknown variant `castle`, expected `house` or `flat`";
        assert!(error.contains(expected), "{error}");
        // The end.
        assert!(homes.next().is_none());
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn rows_are_tuples_in_the_order_of_columns() {
        let path = file("tuples");
        let rows: Vec<(String, Option<f32>, f32, Vec<i32>)> = Parquet::open(&path).unwrap().rows().unwrap();
        assert_eq!(rows[1], ("flat".to_string(), None, 2.5, vec![]));
        assert_eq!(rows.len(), 3);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_missing_is_in_no_column() {
        #[derive(Deserialize, Debug)]
        struct Other {
            #[expect(dead_code)]
            garden: f32,
        }
        let path = file("missing");
        let error = Parquet::<Other>::open(&path).unwrap().rows().unwrap_err().to_string();
        assert!(error.ends_with(", row group 0, row 1: missing field `garden`"), "{error}");
        fs::remove_file(&path).unwrap();
    }

    /// With each byte of the file changed, and with each of its beginnings: rows or an error.
    #[test]
    fn damaged_files_are_errors() {
        let path = file("damaged");
        let bytes = fs::read(&path).unwrap();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x55;
            for damaged in [&changed[..], &bytes[..at]] {
                fs::write(&path, damaged).unwrap();
                let _ = Parquet::<Home>::open(&path).and_then(Parquet::rows);
            }
        }
        std::panic::set_hook(hook);
        fs::write(&path, "none of it").unwrap();
        let error = Parquet::<Home>::open(&path).err().unwrap().to_string();
        assert!(error.ends_with(", expected a file of Parquet"), "{error}");
        fs::remove_file(&path).unwrap();
    }
}
