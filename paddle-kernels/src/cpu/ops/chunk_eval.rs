//! `chunk_eval`: one pass over the tags.

use paddle_core::ops::{self, ChunkTag};
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::id_checks::first_outside;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;
use crate::messages::{class_out_of_range, same_lengths};

struct ChunkEval {
    op: ops::ChunkEval,
}

impl Compile for ops::ChunkEval {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let reads = [single.input(0)?, single.input(1)?, single.input(2)?, single.input(3)?];
        let body = ChunkEval { op: self.clone() };
        Ok((single.signature(reads, [single.output(0)?]), Box::new(body)))
    }
}

impl Body for ChunkEval {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let [found, right] = [reads.get::<i64>(0), reads.get::<i64>(1)];
        let offsets = reads.get::<i64>(2);
        same_lengths(offsets, reads.get::<i64>(3))?;
        for tags in [found, right] {
            if let Some(at) = first_outside(tags, self.op.tags(), None) {
                return Err(class_out_of_range(tags[at], at, self.op.tags()));
            }
        }
        let mut counts = [0; 3];
        for ends in offsets.windows(2) {
            let tokens = ends[0] as usize..ends[1] as usize;
            self.count(&found[tokens.clone()], &right[tokens], &mut counts);
        }
        writes.one::<i64>().copy_from_slice(&counts);
        Ok(())
    }
}

impl ChunkEval {
    /// Counts the chunks of a sequence.
    fn count(&self, found: &[i64], right: &[i64], counts: &mut [i64; 3]) {
        let tag = |tags: &[i64], at: usize| tags.get(at).and_then(|&tag| self.op.tag(tag));
        let mut before: [Option<ChunkTag>; 2] = [None; 2];
        let mut begin = [0; 2];
        // The place behind the last token is outside of chunks.
        for at in 0..=found.len() {
            let now = [tag(found, at), tag(right, at)];
            let mut ended = [None; 2];
            for of in 0..2 {
                if let Some((kind, _)) = before[of].filter(|_| ops::ChunkEval::ends(before[of], now[of]))
                    && self.op.counts(kind)
                {
                    counts[of] += 1;
                    ended[of] = Some((begin[of], kind));
                }
                if ops::ChunkEval::begins(before[of], now[of]) {
                    begin[of] = at;
                }
            }
            counts[2] += i64::from(ended[0].is_some() && ended[0] == ended[1]);
            before = now;
        }
    }
}
