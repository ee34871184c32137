//! `for` along sequences, longest first: the rows of an iteration are the first rows of the previous one. Arrays hold
//! the items of the iterations, and the values that the iterations give.

use super::row_spaces::{Chosen, Known};
use super::sequences::at_least_column;
use super::{LegaliseError, Legaliser};
use crate::convert::types::{element, wire_dims};
use crate::ops::{Number, Operator};
use crate::program::{DType, Type, VarId};
use crate::wire::{LodTensorArrayDesc, OpAttr, OpDesc, TensorDesc, VarDesc, VarKind, VarType};

impl Legaliser<'_> {
    /// Writes a loop along sequences, longest first. The rows of an iteration are the first rows of the previous one.
    pub(super) fn for_rows(
        &mut self,
        at: usize,
        operator: &Operator,
        items: usize,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let body = operator.blocks[0];
        let rows = program.block(body).rows;
        let steps = rows.and_then(|rows| program.steps_of_loop(rows));
        let (Some(rows), Some(steps)) = (rows, steps) else {
            return self.refuse(operator, "its block does not run on rows");
        };
        let tokens = self.need(at, operator, steps, Known::Offsets)?;
        let table = self.special(at, "lod_rank_table", VarKind::LodRankTable);
        let rank = OpDesc::new("lod_rank_table")
            .with_input("X", [tokens.clone()])
            .with_output("Out", [table.clone()])
            .with_attr(OpAttr::int("level", 0));
        self.push(at, rank);
        let one = Type::new(DType::I64, [1]);
        let longest = self.declare(at, "max_sequence_len", &one);
        let max = OpDesc::new("max_sequence_len")
            .with_input("RankTable", [table.clone()])
            .with_output("Out", [longest.clone()]);
        self.push(at, max);
        let step = self.constant(at, Number::Int(0), &one, "step");
        let goes_on = self.less_than(at, &step, &longest);
        // Sequences that were fed have tokens. The rows of a `while` may have none.
        let any = (!self.is_fed(self.stored_as(steps))
            && operator.outputs.len() > operator.inputs.len() - items)
            .then(|| self.less_than(at, &step, &longest));
        let mut state = Vec::new();
        for &input in &operator.inputs[items..] {
            let (name, ty) = (self.name(input), program.ty(input));
            state.push(self.by_rank(at, name, ty, &table));
        }
        // The arrays are made anew, with an element for each iteration, as PaddlePaddle's variables outlive a run.
        let outputs = &operator.outputs[state.len()..];
        let mut arrays = Vec::with_capacity(outputs.len());
        for var in outputs.iter().map(|&output| program.var(output)) {
            let called = format!("{}.array", var.name);
            arrays.push(self.array(at, tokens.clone(), &table, &at_least_column(&var.ty), &called));
        }

        let inner = self.new_block(Some(at));
        let chosen = Chosen::Longest { outside: at, table: table.clone(), step: step.clone() };
        self.enter(rows, chosen);
        let params = &program.block(body).params;
        for (&param, held) in params[items..].iter().zip(&state) {
            let var = program.var(param);
            let own = self.declare(inner, &var.name, &var.ty);
            let shrink = OpDesc::new("shrink_rnn_memory")
                .with_input("X", [held.clone()])
                .with_input("RankTable", [table.clone()])
                .with_input("I", [step.clone()])
                .with_output("Out", [own.clone()]);
            self.push(inner, shrink);
            self.note(inner, rows, Known::Count, own.clone());
            self.names.insert(param, own);
        }
        for (&param, &item) in params.iter().zip(&operator.inputs[..items]) {
            let var = program.var(param);
            let of = var.ty.rows.unwrap_or(rows);
            let Some(name) = self.moved(inner, self.name(item), program.ty(item), of, &var.name) else {
                return self
                    .refuse(operator, "nothing that is exported says which tokens come to an iteration");
            };
            if of == rows {
                self.note(inner, rows, Known::Count, name.clone());
            }
            self.names.insert(param, name);
        }
        self.block(inner, body)?;
        let (next, given) = program.block(body).results.split_at(state.len());
        for (&given, array) in given.iter().zip(&arrays) {
            let ty = program.ty(given);
            let mut x = self.name(given);
            x = match ty.rows {
                Some(of) if of != rows => self.at_offsets(inner, x, ty, of),
                _ => self.without_offsets(inner, x, ty),
            };
            if ty.dims.is_empty() {
                x = self.reshaped_to(inner, x, ty, &at_least_column(ty), vec![0, 1]);
            }
            let write = OpDesc::new("write_to_array").with_input("X", [x]).with_input("I", [step.clone()]);
            self.push(inner, write.with_output("Out", [array.clone()]));
        }
        for (&next, held) in next.iter().zip(&state) {
            let ty = program.ty(next);
            let name = self.name(next);
            let own = self.without_offsets(inner, name, ty);
            // The state of the rows that have left stays behind that of the others.
            let rest = self.behind(inner, held.clone(), own.clone(), ty);
            let both = self.joined(inner, [&own, &rest], ty);
            self.assign(inner, both, held.clone());
        }
        let increment = OpDesc::new("increment")
            .with_input("X", [step.clone()])
            .with_output("Out", [step.clone()])
            .with_attr(OpAttr::float("step", 1.0));
        self.push(inner, increment);
        let again = self.less_than(inner, &step, &longest);
        self.assign(inner, again, goes_on.clone());
        self.push_loop(at, inner, goes_on);

        for (&output, held) in operator.outputs.iter().zip(state) {
            let var = program.var(output);
            let out = self.declare(at, &var.name, &var.ty);
            let back = OpDesc::new("reorder_lod_tensor_by_rank_grad")
                .with_input("X", [held])
                .with_input("RankTable", [table.clone()])
                .with_output("Out", [out.clone()]);
            self.push(at, back);
            self.names.insert(output, out);
        }
        match any {
            None => {
                for (&output, array) in outputs.iter().zip(&arrays) {
                    self.whole(at, array, &table, output);
                }
            }
            Some(any) => {
                let inner = self.new_block(Some(at));
                let mut written = Vec::new();
                for (&output, array) in outputs.iter().zip(&arrays) {
                    let out = self.whole(inner, array, &table, output);
                    let to = self.none_of(at, operator, program.ty(output))?;
                    self.assign(inner, out, to.clone());
                    self.names.insert(output, to.clone());
                    written.push(to);
                }
                self.push_branch(at, inner, any, written);
            }
        }
        Ok(())
    }

    /// The elements of an array that the iterations wrote, in the order of the sequences. Elements without dimensions
    /// are columns in the array, as PaddlePaddle cannot join others.
    fn whole(&mut self, at: usize, array: &str, table: &str, output: VarId) -> String {
        let var = self.program.var(output);
        let column = at_least_column(&var.ty);
        let mut out = self.declare(at, &var.name, &column);
        let whole = OpDesc::new("array_to_lod_tensor")
            .with_input("X", [array])
            .with_input("RankTable", [table])
            .with_output("Out", [out.clone()]);
        self.push(at, whole);
        if var.ty.dims.is_empty() {
            out = self.reshaped_to(at, out, &column, &var.ty, vec![0]);
        }
        self.names.insert(output, out.clone());
        out
    }

    fn less_than(&mut self, at: usize, x: &str, y: &str) -> String {
        let out = self.declare(at, "less_than", &Type::new(DType::Bool, [1]));
        let less = OpDesc::new("less_than")
            .with_input("X", [x])
            .with_input("Y", [y])
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::int("axis", -1));
        self.push(at, less);
        out
    }

    /// Rows in the order of a rank table. The variable keeps its name.
    pub(super) fn by_rank(&mut self, at: usize, x: String, ty: &Type, table: &str) -> String {
        let out = self.declare(at, &format!("{x}.by_rank"), ty);
        let x = self.without_offsets(at, x, ty);
        let reorder = OpDesc::new("reorder_lod_tensor_by_rank")
            .with_input("X", [x])
            .with_input("RankTable", [table])
            .with_output("Out", [out.clone()]);
        self.push(at, reorder);
        out
    }

    /// The tokens of each iteration as elements of an array, with the type that they will have.
    pub(super) fn array(&mut self, at: usize, x: String, table: &str, ty: &Type, called: &str) -> String {
        let name = self.free(called);
        self.homes.insert(name.clone(), at);
        let tensor =
            TensorDesc { data_type: element(ty.dtype).into(), dims: wire_dims(ty), ..TensorDesc::default() };
        let r#type = VarType {
            r#type: VarKind::LodTensorArray.into(),
            tensor_array: Some(LodTensorArrayDesc { tensor, ..LodTensorArrayDesc::default() }),
            ..VarType::default()
        };
        let array = VarDesc { name: name.clone(), r#type, persistable: Some(false), ..VarDesc::default() };
        self.blocks[at].vars.push(array);
        let desc = OpDesc::new("lod_tensor_to_array")
            .with_input("X", [x])
            .with_input("RankTable", [table])
            .with_output("Out", [name.clone()]);
        self.push(at, desc);
        name
    }

    /// One element of an array.
    pub(super) fn read_element(
        &mut self,
        at: usize,
        array: String,
        step: String,
        ty: &Type,
        called: &str,
    ) -> String {
        let out = self.declare(at, called, ty);
        let read = OpDesc::new("read_from_array")
            .with_input("X", [array])
            .with_input("I", [step])
            .with_output("Out", [out.clone()]);
        self.push(at, read);
        out
    }
}
