//! `linear_chain_crf` and its gradient: a workgroup for each sequence, whose threads share the labels. A thread reads of memory only
//! what it has written itself; what others have written it gets by what the workgroup shares.

use paddle_core::ops::{LinearChainCrf, LinearChainCrfGrad, Real};
use paddle_core::plan::{OperandType, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::{fold, largest_and_sum};
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{
    Float, LANES, Register, Shared, Truth, Unsigned, Variable, barrier, each, fail, for_each, lane, scalar,
    when, workgroup, workgroups,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{check_lengths, count, of_token, tokens};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::{class_out_of_range, same_lengths};

fn u(value: u32) -> Unsigned {
    Unsigned::of(value)
}

fn f(value: f32) -> Float {
    Float::constant(value)
}

/// A sum `ln Σ exp x` to which terms are added one by one.
struct LogSum {
    largest: Variable<Float>,
    /// The sum of the powers of the differences to the largest term.
    sum: Variable<Float>,
}

impl LogSum {
    fn new() -> Self {
        LogSum { largest: Variable::new(f(f32::MIN)), sum: Variable::new(f(0.0)) }
    }

    fn add(&self, term: Float) {
        let (largest, sum) = (self.largest.get(), self.sum.get());
        let rises = term.greater(largest);
        let distance = Float::choose(rises, largest - term, term - largest);
        let power = distance.exp();
        self.sum.set(Float::choose(rises, sum * power + f(1.0), sum + power));
        self.largest.set(Float::choose(rises, term, largest));
    }

    fn get(&self) -> Float {
        self.largest.get() + self.sum.get().ln()
    }
}

/// The largest of the values of all labels, and the rest of `ln Σ exp x`, whose digits count where it is near 0: all threads get both.
fn largest_and_rest(
    labels: Unsigned,
    value: impl Fn(Unsigned) -> Float,
    shared: &SharedElements,
) -> (Float, Float) {
    let largest = fold(labels, f32::NEG_INFINITY, &value, |x, y| y.max(x), shared);
    let below = |label: Unsigned| {
        let value = value(label);
        Float::choose(value.is(largest), f(0.0), (value - largest).exp())
    };
    let equal = |label: Unsigned| value(label).is(largest).to_unsigned().to_float();
    let below = fold(labels, 0.0, below, |x, y| x + y, shared);
    let equal = fold(labels, 0.0, equal, |x, y| x + y, shared);
    (largest, (below + (equal - f(1.0))).ln_1p())
}

/// Runs the body for each label of the thread, with whether there is such a label: all threads come here equally often.
fn each_own_label(labels: Unsigned, write: impl FnOnce(Unsigned, Truth)) {
    for_each(u(0), labels, u(LANES), |block| {
        let label = block + lane();
        write(label, label.less(labels));
    });
}

/// Gives each thread the values of all labels: `own` is the value of a label of the thread itself.
fn each_label<const N: usize>(
    labels: Unsigned,
    shared: &[Shared<Float>; N],
    own: impl Fn(Unsigned) -> [Float; N],
    write: impl FnOnce(Unsigned, [Float; N]),
) {
    for_each(u(0), labels, u(LANES), |block| {
        barrier();
        when((block + lane()).less(labels), || {
            let values = own(block + lane());
            shared.iter().zip(values).for_each(|(shared, value)| shared.set(lane(), value));
        });
        barrier();
        for_each(u(0), (labels - block).least(u(LANES)), u(1), |at| {
            write(block + at, shared.each_ref().map(|shared| shared.get(at)));
        });
    });
}

/// The operands of both, and the number of labels.
struct Operands {
    transition: Tensor,
    label: Tensor,
    labels: Unsigned,
}

impl Operands {
    fn new(call: &Call<'_>) -> Self {
        let labels = scalar(&call.shape(1)[1..]);
        Operands { transition: call.input(1), label: call.input(2), labels }
    }

    fn start(&self, label: Unsigned) -> Float {
        self.transition.float(label)
    }

    fn stop(&self, label: Unsigned) -> Float {
        self.transition.float(self.labels + label)
    }

    fn weight(&self, from: Unsigned, to: Unsigned) -> Float {
        self.transition.float((from + u(2)) * self.labels + to)
    }

    /// The label of a token. Wrong ones, with which the launch fails, are read as others.
    fn label_of(&self, token: Unsigned) -> Unsigned {
        let label = Variable::new(u(0));
        when(token.less(self.label.elements()), || {
            label.set(self.label.load(token).long().low.least(self.labels - u(1)));
        });
        label.get()
    }
}

/// A kernel that fails where a token has no label, or one that does not exist. The offsets are operands `own` and the next one.
fn checked(call: &Call<'_>, own: usize) -> Kernel {
    let kernel = check_lengths(call, own, own + 1).stage(Grid::Items(call.shape(2).to_vec()), || {
        let (label, labels) = (call.input(2), scalar(&call.shape(1)[1..]));
        each(label.elements(), |token| {
            when(!label.load(token).long().is_index(labels), || fail(token));
        });
    });
    let offsets = [own, own + 1].map(|k| (call.input_number(k), call.shape(k).to_vec()));
    let (label, labels) = (call.input_number(2), call.shape(1)[1]);
    kernel.explain(move |evidence, at| {
        let [own, others] = offsets.each_ref().map(|(number, shape)| evidence.offsets(*number, shape));
        let unknown = || class_out_of_range((evidence.number)(label, at), at, labels.get(evidence.sizes));
        same_lengths(&own, &others).err().unwrap_or_else(unknown)
    })
}

impl Compile for LinearChainCrf {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        Ok(checked(&call, 3).stage(Grid::Groups(call.shape(3).to_vec()), || {
            let (emission, offsets) = (call.input(0), call.input(3));
            let (alpha, costs) = (call.output(0), call.output(1));
            let of = Operands::new(&call);
            let (tile, shared) = ([Shared::new(LANES)], SharedElements::new(DType::F32));
            for_each(workgroup(), count(&offsets), workgroups(), |sequence| {
                let (first, end) = tokens(&offsets, sequence);
                // The logarithm of the sum over all labels of all tokens so far, and the score of the given labels.
                let (total, score) = (Variable::new(f(0.0)), Variable::new(f(0.0)));
                for_each(first, end, u(1), |token| {
                    let at = |label: Unsigned| token * of.labels + label;
                    let is_first = token.is(first);
                    let before = Unsigned::choose(is_first, token, token - u(1));
                    each_own_label(of.labels, |to, exists| {
                        let sum = LogSum::new();
                        let own = |from: Unsigned| [alpha.float(before * of.labels + from)];
                        each_label(of.labels, &tile, own, |from, [way]| {
                            when(exists, || sum.add(way + of.weight(from, to)));
                        });
                        when(exists, || {
                            let reached = Float::choose(is_first, of.start(to), sum.get());
                            alpha.set(at(to), reached + emission.float(at(to)));
                        });
                    });
                    let value = |label: Unsigned| alpha.float(at(label));
                    let (largest, rest) = largest_and_rest(of.labels, value, &shared);
                    each_own_label(of.labels, |label, exists| {
                        when(exists, || alpha.set(at(label), (alpha.float(at(label)) - largest) - rest));
                    });
                    total.set(total.get() + (largest + rest));
                    let label = of.label_of(token);
                    let step = of.weight(of.label_of(before), label);
                    let step = Float::choose(is_first, of.start(label), step);
                    score.set(score.get() + (step + emission.float(at(label))));
                });
                let last = Unsigned::choose(first.is(end), first, end - u(1));
                let stopped = |label: Unsigned| alpha.float(last * of.labels + label) + of.stop(label);
                let (largest, sum) = largest_and_sum(of.labels, stopped, &shared);
                when(lane().is(u(0)), || {
                    let cost =
                        total.get() + (largest + sum.ln()) - (score.get() + of.stop(of.label_of(last)));
                    costs.set(sequence, Float::choose(first.is(end), f(0.0), cost));
                });
            });
        }))
    }
}

/// What the stages of the gradient share, for each label of each token: the probability of the label, and the logarithm of the sum over
/// all ways to it.
struct Between {
    probability: Tensor,
    ways: Tensor,
}

impl Between {
    fn new(call: &Call<'_>) -> Self {
        let first = call.group.inputs.len() + call.group.outputs.len();
        let ty = OperandType::new(DType::F32, call.shape(0).to_vec());
        Between { probability: Tensor::new(first, &ty), ways: Tensor::new(first + 1, &ty) }
    }
}

impl Compile for LinearChainCrfGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let kernel = checked(&call, 4).scratch(call.shape(0).to_vec()).scratch(call.shape(0).to_vec());
        let kernel = kernel.stage(Grid::Groups(call.shape(4).to_vec()), || of_emissions(&call));
        Ok(kernel.stage(Grid::Groups(call.shape(1).to_vec()), || of_transitions(&call)))
    }
}

/// From the last token on, the probabilities of the labels of each token, and the gradients of the emissions.
fn of_emissions(call: &Call<'_>) {
    let (alpha, grads, offsets, out) = (call.input(0), call.input(3), call.input(4), call.output(0));
    let (of, between) = (Operands::new(call), Between::new(call));
    let (tile, pair) = ([Shared::new(LANES)], [Shared::new(LANES), Shared::new(LANES)]);
    let shared = SharedElements::new(DType::F32);
    for_each(workgroup(), count(&offsets), workgroups(), |sequence| {
        let (first, end) = tokens(&offsets, sequence);
        let grad = grads.float(sequence);
        for_each(u(0), end - first, u(1), |back| {
            let token = end - u(1) - back;
            let is_last = back.is(u(0));
            let at = |token: Unsigned, label: Unsigned| token * of.labels + label;
            let behind = Unsigned::choose(is_last, token, token + u(1));
            // Of the last token, by the ways to the end.
            let stopped = |label: Unsigned| alpha.float(at(token, label)) + of.stop(label);
            let (largest, sum) = largest_and_sum(of.labels, stopped, &shared);
            // Of others, by the ways to the labels of the next token.
            each_own_label(of.labels, |from, exists| {
                let sum_of_ways = Variable::new(f(0.0));
                let own = |to: Unsigned| {
                    let at = at(behind, to);
                    [between.probability.float(at), between.ways.float(at)]
                };
                each_label(of.labels, &pair, own, |to, [probability, ways]| {
                    when(exists, || {
                        let way = alpha.float(at(token, from)) + of.weight(from, to) - ways;
                        sum_of_ways.set(sum_of_ways.get() + probability * way.exp());
                    });
                });
                when(exists, || {
                    let ends = ((stopped(from) - largest).exp()) / sum;
                    let probability = Float::choose(is_last, ends, sum_of_ways.get());
                    between.probability.set(at(token, from), probability);
                    let is = from.is(of.label_of(token)).to_unsigned().to_float();
                    out.set(at(token, from), grad * (probability - is));
                });
            });
            // The sums over all ways to the labels of this token.
            let before = Unsigned::choose(token.is(first), token, token - u(1));
            each_own_label(of.labels, |to, exists| {
                let sum = LogSum::new();
                let own = |from: Unsigned| [alpha.float(at(before, from))];
                each_label(of.labels, &tile, own, |from, [way]| {
                    when(exists, || sum.add(way + of.weight(from, to)));
                });
                when(exists, || between.ways.set(at(token, to), sum.get()));
            });
        });
    });
}

/// A workgroup adds up what all tokens give to a transition.
fn of_transitions(call: &Call<'_>) {
    let (alpha, grads, offsets, out) = (call.input(0), call.input(3), call.input(4), call.output(1));
    let (of, between) = (Operands::new(call), Between::new(call));
    let shared = SharedElements::new(DType::F32);
    let all = scalar(&call.shape(0)[..1]);
    for_each(workgroup(), out.elements(), workgroups(), |transition| {
        let row = transition / of.labels;
        let to = transition - row * of.labels;
        let (is_start, is_stop) = (row.is(u(0)), row.is(u(1)));
        let from = Unsigned::choose(row.less(u(2)), u(0), row - u(2));
        let term = |token: Unsigned| {
            let sequence = of_token(&offsets, token);
            let (first, end) = tokens(&offsets, sequence);
            let is_first = token.is(first);
            let before = Unsigned::choose(is_first, token, token - u(1));
            let at = token * of.labels + to;
            let probability = between.probability.float(at);
            let way = alpha.float(before * of.labels + from) + of.weight(from, to) - between.ways.float(at);
            let is_pair = !is_start & !is_stop;
            let probability = Float::choose(is_pair, probability * way.exp(), probability);
            let is_labelled = of.label_of(token).is(to) & (!is_pair | of.label_of(before).is(from));
            let is = is_labelled.to_unsigned().to_float();
            let counts = (is_start & is_first) | (is_stop & token.is(end - u(1))) | (is_pair & !is_first);
            Float::choose(counts, grads.float(sequence) * (probability - is), f(0.0))
        };
        let sum = fold(all, 0.0, term, |x, y| x + y, &shared);
        when(lane().is(u(0)), || out.set(transition, sum));
    });
}
