//! Some of the rows of a batch, as they are fed.

use std::ops::Range;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::Feed;

use super::Table;

/// Rows of a table that follow on each other. It keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    inputs: Vec<Piece>,
}

/// What is fed of one input.
#[derive(Debug, Default)]
struct Piece {
    shape: Vec<usize>,
    /// Of sequences, where each begins among the tokens of the piece, and their number; for each level.
    offsets: Vec<Vec<i64>>,
    /// Which elements of the input.
    elements: Range<usize>,
    /// Which of its rows; of sequences, of its tokens.
    rows: Range<usize>,
}

impl Cut {
    /// Takes the rows of this range, which has to be within those of the table. Inputs without rows are taken as they are.
    pub(crate) fn take(&mut self, table: &Table, rows: &Range<usize>) -> Result<(), OutOfMemory> {
        self.inputs.resize_with(table.len(), Piece::default);
        for (k, piece) in self.inputs.iter_mut().enumerate() {
            let Feed { values, shape, offsets } = table.feed(k);
            piece.shape.clear();
            piece.shape.extend(shape);
            piece.offsets.resize_with(offsets.len(), Vec::new);
            (piece.rows, piece.elements) = (rows.clone(), 0..values.len());
            for (offsets, taken) in offsets.iter().zip(&mut piece.offsets) {
                let offsets = &offsets[piece.rows.start..=piece.rows.end];
                let first = offsets[0];
                taken.clear();
                let copied = taken.try_extend(offsets.iter().map(|at| at - first));
                copied.map_err(|error| error.wanted_for("offsets of the sequences of a shard"))?;
                piece.rows = first as usize..offsets[offsets.len() - 1] as usize;
            }
            if table.has_rows(k) {
                let size: usize = shape[1..].iter().product();
                piece.shape[0] = piece.rows.len();
                piece.elements = piece.rows.start * size..piece.rows.end * size;
            }
        }
        Ok(())
    }

    /// What is fed to input `k`, of the table that it was taken of.
    pub(crate) fn feed<'a>(&'a self, table: &'a Table, k: usize) -> Feed<'a> {
        let Piece { shape, offsets, elements, .. } = &self.inputs[k];
        Feed { values: table.part(k, elements.clone()), shape, offsets }
    }

    /// The rows of input `k` that were taken; of sequences, the tokens.
    pub(crate) fn rows(&self, k: usize) -> Range<usize> {
        self.inputs[k].rows.clone()
    }
}
