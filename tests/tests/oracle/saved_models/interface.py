"""The rest of PaddlePaddle's interface: a model for each function, or for some of a kind. Releases write them differently."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from registry import S, model

ARRAY, ROW, PAIR, IMAGE, VOLUME, LABEL, SQUARE = "array", "row", "pair", "image", "volume", "label", "square"
SHAPES = {
    ARRAY: [S(None, 4, 6)],
    ROW: [S(None, 5)],
    PAIR: [S(None, 5), S(None, 5, name="y")],
    IMAGE: [S(None, 4, 6, 6)],
    VOLUME: [S(None, 2, 4, 6, 6)],
    LABEL: [S(None, 5), S(None, dtype="int64", name="label")],
    SQUARE: [S(None, 3, 3)],
}


def weight(*shape):
    """Numbers that each model has of its own."""
    return paddle.to_tensor(np.sin(np.arange(np.prod(shape), dtype="float32")).reshape(shape))


def probability(x):
    return F.sigmoid(x) * 0.98 + 0.01


def put_in(x):
    y = x * 1.0
    y[:, 1] = 3.0
    y[:, 2:, 1:3] = x[:, :2, 3:5]
    return y


FUNCTIONS = {
    "arcs": (ROW, lambda x: [paddle.acos(x / 9), paddle.asin(x / 9), paddle.atan(x), paddle.acosh(x * x + 1.1)]),
    "areas": (ROW, lambda x: [paddle.asinh(x), paddle.atanh(x / 9), paddle.cosh(x), paddle.sinh(x)]),
    "circles": (ROW, lambda x: [paddle.cos(x), paddle.tan(x / 4), paddle.ceil(x), paddle.square(x)]),
    "logarithms": (ROW, lambda x: [paddle.log2(x * x + 1), paddle.log10(x * x + 1), paddle.reciprocal(x + 9)]),
    "sum_of_list": (PAIR, lambda x, y: paddle.add_n([x, y, x])),
    "addmm": (ROW, lambda x: paddle.addmm(weight(4), x, weight(5, 4), beta=0.5, alpha=2.0)),
    "affine_grid": (SQUARE, lambda x: F.affine_grid(x[:, :2], [3, 2, 4, 5])),
    "comparisons": (PAIR, lambda x, y: [x >= y, x <= y, paddle.equal_all(x, y), paddle.isclose(x, y + 0.0)]),
    "near": (PAIR, lambda x, y: [paddle.allclose(x, x + 1e-9), paddle.isclose(x, y, rtol=1.0, atol=0.1)]),
    "logic": (PAIR, lambda x, y: [paddle.logical_xor(x > 0, y > 0), (x > 0) & (y > 0), (x > 0) | (y > 0)]),
    "bits": (PAIR, lambda x, y: [paddle.bitwise_xor(x > 0, y > 0), ~(x > 0)]),
    "cross_entropy_of_two": (PAIR, lambda x, y: F.binary_cross_entropy(probability(x), probability(y))),
    "logits_of_two": (PAIR, lambda x, y: F.binary_cross_entropy_with_logits(x, probability(y))),
    "losses": (
        PAIR,
        lambda x, y: [
            F.smooth_l1_loss(x, y, reduction="none"),
            F.kl_div(x, probability(y), reduction="none"),
            F.log_loss(probability(x[:, :1]), probability(y[:, :1])),
            F.mse_loss(x, y),
            F.l1_loss(x, y),
        ],
    ),
    "classes": (LABEL, lambda x, label: [F.cross_entropy(x, label, reduction="none"), F.nll_loss(F.log_softmax(x), label)]),
    "classes_ignored": (LABEL, lambda x, label: F.cross_entropy(x, label, ignore_index=2, reduction="none")),
    "classes_weighted": (LABEL, lambda x, label: F.cross_entropy(x, label, weight=weight(5) + 2)),
    "ranking": (PAIR, lambda x, y: [F.margin_ranking_loss(x, y, x - y), F.cosine_embedding_loss(x, y, paddle.sign(x[:, 0]))]),
    "triplets": (PAIR, lambda x, y: F.triplet_margin_loss(x, y, x * y, reduction="none")),
    "focal": (PAIR, lambda x, y: F.sigmoid_focal_loss(x, paddle.cast(y > 0, "float32"))),
    "transposed": (
        IMAGE,
        lambda x: [
            F.conv2d_transpose(x, weight(4, 3, 3, 3), stride=2, padding=1),
            F.conv2d_transpose(x, weight(4, 1, 3, 3), stride=2, groups=4, output_size=[13, 14]),
            F.conv2d_transpose(x, weight(4, 3, 2, 2), output_padding=1, stride=2),
        ],
    ),
    "depthwise": (IMAGE, lambda x: F.conv2d(x, weight(4, 1, 3, 3), stride=2, padding="SAME", groups=4)),
    "dilated": (IMAGE, lambda x: F.conv2d(x, weight(2, 2, 3, 3), dilation=2, padding=[1, 2], groups=2)),
    "signals": (ARRAY, lambda x: [F.conv1d(x, weight(3, 4, 3), padding=1), F.conv1d_transpose(x, weight(4, 3, 3), stride=2)]),
    "transposed_volumes": (VOLUME, lambda x: F.conv3d_transpose(x, weight(2, 3, 2, 2, 2), stride=2)),
    "group_norm": (IMAGE, lambda x: F.group_norm(x, 2, weight=weight(4), bias=weight(4))),
    "norms_of_all": (IMAGE, lambda x: [F.instance_norm(x), F.local_response_norm(x, 3), F.layer_norm(x, [6, 6])]),
    "batch_norm": (IMAGE, lambda x: F.batch_norm(x, weight(4), weight(4) + 2, weight(4), weight(4))),
    "norms": (ARRAY, lambda x: [paddle.linalg.norm(x, "fro", axis=[1, 2]), paddle.norm(x, np.inf, axis=1), paddle.norm(x, 3, 2)]),
    "activations": (
        ROW,
        lambda x: [
            F.elu(x),
            F.relu6(x * 3),
            F.hardshrink(x),
            F.hardsigmoid(x),
            F.hardtanh(x),
            F.softshrink(x),
            F.softplus(x, 2.0, 5.0),
            F.swish(x),
            F.tanhshrink(x),
            F.thresholded_relu(x, 0.3),
            F.log_sigmoid(x),
            paddle.stanh(x),
            F.glu(x[:, :4]),
        ],
    ),
    "slopes": (IMAGE, lambda x: [F.prelu(x, weight(4)), F.prelu(x, weight(1)), F.maxout(x, 2)]),
    "random_slopes": (ROW, lambda x: F.rrelu(x, training=False)),
    "powers": (PAIR, lambda x, y: [paddle.pow(x * x + 1, y), paddle.pow(x, 3.0), paddle.fmax(x, y), paddle.fmin(x, y)]),
    "extremes": (PAIR, lambda x, y: [paddle.minimum(x, y), paddle.min(x, 1), paddle.max(x), paddle.amax(x, 1), paddle.prod(x, 1)]),
    "running": (ARRAY, lambda x: [paddle.cumsum(x, 1), paddle.cummin(x, 2)[0], paddle.cumprod(x, 2), paddle.logcumsumexp(x, 1)]),
    "sums": (ARRAY, lambda x: [paddle.sum(x), paddle.sum(x, [1, 2]), paddle.mean(x, 1, keepdim=True), paddle.sum(x > 0, 1)]),
    "sums_of_whole_numbers": (ARRAY, lambda x: paddle.sum(paddle.cast(x * 3, "int32"), 1)),
    "crops": (ARRAY, lambda x: paddle.crop(x, [-1, 2, 3], [0, 1, 2])),
    "expansions": (ROW, lambda x: [x.unsqueeze(1).expand([-1, 3, 5]), x.unsqueeze(1).tile([1, 2, 2]), paddle.expand_as(x[:, :1], x)]),
    "broadcasts": (ROW, lambda x: [paddle.broadcast_to(x.unsqueeze(1), [-1, 2, 5]), *paddle.meshgrid(weight(3), weight(2))]),
    "identities": (ROW, lambda x: [x @ paddle.eye(5, 4), paddle.diag(weight(3)), paddle.diag(weight(3), 1, 2.0), x @ paddle.ones([5, 2])]),
    "ranges": (ROW, lambda x: [x + paddle.arange(5, dtype="float32"), paddle.arange(1, 7, 2) + 0 * x[0, 0], x * paddle.linspace(0, 1, 5), x * paddle.logspace(0, 1, 5), paddle.zeros_like(x)]),
    "triangles": (SQUARE, lambda x: [paddle.tril(x), paddle.triu(x, 1), paddle.trace(x, 0, 1, 2), paddle.diagonal(x, 0, 1, 2)]),
    "places_of_triangles": (ROW, lambda x: [paddle.tril_indices(4, 4, 0), paddle.triu_indices(3, 4, 1), x]),
    "squares": (SQUARE, lambda x: [paddle.linalg.det(x + 3 * paddle.eye(3)), paddle.linalg.inv(x + 4 * paddle.eye(3))]),
    "products_of_many": (SQUARE, lambda x: [x @ x, paddle.linalg.multi_dot([weight(2, 3), weight(3, 3), weight(3, 4)])]),
    "vectors": (ROW, lambda x: [paddle.mv(weight(3, 5), weight(5)), paddle.dot(weight(5), weight(5)), x @ weight(5, 2)]),
    "bilinear": (PAIR, lambda x, y: F.bilinear(x, y, weight(3, 5, 5), weight(1, 3))),
    "distances": (PAIR, lambda x, y: [paddle.dist(x, y, 2), F.pairwise_distance(x, y), F.cosine_similarity(x, y)]),
    "taken": (ARRAY, lambda x: [paddle.index_select(x, paddle.to_tensor([2, 0]), 1), paddle.gather(x, paddle.to_tensor([1, 3]), axis=2)]),
    "sampled": (ROW, lambda x: paddle.index_sample(x, paddle.argsort(x, -1)[:, :2])),
    "scattered": (ROW, lambda x: x[0] + paddle.scatter(weight(4, 5), paddle.to_tensor([1, 3]), weight(2, 5) * 2)),
    "scattered_sums": (ROW, lambda x: x[0] + paddle.scatter_nd_add(weight(4, 5), paddle.to_tensor([[1], [1]]), weight(2, 5))),
    "added_at_places": (ARRAY, lambda x: paddle.index_add(x, paddle.to_tensor([0, 2]), 1, x[:, 1:3] * 2.0)),
    "multiplexed": (PAIR, lambda x, y: paddle.multiplex([x, y], paddle.cast(x[:, :1] > 0, "int32"))),
    "masks": (LABEL, lambda x, label: [x, F.sequence_mask(label, 6, "float32")]),
    "shards": (LABEL, lambda x, label: [x, paddle.shard_index(label.unsqueeze(1), 20, 2, 0)]),
    "one_hot": (LABEL, lambda x, label: [x, F.one_hot(label, 5), F.label_smooth(F.one_hot(label, 5))]),
    "counts": (LABEL, lambda x, label: [x, label, paddle.bincount(paddle.to_tensor([0, 1, 1, 3])), paddle.histogram(weight(9), 4, -1, 1)]),
    "parts": (ARRAY, lambda x: [*paddle.unstack(x, 1), *paddle.split(x, [2, -1], 2), *paddle.chunk(x, 2, 1), *paddle.unbind(x, 1)]),
    "assigned": (ARRAY, put_in),
    "put_along": (ARRAY, lambda x: paddle.put_along_axis(x, paddle.argmax(x, 2, keepdim=True), x[..., :1] * 2 + 9.0, 2)),
    "taken_along": (ARRAY, lambda x: paddle.take_along_axis(x, paddle.argmin(x, 2, keepdim=True), 2)),
    "parts_of_numbers": (ROW, lambda x: [paddle.cast(paddle.isfinite(x), "float32"), paddle.cast(paddle.isinf(x), "float32"), paddle.frac(x), paddle.trunc(x)]),
    "spectra": (ROW, lambda x: [paddle.abs(paddle.fft.rfft(x)), paddle.real(paddle.fft.fft(x)), paddle.imag(paddle.fft.fft(x))]),
    "complex": (ARRAY, lambda x: paddle.as_real(paddle.as_complex(x.reshape([-1, 4, 3, 2])) * 2.0)),
    "frames": (ROW, lambda x: paddle.signal.frame(x, 3, 1)),
    "shifted": (IMAGE, lambda x: [F.channel_shuffle(x, 2), F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2)]),
    "unpooled": (IMAGE, lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2)),
    "pools": (IMAGE, lambda x: [F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.adaptive_max_pool2d(x, 2)]),
    "powers_of_windows": (IMAGE, lambda x: [F.lp_pool2d(x, 2, 3, 2, 1), F.lp_pool2d(x.abs(), 3.0, 2)]),
    "nearest_of_other_sizes": (IMAGE, lambda x: [F.interpolate(x, [9, 7], mode="nearest"), F.interpolate(x, [4, 6], mode="nearest")]),
    "pads": (IMAGE, lambda x: [F.pad(x, [1, 2, 0, 1]), F.pad(x, [1, 1, 1, 1], "replicate"), F.pad(x, [1, 0, 2, 0], value=2.0)]),
    "renormed": (ARRAY, lambda x: paddle.renorm(x, 2.0, 1, 1.0)),
    "clipped": (ARRAY, lambda x: [paddle.clip(x, -0.5, 0.5), paddle.clip(x, min=0.1)]),
    "squares_of_sums": (ARRAY, lambda x: [paddle.logsumexp(x, [1, 2]), paddle.var(x, 1), paddle.std(x, 2), paddle.nansum(x, 1)]),
    "ctc": (ROW, lambda x: x.mean() + F.ctc_loss(F.log_softmax(weight(6, 1, 5)), paddle.to_tensor([[1, 2]], "int32"), paddle.to_tensor([6]), paddle.to_tensor([2]))),
    "deformed": (IMAGE, lambda x: paddle.vision.ops.deform_conv2d(x, F.conv2d(x, weight(18, 4, 3, 3)), weight(2, 4, 3, 3))),
    "spectral_norm": (ROW, lambda x: x @ F.normalize(weight(5, 3), axis=0)),
    "ordered": (ARRAY, lambda x: [*paddle.topk(x, 2, 2), *paddle.sort(x, 1).split(2, 1), *paddle.kthvalue(x, 2, 1), *paddle.mode(x, 2)][:6]),
    "repeats": (ARRAY, lambda x: [paddle.repeat_interleave(x, 2, 1), paddle.roll(x, 1, 2), paddle.flip(x, [1]), paddle.rot90(x, 1, [1, 2])]),
    "dropouts": (ROW, lambda x: [F.dropout(x, 0.4, training=False), F.dropout(x, 0.4, training=False, mode="downscale_in_infer")]),
    "moved_axes": (IMAGE, lambda x: [paddle.moveaxis(x, 1, 3), x.transpose([0, 2, 1, 3]), paddle.t(weight(3, 2)), x.flatten(2)]),
    "outer": (ROW, lambda x: [paddle.outer(weight(3), weight(2)), paddle.inner(x, weight(2, 5)), paddle.kron(x, weight(1, 2))]),
}


class Function(nn.Layer):
    """A function of one value."""

    function = None

    def forward(self, x):
        return as_tuple(self.function(x))


class FunctionOfTwo(Function):
    def forward(self, x, y):
        return as_tuple(self.function(x, y))


class FunctionOfLabels(Function):
    def forward(self, x, label):
        return as_tuple(self.function(x, label))


def as_tuple(found):
    return tuple(found) if isinstance(found, (list, tuple)) else found


for name, (inputs, function) in FUNCTIONS.items():
    base = {PAIR: FunctionOfTwo, LABEL: FunctionOfLabels}.get(inputs, Function)
    cls = type(f"api_{name}", (base,), {"function": staticmethod(function)})
    model(*SHAPES[inputs])(cls)
