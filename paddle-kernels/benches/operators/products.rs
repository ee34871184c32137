//! Products of matrices.

use paddle_core::ops::{Matmul, Sample};

use crate::Case;

/// Products of layers, of their gradients and of recurrent cells; with one row and with one column; square ones, and many small ones.
pub(crate) fn cases() -> Vec<Case> {
    let plain = [
        [64, 784, 256],
        [1760, 128, 512],
        [32, 512, 128],
        [256, 256, 256],
        [1024, 1024, 1024],
        [8, 8, 8],
        [1, 784, 256],
        [784, 256, 1],
    ];
    let plain = plain.map(|sizes| (sizes, [false, false], ""));
    let transposed = [([784, 64, 256], [true, false], " TN"), ([64, 256, 784], [false, true], " NT")];
    let mut cases = Vec::new();
    for ([m, k, n], [trans_x, trans_y], suffix) in plain.into_iter().chain(transposed) {
        let (x, y) = (if trans_x { [k, m] } else { [m, k] }, if trans_y { [n, k] } else { [k, n] });
        let product = Sample::of(Matmul { trans_x, trans_y }).dense(&x).dense(&y);
        cases.push(Case::products(format!("matmul {m} × {k} × {n}{suffix}"), product, (m * k * n) as usize));
    }
    for [count, m, k, n] in [[64, 64, 64, 64], [512, 16, 32, 16], [4096, 4, 8, 4]] {
        let product = Sample::of(Matmul::PLAIN).dense(&[count, m, k]).dense(&[count, k, n]);
        let name = format!("matmul {count} × {m} × {k} × {n}");
        cases.push(Case::products(name, product, (count * m * k * n) as usize));
    }
    cases
}
