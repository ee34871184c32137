"""Recurrent units."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from registry import MODELS, S, model


@model(S(None, 7, 4))
class lstm1(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.LSTM(4, 5)

    def forward(self, x):
        y, (h, c) = self.r(x)
        return y, h, c


@model(S(None, 12, dtype="int64"))
class lstm_text(nn.Layer):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 6)
        self.r = nn.LSTM(6, 8)
        self.f = nn.Linear(8, 3)

    def forward(self, x):
        y, (h, c) = self.r(self.e(x))
        return F.softmax(self.f(h[-1]))


@model(S(None, 12, dtype="int64"))
class lstm_classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 6)
        self.r = nn.LSTM(6, 8, num_layers=2)
        self.f = nn.Linear(8, 3)

    def forward(self, x):
        y, _ = self.r(self.e(x))
        return self.f(y[:, -1])


@model(S(None, None, 4))
class gru_dynamic(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(4, 5)
        self.f = nn.Linear(5, 3)

    def forward(self, x):
        y, h = self.r(x)
        return self.f(paddle.mean(y, axis=1)), h


gru_dynamic_feed = lambda b, self: np.random.RandomState(b).randn(b, 9, 4).astype("float32")
MODELS["gru_dynamic"] = (gru_dynamic, MODELS["gru_dynamic"][1], gru_dynamic_feed, (1, 3, 32))


@model(S(None, 9, 4))
class gru_classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(4, 5, num_layers=2, direction="bidirect")
        self.f = nn.Linear(10, 3)

    def forward(self, x):
        y, h = self.r(x)
        return self.f(y[:, -1, :])


@model(S(None, 8, 4), S(None, dtype="int64", name="lens"))
class bilstm2_classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.LSTM(4, 5, num_layers=2, direction="bidirectional")
        self.f = nn.Linear(10, 3)

    def forward(self, x, lens):
        y, (h, c) = self.r(x, sequence_length=lens)
        z = paddle.concat([h[-2], h[-1]], axis=1)
        return self.f(z), y


def _bl(b, self):
    r = np.random.RandomState(b)
    return r.randn(b, 8, 4).astype("float32") if self.name == "x" else r.randint(1, 9, [b]).astype("int64")


MODELS["bilstm2_classifier"] = (bilstm2_classifier, MODELS["bilstm2_classifier"][1], _bl, (1, 3, 32))


@model(S(None, 3, 20))
class conv1d_simplernn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1D(3, 6, 3, padding=1)
        self.r = nn.SimpleRNN(6, 5)
        self.f = nn.Linear(5, 2)

    def forward(self, x):
        y = F.relu(self.c(x))
        y = paddle.transpose(y, [0, 2, 1])
        y, h = self.r(y)
        return self.f(y[:, -1])


@model(S(None, 1, 16, 32))
class crnn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(
            nn.Conv2D(1, 4, 3, padding=1),
            nn.BatchNorm2D(4),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Conv2D(4, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D((8, 1)),
        )
        self.r = nn.LSTM(6, 7, direction="bidirectional")
        self.f = nn.Linear(14, 11)

    def forward(self, x):
        y = self.c(x)
        y = paddle.squeeze(y, 2)
        y = paddle.transpose(y, [0, 2, 1])
        y, _ = self.r(y)
        return F.softmax(self.f(y))


@model(S(None, 1, 16, 32))
class crnn_timemajor(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2D(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2D((16, 2)))
        self.r = nn.GRU(4, 7, time_major=True)
        self.f = nn.Linear(7, 11)

    def forward(self, x):
        y = self.c(x)
        y = paddle.squeeze(y, 2)
        y = paddle.transpose(y, [2, 0, 1])
        y, _ = self.r(y)
        return F.log_softmax(self.f(y))


@model(S(None, 6, 4), S(1, None, 5, name="h0"))
class simplernn_relu_state(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.SimpleRNN(4, 5, activation="relu")

    def forward(self, x, h0):
        y, h = self.r(x, h0)
        return y, h


@model(S(None, 10, 6))
class seq2seq(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.LSTM(6, 8)
        self.b = nn.LSTM(8, 8)
        self.f = nn.Linear(8, 4)
        self.d = nn.Dropout(0.3)

    def forward(self, x):
        y, st = self.a(x)
        z, _ = self.b(self.d(y), st)
        return self.f(z)


@model(S(None, 10, 6))
class lstm_attn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.LSTM(6, 8, direction="bidirectional")
        self.w = nn.Linear(16, 1)
        self.f = nn.Linear(16, 4)

    def forward(self, x):
        y, _ = self.a(x)
        a = F.softmax(self.w(y), axis=1)
        return self.f(paddle.sum(a * y, axis=1))


@model(S(None, 5, 8))
class gru_cell_loop(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.GRUCell(8, 6)

    def forward(self, x):
        h = paddle.zeros([x.shape[0], 6])
        for i in range(5):
            _, h = self.c(x[:, i], h)
        return h


@model(S(None, 5, 8))
class rnn_wrapper(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.RNN(nn.GRUCell(8, 6))

    def forward(self, x):
        y, h = self.c(x)
        return y, h


@model(S(None, 5, 8))
class lstm_stack_dropout(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(8, 6, num_layers=3, dropout=0.5)

    def forward(self, x):
        y, h = self.r(x)
        return y, h


@model(S(None, 5, 8), S(None, dtype="int32", name="lens"))
class gru_bidirect_lens(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(8, 6, direction="bidirect")

    def forward(self, x, lens):
        y, h = self.r(x, sequence_length=lens)
        return y, h


MODELS["gru_bidirect_lens"] = (
    gru_bidirect_lens,
    MODELS["gru_bidirect_lens"][1],
    lambda b, self: (
        np.random.RandomState(b).randn(b, 5, 8).astype("float32")
        if self.name == "x"
        else np.random.RandomState(b).randint(0, 6, [b]).astype("int32")
    ),
    (1, 3, 32),
)


@model(S(2, 5, 8))
class lstm_fixed_batch(nn.Layer):
    def __init__(self):
        super().__init__()
        self.r = nn.LSTM(8, 6, num_layers=2, direction="bidirect")

    def forward(self, x):
        y, (h, c) = self.r(x)
        return y, h, c


def words_and_lengths(rows, spec):
    """Sentences of up to 8 words, one of them with all."""
    draw = np.random.RandomState(rows)
    if spec.name == "x":
        return draw.randint(0, 10, (rows, 8)).astype("int64")
    lengths = draw.randint(1, 9, rows).astype("int64")
    lengths[-1] = 8
    return lengths


@model(S(None, None, dtype="int64"), S(None, dtype="int64", name="length"), feeds=words_and_lengths)
class tagger(nn.Layer):
    """Labels of words, with a conditional random field between neighbours."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 6)
        self.r = nn.GRU(6, 8, direction="bidirect")
        self.f = nn.Linear(16, 7)
        self.between = self.create_parameter([7, 7], default_initializer=nn.initializer.Normal())
        self.decoder = paddle.text.ViterbiDecoder(self.between)

    def forward(self, x, length):
        y, _ = self.r(self.e(x), sequence_length=length)
        score, path = self.decoder(self.f(y), length)
        return score, path
