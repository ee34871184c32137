//! Elements that are taken by their numbers, and put back.

use super::operators::{MOST_WRITTEN, small};
use super::row_spaces::Known;
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::convert::to_wire::operators::{describe, is_plain_gather};
use crate::convert::types::wire_dims;
use crate::ops::{
    AssignValue, Binary, BinaryKind, Fill, Gather, Interpolate, Number, Op, Operator, Transpose,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};
use crate::wire::{OpAttr, OpDesc};

impl Legaliser<'_> {
    /// PaddlePaddle gathers by a list of indices, which may have rows.
    pub(super) fn gather_by_list(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [x, index] = [0, 1].map(|k| program.ty(operator.inputs[k]));
        if is_plain_gather(x, index) {
            return match x.dtype {
                DType::Bool => self.gather_truth(at, operator),
                _ => self.same(at, operator),
            };
        }
        if let (Some(rows), true) = (x.rows, index.rows.is_some()) {
            return self.gather_in_rows(at, operator, rows);
        }
        let Op::Gather(Gather { axis }) = &operator.op else { return Ok(()) };
        if x.rows.is_none() && *axis == 0 {
            return self.gather_from_front(at, operator);
        }
        let all = index.dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
        let Some(count) = all.ok().and_then(|all| all.constant()).filter(|_| index.rows.is_none()) else {
            return self.refuse(operator, "of numbers with rows, each row may have one");
        };
        let list = Type { dims: vec![Dim::from(count)], ..index.clone() };
        let mut inputs = self.names(&operator.inputs);
        inputs[1] = self.reshaped(at, operator, inputs[1].clone(), index, &list)?;
        let out = program.ty(operator.outputs[0]);
        let place = *axis as usize - usize::from(x.rows.is_some());
        let mut flat = out.clone();
        flat.dims.splice(place..place + index.dims.len(), [Dim::from(count)]);
        let taken = self.declare(at, "gather", &flat);
        let desc = describe(&operator.op, &inputs, std::slice::from_ref(&taken), &[x, &list]);
        self.push(at, desc);
        let out = self.reshaped(at, operator, taken, &flat, out)?;
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    /// Along the first axis, by numbers in any shape, which may have rows.
    fn gather_from_front(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [x, index] = [0, 1].map(|k| program.ty(operator.inputs[k]));
        let out = program.ty(operator.outputs[0]);
        let unknown = wire_dims(out).into_iter().filter(|&size| size == -1).count();
        let Some(shape) = small(&wire_dims(out)).filter(|_| unknown <= 1) else {
            return self.refuse(operator, "only one size of what is gathered may be unknown");
        };
        let [name, numbers] = [0, 1].map(|k| self.name(operator.inputs[k]));
        let numbers = self.reshaped_to(at, numbers, index, &list(index.dtype), vec![-1]);
        let rest = x.dims[1..].iter().cloned();
        let listed = Type { dims: std::iter::once(Dim::from(-1)).chain(rest).collect(), ..x.clone() };
        let taken = self.take(at, name, numbers, &listed, "gather");
        let out = self.reshaped_to(at, taken, &listed, out, shape);
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    /// PaddlePaddle does not gather truth values, but numbers.
    fn gather_truth(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [x, index] = [0, 1].map(|k| program.ty(operator.inputs[k]));
        let number = program.ty(operator.outputs[0]).with_dtype(DType::I32);
        let mut inputs = self.names(&operator.inputs);
        inputs[0] = self.cast(at, inputs[0].clone(), x, DType::I32);
        let taken = self.declare(at, "gather", &number);
        let types = [&x.with_dtype(DType::I32), index];
        self.push(at, describe(&operator.op, &inputs, std::slice::from_ref(&taken), &types));
        let out = self.cast(at, taken, &number, DType::Bool);
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    /// PaddlePaddle does not gather with indices for each row. So the elements from which rows choose are listed row by
    /// row.
    fn gather_in_rows(&mut self, at: usize, operator: &Operator, rows: RowsId) -> Result<(), LegaliseError> {
        let program = self.program;
        let [x, index] = [0, 1].map(|k| program.ty(operator.inputs[k]));
        let (name, out) = (self.name(operator.inputs[0]), program.ty(operator.outputs[0]));
        let Op::Gather(Gather { axis }) = &operator.op else { return Ok(()) };
        if *axis <= 1 {
            let taken = self.gathered_in_rows(at, operator, rows, (name, x), out)?;
            self.names.insert(operator.outputs[0], taken);
            return Ok(());
        }
        // The axis goes to the front, and behind the gathering the axes of the indices go where it was.
        let (axis, count) = (*axis, index.dims.len() as i64);
        let moved = |ty: &Type, perm: &[i64]| {
            let dims = perm[1..].iter().map(|&axis| ty.dims[axis as usize - 1].clone()).collect();
            Type { dims, ..ty.clone() }
        };
        let behind = |first: i64, all: &Type| first..all.dims.len() as i64 + 1;
        let perm: Vec<i64> = [0, axis].into_iter().chain(1..axis).chain(behind(axis + 1, x)).collect();
        let front = moved(x, &perm);
        let name = self.emit(at, Transpose { perm }, &[&name], &front);
        let taken_of: Vec<i64> = [0]
            .into_iter()
            .chain(axis..axis + count)
            .chain(1..axis)
            .chain(behind(axis + count, out))
            .collect();
        let of_front = moved(out, &taken_of);
        let taken = self.gathered_in_rows(at, operator, rows, (name, &front), &of_front)?;
        let back: Vec<i64> = [0]
            .into_iter()
            .chain(1 + count..axis + count)
            .chain(1..1 + count)
            .chain(behind(axis + count, out))
            .collect();
        let taken = self.emit(at, Transpose { perm: back }, &[&taken], out);
        self.names.insert(operator.outputs[0], taken);
        Ok(())
    }

    /// The same along the first axis of rows, of a variable with a type; the result has another one.
    fn gathered_in_rows(
        &mut self,
        at: usize,
        operator: &Operator,
        rows: RowsId,
        (name, x): (String, &Type),
        out: &Type,
    ) -> Result<String, LegaliseError> {
        let index = self.program.ty(operator.inputs[1]);
        let number = |dims: &[Dim]| {
            let product = dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim).ok()?;
            product.constant().and_then(|size| i32::try_from(size).ok())
        };
        let inner = wire_dims(&Type { rows: None, dims: x.dims[1..].to_vec(), ..x.clone() });
        let (Some(chosen), Some(inner)) =
            (number(&index.dims), small(&inner).filter(|sizes| !sizes.contains(&-1)))
        else {
            return self.refuse(operator, "the sizes of what is gathered have to be numbers");
        };
        let count = self.need(at, operator, rows, Known::Count)?;
        let of_rows = Type::with_rows(DType::I64, rows, [1]);
        let mut each = self.declare(at, "fill_constant_batch_size_like", &of_rows);
        let choices = number(&x.dims[..1]);
        let fill = Fill { value: Number::Int(choices.unwrap_or(1).into()), ty: of_rows.clone() };
        self.fill_rows(at, count, &fill, vec![-1, 1], each.clone());
        if choices.is_none() {
            let choices = self.computed(at, operator, &x.dims[0])?;
            each = self.emit(at, Binary { kind: BinaryKind::Mul }, &[&each, &choices], &of_rows);
        }
        let starts = self.sums_before(at, each);
        let of_index = self.name(operator.inputs[1]);
        let wide = Type { dims: vec![Dim::from(i64::from(chosen))], ..index.clone() };
        let numbers = self.reshaped_to(at, of_index, index, &wide, vec![-1, chosen]);
        let numbers = self.emit(at, Binary { kind: BinaryKind::Add }, &[&numbers, &starts], &wide);
        let numbers = self.reshaped_to(at, numbers, &wide, &list(DType::I64), vec![-1]);
        let listed = Type { dims: x.dims[1..].to_vec(), ..x.clone() };
        let shape = std::iter::once(-1).chain(inner).collect();
        let values = self.reshaped_to(at, name, x, &listed, shape);
        let taken = self.take(at, values, numbers, &listed, "gather");
        let Some(shape) = small(&wire_dims(out)) else {
            return self.refuse(operator, "a size exceeds 32 bits");
        };
        Ok(self.reshaped_to(at, taken, &listed, out, shape))
    }

    /// Whether sizes of images are known, and the new ones are no multiples of them. Then oneDNN's kernel, that of PaddlePaddle's default
    /// predictor, takes other elements (2.6.2 and 3.3.1).
    pub(super) fn is_uneven(&self, operator: &Operator, op: &Interpolate) -> bool {
        let sizes = self.sizes_of_images(operator);
        sizes.is_some_and(|(from, to)| op.align_corners || (0..2).any(|k| to[k] % from[k] != 0))
    }

    /// The heights and widths of images before and behind an operator, if they are known and lists of them can be written out.
    fn sizes_of_images(&self, operator: &Operator) -> Option<([usize; 2], [usize; 2])> {
        let known = |var: VarId| {
            let [.., height, width] = &self.program.ty(var).dims[..] else { return None };
            let known = [height, width].map(|dim| dim.constant().and_then(|size| usize::try_from(size).ok()));
            let is_written = |size: &usize| (1..=MOST_WRITTEN as usize).contains(size);
            Some([known[0]?, known[1]?]).filter(|sizes| sizes.iter().all(is_written))
        };
        Some((known(operator.inputs[0])?, known(operator.outputs[0])?))
    }

    /// The nearest elements are gathered by their numbers along height and width.
    pub(super) fn nearest(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &Interpolate,
    ) -> Result<(), LegaliseError> {
        let Some((from, to)) = self.sizes_of_images(operator) else { return self.same(at, operator) };
        let mut ty = self.program.ty(operator.inputs[0]).clone();
        let mut value = self.name(operator.inputs[0]);
        let first = ty.rank() - 2;
        for (k, along) in op.along(from, to).into_iter().enumerate() {
            let numbers = (0..to[k]).map(|place| Number::Int(along.between(place).first as i64));
            let of_list = Type::new(DType::I64, [to[k] as i64]);
            let list = AssignValue { values: numbers.collect(), ty: of_list.clone() };
            let list = self.emit(at, list, &[], &of_list);
            let before = ty.clone();
            let place = ty.dims.len() - 2 + k;
            ty.dims[place] = Dim::from(to[k] as i64);
            let taken = self.declare(at, "gather", &ty);
            let gather = Gather { axis: (first + k) as i64 };
            let inputs = [value, list];
            self.push(
                at,
                describe(&gather.into(), &inputs, std::slice::from_ref(&taken), &[&before, &of_list]),
            );
            value = taken;
        }
        self.names.insert(operator.outputs[0], value);
        Ok(())
    }

    /// What gradients put back where it was taken from: added up in zeros.
    pub(super) fn put_along_axis(
        &mut self,
        at: usize,
        operator: &Operator,
        axis: i64,
    ) -> Result<(), LegaliseError> {
        let names = self.names(&operator.inputs);
        let [x, index, value] = &names[..] else { return Ok(()) };
        let out = self.program.ty(operator.outputs[0]);
        let zeros = self.filled_like(at, x.clone(), out, Number::Float(0.0));
        let put = OpDesc::new("put_along_axis").with_input("Input", [&zeros]).with_input("Index", [index]);
        let put =
            put.with_input("Value", [value]).with_output("Result", [self.define(at, operator.outputs[0])]);
        let put = put.with_attr(OpAttr::int("Axis", axis as i32)).with_attr(OpAttr::string("Reduce", "add"));
        self.push(at, put.with_attr(OpAttr::bool("Include_self", true)));
        Ok(())
    }
}
