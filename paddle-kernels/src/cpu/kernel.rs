//! Compiled groups.

use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Op;
use paddle_core::plan::{Group, GroupOp, KernelError, Launch, Operand, Unsupported};

use super::isa::Isa;
use super::operands::{Operands, Signature, Slot};
use super::{
    accuracy, assign_value, auc, batch_norm, concat, conv2d, crf_decoding, cross_entropy, cumsum, custom,
    dropout, elementwise, expand, gather, interpolate, linear_chain_crf, lookup_table, normalise, one_hot,
    pool2d, product, random, reduce, reshape, row_numbers, scatter, sequence_align, sequence_concat,
    sequence_expand_as, sequence_gather, sequence_length, sequence_pad, sequence_pool, sequence_product,
    sequence_range, sequence_reshape, sequence_reverse, sequence_softmax, sequence_where, sequence_window,
    slice, softmax, softmax_with_cross_entropy, store, take_along_axis, tile, top_k, transpose, update,
    update_rows, warpctc,
};
use crate::custom::linked;
use crate::memory::Buffer;
use crate::team::Team;

/// What kernels run on.
pub(super) struct Machine {
    pub(super) team: Team,
    pub(super) isa: Isa,
}

/// The arithmetic of a kernel.
pub(super) trait Body: Send + Sync {
    /// See [`Backend::reserve`](paddle_core::plan::Backend::reserve).
    fn reserve(&self, _signature: &Signature, _sizes: &[usize]) -> Result<(), OutOfMemory> {
        Ok(())
    }

    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError>;
}

/// What a kernel touches, and what it does.
pub(super) type Compiled = (Signature, Box<dyn Body>);

/// A compiled group.
pub struct Kernel {
    signature: Signature,
    body: Box<dyn Body>,
}

impl Kernel {
    /// Whether there is a kernel for the operator, of some types.
    pub(super) fn supports(op: &Op) -> bool {
        match op {
            Op::Custom(op) => linked(op).is_some(),
            Op::For(_)
            | Op::Foreign(_)
            | Op::GatherRows(_)
            | Op::If(_)
            | Op::LoopGrad(_)
            | Op::Outside(_)
            | Op::ScatterRows(_)
            | Op::While(_) => false,
            Op::Accuracy(_)
            | Op::Assign(_)
            | Op::AssignValue(_)
            | Op::Auc(_)
            | Op::AxisToRows(_)
            | Op::BatchNorm(_)
            | Op::BatchNormGrad(_)
            | Op::Binary(_)
            | Op::Cast(_)
            | Op::Compare(_)
            | Op::Concat(_)
            | Op::Contract(_)
            | Op::Conv2d(_)
            | Op::Conv2dGrad(_)
            | Op::Conv2dTranspose(_)
            | Op::CrfDecoding(_)
            | Op::CrossEntropy(_)
            | Op::CrossEntropyGrad(_)
            | Op::CumSum(_)
            | Op::Dropout(_)
            | Op::DropoutGrad(_)
            | Op::Expand(_)
            | Op::Fill(_)
            | Op::Gather(_)
            | Op::GatherGrad(_)
            | Op::GatherNd(_)
            | Op::GaussianRandom(_)
            | Op::GroupNorm(_)
            | Op::GroupNormGrad(_)
            | Op::Interpolate(_)
            | Op::InterpolateGrad(_)
            | Op::LayerNorm(_)
            | Op::LayerNormGrad(_)
            | Op::LinearChainCrf(_)
            | Op::LinearChainCrfGrad(_)
            | Op::Logical(_)
            | Op::LookupTable(_)
            | Op::LookupTableGrad(_)
            | Op::Loss(_)
            | Op::LossGrad(_)
            | Op::Matmul(_)
            | Op::MaxPool2dWithIndex(_)
            | Op::Not(_)
            | Op::OneHot(_)
            | Op::Pad(_)
            | Op::Pool2d(_)
            | Op::Pool2dGrad(_)
            | Op::Range(_)
            | Op::Predicate(_)
            | Op::RankLoss(_)
            | Op::Reduce(_)
            | Op::Reshape(_)
            | Op::RowNumbers(_)
            | Op::RowsToAxis(_)
            | Op::Scale(_)
            | Op::Scatter(_)
            | Op::ScatterNdAdd(_)
            | Op::Select(_)
            | Op::SequenceAlign(_)
            | Op::SequenceConcat(_)
            | Op::SequenceConcatGrad(_)
            | Op::SequenceExpandAs(_)
            | Op::SequenceGather(_)
            | Op::SequenceGatherGrad(_)
            | Op::SequenceLength(_)
            | Op::SequencePad(_)
            | Op::SequencePool(_)
            | Op::SequencePoolGrad(_)
            | Op::SequenceProduct(_)
            | Op::SequenceRange(_)
            | Op::SequenceReshape(_)
            | Op::SequenceReverse(_)
            | Op::SequenceSoftmax(_)
            | Op::SequenceSpread(_)
            | Op::SequenceUnpad(_)
            | Op::SequenceWeigh(_)
            | Op::SequenceWhere(_)
            | Op::SequenceWindow(_)
            | Op::SequenceWindowGrad(_)
            | Op::Size(_)
            | Op::Slice(_)
            | Op::SliceGrad(_)
            | Op::Softmax(_)
            | Op::SoftmaxGrad(_)
            | Op::SoftmaxWithCrossEntropy(_)
            | Op::SoftmaxWithCrossEntropyGrad(_)
            | Op::Split(_)
            | Op::TakeAlongAxis(_)
            | Op::TakeAlongAxisGrad(_)
            | Op::Tile(_)
            | Op::Store(_)
            | Op::StopGradient(_)
            | Op::TopK(_)
            | Op::Transpose(_)
            | Op::TruncatedGaussianRandom(_)
            | Op::Unary(_)
            | Op::UnaryGrad(_)
            | Op::UniformRandom(_)
            | Op::Update(_)
            | Op::UpdateRows(_)
            | Op::WarpCtc(_) => true,
        }
    }

    pub(super) fn compile(group: &Group) -> Result<Kernel, Unsupported> {
        let (signature, body) = compile(group)?;
        Ok(Kernel { signature, body })
    }

    pub(super) fn reserve(&self, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.body.reserve(&self.signature, sizes)
    }

    pub(super) fn launch(
        &self,
        machine: &Machine,
        launch: Launch<'_>,
        buffers: &mut [Buffer],
    ) -> Result<(), KernelError> {
        self.body.launch(machine, Operands::new(&self.signature, launch, buffers))
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("signature", &self.signature).finish_non_exhaustive()
    }
}

/// The error of a group that the backend has no kernel for.
pub(super) fn unsupported<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported { message: format!("the cpu backend has no kernel for {what}") })
}

/// A group of one operator.
pub(super) struct Single<'a> {
    group: &'a Group,
    op: &'a GroupOp,
}

impl<'a> Single<'a> {
    /// The operand of input slot `k`.
    pub(super) fn input(&self, k: usize) -> Result<Slot, Unsupported> {
        self.slot(self.op.inputs.get(k))
    }

    /// The operand of output slot `k`.
    pub(super) fn output(&self, k: usize) -> Result<Slot, Unsupported> {
        self.slot(self.op.outputs.get(k))
    }

    /// The operands of all input slots.
    pub(super) fn inputs(&self) -> Result<Vec<Slot>, Unsupported> {
        (0..self.op.inputs.len()).map(|k| self.input(k)).collect()
    }

    /// The operands of all output slots.
    pub(super) fn outputs(&self) -> Result<Vec<Slot>, Unsupported> {
        (0..self.op.outputs.len()).map(|k| self.output(k)).collect()
    }

    fn slot(&self, operand: Option<&'a Operand>) -> Result<Slot, Unsupported> {
        let Group { inputs, outputs, .. } = self.group;
        match operand {
            Some(&Operand::Input(i)) => Ok((i, inputs[i].clone())),
            Some(&Operand::Output(o)) => Ok((inputs.len() + o, outputs[o].clone())),
            Some(Operand::Temporary(_)) | None => self.refuse("with a value that is nowhere"),
        }
    }

    /// What tells its random numbers from those of other operators.
    pub(super) fn stream(&self) -> u64 {
        self.group.stream
    }

    /// The signature of an operator that writes its outputs apart from everything.
    pub(super) fn signature<const R: usize, const W: usize>(
        &self,
        reads: [Slot; R],
        writes: [Slot; W],
    ) -> Signature {
        Signature { reads: reads.into(), writes: writes.into(), in_place: false }
    }

    /// The error of a case of the operator that has no kernel.
    pub(super) fn refuse<T>(&self, case: &str) -> Result<T, Unsupported> {
        unsupported(&format!("`{}` {case}", self.op.op.name()))
    }
}

/// Runs an expression with `$T` as the type of an operand's elements.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            paddle_core::program::DType::Bool => {
                type $T = u8;
                $body
            }
            paddle_core::program::DType::I32 => {
                type $T = i32;
                $body
            }
            paddle_core::program::DType::I64 => {
                type $T = i64;
                $body
            }
            paddle_core::program::DType::F32 => {
                type $T = f32;
                $body
            }
            paddle_core::program::DType::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use with_element;

/// Runs an expression with `$T` as the type of an operand's numbers.
macro_rules! with_number {
    ($single:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            paddle_core::program::DType::I32 => {
                type $T = i32;
                $body
            }
            paddle_core::program::DType::I64 => {
                type $T = i64;
                $body
            }
            paddle_core::program::DType::F32 => {
                type $T = f32;
                $body
            }
            paddle_core::program::DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => return $single.refuse(&format!("of {dtype}")),
        }
    };
}
pub(super) use with_number;

/// Runs an expression with `$T` as the floating-point type of an operand.
macro_rules! with_float {
    ($single:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            paddle_core::program::DType::F32 => {
                type $T = f32;
                $body
            }
            paddle_core::program::DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => return $single.refuse(&format!("of {dtype}")),
        }
    };
}
pub(super) use with_float;

fn compile(group: &Group) -> Result<Compiled, Unsupported> {
    let [op] = &group.ops[..] else {
        return elementwise::compile(group);
    };
    let single = Single { group, op };
    let run_by_the_runtime = || single.refuse("of its own: the runtime runs it");
    match &op.op {
        Op::Assign(_)
        | Op::Binary(_)
        | Op::Cast(_)
        | Op::Compare(_)
        | Op::Fill(_)
        | Op::Logical(_)
        | Op::Loss(_)
        | Op::LossGrad(_)
        | Op::Not(_)
        | Op::Predicate(_)
        | Op::RankLoss(_)
        | Op::Scale(_)
        | Op::Select(_)
        | Op::StopGradient(_)
        | Op::Unary(_)
        | Op::UnaryGrad(_) => elementwise::compile(group),
        Op::Accuracy(_) => accuracy::compile(&single),
        Op::AssignValue(op) => assign_value::compile(&single, op),
        Op::Auc(op) => auc::compile(&single, *op),
        Op::Concat(op) => concat::compile(&single, *op),
        Op::BatchNorm(op) => batch_norm::compile(&single, op),
        Op::BatchNormGrad(op) => batch_norm::compile_grad(&single, op),
        Op::Custom(op) => custom::compile(&single, op),
        Op::Dropout(op) => dropout::compile(&single, op),
        Op::DropoutGrad(op) => dropout::compile_grad(&single, op),
        Op::RowNumbers(_) => row_numbers::compile(&single),
        Op::Conv2d(op) => conv2d::compile(&single, op),
        Op::Conv2dGrad(op) => conv2d::compile_grad(&single, op),
        Op::Conv2dTranspose(op) => conv2d::compile_transpose(&single, op),
        Op::CrfDecoding(_) => crf_decoding::compile(&single),
        Op::CrossEntropyGrad(op) => cross_entropy::compile_grad(&single, *op),
        Op::CrossEntropy(op) => cross_entropy::compile(&single, *op),
        Op::CumSum(op) => cumsum::compile(&single, *op),
        Op::Expand(op) => expand::compile_expand(&single, op),
        Op::Gather(op) => gather::compile(&single, *op),
        Op::GatherGrad(op) => scatter::compile_gather_grad(&single, *op),
        Op::GatherNd(_) => gather::compile_nd(&single),
        Op::GaussianRandom(op) => random::compile_gaussian(&single, op),
        Op::GroupNorm(op) => normalise::compile_groups(&single, op),
        Op::GroupNormGrad(op) => normalise::compile_groups_grad(&single, op),
        Op::LayerNorm(op) => normalise::compile_layers(&single, op),
        Op::LayerNormGrad(op) => normalise::compile_layers_grad(&single, op),
        Op::TruncatedGaussianRandom(op) => random::compile_truncated_gaussian(&single, op),
        Op::LinearChainCrf(_) => linear_chain_crf::compile(&single),
        Op::LinearChainCrfGrad(_) => linear_chain_crf::compile_grad(&single),
        Op::LookupTable(op) => lookup_table::compile(&single, *op),
        Op::LookupTableGrad(op) => lookup_table::compile_grad(&single, *op),
        Op::Contract(_) => product::compile_contract(&single),
        Op::Matmul(op) => product::compile(&single, op),
        Op::OneHot(op) => one_hot::compile(&single, op),
        Op::Pad(op) => slice::compile_pad(&single, op),
        Op::MaxPool2dWithIndex(op) => pool2d::compile_with_index(&single, op),
        Op::Interpolate(op) => interpolate::compile(&single, op),
        Op::InterpolateGrad(op) => interpolate::compile_grad(&single, op),
        Op::Pool2d(op) => pool2d::compile(&single, op),
        Op::Pool2dGrad(op) => pool2d::compile_grad(&single, op),
        Op::Range(op) => assign_value::compile_range(&single, op),
        Op::Reduce(op) => reduce::compile(&single, op),
        Op::AxisToRows(_) | Op::Reshape(_) | Op::RowsToAxis(_) => reshape::compile(&single),
        Op::Scatter(_) => scatter::compile(&single),
        Op::ScatterNdAdd(_) => scatter::compile_nd_add(&single),
        Op::SequenceAlign(_) => sequence_align::compile(&single),
        Op::SequenceConcat(_) => sequence_concat::compile(&single),
        Op::SequenceConcatGrad(_) => sequence_concat::compile_grad(&single),
        Op::SequenceExpandAs(_) => sequence_expand_as::compile(&single),
        Op::SequenceGather(_) => sequence_gather::compile(&single),
        Op::SequenceGatherGrad(_) => sequence_gather::compile_grad(&single),
        Op::SequenceLength(_) => sequence_length::compile(&single),
        Op::SequencePad(op) => sequence_pad::compile(&single, op),
        Op::SequencePool(op) => sequence_pool::compile(&single, op),
        Op::SequencePoolGrad(op) => sequence_pool::compile_grad(&single, op),
        Op::SequenceProduct(_) => sequence_product::compile(&single, sequence_product::Form::Product),
        Op::SequenceSpread(_) => sequence_product::compile(&single, sequence_product::Form::Spread),
        Op::SequenceWeigh(_) => sequence_product::compile(&single, sequence_product::Form::Weigh),
        Op::SequenceRange(_) => sequence_range::compile(&single),
        Op::SequenceReshape(_) => sequence_reshape::compile(&single),
        Op::SequenceReverse(_) => sequence_reverse::compile(&single),
        Op::SequenceSoftmax(_) => sequence_softmax::compile(&single),
        Op::SequenceUnpad(_) => sequence_pad::compile_unpad(&single),
        Op::SequenceWhere(_) => sequence_where::compile(&single),
        Op::SequenceWindow(op) => sequence_window::compile(&single, op),
        Op::SequenceWindowGrad(op) => sequence_window::compile_grad(&single, op),
        Op::Size(op) => expand::compile_size(&single, op),
        Op::Slice(op) => slice::compile(&single, op),
        Op::SliceGrad(op) => slice::compile_grad(&single, op),
        Op::Softmax(_) => softmax::compile(&single),
        Op::SoftmaxGrad(_) => softmax::compile_grad(&single),
        Op::SoftmaxWithCrossEntropy(op) => softmax_with_cross_entropy::compile(&single, *op),
        Op::SoftmaxWithCrossEntropyGrad(op) => softmax_with_cross_entropy::compile_grad(&single, *op),
        Op::Split(op) => concat::compile_split(&single, op),
        Op::TakeAlongAxis(op) => take_along_axis::compile(&single, op.axis),
        Op::TakeAlongAxisGrad(op) => take_along_axis::compile_grad(&single, op.axis),
        Op::Tile(_) => tile::compile(&single),
        Op::Store(_) => store::compile(&single),
        Op::TopK(op) => top_k::compile(&single, *op),
        Op::Transpose(op) => transpose::compile(&single, op),
        Op::UniformRandom(op) => random::compile_uniform(&single, op),
        Op::Update(op) => update::compile(&single, op),
        Op::UpdateRows(op) => update_rows::compile(&single, op),
        Op::WarpCtc(op) => warpctc::compile(&single, op),
        Op::For(_) | Op::GatherRows(_) | Op::If(_) | Op::LoopGrad(_) | Op::ScatterRows(_) | Op::While(_) => {
            run_by_the_runtime()
        }
        Op::Outside(_) => single.refuse("of a value that is bound when the network is made"),
        Op::Foreign(_) => single.refuse("of another system: it can be shown and converted, not run"),
    }
}
