//! Construction of operators, and access to attributes by name.

use super::{AttributeProto, NodeProto, OperatorSetId};

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

impl AttributeProto {
    fn named(name: &str) -> Self {
        AttributeProto { name: name.to_string(), ..AttributeProto::default() }
    }

    /// A number in floating point.
    pub fn float(name: &str, f: f32) -> Self {
        AttributeProto { f: Some(f), ..AttributeProto::named(name) }
    }

    /// A whole number.
    pub fn int(name: &str, i: i64) -> Self {
        AttributeProto { i: Some(i), ..AttributeProto::named(name) }
    }

    /// Whole numbers.
    pub fn ints(name: &str, ints: impl IntoIterator<Item = i64>) -> Self {
        AttributeProto { ints: ints.into_iter().collect(), ..AttributeProto::named(name) }
    }

    /// A text.
    pub fn text(name: &str, s: &str) -> Self {
        AttributeProto { s: Some(s.as_bytes().to_vec()), ..AttributeProto::named(name) }
    }
}
