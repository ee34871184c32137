"""Networks on signals."""

import torch
from torch import nn
from torch.nn import functional as F

import shapes
from torch_layers import dense, filters


def along(weights, dilation=1):
    """Filters along signals."""
    outputs, inputs, _, size = weights.shape
    return filters(nn.Conv1d(inputs, outputs, size, dilation=dilation), weights[:, :, 0])


class TemporalBlock(nn.Module):
    def __init__(self, w, dilation):
        super().__init__()
        self.first, self.second = along(next(w), dilation), along(next(w), dilation)
        changes = self.first.in_channels != self.first.out_channels
        self.around = along(next(w)) if changes else nn.Identity()
        self.before = 2 * dilation

    def causal(self, conv, x):
        return F.relu(conv(F.pad(x, (self.before, 0))))

    def forward(self, x):
        return F.relu(self.causal(self.second, self.causal(self.first, x)) + self.around(x))


class Temporal(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.blocks = nn.Sequential(*(TemporalBlock(w, dilation) for dilation in shapes.TEMPORAL))
        self.classes = dense(next(w))

    def forward(self, x):
        return self.classes(self.blocks(x).transpose(1, 2))


def classify_steps(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())
