//! Functions of one value and of two, as activations and in formulas; choices between values; integers.

use paddle::attribute::network;

/// One network for each kind.
#[network]
pub mod functions {
    pub fn activations(x: Tensor<f32, _, 4>) -> Tensor<f32> {
        let h = fc(x, 4, act = gelu) + gelu(x, approximate = true) * fc(x, 1, act = selu);
        let h = fc(h, 4, act = celu) + fc(h, 4, act = softshrink) + fc(h, 4, act = tanh_shrink);
        let h = prelu(h) + prelu(h, mode = element) + brelu(h, t_max = 2.0) + hard_shrink(h, threshold = 0.1);
        mean(square(thresholded_relu(h, threshold = 0.2) + stanh(h)))
    }

    pub fn formulas(x: Tensor<f32, _, 3>) -> Tensor<f32> {
        let (a, b) = (fc(x, 3, act = tanh), fc(x, 3, act = sigmoid));
        let angles = sin(a) + cos(a) + tan(a) + asin(0.9 * a) + acos(0.9 * a) + atan(a);
        let hyperbolic = sinh(a) + cosh(a) + asinh(a) + acosh(b + 1.5) + atanh(0.9 * a);
        let logarithms = expm1(a) + log1p(b) + log2(b + 0.1) + log10(b + 0.1) + logit(b, eps = 0.01) + erf(a);
        let special = lgamma(b + 0.2) + digamma(b + 0.2) + erfinv(0.9 * a);
        let steps = floor(a) + ceil(a) + round(4.0 * a) + trunc(4.0 * a);
        mean(angles + hyperbolic + logarithms + special + 0.1 * steps)
    }

    pub fn choices(x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>) -> _ {
        let (a, b) = (fc(x, 4, param = "one"), fc(y, 4, param = "other"));
        let nearer = select(abs(a) < abs(b), a, 2.0 * b);
        let bounds = maximum(nearer, minimum(a, b)) + elementwise_fmax(a, b) - elementwise_fmin(a, b);
        let one = logical_xor(a > 0.0, b > 0.0);
        let known = isfinite(a / b) && !isnan(a) && !isinf(b);
        let kept = select(one && known, bounds, heaviside(a, b));
        (mean(square(kept)), equal_all(a, b))
    }

    pub fn integers(x: Tensor<f32, _, 4>) -> Tensor<i64, _, 4> {
        let i = cast(3.0 * x, i64);
        elementwise_floordiv(square(i), 2) + abs(i) * sign(i) + clip(i, -1, 2) + pow(i, 3)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(functions::activations()),
        crate::model(functions::formulas()),
        crate::model(functions::choices()),
        crate::model(functions::integers()),
    ]
}
