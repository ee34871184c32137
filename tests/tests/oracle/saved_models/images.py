"""Convolutions, pooling and interpolation."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from registry import MODELS, S, model


@model(S(None, 3, 8, 8, dtype="uint8"))
class uint8_image(nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2D(3, 4, 3)

    def forward(self, x):
        y = paddle.cast(x, "float32") / 255.0
        return self.c(y)


@model(S(None, 3, 16, 16))
class unet_interp(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2D(3, 4, 3, padding=1, stride=2)
        self.b = nn.Conv2D(4, 8, 3, padding=1, stride=2)
        self.c = nn.Conv2D(12, 3, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(a))
        u = F.interpolate(b, scale_factor=2, mode="bilinear")
        return F.interpolate(
            self.c(paddle.concat([a, u], 1)), size=[16, 16], mode="bilinear", align_corners=True
        )


@model(S(None, 3, None, None))
class unet_interp_dyn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2D(3, 4, 3, padding=1, stride=2)

    def forward(self, x):
        a = F.relu(self.a(x))
        return F.interpolate(a, size=x.shape[2:], mode="bilinear")


MODELS["unet_interp_dyn"] = (
    unet_interp_dyn,
    MODELS["unet_interp_dyn"][1],
    lambda b, self: np.random.RandomState(b).randn(b, 3, 12, 10).astype("float32"),
    (1, 3, 32),
)


@model(S(None, 3, 16, 16))
class yolox_nearest(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2D(3, 4, 3, padding=1, stride=2)
        self.u = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        return self.u(F.silu(self.a(x)))


@model(S(None, 3, 8, 8))
class espcn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2D(3, 12, 3, padding=1)
        self.p = nn.PixelShuffle(2)

    def forward(self, x):
        return self.p(F.tanh(self.a(x)))


@model(S(None, 3, 8, 8))
class pixel_unshuffle(nn.Layer):
    def __init__(self):
        super().__init__()
        self.p = nn.PixelUnshuffle(2)
        self.c = nn.ChannelShuffle(3)

    def forward(self, x):
        return self.c(self.p(x))


@model(S(None, 2, 6, 8, 8))
class conv3d(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv3D(2, 4, 3, padding=1, stride=(1, 2, 2))
        self.b = nn.BatchNorm3D(4)
        self.p = nn.MaxPool3D(2)
        self.q = nn.AdaptiveAvgPool3D(1)
        self.f = nn.Linear(4, 3)

    def forward(self, x):
        y = self.p(F.relu(self.b(self.a(x))))
        y = self.q(y)
        return self.f(paddle.flatten(y, 1))


@model(S(None, 2, 6, 8, 8))
class pool3d_avg(nn.Layer):
    def __init__(self):
        super().__init__()
        self.p = nn.AvgPool3D(3, stride=2, padding=1)

    def forward(self, x):
        return self.p(x), F.max_pool3d(x, 2, stride=1)


@model(S(None, 4, 10))
class linear_interp(nn.Layer):
    def forward(self, x):
        return F.interpolate(x, size=[15], mode="linear", data_format="NCW")


@model(S(None, 2, 8, 8))
class bicubic(nn.Layer):
    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="bicubic")


@model(S(None, 3, 9, 10, 11))
class conv3d_groups(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv3D(3, 6, (2, 3, 2), padding=(1, 2, 0), stride=(2, 3, 2), dilation=(2, 1, 3), groups=3)
        self.b = nn.Conv3D(6, 4, 1, stride=2)

    def forward(self, x):
        y = self.a(x)
        return y, self.b(y)


@model(S(None, 9, 10, 11, 3))
class conv3d_last(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv3D(3, 6, 3, padding="SAME", stride=2, data_format="NDHWC")

    def forward(self, x):
        return self.a(x)


@model(S(None, 3, 7, 8, 9))
class pool3d_more(nn.Layer):
    def forward(self, x):
        return (
            F.max_pool3d(x, 3, stride=2, padding=1, ceil_mode=True),
            F.avg_pool3d(x, 3, stride=2, padding=1, exclusive=False, ceil_mode=True),
            F.adaptive_avg_pool3d(x, [3, 4, 5]),
            F.adaptive_max_pool3d(x, [2, 2, 3]),
        )


@model(S(None, 6, 8, 8))
class shuffles(nn.Layer):
    def forward(self, x):
        return (
            F.pixel_unshuffle(x, 4),
            F.channel_shuffle(x, 2),
            F.pixel_shuffle(paddle.concat([x, x], 1)[:, :12], 2),
        )


@model(S(None, 3, 6, 8))
class bicubic(nn.Layer):
    def __init__(self):
        super().__init__()
        self.f = nn.Conv2D(3, 3, 1)

    def forward(self, x):
        y = F.interpolate(self.f(x), scale_factor=2, mode="bicubic")
        return (
            F.interpolate(y, size=[7, 9], mode="bicubic"),
            F.interpolate(y, size=[20, 5], mode="bicubic", align_corners=True),
            F.interpolate(x, scale_factor=[1.5, 0.7], mode="bicubic"),
        )


@model(S(None, 2, 3, 4, 5))
class interpolated_volumes(nn.Layer):
    def forward(self, x):
        return (
            F.interpolate(x, size=[5, 6, 7], mode="trilinear", data_format="NCDHW"),
            F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=True, data_format="NCDHW"),
            F.interpolate(x, size=[6, 4, 3], mode="trilinear", align_mode=1, data_format="NCDHW"),
            F.interpolate(x, scale_factor=2, mode="nearest", data_format="NCDHW"),
        )
