//! What is taken out of loops, and what behind them: programs before and after, kept as files.

use paddle::core::ops::Program;
use paddle::core::passes::backward::backward;
use paddle::core::passes::hoist::hoist;
use paddle::core::passes::sink::sink;
use paddle::core::passes::split::split;
use paddle::testing::assert_program;
use paddle::{Network, Spec, network};

/// Compares a program with a file, which `UPDATE_GOLDEN=1` writes.
fn assert_kept(program: &Program, name: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, program.to_string()).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        program.to_string() == kept,
        "{name}.txt has changed; if it should, run with UPDATE_GOLDEN=1\n{program}"
    );
}

/// The program of a training step, without updates.
fn planned<S: Spec>(net: &Network<S>) -> Program {
    let mut program = net.program().unwrap().clone();
    for pass in [split, hoist, sink] {
        pass(&mut program).unwrap();
        program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    }
    backward(&mut program).unwrap();
    sink(&mut program).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    program
}

/// How many matrix products a block has, and those below it.
fn products_in_loops(program: &Program) -> usize {
    let is_product = |operator: &&paddle::core::ops::Operator| operator.contraction(program).is_some();
    program.blocks()[1..].iter().map(|block| block.ops.iter().filter(is_product).count()).sum()
}

macro_rules! kept {
    ($name:ident, $products:literal, $net:expr) => {
        #[test]
        fn $name() {
            let program = planned(&$net);
            assert_kept(&program, stringify!($name));
            assert_eq!(products_in_loops(&program), $products, "{program}");
        }
    };
}

fn lstm_net() -> Network<impl Spec> {
    network!(|words: Seq<Tensor<f32, 3>>| {
        let (mut h, mut c) = (zeros(4), zeros(4));
        for x in words {
            let (i, f, g, o) = split(fc(x, 16, bias = false) + fc(h, 16), [4, 4, 4, 4]);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
        }
        mean(fc(h, 1))
    })
}

#[test]
fn an_lstm_as_it_is_written() {
    assert_program(&lstm_net(), "tests/golden/an_lstm_as_it_is_written.txt");
}

// One product of the state in each iteration, and one of its gradient.
kept!(an_lstm, 2, lstm_net());

kept!(
    a_gru,
    4,
    network!(|words: Seq<Tensor<f32, 3>>| {
        let mut h = zeros(4);
        for x in words {
            let (r, z) = split(sigmoid(fc([x, h], 8)), [4, 4]);
            let candidate = tanh(fc(x, 4) + fc(r * h, 4, bias = false));
            h = z * h + (1.0 - z) * candidate;
        }
        mean(h)
    })
);

// Those of the library are no different: a product of the state for all gates,
kept!(
    the_lstm_of_the_library,
    2,
    network!(|words: Seq<Tensor<f32, 3>>| {
        let seen = lstm(words, 4, peepholes = true);
        mean(sequence_pool(seen, last))
    })
);

// and one more for the candidate of a gated unit.
kept!(
    the_gru_of_the_library,
    4,
    network!(|words: Seq<Tensor<f32, 3>>| {
        let seen = gru(words, 4);
        mean(sequence_pool(seen, last))
    })
);

// What of the tokens does not depend on who asks is compared with every query, but computed once.
kept!(
    attention_in_a_loop,
    13,
    network!(|words: Seq<Tensor<f32, 3>>, said: Seq<Tensor<f32, 2>>| {
        let mut h = zeros(4);
        for x in said {
            let context = attention(h, words, 5);
            let unit = gru_unit(concat([x, context]), h, 4);
            h = unit;
        }
        mean(h)
    })
);

// The output layer, which no iteration needs, is behind the loop.
kept!(
    a_plain_network,
    2,
    network!(|words: Seq<Tensor<f32, 3>>| {
        let mut h = zeros(4);
        let classes = for x in words {
            h = tanh(fc(x, 4) + fc(h, 4, bias = false));
            softmax(fc(h, 5))
        };
        mean(square(classes))
    })
);

kept!(
    a_concatenation,
    2,
    network!(|words: Seq<Tensor<f32, 3>>, context: Tensor<f32, _, 2>| {
        let mut h = zeros(4);
        for x in words {
            h = tanh(fc(concat([x, h, context]), 4));
        }
        mean(h)
    })
);

// The input of the second layer is the state of the first.
kept!(
    two_layers,
    6,
    network!(|words: Seq<Tensor<f32, 3>>| {
        let (mut h, mut k) = (zeros(4), zeros(4));
        for x in words {
            h = tanh(fc([x, h], 4));
            k = tanh(fc([h, k], 4));
        }
        mean(k)
    })
);

// What a branch computes is of its rows only.
kept!(
    an_inner_branch,
    4,
    network!(|words: Seq<Tensor<f32, 3>>| {
        let mut h = zeros(4);
        for x in words {
            let z = fc([x, h], 4);
            h = if sum(z, axis = 1) > 0.0 { tanh(z) } else { fc(x, 4) };
        }
        mean(h)
    })
);

kept!(
    nothing_to_hoist,
    2,
    network!(|words: Seq<Tensor<f32, 4>>| {
        let mut h = zeros(4);
        for x in words {
            h = tanh(fc(x * h, 4));
        }
        mean(h)
    })
);

// What a loop reads of the rows around is computed once for each of them.
kept!(
    rows_leave_a_loop,
    2,
    network!(|x: Tensor<f32, _, 4>| {
        let mut y = x;
        let mut n = 0;
        while sum(square(y), axis = 1) > 0.1 && n < 5 {
            y = tanh(fc(y, 4) + fc(x, 4, bias = false));
            n += 1;
        }
        mean(y)
    })
);
