//! The recurrent layers of the library: what they compute, beside the operators of the real PaddlePaddle 2.6.2.

use ndarray::{ArrayD, IxDyn};
use paddle::testing::check_gradients;
use paddle::{Network, Parameters, Spec, infer, network};

fn number(i: usize) -> f32 {
    ((i * 7919 + i * i * 13) % 401) as f32 / 200.0 - 1.0
}

/// The numbers behind a place, scaled.
fn array(shape: &[usize], from: usize, scale: f32) -> ArrayD<f32> {
    let mut at = from;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        at += 1;
        number(at - 1) * scale
    })
}

/// Three sequences of two columns.
fn rows() -> Vec<Vec<[f32; 2]>> {
    let x = array(&[6, 2], 1, 1.0);
    let mut tokens = x.rows().into_iter().map(|token| [token[0], token[1]]);
    [3, 1, 2].map(|length| tokens.by_ref().take(length).collect()).into()
}

/// What a network makes of the rows with parameters that were set.
fn given<S: Spec>(net: &Network<S>, values: &[(&str, ArrayD<f32>)]) -> Vec<f32>
where
    Vec<Vec<[f32; 2]>>: paddle::Rows<S>,
{
    let mut parameters = Parameters::create(net).unwrap();
    for (name, value) in values {
        parameters.set(name, value).unwrap();
    }
    let outputs = infer(net, &parameters, rows()).unwrap();
    assert_eq!(outputs.offsets(0), Some(&[0, 3, 4, 6][..]));
    outputs.at::<f32>(0).unwrap().iter().copied().collect()
}

fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 2e-6, "{found} is not {expected}");
    }
}

/// The values of the operator `lstm`: a candidate, then the gates for input, forgetting and output.
#[test]
fn lstm_is_that_of_paddlepaddle() {
    let gates = |name: &'static [&'static str; 3]| {
        vec![
            (name[0], array(&[2, 8], 20, 0.6)),
            (name[1], array(&[2, 8], 60, 0.6)),
            (name[2], array(&[8], 100, 0.3)),
        ]
    };
    let values = gates(&["seen.unit.gates.w0", "seen.unit.gates.w1", "seen.unit.gates.b"]);
    let there = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = lstm(x, 2);
        seen
    });
    let back = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = lstm(x, 2, is_reverse = true);
        seen
    });
    let expected = [
        -0.01121635,
        -0.09288719,
        -0.07866435,
        -0.102_966_5,
        -0.12767397,
        -0.08731905, //
        0.02832481,
        -0.17624015,
        -0.14980349,
        0.07283851,
        -0.26052728,
        0.14067143,
    ];
    assert_near(&given(&there, &values), &expected);
    let expected = [
        -0.06916703,
        -0.12202235,
        -0.10568605,
        -0.04319828,
        -0.07983086,
        -0.00749503, //
        0.02832481,
        -0.17624015,
        -0.23579599,
        0.15673296,
        -0.19967249,
        0.10020225,
    ];
    assert_near(&given(&back, &values), &expected);

    let there = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = lstm(x, 2, peepholes = true);
        seen
    });
    let back = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = lstm(x, 2, peepholes = true, is_reverse = true);
        seen
    });
    let mut values = values;
    for (at, name) in ["seen.unit.input.w", "seen.unit.forget.w", "seen.unit.output.w"].iter().enumerate() {
        values.push((name, array(&[2], 140 + 2 * at, 0.9)));
    }
    let expected = [
        -0.011_117,
        -0.09826105,
        -0.07400814,
        -0.11434976,
        -0.117_040_4,
        -0.09368221, //
        0.02946612,
        -0.21108156,
        -0.13523163,
        0.06860405,
        -0.21668288,
        0.11648986,
    ];
    assert_near(&given(&there, &values), &expected);
    let expected = [
        -0.06267425,
        -0.13636893,
        -0.09695439,
        -0.04543481,
        -0.07524051,
        -0.00753581, //
        0.02946612,
        -0.21108156,
        -0.19873656,
        0.13200507,
        -0.17292896,
        0.09002084,
    ];
    assert_near(&given(&back, &values), &expected);
}

/// The values of the operator `gru`, whose weights are those of both gates beside those of the candidate.
#[test]
fn gru_is_that_of_paddlepaddle() {
    let (x, b) = (array(&[2, 6], 20, 0.6), array(&[6], 100, 0.3));
    let columns = |array: &ArrayD<f32>, from: usize, to: usize| {
        let axis = ndarray::Axis(array.ndim() - 1);
        array.slice_axis(axis, (from..to).into()).as_standard_layout().into_owned()
    };
    let values = [
        ("seen.unit.gates.w0", columns(&x, 0, 4)),
        ("seen.unit.gates.w1", array(&[2, 4], 60, 0.6)),
        ("seen.unit.gates.b", columns(&b, 0, 4)),
        ("seen.unit.candidate.w0", columns(&x, 4, 6)),
        ("seen.unit.candidate.w1", array(&[2, 2], 68, 0.6)),
        ("seen.unit.candidate.b", columns(&b, 4, 6)),
    ];
    let there = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = gru(x, 2);
        seen
    });
    let back = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = gru(x, 2, is_reverse = true);
        seen
    });
    let expected = [
        0.04657567,
        0.20599125,
        0.00483938,
        0.26261237,
        -0.00653685,
        0.27483398, //
        -0.03114158,
        0.19682212,
        -0.00281569,
        0.02511613,
        -0.03524095,
        -0.08402251,
    ];
    assert_near(&given(&there, &values), &expected);
    let expected = [
        0.02088968,
        0.33894378,
        -0.00906872,
        0.21908453,
        0.01395161,
        0.134_126_7, //
        -0.03114158,
        0.19682212,
        -0.01724626,
        -0.02390828,
        -0.03131751,
        -0.09394196,
    ];
    assert_near(&given(&back, &values), &expected);

    let there = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = gru(x, 2, origin_mode = true);
        seen
    });
    let back = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = gru(x, 2, origin_mode = true, is_reverse = true);
        seen
    });
    let expected = [
        0.04875893,
        0.29849064,
        -0.01371199,
        0.31668997,
        -0.025_809_4,
        0.30027443, //
        -0.02597616,
        0.47469163,
        -0.00471419,
        0.02042235,
        -0.06843069,
        -0.05161617,
    ];
    assert_near(&given(&there, &values), &expected);
    let expected = [
        0.01618474,
        0.39586025,
        -0.013_706_5,
        0.23959646,
        0.01872173,
        0.14456221, //
        -0.02597616,
        0.47469163,
        -0.02684971,
        -0.02435668,
        -0.06345224,
        -0.06361455,
    ];
    assert_near(&given(&back, &values), &expected);
}

/// What one sequence makes of a gated recurrent unit whose reset gate is behind the product, by its formula, with the weights as
/// PyTorch keeps them: gates `r, z, n` one below the other.
fn gru_of_pytorch(
    tokens: &[[f32; 2]],
    [w_ih, w_hh]: [&ArrayD<f32>; 2],
    [b_ih, b_hh]: [&ArrayD<f32>; 2],
) -> Vec<f64> {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let product = |weight: &ArrayD<f32>, bias: &ArrayD<f32>, row: usize, x: &[f64; 2]| {
        f64::from(bias[row]) + (0..2).map(|at| f64::from(weight[[row, at]]) * x[at]).sum::<f64>()
    };
    let (mut h, mut seen) = ([0.0; 2], Vec::new());
    for token in tokens {
        let x = token.map(f64::from);
        let both = |row| (product(w_ih, b_ih, row, &x), product(w_hh, b_hh, row, &h));
        let next = [0, 1].map(|unit| {
            let gate = |from: usize| sigmoid(both(from + unit).0 + both(from + unit).1);
            let (of_input, of_state) = both(4 + unit);
            let candidate = (of_input + gate(0) * of_state).tanh();
            (1.0 - gate(2)) * candidate + gate(2) * h[unit]
        });
        h = next;
        seen.extend(h);
    }
    seen
}

/// Its parameters are PyTorch's, turned around.
#[test]
fn gru_with_the_reset_behind_the_product_is_that_of_pytorch() {
    let (w_ih, w_hh) = (array(&[6, 2], 20, 0.6), array(&[6, 2], 60, 0.6));
    let (b_ih, b_hh) = (array(&[6], 100, 0.3), array(&[6], 140, 0.4));
    let turned = |weight: &ArrayD<f32>| weight.t().as_standard_layout().into_owned();
    let values = [
        ("seen.unit.input.w", turned(&w_ih)),
        ("seen.unit.input.b", b_ih.clone()),
        ("seen.unit.state.w", turned(&w_hh)),
        ("seen.unit.state.b", b_hh.clone()),
    ];
    let expected = |is_reverse: bool| -> Vec<f32> {
        let sequence = |mut tokens: Vec<[f32; 2]>| {
            if is_reverse {
                tokens.reverse();
            }
            let seen = gru_of_pytorch(&tokens, [&w_ih, &w_hh], [&b_ih, &b_hh]);
            let mut seen: Vec<[f32; 2]> =
                seen.chunks(2).map(|pair| [pair[0] as f32, pair[1] as f32]).collect();
            if is_reverse {
                seen.reverse();
            }
            seen.concat()
        };
        rows().into_iter().flat_map(sequence).collect()
    };
    let there = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = gru(x, 2, reset_after = true, origin_mode = true);
        seen
    });
    assert_near(&given(&there, &values), &expected(false));
    let back = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = gru(x, 2, reset_after = true, origin_mode = true, is_reverse = true);
        seen
    });
    assert_near(&given(&back, &values), &expected(true));

    // Both directions, in layers, have both sets of parameters.
    let net = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = stacked_gru(x, 2, 1, reset_after = true, origin_mode = true, bidirectional = true);
        seen
    });
    let names = ["input.w", "input.b", "state.w", "state.b"];
    let full = |direction: &str| names.map(|name| format!("seen.layer0.{direction}.unit.{name}"));
    let both = [full("forward"), full("backward")].concat();
    let values: Vec<_> =
        both.iter().zip(values.iter().cycle()).map(|(name, (_, value))| (&name[..], value.clone())).collect();
    let pairs = |values: Vec<f32>| values.chunks(2).map(<[f32]>::to_vec).collect::<Vec<_>>();
    let beside = pairs(expected(false)).into_iter().zip(pairs(expected(true)));
    assert_near(
        &given(&net, &values),
        &beside.flat_map(|(there, back)| [there, back].concat()).collect::<Vec<_>>(),
    );
}

#[test]
fn gradients_are_those_of_differences() {
    let rows = rows();
    let net = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = lstm(x, 2, peepholes = true);
        let pooled = sequence_pool(seen, last);
        mean(square(pooled - 0.5))
    });
    check_gradients(&net, rows.clone()).unwrap();
    let net = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = stacked_gru(x, 2, 2, bidirectional = true);
        mean(square(sequence_pool(seen, average) - 0.5))
    });
    check_gradients(&net, rows.clone()).unwrap();
    let net = network!(|x: Seq<Tensor<f32, 2>>| {
        let seen = stacked_gru(x, 2, 2, reset_after = true, bidirectional = true);
        mean(square(sequence_pool(seen, average) - 0.5))
    });
    check_gradients(&net, rows.clone()).unwrap();
    let net = network!(|x: Seq<Tensor<f32, 2>>| {
        let (mut h, mut c) = (zeros(2), zeros(2));
        for token in x {
            let context = attention(concat([h, token]), x, 3);
            let read = dot_product_attention(context, x);
            let (given, kept) = lstm_unit(concat([context, read]), h, c, 2, param = "unit");
            (h, c) = (given, kept);
        }
        mean(square(h - 0.5))
    });
    check_gradients(&net, rows).unwrap();
}

#[test]
fn attention_of_beams_is_that_of_each() {
    let net = network!(|tokens: Seq<Tensor<f32, 2>>, query: Tensor<f32, _, 3, 2>| {
        let (a, b, c) = unstack(query);
        let (asked_a, asked_b, asked_c) = (
            attention(a, tokens, 4, param = "ask"),
            attention(b, tokens, 4, param = "ask"),
            attention(c, tokens, 4, param = "ask"),
        );
        let asked = attention(query, tokens, 4, beams = true, param = "ask");
        let find = |query| dot_product_attention(query, tokens);
        let found = dot_product_attention(query, tokens, beams = true);
        (asked, stack([asked_a, asked_b, asked_c]), found, stack([find(a), find(b), find(c)]))
    });
    let parameters = Parameters::create(&net).unwrap();
    let queries = [7, 40, 80].map(|from| [0, 2, 4].map(|at| [number(from + at), number(from + at + 1)]));
    let mut rows: Vec<_> = rows().into_iter().zip(queries).collect();
    rows.push((Vec::new(), queries[0]));
    let outputs = infer(&net, &parameters, rows).unwrap();
    for both in [0, 2] {
        let [together, apart] = [both, both + 1].map(|k| outputs.at::<f32>(k).unwrap().to_owned());
        assert_eq!(together.shape(), [4, 3, 2]);
        assert!(together.iter().zip(&apart).all(|(a, b)| (a - b).abs() < 1e-6), "{together} {apart}");
        assert!(together.iter().skip(18).all(|value| *value == 0.0), "{together}");
    }
}
