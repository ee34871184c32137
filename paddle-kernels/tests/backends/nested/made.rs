//! Sequences that are made from others: parts, two sequences joined, chosen tokens, and sequences from rows of places.

use paddle_core::ops::{
    BinaryKind, Compare, CompareKind, Fill, Number, Op, SequenceLength, SequencePad, Slice, made_sequences,
};
use paddle_core::program::{BlockId, BuildError, DType, Dim, RowsId, Site, Type, VarId};

use super::build::{Builder, Scope};

/// The most tokens of a part, and the number of places of a row.
const PLACES: i64 = 3;

impl Builder<'_> {
    /// Sequences of the rows of the block, made from existing ones.
    pub(super) fn made_sequence(&mut self, scope: &Scope) -> VarId {
        let block = scope.block;
        match self.draw.below(4) {
            0 => {
                let sequence = self.pick_sequence(scope);
                self.part(block, sequence, 1)
            }
            1 => {
                let parts = [self.pick_sequence(scope), self.pick_sequence(scope)];
                let parts = parts.map(|part| self.part(block, part, 0));
                let rows = self.new_tokens(parts[0]);
                made_sequences::concat(parts, rows, |op, inputs| self.emit(block, op, inputs)).unwrap()
            }
            2 => {
                let own = self.sequences("s", scope.level);
                let own = self.local(block, own);
                let keep = self.is_positive(block, own);
                let changed = self.changed_sequence(scope, own);
                self.filtered(block, changed, keep)
            }
            _ => {
                let sequence = self.pick_sequence(scope);
                let part = self.part(block, sequence, 0);
                let length = self.append(block, SequenceLength, &[part]);
                let pad = SequencePad { length: Dim::from(PLACES), pad_value: 0.5 };
                let padded = self.append(block, pad, &[part]);
                let changed = self.tanh(block, padded);
                let rows = self.new_tokens(part);
                let emit = |op, inputs: &[VarId]| self.emit(block, op, inputs);
                made_sequences::unpad((changed, rows), length, emit).unwrap()
            }
        }
    }

    /// The tokens for which `keep` is true.
    pub(super) fn filtered(&mut self, block: BlockId, sequence: VarId, keep: VarId) -> VarId {
        let rows = self.new_tokens(sequence);
        let emit = |op, inputs: &[VarId]| self.emit(block, op, inputs);
        made_sequences::filter((sequence, rows), keep, emit).unwrap()
    }

    /// Whether the first column is positive. Fed values are never next to 0.
    pub(super) fn is_positive(&mut self, block: BlockId, fed: VarId) -> VarId {
        let first = Slice { axes: vec![1], starts: vec![0], ends: vec![1], strides: Vec::new() };
        let first = self.append(block, first, &[fed]);
        let zero = Fill { value: Number::Float(0.0), ty: Type::scalar(DType::F32) };
        let zero = self.append(block, zero, &[]);
        self.append(block, Compare { kind: CompareKind::GreaterThan }, &[first, zero])
    }

    /// A few tokens of each sequence. Those before the position `first` are left out if there are as many.
    fn part(&mut self, block: BlockId, sequence: VarId, first: i64) -> VarId {
        let [first, most] = [first, PLACES].map(|number| {
            let fill = Fill { value: Number::Int(number), ty: Type::scalar(DType::I64) };
            self.append(block, fill, &[])
        });
        let length = self.append(block, SequenceLength, &[sequence]);
        let offset = self.binary(block, BinaryKind::Min, length, first);
        let rest = self.binary(block, BinaryKind::Sub, length, offset);
        let length = self.binary(block, BinaryKind::Min, rest, most);
        let rows = self.new_tokens(sequence);
        let emit = |op, inputs: &[VarId]| self.emit(block, op, inputs);
        made_sequences::slice((sequence, rows), [offset, length], emit).unwrap()
    }

    /// New sequences of the rows to which those of a value belong.
    fn new_tokens(&mut self, sequence: VarId) -> RowsId {
        let rows = self.rows_of(sequence);
        let parent = self.built.program.rows_of_whole_sequences(rows).expect("whole sequences");
        self.built.program.create_tokens("made", parent)
    }

    fn emit(&mut self, block: BlockId, op: Op, inputs: &[VarId]) -> Result<VarId, BuildError> {
        self.built.program.append_op(block, op, inputs, Site::default()).map(|outputs| outputs[0])
    }
}
