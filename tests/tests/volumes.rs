//! Networks of volumes: `conv3d` and `pool3d`. What is expected is what PyTorch 2.15 gives:
//!
//! ```python
//! import torch, torch.nn.functional as F
//! def counted(*shape):
//!     size = torch.Size(shape).numel()
//!     return ((torch.arange(size) * 7) % 11 - 5).double().reshape(shape) / 4
//! x, w, b = counted(2, 2, 3, 4, 5), counted(4, 1, 2, 3, 2), counted(4)
//! F.conv3d(x, w, b, stride=(1, 2, 2), padding=(1, 0, 1), dilation=(2, 1, 3), groups=2)
//! x = counted(2, 1, 3, 4, 5)
//! F.max_pool3d(x, 2, stride=(1, 2, 2), padding=(1, 0, 1))
//! F.avg_pool3d(x, (2, 3, 2), stride=(1, 2, 2), padding=(1, 1, 0), ceil_mode=True, count_include_pad=False)
//! F.avg_pool3d(x, (2, 3, 2), stride=(1, 2, 3), padding=(1, 1, 0), count_include_pad=True)
//! ```

use ndarray::{ArrayD, ArrayViewD};
use paddle::testing::check_gradients;
use paddle::{Batch, Parameters, infer, network};

/// Small numbers that repeat after 11 elements.
fn counted<const RANK: usize>(shape: [usize; RANK]) -> ArrayD<f32> {
    let elements = (0..shape.iter().product()).map(|i| ((i * 7) % 11) as f32 / 4.0 - 1.25).collect();
    ArrayD::from_shape_vec(&shape[..], elements).unwrap()
}

#[track_caller]
fn assert_near(found: ArrayViewD<'_, f32>, shape: [usize; 5], expected: &[f32]) {
    assert_eq!(found.shape(), shape);
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found}");
}

#[test]
fn filters_slide_over_volumes() {
    let net = network!(|x: Tensor<f32, _, 2, 3, 4, W>| {
        let y = conv3d(
            x,
            4,
            [2, 3, 2],
            stride = [1, 2, 2],
            padding = [1, 0, 1],
            dilation = [2, 1, 3],
            groups = 2,
        );
        y
    });
    let mut parameters = Parameters::create(&net).unwrap();
    parameters.set("y.w", &counted([4, 1, 2, 3, 2])).unwrap();
    parameters.set("y.b", &counted([4])).unwrap();
    let batch = Batch::new(&net).unwrap().with("x", &counted([2, 2, 3, 4, 5])).unwrap();
    let values = infer(&net, &parameters, &batch).unwrap();
    let expected = [
        -1.5, -2.5625, 0.3125, -3.3125, -2.625, -1.5, 1.8125, 0.5, -0.3125, 5.1875, 0.6875, 0.875, -0.875,
        -1.4375, 1.5625, -1.6875, -1.25, 0.4375, 1.625, 1.375, -0.6875, 5.625, 0.5625, 0.5, -2.0, 0.8125,
        0.8125, -1.125, -1.625, -0.625, 1.0625, 1.3125, 0.375, -2.5625, 1.4375, 1.9375, -1.875, 0.9375,
        1.0625, -3.5625, -0.75, 0.3125, 3.125, 1.875, 1.75, 1.375, 0.8125, 3.3125,
    ];
    assert_near(values.at::<f32>(0).unwrap(), [2, 4, 3, 1, 2], &expected);
}

#[test]
fn windows_slide_over_volumes() {
    let net = network!(|x: Tensor<f32, _, 1, 3, 4, W>| {
        let largest = pool3d(x, 2, stride = [1, 2, 2], padding = [1, 0, 1]);
        let inside = pool3d(x, [2, 3, 2], kind = avg, stride = [1, 2, 2], padding = [1, 1, 0], ceil = true);
        let all =
            pool3d(x, [2, 3, 2], kind = avg, stride = [1, 2, 3], padding = [1, 1, 0], exclusive = false);
        (largest, inside, all)
    });
    let batch = Batch::new(&net).unwrap().with("x", &counted([2, 1, 3, 4, 5])).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let largest = [
        -0.75, 1.0, 1.25, 0.25, 1.0, 1.25, 1.25, 1.0, 1.25, 0.25, 1.25, 1.25, 1.25, 1.25, 1.0, 1.0, 1.25,
        1.25, 0.5, 1.25, 0.25, 1.0, 0.5, 1.25, -0.25, 1.0, 1.25, 0.75, 1.0, 0.5, 1.25, 1.0, 1.25, 0.75, 1.25,
        1.0, 1.25, 1.25, 1.0, 0.0, 1.25, 1.25, 1.0, 1.25, 0.75, -0.75, 1.0, 1.25,
    ];
    assert_near(values.at::<f32>(0).unwrap(), [2, 1, 4, 2, 3], &largest);
    let inside = [
        -0.125, -0.0625, 0.5, -0.2916667, 0.0, 0.3333333, -0.25, 0.5, -1.0, 0.1875, -0.09375, 0.125,
        0.0208333, -0.1458333, 0.4166667, 0.0625, 0.125, 0.0, 0.125, 0.1875, -0.625, 0.1875, 0.0208333,
        0.125, 0.0, 0.0625, 0.625, -0.25, 0.5, -1.0, 0.0416667, 0.3333333, -0.25, -0.375, 0.375, 0.25,
        -0.3125, -0.25, 1.0, -0.25, 0.0416667, -0.0833333, 0.25, -0.375, -0.5, 0.0, -0.28125, 0.625,
        -0.1666667, -0.1041667, 0.0, -0.125, -0.0625, -0.875, 0.28125, 0.0, -0.125, 0.0, -0.1666667,
        0.1666667, -0.1875, -0.125, -0.25, 0.25, 0.3125, -0.5, 0.0833333, -0.0833333, 0.25, 0.125, -0.5,
        0.75,
    ];
    assert_near(values.at::<f32>(1).unwrap(), [2, 1, 4, 3, 3], &inside);
    let all = [
        -0.0416667, 0.1041667, -0.1458333, -0.0416667, 0.125, 0.1875, 0.0208333, 0.0, 0.0833333, -0.0833333,
        0.1875, 0.1666667, -0.0833333, -0.1666667, 0.0208333, 0.125, -0.1041667, 0.0416667, -0.125,
        -0.0208333, 0.0, 0.0625, -0.1666667, -0.1875, 0.1875, 0.0208333, 0.0, -0.0208333, 0.0833333, 0.0,
        0.0416667, 0.1458333,
    ];
    assert_near(values.at::<f32>(2).unwrap(), [2, 1, 4, 2, 2], &all);
}

/// `padding = same` is that of numbers which make as many windows, one more behind than in front if they are odd.
#[test]
fn same_padding_is_that_of_numbers() {
    let net = network!(|x: Tensor<f32, _, 1, 3, 4, 5>| {
        let same =
            conv3d(x, 2, [2, 3, 2], stride = [2, 3, 1], dilation = [2, 1, 3], padding = same, param = "conv");
        let numbers = conv3d(
            x,
            2,
            [2, 3, 2],
            stride = [2, 3, 1],
            dilation = [2, 1, 3],
            padding = [1, 1, 1, 1, 1, 2],
            param = "conv",
        );
        let pooled = pool3d(x, [2, 3, 2], stride = [2, 3, 1], padding = same, kind = avg);
        let by_numbers = pool3d(x, [2, 3, 2], stride = [2, 3, 1], padding = [0, 1, 1, 1, 0, 1], kind = avg);
        (same, numbers, pooled, by_numbers)
    });
    let batch = Batch::new(&net).unwrap().with("x", &counted([2, 1, 3, 4, 5])).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let [same, numbers, pooled, by_numbers] = [0, 1, 2, 3].map(|at| values.at::<f32>(at).unwrap());
    assert_eq!(same.shape(), [2, 2, 2, 2, 5]);
    assert!(same.iter().any(|element| *element != 0.0));
    assert_eq!(same, numbers);
    assert_eq!(pooled.shape(), [2, 1, 2, 2, 5]);
    assert_eq!(pooled, by_numbers);
}

/// Values without rows are volumes, too, and an activation is applied behind the bias.
#[test]
fn volumes_need_no_rows() {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let volumes = parameter([3, 1, 2, 2, 2], init = constant(1.0));
        let y = conv3d(volumes, 1, 2, init = constant(1.0), bias_init = constant(-9.0), act = relu);
        x + mean(y) + mean(pool3d(volumes, [1, 2, 2], kind = avg))
    });
    let values = infer(&net, &Parameters::create(&net).unwrap(), [[2.0, 3.0]]).unwrap();
    assert_eq!(values.at::<f32>(0).unwrap(), ndarray::array![[3.0f32, 4.0]].into_dyn());
}

#[test]
fn gradients_of_volumes_are_those_of_differences() {
    let net = network!(|x: Tensor<f32, _, 2, 3, 4, 4>, y: Tensor<f32, _, 2>| {
        let first = conv3d(x, 4, [2, 3, 2], stride = [1, 2, 1], padding = [1, 1, 0], groups = 2, act = tanh);
        let largest = pool3d(first, 2, stride = 1, padding = [1, 0, 0]);
        let mean_of_parts = pool3d(largest, [3, 1, 2], kind = avg, padding = same, stride = [2, 1, 1]);
        let last = conv3d(mean_of_parts, 2, [2, 1, 1], dilation = 2, padding = [1, 0, 0], act = tanh);
        mean(square(fc(last, 2) - y))
    });
    let batch = Batch::new(&net).unwrap().with("x", &counted([2, 2, 3, 4, 4])).unwrap();
    let batch = batch.with("y", &ndarray::array![[0.5f32, -1.0], [0.25, 1.5]]).unwrap();
    let compared = check_gradients(&net, &batch).unwrap();
    assert!(compared.elements > 32 + 4 + 16 + 2, "{compared:?}");
}

#[test]
fn boxes_of_one_slice_pool_each_image_of_a_volume() {
    let net = network!(|x: Tensor<f32, _, 2, 3, 4, 6>| {
        let images = reshape(pool2d(reshape(x, [6, 4, 6]), 2), [2, 3, 2, 3]);
        (pool3d(x, [1, 2, 2]), images)
    });
    let batch = Batch::new(&net).unwrap().with("x", &counted([3, 2, 3, 4, 6])).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    assert_eq!(values.at::<f32>(0).unwrap().shape(), [3, 2, 3, 2, 3]);
    assert_eq!(values.at::<f32>(0).unwrap(), values.at::<f32>(1).unwrap());
}
