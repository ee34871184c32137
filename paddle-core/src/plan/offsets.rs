//! Offsets of sequences: sequence `i` has the tokens `offsets[i]..offsets[i + 1]`.

use std::fmt;

/// The reason why offsets do not fit the values that are fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetsError {
    /// No offsets were fed, but the input takes sequences.
    Missing,
    /// Offsets were fed, but the input takes no sequences.
    Unexpected,
    /// The number of lists of offsets is not the number of levels that the input takes.
    Levels {
        /// The number of lists that were fed.
        found: usize,
        /// The number of levels of the input.
        expected: usize,
    },
    /// The offsets of one level do not fit.
    At {
        /// The level; the outermost is 0.
        level: usize,
        /// The reason.
        error: Box<OffsetsError>,
    },
    /// The offsets do not begin with 0.
    Start {
        /// The first offset, if there is one.
        found: Option<i64>,
    },
    /// An offset is less than the one before it.
    Falling {
        /// The position of the offset.
        at: usize,
        /// The offset before it.
        before: i64,
        /// The offset.
        found: i64,
    },
    /// The offsets do not end with the number of tokens.
    End {
        /// The last offset.
        found: i64,
        /// The number of tokens.
        tokens: usize,
    },
    /// Another input has another number of rows.
    Rows {
        /// The number of sequences.
        found: usize,
        /// The rows of the other input.
        expected: usize,
    },
    /// An input with the same tokens has other offsets.
    Differ {
        /// The name of that input.
        other: String,
    },
}

impl fmt::Display for OffsetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OffsetsError::Missing => {
                f.write_str("sequences are fed with offsets: where each begins, and the number of tokens")
            }
            OffsetsError::Unexpected => f.write_str("it takes no sequences, but offsets were fed"),
            OffsetsError::Levels { found, expected } => write!(
                f,
                "it takes {expected} lists of offsets, one for each level of sequences, but {found} were fed"
            ),
            OffsetsError::At { level: 0, error } => write!(f, "of the outermost sequences, {error}"),
            OffsetsError::At { level, error } => {
                write!(f, "of the sequences in them, level {level}, {error}")
            }
            OffsetsError::Start { found: None } => {
                f.write_str("offsets begin with 0, also those of no sequences, but there are none")
            }
            OffsetsError::Start { found: Some(found) } => write!(f, "offsets begin with 0, not with {found}"),
            OffsetsError::Falling { at, before, found } => {
                write!(f, "offsets never fall, but number {at} is {found} behind {before}")
            }
            OffsetsError::End { found, tokens } => {
                write!(f, "offsets end with the number of tokens, which is {tokens}, but these with {found}")
            }
            OffsetsError::Rows { found, expected } => {
                write!(f, "there are {found} sequences, but another input has {expected} rows")
            }
            OffsetsError::Differ { other } => write!(f, "it has the tokens of `{other}`, but other offsets"),
        }
    }
}

impl std::error::Error for OffsetsError {}

/// Checks that offsets cut `tokens` tokens into sequences: they begin with 0, never fall, and end with `tokens`.
pub fn check_offsets(offsets: &[i64], tokens: usize) -> Result<(), OffsetsError> {
    let (Some(0), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Err(OffsetsError::Start { found: offsets.first().copied() });
    };
    if let Some(at) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(OffsetsError::Falling { at: at + 1, before: offsets[at], found: offsets[at + 1] });
    }
    if usize::try_from(last) != Ok(tokens) {
        return Err(OffsetsError::End { found: last, tokens });
    }
    Ok(())
}

/// Checks the offsets of sequences of sequences, the outermost first: the tokens of each level are the sequences of
/// the next.
pub fn check_levels(levels: &[Vec<i64>], tokens: usize) -> Result<(), OffsetsError> {
    let counts = levels.iter().skip(1).map(|offsets| offsets.len().saturating_sub(1)).chain([tokens]);
    for (level, (offsets, tokens)) in levels.iter().zip(counts).enumerate() {
        check_offsets(offsets, tokens).map_err(|error| match levels.len() {
            1 => error,
            _ => OffsetsError::At { level, error: Box::new(error) },
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_begin_with_zero_never_fall_and_end_with_the_tokens() {
        for (offsets, tokens) in [(&[0][..], 0), (&[0, 0], 0), (&[0, 2, 2, 5], 5)] {
            assert_eq!(check_offsets(offsets, tokens), Ok(()));
        }
        let error = |offsets: &[i64], tokens| check_offsets(offsets, tokens).unwrap_err();
        assert_eq!(error(&[], 0), OffsetsError::Start { found: None });
        assert_eq!(error(&[1, 2], 2), OffsetsError::Start { found: Some(1) });
        assert_eq!(error(&[0, 3, 2], 2), OffsetsError::Falling { at: 2, before: 3, found: 2 });
        assert_eq!(error(&[0, 3, -1], 2), OffsetsError::Falling { at: 2, before: 3, found: -1 });
        assert_eq!(error(&[0, 3], 4), OffsetsError::End { found: 3, tokens: 4 });
    }
}
