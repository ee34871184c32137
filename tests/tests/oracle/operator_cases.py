"""Single operators of the real PaddlePaddle 2.6.2, for `tests/op_cases.rs`: `python operator_cases.py FOLDER [NAME ..]`.

Each case gets a program, `NAME.pdprogram`, and its arrays, `NAME.npz`: `in|X` is fed, `out|X` is what the program gives, `param|X` is a
parameter, `lod|0|X` has the offsets of a value's sequences, `lod|1|X` those of sequences in these. `tests/op_cases/kept` has some of them.
"""

import os
import sys

os.environ["GLOG_minloglevel"] = "3"

import numpy as np
import paddle
from paddle import static
from paddle.base import core
from paddle.base.layer_helper import LayerHelper

import sequence_models
import tensor_cases
from building import CHUNKS, Fed, operator

random = np.random.RandomState(0)
CASES = {}


def case(build):
    """Registers a case: a function that appends an operator, and gives what is fed and what is compared."""
    CASES[build.__name__] = build
    return build


def floats(*shape):
    return random.randn(*shape).astype("float32")


def ids(bound, *shape):
    return random.randint(0, bound, shape).astype("int64")


def boxes(count, size):
    first = random.rand(count, 2) * size
    return np.concatenate([first, first + random.rand(count, 2) * size * 0.6], -1).astype("float32")


@case
def row_conv(fed):
    return [static.nn.row_conv(fed("x", floats(9, 4), [0, 2, 8, 9]), 2)]


@case
def row_conv_wide(fed):
    """Windows that are longer than all sequences."""
    return [static.nn.row_conv(fed("x", floats(5, 3), [0, 1, 3, 5]), 6)]


@case
def ctc_align(fed):
    x = fed("x", np.array([0, 1, 1, 0, 1, 2, 2, 0, 0, 3, 3, 0, 4], "int64")[:, None], [0, 5, 7, 13])
    return operator("ctc_align", {"Input": x}, {"Output": "int64"}, blank=0, merge_repeated=True)


@case
def ctc_align_repeated(fed):
    x = fed("x", np.array([0, 1, 1, 2, 1, 2, 2, 0], "int32")[:, None], [0, 5, 8])
    return operator("ctc_align", {"Input": x}, {"Output": "int32"}, blank=2, merge_repeated=False)


@case
def box_clip(fed):
    info = np.array([[20.0, 16.0, 1.0], [31.0, 40.0, 2.0]], "float32")
    x = fed("boxes", (boxes(7, 30.0) - 4.0), [0, 3, 7])
    return operator("box_clip", {"Input": x, "ImInfo": fed("info", info)}, {"Output": "float32"})


@case
def sequence_scatter(fed):
    x, at = fed("x", floats(3, 6)), fed("at", np.array([[1], [2], [5], [4], [0], [0]]), [0, 3, 4, 6])
    return [static.nn.sequence_scatter(x, at, fed("updates", floats(6, 1), [0, 3, 4, 6]))]


@case
def sequence_pad(fed):
    x = fed("x", floats(8, 4), [0, 2, 3, 8])
    out, length = static.nn.sequence_pad(x, paddle.full([1], 0.5))
    return [out, length]


@case
def sequence_pad_to(fed):
    x = fed("x", floats(6, 2), [0, 2, 3, 6])
    out, length = static.nn.sequence_pad(x, paddle.full([1], -1.0), 5)
    return [out, length]


@case
def roi_align_of_sequences(fed):
    """The regions of an image are a sequence; the number of samples follows from each region's size."""
    x, of = fed("x", floats(2, 3, 9, 7)), fed("boxes", boxes(5, 16.0), [0, 3, 5])
    attributes = dict(pooled_height=2, pooled_width=3, spatial_scale=0.5, sampling_ratio=-1, aligned=False)
    [out] = operator("roi_align", {"X": x, "ROIs": of}, {"Out": "float32"}, **attributes)
    # It loses the sequences, which ours keeps.
    return operator("lod_reset", {"X": out, "Y": of}, {"Out": "float32"})


@case
def roi_align_aligned(fed):
    """Regions that are counted, some beyond the image and one without size."""
    of = boxes(6, 20.0)
    of[0] = [-9.0, -9.0, -2.0, -2.0]
    of[1] = [3.0, 3.0, 3.0, 3.0]
    of[2] = [-3.0, 2.0, 30.0, 9.0]
    x = fed("x", floats(3, 2, 8, 10), shape=[3, 2, 8, 10])
    counts = fed("counts", np.array([1, 0, 5], "int32"), shape=[3])
    attributes = dict(pooled_height=3, pooled_width=2, spatial_scale=0.75, sampling_ratio=2, aligned=True)
    inputs = {"X": x, "ROIs": fed("boxes", of), "RoisNum": counts}
    return operator("roi_align", inputs, {"Out": "float32"}, **attributes)


@case
def edit_distance(fed):
    hypothesis = fed("hypothesis", ids(4, 9, 1), [0, 4, 5, 9])
    reference = fed("reference", ids(4, 8, 1), [0, 3, 6, 8])
    return operator(
        "edit_distance", {"Hyps": hypothesis, "Refs": reference}, {"Out": "float32", "SequenceNum": "int64"}, normalized=False
    )


@case
def edit_distance_normalized(fed):
    """Padded sequences with lengths."""
    inputs = {
        "Hyps": fed("hypothesis", ids(3, 4, 6)),
        "Refs": fed("reference", ids(3, 4, 5)),
        "HypsLength": fed("hypothesis_length", np.array([6, 1, 0, 3], "int64")),
        "RefsLength": fed("reference_length", np.array([5, 2, 4, 3], "int64")),
    }
    return operator("edit_distance", inputs, {"Out": "float32", "SequenceNum": "int64"}, normalized=True)


def decoding(name, lengths, labels, batch=-1, **attributes):
    """The most probable labels of padded sequences, with their scores. Some labels may not follow one another, or end."""

    def build(fed):
        longest = max(lengths) + 1
        transition = floats(labels, labels)
        transition[labels - 2, 0] = transition[0, 1] = -1e4
        inputs = {
            "Input": fed("emission", floats(len(lengths), longest, labels), shape=[batch, longest, labels]),
            "Transition": fed("transition", transition, shape=[labels, labels]),
            "Length": fed("length", np.array(lengths, "int64"), shape=[batch]),
        }
        return operator("viterbi_decode", inputs, {"Scores": "float32", "Path": "int64"}, **attributes)

    build.__name__ = name
    return case(build)


decoding("viterbi_decode", [3, 1, 6, 4], 5, include_bos_eos_tag=True)
decoding("viterbi_decode_without_ends", [2, 5, 5], 3, batch=3, include_bos_eos_tag=False)


def chunks(scheme, tags, types, **attributes):
    def build(fed):
        offsets = [0, 7, 8, 24]
        label = ids(tags * types + 1, 24, 1)
        found = np.where(random.rand(24, 1) < 0.6, label, ids(tags * types + 1, 24, 1))
        inputs = {"Inference": fed("found", found, offsets), "Label": fed("label", label, offsets)}
        return operator("chunk_eval", inputs, CHUNKS, chunk_scheme=scheme, num_chunk_types=types, **attributes)

    build.__name__ = f"chunk_eval_{scheme.lower()}"
    return case(build)


chunks("IOB", 2, 3)
chunks("IOE", 2, 3)
chunks("IOBES", 4, 2, excluded_chunk_types=[1])
chunks("plain", 1, 4)


@case
def range_of_ints(fed):
    """Ends that are computed while the program runs, forwards and backwards."""
    end = paddle.max(fed("x", np.array([[3], [11], [7]], "int64")))
    limit = paddle.full([1], 2, "int64")
    down = paddle.arange(end, limit, paddle.full([1], -3, "int64"))
    return [paddle.arange(limit, end), down]


@case
def range_of_floats(fed):
    end = paddle.mean(fed("x", floats(4, 2) * 0.1 + 3.0))
    numbers = paddle.arange(paddle.full([1], -0.5), end, paddle.full([1], 0.25))
    return [numbers * paddle.ones([3, 1])]


@case
def sequence_expand_levels(fed):
    """Rows and sequences, repeated for the sequences of each row."""
    y = fed("y", floats(8, 1), [0, 2, 5], [0, 1, 3, 4, 6, 8])
    rows, sequences = fed("rows", floats(2, 3)), fed("x", floats(4, 2), [0, 1, 4])
    repeated = [static.nn.sequence_expand(x, y, ref_level=0) for x in (rows, sequences)]
    # Of rows it loses the sequences, which ours keeps.
    return [paddle.sum(repeated[0], 0), repeated[1]]


@case
def nce_of_given_classes(fed):
    """The classes are given, not drawn, so the costs are known."""
    x, label = fed("x", floats(5, 4)), fed("label", ids(7, 5, 2))
    weight, bias = static.create_parameter([7, 4], "float32"), static.create_parameter([7], "float32")
    inputs = {"Input": x, "Label": label, "Weight": weight, "Bias": bias}
    inputs["SampleWeight"] = fed("weight_of_rows", random.rand(5, 1).astype("float32"))
    outputs = {"Cost": "float32", "SampleLogits": "float32", "SampleLabels": "int64"}
    found = []
    for sampler in (0, 1):
        attributes = dict(num_total_classes=7, num_neg_samples=3, custom_neg_classes=[1, 6, 2], sampler=sampler)
        found += operator("nce", inputs, outputs, **attributes)
    return found


@case
def rank_table(fed):
    """Sequences by their lengths, two of them equal: steps, states, and whole sequences in this order."""
    x, rows = fed("x", floats(9, 2), [0, 2, 3, 6, 8, 9]), fed("rows", floats(5, 3))
    block = static.default_main_program().current_block()

    kinds = core.VarDesc.VarType

    def of(kind, inputs, type=kinds.LOD_TENSOR, **attributes):
        dtype = None if type == kinds.LOD_RANK_TABLE else "float32"
        out = block.create_var(name=paddle.utils.unique_name.generate(kind), type=type, dtype=dtype)
        inputs = {slot: [value] for slot, value in inputs.items()}
        block.append_op(type=kind, inputs=inputs, outputs={"Out": [out]}, attrs=attributes)
        return out

    table = of("lod_rank_table", {"X": x}, type=kinds.LOD_RANK_TABLE, level=0)
    steps = of("lod_tensor_to_array", {"X": x, "RankTable": table}, type=kinds.LOD_TENSOR_ARRAY)
    found = [of("reorder_lod_tensor_by_rank", {"X": value, "RankTable": table}) for value in (rows, x)]
    for step in (0, 1, 2):
        at = paddle.full([1], step, "int64")
        found.append(of("read_from_array", {"X": steps, "I": at}))
        found.append(of("shrink_rnn_memory", {"X": rows, "RankTable": table, "I": at}))
    found.append(of("array_to_lod_tensor", {"X": steps, "RankTable": table}))
    return found


def loop(fed, n):
    """Iterations that keep what they compute in an array, and read what the one before left in another."""
    x, i = fed("x", floats(3, 4)), paddle.full([1], 0, "int64")
    x.stop_gradient = False
    kept, memory = paddle.tensor.create_array("float32"), paddle.tensor.create_array("float32")
    paddle.tensor.array_write(x, i, memory)
    goes_on = paddle.less_than(i, n)
    with static.nn.control_flow.While(goes_on).block():
        h = paddle.tanh(paddle.tensor.array_read(memory, i)) + 0.5 * x
        paddle.tensor.array_write(h, i, kept)
        i = paddle.increment(i)
        paddle.tensor.array_write(h, i, memory)
        paddle.assign(paddle.less_than(i, n), goes_on)
    return x, kept


@case
def loop_that_collects(fed):
    x, kept = loop(fed, fed("n", np.array([5], "int64"), shape=[1]))
    stacked, _ = paddle.tensor.manipulation.tensor_array_to_tensor(kept, axis=1, use_stack=True)
    beside, _ = paddle.tensor.manipulation.tensor_array_to_tensor(kept, axis=1)
    last = paddle.tensor.array_read(kept, paddle.tensor.array_length(kept) - 1)
    return [stacked, beside, last, paddle.tensor.array_length(kept)]


@case
def gradient_of_a_loop_that_collects(fed):
    x, kept = loop(fed, fed("n", np.array([4], "int64"), shape=[1]))
    stacked, _ = paddle.tensor.manipulation.tensor_array_to_tensor(kept, axis=0, use_stack=True)
    static.append_backward(paddle.mean(paddle.square(stacked)))
    return [stacked, static.default_main_program().global_block().var("x@GRAD")]


SELECTED = {"selected_ids": "int64", "selected_scores": "float32", "parent_idx": "int32"}


@case
def beam_search(fed):
    """Prefixes of three sources, of which the last has none. Two have ended, all of one source's."""
    of = [[0, 3, 5, 5], [0, 1, 2, 3, 4, 5]]
    words = fed("words", np.array([[4], [1], [6], [1], [1]]), *of)
    before = fed("before", -random.rand(5, 1).astype("float32"), *of)
    candidates = fed("candidates", ids(9, 5, 3), *of)
    scores = fed("scores", -1.5 * random.rand(5, 3).astype("float32"), *of)
    inputs = {"pre_ids": words, "pre_scores": before, "ids": candidates, "scores": scores}
    return operator("beam_search", inputs, SELECTED, level=0, beam_size=4, end_id=1, is_accumulated=True)


@case
def beam_search_of_probabilities(fed):
    """All words are candidates, with their probabilities; prefixes of equal scores, the later ones of which come first."""
    of = [[0, 2, 4]]
    words = fed("words", np.array([[4], [2], [0], [3]]), *of)
    before = fed("before", np.array([[-1], [-1], [-2], [-0.25]], "float32"), *of)
    scores = random.rand(4, 5).astype("float32")
    scores[1] = scores[0]
    inputs = {"pre_ids": words, "pre_scores": before, "scores": fed("scores", scores, *of)}
    return operator("beam_search", inputs, SELECTED, level=0, beam_size=3, end_id=0, is_accumulated=False)


def search(fed, steps, beam):
    """A search of so many steps, whose words follow each other as a table says: some sources end early."""
    start = fed("start", np.array([[2], [3], [1], [5]]), *[[0, 1, 2, 3, 4]] * 2)
    table = fed("table", 3 * floats(6, 6), shape=[6, 6])
    scores = fed("scores", np.zeros([4, 1], "float32"), *[[0, 1, 2, 3, 4]] * 2)
    words, arrays = start, [paddle.tensor.create_array(kind) for kind in ("int64", "float32")]
    for step in range(steps):
        [follow] = operator("lookup_table_v2", {"Ids": paddle.squeeze(words, 1), "W": table}, {"Out": "float32"})
        best, found = paddle.topk(paddle.log(paddle.nn.functional.softmax(follow)), beam)
        [found] = operator("lod_reset", {"X": found, "Y": words}, {"Out": "int64"})
        [best] = operator("lod_reset", {"X": best + scores, "Y": words}, {"Out": "float32"})
        inputs = {"pre_ids": words, "pre_scores": scores, "ids": found, "scores": best}
        words, scores, _ = operator("beam_search", inputs, SELECTED, level=0, beam_size=beam, end_id=0, is_accumulated=True)
        for array, value in zip(arrays, (words, scores)):
            paddle.tensor.array_write(value, paddle.full([1], step, "int64"), array)
    inputs = {"Ids": arrays[0], "Scores": arrays[1]}
    outputs = {"SentenceIds": "int64", "SentenceScores": "float32"}
    return operator("beam_search_decode", inputs, outputs, beam_size=beam, end_id=0)


@case
def beam_search_decode(fed):
    return search(fed, 4, 3)


@case
def beam_search_decode_of_one_step(fed):
    return search(fed, 1, 2)


@case
def distribute_of_sequences(fed):
    """Boxes of two images, one of them without size: those of each level are sequences again."""
    of = boxes(9, 300.0)
    of[4] = [5.0, 5.0, 2.0, 9.0]
    rois = fed("boxes", of, [0, 4, 9])
    helper = LayerHelper("distribute_fpn_proposals")
    levels = [helper.create_variable_for_type_inference("float32") for _ in range(4)]
    restore = helper.create_variable_for_type_inference("int32")
    attributes = dict(min_level=2, max_level=5, refer_level=4, refer_scale=120, pixel_offset=True)
    outputs = {"MultiFpnRois": levels, "RestoreIndex": [restore]}
    helper.append_op(type="distribute_fpn_proposals", inputs={"FpnRois": [rois]}, outputs=outputs, attrs=attributes)
    return [*levels, restore]


@case
def collect_of_sequences(fed):
    """The best boxes of two levels, which are sequences of the images."""
    levels = [[0, 3, 4, 6], [0, 1, 4, 5]]
    rois = [fed(f"boxes{k}", boxes(of[-1], 90.0), of) for k, of in enumerate(levels)]
    scores = [fed(f"scores{k}", random.rand(of[-1], 1).astype("float32"), of) for k, of in enumerate(levels)]
    helper = LayerHelper("collect_fpn_proposals")
    found = helper.create_variable_for_type_inference("float32")
    inputs = {"MultiLevelRois": rois, "MultiLevelScores": scores}
    helper.append_op(type="collect_fpn_proposals", inputs=inputs, outputs={"FpnRois": [found]}, attrs={"post_nms_topN": 7})
    return [found]


@case
def boxes_with_counts(fed):
    """The boxes of three images one after another, as many as counts say: to their levels and back, collected (of images without any
    PaddlePaddle loses the count), suppressed."""
    of = boxes(9, 200.0)
    rois, counts = fed("boxes", of), fed("counts", np.array([3, 1, 5], "int32"), shape=[3])
    scores = fed("scores", random.rand(9, 3).astype("float32"))
    levels, restore, number = paddle.vision.ops.distribute_fpn_proposals(rois, 2, 4, 3, 60, rois_num=counts)
    back = paddle.gather(paddle.concat(levels), paddle.reshape(restore, [-1]))
    # It joins the sequences, too, which ours are no longer.
    back = rois + back
    best = paddle.max(scores, 1, keepdim=True)
    helper = LayerHelper("collect_fpn_proposals")
    collected = {slot: helper.create_variable_for_type_inference(kind) for slot, kind in (("FpnRois", "float32"), ("RoisNum", "int32"))}
    inputs = {"MultiLevelRois": [rois, rois * 0.5], "MultiLevelScores": [best, best * 0.9], "MultiLevelRoIsNum": [counts, counts]}
    helper.append_op(
        type="collect_fpn_proposals", inputs=inputs, outputs={slot: [value] for slot, value in collected.items()}, attrs={"post_nms_topN": 17}
    )
    each = paddle.stack([rois, rois * 0.75, rois * 0.5], 1)
    attributes = dict(
        background_label=-1, score_threshold=0.2, nms_top_k=-1, nms_threshold=0.4, nms_eta=1.0, keep_top_k=7, normalized=False
    )
    outputs = {"Out": "float32", "Index": "int32", "NmsRoisNum": "int32"}
    kept = operator("multiclass_nms3", {"BBoxes": each, "Scores": scores, "RoisNum": counts}, outputs, **attributes)
    # Ours are sequences of the images, and none where they are joined.
    kept = [paddle.concat([value, value]) for value in kept]
    return [*levels, *number, restore, back, *collected.values(), *kept]


@case
def multiclass_nms_of_sequences(fed):
    """Each class has boxes of its own. The second image keeps nothing."""
    of = [0, 6, 7, 12]
    each = np.stack([boxes(12, 30.0) for _ in range(3)], 1)
    scores = random.rand(12, 3).astype("float32")
    scores[6] = 0.05
    inputs = {"BBoxes": fed("boxes", each, of), "Scores": fed("scores", scores, of)}
    attributes = dict(
        background_label=0,
        score_threshold=0.1,
        nms_top_k=4,
        nms_threshold=0.3,
        nms_eta=1.0,
        keep_top_k=5,
        normalized=True,
    )
    return operator("multiclass_nms2", inputs, {"Out": "float32", "Index": "int32"}, **attributes)


@case
def sequences_side_by_side(fed):
    """Sequences that are fed apart from each other, as words and their marks are: added, joined, chosen from and masked."""
    words, marks = fed("words", floats(6, 3), [0, 2, 5, 6]), fed("marks", floats(6, 3), [0, 2, 5, 6])
    inner = fed("inner", floats(6, 1), [0, 1, 1, 3], [0, 2, 5, 6]), fed("others", floats(6, 2), [0, 1, 1, 3], [0, 2, 5, 6])
    gate = paddle.where(words > marks, words, paddle.nn.functional.sigmoid(marks))
    return [words + marks, paddle.concat([words, marks, gate], 1), paddle.add_n([marks, words, gate]), inner[0] * inner[1]]


tensor_cases.registered(case)
for build in sequence_models.MODELS:
    case(build)


def write(folder, name, build):
    main, startup, fed = static.Program(), static.Program(), Fed()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        wanted = build(fed)
    scope = static.Scope()
    with static.scope_guard(scope):
        executor = static.Executor(paddle.CPUPlace())
        executor.run(startup)
        values = {
            f"param|{parameter.name}": np.array(scope.find_var(parameter.name).get_tensor())
            for parameter in main.all_parameters()
        }
        found = executor.run(main, feed=fed.tensors(), fetch_list=wanted, return_numpy=False)
    values.update({f"in|{name}": array for name, array in fed.arrays.items()})
    lods = dict(fed.offsets)
    for variable, tensor in zip(wanted, found):
        values[f"out|{variable.name}"] = np.asarray(tensor)
        if tensor.lod():
            lods[variable.name] = tensor.lod()
    for of, levels in lods.items():
        values.update({f"lod|{level}|{of}": np.array(offsets, "int64") for level, offsets in enumerate(levels)})
    # Where Python called an operator is a path of this machine.
    for at in [at for block in main.blocks for at in block.ops]:
        at.desc.remove_attr("op_callstack")
    with open(os.path.join(folder, f"{name}.pdprogram"), "wb") as file:
        file.write(main.desc.serialize_to_string())
    np.savez(os.path.join(folder, f"{name}.npz"), **values)


def main(folder, only):
    paddle.enable_static()
    os.makedirs(folder, exist_ok=True)
    for name, build in CASES.items():
        if not only or name in only:
            paddle.seed(1)
            write(folder, name, build)
            print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]))
