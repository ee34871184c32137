//! Sequences in generated programs: loops along them, and operators on them between the forms.

use paddle_core::ops::{
    BinaryKind, For, GatherRows, Matmul, PoolType, ScatterRows, SequenceAlign, SequenceExpandAs,
    SequencePool, SequenceReverse, SequenceSoftmax,
};
use paddle_core::program::{DType, RowsId, Site, Type, VarId};

use super::build::{Builder, Entry, Scope, WIDTH};
use super::outline::{Form, Outline};

impl Builder<'_> {
    /// A sequence for each row of the block: mostly one with the lengths of the level, otherwise any existing one.
    pub(super) fn pick_sequence(&mut self, scope: &Scope) -> VarId {
        if scope.sequences.is_empty() || self.draw.below(3) != 0 {
            let own = self.sequences("s", scope.level);
            return self.local(scope.block, own);
        }
        let sequence = *self.draw.choose(&scope.sequences);
        self.local(scope.block, sequence)
    }

    fn pool(&mut self, scope: &Scope, sequence: VarId) -> VarId {
        let pooltype = *self.draw.choose(&PoolType::ALL);
        self.append(scope.block, SequencePool { pooltype, pad_value: 0.0 }, &[sequence])
    }

    /// Pools a sequence, and adds the result to the value of the block.
    fn pool_in(&mut self, scope: &mut Scope, sequence: VarId) {
        let pooled = self.pool(scope, sequence);
        let sum = self.binary(scope.block, BinaryKind::Add, scope.value, pooled);
        scope.value = self.tanh(scope.block, sum);
    }

    /// Makes a sequence readable from now on.
    pub(super) fn keep_sequence(&mut self, scope: &mut Scope, sequence: VarId) {
        scope.sequences.push(sequence);
        self.pool_in(scope, sequence);
    }

    /// Keeps a value that a loop collected, in the order of its iterations.
    pub(super) fn keep_given(&mut self, scope: &mut Scope, given: VarId) {
        let sequence = self.append(scope.block, ScatterRows, &[given]);
        self.keep_sequence(scope, sequence);
    }

    /// A sequence in which the value of the row is added to each token.
    pub(super) fn changed_sequence(&mut self, scope: &Scope, sequence: VarId) -> VarId {
        let sequence = self.local(scope.block, sequence);
        let each = self.append(scope.block, SequenceExpandAs, &[scope.value, sequence]);
        let sum = self.binary(scope.block, BinaryKind::Add, each, sequence);
        self.tanh(scope.block, sum)
    }

    /// Appends operators on sequences, including those of the blocks around.
    pub(super) fn between_tokens(&mut self, scope: &mut Scope) {
        let sequence = self.pick_sequence(scope);
        let block = scope.block;
        let changed = match self.draw.below(8) {
            5..=7 => self.made_sequence(scope),
            0 => self.append(block, SequenceSoftmax, &[sequence]),
            1 => self.append(block, SequenceReverse, &[sequence]),
            2 => {
                let weight = self.weight(WIDTH);
                let product = Matmul { trans_x: false, trans_y: false };
                let product = self.append(block, product, &[sequence, weight]);
                self.tanh(block, product)
            }
            3 => self.changed_sequence(scope, sequence),
            _ => sequence,
        };
        self.keep_sequence(scope, changed);
    }

    /// Sequences whose tokens have sequences of their own.
    fn sequences_of_sequences(&mut self, level: usize) -> VarId {
        let outer = self.sequences("s", level);
        let outer = self.rows_of(outer);
        self.input(format!("n{level}"), |builder| {
            let tokens = builder.built.program.create_tokens(&format!("n{level}"), outer);
            builder.built.tokens.insert(tokens, level);
            Type::with_rows(DType::F32, tokens, [WIDTH])
        })
    }

    /// The items of a `for`, as they are in its block, and the tokens of the outermost sequences.
    fn items(&mut self, scope: &Scope, form: Form) -> (Vec<VarId>, RowsId) {
        if matches!(form, Form::Sequences | Form::Texts) {
            let nested = self.sequences_of_sequences(scope.level);
            let nested = self.local(scope.block, nested);
            let inner = self.rows_of(nested);
            let tokens = self.built.program.rows_of_whole_sequences(inner).expect("tokens of sequences");
            return (vec![nested], tokens);
        }
        if form == Form::InStep {
            let [first, second] = ["s", "t"].map(|name| self.sequences(name, scope.level));
            let first = self.local(scope.block, first);
            let second = self.append(scope.block, SequenceAlign, &[second, first]);
            return (vec![first, second], self.rows_of(first));
        }
        if form == Form::Filtered {
            // The items are fed, so that they determine which tokens are chosen.
            let own = self.sequences("s", scope.level);
            let own = self.local(scope.block, own);
            return (vec![own], self.rows_of(own));
        }
        let mut sequence = self.pick_sequence(scope);
        if form == Form::Backwards {
            sequence = self.append(scope.block, SequenceReverse, &[sequence]);
        }
        (vec![sequence], self.rows_of(sequence))
    }

    /// A `for` with a state along a sequence of a block.
    fn along_tokens(&mut self, scope: &mut Scope, sequence: VarId) {
        let (block, tokens) = (scope.block, self.rows_of(sequence));
        let rows = self.built.program.steps_of(tokens);
        let item = self.append(block, GatherRows { rows }, &[sequence]);
        let initial = self.local(block, scope.value);
        let body = self.built.program.create_iteration(block, rows).unwrap();
        let own = self.built.program.block(body).rows.expect("a loop along sequences has rows");
        let ty = Type::with_rows(DType::F32, own, [WIDTH]);
        let param = self.built.program.create_block_parameter(body, "item", ty).unwrap();
        let state = self.states(body, &[initial])[0];
        let product = Matmul { trans_x: false, trans_y: false };
        let weight = self.weight(WIDTH);
        let product = self.append(body, product, &[state, weight]);
        let around = *self.draw.choose(&scope.rows);
        let sum = self.binary(body, BinaryKind::Add, product, param);
        let sum = self.binary(body, BinaryKind::Mul, sum, around);
        let next = self.tanh(body, sum);
        self.built.program.set_results(body, &[next, sum]).unwrap();
        let op = For { items: 1 };
        let outputs =
            self.built.program.append_block_op(block, op, &[item, initial], &[body], Site::default());
        let outputs = outputs.unwrap();
        scope.value = outputs[0];
        self.keep_given(scope, outputs[1]);
    }

    /// `for` along sequences.
    pub(super) fn along(&mut self, scope: &mut Scope, outline: &Outline) {
        let (block, form) = (scope.block, outline.form);
        let (items, tokens) = self.items(scope, form);
        let steps = self.built.program.steps_of(tokens);
        let mut inputs = Vec::new();
        for item in items {
            let of = self.rows_of(item);
            let rows = self.built.program.local_rows(of, steps);
            // This is not done by `append`, as the rows are not those of the block.
            let site = Site::default();
            inputs.extend(self.built.program.append_op(block, GatherRows { rows }, &[item], site).unwrap());
        }
        let items = inputs.len();
        if !matches!(form, Form::Stateless | Form::Texts) {
            inputs.push(self.local(block, scope.value));
        }
        let body = self.built.program.create_iteration(block, steps).unwrap();
        let rows = self.built.program.block(body).rows.expect("a loop along sequences has rows");
        let mut params = Vec::new();
        for &item in &inputs[..items] {
            let of = self.rows_of(item);
            let rows = self.built.program.iteration_of(of, rows).expect("the rows of an iteration");
            let ty = Type::with_rows(DType::F32, rows, [WIDTH]);
            params.push(self.built.program.create_block_parameter(body, "item", ty).unwrap());
        }
        let state = self.states(body, &inputs[items..]);

        let mut inner = scope.inside(body, scope.level + 1);
        // Without a state, this is the value of the row around.
        inner.value = state.first().copied().unwrap_or(scope.value);
        for &item in &params {
            match form {
                Form::Sequences => self.keep_sequence(&mut inner, item),
                Form::Texts => {
                    // What the rows around have is read along the sequences of each token, too.
                    self.keep_sequence(&mut inner, item);
                    self.along_tokens(&mut inner, item);
                }
                _ => {
                    let sum = self.binary(body, BinaryKind::Add, inner.value, item);
                    inner.value = self.tanh(body, sum);
                }
            }
        }
        self.built.entries.push(Entry { block: body, within: block, is_loop: true });
        self.block(&mut inner, &outline.inner[0]);
        let mut results: Vec<VarId> = state.iter().map(|_| inner.value).collect();
        match form {
            Form::Backwards => {}
            Form::Sequences | Form::Texts => results.push(self.changed_sequence(&inner, params[0])),
            Form::Filtered => results.extend([self.collected(&inner), self.is_positive(body, params[0])]),
            _ => results.push(self.collected(&inner)),
        }
        let results: Vec<VarId> = results.into_iter().map(|var| self.local(body, var)).collect();
        self.built.program.set_results(body, &results).unwrap();
        let op = For { items: items as i64 };
        let outputs =
            self.built.program.append_block_op(block, op, &inputs, &[body], Site::default()).unwrap();
        let (ends, given) = outputs.split_at(state.len());
        if let Some(&end) = ends.first() {
            scope.value = end;
        }
        match (form, given) {
            // Each token has a sequence. These are pooled to one row each.
            (Form::Sequences | Form::Texts, &[given]) => {
                let nested = self.append(block, ScatterRows, &[given]);
                let sequence = self.pool(scope, nested);
                self.keep_sequence(scope, sequence);
            }
            (Form::Filtered, &[given, keep]) => {
                let [given, keep] = [given, keep].map(|given| self.append(block, ScatterRows, &[given]));
                let chosen = self.filtered(block, given, keep);
                self.keep_sequence(scope, chosen);
            }
            _ => given.iter().for_each(|&given| self.keep_given(scope, given)),
        }
    }
}
