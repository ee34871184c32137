//! Models of which everything can run, or all that cannot.

use std::collections::BTreeMap;

use super::Reader;
use crate::convert::from_wire::Unsupported;
use crate::ops::Program;
use crate::wire::TensorRecord;
use crate::wire::onnx::ModelProto;

/// A model of ONNX as a program, with the values of its parameters.
#[derive(Clone, Debug)]
pub struct OnnxModel {
    /// The program.
    pub program: Program,
    /// The values of its parameters, by their names.
    pub parameters: BTreeMap<String, TensorRecord>,
}

/// Reads a model of ONNX: the operators of its graph as ours, its initialisers as parameters.
///
/// The first dimension of an input is the batch if it is unknown, or has a name. Where several names are first, it is the one
/// that has `batch` in it, or else the first.
///
/// # Errors
/// All operators, attributes and types that are not supported, each with its place.
///
/// ```
/// use paddle_core::convert::load_onnx;
/// use paddle_core::wire::onnx::{
///     DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetId, ShapeProto, TensorTypeProto, TypeProto,
///     ValueInfoProto,
/// };
///
/// let batch = DimensionProto { dim_param: Some("batch".into()), ..Default::default() };
/// let width = DimensionProto { dim_value: Some(4), ..Default::default() };
/// let shape = Some(ShapeProto { dim: vec![batch, width], ..Default::default() });
/// let tensor_type = Some(TensorTypeProto { elem_type: Some(1), shape, ..Default::default() });
/// let ty = Some(TypeProto { tensor_type, ..Default::default() });
/// let value = |name: &str| ValueInfoProto { name: name.into(), r#type: ty.clone(), ..Default::default() };
/// let graph = GraphProto {
///     node: vec![NodeProto::new("Relu", ["x"], ["y"])],
///     input: vec![value("x")],
///     output: vec![value("y")],
///     ..Default::default()
/// };
/// let mut model = ModelProto { graph, opset_import: vec![OperatorSetId::new(17)], ..Default::default() };
/// let program = load_onnx(&model)?.program;
/// assert!(program.to_string().contains("y: f32[_, 4] = relu(x)"));
///
/// model.graph.node[0].op_type = "MaxRoiPool".into();
/// assert_eq!(
///     load_onnx(&model).unwrap_err().to_string(),
///     "the program cannot be run: block 0, operator 0 `MaxRoiPool`: there is no such operator here"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_onnx(model: &ModelProto) -> Result<OnnxModel, Unsupported> {
    load_for(model, false)
}

/// Reads a model like [`load_onnx`], but as one that can be trained: normalisation computes statistics of a batch and moves those
/// that are kept, and dropout drops. [`test_mode`](crate::passes::test_mode) makes of it what was saved.
///
/// # Errors
/// Those of [`load_onnx`].
pub fn load_onnx_to_train(model: &ModelProto) -> Result<OnnxModel, Unsupported> {
    load_for(model, true)
}

fn load_for(model: &ModelProto, trains: bool) -> Result<OnnxModel, Unsupported> {
    let mut reader = Reader::new(trains);
    let result = reader.read(model);
    let mut faults = reader.found;
    faults.extend(result.err());
    match faults.is_empty() {
        true => Ok(OnnxModel { program: reader.draft.program, parameters: reader.parameters }),
        false => Err(Unsupported { faults }),
    }
}
