//! The table of functions of one value.

/// Passes the table of functions to a macro, with tokens in front of it: `with_functions!(callback (front))`.
///
/// A row is the whole definition of a function. The loops of every backend, the gradient, the conversion to and from
/// the wire, the layer of the language with its documentation, and the function that editors show come from it. A row
/// has, in order:
///
/// * documentation;
/// * `activation` if the function can stand in arguments such as `act = relu`, otherwise `function`;
/// * PaddlePaddle's name of the operator, which is also the layer's, and the name of its kind;
/// * its attributes, at most three, each a `Number` or a `Flag`, with PaddlePaddle's default: those that a call of the
///   layer gives by position, and after the `;` those that it gives by name;
/// * the accuracy class of the function, and that of its gradient;
/// * `in`: the range from which samples are drawn, if it is not from -8 to 8;
/// * `if`: a condition on the attributes, and the message if it does not hold;
/// * the formula, on numbers of the trait [`Real`](crate::ops::Real);
/// * `int`: the formula on integers, which may wrap around, if PaddlePaddle defines the function on them;
/// * `slope`: the derivative in terms of the input, `X`, or of the output, `Out`. A function without one is constant
///   between jumps and passes no gradient.
#[macro_export]
macro_rules! with_functions {
    ($($callback:ident)::+ $(($($front:tt)*))?) => {
        $($callback)::+! {
            $($($front)*)?
            /// `|x|`; its derivative at 0 is 0.
            function abs Abs [EXACT, EXACT] |x| x.abs(), int |x| x.wrapping_abs(), slope X |x| x.sign();

            /// The arc cosine.
            function acos Acos [ROUNDING, ACCUMULATING] in (-0.9, 0.9);
                |x| x.acos(), slope X |x| T::of(-1.0) / (T::of(1.0) - x * x).sqrt();

            /// The inverse hyperbolic cosine.
            function acosh Acosh [ROUNDING, ACCUMULATING] in (1.1, 8.0);
                |x| x.acosh(), slope X |x| T::of(1.0) / ((x - T::of(1.0)) * (x + T::of(1.0))).sqrt();

            /// The arc sine.
            function asin Asin [ROUNDING, ACCUMULATING] in (-0.9, 0.9);
                |x| x.asin(), slope X |x| T::of(1.0) / (T::of(1.0) - x * x).sqrt();

            /// The inverse hyperbolic sine.
            function asinh Asinh [ROUNDING, ROUNDING] |x| x.asinh(), slope X |x| T::of(1.0) / (x * x + T::of(1.0)).sqrt();

            /// The arc tangent.
            function atan Atan [ROUNDING, ROUNDING] |x| x.atan(), slope X |x| T::of(1.0) / (x * x + T::of(1.0));

            /// The inverse hyperbolic tangent.
            function atanh Atanh [ROUNDING, ACCUMULATING] in (-0.9, 0.9);
                |x| x.atanh(), slope X |x| T::of(1.0) / (T::of(1.0) - x * x);

            /// `x`, but not below `t_min` and not above `t_max`.
            activation brelu BoundedRelu(; t_min: Number = 0.0 "", t_max: Number = 24.0 "")
                [EXACT, EXACT] in (-8.0, 40.0); if t_min <= t_max, "`t_min` is above `t_max`";
                |x| x.max(t_min).min(t_max), slope X |x| T::select(x.above(t_min) & x.below(t_max), T::of(1.0), T::of(0.0));

            /// The smallest whole number not below `x`.
            function ceil Ceil [EXACT, EXACT] |x| x.ceil();

            /// `x`, and `alpha (exp(x / alpha) - 1)` where `x` is negative: Barron (2017).
            activation celu Celu(; alpha: Number = 1.0 "") [ROUNDING, ROUNDING]
                |x| T::select(x.above(T::of(0.0)), x, alpha * (x / alpha).exp_m1()),
                slope X |x| T::select(x.above(T::of(0.0)), T::of(1.0), (x / alpha).exp());

            /// `x`, but not below `min` and not above `max`.
            function clip Clip(min: Number = -1.0 "The least value.", max: Number = 1.0 "The greatest value.";) [EXACT, EXACT]
                if min <= max, "`min` is above `max`";
                |x| x.max(min).min(max), int |x| x.max(min).min(max),
                slope X |x| T::select(x.above(min) & x.below(max), T::of(1.0), T::of(0.0));

            /// The cosine.
            function cos Cos [ROUNDING, ROUNDING] |x| x.cos(), slope X |x| -x.sin();

            /// The hyperbolic cosine.
            function cosh Cosh [ROUNDING, ROUNDING] |x| x.cosh(), slope X |x| x.sinh();

            /// The digamma function, the derivative of the logarithm of `|Γ(x)|`.
            function digamma Digamma [ACCUMULATING, ACCUMULATING] in (0.3, 8.0); |x| x.digamma(), slope X |x| x.trigamma();

            /// `x`, and `alpha (eˣ - 1)` where `x` is negative: Clevert, Unterthiner and Hochreiter (2015).
            activation elu Elu(; alpha: Number = 1.0 "") [ROUNDING, ROUNDING]
                |x| T::select(x.above(T::of(0.0)), x, alpha * x.exp_m1()),
                slope X |x| T::select(x.above(T::of(0.0)), T::of(1.0), alpha * x.exp());

            /// The error function, `2/√π ∫₀ˣ exp(-t²) dt`.
            function erf Erf [ROUNDING, ACCUMULATING] in (-3.0, 3.0);
                |x| x.erf(), slope X |x| T::of(FRAC_2_SQRT_PI) * (-x * x).exp_negative();

            /// The inverse of the error function; infinite at -1 and 1, and not a number beyond.
            function erfinv ErfInv [ACCUMULATING, ACCUMULATING] in (-0.9, 0.9);
                |x| x.erf_inv(), slope Out |y| T::of(1.0 / FRAC_2_SQRT_PI) * (y * y).exp();

            /// `eˣ`.
            activation exp Exp [ROUNDING, EXACT] |x| x.exp(), slope Out |y| y;

            /// `eˣ - 1`.
            function expm1 ExpM1 [ROUNDING, ACCUMULATING] |x| x.exp_m1(), slope Out |y| y + T::of(1.0);

            /// The largest whole number not above `x`.
            function floor Floor [EXACT, EXACT] |x| x.floor();

            /// `x · Φ(x)`, with the distribution function `Φ` of the normal distribution: Hendrycks and Gimpel (2016).
            activation gelu Gelu(; approximate: Flag = false "Whether `Φ` is approximated by the hyperbolic tangent of a polynomial.")
                [ACCUMULATING, ACCUMULATING]
                |x| if approximate { x.gelu_tanh() } else { x.gelu() },
                slope X |x| if approximate {
                    let root = T::of(2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2);
                    let inner = root * x * (T::of(1.0) + T::of(0.044715) * x * x);
                    let outer = root * (T::of(1.0) + T::of(3.0 * 0.044715) * x * x);
                    let [of_inner, of_less] = inner.sigmoids();
                    of_inner * (T::of(1.0) + x * outer * of_less)
                } else {
                    x.gelu_slope()
                };

            /// `x`, and 0 from `-threshold` to `threshold`.
            activation hard_shrink HardShrink(; threshold: Number = 0.5 "") [EXACT, EXACT]
                |x| T::select(x.above(threshold) | x.below(-threshold), x, T::of(0.0)),
                slope X |x| T::select(x.above(threshold) | x.below(-threshold), T::of(1.0), T::of(0.0));

            /// `slope · x + offset`, but not below 0 and not above 1.
            activation hard_sigmoid HardSigmoid(; slope: Number = 0.2 "", offset: Number = 0.5 "")
                [ACCUMULATING, ROUNDING]
                |x| (slope * x + offset).max(T::of(0.0)).min(T::of(1.0)),
                slope Out |y| T::select(y.above(T::of(0.0)) & y.below(T::of(1.0)), slope, T::of(0.0));

            /// `x · min(max(x + offset, 0), threshold) / scale`: Howard et al. (2019).
            activation hard_swish HardSwish(; threshold: Number = 6.0 "",
                scale: Number = 6.0 "", offset: Number = 3.0 "") [ACCUMULATING, ACCUMULATING]
                |x| x * (x + offset).max(T::of(0.0)).min(threshold) / scale,
                slope X |x| T::select(
                    (x + offset).below(threshold),
                    T::select((x + offset).above(T::of(0.0)), (x + x + offset) / scale, T::of(0.0)),
                    threshold / scale
                );

            /// `x`, and `alpha · x` where `x` is negative; its derivative at 0 is 1.
            activation leaky_relu LeakyRelu(; alpha: Number = 0.02 "") [ROUNDING, ROUNDING]
                |x| T::select(x.above(T::of(0.0)), x, alpha * x), slope X |x| T::select(x.below(T::of(0.0)), alpha, T::of(1.0));

            /// The logarithm of `|Γ(x)|`, the gamma function, which is `(x - 1)!` of whole numbers.
            function lgamma LnGamma [ACCUMULATING, ACCUMULATING] in (0.3, 8.0); |x| x.ln_gamma(), slope X |x| x.digamma();

            /// The natural logarithm.
            function log Log [ROUNDING, ROUNDING] in (0.1, 8.0); |x| x.ln(), slope X |x| T::of(1.0) / x;

            /// The logarithm to base 10.
            function log10 Log10 [ROUNDING, ROUNDING] in (0.1, 8.0); |x| x.log10(), slope X |x| T::of(LOG10_E) / x;

            /// `ln(1 + x)`.
            function log1p Log1p [ROUNDING, ACCUMULATING] in (-0.9, 8.0); |x| x.ln_1p(), slope X |x| T::of(1.0) / (T::of(1.0) + x);

            /// The logarithm to base 2.
            function log2 Log2 [ROUNDING, ROUNDING] in (0.1, 8.0); |x| x.log2(), slope X |x| T::of(LOG2_E) / x;

            /// `ln(x / (1 - x))`, with `x` not nearer than `eps` to 0 and 1; where it is nearer, the derivative is 0.
            function logit Logit(; eps: Number = 0.000001 "") [ACCUMULATING, ACCUMULATING] in (0.1, 0.9);
                |x| {
                    // The rest needs a bound of its own, since 1 - (1 - eps) is not eps.
                    let (most, rest) = (T::of(1.0) - eps, T::of(1.0) - x);
                    let above = T::select(eps.above(T::of(0.0)), x.max(eps).min(most), x);
                    let below = T::select(eps.above(T::of(0.0)), rest.max(eps).min(most), rest);
                    (above / below).ln()
                },
                slope X |x| T::select(
                    x.below(eps) | x.above(T::of(1.0) - eps),
                    T::of(0.0),
                    T::of(1.0) / (x * (T::of(1.0) - x))
                );

            /// The logarithm of `sigmoid(x)`.
            activation logsigmoid LogSigmoid [ROUNDING, ROUNDING] |x| x.log_sigmoid(), slope X |x| x.sigmoids()[1];

            /// `x · tanh(ln(1 + eˣ))`; `x · tanh(x)` where `x` is above `threshold`: Misra (2019).
            activation mish Mish(; threshold: Number = 20.0 "") [ACCUMULATING, ACCUMULATING]
                |x| T::select(x.above(threshold), x * x.tanh(), x.mish()),
                slope X |x| {
                    // tanh(s) and its derivative follow from 1 - e⁻ˢ, which is sigmoid(x) where s = ln(1 + eˣ). From -40 downwards
                    // the tangent is -1, and powers might be infinite.
                    let less = T::select(x.above(threshold), -(-x).min(T::of(40.0)).exp_m1(), x.sigmoid());
                    let rest = (T::of(1.0) - less) * (T::of(1.0) - less);
                    let (n, scale) = (less * (T::of(2.0) - less), T::of(1.0) / (T::of(1.0) + rest));
                    n * scale + x * (T::of(4.0) * rest * scale * scale) * less
                };

            /// `x` to the power of a number. For a power that is a value, see `elementwise_pow`.
            function pow Pow(factor: Number = 1.0 "The power.";) [ROUNDING, ROUNDING] in (0.1, 3.0);
                |x| x.pow(factor), int |x| BinaryKind::Pow.apply_int(x, factor), slope X |x| factor * x.pow(factor - T::of(1.0));

            /// `1 / x`.
            function reciprocal Reciprocal [EXACT, ROUNDING] in (0.1, 3.0); |x| T::of(1.0) / x, slope Out |y| -y * y;

            /// `max(x, 0)`; its derivative at 0 is 0.
            activation relu Relu [EXACT, EXACT] |x| T::select(x.above(T::of(0.0)), x, T::of(0.0)),
                slope Out |y| T::select(y.above(T::of(0.0)), T::of(1.0), T::of(0.0));

            /// `x`, but not below 0 and not above `threshold`.
            activation relu6 Relu6(; threshold: Number = 6.0 "") [EXACT, EXACT]
                |x| x.max(T::of(0.0)).min(threshold), slope Out |y| T::select(y.above(T::of(0.0)) & y.below(threshold), T::of(1.0), T::of(0.0));

            /// The nearest whole number; of two, the one further from 0.
            function round Round [EXACT, EXACT] |x| x.round();

            /// `1 / √x`.
            function rsqrt Rsqrt [ROUNDING, ROUNDING] in (0.1, 3.0); |x| x.rsqrt(), slope Out |y| T::of(-0.5) * y * y * y;

            /// `scale · x`, and `scale · alpha (eˣ - 1)` where `x` is negative: Klambauer et al. (2017).
            activation selu Selu(;
                scale: Number = 1.0507009873554805 "",
                alpha: Number = 1.6732632423543772 "") [ROUNDING, ROUNDING]
                |x| scale * T::select(x.above(T::of(0.0)), x, alpha * x.exp_m1()),
                slope X |x| scale * T::select(x.above(T::of(0.0)), T::of(1.0), alpha * x.exp());

            /// `1 / (1 + e⁻ˣ)`.
            activation sigmoid Sigmoid [ROUNDING, ACCUMULATING] |x| x.sigmoid(), slope Out |y| y * (T::of(1.0) - y);

            /// 1, 0 or -1, as `x` is above, at or below 0.
            function sign Sign [EXACT, EXACT] |x| x.sign(), int |x| x.signum();

            /// `x · sigmoid(x)`.
            activation silu Silu [ROUNDING, ACCUMULATING] |x| x.silu(), slope X |x| {
                let [of_x, of_less] = x.sigmoids();
                of_x * (T::of(1.0) + x * of_less)
            };

            /// The sine.
            function sin Sin [ROUNDING, ROUNDING] |x| x.sin(), slope X |x| x.cos();

            /// The hyperbolic sine.
            function sinh Sinh [ROUNDING, ROUNDING] |x| x.sinh(), slope X |x| x.cosh();

            /// `ln(1 + exp(beta · x)) / beta`; `x` itself where `beta · x` is above `threshold`.
            activation softplus Softplus(; beta: Number = 1.0 "", threshold: Number = 20.0 "")
                [ACCUMULATING, ROUNDING]
                |x| T::select((beta * x).above(threshold), x, (beta * x).softplus() / beta),
                slope X |x| T::select((beta * x).above(threshold), T::of(1.0), (beta * x).sigmoids()[0]);

            /// `x` nearer to 0 by `lambda`, and 0 from `-lambda` to `lambda`.
            activation softshrink SoftShrink(; lambda: Number = 0.5 "") [EXACT, EXACT]
                |x| T::select(x.above(lambda), x - lambda, T::select(x.below(-lambda), x + lambda, T::of(0.0))),
                slope X |x| T::select(x.above(lambda) | x.below(-lambda), T::of(1.0), T::of(0.0));

            /// `x / (1 + |x|)`.
            activation softsign Softsign [ROUNDING, ROUNDING] |x| x / (T::of(1.0) + x.abs()),
                slope X |x| T::of(1.0) / ((T::of(1.0) + x.abs()) * (T::of(1.0) + x.abs()));

            /// `√x`.
            function sqrt Sqrt [EXACT, ROUNDING] in (0.1, 8.0); |x| x.sqrt(), slope Out |y| T::of(0.5) / y;

            /// `x²`.
            activation square Square [EXACT, EXACT] |x| x * x, int |x| x.wrapping_mul(x), slope X |x| T::of(2.0) * x;

            /// `scale_b · tanh(scale_a · x)`: LeCun et al. (1998).
            activation stanh ScaledTanh(; scale_a: Number = 0.67 "", scale_b: Number = 1.7159 "")
                [ROUNDING, ACCUMULATING]
                |x| scale_b * (scale_a * x).tanh(),
                slope X |x| {
                    let y = (scale_a * x).tanh();
                    scale_a * scale_b * (T::of(1.0) - y * y)
                };

            /// `x · sigmoid(beta · x)`: Ramachandran, Zoph and Le (2017).
            activation swish Swish(; beta: Number = 1.0 "") [ACCUMULATING, ACCUMULATING]
                |x| x * (beta * x).sigmoid(),
                slope X |x| {
                    let [of_x, of_less] = (beta * x).sigmoids();
                    of_x * (T::of(1.0) + beta * x * of_less)
                };

            /// The tangent.
            function tan Tan [ROUNDING, ACCUMULATING] in (-1.2, 1.2); |x| x.tan(), slope X |x| {
                let cos = x.cos();
                T::of(1.0) / (cos * cos)
            };

            /// The hyperbolic tangent.
            activation tanh Tanh [ROUNDING, ACCUMULATING] |x| x.tanh(), slope Out |y| T::of(1.0) - y * y;

            /// `x - tanh(x)`; next to 0, where that cancels, the first terms of its series.
            activation tanh_shrink TanhShrink [ACCUMULATING, ACCUMULATING]
                |x| {
                    let s = x * x;
                    let far = T::of(929569.0 / 638512875.0) - s * T::of(6404582.0 / 10854718875.0);
                    let far = T::of(1382.0 / 155925.0) + s * (T::of(-21844.0 / 6081075.0) + s * far);
                    let far = T::of(17.0 / 315.0) + s * (T::of(-62.0 / 2835.0) + s * far);
                    let series = T::of(1.0 / 3.0) + s * (T::of(-2.0 / 15.0) + s * far);
                    T::select(x.abs().below(T::of(0.5)), x * s * series, x - x.tanh())
                },
                slope X |x| {
                    let y = x.tanh();
                    y * y
                };

            /// `x`, and 0 where it is not above `threshold`.
            activation thresholded_relu ThresholdedRelu(; threshold: Number = 1.0 "") [EXACT, EXACT]
                |x| T::select(x.above(threshold), x, T::of(0.0)),
                slope X |x| T::select(x.above(threshold), T::of(1.0), T::of(0.0));

            /// The whole number next to `x` towards 0.
            function trunc Trunc [EXACT, EXACT] |x| x.trunc(), int |x| x;
        }
    };
}
