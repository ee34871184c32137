//! Graphs while they are written: operators, constants, and the names of values.

use std::collections::{BTreeMap, BTreeSet};

use super::row_spaces::Fact;
use crate::convert::export::LegaliseError;
use crate::ops::{Number, Operator, Program};
use crate::program::{BlockId, DType, RowsId, SymbolId, VarId};
use crate::wire::onnx::{
    AttributeProto, ElementType, GraphProto, NodeProto, ShapeProto, TensorProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};

/// A program while it is written.
pub(super) struct Writer<'a> {
    pub(super) program: &'a Program,
    /// The operators of the graphs around the one that is written, and its own.
    graphs: Vec<Vec<NodeProto>>,
    constants: Vec<TensorProto>,
    /// The names of constants, by what they are.
    known: BTreeMap<(i32, Vec<i64>, Vec<u8>), String>,
    taken: BTreeSet<String>,
    /// For each name, the last suffix.
    suffixes: BTreeMap<String, u64>,
    names: BTreeMap<VarId, String>,
    /// What is known where the graph is written, the innermost last.
    pub(super) scopes: Vec<Scope>,
    /// The operators that are being written, the innermost last.
    at: Vec<&'a Operator>,
}

/// What is known in a graph, or in a part of one: values that describe rows and sizes.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) facts: BTreeMap<(RowsId, Fact), String>,
    /// For a size, a value with a dimension of that size, and the number of the dimension.
    pub(super) holders: BTreeMap<SymbolId, (String, i64)>,
    /// The values of sizes.
    pub(super) sizes: BTreeMap<SymbolId, String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let of_user = program.inputs().iter().copied().chain(program.parameters());
        Writer {
            program,
            graphs: vec![Vec::new()],
            constants: Vec::new(),
            known: BTreeMap::new(),
            taken: of_user.map(|var| program.var(var).name.clone()).chain([String::new()]).collect(),
            suffixes: BTreeMap::new(),
            names: BTreeMap::new(),
            scopes: vec![Scope::default()],
            at: Vec::new(),
        }
    }

    /// The operators and the constants.
    pub(super) fn finish(mut self) -> (Vec<NodeProto>, Vec<TensorProto>) {
        (self.graphs.pop().unwrap_or_default(), self.constants)
    }

    /// `name`, or `name` with a free suffix.
    pub(super) fn free(&mut self, name: &str) -> String {
        let mut free = name.to_string();
        while !self.taken.insert(free.clone()) {
            let suffix = self.suffixes.entry(name.to_string()).or_default();
            *suffix += 1;
            free = format!("{name}_{suffix}");
        }
        free
    }

    /// The value of the program that this value is.
    pub(super) fn define(&mut self, var: VarId, name: String) {
        let ty = self.program.ty(var);
        for (axis, dim) in self.program.shape(ty).iter().enumerate() {
            if let Some(symbol) = dim.as_symbol() {
                self.hold(symbol, &name, axis as i64);
            }
        }
        self.names.insert(var, name);
    }

    /// Notes that a dimension of a value has this size, unless another one is known to have it.
    pub(super) fn hold(&mut self, symbol: SymbolId, name: &str, axis: i64) {
        if self.scopes.iter().all(|scope| !scope.holders.contains_key(&symbol))
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.holders.insert(symbol, (name.to_string(), axis));
        }
    }

    /// The value that a value of the program is.
    pub(super) fn name(&self, var: VarId) -> Result<String, LegaliseError> {
        match self.names.get(&var) {
            Some(name) => Ok(name.clone()),
            None => self.refuse(format!("ONNX has nothing that gives `{}`", self.program.var(var).name)),
        }
    }

    /// The values of an operator's inputs.
    pub(super) fn inputs(&self, operator: &Operator) -> Result<Vec<String>, LegaliseError> {
        operator.inputs.iter().map(|&input| self.name(input)).collect()
    }

    /// Copies a value to an output of the graph.
    pub(super) fn output(&mut self, var: VarId) -> Result<String, LegaliseError> {
        let program = self.program;
        if program.ty(var).rows.is_some_and(|rows| program.is_reordered(rows)) {
            return Err(LegaliseError::in_order_of_loop(&program.var(var).name));
        }
        let (name, called) = (self.name(var)?, self.free(&program.var(var).name));
        self.give(&name, &called);
        Ok(called)
    }

    /// Copies a value to one with this name.
    pub(super) fn give(&mut self, from: &str, to: &str) {
        self.push(NodeProto::new("Identity", [from], [to]));
    }

    fn push(&mut self, node: NodeProto) {
        if let Some(graph) = self.graphs.last_mut() {
            graph.push(node);
        }
    }

    /// The result of an operator.
    pub(super) fn node(&mut self, op: &str, inputs: &[&str]) -> String {
        self.node_with(op, inputs, [])
    }

    /// The result of an operator with attributes.
    pub(super) fn node_with(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: impl IntoIterator<Item = AttributeProto>,
    ) -> String {
        let [out] = self.nodes_with(op, inputs, attributes);
        out
    }

    /// The results of an operator with attributes.
    pub(super) fn nodes_with<const N: usize>(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: impl IntoIterator<Item = AttributeProto>,
    ) -> [String; N] {
        let outputs = std::array::from_fn(|_| self.free(&op.to_lowercase()));
        self.push_node(op, inputs, &outputs, attributes);
        outputs
    }

    /// An operator with these results.
    pub(super) fn push_node(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[String],
        attributes: impl IntoIterator<Item = AttributeProto>,
    ) {
        self.push(NodeProto {
            input: inputs.iter().map(ToString::to_string).collect(),
            output: outputs.to_vec(),
            attribute: attributes.into_iter().collect(),
            ..NodeProto::new(op, [], [])
        });
    }

    /// Whole numbers in one dimension.
    pub(super) fn ints(&mut self, values: &[i64]) -> String {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(ElementType::Int64, vec![values.len() as i64], data)
    }

    /// A whole number, without dimensions.
    pub(super) fn int(&mut self, value: i64) -> String {
        self.constant(ElementType::Int64, Vec::new(), value.to_le_bytes().to_vec())
    }

    /// A number of an element type, without dimensions.
    pub(super) fn number(&mut self, value: f64, dtype: DType) -> String {
        let value = if dtype.is_float() { Number::Float(value) } else { Number::Int(value as i64) };
        self.numbers(&[value], dtype, Vec::new())
    }

    /// A tensor of these elements.
    pub(super) fn numbers(&mut self, values: &[Number], dtype: DType, dims: Vec<i64>) -> String {
        let data = values.iter().flat_map(|&value| bytes(value, dtype)).collect();
        self.constant(element_type(dtype), dims, data)
    }

    fn constant(&mut self, element: ElementType, dims: Vec<i64>, data: Vec<u8>) -> String {
        let key = (element as i32, dims, data);
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let name = self.free("constant");
        let tensor = TensorProto::of(element, key.1.iter().copied(), key.2.clone());
        self.constants.push(TensorProto { name: Some(name.clone()), ..tensor });
        self.known.insert(key, name.clone());
        name
    }

    /// A tensor of one number, for an attribute.
    pub(super) fn one_number(&self, value: f64, dtype: DType) -> TensorProto {
        let value = if dtype.is_float() { Number::Float(value) } else { Number::Int(value as i64) };
        TensorProto::of(element_type(dtype), [1], bytes(value, dtype))
    }

    /// Begins a graph within an operator.
    pub(super) fn begin(&mut self) {
        self.graphs.push(Vec::new());
        self.scopes.push(Scope::default());
    }

    /// Ends a graph within an operator. Its outputs are copies, as they may be values from outside.
    /// Of inputs and outputs it is told whether they are without dimensions.
    pub(super) fn end(
        &mut self,
        inputs: &[(&str, DType, bool)],
        outputs: &[(&str, DType, bool)],
    ) -> GraphProto {
        let input = inputs.iter().map(|&(name, dtype, is_scalar)| value(name, dtype, is_scalar)).collect();
        let mut given = Vec::with_capacity(outputs.len());
        for &(name, dtype, is_scalar) in outputs {
            let to = self.free("result");
            self.give(name, &to);
            given.push(value(&to, dtype, is_scalar));
        }
        self.scopes.pop();
        let node = self.graphs.pop().unwrap_or_default();
        GraphProto { node, name: Some(self.free("graph")), input, output: given, ..GraphProto::default() }
    }

    /// Writes the operators of a block.
    pub(super) fn block(&mut self, block: BlockId) -> Result<(), LegaliseError> {
        let program = self.program;
        for operator in &program.block(block).ops {
            self.at.push(operator);
            self.operator(operator)?;
            self.at.pop();
        }
        Ok(())
    }

    /// Refuses the operator that is being written.
    pub(super) fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, LegaliseError> {
        let operator = self.at.last();
        Err(LegaliseError::Operator {
            operator: operator.map_or("the program", |operator| operator.op.operation().called()).to_string(),
            place: operator.and_then(|operator| operator.site.place).map(|place| self.program.locate(place)),
            reason: reason.into(),
        })
    }
}

/// A value whose shape is not declared, unless it has no dimensions.
fn value(name: &str, dtype: DType, is_scalar: bool) -> ValueInfoProto {
    let tensor = TensorTypeProto {
        elem_type: Some(element_type(dtype) as i32),
        shape: is_scalar.then(ShapeProto::default),
        ..TensorTypeProto::default()
    };
    ValueInfoProto {
        name: name.to_string(),
        r#type: Some(TypeProto { tensor_type: Some(tensor), ..TypeProto::default() }),
        ..ValueInfoProto::default()
    }
}

/// ONNX's element type.
pub(super) fn element_type(dtype: DType) -> ElementType {
    match dtype {
        DType::Bool => ElementType::Bool,
        DType::I32 => ElementType::Int32,
        DType::I64 => ElementType::Int64,
        DType::F32 => ElementType::Float,
        DType::F64 => ElementType::Double,
    }
}

/// A number as an element, little endian.
fn bytes(value: Number, dtype: DType) -> Vec<u8> {
    let whole = || value.as_i64().unwrap_or(value.as_f64() as i64);
    match dtype {
        DType::Bool => vec![u8::from(value.as_f64() != 0.0)],
        DType::I32 => (whole() as i32).to_le_bytes().to_vec(),
        DType::I64 => whole().to_le_bytes().to_vec(),
        DType::F32 => (value.as_f64() as f32).to_le_bytes().to_vec(),
        DType::F64 => value.as_f64().to_le_bytes().to_vec(),
    }
}
