"""Inference in onnxruntime: `with_onnxruntime.py W8b session THREADS`. The graph is that of the residual network; the session
folds batch norm into convolutions itself."""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import data
from serve import serve

THREADS = int(sys.argv[3])


class Graph:
    """Nodes and constants, as they are added."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def normalised(self, x, weights, stride=1):
        outputs, _, size, _ = weights.shape
        x = self.node("Conv", x, self.constant(weights), strides=[stride] * 2, pads=[size // 2] * 4)
        one, zero = (self.constant(of(outputs, np.float32)) for of in (np.ones, np.zeros))
        return self.node("BatchNormalization", x, one, zero, zero, one, epsilon=1e-5)


def resnet(graph, x, w):
    x = graph.node("Relu", graph.normalised(x, next(w)))
    for block in range(9):
        halve = block in (3, 6)
        way = graph.node("Relu", graph.normalised(x, next(w), 2 if halve else 1))
        way = graph.normalised(way, next(w))
        x = graph.node("Relu", graph.node("Add", way, graph.normalised(x, next(w), 2) if halve else x))
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x))
    weights = next(w)
    x = graph.node("Gemm", x, graph.constant(weights), graph.constant(np.zeros(weights.shape[1], np.float32)))
    return graph.node("Softmax", x, axis=1)


def session():
    graph = Graph()
    y = resnet(graph, "x", iter(data.weights("W8b")))
    images = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])
    result = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, data.CLASSES])
    described = helper.make_graph(graph.nodes, "resnet", [images], [result], graph.constants)
    model = helper.make_model(described, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    running = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    pool = data.pool("W8b")
    return lambda at: running.run([y], {"x": pool[at % data.POOL][0]})[0][0]


serve(session, inference=True)
