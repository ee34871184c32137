//! The words of errors that every backend reports alike.

use paddle_core::plan::KernelError;

/// A class id without a class.
pub(crate) fn class_out_of_range(id: i64, row: usize, classes: usize) -> KernelError {
    let message = format!(
        "the class id of row {row} is {id}, but there are {classes} classes; ids have to be at least 0 and below {classes}"
    );
    KernelError { message }
}

/// A number of an element that there is not.
pub(crate) fn index_out_of_range(index: i64, at: usize, size: usize) -> KernelError {
    let message = format!(
        "index number {at} is {index}, but there are {size} elements along the axis; indices have to be at least 0 and below {size}"
    );
    KernelError { message }
}

/// An id without an entry of the table.
pub(crate) fn entry_out_of_range(id: i64, at: usize, entries: usize) -> KernelError {
    let message = format!(
        "id number {at} is {id}, but the table has {entries} entries; ids have to be at least 0 and below {entries}"
    );
    KernelError { message }
}

/// A probability that is none.
pub(crate) fn no_probability(found: f64, row: usize) -> KernelError {
    KernelError { message: format!("the probability of row {row} is {found}; it has to be from 0 to 1") }
}
