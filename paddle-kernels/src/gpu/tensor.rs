//! Operands of a kernel, and their elements.

use paddle_core::plan::{Extent, Group, GroupOp, Operand, OperandType};
use paddle_core::program::DType;

use super::form::{Float, Long, Register, Signed, Truth, Unsigned, load_word, operand, scalar, store_word};
use super::kernel::Abilities;

/// An element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    Float(Float),
    Signed(Signed),
    Long(Long),
    Truth(Truth),
}

/// The words of an element. A truth value has one, so that threads which write neighbours do not meet.
pub(super) fn words(dtype: DType) -> usize {
    match dtype {
        DType::Bool | DType::F32 | DType::I32 => 1,
        DType::I64 | DType::F64 => 2,
    }
}

impl Element {
    /// The element, which is a float by the types of its operator.
    pub(super) fn float(self) -> Float {
        match self {
            Element::Float(value) => value,
            other => panic!("{other:?} is not in single precision"),
        }
    }

    /// The element, which is a whole number of 64 bits.
    pub(super) fn long(self) -> Long {
        match self {
            Element::Long(value) => value,
            other => panic!("{other:?} does not have 64 bits"),
        }
    }

    /// The element, which is a whole number of 32 bits.
    pub(super) fn signed(self) -> Signed {
        match self {
            Element::Signed(value) => value,
            other => panic!("{other:?} does not have 32 bits"),
        }
    }

    /// The element, which is a truth value.
    pub(super) fn truth(self) -> Truth {
        match self {
            Element::Truth(value) => value,
            other => panic!("{other:?} is no truth value"),
        }
    }

    /// `this` if the condition holds, otherwise `other`.
    pub(super) fn choose(condition: Truth, this: Element, other: Element) -> Element {
        match (this, other) {
            (Element::Float(x), Element::Float(y)) => Element::Float(Float::choose(condition, x, y)),
            (Element::Signed(x), Element::Signed(y)) => Element::Signed(Signed::choose(condition, x, y)),
            (Element::Long(x), Element::Long(y)) => Element::Long(Long::choose(condition, x, y)),
            (Element::Truth(x), Element::Truth(y)) => Element::Truth(Truth::choose(condition, x, y)),
            (x, y) => panic!("{x:?} and {y:?} are of different types"),
        }
    }

    /// Zero.
    pub(super) fn zero(dtype: DType) -> Element {
        match dtype {
            DType::F32 => Element::Float(Float::constant(0.0)),
            DType::I32 => Element::Signed(Signed::of(0)),
            DType::I64 => Element::Long(Long::of(0)),
            DType::Bool => Element::Truth(Truth::of(false)),
            DType::F64 => panic!("kernels compute nothing in double precision"),
        }
    }
}

/// An operand.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    place: u32,
    offset: Unsigned,
    pub(super) dtype: DType,
    pub(super) shape: Vec<Extent>,
}

impl Tensor {
    /// The operand with this number among the inputs and outputs of a group, or the scratch behind them.
    pub(super) fn new(number: usize, ty: &OperandType) -> Tensor {
        let (place, offset) = operand(number);
        Tensor { place, offset, dtype: ty.dtype, shape: ty.shape.clone() }
    }

    /// The number of elements.
    pub(super) fn elements(&self) -> Unsigned {
        scalar(&self.shape)
    }

    fn at(&self, index: Unsigned) -> Unsigned {
        match words(self.dtype) {
            1 => self.offset + index,
            _ => self.offset + index + index,
        }
    }

    /// An element.
    pub(super) fn load(&self, index: Unsigned) -> Element {
        let word = || load_word(self.place, self.at(index));
        match self.dtype {
            DType::F32 => Element::Float(word().as_float()),
            DType::I32 => Element::Signed(word().as_signed()),
            DType::Bool => Element::Truth(word().is_not(Unsigned::of(0))),
            DType::I64 => Element::Long(self.long(index)),
            DType::F64 => panic!("kernels compute nothing in double precision"),
        }
    }

    /// The bits of an element that has two words.
    pub(super) fn long(&self, index: Unsigned) -> Long {
        let at = self.at(index);
        Long { low: load_word(self.place, at), high: load_word(self.place, at + Unsigned::of(1)) }
    }

    /// An element, which is a float.
    pub(super) fn float(&self, index: Unsigned) -> Float {
        self.load(index).float()
    }

    /// Changes an element.
    pub(super) fn store(&self, index: Unsigned, element: Element) {
        let at = self.at(index);
        match element {
            Element::Float(value) => store_word(self.place, at, value.bits()),
            Element::Signed(value) => store_word(self.place, at, value.as_unsigned()),
            Element::Truth(value) => store_word(self.place, at, value.to_unsigned()),
            Element::Long(value) => {
                store_word(self.place, at, value.low);
                store_word(self.place, at + Unsigned::of(1), value.high);
            }
        }
    }

    /// Changes an element to a float.
    pub(super) fn set(&self, index: Unsigned, value: Float) {
        self.store(index, Element::Float(value));
    }

    /// Copies an element as it is, of any type.
    pub(super) fn copy(&self, index: Unsigned, from: &Tensor, of: Unsigned) {
        let (to, at) = (self.at(index), from.at(of));
        for word in 0..words(self.dtype) as u32 {
            store_word(self.place, to + Unsigned::of(word), load_word(from.place, at + Unsigned::of(word)));
        }
    }

    /// Changes an element to zero, of any type.
    pub(super) fn clear(&self, index: Unsigned) {
        let at = self.at(index);
        for word in 0..words(self.dtype) as u32 {
            store_word(self.place, at + Unsigned::of(word), Unsigned::of(0));
        }
    }
}

/// A scratch as words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    place: u32,
    offset: Unsigned,
}

impl Words {
    /// The scratch with this number among the operands.
    pub(super) fn of(number: usize) -> Words {
        let (place, offset) = operand(number);
        Words { place, offset }
    }

    /// Changes a word.
    pub(super) fn set(self, index: Unsigned, to: Unsigned) {
        store_word(self.place, self.offset + index, to);
    }
}

/// The operands of an operator.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) group: &'a Group,
    pub(super) op: &'a GroupOp,
    /// What the device can do.
    pub(super) abilities: Abilities,
}

impl Call<'_> {
    /// The number of an operand among the inputs and outputs of the group.
    fn number(&self, operand: Operand) -> usize {
        match operand {
            Operand::Input(input) => input,
            Operand::Output(output) => self.group.inputs.len() + output,
            Operand::Temporary(_) => panic!("the operand of a body is in memory"),
        }
    }

    pub(super) fn inputs(&self) -> usize {
        self.op.inputs.len()
    }

    /// The number of a scratch: they are behind the operands.
    pub(super) fn scratch_number(&self, k: usize) -> usize {
        self.group.inputs.len() + self.group.outputs.len() + k
    }

    pub(super) fn output_number(&self, k: usize) -> usize {
        self.number(self.op.outputs[k])
    }

    pub(super) fn input_number(&self, k: usize) -> usize {
        self.number(self.op.inputs[k])
    }

    pub(super) fn shape(&self, k: usize) -> &[Extent] {
        &self.group.ty(self.op.inputs[k]).shape
    }

    pub(super) fn out_shape(&self, k: usize) -> &[Extent] {
        &self.group.ty(self.op.outputs[k]).shape
    }

    pub(super) fn dtype(&self, k: usize) -> DType {
        self.group.ty(self.op.inputs[k]).dtype
    }

    /// Input `k`, while a form is written.
    pub(super) fn input(&self, k: usize) -> Tensor {
        Tensor::new(self.input_number(k), self.group.ty(self.op.inputs[k]))
    }

    /// Output `k`, while a form is written.
    pub(super) fn output(&self, k: usize) -> Tensor {
        Tensor::new(self.number(self.op.outputs[k]), self.group.ty(self.op.outputs[k]))
    }
}
