"""Element types, loops and lists."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from registry import MODELS, S, model


@model(S(None, 6))
class float16_cast(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)

    def forward(self, x):
        y = paddle.cast(paddle.cast(x, "float16"), "float32")
        return self.f(y)


@model(S(None, 6))
class float16_out(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)

    def forward(self, x):
        return paddle.cast(self.f(x), "float16")


@model(S(None, 6))
class int8_quant(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)

    def forward(self, x):
        return paddle.cast(paddle.clip(paddle.round(self.f(x) * 20), -128, 127), "int8"), paddle.cast(
            x > 0, "uint8"
        )


@model(S(None, 4))
class list_append_loop(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, x):
        ys = []
        for i in range(3):
            x = F.tanh(self.f(x))
            ys.append(x)
        return paddle.concat(ys, 1)


@model(S(None, 4), S(1, dtype="int64", name="n"))
class while_array(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, x, n):
        ys = []
        i = paddle.zeros([1], dtype="int64")
        while i < n:
            x = F.tanh(self.f(x))
            ys.append(x)
            i = i + 1
        return paddle.concat(ys, 1)


MODELS["while_array"] = (
    while_array,
    MODELS["while_array"][1],
    lambda b, self: (
        np.random.RandomState(b).randn(b, 4).astype("float32") if self.name == "x" else np.array([3])
    ),
    (1, 3, 32),
)


@model(S(None, 5, 8))
class grucell_loop_dyn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.GRUCell(8, 6)

    def forward(self, x):
        h = paddle.zeros([paddle.shape(x)[0], 6])
        i = paddle.to_tensor(0)
        while i < paddle.shape(x)[1]:
            _, h = self.c(x[:, i], h)
            i = i + 1
        return h


@model(S(None, 5))
class float_types(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(5, 5)

    def forward(self, x):
        x = x + 0 * self.f(x)
        y = paddle.cast(x * 1000.0, "float16")
        z = paddle.cast(x * 1e-6, "float16")
        b = paddle.cast(x * 3.3e8, "bfloat16")
        big = paddle.cast(x * 1e5, "float16")
        return (
            y,
            paddle.cast(z, "float32"),
            paddle.cast(b, "float32"),
            big,
            paddle.cast(x * 300.0, "int16"),
            paddle.cast(paddle.cast(x * 300.0, "int64"), "uint8"),
        )
