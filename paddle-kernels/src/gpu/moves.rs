//! The moves of rows and sequences.

use paddle_core::plan::{Extent, Group, Move, OperandType, Unsupported};
use paddle_core::program::DType;

use super::fold::scan;
use super::form::{Long, Unsigned, Variable, double, each, fail, for_each, lane, otherwise, scalar, when};
use super::index::{element, position};
use super::kernel::{Grid, Kernel, unsupported};
use super::ops::add;
use super::sequences::{count, of_token, offset, tokens};
use super::sort::{first_that, sort as sort_numbers};
use super::tensor::{Element, Tensor, words};
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
        // A row may go where another one comes from, so all rows are taken before any is put.
        Move::CompactRows => {
            let taken = indexed(0, 1);
            let scratch = |group: &Group| {
                let ty = OperandType::new(types[1].dtype, taken.clone());
                Tensor::new(group.inputs.len() + group.outputs.len(), &ty)
            };
            let kernel =
                Kernel::new().scratch([&taken[..], &[Extent::Fixed(words(types[1].dtype))]].concat());
            let kernel = kernel.stage(Grid::Items(taken.clone()), || {
                let (y, rows, width) = (operand(1), scratch(group), scalar(&row_shape(1)));
                each_of_rows(0, 1, &|row, from, at| rows.copy(row * width + at, &y, from * width + at));
            });
            kernel.stage(Grid::Items(taken.clone()), || {
                let (y, rows) = (operand(1), scratch(group));
                each(rows.elements(), |at| y.copy(at, &rows, at));
            })
        }
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
        Move::SortSequences => sort(group, &operand, &shape),
        Move::TakeSequences => {
            let ended = Kernel::new().stage(Grid::One, || {
                let (offsets, index, ends) = (operand(0), operand(1), operand(2));
                let length = |at: Unsigned| {
                    let (first, end) = tokens(&offsets, number(&index, at));
                    end - first
                };
                let all = scan(index.elements(), length, |at, before| put(&ends, at, before));
                when(lane().is(zero()), || put(&ends, index.elements(), all));
            });
            ended.stage(Grid::Items(shape(3)), || {
                let (offsets, index, ends, taken) = (operand(0), operand(1), operand(2), operand(3));
                each(taken.elements(), |token| {
                    let at = of_token(&ends, token);
                    when(at.less(index.elements()), || {
                        let (first, _) = tokens(&offsets, number(&index, at));
                        put(&taken, token, first + (token - offset(&ends, at)));
                    });
                });
            })
        }
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

fn sort(group: &Group, operand: &dyn Fn(usize) -> Tensor, shape: &dyn Fn(usize) -> Vec<Extent>) -> Kernel {
    // For each sequence its place; for each place the tokens of the sequences in front of it.
    let scratch = |number: usize| {
        let first = group.inputs.len() + group.outputs.len();
        Tensor::new(first + number, &OperandType::new(DType::I32, shape(0)))
    };
    let ranked = Kernel::new().scratch(shape(0)).scratch(shape(0)).stage(Grid::Items(shape(0)), || {
        let (offsets, order, places) = (operand(0), operand(1), scratch(0));
        each(count(&offsets), |sequence| {
            let place = rank(&offsets, sequence);
            put(&order, place, sequence);
            put(&places, sequence, place);
        });
    });
    let length = |place: Unsigned| {
        let (first, end) = tokens(&operand(0), number(&operand(1), place));
        end - first
    };
    let summed = ranked.stage(Grid::One, || {
        let (offsets, before) = (operand(0), scratch(1));
        let all = scan(count(&offsets), length, |place, sum| put(&before, place, sum));
        when(lane().is(zero()), || put(&before, count(&offsets), all));
    });
    // A token is behind those of earlier steps, and those of its step in sequences that are in front.
    summed.stage(Grid::Items(shape(2)), || {
        let (offsets, steps, places, before) = (operand(0), operand(2), scratch(0), scratch(1));
        each(steps.elements(), |token| {
            let sequence = of_token(&offsets, token);
            let step = token - offset(&offsets, sequence);
            // Longer sequences have had all earlier steps, and the others have ended.
            let longer = first_that(count(&offsets), |place| length(place).less_equal(step));
            let ended = number(&before, count(&offsets)) - number(&before, longer);
            put(&steps, step * longer + ended + number(&places, sequence), token);
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

/// Rows of values are sorted: the place of a value is behind all of smaller rows, and behind those of its row that came before.
fn collect(group: &Group, operand: &dyn Fn(usize) -> Tensor, shape: &dyn Fn(usize) -> Vec<Extent>) -> Kernel {
    let row = |value: Unsigned| number(&operand(0), value);
    let (kernel, sorted) = sort_numbers(Kernel::new(), group, &shape(0), u32::BITS, &row);
    let placed = kernel.stage(Grid::Items(shape(0)), || {
        let rounds = operand(0);
        each(rounds.elements(), |place| put(&rounds, sorted.place(place), place));
    });
    placed.stage(Grid::Items(shape(1)), || {
        let offsets = operand(1);
        each(offsets.elements(), |row| put(&offsets, row, sorted.first(row)));
    })
}
