//! `paddle::testing`: networks that learn, and such that compile but do not.

use std::panic::{self, AssertUnwindSafe};

use paddle::testing::{assert_learns, assert_learns_below, assert_program, check_gradients};
use paddle::{Network, Rows, Trainable, network};

/// What [`assert_learns`] says of a network.
fn said<S: Trainable>(net: &Network<S>, rows: impl Rows<S>) -> String {
    said_by(|| assert_learns(net, rows))
}

fn said_by(assertion: impl FnOnce()) -> String {
    let panicked = panic::catch_unwind(AssertUnwindSafe(assertion)).expect_err("it learns");
    panicked.downcast_ref::<String>().expect("a message").clone()
}

/// Numbers and their classes, which no line tells apart.
const CLASSES: [(f32, i64); 4] = [(-1.5, 0), (-0.5, 1), (0.75, 0), (2.0, 1)];

#[test]
fn networks_of_many_kinds_learn() {
    let rows = [([0.2, 0.7, -0.4], 150.0), ([-0.8, 0.1, 0.9], -20.0), ([0.6, -0.6, 0.3], 75.0)];
    assert_learns(&network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y))), rows);

    let dropped = network!(|x: Tensor<f32, _, 1>, label: Tensor<i64, _, 1>| {
        let hidden = dropout(batch_norm(fc(x, 32), act = relu), 0.3);
        let logits = fc(dropout(fc(hidden, 32, act = relu), 0.3), 2);
        let right = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)), right)
    });
    assert_learns(&dropped, CLASSES);

    let words = network!(|words: Seq<i64>, label: Tensor<f32, _, 1>| {
        let mean_word = sequence_pool(embedding(words, [20, 8]), average);
        mean(sigmoid_cross_entropy_with_logits(fc(mean_word, 1), label))
    });
    assert_learns(&words, [(vec![1, 2, 3], 0.0), (vec![4, 2], 1.0), (vec![7], 1.0), (vec![], 0.0)]);

    // A cost without a floor.
    let critic = network!(|real: Tensor<f32, _, 2>, fake: Tensor<f32, _, 2>| {
        let judge = |x| fc(x, 1, param = "judge", bias = false);
        mean(judge(fake)) - mean(judge(real))
    });
    assert_learns(&critic, [([1.0, 0.5], [-0.5, 0.25]), ([0.75, 0.5], [-1.0, 0.5])]);

    let ranked = network!(|a: Tensor<i64, _, 1>, b: Tensor<i64, _, 1>| {
        let score = |id| fc(embedding(id, [10, 4], param = "words"), 1, param = "score", bias = false);
        mean(rank_loss(1.0, score(a), score(b)))
    });
    assert_learns(&ranked, [(1, 2), (2, 3), (4, 7)]);
}

#[test]
fn costs_with_a_floor_are_given_a_goal() {
    let soft = network!(|x: Tensor<f32, _, 1>, label: Tensor<f32, _, 2>| {
        mean(softmax_with_cross_entropy(fc(x, 2), label, soft_label = true))
    });
    let rows = [(-1.0, [0.25, 0.75]), (1.0, [0.75, 0.25])];
    // The entropy of the labels is 0.562.
    assert_learns_below(&soft, rows, 0.563);
    let said = said_by(|| assert_learns_below(&soft, rows, 0.56));
    assert!(said.contains("and has to fall to 0.560000\nAdam(0.01): "), "{said}");
    // Whatever the goal, it has to fall.
    let fixed = network!(|x: Tensor<f32, _, 1>| mean(stop_gradient(x) + 0.0 * fc(x, 1)));
    assert!(said_by(|| assert_learns_below(&fixed, [1.0, 2.0], 9.0)).contains("has to fall to 1.5"));
}

#[test]
#[allow(deprecated, reason = "the compiler warns of it, too")]
fn probabilities_in_place_of_logits() {
    let net = network!(|x: Tensor<f32, _, 1>, label: Tensor<i64, _, 1>| {
        let hidden = fc(x, 32, act = tanh);
        mean(softmax_with_cross_entropy(softmax(fc(hidden, 2)), label))
    });
    let said = said(&net, CLASSES);
    assert!(said.starts_with("`network` does not learn these rows: its cost is 0.7"), "{said}");
    assert_eq!(said.lines().count(), 5, "{said}");
    for rate in ["0.01", "0.001", "0.1", "1"] {
        assert!(said.contains(&format!("\nAdam({rate}): 0.")), "{said}");
    }
    assert!(said.contains(" in step 0, ") && said.ends_with(" in step 299"), "{said}");
}

#[test]
fn a_relu_that_is_never_active() {
    let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 8, act = relu, init = constant(-1.0));
        mean(square(fc(hidden, 1) - y))
    });
    let said = said(&net, [(1.0, 2.0), (2.0, 2.0)]);
    assert!(said.starts_with("the cost of `network` falls, but not all of it takes part\nAdam("), "{said}");
    let of_hidden =
        "\nparameters that did not move, as their gradient is 0: `hidden.w`, `hidden.b`, `fc.w`; ";
    assert!(said.contains(of_hidden), "{said}");
    assert!(said.contains("\ninputs without influence on the cost: `x`; "), "{said}");
}

#[test]
fn a_signal_that_is_cut_off() {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
        let hidden = clip(fc(x, 8), 10.0, 20.0);
        mean(square(fc(hidden, 1) - y))
    });
    let said = said(&net, [([1.0, 0.5], 2.0), ([-0.5, 0.25], 3.0)]);
    assert!(said.contains("did not move, as their gradient is 0: `hidden.w`, `hidden.b`; "), "{said}");
}

#[test]
fn a_branch_without_rows() {
    let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        let line = if x > 0.0 { fc(x, 1, param = "right") } else { fc(x, 1, param = "left") };
        mean(square(line - y))
    });
    assert_learns(&net, [(1.0, 2.0), (-1.0, 3.0)]);
    let said = said(&net, [(1.0, 2.0), (2.0, 3.0)]);
    assert!(said.contains("did not move, as their gradient is 0: `left.w`, `left.b`; "), "{said}");
}

#[test]
fn a_label_that_is_not_used() {
    let net = network!(|x: Tensor<f32, _, 1>, label: Tensor<i64, _, 1>| {
        let logits = fc(x, 2);
        let right = accuracy(softmax(logits), label);
        (mean(square(logits)), right)
    });
    let said = said(&net, CLASSES);
    assert!(said.contains("falls, but not all of it takes part"), "{said}");
    assert!(said.contains("\ninputs without influence on the cost: `label`; "), "{said}");
    assert!(!said.contains("parameters"), "{said}");
    // Where all rows have one label, there is nothing to be seen of it.
    assert_learns(&net, [(1.0, 1), (2.0, 1)]);
}

#[test]
fn numbers_that_are_none() {
    let line = line!() + 1;
    let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(log(x), 1))));
    let said = said(&net, [1.0, 0.0]);
    assert!(said.contains("\nAdam(0.01): inf in step 0\n") && !said.contains("Adam(0.001)"), "{said}");
    let place = format!("tests/testing.rs:{line}:");
    assert!(said.contains(&place) && said.contains("`log` gives -inf for element 1"), "{said}");
}

#[test]
fn noise_is_not_learned() {
    let net = network!(|x: Tensor<f32, _, 1>| { mean(gaussian_random(x, [1]) + 0.001 * tanh(fc(x, 1))) });
    assert!(said(&net, [1.0, 2.0, 3.0]).contains("does not learn"));
}

#[test]
fn rows_that_do_not_fit_are_an_error() {
    let net = network!(|x: Tensor<f32, _, 1>, label: Tensor<i64, _, 1>| {
        mean(softmax_with_cross_entropy(fc(x, 2), label))
    });
    let said = said(&net, [(0.5, 2)]);
    assert!(said.starts_with(concat!("`network` cannot be trained on these rows: ", file!(), ":")), "{said}");
    assert!(said.contains("the class id of row 0 is 2, but there are 2 classes"), "{said}");
}

#[test]
fn programs_are_compared_with_files() {
    let net = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(square(price - y))
    });
    assert_program(&net, "tests/golden/price.txt");
    let other = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(abs(price - y))
    });
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        let said = said_by(|| assert_program(&other, "tests/golden/price.txt"));
        assert!(said.contains("if it should be, run the test with UPDATE_GOLDEN=1\n"), "{said}");
        assert!(said.contains("\n- ") && said.contains("\n+ ") && said.contains("abs("), "{said}");
    }
}

#[test]
fn elements_of_large_parameters_are_chosen() {
    let net = network!(|x: Tensor<f32, _, 20>, y: Tensor<f32, _, 1>| {
        mean(square(fc(fc(x, 10, act = tanh), 1) - y))
    });
    let compared = check_gradients(&net, [([0.25; 20], 1.0), ([-0.75; 20], 0.5)]).unwrap();
    assert_eq!(compared.elements, 32 + 10 + 10 + 1);
}
