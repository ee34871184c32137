"""The batch that is moved, merged or counted; attention and sums of products."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from registry import MODELS, S, model


@model(S(None, 8, 6))
class transposed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 5)

    def forward(self, x):
        y = paddle.transpose(x, [1, 0, 2])
        y = self.f(y)
        return paddle.transpose(y, [1, 0, 2]) + 1.0


@model(S(None, 8, 8, 6))
class swin_window(nn.Layer):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(6, 18)
        self.o = nn.Linear(6, 6)

    def forward(self, x):
        B = x.shape[0]
        w = paddle.reshape(x, [-1, 2, 4, 2, 4, 6])
        w = paddle.transpose(w, [0, 1, 3, 2, 4, 5])
        w = paddle.reshape(w, [-1, 16, 6])
        q, k, v = paddle.chunk(self.q(w), 3, axis=-1)
        a = F.softmax(paddle.matmul(q, k, transpose_y=True) * 0.4)
        y = self.o(paddle.matmul(a, v))
        y = paddle.reshape(y, [-1, 2, 2, 4, 4, 6])
        y = paddle.transpose(y, [0, 1, 3, 2, 4, 5])
        y = paddle.reshape(y, [-1, 8, 8, 6])
        return x + y


@model(S(None, 3, 16, 16))
class vit(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2D(3, 8, 4, stride=4)
        self.cls = self.create_parameter([1, 1, 8])
        self.pos = self.create_parameter([1, 17, 8])
        self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 1)
        self.f = nn.Linear(8, 3)

    def forward(self, x):
        y = self.c(x)
        y = paddle.transpose(paddle.flatten(y, 2), [0, 2, 1])
        c = paddle.expand(self.cls, [x.shape[0], -1, -1])
        y = paddle.concat([c, y], 1) + self.pos
        return self.f(self.e(y)[:, 0])


@model(S(None, 3, 16, 16))
class vit_expand_shape(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2D(3, 8, 4, stride=4)
        self.cls = self.create_parameter([1, 1, 8])

    def forward(self, x):
        y = self.c(x)
        y = paddle.transpose(paddle.flatten(y, 2), [0, 2, 1])
        B = paddle.shape(x)[0]
        c = paddle.expand(self.cls, [B, 1, 8])
        y = paddle.concat([c, y], 1)
        return paddle.reshape(y, [B, 17 * 8])


@model(S(None, 6, name="a"), S(None, 6, name="b"))
class clip_inbatch(nn.Layer):
    def forward(self, a, b):
        a = F.normalize(a)
        b = F.normalize(b)
        return paddle.matmul(a, b, transpose_y=True) * 10


@model(S(None, 6, name="a"), S(None, 6, name="b"))
class siamese_einsum(nn.Layer):
    def forward(self, a, b):
        return paddle.einsum("bi,ci->bc", a, b)


@model(S(None, 5, 6, name="a"), S(None, 6, 7, name="b"))
class einsum_bmm(nn.Layer):
    def forward(self, a, b):
        return paddle.einsum("bij,bjk->bik", a, b), paddle.einsum("bij->bji", a)


@model(S(None, 10, dtype="int64"))
class gpt_fixed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(12, 8)
        self.p = nn.Embedding(16, 8)
        self.q = nn.Linear(8, 24)
        self.o = nn.Linear(8, 8)
        self.n = nn.LayerNorm(8)

    def forward(self, x):
        B, T = x.shape
        pos = paddle.arange(T)
        h = self.e(x) + self.p(pos)
        qkv = paddle.transpose(paddle.reshape(self.q(self.n(h)), [B, T, 3, 2, 4]), [2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        m = paddle.tensor.triu(paddle.full([T, T], -1e9), 1)
        a = F.softmax(paddle.matmul(q, k, transpose_y=True) * 0.5 + m)
        y = paddle.reshape(paddle.transpose(paddle.matmul(a, v), [0, 2, 1, 3]), [B, T, 8])
        h = h + self.o(y)
        return paddle.matmul(h, self.e.weight, transpose_y=True)


@model(S(None, None, dtype="int64"))
class gpt_dynamic(nn.Layer):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(12, 8)
        self.p = nn.Embedding(16, 8)
        self.q = nn.Linear(8, 24)
        self.o = nn.Linear(8, 8)
        self.n = nn.LayerNorm(8)

    def forward(self, x):
        sh = paddle.shape(x)
        B, T = sh[0], sh[1]
        pos = paddle.arange(T)
        h = self.e(x) + self.p(pos)
        qkv = paddle.transpose(paddle.reshape(self.q(self.n(h)), [B, T, 3, 2, 4]), [2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        m = paddle.tensor.triu(paddle.full([T, T], -1e9), 1)
        a = F.softmax(paddle.matmul(q, k, transpose_y=True) * 0.5 + m)
        y = paddle.reshape(paddle.transpose(paddle.matmul(a, v), [0, 2, 1, 3]), [B, T, 8])
        h = h + self.o(y)
        return paddle.matmul(h, self.e.weight, transpose_y=True)


MODELS["gpt_dynamic"] = (
    gpt_dynamic,
    MODELS["gpt_dynamic"][1],
    lambda b, self: np.random.RandomState(b).randint(0, 12, [b, 7]).astype("int64"),
    (1, 3, 32),
)


@model(S(None, 6, 8, name="src"), S(None, 5, 8, name="tgt"))
class transformer_jit(nn.Layer):
    def __init__(self):
        super().__init__()
        self.t = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)

    def forward(self, src, tgt):
        return self.t(src, tgt)


@model(S(None, 6))
class batch_norm_mean(nn.Layer):
    def forward(self, x):
        return x - paddle.mean(x, axis=0), paddle.sum(x, axis=0), paddle.argmax(x, axis=0)


@model(S(None, 6))
class pairwise(nn.Layer):
    def forward(self, x):
        d = paddle.unsqueeze(x, 0) - paddle.unsqueeze(x, 1)
        return paddle.sum(d * d, -1)


@model(S(None, 3, 4, name="a"), S(None, 3, 5, name="b"), S(4, 5, 2, name="c"))
class einsum_more(nn.Layer):
    def forward(self, a, b, c):
        return (
            paddle.einsum("nij,nik->njk", a, b),
            paddle.einsum("nij,nik,jkl->nl", a, b, c),
            paddle.einsum("nij->n", a),
            paddle.einsum("nij,jkl->inkl", a, c),
        )


@model(S(None, 8, 6))
class infonce(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)

    def forward(self, x):
        z = F.normalize(self.f(paddle.mean(x, 1)))
        s = paddle.matmul(z, z, transpose_y=True) / 0.1
        lab = paddle.arange(z.shape[0])
        return F.cross_entropy(s, lab)


@model(S(None, 6, 8))
class mha(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiHeadAttention(8, 2)

    def forward(self, x):
        return self.a(x, x, x)


@model(S(None, 4, 6))
class roll_batch(nn.Layer):
    def forward(self, x):
        return (
            paddle.roll(x, 1, axis=0),
            paddle.flip(x, [0]),
            paddle.reshape(x, [-1, 6]) * 2,
            paddle.cumsum(x, axis=0),
        )


@model(S(None, 4, 6))
class bn_free_norm(nn.Layer):
    def forward(self, x):
        m = paddle.mean(x, axis=[0, 1], keepdim=True)
        v = paddle.var(x, axis=[0, 1], keepdim=True)
        return (x - m) / paddle.sqrt(v + 1e-5)


@model(S(None, 4, 3))
class rolled(nn.Layer):
    """Shifted along the batch, within rows, and as one list."""

    def forward(self, x):
        return (
            paddle.roll(x, 1, 0),
            paddle.roll(x, [1, -2], [1, 2]),
            paddle.roll(x, [-5, 3], [0, 1]),
            paddle.roll(paddle.transpose(x, [1, 0, 2]), 2, 1),
            paddle.roll(x, 4),
        )
