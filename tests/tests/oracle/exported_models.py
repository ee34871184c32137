"""Whether the real PaddlePaddle computes with exported models what it computed with its own.

`python exported_models.py MODELS EXPORTS [executor | predictor | plain_predictor | onnxruntime]`: `MODELS` is a folder
that `saved_models` wrote, `EXPORTS` what `tests/load.rs` made of it. Each model has a process of its own, since some passes end theirs.
"""

import os
import sys

import numpy as np

import run


def differs(load, prefix, folder):
    """The first difference between what the model gives and what it should give."""
    on = load(prefix)
    for rows in (1, 3, 32):
        inputs = np.load(os.path.join(folder, f"in{rows}.npz"))
        expected = np.load(os.path.join(folder, f"out{rows}.npz"))
        found = on([(inputs[name], []) for name in on.names])
        # In ONNX, lengths of sequences are outputs of their own.
        names = getattr(on, "outputs", [""] * len(found))
        found = [value for name, (value, _) in zip(names, found) if ".lengths" not in name]
        for k, value in enumerate(found):
            wanted = expected[f"out{k}"]
            if value.size != wanted.size or not np.allclose(value.reshape(wanted.shape), wanted, 1e-4, 1e-5):
                seen = f"{value.shape} {value.reshape(-1)[:8]}, not {wanted.shape} {wanted.reshape(-1)[:8]}"
                return f"output {k} of {rows} rows: {seen}"
    return "the same"


def answer(load, prefix, folder):
    """What is said of a model, or how the process ended."""

    def say(out):
        try:
            out.write(differs(load, prefix, folder))
        except Exception as error:
            out.write(f"{type(error).__name__}: {str(error).strip()[-300:]}")

    said, how = run.alone(say)
    return said or f"the process ended: {how}"


def main(models, exports, api="executor"):
    wrong = 0
    kind = ".onnx" if api == "onnxruntime" else ".pdmodel"
    for name in sorted(os.listdir(exports)):
        if not os.path.exists(os.path.join(exports, name, "model" + kind)):
            continue
        said = answer(getattr(run, api), os.path.join(exports, name, "model"), os.path.join(models, name))
        wrong += said != "the same"
        print(name, said, flush=True)
    print(wrong, "differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
