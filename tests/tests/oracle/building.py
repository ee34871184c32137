"""What cases are built of: what they are fed with, and operators that PaddlePaddle has no function for."""

import numpy as np
import paddle
from paddle import static
from paddle.base import core
from paddle.base.layer_helper import LayerHelper

# What `chunk_eval` gives.
CHUNKS = {
    "Precision": "float32",
    "Recall": "float32",
    "F1-Score": "float32",
    "NumInferChunks": "int64",
    "NumLabelChunks": "int64",
    "NumCorrectChunks": "int64",
}


class Fed:
    """What a case is fed with."""

    def __init__(self):
        self.arrays, self.offsets = {}, {}

    def __call__(self, name, array, *offsets, shape=None):
        """Feeds an array whose rows are tokens, if there are offsets, those of the outer level first."""
        array = np.asarray(array)
        shape = shape or [-1, *array.shape[1:]]
        self.arrays[name] = array
        if offsets:
            self.offsets[name] = list(offsets)
        return static.data(name, shape, str(array.dtype), lod_level=len(offsets))

    def tensors(self):
        found = {}
        for name, array in self.arrays.items():
            tensor = core.LoDTensor()
            tensor.set(array, paddle.CPUPlace())
            if name in self.offsets:
                tensor.set_lod(self.offsets[name])
            found[name] = tensor
        return found


def operator(kind, inputs, outputs, **attributes):
    """Appends an operator with these outputs, a type for each slot."""
    helper = LayerHelper(kind)
    found = {slot: helper.create_variable_for_type_inference(dtype) for slot, dtype in outputs.items()}
    inputs = {slot: [value] for slot, value in inputs.items()}
    helper.append_op(type=kind, inputs=inputs, outputs={slot: [value] for slot, value in found.items()}, attrs=attributes)
    return list(found.values())
