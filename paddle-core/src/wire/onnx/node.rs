//! Construction of operators, and access to attributes by name.

use super::{AttributeProto, GraphProto, NodeProto, OperatorSetId, TensorProto};

impl OperatorSetId {
    /// This version of ONNX's own operators.
    pub fn new(version: i64) -> Self {
        OperatorSetId { version, ..OperatorSetId::default() }
    }
}

impl NodeProto {
    /// An operator that reads and writes these values.
    ///
    /// ```
    /// use paddle_core::wire::onnx::{AttributeProto, NodeProto};
    ///
    /// let node = NodeProto::new("Elu", ["x"], ["y"]).with(AttributeProto::float("alpha", 0.5));
    /// assert_eq!(node.attr("alpha").and_then(|attr| attr.f), Some(0.5));
    /// ```
    pub fn new<const I: usize, const O: usize>(op_type: &str, input: [&str; I], output: [&str; O]) -> Self {
        NodeProto {
            op_type: op_type.to_string(),
            input: input.map(str::to_string).to_vec(),
            output: output.map(str::to_string).to_vec(),
            ..NodeProto::default()
        }
    }

    /// The operator with one more attribute.
    pub fn with(mut self, attribute: AttributeProto) -> Self {
        self.attribute.push(attribute);
        self
    }

    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&AttributeProto> {
        self.attribute.iter().find(|attr| attr.name == name)
    }
}

/// The numbers of the kinds of attributes.
const FLOAT: i32 = 1;
const INT: i32 = 2;
const STRING: i32 = 3;
const TENSOR: i32 = 4;
const GRAPH: i32 = 5;
const INTS: i32 = 7;

impl AttributeProto {
    fn named(name: &str, kind: i32) -> Self {
        AttributeProto { name: name.to_string(), r#type: Some(kind), ..AttributeProto::default() }
    }

    /// A number in floating point.
    pub fn float(name: &str, f: f32) -> Self {
        AttributeProto { f: Some(f), ..AttributeProto::named(name, FLOAT) }
    }

    /// A whole number.
    pub fn int(name: &str, i: i64) -> Self {
        AttributeProto { i: Some(i), ..AttributeProto::named(name, INT) }
    }

    /// Whole numbers.
    pub fn ints(name: &str, ints: impl IntoIterator<Item = i64>) -> Self {
        AttributeProto { ints: ints.into_iter().collect(), ..AttributeProto::named(name, INTS) }
    }

    /// A text.
    pub fn text(name: &str, s: &str) -> Self {
        AttributeProto { s: Some(s.as_bytes().to_vec()), ..AttributeProto::named(name, STRING) }
    }

    /// A tensor.
    pub fn tensor(name: &str, t: TensorProto) -> Self {
        AttributeProto { t: Some(t), ..AttributeProto::named(name, TENSOR) }
    }

    /// A graph.
    pub fn graph(name: &str, graph: &GraphProto) -> Self {
        AttributeProto { g: Some(graph.encode_to_vec()), ..AttributeProto::named(name, GRAPH) }
    }
}
