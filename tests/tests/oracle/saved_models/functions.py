"""Functions of one or few operators each, on matrices: what any release may come to compute, or write, in another way."""

import paddle
import paddle.nn.functional as F
from paddle import nn
from registry import S, model

FUNCTIONS = {
    "slices": lambda x: (x[:, -2:], x[:, :-1, 1:-1], x[..., ::2], x[:, 1::2]),
    "slices_backwards": lambda x: (x[:, ::-1], x[:, ::-2], x[:, 2::-1], x[..., -2::-2], x[:, -1:0:-1]),
    "turned": lambda x: paddle.rot90(x, 1, [1, 2]),
    "turned_back": lambda x: paddle.rot90(x, -1, [1, 2]),
    "flipped": lambda x: paddle.flip(x, [1, 2]),
    "flipped_last": lambda x: x.flip([-1]),
    "rolled_inside": lambda x: paddle.roll(x, [1, -2], [1, 2]),
    "taken_by_list": lambda x: x[:, [0, 2, 3]],
    "taken_last": lambda x: x[:, :, [5, 0]],
    "new_axis": lambda x: x[:, None, :, 2],
    "rounded": lambda x: paddle.round(x * 10) / 10,
    "quotients": lambda x: paddle.floor(x * 4) // 3.0,
    "remainders": lambda x: (x * 7) % 3.0,
    "remainders_of_negative": lambda x: paddle.remainder(x * 5, paddle.full_like(x, -2.0)),
    "deviations": lambda x: (x.std(axis=-1), x.var(axis=[1, 2]), paddle.std(x, axis=1, unbiased=False)),
    "medians": lambda x: paddle.median(x, axis=-1),
    "second_least": lambda x: paddle.kthvalue(x, 2, axis=-1)[0],
    "sorts": lambda x: (paddle.sort(x, axis=1, descending=True), paddle.argsort(x, axis=-1)),
    "largest": lambda x: paddle.topk(x, 2, axis=1),
    "running_largest": lambda x: paddle.cummax(x, axis=-1)[0],
    "running_logsumexp": lambda x: paddle.logcumsumexp(x, axis=-1),
    "running_products": lambda x: paddle.cumprod(x, dim=1),
    "differences": lambda x: paddle.diff(x, axis=-1),
    "triangles": lambda x: (paddle.tril(x), paddle.triu(x, 1)),
    "clipped": lambda x: paddle.clip(x, -0.5, 0.7),
    "padded_reflect": lambda x: F.pad(x, [1, 2], mode="reflect", data_format="NCL"),
    "padded_circular": lambda x: F.pad(x, [1, 2], mode="circular", data_format="NCL"),
    "padded": lambda x: F.pad(x, [0, 0, 1, 1, 2, 0]),
    "bilinear": lambda x: F.interpolate(x.unsqueeze(1), size=[7, 9], mode="bilinear", align_corners=False),
    "nearest": lambda x: F.interpolate(x.unsqueeze(1), scale_factor=2, mode="nearest"),
    "bicubic": lambda x: F.interpolate(x.unsqueeze(1), size=[3, 5], mode="bicubic"),
    "area": lambda x: F.interpolate(x.unsqueeze(1), size=[2, 3], mode="area"),
    "adaptive_pools": lambda x: (F.adaptive_avg_pool1d(x, 4), F.adaptive_max_pool1d(x, 5)),
    "means_of_windows": lambda x: F.avg_pool2d(x.unsqueeze(1), 3, 2, 1, exclusive=True),
    "means_with_padding": lambda x: F.avg_pool2d(x.unsqueeze(1), 3, 2, 1, exclusive=False),
    "means_ceil": lambda x: F.avg_pool2d(x.unsqueeze(1), 3, 2, 0, ceil_mode=True),
    "largest_ceil": lambda x: F.max_pool2d(x.unsqueeze(1), 3, 2, 1, ceil_mode=True),
    "windows": lambda x: F.unfold(x.unsqueeze(1), [2, 3], 1, 1),
    "activations": lambda x: (
        F.gelu(x),
        F.gelu(x, True),
        F.silu(x),
        F.mish(x),
        F.hardswish(x),
        F.softsign(x),
        F.celu(x),
        F.selu(x),
    ),
    "layer_norm": lambda x: F.layer_norm(x, [4, 6]),
    "instance_norm": lambda x: F.instance_norm(x),
    "lrn": lambda x: F.local_response_norm(x.unsqueeze(1).tile([1, 5, 1, 1]), 3),
    "norms": lambda x: (x.norm(p=2, axis=-1), paddle.linalg.norm(x, p=1, axis=1), F.normalize(x, axis=1)),
    "distances": lambda x: paddle.cdist(x, x * 2),
    "einsum_of_rows": lambda x: paddle.einsum("bij,bkj->bik", x, x),
    "products": lambda x: paddle.bmm(x, x.transpose([0, 2, 1])),
    "kronecker": lambda x: paddle.kron(x, paddle.ones([2, 2])),
    "taken_along": lambda x: paddle.take_along_axis(x, paddle.argsort(x, axis=1), axis=1),
    "masked": lambda x: paddle.masked_fill(x, x > 0, 0.5),
    "leaky_by_where": lambda x: paddle.where(x > 0, x, x * 0.1),
    "searchsorted": lambda x: paddle.searchsorted(paddle.to_tensor([-1.0, 0.0, 1.0]), x),
    "bucketize": lambda x: paddle.bucketize(x, paddle.to_tensor([-1.0, 0.0, 1.0])),
    "one_hot_of_six": lambda x: F.one_hot((paddle.abs(x) * 2).astype("int64").clip(0, 4), 5),
    "softmaxes": lambda x: (F.softmax(x, axis=1), F.log_softmax(x, axis=-1)),
    "attention": lambda x: F.scaled_dot_product_attention(
        x.reshape([-1, 4, 2, 3]), x.reshape([-1, 4, 2, 3]), x.reshape([-1, 4, 2, 3])
    ),
    "stacks_and_splits": lambda x: (
        paddle.stack([x, x * 2], axis=2),
        paddle.concat([x, x], axis=-1),
        *paddle.split(x, [1, -1], axis=1),
        *paddle.chunk(x, 3, axis=2),
    ),
    "unbound": lambda x: paddle.unbind(x, axis=1),
    "repeated_places": lambda x: paddle.repeat_interleave(x, 2, axis=1),
    "expanded": lambda x: x[:, :1].expand([-1, 3, -1]),
    "trapezoids": lambda x: paddle.trapezoid(x, axis=-1),
    "lerp": lambda x: paddle.lerp(x, x * 2, 0.3),
    "heaviside": lambda x: paddle.heaviside(x, paddle.full([1], 0.5)),
    "parts_of_numbers": lambda x: (paddle.frac(x), paddle.trunc(x), paddle.sign(x), paddle.sgn(x)),
    "sinc": lambda x: paddle.sinc(x),
    "hypot": lambda x: paddle.hypot(x, x + 1),
    "logit": lambda x: paddle.logit(F.sigmoid(x), 1e-6),
    "no_nan": lambda x: paddle.nan_to_num(paddle.log(x)),
    "pixels": lambda x: F.pixel_unshuffle(x.unsqueeze(1), 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x.unsqueeze(-1), 2),
    "sampled_grid": lambda x: F.grid_sample(
        x.unsqueeze(1), paddle.tanh(x[:, :2].reshape([-1, 3, 2, 2])), align_corners=False
    ),
    "unflatten": lambda x: paddle.unflatten(x, -1, [2, 3]),
    "logsumexp": lambda x: paddle.logsumexp(x, axis=[1, 2]),
    "nansum": lambda x: (paddle.nansum(x, axis=1), paddle.nanmean(x, axis=-1)),
    "counts": lambda x: paddle.count_nonzero(x > 0, axis=-1),
    "truths": lambda x: ((x > 0).all(axis=-1), (x > 0).any(axis=1)),
    "extremes": lambda x: (paddle.amax(x, axis=1), paddle.amin(x, axis=-1), x.max(axis=[1, 2])),
    "products_of_rows": lambda x: paddle.prod(x, axis=-1),
    "where_extremes_are": lambda x: (paddle.argmax(x, axis=1), paddle.argmin(x, axis=-1, keepdim=True)),
    "moveaxis": lambda x: paddle.moveaxis(x, 1, 2),
    "dot": lambda x: paddle.dot(x[:, 0], x[:, 1]),
    "cross": lambda x: paddle.cross(x[..., :3], x[..., 3:], axis=-1),
    "cos_sim": lambda x: F.cosine_similarity(x[:, 0], x[:, 1], axis=-1),
    "gated": lambda x: F.glu(x, axis=-1),
    "root_mean_square": lambda x: x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6),
    "halves_turned": lambda x: paddle.concat([-x[..., 3:], x[..., :3]], -1),
    "diagonals": lambda x: (paddle.diagonal(x, axis1=1, axis2=2), paddle.diag_embed(x[:, 0])),
    "smoothed_labels": lambda x: paddle.nn.functional.label_smooth(x),
    "functions_of_one_number": lambda x: (
        paddle.log1p(paddle.abs(x)),
        paddle.expm1(x),
        paddle.erf(x),
        paddle.rsqrt(paddle.abs(x) + 0.1),
        paddle.atan2(x, x + 2),
    ),
    "gamma_and_inverse_error_function": lambda x: (
        paddle.lgamma(3 * x),
        paddle.digamma(paddle.abs(x) + 0.1),
        paddle.digamma(-0.3 - 0.4 * paddle.nn.functional.sigmoid(x)),
        paddle.erfinv(0.99 * paddle.tanh(x)),
    ),
}


def register(name, function):
    def forward(self, x):
        return function(x)

    cls = type(f"function_{name}", (nn.Layer,), {"forward": forward})
    model(S(None, 4, 6))(cls)


for name, function in FUNCTIONS.items():
    register(name, function)
