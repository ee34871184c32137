//! Layers that find, sort and move elements, in models that train.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![routed(), ordered(), moved(), chosen(), ranked()]
}

/// A beam is a dimension: each row puts its own in another order.
fn routed() -> crate::Model {
    crate::model(network!(|x: Tensor<f32, _, 3, 4>, y: Tensor<f32, _, 4>| {
        let beams = fc(flatten(x), 12, act = tanh);
        let beams = reshape(beams, [3, 4]);
        let score = sum(beams, axis = 2);
        let (best, order) = top_k(score, 2);
        let kept = gather(beams, order);
        let weights = unsqueeze(softmax(best), 2);
        let first = squeeze(slice(kept, [1], [0], [1]), 1);
        mean(square(sum(kept * weights, axis = 1) - y) + square(first))
    }))
}

/// Sorting is differentiable, as far as elements go.
fn ordered() -> crate::Model {
    crate::model(network!(|x: Tensor<f32, _, 6>| {
        let h = fc(x, 5);
        let (sorted, indices) = argsort(h, descending = true);
        let again = take_along_axis(h, indices);
        let so_far = cumsum(sorted, exclusive = true) + cumsum(again, reverse = true);
        // The two that are largest get the two that are least; of places that occur twice, the last value stays, or all are added.
        let swapped = put_along_axis(0.5 * h, slice(indices, 1, 0, 2), slice(sorted, 1, 3, 5));
        let pairs = put_along_axis(swapped, indices / 2, again);
        let sums = put_along_axis(pairs, indices / 2, tanh(sorted), add = true);
        let turned = flip(so_far, 1) + roll(so_far, 2) + sums;
        mean(square(turned * [1.0, -1.0, 0.5, 2.0, 0.25]))
    }))
}

/// Cut, joined, put around.
fn moved() -> crate::Model {
    crate::model(network!(|x: Tensor<f32, _, 4>, image: Tensor<f32, _, 1, 3, 3>| {
        let (left, right) = split(fc(x, 6), 2);
        let (a, b, c) = unstack(stack([left, right, left * right]));
        let rows = tile(unsqueeze(a + b * c, 1), [3, 1]);
        let wide = pad(image, [0, 0, 1, 1, 1, 1], mode = reflect) + pad(image, [0, 0, 2, 0, 0, 2], value = 0.5);
        let small = slice(wide, [2, 3], [0, -1], [5, -1], strides = [2, -2]);
        let grown = expand(unsqueeze(rows, 1), [1, 3, 3]);
        mean(square(small * grown))
    }))
}

/// Classes and entries by their numbers, tables among them.
fn chosen() -> crate::Model {
    crate::model(network!(|x: Tensor<f32, _, 4>, kind: Tensor<i64, _>| {
        let scales = [[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]];
        let own = gather(scales, kind);
        let positions = [[0, 1], [2, 0]];
        let picked = gather_nd(scales, positions);
        let table = scatter(scales, [2, 0], [[9.0, 8.0], [7.0, 6.0]]);
        let table = scatter_nd_add(table, [[1], [1]], [[1.0, 1.0], [0.5, 0.25]]);
        let hot = one_hot(kind, 3);
        let best = argmax(x);
        let least = argmin(hot, keep_dim = true);
        let numbers = cast(arange(2, start = 1), f32);
        let agrees = cast(best == kind, f32);
        let y = fc(x, 2) * own + matmul(hot, table) + picked * numbers;
        (mean(square(sum(y, axis = 1)) * (1.0 + agrees)), sum(cast(least, f32)))
    }))
}

/// A metric with counts of its own.
fn ranked() -> crate::Model {
    let model = crate::model(network!(|x: Tensor<f32, _, 4>, label: Tensor<i64, _, 1>| {
        let logits = fc(x, 2, init = truncated_normal(0.0, 0.5));
        let area = auc(softmax(logits), label, num_thresholds = 20);
        (mean(softmax_with_cross_entropy(logits, label)), area)
    }));
    assert_eq!(model.parameter_names(), ["logits.w", "logits.b", "area.positives", "area.negatives"]);
    model
}
