//! Constants, ranges and random numbers.

use std::rc::Rc;

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::from_onnx::{Constant, Reader, Value};
use crate::ops::{Cast, Fill, GaussianRandom, Number, OneHot, Range, UniformRandom};
use crate::program::{DType, Dim, Type};
use crate::wire::onnx::{ElementType, TensorProto};

impl Node<'_, '_> {
    /// Elements in the file. They become a value where they are read as one.
    pub(in crate::convert::from_onnx) fn constant_tensor(&mut self) -> Result<(), Fault> {
        let Some(name) = self.desc.output.first() else { return self.lacks("it has no output") };
        let of = |element: ElementType, dims: Vec<i64>| TensorProto {
            data_type: Some(element as i32),
            dims,
            ..TensorProto::default()
        };
        let list = |len: usize| vec![len as i64];
        let Some(attr) = self.desc.attribute.first() else { return self.lacks("its value is missing") };
        let tensor = match (attr.name.as_str(), &attr.t) {
            ("value", Some(tensor)) => tensor,
            ("value_float", _) => &TensorProto {
                float_data: attr.f.into_iter().collect(),
                ..of(ElementType::Float, Vec::new())
            },
            ("value_int", _) => &TensorProto {
                int64_data: attr.i.into_iter().collect(),
                ..of(ElementType::Int64, Vec::new())
            },
            ("value_floats", _) => &TensorProto {
                float_data: attr.floats.clone(),
                ..of(ElementType::Float, list(attr.floats.len()))
            },
            ("value_ints", _) => &TensorProto {
                int64_data: attr.ints.clone(),
                ..of(ElementType::Int64, list(attr.ints.len()))
            },
            _ => return self.lacks(format!("its `{}` is no tensor of numbers", attr.name)),
        };
        let constant = Constant::of(tensor, name, false)?;
        let narrow = constant.narrow;
        self.reader.define(name, Value { var: None, constant: Some(Rc::new(constant)), narrow })
    }

    pub(super) fn constant_of_shape(&mut self) -> Given {
        let Some(dims) = self.dims(0) else {
            return self.lacks("its shape is computed while it runs, but has to be known before");
        };
        let (dtype, value) = match self.attr("value").and_then(|attr| attr.t.as_ref()) {
            None => (DType::F32, Number::Float(0.0)),
            Some(tensor) => {
                let constant = Constant::of(tensor, "value", false)?;
                match constant.numbers()[..] {
                    [value] => (constant.ty.dtype, value),
                    _ => return self.lacks("its value is not one number"),
                }
            }
        };
        let ty = self.reader.draft.type_of(dtype, dims);
        let ty = self.reader.draft.checked(ty)?;
        self.give(Fill { value, ty }, &[])
    }

    /// The numbers from one to before another: constants, a size that a batch has, or what a run computes.
    pub(super) fn range(&mut self) -> Given {
        let numbers = [0, 1, 2].map(|at| self.numbers(at).and_then(|numbers| numbers.first().copied()));
        let dtype =
            (0..3).find_map(|at| self.constant(at).map(|constant| constant.ty.dtype)).unwrap_or(DType::I64);
        let (Some(start), Some(step)) = (numbers[0], numbers[2]) else { return self.computed_range() };
        let count = match (numbers[1], self.dims(1).as_deref()) {
            (Some(end), _) => {
                let count = ((end.as_f64() - start.as_f64()) / step.as_f64()).ceil();
                // The number of elements is NaN, or more than fit into any memory.
                if !(-1e15..1e15).contains(&count) {
                    return self.lacks("it has no end");
                }
                Dim::from(count.max(0.0) as i64)
            }
            (None, Some([end])) if step.as_i64() == Some(1) && start.as_i64().is_some() => {
                let start = Dim::from(start.as_i64().unwrap_or_default());
                match end - &start {
                    Ok(count) => count,
                    Err(_) => return self.lacks("its end is a size that is too long"),
                }
            }
            _ => return self.computed_range(),
        };
        let ty = Type { dtype, rows: None, dims: vec![count] };
        self.give(Range { start, step, ty }, &[])
    }

    fn computed_range(&mut self) -> Given {
        let limits = [self.input(0)?, self.input(1)?, self.input(2)?];
        match self.at().range_between(limits)? {
            Some(numbers) => Ok(vec![numbers]),
            None => self.lacks("its start, end or step is not one number, or has rows"),
        }
    }

    /// Ones on a diagonal of a matrix like another one, and zeros.
    pub(super) fn eye_like(&mut self) -> Given {
        let (x, k) = (self.input(0)?, self.int("k", 0));
        let dtype = match self.attr("dtype").and_then(|attr| attr.i) {
            Some(number) => Reader::element_type("dtype", i32::try_from(number).unwrap_or(0))?.1,
            None => self.ty(x).dtype,
        };
        let (0, [rows, columns]) = (self.rows(x), &self.ty(x).dims.clone()[..]) else {
            return self.lacks("it is like no matrix");
        };
        let ty = Type { dtype: DType::I64, rows: None, dims: vec![rows.clone()] };
        let numbers = self.emit(Range { start: Number::Int(k), step: Number::Int(1), ty }, &[])?;
        let number = if dtype == DType::Bool { DType::I32 } else { dtype };
        let eye = OneHot { depth: columns.clone(), dtype: number, allow_out_of_range: true };
        let eye = self.emit(eye, &[numbers])?;
        if dtype == DType::Bool { self.give(Cast { dtype }, &[eye]) } else { Ok(vec![eye]) }
    }

    /// Random numbers of a shape that is written, or like another value.
    pub(super) fn random(&mut self, is_normal: bool, is_like: bool) -> Given {
        let path = self.desc.output.first().cloned().unwrap_or_default();
        let number = self.attr("dtype").and_then(|attr| attr.i);
        let mut ty = match is_like {
            true => {
                let like = self.input(0)?;
                self.ty(like).clone()
            }
            false => Type::new(DType::F32, self.ints("shape").unwrap_or_default()),
        };
        if let Some(number) = number {
            ty.dtype = Reader::element_type("dtype", i32::try_from(number).unwrap_or(0))?.1;
        }
        if !ty.dtype.is_float() {
            return self.lacks("it draws integers");
        }
        let ty = self.reader.draft.checked(ty)?;
        match is_normal {
            true => {
                let (mean, std) = (self.float("mean", 0.0), self.float("scale", 1.0));
                self.give(GaussianRandom { mean, std, fan: None, path, ty }, &[])
            }
            false => {
                let (min, max) = (self.float("low", 0.0), self.float("high", 1.0));
                self.give(UniformRandom { min, max, fan: None, path, ty }, &[])
            }
        }
    }
}
