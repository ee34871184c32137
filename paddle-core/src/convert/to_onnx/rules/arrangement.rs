//! Operators that move elements, and constants.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{AssignValue, Expand, Fill, Operator, Pad, Range, Size, Slice, Split, Tile};
use crate::program::{DType, Dim};
use crate::wire::onnx::AttributeProto;

/// The most elements of a constant that is written out.
const MOST_WRITTEN: i64 = 64;

impl Writer<'_> {
    pub(super) fn transposed(&mut self, x: &str, perm: &[i64]) -> String {
        self.node_with("Transpose", &[x], [AttributeProto::ints("perm", perm.iter().copied())])
    }

    pub(super) fn concat(&mut self, axis: i64, x: &[&str]) -> String {
        match x {
            [one] => one.to_string(),
            _ => self.node_with("Concat", x, [AttributeProto::int("axis", axis)]),
        }
    }

    pub(super) fn split(
        &mut self,
        operator: &Operator,
        op: &Split,
        x: &[&str],
    ) -> Result<Vec<String>, LegaliseError> {
        let sections = self.shape_of(&op.sections)?;
        let outputs: Vec<String> = operator.outputs.iter().map(|_| self.free("split")).collect();
        self.push_node("Split", &[x[0], &sections], &outputs, [AttributeProto::int("axis", op.axis)]);
        Ok(outputs)
    }

    pub(super) fn slice(&mut self, op: &Slice, x: &[&str]) -> String {
        let (mut axes, mut starts, mut ends, mut steps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (&axis, (_, bounds)) in op.axes.iter().zip(op.bounds()) {
            axes.push(axis);
            starts.push(bounds.start);
            // Backward, -1 is the place before the first element, and not the last one.
            ends.push(if bounds.stride < 0 && bounds.end == -1 { i64::MIN } else { bounds.end });
            steps.push(bounds.stride);
        }
        let [axes, starts, ends, steps] = [axes, starts, ends, steps].map(|all| self.ints(&all));
        self.node("Slice", &[x[0], &starts, &ends, &axes, &steps])
    }

    pub(super) fn pad(&mut self, operator: &Operator, op: &Pad, x: &[&str]) -> String {
        let before = op.paddings.iter().step_by(2);
        let sides: Vec<i64> = before.chain(op.paddings.iter().skip(1).step_by(2)).copied().collect();
        let sides = self.ints(&sides);
        let value = self.number(op.pad_value, self.program.ty(operator.outputs[0]).dtype);
        self.node("Pad", &[x[0], &sides, &value])
    }

    pub(super) fn tile(
        &mut self,
        operator: &Operator,
        op: &Tile,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let rows = self.program.ty(operator.inputs[0]).rows.map(|_| Dim::from(1));
        let times: Vec<Dim> = rows.into_iter().chain(op.repeat_times.iter().cloned()).collect();
        let times = self.shape_of(&times)?;
        Ok(self.node("Tile", &[x[0], &times]))
    }

    pub(super) fn expand(
        &mut self,
        operator: &Operator,
        op: &Expand,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let to = self.program.ty(operator.outputs[0]).clone();
        let all: Vec<i64> = (0..to.rank() as i64).collect();
        let axes = if op.axes.is_empty() { &all } else { &op.axes };
        let x = if op.keep_dim { x[0].to_string() } else { self.unsqueezed(x[0], axes) };
        let shape = self.shape(&to)?;
        Ok(self.node("Expand", &[&x, &shape]))
    }

    /// The number of elements along some axes.
    pub(super) fn size_of_axes(&mut self, operator: &Operator, op: &Size) -> Result<String, LegaliseError> {
        let dims = self.program.shape(self.program.ty(operator.inputs[0]));
        let is_counted = |axis: &usize| op.axes.is_empty() || op.axes.contains(&(*axis as i64));
        let mut size = self.ints(&[1]);
        for axis in (0..dims.len()).filter(is_counted) {
            let dim = self.size(&dims[axis])?;
            size = self.node("Mul", &[&size, &dim]);
        }
        let size = self.cast(&size, self.program.ty(operator.outputs[0]).dtype);
        let out = self.program.ty(operator.outputs[0]).clone();
        self.reshaped(&size, &out)
    }

    pub(super) fn fill(&mut self, op: &Fill) -> Result<String, LegaliseError> {
        let dims = self.program.shape(&op.ty);
        let sizes: Option<Vec<i64>> = dims.iter().map(|dim| dim.constant()).collect();
        let product = |sizes: &[i64]| sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
        let known = sizes.and_then(|sizes| Some((product(&sizes)?, sizes)));
        if let Some((count, sizes)) = known.filter(|(count, _)| *count <= MOST_WRITTEN) {
            return Ok(self.numbers(&vec![op.value; count as usize], op.ty.dtype, sizes));
        }
        let shape = self.shape(&op.ty)?;
        Ok(match op.ty.dtype {
            // Other element types hold every number exactly that they can be filled with.
            DType::I64 | DType::I32 => {
                let value = self.numbers(&[op.value], op.ty.dtype, Vec::new());
                self.node("Expand", &[&value, &shape])
            }
            dtype => self.filled(&shape, op.value.as_f64(), dtype),
        })
    }

    pub(super) fn assign_value(&mut self, op: &AssignValue) -> String {
        let dims = op.ty.dims.iter().filter_map(|dim| dim.constant()).collect();
        self.numbers(&op.values, op.ty.dtype, dims)
    }

    pub(super) fn range(&mut self, op: &Range) -> Result<String, LegaliseError> {
        let (count, none) = (self.shape(&op.ty)?, self.ints(&[]));
        let count = self.node("Reshape", &[&count, &none]);
        let numbers = self.numbers_below(&count);
        let numbers = self.cast(&numbers, op.ty.dtype);
        let [start, step] = [op.start, op.step].map(|value| self.numbers(&[value], op.ty.dtype, Vec::new()));
        let multiples = self.node("Mul", &[&numbers, &step]);
        Ok(self.node("Add", &[&multiples, &start]))
    }

    /// The number of each row, in the order of the rows.
    pub(super) fn row_numbers(&mut self, operator: &Operator) -> Result<String, LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]).clone();
        let Some(rows) = ty.rows else { return self.refuse("it has no rows") };
        let count = self.count_scalar(rows)?;
        let numbers = self.numbers_below(&count);
        self.reshaped(&numbers, &ty)
    }

    /// In ONNX, rows are a dimension anyway.
    pub(super) fn renamed_rows(&mut self, operator: &Operator, x: &[&str]) -> Result<String, LegaliseError> {
        let rows = operator.inputs.iter().chain(&operator.outputs).find_map(|&var| self.program.ty(var).rows);
        match rows.is_some_and(|rows| self.program.is_reordered(rows)) {
            true => self.refuse("its rows are in the order of a loop"),
            false => Ok(x[0].to_string()),
        }
    }
}
