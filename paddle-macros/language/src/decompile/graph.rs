//! What reads and writes the values of a program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use paddle_core::ops::{Attribute, Op, Operator, Program};
use paddle_core::program::{BlockId, Definition, Dim, RowsId, SymbolId, VarId};

use super::row_sizes::counted_rows;

/// How many shapes one after another are looked through.
const MOST_RESHAPES: usize = 16;

/// A program with what writes each value, and how often it is read.
pub(super) struct Graph<'p> {
    pub(super) program: &'p Program,
    writers: BTreeMap<VarId, (BlockId, usize)>,
    /// Other names of values: the rows of a value that a block runs on, and states that a loop does not change.
    same: BTreeMap<VarId, VarId>,
    reads: BTreeMap<VarId, usize>,
    /// Operators with an output that is read.
    live: BTreeSet<(BlockId, usize)>,
    /// Numbers of rows that are made: for each, the first value that has the rows.
    tellers: BTreeMap<SymbolId, VarId>,
    /// For numbers of rows that no other value has: what makes the rows.
    makers: BTreeMap<VarId, VarId>,
    /// The values that tell a number of rows that is written.
    counted: BTreeSet<VarId>,
    /// Values by which layers are told of rows.
    told_by: Mutex<BTreeSet<VarId>>,
}

impl<'p> Graph<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let (writers, same) = (BTreeMap::new(), BTreeMap::new());
        let mut graph = Graph {
            program,
            writers,
            same,
            reads: BTreeMap::new(),
            live: BTreeSet::new(),
            tellers: tellers(program),
            makers: makers(program),
            counted: BTreeSet::new(),
            told_by: Mutex::default(),
        };
        for (id, block) in (0..).map(BlockId).zip(program.blocks()) {
            for (at, operator) in block.ops.iter().enumerate() {
                graph.writers.extend(operator.outputs.iter().map(|output| (*output, (id, at))));
                graph.note_same(operator);
            }
        }
        // Inner loops first: what they leave as it is may be what outer ones give.
        for operator in program.blocks().iter().rev().flat_map(|block| &block.ops) {
            if let Op::While(_) | Op::For(_) = &operator.op {
                graph.note_states(operator, &operator.inputs, &operator.outputs);
            }
        }
        program.taps().iter().for_each(|tap| graph.read(tap.var));
        graph.block(BlockId::GLOBAL);
        graph
    }

    fn note_same(&mut self, operator: &Operator) {
        match (&operator.op, &operator.inputs[..], &operator.outputs[..]) {
            (op, &[x, ..], &[y]) if self.gives_its_input(op, x, y) => {
                self.same.insert(y, self.resolve(x));
            }
            (Op::Reshape(_), &[x], &[y]) => {
                if let Some(same) = self.reshaped_from(x, y) {
                    self.same.insert(y, same);
                }
            }
            (Op::AxisToRows(_), &[x, like], &[y]) => {
                let rows = |var: VarId| self.program.ty(var).rows;
                if let Some((_, _, Operator { op: Op::RowsToAxis(_), inputs, .. })) = self.writer(x)
                    && rows(inputs[0]) == rows(like)
                {
                    self.same.insert(y, inputs[0]);
                }
            }
            _ => {}
        }
    }

    /// Whether an operator with one output gives its first input as it is, perhaps on other rows.
    fn gives_its_input(&self, op: &Op, x: VarId, y: VarId) -> bool {
        let (from, to) = (self.program.ty(x), self.program.ty(y));
        match op {
            Op::GatherRows(_) | Op::ScatterRows(_) | Op::Assign(_) => true,
            Op::Scale(op) => (op.scale, op.bias) == (1.0, 0.0),
            Op::Cast(_) => from == to,
            // Of one value, or of a whole axis.
            Op::Concat(_) => from == to,
            Op::Slice(op) => op.strides.iter().all(|stride| *stride == 1) && from == to,
            _ => false,
        }
    }

    /// A value of this type that the one before a `reshape` was made from by others.
    fn reshaped_from(&self, x: VarId, y: VarId) -> Option<VarId> {
        let mut at = self.resolve(x);
        for _ in 0..MOST_RESHAPES {
            if self.program.ty(at) == self.program.ty(y) {
                return Some(at);
            }
            match self.writer(at)? {
                (_, _, Operator { op: Op::Reshape(_), inputs, .. }) => at = self.resolve(inputs[0]),
                _ => return None,
            }
        }
        None
    }

    fn note_states(&mut self, operator: &Operator, initial: &[VarId], finals: &[VarId]) {
        let items = if let Op::For(op) = &operator.op { op.items.max(0) as usize } else { 0 };
        let blocks = || operator.blocks.iter().map(|block| self.program.block(*block));
        let Some(body) = blocks().next_back() else { return };
        let mut same = Vec::new();
        for (at, first) in initial.iter().enumerate().skip(items) {
            let (before, after) = (body.params.get(at), body.results.get(at - items));
            if before.copied() == after.map(|after| self.resolve(*after)) {
                let params = blocks().filter_map(|block| block.params.get(at));
                same.extend(params.chain(finals.get(at - items)).map(|other| (*other, *first)));
            }
        }
        self.same.extend(same);
    }

    /// Counts what the live operators of a block read.
    fn block(&mut self, id: BlockId) {
        let block = self.program.block(id);
        block.results.iter().for_each(|result| self.read(*result));
        for (at, operator) in block.ops.iter().enumerate().rev() {
            let is_read = operator.outputs.iter().any(|output| self.reads(*output) > 0);
            let is_same = operator.outputs.iter().all(|output| self.same.contains_key(output));
            // What gives nothing changes something.
            if !operator.outputs.is_empty() && (!is_read || is_same) {
                continue;
            }
            self.live.insert((id, at));
            operator.blocks.iter().for_each(|block| self.block(*block));
            let count = match operator.op {
                // The others number the rows, which the layer does by itself.
                Op::Dropout(_) => 1,
                Op::GaussianRandom(_) | Op::UniformRandom(_) => 0,
                _ => operator.inputs.len(),
            };
            operator.inputs.iter().take(count).for_each(|input| self.read(*input));
            let sizes = sizes(self.program, operator);
            let told = sizes.iter().filter_map(|size| self.tellers.get(size).copied());
            let maker = operator.outputs.first().and_then(|output| self.makers.get(output).copied());
            let told: Vec<VarId> = told.chain(maker).collect();
            for teller in told {
                self.counted.insert(self.resolve(teller));
                self.read(teller);
            }
        }
    }

    /// Whether the number of a value's rows is written somewhere.
    pub(super) fn is_counted(&self, var: VarId) -> bool {
        self.counted.contains(&self.resolve(var))
    }

    fn read(&mut self, var: VarId) {
        *self.reads.entry(self.resolve(var)).or_default() += 1;
    }

    /// The value that this one is, on other rows or in another iteration.
    pub(super) fn resolve(&self, var: VarId) -> VarId {
        let mut at = var;
        while let Some(same) = self.same.get(&at) {
            at = *same;
        }
        at
    }

    /// The values that are others under names of their own: each with the one that it is.
    pub(super) fn aliases(&self) -> impl Iterator<Item = (VarId, VarId)> + '_ {
        self.same.keys().map(|var| (*var, self.resolve(*var)))
    }

    /// How often a value is read.
    pub(super) fn reads(&self, var: VarId) -> usize {
        let var = self.resolve(var);
        let tells = usize::from(self.told_by().contains(&var));
        self.reads.get(&var).copied().unwrap_or_default() + tells
    }

    /// Notes that a layer is told of rows by a value, which then is no part of another one. What is in front of a layer is written later.
    pub(super) fn tell_by(&self, var: VarId) {
        self.told_by().insert(self.resolve(var));
    }

    fn told_by(&self) -> MutexGuard<'_, BTreeSet<VarId>> {
        self.told_by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_live(&self, block: BlockId, at: usize) -> bool {
        self.live.contains(&(block, at))
    }

    /// The operator that writes a value, and its place.
    pub(super) fn writer(&self, var: VarId) -> Option<(BlockId, usize, &'p Operator)> {
        let (block, at) = *self.writers.get(&self.resolve(var))?;
        Some((block, at, &self.program.block(block).ops[at]))
    }

    /// The operator of this block that writes a value which is read once, so that it can be a part of what reads it.
    pub(super) fn part(&self, block: BlockId, var: VarId) -> Option<(usize, &'p Operator)> {
        let (of, at, operator) = self.writer(var)?;
        (of == block && self.reads(var) == 1).then_some((at, operator))
    }

    pub(super) fn is_parameter(&self, var: VarId) -> bool {
        self.program.var(self.resolve(var)).definition == Definition::Parameter
    }
}

/// For each number of rows that are made, the first value that has the rows. What makes them is a part of layers that bring values to them,
/// if there are some.
fn tellers(program: &Program) -> BTreeMap<SymbolId, VarId> {
    let operators = || program.blocks().iter().flat_map(|block| &block.ops);
    let mut tellers = BTreeMap::new();
    for operator in operators().filter(|operator| !is_of_rows_alone(operator)).chain(operators()) {
        for output in &operator.outputs {
            if let Some(rows) = counted_rows(program, *output) {
                tellers.entry(program.row_space(rows).size).or_insert(*output);
            }
        }
    }
    tellers
}

/// The symbols of the sizes that an operator has as attributes, or gives.
fn sizes(program: &Program, operator: &Operator) -> Vec<SymbolId> {
    let dims = |dims: &[Dim]| dims.iter().flat_map(Dim::symbols).collect::<Vec<SymbolId>>();
    let mut sizes = match &operator.op {
        Op::Fill(op) => dims(&op.ty.dims),
        Op::Range(op) => dims(&op.ty.dims),
        Op::Size(_) => dims(&program.ty(operator.inputs[0]).dims),
        _ => Vec::new(),
    };
    for (_, attribute) in operator.op.attributes() {
        if let Attribute::Dims(all) = attribute {
            sizes.extend(dims(&all));
        }
    }
    sizes
}

/// Whether an operator makes rows, or gives the same for all rows but their numbers.
fn is_of_rows_alone(operator: &Operator) -> bool {
    matches!(operator.op, Op::SequenceRange(_) | Op::SequenceWhere(_) | Op::RowNumbers(_) | Op::Fill(_))
}

/// For numbers of rows that no other value in front of them has, by which a layer could be told: what makes the rows.
fn makers(program: &Program) -> BTreeMap<VarId, VarId> {
    let rows = |var: &VarId| program.ty(*var).rows;
    let mut known: BTreeSet<RowsId> = program.inputs().iter().filter_map(rows).collect();
    let (mut made, mut makers) = (BTreeMap::new(), BTreeMap::new());
    for operator in program.blocks().iter().flat_map(|block| &block.ops) {
        for output in &operator.outputs {
            let Some(rows) = rows(output) else { continue };
            match operator.op {
                Op::SequenceRange(_) => drop(made.insert(rows, *output)),
                Op::RowNumbers(_) if !known.contains(&rows) => {
                    makers.extend(made.get(&rows).map(|maker| (*output, *maker)));
                }
                _ if !is_of_rows_alone(operator) => drop(known.insert(rows)),
                _ => {}
            }
        }
    }
    makers
}
