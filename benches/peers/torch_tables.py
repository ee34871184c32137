"""A network on tables and numbers."""

import torch
from torch import nn
from torch.nn import functional as F

import shapes
from torch_layers import dense
from torch_settings import MODE
from torch_texts import table


def perceptron(w, layers):
    return nn.Sequential(*(layer for _ in range(layers) for layer in (dense(next(w)), nn.ReLU())))


class Recommender(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.bottom = perceptron(w, 3)
        self.tables = nn.ModuleList([table(next(w), sparse="sparse" in MODE) for _ in range(shapes.TABLES)])
        self.top, self.click = perceptron(w, 3), dense(next(w))
        self.register_buffer("pairs", torch.tril_indices(shapes.TABLES + 1, shapes.TABLES + 1, -1), persistent=False)

    def forward(self, ids, numbers):
        numbers = self.bottom(numbers)
        features = torch.stack([numbers, *(table(ids[:, i]) for i, table in enumerate(self.tables))], 1)
        products = torch.bmm(features, features.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.click(self.top(torch.cat([numbers, products], 1)))


def foretell_clicks(model, ids, numbers, clicked):
    return F.binary_cross_entropy_with_logits(model(ids, numbers), clicked)
