//! `layer_norm`, `group_norm` and their gradients: a workgroup for each run of elements that are normalised together.

use paddle_core::ops::{GroupNorm, GroupNormGrad, LayerNorm, LayerNormGrad, Real};
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

/// Compiles the gradient of a normalisation of runs.
fn compile_grad(call: Call<'_>, length: &dyn Fn() -> Unsigned, inner: &[Extent], epsilon: f64) -> Kernel {
    let inverse = |variance: Float| (variance + Float::of(epsilon)).rsqrt();
    let of_runs = Kernel::new().stage(Grid::Groups(call.shape(3).to_vec()), || {
        let [x, scale, mean, variance, grad] = [0, 1, 2, 3, 4].map(|k| call.input(k));
        let of_x = call.output(0);
        let shared = SharedElements::new(DType::F32);
        for_each(workgroup(), mean.elements(), workgroups(), |run| {
            let length = length();
            let first = run * length;
            let (mean, inverse) = (mean.float(run), inverse(variance.float(run)));
            let pair = |at: Unsigned| {
                let index = first + at;
                let channel = index / scalar(inner) % scale.elements();
                (grad.float(index) * scale.float(channel), (x.float(index) - mean) * inverse)
            };
            let slope_of = |at: Unsigned| {
                let (grad, normal) = pair(at);
                grad * normal
            };
            let divisor = length.to_float();
            let level = fold(length, 0.0, |at| pair(at).0, |x, y| x + y, &shared) / divisor;
            let slope = fold(length, 0.0, slope_of, |x, y| x + y, &shared) / divisor;
            for_each(lane(), length, Unsigned::of(LANES), |at| {
                let (grad, normal) = pair(at);
                of_x.set(first + at, (grad - level - normal * slope) * inverse);
            });
        });
    });
    of_runs.stage(Grid::Groups(call.shape(1).to_vec()), || {
        let [x, scale, mean, variance, grad] = [0, 1, 2, 3, 4].map(|k| call.input(k));
        let [of_scale, of_bias] = [1, 2].map(|k| call.output(k));
        let shared = SharedElements::new(DType::F32);
        for_each(workgroup(), scale.elements(), workgroups(), |channel| {
            let (length, inner) = (length(), scalar(inner));
            let count = x.elements() / scale.elements();
            let at = |element: Unsigned| {
                let outer = element / inner;
                (outer * scale.elements() + channel) * inner + (element - outer * inner)
            };
            let product = |element: Unsigned| {
                let index = at(element);
                let run = index / length;
                grad.float(index) * ((x.float(index) - mean.float(run)) * inverse(variance.float(run)))
            };
            let products = fold(count, 0.0, product, |x, y| x + y, &shared);
            let sum = fold(count, 0.0, |element| grad.float(at(element)), |x, y| x + y, &shared);
            when(lane().is(Unsigned::of(0)), || {
                of_scale.set(channel, products);
                of_bias.set(channel, sum);
            });
        });
    })
}

impl Compile for LayerNormGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let along = call.shape(0)[self.0.begin_norm_axis as usize..].to_vec();
        Ok(compile_grad(call, &|| scalar(&along), &[], self.0.epsilon))
    }
}

impl Compile for GroupNormGrad {
    fn compile(&self, call: Call<'_>) -> Result<Kernel, Unsupported> {
        let shape = call.shape(0).to_vec();
        let groups = self.0.groups as u32;
        let length = || scalar(&shape[1..2]) / Unsigned::of(groups) * scalar(&shape[2..]);
        Ok(compile_grad(call, &length, &shape[2..], self.0.epsilon))
    }
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
