//! Builds a program from an outline, by the construction API.

use std::collections::BTreeMap;

use paddle_core::ops::{
    Binary, BinaryKind, Compare, CompareKind, Concat, Fill, If, Matmul, Number, Op, Program, Reduce,
    ReduceKind, Scale, Unary, UnaryKind, While,
};
use paddle_core::program::{BlockId, DType, FileId, Place, RowsId, Site, Type, VarId};

use super::outline::{Form, Outline};
use crate::draw::Draw;

/// The columns of a value.
pub(super) const WIDTH: i64 = 2;

/// A program, and the data with which batches are drawn and the blocks of rows are checked.
pub(crate) struct Built {
    pub(crate) program: Program,
    /// The inputs that are conditions, with their levels.
    pub(crate) conditions: BTreeMap<VarId, usize>,
    /// The row spaces of inputs that are tokens, with the levels of the lengths of their sequences.
    pub(crate) tokens: BTreeMap<RowsId, usize>,
    pub(crate) weights: Vec<VarId>,
    pub(crate) entries: Vec<Entry>,
}

/// A branch, or the body of a loop, within another block. The product at its beginning has the number of the block as
/// the line of its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) block: BlockId,
    pub(crate) within: BlockId,
    pub(crate) is_loop: bool,
}

/// The line of the place of the product at the beginning of a block.
pub(crate) fn line(block: BlockId) -> u32 {
    block.0 + 1
}

/// The values that operators of a block may read.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) block: BlockId,
    /// The number of forms on rows around the block.
    pub(super) level: usize,
    /// The value that the forms of the block change one after the other, so that every form matters.
    pub(super) value: VarId,
    /// Values on the rows of this block, and on those of the blocks around.
    pub(super) rows: Vec<VarId>,
    /// Sequences that belong to these rows.
    pub(super) sequences: Vec<VarId>,
}

impl Scope {
    pub(super) fn inside(&self, block: BlockId, level: usize) -> Scope {
        let mut inner = Scope { block, level, ..self.clone() };
        inner.rows.push(self.value);
        inner
    }
}

pub(super) struct Builder<'a> {
    pub(super) built: Built,
    pub(super) draw: &'a mut Draw,
    batch: RowsId,
    file: FileId,
    /// The inputs by name. They are created when they are first read.
    fed: BTreeMap<String, VarId>,
}

impl Built {
    /// Builds a program with this outline.
    pub(crate) fn new(outline: &[Outline], draw: &mut Draw) -> Built {
        let mut program = Program::new();
        let (batch, file) = (program.create_rows("_"), program.create_file("generated"));
        let row = |program: &mut Program, name: &str| {
            program.create_input(name, Type::with_rows(DType::F32, batch, [WIDTH])).unwrap()
        };
        let (value, other) = (row(&mut program, "x"), row(&mut program, "y"));
        let built = Built {
            program,
            conditions: BTreeMap::new(),
            tokens: BTreeMap::new(),
            weights: Vec::new(),
            entries: Vec::new(),
        };
        let mut builder = Builder { built, draw, batch, file, fed: BTreeMap::new() };
        let mut scope =
            Scope { block: Program::GLOBAL, level: 0, value, rows: vec![other], sequences: Vec::new() };
        builder.block(&mut scope, outline);
        let Scope { value, sequences, .. } = scope;
        let outputs: Vec<VarId> = std::iter::once(value).chain(sequences.into_iter().rev().take(2)).collect();
        builder.built.program.set_outputs(&outputs).unwrap();
        builder.built
    }
}

impl Builder<'_> {
    pub(super) fn append(&mut self, block: BlockId, op: impl Into<Op>, inputs: &[VarId]) -> VarId {
        let local: Vec<VarId> = inputs.iter().map(|&input| self.local(block, input)).collect();
        self.built.program.append_op(block, op, &local, Site::default()).unwrap()[0]
    }

    pub(super) fn local(&mut self, block: BlockId, var: VarId) -> VarId {
        self.built.program.localize(block, var, Site::default()).unwrap()
    }

    pub(super) fn rows_of(&self, var: VarId) -> RowsId {
        self.built.program.ty(var).rows.expect("a value with rows")
    }

    pub(super) fn binary(&mut self, block: BlockId, kind: BinaryKind, x: VarId, y: VarId) -> VarId {
        self.append(block, Binary { kind }, &[x, y])
    }

    pub(super) fn tanh(&mut self, block: BlockId, x: VarId) -> VarId {
        self.append(block, Unary::of(UnaryKind::Tanh), &[x])
    }

    fn number(&mut self, block: BlockId, value: Number) -> VarId {
        let dtype = if let Number::Int(_) = value { DType::I64 } else { DType::F32 };
        self.append(block, Fill { value, ty: Type::scalar(dtype) }, &[])
    }

    /// The input of this name.
    pub(super) fn input(&mut self, name: String, ty: impl FnOnce(&mut Self) -> Type) -> VarId {
        if let Some(&known) = self.fed.get(&name) {
            return known;
        }
        let ty = ty(self);
        let var = self.built.program.create_input(&name, ty).unwrap();
        self.fed.insert(name, var);
        var
    }

    /// Sequences with the lengths of a level. `name` tells apart sequences with tokens of their own.
    pub(super) fn sequences(&mut self, name: &str, level: usize) -> VarId {
        self.input(format!("{name}{level}"), |builder| {
            let tokens = builder.built.program.create_tokens(&format!("{name}{level}"), builder.batch);
            builder.built.tokens.insert(tokens, level);
            Type::with_rows(DType::F32, tokens, [WIDTH])
        })
    }

    /// A matrix: one of those that exist, or a new one.
    pub(super) fn weight(&mut self, rows: i64) -> VarId {
        let fits = |&&weight: &&VarId| self.built.program.ty(weight).dims[0].constant() == Some(rows);
        let known: Vec<VarId> = self.built.weights.iter().filter(fits).copied().collect();
        if known.len() > 1 || (known.len() == 1 && self.draw.flip()) {
            return *self.draw.choose(&known);
        }
        let name = format!("w{}", self.built.weights.len());
        let weight = self.input(name, |_| Type::new(DType::F32, [rows, WIDTH]));
        self.built.weights.push(weight);
        weight
    }

    /// Appends the product that counts the rows of a block.
    fn enter(&mut self, scope: &mut Scope) {
        let weight = self.weight(WIDTH);
        let value = self.local(scope.block, scope.value);
        let site = Site {
            place: Some(Place { file: self.file, line: line(scope.block), column: 1, layer: None }),
            ..Site::default()
        };
        let product = Matmul { trans_x: false, trans_y: self.draw.flip() };
        let product = self.built.program.append_op(scope.block, product, &[value, weight], site).unwrap()[0];
        scope.value = self.tanh(scope.block, product);
    }

    /// Fills a block.
    pub(super) fn block(&mut self, scope: &mut Scope, outline: &[Outline]) {
        self.enter(scope);
        self.between(scope);
        for part in outline {
            let before = scope.value;
            self.form(scope, part);
            scope.rows.push(before);
            self.between(scope);
        }
    }

    fn form(&mut self, scope: &mut Scope, outline: &Outline) {
        match outline.form {
            Form::Branches | Form::Branch | Form::SequenceBranches => self.branches(scope, outline),
            Form::While | Form::Collecting => self.while_rows(scope, outline),
            Form::For
            | Form::InStep
            | Form::Backwards
            | Form::Stateless
            | Form::Filtered
            | Form::Sequences
            | Form::Texts => {
                self.along(scope, outline);
            }
            Form::Counted => self.counted(scope, outline),
        }
    }

    /// Appends arithmetic on rows and on sequences, or none.
    fn between(&mut self, scope: &mut Scope) {
        let block = scope.block;
        let other = *self.draw.choose(&scope.rows);
        match self.draw.below(6) {
            0 => {
                let kind = *self.draw.choose(&[BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul]);
                let changed = self.binary(block, kind, scope.value, other);
                // Products with small factors vanish, so the old value is added.
                scope.value = self.binary(block, BinaryKind::Add, changed, scope.value);
            }
            1 => {
                let weight = self.weight(2 * WIDTH);
                let both = self.append(block, Concat { axis: 1 }, &[other, scope.value]);
                let product = self.append(block, Matmul { trans_x: false, trans_y: false }, &[both, weight]);
                scope.value = self.tanh(block, product);
            }
            2 | 3 => self.between_tokens(scope),
            _ => {}
        }
    }

    /// The value on which a decision at a level depends: positive for the rows on one side of the level.
    fn decision(&mut self, scope: &Scope) -> VarId {
        let level = scope.level;
        let condition =
            self.input(format!("c{level}"), |builder| Type::with_rows(DType::F32, builder.batch, [1]));
        self.built.conditions.insert(condition, level);
        self.local(scope.block, condition)
    }

    /// Adds a term that depends on an earlier result.
    fn perturbed(&mut self, block: BlockId, decision: VarId, value: VarId) -> VarId {
        if self.draw.flip() {
            return decision;
        }
        let mean = Reduce { kind: ReduceKind::Mean, axes: vec![1], keep_dim: true };
        let mean = self.append(block, mean, &[value]);
        let bounded = self.tanh(block, mean);
        let part = self.append(block, Scale { scale: 0.25, bias: 0.0 }, &[bounded]);
        self.binary(block, BinaryKind::Add, decision, part)
    }

    /// Whether the decision is positive, or not positive, depending on `kind`.
    fn test(&mut self, block: BlockId, kind: CompareKind, decision: VarId) -> VarId {
        let zero = self.number(block, Number::Float(0.0));
        self.append(block, Compare { kind }, &[decision, zero])
    }

    fn branches(&mut self, scope: &mut Scope, outline: &Outline) {
        let block = scope.block;
        let decision = self.decision(scope);
        let decision = self.perturbed(block, decision, scope.value);
        let kind = *self.draw.choose(&[CompareKind::GreaterThan, CompareKind::LessThan]);
        let condition = self.test(block, kind, decision);
        let sequence = (outline.form == Form::SequenceBranches).then(|| self.pick_sequence(scope));
        let branches = self.built.program.create_branches(block, condition).unwrap();
        for (side, branch) in branches.into_iter().enumerate() {
            let mut inner = scope.inside(branch, scope.level + 1);
            if side == 0 || outline.form != Form::Branch {
                self.built.entries.push(Entry { block: branch, within: block, is_loop: false });
                self.block(&mut inner, &outline.inner[side]);
            }
            let mut results = vec![self.local(branch, inner.value)];
            if let Some(sequence) = sequence {
                results.push(self.changed_sequence(&inner, sequence));
            }
            self.built.program.set_results(branch, &results).unwrap();
        }
        let outputs =
            self.built.program.append_block_op(block, If, &[condition], &branches, Site::default()).unwrap();
        scope.value = outputs[0];
        if let Some(&sequence) = outputs.get(1) {
            self.keep_sequence(scope, sequence);
        }
    }

    /// Each row stays as long as a number that is counted down is positive.
    fn while_rows(&mut self, scope: &mut Scope, outline: &Outline) {
        let block = scope.block;
        let decision = self.decision(scope);
        let left = self.append(block, Scale { scale: 2.0, bias: 0.0 }, &[decision]);
        let initial = [self.local(block, scope.value), left];
        let rows = self.rows_of(initial[0]);
        let ([condition, body], _) = self.built.program.create_loop(block, rows, "given").unwrap();
        let state = self.states(condition, &initial);
        let decision = self.perturbed(condition, state[1], state[0]);
        let goes_on = self.test(condition, CompareKind::GreaterThan, decision);
        self.built.program.set_results(condition, &[goes_on]).unwrap();

        let state = self.states(body, &initial);
        let mut inner = scope.inside(body, scope.level + 1);
        inner.value = state[0];
        self.built.entries.push(Entry { block: body, within: block, is_loop: true });
        self.block(&mut inner, &outline.inner[0]);
        let left = self.append(body, Scale { scale: 1.0, bias: -0.75 }, &[state[1]]);
        let mut results = vec![self.local(body, inner.value), left];
        if outline.form == Form::Collecting {
            results.push(self.collected(&inner));
        }
        self.built.program.set_results(body, &results).unwrap();
        let op = While { limit: 100 };
        let blocks = [condition, body];
        let outputs =
            self.built.program.append_block_op(block, op, &initial, &blocks, Site::default()).unwrap();
        scope.value = outputs[0];
        for &given in &outputs[2..] {
            self.keep_given(scope, given);
        }
    }

    /// Adds parameters for the state to a block of a loop.
    pub(super) fn states(&mut self, block: BlockId, initial: &[VarId]) -> Vec<VarId> {
        let rows = self.built.program.block(block).rows;
        let types: Vec<Type> = initial.iter().map(|&var| self.built.program.ty(var).clone()).collect();
        let own = |ty: Type| Type { rows: rows.or(ty.rows), ..ty };
        let mut parameter = |ty| self.built.program.create_block_parameter(block, "state", ty).unwrap();
        types.into_iter().map(|ty| parameter(own(ty))).collect()
    }

    /// A value of an iteration that is not the state.
    pub(super) fn collected(&mut self, inner: &Scope) -> VarId {
        let other = *self.draw.choose(&inner.rows);
        let sum = self.binary(inner.block, BinaryKind::Add, inner.value, other);
        self.tanh(inner.block, sum)
    }

    /// Two iterations on all rows.
    fn counted(&mut self, scope: &mut Scope, outline: &Outline) {
        let block = scope.block;
        let initial = [self.number(block, Number::Int(0)), self.local(block, scope.value)];
        let [condition, body] = [(); 2].map(|()| self.built.program.create_block(block, None).unwrap());
        // The rows are those of the blocks around.
        let state: Vec<VarId> = self.unchanged(condition, &initial);
        let end = self.number(condition, Number::Int(2));
        let goes_on = self.append(condition, Compare { kind: CompareKind::LessThan }, &[state[0], end]);
        self.built.program.set_results(condition, &[goes_on]).unwrap();
        let state = self.unchanged(body, &initial);
        let mut inner = scope.inside(body, scope.level);
        inner.value = state[1];
        self.block(&mut inner, &outline.inner[0]);
        let next = self.append(body, Scale { scale: 1.0, bias: 1.0 }, &[state[0]]);
        let results = [next, self.local(body, inner.value)];
        self.built.program.set_results(body, &results).unwrap();
        let (op, blocks) = (While { limit: 100 }, [condition, body]);
        let outputs =
            self.built.program.append_block_op(block, op, &initial, &blocks, Site::default()).unwrap();
        scope.value = outputs[1];
    }

    fn unchanged(&mut self, block: BlockId, initial: &[VarId]) -> Vec<VarId> {
        let types: Vec<Type> = initial.iter().map(|&var| self.built.program.ty(var).clone()).collect();
        let mut parameter = |ty| self.built.program.create_block_parameter(block, "state", ty).unwrap();
        types.into_iter().map(&mut parameter).collect()
    }
}
