"""The list of models."""

import torch

MODELS = {}


def model(*inputs):
    """Registers a model, whose inputs are functions of the number of rows."""

    def register(make):
        MODELS[make.__name__] = (make, lambda rows: [of(rows) for of in inputs])
        return make

    return register


def floats(*shape):
    return lambda rows: torch.randn(rows, *shape)


def ids(below, *shape):
    return lambda rows: torch.randint(0, below, (rows, *shape))
