//! `sequence_where`: a thread for each sequence.

use paddle_core::ops::SequenceWhere;
use paddle_core::plan::Unsupported;

use super::Compile;
use crate::gpu::form::{Long, Unsigned, Variable, each, fail, for_each, when};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::sequences::{count, tokens};
use crate::gpu::tensor::{Call, Element};
use crate::messages::made_lengths;

/// The offsets of the tokens that are chosen from, and of those that are chosen.
const OFFSETS: [usize; 2] = [2, 3];

impl Compile for SequenceWhere {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let kernel = Kernel::new().stage(Grid::Items(call.shape(OFFSETS[0]).to_vec()), || {
            let (holds, out, u) = (call.input(0), call.output(0), Unsigned::of);
            let [own, others] = OFFSETS.map(|offsets| call.input(offsets));
            each(count(&own), |row| {
                let ((first, end), (to, behind)) = (tokens(&own, row), tokens(&others, row));
                let found = Variable::new(to);
                for_each(first, end, u(1), |token| {
                    when(holds.load(token).truth(), || {
                        when(found.get().less(behind), || {
                            out.store(found.get(), Element::Long(Long::of_unsigned(token - first)));
                        });
                        found.set(found.get() + u(1));
                    });
                });
                when(found.get().is_not(behind), || fail(row));
            });
        });
        let holds = call.input_number(0);
        let of = OFFSETS.map(|offsets| (call.input_number(offsets), call.shape(offsets).to_vec()));
        Ok(kernel.explain(move |evidence, _| {
            let [own, others] = of.each_ref().map(|(number, shape)| evidence.offsets(*number, shape));
            let chosen = |row: usize| {
                let tokens = own[row] as usize..own[row + 1] as usize;
                tokens.filter(|&token| evidence.word(holds, token) != 0).count() as i64
            };
            made_lengths(&others, chosen, "the chosen tokens of")
                .expect_err("a sequence that the device found")
        }))
    }
}
