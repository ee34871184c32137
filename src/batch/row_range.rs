//! A part of the rows of a batch, as a shard is fed.

use std::ops::Range;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::plan::Feed;

use super::Table;

/// A run of consecutive rows of a table. It keeps its memory from one run to the next.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    inputs: Vec<Piece>,
}

/// The part of one input.
#[derive(Debug, Default)]
struct Piece {
    shape: Vec<usize>,
    /// For sequences, the offsets of each level within the piece, ending with the number of tokens.
    offsets: Vec<Vec<i64>>,
    /// The range of elements in the input.
    elements: Range<usize>,
    /// The range of rows in the input; for sequences, of tokens.
    rows: Range<usize>,
}

impl Cut {
    /// Takes the rows of this range, which has to be within the table. Inputs without rows are taken as a whole.
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

    /// The part of input `k`. `table` has to be the one that the rows were taken from.
    pub(crate) fn feed<'a>(&'a self, table: &'a Table, k: usize) -> Feed<'a> {
        let Piece { shape, offsets, elements, .. } = &self.inputs[k];
        Feed { values: table.part(k, elements.clone()), shape, offsets }
    }

    /// The range of rows of input `k`; for sequences, of tokens.
    pub(crate) fn rows(&self, k: usize) -> Range<usize> {
        self.inputs[k].rows.clone()
    }
}
