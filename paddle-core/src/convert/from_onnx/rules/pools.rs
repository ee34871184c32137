//! Pooling in forms that our operators lack: with dilations, rounded up, of volumes with padding, and norms.
//!
//! The elements that windows have at the same place are a part of the value. So there is a part for each place of a window, and their
//! sum or maximum is that of the windows.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{AssignValue, Binary, BinaryKind, Number, Pad, Slice, Unary, UnaryKind};
use crate::program::{DType, Dim, Type, VarId};

/// The most places of a window.
const MOST_PLACES: i64 = 1 << 10;

/// The windows along one axis.
struct Along {
    size: i64,
    stride: i64,
    dilation: i64,
    padding: [i64; 2],
    /// Elements of the value.
    of: i64,
    windows: i64,
}

impl Along {
    /// The end of the last window, counted from the padding in front.
    fn reached(&self) -> i64 {
        (self.windows - 1) * self.stride + (self.size - 1) * self.dilation + 1
    }

    /// The elements of each window that count.
    fn counts(&self, with_padding: bool) -> Vec<i64> {
        let (low, high) = match with_padding {
            true => (0, self.of + self.padding[0] + self.padding[1]),
            false => (self.padding[0], self.padding[0] + self.of),
        };
        let inside = |window: i64| {
            let places = (0..self.size).map(|k| window * self.stride + k * self.dilation);
            places.filter(|place| (low..high).contains(place)).count() as i64
        };
        (0..self.windows).map(inside).collect()
    }
}

impl Node<'_, '_> {
    /// The windows along each axis behind the channels.
    fn windows_of_any(&self, x: VarId) -> Result<Vec<Along>, Fault> {
        let sizes: Option<Vec<i64>> = self.shape(x).iter().skip(2).map(Dim::constant).collect();
        let (Some(sizes), Some(kernel)) = (sizes, self.ints("kernel_shape")) else {
            return self.lacks("it has dilations or rounds up, and sizes are not known");
        };
        let axes = sizes.len();
        let ones = || vec![1; axes];
        let [strides, dilations] = ["strides", "dilations"].map(|name| self.ints(name).unwrap_or_else(ones));
        let pads = self.ints("pads").unwrap_or_else(|| vec![0; 2 * axes]);
        let auto = self.text("auto_pad").unwrap_or("NOTSET");
        if [kernel.len(), strides.len(), dilations.len()] != [axes; 3] || pads.len() != 2 * axes || axes == 0
        {
            return self.lacks("it has not one number for each axis");
        }
        let all = [&sizes[..], &kernel, &strides, &dilations].concat();
        if !all.iter().all(|number| (1..1 << 20).contains(number))
            || !pads.iter().all(|side| (0..1 << 20).contains(side))
        {
            return self.lacks("a size, stride or dilation is below 1 or too large, or a padding below 0");
        }
        let rounds_up = self.int("ceil_mode", 0) != 0;
        let mut found = Vec::with_capacity(axes);
        for axis in 0..axes {
            let (of, size, stride, dilation) = (sizes[axis], kernel[axis], strides[axis], dilations[axis]);
            let span = (size - 1) * dilation + 1;
            let padding = match auto {
                "NOTSET" => [pads[axis], pads[axis + axes]],
                "VALID" => [0, 0],
                _ => {
                    let missing = ((of + stride - 1) / stride - 1) * stride + span - of;
                    let (less, more) = (missing.max(0) / 2, missing.max(0) - missing.max(0) / 2);
                    if auto == "SAME_LOWER" { [more, less] } else { [less, more] }
                }
            };
            let left = of + padding[0] + padding[1] - span;
            let mut windows =
                if rounds_up { (left + stride - 1).div_euclid(stride) } else { left.div_euclid(stride) } + 1;
            // No window begins behind the value and the padding in front of it.
            if rounds_up && (windows - 1) * stride >= of + padding[0] {
                windows -= 1;
            }
            if windows < 1 {
                return self.lacks("its windows are larger than what they slide over");
            }
            found.push(Along { size, stride, dilation, padding, of, windows });
        }
        let places = found.iter().try_fold(1i64, |all, along| all.checked_mul(along.size));
        if places.is_none_or(|places| places > MOST_PLACES) {
            return self.lacks("its windows are too large");
        }
        Ok(found)
    }

    /// The sum or the maximum over windows.
    fn over_windows(
        &mut self,
        x: VarId,
        windows: &[Along],
        kind: BinaryKind,
        pad_value: f64,
    ) -> Result<VarId, Fault> {
        let mut paddings = vec![0; 4];
        for along in windows {
            // The last windows may reach over the end.
            let behind = (along.reached() - along.of - along.padding[0]).max(along.padding[1]);
            paddings.extend([along.padding[0], behind]);
        }
        let padded = match paddings.iter().all(|&side| side == 0) {
            true => x,
            false => self.emit(Pad { paddings, pad_value }, &[x])?,
        };
        let places: i64 = windows.iter().map(|along| along.size).product();
        let mut all = None;
        for place in 0..places {
            let mut rest = place;
            let mut part =
                Slice { axes: Vec::new(), starts: Vec::new(), ends: Vec::new(), strides: Vec::new() };
            for (axis, along) in windows.iter().enumerate().rev() {
                let start = rest % along.size * along.dilation;
                rest /= along.size;
                part.axes.insert(0, axis as i64 + 2);
                part.starts.insert(0, start);
                part.ends.insert(0, start + (along.windows - 1) * along.stride + 1);
                part.strides.insert(0, along.stride);
            }
            let part = self.emit(part, &[padded])?;
            all = Some(match all {
                Some(all) => self.emit(Binary { kind }, &[all, part])?,
                None => part,
            });
        }
        match all {
            Some(all) => Ok(all),
            None => self.lacks("its windows are empty"),
        }
    }

    pub(super) fn largest_of_windows(&mut self, x: VarId) -> Given {
        if self.desc.output.len() > 1 || self.int("storage_order", 0) != 0 {
            return self.lacks("the places of the largest elements are read");
        }
        let windows = self.windows_of_any(x)?;
        let least = if self.ty(x).dtype == DType::F64 { f64::MIN } else { f64::from(f32::MIN) };
        Ok(vec![self.over_windows(x, &windows, BinaryKind::Max, least)?])
    }

    pub(super) fn mean_of_windows(&mut self, x: VarId) -> Given {
        let windows = self.windows_of_any(x)?;
        let with_padding = self.int("count_include_pad", 0) != 0;
        let reaches_out = |along: &Along| along.reached() > along.of + along.padding[0] + along.padding[1];
        if with_padding && windows.iter().any(reaches_out) {
            return self
                .lacks("whether what is behind the padding counts, where it rounds up, is not agreed upon");
        }
        let mut mean = self.over_windows(x, &windows, BinaryKind::Add, 0.0)?;
        let dtype = self.ty(x).dtype;
        for (axis, along) in windows.iter().enumerate() {
            let counts =
                along.counts(with_padding).into_iter().map(|count| Number::Float(count as f64)).collect();
            let mut dims = vec![1; windows.len()];
            dims[axis] = along.windows;
            let counts = self.emit(AssignValue { values: counts, ty: Type::new(dtype, dims) }, &[])?;
            mean = self.emit(Binary { kind: BinaryKind::Div }, &[mean, counts])?;
        }
        Ok(vec![mean])
    }

    /// `(Σ |x|ᵖ)^(1/p)` over windows.
    pub(super) fn norm_of_windows(&mut self) -> Given {
        let x = self.input(0)?;
        let windows = self.windows_of_any(x)?;
        let power = |factor: f64| {
            let mut power = Unary::of(UnaryKind::Pow);
            power.coefficients[0] = factor;
            power
        };
        let p = self.int("p", 2) as f64;
        let sizes = self.emit(Unary::of(UnaryKind::Abs), &[x])?;
        let powers = self.emit(power(p), &[sizes])?;
        let sum = self.over_windows(powers, &windows, BinaryKind::Add, 0.0)?;
        self.give(power(1.0 / p), &[sum])
    }
}
