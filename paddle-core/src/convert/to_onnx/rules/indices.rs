//! Elements by their numbers.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{Gather, LookupTable, OneHot, Operator, TakeAlongAxis};
use crate::program::{DType, RowsId};
use crate::wire::onnx::AttributeProto;

impl Writer<'_> {
    pub(super) fn gather(&mut self, operator: &Operator, op: Gather, x: &[&str]) -> String {
        let [of, by] = [0, 1].map(|k: usize| self.program.ty(operator.inputs[k]));
        if of.rows.is_none() || by.rows.is_none() {
            return self.node_with("Gather", x, [AttributeProto::int("axis", op.axis)]);
        }
        // Each row has numbers of its own. They are those of slices, where the axis is the one behind the rows.
        let rank = of.rank();
        let mut perm: Vec<i64> = (0..rank as i64).collect();
        let axis = perm.remove(op.axis as usize);
        perm.insert(1, axis);
        let moved = if op.axis == 1 { x[0].to_string() } else { self.transposed(x[0], &perm) };
        let numbers = self.unsqueezed(x[1], &[-1]);
        let found = self.node_with("GatherND", &[&moved, &numbers], [AttributeProto::int("batch_dims", 1)]);
        if op.axis == 1 {
            return found;
        }
        // The dimensions of the numbers go back to the place of the axis.
        let (own, before) = (by.dims.len() as i64, op.axis - 1);
        let mut back = vec![0];
        back.extend((0..before).map(|at| 1 + own + at));
        back.extend((0..own).map(|at| 1 + at));
        back.extend((before..rank as i64 - 2).map(|at| 1 + own + at));
        self.transposed(&found, &back)
    }

    pub(super) fn lookup(
        &mut self,
        operator: &Operator,
        op: LookupTable,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let slots = operator.op.schema().inputs;
        let of = |name: &str| slots.iter().position(|slot| slot.name == name).unwrap_or(0);
        let (ids, table) = (x[of("Ids")], x[of("W")]);
        if op.padding_idx < 0 {
            return Ok(self.node("Gather", &[table, ids]));
        }
        let ty = self.program.ty(operator.outputs[0]).clone();
        let padding = self.int(op.padding_idx);
        let is_padding = self.node("Equal", &[ids, &padding]);
        let is_padding = self.unsqueezed(&is_padding, &[-1]);
        let found = self.node("Gather", &[table, ids]);
        let zero = self.number(0.0, ty.dtype);
        Ok(self.node("Where", &[&is_padding, &zero, &found]))
    }

    /// Ids out of range give zeros.
    pub(super) fn one_hot(
        &mut self,
        operator: &Operator,
        op: &OneHot,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let dtype = self.program.ty(operator.inputs[0]).dtype;
        let (depth, none) = (self.size(&op.depth)?, self.ints(&[]));
        let depth = self.node("Reshape", &[&depth, &none]);
        let classes = self.numbers_below(&depth);
        let classes = if dtype == DType::I64 { classes } else { self.cast(&classes, dtype) };
        let ids = self.unsqueezed(x[0], &[-1]);
        let is_class = self.node("Equal", &[&ids, &classes]);
        Ok(self.cast(&is_class, op.dtype))
    }

    pub(super) fn take_along_axis(&mut self, op: TakeAlongAxis, x: &[&str]) -> String {
        self.node_with("GatherElements", x, [AttributeProto::int("axis", op.axis)])
    }

    /// Zeros to which values are added at places along an axis.
    pub(super) fn added_along_axis(
        &mut self,
        operator: &Operator,
        axis: i64,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let ty = self.program.ty(operator.outputs[0]).clone();
        let shape = self.shape(&ty)?;
        let zeros = self.filled(&shape, 0.0, ty.dtype);
        let attributes = [AttributeProto::int("axis", axis), AttributeProto::text("reduction", "add")];
        Ok(self.node_with("ScatterElements", &[&zeros, x[1], x[2]], attributes))
    }

    /// `X` with values at positions, with which those that are there are reduced.
    pub(super) fn scatter_nd(&mut self, reduction: &str, x: &[&str]) -> String {
        self.node_with("ScatterND", x, [AttributeProto::text("reduction", reduction)])
    }

    pub(super) fn gather_rows(
        &mut self,
        operator: &Operator,
        rows: RowsId,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        match self.program.ty(operator.inputs[0]).rows {
            Some(from) => self.moved(x[0], from, rows),
            None => self.refuse("it has no rows"),
        }
    }
}
