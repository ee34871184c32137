//! What shards do not add up to, and other things that are refused.

use paddle::{Dynamic, Network, Options, Parameters, Rows, Sgd, Trainable, Trainer};

use crate::lines;
use crate::networks::line;

/// Trains in two shards, which is refused.
fn refusal<S: Trainable>(net: &Network<S>, rows: &impl Rows<S>) -> String {
    let mut parameters = Parameters::create(net).unwrap();
    let options = Options::default().shards(2);
    let error = Trainer::new(Sgd::new(0.1)).step_with(net, &mut parameters, rows, &options).unwrap_err();
    let text = error.to_string();
    let place = format!("{}:", file!());
    match text.strip_prefix(&place).and_then(|rest| rest.split_once(": ")) {
        Some((place, message)) => {
            let (line, column) = place.split_once(':').unwrap();
            let source = include_str!("refusals.rs").lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
            let at: String = source.chars().skip(column.parse::<usize>().unwrap() - 1).collect();
            let word: String = at.chars().take_while(|c| !" (".contains(*c)).collect();
            format!("at `{word}`: {message}")
        }
        None => text,
    }
}

/// What is said of an operator because of which shards do not add up.
fn because(at: &str, of: &str, operator: &str, why: &str) -> String {
    let instead = match of {
        "the cost" => "compute it of each row alone",
        "the network" => "leave that out",
        _ => "return what it is computed from",
    };
    format!(
        "at `{at}`: {of} cannot be computed in shards, because it is no sum or mean over rows: `{operator}` {why}; \
         train without shards, or {instead}"
    )
}

#[test]
fn what_is_no_sum_over_rows_is_refused() {
    let rows = [[0.5_f32, 1.0, 2.0], [1.0, 0.0, -1.0], [0.0, 0.0, 1.0]];
    let all_rows = "computes with all rows of the batch together";
    let not_linear = "is not linear, and reads a sum or a mean over all rows";
    let for_each_row = "reads, for each row, a sum or a mean over all of them";

    let net = paddle::network!(|x: Tensor<f32, _, 3>| sum(max(fc(x, 2), axis = 0)));
    assert_eq!(refusal(&net, &rows), because("max", "the cost", "max", all_rows));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = fc(x, 1);
        mean(y) * mean(x)
    });
    assert_eq!(refusal(&net, &rows), because("*", "the cost", "*", not_linear));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| sqrt(mean(square(fc(x, 1)))));
    assert_eq!(refusal(&net, &rows), because("sqrt", "the cost", "sqrt", not_linear));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = fc(x, 2);
        sum(tanh(matmul(y, y, transpose_x = true)))
    });
    assert_eq!(refusal(&net, &rows), because("tanh", "the cost", "tanh", not_linear));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = fc(x, 1);
        mean(square(y - mean(y)))
    });
    assert_eq!(refusal(&net, &rows), because("-", "the cost", "-", for_each_row));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = fc(x, 1);
        mean(if y > 0.0 { y - mean(y) } else { y })
    });
    let chosen =
        "is a mean over the rows that a branch runs on, and how many these are is only known in the end";
    assert_eq!(refusal(&net, &rows), because("mean", "the cost", "mean", chosen));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = mean(fc(x, 1));
        if y > 0.0 { y } else { -y }
    });
    assert_eq!(refusal(&net, &rows), because(">", "the cost", ">", not_linear));
    let net = paddle::network!(|x: Tensor<f32, _, 3>, flag: Tensor<bool>| {
        let y = fc(x, 1);
        if flag { mean(y) } else { 1.5 }
    });
    let rows_and_flag = rows.map(|x| net.row(x, true));
    let ways = "has a sum or a mean over all rows on one way, and another value on the other";
    assert_eq!(refusal(&net, &rows_and_flag), because("if", "the cost", "if", ways));

    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = fc(x, 1);
        let largest = max(y);
        (mean(y), largest)
    });
    assert_eq!(refusal(&net, &rows), because("max", "the metric `largest`", "max", all_rows));
    let net = paddle::network!(|x: Tensor<f32, _, 3>, label: Tensor<i64, _, 1>| {
        let y = fc(x, 2);
        let area = auc(softmax(y), label);
        (mean(y), area)
    });
    let labelled = rows.map(|x| net.row(x, 1));
    let changes = "changes what it keeps by all rows of a batch";
    assert_eq!(refusal(&net, &labelled), because("auc", "the network", "auc", changes));
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        let y = fc(x, 1);
        mean(if y > 0.0 { batch_norm(y) } else { y })
    });
    let moves = "moves its statistics by rows whose number is only known in the end";
    assert_eq!(refusal(&net, &rows), because("batch_norm", "the network", "batch_norm", moves));
}

#[test]
fn no_shards_are_refused() {
    let net = line();
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let error =
        trainer.step_with(&net, &mut parameters, lines(0, 3), &Options::default().shards(0)).unwrap_err();
    assert!(matches!(error, paddle::Error::Shards(paddle::NoShards)));
    assert_eq!(error.to_string(), "a batch cannot be cut into 0 shards; with 1 it stays whole");
}

#[test]
fn rows_of_two_kinds_are_refused() {
    let text = "program { rows _ rows N tokens N.words of N parameter w: f32[2, 1] = fill_constant(value=0.5)
        block 0 (x: f32[_, 2], words: f32[N.words, 2]) {
          y: f32[_, 1] = matmul_v2(x, w)
          z: f32[N.words, 1] = matmul_v2(words, w)
          a: f32[] = reduce_mean(y)
          b: f32[] = reduce_mean(z)
          cost: f32[] = elementwise_add(a, b)
          return cost
        } }";
    type Row = ([f32; 2], Vec<[f32; 2]>);
    let net: Network<Dynamic<Row>> = Network::from_program(paddle::core::text::parse(text).unwrap()).unwrap();
    let rows = vec![([0.5, 1.0], vec![[1.0, 2.0]]), ([1.5, 0.0], vec![])];
    let expected = "`x` and `words` have rows of different kinds, which shards cannot cut alike";
    assert_eq!(refusal(&net, &rows), expected);
}
