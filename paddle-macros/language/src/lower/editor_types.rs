//! The types of variables that editors show.

use paddle_core::ops::Program;
use paddle_core::program::{Dim, Type};

use super::Lowering;
use crate::ast::{BindingId, Shown, ShownDim};
use crate::values::Value;

impl Lowering<'_, '_> {
    /// Records the type of a variable. A variable of a sub-network is bound once for each call.
    pub(super) fn show_binding(&mut self, binding: BindingId, value: &Value<'_>) {
        let here = self.network.bindings.get(binding.0).is_some_and(|known| self.network.is_here(known.unit));
        // A rehearsed value may have another type in the end.
        if !here || self.rehearsals > 0 {
            return;
        }
        let Some(shown) = self.shown_value(value) else { return };
        self.shown.entry(binding).and_modify(|known| known.merge(&shown)).or_insert(shown);
    }

    fn shown_value(&self, value: &Value<'_>) -> Option<Shown> {
        match value {
            Value::Var(var) => Some(self.shown_type(self.program.ty(*var))),
            Value::Constant(constant) => Some(Shown::Number(constant.own_dtype())),
            Value::Outside(constant) => Some(self.shown_type(&constant.ty)),
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.shown_value(part).unwrap_or(Shown::Value));
                Some(Shown::Tuple(parts.collect()))
            }
            Value::Text(_)
            | Value::Array(_)
            | Value::Size(_)
            | Value::Activation(_)
            | Value::Closure(..)
            | Value::Nothing => Some(Shown::Value),
            Value::Unassigned | Value::Unknown => None,
        }
    }

    fn shown_type(&self, ty: &Type) -> Shown {
        let program = &self.program;
        let mut ty = ty.clone();
        ty.rows = ty.rows.map(|rows| program.drawn_from(rows));
        let levels = program.depth_of_sequences(&ty);
        let rows = ty.rows.filter(|_| levels == 0);
        let rows = rows.map(|rows| ShownDim::Name(program.row_space(rows).name.clone()));
        let dims = rows.into_iter().chain(ty.dims.iter().map(|dim| shown_dim(program, dim))).collect();
        let tensor = Shown::Tensor { dtype: ty.dtype, dims };
        (0..levels).fold(tensor, |items, _| Shown::Sequence(Box::new(items)))
    }
}

fn shown_dim(program: &Program, dim: &Dim) -> ShownDim {
    match dim.constant().and_then(|size| usize::try_from(size).ok()) {
        Some(size) => ShownDim::Size(size),
        None => ShownDim::Name(program.show_dim(dim)),
    }
}
