//! What the names of a graph mean: initialisers, inputs, and what operators write.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Constant, Reader};
use crate::convert::error::{ConvertError, Fault, VariableFault};
use crate::ops::{AssignValue, Fill, Op, ParameterUse};
use crate::program::{BlockId, ParameterOptions, Site, Type, VarId};
use crate::wire::VarKind;
use crate::wire::onnx::GraphProto;

/// The most elements of a constant that are written into the program. Larger ones are parameters that are not trained.
const MOST_ELEMENTS: usize = 1 << 12;

/// The names of a graph.
pub(super) struct Scope {
    /// The block of its operators.
    pub(super) block: BlockId,
    /// Its number among the graphs, by the order in which they are read.
    pub(super) number: usize,
    values: BTreeMap<String, Value>,
}

/// What a name means. It has neither a value nor elements if what writes it is not supported.
#[derive(Clone, Default)]
pub(super) struct Value {
    /// The value in the program. That of a constant is made where it is first read.
    pub(super) var: Option<VarId>,
    /// The elements, if they are in the file.
    pub(super) constant: Option<Rc<Constant>>,
    /// The type of the elements in the file, if ours is wider.
    pub(super) narrow: Option<VarKind>,
}

impl Value {
    /// A value of the program.
    pub(super) fn of(var: VarId) -> Self {
        Value { var: Some(var), ..Value::default() }
    }
}

impl Scope {
    pub(super) fn new(block: BlockId, number: usize) -> Self {
        Scope { block, number, values: BTreeMap::new() }
    }
}

impl Reader {
    /// The innermost graph.
    pub(super) fn scope(&self) -> &Scope {
        self.scopes.last().expect("a graph has been entered")
    }

    /// Gives a name its meaning.
    pub(super) fn define(&mut self, name: &str, value: Value) -> Result<(), Fault> {
        let scope = self.scopes.last_mut().expect("a graph has been entered");
        match scope.values.insert(name.to_string(), value) {
            Some(_) => Err(Fault::DeclaredTwice { block: scope.number, name: name.to_string() }),
            None => Ok(()),
        }
    }

    /// Makes a name known as that of something that is not supported.
    pub(super) fn forget(&mut self, name: &str) {
        let scope = self.scopes.last_mut().expect("a graph has been entered");
        if !name.is_empty() {
            scope.values.insert(name.to_string(), Value::default());
        }
    }

    /// What a name means in this graph, or in one around it.
    pub(super) fn look_up(&self, name: &str) -> Result<&Value, Fault> {
        let found = self.scopes.iter().rev().find_map(|scope| scope.values.get(name));
        let value = found.ok_or_else(|| Fault::Undefined { name: name.to_string() })?;
        match value.var.is_none() && value.constant.is_none() {
            true => Err(Fault::Unread { name: name.to_string() }),
            false => Ok(value),
        }
    }

    /// The value of a name in the program. A constant becomes one here.
    pub(super) fn operand(&mut self, name: &str) -> Result<VarId, Fault> {
        let value = self.look_up(name)?.clone();
        let constant = match (value.var, &value.constant) {
            (Some(var), _) => return Ok(var),
            (None, Some(constant)) => constant.clone(),
            (None, None) => return Err(Fault::Unread { name: name.to_string() }),
        };
        let is_parameter = constant.is_weight && constant.ty.rank() > 0 && constant.ty.dtype.is_float()
            || constant.count() > MOST_ELEMENTS;
        let var = match is_parameter {
            true => {
                let is_weight = constant.is_weight && constant.ty.dtype.is_float();
                self.parameter(name, &constant, is_weight && !self.statistics.contains(name))?
            }
            false => {
                let ty = constant.ty.clone();
                let written = AssignValue { values: constant.numbers(), ty };
                let var = self.at().emit(written, &[])?;
                let name = self.draft.fresh(name);
                self.draft.program.rename(var, &name);
                self.named.insert(var);
                var
            }
        };
        // A parameter is one everywhere, a constant where it was written.
        let depth = if is_parameter { 0 } else { self.scopes.len() - 1 };
        self.scopes[depth].values.insert(name.to_string(), Value { var: Some(var), ..value });
        Ok(var)
    }

    /// Whether an initialiser is a statistic and nothing else.
    pub(super) fn is_statistic(&self, name: &str) -> bool {
        self.statistics.contains(name)
    }

    /// The statistic in an input of an operator, whose initialiser has other uses: a parameter of its own.
    pub(super) fn own_statistic(&mut self, name: &str, of: &str, at: usize) -> Result<(), Fault> {
        let constant = self.look_up(name)?.constant.clone();
        if let Some(constant) = constant {
            let var = self.parameter(name, &constant, false)?;
            self.own_statistics.insert((of.to_string(), at), var);
        }
        Ok(())
    }

    fn parameter(&mut self, name: &str, constant: &Constant, is_trained: bool) -> Result<VarId, Fault> {
        let initializer = Op::from(Fill::zeros(constant.ty.clone()));
        let options = ParameterOptions { trainable: is_trained, ..ParameterOptions::default() };
        let name = self.draft.fresh(name);
        let wanted = ParameterUse { initializer, options, site: Site::default() };
        let var = self.draft.program.create_parameter(&name, wanted)?;
        self.parameters.insert(name, constant.record.clone());
        Ok(var)
    }

    /// Reads the initialisers of a graph.
    pub(super) fn initializers(&mut self, graph: &GraphProto) -> Result<(), ConvertError> {
        for tensor in &graph.initializer {
            let name = tensor.name.clone().unwrap_or_default();
            match Constant::of(tensor, &name, true) {
                Ok(constant) => {
                    let narrow = constant.narrow;
                    let value = Value { var: None, constant: Some(Rc::new(constant)), narrow };
                    if let Err(fault) = self.define(&name, value) {
                        self.found.push(fault.into());
                    }
                }
                Err(fault) => {
                    self.found.push(fault.into());
                    self.forget(&name);
                }
            }
        }
        Ok(())
    }

    /// Creates the inputs of the network: those without initialisers.
    pub(super) fn inputs(&mut self, graph: &GraphProto) -> Result<(), ConvertError> {
        let fed = graph.input.iter().filter(|input| !self.scope().values.contains_key(&input.name));
        let fed: Vec<_> = fed.collect();
        self.name_batch(&fed);
        for input in fed {
            let read = |reader: &mut Self| -> Result<(), Fault> {
                let (ty, narrow) = reader.declared_type(input)?;
                let rows = ty.rows;
                if reader.draft.program.find(&input.name).is_some() {
                    return Err(Fault::DeclaredTwice { block: 0, name: input.name.clone() });
                }
                let var = reader.draft.program.create_input(&input.name, ty)?;
                if rows.is_some() {
                    reader.draft.has_batch.get_or_insert(var);
                }
                reader.named.insert(var);
                reader.define(&input.name, Value { var: Some(var), constant: None, narrow })
            };
            if let Err(fault) = read(self) {
                self.found.push(fault.into());
                self.forget(&input.name);
            }
        }
        Ok(())
    }

    /// The type of a tensor of these sizes, with the element type that holds this one.
    pub(super) fn element_type(name: &str, number: i32) -> Result<(VarKind, crate::program::DType), Fault> {
        let kind = crate::wire::onnx::ElementType::from_number(number).and_then(|element| element.kind());
        let dtype = kind.and_then(crate::convert::types::dtype);
        kind.zip(dtype).ok_or_else(|| {
            let reason = VariableFault::OnnxElement(number);
            Fault::Variable { name: name.to_string(), reason }
        })
    }
}

/// The kind, if the elements are integers in a type that is narrower than ours.
pub(super) fn narrow(kind: VarKind) -> Option<VarKind> {
    matches!(kind, VarKind::Uint8 | VarKind::Int8 | VarKind::Int16).then_some(kind)
}

/// The type of a constant.
pub(super) fn type_of_constant(dtype: crate::program::DType, dims: &[i64]) -> Type {
    Type::new(dtype, dims.iter().copied())
}
