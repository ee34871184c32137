//! `for` along sequences, longest first: the rows of an iteration are the first rows of the previous one. The values that
//! iterations give are joined, and sorted by the numbers of their tokens behind the loop.

use std::collections::BTreeMap;

use super::row_spaces::{Chosen, Known};
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::ops::{Binary, BinaryKind, Concat, Number, Operator};
use crate::program::{DType, RowsId, Type, VarId};
use crate::wire::{OpAttr, OpDesc};

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
        let numbers = list(DType::I64);
        let [lengths, starts] =
            [Known::Lengths, Known::Starts].map(|what| self.need(at, operator, steps, what));
        let [lengths, order] = self.by_length(at, lengths?);
        let starts = self.take(at, starts?, order.clone(), &numbers, "starts.longest_first");
        let one = Type::new(DType::I64, [1]);
        let step = self.constant(at, Number::Int(0), &one, "step");
        // There may be no sequence, so the zero that counts the steps is looked at, too.
        let all = self.emit(at, Concat { axis: 0 }, &[&step, &lengths], &numbers);
        let longest = self.reduced(at, "reduce_max", false, all, &one);
        let goes_on = self.less_than(at, &step, &longest, &one);
        let any = self.less_than(at, &step, &longest, &one);
        let mut state = Vec::new();
        for &input in &operator.inputs[items..] {
            let (name, ty) = (self.name(input), program.ty(input));
            let called = format!("{name}.longest_first");
            state.push(self.take(at, name, order.clone(), ty, &called));
        }
        let outputs = &operator.outputs[state.len()..];
        let results = &program.block(body).results[state.len()..];
        let mut values = Vec::with_capacity(outputs.len());
        for &output in outputs {
            values.push(self.none_of(at, operator, program.ty(output))?);
        }
        // For the rows of each of these values, the numbers of their tokens.
        let mut of_values: BTreeMap<Option<RowsId>, String> = BTreeMap::new();
        for result in results {
            let none = Type::new(DType::I64, [0]);
            let rows = program.ty(*result).rows;
            of_values.entry(rows).or_insert_with(|| self.constant(at, Number::Int(0), &none, "numbers"));
        }

        let inner = self.new_block(Some(at));
        let is_longer = self.less_than(inner, &step, &lengths, &list(DType::Bool));
        let first = self.places(inner, is_longer);
        let begins = self.take(inner, starts, first.clone(), &numbers, "begins");
        let tokens = self.emit(inner, Binary { kind: BinaryKind::Add }, &[&begins, &step], &numbers);
        let chosen = Chosen::Longest {
            outside: at,
            order: order.clone(),
            first: first.clone(),
            tokens: tokens.clone(),
        };
        self.enter(rows, chosen);
        self.note(inner, rows, Known::Count, tokens.clone());
        let params = &program.block(body).params;
        for (&param, held) in params[items..].iter().zip(&state) {
            let var = program.var(param);
            let own = self.take(inner, held.clone(), first.clone(), &var.ty, &var.name);
            self.names.insert(param, own);
        }
        for (&param, &item) in params.iter().zip(&operator.inputs[..items]) {
            let var = program.var(param);
            let of = var.ty.rows.unwrap_or(rows);
            let Some(name) = self.moved(inner, self.name(item), program.ty(item), of, &var.name) else {
                return self
                    .refuse(operator, "nothing that is exported says which tokens come to an iteration");
            };
            self.names.insert(param, name);
        }
        self.block(inner, body)?;
        for (&given, values) in results.iter().zip(&values) {
            let (name, ty) = (self.name(given), program.ty(given));
            let own = self.without_offsets(inner, name, ty);
            let longer = self.joined(inner, [values, &own], ty);
            self.assign(inner, longer, values.clone());
        }
        for (&of, all) in &of_values {
            let own = match of.filter(|&of| of != rows) {
                Some(of) => self.need(inner, operator, of, Known::Numbers)?,
                None => tokens.clone(),
            };
            let longer = self.joined(inner, [all, &own], &numbers);
            self.assign(inner, longer, all.clone());
        }
        for (&next, held) in program.block(body).results.iter().zip(&state) {
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
        let again = self.less_than(inner, &step, &longest, &one);
        self.assign(inner, again, goes_on.clone());
        self.push_loop(at, inner, goes_on);

        for (&output, held) in operator.outputs.iter().zip(state) {
            let var = program.var(output);
            let out = self.sorted(at, held, order.clone(), &var.ty, &var.name);
            self.names.insert(output, out);
        }
        // Sequences that were fed have tokens. The rows of a `while` may have none, of which nothing can be sorted.
        if self.is_fed(self.program.before_loops(steps)) {
            for (k, values) in values.into_iter().enumerate() {
                let out = self.in_order(at, values, &of_values, results[k], outputs[k]);
                self.names.insert(outputs[k], out);
            }
        } else if !values.is_empty() {
            let inner = self.new_block(Some(at));
            for (k, values) in values.iter().enumerate() {
                let out = self.in_order(inner, values.clone(), &of_values, results[k], outputs[k]);
                self.assign(inner, out, values.clone());
                self.names.insert(outputs[k], values.clone());
            }
            self.push_branch(at, inner, any, values);
        }
        Ok(())
    }

    /// What the iterations gave, in the order of the tokens.
    fn in_order(
        &mut self,
        at: usize,
        values: String,
        numbers: &BTreeMap<Option<RowsId>, String>,
        result: VarId,
        output: VarId,
    ) -> String {
        let (rows, var) = (self.program.ty(result).rows, self.program.var(output));
        self.sorted(at, values, numbers[&rows].clone(), &var.ty, &var.name)
    }

    /// Lengths, longest first, and the numbers of their rows in this order.
    fn by_length(&mut self, at: usize, lengths: String) -> [String; 2] {
        let [sorted, order] =
            ["lengths.longest_first", "order"].map(|name| self.declare(at, name, &list(DType::I64)));
        let argsort = OpDesc::new("argsort")
            .with_input("X", [lengths])
            .with_output("Out", [sorted.clone()])
            .with_output("Indices", [order.clone()])
            .with_attr(OpAttr::int("axis", 0))
            .with_attr(OpAttr::bool("descending", true));
        self.push(at, argsort);
        [sorted, order]
    }

    /// Whether `x` is below `y`, element by element; `ty` has the shape of the result.
    pub(super) fn less_than(&mut self, at: usize, x: &str, y: &str, ty: &Type) -> String {
        let out = self.declare(at, "less_than", &ty.with_dtype(DType::Bool));
        let less = OpDesc::new("less_than")
            .with_input("X", [x])
            .with_input("Y", [y])
            .with_output("Out", [out.clone()])
            .with_attr(OpAttr::int("axis", -1));
        self.push(at, less);
        out
    }
}
