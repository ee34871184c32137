//! `while` that rows leave one by one. The loop holds the state of all rows, and a mask of those that are still in it.
//! An iteration takes these rows, and merges their new state with that of the others.

use super::row_spaces::{Chosen, Known};
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser, mask_type};
use crate::ops::{Binary, BinaryKind, Fill, Number, Operator, Scale};
use crate::program::{BlockId, DType, RowsId, Type, VarId};

/// A row and an iteration are stored as one number. Rows are this far apart, which is more than the iterations of any
/// loop.
const ITERATIONS: f64 = 4_294_967_296.0;

/// The variables with the values that a `while` collects.
struct Collected {
    /// One variable for each collected value.
    values: Vec<String>,
    /// For each row of these values, the row of the loop and the iteration, as one number.
    numbers: String,
    /// For all rows of the loop, these numbers in the next iteration.
    next: String,
    /// For each row, the number of iterations in which it was.
    lengths: String,
    /// The rows of the loop.
    rows: RowsId,
}

impl Legaliser<'_> {
    /// A mask has the rows that are still in the loop. Collected values come with numbers that say where they belong.
    pub(super) fn while_rows(
        &mut self,
        at: usize,
        operator: &Operator,
        condition: BlockId,
        body: BlockId,
        rows: RowsId,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let (Some(all), Some(asked)) = (program.source_of(rows), program.block(condition).rows) else {
            return self.refuse(operator, "its blocks do not run on rows");
        };
        let count = self.need(at, operator, all, Known::Count)?;
        let state: Vec<String> = operator.inputs.iter().map(|&input| self.held(at, input)).collect();
        self.enter(asked, Chosen::All);
        self.note(at, asked, Known::Count, count.clone());
        let holds = self.condition(at, condition, &state)?;
        let holds = self.mask(at, operator, holds)?;
        let column = mask_type(Some(all));
        let mask = self.declare(at, "in_loop", &column);
        self.assign(at, holds, mask.clone());
        let any = self.any(at, mask.clone());
        let collected = match operator.outputs.get(state.len()..) {
            Some(outputs @ [_, ..]) => Some(self.collect(at, operator, outputs, all, count)?),
            _ => None,
        };

        let inner = self.new_block(Some(at));
        let chosen = Chosen::Mask { mask: mask.clone(), side: true };
        self.enter(rows, chosen.clone());
        let sides = self.sides(inner, &mask);
        let own = sides[0].clone();
        self.note(inner, rows, Known::Count, own.clone());
        let (mut before, mut others) = (Vec::new(), Vec::new());
        for (&param, held) in program.block(body).params.iter().zip(&state) {
            let var = program.var(param);
            let [own, rest] =
                sides.clone().map(|side| self.take(inner, held.clone(), side, &var.ty, &var.name));
            before.push(own);
            others.push(rest);
        }
        self.bind(body, &before);
        self.block(inner, body)?;
        let (next, given) = program.block(body).results.split_at(state.len());
        if let Some(collected) = &collected {
            self.give(inner, given, collected, &mask);
        }
        let next: Vec<String> = next.iter().map(|&result| self.name(result)).collect();
        self.enter(asked, chosen);
        self.note(inner, asked, Known::Count, own);
        let again = self.condition(inner, condition, &next)?;
        let again = self.mask(inner, operator, again)?;
        for (k, (next, rest)) in next.into_iter().zip(others).enumerate() {
            let ty = program.ty(program.block(body).results[k]);
            let next = self.without_offsets(inner, next, ty);
            let merged = self.merge(inner, &mask, [next, rest], ty, "merged");
            self.assign(inner, merged, state[k].clone());
        }
        // The mask is false for the others.
        let none = self.take(inner, mask.clone(), sides[1].clone(), &column, "others");
        let left = self.merge(inner, &mask, [again, none], &column, "in_loop");
        self.assign(inner, left, mask.clone());
        let again = self.any(inner, mask);
        self.assign(inner, again, any.clone());
        self.push_loop(at, inner, any);

        let (ends, outputs) = operator.outputs.split_at(state.len());
        self.names.extend(ends.iter().copied().zip(state));
        if let Some(Collected { values, numbers, lengths, .. }) = collected {
            for (&output, values) in outputs.iter().zip(values) {
                let var = program.var(output);
                let numbers = numbers.clone();
                let sorted = self.sorted(at, values, numbers, &var.ty, &var.name);
                self.names.insert(output, sorted.clone());
                if let Some(tokens) = var.ty.rows.map(|rows| self.program.before_loops(rows)) {
                    let sorted = self.without_offsets(at, sorted, &var.ty);
                    self.make(at, tokens, sorted, lengths.clone());
                }
            }
        }
        Ok(())
    }

    /// A copy of the state of all rows of a loop, without offsets.
    fn held(&mut self, at: usize, var: VarId) -> String {
        let program = self.program;
        match program.is_sequence(program.ty(var)) {
            true => {
                let name = self.name(var);
                self.without_offsets(at, name, program.ty(var))
            }
            false => self.copy(at, var),
        }
    }

    /// Declares variables for the values that a `while` collects, without rows.
    fn collect(
        &mut self,
        at: usize,
        operator: &Operator,
        outputs: &[VarId],
        rows: RowsId,
        count: String,
    ) -> Result<Collected, LegaliseError> {
        let program = self.program;
        let mut values = Vec::with_capacity(outputs.len());
        for &output in outputs {
            values.push(self.none_of(at, operator, program.ty(output))?);
        }
        let none = Type::new(DType::I64, [0]);
        let numbers = self.constant(at, Number::Int(0), &none, "numbers");
        // The first iteration of row n has the number n * ITERATIONS.
        let of_rows = Type::with_rows(DType::I64, rows, []);
        let row = self.numbers_of_rows(at, count.clone(), rows);
        let next = self.emit(at, Scale { scale: ITERATIONS, bias: 0.0 }, &[&row], &list(DType::I64));
        let lengths = self.declare(at, "lengths", &of_rows);
        self.fill_rows(at, count, &Fill::zeros(of_rows), vec![-1], lengths.clone());
        Ok(Collected { values, numbers, next, lengths, rows })
    }

    /// Appends the values of an iteration to those that were collected before.
    fn give(&mut self, at: usize, given: &[VarId], collected: &Collected, mask: &str) {
        let program = self.program;
        let list = list(DType::I64);
        for (&given, values) in given.iter().zip(&collected.values) {
            let name = self.name(given);
            let longer = self.joined(at, [values, &name], program.ty(given));
            self.assign(at, longer, values.clone());
        }
        let [own, _] = self.sides(at, mask);
        let own = self.take(at, collected.next.clone(), own, &list, "numbers");
        let longer = self.joined(at, [&collected.numbers, &own], &list);
        self.assign(at, longer, collected.numbers.clone());
        let next = self.emit(at, Scale { scale: 1.0, bias: 1.0 }, &[&collected.next], &list);
        self.assign(at, next, collected.next.clone());
        let column = mask_type(Some(collected.rows));
        let one = self.cast(at, mask.to_string(), &column, DType::I64);
        let one = self.reshaped_to(at, one, &column.with_dtype(DType::I64), &list, vec![-1]);
        let add = Binary { kind: BinaryKind::Add };
        let lengths = self.emit(at, add, &[&collected.lengths, &one], &list);
        self.assign(at, lengths, collected.lengths.clone());
    }
}
