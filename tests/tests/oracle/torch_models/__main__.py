"""Models of PyTorch in ONNX, for `tests/onnx.rs`: `python torch_models FOLDER [NAME ..]`.

Each model is exported by both exporters of PyTorch, and each gets a folder: `model.onnx`, and for batches of 1 and 3 rows what it is
fed, `in1.npz`, and what it gives, `out1.npz`.
"""

import os
import sys
import warnings

import numpy as np
import torch

import images  # noqa: F401
import others  # noqa: F401
import sequences  # noqa: F401
from registry import MODELS

EXPORTERS = {"script": False, "dynamo": True}


def export(net, inputs, path, dynamo, axes):
    names = [f"in{k}" for k in range(len(inputs))]
    outputs = net(*inputs)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    of_outputs = [f"out{k}" for k in range(len(outputs))]
    options = {"input_names": names, "output_names": of_outputs}
    if dynamo:
        dims = {0: torch.export.Dim("batch")} | {axis: torch.export.Dim(name) for axis, name in axes.items()}
        options |= {"dynamo": True, "dynamic_shapes": [dims for _ in inputs], "external_data": False}
    else:
        options |= {"dynamo": False, "opset_version": 17, "dynamic_axes": {name: {0: "batch"} for name in of_outputs} | {name: {0: "batch"} | axes for name in names}}
    torch.onnx.export(net, tuple(inputs), path, **options)


def main(folder, only):
    warnings.filterwarnings("ignore")
    for name, (make, feeds, axes, script) in MODELS.items():
        if only and name not in only:
            continue
        torch.manual_seed(1)
        net = make().eval()
        for exporter, dynamo in EXPORTERS.items():
            if not dynamo and not script:
                continue
            to = os.path.join(folder, f"{name}_{exporter}")
            os.makedirs(to, exist_ok=True)
            try:
                export(net, feeds(2), os.path.join(to, "model.onnx"), dynamo, axes)
            except Exception as error:
                print(f"{name}: {exporter}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            for rows in (1, 3):
                inputs = feeds(rows)
                with torch.no_grad():
                    outputs = net(*inputs)
                outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
                np.savez(os.path.join(to, f"in{rows}.npz"), **{f"in{k}": x.numpy() for k, x in enumerate(inputs)})
                np.savez(os.path.join(to, f"out{rows}.npz"), **{f"out{k}": y.numpy() for k, y in enumerate(outputs)})
            print(name, exporter, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]))
