"""Networks on images."""

import torch
from torch import nn
from torch.nn import functional as F

import data
from torch_layers import convolution, dense, filters, normalised


def lenet(w):
    valid = lambda inputs, outputs: filters(nn.Conv2d(inputs, outputs, 5), next(w))
    images = [valid(1, 20), nn.ReLU(), nn.MaxPool2d(2), valid(20, 50), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*images, nn.Flatten(), dense(next(w)), nn.ReLU(), dense(next(w)))


class Residual(nn.Module):
    def __init__(self, w, halve):
        super().__init__()
        self.first, self.second = normalised(next(w), 2 if halve else 1), normalised(next(w))
        self.around = normalised(next(w), 2) if halve else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.around(x))


def resnet(w):
    stem = normalised(next(w))
    blocks = [Residual(w, halve=at in (3, 6)) for at in range(9)]
    return nn.Sequential(stem, nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(next(w)))


def separable(w):
    layers = [normalised(next(w), 2), nn.ReLU()]
    for _, stride in data.SEPARABLE:
        deep, wide = next(w), next(w)
        layers += [normalised(deep, stride, groups=len(deep)), nn.ReLU(), normalised(wide), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(next(w)))


def twice(w):
    return nn.Sequential(normalised(next(w)), nn.ReLU(), normalised(next(w)), nn.ReLU())


class Larger(nn.Module):
    def __init__(self, w):
        super().__init__()
        up = next(w)
        self.up = filters(nn.ConvTranspose2d(up.shape[0], up.shape[1], 2, 2), up)
        self.twice = twice(w)

    def forward(self, x, skip):
        return self.twice(torch.cat([skip, self.up(x)], 1))


class UNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.fine, self.middle, self.coarse = twice(w), twice(w), twice(w)
        self.to_middle, self.to_fine = Larger(w), Larger(w)
        self.kind = convolution(next(w), bias=True)

    def forward(self, image):
        fine = self.fine(image)
        middle = self.middle(F.max_pool2d(fine, 2))
        coarse = self.coarse(F.max_pool2d(middle, 2))
        return self.kind(self.to_fine(self.to_middle(coarse, middle), fine))
