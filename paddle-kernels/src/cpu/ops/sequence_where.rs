//! `sequence_where`. Threads share the sequences.

use paddle_core::ops::SequenceWhere;
use paddle_core::plan::{KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;
use crate::cpu::sequence_pieces::{sequences, sequences_of_piece};
use crate::messages::made_lengths;

struct Where;

impl Compile for SequenceWhere {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (condition, own, others) = (single.input(0)?, single.input(2)?, single.input(3)?);
        Ok((single.signature([condition, own, others], [single.output(0)?]), Box::new(Where)))
    }
}

impl Body for Where {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let (reads, writes) = operands.split();
        let (condition, own, others) = (reads.get::<u8>(0), reads.get::<i64>(1), reads.get::<i64>(2));
        let out = writes.one::<i64>();
        assert_eq!(own.len(), others.len(), "sequences of the same rows");
        let of = |row: usize| condition[own[row] as usize..own[row + 1] as usize].iter();
        let chosen = |row: usize| of(row).filter(|holds| **holds != 0).count() as i64;
        made_lengths(others, chosen, "the chosen tokens of")?;
        let piece = sequences_of_piece(others, condition.len());
        sequences(&machine.team, out, others, 1, piece, &|first, others, out| {
            let rows = first..first + others.len() - 1;
            let positions = rows.flat_map(|row| (0..).zip(of(row)).filter(|(_, holds)| **holds != 0));
            out.iter_mut().zip(positions).for_each(|(to, (position, _))| *to = position);
        });
        Ok(())
    }
}
