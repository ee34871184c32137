//! Chains of element-wise operators: a thread computes all of them for an element.

use std::collections::HashMap;

use paddle_core::ops::{
    Assign, Binary, BinaryKind, Cast, Compare, CompareKind, Fill, Logical, LogicalKind, Loss, LossGrad, Not,
    Op, Predicate, RankLoss, Real, Scale, Select, StopGradient, ToDevice, Unary, UnaryGrad, UnaryKind,
};
use paddle_core::plan::{Extent, Group, GroupOp, Operand, Unsupported};
use paddle_core::program::DType;

use super::{Compile, compiler, expand};
use crate::gpu::form::{Float, Long, Register, Signed, Truth, Unsigned, each, scalar};
use crate::gpu::index::{broadcast, broadcasts};
use crate::gpu::kernel::{Grid, Kernel, unsupported};
use crate::gpu::tensor::{Call, Element, Tensor};

/// Compiles a group without a body.
pub(super) fn compile(group: &Group) -> Result<Kernel, Unsupported> {
    let Some(shape) = group.outputs.first().map(|output| output.shape.clone()) else {
        return unsupported("a group of element-wise operators without an output");
    };
    let read = group.epilogue.iter().flat_map(GroupOp::read);
    for operand in read {
        if !broadcasts(&group.ty(operand).shape, &shape) {
            return unsupported(format!("an operand of shape {:?} over {shape:?}", group.ty(operand).shape));
        }
    }
    Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
        each(scalar(&shape), |index| {
            for (output, value) in evaluate(group, &shape, index, HashMap::new()) {
                let tensor = Tensor::new(group.inputs.len() + output, &group.outputs[output]);
                tensor.store(index, value);
            }
        });
    }))
}

/// Whether the epilogue of a group can be computed with each element of its body's result.
pub(super) fn fits(group: &Group, shape: &[Extent]) -> bool {
    let mut read = group.epilogue.iter().flat_map(GroupOp::read);
    read.all(|operand| broadcasts(&group.ty(operand).shape, shape))
}

/// Stores an element of the first result of a body, and what the epilogue makes of it.
pub(super) fn finish(call: &Call<'_>, index: Unsigned, value: Element) {
    let (group, result) = (call.group, call.op.outputs[0]);
    if let Operand::Output(_) = result {
        call.output(0).store(index, value);
    }
    for (output, value) in evaluate(group, call.out_shape(0), index, HashMap::from([(result, value)])) {
        Tensor::new(group.inputs.len() + output, &group.outputs[output]).store(index, value);
    }
}

/// Compiles an operator that takes elements one by one, but whose group has it as a body.
pub(super) fn compile_alone(call: Call<'_>) -> Result<Kernel, Unsupported> {
    let shape = call.out_shape(0).to_vec();
    Ok(Kernel::new().stage(Grid::Items(shape.clone()), || {
        let out = call.output(0);
        each(scalar(&shape), |index| {
            let read = |k: usize| call.input(k).load(broadcast(index, call.shape(k), &shape));
            let inputs: Vec<Element> = (0..call.inputs()).map(read).collect();
            let value = compiler(&call.op.op).evaluate(&inputs, out.dtype);
            out.store(index, value.expect("what is compiled by elements is computed by elements"));
        });
    }))
}

/// Writes the chain for one element, and gives the elements of the outputs. `known` has values that the body computed.
pub(super) fn evaluate(
    group: &Group,
    shape: &[Extent],
    index: Unsigned,
    mut known: HashMap<Operand, Element>,
) -> Vec<(usize, Element)> {
    let mut outputs = Vec::new();
    for op in &group.epilogue {
        let result = op.outputs[0];
        let inputs: Vec<Element> =
            op.read().map(|operand| source(group, shape, index, operand, &mut known)).collect();
        let dtype = group.ty(result).dtype;
        let value = match &op.op {
            // A count of elements depends on the shape alone.
            Op::Size(size) => expand::count(size, &group.ty(op.inputs[0]).shape),
            op => compiler(op)
                .evaluate(&inputs, dtype)
                .expect("only element-wise operators that are supported get here"),
        };
        known.insert(result, value);
        if let Operand::Output(output) = result {
            outputs.push((output, value));
        }
    }
    outputs
}

fn source(
    group: &Group,
    shape: &[Extent],
    index: Unsigned,
    operand: Operand,
    known: &mut HashMap<Operand, Element>,
) -> Element {
    if let Some(value) = known.get(&operand) {
        return *value;
    }
    let Operand::Input(input) = operand else { panic!("{operand:?} is read before it is written") };
    let ty = &group.inputs[input];
    let value = Tensor::new(input, ty).load(broadcast(index, &ty.shape, shape));
    known.insert(operand, value);
    value
}

fn is_float(types: &[DType]) -> bool {
    types.iter().all(|&dtype| dtype == DType::F32)
}

impl Compile for Unary {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
            || types[0] != DType::Bool
                && matches!(self.kind, UnaryKind::Abs | UnaryKind::Sign | UnaryKind::Square)
    }

    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(match (inputs[0], self.kind) {
            (Element::Float(x), kind) => Element::Float(kind.apply(x, self.coefficients)),
            (x, UnaryKind::Square) => integers(BinaryKind::Mul, x, x)?,
            (x, UnaryKind::Sign) => {
                let (zero, one, less) = (whole_like(x, 0), whole_like(x, 1), whole_like(x, -1));
                let rest = Element::choose(compare(CompareKind::LessThan, x, zero), less, zero);
                Element::choose(compare(CompareKind::GreaterThan, x, zero), one, rest)
            }
            (x, _) => {
                let negative = compare(CompareKind::LessThan, x, whole_like(x, 0));
                Element::choose(negative, integers(BinaryKind::Sub, whole_like(x, 0), x)?, x)
            }
        })
    }
}

impl Compile for UnaryGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        let (saved, grad) = (inputs[0].float(), inputs[1].float());
        Some(Element::Float(grad * self.kind.derivative(saved, self.coefficients)))
    }
}

impl Compile for Loss {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(Element::Float(self.kind.apply(inputs[0].float(), inputs[1].float(), self.coefficients)))
    }
}

impl Compile for LossGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        let slope = self.kind.derivative(inputs[0].float(), inputs[1].float(), self.coefficients);
        Some(Element::Float(slope * inputs[2].float()))
    }
}

impl Compile for RankLoss {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(Element::Float(RankLoss::apply(inputs[0].float(), inputs[1].float(), inputs[2].float())))
    }
}

impl Compile for Predicate {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(Element::Truth(self.kind.holds(inputs[0].float())))
    }
}

impl Compile for Select {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(Element::choose(inputs[0].truth(), inputs[1], inputs[2]))
    }
}

impl Compile for Binary {
    fn is_supported(&self, types: &[DType]) -> bool {
        use BinaryKind::{Add, Div, FMax, FMin, FloorDiv, Heaviside, Max, Min, Mod, Mul, Sub};
        match types[0] {
            DType::F32 => true,
            DType::I32 => {
                matches!(
                    self.kind,
                    Add | Sub | Mul | Div | Max | Min | FMax | FMin | Heaviside | Mod | FloorDiv
                )
            }
            DType::I64 => matches!(self.kind, Add | Sub | Mul | Max | Min | FMax | FMin | Heaviside),
            DType::Bool | DType::F64 => false,
        }
    }

    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        match (inputs[0], inputs[1]) {
            (Element::Float(x), Element::Float(y)) => Some(Element::Float(self.kind.apply(x, y))),
            (x, y) => integers(self.kind, x, y),
        }
    }
}

/// A whole number of the type of another.
fn whole_like(like: Element, value: i32) -> Element {
    match like {
        Element::Long(_) => Element::Long(Long::of(value.into())),
        _ => Element::Signed(Signed::of(value)),
    }
}

/// Arithmetic of whole numbers.
fn integers(kind: BinaryKind, x: Element, y: Element) -> Option<Element> {
    let chosen = |comparison| Element::choose(compare(comparison, x, y), x, y);
    Some(match (kind, x, y) {
        (BinaryKind::Max | BinaryKind::FMax, ..) => chosen(CompareKind::GreaterThan),
        (BinaryKind::Min | BinaryKind::FMin, ..) => chosen(CompareKind::LessThan),
        (BinaryKind::Heaviside, ..) => {
            let (zero, one) = (whole_like(x, 0), whole_like(x, 1));
            let above = Element::choose(compare(CompareKind::GreaterThan, x, zero), one, zero);
            Element::choose(compare(CompareKind::Equal, x, zero), y, above)
        }
        (BinaryKind::Add, Element::Long(x), Element::Long(y)) => Element::Long(x + y),
        (BinaryKind::Sub, Element::Long(x), Element::Long(y)) => Element::Long(x - y),
        (BinaryKind::Mul, Element::Long(x), Element::Long(y)) => Element::Long(x * y),
        (BinaryKind::Add, Element::Signed(x), Element::Signed(y)) => Element::Signed(x + y),
        (BinaryKind::Sub, Element::Signed(x), Element::Signed(y)) => Element::Signed(x - y),
        (BinaryKind::Mul, Element::Signed(x), Element::Signed(y)) => Element::Signed(x * y),
        (
            BinaryKind::Div | BinaryKind::Mod | BinaryKind::FloorDiv,
            Element::Signed(x),
            Element::Signed(y),
        ) => Element::Signed(divide(kind, x, y)),
        _ => return None,
    })
}

/// Division of whole numbers; 0 where the divisor is 0.
fn divide(kind: BinaryKind, x: Signed, y: Signed) -> Signed {
    let (zero, one) = (Signed::of(0), Signed::of(1));
    let is_none = y.is(zero);
    let by = Signed::choose(is_none, one, y);
    // The least number divided by -1 is itself, as results wrap around.
    let flips = by.is(Signed::of(-1));
    let quotient = Signed::choose(flips, -x, x / Signed::choose(flips, one, by));
    let remainder = x - quotient * by;
    let crosses = remainder.is_not(zero) & (remainder.less(zero) ^ by.less(zero));
    let result = match kind {
        BinaryKind::Mod => Signed::choose(crosses, remainder + by, remainder),
        BinaryKind::FloorDiv => Signed::choose(crosses, quotient - one, quotient),
        _ => quotient,
    };
    Signed::choose(is_none, zero, result)
}

/// A comparison of two elements of one type.
pub(super) fn compare(kind: CompareKind, x: Element, y: Element) -> Truth {
    macro_rules! registers {
        ($x:ident, $y:ident) => {
            match kind {
                CompareKind::LessThan => $x.less($y),
                CompareKind::LessEqual => $x.less_equal($y),
                CompareKind::GreaterThan => $x.greater($y),
                CompareKind::GreaterEqual => $x.greater_equal($y),
                CompareKind::Equal => $x.is($y),
                CompareKind::NotEqual => $x.is_not($y),
            }
        };
    }
    match (x, y) {
        (Element::Float(x), Element::Float(y)) => {
            // A device need not compare what is not a number as it is meant.
            let numbers = !(x.is_not_a_number() | y.is_not_a_number());
            match kind {
                CompareKind::NotEqual => !(numbers & x.is(y)),
                _ => numbers & registers!(x, y),
            }
        }
        (Element::Signed(x), Element::Signed(y)) => registers!(x, y),
        (Element::Truth(x), Element::Truth(y)) => {
            let (x, y) = (x.to_unsigned(), y.to_unsigned());
            registers!(x, y)
        }
        (Element::Long(x), Element::Long(y)) => match kind {
            CompareKind::LessThan => x.less(y),
            CompareKind::LessEqual => !y.less(x),
            CompareKind::GreaterThan => y.less(x),
            CompareKind::GreaterEqual => !x.less(y),
            CompareKind::Equal => x.is(y),
            CompareKind::NotEqual => !x.is(y),
        },
        (x, y) => panic!("{x:?} and {y:?} are of different types"),
    }
}

impl Compile for Compare {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(Element::Truth(compare(self.kind, inputs[0], inputs[1])))
    }
}

impl Compile for Logical {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        let (x, y) = (inputs[0].truth(), inputs[1].truth());
        Some(Element::Truth(match self.kind {
            LogicalKind::And => x & y,
            LogicalKind::Or => x | y,
            LogicalKind::Xor => x ^ y,
        }))
    }
}

impl Compile for Not {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        Some(Element::Truth(!inputs[0].truth()))
    }
}

impl Compile for Cast {
    fn evaluate(&self, inputs: &[Element], result: DType) -> Option<Element> {
        let zero = Element::zero(result);
        Some(match (inputs[0], result) {
            (x @ Element::Float(_), DType::F32)
            | (x @ Element::Signed(_), DType::I32)
            | (x @ Element::Long(_), DType::I64)
            | (x @ Element::Truth(_), DType::Bool) => x,
            (x, DType::Bool) => {
                let zero = match x {
                    Element::Float(_) => Element::zero(DType::F32),
                    other => whole_like(other, 0),
                };
                Element::Truth(compare(CompareKind::NotEqual, x, zero))
            }
            (Element::Truth(x), DType::F32) => Element::choose(x, Element::Float(Float::constant(1.0)), zero),
            (Element::Truth(x), _) => Element::choose(x, whole_like(zero, 1), zero),
            (Element::Signed(x), DType::F32) => Element::Float(x.to_float()),
            (Element::Signed(x), _) => Element::Long(Long::of_signed(x)),
            (Element::Long(x), DType::F32) => Element::Float(x.to_float()),
            (Element::Long(x), _) => Element::Signed(x.low.as_signed()),
            (Element::Float(x), DType::I32) => Element::Signed(to_signed(x)),
            (Element::Float(x), _) => Element::Long(to_long(x)),
        })
    }
}

/// Towards zero; the nearest number that fits, and 0 for what is not a number.
fn to_signed(x: Float) -> Signed {
    let fits = x.abs().less(Float::constant(2_147_483_648.0));
    let end = Signed::choose(x.less(Float::constant(0.0)), Signed::of(i32::MIN), Signed::of(i32::MAX));
    let inside = Float::choose(fits, x, Float::constant(0.0)).to_signed();
    Signed::choose(x.is_not_a_number(), Signed::of(0), Signed::choose(fits, inside, end))
}

fn to_long(x: Float) -> Long {
    let size = x.abs();
    let fits = size.less(Float::constant(9_223_372_036_854_775_808.0));
    let negative = x.less(Float::constant(0.0));
    let end = Long::choose(negative, Long::of(i64::MIN), Long::of(i64::MAX));
    // The digits of a float, moved to their place.
    let bits = size.bits();
    let exponent = (bits >> Unsigned::of(23)).as_signed() - Signed::of(150);
    let mantissa = (bits & Unsigned::of(0x007f_ffff)) | Unsigned::of(0x0080_0000);
    let is_small = exponent.less(Signed::of(0));
    let none = exponent.less(Signed::of(-23));
    let right = Signed::choose(is_small & !none, -exponent, Signed::of(0)).as_unsigned();
    let left = Signed::choose(is_small, Signed::of(0), exponent).as_unsigned() & Unsigned::of(63);
    let shift = left & Unsigned::of(31);
    let carried = Unsigned::choose(
        shift.is(Unsigned::of(0)),
        Unsigned::of(0),
        mantissa >> ((Unsigned::of(32) - shift) & Unsigned::of(31)),
    );
    let is_far = left.greater_equal(Unsigned::of(32));
    let moved = Long {
        low: Unsigned::choose(is_far, Unsigned::of(0), mantissa << shift),
        high: Unsigned::choose(is_far, mantissa << shift, carried),
    };
    let whole = Long::choose(is_small, Long::of_unsigned(mantissa >> right), moved);
    let whole = Long::choose(none, Long::of(0), whole);
    let signed = Long::choose(negative, -whole, whole);
    Long::choose(x.is_not_a_number(), Long::of(0), Long::choose(fits, signed, end))
}

impl Compile for Scale {
    fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
        let whole = |x: Element| {
            let number = |value: f64| match x {
                Element::Long(_) => Element::Long(Long::of(value as i64)),
                _ => Element::Signed(Signed::of(value as i64 as i32)),
            };
            integers(BinaryKind::Add, integers(BinaryKind::Mul, number(self.scale), x)?, number(self.bias))
        };
        match inputs[0] {
            Element::Float(x) => Some(Element::Float(Float::of(self.scale) * x + Float::of(self.bias))),
            x => whole(x),
        }
    }
}

impl Compile for Fill {
    fn evaluate(&self, _: &[Element], result: DType) -> Option<Element> {
        let whole = self.value.as_i64().unwrap_or_default();
        Some(match result {
            DType::F32 => Element::Float(Float::of(self.value.as_f64())),
            DType::I32 => Element::Signed(Signed::of(whole as i32)),
            DType::I64 => Element::Long(Long::of(whole)),
            DType::Bool => Element::Truth(Truth::of(whole != 0)),
            DType::F64 => return None,
        })
    }
}

macro_rules! copies {
    ($($name:ident),*) => {$(
        impl Compile for $name {
            fn evaluate(&self, inputs: &[Element], _: DType) -> Option<Element> {
                Some(inputs[0])
            }
        }
    )*};
}
copies!(Assign, StopGradient, ToDevice);
