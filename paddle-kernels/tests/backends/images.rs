//! Samples of operators on images, with sizes around those of registers and tiles.

use paddle_core::ops::{
    BatchNorm, BatchNormGrad, Conv2d, Conv2dGrad, Conv2dGradKind, Conv2dTranspose, Dropout, DropoutGrad,
    DropoutImplementation, MaxPool2dWithIndex, Padding, Pool2d, Pool2dGrad, PoolKind, Sample,
};
use paddle_core::program::DType;

pub(crate) fn wide() -> Vec<Sample> {
    let mut samples = Vec::new();
    // Filters, channels of a group, groups, size of the filters, height and width of the images.
    for (m, c, groups, size, [h, w]) in [
        (20, 1, 1, 5, [14, 13]),
        (8, 16, 2, 3, [5, 20]),
        (70, 3, 1, 3, [4, 17]),
        (6, 33, 1, 1, [8, 9]),
        (90, 4, 18, 3, [9, 12]),
        (40, 40, 1, 3, [14, 13]),
    ] {
        for (stride, paddings) in [(1, Padding::Explicit([0, 1, 2, 0])), (2, Padding::Same)] {
            let conv = Conv2d { strides: [stride; 2], paddings, groups, ..Conv2d::PLAIN };
            let images = [c * groups, h, w];
            let filters = [m, c, size, size];
            samples.push(Sample::of(conv).rows(2, &images).dense(&filters));
            let out = |size_in: i64, around: i64| match stride {
                1 => size_in + around - size + 1,
                _ => (size_in + 1) / 2,
            };
            let result = [m, out(h, 1), out(w, 2)];
            for of in [Conv2dGradKind::Input, Conv2dGradKind::Filter] {
                let grad = Sample::of(Conv2dGrad { conv, of }).rows(2, &images).dense(&filters);
                samples.push(grad.rows(2, &result));
            }
        }
    }
    // Channels that are groups of their own: filters of each, stride, dilation, size of the filters, height and width.
    for (filters, stride, dilation, size, [h, w]) in [
        (1, 1, 1, 3, [9, 70]),
        (2, 2, 1, 3, [8, 35]),
        (1, 3, 2, 2, [40, 150]),
        (1, 1, 40, 3, [90, 90]),
        (3, 1, 1, 9, [7, 12]),
    ] {
        let groups = 3;
        let conv = Conv2d {
            strides: [stride; 2],
            paddings: Padding::Explicit([1, 2, 3, 0]),
            dilations: [dilation; 2],
            groups,
        };
        let (images, weights) = ([groups, h, w], [groups * filters, 1, size, size]);
        let out = |size_in: i64| (size_in + 3 - dilation * (size - 1) - 1) / stride + 1;
        let result = [groups * filters, out(h), out(w)];
        samples.push(Sample::of(conv).rows(2, &images).dense(&weights));
        for of in [Conv2dGradKind::Input, Conv2dGradKind::Filter] {
            let grad = Sample::of(Conv2dGrad { conv, of }).rows(2, &images).dense(&weights);
            samples.push(grad.rows(2, &result));
        }
    }
    for (groups, stride) in [(1, 1), (3, 2)] {
        let op = Conv2dTranspose {
            strides: [stride; 2],
            paddings: [1, 0, 2, 1],
            output_padding: [stride - 1, 0],
            groups,
            ..Conv2dTranspose::PLAIN
        };
        samples.push(Sample::of(op).rows(2, &[18, 7, 19]).dense(&[18, 5, 3, 4]));
    }
    for kind in [PoolKind::Max, PoolKind::Avg] {
        samples.push(Sample::of(Pool2d::of_size(kind, [2, 2])).rows(2, &[20, 14, 13]));
        let grad = Sample::of(Pool2dGrad(Pool2d::of_size(kind, [2, 2]))).rows(2, &[20, 14, 13]);
        samples.push(grad.rows(2, &[20, 7, 6]).rows(2, &[20, 7, 6]));
    }
    // Lines that are longer than one run of windows, with edges that partly lie in the padding.
    for (kind, stride, padding) in
        [(PoolKind::Max, 1, 3), (PoolKind::Avg, 1, 3), (PoolKind::Max, 3, 1), (PoolKind::Avg, 2, 2)]
    {
        let op = Pool2d {
            strides: [2, stride],
            paddings: Padding::Explicit([1, 0, padding, 1]),
            ..Pool2d::of_size(kind, [2, 4])
        };
        let result = [3, 4, (150 + padding + 1 - 4) / stride + 1];
        samples.push(Sample::of(op).rows(2, &[3, 7, 150]));
        samples.push(Sample::of(Pool2dGrad(op)).rows(2, &[3, 7, 150]).rows(2, &result).rows(2, &result));
    }
    for pool in [
        MaxPool2dWithIndex::of_size([2, 2]),
        MaxPool2dWithIndex { strides: [1, 2], paddings: [1, 0], ..MaxPool2dWithIndex::of_size([3, 2]) },
    ] {
        samples.push(Sample::of(pool).rows(2, &[20, 14, 13]));
    }
    for dims in [&[65][..], &[3, 9, 11], &[130, 1, 1]] {
        let channels = dims[0];
        let with = |sample: Sample| {
            let sample = sample.rows(37, dims).dense(&[channels]);
            sample.dense(&[channels]).dense(&[channels]).within(0.5, 1.5)
        };
        for is_test in [false, true] {
            let op = BatchNorm { epsilon: 1e-5, momentum: 0.9, is_test };
            samples.push(with(Sample::of(op)).dense(&[channels]).within(0.5, 1.5));
            samples.push(with(Sample::of(BatchNormGrad { is_test })).rows(37, dims));
        }
    }
    for dropout_implementation in
        [DropoutImplementation::UpscaleInTrain, DropoutImplementation::DowngradeInInfer]
    {
        let op = Dropout { dropout_prob: 0.3, dropout_implementation, path: "wide".into() };
        samples.push(Sample::of(op).rows(61, &[13, 17]));
        let op = DropoutGrad { dropout_prob: 0.3, dropout_implementation };
        samples.push(Sample::of(op).rows(61, &[13, 17]).dtype(DType::Bool).rows(61, &[13, 17]));
    }
    samples
}
