//! `layer_norm`, `group_norm`: a workgroup for each run of elements that are normalised together.

use paddle_core::ops::{GroupNorm, LayerNorm, Real};
use paddle_core::plan::{Extent, Unsupported};
use paddle_core::program::DType;

use super::Compile;
use super::softmax::fold;
use crate::gpu::fold::SharedElements;
use crate::gpu::form::{Float, LANES, Unsigned, for_each, lane, scalar, when, workgroup, workgroups};
use crate::gpu::kernel::{Grid, Kernel};
use crate::gpu::tensor::Call;

/// Compiles a normalisation of runs; `inner` neighbouring elements share a scale and a bias.
fn compile(call: Call<'_>, length: &dyn Fn() -> Unsigned, inner: &[Extent], epsilon: f64) -> Kernel {
    Kernel::new().stage(Grid::Groups(call.out_shape(1).to_vec()), || {
        let [x, scale, bias] = [0, 1, 2].map(|k| call.input(k));
        let [y, means, variances] = [0, 1, 2].map(|k| call.output(k));
        let shared = SharedElements::new(DType::F32);
        for_each(workgroup(), means.elements(), workgroups(), |run| {
            let length = length();
            let first = run * length;
            let divisor = Unsigned::to_float(length);
            let mean = fold(length, 0.0, |at| x.float(first + at), |x, y| x + y, &shared) / divisor;
            let square = |at: Unsigned| {
                let distance = x.float(first + at) - mean;
                distance * distance
            };
            let variance = fold(length, 0.0, square, |x, y| x + y, &shared) / divisor;
            let inverse = (variance + Float::of(epsilon)).rsqrt();
            for_each(lane(), length, Unsigned::of(LANES), |at| {
                let index = first + at;
                let channel = index / scalar(inner) % scale.elements();
                y.set(index, (x.float(index) - mean) * inverse * scale.float(channel) + bias.float(channel));
            });
            when(lane().is(Unsigned::of(0)), || {
                means.set(run, mean);
                variances.set(run, variance);
            });
        });
    })
}

impl Compile for LayerNorm {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let along = call.shape(0)[self.begin_norm_axis as usize..].to_vec();
        Ok(compile(call, &|| scalar(&along), &[], self.epsilon))
    }
}

impl Compile for GroupNorm {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let groups = self.groups as u32;
        let length = || scalar(&shape[1..2]) / Unsigned::of(groups) * scalar(&shape[2..]);
        Ok(compile(call, &length, &shape[2..], self.epsilon))
    }
}
