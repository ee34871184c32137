//! `share` and `shared`: what parameter servers tell each other before an update.

use super::send::EXCHANGES;
use super::{AccuracyClass, Infer, Mismatch, MismatchKind, Operation, Schema, Slot};
use crate::program::{DType, Type};

/// Gives `X` to all parameter servers, under the name of the piece that it was computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The name of the piece.
    pub piece: String,
}

/// What the server that has the piece has shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The name of the piece.
    pub piece: String,
    /// The type of what was shared.
    pub ty: Type,
}

attributes!(Share { piece = String::new() });
attributes!(Shared { piece = String::new(), ty: Type::scalar(DType::F32) });

/// Whether values of this type have known sizes.
fn is_known(ty: &Type) -> bool {
    ty.rows.is_none() && ty.dims.iter().all(|dim| dim.constant().is_some_and(|size| size >= 0))
}

impl Operation for Share {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "share",
                doc: "x, given to all parameter servers.",
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
        match is_known(cx.ty(0)) {
            true => Ok(Vec::new()),
            false => {
                let message = format!("{}; what is shared has known sizes", cx.is(0));
                Err(cx.wrong(0, MismatchKind::Shape, message))
            }
        }
    }
}

impl Operation for Shared {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "shared",
                doc: "What a parameter server has given to all.",
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
        match is_known(&self.ty) {
            true => Ok(vec![self.ty.clone()]),
            false => Err(cx.fail(MismatchKind::Attribute, "what is shared has known sizes")),
        }
    }
}
