"""The list of models."""

from paddle.static import InputSpec

BATCHES = (1, 3, 32)
MODELS = {}


def model(*specs):
    """Registers a model with these inputs."""

    def register(cls):
        MODELS[cls.__name__] = (cls, specs, None, BATCHES)
        return cls

    return register


def S(*shape, dtype="float32", name="x"):
    return InputSpec(list(shape), dtype, name)
