"""The list of models."""

from paddle.static import InputSpec

BATCHES = (1, 3, 32)
MODELS = {}


def model(*specs, feeds=None):
    """Registers a model with these inputs, which `feeds` gives for a number of rows and the description of one."""

    def register(cls):
        MODELS[cls.__name__] = (cls, specs, feeds, BATCHES)
        return cls

    return register


def S(*shape, dtype="float32", name="x"):
    return InputSpec(list(shape), dtype, name)
