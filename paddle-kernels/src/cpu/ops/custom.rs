//! Operators that users write, computed by the kernels that are linked to them.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use paddle_core::ops::Custom;
use paddle_core::plan::{Extent, HostSlice, HostSliceMut, KernelError, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single, with_element};
use crate::cpu::number::Element;
use crate::cpu::operands::{Operands, Reads};
use crate::cpu::pieces::pieces;
use crate::cpu::{bytes_mut, truths, truths_mut};
use crate::custom::{Input, Inputs, MOST_AXES, Operator, Output, Shape, call, linked};

/// The number of elements that a kernel of a row-wise operator gets and writes at a time.
const PIECE: usize = 1 << 13;

struct Run<T> {
    op: Custom,
    operator: &'static dyn Operator,
    inputs: Vec<Operand>,
    output: Vec<Extent>,
    element: PhantomData<T>,
}

struct Operand {
    dtype: DType,
    shape: Vec<Extent>,
    /// Whether the input has the rows of the output.
    has_rows: bool,
}

impl Compile for Custom {
    fn is_supported(&self) -> bool {
        linked(self).is_some()
    }

    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let Some(operator) = linked(self) else {
            return Err(Unsupported { message: Custom::NOT_LINKED.into() });
        };
        let (inputs, out) = (single.inputs()?, single.output(0)?);
        if inputs.iter().chain([&out]).any(|(_, layout)| layout.shape.len() > MOST_AXES) {
            return single.refuse("of so many axes");
        }
        let of_definition =
            self.definition.inputs().iter().map(|&input| self.definition.ty(input).rows.is_some());
        let operands = inputs.iter().zip(of_definition).map(|((_, layout), has_rows)| {
            let (dtype, shape) = (layout.dtype, layout.shape.clone());
            Operand { dtype, shape, has_rows }
        });
        let operands = operands.collect();
        let body: Box<dyn Body> = with_element!(out.1.dtype, T => Box::new(Run::<T> {
            op: self.clone(),
            operator,
            inputs: operands,
            output: out.1.shape.clone(),
            element: PhantomData,
        }));
        let signature = crate::cpu::operands::Signature { reads: inputs, writes: vec![out], in_place: false };
        Ok((signature, body))
    }
}

/// The elements of an input in the types that kernels of users get. Elsewhere, truth values are bytes.
enum Held<'a> {
    Bool(&'a [bool]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl<'a> Held<'a> {
    fn of(reads: &Reads<'a>, i: usize, dtype: DType) -> Self {
        match dtype {
            DType::Bool => Held::Bool(truths(reads.get(i))),
            DType::I32 => Held::I32(reads.get(i)),
            DType::I64 => Held::I64(reads.get(i)),
            DType::F32 => Held::F32(reads.get(i)),
            DType::F64 => Held::F64(reads.get(i)),
        }
    }

    fn part(&self, first: usize, count: usize) -> HostSlice<'_> {
        let range = first..first + count;
        match self {
            Held::Bool(elements) => HostSlice::Bool(&elements[range]),
            Held::I32(elements) => HostSlice::I32(&elements[range]),
            Held::I64(elements) => HostSlice::I64(&elements[range]),
            Held::F32(elements) => HostSlice::F32(&elements[range]),
            Held::F64(elements) => HostSlice::F64(&elements[range]),
        }
    }
}

/// An element type of outputs of users' kernels.
trait Written: Element {
    fn with_host(out: &mut [Self], write: impl FnOnce(HostSliceMut<'_>));
}

macro_rules! written {
    ($($type:ident $variant:ident),*) => {$(
        impl Written for $type {
            fn with_host(out: &mut [Self], write: impl FnOnce(HostSliceMut<'_>)) {
                write(HostSliceMut::$variant(out));
            }
        }
    )*};
}
written!(i32 I32, i64 I64, f32 F32, f64 F64);

impl Written for u8 {
    fn with_host(out: &mut [u8], write: impl FnOnce(HostSliceMut<'_>)) {
        out.fill(u8::from(cfg!(debug_assertions)));
        write(HostSliceMut::Bool(truths_mut(out)));
    }
}

impl<T: Written> Body for Run<T> {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let sizes = operands.sizes();
        let shape = |extents: &[Extent]| Shape::new(extents.iter().map(|extent| extent.get(sizes)));
        let (reads, writes) = operands.split();
        let held: Vec<(Held<'_>, Shape, bool)> = self
            .inputs
            .iter()
            .enumerate()
            .map(|(i, input)| (Held::of(&reads, i, input.dtype), shape(&input.shape), input.has_rows))
            .collect();
        let (out, out_shape) = (writes.one::<T>(), shape(&self.output));
        let rows = out_shape.sizes().first().copied().unwrap_or(1);
        // The cut into parts depends on the shapes only.
        let per_row = |shape: &Shape| shape.sizes()[1..].iter().product::<usize>();
        let part = match self.op.row_wise {
            true => {
                let with_rows = held.iter().filter(|(_, _, has_rows)| *has_rows);
                let elements: usize = with_rows.map(|(_, shape, _)| per_row(shape)).sum();
                (PIECE / (elements + per_row(&out_shape)).max(1)).max(1)
            }
            false => rows.max(1),
        };
        let failed = Mutex::new(None::<(usize, String)>);
        let row = out.len().checked_div(rows).unwrap_or(0);
        pieces(&machine.team, out, part * row, &|index, out| {
            // An element that a kernel does not write shows, as NaN or as -1.
            if cfg!(debug_assertions) {
                bytes_mut(out).fill(0xFF);
            }
            let first = index * part;
            let count = part.min(rows - first);
            let input = |k: usize| {
                let (held, shape, has_rows) = held.get(k)?;
                let split = self.op.row_wise && *has_rows;
                let all = shape.sizes().iter().product();
                let (start, len) = match split {
                    true => (first * per_row(shape), count * per_row(shape)),
                    false => (0, all),
                };
                let shape = if split { shape.with_rows(count) } else { *shape };
                Some(Input { elements: held.part(start, len), shape })
            };
            let result = {
                let inputs = Inputs { op: &self.op, input: &input };
                let out_shape = if self.op.row_wise { out_shape.with_rows(count) } else { out_shape };
                let mut result = Ok(());
                T::with_host(out, |elements| {
                    let mut output = Output { op: &self.op, elements, shape: out_shape };
                    result = call(&self.op, || self.operator.cpu(&inputs, &mut output));
                });
                result
            };
            if let Err(error) = result {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                // The error of the first part is kept, whichever thread fails first.
                if failed.as_ref().is_none_or(|(at, _)| index < *at) {
                    *failed = Some((index, error));
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, message)) => Err(KernelError::Value { message }),
            None => Ok(()),
        }
    }
}
