//! What goes along pairs of tokens: `sequence_product`, `sequence_weigh`, `sequence_spread`; and `sequence_gather`, which takes
//! tokens by their positions.

use paddle_core::ops::{SequenceGather, SequenceGatherGrad, SequenceProduct, SequenceSpread, SequenceWeigh};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use crate::gpu::form::{
    Float, Long, Truth, Unsigned, Variable, each, fail, for_each, otherwise, scalar, when,
};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{of_token, tokens};
use crate::gpu::tensor::{Call, Tensor};
use crate::messages::no_such_token;

/// The token that a position stands for in a row; and whether it exists.
fn chosen(index: &Tensor, at: Unsigned, offsets: &Tensor, row: Unsigned) -> (Unsigned, Truth) {
    let position = index.load(at).long();
    let (first, end) = tokens(offsets, row);
    (first + position.low, position.is(Long::of_unsigned(position.low)) & position.low.less(end - first))
}

/// Says which position has no token. `row_of` gives the row of a position, by offsets of its operands.
fn explained(
    kernel: Kernel,
    call: &Call<'_>,
    index: usize,
    // The offsets of what is taken, and those by which the row of a position is found, from the inside.
    others: usize,
    levels: &[usize],
) -> Kernel {
    let operand = |k: usize| (call.input_number(k), call.shape(k).to_vec());
    let (index, others) = (call.input_number(index), operand(others));
    let levels: Vec<(usize, Vec<Extent>)> = levels.iter().map(|&k| operand(k)).collect();
    kernel.explain(move |evidence, at| {
        let row = levels.iter().fold(at, |token, (number, shape)| {
            let offsets = evidence.offsets(*number, shape);
            offsets.partition_point(|&offset| offset <= token as i64).saturating_sub(1)
        });
        let offsets = evidence.offsets(others.0, &others.1);
        no_such_token((evidence.number)(index, at), row, offsets[row + 1] - offsets[row])
    })
}

impl Compile for SequenceGather {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        let checked = check(&call, 1, 2, &[3]);
        let kernel = checked.stage(Grid::Items(shape.clone()), || {
            let (x, index, own, others, out) =
                (call.input(0), call.input(1), call.input(2), call.input(3), call.output(0));
            each(out.elements(), |at| {
                let width = scalar(&shape[1..]);
                let token = at / width;
                let (from, exists) = chosen(&index, token, &own, of_token(&others, token));
                when(exists, || out.copy(at, &x, from * width + (at - token * width)));
                otherwise(|| out.clear(at));
            });
        });
        Ok(explained(kernel, &call, 1, 2, &[3]))
    }
}

impl Compile for SequenceGatherGrad {
    fn is_supported(&self, types: &[DType]) -> bool {
        types.last() == Some(&DType::F32)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.out_shape(0).to_vec();
        let checked = check(&call, 1, 3, &[4]);
        let kernel = checked.stage(Grid::Items(shape.clone()), || {
            let (index, grad, own, others, out) =
                (call.input(1), call.input(2), call.input(3), call.input(4), call.output(0));
            each(out.elements(), |at| {
                let width = scalar(&shape[1..]);
                let token = at / width;
                let row = of_token(&own, token);
                let (first, end) = tokens(&others, row);
                let sum = Variable::new(Float::constant(0.0));
                for_each(first, end, Unsigned::of(1), |other| {
                    when(chosen(&index, other, &own, row).0.is(token), || {
                        sum.set(sum.get() + grad.float(other * width + (at - token * width)));
                    });
                });
                out.set(at, sum.get());
            });
        });
        Ok(explained(kernel, &call, 1, 3, &[4]))
    }
}

/// A kernel that fails at the first position without a token. Its row is found through offsets, from the inside.
fn check(call: &Call<'_>, index: usize, others: usize, levels: &[usize]) -> Kernel {
    Kernel::new().stage(Grid::Items(call.shape(index).to_vec()), || {
        let (index, others) = (call.input(index), call.input(others));
        let levels: Vec<Tensor> = levels.iter().map(|&k| call.input(k)).collect();
        each(index.elements(), |at| {
            let row = levels.iter().fold(at, |token, offsets| of_token(offsets, token));
            when(!chosen(&index, at, &others, row).1, || fail(at));
        });
    })
}

/// The operands that have the offsets of the tokens of `X`, of `Y`, and of the pairs.
struct Offsets {
    x: usize,
    y: usize,
    pairs: usize,
}

fn is_float(types: &[DType]) -> bool {
    types[0] == DType::F32
}

/// The number of products of a token, and of elements in each.
fn widths(shape: &[Extent]) -> (Vec<Extent>, Extent) {
    let (last, lead) = shape[1..].split_last().expect("the shape rule wants a dimension");
    (lead.to_vec(), *last)
}

impl Compile for SequenceProduct {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let of = Offsets { x: 3, y: 4, pairs: 5 };
        let (lead, width) = widths(call.shape(0));
        let kernel =
            check(&call, 2, of.y, &[of.pairs, of.x]).stage(Grid::Items(call.out_shape(0).to_vec()), || {
                let (x, y, index, out) = (call.input(0), call.input(1), call.input(2), call.output(0));
                let (of_x, of_y, of_pairs) = (call.input(of.x), call.input(of.y), call.input(of.pairs));
                each(out.elements(), |at| {
                    let (lead, width) = (scalar(&lead), scalar(&[width]));
                    let pair = at / lead;
                    let token = of_token(&of_pairs, pair);
                    let (other, exists) = chosen(&index, pair, &of_y, of_token(&of_x, token));
                    let sum = Variable::new(Float::constant(0.0));
                    when(exists, || {
                        let product = at - pair * lead;
                        let (left, right) =
                            ((token * lead + product) * width, (other * lead + product) * width);
                        for_each(Unsigned::of(0), width, Unsigned::of(1), |k| {
                            sum.set(sum.get() + x.float(left + k) * y.float(right + k));
                        });
                    });
                    out.set(at, sum.get());
                });
            });
        Ok(explained(kernel, &call, 2, of.y, &[of.pairs, of.x]))
    }
}

impl Compile for SequenceWeigh {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    /// Each token of `X` gets the tokens of its pairs, weighted.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let of = Offsets { x: 6, y: 4, pairs: 5 };
        let (lead, width) = widths(call.shape(1));
        let kernel =
            check(&call, 2, of.y, &[of.pairs, of.x]).stage(Grid::Items(call.out_shape(0).to_vec()), || {
                let (weights, y, index, out) = (call.input(0), call.input(1), call.input(2), call.output(0));
                let (of_x, of_y, of_pairs) = (call.input(of.x), call.input(of.y), call.input(of.pairs));
                each(out.elements(), |at| {
                    let (lead, width) = (scalar(&lead), scalar(&[width]));
                    let token = at / (lead * width);
                    let within = at - token * lead * width;
                    let product = within / width;
                    let row = of_token(&of_x, token);
                    let (first, end) = tokens(&of_pairs, token);
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(first, end, Unsigned::of(1), |pair| {
                        let (other, exists) = chosen(&index, pair, &of_y, row);
                        when(exists, || {
                            let term =
                                weights.float(pair * lead + product) * y.float(other * lead * width + within);
                            sum.set(sum.get() + term);
                        });
                    });
                    out.set(at, sum.get());
                });
            });
        Ok(explained(kernel, &call, 2, of.y, &[of.pairs, of.x]))
    }
}

impl Compile for SequenceSpread {
    fn is_supported(&self, types: &[DType]) -> bool {
        is_float(types)
    }

    /// Each token of `Y` gets the tokens that it is a pair with, weighted, in order.
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let of = Offsets { x: 4, y: 6, pairs: 5 };
        let (lead, width) = widths(call.shape(1));
        let kernel =
            check(&call, 2, of.y, &[of.pairs, of.x]).stage(Grid::Items(call.out_shape(0).to_vec()), || {
                let (weights, x, index, out) = (call.input(0), call.input(1), call.input(2), call.output(0));
                let (of_x, of_y, of_pairs) = (call.input(of.x), call.input(of.y), call.input(of.pairs));
                each(out.elements(), |at| {
                    let (lead, width) = (scalar(&lead), scalar(&[width]));
                    let target = at / (lead * width);
                    let within = at - target * lead * width;
                    let product = within / width;
                    let row = of_token(&of_y, target);
                    let (first, end) = tokens(&of_x, row);
                    let sum = Variable::new(Float::constant(0.0));
                    for_each(first, end, Unsigned::of(1), |token| {
                        let (first, end) = tokens(&of_pairs, token);
                        for_each(first, end, Unsigned::of(1), |pair| {
                            when(chosen(&index, pair, &of_y, row).0.is(target), || {
                                let term = weights.float(pair * lead + product)
                                    * x.float(token * lead * width + within);
                                sum.set(sum.get() + term);
                            });
                        });
                    });
                    out.set(at, sum.get());
                });
            });
        Ok(explained(kernel, &call, 2, of.y, &[of.pairs, of.x]))
    }
}
