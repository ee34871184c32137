//! Moves, row by row. Unwritten bytes may be moved, but not computed with.

use std::cmp::Reverse;

use paddle_core::plan::{Group, KernelError, Launch, Location, Memories, Move, OperandType};
use paddle_core::program::DType;

use super::buffer::Buffer;
use super::layout::{from_row_major, to_row_major};
use super::ops::elementwise;
use super::values::{Element, Values};
use super::{Reference, memory, memory_mut};
use crate::messages::add_length;

/// The launch of a move.
pub(super) struct Moving<'a, 'b> {
    pub(super) backend: Reference,
    pub(super) group: &'a Group,
    pub(super) launch: Launch<'a>,
    pub(super) memories: &'a mut Memories<'b, Buffer>,
}

impl Moving<'_, '_> {
    /// The type of an operand. Inputs come before outputs.
    fn ty(&self, operand: usize) -> &OperandType {
        let inputs = self.group.inputs.len();
        match operand.checked_sub(inputs) {
            None => &self.group.inputs[operand],
            Some(output) => &self.group.outputs[output],
        }
    }

    /// The number of elements of an operand, and the bytes of one.
    fn elements(&self, operand: usize) -> (usize, usize) {
        let ty = self.ty(operand);
        (ty.elements(self.launch.sizes), self.backend.stored(ty.dtype).bytes())
    }

    fn row_bytes(&self, operand: usize) -> usize {
        self.ty(operand).row_elements(self.launch.sizes) * self.elements(operand).1
    }

    fn at(&self, operand: usize, bytes: usize) -> Location {
        let Location { memory, offset } = self.launch.locations[operand];
        Location { memory, offset: offset + bytes }
    }

    /// The first `count` elements of an operand, all of which were written.
    fn read<T: Element>(&self, operand: usize, count: usize) -> Vec<T> {
        let at = self.at(operand, 0);
        let elements = memory(self.memories, at).read(at.offset, count);
        let name = self.name();
        elements.unwrap_or_else(|| panic!("operand {operand} of `{name}` reads memory that nothing wrote"))
    }

    fn read_all<T: Element>(&self, operand: usize) -> Vec<T> {
        self.read(operand, self.elements(operand).0)
    }

    /// The elements of an operand, which are numbers of rows or offsets and so not negative.
    fn numbers(&self, operand: usize) -> Vec<usize> {
        self.read_all::<i32>(operand).into_iter().map(|number| number as usize).collect()
    }

    fn offsets(&self, operand: usize) -> Vec<usize> {
        self.read_all::<i64>(operand).into_iter().map(|offset| offset as usize).collect()
    }

    fn write<T: Element>(&mut self, operand: usize, elements: &[T]) {
        let (at, room) = (self.at(operand, 0), self.elements(operand).0);
        assert!(elements.len() <= room, "`{}` writes behind the end of operand {operand}", self.name());
        memory_mut(self.memories, at).write(at.offset, elements);
    }

    fn copy(&mut self, bytes: usize, from: Location, to: Location) {
        let copied = memory(self.memories, from).copy_out(from.offset, bytes);
        memory_mut(self.memories, to).copy_in(to.offset, &copied);
    }

    /// Adds `count` elements at `from` to those at `to`.
    fn add(&mut self, dtype: DType, count: usize, from: Location, to: Location) {
        let stored = self.backend.stored(dtype);
        let read = |at: Location| {
            let values = memory(self.memories, at).read_values(at.offset, stored, count);
            values.expect("an addition reads memory that nothing wrote")
        };
        let sum = elementwise::add(&read(to), &read(from));
        memory_mut(self.memories, to).write_values(to.offset, &sum);
    }

    fn name(&self) -> &'static str {
        match self.group.body {
            Some(paddle_core::plan::Body::Move(kind)) => kind.name(),
            _ => "operator",
        }
    }

    pub(super) fn run(mut self, kind: Move) -> Result<(), KernelError> {
        match kind {
            Move::Copy => {
                let count = self.elements(0).0.min(self.elements(1).0);
                self.copy(count * self.elements(0).1, self.at(0, 0), self.at(1, 0));
            }
            Move::Relayout => {
                let (from, to, count) = (self.at(0, 0), self.at(1, 0), self.elements(0).0);
                let stored = self.backend.stored(self.ty(0).dtype);
                let values = memory(self.memories, from).read_values(from.offset, stored, count);
                let values = values.expect("a relayout reads memory that nothing wrote");
                let values = to_row_major(values, self.ty(0), self.launch.sizes);
                let values = from_row_major(values, self.ty(1), self.launch.sizes);
                memory_mut(self.memories, to).write_values(to.offset, &values);
            }
            Move::Transfer => panic!("a transfer is no kernel"),
            Move::Zero => {
                let (at, count) = (self.at(0, 0), self.elements(0).0);
                let zeros = Values::zeros(self.backend.stored(self.ty(0).dtype), count);
                memory_mut(self.memories, at).write_values(at.offset, &zeros);
            }
            Move::Add => {
                let count = self.elements(0).0.min(self.elements(1).0);
                self.add(self.ty(1).dtype, count, self.at(0, 0), self.at(1, 0));
            }
            Move::GatherRows => self.each_row(2, |this, bytes, row, chosen| {
                this.copy(bytes, this.at(0, chosen * bytes), this.at(2, row * bytes));
            }),
            Move::ScatterRows => self.each_row(2, |this, bytes, row, chosen| {
                this.copy(bytes, this.at(0, row * bytes), this.at(2, chosen * bytes));
            }),
            Move::AddRows => self.each_row(2, |this, bytes, row, chosen| {
                let count = this.ty(2).row_elements(this.launch.sizes);
                this.add(this.ty(2).dtype, count, this.at(0, row * bytes), this.at(2, chosen * bytes));
            }),
            Move::CompactRows => {
                let bytes = self.row_bytes(1);
                for (row, chosen) in self.numbers(0).into_iter().enumerate() {
                    self.copy(bytes, self.at(1, chosen * bytes), self.at(1, row * bytes));
                }
            }
            Move::NumberRows => {
                let numbers: Vec<i32> = (0..self.elements(0).0 as i32).collect();
                self.write(0, &numbers);
            }
            Move::SelectRows => self.select(),
            Move::SortSequences => self.sort(),
            Move::TakeSequences => self.take(),
            Move::AddLengths => {
                let mut ends = vec![0];
                for (row, length) in self.read_all::<i64>(0).into_iter().enumerate() {
                    ends.push(add_length(row, ends[row], length)?);
                }
                self.write(1, &ends);
            }
            Move::RebaseOffsets => {
                let offsets = self.read_all::<i64>(0);
                let rebased: Vec<i64> = offsets.iter().map(|offset| offset - offsets[0]).collect();
                self.write(1, &rebased);
            }
            Move::CollectSequences => self.collect(),
        }
        Ok(())
    }

    /// Calls `work` for each row of an index, operand 1: with the number of bytes of a row of `operand`, the position
    /// in the index, and the number there.
    fn each_row(&mut self, operand: usize, work: impl Fn(&mut Self, usize, usize, usize)) {
        let bytes = self.row_bytes(operand);
        for (row, chosen) in self.numbers(1).into_iter().enumerate() {
            work(self, bytes, row, chosen);
        }
    }

    fn select(&mut self) {
        let holds: Vec<bool> = self.read_all(0);
        let chosen = |side: bool| -> Vec<i32> {
            let rows = (0i32..).zip(&holds).filter(|&(_, &holds)| holds == side);
            rows.map(|(row, _)| row).collect()
        };
        let (true_rows, false_rows) = (chosen(true), chosen(false));
        self.write(1, &true_rows);
        self.write(2, &false_rows);
        self.write(3, &[true_rows.len() as i32]);
    }

    fn sort(&mut self) {
        let offsets = self.offsets(0);
        let length = |sequence: usize| offsets[sequence + 1] - offsets[sequence];
        let mut sorted: Vec<usize> = (0..offsets.len() - 1).collect();
        sorted.sort_by_key(|&sequence| Reverse(length(sequence)));
        let mut tokens: Vec<i32> = Vec::new();
        for step in 0..sorted.first().map_or(0, |&longest| length(longest)) {
            let active = sorted.iter().take_while(|&&sequence| length(sequence) > step);
            tokens.extend(active.map(|&sequence| (offsets[sequence] + step) as i32));
        }
        let sorted: Vec<i32> = sorted.into_iter().map(|sequence| sequence as i32).collect();
        self.write(1, &sorted);
        self.write(2, &tokens);
    }

    fn take(&mut self) {
        let (mut taken, mut ends) = (Vec::<i32>::new(), vec![0i64]);
        let offsets = self.offsets(0);
        for sequence in self.numbers(1) {
            taken.extend((offsets[sequence]..offsets[sequence + 1]).map(|token| token as i32));
            ends.push(taken.len() as i64);
        }
        self.write(2, &ends);
        self.write(3, &taken);
    }

    fn collect(&mut self) {
        let of_tokens = self.numbers(0);
        let rows = self.elements(1).0 - 1;
        let mut ends = vec![0i64; rows + 1];
        for &row in &of_tokens {
            ends[row + 1] += 1;
        }
        for row in 0..rows {
            ends[row + 1] += ends[row];
        }
        let mut next = ends.clone();
        let mut number = |&row: &usize| {
            next[row] += 1;
            (next[row] - 1) as i32
        };
        let numbers: Vec<i32> = of_tokens.iter().map(&mut number).collect();
        self.write(0, &numbers);
        self.write(1, &ends);
    }
}
