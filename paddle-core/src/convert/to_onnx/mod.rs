//! Writes programs as models in ONNX, for inference.
//!
//! | ours | ONNX's |
//! | --- | --- |
//! | rows | the first dimension |
//! | sequences | their tokens, and an input or output more for each level: the number of tokens of each sequence |
//! | `if` on a scalar | `If` |
//! | `if` per row | both branches on the numbers of their rows, `NonZero`; `Gather`, and back in order by `ScatterND` |
//! | `while` on a scalar | `Loop`: the condition is before it, and again at the end of its body |
//! | `while` per row | `Loop` with the numbers of the rows that go on |
//! | `for` | `Loop` with the state of all rows, of which an iteration takes those whose sequences have a token left |
//! | conditional random fields | a `for` for their cost, two for the best labels |
//! | the order of iterations | none: values are stored in the order of the sequences |
//! | formulas of functions | the same formulas, see `formula.rs` |
//!
//! ONNX has no errors: ids out of range, sequences of different lengths and loops beyond their limit are not found there.
//!
//! | file | holds |
//! | --- | --- |
//! | `graph.rs` | graphs while they are written: operators, constants, names |
//! | `formula.rs` | formulas of tables as operators |
//! | `sizes.rs` | sizes and shapes, as values where they are no numbers |
//! | `row_spaces.rs` | what describes row spaces: lengths of sequences, numbers of rows |
//! | `control_flow.rs` | `if`, `while`, `for` |
//! | `rules/` | the other operators, a file for each family |

mod control_flow;
mod formula;
mod graph;
mod row_spaces;
mod rules;
mod sizes;

use std::collections::BTreeMap;

use self::graph::Writer;
use super::export::ExportError;
use super::from_wire::check_params;
use super::types::element;
use crate::ops::{Op, Program};
use crate::passes::compose::write_out;
use crate::passes::test_mode::test_mode;
use crate::program::{RowsId, Type};
use crate::wire::TensorRecord;
use crate::wire::onnx::{
    DimensionProto, ElementType, GraphProto, ModelProto, OperatorSetId, ShapeProto, TensorProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};

/// The version of ONNX's operators: that of ONNX 1.13, the first in which values that meet at one place are reduced to the largest.
const OPERATORS: i64 = 18;

/// The version of the format that belongs to it.
const FORMAT: i64 = 8;

/// Whether ONNX lacks an operator that others can compute. Its own suppression of boxes has other results for those without area.
fn is_lacking(op: &Op) -> bool {
    matches!(op, Op::LinearChainCrf(_) | Op::CrfDecoding(_) | Op::DecayedScores(_) | Op::NonMaxSuppression(_))
}

/// Writes a program and its parameters as a model in ONNX, for inference. Values of `params` that belong to no parameter of the
/// program are left out.
///
/// A sequence `words` is fed as its tokens, one after another, and an input `words.lengths` with the number of tokens in each
/// sequence; sequences of sequences have `words.lengths.0` for the outer ones, `words.lengths.1` for the inner ones.
/// Inputs that share their tokens share these.
///
/// # Errors
/// [`ExportError::Legalise`] if ONNX has nothing that computes an operator, with its place; [`ExportError::Parameters`] if a
/// parameter has no value of its type.
pub fn to_onnx(
    program: &Program,
    params: &BTreeMap<String, TensorRecord>,
) -> Result<ModelProto, ExportError> {
    let mut inference = program.clone();
    test_mode(&mut inference);
    inference.verify().map_err(|error| ExportError::Legalise(error.into()))?;
    write_out(&mut inference, is_lacking).map_err(|error| ExportError::Legalise(error.into()))?;
    let program = &inference;
    check_params(program, params).map_err(ExportError::Parameters)?;
    let mut writer = Writer::new(program);
    let mut graph = GraphProto { name: Some("main".to_string()), ..GraphProto::default() };
    let names: Vec<String> =
        program.parameters().map(|parameter| program.var(parameter).name.clone()).collect();
    for (parameter, name) in program.parameters().zip(names) {
        writer.define(parameter, name.clone());
        graph.initializer.extend(params.get(&name).and_then(|record| initializer(&name, record)));
    }
    for &input in program.inputs() {
        let var = program.var(input);
        writer.define(input, var.name.clone());
        graph.input.push(value(program, &var.name, &var.ty));
    }
    for &input in program.inputs() {
        let var = program.var(input);
        for (rows, name) in lengths_of(program, &var.ty, &var.name) {
            if !writer.has_lengths(rows) {
                let name = writer.free(&name);
                graph.input.push(value(program, &name, &lengths_type(program, rows)));
                writer.note_lengths(rows, name);
            }
        }
    }
    writer.block(Program::GLOBAL).map_err(ExportError::Legalise)?;
    for &output in program.outputs() {
        let var = program.var(output);
        let name = writer.output(output).map_err(ExportError::Legalise)?;
        graph.output.push(value(program, &name, &var.ty));
        for (rows, called) in lengths_of(program, &var.ty, &name) {
            let name = writer.output_lengths(rows, &called).map_err(ExportError::Legalise)?;
            graph.output.push(value(program, &name, &lengths_type(program, rows)));
        }
    }
    let (nodes, constants) = writer.finish();
    graph.node = nodes;
    graph.initializer.extend(constants);
    Ok(ModelProto {
        ir_version: Some(FORMAT),
        producer_name: Some("paddle-rs".to_string()),
        producer_version: Some(env!("CARGO_PKG_VERSION").to_string()),
        graph,
        opset_import: vec![OperatorSetId::new(OPERATORS)],
        ..ModelProto::default()
    })
}

fn initializer(name: &str, record: &TensorRecord) -> Option<TensorProto> {
    let element = ElementType::of_kind(record.element)?;
    let tensor = TensorProto::of(element, record.dims.iter().copied(), record.data.clone());
    Some(TensorProto { name: Some(name.to_string()), ..tensor })
}

/// For each level of sequences of a value, the row space of the tokens, and the name of what has their lengths.
fn lengths_of(program: &Program, ty: &Type, name: &str) -> Vec<(RowsId, String)> {
    let levels = program.levels(ty);
    let called = |at: usize| match levels.len() {
        1 => format!("{name}.lengths"),
        _ => format!("{name}.lengths.{at}"),
    };
    levels.iter().enumerate().map(|(at, &rows)| (rows, called(at))).collect()
}

/// One length for each sequence with these tokens.
fn lengths_type(program: &Program, rows: RowsId) -> Type {
    Type { rows: program.rows_of_whole_sequences(rows), ..Type::scalar(crate::program::DType::I64) }
}

/// The name and the type of an input or output. Sizes that are no numbers have the names of their symbols.
fn value(program: &Program, name: &str, ty: &Type) -> ValueInfoProto {
    let dims = program.shape(ty);
    let dim = dims.iter().map(|dim| match dim.constant() {
        Some(size) => DimensionProto { dim_value: Some(size), ..DimensionProto::default() },
        None => DimensionProto { dim_param: Some(dim_name(program, dim)), ..DimensionProto::default() },
    });
    let shape = ShapeProto { dim: dim.collect(), ..ShapeProto::default() };
    let element = ElementType::of_kind(element(ty.dtype)).map(|element| element as i32);
    let tensor = TensorTypeProto { elem_type: element, shape: Some(shape), ..TensorTypeProto::default() };
    ValueInfoProto {
        name: name.to_string(),
        r#type: Some(TypeProto { tensor_type: Some(tensor), ..TypeProto::default() }),
        ..ValueInfoProto::default()
    }
}

/// The name of a size: the fed rows are the batch.
fn dim_name(program: &Program, dim: &crate::program::Dim) -> String {
    match program.show_dim(dim) {
        name if name == "_" => "batch".to_string(),
        name => name,
    }
}
