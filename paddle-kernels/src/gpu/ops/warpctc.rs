//! `warpctc`, forward and backward: a workgroup for each sequence, whose threads share the states. The labels `a b` have the states
//! `blank a blank b blank`. From one token to the next, a reading stays in its state, or moves on by one state, or by two to another
//! label. Everything is in logarithms.
//!
//! The gradient needs the ways to all states of all tokens, from the last token on. Of `n` tokens each state keeps about `√n`, and those
//! between two of them are computed once more.

use paddle_core::ops::{Real, WarpCtc};
use paddle_core::plan::{Extent, KernelError, OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::{fold, largest_and_sum};
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Register, Shared, Truth, Unsigned, Variable, barrier, each, fail, for_each, lane,
    otherwise, scalar, when, workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{check, count, tokens};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::check_ctc_labels;

/// The logarithm of the probability 0. It is finite, so that differences of such logarithms are numbers too.
const NEVER: f32 = -1e30;
/// The numbers that each state keeps: of some tokens, of all tokens between two of these, and of one token on the way forward and back.
const ROWS: u32 = 2 * KEPT + 2;
const KEPT: u32 = 255;
const FORWARD: u32 = 2 * KEPT;
const BACKWARD: u32 = FORWARD + 1;
/// The tokens that a sequence may have.
const MOST_TOKENS: u32 = KEPT * KEPT - 1;

fn u(value: u32) -> Unsigned {
    Unsigned::of(value)
}

fn f(value: f32) -> Float {
    Float::constant(value)
}

/// `ln(eᵃ + eᵇ + eᶜ)`.
fn add_up(a: Float, b: Float, c: Float) -> Float {
    let largest = a.max(b).max(c);
    largest + ((a - largest).exp() + (b - largest).exp() + (c - largest).exp()).ln()
}

/// The memory beside the operands.
struct Scratch {
    /// `ln Σ exp logit` of each token.
    norms: Tensor,
    /// What the states of labels and of the blanks in front of them keep, and the last blank of each sequence.
    states: Tensor,
    ends: Tensor,
}

impl Scratch {
    fn shapes(call: &Call<'_>) -> [Vec<Extent>; 3] {
        let of = |shape: &[Extent], sizes: &[u32]| {
            let sizes = sizes.iter().map(|&size| Extent::Fixed(size as usize));
            shape.iter().copied().chain(sizes).collect()
        };
        [of(&call.shape(0)[..1], &[]), of(call.shape(1), &[2, ROWS]), of(call.shape(2), &[ROWS])]
    }

    fn new(call: &Call<'_>) -> Self {
        let first = call.group.inputs.len() + call.group.outputs.len();
        let [norms, states, ends] = Scratch::shapes(call).map(|shape| OperandType::new(DType::F32, shape));
        Scratch {
            norms: Tensor::new(first, &norms),
            states: Tensor::new(first + 1, &states),
            ends: Tensor::new(first + 2, &ends),
        }
    }
}

impl Compile for WarpCtc {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let (blank, tokens) = (self.blank as u32, call.shape(0)[..1].to_vec());
        let kernel = checked(&call, blank).stage(Grid::Items(call.shape(0).to_vec()), || {
            let grad = call.output(1);
            each(grad.elements(), |index| grad.clear(index));
        });
        let [norms, states, ends] = Scratch::shapes(&call);
        let kernel = kernel.scratch(norms).scratch(states).scratch(ends);
        let normalised = kernel.stage(Grid::Groups(tokens.clone()), || {
            let (logits, norms) = (call.input(0), Scratch::new(&call).norms);
            let shared = SharedElements::new(DType::F32);
            for_each(workgroup(), scalar(&tokens), workgroups(), |token| {
                let classes = scalar(&call.shape(0)[1..]);
                let value = |class: Unsigned| logits.float(token * classes + class);
                let (largest, sum) = largest_and_sum(classes, value, &shared);
                when(lane().is(u(0)), || norms.set(token, largest + sum.ln()));
            });
        });
        Ok(normalised.stage(Grid::Groups(call.shape(2).to_vec()), || {
            let readings = Readings::new(&call, blank);
            for_each(workgroup(), count(&call.input(2)), workgroups(), |sequence| {
                readings.read(&call, sequence)
            });
        }))
    }
}

/// A kernel that fails at labels that are no classes or the blank, and at sequences that are too long.
fn checked(call: &Call<'_>, blank: u32) -> Kernel {
    let kernel = check(call, 2, |sequence| {
        let (first, end) = tokens(&call.input(2), sequence);
        (end - first).greater(u(MOST_TOKENS))
    });
    let kernel = kernel.stage(Grid::Items(call.shape(1).to_vec()), || {
        let (label, classes) = (call.input(1), scalar(&call.shape(0)[1..]));
        each(label.elements(), |at| {
            let id = label.load(at).long();
            when(!id.is_index(classes) | id.low.is(u(blank)), || fail(at));
        });
    });
    let of = [1, 2].map(|k| (call.input_number(k), call.shape(k).to_vec()));
    let classes = call.shape(0)[1];
    kernel.explain(move |evidence, sequence| {
        let [labels, offsets] = of.each_ref().map(|(number, shape)| evidence.offsets(*number, shape));
        let wrong = check_ctc_labels(&labels, classes.get(evidence.sizes), blank as usize);
        wrong.err().unwrap_or_else(|| {
            let length = offsets[sequence + 1] - offsets[sequence];
            let message =
                format!("sequence {sequence} has {length} tokens; on a card there may be {MOST_TOKENS}");
            KernelError::Value { message }
        })
    })
}

/// What all workgroups share.
struct Readings {
    logits: Tensor,
    label: Tensor,
    scratch: Scratch,
    blank: u32,
    classes: Unsigned,
    /// The numbers of neighbouring states, two more than threads.
    tile: Shared<Float>,
    /// The classes of these states.
    kinds: Shared<Unsigned>,
    shared: SharedElements,
}

/// A sequence, and the labels as which its tokens are to be read.
struct Reading<'a> {
    of: &'a Readings,
    number: Unsigned,
    first_token: Unsigned,
    first_label: Unsigned,
    states: Unsigned,
}

impl Readings {
    fn new(call: &Call<'_>, blank: u32) -> Self {
        Readings {
            logits: call.input(0),
            label: call.input(1),
            scratch: Scratch::new(call),
            blank,
            classes: scalar(&call.shape(0)[1..]),
            tile: Shared::new(LANES + 2),
            kinds: Shared::new(LANES),
            shared: SharedElements::new(DType::F32),
        }
    }

    /// Reads a sequence. A sequence that has too few tokens for its labels is read as if it had none.
    fn read(&self, call: &Call<'_>, number: Unsigned) {
        let (loss, grad) = (call.output(0), call.output(1));
        let (first, end) = tokens(&call.input(2), number);
        let (first_label, end_label) = tokens(&call.input(3), number);
        let repeated = Variable::new(u(0));
        for_each(first_label + u(1), end_label, u(1), |at| {
            let same = self.label.load(at).long().is(self.label.load(at - u(1)).long());
            repeated.set(repeated.get() + same.to_unsigned());
        });
        let labels = end_label - first_label;
        let fits = (labels + repeated.get()).less_equal(end - first);
        let count = Unsigned::choose(fits, end - first, u(0));
        let states = labels + labels + u(1);
        let reading = Reading { of: self, number, first_token: first, first_label, states };
        // So many tokens are between two that are kept.
        let width = count.to_float().sqrt().to_signed().as_unsigned() + u(1);
        let total = Variable::new(f(0.0));
        for_each(u(0), count, u(1), |token| {
            total.set(total.get() + reading.forward(token, token.is(u(0)), u(FORWARD), u(FORWARD)));
            when((token % width).is(u(0)), || reading.copy(u(FORWARD), token / width));
        });
        // A reading ends with the last label, or with the blank behind it.
        let is_end = |state: Unsigned| (state + u(2)).greater_equal(states);
        let ended = |state: Unsigned| Float::choose(is_end(state), reading.get(state, u(FORWARD)), f(NEVER));
        let (largest, sum) = largest_and_sum(states, ended, &self.shared);
        when(lane().is(u(0)), || {
            let value = -(total.get() + (largest + sum.ln()));
            loss.set(number, Float::choose(count.is(u(0)), f(0.0), value));
        });
        for_each(lane(), states, u(LANES), |state| {
            reading.set(state, u(BACKWARD), Float::choose(is_end(state), f(0.0), f(NEVER)));
        });
        let parts = (count + width - u(1)) / width;
        for_each(u(0), parts, u(1), |back| {
            let part = parts - u(1) - back;
            let start = part * width;
            let length = width.least(count - start);
            reading.copy(part, u(KEPT));
            for_each(u(1), length, u(1), |at| {
                reading.forward(start + at, Truth::of(false), u(KEPT - 1) + at, u(KEPT) + at);
            });
            for_each(u(0), length, u(1), |back| {
                let at = length - u(1) - back;
                reading.gradient(start + at, u(KEPT) + at, &grad);
                reading.backward(start + at);
            });
        });
    }
}

impl Reading<'_> {
    /// A number that a state keeps. A thread reads the states that it writes.
    fn get(&self, state: Unsigned, row: Unsigned) -> Float {
        let found = Variable::new(f(NEVER));
        when((state + u(1)).less(self.states), || {
            found.set(self.of.scratch.states.float(self.place(state, row)));
        });
        when((state + u(1)).is(self.states), || {
            found.set(self.of.scratch.ends.float(self.number * u(ROWS) + row));
        });
        found.get()
    }

    fn set(&self, state: Unsigned, row: Unsigned, to: Float) {
        when((state + u(1)).is(self.states), || self.of.scratch.ends.set(self.number * u(ROWS) + row, to));
        otherwise(|| self.of.scratch.states.set(self.place(state, row), to));
    }

    fn place(&self, state: Unsigned, row: Unsigned) -> Unsigned {
        (self.first_label + self.first_label + state) * u(ROWS) + row
    }

    fn copy(&self, from: Unsigned, to: Unsigned) {
        for_each(lane(), self.states, u(LANES), |state| self.set(state, to, self.get(state, from)));
    }

    /// The class of a state that exists. Wrong labels, with which the launch fails, are read as others.
    fn class(&self, state: Unsigned) -> Unsigned {
        let class = Variable::new(u(self.of.blank));
        when((state & u(1)).is(u(1)) & state.less(self.states), || {
            let label = self.of.label.load(self.first_label + state / u(2)).long();
            class.set(label.low.least(self.of.classes - u(1)));
        });
        class.get()
    }

    /// Whether a state can be reached from the last but one.
    fn skips(&self, state: Unsigned) -> Truth {
        let is_label = (state & u(1)).is(u(1)) & state.greater(u(2)) & state.less(self.states);
        let before = Unsigned::choose(is_label, state - u(2), state);
        is_label & self.class(state).is_not(self.class(before))
    }

    /// The logarithm of the probability of a state at a token.
    fn log(&self, token: Unsigned, state: Unsigned) -> Float {
        let token = self.first_token + token;
        let logit = self.of.logits.float(token * self.of.classes + self.class(state));
        (logit - self.of.scratch.norms.float(token)).max(f(NEVER))
    }

    /// Computes the ways to the states of a token from those of the token before. The most probable one is scaled to 1; the logarithm
    /// of the scale is returned.
    fn forward(&self, token: Unsigned, is_first: Truth, from: Unsigned, to: Unsigned) -> Float {
        let tile = &self.of.tile;
        for_each(u(0), self.states, u(LANES), |block| {
            let state = block + lane();
            // The last two states of the block in front.
            let ahead = Float::choose(block.is(u(0)), f(NEVER), tile.get(u(LANES) + (lane() & u(1))));
            barrier();
            when(lane().less(u(2)), || tile.set(lane(), ahead));
            tile.set(lane() + u(2), self.get(state, from));
            barrier();
            let other = Float::choose(self.skips(state), tile.get(lane()), f(NEVER));
            let ways = add_up(tile.get(lane() + u(2)), tile.get(lane() + u(1)), other);
            let start = Float::choose(state.less(u(2)), f(0.0), f(NEVER));
            when(state.less(self.states), || {
                self.set(state, to, Float::choose(is_first, start, ways) + self.log(token, state));
            });
        });
        barrier();
        self.shift(to)
    }

    /// Computes the ways onward from the states of the token before, from those of a token.
    fn backward(&self, token: Unsigned) {
        let tile = &self.of.tile;
        let blocks = (self.states + u(LANES - 1)) / u(LANES);
        for_each(u(0), blocks, u(1), |back| {
            let state = (blocks - u(1) - back) * u(LANES) + lane();
            // The first two states of the block behind.
            let behind = Float::choose(back.is(u(0)), f(NEVER), tile.get(lane() & u(1)));
            barrier();
            tile.set(lane(), f(NEVER));
            when(state.less(self.states), || {
                tile.set(lane(), self.get(state, u(BACKWARD)) + self.log(token, state));
            });
            when(lane().less(u(2)), || tile.set(u(LANES) + lane(), behind));
            barrier();
            let other = Float::choose(self.skips(state + u(2)), tile.get(lane() + u(2)), f(NEVER));
            let ways = add_up(tile.get(lane()), tile.get(lane() + u(1)), other);
            when(state.less(self.states), || self.set(state, u(BACKWARD), ways));
        });
        barrier();
        self.shift(u(BACKWARD));
    }

    /// Subtracts the largest number of a row, and returns it: sums over many tokens would lose digits otherwise.
    fn shift(&self, row: Unsigned) -> Float {
        let value = |state: Unsigned| self.get(state, row);
        let largest = fold(self.states, NEVER, value, |x, y| y.max(x), &self.of.shared);
        for_each(lane(), self.states, u(LANES), |state| {
            self.set(state, row, (self.get(state, row) - largest).max(f(NEVER)));
        });
        largest
    }

    /// The softmax less the probability of each label, for a token whose ways are in a row.
    fn gradient(&self, token: Unsigned, row: Unsigned, grad: &Tensor) {
        let Readings { tile, kinds, classes, .. } = self.of;
        let both = |state: Unsigned| self.get(state, row) + self.get(state, u(BACKWARD));
        let (largest, sum) = largest_and_sum(self.states, both, &self.of.shared);
        for_each(u(0), *classes, u(LANES), |first| {
            let (class, of_class) = (first + lane(), Variable::new(f(0.0)));
            for_each(u(0), self.states, u(LANES), |block| {
                let state = block + lane();
                barrier();
                when(state.less(self.states), || {
                    tile.set(lane(), (both(state) - largest).exp());
                    kinds.set(lane(), self.class(state));
                });
                barrier();
                for_each(u(0), (self.states - block).least(u(LANES)), u(1), |at| {
                    when(kinds.get(at).is(class), || of_class.set(of_class.get() + tile.get(at)));
                });
            });
            when(class.less(*classes), || {
                let token = self.first_token + token;
                let index = token * *classes + class;
                let softmax = (self.of.logits.float(index) - self.of.scratch.norms.float(token)).exp();
                grad.set(index, softmax - of_class.get() / sum);
            });
        });
        barrier();
    }
}
