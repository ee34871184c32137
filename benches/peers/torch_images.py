"""Networks on images."""

import torch
from torch import nn
from torch.nn import functional as F

import shapes
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
    for _, stride in shapes.SEPARABLE:
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


class ConvNeXtBlock(nn.Module):
    def __init__(self, w):
        super().__init__()
        deep = next(w)
        self.deep, self.norm = convolution(deep, bias=True, groups=len(deep)), nn.LayerNorm(len(deep))
        self.wide, self.narrow = dense(next(w)), dense(next(w))
        self.scale = nn.Parameter(torch.full((len(deep),), 0.1))

    def forward(self, x):
        pixels = self.norm(self.deep(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.narrow(F.gelu(self.wide(pixels)))).permute(0, 3, 1, 2)


class PixelNorm(nn.LayerNorm):
    """The channels of each pixel, normalised."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def patches(weights):
    """Filters whose windows lie side by side."""
    outputs, inputs, size, _ = weights.shape
    return filters(nn.Conv2d(inputs, outputs, size, size), weights)


def convnext(w):
    stem = patches(next(w))
    fine = [ConvNeXtBlock(w), ConvNeXtBlock(w)]
    down = patches(next(w))
    coarse = [ConvNeXtBlock(w), ConvNeXtBlock(w)]
    norms = PixelNorm(stem.out_channels), PixelNorm(stem.out_channels)
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(down.out_channels), dense(next(w))]
    return nn.Sequential(stem, norms[0], *fine, norms[1], down, *coarse, *head)


class MixerBlock(nn.Module):
    def __init__(self, w):
        super().__init__()
        mixed = lambda: nn.Sequential(dense(next(w)), nn.GELU(), dense(next(w)))
        self.patches, self.channels = mixed(), mixed()
        size = self.channels[0].in_features
        self.patches_norm, self.channels_norm = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x):
        x = x + self.patches(self.patches_norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.channels_norm(x))


class Mixer(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.stem = patches(next(w))
        self.blocks = nn.Sequential(MixerBlock(w), MixerBlock(w))
        self.norm, self.head = nn.LayerNorm(self.stem.out_channels), dense(next(w))

    def forward(self, x):
        x = self.blocks(self.stem(x).flatten(2).transpose(1, 2))
        return self.head(self.norm(x).mean(1))


class Excited(nn.Module):
    """Each channel, as much as all channels together say."""

    def __init__(self, w):
        super().__init__()
        self.squeeze, self.excite = dense(next(w)), dense(next(w))

    def forward(self, x):
        scales = torch.sigmoid(self.excite(F.silu(self.squeeze(x.mean((2, 3))))))
        return x * scales[:, :, None, None]


class Inverted(nn.Module):
    """A block of the efficient network: wide, and depthwise, inside."""

    def __init__(self, w, stride):
        super().__init__()
        wide, deep = next(w), next(w)
        self.layers = nn.Sequential(
            normalised(wide), nn.SiLU(), normalised(deep, stride, groups=len(deep)), nn.SiLU(), Excited(w), normalised(next(w))
        )
        self.around = self.layers[-1][0].out_channels == wide.shape[1]

    def forward(self, x):
        return x + self.layers(x) if self.around else self.layers(x)


def efficient(w):
    stem = normalised(next(w), 2)
    blocks = [Inverted(w, stride) for *_, stride in shapes.EFFICIENT]
    head = [normalised(next(w)), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(next(w))]
    return nn.Sequential(stem, nn.SiLU(), *blocks, *head)


def efficient1(w):
    """The same in inference, where the statistics of training are a variance that keeps values from fading."""
    model = efficient(w)
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_var.fill_(shapes.VARIANCE)
    return model


def volumes(w):
    layers = []
    for pools in ((1, 2, 2), 2, None, 2):
        weights = next(w)
        outputs, inputs, size, *_ = weights.shape
        layers += [filters(nn.Conv3d(inputs, outputs, size, padding=1), weights), nn.ReLU()]
        if pools:
            layers.append(nn.MaxPool3d(pools))
    return nn.Sequential(*layers, nn.Flatten(), dense(next(w)), nn.ReLU(), dense(next(w)))


class Grouped(nn.Module):
    """A residual block whose filters are in groups."""

    def __init__(self, w, stride):
        super().__init__()
        narrow, grouped, wide = next(w), next(w), next(w)
        self.way = nn.Sequential(
            normalised(narrow), nn.ReLU(), normalised(grouped, stride, groups=shapes.GROUPS), nn.ReLU(), normalised(wide)
        )
        changes = len(wide) != narrow.shape[1]
        self.around = normalised(next(w), stride) if changes else nn.Identity()

    def forward(self, x):
        return F.relu(self.way(x) + self.around(x))


def grouped(w):
    stem = normalised(next(w))
    blocks = [Grouped(w, stride) for _, stride in shapes.GROUPED]
    return nn.Sequential(stem, nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(next(w)))
