"""Trainings that the real PaddlePaddle 2.6.2 records, for `tests/recorded.rs`: `python trainings.py FOLDER [NAME ..]`.

Each gets a folder: `main.pdprogram` and `startup.pdprogram`; `init.npz` and `final.npz`, all that outlives a step, before the first
and behind the last; `data.npz`, what each step is fed, `rate` the learning rate of each; `costs.npz`, what it costs.
"""

import os
import sys

os.environ["GLOG_minloglevel"] = "3"

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import static
from paddle.nn import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from paddle.optimizer import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Lamb, Momentum, RMSProp, lr
from paddle.regularizer import L1Decay, L2Decay

STEPS, ROWS = 15, 8
TRAININGS = {}


def training(optimizer):
    """Registers a training: a function that builds a cost, and one that makes its optimizer."""

    def register(cost):
        TRAININGS[cost.__name__] = (cost, optimizer)
        return cost

    return register


def mlp(weight=None, bias=None):
    x = static.data("x", [-1, 6])
    label = static.data("label", [-1, 1], "int64")
    hidden = static.nn.fc(x, 7, activation="tanh", weight_attr=weight, bias_attr=bias)
    return paddle.mean(F.cross_entropy(static.nn.fc(hidden, 3), label))


for name, optimizer in {
    "sgd": lambda: SGD(0.5),
    "momentum": lambda: Momentum(0.1, 0.8),
    "nesterov": lambda: Momentum(0.1, 0.8, use_nesterov=True),
    "momentum_l2": lambda: Momentum(0.1, weight_decay=L2Decay(0.1)),
    "adam": lambda: Adam(0.05, beta1=0.8, beta2=0.95, epsilon=1e-6),
    "adam_l2": lambda: Adam(0.05, weight_decay=0.05),
    "adamw": lambda: AdamW(0.05, weight_decay=0.2),
    "adamw_some": lambda: AdamW(0.05, weight_decay=0.2, apply_decay_param_fun=lambda name: ".w" in name),
    "adamax": lambda: Adamax(0.05),
    "adagrad": lambda: Adagrad(0.2),
    "adadelta": lambda: Adadelta(1.0, rho=0.9),
    "rmsprop": lambda: RMSProp(0.02, rho=0.9),
    "rmsprop_centered": lambda: RMSProp(0.02, rho=0.9, momentum=0.5, centered=True),
    "lamb": lambda: Lamb(0.05, lamb_weight_decay=0.1),
    "sgd_l1": lambda: SGD(0.5, weight_decay=L1Decay(0.02)),
    "sgd_l2": lambda: SGD(0.5, weight_decay=L2Decay(0.1)),
    "clip_value": lambda: SGD(0.5, grad_clip=ClipGradByValue(0.02)),
    "clip_norm": lambda: Adam(0.05, grad_clip=ClipGradByNorm(0.1)),
    "clip_global": lambda: Momentum(0.5, grad_clip=ClipGradByGlobalNorm(0.1)),
    "clip_global_l2": lambda: SGD(0.5, weight_decay=L2Decay(0.1), grad_clip=ClipGradByGlobalNorm(0.1)),
    "schedule": lambda: SGD(lr.ExponentialDecay(0.5, 0.8)),
}.items():
    TRAININGS[name] = (mlp, optimizer)


@training(lambda: SGD(0.5))
def rates():
    """Parameters with learning rates and decays of their own."""
    return mlp(
        paddle.ParamAttr(learning_rate=0.1, regularizer=L2Decay(0.3)),
        paddle.ParamAttr(learning_rate=2.0),
    )


@training(lambda: SGD(0.5, weight_decay=L2Decay(0.2)))
def other_decay():
    return mlp(paddle.ParamAttr(regularizer=L2Decay(0.5)))


@training(lambda: Adam(0.05))
def frozen():
    return mlp(paddle.ParamAttr(trainable=False))


@training(lambda: SGD(0.5))
def stopped():
    """A value through which no gradient passes, though another path goes around it."""
    x = static.data("x", [-1, 6])
    label = static.data("label", [-1, 1], "int64")
    hidden = static.nn.fc(x, 7, activation="tanh")
    target = paddle.scale(hidden, 0.5)
    target.stop_gradient = True
    logits = static.nn.fc(hidden, 3)
    return paddle.mean(F.cross_entropy(logits, label)) + paddle.mean(paddle.square(hidden - target))


def images(label, bias):
    image = static.data("image", [-1, 2, 8, 8])
    maps = static.nn.batch_norm(static.nn.conv2d(image, 4, 3, padding=1, bias_attr=bias), act="relu")
    maps = F.max_pool2d(maps, 2)
    maps = static.nn.batch_norm(static.nn.conv2d(maps, 4, 3, padding=1, bias_attr=bias), momentum=0.7)
    maps = F.adaptive_avg_pool2d(F.relu(maps), 1)
    return paddle.mean(F.cross_entropy(static.nn.fc(maps, 3), label))


@training(lambda: Momentum(0.1, weight_decay=L2Decay(1e-2)))
def convolutions():
    return images(static.data("label", [-1, 1], "int64"), None)


# Normalisation makes the gradients of biases in front of it rounding errors, which rules of Adam's kind enlarge: without them.
@training(lambda: AdamW(0.02, grad_clip=ClipGradByGlobalNorm(0.2)))
def convolutions_adamw():
    return images(static.data("label", [-1, 1], "int64"), False)


def recurrent(layer):
    tokens = static.data("tokens", [-1, 5, 4])
    label = static.data("label", [-1, 1], "int64")
    outputs, _ = layer(tokens)
    return paddle.mean(F.cross_entropy(static.nn.fc(outputs[:, -1], 3), label))


@training(lambda: Momentum(0.5, grad_clip=ClipGradByGlobalNorm(0.2)))
def lstm():
    return recurrent(paddle.nn.LSTM(4, 5))


@training(lambda: Adam(0.05))
def gru_both_ways():
    return recurrent(paddle.nn.GRU(4, 5, direction="bidirect"))


@training(lambda: RMSProp(0.02))
def simple_rnn():
    return recurrent(paddle.nn.SimpleRNN(4, 5, num_layers=2))


ENTRIES = 20  # of the table


def lookup():
    ids = static.data("ids", [-1, 4], "int64")
    label = static.data("label", [-1, 1], "int64")
    rows = static.nn.embedding(ids, [ENTRIES, 5], is_sparse=True)
    return paddle.mean(F.cross_entropy(static.nn.fc(paddle.mean(rows, axis=1), 3), label))


for name, optimizer in {
    "sparse_sgd": lambda: SGD(1.0),
    "sparse_adam": lambda: Adam(0.1),
    "sparse_adam_lazy": lambda: Adam(0.1, lazy_mode=True),
    "sparse_adagrad": lambda: Adagrad(0.5),
    "sparse_momentum": lambda: Momentum(0.5),
    "sparse_clip_global": lambda: SGD(1.0, grad_clip=ClipGradByGlobalNorm(0.05)),
    "sparse_l2": lambda: SGD(1.0, weight_decay=L2Decay(0.1)),
}.items():
    TRAININGS[name] = (lookup, optimizer)


# Not by Adam: the gradient of the keys' bias is a rounding error, as softmax does not depend on it.
@training(lambda: Momentum(0.02))
def attention():
    tokens = static.data("tokens", [-1, 5, 4])
    label = static.data("label", [-1, 1], "int64")
    layer = paddle.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    return paddle.mean(F.cross_entropy(static.nn.fc(paddle.mean(layer(tokens), axis=1), 3), label))


@training(lambda: SGD(0.1))
def loop():
    """The same layer, some times over."""
    x = static.nn.fc(static.data("x", [-1, 6]), 6)
    label = static.data("label", [-1, 1], "int64")
    layer = paddle.nn.Linear(6, 6)
    at = paddle.full([1], 0, "int64")
    limit = paddle.full([1], 3, "int64")
    _, state = static.nn.while_loop(lambda at, state: at < limit, lambda at, state: [at + 1, F.tanh(layer(state))], [at, x])
    return paddle.mean(F.cross_entropy(static.nn.fc(state, 3), label))


@training(lambda: SGD(0.3))
def branch():
    x = static.data("x", [-1, 6])
    label = static.data("label", [-1, 1], "int64")
    left, right = paddle.nn.Linear(6, 3), paddle.nn.Linear(6, 3)
    logits = static.nn.cond(paddle.mean(x) > 0, lambda: left(x), lambda: right(x) * 2.0)
    return paddle.mean(F.cross_entropy(logits, label))


def fed(var, random):
    shape = [ROWS if size == -1 else size for size in var.shape]
    if var.name == "label":
        return random.randint(0, 3, shape).astype("int64")
    if var.dtype == paddle.int64:
        ids = random.randint(0, ENTRIES, shape).astype("int64")
        # Behind the last row that has a gradient, Adam's kernel for sparse gradients reads on in memory, and takes what it finds
        # for a row's number. So the last row always has one.
        ids[0, 0] = ENTRIES - 1
        return ids
    return random.randn(*shape).astype("float32")


def record(folder, cost, optimizer):
    os.makedirs(folder, exist_ok=True)
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard(), static.scope_guard(scope):
        cost, optimizer = cost(), optimizer()
        optimizer.minimize(cost)
        exe = static.Executor(paddle.CPUPlace())
        startup.random_seed = 3
        exe.run(startup)
        for program, name in [(main, "main"), (startup, "startup")]:
            with open(os.path.join(folder, name + ".pdprogram"), "wb") as file:
                file.write(program.desc.serialize_to_string())
        block = main.global_block()
        lasting = [var.name for var in main.list_vars() if var.persistable and scope.find_var(var.name)]

        def values():
            tensors = {name: scope.find_var(name).get_tensor() for name in lasting}
            return {name: np.array(tensor) for name, tensor in tensors.items() if tensor._is_initialized()}

        np.savez(os.path.join(folder, "init.npz"), **values())
        # Adam's kernel for sparse gradients advances the powers of the decay rates before it uses them. Beginning one step
        # earlier, it does what the rule says.
        for name in lasting:
            if name.startswith("embedding") and "_pow_acc" in name:
                scope.find_var(name).get_tensor().set(np.ones([1], "float32"), paddle.CPUPlace())
        random = np.random.RandomState(5)
        inputs = [var for var in block.vars.values() if var.desc.need_check_feed()]
        batches = [{var.name: fed(var, random) for var in inputs} for _ in range(4)]
        costs, rates, data = [], [], {var.name: [] for var in inputs}
        for step in range(STEPS):
            rates.append(optimizer.get_lr())
            batch = batches[step % len(batches)]
            for name, value in batch.items():
                data[name].append(value)
            costs.append(float(exe.run(main, feed=batch, fetch_list=[cost])[0]))
            if isinstance(optimizer._learning_rate, lr.LRScheduler):
                optimizer._learning_rate.step()
        np.savez(os.path.join(folder, "final.npz"), **values())
        np.savez(os.path.join(folder, "data.npz"), rate=np.array(rates), **{k: np.stack(v) for k, v in data.items()})
        np.savez(os.path.join(folder, "costs.npz"), costs=np.array(costs))
        return costs


def main(folder, only):
    paddle.enable_static()
    for name, (cost, optimizer) in TRAININGS.items():
        if not only or name in only:
            costs = record(os.path.join(folder, name), cost, optimizer)
            print(f"{name:20} {costs[0]:.5f} -> {costs[-1]:.5f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]))
