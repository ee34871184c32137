//! Sequences of sequences: fed, looped over, given back.

use ndarray::array;
use paddle::{Batch, Outputs, Parameters, infer, network};

fn floats(outputs: &Outputs, at: usize) -> Vec<f32> {
    outputs.at::<f32>(at).unwrap().iter().copied().collect()
}

#[test]
fn along_both_levels() {
    let net = network!(|text: Seq<Seq<f32>>, weight: Tensor<f32, _>| {
        let mut total = 0.0;
        let sums = for sentence in text {
            let mut product = 1.0;
            for word in sentence {
                product *= word;
            }
            total += product * weight;
            product
        };
        (total, sums, text * 10.0, sequence_pool(text, sum), sequence_length(text))
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (vec![vec![2.0f32, 3.0], vec![], vec![5.0]], 1.0f32),
        (vec![], 1.0),
        (vec![vec![7.0]], 2.0),
        (vec![vec![], vec![1.0, 2.0, 4.0]], 1.0),
    ];
    let found = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&found, 0), [12.0, 0.0, 14.0, 9.0]);
    assert_eq!(floats(&found, 1), [6.0, 1.0, 5.0, 7.0, 1.0, 8.0]);
    assert_eq!(found.levels(1), [vec![0, 3, 3, 4, 6]]);
    assert_eq!(floats(&found, 2), [20.0, 30.0, 50.0, 70.0, 10.0, 20.0, 40.0]);
    assert_eq!(found.levels(2), [vec![0, 3, 3, 4, 6], vec![0, 2, 2, 3, 4, 4, 7]]);
    assert_eq!(found.offsets(2), Some(&[0, 2, 2, 3, 4, 4, 7][..]));
    assert_eq!(floats(&found, 3), [5.0, 0.0, 5.0, 7.0, 0.0, 7.0]);
    assert_eq!(found.levels(4), [vec![0, 3, 3, 4, 6]]);
}

#[test]
fn offsets_of_all_levels_have_to_agree() {
    let net = network!(|text: Seq<Seq<i64>>| text + 1);
    let parameters = Parameters::create(&net).unwrap();
    let words = array![5i64, 7, 7, 2];
    let fed = |levels: &[&[usize]]| {
        let mut batch = Batch::new(&net)?;
        batch.set_nested_sequences("text", &words, levels)?;
        infer(&net, &parameters, &batch)
    };
    let found = fed(&[&[0, 1, 3], &[0, 3, 3, 4]]).unwrap();
    assert_eq!(found.at::<i64>(0).unwrap().as_slice().unwrap(), [6, 8, 8, 3]);
    assert_eq!(found.levels(0), [vec![0, 1, 3], vec![0, 3, 3, 4]]);
    let wrong: [(&[&[usize]], &str); 5] = [
        (
            &[&[0, 1, 2], &[0, 3, 3, 4]],
            "of the outermost sequences, offsets end with the number of tokens, which is 3",
        ),
        (
            &[&[0, 1, 3], &[0, 3, 3, 5]],
            "of the sequences in them, level 1, offsets end with the number of tokens, which is 4",
        ),
        (&[&[0, 2, 1, 3], &[0, 3, 3, 4]], "of the outermost sequences, offsets never fall"),
        (&[&[0, 3, 4]], "it takes 2 lists of offsets, one for each level of sequences, but 1 were fed"),
        (&[&[], &[0, 4]], "of the outermost sequences, offsets begin with 0"),
    ];
    for (levels, expected) in wrong {
        let error = fed(levels).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("`text` takes Seq<Seq<i64>>"), "{error}");
    }
    let flat = Batch::new(&net).unwrap().with("text", &words).unwrap_err().to_string();
    assert!(flat.contains("sequences are fed with offsets"), "{flat}");
}

#[test]
fn layers_of_sequences_run_along_the_inner_ones() {
    let net = paddle::network!(|text: Seq<Seq<Tensor<f32, 3>>>| {
        let read = for sentence in text {
            lstm(sentence, 4, param = "read")
        };
        let ends = for sentence in read {
            sequence_pool(sentence, last)
        };
        (sequence_pool(gru(ends, 2, param = "text"), last), read)
    });
    let alone = paddle::network!(|sentence: Seq<Tensor<f32, 3>>| lstm(sentence, 4, param = "read"));
    let parameters = paddle::Parameters::create((&net, &alone)).unwrap();
    let token = |k: usize| [0.1 * k as f32, -0.2, 0.3 * (k % 3) as f32];
    let sentence = |from: usize, count: usize| (from..from + count).map(token).collect::<Vec<_>>();
    let rows = vec![vec![sentence(0, 2), sentence(5, 3)], vec![sentence(9, 1)]];
    let all = paddle::infer(&net, &parameters, rows.clone()).unwrap();
    let each = paddle::infer(&alone, &parameters, rows.concat()).unwrap();
    assert_eq!(all.at::<f32>(0).unwrap().shape(), [2, 2]);
    assert_eq!(all.at::<f32>(1).unwrap(), each.at::<f32>(0).unwrap());
}
