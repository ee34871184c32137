"""Heads of detectors: prior boxes, decoded boxes, suppression."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.base.layer_helper import LayerHelper
from paddle.vision import ops

from registry import MODELS, S, model

BATCHES = (1, 3, 32)


def fed(name, values):
    """Registers what a model is fed: an array for each batch and input."""
    cls, specs, _, _ = MODELS[name]
    MODELS[name] = (cls, specs, values, BATCHES)


def corners(rows, count, seed, size=10.0):
    """Boxes that overlap often enough."""
    random = np.random.RandomState(seed)
    first = random.rand(rows, count, 2) * size
    sides = random.rand(rows, count, 2) * size * 0.4 + 0.1
    return np.concatenate([first, first + sides], -1).astype("float32")


def scores(rows, classes, count, seed):
    return np.random.RandomState(seed).rand(rows, classes, count).astype("float32")


def suppressed(kind, boxes, of_boxes, outputs, **attributes):
    """The outputs of an operator that `paddle.vision.ops` has no function for."""
    settings = {
        "background_label": -1,
        "score_threshold": 0.3,
        "nms_top_k": 50,
        "nms_threshold": 0.4,
        "nms_eta": 1.0,
        "keep_top_k": 20,
        "normalized": True,
    }
    settings.update(attributes)
    helper = LayerHelper(kind)
    found = {"Out": helper.create_variable_for_type_inference(boxes.dtype)}
    for name in outputs:
        found[name] = helper.create_variable_for_type_inference("int32")
    helper.append_op(type=kind, inputs={"BBoxes": boxes, "Scores": of_boxes}, outputs=found, attrs=settings)
    return tuple(found.values())


def one_output(kind, inputs, slot, dtype="float32", others=(), **attributes):
    helper = LayerHelper(kind)
    found = {name: helper.create_variable_for_type_inference(dtype) for name in (slot, *others)}
    helper.append_op(type=kind, inputs=inputs, outputs=found, attrs=attributes)
    return found[slot] if not others else tuple(found.values())


@model(S(None, 3, 32, 32))
class ssd_head(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2D(3, 8, 3, 4, 1)
        self.second = nn.Conv2D(8, 8, 3, 2, 1)
        self.places = nn.LayerList([nn.Conv2D(8, 4 * 4, 3, 1, 1), nn.Conv2D(8, 4 * 4, 3, 1, 1)])
        self.classes = nn.LayerList([nn.Conv2D(8, 4 * 5, 3, 1, 1), nn.Conv2D(8, 4 * 5, 3, 1, 1)])

    def forward(self, x):
        maps = [F.relu(self.first(x))]
        maps.append(F.relu(self.second(maps[0])))
        priors, spreads, places, classes = [], [], [], []
        for k, of in enumerate(maps):
            boxes, variances = ops.prior_box(
                of,
                x,
                min_sizes=[[4.0, 12.0][k]],
                max_sizes=[[12.0, 24.0][k]],
                aspect_ratios=[2.0],
                flip=True,
                clip=k == 1,
                variance=[0.1, 0.1, 0.2, 0.2],
            )
            priors.append(paddle.reshape(boxes, [-1, 4]))
            spreads.append(paddle.reshape(variances, [-1, 4]))
            moved = paddle.transpose(self.places[k](of), [0, 2, 3, 1])
            places.append(paddle.reshape(moved, [0, -1, 4]))
            moved = paddle.transpose(self.classes[k](of), [0, 2, 3, 1])
            classes.append(paddle.reshape(moved, [0, -1, 5]))
        prior, spread = paddle.concat(priors), paddle.concat(spreads)
        place = paddle.concat(places, 1)
        of_boxes = F.softmax(paddle.concat(classes, 1) * 4.0)
        boxes = ops.box_coder(prior, spread, place, code_type="decode_center_size")
        of_boxes = paddle.transpose(of_boxes, [0, 2, 1])
        return suppressed(
            "multiclass_nms3",
            boxes,
            of_boxes,
            ["Index", "NmsRoisNum"],
            background_label=0,
            nms_top_k=40,
            keep_top_k=15,
            score_threshold=0.25,
        )


@model(S(None, 3, 32, 32), S(None, 2, dtype="int32", name="size"))
class yolo_head(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2D(3, 8, 3, 4, 1)
        self.second = nn.Conv2D(8, 8, 3, 2, 1)
        self.heads = nn.LayerList([nn.Conv2D(8, 3 * 9, 1), nn.Conv2D(8, 3 * 9, 1)])

    def forward(self, x, size):
        maps = [F.relu(self.first(x))]
        maps.append(F.relu(self.second(maps[0])))
        boxes, of_boxes = [], []
        for k, of in enumerate(maps):
            box, score = ops.yolo_box(
                self.heads[k](of) * 3.0,
                size,
                [[4, 6, 8, 5, 9, 12], [14, 18, 20, 16, 28, 26]][k],
                4,
                0.3,
                [4, 8][k],
                clip_bbox=k == 0,
                scale_x_y=[1.0, 1.05][k],
            )
            boxes.append(box)
            of_boxes.append(paddle.transpose(score, [0, 2, 1]))
        return suppressed(
            "multiclass_nms3",
            paddle.concat(boxes, 1),
            paddle.concat(of_boxes, 2),
            ["Index", "NmsRoisNum"],
            nms_top_k=100,
            keep_top_k=30,
            score_threshold=0.1,
        )


def of_yolo(rows, spec):
    random = np.random.RandomState(rows)
    if spec.name == "size":
        return random.randint(20, 60, [rows, 2]).astype("int32")
    return random.randn(rows, 3, 32, 32).astype("float32")


fed("yolo_head", of_yolo)


@model(S(None, 3, 8, 8), S(None, 2, dtype="int32", name="size"))
class yolo_iou_aware(nn.Layer):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2D(3, 2 * 8, 1)

    def forward(self, x, size):
        return ops.yolo_box(
            self.head(x), size, [4, 6, 9, 12], 2, 0.01, 4, iou_aware=True, iou_aware_factor=0.4
        )


fed("yolo_iou_aware", lambda rows, spec: of_yolo(rows, spec)[:, :, :8, :8] if spec.name == "x" else of_yolo(rows, spec))


@model(S(None, 60, 4, name="boxes"), S(None, 3, 60, name="scores"))
class nms_of_classes(nn.Layer):
    def forward(self, boxes, of_boxes):
        return suppressed("multiclass_nms", boxes, of_boxes, [], background_label=1, keep_top_k=12)


@model(S(None, 60, 4, name="boxes"), S(None, 3, 60, name="scores"))
class nms_with_index(nn.Layer):
    def forward(self, boxes, of_boxes):
        kept = suppressed(
            "multiclass_nms2",
            boxes,
            of_boxes,
            ["Index"],
            nms_threshold=0.7,
            nms_eta=0.8,
            nms_top_k=-1,
            keep_top_k=-1,
            normalized=False,
        )
        places = paddle.reshape(kept[1], [-1])
        chosen = paddle.gather(paddle.reshape(boxes, [-1, 4]), places)
        return kept[0], chosen


@model(S(None, 60, 4, name="boxes"), S(None, 3, 60, name="scores"))
class nms_of_few(nn.Layer):
    """Some images keep nothing, and a batch of one keeps nothing at all."""

    def forward(self, boxes, of_boxes):
        return suppressed(
            "multiclass_nms3", boxes, of_boxes, ["Index", "NmsRoisNum"], score_threshold=0.995, nms_top_k=5
        )


@model(S(2, 60, 4, name="boxes"), S(2, 3, 60, name="scores"))
class nms_of_two(nn.Layer):
    def forward(self, boxes, of_boxes):
        return suppressed("multiclass_nms3", boxes, of_boxes, ["Index", "NmsRoisNum"])


@model(S(None, 60, 4, name="boxes"), S(None, 3, 60, name="scores"))
class nms_of_matrix(nn.Layer):
    def forward(self, boxes, of_boxes):
        return ops.matrix_nms(boxes, of_boxes, 0.3, 0.2, 30, 15, background_label=-1, return_index=True)


@model(S(None, 60, 4, name="boxes"), S(None, 3, 60, name="scores"))
class nms_of_matrix_gaussian(nn.Layer):
    def forward(self, boxes, of_boxes):
        return ops.matrix_nms(
            boxes, of_boxes, 0.3, 0.2, 30, 15, use_gaussian=True, background_label=0, normalized=False
        )


def of_classes(rows, spec):
    rows = spec.shape[0] if spec.shape[0] not in (None, -1) else rows
    return corners(rows, 60, rows) if spec.name == "boxes" else scores(rows, 3, 60, rows)


for name in ("nms_of_classes", "nms_with_index", "nms_of_few", "nms_of_two", "nms_of_matrix", "nms_of_matrix_gaussian"):
    fed(name, of_classes)


@model(S(None, 4, name="boxes"), S(None, name="scores"))
class nms_of_boxes(nn.Layer):
    def forward(self, boxes, of_boxes):
        kept = ops.nms(boxes, 0.3, of_boxes)
        return kept, paddle.gather(boxes, kept)


def of_boxes(rows, spec):
    count = 20 * rows
    return corners(1, count, rows)[0] if spec.name == "boxes" else scores(1, 1, count, rows)[0, 0]


fed("nms_of_boxes", of_boxes)


@model(S(None, 4, name="boxes"), S(7, 4, name="others"))
class box_arithmetic(nn.Layer):
    def forward(self, boxes, others):
        variance = [0.1, 0.1, 0.2, 0.2]
        spread = others * 0.0 + 0.25
        return (
            one_output("iou_similarity", {"X": boxes, "Y": others}, "Out", box_normalized=True),
            one_output("iou_similarity", {"X": boxes, "Y": others}, "Out", box_normalized=False),
            ops.box_coder(others, variance, boxes, "encode_center_size"),
            ops.box_coder(others, spread, boxes, "encode_center_size", box_normalized=False),
        )


fed("box_arithmetic", lambda rows, spec: corners(1, rows if spec.name == "boxes" else 7, rows)[0])


@model(S(None, 7, 4, name="codes"), S(7, 4, name="boxes"))
class box_decoding(nn.Layer):
    def forward(self, codes, boxes):
        return (
            ops.box_coder(boxes, [0.1, 0.1, 0.2, 0.2], codes, "decode_center_size"),
            ops.box_coder(boxes, boxes * 0.1, codes, "decode_center_size", box_normalized=False),
            one_output(
                "box_coder",
                {"PriorBox": boxes, "TargetBox": codes},
                "OutputBox",
                code_type="decode_center_size",
                box_normalized=True,
                axis=0,
                variance=[],
            ),
        )


fed(
    "box_decoding",
    lambda rows, spec: corners(1, 7, rows)[0]
    if spec.name == "boxes"
    else np.random.RandomState(rows).randn(rows, 7, 4).astype("float32"),
)


@model(S(None, 4, name="boxes"), S(None, 7, 4, name="codes"))
class box_decoding_by_row(nn.Layer):
    def forward(self, boxes, codes):
        return ops.box_coder(boxes, [0.1, 0.1, 0.2, 0.2], codes, "decode_center_size", axis=1)


fed(
    "box_decoding_by_row",
    lambda rows, spec: corners(1, rows, rows)[0]
    if spec.name == "boxes"
    else np.random.RandomState(rows).randn(rows, 7, 4).astype("float32"),
)


@model(S(None, 3, 6, 5))
class all_priors(nn.Layer):
    def forward(self, x):
        image = F.interpolate(x, [48, 40])
        common = {"variances": [0.1, 0.1, 0.2, 0.2], "offset": 0.5}
        return (
            *ops.prior_box(
                x,
                image,
                [4.0, 9.0],
                [8.0, 16.0],
                [1.0, 2.0, 3.0],
                flip=True,
                steps=[8.0, 7.0],
                min_max_aspect_ratios_order=True,
            ),
            *one_output(
                "density_prior_box",
                {"Input": x, "Image": image},
                "Boxes",
                others=["Variances"],
                fixed_sizes=[8.0, 16.0],
                fixed_ratios=[1.0, 2.0],
                densities=[2, 1],
                step_w=0.0,
                step_h=0.0,
                clip=True,
                flatten_to_2d=True,
                **common,
            ),
            *one_output(
                "anchor_generator",
                {"Input": x},
                "Anchors",
                others=["Variances"],
                anchor_sizes=[16.0, 32.0],
                aspect_ratios=[0.5, 1.0, 2.0],
                stride=[8.0, 8.0],
                **common,
            ),
            x * 2.0,
        )


@model(S(None, 3, 12, 10), S(None, 4, name="boxes"))
class regions(nn.Layer):
    """A region of each image."""

    def forward(self, x, boxes):
        counts = paddle.ones([paddle.shape(x)[0]], dtype="int32")
        return (
            ops.roi_align(x, boxes, counts, (3, 4), 0.5),
            ops.roi_align(x, boxes, counts, 2, 0.5, sampling_ratio=2, aligned=False),
        )


fed(
    "regions",
    lambda rows, spec: corners(1, rows, rows)[0] * 1.5
    if spec.name == "boxes"
    else np.random.RandomState(rows).randn(rows, 3, 12, 10).astype("float32"),
)


@model(S(None, 3, None, None), S(None, 2, dtype="int32", name="size"))
class yolo_of_any_size(nn.Layer):
    """Images of unknown height and width."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2D(3, 8, 3, 4, 1)
        self.head = nn.Conv2D(8, 2 * 7, 1)

    def forward(self, x, size):
        of = F.relu(self.first(x))
        boxes, of_boxes = ops.yolo_box(self.head(of) * 3.0, size, [8, 10, 14, 12], 2, 0.3, 4)
        return suppressed(
            "multiclass_nms3", boxes, paddle.transpose(of_boxes, [0, 2, 1]), ["Index", "NmsRoisNum"], nms_top_k=60
        )


def of_any_size(rows, spec):
    random = np.random.RandomState(rows)
    if spec.name == "size":
        return random.randint(20, 60, [rows, 2]).astype("int32")
    return random.randn(rows, 3, 32 + 4 * (rows % 3), 40).astype("float32")


fed("yolo_of_any_size", of_any_size)


@model(S(None, 3, None, None))
class priors_of_any_size(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2D(3, 4, 3, 4, 1)
        self.places = nn.Conv2D(4, 3 * 4, 3, 1, 1)

    def forward(self, x):
        of = F.relu(self.first(x))
        priors, spreads = ops.prior_box(of, x, [4.0], [12.0], [1.0, 2.0], variance=[0.1, 0.1, 0.2, 0.2])
        places = paddle.reshape(paddle.transpose(self.places(of), [0, 2, 3, 1]), [0, -1, 4])
        return ops.box_coder(
            paddle.reshape(priors, [-1, 4]), paddle.reshape(spreads, [-1, 4]), places, "decode_center_size"
        )


fed("priors_of_any_size", of_any_size)


@model(S(None, 3, 32, 32), S(None, 2, name="scale"))
class anchor_free_head(nn.Layer):
    """Distances from points of a grid, as a distribution over bins."""

    def __init__(self):
        super().__init__()
        self.maps = nn.LayerList([nn.Conv2D(3, 8, 3, 4, 1), nn.Conv2D(8, 8, 3, 2, 1)])
        self.classes = nn.LayerList([nn.Conv2D(8, 3, 1), nn.Conv2D(8, 3, 1)])
        self.bins = nn.LayerList([nn.Conv2D(8, 4 * 5, 1), nn.Conv2D(8, 4 * 5, 1)])
        self.proj = self.create_parameter([5])

    def forward(self, x, scale):
        points, strides, scores, distances = [], [], [], []
        for k in range(2):
            x = F.relu(self.maps[k](x))
            _, _, h, w = x.shape
            column = paddle.arange(end=w, dtype="float32") + 0.5
            line = paddle.arange(end=h, dtype="float32") + 0.5
            lines, columns = paddle.meshgrid(line, column)
            points.append(paddle.reshape(paddle.stack([columns, lines], -1), [-1, 2]))
            strides.append(paddle.full([h * w, 1], 4.0 * 2**k))
            scores.append(F.sigmoid(paddle.reshape(self.classes[k](x) * 4.0, [-1, 3, h * w])))
            bins = paddle.transpose(paddle.reshape(self.bins[k](x), [-1, 4, 5, h * w]), [0, 3, 1, 2])
            distances.append(paddle.matmul(F.softmax(bins, -1), self.proj + paddle.arange(5, dtype="float32")))
        points, strides = paddle.concat(points), paddle.concat(strides)
        low, high = paddle.split(paddle.concat(distances, 1), 2, -1)
        boxes = paddle.concat([points - low, points + high], -1) * strides
        sides = paddle.split(scale, 2, -1)
        boxes = boxes / paddle.concat([sides[1], sides[0], sides[1], sides[0]], -1).unsqueeze(1)
        return suppressed(
            "multiclass_nms3",
            boxes,
            paddle.concat(scores, -1),
            ["Index", "NmsRoisNum"],
            nms_top_k=1000,
            keep_top_k=25,
            score_threshold=0.05,
            nms_threshold=0.6,
        )


fed(
    "anchor_free_head",
    lambda rows, spec: np.random.RandomState(rows).rand(rows, 2).astype("float32") + 0.5
    if spec.name == "scale"
    else np.random.RandomState(rows).randn(rows, 3, 32, 32).astype("float32"),
)


@model(S(None, 4, name="x"), S(None, 1, name="y"))
class chosen_rows(nn.Layer):
    """Rows that a condition chooses, as many as it turns out."""

    def forward(self, x, y):
        places = paddle.nonzero(paddle.squeeze(y, 1) > 0.0)
        return places, paddle.gather(x, places), paddle.masked_select(x, x > 0.5), paddle.nonzero(x > 1.0)


def of_image(rows, spec):
    if spec.name == "size":
        return np.tile(np.array([[62.0, 60.0]], "float32"), (rows, 1))
    return np.random.RandomState(rows).randn(rows, 3, 64, 64).astype("float32")


@model(S(None, 3, 64, 64), S(None, 2, name="size"), feeds=of_image)
class proposals(nn.Layer):
    """The first stage of a detector, and regions of what it proposes."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2D(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2D(8, 8, 3, 2, 1), nn.ReLU())
        self.score, self.move, self.head = nn.Conv2D(8, 3, 1), nn.Conv2D(8, 12, 1), nn.Linear(32, 5)
        sides = np.array([[16, 16], [24, 12], [12, 24]], "float32")
        place = np.stack(np.meshgrid(np.arange(8) * 8, np.arange(8) * 8), -1).reshape(8, 8, 1, 2) + 4
        anchors = np.concatenate([place - sides / 2, place + sides / 2], -1).astype("float32")
        self.register_buffer("anchors", paddle.to_tensor(anchors))
        self.register_buffer("spread", paddle.full([8, 8, 3, 4], 0.5))

    def forward(self, x, size):
        maps = self.trunk(x)
        boxes, scores, counts = ops.generate_proposals(
            F.sigmoid(self.score(maps)), self.move(maps), size, self.anchors, self.spread,
            pre_nms_top_n=100, post_nms_top_n=9, nms_thresh=0.6, min_size=3.0, return_rois_num=True,
        )  # fmt: skip
        regions = ops.roi_align(maps, boxes, paddle.reshape(counts, [-1]), 2, 0.125, aligned=True)
        return boxes, scores, F.softmax(self.head(paddle.flatten(regions, 1)))


class Proposing(nn.Layer):
    """Two maps of an image, and what the coarser one proposes."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2D(3, 8, 3, 4, 1), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2D(8, 8, 3, 2, 1), nn.ReLU())
        self.score, self.move = nn.Conv2D(8, 3, 1), nn.Conv2D(8, 12, 1)
        sides = np.array([[16, 16], [30, 12], [40, 44]], "float32")
        place = np.stack(np.meshgrid(np.arange(8) * 8, np.arange(8) * 8), -1).reshape(8, 8, 1, 2) + 4
        anchors = np.concatenate([place - sides / 2, place + sides / 2], -1).astype("float32")
        self.register_buffer("anchors", paddle.to_tensor(anchors))
        self.register_buffer("spread", paddle.full([8, 8, 3, 4], 0.5))

    def proposed(self, x, size, most=12):
        first = self.first(x)
        second = self.second(first)
        boxes, scores, counts = ops.generate_proposals(
            F.sigmoid(self.score(second)), self.move(second), size, self.anchors, self.spread,
            pre_nms_top_n=100, post_nms_top_n=most, nms_thresh=0.7, min_size=3.0, return_rois_num=True,
        )  # fmt: skip
        return [first, second], boxes, scores, paddle.reshape(counts, [-1])

    def of_levels(self, maps, boxes, counts):
        """Regions of the map that suits the size of each box, in the order of the boxes."""
        of, restore, counts = ops.distribute_fpn_proposals(boxes, 2, 3, 3, 40, rois_num=counts)
        found = [
            ops.roi_align(maps[k], of[k], paddle.reshape(counts[k], [-1]), 2, [0.25, 0.125][k], 2, True)
            for k in range(2)
        ]
        return paddle.gather(paddle.concat(found), paddle.reshape(restore, [-1])), of, counts


@model(S(None, 3, 64, 64), S(None, 2, name="size"), feeds=of_image)
class pyramid_of_proposals(Proposing):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(32, 5)

    def forward(self, x, size):
        maps, boxes, _, counts = self.proposed(x, size)
        regions, of, counts = self.of_levels(maps, boxes, counts)
        return (boxes, F.softmax(self.head(paddle.flatten(regions, 1))), *of, *counts)


@model(S(None, 3, 64, 64), S(None, 2, name="size"), feeds=of_image)
class collected_proposals(Proposing):
    """The best of what two stages propose. Of images of which nothing is taken, PaddlePaddle does not write how many that is."""

    def forward(self, x, size):
        _, boxes, scores, counts = self.proposed(x, size)
        _, more, others, number = self.proposed(x * 0.5 + 0.1, size, 7)
        helper = LayerHelper("collect_fpn_proposals")
        found = [helper.create_variable_for_type_inference(kind) for kind in ("float32", "int32")]
        helper.append_op(
            type="collect_fpn_proposals",
            inputs={
                "MultiLevelRois": [boxes, more],
                "MultiLevelScores": [scores, others],
                "MultiLevelRoIsNum": [counts, number],
            },
            outputs={"FpnRois": found[0], "RoisNum": found[1]},
            attrs={"post_nms_topN": 400},
        )
        return tuple(found)


@model(S(None, 3, 64, 64), S(None, 2, name="size"), feeds=of_image)
class two_stages(Proposing):
    """Both stages of a detector: classes and moved boxes of what was proposed, of which suppression keeps some."""

    def __init__(self):
        super().__init__()
        self.head, self.classes, self.moves = nn.Linear(32, 16), nn.Linear(16, 4), nn.Linear(16, 4 * 4)

    def forward(self, x, size):
        maps, boxes, _, counts = self.proposed(x, size)
        regions, _, _ = self.of_levels(maps, boxes, counts)
        hidden = F.relu(self.head(paddle.flatten(regions, 1)))
        scores = F.softmax(self.classes(hidden) * 3.0)
        moves = paddle.reshape(self.moves(hidden), [-1, 4, 4])
        spread = [0.1, 0.1, 0.2, 0.2]
        moved = ops.box_coder(boxes, spread, moves, "decode_center_size", False, axis=1)
        helper = LayerHelper("multiclass_nms3")
        found = {"Out": helper.create_variable_for_type_inference("float32")}
        found.update({slot: helper.create_variable_for_type_inference("int32") for slot in ("Index", "NmsRoisNum")})
        settings = {
            "background_label": 3,
            "score_threshold": 0.15,
            "nms_top_k": -1,
            "nms_threshold": 0.5,
            "nms_eta": 1.0,
            "keep_top_k": 10,
            "normalized": False,
        }
        helper.append_op(
            type="multiclass_nms3",
            inputs={"BBoxes": moved, "Scores": scores, "RoisNum": counts},
            outputs=found,
            attrs=settings,
        )
        return tuple(found.values())
