"""Operators of tensors for `operator_cases.py`: a program of one function of `paddle` each, with a batch of unknown size."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.base.layer_helper import LayerHelper

random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype("float32")


def ids(bound, *shape):
    return random.randint(0, bound, shape).astype("int64")


def assigned(x):
    """Parts of a value are replaced: by numbers, by a value with fewer axes, and every second element."""
    put, all = paddle.static.setitem, slice(None)
    y = put(x, (all, slice(1, 3)), 0.5)
    y = put(y, (all, 0), x[:, 3])
    y = put(y, (all, all, slice(4, 0, -2)), 2.0)
    return put(y, 0, -1.0)


def assigned_where(x):
    return paddle.static.setitem(x, x > 0.5, -3.0)


def put(x, index):
    """Indices that occur several times."""
    return [
        paddle.put_along_axis(x, index, paddle.cast(index, "float32") + 0.25 * x[:, :4], 1),
        paddle.put_along_axis(x, index, paddle.ones_like(x[:, :4]), 1, reduce="add"),
    ]


def sampled(**attributes):
    return lambda x, grid: F.grid_sample(x, grid, **attributes)


def moved(x, offset, mask):
    filters = paddle.reshape(paddle.linspace(-1.0, 1.0, 6 * 2 * 9), [6, 2, 3, 3])
    kinds = dict(stride=2, padding=1, dilation=1, deformable_groups=2, groups=2)
    return paddle.vision.ops.deform_conv2d(x, offset, filters, mask=F.sigmoid(mask), **kinds)


def at_nodes(x, source, target):
    kinds = ("sum", "mean", "max", "min")
    sent = [paddle.geometric.send_u_recv(x, source, target, kind) for kind in kinds]
    return [*sent, paddle.geometric.send_uv(x, x * 2.0, source, target, "mul")]


def summed(value):
    """What is chosen while a program runs has as many rows as it turns out."""
    return [paddle.sum(value, 0), paddle.max(value * value, 0)]


def segments(x, numbers):
    """Segment 1 has no rows, and the last one has a number above theirs."""
    kinds = (paddle.geometric.segment_sum, paddle.geometric.segment_mean, paddle.geometric.segment_max)
    return [part for kind in kinds for part in summed(kind(x, numbers))]


def chosen(x):
    found, first, inverse, counts = paddle.unique(x, return_index=True, return_inverse=True, return_counts=True)
    return [inverse, *(part for value in (found, first, counts, paddle.bincount(x)) for part in summed(value))]


def proposed(scores, moves, size):
    place = np.stack(np.meshgrid(np.arange(5) * 8, np.arange(4) * 8), -1).reshape(4, 5, 1, 2)
    sides = np.array([[16, 16], [24, 10]])
    anchors = np.concatenate([place - sides / 2, place + sides / 2], -1).astype("float32")
    kinds = dict(pre_nms_top_n=30, post_nms_top_n=6, nms_thresh=0.5, min_size=4.0, return_rois_num=True)
    variances = paddle.full([4, 5, 2, 4], 0.5)
    found = paddle.vision.ops.generate_proposals(
        scores, moves, size, paddle.assign(anchors), variances, pixel_offset=True, **kinds
    )
    return [*summed(found[0]), *summed(found[1]), found[2]]


def spectra(x):
    spectrum = paddle.fft.rfft(x, axis=1)
    return [
        paddle.abs(spectrum),
        paddle.as_real(spectrum),
        paddle.angle(spectrum),
        paddle.abs(paddle.fft.fft(x, axis=1, norm="ortho")),
        paddle.real(paddle.fft.fft2(x, axes=(1, 2))),
        paddle.fft.irfft(spectrum * paddle.fft.rfft(x * 2.0, axis=1), axis=1),
    ]


def rotated(x):
    """Positions as angles of complex numbers."""
    angle = paddle.outer(paddle.arange(3).astype("float32"), paddle.linspace(0.5, 1.5, 2))
    pairs = paddle.as_complex(paddle.reshape(x, [0, 3, 2, 2]))
    turn = paddle.unsqueeze(paddle.complex(paddle.cos(angle), paddle.sin(angle)), 0)
    turned = paddle.scale(pairs * turn, 2.0) / paddle.full([2], 4.0)
    return [paddle.as_real(turned), paddle.abs(paddle.reshape(turned, [-1, 6]))]


def transposed_volumes(x):
    filters = paddle.reshape(paddle.linspace(-1.0, 1.0, 4 * 3 * 3 * 2 * 3), [4, 3, 3, 2, 3])
    wide = F.conv3d_transpose(x, filters, stride=[2, 1, 2], padding=1, output_padding=[1, 0, 1], groups=2)
    return [wide, F.conv3d_transpose(x, filters, dilation=2)]


def pooled(x):
    largest, places = F.max_pool2d(x, 2, 2, return_mask=True)
    return F.max_unpool2d(largest * 2.0, places, 2, 2)


def framed(x):
    parts = paddle.signal.frame(x, 6, 2)
    return [parts, paddle.signal.overlap_add(parts * 0.5, 2), paddle.signal.frame(x[0], 4, 3, axis=0)]


def ordered(x):
    value, place = paddle.kthvalue(x, 2, axis=1)
    return [value, place, paddle.searchsorted(paddle.sort(x, -1), x * 0.5), paddle.bucketize(x, paddle.linspace(-1.0, 1.0, 4))]


def running(x):
    return [
        paddle.cumprod(x, 1),
        paddle.logcumsumexp(x * 20.0, 2),
        *paddle.cummax(x, 1),
        *paddle.cummin(paddle.round(x), 2),
    ]


def diagonals(x):
    return [
        paddle.diagonal(x, 1, 1, 2),
        paddle.trace(x, -1, 1, 2),
        F.diag_embed(x[:, 0], 1, 1, 2),
        F.diag_embed(x[:, 0], -2),
        paddle.sum(paddle.tril_indices(4, 5, 1)) + paddle.sum(paddle.triu_indices(3)),
    ]


def products(x, y):
    return [
        paddle.kron(x[:2, :2], paddle.full([2, 1], 3.0)),
        paddle.cross(x, y, axis=1),
        paddle.dist(x, y, 3),
        paddle.dist(x, y, float("inf")),
        paddle.lerp(x, y, 0.3),
        paddle.atan2(x, y),
        paddle.isclose(x, x + 1e-7),
        paddle.allclose(x, y),
        F.bilinear(x, y, paddle.reshape(paddle.linspace(-1.0, 1.0, 18), [2, 3, 3]), paddle.full([1, 2], 0.5)),
        paddle.linalg.multi_dot([x, paddle.full([3, 2], 0.5), paddle.full([2, 2], 2.0)]),
        *paddle.broadcast_tensors([x, paddle.full([1, 3], 2)]),
    ]


def repeated(x):
    return [
        paddle.repeat_interleave(x, 2, 1),
        paddle.repeat_interleave(x, paddle.to_tensor([2, 0, 1], "int32"), 2),
        paddle.crop(x, [-1, 2, 2], [0, 1, 1]),
        paddle.index_add(x, paddle.to_tensor([2, 0, 2]), 1, paddle.full([1, 3, 3], 0.5) + x[:, :3]),
        paddle.index_sample(x[:, 0], paddle.cast(x[:, 1, :2] > 0, "int64")),
        paddle.histogram(x, 5, -1, 1),
        paddle.amax(x, 1),
        paddle.bitwise_and(x > 0, paddle.bitwise_not(x > 1)),
    ]


def squares(x):
    return [paddle.inverse(x), paddle.linalg.det(x), paddle.linalg.matrix_power(x, 5), paddle.inverse(x[:, :2, 1:])]


def of_kind(x):
    """A function that appends operators on a value, of any kind."""

    def operator(kind, inputs=None, slot="Out", **attributes):
        helper = LayerHelper(kind)
        inputs = {name: [value] for name, value in {"X": x, **(inputs or {})}.items()}
        found = helper.create_variable_for_type_inference("float32")
        helper.append_op(type=kind, inputs=inputs, outputs={slot: [found]}, attrs=attributes)
        return found

    return operator


def quantised(x):
    """Numbers of which some are beyond the scales, and half of them between two whole ones."""
    x = paddle.round(x * 16.0) / 16.0
    operator, one, each = of_kind(x), paddle.full([1], 1.5), paddle.linspace(0.5, 1.5, 3)
    found = []
    for scale, axis in ((one, -1), (each, 1)):
        kinds = dict(inputs={"Scale": scale, "ZeroPoint": scale * 0.0}, slot="Y", quant_axis=axis, is_test=True)
        whole = operator("quantize_linear", bit_length=4, round_type=0, **kinds)
        found += [whole, of_kind(whole)("dequantize_linear", bit_length=4, round_type=0, **kinds)]
    return found


def sizes(x):
    """Parts and paddings by sizes that a batch has."""
    table = paddle.reshape(paddle.linspace(0.0, 1.0, 40), [20, 2])
    height, width = paddle.shape(x)[2], paddle.shape(x)[3]
    return [
        table[:height],
        table[height:],
        x[:, :, 1:height],
        table[2 : width + 2],
        F.pad(x, [2, 1, 1, 2], mode="reflect"),
        F.pad(x, [2, 1, 9, 2], mode="replicate"),
        F.pad(x, [2, 1, 1, 2], mode="circular"),
    ]


def first_versions(x):
    """Operators that only older versions of PaddlePaddle write."""
    operator = of_kind(x)
    channels = {"Scale": paddle.linspace(1.0, 2.0, 4), "Bias": paddle.linspace(-1.0, 1.0, 4)}
    return [
        operator("bilinear_interp", out_h=7, out_w=3, align_corners=False, align_mode=0, interp_method="bilinear"),
        operator("bilinear_interp", scale=1.7, align_corners=False, align_mode=1, interp_method="bilinear"),
        operator("nearest_interp", scale=2.3, align_corners=False, interp_method="nearest"),
        operator("affine_channel", inputs=channels, data_layout="NCHW"),
        operator("shuffle_channel", group=2),
        paddle.renorm(x, 2.0, 1, 1.0),
        x[0, 0, 0] * paddle.logspace(-1, 2, 6, 2.0),
        paddle.conj(x) * paddle.angle(x),
    ]


def weighted(x, label):
    weight = paddle.full([6], 2.5)
    return F.binary_cross_entropy_with_logits(x, F.sigmoid(label), pos_weight=weight, reduction="none")


def beams(found, parents):
    return F.gather_tree(found, parents)


def placed(x):
    at = (paddle.to_tensor([0, -1, 0]), paddle.to_tensor([1, 2, 1]))
    values = paddle.to_tensor([5.0, 6.0, 7.0])
    return [paddle.index_put(x, at, values), paddle.index_put(x, at, values, accumulate=True)]


grid = np.concatenate([random.rand(2, 4, 3, 2) * 2.4 - 1.2, [[[[-1, 1], [1, -1], [0, 0]]]] * 2], 1).astype("float32")
image = floats(2, 3, 5, 6)
CASES = {
    "set_value": (assigned, floats(3, 4, 5)),
    "set_value_where": (assigned_where, floats(3, 4)),
    "put_along_axis": (put, floats(3, 6), ids(6, 3, 4)),
    "index_put": (placed, floats(2, 4)),
    "grid_sampler": (sampled(), image, grid),
    "grid_sampler_border": (sampled(padding_mode="border", align_corners=False), image, grid),
    "grid_sampler_reflection": (sampled(padding_mode="reflection", align_corners=False), image, grid * 2.5),
    "grid_sampler_aligned_reflection": (sampled(padding_mode="reflection"), image, grid * 2.5),
    "grid_sampler_nearest": (sampled(mode="nearest", align_corners=False), image, grid),
    "affine_grid": (lambda x: F.affine_grid(x, [2, 3, 4, 5]), floats(2, 2, 3)),
    "affine_grid_edges": (lambda x: F.affine_grid(x, [2, 3, 4, 5], align_corners=False), floats(2, 2, 3)),
    "deformable_conv": (moved, floats(2, 4, 5, 6), floats(2, 36, 3, 3), floats(2, 18, 3, 3)),
    "graph_send": (at_nodes, floats(4, 3), ids(4, 6), np.array([0, 2, 2, 3, 0, 3])),
    "fft": (spectra, floats(2, 9, 6)),
    "complex": (rotated, floats(2, 3, 4)),
    "conv3d_transpose": (transposed_volumes, floats(2, 4, 2, 3, 3)),
    "unpool": (pooled, floats(2, 3, 6, 4)),
    "frame": (framed, floats(2, 14)),
    "fold": (lambda x: F.fold(x, [5, 6], [2, 3], [2, 1], [1, 0], 1), floats(2, 18, 12)),
    "temporal_shift": (lambda x: F.temporal_shift(x, 3, 0.25), floats(6, 4, 2, 2)),
    "kthvalue": (ordered, floats(3, 5)),
    "cumprod": (running, floats(2, 5, 4)),
    "diagonal": (diagonals, floats(2, 4, 5)),
    "pairs": (products, floats(3, 3), floats(3, 3)),
    "repeat_interleave": (repeated, floats(2, 4, 3)),
    "cross_entropy_weighted": (weighted, floats(3, 6), floats(3, 6)),
    "square_matrices": (squares, floats(2, 3, 3)),
    "first_versions": (first_versions, floats(2, 4, 5, 6)),
    "quantize_linear": (quantised, floats(2, 3, 4)),
    "sizes_of_images": (sizes, floats(2, 2, 4, 5)),
    "segment_pool": (segments, floats(5, 2), np.array([0, 0, 2, 2, 7])),
    "unique": (chosen, ids(6, 11)),
    "generate_proposals": (proposed, floats(2, 2, 4, 5), floats(2, 8, 4, 5), np.array([[30, 38], [25, 40]], "float32")),
    "gather_tree": (beams, ids(9, 4, 2, 3), ids(3, 4, 2, 3)),
}
# Their first axes are no batch: the sizes of their inputs differ.
FIXED = {"segment_pool", "unique", "graph_send", "gather_tree", "index_put"}


def shape(name, array):
    """The shape that is declared, if another size than the first may vary, or none may."""
    if name == "sizes_of_images":
        return [-1, array.shape[1], -1, -1]
    return array.shape if name in FIXED else None


def registered(case):
    """Registers the cases."""
    for name, (function, *arrays) in CASES.items():

        def build(fed, name=name, function=function, arrays=arrays):
            inputs = [fed(f"x{k}", array, shape=shape(name, array)) for k, array in enumerate(arrays)]
            found = function(*inputs)
            return list(found) if isinstance(found, (list, tuple)) else [found]

        build.__name__ = name
        case(build)
