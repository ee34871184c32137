//! Windows over images.

use crate::convert::export::LegaliseError;
use crate::convert::to_onnx::graph::Writer;
use crate::ops::{
    Conv2d, Conv2dTranspose, ImageLayout, Interpolate, InterpolateKind, Lrn, MaxPool2dWithIndex, Number,
    Operator, Padding, Pool2d, PoolKind, Unfold, Window,
};
use crate::program::DType;
use crate::wire::onnx::AttributeProto;

impl Writer<'_> {
    /// Height and width of an operator's images, if they are numbers.
    fn sizes_of_images(&self, operator: &Operator) -> Option<[usize; 2]> {
        let dims = self.program.shape(self.program.ty(operator.inputs[0]));
        let size = |axis: usize| usize::try_from(dims.get(axis)?.constant()?).ok();
        Some([size(2)?, size(3)?])
    }

    /// The elements around an image: above, on the left, below, on the right.
    fn around(&self, operator: &Operator, window: &Window) -> Option<[i64; 4]> {
        match window.padding {
            Padding::Explicit([above, below, left, right]) => Some([above, left, below, right]),
            Padding::Same => {
                let sizes = self.sizes_of_images(operator)?;
                let [[above, below], [left, right]] = [0, 1].map(|axis| window.around(axis, sizes[axis]));
                Some([above, left, below, right].map(|side| side as i64))
            }
        }
    }

    /// The attributes of a window.
    fn window(&self, operator: &Operator, window: &Window) -> Vec<AttributeProto> {
        let mut attributes = vec![
            AttributeProto::ints("kernel_shape", window.size),
            AttributeProto::ints("strides", window.stride),
            AttributeProto::ints("dilations", window.dilation),
        ];
        attributes.push(match self.around(operator, window) {
            Some(sides) => AttributeProto::ints("pads", sides),
            None => AttributeProto::text("auto_pad", "SAME_UPPER"),
        });
        attributes
    }

    pub(super) fn conv2d(
        &mut self,
        operator: &Operator,
        op: &Conv2d,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let dims = self.program.shape(self.program.ty(operator.inputs[1]));
        let (Some(height), Some(width)) = (dims[2].constant(), dims[3].constant()) else {
            return self.refuse("the sizes of its filters have to be numbers");
        };
        let window = Window {
            size: [height, width],
            stride: op.strides,
            dilation: op.dilations,
            padding: op.paddings,
        };
        let mut attributes = self.window(operator, &window);
        attributes.push(AttributeProto::int("group", op.groups));
        Ok(self.node_with("Conv", x, attributes))
    }

    pub(super) fn conv2d_transpose(&mut self, op: &Conv2dTranspose, x: &[&str]) -> String {
        let [above, below, left, right] = op.paddings;
        let attributes = [
            AttributeProto::ints("strides", op.strides),
            AttributeProto::ints("dilations", op.dilations),
            AttributeProto::ints("pads", [above, left, below, right]),
            AttributeProto::ints("output_padding", op.output_padding),
            AttributeProto::int("group", op.groups),
        ];
        self.node_with("ConvTranspose", x, attributes)
    }

    pub(super) fn pool2d(
        &mut self,
        operator: &Operator,
        op: &Pool2d,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let is_max = op.pooling_type == PoolKind::Max;
        if op.global_pooling || (op.adaptive && op.ksize == [1, 1]) {
            return Ok(self.node(if is_max { "GlobalMaxPool" } else { "GlobalAveragePool" }, x));
        }
        if op.adaptive {
            return self.spread_windows(operator, op, x);
        }
        let window = op.window();
        let sides = self.around(operator, &window);
        if !is_max && !op.exclusive && !sides.is_some_and(|[a, l, b, r]| a == b && l == r) {
            return self
                .refuse("an average that counts elements around the image needs as many on all sides");
        }
        let mut attributes = self.window(operator, &window);
        attributes.push(AttributeProto::int("ceil_mode", op.ceil_mode.into()));
        if !is_max {
            // Averages have windows without gaps.
            attributes.retain(|attribute| attribute.name != "dilations");
            attributes.push(AttributeProto::int("count_include_pad", (!op.exclusive).into()));
        }
        Ok(self.node_with(if is_max { "MaxPool" } else { "AveragePool" }, x, attributes))
    }

    /// Windows that are spread over an image, along one axis and then along the other: averages of rectangles are averages of
    /// averages, as are maxima.
    fn spread_windows(
        &mut self,
        operator: &Operator,
        op: &Pool2d,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let dtype = self.program.ty(operator.inputs[0]).dtype;
        let Some(sizes) = self.sizes_of_images(operator) else {
            return self
                .refuse("the sizes of images with windows that are spread over them have to be numbers");
        };
        let mut out = x[0].to_string();
        for (axis, &size) in sizes.iter().enumerate() {
            let windows = op.ksize[axis] as usize;
            let covered: Vec<_> = (0..windows).map(|i| op.covered(axis, size, windows, i).elements).collect();
            out = match op.pooling_type {
                PoolKind::Max => {
                    // The last element of a window is repeated in those that are shorter than others.
                    let longest = covered.iter().map(|elements| elements.len()).max().unwrap_or(0);
                    let number = |at: usize| {
                        (covered[at / longest].start + at % longest).min(covered[at / longest].end - 1)
                    };
                    let numbers: Vec<Number> =
                        (0..windows * longest).map(|at| Number::Int(number(at) as i64)).collect();
                    let numbers = self.numbers(&numbers, DType::I64, vec![windows as i64, longest as i64]);
                    let elements = self.node_with(
                        "Gather",
                        &[&out, &numbers],
                        [AttributeProto::int("axis", 2 + axis as i64)],
                    );
                    let axes = self.ints(&[3 + axis as i64]);
                    self.node_with("ReduceMax", &[&elements, &axes], [AttributeProto::int("keepdims", 0)])
                }
                PoolKind::Avg => {
                    let share = |at: usize| {
                        let elements = &covered[at % windows];
                        let is_in = elements.contains(&(at / windows));
                        Number::Float(if is_in { 1.0 / elements.len() as f64 } else { 0.0 })
                    };
                    let shares: Vec<Number> = (0..size * windows).map(share).collect();
                    let shares = self.numbers(&shares, dtype, vec![size as i64, windows as i64]);
                    let swap = [0, 1, 3, 2];
                    match axis {
                        0 => {
                            let columns = self.transposed(&out, &swap);
                            let means = self.node("MatMul", &[&columns, &shares]);
                            self.transposed(&means, &swap)
                        }
                        _ => self.node("MatMul", &[&out, &shares]),
                    }
                }
            };
        }
        Ok(out)
    }

    /// Maxima, and their positions in the channel.
    pub(super) fn pool_with_places(
        &mut self,
        operator: &Operator,
        op: &MaxPool2dWithIndex,
        x: &[&str],
    ) -> Result<Vec<String>, LegaliseError> {
        let program = self.program;
        let dims = program.shape(program.ty(operator.inputs[0]));
        if op.adaptive || op.global_pooling {
            return self
                .refuse("positions of maxima of windows that are spread over an image are not exported");
        }
        let [down, across] = op.paddings;
        let attributes = [
            AttributeProto::ints("kernel_shape", op.ksize),
            AttributeProto::ints("strides", op.strides),
            AttributeProto::ints("pads", [down, across, down, across]),
        ];
        let [largest, places] = self.nodes_with("MaxPool", x, attributes);
        let (height, width) = (self.size(&dims[2])?, self.size(&dims[3])?);
        let elements = self.node("Mul", &[&height, &width]);
        let places = self.node("Mod", &[&places, &elements]);
        let places = match program.ty(operator.outputs[1]).dtype {
            DType::I64 => places,
            dtype => self.cast(&places, dtype),
        };
        Ok(vec![largest, places])
    }

    pub(super) fn interpolate(
        &mut self,
        operator: &Operator,
        op: &Interpolate,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let nearest = op.kind == InterpolateKind::Nearest;
        let places = match (op.align_corners, nearest || op.align_mode == 1) {
            (true, _) => "align_corners",
            (false, true) => "asymmetric",
            // The place of a single element is the first one.
            (false, false) => "pytorch_half_pixel",
        };
        let mut attributes = vec![
            AttributeProto::text("mode", if nearest { "nearest" } else { "linear" }),
            AttributeProto::text("coordinate_transformation_mode", places),
        ];
        if nearest {
            let rounding = if op.align_corners { "round_prefer_ceil" } else { "floor" };
            attributes.push(AttributeProto::text("nearest_mode", rounding));
        }
        if op.scale.iter().all(|scale| *scale > 0.0) {
            // Places follow from the scales, and not from the sizes, which are rounded.
            let scales = [1.0, 1.0, op.scale[0], op.scale[1]].map(Number::Float);
            let scales = self.numbers(&scales, DType::F32, vec![4]);
            return Ok(self.node_with("Resize", &[x[0], "", &scales], attributes));
        }
        let dims = self.program.shape(self.program.ty(operator.outputs[0]));
        let shape = self.shape_of(&dims)?;
        Ok(self.node_with("Resize", &[x[0], "", "", &shape], attributes))
    }

    /// The elements of all windows: rows, then columns, by their numbers.
    pub(super) fn unfold(
        &mut self,
        operator: &Operator,
        op: &Unfold,
        x: &[&str],
    ) -> Result<String, LegaliseError> {
        let ty = self.program.ty(operator.inputs[0]);
        let (dtype, out) = (ty.dtype, self.program.ty(operator.outputs[0]).clone());
        let Some(sizes) = self.sizes_of_images(operator) else {
            return self.refuse("the sizes of images that are cut into windows have to be numbers");
        };
        let [above, left, below, right] = op.paddings;
        let sides = self.ints(&[0, 0, above, left, 0, 0, below, right]);
        let zero = self.number(0.0, dtype);
        let mut found = self.node("Pad", &[x[0], &sides, &zero]);
        for axis in [0, 1] {
            let [before, behind] = [[above, below], [left, right]][axis];
            let size = sizes[axis] as i64 + before + behind;
            let (length, dilation, stride) = (op.kernel_sizes[axis], op.dilations[axis], op.strides[axis]);
            let windows = (size - dilation * (length - 1) - 1) / stride + 1;
            let number = |at: i64| at / windows * dilation + at % windows * stride;
            let numbers: Vec<Number> = (0..length * windows).map(|at| Number::Int(number(at))).collect();
            let numbers = self.numbers(&numbers, DType::I64, vec![length, windows]);
            let along = [AttributeProto::int("axis", 2 + 2 * axis as i64)];
            found = self.node_with("Gather", &[&found, &numbers], along);
        }
        // Rows, channels, elements down, windows down, elements across, windows across.
        let found = self.transposed(&found, &[0, 1, 2, 4, 3, 5]);
        self.reshaped(&found, &out)
    }

    /// ONNX divides the factor by the number of channels that are summed over.
    pub(super) fn lrn(&mut self, op: &Lrn, x: &[&str]) -> String {
        let attributes = [
            AttributeProto::float("alpha", (op.alpha * op.n as f64) as f32),
            AttributeProto::float("beta", op.beta as f32),
            AttributeProto::float("bias", op.k as f32),
            AttributeProto::int("size", op.n),
        ];
        match op.data_format {
            ImageLayout::ChannelsLast => {
                let first = self.transposed(x[0], &[0, 3, 1, 2]);
                let found = self.node_with("LRN", &[&first], attributes);
                self.transposed(&found, &[0, 2, 3, 1])
            }
            _ => self.node_with("LRN", x, attributes),
        }
    }
}
