//! `sequence_range`: new sequences of given lengths.

use super::{
    AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Operation, Operator, Program, Schema, Slot,
};
use crate::program::{DType, RowOrigin, RowsId, Type};

/// For each row, a sequence 0, 1, 2, … with `Length` tokens. `Length`: i64 `[P]` or `[P, 1]`; `Out`: i64 `[tokens]`.
///
/// All sequences that are neither fed nor collected by a loop begin with this operator; other operators then bring
/// values to its tokens. A length below 0 is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceRange {
    /// The row space of the new tokens. Their sequences belong to the rows of `Length`.
    pub rows: RowsId,
}

attributes!(SequenceRange { rows: RowsId(0) });

impl Operation for SequenceRange {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_range",
                doc: "0, 1, 2, … in new sequences of these lengths.",
                inputs: &[Slot::of("Length").without_gradient()],
                outputs: &[Slot::of("Out").with_offsets()],
                accuracy: AccuracyClass::Exact("whole numbers"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::I64)?;
        let length = cx.ty(0);
        let one = length.dims.iter().all(|dim| dim.constant() == Some(1)) && length.dims.len() <= 1;
        let Some(parent) = length.rows.filter(|_| one) else {
            let message = format!("{}, but `{}` needs one length for each row", cx.is(0), cx.operator);
            return Err(cx.wrong(0, MismatchKind::Shape, message));
        };
        let space = cx.program.row_spaces().get(self.rows.0 as usize);
        let fits = |origin| origin == RowOrigin::Tokens;
        if !space.is_some_and(|space| space.parent == Some(parent) && fits(space.origin)) {
            let rows = &cx.program.row_space(parent).name;
            let message = format!("`{}` makes tokens of sequences of `{rows}`", cx.operator);
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        Ok(vec![Type { rows: Some(self.rows), ..Type::scalar(DType::I64) }])
    }

    fn makes(&self, _: &Program, _: &Operator) -> Vec<RowsId> {
        vec![self.rows]
    }
}
