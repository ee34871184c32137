//! Rows in JSON: what a service reads as the inputs of a model, and how it writes the outputs.

use std::ops::Range;

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};
use paddle::core::program::DType;
use paddle::network::Variable;
use paddle::{Batch, Dynamic, Element, Outputs};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::array::Array;
use crate::failure::Failure;
use crate::inputs::offsets;

/// The value of an input in one row.
pub(crate) struct Cell {
    /// With an axis in front: of one row or, for sequences, of all tokens.
    array: Array,
    /// The lengths of sequences for each level, the outermost first.
    lengths: Vec<Vec<usize>>,
}

impl Cell {
    /// Reads the value of an input. Errors have their place in the request: `rows[1].x[0]: found 3 elements, expected 2`.
    pub(crate) fn read(value: &Value, input: &Variable, place: String) -> Result<Self, String> {
        let mut reading = Reading {
            input,
            place,
            dims: input.dims.clone(),
            lengths: vec![Vec::new(); input.levels],
            elements: Elements::new(input.dtype),
            tokens: 0,
        };
        reading.sequences(value, 0)?;
        let Reading { dims, lengths, elements, tokens, .. } = reading;
        // Sequences without tokens leave sizes open; they have no elements of any size.
        let dims = dims.into_iter().map(|dim| dim.unwrap_or(0));
        let shape: Vec<usize> = input.batched.then_some(tokens).into_iter().chain(dims).collect();
        Ok(Cell { array: elements.into_array(&shape), lengths })
    }

    /// The sizes that have to be the same in all rows that are computed together.
    pub(crate) fn sizes(&self) -> &[usize] {
        self.array.shape().get(1..).unwrap_or_default()
    }

    /// Feeds an input with its values in several rows.
    pub(crate) fn feed(cells: &[&Cell], input: &Variable, batch: &mut Batch<Dynamic>) -> Result<(), Failure> {
        let arrays: Vec<&Array> = cells.iter().map(|cell| &cell.array).collect();
        let level = |level: usize| {
            let lengths = cells.iter().flat_map(|cell| &cell.lengths[level]).copied();
            offsets(&lengths.collect::<Vec<_>>())
        };
        let levels: Vec<Vec<usize>> = (0..input.levels).map(level).collect();
        match Array::concatenate(&arrays) {
            Some(array) => array.feed(batch, &input.name, &levels),
            None => Err(Failure::Asked(format!("input `{}` has other sizes in other rows", input.name))),
        }
    }
}

/// The state of reading one value.
struct Reading<'a> {
    input: &'a Variable,
    place: String,
    /// The sizes of a row or token, as far as they are known.
    dims: Vec<Option<usize>>,
    lengths: Vec<Vec<usize>>,
    elements: Elements,
    tokens: usize,
}

impl Reading<'_> {
    fn list<'v>(&self, value: &'v Value) -> Result<&'v [Value], String> {
        match value {
            Value::Array(items) => Ok(items),
            other => {
                let Reading { place, input, .. } = self;
                Err(format!(
                    "{place}: found {}, expected a list: `{}` is {}",
                    shown(other),
                    input.name,
                    input.shown
                ))
            }
        }
    }

    /// Calls `read` with each item, at its place.
    fn each(
        &mut self,
        items: &[Value],
        mut read: impl FnMut(&mut Self, &Value) -> Result<(), String>,
    ) -> Result<(), String> {
        let length = self.place.len();
        for (at, item) in items.iter().enumerate() {
            self.place += &format!("[{at}]");
            read(self, item)?;
            self.place.truncate(length);
        }
        Ok(())
    }

    fn sequences(&mut self, value: &Value, level: usize) -> Result<(), String> {
        if level == self.input.levels {
            self.tokens += 1;
            return self.sizes(value, 0);
        }
        let items = self.list(value)?;
        self.lengths[level].push(items.len());
        self.each(items, |reading, item| reading.sequences(item, level + 1))
    }

    fn sizes(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        let Some(&expected) = self.dims.get(depth) else {
            return self
                .elements
                .push(value)
                .map_err(|expected| format!("{}: found {}, expected {expected}", self.place, shown(value)));
        };
        // A number may stand for a list of one.
        if !value.is_array() && self.dims[depth..].iter().all(|dim| *dim == Some(1)) {
            return self.sizes(value, self.dims.len());
        }
        let items = self.list(value)?;
        let expected = *self.dims[depth].insert(expected.unwrap_or(items.len()));
        if items.len() != expected {
            let Reading { place, input, .. } = self;
            let (found, name, ty) = (items.len(), &input.name, &input.shown);
            return Err(format!("{place}: found {found} elements, expected {expected}: `{name}` is {ty}"));
        }
        self.each(items, |reading, item| reading.sizes(item, depth + 1))
    }
}

/// A value of JSON in a few words.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".into(),
        Value::String(text) if text.len() > 20 => "a text".into(),
        value => value.to_string(),
    }
}

enum Elements {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Elements {
    fn new(dtype: DType) -> Self {
        match dtype {
            DType::Bool => Elements::Bool(Vec::new()),
            DType::I32 => Elements::I32(Vec::new()),
            DType::I64 => Elements::I64(Vec::new()),
            DType::F32 => Elements::F32(Vec::new()),
            DType::F64 => Elements::F64(Vec::new()),
        }
    }

    /// Appends an element. The error is what was expected.
    fn push(&mut self, value: &Value) -> Result<(), &'static str> {
        match self {
            Elements::Bool(elements) => elements.push(value.as_bool().ok_or("true or false")?),
            Elements::I32(elements) => {
                let number = value.as_i64().and_then(|number| number.try_into().ok());
                elements.push(number.ok_or("a whole number of 32 bits")?);
            }
            Elements::I64(elements) => elements.push(value.as_i64().ok_or("a whole number")?),
            Elements::F32(elements) => elements.push(value.as_f64().ok_or("a number")? as f32),
            Elements::F64(elements) => elements.push(value.as_f64().ok_or("a number")?),
        }
        Ok(())
    }

    fn into_array(self, shape: &[usize]) -> Array {
        fn of<T>(elements: Vec<T>, shape: &[usize]) -> ArrayD<T> {
            ArrayD::from_shape_vec(IxDyn(shape), elements).expect("the elements were counted")
        }
        match self {
            Elements::Bool(elements) => Array::Bool(of(elements, shape)),
            Elements::I32(elements) => Array::I32(of(elements, shape)),
            Elements::I64(elements) => Array::I64(of(elements, shape)),
            Elements::F32(elements) => Array::F32(of(elements, shape)),
            Elements::F64(elements) => Array::F64(of(elements, shape)),
        }
    }
}

/// The outputs of one row, as an object with the outputs' names.
pub(crate) struct RowOfOutputs<'a> {
    pub(crate) outputs: &'a Outputs,
    pub(crate) described: &'a [Variable],
    pub(crate) row: usize,
}

impl Serialize for RowOfOutputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.described.len()))?;
        for (k, output) in self.described.iter().enumerate() {
            macro_rules! entry {
                ($type:ty) => {{
                    let elements = self.outputs.at::<$type>(k).map_err(S::Error::custom)?;
                    let levels = self.outputs.levels(k);
                    map.serialize_entry(&output.name, &self.value(output, elements, levels))?;
                }};
            }
            match output.dtype {
                DType::Bool => entry!(bool),
                DType::I32 => entry!(i32),
                DType::I64 => entry!(i64),
                DType::F32 => entry!(f32),
                DType::F64 => entry!(f64),
            }
        }
        map.end()
    }
}

impl RowOfOutputs<'_> {
    fn value<'v, T: Element>(
        &self,
        output: &Variable,
        elements: ArrayViewD<'v, T>,
        levels: &'v [Vec<usize>],
    ) -> Nested<'v, T> {
        match levels {
            [] if output.batched => Nested::Lists(elements.index_axis_move(Axis(0), self.row)),
            [] => Nested::Lists(elements),
            [own, levels @ ..] => {
                Nested::Sequences { elements, levels, items: own[self.row]..own[self.row + 1] }
            }
        }
    }
}

/// Elements as lists in lists.
enum Nested<'a, T> {
    /// Those of an array. Numbers that are not finite are `null`: JSON has none.
    Lists(ArrayViewD<'a, T>),
    /// Items one behind the other: tokens or, if there are levels, sequences of the outermost of them.
    Sequences { elements: ArrayViewD<'a, T>, levels: &'a [Vec<usize>], items: Range<usize> },
}

impl<T: Element + Serialize> Serialize for Nested<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Nested::Lists(elements) => match elements.first() {
                Some(element) if elements.ndim() == 0 => element.serialize(serializer),
                _ => serializer.collect_seq(elements.axis_iter(Axis(0)).map(Nested::Lists)),
            },
            Nested::Sequences { elements, levels, items } => {
                serializer.collect_seq(items.clone().map(|item| match levels {
                    [] => Nested::Lists(elements.index_axis(Axis(0), item)),
                    [own, levels @ ..] => {
                        let items = own[item]..own[item + 1];
                        Nested::Sequences { elements: elements.view(), levels, items }
                    }
                }))
            }
        }
    }
}
