"""Inference in onnxruntime: `with_onnxruntime.py WORKLOAD session THREADS`. The graph is that of the network as it is written;
the session folds batch norm into convolutions itself."""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import data
import shapes
from serve import serve

WORKLOAD, THREADS = sys.argv[1], int(sys.argv[3])


class Graph:
    """Nodes and constants, as they are added."""

    def __init__(self, variance):
        self.nodes, self.constants, self.variance = [], [], variance

    def constant(self, array):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def normalised(self, x, weights, stride=1, groups=1):
        outputs, _, size, _ = weights.shape
        x = self.node("Conv", x, self.constant(weights), strides=[stride] * 2, pads=[size // 2] * 4, group=groups)
        one, zero, variance = (self.constant(np.full(outputs, of, np.float32)) for of in (1, 0, self.variance))
        return self.node("BatchNormalization", x, one, zero, zero, variance, epsilon=1e-5)

    def dense(self, x, weights):
        zero = np.zeros(weights.shape[1], np.float32)
        return self.node("Gemm", x, self.constant(weights), self.constant(zero))

    def pooled(self, x):
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def swish(self, x):
        return self.node("Mul", x, self.node("Sigmoid", x))


def resnet(graph, x, w):
    x = graph.node("Relu", graph.normalised(x, next(w)))
    for block in range(9):
        halve = block in (3, 6)
        way = graph.node("Relu", graph.normalised(x, next(w), 2 if halve else 1))
        way = graph.normalised(way, next(w))
        x = graph.node("Relu", graph.node("Add", way, graph.normalised(x, next(w), 2) if halve else x))
    return graph.dense(graph.pooled(x), next(w))


def efficient(graph, x, w):
    x = graph.swish(graph.normalised(x, next(w), 2))
    for *_, stride in shapes.EFFICIENT:
        wide, deep = next(w), next(w)
        way = graph.swish(graph.normalised(x, wide))
        way = graph.swish(graph.normalised(way, deep, stride, groups=len(deep)))
        squeezed = graph.swish(graph.dense(graph.pooled(way), next(w)))
        scales = graph.node("Sigmoid", graph.dense(squeezed, next(w)))
        scales = graph.node("Unsqueeze", scales, graph.constant(np.array([2, 3])))
        narrow = next(w)
        way = graph.normalised(graph.node("Mul", way, scales), narrow)
        x = graph.node("Add", x, way) if len(narrow) == wide.shape[1] else way
    x = graph.swish(graph.normalised(x, next(w)))
    return graph.dense(graph.pooled(x), next(w))


def session():
    make, variance = {"W8b": (resnet, 1), "efficient1": (efficient, shapes.VARIANCE)}[WORKLOAD]
    graph, pool = Graph(variance), data.pool(WORKLOAD)
    y = graph.node("Softmax", make(graph, "x", iter(data.weights(WORKLOAD))), axis=1)
    images = helper.make_tensor_value_info("x", TensorProto.FLOAT, pool[0][0].shape)
    result = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, data.CLASSES])
    described = helper.make_graph(graph.nodes, WORKLOAD, [images], [result], graph.constants)
    model = helper.make_model(described, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    running = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda at: running.run([y], {"x": pool[at % data.POOL][0]})[0][0]


serve(session, inference=True)
