//! `crf_decoding`: the most probable labels of sequences.

use super::compositions::label_chains;
use super::linear_chain_crf::check_transition;
use super::{AccuracyClass, Composition, Effects, Infer, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::{BuildError, DType, Type, VarId};

/// The labels of each sequence that have the highest score in a conditional random field
/// ([`LinearChainCrf`](super::LinearChainCrf)), found by Viterbi's algorithm. If two labels lead to the same score, the
/// lower one is taken, from the last token on.
///
/// `Emission`: floating point `[tokens, K]`; `Transition`: `[K + 2, K]`; `ViterbiPath`: i64 `[tokens, 1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrfDecoding;

attributes!(CrfDecoding {});

impl Operation for CrfDecoding {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "crf_decoding",
                doc: "The most probable labels of each sequence in a conditional random field.",
                inputs: &[Slot::of("Emission").with_offsets(), Slot::of("Transition")],
                outputs: &[Slot::of("ViterbiPath")],
                accuracy: AccuracyClass::Exact("ids"),
                effects: Effects { differentiable: false, ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences(0)?;
        check_transition(cx, 0, 1)?;
        Ok(vec![Type { rows: cx.ty(0).rows, ..Type::new(DType::I64, [1]) }])
    }

    fn written_out(&self, c: &mut Composition<'_>) -> Result<Option<VarId>, BuildError> {
        let (emission, transition) = (c.input(0), c.input(1));
        label_chains::best(c, emission, transition)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: &[usize], labels: i64| {
            Sample::of(CrfDecoding).sequences(lengths, &[labels]).dense(&[labels + 2, labels])
        };
        vec![
            of(&[2, 1, 4], 3),
            of(&[0, 3, 0, 0, 1, 0], 2),
            of(&[5], 1),
            of(&[6, 2], 5),
            of(&[0, 0], 2),
            of(&[], 4),
        ]
    }
}
