"""Inference by a model that PaddlePaddle saved: `saved.py paddle|onnxruntime MODE MODEL BATCH THREADS`. The batches are those of
`benches/workloads/saved.rs`."""

import sys

import numpy as np

from serve import serve

FRAMEWORK, MODE, MODEL = sys.argv[1:4]
BATCH, THREADS = map(int, sys.argv[4:])
POOL = 8


def numbers(shape, dtype, k, at):
    shape = [BATCH] + [int(size) for size in shape[1:]]
    elements = (np.arange(np.prod(shape)) + 3 * at) * 37 + k * 11
    whole = "int64" in dtype
    values = (elements % 5).astype(np.int64) if whole else (elements % 41).astype(np.float32) / np.float32(20) - 1
    return values.astype(np.int64 if whole else np.float32).reshape(shape)


def paddle():
    from paddle import inference

    config = inference.Config(MODEL + ".pdmodel", MODEL + ".pdiparams")
    config.disable_gpu()
    config.disable_glog_info()
    config.set_cpu_math_library_num_threads(THREADS)
    if "onednn" in MODE:
        config.enable_mkldnn()
    predictor = inference.create_predictor(config)
    names, shapes = predictor.get_input_names(), predictor.get_input_tensor_shape()
    handles = [predictor.get_input_handle(name) for name in names]
    types = [str(handle.type()).lower() for handle in handles]
    pool = [[numbers(shapes[name], types[k], k, at) for k, name in enumerate(names)] for at in range(POOL)]
    output = predictor.get_output_handle(predictor.get_output_names()[0])

    def step(number):
        for handle, value in zip(handles, pool[number % POOL]):
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
    inputs = session.get_inputs()
    pool = [
        {taken.name: numbers(taken.shape, taken.type, k, at) for k, taken in enumerate(inputs)} for at in range(POOL)
    ]
    first = session.get_outputs()[0].name
    return lambda number: session.run([first], pool[number % POOL])[0].reshape(-1)


serve({"paddle": paddle, "onnxruntime": onnxruntime}[FRAMEWORK], inference=True)
