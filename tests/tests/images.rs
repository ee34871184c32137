//! Networks of images: convolution and pooling.

use paddle::testing::check_gradients;
use paddle::{Batch, Parameters, Trainer, infer, network};

/// A digit is a column or a row of light; a small network of the kind that reads digits learns to tell them apart.
#[test]
fn a_convolutional_network_learns() {
    let cost = network!(|image: Tensor<f32, _, 1, 8, 8>, label: Tensor<i64, _, 1>| {
        let hidden = conv2d(image, 4, 3, padding = 1, act = relu);
        let hidden = pool2d(hidden, 2);
        let logits = fc(hidden, 2);
        mean(softmax_with_cross_entropy(logits, label))
    });
    let rows: Vec<([[[f32; 8]; 8]; 1], i64)> = (0..16)
        .map(|i| {
            let (at, is_row) = (i / 2, i % 2 == 0);
            let mut image = [[0.0; 8]; 8];
            (0..8).for_each(|k| if is_row { image[at][k] = 1.0 } else { image[k][at] = 1.0 });
            ([image], i64::from(is_row))
        })
        .collect();
    let mut parameters = Parameters::create(&cost).unwrap();
    assert_eq!(parameters.names().collect::<Vec<_>>(), ["hidden.w", "hidden.b", "logits.w", "logits.b"]);
    let mut trainer = Trainer::new(paddle::Sgd::new(0.3));
    let first = trainer.step(&cost, &mut parameters, &rows).unwrap().cost();
    let last = (0..60).map(|_| trainer.step(&cost, &mut parameters, &rows).unwrap().cost()).last().unwrap();
    assert!(first > 0.4 && last < 0.1, "{first} to {last}");
}

/// A transposed convolution gives back the sizes that a convolution was given, which `output_padding` tells apart.
#[test]
fn transposes_undo_the_sizes_of_convolutions() {
    let net = network!(|x: Tensor<f32, _, 4, H, 10>| {
        let code = conv2d(x, 6, [3, 2], stride = [1, 3], padding = [1, 0], groups = 2);
        let image = conv2d_transpose(
            code,
            4,
            [3, 2],
            stride = [1, 3],
            padding = [1, 0],
            output_padding = [0, 2],
            groups = 2,
        );
        mean(square(image - x))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    assert_eq!(parameters.get::<f32>("image.w").unwrap().shape(), [6, 2, 3, 2]);
    let images =
        ndarray::Array4::from_shape_fn((2, 4, 5, 10), |(n, c, y, x)| ((n + 2 * c + y * x) % 5) as f32 / 5.0);
    let batch = Batch::new(&net).unwrap().with("x", &images).unwrap();
    let mut trainer = Trainer::new(paddle::Sgd::new(0.2));
    let costs: Vec<_> =
        (0..40).map(|_| trainer.step(&net, &mut parameters, &batch).unwrap().cost()).collect();
    assert!(costs[39] < 0.5 * costs[0], "{costs:?}");
}

#[test]
fn shapes_follow_strides_padding_and_groups() {
    let net = network!(|x: Tensor<f32, _, 4, H, 9>| {
        let a = conv2d(x, 6, [3, 5], stride = [1, 2], padding = [1, 0], groups = 2, bias = false);
        let b = pool2d(a, 2, kind = avg, stride = 1, padding = 1, exclusive = false);
        b
    });
    let program = net.program().unwrap();
    let output = program.outputs()[0];
    assert_eq!(program.show(program.ty(output)), "f32[_, 6, H + 1, 4]");
    let parameters = Parameters::create(&net).unwrap();
    assert_eq!(parameters.names().collect::<Vec<_>>(), ["a.w"]);
    assert_eq!(parameters.get::<f32>("a.w").unwrap().shape(), [6, 2, 3, 5]);
    let images = ndarray::Array4::<f32>::zeros((2, 4, 5, 9));
    let batch = Batch::new(&net).unwrap().with("x", &images).unwrap();
    assert_eq!(infer(&net, &parameters, &batch).unwrap().at::<f32>(0).unwrap().shape(), [2, 6, 6, 4]);
}

/// `padding = same` gives a window for every `stride` elements, and its transpose `stride` elements for each window.
#[test]
fn same_padding_keeps_sizes() {
    let net = network!(|x: Tensor<f32, _, 1, H, 9>| {
        let halved = conv2d(x, 2, [3, 2], stride = [2, 3], padding = same);
        let pooled = pool2d(halved, 3, stride = 1, padding = same, kind = avg);
        let back = conv2d_transpose(pooled, 1, [1, 4], stride = [2, 3], padding = same);
        let dilated = conv2d(back, 1, [3, 2], dilation = [2, 3], padding = same);
        (halved, dilated)
    });
    let program = net.program().unwrap();
    let shown: Vec<_> = program.outputs().iter().map(|&output| program.show(program.ty(output))).collect();
    assert_eq!(shown, ["f32[_, 2, ((H + 1) / (2)), 3]", "f32[_, 1, 2 * ((H + 1) / (2)), 9]"]);
    let parameters = Parameters::create(&net).unwrap();
    let batch = Batch::new(&net).unwrap().with("x", &ndarray::Array4::<f32>::zeros((2, 1, 5, 9))).unwrap();
    let values = infer(&net, &parameters, &batch).unwrap();
    assert_eq!(values.at::<f32>(0).unwrap().shape(), [2, 2, 3, 3]);
    assert_eq!(values.at::<f32>(1).unwrap().shape(), [2, 1, 6, 9]);
}

/// A filter of a single 1 in its middle, dilated, moves nothing if as much is put in front as behind.
#[test]
fn same_padding_is_even() {
    let net =
        network!(|x: Tensor<f32, _, 1, 4, 5>| conv2d(x, 1, 3, dilation = 2, padding = same, bias = false));
    let mut parameters = Parameters::create(&net).unwrap();
    let name = parameters.names().next().unwrap().to_string();
    let mut middle = ndarray::Array4::<f32>::zeros((1, 1, 3, 3));
    middle[[0, 0, 1, 1]] = 1.0;
    parameters.set(&name, &middle).unwrap();
    let images = ndarray::Array4::from_shape_fn((2, 1, 4, 5), |(n, _, y, x)| (20 * n + 5 * y + x) as f32);
    let batch = Batch::new(&net).unwrap().with("x", &images).unwrap();
    assert_eq!(infer(&net, &parameters, &batch).unwrap().at::<f32>(0).unwrap(), images.into_dyn());
}

#[test]
fn windows_are_spread_over_images_of_any_size() {
    let net = network!(|x: Tensor<f32, _, 1, H, W>| {
        (adaptive_pool2d(x, [2, 1]), global_pool2d(x, kind = avg), max_pool2d_with_index(x, 2, stride = 1))
    });
    let images = ndarray::array![[[[1.0f32, 2.0, 3.0], [6.0, 5.0, 4.0], [7.0, 9.0, 9.0]]]];
    let batch = Batch::new(&net).unwrap().with("x", &images).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    assert_eq!(values.at::<f32>(0).unwrap(), ndarray::array![[[[6.0f32], [9.0]]]].into_dyn());
    assert_eq!(values.at::<f32>(1).unwrap(), ndarray::array![[[[46.0f32 / 9.0]]]].into_dyn());
    assert_eq!(values.at::<f32>(2).unwrap(), ndarray::array![[[[6.0f32, 5.0], [9.0, 9.0]]]].into_dyn());
    assert_eq!(values.at::<i32>(3).unwrap(), ndarray::array![[[[3i32, 4], [7, 7]]]].into_dyn());
}

/// One line of images made longer and shorter: what `interpolate` of PaddlePaddle 2.6.2 gives.
#[test]
fn images_of_another_size() {
    let net = network!(|x: Tensor<f32, _, 1, 1, W>| {
        let long = interpolate(x, [1, 7], mode = bilinear);
        let corners = interpolate(x, [1, 7], mode = bilinear, align_corners = true);
        let twice = interpolate(x, scale = 2, mode = bilinear);
        (long, corners, twice, interpolate(x, [1, 7]), interpolate(x, [1, 2]), interpolate(x, [2, 3]))
    });
    let batch = Batch::new(&net).unwrap().with("x", &ndarray::array![[[[1.0f32, 5.0, 3.0, 7.0]]]]).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let expected: [&[f32]; 6] = [
        &[1.0, 2.428_571_5, 4.714_286, 4.0, 3.285_714_2, 5.571_429, 7.0],
        &[1.0, 3.0, 5.0, 4.0, 3.0, 5.0, 7.0],
        &[1.0, 2.0, 4.0, 4.5, 3.5, 4.0, 6.0, 7.0, 1.0, 2.0, 4.0, 4.5, 3.5, 4.0, 6.0, 7.0],
        &[1.0, 1.0, 5.0, 5.0, 3.0, 3.0, 7.0],
        &[1.0, 3.0],
        &[1.0, 5.0, 3.0, 1.0, 5.0, 3.0],
    ];
    for (k, expected) in expected.into_iter().enumerate() {
        let found = values.at::<f32>(k).unwrap();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{k}: {found} {expected:?}");
    }
}

/// The windows of nine numbers, and windows of two rows that stand side by side and begin above the image.
#[test]
fn windows_become_columns() {
    let net = network!(|x: Tensor<f32, _, 1, H, W>| {
        (unfold(x, 2), unfold(x, [2, 1], stride = 2, padding = [1, 0, 0, 0]), unfold(x, 2, dilation = 2))
    });
    let program = net.program().unwrap();
    assert_eq!(program.show(program.ty(program.outputs()[0])), "f32[_, 4, H * W - H - W + 1]");
    let image = ndarray::array![[[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]];
    let batch = Batch::new(&net).unwrap().with("x", &image).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let every = ndarray::array![[
        [1.0f32, 2.0, 4.0, 5.0],
        [2.0, 3.0, 5.0, 6.0],
        [4.0, 5.0, 7.0, 8.0],
        [5.0, 6.0, 8.0, 9.0],
    ]];
    assert_eq!(values.at::<f32>(0).unwrap(), every.into_dyn());
    let beside = ndarray::array![[[0.0f32, 0.0, 4.0, 6.0], [1.0, 3.0, 7.0, 9.0]]];
    assert_eq!(values.at::<f32>(1).unwrap(), beside.into_dyn());
    let corners = ndarray::array![[[1.0f32], [3.0], [7.0], [9.0]]];
    assert_eq!(values.at::<f32>(2).unwrap(), corners.into_dyn());
}

/// Filters times windows are a convolution.
#[test]
fn windows_are_what_filters_are_multiplied_with() {
    let net = network!(|x: Tensor<f32, _, 2, 5, 6>| {
        let windows = unfold(x, [3, 2], stride = [1, 2], padding = [1, 0], dilation = [2, 1]);
        let products = einsum("fk,bkw->bfw", parameter([4, 12], param = "matrix"), windows);
        let images = conv2d(
            x,
            4,
            [3, 2],
            stride = [1, 2],
            padding = [1, 0],
            dilation = [2, 1],
            bias = false,
            param = "filters",
        );
        (reshape(products, [4, 3, 3]), images)
    });
    let filters = ndarray::Array4::from_shape_fn((4, 2, 3, 2), |(f, c, y, x)| {
        (5 * f + 6 * c + 2 * y + x) as f32 / 9.0 - 1.0
    });
    let mut parameters = Parameters::create(&net).unwrap();
    parameters.set("filters.w", &filters).unwrap();
    parameters.set("matrix.w", &filters.into_shape_with_order((4, 12)).unwrap()).unwrap();
    let images =
        ndarray::Array4::from_shape_fn((3, 2, 5, 6), |(n, c, y, x)| ((n + 3 * c + y * x) % 7) as f32 / 7.0);
    let batch = Batch::new(&net).unwrap().with("x", &images).unwrap();
    let values = infer(&net, &parameters, &batch).unwrap();
    let [products, images] = [0, 1].map(|k| values.at::<f32>(k).unwrap());
    assert_eq!(products.shape(), images.shape());
    assert!(products.iter().zip(&images).all(|(a, b)| (a - b).abs() < 1e-5), "{products} {images}");
}

/// Channels of one element; a sum over the three around each, computed by hand: the first is `1 / √(1 + 1 + 4)`.
#[test]
fn channels_are_normalised_by_those_around() {
    let net = network!(|x: Tensor<f32, _, 4, 1, 1>| {
        (lrn(x, n = 3, k = 1, alpha = 1, beta = 0.5), lrn(x * 10.0, n = 1))
    });
    let image = ndarray::array![[[[1.0f32]], [[-2.0]], [[3.0]], [[0.5]]]];
    let batch = Batch::new(&net).unwrap().with("x", &image).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let expected = [
        [1.0 / 6.0f32.sqrt(), -2.0 / 15.0f32.sqrt(), 3.0 / 14.25f32.sqrt(), 0.5 / 10.25f32.sqrt()],
        [10.0, -20.0, 30.0, 5.0].map(|x: f32| x / (2.0 + 1e-4 * x * x).powf(0.75)),
    ];
    for (k, expected) in expected.iter().enumerate() {
        let found = values.at::<f32>(k).unwrap();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{k}: {found}");
    }
}

/// A step by the gradient of `y₀ + 2 y₁ + 3 y₂ + 4 y₃`, which was computed by differences in double precision.
#[test]
fn gradients_pass_to_the_channels_around() {
    let net = network!(|weight: Tensor<f32, _, 4, 1, 1>| {
        let images = parameter([1, 4, 1, 1], param = "images");
        let y = reshape(lrn(images, n = 3, k = 1, alpha = 1, beta = 0.5), [4, 1, 1]);
        sum(y * weight)
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let name = parameters.names().next().unwrap().to_string();
    parameters.set(&name, &ndarray::array![[[[1.0f32]], [[-2.0]], [[3.0]], [[0.5]]]]).unwrap();
    let weight = ndarray::array![[[[1.0f32]], [[2.0]], [[3.0]], [[4.0]]]];
    let batch = Batch::new(&net).unwrap().with("weight", &weight).unwrap();
    Trainer::new(paddle::Sgd::new(1.0)).step(&net, &mut parameters, &batch).unwrap();
    let found = parameters.get::<f32>(&name).unwrap();
    let expected = [0.590_940_05f32, -2.849_393_2, 2.683_487_1, -0.635_262_5];
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found}");
}

/// What PyTorch gives.
#[test]
fn elements_move_between_channels_and_places() {
    let net = network!(|x: Tensor<f32, _, 8, 1, W>, y: Tensor<f32, _, 6, 1, 2>| {
        (pixel_shuffle(x, 2), pixel_unshuffle(pixel_shuffle(x, 2), 2), channel_shuffle(y, 3))
    });
    let [x, y] = [8, 6].map(|channels| {
        ndarray::Array4::from_shape_fn((2, channels, 1, 2), |(n, c, _, w)| {
            (2 * channels * n + 2 * c + w) as f32
        })
    });
    let batch = Batch::new(&net).unwrap().with("x", &x).unwrap().with("y", &y).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let large = values.at::<f32>(0).unwrap();
    assert_eq!(large.shape(), [2, 2, 2, 4]);
    let first = [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0, 8.0, 10.0, 9.0, 11.0, 12.0, 14.0, 13.0, 15.0];
    let second = first.map(|element| element + 16.0);
    assert!(large.iter().eq(first.iter().chain(&second)), "{large}");
    assert_eq!(values.at::<f32>(1).unwrap(), x.into_dyn());
    let turns = values.at::<f32>(2).unwrap();
    let first = [0.0, 1.0, 4.0, 5.0, 8.0, 9.0, 2.0, 3.0, 6.0, 7.0, 10.0, 11.0];
    let second = first.map(|element| element + 12.0);
    assert!(turns.iter().eq(first.iter().chain(&second)), "{turns}");
}

/// Each place of the results has a weight of its own, so a gradient that arrives elsewhere differs.
#[test]
fn gradients_move_between_channels_and_places() {
    let net = network!(|x: Tensor<f32, _, 1, 2, 2>, y: Tensor<f32, _, 1>| {
        let large = pixel_shuffle(conv2d(x, 8, 1, act = tanh), 2);
        let small = pixel_unshuffle(conv2d(x, 2, 1, act = tanh), 2);
        let turned = channel_shuffle(conv2d(x, 6, 1, act = tanh), 3);
        mean(square(fc(large, 1) + fc(small, 1) + fc(turned, 1) - y))
    });
    let rows = [net.row([[[0.5, -1.0], [0.25, 1.5]]], 0.5), net.row([[[-0.75, 2.0], [1.0, 0.125]]], -1.0)];
    check_gradients(&net, rows).unwrap();
}

/// Each pixel has a class, and classes are channels: the losses are those of pixels whose classes are their last axis.
#[test]
fn losses_of_pixels_have_classes_along_any_axis() {
    let net = network!(|x: Tensor<f32, _, 3, 2, 4>,
                        y: Tensor<i64, _, 2, 4>,
                        soft: Tensor<f32, _, 3, 2, 4>| {
        let last = transpose(x, [0, 2, 3, 1]);
        let expected = transpose(softmax_with_cross_entropy(last, reshape(y, [2, 4, 1])), [0, 3, 1, 2]);
        let of_shares = softmax_with_cross_entropy(last, transpose(soft, [0, 2, 3, 1]), soft_label = true);
        (
            expected,
            softmax_with_cross_entropy(x, y, axis = 1),
            softmax_with_cross_entropy(x, reshape(y, [1, 2, 4]), axis = -3),
            cross_entropy(softmax(x, axis = 1), y, axis = 1),
            transpose(of_shares, [0, 3, 1, 2]),
            softmax_with_cross_entropy(x, soft, soft_label = true, axis = 1),
        )
    });
    let count = |n: usize| (0..n).map(move |i| ((i * 7) % 11) as f32 / 4.0 - 1.25);
    let x = ndarray::Array4::from_shape_vec((2, 3, 2, 4), count(48).collect()).unwrap();
    let soft = x.mapv(|x| (x + 1.25) / 4.0);
    let y =
        ndarray::Array3::from_shape_vec((2, 2, 4), (0..16).map(|i| i * 5 % 3).collect::<Vec<i64>>()).unwrap();
    let batch = Batch::new(&net).unwrap().with("x", &x).unwrap().with("y", &y).unwrap();
    let batch = batch.with("soft", &soft).unwrap();
    let values = infer(&net, &Parameters::create(&net).unwrap(), &batch).unwrap();
    let [expected, of_ids, of_axis, of_probabilities, expected_soft, of_shares] =
        [0, 1, 2, 3, 4, 5].map(|at| values.at::<f32>(at).unwrap());
    assert_eq!(expected.shape(), [2, 1, 2, 4]);
    assert_eq!((&expected, &expected), (&of_ids, &of_axis));
    assert_eq!(expected_soft, of_shares);
    assert!(expected.iter().zip(&of_probabilities).all(|(loss, other)| (loss - other).abs() < 1e-5));
    // The first pixel, by hand: -ln softmax(x)[y].
    let logits = [0, 1, 2].map(|class| x[[0, class, 0, 0]]);
    let by_hand = logits.iter().map(|x| x.exp()).sum::<f32>().ln() - logits[y[[0, 0, 0]] as usize];
    assert!((expected[[0, 0, 0, 0]] - by_hand).abs() < 1e-6);

    let cost = network!(|x: Tensor<f32, _, 3, 2, 4>, y: Tensor<i64, _, 2, 4>| {
        mean(softmax_with_cross_entropy(conv2d(x, 3, 1), y, axis = 1))
    });
    let batch = Batch::new(&cost).unwrap().with("x", &x).unwrap().with("y", &y).unwrap();
    check_gradients(&cost, &batch).unwrap();
}
