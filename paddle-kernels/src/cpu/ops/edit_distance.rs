//! `edit_distance`: a row of distances for each id of a sequence. Threads share the sequences; each sequence is computed by one thread.

use paddle_core::ops;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;
use crate::cpu::scratch::Scratch;
use crate::cpu::sequence_pieces::{Shared, sequences_of_piece, share};

struct EditDistance {
    /// For each id of the references, and one more place for each sequence, a distance.
    distances: Scratch<f32>,
}

impl Compile for ops::EditDistance {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let reads = [single.input(0)?, single.input(1)?, single.input(2)?, single.input(3)?];
        let body = EditDistance { distances: Scratch::default() };
        Ok((single.signature(reads, [single.output(0)?]), Box::new(body)))
    }
}

impl Body for EditDistance {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let [hypotheses, references] = [reads.get::<i64>(0), reads.get::<i64>(1)];
        let [of_hypotheses, of_references] = [reads.get::<i64>(2), reads.get::<i64>(3)];
        let out = writes.one::<f32>();
        // The work of a sequence is the product of two lengths.
        let lengths = |offsets: &[i64], row: usize| (offsets[row + 1] - offsets[row]) as usize;
        let cells = |row| lengths(of_hypotheses, row).saturating_mul(lengths(of_references, row));
        let work = (0..out.len()).map(cells).fold(0, usize::saturating_add);
        let piece = sequences_of_piece(of_references, work);
        self.distances.lend(references.len(), |distances| {
            let shared = (Shared::of_tokens(distances, 1), Shared::of_sequences(out, 1), Shared::nothing());
            share(&machine.team, of_references, piece, shared, &|piece| {
                let start = piece.offsets[0];
                for (row, (ends, out)) in piece.offsets.windows(2).zip(piece.b).enumerate() {
                    let ends = [ends[0] as usize, ends[1] as usize];
                    let room = &mut piece.a[ends[0] - start as usize..ends[1] - start as usize];
                    let own = &of_hypotheses[piece.first + row..][..2];
                    *out = distance(
                        &hypotheses[own[0] as usize..own[1] as usize],
                        &references[ends[0]..ends[1]],
                        room,
                    );
                }
            });
        })?;
        Ok(())
    }
}

/// The distance of two sequences. `row` has the distances of the ids so far to each beginning of the reference but the empty one.
fn distance(hypothesis: &[i64], reference: &[i64], row: &mut [f32]) -> f32 {
    row.iter_mut().enumerate().for_each(|(at, distance)| *distance = (at + 1) as f32);
    for (at, id) in hypothesis.iter().enumerate() {
        // The distances to the empty reference, of the ids before this one and with it.
        let (mut diagonal, mut left) = (at as f32, (at + 1) as f32);
        for (distance, other) in row.iter_mut().zip(reference) {
            let replaced = diagonal + if id == other { 0.0 } else { 1.0 };
            diagonal = *distance;
            left = replaced.min(diagonal + 1.0).min(left + 1.0);
            *distance = left;
        }
    }
    row.last().copied().unwrap_or(hypothesis.len() as f32)
}
