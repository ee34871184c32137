//! The moves of rows and sequences.

use paddle_core::plan::{Extent, Group, Move, Unsupported};
use paddle_core::program::DType;

use super::fold::scan;
use super::form::{Long, Unsigned, Variable, double, each, fail, for_each, lane, otherwise, scalar, when};
use super::index::{element, position};
use super::kernel::{Grid, Kernel, unsupported};
use super::ops::add;
use super::sequences::{count, of_token, offset};
use super::tensor::{Element, Tensor};
use crate::messages::add_length;

fn zero() -> Unsigned {
    Unsigned::of(0)
}

fn one() -> Unsigned {
    Unsigned::of(1)
}

/// A stored number of a row.
fn number(of: &Tensor, at: Unsigned) -> Unsigned {
    of.load(at).signed().as_unsigned()
}

fn put(to: &Tensor, at: Unsigned, number: Unsigned) {
    let element = match to.dtype {
        DType::I64 => Element::Long(Long::of_unsigned(number)),
        _ => Element::Signed(number.as_signed()),
    };
    to.store(at, element);
}

/// Adds an element to another one.
fn accumulate(to: &Tensor, at: Unsigned, from: &Tensor, of: Unsigned) {
    let sum = match to.dtype {
        DType::F64 => Element::Long(double::add(to.long(at), from.long(of))),
        _ => add(to.load(at), from.load(of)),
    };
    to.store(at, sum);
}

/// Compiles a move.
pub(super) fn compile(kind: Move, group: &Group) -> Result<Kernel, Unsupported> {
    let types: Vec<_> = group.inputs.iter().chain(&group.outputs).collect();
    let operand = |number: usize| Tensor::new(number, types[number]);
    let shape = |number: usize| types[number].shape.clone();
    let row_shape = |number: usize| types[number].shape[1..].to_vec();
    // Rows that an index names, each element by a thread.
    let indexed = |index: usize, row: usize| [shape(index), row_shape(row)].concat();
    let each_of_rows = |index: usize, row: usize, write: &dyn Fn(Unsigned, Unsigned, Unsigned)| {
        let numbers = operand(index);
        each(scalar(&indexed(index, row)), |at| {
            let width = scalar(&row_shape(row));
            let place = at / width;
            write(place, number(&numbers, place), at - place * width);
        });
    };
    Ok(match kind {
        Move::Transfer => return unsupported("a transfer, which is no kernel"),
        Move::Copy => Kernel::new().stage(Grid::Items(shape(0)), || {
            let (from, to) = (operand(0), operand(1));
            each(from.elements().least(to.elements()), |at| to.copy(at, &from, at));
        }),
        Move::Add => Kernel::new().stage(Grid::Items(shape(0)), || {
            let (from, to) = (operand(0), operand(1));
            each(from.elements().least(to.elements()), |at| accumulate(&to, at, &from, at));
        }),
        Move::Relayout => {
            let (from, to) =
                (types[0].layout.axes(types[0].shape.len()), types[1].layout.axes(types[1].shape.len()));
            Kernel::new().stage(Grid::Items(shape(1)), || {
                let (x, y) = (operand(0), operand(1));
                each(y.elements(), |at| {
                    // Positions along the axes in their order in memory, on both sides.
                    let place = position(at, &types[1].in_memory());
                    let source: Vec<Unsigned> = from
                        .iter()
                        .map(|axis| place[to.iter().position(|other| other == axis).expect("the same axes")])
                        .collect();
                    y.copy(at, &x, element(&source, &types[0].in_memory()));
                });
            })
        }
        Move::Zero => Kernel::new().stage(Grid::Items(shape(0)), || {
            let to = operand(0);
            each(to.elements(), |at| to.clear(at));
        }),
        Move::GatherRows => Kernel::new().stage(Grid::Items(indexed(1, 2)), || {
            let (x, y) = (operand(0), operand(2));
            let width = scalar(&row_shape(2));
            each_of_rows(1, 2, &|row, chosen, at| y.copy(row * width + at, &x, chosen * width + at));
        }),
        Move::ScatterRows => Kernel::new().stage(Grid::Items(indexed(1, 2)), || {
            let (x, y) = (operand(0), operand(2));
            let width = scalar(&row_shape(2));
            each_of_rows(1, 2, &|row, chosen, at| y.copy(chosen * width + at, &x, row * width + at));
        }),
        Move::AddRows => Kernel::new().stage(Grid::Items(indexed(1, 2)), || {
            let (x, y) = (operand(0), operand(2));
            let width = scalar(&row_shape(2));
            each_of_rows(1, 2, &|row, chosen, at| {
                let to = chosen * width + at;
                accumulate(&y, to, &x, row * width + at);
            });
        }),
        // A row may go where another one comes from, so a thread moves a column, row by row.
        Move::CompactRows => Kernel::new().stage(Grid::Items(row_shape(1)), || {
            let (index, y) = (operand(0), operand(1));
            let width = scalar(&row_shape(1));
            each(width, |column| {
                for_each(zero(), index.elements(), one(), |row| {
                    let from = number(&index, row) * width + column;
                    y.copy(row * width + column, &y, from);
                });
            });
        }),
        Move::NumberRows => Kernel::new().stage(Grid::Items(shape(0)), || {
            let to = operand(0);
            each(to.elements(), |at| put(&to, at, at));
        }),
        Move::SelectRows => Kernel::new().stage(Grid::One, || {
            let (mask, yes, no, chosen) = (operand(0), operand(1), operand(2), operand(3));
            let holds = |row: Unsigned| mask.load(row).truth();
            let all = scan(
                mask.elements(),
                |row| holds(row).to_unsigned(),
                |row, before| {
                    when(holds(row), || put(&yes, before, row));
                    otherwise(|| put(&no, row - before, row));
                },
            );
            when(lane().is(zero()), || put(&chosen, zero(), all));
        }),
        Move::SortSequences => sort(&operand, &shape),
        Move::TakeSequences => Kernel::new().stage(Grid::One, || {
            let (offsets, index, ends, tokens) = (operand(0), operand(1), operand(2), operand(3));
            let span = |at: Unsigned| {
                let sequence = number(&index, at);
                (offset(&offsets, sequence), offset(&offsets, sequence + one()))
            };
            let length = |at: Unsigned| {
                let (first, end) = span(at);
                end - first
            };
            let all = scan(index.elements(), length, |at, before| {
                put(&ends, at, before);
                let (first, end) = span(at);
                for_each(first, end, one(), |token| put(&tokens, before + (token - first), token));
            });
            when(lane().is(zero()), || put(&ends, index.elements(), all));
        }),
        Move::AddLengths => add_lengths(&operand),
        Move::RebaseOffsets => Kernel::new().stage(Grid::Items(shape(0)), || {
            let (offsets, rebased) = (operand(0), operand(1));
            each(offsets.elements(), |at| {
                let moved = offsets.load(at).long() - offsets.load(zero()).long();
                rebased.store(at, Element::Long(moved));
            });
        }),
        Move::CollectSequences => collect(group, &operand, &shape),
    })
}

/// The place of a sequence among those that are sorted: behind those that are longer, and equally long ones in front of it.
fn rank(offsets: &Tensor, sequence: Unsigned) -> Unsigned {
    let length = |sequence: Unsigned| offset(offsets, sequence + one()) - offset(offsets, sequence);
    let own = length(sequence);
    let rank = Variable::new(zero());
    for_each(zero(), count(offsets), one(), |other| {
        let its = length(other);
        let is_before = its.greater(own) | (its.is(own) & other.less(sequence));
        rank.set(rank.get() + is_before.to_unsigned());
    });
    rank.get()
}

fn sort(operand: &dyn Fn(usize) -> Tensor, shape: &dyn Fn(usize) -> Vec<Extent>) -> Kernel {
    let ranked = Kernel::new().stage(Grid::Items(shape(0)), || {
        let (offsets, order) = (operand(0), operand(1));
        each(count(&offsets), |sequence| put(&order, rank(&offsets, sequence), sequence));
    });
    // A token is behind those of earlier steps, and those of its step in sequences that are in front.
    ranked.stage(Grid::Items(shape(2)), || {
        let (offsets, steps) = (operand(0), operand(2));
        each(steps.elements(), |token| {
            let sequence = of_token(&offsets, token);
            let step = token - offset(&offsets, sequence);
            let before = Variable::new(rank(&offsets, sequence));
            for_each(zero(), count(&offsets), one(), |other| {
                let length = offset(&offsets, other + one()) - offset(&offsets, other);
                before.set(before.get() + length.least(step));
            });
            put(&steps, before.get(), token);
        });
    })
}

fn add_lengths(operand: &dyn Fn(usize) -> Tensor) -> Kernel {
    let kernel = Kernel::new().stage(Grid::One, || {
        let (lengths, ends) = (operand(0), operand(1));
        when(lane().is(zero()), || {
            let (low, high) = (Variable::new(zero()), Variable::new(zero()));
            put(&ends, zero(), zero());
            for_each(zero(), lengths.elements(), one(), |row| {
                let length = lengths.load(row).long();
                let end = Long { low: low.get(), high: high.get() } + length;
                when(length.is_negative() | end.is_negative(), || fail(row));
                low.set(end.low);
                high.set(end.high);
                ends.store(row + one(), Element::Long(end));
            });
        });
    });
    kernel.explain_number(0, |length, row, _| {
        add_length(row, if length < 0 { 0 } else { i64::MAX }, length)
            .expect_err("the sum that the device found")
    })
}

fn collect(group: &Group, operand: &dyn Fn(usize) -> Tensor, shape: &dyn Fn(usize) -> Vec<Extent>) -> Kernel {
    let scratch = || {
        let number = group.inputs.len() + group.outputs.len();
        Tensor::new(number, &group.outputs[0])
    };
    let copied = Kernel::new().scratch(shape(0)).stage(Grid::Items(shape(0)), || {
        let (rounds, rows) = (operand(0), scratch());
        each(rounds.elements(), |at| rows.copy(at, &rounds, at));
    });
    let numbered = copied.stage(Grid::Items(shape(0)), || {
        let (rounds, rows) = (operand(0), scratch());
        each(rounds.elements(), |value| {
            let row = number(&rows, value);
            let place = Variable::new(zero());
            for_each(zero(), rounds.elements(), one(), |other| {
                let its = number(&rows, other);
                let is_before = its.less(row) | (its.is(row) & other.less(value));
                place.set(place.get() + is_before.to_unsigned());
            });
            put(&rounds, value, place.get());
        });
    });
    numbered.stage(Grid::Items(shape(1)), || {
        let (rows, offsets) = (scratch(), operand(1));
        each(offsets.elements(), |row| {
            let before = Variable::new(zero());
            for_each(zero(), rows.elements(), one(), |value| {
                before.set(before.get() + number(&rows, value).less(row).to_unsigned());
            });
            put(&offsets, row, before.get());
        });
    })
}
