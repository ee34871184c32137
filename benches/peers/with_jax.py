"""A workload in JAX: `with_jax.py WORKLOAD jit THREADS`. A whole step is one compiled function. Images have their channels
last, as libraries for JAX keep them, and windows of a pooling that lie side by side are a reshape."""

import os
import sys

WORKLOAD, THREADS = sys.argv[1], sys.argv[3]
# How many threads XLA's pool has.
os.environ["NPROC"] = THREADS

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

import data
import shapes
from serve import serve

HEADS = 4


def dense(layer, x):
    return x @ layer["w"] + layer["b"]


def convolution(filters, x, stride=1, same=True):
    """Filters of fewer channels than the images are those of groups."""
    around = (filters.shape[0] - 1) // 2 if same else 0
    padding, order = [(around, around)] * 2, ("NHWC", "HWIO", "NHWC")
    groups = x.shape[-1] // filters.shape[2]
    return lax.conv_general_dilated(
        x, filters, (stride, stride), padding, dimension_numbers=order, feature_group_count=groups
    )


def max_pool(x):
    rows, height, width, channels = x.shape
    return x.reshape(rows, height // 2, 2, width // 2, 2, channels).max((2, 4))


def normalised(layer, x, stats, stride=1):
    """A convolution and batch norm. `stats` are running means and variances of all layers that are still to come, and those
    of the layers that have been: in training they move on, in inference they are what is used."""
    x, (mean, variance) = convolution(layer["w"], x, stride), stats["before"].pop(0)
    if stats["training"]:
        axes, count = (0, 1, 2), x.size // x.shape[-1]
        seen_mean = x.mean(axes)
        seen_variance = jnp.square(x - seen_mean).mean(axes)
        unbiased = seen_variance * (count / (count - 1))
        stats["after"].append((0.9 * mean + 0.1 * seen_mean, 0.9 * variance + 0.1 * unbiased))
        mean, variance = seen_mean, seen_variance
    return (x - mean) * (lax.rsqrt(variance + 1e-5) * layer["scale"]) + layer["shift"]


def perceptron(p, x, stats):
    return dense(p[2], nn.relu(dense(p[1], nn.relu(dense(p[0], x)))))


def lenet(p, x, stats):
    for layer in p[:2]:
        x = max_pool(nn.relu(convolution(layer["w"], x, same=False) + layer["b"]))
    # The weights behind it are for channels first.
    x = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
    return dense(p[3], nn.relu(dense(p[2], x)))


def resnet(p, x, stats):
    layers = iter(p)
    x = nn.relu(normalised(next(layers), x, stats))
    for block in range(9):
        halve = block in (3, 6)
        way = nn.relu(normalised(next(layers), x, stats, 2 if halve else 1))
        way = normalised(next(layers), way, stats)
        x = nn.relu(way + (normalised(next(layers), x, stats, 2) if halve else x))
    return dense(next(layers), x.mean((1, 2)))


def separable(p, x, stats):
    layers = iter(p)
    x = nn.relu(normalised(next(layers), x, stats, 2))
    for _, stride in shapes.SEPARABLE:
        x = nn.relu(normalised(next(layers), x, stats, stride))
        x = nn.relu(normalised(next(layers), x, stats))
    return dense(next(layers), x.mean((1, 2)))


def unet(p, x, stats):
    layers = iter(p)

    def twice(x):
        for _ in range(2):
            x = nn.relu(normalised(next(layers), x, stats))
        return x

    def larger(x, skip):
        up = next(layers)
        rows, height, width, _ = x.shape
        x = jnp.einsum("bhwc,coij->bhiwjo", x, up["w"]).reshape(rows, 2 * height, 2 * width, -1) + up["b"]
        return twice(jnp.concatenate([skip, x], -1))

    fine = twice(x)
    middle = twice(max_pool(fine))
    coarse = twice(max_pool(middle))
    x, last = larger(larger(coarse, middle), fine), next(layers)
    return convolution(last["w"], x) + last["b"]


def layer_norm(layer, x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * layer["scale"] + layer["shift"]


def transformer(p, words, mask=None, causal=True):
    x = p["word"][words] + p["place"][:words.shape[1]]
    for layer in p["layers"]:
        asked = dense(layer["asked"], layer_norm(layer["known"], x))
        heads = [part.reshape(*part.shape[:2], HEADS, -1) for part in jnp.split(asked, 3, -1)]
        mask_of_keys = None if mask is None or causal else mask[:, None, None, :]
        seen = nn.dot_product_attention(*heads, mask=mask_of_keys, is_causal=causal)
        x = x + dense(layer["out"], seen.reshape(x.shape))
        wide = nn.gelu(dense(layer["wide"], layer_norm(layer["seen"], x)), approximate=False)
        x = x + dense(layer["narrow"], wide)
    return layer_norm(p["norm"], x)


def cross_entropy(logits, label):
    """The mean over all labels but those of padding, which are negative."""
    losses = -jnp.take_along_axis(nn.log_softmax(logits), jnp.maximum(label, 0)[..., None], -1)[..., 0]
    return jnp.where(label < 0, 0, losses).sum() / (label >= 0).sum()


def label(model):
    def loss(p, stats, x, y):
        stats = {"training": True, "before": list(stats), "after": []}
        cost = cross_entropy(model(p, channels_last(x), stats), y)
        return cost, stats["after"]

    return loss


def channels_last(x):
    return x.transpose(0, 2, 3, 1) if x.ndim == 4 else x


def classify(p, stats, words, lengths, label):
    mask = jnp.arange(words.shape[1]) < lengths[:, None]
    x = transformer(p, words, mask, causal=False) * mask[..., None]
    return cross_entropy(dense(p["last"], x.sum(1) / lengths[:, None]), label), stats


def foretell_ragged(p, stats, words, lengths, following):
    return foretell(p, stats, words, following)


def foretell(p, stats, words, following):
    return cross_entropy(dense(p["last"], transformer(p, words)), following), stats


def sgd(rate, momentum=0.0):
    def start(p):
        return jax.tree.map(jnp.zeros_like, p) if momentum else None

    def update(p, gradients, velocity, at):
        if momentum:
            gradients = velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradients)
        return jax.tree.map(lambda p, g: p - rate * g, p, gradients), velocity

    return start, update


def adam(rate, first=0.9, second=0.999):
    def start(p):
        return jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)

    def update(p, gradients, moments, at):
        m = jax.tree.map(lambda m, g: first * m + (1 - first) * g, moments[0], gradients)
        v = jax.tree.map(lambda v, g: second * v + (1 - second) * g * g, moments[1], gradients)
        # A power near 1 taken from 1 would leave four digits.
        less = lambda decay: -jnp.expm1(at * np.log(decay))
        rate_now, root = rate / less(first), jnp.sqrt(less(second))
        return jax.tree.map(lambda p, m, v: p - rate_now * m / (jnp.sqrt(v) / root + 1e-8), p, m, v), (m, v)

    return start, update


def layer_of(weights):
    """A layer's parameters: filters with their channels last, and what may be added or scaled behind them."""
    if weights.ndim == 2:
        return {"w": weights, "b": jnp.zeros(weights.shape[1])}
    outputs, _, size, _ = weights.shape
    if size == 2:
        return {"w": weights, "b": jnp.zeros(weights.shape[1])}
    plain = size == 5 or (WORKLOAD == "unet" and size == 1)
    own = {"b": jnp.zeros(outputs)} if plain else {"scale": jnp.ones(outputs), "shift": jnp.zeros(outputs)}
    return {"w": weights.transpose(2, 3, 1, 0), **own}


def parameters():
    if "coder" not in WORKLOAD:
        return [layer_of(weights) for weights in data.weights(WORKLOAD)]
    w = iter(data.weights(WORKLOAD))
    word, place = next(w), next(w)
    norm = lambda: {"scale": jnp.ones(word.shape[1]), "shift": jnp.zeros(word.shape[1])}

    def block():
        asked = layer_of(np.concatenate([next(w), next(w), next(w)], axis=1))
        rest = {name: layer_of(next(w)) for name in ("out", "wide", "narrow")}
        return {"asked": asked, **rest, "known": norm(), "seen": norm()}

    layers = [block(), block()]
    return {"word": word, "place": place, "layers": layers, "norm": norm(), "last": layer_of(next(w))}


def statistics(p):
    """Running means and variances of the layers that have them."""
    sizes = [len(layer["scale"]) for layer in p if "scale" in layer] if isinstance(p, list) else []
    return [(jnp.zeros(size), jnp.ones(size)) for size in sizes]


TRAINED = {
    "W1": (label(perceptron), sgd(0.1)),
    "W2": (label(lenet), adam(1e-3)),
    "W7": (label(resnet), sgd(0.01, 0.9)),
    "unet": (label(unet), sgd(0.01, 0.9)),
    "separable": (label(separable), sgd(0.01, 0.9)),
    "encoder": (classify, adam(1e-3)),
    "decoder": (foretell_ragged, adam(1e-3)),
    "decoder64": (foretell, adam(1e-3)),
}


def training():
    loss, (start, update) = TRAINED[WORKLOAD]
    pool, p = data.pool(WORKLOAD), jax.device_put(parameters())
    state = [p, statistics(p), start(p)]

    def whole(p, stats, moments, at, *batch):
        (cost, stats), gradients = jax.value_and_grad(loss, has_aux=True)(p, stats, *batch)
        return *update(p, gradients, moments, at), stats, cost

    whole = jax.jit(whole, donate_argnums=(0, 1, 2))

    def step(at):
        batch = pool[at % data.POOL]
        p, moments, stats, cost = whole(*state, np.float32(at + 1), *batch)
        state[:] = p, stats, moments
        return float(cost)

    return step


def inference():
    pool, p = data.pool(WORKLOAD), jax.device_put(parameters())
    stats = statistics(p)

    def probabilities(p, stats, x):
        stats = {"training": False, "before": list(stats)}
        return nn.softmax(resnet(p, channels_last(x), stats))

    call = jax.jit(probabilities)
    return lambda at: np.asarray(call(p, stats, pool[at % data.POOL][0]))[0]


serve(inference if WORKLOAD == "W8b" else training, WORKLOAD == "W8b")
