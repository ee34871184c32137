//! Rules for operators that gather and scatter by indices, that sort, and that compute running sums.

use crate::convert::dialect::DIMS;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::{dtype, parse_dim};
use crate::ops::{
    Auc, Cast, Concat, CumSum, Fill, Gather, GatherGrad, GatherNd, OneHot, Reshape, Scatter, ScatterNdAdd,
    TakeAlongAxis, TakeAlongAxisGrad, TopK,
};
use crate::program::{DType, Dim, VarId};
use crate::wire::VarKind;

impl Reading<'_, '_> {
    /// The axis in attribute `name`, or in a slot that holds a constant; `None` for the axis of the rows.
    pub(super) fn axis_of(
        &self,
        x: VarId,
        name: &'static str,
        slot: &'static str,
    ) -> Result<Option<i64>, Fault> {
        let axis = match self.has(&[slot]) {
            true => self.constant_int(slot)?,
            false => Some(self.desc.attr_long(name)?.unwrap_or(0)),
        };
        let rows = usize::from(self.ty(x).rows.is_some());
        let axis = axis.and_then(|axis| self.axis(x, axis));
        Ok(axis.filter(|&axis| axis >= rows).map(|axis| axis as i64))
    }

    /// The element type of the output, by attribute or by default.
    fn output_dtype(&self, default: VarKind) -> Result<Option<DType>, Fault> {
        let kind = self.desc.attr_int("dtype")?.filter(|&kind| kind >= 0).unwrap_or(default.into());
        Ok(VarKind::try_from(kind).ok().and_then(dtype))
    }

    /// PaddlePaddle takes the indices as a list or as a column; ours takes a list.
    pub(super) fn gather(&mut self) -> Result<bool, ConvertError> {
        let (x, mut index) = (self.input("X")?, self.ids("Index")?);
        let Some(axis) = self.axis_of(x, "axis", "Axis")? else { return Ok(false) };
        let is_ours = self.desc.r#type.starts_with(crate::convert::dialect::OURS);
        match &self.ty(index).dims[..] {
            [count, one] if !is_ours && self.ty(index).rank() == 2 && *one == Dim::from(1) => {
                let dims = vec![count.clone()];
                index = self.emit(Reshape { dims }, &[index])?;
            }
            [one] if !is_ours && self.ty(index).rank() == 2 && *one == Dim::from(1) => {
                index = self.emit(Reshape { dims: Vec::new() }, &[index])?;
            }
            _ => {}
        }
        let [x_rows, index_rows] = [self.ty(x).rows, self.ty(index).rows];
        // PaddlePaddle does not know rows: indices that have rows choose from all rows.
        if !is_ours && (index_rows.is_some() && (x_rows.is_some() || axis > 0)) {
            return Ok(false);
        }
        let desc = self.desc;
        if desc.r#type.ends_with("_grad") {
            let inputs = [x, index, self.input("Out@GRAD")?];
            return self.define(
                GatherGrad(Gather { axis }),
                &inputs,
                &[],
                &[one(desc.output("X@GRAD"), "X@GRAD")?],
            );
        }
        self.out(Gather { axis }, &[x, index])
    }

    pub(super) fn index_select(&mut self) -> Result<bool, ConvertError> {
        let (x, index) = (self.input("X")?, self.ids("Index")?);
        match self.axis_of(x, "dim", "")? {
            Some(axis) if self.ty(index).rows.is_none() => self.out(Gather { axis }, &[x, index]),
            _ => Ok(false),
        }
    }

    pub(super) fn gather_nd(&mut self) -> Result<bool, ConvertError> {
        let inputs = [self.input("X")?, self.ids("Index")?];
        if self.ty(inputs[0]).rows.is_some() { Ok(false) } else { self.out(GatherNd, &inputs) }
    }

    /// The places of elements that are not 0.
    pub(super) fn where_index(&mut self) -> Result<bool, ConvertError> {
        let mut condition = self.input("Condition")?;
        if self.ty(condition).dtype != DType::Bool {
            condition = self.emit(Cast { dtype: DType::Bool }, &[condition])?;
        }
        match self.at().places_where(condition)? {
            Some(places) => self.out_value(places),
            None => self.lacks("it chooses from rows, or from a single number"),
        }
    }

    /// The elements where a condition holds.
    pub(super) fn masked_select(&mut self) -> Result<bool, ConvertError> {
        let (x, mask, desc) = (self.input("X")?, self.input("Mask")?, self.desc);
        if self.ty(x).rows.is_some() || self.ty(x).dims != self.ty(mask).dims {
            return Ok(false);
        }
        let dims = vec![crate::convert::types::product(&self.ty(x).dims)?];
        let mut at = self.at();
        let Some(places) = at.flat_places_where(mask)? else { return Ok(false) };
        let flat = at.shaped(x, dims)?;
        self.define(Gather { axis: 0 }, &[flat, places], &[], &[one(desc.output("Y"), "Y")?])
    }

    pub(super) fn scatter_nd_add(&mut self) -> Result<bool, ConvertError> {
        let inputs = [self.input("X")?, self.ids("Index")?, self.input("Updates")?];
        if self.ty(inputs[0]).rows.is_some() { Ok(false) } else { self.out(ScatterNdAdd, &inputs) }
    }

    /// The updates replace the elements. Without `overwrite`, the sum of the updates does.
    pub(super) fn scatter(&mut self) -> Result<bool, ConvertError> {
        let (x, mut ids, updates) = (self.input("X")?, self.ids("Ids")?, self.input("Updates")?);
        if [x, ids, updates].iter().any(|&var| self.ty(var).rows.is_some()) {
            return Ok(false);
        }
        if let [count, one] = &self.ty(ids).dims[..]
            && *one == Dim::from(1)
        {
            let dims = vec![count.clone()];
            ids = self.emit(Reshape { dims }, &[ids])?;
        }
        if self.bool("overwrite", true)? {
            return self.out(Scatter, &[x, ids, updates]);
        }
        let ty = self.ty(updates).clone();
        let zeros = self.emit(Fill::zeros(ty), &[])?;
        let without = self.emit(Scatter, &[x, ids, zeros])?;
        let dims = self.ty(ids).dims.iter().cloned().chain([Dim::from(1)]).collect();
        let positions = self.emit(Reshape { dims }, &[ids])?;
        self.out(ScatterNdAdd, &[without, positions, updates])
    }

    pub(super) fn take_along_axis(&mut self) -> Result<bool, ConvertError> {
        let (x, index) = (self.input("Input")?, self.ids("Index")?);
        let Some(axis) = self.axis_of(x, "Axis", "")? else { return Ok(false) };
        let (desc, ops) = (self.desc, TakeAlongAxis { axis });
        if desc.r#type == "take_along_axis" {
            return self.define(ops, &[x, index], &[], &[one(desc.output("Result"), "Result")?]);
        }
        let inputs = [x, index, self.input("Result@GRAD")?];
        let name = one(desc.output("Input@GRAD"), "Input@GRAD")?;
        self.define(TakeAlongAxisGrad(TakeAlongAxis { axis }), &inputs, &[], &[name])
    }

    /// PaddlePaddle may be asked for elements in any order; ours come sorted.
    pub(super) fn top_k(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let last = self.ty(x).rank() as i64 - 1;
        let axis = match desc.r#type.as_str() {
            "top_k" => Some(last).filter(|_| !self.ty(x).dims.is_empty()),
            _ if desc.attr("axis").is_none() => Some(last).filter(|_| !self.ty(x).dims.is_empty()),
            _ => self.axis_of(x, "axis", "")?,
        };
        let Some(axis) = axis else { return Ok(false) };
        if desc.r#type.ends_with("_grad") {
            let inputs = [x, self.input("Indices")?, self.input("Out@GRAD")?];
            let name = one(desc.output("X@GRAD"), "X@GRAD")?;
            return self.define(TakeAlongAxisGrad(TakeAlongAxis { axis }), &inputs, &[], &[name]);
        }
        let op = match desc.r#type.as_str() {
            "argsort" => TopK { k: None, axis, largest: self.bool("descending", false)? },
            _ => {
                let k = match self.has(&["K"]) {
                    true => self.constant_int("K")?,
                    false => Some(desc.attr_long("k")?.unwrap_or(1)),
                };
                let Some(k) = k else { return Ok(false) };
                TopK { k: Some(k), axis, largest: self.bool("largest", true)? }
            }
        };
        self.same_slots(op.into())
    }

    /// The place of the largest or smallest element is that of the first when they are sorted.
    pub(super) fn arg_max(&mut self) -> Result<bool, ConvertError> {
        let (mut x, flatten) = (self.input("X")?, self.bool("flatten", false)?);
        let ty = self.ty(x).clone();
        let Some(dtype) = self.output_dtype(VarKind::Int64)? else { return Ok(false) };
        let keep = self.bool("keepdims", false)?;
        let axis = match flatten {
            true if ty.rows.is_some() => return Ok(false),
            true => {
                x = self.emit(Reshape { dims: vec![crate::convert::types::product(&ty.dims)?] }, &[x])?;
                0
            }
            false => match self.axis_of(x, "axis", "")? {
                Some(axis) => axis,
                None => return Ok(false),
            },
        };
        let op = TopK { k: Some(1), axis, largest: self.desc.r#type == "arg_max" };
        let (id, names) = (self.id(), ["top_k_v2"; 2]);
        let indices = self.reader.draft.append(id, op.into(), &[x], &[], &names, self.site)?[1];
        let at = axis as usize - usize::from(ty.rows.is_some());
        let mut dims = ty.dims;
        match (flatten, keep) {
            (true, true) => dims.fill(Dim::from(1)),
            (true, false) => dims.clear(),
            (false, true) => dims[at] = Dim::from(1),
            (false, false) => drop(dims.remove(at)),
        }
        if dtype == DType::I64 {
            return self.out(Reshape { dims }, &[indices]);
        }
        let indices = self.emit(Reshape { dims }, &[indices])?;
        self.out(Cast { dtype }, &[indices])
    }

    pub(super) fn cumsum(&mut self) -> Result<bool, ConvertError> {
        let mut x = self.input("X")?;
        let (exclusive, reverse) = (self.bool("exclusive", false)?, self.bool("reverse", false)?);
        if self.bool("flatten", false)? {
            if self.ty(x).rows.is_some() {
                return Ok(false);
            }
            let dims = vec![crate::convert::types::product(&self.ty(x).dims)?];
            x = self.emit(Reshape { dims }, &[x])?;
            return self.out(CumSum { axis: 0, exclusive, reverse }, &[x]);
        }
        let axis = match self.desc.attr("axis") {
            Some(_) => self.axis_of(x, "axis", "")?,
            None => Some(self.ty(x).rank() as i64 - 1).filter(|_| !self.ty(x).dims.is_empty()),
        };
        match axis {
            Some(axis) => self.out(CumSum { axis, exclusive, reverse }, &[x]),
            None => Ok(false),
        }
    }

    /// In the first version the ids have a last dimension of 1, which the one-hot rows replace.
    pub(super) fn one_hot(&mut self) -> Result<bool, ConvertError> {
        let mut ids = self.ids("X")?;
        let depth = match (self.has(&["depth_tensor"]), self.desc.attr_strings(DIMS)?) {
            (true, _) => self.constant_int("depth_tensor")?.map(Dim::from),
            (false, Some([depth])) => parse_dim(&self.reader.draft.program, depth),
            (false, _) => self.desc.attr_long("depth")?.map(Dim::from),
        };
        let (Some(depth), Some(dtype)) = (depth, self.output_dtype(VarKind::Fp32)?) else { return Ok(false) };
        if self.desc.r#type == "one_hot" {
            match &self.ty(ids).dims[..] {
                [dims @ .., one] if *one == Dim::from(1) => {
                    let dims = dims.to_vec();
                    ids = self.emit(Reshape { dims }, &[ids])?;
                }
                _ => return Ok(false),
            }
        }
        let allow_out_of_range = self.bool("allow_out_of_range", false)?;
        self.out(OneHot { depth, dtype, allow_out_of_range }, &[ids])
    }

    /// Each row of the result is taken from the value whose number the row has in `Ids`.
    pub(super) fn multiplex(&mut self) -> Result<bool, ConvertError> {
        let (values, ids) = (self.inputs("X")?, self.ids("Ids")?);
        let Some(&first) = values.first() else { return Ok(false) };
        let (ty, of_ids) = (self.ty(first).clone(), self.ty(ids).clone());
        let rows = usize::from(ty.rows.is_some());
        let alike = values.iter().all(|&value| *self.ty(value) == ty);
        if !alike || ty.rank() == 0 || of_ids.rows != ty.rows || of_ids.rank() != 2 {
            return Ok(false);
        }
        // The values lie along a new axis behind the rows, or in front of the first axis.
        let dims: Vec<Dim> = std::iter::once(Dim::from(1)).chain(ty.dims.iter().cloned()).collect();
        let mut parts = Vec::with_capacity(values.len());
        for value in values {
            parts.push(self.emit(Reshape { dims: dims.clone() }, &[value])?);
        }
        let all = self.emit(Concat { axis: rows as i64 }, &parts)?;
        if rows == 1 {
            let ids = self.emit(Reshape { dims: Vec::new() }, &[ids])?;
            return self.out(Gather { axis: 1 }, &[all, ids]);
        }
        // Without rows, a row is an index, too.
        let rows = self.at().count_to(ty.dims[0].clone())?;
        let rows = self.emit(Reshape { dims: of_ids.dims }, &[rows])?;
        let positions = self.emit(Concat { axis: 1 }, &[ids, rows])?;
        self.out(GatherNd, &[all, positions])
    }

    /// The counts have to be updated in place.
    pub(super) fn auc(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let in_place = |from: &str, to: &str| desc.output(to) == desc.input(from);
        let ours = in_place("StatPos", "StatPosOut") && in_place("StatNeg", "StatNegOut");
        if !ours || self.has(&["InsTagWeight"]) {
            return Ok(false);
        }
        let op = Auc {
            num_thresholds: desc.attr_long("num_thresholds")?.unwrap_or(8191),
            slide_steps: desc.attr_long("slide_steps")?.unwrap_or(1),
        };
        let inputs =
            [self.input("Predict")?, self.ids("Label")?, self.input("StatPos")?, self.input("StatNeg")?];
        self.define(op, &inputs, &[], &[one(desc.output("AUC"), "AUC")?])
    }
}
