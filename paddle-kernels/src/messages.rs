//! The error messages that all backends share.

use paddle_core::plan::KernelError;

/// The error for a class id that is out of range.
pub(crate) fn class_out_of_range(id: i64, row: usize, classes: usize) -> KernelError {
    let message = format!(
        "the class id of row {row} is {id}, but there are {classes} classes; ids have to be at least 0 and below {classes}"
    );
    KernelError::Value { message }
}

/// Checks that labels are classes, and other ones than the blank.
pub(crate) fn check_ctc_labels(labels: &[i64], classes: usize, blank: usize) -> Result<(), KernelError> {
    let is_blank = |label: i64| label == blank as i64;
    let wrong = |label: i64| !(0..classes as i64).contains(&label) || is_blank(label);
    match labels.iter().position(|&label| wrong(label)) {
        None => Ok(()),
        Some(at) if is_blank(labels[at]) => {
            let message = format!(
                "the class id of row {at} is {blank}, which is the blank; labels have to be of the other classes"
            );
            Err(KernelError::Value { message })
        }
        Some(at) => Err(class_out_of_range(labels[at], at, classes)),
    }
}

/// The error for an index that is out of range.
pub(crate) fn index_out_of_range(index: i64, at: usize, size: usize) -> KernelError {
    let message = format!(
        "index number {at} is {index}, but there are {size} elements along the axis; indices have to be at least 0 and below {size}"
    );
    KernelError::Value { message }
}

/// The error for an id that has no entry in the table.
pub(crate) fn entry_out_of_range(id: i64, at: usize, entries: usize) -> KernelError {
    let message = format!(
        "id number {at} is {id}, but the table has {entries} entries; ids have to be at least 0 and below {entries}"
    );
    KernelError::Value { message }
}

/// Checks that sequences, given by their offsets, are as long as those that belong to them.
pub(crate) fn same_lengths(offsets: &[i64], others: &[i64]) -> Result<(), KernelError> {
    let lengths = |offsets: &[i64], row: usize| offsets[row + 1] - offsets[row];
    let rows = offsets.len().min(others.len()).saturating_sub(1);
    let Some(row) = (0..rows).find(|&row| lengths(offsets, row) != lengths(others, row)) else {
        return Ok(());
    };
    let message = format!(
        "sequence {row} has {}, but the one that it belongs to {}; both have to be of the same length",
        tokens(lengths(offsets, row)),
        tokens(lengths(others, row)),
    );
    Err(KernelError::Value { message })
}

fn tokens(count: i64) -> String {
    if count == 1 { "1 token".to_string() } else { format!("{count} tokens") }
}

/// The error for a number that is no probability.
pub(crate) fn no_probability(found: f64, row: usize) -> KernelError {
    KernelError::Value {
        message: format!("the probability of row {row} is {found}; it has to be from 0 to 1"),
    }
}

/// The error for a position behind the end of its sequence.
pub(crate) fn no_such_token(position: i64, row: usize, length: i64) -> KernelError {
    let message = format!(
        "position {position} is asked for in sequence {row}, which has {}; positions have to be at least 0 and below that",
        tokens(length)
    );
    KernelError::Value { message }
}

/// Checks that made sequences, given by their offsets, are as long as the values for them.
pub(crate) fn made_lengths(
    offsets: &[i64],
    length: impl Fn(usize) -> i64,
    what: &str,
) -> Result<(), KernelError> {
    let found = |row: usize| offsets[row + 1] - offsets[row];
    let Some(row) = (0..offsets.len().saturating_sub(1)).find(|&row| found(row) != length(row)) else {
        return Ok(());
    };
    let message =
        format!("sequence {row} was made of {}, but {what} it are {}", tokens(found(row)), length(row));
    Err(KernelError::Value { message })
}

/// Checks that sequences, given by their offsets, fit into rows of so many places.
pub(crate) fn enough_places(offsets: &[i64], places: usize) -> Result<(), KernelError> {
    let long = |pair: &[i64]| pair[1] - pair[0] > places as i64;
    match offsets.windows(2).position(long) {
        None => Ok(()),
        Some(row) => {
            let length = offsets[row + 1] - offsets[row];
            let message = format!(
                "sequence {row} has {}, but its row has {places} places; take a part of it, or more places",
                tokens(length)
            );
            Err(KernelError::Value { message })
        }
    }
}

/// Checks that sequences, given by their offsets and widths, have as many elements as the sequences of tokens of
/// another width.
pub(crate) fn same_elements(own: (&[i64], usize), others: (&[i64], usize)) -> Result<(), KernelError> {
    let elements = |(offsets, width): (&[i64], usize), row: usize| {
        (offsets[row + 1] - offsets[row]) as u128 * width as u128
    };
    let rows = own.0.len().min(others.0.len()).saturating_sub(1);
    let Some(row) = (0..rows).find(|&row| elements(own, row) != elements(others, row)) else {
        return Ok(());
    };
    let message = format!(
        "sequence {row} has {} elements, which are not a whole number of tokens of {} elements",
        elements(own, row),
        others.1
    );
    Err(KernelError::Value { message })
}

/// The end of a sequence that has this length and begins at the end of the previous one.
pub(crate) fn add_length(row: usize, end: i64, length: i64) -> Result<i64, KernelError> {
    if length < 0 {
        let message = format!("the length of sequence {row} is {length}; it has to be at least 0");
        return Err(KernelError::Value { message });
    }
    end.checked_add(length).ok_or_else(|| {
        let message = format!("sequences up to {row} have more tokens than can be counted");
        KernelError::Value { message }
    })
}
