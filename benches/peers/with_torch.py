"""A workload in PyTorch: `with_torch.py WORKLOAD MODE THREADS`, and options for cards.

A mode is made of words: `eager` or `compiled`; `graphs` for CUDA's graphs of what is compiled; `channels-last` for images;
`unpadded` for texts, whose layers see words only, and attention alone sees padding; `sparse` for gradients of tables by rows;
`gathered` and `unrolled` for the loop of W9: rows that have left it are put aside, or it has all its iterations."""

from torch_settings import COMPILED, DEVICE, IMAGES_LAST, MODE, arguments, autocast

import torch
from torch import nn
from torch.nn import functional as F

import data
from serve import serve
from torch_images import Mixer, UNet, convnext, efficient, efficient1, grouped, lenet, resnet, separable, volumes
from torch_layers import dense
from torch_loops import Adaptive, classify_adaptive
from torch_signals import Temporal, classify_steps
from torch_tables import Recommender, foretell_clicks
from torch_texts import (
    Ranking, Recurrent, Transformer, Translation, classify, classify_recurrent, foretell, foretell_ragged, rank, translate,
)

WORKLOAD = arguments.workload


def perceptron(w):
    return nn.Sequential(dense(next(w)), nn.ReLU(), dense(next(w)), nn.ReLU(), dense(next(w)))


def label(model, x, y):
    return F.cross_entropy(model(x.contiguous(**IMAGES_LAST)), y)


SGD, ADAM = torch.optim.SGD, torch.optim.Adam
# The model, its loss on a batch, the updater and its settings.
TRAINED = {
    "W1": (perceptron, label, SGD, {"lr": 0.1}),
    "W2": (lenet, label, ADAM, {"lr": 1e-3}),
    "W3": (Recurrent, classify_recurrent, ADAM, {"lr": 1e-3}),
    "W5": (Ranking, rank, SGD, {"lr": 0.5}),
    "W7": (resnet, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "W9": (Adaptive, classify_adaptive, SGD, {"lr": 0.01}),
    "unet": (UNet, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "separable": (separable, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "temporal": (Temporal, classify_steps, ADAM, {"lr": 1e-3}),
    "convnext": (convnext, label, ADAM, {"lr": 1e-3}),
    "mixer": (Mixer, label, ADAM, {"lr": 1e-3}),
    "efficient": (efficient, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "volumes": (volumes, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "grouped": (grouped, label, SGD, {"lr": 0.01, "momentum": 0.9}),
    "recommender": (Recommender, foretell_clicks, SGD, {"lr": 0.1}),
    "translation": (Translation, translate, ADAM, {"lr": 1e-3}),
    "encoder": (lambda w: Transformer(w, causal=False), classify, ADAM, {"lr": 1e-3}),
    "decoder": (lambda w: Transformer(w, causal=True), foretell_ragged, ADAM, {"lr": 1e-3}),
    "decoder64": (lambda w: Transformer(w, causal=True), foretell, ADAM, {"lr": 1e-3}),
}
# Of these the loss is compiled in parts, within the model.
IN_PARTS = WORKLOAD == "W9" and "unrolled" not in MODE


def pool():
    """All batches as tensors of the host. From pinned memory a card fetches them by itself."""
    pin = (lambda x: x.pin_memory()) if DEVICE.type == "cuda" else (lambda x: x)
    batches = data.pool(WORKLOAD, arguments.batch)
    if WORKLOAD == "W3" and "compiled" not in MODE:
        # Only what is compiled needs one shape for all batches.
        batches = [(words[:, :lengths.max()].copy(), lengths, label) for words, lengths, label in batches]
    if WORKLOAD == "translation" and "compiled" not in MODE:
        batches = [
            (text[:, :lengths.max()].copy(), lengths, said[:, :ends.max()].copy(), ends, following[:, :ends.max()].copy())
            for text, lengths, said, ends, following in batches
        ]
    return [[pin(torch.from_numpy(part)) for part in batch] for batch in batches]


def feed(batch):
    """A batch on the device. Packing takes lengths in the host's memory."""
    at_host = {"W3": {1}, "translation": {1, 3}}.get(WORKLOAD, ()) if "unpadded" in MODE else ()
    move = lambda k, part: part if k in at_host else part.to(DEVICE, non_blocking=True)
    return [move(k, part) for k, part in enumerate(batch)]


def begin_step():
    """CUDA's graphs may write to the results of the step before."""
    if "graphs" in MODE:
        torch.compiler.cudagraph_mark_step_begin()


def updater_of(parameters, updater, settings):
    """Updates by rows have no fused kernel."""
    parameters = [parameter for parameter in parameters if parameter.requires_grad]
    return updater(parameters, fused="sparse" not in MODE, **settings)


def training():
    make, loss, updater, settings = TRAINED[WORKLOAD]
    batches, model = pool(), make(iter(data.weights(WORKLOAD))).to(DEVICE, **IMAGES_LAST)
    first = [parameter.detach().clone() for parameter in model.parameters()]
    updater = updater_of(model.parameters(), updater, settings)
    if "compiled" in MODE and not IN_PARTS:
        loss = torch.compile(loss, **COMPILED)

    def step(at):
        begin_step()
        updater.zero_grad(set_to_none=True)
        with autocast():
            cost = loss(model, *feed(batches[at % data.POOL]))
        cost.backward()
        updater.step()
        return cost.item()

    def restart():
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), first):
                parameter.copy_(value)

    if WORKLOAD == "W9":
        # Rows need fewer iterations the longer it is trained.
        step.restart = restart
    return step


def adversaries():
    """W6: a generator and a discriminator, trained in turn."""
    batches, w = pool(), iter(data.weights(WORKLOAD))
    makes = nn.Sequential(dense(next(w)), nn.ReLU(), dense(next(w)), nn.Tanh()).to(DEVICE)
    judges = nn.Sequential(dense(next(w)), nn.LeakyReLU(0.2), dense(next(w))).to(DEVICE)
    updaters = [updater_of(model.parameters(), ADAM, {"lr": 2e-4, "betas": (0.5, 0.999)}) for model in (judges, makes)]

    def judge_loss(real, noise):
        with torch.no_grad():
            made = makes(noise)
        return F.softplus(-judges(real)).mean() + F.softplus(judges(made)).mean()

    def make_loss(noise):
        return F.softplus(-judges(makes(noise))).mean()

    if "compiled" in MODE:
        judge_loss, make_loss = (torch.compile(loss, **COMPILED) for loss in (judge_loss, make_loss))

    def train(updater, loss, *batch):
        updater.zero_grad(set_to_none=True)
        with autocast():
            cost = loss(*batch)
        cost.backward()
        updater.step()
        return cost.detach()

    def step(at):
        begin_step()
        real, noise, other = feed(batches[at % data.POOL])
        judged = train(updaters[0], judge_loss, real, noise)
        judges.requires_grad_(False)
        made = train(updaters[1], make_loss, other)
        judges.requires_grad_(True)
        return (judged + made).item()

    return step


def inference():
    make = {"W8b": resnet, "efficient1": efficient1}[WORKLOAD]
    batches, model = pool(), make(iter(data.weights(WORKLOAD))).eval().to(DEVICE, **IMAGES_LAST)
    call = lambda x: torch.softmax(model(x.contiguous(**IMAGES_LAST)), 1)
    if "compiled" in MODE:
        from torch._inductor import config

        # Weights are constants.
        config.freezing = True
        call = torch.compile(call, **COMPILED)

    def step(at):
        with torch.inference_mode() if "eager" in MODE else torch.no_grad(), autocast():
            return call(*feed(batches[at % data.POOL])).float().cpu().numpy()[0]

    return step


INFERENCE = WORKLOAD in ("W8b", "efficient1")
serve(inference if INFERENCE else adversaries if WORKLOAD == "W6" else training, INFERENCE)
