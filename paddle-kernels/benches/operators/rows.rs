//! Operators along rows and columns.

use paddle_core::ops::{LayerNorm, LayerNormGrad, Reduce, ReduceKind, Sample, Softmax, SoftmaxGrad};

use crate::Case;

/// What goes along rows and columns, in the second level of caches and in memory.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for [rows, size] in [[128, 512], [16 << 10, 1 << 10]] {
        let on = |op: Sample| op.rows(rows as usize, &[size]);
        let mut push =
            |what: &str, sample| cases.push(Case::traffic(format!("{what} {rows}x{size}"), sample));
        for (kind, name) in [(ReduceKind::Sum, "sum"), (ReduceKind::Max, "max")] {
            for (axes, of) in [(vec![1], "rows"), (vec![0], "columns"), (vec![], "everything")] {
                push(&format!("{name} of {of}"), on(Sample::of(Reduce { kind, axes, keep_dim: false })));
            }
        }
        let (epsilon, begin_norm_axis) = (1e-5, 1);
        let forward = on(Sample::of(LayerNorm { epsilon, begin_norm_axis })).dense(&[size]).dense(&[size]);
        push("layer_norm", forward);
        let grad = on(Sample::of(LayerNormGrad(LayerNorm { epsilon, begin_norm_axis }))).dense(&[size]);
        let grad = grad.rows(rows as usize, &[]).rows(rows as usize, &[]).within(0.5, 1.5);
        push("layer_norm gradient", on(grad));
        push("softmax", on(Sample::of(Softmax)));
        push("softmax gradient", on(on(Sample::of(SoftmaxGrad))));
    }
    cases
}
