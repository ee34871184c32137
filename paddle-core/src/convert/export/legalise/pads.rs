//! Padding. The kernel of `pad` in PaddlePaddle's default predictor, oneDNN's, takes the axes in reverse order and writes outside of
//! its result (2.6.2 and 3.3.1). That of `pad3d` does neither, so values are padded as volumes.

use super::{LegaliseError, Legaliser};
use crate::convert::types::product;
use crate::ops::{Operator, Pad};
use crate::program::{DType, Dim, Type};
use crate::wire::{OpAttr, OpDesc};

/// The axes of a volume that can be padded.
const AXES: usize = 3;

/// Neighbouring axes that are one axis of a volume, and the elements before and behind them.
struct Segment {
    size: Dim,
    paddings: [i64; 2],
}

impl Legaliser<'_> {
    pub(super) fn pad(&mut self, at: usize, operator: &Operator, op: &Pad) -> Result<(), LegaliseError> {
        let program = self.program;
        let x = program.ty(operator.inputs[0]);
        // There is no kernel for truth values.
        let dtype = if x.dtype == DType::Bool { DType::I32 } else { x.dtype };
        let mut ty = x.with_dtype(dtype);
        let mut value = self.name(operator.inputs[0]);
        if ty.dtype != x.dtype {
            value = self.cast(at, value, x, dtype);
        }
        let rows = usize::from(x.rows.is_some());
        let paddings = op.paddings.chunks_exact(2).skip(rows).map(|both| [both[0], both[1]]).collect();
        (value, ty) = self.padded(at, operator, (value, ty), paddings, op.pad_value)?;
        if dtype != x.dtype {
            value = self.cast(at, value, &ty, x.dtype);
        }
        self.names.insert(operator.outputs[0], value);
        Ok(())
    }

    /// A variable with elements before and behind its axes, without that of the rows.
    pub(super) fn padded(
        &mut self,
        at: usize,
        operator: &Operator,
        (mut value, mut ty): (String, Type),
        mut left: Vec<[i64; 2]>,
        pad_value: f64,
    ) -> Result<(String, Type), LegaliseError> {
        while let Some(first) = left.iter().position(|both| *both != [0, 0]) {
            // Axes that do not fit into one volume are padded one by one.
            let mut now = left.clone();
            if segments(&ty, &now, first).is_some_and(|segments| segments.len() > AXES) {
                now.iter_mut().skip(first + 1).for_each(|both| *both = [0, 0]);
            }
            let Some(volume) = Volume::of(&ty, &now, first) else {
                return self.refuse(operator, "a size exceeds 64 bits");
            };
            value = self.reshaped(at, operator, value, &ty, &volume.before)?;
            let pad = OpDesc::new("pad3d")
                .with_attr(OpAttr::ints("paddings", volume.paddings))
                .with_attr(OpAttr::string("mode", "constant"))
                .with_attr(OpAttr::float("value", pad_value as f32))
                .with_attr(OpAttr::string("data_format", "NCDHW"));
            value = self.step(at, pad, value, &volume.behind);
            value = self.reshaped(at, operator, value, &volume.behind, &volume.out)?;
            ty = volume.out;
            left.iter_mut().zip(now).filter(|(_, now)| *now != [0, 0]).for_each(|(left, _)| *left = [0, 0]);
        }
        Ok((value, ty))
    }
}

/// A value as a volume of which at most three segments of axes are padded.
struct Volume {
    before: Type,
    behind: Type,
    /// The value that was padded, with its own axes.
    out: Type,
    /// Of the last axis first.
    paddings: Vec<i32>,
}

impl Volume {
    /// `None` if a size overflows. No axis before `first` is padded.
    fn of(ty: &Type, paddings: &[[i64; 2]], first: usize) -> Option<Self> {
        let segments = segments(ty, paddings, first)?;
        let batch = (ty.rows.is_none()).then(|| Dim::from(1));
        let ones = vec![Dim::from(1); AXES.checked_sub(segments.len())?];
        let sizes = segments.iter().map(|segment| segment.size.clone());
        let dims: Vec<Dim> =
            batch.into_iter().chain([product(&ty.dims[..first]).ok()?]).chain(ones).chain(sizes).collect();
        let mut of_axes = vec![[0, 0]; dims.len() - segments.len()];
        of_axes.extend(segments.iter().map(|segment| segment.paddings));
        let of_segments = segments.iter().rev().flat_map(|segment| segment.paddings);
        let mut numbers = of_segments.map(|count| i32::try_from(count).ok()).collect::<Option<Vec<i32>>>()?;
        numbers.resize(2 * AXES, 0);
        let before = Type { dims, ..ty.clone() };
        Some(Volume {
            behind: out_of(&before, &of_axes)?,
            before,
            out: out_of(ty, paddings)?,
            paddings: numbers,
        })
    }
}

/// The axes from `first` on: those that are padded one by one, and others with their neighbours.
fn segments(ty: &Type, paddings: &[[i64; 2]], first: usize) -> Option<Vec<Segment>> {
    let mut segments: Vec<Segment> = Vec::new();
    for (dim, &paddings) in ty.dims.iter().zip(paddings).skip(first) {
        match segments.last_mut() {
            Some(last) if paddings == [0, 0] && last.paddings == [0, 0] => {
                last.size = (&last.size * dim).ok()?;
            }
            _ => segments.push(Segment { size: dim.clone(), paddings }),
        }
    }
    Some(segments)
}

/// The type with the elements before and behind axes.
fn out_of(ty: &Type, paddings: &[[i64; 2]]) -> Option<Type> {
    let more = |(dim, both): (&Dim, &[i64; 2])| (dim + &Dim::from(both[0].checked_add(both[1])?)).ok();
    Some(Type { dims: ty.dims.iter().zip(paddings).map(more).collect::<Option<_>>()?, ..ty.clone() })
}
