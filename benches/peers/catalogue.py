"""Prints, as JSON, which twins of the workloads this Python can run, and why it cannot run others: `catalogue.py [DEVICE]`, `cpu`
or `cuda`."""

import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys

# What has to be importable for each framework.
NEEDS = {"torch": ["torch"], "jax": ["jax"], "onnxruntime": ["onnxruntime", "onnx"], "paddle": ["paddle"]}

# The modes of each workload's twins; `with_torch.py` says what they mean.
IMAGES = {"torch": ["eager", "eager+channels-last", "compiled", "compiled+channels-last"], "jax": ["jit"]}
PLAIN = {"torch": ["eager", "compiled"], "jax": ["jit"]}
RAGGED = {"torch": ["eager", "eager+unpadded", "compiled"], "jax": ["jit"]}
TWINS = {
    "W1": PLAIN,
    "W2": IMAGES,
    "W3": {"torch": RAGGED["torch"]},
    "W5": {"torch": ["eager", "eager+sparse", "compiled"]},
    "W6": {"torch": PLAIN["torch"]},
    "W7": IMAGES,
    "W8b": IMAGES | {"onnxruntime": ["session"]},
    "W9": {"torch": ["eager", "eager+gathered", "compiled", "compiled+unrolled"]},
    "encoder": RAGGED,
    "decoder": RAGGED,
    "decoder64": PLAIN,
    "unet": IMAGES,
    "separable": IMAGES,
    "temporal": {"torch": PLAIN["torch"]},
    "convnext": {"torch": IMAGES["torch"]},
    "mixer": {"torch": IMAGES["torch"]},
    "efficient": {"torch": IMAGES["torch"]},
    "efficient1": {"torch": IMAGES["torch"], "onnxruntime": ["session"]},
    "volumes": {"torch": IMAGES["torch"]},
    "grouped": {"torch": IMAGES["torch"]},
    "recommender": {"torch": ["eager", "eager+sparse", "compiled"]},
    "translation": {"torch": RAGGED["torch"]},
    # Models that PaddlePaddle saved, which `saved.py` runs.
    "saved": {"paddle": ["predictor", "predictor+onednn"], "onnxruntime": ["session"]},
}
# On cards only PyTorch is compared. Its compiler arranges the channels of images there by itself. CUDA's graphs need a whole
# step without a question from the host, which neither the kernel of LSTMs nor a loop that may end has.
CARD = {
    workload: [mode for mode in frameworks["torch"] if mode != "compiled+channels-last"]
    + {"W3": [], "translation": [], "W9": ["compiled+unrolled+graphs"]}.get(workload, ["compiled+graphs"])
    for workload, frameworks in TWINS.items()
    if "torch" in frameworks
}


def missing(module):
    return importlib.util.find_spec(module) is None


def compiler():
    """Whether there is what `torch.compile` compiles kernels with."""
    return shutil.which(os.environ.get("CXX", "g++")) or shutil.which("clang++")


absent, versions = {}, {}
for framework, modules in NEEDS.items():
    lacks = [module for module in ["numpy", *modules] if missing(module)]
    if lacks:
        absent[framework] = f"{', '.join(lacks)} cannot be imported"
    else:
        versions[framework] = importlib.metadata.version({"paddle": "paddlepaddle"}.get(framework, framework))
if "torch" in versions and not compiler():
    absent["torch compiled"] = "there is no C++ compiler"

if sys.argv[1:] == ["cuda"]:
    TWINS = {workload: {"torch": modes} for workload, modes in CARD.items()}
twins = [
    {"workload": workload, "framework": framework, "mode": mode}
    for workload, frameworks in TWINS.items()
    for framework, modes in frameworks.items()
    for mode in modes
    if framework in versions and not ("torch compiled" in absent and "compiled" in mode)
]
print(json.dumps({"python": sys.version.split()[0], "versions": versions, "missing": absent, "twins": twins}))
