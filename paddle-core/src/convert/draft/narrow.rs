//! Values as element types have them that are narrower than ours.

use super::At;
use crate::convert::error::Fault;
use crate::convert::from_wire::{bits, half};
use crate::ops::compositions::narrow::{Rest, to_half, wrap};
use crate::ops::{Cast, Op};
use crate::program::{DType, VarId};
use crate::wire::VarKind;

impl At<'_> {
    /// A value as a narrower type has it; `None` if the type is none of those.
    pub(in crate::convert) fn narrowed(
        &mut self,
        x: VarId,
        kind: VarKind,
        rest: Rest,
    ) -> Result<Option<VarId>, Fault> {
        if let Some(half) = half(kind) {
            let x = self.emit(Cast { dtype: DType::F32 }, &[x])?;
            return to_half(x, half, rest, |op: Op, inputs: &[VarId]| self.emit(op, inputs)).map(Some);
        }
        let Some(bits) = bits(kind) else { return Ok(None) };
        let wide = match self.ty(x).dtype {
            DType::I64 => x,
            _ => self.emit(Cast { dtype: DType::I32 }, &[x])?,
        };
        let dtype = self.ty(wide).dtype;
        let rest = wrap(wide, bits, dtype, |op: Op, inputs: &[VarId]| self.emit(op, inputs))?;
        self.emit(Cast { dtype: DType::I32 }, &[rest]).map(Some)
    }
}
