"""Inference by a model that PaddlePaddle saved: `saved.py paddle|onnxruntime MODE MODEL BATCH THREADS INPUTS`, where INPUTS has an
argument such as `f32:3,224,224` for each input. The batches are those of `benches/workloads/saved.rs`."""

import sys

import numpy as np

from serve import serve

FRAMEWORK, MODE, MODEL = sys.argv[1:4]
BATCH, THREADS = map(int, sys.argv[4:6])
INPUTS = sys.argv[6:]
POOL = 8


def numbers(described, k, at):
    dtype, sizes = described.split(":")
    shape = [BATCH] + [int(size) for size in sizes.split(",") if size]
    elements = (np.arange(np.prod(shape)) + 3 * at) * 37 + k * 11
    if dtype == "i64":
        return (elements % 5).astype(np.int64).reshape(shape)
    return ((elements % 41).astype(np.float32) / np.float32(20) - 1).astype(np.float32).reshape(shape)


def pool():
    return [[numbers(described, k, at) for k, described in enumerate(INPUTS)] for at in range(POOL)]


def paddle():
    from paddle import inference

    config = inference.Config(MODEL + ".pdmodel", MODEL + ".pdiparams")
    config.disable_gpu()
    config.disable_glog_info()
    config.set_cpu_math_library_num_threads(THREADS)
    if "onednn" in MODE:
        config.enable_mkldnn()
    predictor = inference.create_predictor(config)
    handles = [predictor.get_input_handle(name) for name in predictor.get_input_names()]
    batches = pool()
    output = predictor.get_output_handle(predictor.get_output_names()[0])

    def step(number):
        for handle, value in zip(handles, batches[number % POOL]):
            handle.reshape(value.shape)
            handle.copy_from_cpu(value)
        predictor.run()
        return output.copy_to_cpu().reshape(-1)

    return step


def onnxruntime():
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    session = runtime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    names = [taken.name for taken in session.get_inputs()]
    batches = [dict(zip(names, batch)) for batch in pool()]
    first = session.get_outputs()[0].name
    return lambda number: session.run([first], batches[number % POOL])[0].reshape(-1)


serve({"paddle": paddle, "onnxruntime": onnxruntime}[FRAMEWORK], inference=True)
