"""Models of the real PaddlePaddle, 2.6.2 or later, for `tests/load.rs`: `python saved_models FOLDER [NAME ..]`,
all of them or those whose names begin so.

Each model gets a folder: `model.pdmodel` and `model.pdiparams`, and for batches of 1, 3 and 32 rows what it is fed,
`in1.npz`, and what it gives, `out1.npz`.
"""

import os
import shutil
import sys

os.environ["GLOG_minloglevel"] = "3"
# Later releases write models of the form of 2.6 so, and of their own, `model.json`, where it is 1.
os.environ.setdefault("FLAGS_enable_pir_api", "0")

import numpy as np
import paddle

import arrays  # noqa: F401
import detection  # noqa: F401
import families  # noqa: F401
import functions  # noqa: F401
import generation  # noqa: F401
import graphs  # noqa: F401
import images  # noqa: F401
import interface  # noqa: F401
import others  # noqa: F401
import recurrent  # noqa: F401
import rows  # noqa: F401
from registry import MODELS

random = np.random.RandomState(0)


def fed(spec, rows):
    """Random numbers for an input."""
    shape = [rows if size in (-1, None) else size for size in spec.shape]
    dtype = str(spec.dtype).split(".")[-1]
    if dtype in ("int64", "int32"):
        return random.randint(0, 5, shape).astype(dtype)
    if dtype == "uint8":
        return random.randint(0, 256, shape).astype(dtype)
    return random.randn(*shape).astype(dtype)


def write(folder, name, cls, specs, feeds, batches):
    paddle.seed(1)
    net = cls()
    net.eval()
    prefix = os.path.join(folder, name, "model")
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    paddle.jit.save(paddle.jit.to_static(net, input_spec=list(specs)), prefix, input_spec=list(specs))
    loaded = paddle.jit.load(prefix)
    for rows in batches:
        inputs = {spec.name: feeds(rows, spec) if feeds else fed(spec, rows) for spec in specs}
        outputs = loaded(*[paddle.to_tensor(inputs[spec.name]) for spec in specs])
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        np.savez(os.path.join(folder, name, f"in{rows}.npz"), **inputs)
        np.savez(
            os.path.join(folder, name, f"out{rows}.npz"),
            **{f"out{k}": output.numpy() for k, output in enumerate(outputs)},
        )


def main(folder, only):
    paddle.set_device("cpu")
    failed = 0
    for name, model in MODELS.items():
        if only and not name.startswith(tuple(only)):
            continue
        try:
            write(folder, name, *model)
            print(name, flush=True)
        except Exception as error:
            # Later releases cannot save all of them in the form of 2.6.
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
            failed += 1
            print(name, "is not made:", str(error).strip().splitlines()[-1], flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]))
