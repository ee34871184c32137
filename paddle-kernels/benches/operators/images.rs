//! Operators on images.

use paddle_core::ops::{
    BatchNorm, BatchNormGrad, Conv2d, Conv2dGrad, Conv2dGradKind, Matmul, MaxPool2dWithIndex, Padding,
    Pool2d, Pool2dGrad, PoolKind, Sample,
};

use crate::Case;

/// Convolutions, poolings and normalisations by batches; and what a large product reaches.
pub(crate) fn cases() -> Vec<Case> {
    let product = Sample::of(Matmul { trans_x: false, trans_y: false }).dense(&[512, 512]).dense(&[512, 512]);
    let mut cases = vec![Case::products("matmul 512 × 512 × 512".into(), product, 512 * 512 * 512)];
    // Images, channels, height and width, filters, their height and width, groups.
    for [n, c, size, m, k, groups] in [
        [64, 3, 32, 16, 3, 1],
        [32, 64, 56, 64, 3, 1],
        [32, 256, 14, 256, 1, 1],
        [32, 128, 28, 128, 3, 128],
        [32, 128, 28, 128, 5, 128],
    ] {
        let conv = Conv2d { paddings: Padding::Explicit([k / 2; 4]), groups, ..Conv2d::PLAIN };
        let (images, filters, result) = ([c, size, size], [m, c / groups, k, k], [m, size, size]);
        let products = (n * m * size * size * (c / groups) * k * k) as usize;
        let on = |op: Sample| op.rows(n as usize, &images).dense(&filters);
        let name = |what| format!("{what} {n}x{c}x{size}x{size} {m} {k}x{k} / {groups}");
        cases.push(Case::products(name("conv2d"), on(Sample::of(conv)), products));
        for (what, of) in [("… for images", Conv2dGradKind::Input), ("… for filters", Conv2dGradKind::Filter)]
        {
            let grad = on(Sample::of(Conv2dGrad { conv, of })).rows(n as usize, &result);
            cases.push(Case::products(name(what), grad, products));
        }
    }
    cases.extend(channels_last());
    for kind in [PoolKind::Max, PoolKind::Avg] {
        for (size, stride, padding) in [(2, 2, 0), (3, 2, 1), (3, 1, 1)] {
            let pool = Pool2d {
                strides: [stride; 2],
                paddings: Padding::Explicit([padding; 4]),
                ..Pool2d::of_size(kind, [size; 2])
            };
            let out = [64, 32 / stride, 32 / stride];
            let name = |what| format!("{what} {} 64x64x32x32 {size}x{size} / {stride}", kind.name());
            let on = |op: Sample| op.rows(64, &[64, 32, 32]);
            cases.push(Case::traffic(name("pool2d"), on(Sample::of(pool))));
            let grad = on(Sample::of(Pool2dGrad(pool))).rows(64, &out).rows(64, &out);
            cases.push(Case::traffic(name("… gradient"), grad));
        }
        let global = Pool2d { global_pooling: true, ..Pool2d::of_size(kind, [1, 1]) };
        let name = format!("pool2d {} 64x256x14x14 global", kind.name());
        cases.push(Case::traffic(name, Sample::of(global).rows(64, &[256, 14, 14])));
    }
    let places = Sample::of(MaxPool2dWithIndex::of_size([2, 2])).rows(64, &[64, 32, 32]);
    cases.push(Case::traffic("max_pool2d_with_index 64x64x32x32 2x2".into(), places));
    for is_test in [false, true] {
        let with = |sample: Sample, channels: i64, count: usize| {
            (0..count).fold(sample, |sample, _| sample.dense(&[channels]).within(0.5, 1.5))
        };
        for dims in [&[64, 32, 32][..], &[256, 14, 14], &[1024]] {
            let (channels, mode) = (dims[0], if is_test { "in test" } else { "in training" });
            let op = BatchNorm { epsilon: 1e-5, momentum: 0.9, is_test };
            let name = |what| format!("{what} {mode} 64x{dims:?}");
            let forward = with(Sample::of(op).rows(64, dims), channels, 4);
            cases.push(Case::traffic(name("batch_norm"), forward));
            let grad = with(Sample::of(BatchNormGrad { is_test }).rows(64, dims), channels, 3);
            cases.push(Case::traffic(name("… gradient"), grad.rows(64, dims)));
        }
    }
    cases
}

/// What networks of images are made of: convolutions and poolings with the channels as the fastest axis, as the planner
/// arranges them. The images of first layers are in row-major order, as they are fed.
fn channels_last() -> Vec<Case> {
    let mut cases = Vec::new();
    // Images, channels, height and width, filters, their height and width, stride, padding, groups.
    for [n, c, size, m, k, stride, padding, groups] in [
        [64, 1, 28, 20, 5, 1, 0, 1],
        [64, 20, 12, 50, 5, 1, 0, 1],
        [1, 3, 64, 16, 3, 2, 1, 1],
        [64, 3, 32, 16, 3, 1, 1, 1],
        [64, 16, 32, 16, 3, 1, 1, 1],
        [64, 32, 16, 32, 3, 1, 1, 1],
        [64, 64, 8, 64, 3, 1, 1, 1],
        [64, 16, 32, 32, 3, 2, 1, 1],
        [64, 32, 16, 64, 3, 2, 1, 1],
        [8, 256, 14, 256, 3, 1, 1, 1],
        [8, 3, 112, 64, 7, 2, 3, 1],
        [1, 16, 32, 16, 3, 1, 1, 16],
        [1, 32, 32, 32, 3, 2, 1, 32],
        [1, 64, 16, 64, 3, 1, 1, 64],
        [1, 128, 8, 128, 3, 1, 1, 128],
        [16, 64, 16, 64, 3, 1, 1, 64],
    ] {
        let conv = Conv2d {
            strides: [stride; 2],
            paddings: Padding::Explicit([padding; 4]),
            groups,
            ..Conv2d::PLAIN
        };
        let out = (size + 2 * padding - k) / stride + 1;
        let (images, filters, result) = ([c, size, size], [m, c / groups, k, k], [m, out, out]);
        let products = (n * m * out * out * (c / groups) * k * k) as usize;
        let on = |op: Sample| op.rows(n as usize, &images).dense(&filters);
        let name = |what| format!("{what} last {n}x{c}x{size} {m} {k}x{k}/{stride} / {groups}");
        let is_first = c <= 3;
        let forward = Case::products(name("conv2d"), on(Sample::of(conv)), products);
        cases.push(forward.channels_last(if is_first { &[2] } else { &[0, 2] }));
        for (what, of) in [("… for images", Conv2dGradKind::Input), ("… for filters", Conv2dGradKind::Filter)]
        {
            let grad = on(Sample::of(Conv2dGrad { conv, of })).rows(n as usize, &result);
            let last: &[usize] = match of {
                Conv2dGradKind::Input if is_first => continue,
                Conv2dGradKind::Input => &[0, 2, 3],
                Conv2dGradKind::Filter if is_first => &[2],
                Conv2dGradKind::Filter => &[0, 2],
            };
            cases.push(Case::products(name(what), grad, products).channels_last(last));
        }
    }
    for (n, c, size, window, stride) in [(64, 20, 24, 2, 2), (64, 50, 8, 2, 2), (64, 64, 32, 3, 2)] {
        for kind in [PoolKind::Max, PoolKind::Avg] {
            let pool = Pool2d { strides: [stride; 2], ..Pool2d::of_size(kind, [window; 2]) };
            let out = [c, (size - window) / stride + 1, (size - window) / stride + 1];
            let name =
                |what| format!("{what} last {} {n}x{c}x{size} {window}x{window}/{stride}", kind.name());
            let on = |op: Sample| op.rows(n as usize, &[c, size, size]);
            cases.push(Case::traffic(name("pool2d"), on(Sample::of(pool))).channels_last(&[0, 1]));
            let grad = on(Sample::of(Pool2dGrad(pool))).rows(n as usize, &out).rows(n as usize, &out);
            cases.push(Case::traffic(name("… gradient"), grad).channels_last(&[0, 1, 2, 3]));
        }
    }
    cases
}
