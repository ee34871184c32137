"""Layers with given weights."""

import torch
from torch import nn


def dense(weights):
    layer = nn.Linear(*weights.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights.T))
        layer.bias.zero_()
    return layer


def filters(layer, weights):
    """A convolution with these weights, and a bias of zero if it has one."""
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights))
        if layer.bias is not None:
            layer.bias.zero_()
    return layer


def convolution(weights, stride=1, bias=False, groups=1):
    outputs, inputs, size, _ = weights.shape
    layer = nn.Conv2d(groups * inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=bias)
    return filters(layer, weights)


def normalised(weights, stride=1, groups=1):
    return nn.Sequential(convolution(weights, stride, groups=groups), nn.BatchNorm2d(len(weights)))
