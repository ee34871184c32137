//! `row_numbers`: the numbers 0, 1, 2, … of rows.

use super::{
    AccuracyClass, Effects, Infer, Mismatch, MismatchKind, OfShards, Operation, Operator, Schema, Slot,
};
use crate::program::{DType, RowsId, Type};

/// The number of each row of a row space. In a block that runs on some of the rows, the numbers are gathered like any
/// value, so they tell which rows these are.
#[derive(Clone, Debug, PartialEq)]
pub struct RowNumbers {
    /// The type of the result: i64, with rows and without other dimensions.
    pub ty: Type,
}

attributes!(RowNumbers { ty: RowNumbers::of(RowsId(0)).ty });

impl RowNumbers {
    /// The numbers of these rows.
    pub fn of(rows: RowsId) -> Self {
        RowNumbers { ty: Type { rows: Some(rows), ..Type::scalar(DType::I64) } }
    }
}

/// Checks the optional last input of an operator that draws random numbers: from input `first` on, there is nothing or
/// one value with the number of each row in the fed batch.
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

/// Numbers that are drawn by the numbers of rows, input `first`, belong to the rows. Otherwise they are drawn by
/// position.
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
