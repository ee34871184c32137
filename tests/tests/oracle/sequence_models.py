"""Whole networks along sequences for `operator_cases.py`, as they were written for PaddlePaddle 1: sequences are fed with offsets."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import static
from paddle.static import nn

from building import CHUNKS, operator

random = np.random.RandomState(0)
OFFSETS = [0, 3, 4, 9, 11]
INNER = [[0, 2, 3, 6], [0, 3, 4, 8, 9, 11, 14]]


def ids(bound, offsets=OFFSETS):
    return random.randint(0, bound, (offsets[-1], 1)).astype("int64")


def embedded(x, size, table=None, **attributes):
    """A vector for each id of a column."""
    table = table or static.create_parameter(size, "float32")
    return operator("lookup_table", {"Ids": x, "W": table}, {"Out": "float32"}, **attributes)[0]


def recurrent(kind, x, size, **attributes):
    """`dynamic_lstm` or `dynamic_gru`, of which only the operator is left."""
    gates = {"lstm": 4, "gru": 3}[kind]
    inputs = {
        "Input": nn.fc(x, gates * size),
        "Weight": static.create_parameter([size, gates * size], "float32"),
        "Bias": static.create_parameter([1, gates * size], "float32"),
    }
    outputs = {
        "lstm": ["Hidden", "Cell", "BatchGate", "BatchCellPreAct"],
        "gru": ["Hidden", "BatchGate", "BatchResetHiddenPrev", "BatchHidden"],
    }[kind]
    if kind == "lstm":
        attributes.setdefault("use_peepholes", False)
    return operator(kind, inputs, dict.fromkeys(outputs, "float32"), **attributes)[0]


def trained(cost, *others):
    """The cost, and the gradients of all parameters."""
    pairs = static.append_backward(paddle.mean(cost))
    # Some of a table have its rows only, which are not fetched.
    kinds = paddle.base.core.VarDesc.VarType
    return [cost, *others, *(gradient for _, gradient in pairs if gradient.type != kinds.SELECTED_ROWS)]


def labelled_roles(fed):
    """Eight inputs for each word, recurrent layers in both directions, a random field: `label_semantic_roles` of the book."""
    words = [fed(f"word{k}", ids(12), OFFSETS) for k in range(6)]
    predicate, mark = fed("predicate", ids(7), OFFSETS), fed("mark", ids(2), OFFSETS)
    of_words = [embedded(x, [12, 4]) for x in words]
    inputs = [*of_words, embedded(predicate, [7, 4]), embedded(mark, [2, 3])]
    hidden = paddle.add_n([nn.fc(x, 6, activation="tanh") for x in inputs])
    below = recurrent("lstm", hidden, 5, candidate_activation="relu", gate_activation="sigmoid", cell_activation="sigmoid")
    for k in (1, 2):
        hidden = paddle.add_n([nn.fc(hidden, 6, activation="tanh"), nn.fc(below, 6, activation="tanh")])
        below = recurrent("lstm", hidden, 5, is_reverse=k % 2 == 1)
    features = paddle.add_n([nn.fc(hidden, 4), nn.fc(below, 4)])
    transition = static.create_parameter([6, 4], "float32")
    inputs = {"Emission": features, "Transition": transition, "Label": fed("label", ids(4), OFFSETS)}
    outputs = dict.fromkeys(["Alpha", "EmissionExps", "TransitionExps", "LogLikelihood"], "float32")
    cost = operator("linear_chain_crf", inputs, outputs)[3]
    [path] = operator("crf_decoding", {"Emission": features, "Transition": transition}, {"ViterbiPath": "int64"})
    return trained(cost, path)


def sentiment_by_windows(fed):
    words, label = fed("words", ids(20), OFFSETS), fed("label", random.randint(0, 2, (4, 1)).astype("int64"))
    vectors = embedded(words, [20, 5])
    parts = [nn.sequence_pool(nn.sequence_conv(vectors, 4, width, act="tanh"), "sqrt") for width in (3, 4)]
    answer = nn.fc(paddle.concat(parts, 1), 2, activation="softmax")
    return trained(F.cross_entropy(answer, label, use_softmax=False), answer)


def sentiment_by_layers(fed):
    words, label = fed("words", ids(20), OFFSETS), fed("label", random.randint(0, 2, (4, 1)).astype("int64"))
    first = nn.fc(embedded(words, [20, 5]), 6)
    inputs = [first, recurrent("lstm", first, 6)]
    for k in (1, 2):
        first = nn.fc(inputs, 6)
        inputs = [first, recurrent("lstm", first, 6, is_reverse=k == 1)]
    answer = nn.fc([nn.sequence_pool(x, "max") for x in inputs], 2, activation="softmax")
    return trained(F.cross_entropy(answer, label, use_softmax=False), answer)


def matched_texts(fed):
    """A query and a title by the words in them: their lengths differ."""
    query, title = fed("query", ids(15), OFFSETS), fed("title", ids(15, [0, 1, 6, 8, 9]), [0, 1, 6, 8, 9])
    vectors, table = [], static.create_parameter([15, 6], "float32")
    for x in (query, title):
        pooled = nn.sequence_pool(embedded(x, None, table), "sum")
        vectors.append(nn.fc(F.softsign(pooled), 4, weight_attr=paddle.ParamAttr(name="w"), bias_attr=paddle.ParamAttr(name="b")))
    near = F.cosine_similarity(*vectors, axis=1)
    return trained(F.relu(0.5 - near), near)


def attended(fed):
    """The weights of a decoder's state on what an encoder has read, behind `sequence_expand`."""
    words, state = fed("words", ids(20), OFFSETS), fed("state", random.randn(4, 5).astype("float32"))
    forward = recurrent("gru", embedded(words, [20, 5]), 4)
    backward = recurrent("gru", embedded(words, [20, 5]), 4, is_reverse=True)
    read = paddle.concat([forward, backward], 1)
    projected = nn.fc(read, 5, bias_attr=False)
    expanded = nn.sequence_expand(nn.fc(state, 5, bias_attr=False), projected)
    weights = nn.fc(paddle.tanh(projected + expanded), 1, bias_attr=False)
    weights = nn.sequence_softmax(weights)
    context = nn.sequence_pool(read * weights, "sum")
    first = nn.sequence_first_step(backward)
    return trained(paddle.sum(context, 1) + paddle.sum(first, 1), context, weights)


def clicks(fed):
    """Slots with several ids each, beside dense features."""
    slots = [fed(f"slot{k}", ids(30, of), of) for k, of in enumerate(([0, 1, 4, 4, 6], [0, 2, 2, 3, 5], OFFSETS))]
    dense = fed("dense", random.rand(4, 3).astype("float32"))
    label = fed("label", random.randint(0, 2, (4, 1)).astype("float32"))
    pooled = [nn.sequence_pool(embedded(x, [30, 4], is_sparse=k == 1), "sum") for k, x in enumerate(slots)]
    deep = nn.fc(paddle.concat([*pooled, dense], 1), 8, activation="relu")
    wide = [nn.sequence_pool(embedded(x, [30, 1]), "sum") for x in slots]
    answer = F.sigmoid(nn.fc(deep, 1) + paddle.add_n(wide))
    return trained(F.log_loss(answer, label), answer)


def next_items(fed):
    """The next item of each session, as `GRU4Rec` is trained."""
    items, following = fed("items", ids(9), OFFSETS), fed("following", ids(9), OFFSETS)
    hidden = recurrent("gru", embedded(items, [9, 5]), 6)
    answer = nn.fc(hidden, 9, activation="softmax")
    cost = F.cross_entropy(answer, following, use_softmax=False, reduction="none")
    # It has the offsets of the tokens, as one number.
    right = paddle.sum(static.accuracy(answer, following, k=3))
    return trained(nn.sequence_pool(cost, "average"), right)


def lexical_analysis(fed):
    """Two layers in both directions, and the chunks that are found."""
    words, label = fed("words", ids(25), OFFSETS), fed("label", ids(5), OFFSETS)
    hidden = embedded(words, [25, 6])
    for _ in range(2):
        hidden = paddle.concat([recurrent("gru", hidden, 4, is_reverse=back) for back in (False, True)], 1)
    emission = nn.fc(hidden, 5)
    transition = static.create_parameter([7, 5], "float32")
    [path] = operator("crf_decoding", {"Emission": emission, "Transition": transition}, {"ViterbiPath": "int64"})
    measures = operator("chunk_eval", {"Inference": path, "Label": label}, CHUNKS, chunk_scheme="IOB", num_chunk_types=2)
    return [path, *measures]


def paragraphs(fed):
    """Words of sentences of texts."""
    words = fed("words", ids(18, INNER[1]), *INNER)
    marks = fed("marks", ids(3, INNER[1]), *INNER)
    inner = paddle.concat([embedded(words, [18, 5]), embedded(marks, [3, 2])], 1)
    sentences = nn.sequence_pool(inner, "average")
    texts = recurrent("lstm", sentences, 4)
    answer = nn.fc([nn.sequence_pool(texts, "max"), nn.sequence_last_step(sentences)], 3, activation="softmax")
    return trained(paddle.sum(answer * answer, 1), answer)


def padded_and_back(fed):
    """Attention of words over each other, padded, with positions that are fed beside them."""
    words, places = fed("words", ids(20), OFFSETS), fed("places", np.array([[0, 1, 2, 0, 0, 1, 2, 3, 4, 0, 1]]).T, OFFSETS)
    hidden = embedded(words, [20, 6]) + embedded(places, [8, 6])
    padded, lengths = nn.sequence_pad(hidden, paddle.zeros([1]), 5)
    query, key, value = (nn.fc(padded, 6, num_flatten_dims=2) for _ in range(3))
    scores = paddle.matmul(query, key, transpose_y=True) * 6**-0.5
    mask = paddle.unsqueeze(F.sequence_mask(lengths, 5, "float32"), 1)
    weights = F.softmax(scores + (mask - 1.0) * 1e9)
    back = nn.sequence_unpad(paddle.matmul(weights, value), lengths)
    normal = nn.layer_norm(back + hidden, begin_norm_axis=1)
    return trained(nn.sequence_pool(normal * normal * normal, "sum"), normal)


def cut_and_joined(fed):
    x, y = fed("x", random.randn(11, 4).astype("float32"), OFFSETS), fed("y", random.randn(6, 4).astype("float32"), [0, 1, 3, 5, 6])
    joined = nn.sequence_concat([x, y])
    turned = nn.sequence_reverse(joined)
    offset, length = (fed(name, np.array(of)[:, None]) for name, of in (("offset", [1, 0, 2, 1]), ("length", [2, 1, 3, 1])))
    part = nn.sequence_slice(turned, offset, length)
    wide = nn.sequence_reshape(part, 2)
    whole = nn.sequence_expand_as(nn.sequence_last_step(x), joined)
    return [turned, part, wide, whole, nn.sequence_enumerate(fed("of", ids(9), OFFSETS), 2, 0)]


def text_of_images(fed):
    """Columns of an image as a sequence, in both directions, aligned with labels."""
    image = fed("image", random.randn(3, 1, 8, 12).astype("float32"))
    label = fed("label", np.array([[1], [2], [2], [1], [3]], "int32"), [0, 2, 3, 5])
    maps = F.max_pool2d(nn.conv2d(image, 4, 3, padding=1, act="relu"), 2)
    attributes = dict(kernels=[4, 1], strides=[1, 1], paddings=[0, 0, 0, 0])
    [columns] = operator("im2sequence", {"X": maps}, {"Out": "float32"}, **attributes)
    both = [recurrent("gru", columns, 5, is_reverse=back) for back in (False, True)]
    logits = nn.fc(both, 4)
    inputs = {"Logits": logits, "Label": label}
    cost, _ = operator("warpctc", inputs, {"Loss": "float32", "WarpCTCGrad": "float32"}, blank=0, norm_by_times=False)
    _, best = paddle.topk(logits, 1)
    [found] = operator("ctc_align", {"Input": best}, {"Output": "int64"}, blank=0, merge_repeated=True)
    return trained(cost, found)


def scattered_windows(fed):
    """A convolution over neighbours, rows that look ahead, and places that are written."""
    x = fed("x", random.randn(11, 5).astype("float32"), OFFSETS)
    ahead = nn.row_conv(x, 2)
    windows = nn.sequence_conv(ahead, 5, 3)
    gated = F.sigmoid(windows) * x + (1.0 - F.sigmoid(windows)) * ahead
    pooled = [nn.sequence_pool(gated, kind) for kind in ("average", "max", "last", "first")]
    return trained(paddle.sum(paddle.concat(pooled, 1), 1), *pooled)


def factored(fed):
    """Pairs of fields: a bilinear product, and a sampled loss."""
    left, right = fed("left", ids(9), OFFSETS), fed("right", ids(9), OFFSETS)
    of = [nn.sequence_pool(embedded(x, [9, 4]), "average") for x in (left, right)]
    both = nn.bilinear_tensor_product(*of, size=3, act="tanh")
    return trained(paddle.sum(both, 1), both)


MODELS = [
    labelled_roles,
    sentiment_by_windows,
    sentiment_by_layers,
    matched_texts,
    attended,
    clicks,
    next_items,
    lexical_analysis,
    paragraphs,
    padded_and_back,
    cut_and_joined,
    text_of_images,
    scattered_windows,
    factored,
]
