"""A loop that rows leave one by one, as soon as they are large enough."""

import torch
from torch import nn
from torch.nn import functional as F

from torch_layers import dense
from torch_settings import COMPILED, MODE

ITERATIONS = 32


class Adaptive(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.next, self.last = dense(next(w)), dense(next(w))
        # The whole loop is compiled with the loss, where its iterations are written out.
        by_itself = "compiled" in MODE and "unrolled" not in MODE
        self.iterate = torch.compile(self.masked, **COMPILED) if by_itself else self.masked

    def masked(self, x, small):
        """An iteration for all rows, of which those that are large stay as they are."""
        x = torch.where(small[:, None], torch.tanh(self.next(x)).to(x.dtype), x)
        return x, small & is_small(x)

    def forward(self, x):
        """The rows in their last states, and where they were before."""
        if "gathered" in MODE:
            return self.gathered(x)
        small, iterations = is_small(x), 0
        while iterations < ITERATIONS and ("unrolled" in MODE or small.any()):
            x, small = self.iterate(x, small)
            iterations += 1
        return x, None

    def gathered(self, x):
        """Rows that are large enough are put aside."""
        at, left, places = torch.arange(len(x), device=x.device), [], []
        for _ in range(ITERATIONS):
            small = is_small(x)
            left.append(x[~small])
            places.append(at[~small])
            x, at = x[small], at[small]
            if len(at) == 0:
                break
            x = torch.tanh(self.next(x))
        return torch.cat([*left, x]), torch.cat([*places, at])


def is_small(x):
    return x.detach().square().sum(1) <= 9.0


def classify_adaptive(model, x, label):
    x, places = model(x)
    return F.cross_entropy(model.last(x), label if places is None else label[places])
