//! Inputs of a topology: their types, and the type of one row.

use paddle_core::ops::{Block, Operator, Program};
use paddle_core::program::{DType, Dim, RowsId, Type, VarId};
use proc_macro2::Ident;

use super::Lowering;
use crate::ast::{DimExpr, DimKind, Param, PatternKind, TypeKind, text};
use crate::messages::Message;
use crate::values::Value;

/// An input of a topology.
#[derive(Debug)]
pub struct Input {
    /// Its name, with the user's tokens.
    pub ident: Ident,
    pub dtype: DType,
    /// The dimensions of one row, without the rows.
    pub dims: Vec<Dim>,
    /// The number of levels of sequences. 0 means that the input is a tensor.
    pub levels: usize,
    /// Whether the rows are not those of the batch, so that all of them are fed at once.
    pub has_own_rows: bool,
    pub(super) var: VarId,
}

impl<'a> Lowering<'a, '_> {
    /// Creates the inputs; `None` for an input with a mistake.
    pub(super) fn inputs(&mut self, params: impl Iterator<Item = &'a Param> + Clone) -> Vec<Option<Input>> {
        // A name that leads one type is a row space in all types.
        for param in params.clone().filter(|_| !self.is_definition) {
            if let Some(TypeKind::Tensor { dims, .. }) = param.ty.as_ref().map(|ty| &ty.kind)
                && let Some(DimExpr { kind: DimKind::Name { ident, constant: None }, .. }) = dims.first()
                && self.program.find_rows(&text(ident)).is_none()
            {
                let rows = self.program.create_rows(&text(ident));
                let size = self.program.row_space(rows).size;
                self.dims.insert(text(ident), Some(Dim::symbol(size)));
            }
        }
        let input = |param: &'a Param| {
            let input = self.input(param);
            if input.is_none() {
                self.bind(&param.pattern, Value::Unknown, param.pattern.at);
            }
            input
        };
        params.map(input).collect()
    }

    fn input(&mut self, param: &'a Param) -> Option<Input> {
        let PatternKind::Name { ident, binding, .. } = &param.pattern.kind else {
            if let PatternKind::Invalid(_) = param.pattern.kind {
                return None;
            }
            let message = Message::NotOfTheLanguage {
                what: "a pattern as an input".into(),
                instead: "an input has one name: `x: Tensor<f32, _, 13>`".into(),
            };
            self.error(param.pattern.at, message);
            return None;
        };
        let name = text(ident);
        let (dtype, dims, levels) = match param.ty.as_ref().map(|ty| &ty.kind) {
            Some(TypeKind::Tensor { dtype, dims }) => (*dtype, dims, 0),
            Some(TypeKind::Sequence { levels, dtype, dims }) => (*dtype, dims, *levels),
            Some(TypeKind::Invalid) => return None,
            Some(
                TypeKind::Infer
                | TypeKind::Tuple(_)
                | TypeKind::Constant(_)
                | TypeKind::Activation
                | TypeKind::Word,
            )
            | None => {
                let at = param.ty.as_ref().map_or(param.pattern.at, |ty| ty.at);
                self.error(at, Message::InputType { name });
                return None;
            }
        };
        let ty = self.declared_type(&name, dtype, dims, levels)?;
        let row = ty.dims.clone();
        let is_of_batch = |rows: RowsId| self.program.row_space(rows).name == "_";
        let has_own_rows = levels == 0 && ty.rows.is_some_and(|rows| !is_of_batch(rows));
        let var = match self.program.create_input(&name, ty) {
            Ok(var) => var,
            Err(_) => {
                self.error(ident.span(), Message::Duplicate { name });
                return None;
            }
        };
        if let Some(binding) = binding {
            self.declare(*binding, Value::Var(var), param.pattern.at);
        }
        Some(Input { ident: ident.clone(), dtype, dims: row, levels, has_own_rows, var })
    }

    /// A declared type. A new name in it becomes a size symbol, whose value follows from what is fed.
    pub(super) fn declared_type(
        &mut self,
        name: &str,
        dtype: DType,
        dims: &'a [DimExpr],
        levels: usize,
    ) -> Option<Type> {
        let mut ty = Type::scalar(dtype);
        for level in 0..levels {
            let parent = ty.rows.unwrap_or_else(|| self.batch());
            // The tokens inside the sequences of `text` are called `text.items`.
            let name = if level == 0 { name } else { "items" };
            ty.rows = Some(self.program.create_tokens(name, parent));
        }
        for (at, dim) in dims.iter().enumerate() {
            match &dim.kind {
                DimKind::Any if at == 0 && levels == 0 => ty.rows = Some(self.batch()),
                DimKind::Any => {
                    self.error(dim.at, Message::BatchPosition { name: name.to_string() });
                    return None;
                }
                DimKind::Name { ident, constant: None } if at == 0 && levels == 0 && !self.is_definition => {
                    ty.rows = self.program.find_rows(&text(ident));
                }
                DimKind::Name { ident, constant: None } => {
                    let name = text(ident);
                    let program: &mut Program = &mut self.program;
                    let known = self.dims.entry(name.clone());
                    let known = known.or_insert_with(|| Some(Dim::symbol(program.create_symbol(&name))));
                    ty.dims.push(known.clone()?);
                }
                _ => ty.dims.push(self.dim(dim)?),
            }
        }
        Some(ty)
    }

    /// The row space of the batch.
    fn batch(&mut self) -> RowsId {
        self.program.find_rows("_").unwrap_or_else(|| self.program.create_rows("_"))
    }

    /// Reports inputs that nothing reads: no operator of the program or, if the program is incomplete, no name in the
    /// source. An input that the source mentions also counts as read if an operator without inputs, such as one that
    /// draws random numbers, has its rows.
    pub(super) fn unused_inputs(&mut self, params: &'a [Param], inputs: &[Option<Input>]) {
        let is_complete = self.sink.is_empty();
        for (param, input) in params.iter().zip(inputs) {
            let (PatternKind::Name { binding: Some(binding), .. }, Some(input)) =
                (&param.pattern.kind, input)
            else {
                continue;
            };
            let in_source = self.network.bindings[binding.0].read;
            let rows = self.program.ty(input.var).rows.filter(|_| in_source);
            let starts = |operator: &Operator| {
                let of = |output: &VarId| self.program.ty(*output).rows;
                rows.is_some()
                    && operator.inputs.is_empty()
                    && operator.outputs.iter().any(|out| of(out) == rows)
            };
            let reads = |block: &Block| {
                let operands = block.ops.iter().flat_map(|operator| &operator.inputs);
                operands.chain(&block.results).any(|read| *read == input.var) || block.ops.iter().any(starts)
            };
            let is_read = match is_complete {
                true => self.program.blocks().iter().any(reads),
                false => in_source,
            };
            if !is_read {
                self.error(input.ident.span(), Message::UnusedInput { name: text(&input.ident) });
            }
        }
    }
}
