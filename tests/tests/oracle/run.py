"""Runs exported models in the real PaddlePaddle, or in onnxruntime: run.py (executor | predictor | plain_predictor | onnxruntime).

Reads models from the standard input: a line `model PREFIX`, then batches, one line for each input, in the order in which
they are fed:

    ELEMENT_TYPE DIMENSIONS VALUES

(`float32 2,3 1.0 2.0 …`; a scalar has `-` for its dimensions; behind those of sequences stand their offsets,
`float32 3,1@0,2,3 1.0 …`, those of the outermost first), an empty line after each batch. Writes the outputs of each batch
in the same form, or one line `error TEXT`. Each model has a process of its own, since some kernels end theirs.
"""

import os
import signal
import sys

os.environ.setdefault("GLOG_v", "0")
os.environ.setdefault("GLOG_minloglevel", "2")
# Later releases read such files so.
os.environ.setdefault("FLAGS_enable_pir_api", "0")

import numpy as np

SECONDS = 120  # for the batches of a model


def executor(prefix):
    import paddle

    paddle.enable_static()
    exe = paddle.static.Executor(paddle.CPUPlace())
    program, feeds, fetches = paddle.static.load_inference_model(prefix, exe)

    def on(batch):
        tensors = [paddle.base.core.LoDTensor() for _ in batch]
        for tensor, (value, lod) in zip(tensors, batch):
            tensor.set(value, paddle.CPUPlace())
            tensor.set_lod(lod)
        found = exe.run(program, feed=dict(zip(feeds, tensors)), fetch_list=fetches, return_numpy=False)
        return [(np.asarray(tensor), tensor.lod()) for tensor in found]

    on.names = feeds
    return on


def predictor(prefix, is_optimised=True):
    from paddle import inference

    params = prefix + ".pdiparams"
    config = inference.Config(prefix + ".pdmodel", params if os.path.exists(params) else "")
    config.disable_gpu()
    config.disable_glog_info()
    config.switch_ir_optim(is_optimised)
    run = inference.create_predictor(config)

    def on(batch):
        for name, (value, lod) in zip(run.get_input_names(), batch):
            handle = run.get_input_handle(name)
            handle.reshape(value.shape)
            handle.copy_from_cpu(value)
            handle.set_lod(lod)
        run.run()
        handles = [run.get_output_handle(name) for name in run.get_output_names()]
        return [(handle.copy_to_cpu(), handle.lod()) for handle in handles]

    on.names = run.get_input_names()
    return on


def plain_predictor(prefix):
    """Without its passes, of which some fail on loops or compute something else: oneDNN's kernels hand layouts of their own
    to `split_lod_tensor`, `repeated_fc_relu_fuse_pass` asks for the shape of a rank table, `squared_mat_sub_fuse_pass` ends
    the process on a recurrent network.
    """
    return predictor(prefix, is_optimised=False)


def onnxruntime(prefix):
    """Offsets are inputs of their own there."""
    import onnxruntime as runtime

    session = runtime.InferenceSession(prefix + ".onnx", providers=["CPUExecutionProvider"])
    names = [taken.name for taken in session.get_inputs()]
    types = {"tensor(float)": "float32", "tensor(double)": "float64"}
    dtypes = [types.get(taken.type, taken.type[len("tensor(") : -1]) for taken in session.get_inputs()]

    def on(batch):
        values = [value.astype(dtype) for dtype, (value, _) in zip(dtypes, batch)]
        found = session.run(None, dict(zip(names, values)))
        return [(np.asarray(value), []) for value in found]

    on.names = names
    on.outputs = [given.name for given in session.get_outputs()]
    return on


def parse(line):
    dtype, dims, *values = line.split(" ")
    dims, *levels = dims.split("@")
    lod = [[int(at) for at in offsets.split(",")] for offsets in levels]
    shape = [] if dims == "-" else [int(dim) for dim in dims.split(",")]
    numbers = [int(v) if "int" in dtype or dtype == "bool" else float(v) for v in values]
    return np.array(numbers, dtype=dtype).reshape(shape), lod


def show(value, lod):
    dims = ",".join(map(str, value.shape)) or "-"
    dims += "".join("@" + ",".join(map(str, offsets)) for offsets in lod)
    whole = value.dtype.kind in "ib"
    values = [repr(int(v)) if whole else repr(float(v)) for v in value.reshape(-1)]
    return " ".join([str(value.dtype), dims, *values])


def answers(load, prefix, batches):
    run = None
    for batch in batches:
        try:
            run = run or load(prefix)
            yield [show(*output) for output in run(batch)]
        except Exception as error:
            yield ["error " + " / ".join(line for line in str(error).split("\n") if line.strip())]


def alone(say):
    """What a function writes to the file that it gets, in a process of its own, and how that ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(2, 1)  # What the kernels say is no answer.
        signal.alarm(SECONDS)  # Some passes never end.
        with os.fdopen(write, "w") as out:
            say(out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as out:
        text = out.read()
    _, status = os.waitpid(child, 0)
    return text, signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status}"


def answer(load, prefix, batches):
    """Writes the answers; for each batch at which the process ends, how it did."""

    def say(out):
        for lines in answers(load, prefix, batches):
            out.write("".join(line + "\n" for line in lines) + "\n")
            out.flush()

    text, how = alone(say)
    sys.stdout.write(text)
    for _ in range(len(batches) - text.split("\n")[:-1].count("")):
        sys.stdout.write(f"error the process ended: {how}\n\n")
    sys.stdout.flush()


def main():
    loaders = [executor, predictor, plain_predictor, onnxruntime]
    load = {loader.__name__: loader for loader in loaders}[sys.argv[1]]
    prefix, batch, batches = None, [], []
    for line in sys.stdin.read().split("\n")[:-1] + ["model "]:
        if line.startswith("model "):
            if batches:
                answer(load, prefix, batches)
            prefix, batches = line[6:], []
        elif line:
            batch.append(parse(line))
        else:
            batches.append(batch)
            batch = []


if __name__ == "__main__":
    main()
