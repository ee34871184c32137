//! Rules for windows that slide along signals and images, and for channels that move along time.

use crate::convert::draft::{MOST_POSITIONS, positions_of};
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::product;
use crate::ops::{
    AssignValue, BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Gather, Number, Select, Transpose,
    Unfold, UnfoldGrad,
};
use crate::program::{DType, Dim, Type, VarId};

impl Reading<'_, '_> {
    /// Lin et al., "TSM: temporal shift module", 2019: the first channels come from the step behind, the next ones from the one
    /// before. The steps of a video lie one after another in the batch.
    pub(super) fn temporal_shift(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let steps = self.desc.attr_long("seg_num")?.unwrap_or(1);
        let ratio = f64::from(self.desc.attr_float("shift_ratio")?.unwrap_or(0.25));
        let last = self.channels_last("data_format")?;
        let ty = self.ty(x).clone();
        if ty.rows.is_some() || ty.dims.len() != 4 || steps < 1 {
            return Ok(false);
        }
        let axis = if last { 3 } else { 1 };
        let Some(channels) = ty.dims[axis].constant() else {
            return self.lacks("the number of its channels is not known");
        };
        let (first, second) = ((channels as f64 * ratio) as i64, (channels as f64 * 2.0 * ratio) as i64);
        if !(0 <= first && first <= second && second <= channels) {
            return self.lacks("it shifts more channels than there are");
        }
        let mut at = self.at();
        let step = at.count_to(ty.dims[0].clone())?;
        let one = Type::new(DType::I64, [1]);
        let count = at.emit(AssignValue { values: vec![Number::Int(steps)], ty: one }, &[])?;
        let within = at.binary(BinaryKind::Mod, step, count)?;
        let mut parts = Vec::new();
        // From which step the channels come, and which step has none: the first one, or the last.
        for (from, to, distance, without) in
            [(0, first, -1, 0), (first, second, 1, steps - 1), (second, channels, 0, 0)]
        {
            if from == to {
                continue;
            }
            let mut part = at.part(x, axis, from, to - from)?;
            if distance != 0 {
                let without = at.number(without as f64, DType::I64)?;
                let has = at.emit(Compare { kind: CompareKind::NotEqual }, &[within, without])?;
                // A step that has none takes itself, and then nothing.
                let moves = at.emit(Cast { dtype: DType::I64 }, &[has])?;
                let moves = at.scaled(moves, distance as f64, 0.0)?;
                let place = at.binary(BinaryKind::Add, step, moves)?;
                part = at.emit(Gather { axis: 0 }, &[part, place])?;
                let mut dims = vec![Dim::from(1); 4];
                dims[0] = ty.dims[0].clone();
                let has = at.shaped(has, dims)?;
                let zero = at.number(0.0, ty.dtype)?;
                part = at.emit(Select, &[has, part, zero])?;
            }
            parts.push(part);
        }
        let shifted = match parts[..] {
            [one] => Ok(one),
            _ => at.emit(Concat { axis: axis as i64 }, &parts),
        };
        self.tried(shifted.map(Ok), "Out")
    }

    /// Parts of signals, each of which begins some elements behind the one before. With axis -1, a part is a column.
    pub(super) fn frame(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let (Some(length), Some(hop)) =
            (self.desc.attr_long("frame_length")?, self.desc.attr_long("hop_length")?)
        else {
            return Ok(false);
        };
        let is_last = self.desc.attr_long("axis")?.unwrap_or(-1) != 0;
        let rank = self.ty(x).rank();
        let axis = if is_last { rank.saturating_sub(1) } else { 0 };
        let Some(size) = self.at().constant_size(x, axis) else {
            return self.lacks("the length of its signals is not known");
        };
        if length < 1 || hop < 1 || length > size {
            return self.lacks("its parts are longer than its signals");
        }
        let count = (size - length) / hop + 1;
        if length.saturating_mul(count) > MOST_POSITIONS {
            return self.lacks("it has too many parts");
        }
        let positions = match is_last {
            true => (0..length).flat_map(|k| (0..count).map(move |part| part * hop + k)).collect(),
            false => (0..count).flat_map(|part| (0..length).map(move |k| part * hop + k)).collect(),
        };
        let sizes = if is_last { [length, count] } else { [count, length] };
        let mut list = positions_of(positions);
        list.ty.dims = sizes.map(Dim::from).to_vec();
        let list = self.emit(list, &[])?;
        self.out(Gather { axis: axis as i64 }, &[x, list])
    }

    /// The reverse of a [frame](Self::frame): what several parts cover is added.
    pub(super) fn overlap_add(&mut self) -> Result<bool, ConvertError> {
        let mut x = self.input("X")?;
        let Some(hop) = self.desc.attr_long("hop_length")? else { return Ok(false) };
        let ty = self.ty(x).clone();
        let is_last = self.desc.attr_long("axis")?.unwrap_or(-1) != 0;
        if ty.rank() < 2 {
            return self.lacks("it has no parts");
        }
        if !is_last {
            if ty.rows.is_some() {
                return Ok(false);
            }
            // Parts come first; they are made the last two axes, a column each.
            let rank = ty.rank() as i64;
            x = self.emit(Transpose { perm: (2..rank).chain([1, 0]).collect() }, &[x])?;
        }
        let rank = ty.rank();
        let (Some(length), Some(count)) =
            (self.at().constant_size(x, rank - 2), self.at().constant_size(x, rank - 1))
        else {
            return self.lacks("the number or length of its parts is not known");
        };
        if hop < 1 || length < 1 || count < 1 {
            return Ok(false);
        }
        let size = (count - 1).checked_mul(hop).and_then(|last| last.checked_add(length));
        let Some(size) = size else { return self.lacks("its signals are too long") };
        let dims = self.ty(x).dims.clone();
        let before = dims[..dims.len() - 2].to_vec();
        let mut at = self.at();
        let all = product(&before)?;
        let flat = at.shaped(
            x,
            match ty.rows {
                // Signals of a row, or of all: an image of one line for each.
                Some(_) => vec![all.clone(), Dim::from(length), Dim::from(count)],
                None => vec![all.clone(), Dim::from(length), Dim::from(count)],
            },
        )?;
        let flat = match ty.rows {
            Some(_) => {
                at.shaped(flat, vec![product(&[all.clone(), Dim::from(length)])?, Dim::from(count)])?
            }
            None => flat,
        };
        let image = match ty.rows {
            Some(_) => vec![all, Dim::from(1), Dim::from(size)],
            None => vec![all, Dim::from(1), Dim::from(1), Dim::from(size)],
        };
        let window =
            Unfold { kernel_sizes: [1, length], strides: [1, hop], paddings: [0; 4], dilations: [1, 1] };
        let like = at.emit(Fill::zeros(Type { dims: image, ..ty.clone() }), &[])?;
        let sum = at.emit(UnfoldGrad(window), &[like, flat])?;
        let dims = [&before[..], &[Dim::from(size)]].concat();
        let mut sum = at.shaped(sum, dims)?;
        if !is_last && rank > 2 {
            let rank = rank as i64 - 1;
            sum = at.emit(Transpose { perm: [rank - 1].into_iter().chain(0..rank - 1).collect() }, &[sum])?;
        }
        self.tried(Ok(Ok(sum)), "Out")
    }

    /// The reverse of `unfold`: what several windows cover is added.
    pub(super) fn fold(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let numbers = |name: &'static str| self.desc.attr_longs(name).map(Option::unwrap_or_default);
        let pair = |name| Ok::<_, Fault>(<[i64; 2]>::try_from(numbers(name)?).ok());
        let (sizes, kernel) = (pair("output_sizes")?, pair("kernel_sizes")?);
        let (strides, dilations) = (pair("strides")?, pair("dilations")?);
        let paddings = match numbers("paddings")?[..] {
            [all] => Some([all; 4]),
            [down, across] => Some([down, across, down, across]),
            [above, left, below, right] => Some([above, left, below, right]),
            _ => None,
        };
        let (Some(sizes), Some(kernel), Some(strides), Some(dilations), Some(paddings)) =
            (sizes, kernel, strides, dilations, paddings)
        else {
            return self.lacks("its sizes, strides, paddings or dilations are not two");
        };
        let ty = self.ty(x).clone();
        let [.., lines, _] = &ty.dims[..] else { return Ok(false) };
        let Some(lines) = lines.constant().filter(|_| ty.rank() == 3) else {
            return self.lacks("the number of its channels is not known");
        };
        let elements = kernel[0].saturating_mul(kernel[1]);
        if elements < 1 || lines % elements != 0 {
            return self.lacks("its channels are not a multiple of a window's elements");
        }
        let image = [lines / elements, sizes[0], sizes[1]].map(Dim::from);
        let dims = [&ty.dims[..ty.dims.len() - 2], &image].concat();
        let window = Unfold { kernel_sizes: kernel, strides, paddings, dilations };
        let like: VarId = self.emit(Fill::zeros(Type { dims, ..ty }), &[])?;
        let sum = self.emit(UnfoldGrad(window), &[like, x]);
        self.tried(sum.map(Ok), "Y")
    }
}
