"""Whether the real PaddlePaddle computes with exported models what it computed with its own.

`python exported_models.py MODELS EXPORTS`: `MODELS` is a folder that `saved_models` wrote, `EXPORTS` what `tests/load.rs` made of it.
"""

import os
import sys

os.environ["GLOG_minloglevel"] = "3"
# Later releases read models of the form of 2.6 so.
os.environ["FLAGS_enable_pir_api"] = "0"

import numpy as np
import paddle

paddle.enable_static()


def differs(prefix, folder, rows):
    """The first difference between what the model gives and what it should give."""
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe = paddle.static.Executor(paddle.CPUPlace())
        program, fed, fetched = paddle.static.load_inference_model(prefix, exe)
        inputs = np.load(os.path.join(folder, f"in{rows}.npz"))
        expected = np.load(os.path.join(folder, f"out{rows}.npz"))
        found = exe.run(program, {name: inputs[name] for name in fed}, fetched, return_numpy=False)
    for k, value in enumerate(found):
        value, wanted = np.array(value), expected[f"out{k}"]
        if value.size != wanted.size or not np.allclose(value.reshape(wanted.shape), wanted, 1e-4, 1e-5):
            return f"output {k} of {rows} rows: {value.shape} {value.reshape(-1)[:8]}, not {wanted.shape} {wanted.reshape(-1)[:8]}"


def main(models, exports):
    wrong = 0
    for name in sorted(os.listdir(exports)):
        try:
            prefix = os.path.join(exports, name, "model")
            all = (differs(prefix, os.path.join(models, name), rows) for rows in (1, 3, 32))
            why = next((why for why in all if why), None)
        except Exception as error:
            why = f"{type(error).__name__}: {str(error).strip()[-300:]}"
        wrong += why is not None
        print(name, why or "the same", flush=True)
    print(wrong, "differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
