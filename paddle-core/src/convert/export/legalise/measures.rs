//! Measures of sequences. PaddlePaddle's operators give what ours leave to others, too: the number of sequences, and quotients of the numbers
//! of chunks.

use super::{LegaliseError, Legaliser};
use crate::ops::{ChunkEval, Concat, Operator};
use crate::program::{DType, Type};
use crate::wire::{OpAttr, OpDesc};

impl Legaliser<'_> {
    /// Both operands, which are ids of sequences, as PaddlePaddle has them.
    fn columns_of_ids(&mut self, at: usize, operator: &Operator) -> Result<[String; 2], LegaliseError> {
        let mut names = [String::new(), String::new()];
        for (name, &var) in names.iter_mut().zip(&operator.inputs) {
            let ids = self.with_offsets(at, var);
            *name = self.in_columns(at, operator, ids, self.program.ty(var))?;
        }
        Ok(names)
    }

    pub(super) fn edit_distance(&mut self, at: usize, operator: &Operator) -> Result<(), LegaliseError> {
        let program = self.program;
        let [hypotheses, references] = self.columns_of_ids(at, operator)?;
        let out = program.var(operator.outputs[0]);
        let distances = self.declare(at, &out.name, &out.ty);
        let count = self.declare(at, "sequences", &Type::new(DType::I64, [1]));
        let desc = OpDesc::new("edit_distance")
            .with_input("Hyps", [hypotheses])
            .with_input("Refs", [references])
            .with_output("SequenceNum", [count])
            .with_output("Out", [distances.clone()])
            .with_attr(OpAttr::bool("normalized", false));
        self.push(at, desc);
        self.names.insert(operator.outputs[0], distances);
        Ok(())
    }

    pub(super) fn chunk_eval(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &ChunkEval,
    ) -> Result<(), LegaliseError> {
        let [found, right] = self.columns_of_ids(at, operator)?;
        let excluded = op.excluded_chunk_types.iter().map(|&kind| i32::try_from(kind));
        let (Ok(kinds), Ok(excluded)) =
            (i32::try_from(op.num_chunk_types), excluded.collect::<Result<Vec<i32>, _>>())
        else {
            return self.refuse(operator, "PaddlePaddle counts kinds of chunks in 32 bits");
        };
        let mut desc =
            OpDesc::new("chunk_eval").with_input("Inference", [found]).with_input("Label", [right]);
        for slot in ["Precision", "Recall", "F1-Score"] {
            let share = self.declare(at, slot, &Type::new(DType::F32, [1]));
            desc = desc.with_output(slot, [share]);
        }
        let counts = ["NumInferChunks", "NumLabelChunks", "NumCorrectChunks"].map(|slot| {
            let count = self.declare(at, slot, &Type::new(DType::I64, [1]));
            (slot, count)
        });
        for &(slot, ref count) in &counts {
            desc = desc.with_output(slot, [count.clone()]);
        }
        let desc = desc
            .with_attr(OpAttr::int("num_chunk_types", kinds))
            .with_attr(OpAttr::string("chunk_scheme", op.chunk_scheme.name()))
            .with_attr(OpAttr::ints("excluded_chunk_types", excluded));
        self.push(at, desc);
        let [found, right, both] = &counts;
        let all =
            self.emit(at, Concat { axis: 0 }, &[&found.1, &right.1, &both.1], &Type::new(DType::I64, [3]));
        self.names.insert(operator.outputs[0], all);
        Ok(())
    }
}
