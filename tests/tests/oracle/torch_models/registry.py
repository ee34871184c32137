"""The list of models."""

import torch

MODELS = {}


def model(*inputs, axes=None, script=True):
    """Registers a model, whose inputs are functions of the number of rows. Other axes of any size have names. Scripting writes some
    sizes of an example into the model, which are not those of other inputs."""

    def register(make):
        MODELS[make.__name__] = (make, lambda rows: [of(rows) for of in inputs], axes or {}, script)
        return make

    return register


def sizes(shape, rows):
    """A size may depend on the number of rows."""
    return [size(rows) if callable(size) else size for size in shape]


def floats(*shape):
    return lambda rows: torch.randn(rows, *sizes(shape, rows))


def ids(below, *shape):
    return lambda rows: torch.randint(0, below, (rows, *sizes(shape, rows)))
