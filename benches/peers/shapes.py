"""The shapes of all weights of networks, in the order in which their layers are written: filters are `[outputs, inputs, ..]`,
and matrices `[inputs, outputs]`."""

CLASSES = 10


def resnet():
    shapes, inputs = [(16, 3, 3, 3)], 16
    for outputs in (16, 32, 64):
        for _ in range(3):
            shapes += [(outputs, inputs, 3, 3), (outputs, outputs, 3, 3)]
            if inputs != outputs:
                shapes.append((outputs, inputs, 1, 1))
            inputs = outputs
    return [*shapes, (64, CLASSES)]


def unet():
    twice = lambda inputs, outputs: [(outputs, inputs, 3, 3), (outputs, outputs, 3, 3)]
    larger = lambda inputs, outputs: [(inputs, outputs, 2, 2), *twice(2 * outputs, outputs)]
    down = twice(3, 16) + twice(16, 32) + twice(32, 64)
    return down + larger(64, 32) + larger(32, 16) + [(3, 16, 1, 1)]


# The filters of the depthwise-separable network's blocks, and the strides of the depthwise ones.
SEPARABLE = [(32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1)]


def separable():
    shapes, inputs = [(16, 3, 3, 3)], 16
    for outputs, _ in SEPARABLE:
        shapes += [(inputs, 1, 3, 3), (outputs, inputs, 1, 1)]
        inputs = outputs
    return [*shapes, (128, CLASSES)]


# The dilations of the temporal network's blocks.
TEMPORAL = (1, 2, 4, 8)


def temporal():
    shapes, inputs = [], 16
    for _ in TEMPORAL:
        shapes += [(64, inputs, 1, 3), (64, 64, 1, 3)]
        if inputs != 64:
            shapes.append((64, inputs, 1, 1))
        inputs = 64
    return [*shapes, (64, CLASSES)]


def convnext():
    block = lambda size: [(size, 1, 7, 7), (size, 4 * size), (4 * size, size)]
    fine, coarse = 2 * block(48), 2 * block(96)
    return [(48, 3, 4, 4), *fine, (96, 48, 2, 2), *coarse, (96, CLASSES)]


def mixer():
    block = [(64, 64), (64, 64), (128, 512), (512, 128)]
    return [(128, 3, 4, 4), *block, *block, (128, CLASSES)]


# The filters of the efficient network's blocks, the sizes of the depthwise ones, and their strides.
EFFICIENT = [(24, 3, 2), (24, 3, 1), (40, 5, 2), (40, 5, 1)]
# In its inference, the variance that batch norm has seen.
VARIANCE = 0.1


def efficient():
    shapes, inputs = [(16, 3, 3, 3)], 16
    for outputs, size, _ in EFFICIENT:
        wide = 6 * inputs
        shapes += [(wide, inputs, 1, 1), (wide, 1, size, size)]
        shapes += [(wide, inputs // 4), (inputs // 4, wide), (outputs, wide, 1, 1)]
        inputs = outputs
    return [*shapes, (160, inputs, 1, 1), (160, CLASSES)]


def volumes():
    filters = [(outputs, inputs, 3, 3, 3) for inputs, outputs in ((1, 16), (16, 32), (32, 64), (64, 64))]
    return [*filters, (64 * 4 * 4 * 4, 128), (128, CLASSES)]


# The filters of the blocks whose filters are in groups, and their strides; and how many groups.
GROUPED, GROUPS = [(64, 1), (64, 1), (128, 2), (128, 1)], 8


def grouped():
    shapes, inputs = [(32, 3, 3, 3)], 32
    for outputs, _ in GROUPED:
        narrow = outputs // 2
        shapes += [(narrow, inputs, 1, 1), (narrow, narrow // GROUPS, 3, 3), (outputs, narrow, 1, 1)]
        if inputs != outputs:
            shapes.append((outputs, inputs, 1, 1))
        inputs = outputs
    return [*shapes, (128, CLASSES)]


def perceptron(*sizes):
    return list(zip(sizes, sizes[1:]))


# How many tables the recommender has, the entries of each, and their size.
TABLES, ENTRIES, SIZE = 8, 10_000, 64


def recommender():
    tables = TABLES * [(ENTRIES, SIZE)]
    features = SIZE + TABLES * (TABLES + 1) // 2
    return perceptron(13, 512, 256, SIZE) + tables + perceptron(features, 512, 256, 128, 1)


def translation():
    unit = [(128, 3 * 128), (128, 3 * 128)]
    return [(1000, 128), *unit, (1000, 128), *unit, (128, 1000)]
