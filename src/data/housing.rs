//! The Boston housing data (Harrison, Rubinfeld 1978), from a file that the user has.
//!
//! Two formats are read: UCI's, separated by white space, and CSV, with or without a line of names. A row has thirteen
//! features (`crim zn indus chas nox rm age dis rad tax ptratio b lstat`), then the target, the median value of the
//! homes in thousands of dollars.

use std::path::Path;

use super::{DataError, table};
use crate::files::disk;

/// One district.
pub type Sample = super::Sample<13>;

/// Reads a file such as `housing.data`.
///
/// ```
/// use paddle::data::housing;
///
/// let error = housing::read("no/such/housing.data").unwrap_err();
/// assert!(error.to_string().starts_with("no/such/housing.data: "));
/// ```
///
/// # Errors
/// The file cannot be read, is not text, has no rows, or has a line with another number of columns or with a field that
/// is not a number. The error has the line, from 1.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Sample>, DataError> {
    let path = path.as_ref();
    let bytes = disk::read(path).map_err(|source| DataError::Io { path: path.into(), source })?;
    table::parse(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str =
        " 0.00632  18.00   2.310  0  0.5380  6.5750  65.20  4.0900   1  296.0  15.30 396.90   4.98  24.00";

    fn parse(bytes: impl AsRef<[u8]>) -> Result<Vec<Sample>, String> {
        table::parse(Path::new("f"), bytes.as_ref()).map_err(|error| error.to_string())
    }

    fn message(bytes: impl AsRef<[u8]>) -> String {
        parse(bytes).unwrap_err()
    }

    #[test]
    fn both_forms_mean_the_same() {
        let commas = ROW.split_whitespace().collect::<Vec<_>>().join(", ");
        let expected = Sample {
            features: [0.00632, 18.0, 2.31, 0.0, 0.538, 6.575, 65.2, 4.09, 1.0, 296.0, 15.3, 396.9, 4.98],
            target: 24.0,
        };
        assert_eq!(parse(format!("{ROW}\n{ROW}\n")), Ok(vec![expected; 2]));
        assert_eq!(parse(format!("{ROW}\r\n\r\n{ROW}")), Ok(vec![expected; 2]));
        assert_eq!(parse(format!("a,b,c,d,e,f,g,h,i,j,k,l,m,label\n{commas}\n")), Ok(vec![expected]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let number = |found: &str| {
            let bad = ROW.replace("18.00", found);
            message(format!("{ROW}\n\n{bad}\n"))
        };
        assert_eq!(number("abc"), "f, line 3, column 2: found `abc`, expected a finite number");
        assert_eq!(number("NaN"), "f, line 3, column 2: found `NaN`, expected a finite number");
        assert_eq!(number("inf"), "f, line 3, column 2: found `inf`, expected a finite number");
        assert_eq!(number("1e99"), "f, line 3, column 2: found `1e99`, expected a finite number");
        assert_eq!(number("\u{1b}"), "f, line 3, column 2: found `\\u{1b}`, expected a finite number");
        let long = format!("f, line 3, column 2: found `{}`, expected a finite number", "ä".repeat(40));
        assert_eq!(number(&"ä".repeat(1000)), long);

        assert_eq!(message(ROW.replace("4.98", "")), "f, line 1: found 13 columns, expected 14");
        assert_eq!(message(format!("{ROW} 1")), "f, line 1: found 15 columns, expected 14");
        assert_eq!(message(format!("crim zn\n{ROW}")), "f, line 1: found 2 columns, expected 14");
        assert_eq!(message(b"1 2\n3 \xff"), "f, line 2: found bytes that are not UTF-8, expected text");
    }

    #[test]
    fn an_empty_field_counts() {
        let commas = ROW.split_whitespace().collect::<Vec<_>>().join(",").replace("18.00", "");
        assert_eq!(message(commas), "f, line 1, column 2: found ``, expected a finite number");
    }

    #[test]
    fn only_the_first_line_may_hold_names() {
        let names = "a b c d e f g h i j k l m n";
        assert_eq!(parse(format!("\n{names}\n{ROW}")).map(|rows| rows.len()), Ok(1));
        let second = message(format!("{names}\n{names}\n{ROW}"));
        assert_eq!(second, "f, line 2, column 1: found `a`, expected a finite number");
    }

    #[test]
    fn a_file_without_rows_is_an_error() {
        for empty in ["", "\n \n", "a b c d e f g h i j k l m n\n"] {
            assert_eq!(message(empty), "f: found no rows, expected lines of 14 numbers");
        }
    }

    #[test]
    fn a_folder_is_not_a_file() {
        assert!(matches!(read("."), Err(DataError::Io { .. })));
    }
}
