"""Networks of texts and series."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from registry import floats, ids, model


class Recurrent(nn.Module):
    def __init__(self, unit, **options):
        super().__init__()
        self.unit = unit(8, 12, batch_first=True, **options)
        self.head = nn.Linear(24 if options.get("bidirectional") else 12, 3)

    def forward(self, x):
        out, state = self.unit(x)
        last = state[0] if isinstance(state, tuple) else state
        return self.head(out), last.mean(0)


@model(floats(7, 8))
def lstm():
    return Recurrent(nn.LSTM, num_layers=2)


@model(floats(7, 8))
def gru():
    return Recurrent(nn.GRU)


@model(floats(7, 8))
def rnn():
    return Recurrent(nn.RNN)


@model(floats(7, 8))
def lstm_both_ways():
    return Recurrent(nn.LSTM, bidirectional=True)


@model(floats(7, 8))
def gru_both_ways():
    return Recurrent(nn.GRU, bidirectional=True, num_layers=2)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.unit, self.head = nn.Embedding(30, 8), nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 4)

    def forward(self, x):
        out, _ = self.unit(self.words(x))
        return self.head(out).log_softmax(-1)


@model(ids(30, 9))
def tagger():
    return Tagger()


@model(floats(6, 16))
def transformer_encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Decoder(nn.Module):
    """A layer of GPT, in the parts that it is written of."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))
        self.mixed, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)).bool())

    def attend(self, x):
        rows, steps, width = x.shape
        q, k, v = self.mixed(x).split(16, 2)
        q, k, v = [part.view(rows, steps, 4, width // 4).transpose(1, 2) for part in (q, k, v)]
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // 4)
        scores = scores.masked_fill(~self.mask[:steps, :steps], float("-inf"))
        out = scores.softmax(-1) @ v
        return self.out(out.transpose(1, 2).reshape(rows, steps, width))

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        h = h + self.attend(self.norms[0](h))
        h = h + self.down(F.gelu(self.up(self.norms[1](h)), approximate="tanh"))
        return self.norms[2](h) @ self.words.weight.T


@model(ids(50, 10))
def gpt():
    return Decoder()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x, y):
        return self.all(x, y, y, need_weights=False)[0]


@model(floats(5, 16), floats(7, 16))
def cross_attention():
    return Attention()


class ScaledAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        heads = lambda part: part(x).unflatten(-1, (2, 8)).transpose(1, 2)
        out = F.scaled_dot_product_attention(heads(self.q), heads(self.k), heads(self.v), is_causal=True)
        return out.transpose(1, 2).flatten(-2)


@model(floats(6, 16))
def causal_attention():
    return ScaledAttention()


class Bag(nn.Module):
    """A text is the mean of its words; word 0 is none."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        is_word = (x != 0).unsqueeze(-1).float()
        mean = (self.words(x) * is_word).sum(1) / is_word.sum(1).clamp(min=1.0)
        return self.head(mean)


@model(ids(40, 12))
def bag_of_words():
    return Bag()


class Convolved(nn.Module):
    """A text as signals."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8)
        self.convs = nn.ModuleList(nn.Conv1d(8, 6, size) for size in (2, 3, 4))
        self.head = nn.Linear(18, 2)

    def forward(self, x):
        x = self.words(x).transpose(1, 2)
        return self.head(torch.cat([F.relu(conv(x)).max(2).values for conv in self.convs], 1))


@model(ids(40, 12))
def text_cnn():
    return Convolved()


def longer(rows):
    return 5 + 2 * rows


@model(ids(50, longer), axes={1: "length"})
def gpt_of_any_length():
    return Decoder()


@model(ids(40, longer), axes={1: "length"})
def bag_of_words_of_any_length():
    return Bag()


@model(floats(longer, 8), axes={1: "length"})
def lstm_of_any_length():
    return Recurrent(nn.LSTM)


@model(floats(longer, 8), axes={1: "length"})
def gru_both_ways_of_any_length():
    return Recurrent(nn.GRU, bidirectional=True)


@model(floats(longer, 16), axes={1: "length"}, script=False)
def encoder_of_any_length():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
