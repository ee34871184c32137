//! `if`, `while` and `for`.

use super::graph::{Scope, Writer};
use super::row_spaces::Fact;
use crate::convert::export::LegaliseError;
use crate::ops::{Number, Operator};
use crate::program::{BlockId, DType, Dim, RowOrigin, RowsId, Type, VarId};
use crate::wire::onnx::AttributeProto;

/// A loop while it is written: what goes from iteration to iteration.
struct Carried {
    /// Before the loop.
    before: Vec<String>,
    /// In its body.
    within: Vec<String>,
    types: Vec<DType>,
}

impl Carried {
    fn new() -> Self {
        Carried { before: Vec::new(), within: Vec::new(), types: Vec::new() }
    }
}

impl Writer<'_> {
    fn carry(&mut self, carried: &mut Carried, value: String, dtype: DType) -> String {
        let within = self.free("carried");
        carried.before.push(value);
        carried.within.push(within.clone());
        carried.types.push(dtype);
        within
    }

    /// Ends the body of a loop, and writes the loop. Gives what is carried behind it.
    fn end_loop(
        &mut self,
        carried: &Carried,
        [iteration, goes_on]: [&str; 2],
        after: &[String],
        again: &str,
        [most, first]: [&str; 2],
    ) -> Vec<String> {
        let mut inputs = vec![(iteration, DType::I64, true), (goes_on, DType::Bool, true)];
        let mut outputs = vec![(again, DType::Bool, true)];
        for (k, &dtype) in carried.types.iter().enumerate() {
            inputs.push((&carried.within[k], dtype, false));
            outputs.push((&after[k], dtype, false));
        }
        let body = self.end(&inputs, &outputs);
        let mut given = vec![most, first];
        given.extend(carried.before.iter().map(String::as_str));
        let behind: Vec<String> = carried.before.iter().map(|_| self.free("loop")).collect();
        self.push_node("Loop", &given, &behind, [AttributeProto::graph("body", &body)]);
        behind
    }

    /// Writes something of which nothing is known behind it.
    fn apart<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Scope::default());
        let result = write(self);
        self.scopes.pop();
        result
    }

    fn results(&self, block: BlockId) -> Result<Vec<String>, LegaliseError> {
        self.program.block(block).results.iter().map(|&result| self.name(result)).collect()
    }

    pub(super) fn branches(&mut self, operator: &Operator) -> Result<Vec<String>, LegaliseError> {
        let condition = self.name(operator.inputs[0])?;
        match self.program.ty(operator.inputs[0]).rows {
            Some(_) => self.branches_per_row(operator, &condition),
            None => self.branches_on_scalar(operator, &condition),
        }
    }

    fn branches_on_scalar(
        &mut self,
        operator: &Operator,
        condition: &str,
    ) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let mut graphs = Vec::with_capacity(2);
        for (name, &block) in ["then_branch", "else_branch"].into_iter().zip(&operator.blocks) {
            self.begin();
            self.block(block)?;
            let names = self.results(block)?;
            let types = program.block(block).results.iter().map(|&result| program.ty(result).dtype);
            let outputs: Vec<(&str, DType, bool)> =
                names.iter().zip(types).map(|(name, dtype)| (name.as_str(), dtype, false)).collect();
            let graph = self.end(&[], &outputs);
            graphs.push(AttributeProto::graph(name, &graph));
        }
        let outputs: Vec<String> = operator.outputs.iter().map(|_| self.free("if")).collect();
        self.push_node("If", &[condition], &outputs, graphs);
        Ok(outputs)
    }

    /// Both branches run on their rows, of which there may be none; what they give is joined, and put in order.
    fn branches_per_row(
        &mut self,
        operator: &Operator,
        condition: &str,
    ) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let not = self.node("Not", &[condition]);
        let mut sides = Vec::with_capacity(2);
        for (mask, &block) in [condition, &not].into_iter().zip(&operator.blocks) {
            let numbers = self.places(mask);
            let side = self.apart(|writer| {
                if let Some(rows) = program.block(block).rows {
                    writer.note(rows, Fact::Numbers, numbers);
                }
                writer.block(block)?;
                let results = program.block(block).results.iter();
                results.map(|&result| writer.with_numbers(result)).collect::<Result<Vec<_>, _>>()
            })?;
            sides.push(side);
        }
        let no = sides.pop().unwrap_or_default();
        let yes = sides.pop().unwrap_or_default();
        let mut outputs = Vec::with_capacity(operator.outputs.len());
        for ((yes, of_yes), (no, of_no)) in yes.into_iter().zip(no) {
            let (both, order) = (self.joined(&yes, &no), self.joined(&of_yes, &of_no));
            outputs.push(self.restored(&both, &order));
        }
        Ok(outputs)
    }

    /// A result of a block, and the numbers of its rows among those from which they are taken.
    fn with_numbers(&mut self, var: VarId) -> Result<(String, String), LegaliseError> {
        match self.program.ty(var).rows {
            Some(rows) => Ok((self.name(var)?, self.fact(rows, Fact::Numbers)?)),
            None => self.refuse("a result of a branch on rows has none"),
        }
    }

    pub(super) fn while_loop(&mut self, operator: &Operator) -> Result<Vec<String>, LegaliseError> {
        match self.program.block(operator.blocks[1]).rows {
            Some(rows) => self.while_per_row(operator, rows),
            None => self.while_on_scalar(operator),
        }
    }

    /// The condition of a `while` where its state has these values.
    fn condition(&mut self, block: BlockId, state: &[String]) -> Result<String, LegaliseError> {
        self.bind(block, state);
        self.block(block)?;
        let holds = self.program.block(block).results[0];
        let (ty, holds) = (self.program.ty(holds), self.name(holds)?);
        // For ONNX, one element along an axis is no scalar.
        match ty.rows.is_none() && !ty.dims.is_empty() {
            true => self.reshaped(&holds, &Type::scalar(ty.dtype)),
            false => Ok(holds),
        }
    }

    fn bind(&mut self, block: BlockId, values: &[String]) {
        let program = self.program;
        for (&param, value) in program.block(block).params.iter().zip(values) {
            self.define(param, value.clone());
        }
    }

    fn while_on_scalar(&mut self, operator: &Operator) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let (condition, body) = (operator.blocks[0], operator.blocks[1]);
        let before = self.inputs(operator)?;
        let first = self.apart(|writer| writer.condition(condition, &before))?;
        let mut carried = Carried::new();
        let [iteration, goes_on] = [self.free("iteration"), self.free("goes_on")];
        for (value, &input) in before.into_iter().zip(&operator.inputs) {
            self.carry(&mut carried, value, program.ty(input).dtype);
        }
        self.begin();
        self.bind(body, &carried.within.clone());
        self.block(body)?;
        let after = self.results(body)?;
        let again = self.apart(|writer| writer.condition(condition, &after))?;
        Ok(self.end_loop(&carried, [&iteration, &goes_on], &after, &again, ["", &first]))
    }

    /// The state of all rows is carried, and the numbers of those that go on.
    fn while_per_row(&mut self, operator: &Operator, rows: RowsId) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let (condition, body) = (operator.blocks[0], operator.blocks[1]);
        let asked = program.block(condition).rows.unwrap_or(rows);
        let Some(outer) = program.source_of(rows) else { return self.refuse("its rows are taken from none") };
        let before = self.inputs(operator)?;
        let count = self.count_scalar(outer)?;
        let all = self.numbers_below(&count);
        let first = self.apart(|writer| {
            writer.note(asked, Fact::Numbers, all.clone());
            writer.condition(condition, &before)
        })?;
        let first = self.places(&first);
        let mut carried = Carried::new();
        let [iteration, goes_on] = [self.free("iteration"), self.free("goes_on")];
        let states = before.len();
        for (value, &input) in before.into_iter().zip(&operator.inputs) {
            self.carry(&mut carried, value, program.ty(input).dtype);
        }
        let begins = self.any(&first);
        let alive = self.carry(&mut carried, first, DType::I64);
        // What iterations give, and where it belongs: the row, then the iteration.
        let given = &program.block(body).results[states..];
        let mut collected = Vec::new();
        if !given.is_empty() {
            for &result in given {
                let ty = program.ty(result);
                if ty.rows != Some(rows) {
                    return self
                        .refuse("sequences that iterations give, each of another length, are not exported");
                }
                let dims: Vec<Dim> = std::iter::once(Dim::from(0)).chain(ty.dims.clone()).collect();
                let none = self.shape_of(&dims)?;
                let none = self.filled(&none, 0.0, ty.dtype);
                collected.push(self.carry(&mut carried, none, ty.dtype));
            }
            let none = self.ints(&[]);
            collected.push(self.carry(&mut carried, none, DType::I64));
            let shape = self.count(outer)?;
            let zeros = self.filled(&shape, 0.0, DType::I64);
            collected.push(self.carry(&mut carried, zeros, DType::I64));
        }

        self.begin();
        self.note(rows, Fact::Numbers, alive.clone());
        let held = carried.within[..states].to_vec();
        let own: Vec<String> = held.iter().map(|held| self.node("Gather", &[held, &alive])).collect();
        self.bind(body, &own);
        self.block(body)?;
        let next = self.results(body)?;
        let mut after = Vec::with_capacity(carried.before.len());
        for (held, next) in held.iter().zip(&next) {
            after.push(self.scattered(held, &alive, next));
        }
        let again = self.apart(|writer| {
            writer.note(asked, Fact::Numbers, alive.clone());
            writer.condition(condition, &next[..states])
        })?;
        let again = self.places(&again);
        let left = self.node("Gather", &[&alive, &again]);
        let goes = self.any(&left);
        after.push(left);
        if let [values @ .., keys, lengths] = &collected[..] {
            for (values, given) in values.iter().zip(&next[states..]) {
                after.push(self.joined(values, given));
            }
            let shift = self.int(1 << 32);
            let own = self.node("Mul", &[&alive, &shift]);
            let own = self.node("Add", &[&own, &iteration]);
            after.push(self.joined(keys, &own));
            let ones = self.node("Shape", &[&alive]);
            let ones = self.filled(&ones, 1.0, DType::I64);
            let before = self.node("Gather", &[lengths, &alive]);
            let longer = self.node("Add", &[&before, &ones]);
            after.push(self.scattered(lengths, &alive, &longer));
        }
        let mut behind = self.end_loop(&carried, [&iteration, &goes_on], &after, &goes, ["", &begins]);
        let collected = behind.split_off(states + 1);
        behind.truncate(states);
        if let [values @ .., keys, lengths] = &collected[..] {
            let count = self.node("Shape", &[keys]);
            let ascending = [AttributeProto::int("largest", 0), AttributeProto::int("axis", 0)];
            let [_, order] = self.nodes_with("TopK", &[keys, &count], ascending);
            for (&output, values) in operator.outputs[states..].iter().zip(values) {
                if let Some(rows) = program.ty(output).rows {
                    let tokens = self.program.before_loops(rows);
                    self.note(tokens, Fact::Lengths, lengths.clone());
                }
                behind.push(self.node("Gather", &[values, &order]));
            }
        }
        Ok(behind)
    }

    /// Whether there is a number.
    fn any(&mut self, numbers: &str) -> String {
        let (count, zero) = (self.node("Size", &[numbers]), self.int(0));
        self.node("Greater", &[&count, &zero])
    }

    /// Iteration `t` runs on the rows whose sequences have a token `t`.
    pub(super) fn for_loop(
        &mut self,
        operator: &Operator,
        items: usize,
    ) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let body = operator.blocks[0];
        let rows = program.block(body).rows;
        let Some((rows, steps)) = rows.and_then(|rows| Some((rows, program.steps_of_loop(rows)?))) else {
            return self.refuse("its block does not run on rows");
        };
        let (lengths, starts) = (self.fact(steps, Fact::Lengths)?, self.fact(steps, Fact::Starts)?);
        // There may be no sequence.
        let zero = self.ints(&[0]);
        let all = self.joined(&lengths, &zero);
        let longest = self.node_with("ReduceMax", &[&all], [AttributeProto::int("keepdims", 0)]);
        let mut carried = Carried::new();
        let [iteration, goes_on] = [self.free("iteration"), self.free("goes_on")];
        for &input in &operator.inputs[items..] {
            let value = self.name(input)?;
            self.carry(&mut carried, value, program.ty(input).dtype);
        }
        let states = carried.before.len();
        for &output in &operator.outputs[states..] {
            let ty = program.ty(output);
            let shape = self.shape(ty)?;
            let zeros = self.filled(&shape, 0.0, ty.dtype);
            self.carry(&mut carried, zeros, ty.dtype);
        }

        self.begin();
        let is_longer = self.node("Greater", &[&lengths, &iteration]);
        let alive = self.places(&is_longer);
        let begins = self.node("Gather", &[&starts, &alive]);
        let tokens = self.node("Add", &[&begins, &iteration]);
        self.note(rows, Fact::Numbers, alive.clone());
        self.note(rows, Fact::Tokens, tokens.clone());
        let params = &program.block(body).params;
        for (&param, &item) in params.iter().zip(&operator.inputs[..items]) {
            let (from, to) = (program.ty(item).rows.unwrap_or(steps), program.ty(param).rows.unwrap_or(rows));
            let value = self.name(item)?;
            // Inner sequences belong to the tokens that come to the iteration.
            if let RowOrigin::Part { of } = program.row_space(to).origin {
                self.sequences_of_iteration(to, of, &tokens)?;
            }
            let value = self.moved(&value, from, to)?;
            self.define(param, value);
        }
        for (&param, held) in params[items..].iter().zip(carried.within.clone()) {
            let own = self.node("Gather", &[&held, &alive]);
            self.define(param, own);
        }
        self.block(body)?;
        let results = self.results(body)?;
        let mut after = Vec::with_capacity(results.len());
        for (k, (held, next)) in carried.within.clone().iter().zip(&results).enumerate() {
            let numbers = match program.ty(program.block(body).results[k]).rows {
                _ if k < states => alive.clone(),
                Some(of) if of != rows => self.fact(of, Fact::Numbers)?,
                _ => tokens.clone(),
            };
            after.push(self.scattered(held, &numbers, next));
        }
        let yes = self.truth_of(true);
        Ok(self.end_loop(&carried, [&iteration, &goes_on], &after, &yes, [&longest, ""]))
    }

    /// Notes what describes the sequences of `of` that belong to the tokens of an iteration.
    fn sequences_of_iteration(
        &mut self,
        rows: RowsId,
        of: RowsId,
        tokens: &str,
    ) -> Result<(), LegaliseError> {
        let lengths = self.fact(of, Fact::Lengths)?;
        let starts = self.fact(of, Fact::Starts)?;
        let [own, begins] = [lengths, starts].map(|all| self.node("Gather", &[&all, tokens]));
        self.note(rows, Fact::Lengths, own);
        let (owners, positions) = (self.fact(rows, Fact::Owners)?, self.fact(rows, Fact::Positions)?);
        let begins = self.node("Gather", &[&begins, &owners]);
        let numbers = self.node("Add", &[&begins, &positions]);
        self.note(rows, Fact::Numbers, numbers);
        Ok(())
    }

    fn truth_of(&mut self, value: bool) -> String {
        self.numbers(&[Number::Bool(value)], DType::Bool, Vec::new())
    }
}
