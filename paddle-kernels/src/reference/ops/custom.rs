//! Operators that users write, computed by the reference kernels that are linked to them.

use paddle_core::ops::Custom;
use paddle_core::plan::{HostSlice, HostSliceMut, KernelError};
use paddle_core::program::DType;

use super::Evaluate;
use crate::custom::{Input, Inputs, Operator, Output, Shape, call, linked};
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for Custom {
    fn is_supported(&self) -> bool {
        linked(self).is_some()
    }

    fn evaluate(&self, call: &Call<'_>) -> Results {
        let operator = linked(self).ok_or_else(|| Custom::NOT_LINKED.to_string());
        let results = operator.and_then(|operator| compute(self, operator, call));
        results.map_err(|message| KernelError::Value { message })
    }
}

/// The contents of an output before a kernel writes it, in two runs. An element that differs afterwards was not
/// written, or depends on these contents.
const GARBAGE: [(f64, i64, bool); 2] = [(f64::NAN, -1, true), (1e30, 77, false)];

fn compute(op: &Custom, operator: &dyn Operator, call: &Call<'_>) -> Result<Vec<Values>, String> {
    let inputs: Vec<(Values, Shape, bool)> = op
        .definition
        .inputs()
        .iter()
        .enumerate()
        .map(|(k, &input)| {
            let has_rows = op.definition.ty(input).rows.is_some();
            (widened(call.read(k)), Shape::new(call.shape(k).into_iter()), has_rows)
        })
        .collect();
    let shape = Shape::new(call.output_shape(0).into_iter());
    let rows = if op.row_wise { shape.sizes().first().copied().unwrap_or(0) } else { 1 };
    let dtype = match call.output_dtype(0) {
        DType::F32 => DType::F64,
        dtype => dtype,
    };
    let mut parts = vec![Values::zeros(dtype, 0)];
    for row in 0..rows {
        let part = |values: &Values, shape: &Shape| {
            let width: usize = shape.sizes()[1..].iter().product();
            (values.at(&(row * width..(row + 1) * width).collect::<Vec<_>>()), shape.with_rows(1))
        };
        let of_row: Vec<(Values, Shape)> = inputs
            .iter()
            .map(
                |(values, shape, has_rows)| {
                    if op.row_wise && *has_rows { part(values, shape) } else { (values.clone(), *shape) }
                },
            )
            .collect();
        let shape = if op.row_wise { shape.with_rows(1) } else { shape };
        let count: usize = shape.sizes().iter().product();
        let mut results = Vec::with_capacity(GARBAGE.len());
        for garbage in GARBAGE {
            let mut out = filled(dtype, count, garbage);
            run(op, operator, &of_row, &mut out, shape)?;
            results.push(out);
        }
        if let Some(at) = differ(&results[0], &results[1]) {
            return Err(format!(
                "element {at} of the output of `{}` is not written by its reference kernel, or is made \
                 of what was there before",
                op.name
            ));
        }
        parts.append(&mut results.split_off(1));
    }
    let out = Values::join(&parts);
    Ok(vec![match call.output_dtype(0) {
        DType::F32 => Values::round(DType::F32, out.floats()),
        _ => out,
    }])
}

fn run(
    op: &Custom,
    operator: &dyn Operator,
    inputs: &[(Values, Shape)],
    out: &mut Values,
    shape: Shape,
) -> Result<(), String> {
    let input =
        |k: usize| inputs.get(k).map(|(values, shape)| Input { elements: host(values), shape: *shape });
    let inputs = Inputs { op, input: &input };
    let mut output = Output { op, elements: host_mut(out), shape };
    call(op, || operator.reference(&inputs, &mut output))
}

fn widened(values: Values) -> Values {
    match values {
        Values::F32(_) => Values::F64(values.floats()),
        values => values,
    }
}

fn filled(dtype: DType, count: usize, (float, int, truth): (f64, i64, bool)) -> Values {
    match dtype {
        DType::Bool => Values::Bool(vec![truth; count]),
        DType::I32 => Values::I32(vec![int as i32; count]),
        DType::I64 => Values::I64(vec![int; count]),
        DType::F32 | DType::F64 => Values::F64(vec![float; count]),
    }
}

fn host(values: &Values) -> HostSlice<'_> {
    match values {
        Values::Bool(values) => HostSlice::Bool(values),
        Values::I32(values) => HostSlice::I32(values),
        Values::I64(values) => HostSlice::I64(values),
        Values::F32(values) => HostSlice::F32(values),
        Values::F64(values) => HostSlice::F64(values),
    }
}

fn host_mut(values: &mut Values) -> HostSliceMut<'_> {
    match values {
        Values::Bool(values) => HostSliceMut::Bool(values),
        Values::I32(values) => HostSliceMut::I32(values),
        Values::I64(values) => HostSliceMut::I64(values),
        Values::F32(values) => HostSliceMut::F32(values),
        Values::F64(values) => HostSliceMut::F64(values),
    }
}

/// The first element whose bits differ.
fn differ(a: &Values, b: &Values) -> Option<usize> {
    fn first<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> Option<usize> {
        a.iter().zip(b).position(|(a, b)| !same(a, b))
    }
    match (a, b) {
        (Values::Bool(a), Values::Bool(b)) => first(a, b, PartialEq::eq),
        (Values::I32(a), Values::I32(b)) => first(a, b, PartialEq::eq),
        (Values::I64(a), Values::I64(b)) => first(a, b, PartialEq::eq),
        (Values::F64(a), Values::F64(b)) => first(a, b, |a, b| a.to_bits() == b.to_bits()),
        _ => Some(0),
    }
}
