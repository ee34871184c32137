//! `lookup_table_v2`: rows of a table by their indices, as in an embedding of words.

use super::{
    AccuracyClass, Effects, Form, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation,
    Operator, Program, Sample, Schema, Slot, SumOfRows,
};
use crate::program::{DType, Dim, Type, VarId};

/// `Out[.., j] = W[Ids[..], j]`.
///
/// `Ids`: i64, any shape; `W`: floating point `[entries, size]`; `Out`: the shape of `Ids` and `size` behind it. The
/// entry `padding_idx` reads as zeros and has no gradient. An id out of range is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupTable {
    /// The id that reads as zeros; -1 for none.
    pub padding_idx: i64,
}

/// Gradient of [`LookupTable`] with respect to the table: each row of `Out@GRAD` is added to the entry that it was read
/// from, in order. `W` is read for its shape only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupTableGrad(
    /// The operator that is differentiated.
    pub LookupTable,
);

attributes!(LookupTable { padding_idx = -1 });
attributes!(LookupTableGrad(LookupTable));

/// The type of the entries that ids (input `at`) read from a table (input `of`).
pub(super) fn looked_up(cx: &Infer<'_>, [at, of]: [usize; 2], padding_idx: i64) -> Result<Type, Mismatch> {
    let (ids, table) = (cx.ty(at), cx.ty(of));
    if ids.dtype != DType::I64 {
        let message = format!("{}, but `{}` needs ids of element type i64", cx.is(at), cx.operator);
        return Err(cx.wrong(at, MismatchKind::ElementType, message));
    }
    cx.need_float(of)?;
    let (None, [entries, size]) = (table.rows, &table.dims[..]) else {
        let message = format!("{}, but `{}` needs a table: [entries, size]", cx.is(of), cx.operator);
        return Err(cx.wrong(of, MismatchKind::Shape, message));
    };
    let wrong = || {
        let entries = cx.program.show_dim(entries);
        let message = format!("`padding_idx` is {padding_idx}, but the table has {entries} entries");
        cx.fail(MismatchKind::Attribute, message)
    };
    if padding_idx < -1 {
        return Err(wrong());
    }
    cx.need_positive(&(entries - &Dim::from(padding_idx))?, wrong)?;
    let mut dims = ids.dims.clone();
    dims.push(size.clone());
    Ok(Type { dtype: table.dtype, rows: ids.rows, dims })
}

impl Operation for LookupTable {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "lookup_table_v2",
                doc: "The rows of w at the indices in ids.",
                inputs: &[Slot::of("Ids"), Slot::of("W").picked()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![looked_up(cx, [0, 1], self.padding_idx)?])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (ids, table, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let op = LookupTableGrad(*self);
        Ok(vec![None, Some(g.emit(op, &[ids, table, grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |padding_idx, rows, dims: &[i64], table: &[i64]| {
            let ids = Sample::of(LookupTable { padding_idx }).rows(rows, dims).dtype(DType::I64);
            ids.within(0.0, table[0] as f64).dense(table)
        };
        vec![
            of(-1, 4, &[], &[6, 3]),
            of(-1, 3, &[1], &[5, 2]),
            of(2, 5, &[2], &[3, 4]),
            of(-1, 0, &[2], &[3, 4]),
            // Every entry is read several times.
            of(0, 40, &[], &[2, 33]),
        ]
    }
}

impl Operation for LookupTableGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "lookup_table_v2_grad",
                doc: "Gradient of `lookup_table_v2`.",
                inputs: &[Slot::of("Ids"), Slot::of("W").shape_only(), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("W@GRAD")],
                accuracy: AccuracyClass::Accumulating("a sum over the places of an id"),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(2, &looked_up(cx, [0, 1], self.0.padding_idx)?)?;
        Ok(vec![cx.ty(1).clone()])
    }

    fn form(&self, _: &Program, _: &Operator) -> Option<Form> {
        Some(Form::SumOfRows(SumOfRows { ids: 0, rows: 2, padding_idx: self.0.padding_idx }))
    }
}
