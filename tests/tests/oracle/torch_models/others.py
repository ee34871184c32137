"""Networks of rows."""

import torch
from torch import nn
from torch.nn import functional as F

from registry import floats, ids, model


@model(floats(13))
def mlp():
    return nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 16), nn.Softplus(), nn.Linear(16, 1))


class DeepFM(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList(nn.Embedding(10, 1) for _ in range(4))
        self.second = nn.ModuleList(nn.Embedding(10, 6) for _ in range(4))
        self.deep = nn.Sequential(nn.Linear(27, 16), nn.PReLU(), nn.Linear(16, 1))

    def forward(self, fields, numbers):
        linear = torch.cat([table(fields[:, k]) for k, table in enumerate(self.first)], 1).sum(1, keepdim=True)
        vectors = torch.stack([table(fields[:, k]) for k, table in enumerate(self.second)], 1)
        pairs = 0.5 * (vectors.sum(1).square() - vectors.square().sum(1)).sum(1, keepdim=True)
        deep = self.deep(torch.cat([vectors.flatten(1), numbers], 1))
        return torch.sigmoid(linear + pairs + deep)


@model(ids(10, 4), floats(3))
def deepfm():
    return DeepFM()


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))

    def forward(self, x):
        weights = self.gate(x).softmax(1)
        outs = torch.stack([expert(x) for expert in self.experts], 1)
        best = weights.topk(2, 1).values
        return torch.einsum("be,beo->bo", weights, outs), best, weights.argmax(1)


@model(floats(8))
def experts():
    return Experts()


class Functions(nn.Module):
    def forward(self, x):
        y = torch.where(x > 0, x.clamp(0.1, 2.0).log(), x.abs().sqrt())
        z = torch.cumsum(y, 1).std(1, keepdim=True) + F.logsigmoid(x).logsumexp(1, keepdim=True)
        return z * x[:, ::2].sum(1, keepdim=True), torch.roll(x, 1, 1), x.flip(1), F.normalize(x), x.round() % 3


@model(floats(6))
def functions():
    return Functions()


class Distance(nn.Module):
    """What follows from all pairs of rows."""

    def forward(self, x):
        return torch.matmul(x, x.transpose(0, 1)).softmax(1), x - x.mean(0, keepdim=True)


@model(floats(5))
def pairs_of_rows():
    return Distance()
