//! The definition of a user's operator without its arithmetic: the types of its values over sizes of its own, and its
//! gradient as a sub-network.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::ops::{Attribute, AttributeValue, GradientError, Infer, Mismatch, MismatchKind, Op, Program};
use crate::program::{Arithmetic, DType, Dim, DimOverflow, OpInterface, RowsId, SymbolId, Type, VarId};

/// Products of more sizes than this are refused: if each size were replaced by a sum of many terms, multiplying them
/// out would take too long.
const MOST_FACTORS: u32 = 2;

/// The definition of a user's operator: a program that has the operator's types, which are generic over sizes, and its
/// gradient.
///
/// The program's inputs are the operator's inputs, its output and, if there is a gradient, the gradient of the output.
/// The program's outputs are the gradients of the floating-point inputs, in order. The program is also the text form of
/// the definition.
///
/// The program has one block, no parameters, and at most one row space. Its operators are pure, and have no gradient
/// themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition(Arc<Program>);

/// An operator without inputs.
impl Default for Definition {
    fn default() -> Self {
        let mut program = Program::new();
        // An empty program accepts any name.
        drop(program.create_input("out", Type::scalar(DType::F32)));
        Definition(Arc::new(program))
    }
}

/// Why a program does not define an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError(String);

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DefinitionError {}

impl Definition {
    /// Makes a definition from a program.
    pub fn new(program: Program) -> Result<Self, DefinitionError> {
        let definition = Definition(Arc::new(program));
        definition.check().map_err(DefinitionError)?;
        Ok(definition)
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.0
    }

    pub(crate) fn program_mut(&mut self) -> &mut Program {
        Arc::make_mut(&mut self.0)
    }

    /// Whether it has a gradient.
    pub fn has_gradient(&self) -> bool {
        !self.0.outputs().is_empty()
    }

    /// The inputs of the operator.
    pub fn inputs(&self) -> &[VarId] {
        let all = self.0.inputs();
        &all[..all.len() - 1 - usize::from(self.has_gradient())]
    }

    /// The output of the operator.
    pub fn output(&self) -> VarId {
        self.0.inputs()[self.inputs().len()]
    }

    /// The type of a value in terms of the definition's sizes.
    pub fn ty(&self, var: VarId) -> &Type {
        self.0.ty(var)
    }

    /// The types as text: `(x: f32[_, D]) -> f32[_, 2 * D]`.
    pub fn signature(&self) -> String {
        let input = |&input: &VarId| format!("{}: {}", self.0.var(input).name, self.0.show(self.ty(input)));
        let inputs: Vec<String> = self.inputs().iter().map(input).collect();
        format!("({}) -> {}", inputs.join(", "), self.0.show(self.ty(self.output())))
    }

    fn check(&self) -> Result<(), String> {
        let program = &*self.0;
        program.verify().map_err(|error| error.to_string())?;
        let inputs = program.inputs();
        if inputs.len() < 1 + usize::from(self.has_gradient()) {
            return Err("a definition has the operator's output among its inputs".into());
        }
        if program.blocks().len() > 1 || !program.startup().is_empty() {
            return Err("the gradient of an operator has neither blocks nor parameters".into());
        }
        for operator in &program.block(Program::GLOBAL).ops {
            let effects = operator.op.effects();
            if !effects.pure || effects.random || effects.state {
                return Err(format!(
                    "`{}` is not pure, so it cannot be part of the gradient of an operator",
                    operator.op.operation().called()
                ));
            }
            if matches!(&operator.op, Op::Custom(custom) if custom.definition.has_gradient()) {
                return Err("operators in the gradient of an operator have no gradient themselves".into());
            }
        }
        self.check_gradients()?;
        self.check_sizes()
    }

    fn check_gradients(&self) -> Result<(), String> {
        let program = &*self.0;
        if !self.has_gradient() {
            return Ok(());
        }
        let (out, grad) = (self.ty(self.output()), self.ty(program.inputs()[self.inputs().len() + 1]));
        if out != grad {
            return Err("the gradient of the output has the type of the output".into());
        }
        let floats = self.inputs().iter().filter(|&&input| self.ty(input).dtype.is_float());
        let floats: Vec<VarId> = floats.copied().collect();
        if floats.len() != program.outputs().len() {
            return Err(format!(
                "the gradient has {} values, but there are {} floating-point inputs",
                program.outputs().len(),
                floats.len()
            ));
        }
        for (&input, &gradient) in floats.iter().zip(program.outputs()) {
            let (of, by) = (self.ty(input), self.ty(gradient));
            if of != by {
                let name = &program.var(input).name;
                let (of, by) = (program.show(of), program.show(by));
                return Err(format!("`{name}` is {of}, but its gradient is {by}"));
            }
        }
        Ok(())
    }

    /// Checks that the inputs determine every size.
    fn check_sizes(&self) -> Result<(), String> {
        let program = &*self.0;
        let inputs = || self.inputs().iter().map(|&input| self.ty(input));
        if program.row_spaces().len() > 1 || program.row_spaces().iter().any(|rows| rows.parent.is_some()) {
            return Err("the values of an operator have rows of one kind: `_`".into());
        }
        let told: Vec<SymbolId> = inputs().flat_map(|ty| &ty.dims).filter_map(Dim::as_symbol).collect();
        for symbol in program.used_symbols() {
            let is_told = match program.row_spaces().first() {
                Some(rows) if rows.size == symbol => inputs().any(|ty| ty.rows.is_some()),
                _ => told.contains(&symbol),
            };
            if !is_told {
                let name = &program.symbols()[symbol.0 as usize].name;
                return Err(format!(
                    "the size `{name}` is the dimension of no input, so nothing tells its value"
                ));
            }
        }
        if self.ty(self.output()).rows.is_some() && inputs().all(|ty| ty.rows.is_none()) {
            return Err("the output has rows, but no input has".into());
        }
        let sizes = program.vars().iter().flat_map(|var| &var.ty.dims);
        match sizes.map(|size| size.compute(&Factors)).all(|n| n.is_some_and(|n| n <= MOST_FACTORS)) {
            true => Ok(()),
            false => Err(format!("a size is a product of more than {MOST_FACTORS} others")),
        }
    }

    /// Unifies the types of the inputs with those in a use of the operator.
    pub(super) fn bind(&self, cx: &Infer<'_>) -> Result<Binding, Mismatch> {
        let inputs = self.inputs();
        if cx.types.len() != inputs.len() {
            let message = format!("`{}` takes {} inputs, not {}", cx.operator, inputs.len(), cx.types.len());
            return Err(cx.fail(MismatchKind::Count, message));
        }
        let bound = Binding::of(self, cx.program, cx.types);
        let wrong = |k: usize, kind: MismatchKind| {
            let expected = self.ty(inputs[k]);
            let message = format!(
                "{}, but `{}` needs {}{}",
                cx.is(k),
                cx.operator,
                self.0.show(expected),
                bound.explain(self, expected, cx.program)
            );
            cx.wrong(k, kind, message)
        };
        let mut with_rows = None;
        for (k, (&input, found)) in inputs.iter().zip(cx.types).enumerate() {
            let expected = self.ty(input);
            if found.dtype != expected.dtype {
                return Err(wrong(k, MismatchKind::ElementType));
            }
            if found.rows.is_some() != expected.rows.is_some() {
                return Err(wrong(k, MismatchKind::Shape));
            }
            if expected.rows.is_some() {
                cx.common_rows(*with_rows.get_or_insert(k), k)?;
            }
            if found.dims.len() != expected.dims.len() {
                return Err(wrong(k, MismatchKind::Shape));
            }
        }
        for (k, (&input, found)) in inputs.iter().zip(cx.types).enumerate() {
            for (expected, found) in self.ty(input).dims.iter().zip(&found.dims) {
                let expected = expected.substitute(&|symbol| bound.size(symbol))?;
                cx.need_equal(&expected, found, || wrong(k, MismatchKind::Shape))?;
            }
        }
        Ok(bound)
    }

    /// The binding of a use that is known to fit.
    pub(super) fn bind_to(&self, program: &Program, inputs: &[VarId]) -> Binding {
        let types: Vec<Type> = inputs.iter().map(|&input| program.ty(input).clone()).collect();
        Binding::of(self, program, &types)
    }

    /// Emits the operators of the gradient, and returns the gradients. `values` stand for the inputs of the definition.
    pub(super) fn inline(
        &self,
        values: &[VarId],
        mut emit: impl FnMut(&Op, &[VarId]) -> Result<Vec<VarId>, GradientError>,
    ) -> Result<Vec<VarId>, GradientError> {
        let block = self.0.block(Program::GLOBAL);
        let mut of: BTreeMap<VarId, VarId> =
            block.params.iter().copied().zip(values.iter().copied()).collect();
        for operator in &block.ops {
            let inputs: Vec<VarId> = operator.inputs.iter().map(|input| of[input]).collect();
            let outputs = emit(&operator.op, &inputs)?;
            of.extend(operator.outputs.iter().copied().zip(outputs));
        }
        Ok(block.results.iter().map(|result| of[result]).collect())
    }
}

/// Counts the factors of a product.
struct Factors;

impl Arithmetic for Factors {
    type Size = u32;

    fn number(&self, _: i64) -> Option<u32> {
        Some(0)
    }

    fn symbol(&self, _: SymbolId) -> Option<u32> {
        Some(1)
    }

    fn add(&self, a: u32, b: u32) -> Option<u32> {
        Some(a.max(b))
    }

    fn multiply(&self, a: u32, b: u32) -> Option<u32> {
        a.checked_add(b)
    }

    fn floor_div(&self, a: u32, b: u32) -> Option<u32> {
        Some(a.max(b))
    }
}

/// The rows and sizes of a definition in one use of the operator.
pub(super) struct Binding {
    rows: Option<RowsId>,
    sizes: BTreeMap<SymbolId, Dim>,
}

impl Binding {
    /// Binds each size to the first extent that stands in its place.
    fn of(definition: &Definition, program: &Program, types: &[Type]) -> Self {
        let mut bound = Binding { rows: None, sizes: BTreeMap::new() };
        for (&input, found) in definition.inputs().iter().zip(types) {
            let expected = definition.ty(input);
            bound.rows = bound.rows.or(found.rows.filter(|_| expected.rows.is_some()));
            for (expected, found) in expected.dims.iter().zip(&found.dims) {
                if let Some(symbol) = expected.as_symbol() {
                    bound.sizes.entry(symbol).or_insert_with(|| found.clone());
                }
            }
        }
        if let (Some(own), Some(rows)) = (definition.program().row_spaces().first(), bound.rows) {
            bound.sizes.insert(own.size, Dim::symbol(program.row_space(rows).size));
        }
        bound
    }

    /// A size that no input determines stays as it is; the use then does not fit.
    fn size(&self, symbol: SymbolId) -> Dim {
        self.sizes.get(&symbol).cloned().unwrap_or_else(|| Dim::symbol(symbol))
    }

    /// Translates a type of the definition into the use.
    pub(super) fn ty(&self, ty: &Type) -> Result<Type, DimOverflow> {
        let rows = ty.rows.and(self.rows);
        Ok(Type { rows, ..ty.substitute(&|symbol| self.size(symbol))? })
    }

    /// Translates an operator of the definition into the use.
    pub(super) fn op(&self, op: &Op) -> Result<Op, DimOverflow> {
        let substituted = op.substitute(&|symbol| self.size(symbol))?;
        let mut attributes = Vec::new();
        let mut has_rows = false;
        for (name, attribute) in substituted.attributes() {
            let attribute = match attribute {
                Attribute::Type(ty) if ty.rows.is_some() => {
                    has_rows = true;
                    Attribute::Type(Type { rows: self.rows, ..ty })
                }
                attribute => attribute,
            };
            attributes.push((name.to_string(), attribute));
        }
        match has_rows {
            // The names and kinds of its own attributes always fit.
            true => Ok(substituted.with_attributes(attributes).unwrap_or(substituted)),
            false => Ok(substituted),
        }
    }

    /// ", where `D` is 8", for the names in a type.
    fn explain(&self, definition: &Definition, ty: &Type, program: &Program) -> String {
        let mut named: Vec<SymbolId> = ty.dims.iter().flat_map(Dim::symbols).collect();
        named.sort();
        named.dedup();
        let mut text = String::new();
        for symbol in named {
            let name = &definition.program().symbols()[symbol.0 as usize].name;
            let Some(size) = self.sizes.get(&symbol).map(|size| program.show_dim(size)) else { continue };
            if size != *name {
                let link = if text.is_empty() { ", where" } else { " and" };
                text.push_str(&format!("{link} `{name}` is {size}"));
            }
        }
        text
    }
}

impl AttributeValue for Definition {
    fn to_attribute(&self) -> Attribute {
        Attribute::Program(Arc::clone(&self.0))
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Program(program) => Definition::new(Program::clone(program)).ok(),
            _ => None,
        }
    }
}
