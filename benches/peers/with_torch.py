"""A workload in PyTorch: `with_torch.py WORKLOAD MODE THREADS`.

A mode is made of words: `eager` or `compiled`; `channels-last` for images; `unpadded` for texts, whose layers see words only,
and attention alone sees padding."""

import os
import sys

# The compiler's processes would go on working beside the rounds of others.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import data
from serve import serve

WORKLOAD, MODE, THREADS = sys.argv[1], sys.argv[2].split("+"), int(sys.argv[3])
IMAGES_LAST = {"memory_format": torch.channels_last} if "channels-last" in MODE else {}


def dense(weights):
    layer = nn.Linear(*weights.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights.T))
        layer.bias.zero_()
    return layer


def filters(layer, weights):
    """A convolution with these weights, and a bias of zero if it has one."""
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights))
        if layer.bias is not None:
            layer.bias.zero_()
    return layer


def convolution(weights, stride=1, bias=False, groups=1):
    outputs, inputs, size, _ = weights.shape
    layer = nn.Conv2d(groups * inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=bias)
    return filters(layer, weights)


def normalised(weights, stride=1, groups=1):
    return nn.Sequential(convolution(weights, stride, groups=groups), nn.BatchNorm2d(len(weights)))


def perceptron(w):
    return nn.Sequential(dense(next(w)), nn.ReLU(), dense(next(w)), nn.ReLU(), dense(next(w)))


def lenet(w):
    valid = lambda inputs, outputs: filters(nn.Conv2d(inputs, outputs, 5), next(w))
    images = [valid(1, 20), nn.ReLU(), nn.MaxPool2d(2), valid(20, 50), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*images, nn.Flatten(), dense(next(w)), nn.ReLU(), dense(next(w)))


class Residual(nn.Module):
    def __init__(self, w, halve):
        super().__init__()
        self.first, self.second = normalised(next(w), 2 if halve else 1), normalised(next(w))
        self.around = normalised(next(w), 2) if halve else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.around(x))


def resnet(w):
    stem = normalised(next(w))
    blocks = [Residual(w, halve=at in (3, 6)) for at in range(9)]
    return nn.Sequential(stem, nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(next(w)))


def separable(w):
    layers = [normalised(next(w), 2), nn.ReLU()]
    for _, stride in data.SEPARABLE:
        deep, wide = next(w), next(w)
        layers += [normalised(deep, stride, groups=len(deep)), nn.ReLU(), normalised(wide), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(next(w)))


def twice(w):
    return nn.Sequential(normalised(next(w)), nn.ReLU(), normalised(next(w)), nn.ReLU())


class Larger(nn.Module):
    def __init__(self, w):
        super().__init__()
        up = next(w)
        self.up = filters(nn.ConvTranspose2d(up.shape[0], up.shape[1], 2, 2), up)
        self.twice = twice(w)

    def forward(self, x, skip):
        return self.twice(torch.cat([skip, self.up(x)], 1))


class UNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.fine, self.middle, self.coarse = twice(w), twice(w), twice(w)
        self.to_middle, self.to_fine = Larger(w), Larger(w)
        self.kind = convolution(next(w), bias=True)

    def forward(self, image):
        fine = self.fine(image)
        middle = self.middle(F.max_pool2d(fine, 2))
        coarse = self.coarse(F.max_pool2d(middle, 2))
        return self.kind(self.to_fine(self.to_middle(coarse, middle), fine))


class Block(nn.Module):
    """A layer of a transformer. `attend` takes queries, keys and values side by side."""

    def __init__(self, w):
        super().__init__()
        query, key, value = next(w), next(w), next(w)
        self.asked = dense(np.concatenate([query, key, value], axis=1))
        self.out, self.wide, self.narrow = dense(next(w)), dense(next(w)), dense(next(w))
        self.known, self.seen = nn.LayerNorm(len(query)), nn.LayerNorm(len(query))

    def forward(self, x, attend):
        x = x + self.out(attend(self.asked(self.known(x))))
        return x + self.narrow(F.gelu(self.wide(self.seen(x))))


class Transformer(nn.Module):
    HEADS = 4

    def __init__(self, w, causal):
        super().__init__()
        table = lambda weights: nn.Embedding.from_pretrained(torch.from_numpy(weights), freeze=False)
        self.word, self.place = table(next(w)), table(next(w))
        self.blocks = nn.ModuleList([Block(w), Block(w)])
        self.norm, self.last, self.causal = nn.LayerNorm(self.word.embedding_dim), dense(next(w)), causal

    def attention(self, asked, mask):
        """Of padded texts; a causal one sees no padding behind a word anyway."""
        heads = lambda x: x.unflatten(-1, (self.HEADS, -1)).transpose(1, 2)
        query, key, value = map(heads, asked.chunk(3, -1))
        mask = None if self.causal or mask is None else mask[:, None, None, :]
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=self.causal)
        return seen.transpose(1, 2).flatten(2)

    def forward(self, words, mask=None):
        """Features of all places, or of those of the mask alone where texts are unpadded."""
        x = self.word(words) + self.place.weight[:words.shape[1]]
        if "unpadded" in MODE:
            x = x[mask]
            attend = lambda asked: self.attention(spread(asked, mask), mask)[mask]
        else:
            attend = lambda asked: self.attention(asked, mask)
        for block in self.blocks:
            x = block(x, attend)
        return self.norm(x)


def spread(x, mask):
    """Values of words at the words' places in padded texts."""
    return x.new_zeros(*mask.shape, x.shape[-1]).index_put((mask,), x)


def classify(model, words, lengths, label):
    mask = torch.arange(words.shape[1]) < lengths[:, None]
    x = model(words, mask)
    x = spread(x, mask) if "unpadded" in MODE else x * mask[..., None]
    return F.cross_entropy(model.last(x.sum(1) / lengths[:, None]), label)


def foretell_ragged(model, words, lengths, following):
    mask = torch.arange(words.shape[1]) < lengths[:, None]
    following = following[mask] if "unpadded" in MODE else following.flatten()
    return F.cross_entropy(model.last(model(words, mask)).flatten(0, -2), following)


def foretell(model, words, following):
    return F.cross_entropy(model.last(model(words)).flatten(0, 1), following.flatten())


def label(model, x, y):
    return F.cross_entropy(model(x.contiguous(**IMAGES_LAST)), y)


SGD, ADAM = torch.optim.SGD, torch.optim.Adam
# The model, its loss on a batch, the updater and its settings.
TRAINED = {
    "W1": (perceptron, label, SGD, {"lr": 0.1}),
    "W2": (lenet, label, ADAM, {"lr": 1e-3}),
    "W7": (resnet, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "unet": (UNet, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "separable": (separable, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "encoder": (lambda w: Transformer(w, causal=False), classify, ADAM, {"lr": 1e-3}),
    "decoder": (lambda w: Transformer(w, causal=True), foretell_ragged, ADAM, {"lr": 1e-3}),
    "decoder64": (lambda w: Transformer(w, causal=True), foretell, ADAM, {"lr": 1e-3}),
}


def training():
    make, loss, updater, settings = TRAINED[WORKLOAD]
    pool, model = data.pool(WORKLOAD), make(iter(data.weights(WORKLOAD))).to(**IMAGES_LAST)
    updater = updater(model.parameters(), fused=True, **settings)
    if "compiled" in MODE:
        loss = torch.compile(loss, dynamic=False)

    def step(at):
        updater.zero_grad(set_to_none=True)
        cost = loss(model, *map(torch.from_numpy, pool[at % data.POOL]))
        cost.backward()
        updater.step()
        return cost.item()

    return step


def inference():
    pool, model = data.pool(WORKLOAD), resnet(iter(data.weights(WORKLOAD))).eval().to(**IMAGES_LAST)
    call = lambda x: torch.softmax(model(x.contiguous(**IMAGES_LAST)), 1)
    if "compiled" in MODE:
        from torch._inductor import config

        # Weights are constants.
        config.freezing = True
        call = torch.compile(call, dynamic=False)

    def step(at):
        with torch.inference_mode() if "eager" in MODE else torch.no_grad():
            return call(torch.from_numpy(pool[at % data.POOL][0])).numpy()[0]

    return step


torch.set_num_threads(THREADS)
torch.set_num_interop_threads(1)
serve(inference if WORKLOAD == "W8b" else training, WORKLOAD == "W8b")
