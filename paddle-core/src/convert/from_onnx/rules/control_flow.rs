//! Operators that own graphs.
//!
//! A branch whose condition is known is read in its place. So are the iterations of a loop whose number is known, one after the
//! other; other loops become our `while`, which collects nothing.

use std::rc::Rc;

use crate::convert::draft::MOST_ITERATIONS;
use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::from_onnx::{Constant, Value};
use crate::ops::{
    Binary, BinaryKind, Compare, CompareKind, If, Logical, LogicalKind, Number, Op, Split, While,
};
use crate::program::{BlockId, DType, Dim, VarId};
use crate::wire::onnx::GraphProto;

/// What the iterations of a loop leave: its state, and for each collected value the parts of all iterations.
struct Unrolled {
    state: Vec<VarId>,
    collected: Vec<Vec<VarId>>,
}

impl Node<'_, '_> {
    /// The graph in an attribute.
    fn graph(&mut self, attribute: &'static str) -> Result<GraphProto, Fault> {
        let bytes = self.attr(attribute).and_then(|attr| attr.g.as_ref());
        let bytes = bytes.ok_or(Fault::MissingAttribute { attribute })?;
        self.reader.draft.spend(bytes.len())?;
        Ok(GraphProto::decode(bytes)?)
    }

    pub(super) fn branches(&mut self) -> Given {
        let graphs = [self.graph("then_branch")?, self.graph("else_branch")?];
        if let Some([condition]) = self.numbers(0).as_deref() {
            let taken = if condition.as_f64() != 0.0 { &graphs[0] } else { &graphs[1] };
            let block = self.block();
            return self.reader.nested(taken, block, Vec::new());
        }
        let condition = self.input(0)?;
        let condition = self.scalar(condition)?;
        let outer = self.block();
        let mut ids = [BlockId::GLOBAL; 2];
        for id in &mut ids {
            *id = self.reader.draft.program.create_block(outer, None)?;
        }
        let mut count = 0;
        for (graph, &id) in graphs.iter().zip(&ids) {
            let results = self.reader.nested(graph, id, Vec::new())?;
            count = results.len();
            self.reader.draft.program.set_results(id, &results)?;
        }
        self.owning(If, &[condition], &ids, count)
    }

    /// Appends an operator that owns blocks.
    fn owning(&mut self, op: impl Into<Op>, inputs: &[VarId], blocks: &[BlockId], count: usize) -> Given {
        let op = op.into();
        let names = vec![op.name(); count];
        let at = self.at();
        at.draft.append(at.block, op, inputs, blocks, &names, at.site)
    }

    fn scalar(&mut self, value: VarId) -> Result<VarId, Fault> {
        if self.ty(value).rank() == 0 { Ok(value) } else { self.reshaped(value, Vec::new()) }
    }

    /// Inputs are the most iterations, whether the first one runs, and the state.
    pub(super) fn repeat(&mut self) -> Given {
        let body = self.graph("body")?;
        let state: Vec<VarId> =
            (2..self.desc.input.len()).map(|at| self.input(at)).collect::<Result<_, _>>()?;
        if body.input.len() != state.len() + 2 || body.output.len() < state.len() + 1 {
            return self.lacks("its body has other inputs or outputs than the loop");
        }
        let most = match self.numbers(0).as_deref() {
            Some([number]) => number.as_i64(),
            _ => None,
        };
        let first = match (self.has(1), self.numbers(1).as_deref()) {
            (false, _) => Some(true),
            (true, Some([first])) => Some(first.as_f64() != 0.0),
            _ => None,
        };
        if let (Some(most), Some(first)) = (most.filter(|most| *most <= MOST_ITERATIONS), first) {
            let before = self.reader.draft.program.mark(self.block());
            let most = if first { most } else { 0 };
            if let Some(done) = self.unrolled(&body, most, state.clone())? {
                return self.given(done, |_| 0);
            }
            self.reader.draft.take_back(before);
        }
        if body.output.len() > state.len() + 1 {
            return self.lacks("it collects values, but the number of its iterations is not known");
        }
        self.as_while(&body, &state)
    }

    /// The iterations one after the other; `None` if it is not known how many there are.
    fn unrolled(
        &mut self,
        body: &GraphProto,
        most: i64,
        mut state: Vec<VarId>,
    ) -> Result<Option<Unrolled>, Fault> {
        let mut collected = vec![Vec::new(); body.output.len() - 1 - state.len()];
        let block = self.block();
        for k in 0..most {
            let known =
                |number| Value { constant: Some(Rc::new(Constant::scalar(number))), ..Value::default() };
            let bound = [known(Number::Int(k)), known(Number::Bool(true))];
            let bound = bound.into_iter().chain(state.iter().copied().map(Value::of)).collect();
            let mut results = self.reader.nested(body, block, bound)?.into_iter();
            let Some(goes_on) = results.next().and_then(|value| self.reader.draft.known_truth(value)) else {
                return Ok(None);
            };
            state = results.by_ref().take(state.len()).collect();
            collected.iter_mut().zip(results).for_each(|(all, part)| all.push(part));
            if !goes_on {
                break;
            }
        }
        Ok(Some(Unrolled { state, collected }))
    }

    /// The state, and each collected value along a new axis.
    fn given(&mut self, done: Unrolled, axis: impl Fn(usize) -> i64) -> Given {
        let mut given = done.state;
        for (k, parts) in done.collected.into_iter().enumerate() {
            match self.at().joined(&parts, axis(k), true)? {
                Some(joined) => given.push(joined),
                None => {
                    return self
                        .lacks("it collects values, but has no iterations, or they have no such axis");
                }
            }
        }
        Ok(given)
    }

    /// The number of the iteration and the condition are state, too.
    fn as_while(&mut self, body: &GraphProto, state: &[VarId]) -> Given {
        let most = match self.optional(0)? {
            Some(most) => Some(self.scalar(most)?),
            None => None,
        };
        let first = match self.optional(1)? {
            Some(first) => self.scalar(first)?,
            None => self.fill(1.0, DType::Bool)?,
        };
        let number = self.fill(0.0, DType::I64)?;
        let initial = [&[number, first], state].concat();
        let types: Vec<_> = initial.iter().map(|&value| self.ty(value).clone()).collect();
        let outer = self.block();
        let draft = &mut self.reader.draft;
        let ids = [draft.program.create_block(outer, None)?, draft.program.create_block(outer, None)?];
        let mut params = [Vec::new(), Vec::new()];
        for (&id, params) in ids.iter().zip(&mut params) {
            for ty in &types {
                params.push(draft.block_parameter(id, "state", ty)?);
            }
        }
        let mut goes_on = params[0][1];
        if let Some(most) = most {
            let mut at = self.at();
            let is_below =
                at.emit_in(ids[0], Compare { kind: CompareKind::LessThan }, &[params[0][0], most])?;
            goes_on = at.emit_in(ids[0], Logical { kind: LogicalKind::And }, &[goes_on, is_below])?;
        }
        self.reader.draft.program.set_results(ids[0], &[goes_on])?;
        let bound = params[1].iter().copied().map(Value::of).collect();
        let mut results = self.reader.nested(body, ids[1], bound)?;
        let mut at = self.at();
        if at.ty(results[0]).rank() > 0 {
            results[0] = at.emit_in(ids[1], crate::ops::Reshape { dims: Vec::new() }, &[results[0]])?;
        }
        let one = crate::ops::Fill { value: Number::Int(1), ty: crate::program::Type::scalar(DType::I64) };
        let one = at.emit_in(ids[1], one, &[])?;
        let next = at.emit_in(ids[1], Binary { kind: BinaryKind::Add }, &[params[1][0], one])?;
        results.insert(0, next);
        self.reader.draft.program.set_results(ids[1], &results)?;
        let op = While { limit: While::DEFAULT_LIMIT };
        Ok(self.owning(op, &initial, &ids, initial.len())?.split_off(2))
    }

    /// A loop over the parts of values along an axis, whose number has to be known.
    pub(super) fn scan(&mut self) -> Given {
        let body = self.graph("body")?;
        let scanned = self.int("num_scan_inputs", 0);
        let inputs = self.inputs()?;
        let states = usize::try_from(scanned).ok().and_then(|scanned| inputs.len().checked_sub(scanned));
        let fits = |states: &usize| body.input.len() == inputs.len() && body.output.len() >= *states;
        let Some(states) = states.filter(fits).filter(|_| self.reader.version >= 9) else {
            return self.lacks("its body has other inputs or outputs than the loop, or it is of version 8");
        };
        let listed =
            |node: &Self, name, k: usize| node.ints(name).and_then(|all| all.get(k).copied()).unwrap_or(0);
        let mut parts = Vec::new();
        let mut count = None;
        for (k, &input) in inputs[states..].iter().enumerate() {
            let axis = self.axis(input, "scan_input_axes", listed(self, "scan_input_axes", k))?;
            let Some(size) =
                self.shape(input)[axis].constant().filter(|size| (1..=MOST_ITERATIONS).contains(size))
            else {
                return self.lacks("the number of its iterations is not known, or too large");
            };
            if count.is_some_and(|count| count != size) {
                return self.lacks("the values that it goes along have different sizes");
            }
            count = Some(size);
            let sections = vec![Dim::from(1); size as usize];
            let mut of =
                self.at().emit_all(Split { axis: axis as i64, sections }, &[input], size as usize)?;
            if listed(self, "scan_input_directions", k) == 1 {
                of.reverse();
            }
            let mut dims = self.ty(of[0]).dims.clone();
            dims.remove(axis - self.rows(input));
            for part in &mut of {
                *part = self.reshaped(*part, dims.clone())?;
            }
            parts.push(of);
        }
        let (mut state, block) = (inputs[..states].to_vec(), self.block());
        let mut collected = vec![Vec::new(); body.output.len() - states];
        for step in 0..count.unwrap_or(0) as usize {
            let bound = state.iter().copied().chain(parts.iter().map(|of| of[step])).map(Value::of).collect();
            let mut results = self.reader.nested(&body, block, bound)?;
            let rest = results.split_off(states);
            state = results;
            collected.iter_mut().zip(rest).for_each(|(all, part): (&mut Vec<VarId>, VarId)| all.push(part));
        }
        for (k, all) in collected.iter_mut().enumerate() {
            if listed(self, "scan_output_directions", k) == 1 {
                all.reverse();
            }
        }
        let axes = self.ints("scan_output_axes").unwrap_or_default();
        self.given(Unrolled { state, collected }, |k| axes.get(k).copied().unwrap_or(0))
    }
}
