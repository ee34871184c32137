//! `receive`, `prefetch`, `fetch_barrier` and `listen`: what trainers and parameter servers get from each other.

use super::send::{EXCHANGES, check_rows};
use super::{AccuracyClass, Infer, Mismatch, MismatchKind, Operation, Schema, Slot};
use crate::program::{DType, Type};

/// Gets the rows `begin..end` of `Param`, along its first axis, from the server that has them. A value without axes is one
/// row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The name of the piece on the server.
    pub piece: String,
    /// The number of the server.
    pub from: i64,
    /// The first row.
    pub begin: i64,
    /// The row behind the last one.
    pub end: i64,
}

/// Gets rows of a table from the server that has the rows `begin..end`: those of `Ids`. The other rows of `Param` may be
/// old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefetch {
    /// The name of the piece on the server.
    pub piece: String,
    /// The number of the server.
    pub from: i64,
    /// The first row that the server has.
    pub begin: i64,
    /// The row behind the last one.
    pub end: i64,
}

/// Says that everything has been received but rows of tables. All of it is of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchBarrier;

/// The gradient of a piece: the sum of what the trainers have sent for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listen {
    /// The name of the piece.
    pub piece: String,
    /// The type of the piece.
    pub ty: Type,
}

attributes!(Receive { piece = String::new(), from = 0, begin = 0, end = 0 });
attributes!(Prefetch { piece = String::new(), from = 0, begin = 0, end = 0 });
attributes!(FetchBarrier {});
attributes!(Listen { piece = String::new(), ty: Type::scalar(DType::F32) });

impl Operation for Receive {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "receive",
                doc: "Rows of a parameter, from a parameter server.",
                inputs: &[Slot::of("Param").changed()],
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

impl Operation for Prefetch {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "prefetch",
                doc: "The rows of a table that are looked up, from a parameter server.",
                inputs: &[Slot::of("Param").changed().picked(), Slot::of("Ids")],
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
        if cx.ty(1).dtype != DType::I64 {
            return Err(cx.wrong(1, MismatchKind::ElementType, format!("{}: ids are i64", cx.is(1))));
        }
        Ok(Vec::new())
    }
}

impl Operation for FetchBarrier {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "fetch_barrier",
                doc: "Everything has been received.",
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

impl Operation for Listen {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "listen",
                doc: "The sum of the gradients that trainers have sent.",
                inputs: &[],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: EXCHANGES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        if self.ty.rows.is_some() || self.ty.dims.iter().any(|dim| dim.constant().is_none_or(|size| size < 0))
        {
            return Err(cx.fail(MismatchKind::Attribute, "pieces have known sizes"));
        }
        Ok(vec![self.ty.clone()])
    }
}
