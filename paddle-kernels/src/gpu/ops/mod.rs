//! The kernels, under the operators' names. Operators implement [`Compile`].

mod assign_value;
mod auc;
mod batch_norm;
mod concat;
mod conv2d;
mod crf_decoding;
mod cross_entropy;
mod cumsum;
mod decayed_scores;
mod dropout;
mod elementwise;
mod expand;
mod gather;
mod interpolate;
mod library;
mod linear_chain_crf;
mod lookup_table;
mod lrn;
mod matmul;
mod non_max_suppression;
mod normalise;
mod pool2d;
mod random;
mod reduce;
mod reshape;
mod scatter;
mod sequence_align;
mod sequence_concat;
mod sequence_pad;
mod sequence_pairs;
mod sequence_pool;
mod sequence_tokens;
mod sequence_where;
mod slice;
mod softmax;
mod take_along_axis;
mod top_k;
mod unfold;
mod update;
mod warpctc;

use paddle_core::ops::*;
use paddle_core::plan::{Body, Group, Unsupported};
use paddle_core::program::DType;

use super::form::{Float, Long, Signed, Truth};
use super::kernel::{Abilities, Kernel, unsupported};
use super::tensor::{Call, Element};

/// How an operator becomes a kernel. An element-wise operator implements [`evaluate`](Compile::evaluate), and any other one
/// [`compile`](Compile::compile).
trait Compile {
    /// Whether there is a kernel for inputs and outputs of these types.
    fn is_supported(&self, _types: &[DType]) -> bool {
        true
    }

    /// Whether the kernel computes an epilogue with each element of its result.
    fn finishes(&self) -> bool {
        false
    }

    /// The kernel of this operator, and of the epilogue if it [finishes](Compile::finishes) one.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        elementwise::compile_alone(call)
    }

    /// Writes the operator for one element of each input, broadcast to the shape of the result. `None` if the operator is not
    /// element-wise.
    fn evaluate(&self, _inputs: &[Element], _result: DType) -> Option<Element> {
        None
    }
}

macro_rules! compilers {
    ($($name:ident,)*) => {
        fn compiler(op: &Op) -> &dyn Compile {
            match op {
                $(Op::$name(op) => op,)*
            }
        }
    };
}
paddle_core::with_operators!(compilers);

/// Whether there is a kernel for the operator, on inputs and outputs of these types.
pub(super) fn supports(op: &Op, types: &[DType]) -> bool {
    // Of what is in double precision, cards compute one quotient.
    (matches!(op, Op::Auc(_)) || !types.contains(&DType::F64)) && compiler(op).is_supported(types)
}

/// Whether the operator's kernel computes an epilogue.
pub(super) fn finishes(op: &Op) -> bool {
    compiler(op).finishes()
}

/// Compiles a group of operators, for a device that can do this.
pub(super) fn compile(group: &Group, abilities: Abilities) -> Result<Kernel, Unsupported> {
    for op in group.operators() {
        let operands = op.inputs.iter().chain(&op.outputs);
        let types: Vec<DType> = operands.map(|&operand| group.ty(operand).dtype).collect();
        if !supports(&op.op, &types) {
            return unsupported(format!("`{}` of {types:?}", op.op.name()));
        }
    }
    let mut operators = group.operators();
    match (&group.body, operators.next(), operators.next()) {
        (Some(Body::Operator(op)), Some(_), Some(_))
            if finishes(&op.op) && elementwise::fits(group, &group.ty(op.outputs[0]).shape) =>
        {
            compiler(&op.op).compile(Call { group, op, abilities })
        }
        (Some(Body::Operator(_)), Some(op), None) => compiler(&op.op).compile(Call { group, op, abilities }),
        (None, Some(_), _) => elementwise::compile(group),
        (Some(Body::Updates(updates)), ..) => {
            let updates = updates.iter().map(|op| match &op.op {
                Op::Update(update) => Ok((update, Call { group, op, abilities })),
                other => unsupported(format!("`{}` among updates", other.name())),
            });
            Ok(update::compile_all(&updates.collect::<Result<Vec<_>, _>>()?))
        }
        _ => unsupported("a group of this kind"),
    }
}

/// The sum of two elements of one type.
pub(super) fn add(x: Element, y: Element) -> Element {
    let sum = Binary { kind: BinaryKind::Add }.evaluate(&[x, y], DType::F32);
    sum.expect("sums are of numbers")
}

/// A number of the program as an element of this type; a fraction is truncated to a whole number.
fn constant(value: f64, dtype: DType) -> Element {
    match dtype {
        DType::F32 => Element::Float(Float::of(value)),
        DType::I32 => Element::Signed(Signed::of(value as i32)),
        DType::I64 => Element::Long(Long::of(value as i64)),
        DType::Bool => Element::Truth(Truth::of(value != 0.0)),
        DType::F64 => panic!("kernels compute nothing in double precision"),
    }
}

/// Operators that run elsewhere.
macro_rules! lacks {
    ($($name:ident),* $(,)?) => {$(
        impl Compile for $name {
            fn is_supported(&self, _: &[DType]) -> bool {
                false
            }
        }
    )*};
}

// The runtime runs these, whatever the device.
lacks!(
    FetchBarrier,
    For,
    Foreign,
    GatherRows,
    If,
    Listen,
    LoopGrad,
    Outside,
    Prefetch,
    Receive,
    ReceiveValue,
    ScatterRows,
    Send,
    SendBarrier,
    SendRows,
    SendValue,
    Share,
    Shared,
    While,
);

// The CPU runs what users write in Rust.
lacks!(Custom);

// Measures are a loop over ids, each of which waits for the one before.
lacks!(ChunkEval, EditDistance);

// Attention is the operators that it is made of: where there is no kernel, nothing is combined.
lacks!(Attend, AttendGrad, SequenceAttend, SequenceAttendGrad);
