"""The files beside this script, by the real PaddlePaddle: `python make.py RELEASE`, with 2.6.2 as `2.6` and with 3.3.0 as `3.3`."""

import os
import sys

import numpy as np
import paddle

here, release = os.path.dirname(os.path.abspath(__file__)), sys.argv[1]
paddle.seed(1)
net = paddle.nn.Sequential(paddle.nn.Linear(3, 2), paddle.nn.BatchNorm1D(2))
optimizer = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 3), parameters=net.parameters())
net(paddle.ones([2, 3])).sum().backward()
optimizer.step()
with paddle.no_grad():
    net[0].weight.set_value(np.arange(6, dtype="float32").reshape(3, 2) - 2.5)
    net[0].bias.set_value(np.array([0.5, -0.25], "float32"))
for protocol in (2, 3, 4):
    paddle.save(net.state_dict(), os.path.join(here, f"{release}_protocol{protocol}.pdparams"), protocol=protocol)
paddle.save(optimizer.state_dict(), os.path.join(here, f"{release}.pdopt"))
# Tensors by names of one's own, of several types.
mixed = {"half": paddle.ones([2], "bfloat16"), "ids": paddle.arange(3), "is": paddle.zeros([2, 1], "bool"), "rate": 0.5}
paddle.save(mixed, os.path.join(here, f"{release}_mixed.pdparams"))
