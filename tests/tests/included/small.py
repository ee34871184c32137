"""Writes `small.pdmodel`, `small.pdiparams`, and the batch and outputs of `small.npz`, with the real PaddlePaddle (2.6.2)."""

import os

import numpy
import paddle
from paddle import nn
from paddle.base.proto import framework_pb2


class Small(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2D(1, 4, 3, padding=1, bias_attr=False)
        self.norm = nn.BatchNorm2D(4)
        self.second = nn.Conv2D(4, 4, 3, padding=1, bias_attr=False)
        self.second_norm = nn.BatchNorm2D(4)
        self.classes = nn.Linear(4, 3)

    def forward(self, x):
        h = nn.functional.relu(self.norm(self.first(x)))
        h = nn.functional.relu(self.second_norm(self.second(h)) + h)
        features = nn.functional.adaptive_avg_pool2d(h, 1).flatten(1)
        return nn.functional.softmax(self.classes(features))


paddle.seed(7)
net = Small()
images = numpy.random.default_rng(7).normal(size=(5, 1, 6, 6)).astype("float32")
for _ in range(3):
    net(paddle.to_tensor(images))
net.eval()
paddle.jit.save(net, "small", [paddle.static.InputSpec([None, 1, 6, 6], "float32", "image")])
os.remove("small.pdiparams.info")
# The calls that made an operator have the names of folders.
with open("small.pdmodel", "rb") as file:
    program = framework_pb2.ProgramDesc.FromString(file.read())
for op in (op for block in program.blocks for op in block.ops):
    kept = [attr for attr in op.attrs if attr.name != "op_callstack"]
    del op.attrs[:]
    op.attrs.extend(kept)
with open("small.pdmodel", "wb") as file:
    file.write(program.SerializeToString())
numpy.savez("small.npz", image=images, out0=net(paddle.to_tensor(images)).numpy())
