//! Rules for operators that read images at places which a network computes.

use crate::convert::draft::{At, Outside, Sampling};
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::product;
use crate::ops::{BinaryKind, Cast, Concat, Fill, Matmul, Number, RowsToAxis, Transpose};
use crate::program::{DType, Dim, Type, VarId};

/// The most elements of a filter, each of which has places of its own.
const MOST_ELEMENTS: i64 = 1 << 10;

impl Reading<'_, '_> {
    /// Jaderberg et al., "Spatial transformer networks", 2015: `Grid` has a place for each element of the result, -1 and 1
    /// being the ends of the image.
    pub(super) fn grid_sampler(&mut self) -> Result<bool, ConvertError> {
        let (x, grid) = (self.input("X")?, self.input("Grid")?);
        let aligned = self.bool("align_corners", true)?;
        let outside = match self.desc.attr_string("padding_mode")?.unwrap_or("zeros") {
            "zeros" => Outside::Zeros,
            "border" => Outside::Border,
            "reflection" => Outside::Reflection { at_edges: !aligned },
            _ => return self.lacks("its padding is neither zeros nor border nor reflection"),
        };
        let is_nearest = match self.desc.attr_string("mode")?.unwrap_or("bilinear") {
            "bilinear" => false,
            "nearest" => true,
            _ => return self.lacks("it is neither bilinear nor nearest"),
        };
        let mut at = self.at();
        let (images, grid, had_rows) = match [at.with_any_rows(x)?, at.with_any_rows(grid)?] {
            [Some((images, had)), Some((grid, _))] => (images, grid, had),
            _ => return Ok(false),
        };
        let (of, to) = (at.ty(images).dims.clone(), at.ty(grid).dims.clone());
        let ([channels, height, width], [down, across, two]) = (&of[..], &to[..]) else {
            return self.lacks("its images have not four dimensions");
        };
        if two.constant() != Some(2) {
            return Ok(false);
        }
        let mut places = Vec::new();
        for (axis, size) in [(1, height), (0, width)] {
            let part = at.part(grid, 3, axis, 1)?;
            let part = at.shaped(part, vec![product(&[down.clone(), across.clone()])?])?;
            places.push(at.unnormalised(part, size, aligned)?);
        }
        let sampled = at.sampled(images, [places[0], places[1]], Sampling { outside, is_nearest })?;
        let Some(sampled) = sampled else { return self.lacks("its images and places have other rows") };
        let sampled = at.shaped(sampled, vec![channels.clone(), down.clone(), across.clone()])?;
        let sampled = if had_rows { sampled } else { at.emit(RowsToAxis, &[sampled])? };
        self.tried(Ok(Ok(sampled)), "Output")
    }

    /// The places of a [grid](Self::grid_sampler) that a matrix moves: `Theta` is `[_, 2, 3]`.
    pub(super) fn affine_grid(&mut self) -> Result<bool, ConvertError> {
        let theta = self.input("Theta")?;
        let aligned = self.bool("align_corners", true)?;
        let Some(shape) = self.dims("output_shape", "OutputShape", "")? else {
            return self.lacks("the size of its result is not known");
        };
        let dtype = self.ty(theta).dtype;
        let [_, _, height, width] = &shape[..] else {
            return self.lacks("its result has no height and width");
        };
        let rows = usize::from(self.ty(theta).rows.is_some());
        if self.ty(theta).rank() != 3 {
            return self.lacks("it has no matrices");
        }
        let matrix = &self.ty(theta).dims[1 - rows..];
        if matrix.iter().map(Dim::constant).ne([Some(2), Some(3)]) {
            return self.lacks("its matrices are not of two rows and three columns");
        }
        let before = self.ty(theta).dims[..1 - rows].to_vec();
        let all = vec![product(&[height.clone(), width.clone()])?, Dim::from(1)];
        let mut at = self.at();
        let grid = [height.clone(), width.clone(), Dim::from(1)];
        let mut columns = Vec::new();
        for axis in [1, 0] {
            let line = at.normalised(&grid[axis], aligned, dtype)?;
            let mut dims = vec![Dim::from(1); 3];
            dims[axis] = grid[axis].clone();
            let line = at.shaped(line, dims)?;
            let whole = at.emit(Fill::zeros(Type { dtype, rows: None, dims: grid.to_vec() }), &[])?;
            let line = at.binary(BinaryKind::Add, whole, line)?;
            columns.push(at.shaped(line, all.clone())?);
        }
        columns.push(
            at.emit(Fill { value: Number::Float(1.0), ty: Type { dtype, rows: None, dims: all } }, &[])?,
        );
        let places = at.emit(Concat { axis: 1 }, &columns)?;
        // `[places, 3] · [3, 2]`, as the product of the other two, turned: rows stay in front.
        let turned = at.emit(Transpose { perm: vec![1, 0] }, &[places])?;
        let moved = at.emit(Matmul::PLAIN, &[theta, turned])?;
        let moved = at.emit(Transpose { perm: vec![0, 2, 1] }, &[moved])?;
        let dims = [&before[..], &[height.clone(), width.clone(), Dim::from(2)]].concat();
        let moved = at.shaped(moved, dims);
        self.tried(moved.map(Ok), "Output")
    }

    /// Zhu et al., "Deformable ConvNets v2", 2019: a convolution each of whose elements is read beside its place, and has a
    /// weight of its own.
    pub(super) fn deformable_conv(&mut self) -> Result<bool, ConvertError> {
        let (x, offset, filter) = (self.input("Input")?, self.input("Offset")?, self.input("Filter")?);
        let mask = if self.has(&["Mask"]) { Some(self.input("Mask")?) } else { None };
        let pair = |name: &'static str, default: i64| {
            let found = self.desc.attr_longs(name)?.unwrap_or_else(|| vec![default; 2]);
            Ok::<_, Fault>(<[i64; 2]>::try_from(found).ok())
        };
        let (strides, paddings, dilations) =
            (pair("strides", 1)?, pair("paddings", 0)?, pair("dilations", 1)?);
        let (Some(strides), Some(paddings), Some(dilations)) = (strides, paddings, dilations) else {
            return self.lacks("its strides, paddings or dilations are not two");
        };
        let groups = self.desc.attr_long("groups")?.unwrap_or(1);
        let offset_groups = self.desc.attr_long("deformable_groups")?.unwrap_or(1);
        let sizes: Option<Vec<i64>> = self.ty(filter).dims.iter().map(Dim::constant).collect();
        let Some(&[filters, each, tall, wide]) = sizes.as_deref() else {
            return self.lacks("sizes of its filters are not known");
        };
        let elements = tall.saturating_mul(wide);
        if !(1..=MOST_ELEMENTS).contains(&elements) || groups < 1 || offset_groups < 1 {
            return self.lacks("its filters are too large, or it has no groups");
        }
        let mut at = self.at();
        let Some((images, had_rows)) = at.with_any_rows(x)? else { return Ok(false) };
        let Some((offset, _)) = at.with_any_rows(offset)? else { return Ok(false) };
        let mask = match mask {
            Some(mask) => match at.with_any_rows(mask)? {
                Some((mask, _)) => Some(mask),
                None => return Ok(false),
            },
            None => None,
        };
        let (of, to) = (at.ty(images).dims.clone(), at.ty(offset).dims.clone());
        let (Some(channels), [_, _, _], [_, down, across]) = (of[0].constant(), &of[..], &to[..]) else {
            return self.lacks("its images or offsets have not four dimensions");
        };
        if channels < 1
            || channels % offset_groups != 0
            || channels % groups != 0
            || filters % groups != 0
            || each != channels / groups
        {
            return self.lacks("its channels are not a multiple of its groups");
        }
        let dtype = at.ty(images).dtype;
        let all = product(&[down.clone(), across.clone()])?;
        let per_group = channels / offset_groups;
        let sampling = Sampling { outside: Outside::Zeros, is_nearest: false };
        let mut columns = Vec::new();
        for group in 0..offset_groups {
            let part = at.part(images, 1, group * per_group, per_group)?;
            // Offsets are pairs, one for each element of the filter.
            let pairs = at.part(offset, 1, group * 2 * elements, 2 * elements)?;
            let pairs =
                at.shaped(pairs, vec![Dim::from(elements), Dim::from(2), down.clone(), across.clone()])?;
            let mut places = Vec::new();
            for axis in 0..2 {
                let window = [down, across][axis];
                let own = at.part(pairs, 2, axis as i64, 1)?;
                let own = at.shaped(own, vec![Dim::from(elements), down.clone(), across.clone()])?;
                let first = at.counted(window, 1 + axis, 3, dtype)?;
                let first = at.scaled(first, strides[axis] as f64, -paddings[axis] as f64)?;
                let of_element: Vec<f64> = (0..elements)
                    .map(|element| [element / wide, element % wide][axis] as f64 * dilations[axis] as f64)
                    .collect();
                let of_element = at.numbers(&of_element, Type::new(dtype, [elements, 1, 1]))?;
                let place = at.binary(BinaryKind::Add, own, first)?;
                let place = at.binary(BinaryKind::Add, place, of_element)?;
                places.push(at.shaped(place, vec![product(&[Dim::from(elements), all.clone()])?])?);
            }
            let sampled = at.sampled(part, [places[0], places[1]], sampling)?;
            let Some(mut sampled) = sampled else {
                return self.lacks("its images and offsets have other rows");
            };
            if let Some(mask) = mask {
                let weight = at.part(mask, 1, group * elements, elements)?;
                let dims = at.ty(sampled).dims.clone();
                let weight = at.shaped(weight, vec![Dim::from(1), dims[1].clone()])?;
                sampled = at.binary(BinaryKind::Mul, sampled, weight)?;
            }
            columns.push(sampled);
        }
        let columns = if columns.len() == 1 { columns[0] } else { at.emit(Concat { axis: 1 }, &columns)? };
        let mut maps = Vec::new();
        for group in 0..groups {
            let own = at.part(columns, 1, group * each, each)?;
            let own = at.shaped(own, vec![Dim::from(each * elements), all.clone()])?;
            let own = at.emit(Transpose { perm: vec![0, 2, 1] }, &[own])?;
            let part = at.part(filter, 0, group * (filters / groups), filters / groups)?;
            let part = at.shaped(part, vec![Dim::from(filters / groups), Dim::from(each * elements)])?;
            let map = at.emit(Matmul { trans_x: false, trans_y: true }, &[own, part])?;
            maps.push(at.emit(Transpose { perm: vec![0, 2, 1] }, &[map])?);
        }
        let map = if maps.len() == 1 { maps[0] } else { at.emit(Concat { axis: 1 }, &maps)? };
        let map = at.shaped(map, vec![Dim::from(filters), down.clone(), across.clone()])?;
        let map = if had_rows { map } else { at.emit(RowsToAxis, &[map])? };
        self.tried(Ok(Ok(map)), "Output")
    }
}

impl At<'_> {
    /// A value with rows, and whether it had them.
    fn with_any_rows(&mut self, value: VarId) -> Result<Option<(VarId, bool)>, Fault> {
        let had = self.ty(value).rows.is_some();
        Ok(self.along_rows(value)?.map(|value| (value, had)))
    }

    /// 0, 1, 2, … along one of so many axes, which are no rows.
    fn counted(&mut self, size: &Dim, axis: usize, axes: usize, dtype: DType) -> Result<VarId, Fault> {
        let numbers = self.count_to(size.clone())?;
        let numbers = self.emit(Cast { dtype }, &[numbers])?;
        let mut dims = vec![Dim::from(1); axes];
        dims[axis] = size.clone();
        self.shaped(numbers, dims)
    }

    /// Places from -1 to 1 as numbers of elements. With `aligned`, the ends are the middles of the outermost elements,
    /// otherwise their edges.
    fn unnormalised(&mut self, place: VarId, size: &Dim, aligned: bool) -> Result<VarId, Fault> {
        let dtype = self.ty(place).dtype;
        let size = self.size_as(size, dtype)?;
        let size = self.shaped(size, Vec::new())?;
        let place = self.scaled(place, 1.0, 1.0)?;
        match aligned {
            true => {
                let last = self.scaled(size, 0.5, -0.5)?;
                self.binary(BinaryKind::Mul, place, last)
            }
            false => {
                let half = self.scaled(size, 0.5, 0.0)?;
                let place = self.binary(BinaryKind::Mul, place, half)?;
                self.scaled(place, 1.0, -0.5)
            }
        }
    }

    /// The places of the elements along an axis, from -1 to 1.
    fn normalised(&mut self, size: &Dim, aligned: bool, dtype: DType) -> Result<VarId, Fault> {
        let number = self.counted(size, 0, 1, dtype)?;
        let size = self.size_as(size, dtype)?;
        let size = self.shaped(size, Vec::new())?;
        let (number, parts) = match aligned {
            true => (number, self.scaled(size, 0.5, -0.5)?),
            false => (self.scaled(number, 1.0, 0.5)?, self.scaled(size, 0.5, 0.0)?),
        };
        let place = self.binary(BinaryKind::Div, number, parts)?;
        self.scaled(place, 1.0, -1.0)
    }
}
