"""What the command line of `with_torch.py` says, and what follows from it."""

import argparse
import os

# The compiler's processes would go on working beside the rounds of others.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch

parser = argparse.ArgumentParser(description="Runs a workload in PyTorch, step by step on command.")
parser.add_argument("workload")
parser.add_argument("mode", type=lambda text: text.split("+"), help="words of `catalogue.py`, joined by `+`")
parser.add_argument("threads", type=int)
parser.add_argument("--device", default="cpu", help="`cpu` or `cuda`")
parser.add_argument("--batch", type=int, help="rows of a batch; those of the workload, if it is left out")
parser.add_argument("--precision", choices=["f32", "bf16"], default="f32", help="bf16: by `autocast`")
parser.add_argument("--tf32", action="store_true", help="products of f32 on cards may be computed in TF32")
arguments = parser.parse_args()

MODE = arguments.mode
LAST = torch.channels_last_3d if arguments.workload == "volumes" else torch.channels_last
IMAGES_LAST = {"memory_format": LAST} if "channels-last" in MODE else {}
DEVICE = torch.device(arguments.device)
# `reduce-overhead` are CUDA's graphs: all kernels of a direction are launched as one.
COMPILED = {"dynamic": False, "mode": "reduce-overhead" if "graphs" in MODE else "default"}

torch.set_num_threads(arguments.threads)
torch.set_num_interop_threads(1)
torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
torch.backends.cudnn.allow_tf32 = arguments.tf32
# The shapes of a workload never change, so the fastest convolutions are looked for once.
torch.backends.cudnn.benchmark = True


def autocast():
    """What a loss is computed within."""
    return torch.autocast(DEVICE.type, torch.bfloat16, enabled=arguments.precision == "bf16")
