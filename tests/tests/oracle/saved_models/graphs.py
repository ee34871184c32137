"""Models whose inputs have numbers of rows: the edges of graphs, segments, and the places of masked words."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from registry import S, model

random = np.random.RandomState(1)
EDGES = (S(None, dtype="int64", name="src"), S(None, dtype="int64", name="dst"))


def edges(rows, spec):
    if spec.name == "x":
        return random.randn(rows + 2, 6).astype("float32")
    return random.randint(0, rows + 2, 3 * rows + 1)


@model(S(None, 6), *EDGES, feeds=edges)
class graph_convolution(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)

    def convolve(self, layer, x, src, dst, norm):
        h = layer(x) * norm
        return paddle.scatter_nd_add(paddle.zeros_like(h), dst.unsqueeze(-1), paddle.gather(h, src)) * norm

    def forward(self, x, src, dst):
        ones = paddle.ones_like(dst).astype("float32")
        degree = paddle.scatter_nd_add(paddle.zeros([paddle.shape(x)[0]]), dst.unsqueeze(-1), ones)
        norm = paddle.rsqrt(paddle.maximum(degree, paddle.ones([1]))).unsqueeze(-1)
        h = F.relu(self.convolve(self.first, x, src, dst, norm))
        return F.log_softmax(self.convolve(self.second, h, src, dst, norm))


@model(S(None, 6), *EDGES, feeds=edges)
class graph_attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.map, self.left, self.right = nn.Linear(6, 4), nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x, src, dst):
        h = self.map(x)
        score = F.leaky_relu(paddle.geometric.send_uv(self.left(h), self.right(h), src, dst, "add"), 0.2)
        weight = paddle.exp(score)
        all = paddle.geometric.send_ue_recv(paddle.ones_like(h[:, :1]), weight, src, dst, "mul", "sum")
        sent = paddle.geometric.send_ue_recv(h, weight, src, dst, "mul", "sum")
        return sent / (all + 1e-9), paddle.geometric.send_u_recv(h, src, dst, "max")


def of_segments(rows, spec):
    if spec.name == "x":
        return random.randn(2 * rows, 6).astype("float32")
    return np.sort(random.randint(0, 4, 2 * rows))


@model(S(None, 6), S(None, dtype="int64", name="segment"), feeds=of_segments)
class pooled_segments(nn.Layer):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(12, 2)

    def forward(self, x, segment):
        pools = paddle.geometric.segment_mean, paddle.geometric.segment_max
        return self.out(paddle.concat([pool(x, segment) for pool in pools], 1))


def masked(rows, spec):
    if spec.name == "words":
        return random.randint(0, 20, (rows, 5))
    return random.randint(0, 5 * rows, 2 * rows + 1)


@model(S(None, 5, dtype="int64", name="words"), S(None, dtype="int64", name="places"), feeds=masked)
class masked_words(nn.Layer):
    """Words are predicted at places that are counted through the batch."""

    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(20, 8), nn.TransformerEncoderLayer(8, 2, 16, 0.0)

    def forward(self, words, places):
        h = self.layer(self.words(words))
        h = paddle.gather(paddle.reshape(h, [-1, 8]), places)
        return paddle.matmul(h, self.words.weight, transpose_y=True), h
