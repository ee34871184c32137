"""What becomes of Python's lists in loops, and loops whose variables grow."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from registry import MODELS, S, model


def steps(rows, spec):
    """Three steps, where an input says how many."""
    if spec.name == "n":
        return np.array([3], "int64")
    return np.random.RandomState(rows).randn(*[size if size > 0 else rows for size in spec.shape]).astype("float32")


def fed(name):
    cls, specs, _, batches = MODELS[name]
    MODELS[name] = (cls, specs, steps, batches)


@model(S(None, 4))
class append_and_stack(nn.Layer):
    """A list whose length is known, filled by a loop over a tensor."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, x):
        ys = []
        for i in range(paddle.full([1], 3, "int64")):
            x = F.tanh(self.f(x))
            ys.append(x)
        return paddle.stack(ys, 1)


@model(S(None, 4), S(1, dtype="int64", name="n"))
class append_fed_times(nn.Layer):
    """As many as is fed."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, x, n):
        ys = []
        for i in range(n):
            x = F.tanh(self.f(x))
            ys.append(x)
        return paddle.stack(ys, 0)


fed("append_fed_times")


@model(S(None, 5, 6))
class array_of_steps(nn.Layer):
    """An array that is written and read at a counter."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 4)

    def forward(self, x):
        h = paddle.zeros([paddle.shape(x)[0], 4])
        array = paddle.tensor.create_array("float32")
        i = paddle.zeros([1], "int64")
        n = paddle.full([1], 5, "int64")
        while i < n:
            _, h = self.cell(paddle.squeeze(paddle.slice(x, [1], [i], [i + 1]), 1), h)
            paddle.tensor.array_write(h, i, array)
            i = i + 1
        last = paddle.tensor.array_read(array, i - 1)
        first = paddle.tensor.array_read(array, paddle.zeros([1], "int64"))
        return last, first, paddle.tensor.array_length(array)


@model(S(None, 4))
class newton(nn.Layer):
    """All steps of an iteration that ends by itself."""

    def forward(self, x):
        y = paddle.ones_like(x)
        a = F.relu(x) + 1.0
        i = paddle.zeros([1], "int64")
        array = paddle.tensor.create_array("float32")
        while i < 6:
            y = 0.5 * (y + a / y)
            paddle.tensor.array_write(y, i, array)
            i = i + 1
        out, _ = paddle.tensor.tensor_array_to_tensor(array) if hasattr(
            paddle.tensor, "tensor_array_to_tensor"
        ) else (paddle.tensor.array_read(array, i - 1), None)
        return out, y


@model(S(None, 4))
class grows_by_concat(nn.Layer):
    """A variable that is longer after each step."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, x):
        y = x + 0.0
        i = paddle.zeros([1], "int64")
        while i < 3:
            x = F.tanh(self.f(x))
            y = paddle.concat([y, x], 1)
            i = i + 1
        return y


@model(S(None, 3, 4))
class list_of_slices(nn.Layer):
    """A list that is read again in another loop."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, x):
        parts = []
        for i in range(paddle.full([1], 3, "int64")):
            parts.append(self.f(x[:, i]))
        total = paddle.zeros_like(x[:, 0])
        for i in range(paddle.full([1], 3, "int64")):
            total = total + parts[i]
        return total


def longer(rows, spec):
    """Sequences whose length differs between batches."""
    shape = [rows if k == 0 else size if size > 0 else 2 + rows % 5 for k, size in enumerate(spec.shape)]
    return np.random.RandomState(rows).randn(*shape).astype("float32")


@model(S(None, None, 8))
class cell_along_unknown_steps(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.GRUCell(8, 6)

    def forward(self, x):
        h = paddle.zeros([paddle.shape(x)[0], 6])
        for t in range(paddle.shape(x)[1]):
            _, h = self.c(x[:, t], h)
        return h


@model(S(None, 6, 8))
class list_of_steps(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.LSTMCell(8, 4)

    def forward(self, x):
        outs = []
        state = None
        for t in range(x.shape[1]):
            out, state = self.c(x[:, t], state)
            outs.append(out)
        return paddle.stack(outs, 1)


@model(S(None, 4))
class until_it_converges(nn.Layer):
    """How often it runs depends on the numbers."""

    def forward(self, x):
        a = F.relu(x) + 1.0
        y = a
        i = paddle.zeros([1], "int64")
        while paddle.max(paddle.abs(y * y - a)) > 1e-3:
            y = 0.5 * (y + a / y)
            i = i + 1
        return y, i


for name in ("cell_along_unknown_steps",):
    MODELS[name] = (*MODELS[name][:2], longer, MODELS[name][3])


@model(S(None, None, 8))
class first_value_in_a_loop(nn.Layer):
    """A variable that has no value before a loop."""

    def __init__(self):
        super().__init__()
        self.c = nn.GRUCell(8, 6)
        self.f = nn.Linear(6, 3)

    def forward(self, x):
        h = paddle.zeros([paddle.shape(x)[0], 6])
        for t in range(paddle.shape(x)[1]):
            out, h = self.c(x[:, t], h)
            y = self.f(out)
        return y, h


MODELS["first_value_in_a_loop"] = (*MODELS["first_value_in_a_loop"][:2], longer, (1, 3, 32))


class OwnCell(nn.RNNCellBase):
    """A cell that PaddlePaddle runs along time by a loop with arrays."""

    def __init__(self):
        super().__init__()
        self.input_size, self.hidden_size = 8, 5
        self.i, self.h = nn.Linear(8, 5), nn.Linear(5, 5)

    @property
    def state_shape(self):
        return (5,)

    def forward(self, x, state=None):
        state = self.get_initial_states(x, self.state_shape) if state is None else state
        state = F.relu(self.i(x) + self.h(state))
        return state, state


@model(S(None, None, 8))
class list_along_unknown_steps(nn.Layer):
    """A list that is filled as long as the sequences are, and its last value."""

    def __init__(self):
        super().__init__()
        self.c, self.f = nn.GRUCell(8, 6), nn.Linear(6, 3)

    def forward(self, x):
        h, ys = paddle.zeros([paddle.shape(x)[0], 6]), []
        for t in range(paddle.shape(x)[1]):
            y, h = self.c(x[:, t], h)
            ys.append(self.f(y))
        return paddle.stack(ys, 1), ys[-1]


@model(S(None, None, 8))
class own_cell(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.RNN(OwnCell())

    def forward(self, x):
        return self.r(x)


@model(S(None, None, 8))
class own_cells_both_ways(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.BiRNN(OwnCell(), OwnCell())

    def forward(self, x):
        return self.r(x)[0]


@model(S(None, None, 8))
class list_of_unknown_length_again(nn.Layer):
    """A list of unknown length that is read again in another loop."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 8)

    def forward(self, x):
        parts, total = [], paddle.zeros_like(x[:, 0])
        for t in range(paddle.shape(x)[1]):
            parts.append(F.tanh(self.f(x[:, t])))
        for t in range(paddle.shape(x)[1]):
            total = total + parts[t] * 0.5 + 0.1 * total
        return total


for name in ("list_along_unknown_steps", "own_cell", "own_cells_both_ways", "list_of_unknown_length_again"):
    MODELS[name] = (*MODELS[name][:2], longer, (1, 3, 32))


@model(S(None, 3, 4), S(3, dtype="int64", name="often"), S(None, dtype="int64", name="rows"))
class repeated_as_computed(nn.Layer):
    """Elements and rows, each as often as a run computes."""

    def forward(self, x, often, rows):
        x = x + 1.0
        return paddle.repeat_interleave(x, often + 1, 1), paddle.repeat_interleave(x, rows % 3, 0)
