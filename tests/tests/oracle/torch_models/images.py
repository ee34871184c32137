"""Networks of images."""

import torch
from torch import nn
from torch.nn import functional as F

from registry import floats, model


@model(floats(1, 28, 28))
def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 10), nn.LogSoftmax(1),
    )


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.a = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.b = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.skip = nn.Sequential()
        if stride > 1 or inputs != width:
            self.skip = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return F.relu(self.nb(self.b(F.relu(self.na(self.a(x))))) + self.skip(x))


def statistics(net):
    """Running statistics that are not those of a new network."""
    for part in net.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            part.running_mean.uniform_(-0.5, 0.5)
            part.running_var.uniform_(0.5, 1.5)
    return net


@model(floats(3, 32, 32))
def resnet18():
    layers = [nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 8
    for width, stride in [(8, 1), (8, 1), (16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)]:
        layers.append(Block(inputs, width, stride))
        inputs = width
    return statistics(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)))


class Inverted(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        inner = 4 * inputs
        self.kept = stride == 1 and inputs == width
        self.all = nn.Sequential(
            nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.Hardswish(),
            nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return x + self.all(x) if self.kept else self.all(x)


@model(floats(3, 32, 32))
def mobilenet():
    return statistics(nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), Inverted(8, 8, 1), Inverted(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Dropout(0.2), nn.Linear(16, 10), nn.Softmax(-1),
    ))


class Dense(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, growth, 3, 1, 1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(F.relu(self.norm(x)))], 1)


@model(floats(3, 16, 16))
def densenet():
    return statistics(nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1), Dense(8, 4), Dense(12, 4), nn.BatchNorm2d(16), nn.Conv2d(16, 8, 1), nn.AvgPool2d(2),
        Dense(8, 4), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.Linear(48, 5),
    ))


class Unet(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 1, 1), nn.Conv2d(16, 16, 3, 1, 1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.d, self.e = nn.Conv2d(24, 8, 3, 1, 1), nn.Conv2d(16, 2, 1)
        self.mode = mode

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        c = F.relu(self.c(F.max_pool2d(b, 2)))
        c = F.interpolate(c, scale_factor=2.0, mode=self.mode, align_corners=None if self.mode == "nearest" else False)
        d = torch.cat([self.up(c), F.interpolate(b, size=(16, 16), mode="nearest")], 1)
        return self.e(torch.cat([F.relu(self.d(d)), a], 1)).sigmoid()


@model(floats(3, 16, 16))
def unet():
    return Unet("bilinear")


@model(floats(3, 16, 16))
def unet_nearest():
    return Unet("nearest")


class Vae(nn.Module):
    """The mean is what is decoded."""

    def __init__(self):
        super().__init__()
        self.encode, self.mean, self.spread = nn.Linear(64, 32), nn.Linear(32, 8), nn.Linear(32, 8)
        self.decode = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x):
        h = F.elu(self.encode(x.flatten(1)))
        mean, spread = self.mean(h), self.spread(h)
        divergence = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(1)
        return self.decode(mean).view(-1, 1, 8, 8), mean, divergence


@model(floats(1, 8, 8))
def vae():
    return Vae()


class Attended(nn.Module):
    """Squeeze and excitation, and groups of channels."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, 2, 1, groups=1), nn.GroupNorm(4, 8)
        self.down, self.up = nn.Linear(8, 2), nn.Linear(2, 8)
        self.instance = nn.InstanceNorm2d(8, affine=True)

    def forward(self, x):
        x = F.leaky_relu(self.norm(self.conv(F.pad(x, (1, 1, 1, 1), mode="reflect"))), 0.1)
        weight = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3))))))
        x = self.instance(x * weight[:, :, None, None])
        return F.pixel_shuffle(x, 2).amax((2, 3))


@model(floats(3, 12, 12))
def squeeze_excitation():
    return Attended()


@model(floats(2, 6, 8, 8))
def volumes():
    return nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(4, 4, 3), nn.Flatten(), nn.Linear(16, 3))


@model(floats(4, 20))
def signals():
    return nn.Sequential(
        nn.Conv1d(4, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3, dilation=2), nn.SiLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3),
    )


@model(floats(3, lambda rows: 8 + 4 * rows, lambda rows: 12 + 4 * rows), axes={2: "height", 3: "width"})
def images_of_any_size():
    return statistics(nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Conv2d(8, 4, 3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    ))
