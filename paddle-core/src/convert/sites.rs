//! The roles of operators and their places in the source, read from the wire.

use std::collections::BTreeMap;

use super::dialect::{CALLSTACK, ROLE, ROLE_VAR};
use super::error::{ConvertError, Fault, WirePlace};
use crate::ops::Program;
use crate::program::{Definition, FileId, Located, Place, Role, Site, VarId};
use crate::wire::OpDesc;

/// The source files that were named so far.
#[derive(Default)]
pub(super) struct Sites {
    files: BTreeMap<String, FileId>,
}

impl Sites {
    /// The role and source place of an operator.
    pub(super) fn site(&mut self, program: &mut Program, op: &OpDesc) -> Result<Site, Fault> {
        let role = op.attr_int(ROLE)?.map(Role::from_wire).unwrap_or_default();
        let layer = layer(op).map(|layer| program.create_layer(layer));
        let place = source(op).map(|source| Place { layer, ..self.place(program, source) });
        Ok(Site { role, place })
    }

    pub(super) fn place(&mut self, program: &mut Program, source: Located) -> Place {
        let file = self.files.entry(source.file);
        let file = *file.or_insert_with_key(|name| program.create_file(name));
        Place { file, line: source.line, column: source.column, layer: None }
    }
}

/// Adds the place of an operator to a fault.
pub(super) fn place(fault: Fault, block: usize, operator: usize, op: &OpDesc) -> ConvertError {
    let place = WirePlace { block, operator, op_type: op.r#type.clone(), name: None, source: source(op) };
    ConvertError { place: Some(Box::new(place)), fault }
}

/// The source place of an operator: `file:line:column`. PaddlePaddle writes traces of Python instead.
fn source(op: &OpDesc) -> Option<Located> {
    let ([text] | [text, _]) = op.attr_strings(CALLSTACK).ok()?? else { return None };
    located(text)
}

/// The layer at the operator's source place.
fn layer(op: &OpDesc) -> Option<&str> {
    let [_, layer] = op.attr_strings(CALLSTACK).ok()?? else { return None };
    Some(layer)
}

pub(super) fn located(text: &str) -> Option<Located> {
    let mut parts = text.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Located { file: parts.next()?.to_string(), line, column })
}

/// Notes the values that an operator of the outermost block calls gradients of parameters. `find` gives the value with a name.
pub(super) fn note_gradients(
    program: &Program,
    op: &OpDesc,
    find: impl Fn(&str) -> Option<VarId>,
    gradients: &mut BTreeMap<VarId, VarId>,
) -> Result<(), Fault> {
    for [parameter, gradient] in op.attr_strings(ROLE_VAR)?.unwrap_or_default().as_chunks::<2>().0 {
        let (Some(parameter), Some(gradient)) = (find(parameter), find(gradient)) else { continue };
        let (of, by) = (program.var(parameter), program.var(gradient));
        let fits = of.definition == Definition::Parameter
            && by.definition == Definition::Operator
            && by.block == Program::GLOBAL
            && of.ty == by.ty;
        if !fits {
            return Err(Fault::GradientPair { parameter: of.name.clone() });
        }
        gradients.insert(parameter, gradient);
    }
    Ok(())
}

/// Records gradients in the order of the parameters.
pub(super) fn record_gradients(program: &mut Program, gradients: &BTreeMap<VarId, VarId>) {
    let parameters: Vec<VarId> = program.parameters().collect();
    for parameter in parameters {
        if let Some(&gradient) = gradients.get(&parameter) {
            program.record_gradient(parameter, gradient);
        }
    }
}
