//! Sequences that are made of others, and of rows of equally many places.

use paddle::{Outputs, Parameters, infer, network};

fn floats(outputs: &Outputs, at: usize) -> Vec<f32> {
    outputs.at::<f32>(at).unwrap().iter().copied().collect()
}

fn integers(outputs: &Outputs, at: usize) -> Vec<i64> {
    outputs.at::<i64>(at).unwrap().iter().copied().collect()
}

#[test]
fn parts_of_sequences() {
    let net = network!(|x: Seq<f32>, offset: Tensor<i64, _>, length: Tensor<i64, _>| {
        let part = sequence_slice(x, offset, length);
        let first = sequence_slice(x, 0, minimum(sequence_length(x), 2));
        (part, first, sequence_positions(x), sequence_filter(x, x > 2.5), sequence_pool(part, sum))
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (vec![1.0f32, 2.0, 3.0], 1i64, 2i64),
        (vec![], 0, 0),
        (vec![4.0], 1, 0),
        (vec![5.0, 1.0, 6.0, 7.0], 0, 3),
    ];
    let found = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&found, 0), [2.0, 3.0, 5.0, 1.0, 6.0]);
    assert_eq!(found.offsets(0), Some(&[0, 2, 2, 2, 5][..]));
    assert_eq!(floats(&found, 1), [1.0, 2.0, 4.0, 5.0, 1.0]);
    assert_eq!(found.offsets(1), Some(&[0, 2, 2, 3, 5][..]));
    assert_eq!(integers(&found, 2), [0, 1, 2, 0, 0, 1, 2, 3]);
    assert_eq!(floats(&found, 3), [3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(found.offsets(3), Some(&[0, 1, 1, 2, 5][..]));
    assert_eq!(floats(&found, 4), [5.0, 0.0, 0.0, 12.0]);

    let error = |rows: Vec<(Vec<f32>, i64, i64)>| infer(&net, &parameters, rows).unwrap_err().to_string();
    let beyond = error(vec![(vec![1.0], 0, 1), (vec![1.0, 2.0], 1, 2)]);
    assert!(beyond.contains("position 2 is asked for in sequence 1, which has 2 tokens"), "{beyond}");
    assert!(beyond.contains("tests/made_sequences.rs:"), "{beyond}");
    let negative = error(vec![(vec![1.0], 0, -3)]);
    assert!(negative.contains("the length of sequence 0 is -3; it has to be at least 0"), "{negative}");
    let endless = error(vec![(vec![1.0], 0, i64::MAX), (vec![1.0], 0, i64::MAX)]);
    assert!(endless.contains("more tokens than can be counted"), "{endless}");
    let huge = error(vec![(vec![1.0], 0, 1 << 60)]);
    assert!(!huge.is_empty());
}

#[test]
fn sequences_one_behind_the_other_and_in_other_widths() {
    let net = network!(|x: Seq<Tensor<f32, 2>>, y: Seq<Tensor<f32, 2>>| {
        let both = sequence_concat([x, y, x]);
        (both, sequence_reshape(x, 1), sequence_reshape(both, 4))
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (vec![[1.0f32, 2.0]], vec![[3.0f32, 4.0], [5.0, 6.0]]),
        (vec![], vec![]),
        (vec![[7.0, 8.0]], vec![]),
    ];
    let found = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&found, 0), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 7.0, 8.0, 7.0, 8.0]);
    assert_eq!(found.offsets(0), Some(&[0, 4, 4, 6][..]));
    assert_eq!(floats(&found, 1), [1.0, 2.0, 7.0, 8.0]);
    assert_eq!(found.offsets(1), Some(&[0, 2, 2, 4][..]));
    assert_eq!(found.offsets(2), Some(&[0, 2, 2, 3][..]));
    let odd = infer(&net, &parameters, vec![(vec![[0.0f32; 2]], vec![[0.0f32; 2]])]).unwrap_err().to_string();
    let expected = "sequence 0 has 6 elements, which are not a whole number of tokens of 4 elements";
    assert!(odd.contains(expected), "{odd}");
}

#[test]
fn to_rows_of_places_and_back() {
    let net = network!(|x: Seq<f32>, dense: Tensor<f32, _, T, 2>, length: Tensor<i64, _>| {
        let padded = sequence_pad(x, 4, pad_value = -1.0);
        let mut last = [0.0, 0.0];
        for step in sequence(dense) {
            last = last * 10.0 + step;
        }
        (padded, sequence_unpad(padded, length), last)
    });
    let parameters = Parameters::create(&net).unwrap();
    let dense = [[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]];
    let row = |x: Vec<f32>, at: usize, length: i64| net.row(x, dense[at].to_vec(), length);
    let rows = vec![row(vec![1.0, 2.0], 0, 3), row(vec![], 1, 1)];
    let found = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&found, 0), [1.0, 2.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
    assert_eq!(floats(&found, 1), [1.0, 2.0, -1.0, -1.0]);
    assert_eq!(found.offsets(1), Some(&[0, 3, 4][..]));
    assert_eq!(floats(&found, 2), [135.0, 246.0, 0.0, 123.0]);
    let long = infer(&net, &parameters, vec![row(vec![0.0; 5], 0, 0)]).unwrap_err().to_string();
    assert!(long.contains("sequence 0 has 5 tokens, but its row has 4 places"), "{long}");
}

/// New sequences in every iteration of a loop, of rows that leave one by one, and in a branch.
#[test]
fn made_within_loops_and_branches() {
    let net = network!(|x: Seq<f32>, wide: Tensor<f32, _>| {
        let mut at = 0;
        let mut total = 0.0;
        let length = sequence_length(x);
        while at < length {
            // The next two tokens, as far as there are any.
            let part = sequence_slice(x, at, minimum(length - at, 2));
            let mut product = 1.0;
            for token in part {
                product *= token;
            }
            total += product;
            at += 2;
        }
        let most =
            if wide > 0.0 { sequence_pool(sequence_concat([x, x]), sum) } else { sequence_pool(x, max) };
        (total, at, most)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (vec![2.0f32, 3.0, 4.0, 5.0, 6.0], 1.0f32),
        (vec![], 1.0),
        (vec![7.0], 0.0),
        (vec![1.0, 2.0, 3.0], 1.0),
    ];
    let found = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&found, 0), [32.0, 0.0, 7.0, 5.0]);
    assert_eq!(integers(&found, 1), [6, 0, 2, 4]);
    assert_eq!(floats(&found, 2), [40.0, 0.0, 7.0, 12.0]);
}
