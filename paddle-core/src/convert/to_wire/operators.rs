//! Operators on their way to the wire: name, attributes, slots.

use super::foreign::describe_foreign;
use super::images::{
    describe_batch_norm, describe_conv2d, describe_conv2d_transpose, describe_dropout,
    describe_max_pool2d_with_index, describe_pool2d,
};
use super::interpolation::describe_interpolate;
use super::search::{describe_auc, describe_cumsum, describe_one_hot, describe_top_k, is_plain_gather};
use super::slice_pad::{describe_pad, describe_slice};
use super::updates;
use crate::convert::dialect::{DIMS, FAN, OURS, PATH, TYPE};
use crate::convert::types::{dim_text, element, is_plain, type_text, wire_dims};
use crate::ops::{
    AssignValue, Attribute, Attributes, BatchNorm, CrossEntropyGrad, Fill, GatherGrad, GroupNormGrad,
    InterpolateGrad, LayerNormGrad, LookupTableGrad, Loss, LossGrad, LossKind, Number, Op, Pool2dGrad,
    ReduceKind, Reshape, SliceGrad, Slot, SoftmaxWithCrossEntropyGrad, TakeAlongAxisGrad,
};
use crate::program::{DType, Dim, Type};
use crate::wire::{OpAttr, OpDesc, OpVar};

/// An operator without blocks, with all of its attributes; its slots hold the variables of these names.
///
/// PaddlePaddle's own operators have every attribute that it gives them, so that its passes find what they look for.
/// `types` are those of the inputs.
pub(in crate::convert) fn describe(
    op: &Op,
    inputs: &[String],
    outputs: &[String],
    types: &[&Type],
) -> OpDesc {
    let x = types.first().copied();
    if let Op::Foreign(foreign) = op {
        return describe_foreign(foreign, inputs, outputs);
    }
    let schema = op.schema();
    let mut desc = OpDesc::new(schema.name);
    desc.inputs = slots(schema.inputs, inputs);
    desc.outputs = slots(schema.outputs, outputs);
    desc.attrs = match op {
        Op::Accuracy(_)
        | Op::Assign(_)
        | Op::CrfDecoding(_)
        | Op::LinearChainCrf(_)
        | Op::Logical(_)
        | Op::Not(_)
        | Op::Predicate(_)
        | Op::RankLoss(_)
        | Op::Select(_)
        | Op::SequenceExpandAs(_)
        | Op::SequenceReverse(_)
        | Op::SequenceSoftmax(_)
        | Op::StopGradient(_) => Vec::new(),
        Op::Concat(op) => vec![whole("axis", op.axis)],
        Op::CrossEntropy(op) | Op::CrossEntropyGrad(CrossEntropyGrad(op)) => {
            vec![OpAttr::bool("soft_label", op.soft_label), whole("ignore_index", op.ignore_index)]
        }
        Op::LookupTable(op) | Op::LookupTableGrad(LookupTableGrad(op)) => {
            vec![
                OpAttr::long("padding_idx", op.padding_idx),
                OpAttr::bool("is_sparse", false),
                OpAttr::bool("is_distributed", false),
            ]
        }
        Op::Slice(op) | Op::SliceGrad(SliceGrad(op)) => describe_slice(op),
        Op::Split(op) => {
            let mut attrs = vec![whole("axis", op.axis), OpAttr::int("num", 0)];
            attrs.extend(sizes("sections", None, &op.sections));
            attrs
        }
        Op::TopK(op) => describe_top_k(op),
        Op::Transpose(op) => vec![wholes("axis", &op.perm)],
        Op::Unary(_) | Op::UnaryGrad(_) => numbers(op),
        Op::Loss(Loss { kind, .. }) | Op::LossGrad(LossGrad { kind, .. }) => {
            let mut attrs = numbers(op);
            match kind {
                LossKind::KlDivergence => attrs.push(OpAttr::string("reduction", "none")),
                LossKind::SigmoidCrossEntropy => attrs.push(OpAttr::bool("normalize", false)),
                _ => {}
            }
            attrs
        }
        Op::Cast(op) => {
            let from = x.map(|x| OpAttr::int("in_dtype", element(x.dtype).into()));
            from.into_iter().chain([OpAttr::int("out_dtype", element(op.dtype).into())]).collect()
        }
        Op::Binary(_) => vec![OpAttr::int("axis", -1)],
        Op::Compare(_) => vec![OpAttr::int("axis", -1), OpAttr::bool("force_cpu", false)],
        // The moving statistics are updated where they are.
        Op::BatchNorm(op) => {
            let own = |k: usize| inputs.get(k..=k).unwrap_or_default();
            desc.outputs.extend([of_slot("MeanOut", own(3)), of_slot("VarianceOut", own(4))]);
            describe_batch_norm(op.epsilon, op.momentum, op.is_test)
        }
        // So are counts.
        Op::Auc(op) => {
            let own = |k: usize| inputs.get(k..=k).unwrap_or_default();
            desc.outputs.extend([of_slot("StatPosOut", own(2)), of_slot("StatNegOut", own(3))]);
            describe_auc(op)
        }
        Op::BatchNormGrad(op) => {
            let defaults = BatchNorm::prototypes()[0];
            describe_batch_norm(defaults.epsilon, defaults.momentum, op.is_test)
        }
        Op::GroupNorm(op) | Op::GroupNormGrad(GroupNormGrad(op)) => {
            let mut attrs = vec![whole("groups", op.groups), OpAttr::string("data_layout", "NCHW")];
            push_float(&mut attrs, "epsilon", op.epsilon);
            attrs
        }
        Op::LayerNorm(op) | Op::LayerNormGrad(LayerNormGrad(op)) => {
            let mut attrs = vec![whole("begin_norm_axis", op.begin_norm_axis)];
            push_float(&mut attrs, "epsilon", op.epsilon);
            attrs
        }
        Op::Dropout(op) => {
            desc.inputs.retain(|slot| !slot.arguments.is_empty());
            let mut attrs = describe_dropout(op.dropout_prob, op.dropout_implementation);
            attrs.push(OpAttr::string(PATH, &op.path));
            attrs
        }
        Op::DropoutGrad(op) => describe_dropout(op.dropout_prob, op.dropout_implementation),
        Op::Outside(op) => {
            ours(&mut desc, [OpAttr::string("name", &op.name), OpAttr::string(TYPE, type_text(&op.ty))])
        }
        Op::RowNumbers(op) => ours(&mut desc, [OpAttr::string(TYPE, type_text(&op.ty))]),
        Op::Conv2d(op) => describe_conv2d(op),
        // PaddlePaddle has one operator for both gradients, of which this leaves out the other.
        Op::Conv2dGrad(op) => {
            desc.r#type = "conv2d_grad".into();
            describe_conv2d(&op.conv)
        }
        Op::Conv2dTranspose(op) => describe_conv2d_transpose(op),
        Op::MaxPool2dWithIndex(op) => describe_max_pool2d_with_index(op),
        Op::Pool2d(op) | Op::Pool2dGrad(Pool2dGrad(op)) => describe_pool2d(op),
        Op::Interpolate(op) | Op::InterpolateGrad(InterpolateGrad(op)) => describe_interpolate(op),
        Op::Matmul(op) => vec![OpAttr::bool("trans_x", op.trans_x), OpAttr::bool("trans_y", op.trans_y)],
        Op::Reduce(op) => {
            // PaddlePaddle sums them as i64, unless it is told.
            let of_small = op.kind == ReduceKind::Sum && types[0].dtype == DType::I32;
            let dtype = if of_small { element(DType::I32).into() } else { -1 };
            vec![
                wholes("dim", &op.axes),
                OpAttr::bool("keep_dim", op.keep_dim),
                OpAttr::bool("reduce_all", op.axes.is_empty()),
                OpAttr::int("in_dtype", dtype),
                OpAttr::int("out_dtype", dtype),
            ]
        }
        Op::Scale(op) => {
            let mut attrs = vec![OpAttr::bool("bias_after_scale", true)];
            push_float(&mut attrs, "scale", op.scale);
            push_float(&mut attrs, "bias", op.bias);
            attrs
        }
        Op::Softmax(_) | Op::SoftmaxGrad(_) => vec![OpAttr::int("axis", -1)],
        Op::SoftmaxWithCrossEntropy(op)
        | Op::SoftmaxWithCrossEntropyGrad(SoftmaxWithCrossEntropyGrad(op)) => vec![
            OpAttr::bool("soft_label", op.soft_label),
            OpAttr::bool("use_softmax", true),
            OpAttr::bool("numeric_stable_mode", true),
            whole("ignore_index", op.ignore_index),
            OpAttr::int("axis", -1),
        ],
        Op::AssignValue(op) => assign_value(op),
        Op::CumSum(op) => describe_cumsum(op),
        Op::Fill(op) => fill(op),
        Op::Gather(op) => match types {
            [x, index] if is_plain_gather(x, index) => vec![whole("axis", op.axis)],
            _ => ours(&mut desc, [whole("axis", op.axis)]),
        },
        Op::GatherGrad(GatherGrad(op)) => match types {
            [x, index, _] if is_plain_gather(x, index) => vec![whole("axis", op.axis)],
            _ => ours(&mut desc, [whole("axis", op.axis)]),
        },
        Op::GatherNd(_) | Op::ScatterNdAdd(_) => Vec::new(),
        Op::OneHot(op) => describe_one_hot(op),
        Op::Pad(op) => describe_pad(op),
        Op::Range(op) => {
            let mut attrs = typed(&op.ty);
            attrs.extend([("start", op.start), ("step", op.step)].map(number));
            desc.r#type.insert_str(0, OURS);
            attrs
        }
        Op::Scatter(_) => vec![OpAttr::bool("overwrite", true)],
        Op::TakeAlongAxis(op) | Op::TakeAlongAxisGrad(TakeAlongAxisGrad(op)) => {
            vec![whole("Axis", op.axis)]
        }
        Op::Tile(op) => sizes("repeat_times", x.and_then(|x| x.rows).map(|_| 1), &op.repeat_times),
        Op::UniformRandom(op) => {
            let mut attrs = typed(&op.ty);
            push_float(&mut attrs, "min", op.min);
            push_float(&mut attrs, "max", op.max);
            attrs.extend(op.fan.iter().map(fan));
            drawn(&mut desc, &mut attrs, &op.path);
            attrs.extend([OpAttr::int("seed", 0), OpAttr::int("diag_num", 0), OpAttr::int("diag_step", 0)]);
            attrs.push(OpAttr::float("diag_val", 1.0));
            attrs
        }
        Op::TruncatedGaussianRandom(op) => {
            let mut attrs = typed(&op.ty);
            push_float(&mut attrs, "mean", op.mean);
            push_float(&mut attrs, "std", op.std);
            attrs.push(OpAttr::int("seed", 0));
            attrs
        }
        Op::GaussianRandom(op) => {
            let mut attrs = typed(&op.ty);
            push_float(&mut attrs, "mean", op.mean);
            push_float(&mut attrs, "std", op.std);
            attrs.extend(op.fan.iter().map(fan));
            drawn(&mut desc, &mut attrs, &op.path);
            attrs.push(OpAttr::int("seed", 0));
            attrs
        }
        Op::Reshape(op) => reshape(op, x),
        Op::SequencePool(op) => {
            let mut attrs = vec![OpAttr::string("pooltype", op.pooltype.name())];
            push_float(&mut attrs, "pad_value", op.pad_value);
            attrs
        }
        Op::SequenceWindow(op) => {
            let mut attrs = vec![OpAttr::long("start", op.start), OpAttr::long("length", op.length)];
            push_float(&mut attrs, "pad_value", op.pad_value);
            desc.r#type.insert_str(0, OURS);
            attrs
        }
        Op::WarpCtc(op) => {
            vec![whole("blank", op.blank), OpAttr::bool("norm_by_times", false)]
        }
        Op::SequenceWindowGrad(op) => {
            ours(&mut desc, [OpAttr::long("start", op.start), OpAttr::long("length", op.length)])
        }
        Op::SequencePoolGrad(op) => vec![OpAttr::string("pooltype", op.pooltype.name())],
        Op::Update(op) => updates::describe(op, &mut desc),
        Op::UpdateRows(op) => {
            desc.r#type.insert_str(0, OURS);
            updates::describe_rows(op)
        }
        // These are not PaddlePaddle's.
        Op::AxisToRows(_)
        | Op::Contract(_)
        | Op::If(_)
        | Op::LinearChainCrfGrad(_)
        | Op::RowsToAxis(_)
        | Op::ScatterRows(_)
        | Op::SequenceAlign(_)
        | Op::SequenceConcat(_)
        | Op::SequenceConcatGrad(_)
        | Op::SequenceGather(_)
        | Op::SequenceGatherGrad(_)
        | Op::SequenceLength(_)
        | Op::SequenceProduct(_)
        | Op::SequenceSpread(_)
        | Op::SequenceUnpad(_)
        | Op::SequenceWeigh(_)
        | Op::SequenceWhere(_)
        | Op::Store(_) => ours(&mut desc, []),
        Op::GatherRows(op) => ours(&mut desc, [OpAttr::long("rows", i64::from(op.rows.0))]),
        Op::SequenceRange(op) => ours(&mut desc, [OpAttr::long("rows", i64::from(op.rows.0))]),
        Op::SequencePad(op) => {
            let mut attrs = vec![OpAttr::strings(DIMS, [dim_text(&op.length)])];
            push_float(&mut attrs, "pad_value", op.pad_value);
            desc.r#type.insert_str(0, OURS);
            attrs
        }
        Op::SequenceReshape(op) => ours(&mut desc, [OpAttr::strings(DIMS, op.dims.iter().map(dim_text))]),
        Op::For(op) => ours(&mut desc, [OpAttr::long("items", op.items)]),
        Op::LoopGrad(op) => {
            ours(&mut desc, [OpAttr::long("items", op.items), OpAttr::long("collected", op.collected)])
        }
        Op::While(op) => ours(&mut desc, [OpAttr::long("limit", op.limit)]),
        Op::Size(op) => ours(&mut desc, [OpAttr::longs("axes", op.axes.clone())]),
        Op::Expand(op) => {
            let keep_dim = OpAttr::bool("keep_dim", op.keep_dim);
            ours(&mut desc, [OpAttr::longs("axes", op.axes.clone()), keep_dim])
        }
        Op::Custom(op) => {
            let text = |name: &str, text: String| OpAttr::string(name, text);
            let attrs = [
                text("name", op.name.clone()),
                OpAttr::bool("row_wise", op.row_wise),
                text("arguments", op.arguments.to_string()),
                text("definition", op.definition.program().to_string()),
            ];
            ours(&mut desc, attrs)
        }
        Op::Foreign(_) => Vec::new(),
    };
    desc
}

/// Attributes that are numbers.
fn numbers(op: &Op) -> Vec<OpAttr> {
    let mut attrs = Vec::new();
    for (name, attribute) in op.attributes() {
        match attribute {
            Attribute::Number(Number::Bool(flag)) => attrs.push(OpAttr::bool(name, flag)),
            Attribute::Number(Number::Int(number)) => attrs.push(whole(name, number)),
            Attribute::Number(Number::Float(number)) => push_float(&mut attrs, name, number),
            _ => {}
        }
    }
    attrs
}

/// Variables in slots.
fn slots(slots: &[Slot], arguments: &[String]) -> Vec<OpVar> {
    let all = slots.iter().enumerate().map(|(i, slot)| match slot.is_variadic {
        true => of_slot(slot.name, arguments.get(i..).unwrap_or_default()),
        false => of_slot(slot.name, arguments.get(i..=i).unwrap_or_default()),
    });
    all.collect()
}

fn of_slot(name: &str, arguments: &[String]) -> OpVar {
    OpVar { parameter: name.to_string(), arguments: arguments.to_vec(), ..OpVar::default() }
}

fn ours<const N: usize>(desc: &mut OpDesc, attrs: [OpAttr; N]) -> Vec<OpAttr> {
    desc.r#type.insert_str(0, OURS);
    attrs.into()
}

/// An `INT`, as PaddlePaddle has axes and the like; a `LONG` for a number that does not fit.
pub(super) fn whole(name: &str, value: i64) -> OpAttr {
    match i32::try_from(value) {
        Ok(value) => OpAttr::int(name, value),
        Err(_) => OpAttr::long(name, value),
    }
}

/// `INTS`, or `LONGS` for numbers that do not fit.
pub(super) fn wholes(name: &str, values: &[i64]) -> OpAttr {
    match values.iter().map(|&value| i32::try_from(value)).collect::<Result<Vec<i32>, _>>() {
        Ok(values) => OpAttr::ints(name, values),
        Err(_) => OpAttr::longs(name, values),
    }
}

/// A `FLOAT`, and the exact number beside it if it is not one of single precision.
pub(super) fn push_float(attrs: &mut Vec<OpAttr>, name: &str, value: f64) {
    let single = value as f32;
    attrs.push(OpAttr::float(name, single));
    if f64::from(single).to_bits() != value.to_bits() {
        attrs.push(OpAttr::double(format!("{OURS}{name}"), value));
    }
}

/// What random numbers have beside their distribution: a path that tells them from others, and maybe numbers of rows.
fn drawn(desc: &mut OpDesc, attrs: &mut Vec<OpAttr>, path: &str) {
    desc.inputs.retain(|slot| !slot.arguments.is_empty());
    if !path.is_empty() {
        attrs.push(OpAttr::string(PATH, path));
    }
}

/// The size that random numbers go by.
fn fan(size: &Dim) -> OpAttr {
    OpAttr::string(FAN, dim_text(size))
}

/// Shape and element type, and the exact type beside them if they do not say everything.
fn typed(ty: &Type) -> Vec<OpAttr> {
    let dtype = OpAttr::int("dtype", element(ty.dtype).into());
    let mut attrs = vec![OpAttr::longs("shape", wire_dims(ty)), dtype];
    if !is_plain(ty) {
        attrs.push(OpAttr::string(TYPE, type_text(ty)));
    }
    attrs
}

/// The value of a constant as PaddlePaddle writes it: of single precision, and as exact text.
pub(in crate::convert) fn fill_value(value: Number) -> [OpAttr; 2] {
    let text = match value {
        Number::Bool(value) => i32::from(value).to_string(),
        // Rust says `NaN`, C++ says `nan`.
        Number::Int(_) | Number::Float(_) => value.to_string().to_lowercase(),
    };
    [OpAttr::float("value", value.as_f64() as f32), OpAttr::string("str_value", text)]
}

fn fill(op: &Fill) -> Vec<OpAttr> {
    let mut attrs = typed(&op.ty);
    attrs.extend(fill_value(op.value));
    attrs.extend([OpAttr::bool("force_cpu", false), OpAttr::int("place_type", -1)]);
    attrs
}

/// A number, as exact text.
fn number((name, value): (&str, Number)) -> OpAttr {
    OpAttr::string(name, value.to_string())
}

/// The elements are in the attribute of their type.
fn assign_value(op: &AssignValue) -> Vec<OpAttr> {
    let numbers = || op.values.iter().filter_map(|value| value.as_i64());
    let real = || op.values.iter().map(|value| value.as_f64());
    let ints = |of: DType| -> Vec<i64> { if op.ty.dtype == of { numbers().collect() } else { Vec::new() } };
    let floats: Vec<f32> =
        if op.ty.dtype == DType::F32 { real().map(|value| value as f32).collect() } else { Vec::new() };
    let doubles: Vec<f64> = if op.ty.dtype == DType::F64 { real().collect() } else { Vec::new() };
    vec![
        wholes("shape", &wire_dims(&op.ty)),
        OpAttr::int("dtype", element(op.ty.dtype).into()),
        wholes("bool_values", &ints(DType::Bool)),
        OpAttr::floats("fp32_values", floats),
        OpAttr::doubles("fp64_values", doubles),
        wholes("int32_values", &ints(DType::I32)),
        OpAttr::longs("int64_values", ints(DType::I64)),
    ]
}

fn reshape(op: &Reshape, x: Option<&Type>) -> Vec<OpAttr> {
    // 0 is "as it is": the size of the rows.
    sizes("shape", x.and_then(|x| x.rows).map(|_| 0), &op.dims)
}

/// Sizes behind a first one, and the exact ones beside them if they do not say everything.
fn sizes(name: &str, first: Option<i32>, dims: &[Dim]) -> Vec<OpAttr> {
    let known: Vec<Option<i32>> =
        dims.iter().map(|dim| dim.constant().and_then(|size| i32::try_from(size).ok())).collect();
    let is_exact = known.iter().all(|dim| dim.is_some_and(|size| size > 0));
    let shape: Vec<i32> = first.into_iter().chain(known.into_iter().map(|dim| dim.unwrap_or(-1))).collect();
    let mut attrs = vec![OpAttr::ints(name, shape)];
    if !is_exact {
        attrs.push(OpAttr::strings(DIMS, dims.iter().map(dim_text)));
    }
    attrs
}
