//! Operators. Most are exported as they are written for us; this file has the rules for the others.

use super::row_spaces::Known;
use super::{LegaliseError, Legaliser};
use crate::convert::dialect::DIMS;
use crate::convert::to_wire::constants::fill_value;
use crate::convert::to_wire::operators::describe;
use crate::convert::types::{element, wire_dims};
use crate::ops::{
    Assign, AssignValue, Binary, BinaryKind, Expand, Fill, InterpolateKind, Number, Op, Operator, Program,
    Range, Reduce, ReduceKind, Size, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};
use crate::wire::{OpAttr, OpDesc};

/// The reason for operators that a program has only after `backward`.
const TRAINING: &str = "it belongs to training; export the program from before `backward`";

/// The reason for operators that PaddlePaddle lacks and that have no rule. There are none.
const NO_RULE: &str = "PaddlePaddle does not have it";

/// The most numbers that are written out in a file.
pub(super) const MOST_WRITTEN: i64 = 1 << 16;

impl Legaliser<'_> {
    /// Appends operators that compute the same as an operator of `block`. An operator that PaddlePaddle has is written
    /// as for us, unless it has a rule.
    pub(super) fn operator(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        match &operator.op {
            Op::CumSum(op) => {
                let x = self.name(operator.inputs[0]);
                let sums = self.sums(at, *op, x, self.program.ty(operator.outputs[0]));
                self.names.insert(operator.outputs[0], sums);
                Ok(())
            }
            // The files of PaddlePaddle are for one machine.
            Op::ToDevice(_) => self.same(at, &Operator { op: Assign.into(), ..operator.clone() }),
            Op::Store(_) => self.store(at, operator),
            Op::SequenceAlign(_) => self.sequence_align(at, operator),
            Op::SequenceConcat(_) => self.sequence_concat(at, operator),
            Op::SequenceGather(_) => self.sequence_gather(at, operator),
            Op::SequencePad(op) => self.sequence_pad(at, operator, op),
            Op::SequenceRange(op) => self.sequence_range(at, operator, op.rows),
            Op::SequenceReshape(_) => self.sequence_reshape(at, operator),
            Op::SequenceUnpad(_) => self.sequence_unpad(at, operator),
            Op::SequenceWhere(_) => self.sequence_where(at, operator),
            Op::SequenceExpandAs(_) => self.sequence_expand_as(at, operator),
            Op::SequenceLength(_) => self.sequence_length(at, operator),
            Op::SequencePool(op) => self.sequence_pool(at, operator, op),
            Op::SequenceReverse(_) => self.sequence_reverse(at, operator),
            Op::SequenceSoftmax(_) => self.sequence_softmax(at, operator),
            Op::SequenceWindow(op) => self.sequence_window(at, operator, op),
            Op::CrossEntropy(_) | Op::SoftmaxWithCrossEntropy(_) => self.of_classes(at, operator, 1),
            Op::Accuracy(_) => self.accuracy(at, operator),
            Op::RankLoss(_) => self.rank_loss(at, operator),
            Op::ChunkEval(op) => self.chunk_eval(at, operator, op),
            Op::CrfDecoding(_) => self.crf_decoding(at, operator),
            Op::EditDistance(_) => self.edit_distance(at, operator),
            Op::LayerNorm(op) => self.layer_norm(at, operator, op),
            Op::LinearChainCrf(_) => self.refuse(operator, "the number of its labels has to be a number"),
            Op::Matmul(_) => self.matmul(at, operator),
            Op::Loss(op) => self.loss(at, operator, op.kind),
            Op::Pad(op) => self.pad(at, operator, op),
            Op::Pool2d(op) => self.pool(at, operator, op),
            Op::Interpolate(op) if op.kind == InterpolateKind::Nearest && self.is_uneven(operator, op) => {
                self.nearest(at, operator, op)
            }
            // PaddlePaddle scales unknown sizes itself.
            Op::Interpolate(op) if op.scale.iter().all(|scale| *scale > 0.0) => self.same(at, operator),
            Op::Interpolate(op) => self.scaled_to(at, operator, &op.size),
            Op::RowNumbers(_) => self.row_numbers(at, operator),
            Op::Size(op) => self.size(at, operator, op),
            Op::Select(_) => self.of_one_shape(at, operator, None),
            Op::Binary(op) if op.kind == BinaryKind::Div => self.quotient(at, operator),
            Op::Slice(op) => self.slice(at, operator, op),
            Op::Unary(op) => self.unary(at, operator, op),
            Op::Transpose(_) => self.transpose(at, operator),
            Op::Fill(op) => self.constant_of(at, operator, op),
            Op::Gather(_) => self.gather_by_list(at, operator),
            Op::AssignValue(op) => self.listed(at, operator, op),
            Op::TakeAlongAxis(_) => self.taken(at, operator),
            Op::OneHot(op) => self.one_hot(at, operator, op),
            Op::Range(op) => self.range(at, operator, op),
            Op::Tile(op) => self.tile(at, operator, &op.repeat_times),
            Op::UniformRandom(_) | Op::GaussianRandom(_) | Op::TruncatedGaussianRandom(_) => {
                self.random(at, operator)
            }
            Op::Reshape(_) => self.reshape(at, operator),
            Op::GatherRows(op) => self.gather(at, operator, op.rows),
            Op::ScatterRows(_) => self.scatter(operator),
            Op::If(_) => self.branches(at, operator),
            Op::While(_) if operator.blocks.iter().all(|&block| self.program.block(block).rows.is_none()) => {
                self.repeat(at, operator)
            }
            Op::For(op) => self.for_rows(at, operator, op.items as usize),
            Op::While(_) => self.repeat(at, operator),
            Op::WarpCtc(_) => self.warpctc(at, operator),
            // In PaddlePaddle, rows are an axis anyway.
            Op::RowsToAxis(_) | Op::AxisToRows(_) => self.renamed_rows(at, operator),
            Op::SequenceAttend(_)
            | Op::SequenceAttendGrad(_)
            | Op::SequenceProduct(_)
            | Op::SequenceSpread(_)
            | Op::SequenceWeigh(_) => self.refuse(
                operator,
                "PaddlePaddle has no pairs of tokens; pad the sequences, and take `matmul`",
            ),
            Op::Attend(_) | Op::AttendGrad(_) => self.refuse(
                operator,
                "attention in one operator is for devices; export the network as it was written",
            ),
            Op::NonMaxSuppression(op) => self.suppression(at, operator, op),
            Op::Outside(_) => self.refuse(operator, "its value is bound when the network is made"),
            Op::Custom(_) => {
                self.refuse(operator, "it is an operator of your own, which PaddlePaddle does not have")
            }
            Op::Expand(op) => self.expand(at, operator, op),
            Op::TakeAlongAxisGrad(op) => self.put_along_axis(at, operator, op.0.axis),
            Op::Contract(_) | Op::Dropout(_) | Op::Update(_) | Op::UpdateRows(_) => {
                self.refuse(operator, TRAINING)
            }
            op if is_gradient(op) => self.refuse(operator, TRAINING),
            op if op.operation().is_ours() => self.refuse(operator, NO_RULE),
            // PaddlePaddle's own operators are written as for us.
            _ => self.same(at, operator),
        }
    }

    /// An operator that PaddlePaddle has.
    pub(super) fn same(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let inputs = self.names(&operator.inputs);
        let desc = self.same_on(operator, at, &inputs);
        self.push(at, desc);
        Ok(())
    }

    /// A store is a copy to a persistable variable.
    fn store(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let names = self.names(&operator.inputs);
        let desc = OpDesc::new("assign").with_input("X", [&names[1]]).with_output("Out", [&names[0]]);
        self.push(at, desc);
        Ok(())
    }

    /// Appends the operator on these variables, and declares its outputs.
    pub(super) fn same_on(&mut self, operator: &Operator, at: usize, inputs: &[String]) -> OpDesc {
        let program = self.program;
        let outputs: Vec<String> = operator.outputs.iter().map(|&output| self.define(at, output)).collect();
        let types: Vec<_> = operator.inputs.iter().map(|&input| program.ty(input)).collect();
        describe(&operator.op, inputs, &outputs, &types)
    }

    /// An operator of classes. Its ids, input `label`, have to be a column.
    fn of_classes(&mut self, at: usize, operator: &Operator, label: usize) -> Result<(), LegaliseError> {
        let program = self.program;
        let mut inputs = self.names(&operator.inputs);
        let (values, ids) = (program.ty(operator.inputs[0]), program.ty(operator.inputs[label]));
        if ids.rank() < values.rank() {
            let mut column = ids.clone();
            column.dims.push(Dim::from(1));
            inputs[label] = self.reshaped(at, operator, inputs[label].clone(), ids, &column)?;
        }
        let desc = self.same_on(operator, at, &inputs);
        self.push(at, desc);
        Ok(())
    }

    /// PaddlePaddle's accuracy of tokens has their offsets, in some of its executors. A mean of the one number has none.
    fn accuracy(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        self.of_classes(at, operator, 2)?;
        if !self.program.is_sequence(self.program.ty(operator.inputs[0])) {
            return Ok(());
        }
        let out = operator.outputs[0];
        let share = self.name(out);
        let mean = Reduce { kind: ReduceKind::Mean, axes: Vec::new(), keep_dim: false };
        let mean = self.emit(at, mean, &[&share], self.program.ty(out));
        self.names.insert(out, mean);
        Ok(())
    }

    /// The formula is written out. PaddlePaddle's own operator needs labels with the shape of the scores, and its later
    /// versions lack it.
    fn rank_loss(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]);
        let [label, left, right] = &self.names(&operator.inputs)[..] else { return Ok(()) };
        let (sub, mul) = (Binary { kind: BinaryKind::Sub }, Binary { kind: BinaryKind::Mul });
        let difference = self.emit(at, sub, &[left, right], ty);
        let softplus = self.emit(at, Unary::of(UnaryKind::Softplus), &[&difference], ty);
        let chosen = self.emit(at, mul, &[&difference, label], ty);
        let loss = self.emit(at, sub, &[&softplus, &chosen], ty);
        self.names.insert(operator.outputs[0], loss);
        Ok(())
    }

    /// The axes that are repeated have the size 1 in PaddlePaddle's operator.
    fn expand(&mut self, at: usize, operator: &Operator, op: &Expand) -> Result<(), LegaliseError> {
        let program = self.program;
        let [x, y] = [0, 1].map(|k| program.ty(operator.inputs[k]));
        let mut inputs = self.names(&operator.inputs);
        if !op.keep_dim {
            let rows = usize::from(y.rows.is_some());
            let is_gone = |k: usize| op.axes.is_empty() || op.axes.contains(&((k + rows) as i64));
            let kept = |(k, dim): (usize, &Dim)| if is_gone(k) { Dim::from(1) } else { dim.clone() };
            let dims = y.dims.iter().enumerate().map(kept).collect();
            inputs[0] = self.reshaped(at, operator, inputs[0].clone(), x, &Type { dims, ..x.clone() })?;
        }
        let Some(shape) = small(&wire_dims(y)) else {
            return self.refuse(operator, "a size exceeds 32 bits");
        };
        let [x, y] = [0, 1].map(|k| inputs[k].clone());
        let desc = OpDesc::new("expand_as_v2").with_input("X", [x]).with_input("Y", [y]);
        let desc = desc.with_output("Out", [self.define(at, operator.outputs[0])]);
        self.push(at, desc.with_attr(OpAttr::ints("target_shape", shape)));
        Ok(())
    }

    /// An operator with sizes among its attributes.
    pub(super) fn sized(
        &mut self,
        at: usize,
        operator: &Operator,
        sizes: &[Dim],
    ) -> Result<(), LegaliseError> {
        match sizes.iter().all(|size| size.constant().is_some()) {
            true => self.same(at, operator),
            false => self.refuse(operator, "its sizes have to be numbers"),
        }
    }

    /// Images whose sizes may be computed.
    fn scaled_to(&mut self, at: usize, operator: &Operator, sizes: &[Dim]) -> Result<(), LegaliseError> {
        if sizes.iter().all(|size| size.constant().is_some()) {
            return self.same(at, operator);
        }
        let computed = sizes.iter().map(|size| self.computed(at, operator, size));
        let computed = computed.collect::<Result<_, LegaliseError>>()?;
        let computed = self.in_32_bits(at, computed);
        let inputs = self.names(&operator.inputs);
        let mut desc = self.same_on(operator, at, &inputs).with_input("SizeTensor", computed);
        desc.attrs.retain(|attr| attr.name != DIMS);
        self.push(at, desc);
        Ok(())
    }

    /// Rows are repeated once.
    fn tile(&mut self, at: usize, operator: &Operator, times: &[Dim]) -> Result<(), LegaliseError> {
        if times.iter().all(|times| times.constant().is_some()) {
            return self.same(at, operator);
        }
        let rows = self.program.ty(operator.inputs[0]).rows.map(|_| Dim::from(1));
        let all = rows.iter().chain(times).map(|times| self.computed(at, operator, times));
        let all = all.collect::<Result<Vec<String>, LegaliseError>>()?;
        let inputs = self.names(&operator.inputs);
        let count = all.len();
        let mut desc = self.same_on(operator, at, &inputs).with_input("repeat_times_tensor", all);
        desc.attrs.retain(|attr| attr.name != "repeat_times");
        self.push(at, desc.with_attr(OpAttr::ints("repeat_times", vec![-1; count])));
        Ok(())
    }

    /// The number of elements along some axes: the product of the unknown sizes, times the known ones.
    fn size(&mut self, at: usize, operator: &Operator, op: &Size) -> Result<(), LegaliseError> {
        let program = self.program;
        let (ty, out) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let sizes = wire_dims(ty);
        let all: Vec<i64> = (0..sizes.len() as i64).collect();
        let axes = if op.axes.is_empty() { &all } else { &op.axes };
        let size_of = |axis: i64| sizes.get(axis as usize).copied().unwrap_or(1);
        let known: f64 = axes
            .iter()
            .map(|&axis| size_of(axis))
            .filter(|&size| size != -1)
            .map(|size| size as f64)
            .product();
        let one = Type::new(out.dtype, [1]);
        let mut size = self.constant(at, Number::Float(known), &one, "size");
        for &axis in axes.iter().filter(|&&axis| size_of(axis) == -1) {
            let x = self.name(operator.inputs[0]);
            let count = self.size_of(at, x, ty, axis as i32);
            let count = self.cast(at, count, &Type::new(DType::I32, [1]), out.dtype);
            size = self.emit(at, Binary { kind: BinaryKind::Mul }, &[&size, &count], &one);
        }
        let size = self.reshaped_to(at, size, &one, out, Vec::new());
        self.names.insert(operator.outputs[0], size);
        Ok(())
    }

    /// The number of each row, in the order of the rows.
    fn row_numbers(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]);
        let Some(rows) = ty.rows.filter(|&rows| !self.program.is_reordered(rows)) else {
            return self.refuse(operator, "the rows have no order that PaddlePaddle knows");
        };
        let count = self.need(at, operator, rows, Known::Count)?;
        let numbers = self.numbers_of_rows(at, count, rows);
        self.names.insert(operator.outputs[0], numbers);
        Ok(())
    }

    /// Few numbers are written out, as PaddlePaddle's own operator takes values.
    fn range(&mut self, at: usize, operator: &Operator, op: &Range) -> Result<(), LegaliseError> {
        let Some(count) = op.ty.dims[0].constant().filter(|&count| count <= MOST_WRITTEN) else {
            let out = self.range_of_size(at, operator, op)?;
            self.names.insert(operator.outputs[0], out);
            return Ok(());
        };
        let number = |i: i64| match (op.start, op.step) {
            (Number::Int(start), Number::Int(step)) => Number::Int(start.wrapping_add(i.wrapping_mul(step))),
            (start, step) => Number::Float(start.as_f64() + i as f64 * step.as_f64()),
        };
        let list = AssignValue { values: (0..count).map(number).collect(), ty: op.ty.clone() }.rounded();
        self.listed(at, &Operator { op: list.clone().into(), ..operator.clone() }, &list)
    }

    fn transpose(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let inputs = self.names(&operator.inputs);
        let xshape = self.xshape(at, "transpose2", program.ty(operator.inputs[0]));
        let desc = self.same_on(operator, at, &inputs).with_output("XShape", [xshape]);
        self.push(at, desc);
        Ok(())
    }

    /// The variable in which PaddlePaddle keeps the earlier shape, for a gradient.
    pub(super) fn xshape(&mut self, at: usize, operator: &str, from: &Type) -> String {
        let old = Type { rows: None, dims: from.dims.clone(), ..*from };
        self.declare(at, &format!("{operator}.xshape"), &old)
    }

    /// A constant. If it has rows, their number comes from a variable that has them.
    fn constant_of(&mut self, at: usize, operator: &Operator, op: &Fill) -> Result<(), LegaliseError> {
        if op.ty.dims.iter().any(|dim| dim.constant().is_none()) {
            let out = self.constant_of_size(at, operator, op, "fill_constant")?;
            self.names.insert(operator.outputs[0], out);
            return Ok(());
        }
        let Some(rows) = op.ty.rows else {
            if op.ty.rank() == 0 && op.ty.dtype == DType::F32 {
                // The predictor's kernels fail on scalars that its `fill_constant` makes.
                let out =
                    self.emit(at, AssignValue { values: vec![op.value], ty: op.ty.clone() }, &[], &op.ty);
                self.names.insert(operator.outputs[0], out);
                return Ok(());
            }
            return self.same(at, operator);
        };
        let count = self.need(at, operator, rows, Known::Count)?;
        let out = self.define(at, operator.outputs[0]);
        self.fill_like(at, operator, count, op, out)
    }

    /// Fills a variable, with as many rows as `count` has.
    pub(super) fn fill_like(
        &mut self,
        at: usize,
        operator: &Operator,
        count: String,
        op: &Fill,
        out: String,
    ) -> Result<(), LegaliseError> {
        let Some(shape) = small(&wire_dims(&op.ty)) else {
            return self.refuse(operator, "a size exceeds 32 bits");
        };
        self.fill_rows(at, count, op, shape, out);
        Ok(())
    }

    /// Fills a variable, with a shape that is known to fit.
    pub(super) fn fill_rows(&mut self, at: usize, count: String, op: &Fill, shape: Vec<i32>, out: String) {
        let mut desc = OpDesc::new("fill_constant_batch_size_like")
            .with_input("Input", [count])
            .with_output("Out", [out])
            .with_attr(OpAttr::ints("shape", shape))
            .with_attr(OpAttr::int("input_dim_idx", 0))
            .with_attr(OpAttr::int("output_dim_idx", 0))
            .with_attr(OpAttr::int("dtype", element(op.ty.dtype).into()))
            .with_attr(OpAttr::bool("force_cpu", false));
        desc.attrs.extend(fill_value(op.value));
        self.push(at, desc);
    }

    fn random(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]);
        if wire_dims(ty).contains(&-1) {
            return self.refuse(operator, "the sizes of random numbers have to be numbers");
        }
        self.same(at, operator)
    }

    /// A copy of rows that PaddlePaddle has in the right order already.
    fn renamed_rows(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let rows = operator.inputs.iter().chain(&operator.outputs).find_map(|&var| self.program.ty(var).rows);
        if rows.is_some_and(|rows| self.program.is_reordered(rows)) {
            return self.refuse(operator, "its rows are in the order of a loop");
        }
        let (program, value) = (self.program, operator.outputs[0]);
        let (x, out) = (self.name(operator.inputs[0]), self.declare(at, "assign", program.ty(value)));
        self.push(at, OpDesc::new("assign").with_input("X", [&x]).with_output("Out", [&out]));
        self.names.insert(value, out);
        Ok(())
    }

    fn reshape(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let (from, to) = (program.ty(operator.inputs[0]), program.ty(operator.outputs[0]));
        let x = self.name(operator.inputs[0]);
        let out = match merged_axes(from, to).filter(|_| is_turned_product(program, operator.inputs[0])) {
            Some(axes) => self.flattened(at, x, from, to, axes),
            None => self.reshaped(at, operator, x, from, to)?,
        };
        self.names.insert(operator.outputs[0], out);
        Ok(())
    }

    /// Makes one axis of neighbouring ones. The pass `matmul_transpose_reshape_mkldnn_fuse_pass` of the default predictor takes
    /// a product, its transpose and a `reshape2` together, and reads a size of 0 as that from before the transpose.
    fn flattened(
        &mut self,
        at: usize,
        x: String,
        from: &Type,
        to: &Type,
        [first, last]: [usize; 2],
    ) -> String {
        let name = "flatten_contiguous_range";
        let old = Type { dtype: to.dtype, ..from.clone() };
        let (out, xshape) = (self.declare(at, name, to), self.xshape(at, name, &old));
        let rows = usize::from(from.rows.is_some());
        let desc = OpDesc::new(name)
            .with_input("X", [x])
            .with_output("Out", [out.clone()])
            .with_output("XShape", [xshape])
            .with_attr(OpAttr::int("start_axis", (first + rows) as i32))
            .with_attr(OpAttr::int("stop_axis", (last + rows) as i32));
        self.push(at, desc);
        out
    }

    /// Reshapes the elements of `x` into a new variable. Each unknown size stays at its place, or is the only one that
    /// PaddlePaddle infers.
    pub(super) fn reshaped(
        &mut self,
        at: usize,
        operator: &Operator,
        x: String,
        from: &Type,
        to: &Type,
    ) -> Result<String, LegaliseError> {
        // There may be no rows, and then nothing can be inferred. So rows are 0, which keeps their number.
        let mut shape: Vec<i64> = to.rows.map(|_| 0).into_iter().collect();
        for (i, dim) in to.dims.iter().enumerate() {
            shape.push(match dim.constant() {
                Some(size) => size,
                None if from.dims.get(i) == Some(dim) => 0,
                None => -1,
            });
        }
        let unknown = shape.iter().filter(|&&size| size == -1).count();
        let shape = small(&shape).filter(|_| !to.dims.contains(&Dim::from(0)));
        let Some(shape) = shape else {
            return self.refuse(operator, "no size of the new shape may be 0, or exceed 32 bits");
        };
        if unknown <= 1 {
            return Ok(self.reshaped_to(at, x, from, to, shape));
        }
        self.reshaped_by_sizes(at, operator, x, from, to)
    }

    /// Reshapes the elements of `x` into a new variable, with a shape in PaddlePaddle's form.
    pub(super) fn reshaped_to(
        &mut self,
        at: usize,
        x: String,
        from: &Type,
        to: &Type,
        shape: Vec<i32>,
    ) -> String {
        let old = Type { dtype: to.dtype, ..from.clone() };
        // A reshaped value without elements has no memory, and operators behind it fail in PaddlePaddle's default predictor. That is not so
        // if axes of one element come or go.
        let may_be_empty =
            self.program.is_sequence(from) || from.dims.iter().any(|dim| dim.constant().is_none());
        let kept = |long: &Type, short: &Type| ones_of(long, short).filter(|_| may_be_empty);
        let (name, attr) = match (kept(from, to), kept(to, from)) {
            (Some(axes), _) => ("squeeze2", OpAttr::ints("axes", axes)),
            (None, Some(axes)) => ("unsqueeze2", OpAttr::ints("axes", axes)),
            (None, None) => ("reshape2", OpAttr::ints("shape", shape)),
        };
        let (out, xshape) = (self.declare(at, name, to), self.xshape(at, name, &old));
        let desc = OpDesc::new(name).with_input("X", [x]).with_output("Out", [out.clone()]);
        self.push(at, desc.with_output("XShape", [xshape]).with_attr(attr));
        out
    }
}

/// Whether a value is the transpose of a product.
fn is_turned_product(program: &Program, x: VarId) -> bool {
    let writer = |x: VarId| program.writer(x).map(|writer| (&writer.op, &writer.inputs[..]));
    let Some((Op::Transpose(_), &[product])) = writer(x) else { return false };
    matches!(writer(product), Some((Op::Matmul(_), _)))
}

/// The first and the last of neighbouring dimensions that a reshape makes one of, if some size is no number and that is all that it does.
fn merged_axes(from: &Type, to: &Type) -> Option<[usize; 2]> {
    let same = |(a, b): &(&Dim, &Dim)| a == b;
    let first = from.dims.iter().zip(&to.dims).take_while(same).count();
    let behind = from.dims.iter().rev().zip(to.dims.iter().rev()).take_while(same).count();
    let last = from.dims.len().checked_sub(behind + 1).filter(|last| *last > first)?;
    let is_one = first + behind + 1 == to.dims.len();
    let product = from.dims[first..=last].iter().try_fold(Dim::from(1), |all, dim| &all * dim).ok()?;
    let is_known = from.dims.iter().all(|dim| dim.constant().is_some());
    (is_one && !is_known && product == to.dims[first]).then_some([first, last])
}

/// The axes of one element that a type has and another one lacks, if that is all in which their shapes differ.
fn ones_of(long: &Type, short: &Type) -> Option<Vec<i32>> {
    let rows = i32::from(long.rows.is_some());
    let (mut ones, mut left) = (Vec::new(), short.dims.iter().peekable());
    for (axis, dim) in (rows..).zip(&long.dims) {
        match left.peek() {
            Some(next) if *next == dim => drop(left.next()),
            _ if dim.constant() == Some(1) => ones.push(axis),
            _ => return None,
        }
    }
    (left.next().is_none() && !ones.is_empty() && long.rows == short.rows).then_some(ones)
}

/// Whether an operator is part of a gradient: one of its inputs is the gradient of a result.
fn is_gradient(op: &Op) -> bool {
    op.schema().inputs.iter().any(|slot| slot.name.ends_with("@GRAD"))
}

/// Sizes in 32 bits, as PaddlePaddle stores most of them.
pub(super) fn small(sizes: &[i64]) -> Option<Vec<i32>> {
    sizes.iter().map(|&size| i32::try_from(size).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::NO_RULE;
    use crate::convert::export::legalise::legalise;
    use crate::ops::Op;

    #[test]
    fn what_paddlepaddle_lacks_has_a_rule() {
        for sample in Op::samples() {
            let program = sample.program().unwrap();
            if let Err(error) = legalise(&program) {
                assert!(!error.to_string().contains(NO_RULE), "{error}");
            }
        }
    }
}
