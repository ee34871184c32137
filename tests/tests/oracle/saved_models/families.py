"""Whole networks of families that are widely used."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.vision import models as zoo

from registry import BATCHES, MODELS, S, model


def fed(name, values):
    """Gives the inputs of a model whose sizes are not known."""
    cls, specs, _, _ = MODELS[name]
    MODELS[name] = (cls, specs, lambda rows, spec: values(np.random.RandomState(rows), rows), BATCHES)


def of_zoo(name, make, size=64, scale=1.0):
    def init(self):
        nn.Layer.__init__(self)
        self.net = make()

    def forward(self, x):
        out = self.net(scale * x)
        return out[0] if isinstance(out, (list, tuple)) else out

    cls = type(name, (nn.Layer,), {"__init__": init, "forward": forward})
    model(S(None, 3, size, size))(cls)


of_zoo("zoo_squeezenet", lambda: zoo.squeezenet1_1(num_classes=7))
of_zoo("zoo_googlenet", lambda: zoo.googlenet(num_classes=7), 96, 0.1)
of_zoo("zoo_mobilenet_v1", lambda: zoo.mobilenet_v1(scale=0.25, num_classes=7))
of_zoo("zoo_mobilenet_v2", lambda: zoo.mobilenet_v2(scale=0.25, num_classes=7))
of_zoo("zoo_mobilenet_v3", lambda: zoo.mobilenet_v3_small(scale=0.5, num_classes=7))
of_zoo("zoo_shufflenet", lambda: zoo.shufflenet_v2_x0_25(num_classes=7))


@model(S(None, None, 12))
class conformer_block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.ff1 = nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 24), nn.Swish(), nn.Linear(24, 12))
        self.norm = nn.LayerNorm(12)
        self.mha = nn.MultiHeadAttention(12, 3)
        self.cnorm = nn.LayerNorm(12)
        self.point = nn.Conv1D(12, 24, 1)
        self.depth = nn.Conv1D(12, 12, 5, padding=2, groups=12)
        self.bn = nn.BatchNorm1D(12)
        self.out = nn.Conv1D(12, 12, 1)
        self.last = nn.LayerNorm(12)

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        n = self.norm(x)
        x = x + self.mha(n, n, n)
        y = self.cnorm(x).transpose([0, 2, 1])
        y = F.glu(self.point(y), axis=1)
        y = self.out(F.swish(self.bn(self.depth(y))))
        return self.last(x + y.transpose([0, 2, 1]))


fed("conformer_block", lambda random, rows: random.randn(rows, 9, 12).astype("float32"))


@model(S(None, 1, 64))
class wavenet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1D(1, 8, 1)
        self.gates = nn.LayerList([nn.Conv1D(8, 16, 2, dilation=2 ** i) for i in range(4)])
        self.res = nn.LayerList([nn.Conv1D(8, 8, 1) for _ in range(4)])
        self.skip = nn.LayerList([nn.Conv1D(8, 8, 1) for _ in range(4)])
        self.last = nn.Conv1D(8, 5, 1)

    def forward(self, x):
        x = self.first(x)
        total = 0
        for i, gate in enumerate(self.gates):
            y = gate(F.pad(x, [2 ** i, 0], data_format="NCL"))
            a, b = y.chunk(2, axis=1)
            y = paddle.tanh(a) * F.sigmoid(b)
            total = total + self.skip[i](y)
            x = x + self.res[i](y)
        return F.softmax(self.last(F.relu(total)), axis=1)


@model(S(None, None, 3))
class point_net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.m = nn.Sequential(nn.Conv1D(3, 16, 1), nn.BatchNorm1D(16), nn.ReLU(), nn.Conv1D(16, 32, 1))
        self.t = nn.Linear(32, 9)
        self.h = nn.Linear(32, 4)

    def forward(self, x):
        f = self.m(x.transpose([0, 2, 1])).max(axis=2)
        t = self.t(f).reshape([-1, 3, 3]) + paddle.eye(3)
        x = paddle.bmm(x, t)
        return self.h(self.m(x.transpose([0, 2, 1])).max(axis=2))


fed("point_net", lambda random, rows: random.randn(rows, 11, 3).astype("float32"))


@model(S(None, 6, dtype="int64", name="history"), S(None, dtype="int64", name="length"), S(None, dtype="int64", name="item"))
class interest_network(nn.Layer):
    """Attention over what a user clicked, by the item: DIN."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.att = nn.Sequential(nn.Linear(32, 12), nn.Sigmoid(), nn.Linear(12, 1))
        self.out = nn.Sequential(nn.Linear(16, 8), nn.PReLU(), nn.Linear(8, 1))

    def forward(self, history, length, item):
        h, q = self.emb(history), self.emb(item)
        qs = q.unsqueeze(1).expand([-1, h.shape[1], -1])
        a = self.att(paddle.concat([h, qs, h - qs, h * qs], -1)).squeeze(-1)
        mask = paddle.arange(h.shape[1]).unsqueeze(0) < length.unsqueeze(1)
        a = paddle.where(mask, a, paddle.full_like(a, -2.0 ** 31))
        a = F.softmax(a / 8 ** 0.5, -1)
        pooled = paddle.bmm(a.unsqueeze(1), h).squeeze(1)
        return F.sigmoid(self.out(paddle.concat([pooled, q], -1)))


@model(S(None, None, dtype="int64", name="ids"), S(None, None, dtype="int64", name="kinds"))
class ernie(nn.Layer):
    def __init__(self):
        super().__init__()
        self.w, self.p, self.k = nn.Embedding(20, 16, padding_idx=0), nn.Embedding(32, 16), nn.Embedding(5, 16)
        self.n = nn.LayerNorm(16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, 0.1, "gelu", normalize_before=False)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.pool = nn.Linear(16, 16)

    def forward(self, ids, kinds):
        mask = ((ids == 0).astype("float32") * -1e4).unsqueeze([1, 2])
        ones = paddle.ones_like(ids)
        positions = paddle.cumsum(ones, axis=1) - ones
        x = self.n(self.w(ids) + self.p(positions) + self.k(kinds))
        y = self.enc(x, mask)
        return y, paddle.tanh(self.pool(y[:, 0]))


fed("ernie", lambda random, rows: random.randint(0, 5, (rows, 7)).astype("int64"))


@model(S(None, None, dtype="int64", name="ids"))
class relative_bias(nn.Layer):
    """Attention with a bias by relative distance in buckets, and gated units without centring: T5."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 16)
        self.bias = nn.Embedding(8, 4)
        self.qkv = nn.Linear(16, 48, bias_attr=False)
        self.o = nn.Linear(16, 16, bias_attr=False)
        self.g = self.create_parameter([16], default_initializer=nn.initializer.Constant(1.0))
        self.wi = nn.Linear(16, 64, bias_attr=False)
        self.wo = nn.Linear(32, 16, bias_attr=False)

    def norm(self, x):
        return self.g * x * paddle.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def forward(self, ids):
        x = self.e(ids)
        n = ids.shape[1]
        p = paddle.arange(n)
        d = (p.unsqueeze(0) - p.unsqueeze(1)).clip(-3, 4) + 3
        bias = self.bias(d).transpose([2, 0, 1]).unsqueeze(0)
        q, k, v = self.qkv(self.norm(x)).reshape([0, 0, 3, 4, 4]).transpose([2, 0, 3, 1, 4]).unbind(0)
        a = F.softmax(paddle.matmul(q, k, transpose_y=True) + bias, -1)
        y = paddle.matmul(a, v).transpose([0, 2, 1, 3]).reshape([0, 0, 16])
        x = x + self.o(y)
        u, w = self.wi(self.norm(x)).chunk(2, -1)
        return x + self.wo(F.gelu(u, approximate=True) * w)


fed("relative_bias", lambda random, rows: random.randint(0, 20, (rows, 9)).astype("int64"))


@model(S(None, None, dtype="int64", name="ids"))
class rotary_decoder(nn.Layer):
    """Rotary positions, grouped keys and values, SwiGLU: Llama."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8)
        self.gate, self.up, self.down = nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)
        self.head = nn.Linear(16, 20)

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + paddle.concat([-b, a], -1) * sin

    def forward(self, ids):
        x = self.e(ids)
        b, n = ids.shape[0], ids.shape[1]
        t = paddle.arange(n, dtype="float32")
        f = paddle.outer(t, paddle.to_tensor([1.0, 0.1]))
        f = paddle.concat([f, f], -1)
        cos, sin = f.cos().unsqueeze([0, 2]), f.sin().unsqueeze([0, 2])
        q = self.turn(self.q(x).reshape([b, n, 4, 4]), cos, sin).transpose([0, 2, 1, 3])
        k = self.turn(self.k(x).reshape([b, n, 2, 4]), cos, sin)
        k = k.unsqueeze(3).tile([1, 1, 1, 2, 1]).reshape([b, n, 4, 4]).transpose([0, 2, 1, 3])
        v = self.v(x).reshape([b, n, 2, 4]).unsqueeze(3).expand([b, n, 2, 2, 4]).reshape([b, n, 4, 4])
        s = paddle.matmul(q, k, transpose_y=True) / 2.0
        s = s + paddle.triu(paddle.full([n, n], -1e9), 1)
        y = paddle.matmul(F.softmax(s, -1), v.transpose([0, 2, 1, 3])).transpose([0, 2, 1, 3])
        x = x + y.reshape([b, n, 16])
        x = x + self.down(F.silu(self.gate(x)) * self.up(x))
        return self.head(x)


fed("rotary_decoder", lambda random, rows: random.randint(0, 20, (rows, 9)).astype("int64"))


@model(S(None, 8, name="x"))
class experts(nn.Layer):
    """The two best of four experts for each row."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.w = self.create_parameter([4, 8, 6])
        self.b = self.create_parameter([4, 6], is_bias=True)

    def forward(self, x):
        p = F.softmax(self.gate(x), -1)
        v, i = paddle.topk(p, 2)
        v = v / v.sum(-1, keepdim=True)
        y = paddle.einsum("bi,eio->beo", x, self.w) + self.b
        chosen = paddle.take_along_axis(y, i.unsqueeze(-1).expand([-1, -1, 6]), 1)
        return (chosen * v.unsqueeze(-1)).sum(1)


@model(S(None, 3, 16, 16))
class mixer(nn.Layer):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2D(3, 12, 4, 4)
        self.n1, self.n2 = nn.LayerNorm(12), nn.LayerNorm(12)
        self.t = nn.Sequential(nn.Linear(16, 20), nn.GELU(), nn.Linear(20, 16))
        self.c = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 12))
        self.h = nn.Linear(12, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose([0, 2, 1])
        x = x + self.t(self.n1(x).transpose([0, 2, 1])).transpose([0, 2, 1])
        x = x + self.c(self.n2(x))
        return self.h(x.mean(1))


@model(S(None, 4, 12, 12), S(None, dtype="int64", name="t"))
class denoiser(nn.Layer):
    """A U-Net with group norms, attention and times: diffusion."""

    def __init__(self):
        super().__init__()
        self.t1, self.t2 = nn.Linear(16, 16), nn.Linear(16, 8)
        self.a, self.d, self.m = nn.Conv2D(4, 8, 3, padding=1), nn.Conv2D(8, 8, 3, 2, 1), nn.Conv2D(8, 8, 3, padding=1)
        self.n, self.an = nn.GroupNorm(4, 8), nn.GroupNorm(4, 8)
        self.qkv, self.p = nn.Conv2D(8, 24, 1), nn.Conv2D(8, 8, 1)
        self.o = nn.Conv2D(16, 4, 3, padding=1)

    def forward(self, x, t):
        f = paddle.exp(-np.log(10000.0) * paddle.arange(8, dtype="float32") / 8)
        e = t.astype("float32").unsqueeze(1) * f.unsqueeze(0)
        e = self.t2(F.silu(self.t1(paddle.concat([e.sin(), e.cos()], 1))))
        a = self.a(0.1 * x)
        h = F.silu(self.n(self.d(a)))
        h = h + self.m(h) + e.unsqueeze([2, 3])
        q, k, v = self.qkv(self.an(h)).reshape([0, 3, 8, 36]).unbind(1)
        w = F.softmax(paddle.bmm(q.transpose([0, 2, 1]), k) / 8 ** 0.5, -1)
        h = h + self.p(paddle.bmm(v, w.transpose([0, 2, 1])).reshape([0, 8, 6, 6]))
        h = F.interpolate(h, scale_factor=2, mode="nearest")
        return self.o(paddle.concat([a, h], 1))


@model(S(None, 10, 8))
class variational(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(8, 12, direction="bidirect")
        self.mu, self.s = nn.Linear(24, 4), nn.Linear(24, 4)
        self.first = nn.Linear(4, 12)
        self.d = nn.LSTM(4, 12)
        self.o = nn.Linear(12, 8)

    def forward(self, x):
        _, h = self.r(x)
        h = paddle.concat([h[0], h[1]], -1)
        z = self.mu(h) + 0.0 * paddle.exp(0.5 * self.s(h))
        start = paddle.tanh(self.first(z)).unsqueeze(0)
        out, _ = self.d(z.unsqueeze(1).expand([-1, 10, -1]), (start, paddle.zeros_like(start)))
        return self.o(out), z


@model(S(None, 5, 6, name="nodes"), S(None, 5, 5, name="edges"))
class message_passing(nn.Layer):
    def __init__(self):
        super().__init__()
        self.m, self.u = nn.Linear(12, 8), nn.GRUCell(8, 6)
        self.r = nn.Linear(6, 2)

    def forward(self, nodes, edges):
        adj = (edges > 0).astype("float32")
        h = nodes
        for _ in range(3):
            a = h.unsqueeze(2).expand([-1, 5, 5, 6])
            b = h.unsqueeze(1).expand([-1, 5, 5, 6])
            m = F.relu(self.m(paddle.concat([a, b], -1))) * adj.unsqueeze(-1)
            m = m.sum(2) / (adj.sum(2, keepdim=True) + 1.0)
            h = self.u(m.reshape([-1, 8]), h.reshape([-1, 6]))[0].reshape([-1, 5, 6])
        return F.softmax(self.r(h.mean(1)), -1)


@model(S(None, 3, 20, 20))
class pyramid(nn.Layer):
    """Features of several sizes, pooled by pyramids and read by dilated filters: DeepLab, PSPNet, FPN."""

    def __init__(self):
        super().__init__()
        self.s = nn.Conv2D(3, 8, 3, 2, 1)
        self.l = nn.Conv2D(8, 8, 3, 2, 1)
        self.a = nn.LayerList([nn.Conv2D(8, 4, 3, padding=d, dilation=d) for d in (1, 2, 4)])
        self.p = nn.LayerList([nn.Conv2D(8, 2, 1) for _ in range(3)])
        self.o = nn.Conv2D(12 + 6 + 8, 5, 1)
        self.up = nn.Upsample(scale_factor=4, mode="bilinear", align_corners=False)

    def forward(self, x):
        low = F.relu(self.s(x))
        high = F.relu6(self.l(low))
        parts = [F.relu(a(high)) for a in self.a]
        for size, p in zip((1, 2, 3), self.p):
            y = p(F.adaptive_avg_pool2d(high, size))
            parts.append(F.interpolate(y, size=high.shape[2:], mode="bilinear"))
        parts.append(F.max_pool2d(low, 2, ceil_mode=True))
        y = self.up(self.o(paddle.concat(parts, 1)))
        return paddle.argmax(y, axis=1), F.softmax(y, axis=1)
