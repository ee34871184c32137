"""Networks on words and texts, and their losses."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from torch_layers import dense
from torch_settings import MODE


def table(weights, sparse=False):
    return nn.Embedding.from_pretrained(torch.from_numpy(weights), freeze=False, sparse=sparse)


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
    mask = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
    x = model(words, mask)
    x = spread(x, mask) if "unpadded" in MODE else x * mask[..., None]
    return F.cross_entropy(model.last(x.sum(1) / lengths[:, None]), label)


def foretell_ragged(model, words, lengths, following):
    mask = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
    following = following[mask] if "unpadded" in MODE else following.flatten()
    return F.cross_entropy(model.last(model(words, mask)).flatten(0, -2), following)


def foretell(model, words, following):
    return F.cross_entropy(model.last(model(words)).flatten(0, 1), following.flatten())


def packed(x, lengths):
    return nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)


class Recurrent(nn.Module):
    """An LSTM, whose features are those behind the last word of each text."""

    def __init__(self, w):
        super().__init__()
        self.word = table(next(w))
        self.lstm = nn.LSTM(self.word.embedding_dim, self.word.embedding_dim, batch_first=True)
        with torch.no_grad():
            self.lstm.weight_ih_l0.copy_(torch.from_numpy(next(w).T))
            self.lstm.weight_hh_l0.copy_(torch.from_numpy(next(w).T))
            self.lstm.bias_ih_l0.zero_()
            self.lstm.bias_hh_l0.zero_()
        # The workload has one bias.
        self.lstm.bias_hh_l0.requires_grad_(False)
        self.last = dense(next(w))

    def forward(self, words, lengths):
        if "unpadded" in MODE:
            return self.lstm(packed(self.word(words), lengths))[1][0][-1]
        features, _ = self.lstm(self.word(words))
        return features[torch.arange(len(words), device=words.device), lengths - 1]


def classify_recurrent(model, words, lengths, label):
    return F.cross_entropy(model.last(model(words, lengths)), label)


class Ranking(nn.Module):
    """Which of two words is nearer to another one."""

    def __init__(self, w):
        super().__init__()
        self.word, self.semantic = table(next(w), sparse="sparse" in MODE), dense(next(w))

    def features(self, words):
        return torch.tanh(self.semantic(self.word(words)))

    def forward(self, q, a, b):
        q, a, b = self.features(q), self.features(a), self.features(b)
        return torch.stack([(q * a).sum(1), (q * b).sum(1)], 1)


def rank(model, q, a, b, label):
    return F.cross_entropy(model(q, a, b), label)


def units(w):
    """Gated recurrent units along texts."""
    layer = nn.GRU(128, 128, batch_first=True)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.from_numpy(next(w).T))
        layer.weight_hh_l0.copy_(torch.from_numpy(next(w).T))
        layer.bias_ih_l0.zero_()
        layer.bias_hh_l0.zero_()
    return layer


class Translation(nn.Module):
    """A network that reads a text, and one that writes another one."""

    def __init__(self, w):
        super().__init__()
        self.text, self.reader = table(next(w)), units(w)
        self.said, self.writer = table(next(w)), units(w)
        self.last = dense(next(w))

    def read(self, text, lengths):
        if "unpadded" in MODE:
            return self.reader(packed(self.text(text), lengths))[1]
        states, _ = self.reader(self.text(text))
        return states[torch.arange(len(text), device=text.device), lengths - 1][None]


def translate(model, text, lengths, said, said_lengths, following):
    state = model.read(text, lengths)
    if "unpadded" in MODE:
        written = model.writer(packed(model.said(said), said_lengths), state)[0].data
        following = packed(following, said_lengths).data
    else:
        written, following = model.writer(model.said(said), state)[0].flatten(0, 1), following.flatten()
    return F.cross_entropy(model.last(written), following)
