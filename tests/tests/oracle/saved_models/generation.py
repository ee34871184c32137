"""Sequences that a model goes on with, word by word: a loop makes a variable longer, and reads all of it."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from registry import BATCHES, MODELS, S

WORDS, END = 11, 3


def prompts(rows, spec):
    """Words of prompts, all of one length that differs between batches, and how many more there shall be."""
    if spec.name == "n":
        return np.array([4 + rows % 3], "int64")
    return np.random.RandomState(rows).randint(0, WORDS, [rows, 2 + rows % 5]).astype("int64")


def generates(*specs):
    """Registers a model with these inputs."""

    def register(cls):
        MODELS[cls.__name__] = (cls, specs, prompts, BATCHES)
        return cls

    return register


PROMPT, COUNT = S(None, None, dtype="int64", name="ids"), S(1, dtype="int64", name="n")


class Words(nn.Layer):
    """Logits of the next word by the mean of all words and by the last one."""

    def __init__(self):
        super().__init__()
        self.e, self.f = nn.Embedding(WORDS, 8), nn.Linear(16, WORDS)

    def logits(self, ids):
        e = self.e(ids)
        return self.f(paddle.concat([paddle.mean(e, 1), e[:, -1]], 1) * 3.0)

    def next(self, ids):
        return paddle.argmax(self.logits(ids), -1, keepdim=True)


@generates(PROMPT, COUNT)
class words_as_often_as_fed(Words):
    def forward(self, ids, n):
        i = paddle.zeros([1], "int64")
        while i < n:
            ids = paddle.concat([ids, self.next(ids)], 1)
            i = i + 1
        return ids


@generates(PROMPT, COUNT)
class words_behind_any_prompt(Words):
    def forward(self, ids, n):
        for _ in range(n):
            ids = paddle.concat([ids, self.next(ids)], axis=1)
        return ids, paddle.shape(ids)


@generates(PROMPT)
class words_known_times(Words):
    def forward(self, ids):
        i = paddle.zeros([1], "int64")
        while i < 5:
            ids = paddle.concat([ids, self.next(ids)], 1)
            i = i + 1
        return ids


@generates(PROMPT)
class words_until_an_end(Words):
    """It ends when each row has had an end, or after some words."""

    def forward(self, ids):
        i = paddle.zeros([1], "int64")
        ended = paddle.zeros_like(ids[:, :1]).astype("bool")
        while i < 9 and not paddle.all(ended):
            word = self.next(ids)
            ended = paddle.logical_or(ended, word == END)
            ids = paddle.concat([ids, word], 1)
            i = i + 1
        return ids, i


@generates(PROMPT, COUNT)
class words_until_a_break(Words):
    def forward(self, ids, n):
        for _ in range(n):
            word = self.next(ids)
            ids = paddle.concat([ids, word], 1)
            if paddle.all(word == END):
                break
        return ids


@generates(PROMPT)
class words_up_to_a_length(Words):
    """The length of what has grown says when it ends."""

    def forward(self, ids):
        while paddle.shape(ids)[1] < 12:
            ids = paddle.concat([ids, self.next(ids)], 1)
        return ids


@generates(PROMPT, COUNT)
class words_by_cells(Words):
    """A recurrent unit along all words, in each step: a loop in a loop."""

    def __init__(self):
        super().__init__()
        self.c, self.o = nn.GRUCell(8, 8), nn.Linear(8, WORDS)

    def forward(self, ids, n):
        for _ in range(n):
            e, h = self.e(ids), paddle.zeros([paddle.shape(ids)[0], 8])
            for t in range(paddle.shape(ids)[1]):
                _, h = self.c(e[:, t], h)
            ids = paddle.concat([ids, paddle.argmax(self.o(h * 4.0), -1, keepdim=True)], 1)
        return ids


@generates(PROMPT, COUNT)
class words_by_attention(Words):
    """A decoder over all words, in each step; places are counted along what has grown."""

    def __init__(self):
        super().__init__()
        self.p, self.o = nn.Embedding(32, 8), nn.Linear(8, WORDS)
        self.d = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2)

    def logits(self, ids):
        size = paddle.shape(ids)[1]
        x = self.e(ids) + self.p(paddle.arange(size))
        mask = paddle.triu(paddle.full([size, size], -1e9), 1)
        return self.o(self.d(x, mask)[:, -1] * 3.0)

    def forward(self, ids, n):
        i = paddle.zeros([1], "int64")
        while i < n:
            ids = paddle.concat([ids, self.next(ids)], 1)
            i = i + 1
        return ids


@generates(PROMPT, COUNT)
class words_by_cached_attention(Words):
    """Keys and values of the words before are kept."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))
        self.w = nn.Linear(8, WORDS)

    def forward(self, ids, n):
        x = self.e(ids)
        keys, values = self.k(x), self.v(x)
        i = paddle.zeros([1], "int64")
        while i < n:
            scores = F.softmax(paddle.matmul(self.q(x[:, -1:]), keys, transpose_y=True) / 2.0)
            word = paddle.argmax(self.w(self.o(paddle.matmul(scores, values)) * 6.0), -1)
            x = self.e(word)
            keys = paddle.concat([keys, self.k(x)], 1)
            values = paddle.concat([values, self.v(x)], 1)
            ids = paddle.concat([ids, word], 1)
            i = i + 1
        return ids


@generates(PROMPT, COUNT)
class scores_of_all_words(Words):
    """What a list collects beside what grows."""

    def forward(self, ids, n):
        scores = []
        for _ in range(n):
            logits = self.logits(ids)
            scores.append(paddle.max(logits, 1))
            ids = paddle.concat([ids, paddle.argmax(logits, -1, keepdim=True)], 1)
        return ids, paddle.stack(scores, 1)
