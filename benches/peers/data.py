"""First weights and batches of the workloads, bit for bit those of `benches/workloads`, in NumPy."""

import numpy as np

import shapes

POOL = 8
CLASSES = shapes.CLASSES
# The ragged texts of `encoder` and `decoder` have 5 to 60 words; the peers pad all of them to the longest.
LEAST, MOST = 5, 60
# The most words of a text of W3, and of its vocabulary and that of W5.
LONGEST, VOCABULARY = 100, 10_000
# The rows of a batch, if nobody says otherwise.
ROWS = {"W1": 64, "W2": 64, "W3": 32, "W5": 64, "W6": 64, "W7": 32, "W8b": 1, "W9": 64}
ROWS |= {"unet": 8, "separable": 16, "encoder": 32, "decoder": 32, "decoder64": 16}
ROWS |= {"temporal": 8, "convnext": 8, "mixer": 16, "efficient": 16, "efficient1": 1, "volumes": 2, "grouped": 16}
ROWS |= {"recommender": 128, "translation": 32}
# The numbers of workloads, from which their random numbers come, and the shapes of their weights.
SHAPES = {
    "unet": (12, shapes.unet),
    "separable": (10, shapes.separable),
    "temporal": (14, shapes.temporal),
    "convnext": (15, shapes.convnext),
    "mixer": (16, shapes.mixer),
    "efficient": (17, shapes.efficient),
    "efficient1": (17, shapes.efficient),
    "volumes": (18, shapes.volumes),
    "grouped": (19, shapes.grouped),
    "recommender": (20, shapes.recommender),
    "translation": (21, shapes.translation),
}
# The images, or volumes, of the workloads that classify them.
LABELLED = {
    "separable": (3, 64, 64),
    "convnext": (3, 64, 64),
    "mixer": (3, 32, 32),
    "efficient": (3, 64, 64),
    "volumes": (1, 16, 32, 32),
    "grouped": (3, 32, 32),
}


def uniform(seed, count):
    """Numbers of SplitMix64 by position, in [0, 1)."""
    with np.errstate(over="ignore"):
        start = np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
        z = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)


def symmetric(seed, *shape):
    """Numbers in [-1, 1)."""
    return (2 * uniform(seed, int(np.prod(shape))) - 1).reshape(shape)


def integers(seed, end, *shape):
    """Whole numbers below `end`."""
    numbers = (uniform(seed, int(np.prod(shape))) * np.float32(end)).astype(np.int64)
    return np.minimum(numbers, end - 1).reshape(shape)


def field(workload, batch, number):
    """The seed of a field of a batch."""
    return 1000 * workload + 500 + 10 * batch + number


def xavier(workload, k, *shape):
    """Weights number `k` of a workload: `[inputs, outputs]`, or filters `[outputs, inputs, height, width]`."""
    fans = (shape[0] + shape[1]) * int(np.prod(shape[2:]))
    return np.float32(np.sqrt(6.0 / fans)) * symmetric(1000 * workload + k, *shape)


def transformer_weights(workload, first, words, outputs):
    """Words, places, then query, key, value, out, wide and narrow of each layer, and the last layer. A number counts shifts
    and scales, too. `first` says which of words and places is number 0."""
    size, length = 128, 64 if first == "places" else MOST
    word, place = (1, 0) if first == "places" else (0, 1)
    weights = [xavier(workload, word, words, size), xavier(workload, place, length, size)]
    k = 2
    for _ in range(2):
        k += 2
        for shape in [(size, size)] * 4:
            weights.append(xavier(workload, k, *shape))
            k += 2
        k += 2
        for shape in [(size, 4 * size), (4 * size, size)]:
            weights.append(xavier(workload, k, *shape))
            k += 2
    return weights + [xavier(workload, k + 2, size, outputs)]


def weights(workload):
    """All weights of a workload, in the order in which its layers are written."""
    numbered = lambda number, shapes: [xavier(number, k, *shape) for k, shape in enumerate(shapes)]
    if workload == "W1":
        return numbered(1, [(784, 256), (256, 128), (128, 10)])
    if workload == "W2":
        return numbered(2, [(20, 1, 5, 5), (50, 20, 5, 5), (800, 500), (500, 10)])
    if workload == "W3":
        table = np.float32(0.1) * symmetric(3000, VOCABULARY, 128)
        return [table, xavier(3, 1, 128, 512), xavier(3, 2, 128, 512), xavier(3, 3, 128, 2)]
    if workload == "W5":
        return [np.float32(0.1) * symmetric(5000, VOCABULARY, 64), xavier(5, 1, 64, 64)]
    if workload == "W6":
        return numbered(6, [(100, 128), (128, 784), (784, 128), (128, 1)])
    if workload == "W9":
        return [np.float32(0.2296) * symmetric(9000, 128, 128), xavier(9, 1, 128, CLASSES)]
    if workload in ("W7", "W8b"):
        return numbered(7, shapes.resnet())
    if workload in SHAPES:
        number, make = SHAPES[workload]
        return numbered(number, make())
    if workload == "encoder":
        return transformer_weights(10, "words", 1000, 4)
    if workload == "decoder":
        return transformer_weights(11, "words", 1000, 1000)
    return transformer_weights(13, "places", 256, 256)


def labelled(number, p, *shape):
    """Images, or rows, and their classes."""
    return symmetric(field(number, p, 0), *shape), integers(field(number, p, 1), CLASSES, shape[0])


def segmented(p, rows):
    """Noise with two rectangles in each image, and the kind of each pixel."""
    image, kind = symmetric(field(12, p, 0), rows, 3, 64, 64), np.zeros((rows, 64, 64), np.int64)
    for row, rectangles in enumerate(integers(field(12, p, 1), 32, rows, 2, 4)):
        for of, (top, left, height, width) in enumerate(rectangles, start=1):
            inside = (row, slice(top, top + height + 1), slice(left, left + width + 1))
            kind[inside] = of
            image[(row, of, *inside[1:])] += 1
    return image, kind


def padded_texts(number, p, rows, least=LEAST, most=MOST, first=0):
    """Words, those that follow them, and the lengths of the texts. No word follows padding: that is -100. They are made of the
    batch's fields `first` and the one behind it."""
    lengths = least + integers(field(number, p, first), most - least + 1, rows)
    words, following = np.zeros((rows, most), np.int64), np.full((rows, most), -100, np.int64)
    text, begin = integers(field(number, p, first + 1), 1000, rows * most + 1), 0
    for row, length in enumerate(lengths):
        words[row, :length] = text[begin:begin + length]
        following[row, :length] = text[begin + 1:begin + 1 + length]
        begin += length
    return words, following, lengths


def scaled(p, rows):
    """Rows of very different lengths, and their classes."""
    scales = np.power(np.float32(10), np.float32(-3) * uniform(field(9, p, 0), rows))
    return scales[:, None] * symmetric(field(9, p, 1), rows, 128), integers(field(9, p, 2), CLASSES, rows)


def batch(workload, p, rows):
    """Batch `p` of a workload's pool."""
    if workload == "W1":
        return labelled(1, p, rows, 784)
    if workload == "W2":
        return labelled(2, p, rows, 1, 28, 28)
    if workload == "W3":
        lengths = 10 + integers(field(3, p, 0), 91, rows)
        words = integers(field(3, p, 1), VOCABULARY, rows, LONGEST)
        return words, lengths, integers(field(3, p, 2), 2, rows)
    if workload == "W5":
        return *(integers(field(5, p, k), VOCABULARY, rows) for k in range(3)), integers(field(5, p, 3), 2, rows)
    if workload == "W6":
        return tuple(symmetric(field(6, p, k), rows, width) for k, width in enumerate((784, 100, 100)))
    if workload == "W7":
        return labelled(7, p, rows, 3, 32, 32)
    if workload == "W8b":
        return (symmetric(field(7, p, 0), rows, 3, 32, 32),)
    if workload == "W9":
        return scaled(p, rows)
    if workload == "unet":
        return segmented(p, rows)
    if workload in LABELLED:
        return labelled(SHAPES[workload][0], p, rows, *LABELLED[workload])
    if workload == "efficient1":
        return (symmetric(field(17, p, 0), rows, 3, 64, 64),)
    if workload == "temporal":
        return symmetric(field(14, p, 0), rows, 16, 256), integers(field(14, p, 1), CLASSES, rows, 256)
    if workload == "recommender":
        ids = integers(field(20, p, 1), shapes.ENTRIES, rows, shapes.TABLES)
        return ids, symmetric(field(20, p, 0), rows, 13), integers(field(20, p, 2), 2, rows, 1).astype(np.float32)
    if workload == "translation":
        read, _, lengths = padded_texts(21, p, rows, least=5, most=30)
        said, following, ends = padded_texts(21, p, rows, least=5, most=30, first=2)
        return read, lengths, said, ends, following
    if workload == "encoder":
        words, _, lengths = padded_texts(10, p, rows)
        return words, lengths, integers(field(10, p, 2), 4, rows)
    if workload == "decoder":
        words, following, lengths = padded_texts(11, p, rows)
        return words, lengths, following
    texts = integers(field(13, p, 0), 256, rows, 65)
    return np.ascontiguousarray(texts[:, :-1]), np.ascontiguousarray(texts[:, 1:])


def pool(workload, rows=None):
    """All batches of a workload, in host memory."""
    return [batch(workload, p, rows or ROWS[workload]) for p in range(POOL)]
