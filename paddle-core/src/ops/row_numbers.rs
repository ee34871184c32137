//! `row_numbers`: 0, 1, 2, … along rows.

use super::{
    AccuracyClass, Effects, Infer, Mismatch, MismatchKind, OfShards, Operation, Operator, Schema, Slot,
};
use crate::program::{DType, RowsId, Type};

/// The number of each row of a row space. In a block that runs on some of the rows it is gathered like any value, and
/// so says which ones these are.
#[derive(Clone, Debug, PartialEq)]
pub struct RowNumbers {
    /// The type of the result: i64, and nothing but rows.
    pub ty: Type,
}

attributes!(RowNumbers { ty: RowNumbers::of(RowsId(0)).ty });

impl RowNumbers {
    /// Of these rows.
    pub fn of(rows: RowsId) -> Self {
        RowNumbers { ty: Type { rows: Some(rows), ..Type::scalar(DType::I64) } }
    }
}

/// What draws for each row takes the number that each of its rows has in what was fed, from input `first` on: nothing, or one
/// value.
pub(super) fn check(cx: &Infer<'_>, first: usize, rows: Option<RowsId>) -> Result<(), Mismatch> {
    let numbers = rows.map(|rows| RowNumbers::of(rows).ty);
    match &cx.types[first..] {
        [] => Ok(()),
        [found] if numbers.as_ref() == Some(found) => Ok(()),
        _ => {
            let message = format!("{}, but `{}` needs one number for each row", cx.is(first), cx.operator);
            Err(cx.wrong(first, MismatchKind::Rows, message))
        }
    }
}

/// What is drawn by the numbers of rows, input `first`, goes with the rows; without, by their places.
pub(super) fn drawn(operator: &Operator, first: usize) -> OfShards {
    if operator.inputs.len() > first { OfShards::Rows } else { OfShards::Drawn }
}

impl Operation for RowNumbers {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "row_numbers",
                doc: "0, 1, 2, … along rows.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("whole numbers"),
                effects: Effects { of_shards: &[OfShards::Numbers], ..Effects::PURE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let exists = |rows: RowsId| (rows.0 as usize) < cx.program.row_spaces().len();
        let Type { dtype: DType::I64, rows: Some(rows), dims } = &self.ty else {
            return Err(cx.fail(MismatchKind::Attribute, "numbers of rows are i64, one for each row"));
        };
        if !exists(*rows) || !dims.is_empty() {
            return Err(
                cx.fail(MismatchKind::Attribute, "numbers of rows are one for each row that there is")
            );
        }
        Ok(vec![self.ty.clone()])
    }
}
