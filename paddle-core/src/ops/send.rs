//! `send`, `send_rows` and `send_barrier`: what a trainer gives to parameter servers.

use super::{AccuracyClass, Effects, Infer, Mismatch, MismatchKind, Operation, Schema, Slot};
use crate::program::{DType, Type};

/// Sends the rows `begin..end` of `X`, along its first axis, to a server. A value without axes is one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// The name of the piece on the server.
    pub piece: String,
    /// The number of the server.
    pub to: i64,
    /// The first row.
    pub begin: i64,
    /// The row behind the last one.
    pub end: i64,
}

/// Sends rows of a sparse gradient to a server: those of `Ids` that are in `begin..end`, each id once, with the sum over its
/// places in their order. Behind `Rows` and `Ids` come those of further lookups, whose sums are added in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRows {
    /// The name of the piece on the server.
    pub piece: String,
    /// The number of the server.
    pub to: i64,
    /// The first row of the table that the server has.
    pub begin: i64,
    /// The row behind the last one.
    pub end: i64,
    /// The number of the row that has no gradient; -1 for none.
    pub padding_idx: i64,
}

/// Says that what was sent so far goes on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBarrier;

attributes!(Send { piece = String::new(), to = 0, begin = 0, end = 0 });
attributes!(SendRows { piece = String::new(), to = 0, begin = 0, end = 0, padding_idx = -1 });
attributes!(SendBarrier {});

/// What operators do that talk to other machines: nothing leaves them out, and no gradient passes.
pub(super) const EXCHANGES: Effects = Effects { differentiable: false, exchanges: true, ..Effects::STATE };

/// Errors unless `begin..end` are rows of input `k`, whose sizes are known.
pub(super) fn check_rows(cx: &Infer<'_>, k: usize, begin: i64, end: i64) -> Result<(), Mismatch> {
    let Type { rows, dims, .. } = cx.ty(k);
    let count = dims.first().map_or(Some(1), |dim| dim.constant());
    let is_known = rows.is_none() && dims.iter().all(|dim| dim.constant().is_some());
    match count.filter(|_| is_known) {
        None => {
            Err(cx.wrong(k, MismatchKind::Shape, format!("{}; pieces are cut from known sizes", cx.is(k))))
        }
        Some(count) if 0 <= begin && begin <= end && end <= count => Ok(()),
        Some(_) => {
            let message = format!("{}, which has no rows {begin}..{end}", cx.is(k));
            Err(cx.wrong(k, MismatchKind::Attribute, message))
        }
    }
}

impl Operation for Send {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "send",
                doc: "Rows of x, sent to a parameter server.",
                inputs: &[Slot::of("X")],
                outputs: &[],
                accuracy: AccuracyClass::MOVED,
                effects: EXCHANGES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        check_rows(cx, 0, self.begin, self.end)?;
        Ok(Vec::new())
    }
}

impl Operation for SendRows {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "send_rows",
                doc: "Rows of a sparse gradient, sent to a parameter server.",
                inputs: &[Slot::of("Rows"), Slot::of("Ids"), Slot::of("Others").variadic()],
                outputs: &[],
                accuracy: AccuracyClass::Accumulating("sums over the places of an id"),
                effects: EXCHANGES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let inputs = cx.types.len();
        if !inputs.is_multiple_of(2) {
            return Err(cx.fail(MismatchKind::Count, "each gradient comes with its ids"));
        }
        for k in (0..inputs).step_by(2) {
            if cx.ty(k).dtype != cx.ty(0).dtype || !cx.ty(k).dtype.is_float() {
                return Err(cx.wrong(k, MismatchKind::ElementType, format!("{}: not a gradient", cx.is(k))));
            }
            if cx.ty(k + 1).dtype != DType::I64 {
                return Err(cx.wrong(
                    k + 1,
                    MismatchKind::ElementType,
                    format!("{}: ids are i64", cx.is(k + 1)),
                ));
            }
        }
        Ok(Vec::new())
    }
}

impl Operation for SendBarrier {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "send_barrier",
                doc: "What was sent so far goes on its way.",
                inputs: &[],
                outputs: &[],
                accuracy: AccuracyClass::MOVED,
                effects: EXCHANGES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, _: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(Vec::new())
    }
}
