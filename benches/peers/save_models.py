"""Saves models with the real PaddlePaddle, for `cargo bench --bench compare -- --models FOLDER`: `save_models.py FOLDER`."""

import os
import sys

import paddle
from paddle import nn
from paddle.static import InputSpec


class BertTiny(nn.Layer):
    """Two layers of 128 units and 2 heads over 128 tokens, as the smallest BERT."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, 128), nn.Embedding(128, 128)
        self.norm = nn.LayerNorm(128)
        layer = nn.TransformerEncoderLayer(128, 2, 512, dropout=0.0, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.classes = nn.Linear(128, 2)

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.places(paddle.arange(128)))
        return nn.functional.softmax(self.classes(self.encoder(x)[:, 0]))


class LstmText(nn.Layer):
    """A sentence of 64 words, read by an LSTM of 128 units."""

    def __init__(self):
        super().__init__()
        self.words, self.lstm = nn.Embedding(10000, 64), nn.LSTM(64, 128)
        self.classes = nn.Linear(128, 2)

    def forward(self, ids):
        outputs, _ = self.lstm(self.words(ids))
        return nn.functional.softmax(self.classes(outputs[:, -1]))


IMAGES = [InputSpec([None, 3, 224, 224], "float32", "image")]


def words(count):
    return [InputSpec([None, count], "int64", "ids")]


MODELS = {
    "resnet18": (lambda: paddle.vision.models.resnet18(num_classes=1000), IMAGES),
    "mobilenet": (lambda: paddle.vision.models.mobilenet_v1(num_classes=1000), IMAGES),
    "bert_tiny": (BertTiny, words(128)),
    "lstm": (LstmText, words(64)),
}

for name, (make, specs) in MODELS.items():
    paddle.seed(1)
    net = make()
    net.eval()
    prefix = os.path.join(sys.argv[1], name, "model")
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    paddle.jit.save(paddle.jit.to_static(net, input_spec=specs), prefix, input_spec=specs)
    print(name)
