//! Loops of the language: along sequences, and row by row.

use paddle::{Outputs, Parameters, infer, network};

fn floats(outputs: &Outputs, at: usize) -> Vec<f32> {
    outputs.at::<f32>(at).unwrap().iter().copied().collect()
}

fn integers(outputs: &Outputs, at: usize) -> Vec<i64> {
    outputs.at::<i64>(at).unwrap().iter().copied().collect()
}

#[test]
fn along_sequences() {
    let net = network!(|xs: Seq<f32>, first: Tensor<f32, _>| {
        let mut total = first;
        let mut count = 0;
        // Each sum so far, and what is left of the row's own value: rows without tokens have neither.
        let sums = for x in xs {
            total += x;
            count += 1;
            (total, first - x)
        };
        let (sums, rest) = sums;
        (total, count, sums, rest)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![(vec![1.0, 2.0], 10.0f32), (vec![], 20.0), (vec![3.0, 4.0, 5.0], 30.0)];
    let outputs = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&outputs, 0), [13.0, 20.0, 42.0]);
    assert_eq!(integers(&outputs, 1), [2, 0, 3]);
    assert_eq!(floats(&outputs, 2), [11.0, 13.0, 33.0, 37.0, 42.0]);
    assert_eq!(floats(&outputs, 3), [9.0, 8.0, 27.0, 26.0, 25.0]);
    assert_eq!(outputs.offsets(2), Some(&[0, 2, 2, 5][..]));
}

#[test]
fn several_sequences_in_step_and_reversed() {
    let net = network!(|xs: Seq<f32>, ys: Seq<f32>| {
        let mut s = 0.0;
        for (x, y) in (xs, sequence_reverse(ys)) {
            s = s * 10.0 + x * y;
        }
        s
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![(vec![1.0f32, 2.0], vec![3.0f32, 4.0]), (vec![], vec![]), (vec![5.0], vec![1.0])];
    assert_eq!(floats(&infer(&net, &parameters, rows).unwrap(), 0), [46.0, 0.0, 5.0]);
    let unequal = infer(&net, &parameters, vec![(vec![1.0f32], vec![1.0f32, 2.0])]).unwrap_err().to_string();
    assert!(unequal.contains("tests/loops.rs:") && unequal.contains("sequence"), "{unequal}");
}

#[test]
fn whole_sequences_of_the_rows_around() {
    let net = network!(|xs: Seq<f32>, ys: Seq<f32>, flip: Tensor<f32, _>| {
        let mut best = 0.0;
        for x in xs {
            // Of each row its own sequence, in a branch too.
            best += x * sequence_pool(ys, sum);
        }
        let turned = if flip > 0.0 { sequence_reverse(ys) } else { ys };
        (best, turned)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (vec![1.0f32], vec![1.0f32, 2.0, 3.0], 1.0f32),
        (vec![1.0, 1.0], vec![10.0], 0.0),
        (vec![2.0, 2.0, 2.0], vec![], 1.0),
        (vec![], vec![7.0, 8.0], 0.0),
    ];
    let outputs = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&outputs, 0), [6.0, 20.0, 0.0, 0.0]);
    assert_eq!(floats(&outputs, 1), [3.0, 2.0, 1.0, 10.0, 7.0, 8.0]);
}

#[test]
fn rows_leave_a_loop_one_by_one() {
    let net = network!(|x: Tensor<f32, _>, step: Tensor<f32, _>| {
        let mut y = x;
        let mut n = 0;
        let seen = while y < 10.0 {
            y += step;
            n += 1;
            y * 2.0
        };
        (y, n, seen)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![(8.0f32, 1.0f32), (50.0, 1.0), (0.0, 4.0)];
    let outputs = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&outputs, 0), [10.0, 50.0, 12.0]);
    assert_eq!(integers(&outputs, 1), [2, 0, 3]);
    assert_eq!(floats(&outputs, 2), [18.0, 20.0, 8.0, 16.0, 24.0]);
    assert_eq!(outputs.offsets(2), Some(&[0, 2, 2, 5][..]));
    let endless = infer(&net, &parameters, vec![(0.0f32, 0.0f32)]).unwrap_err().to_string();
    assert!(endless.contains("tests/loops.rs:") && endless.contains("100000"), "{endless}");
}

#[test]
fn rows_leave_by_break_and_continue() {
    let net = network!(|x: Tensor<f32, _>, xs: Seq<f32>| {
        let mut y = x;
        let mut n = 0;
        while n < 10 {
            y = y * 2.0;
            if y > 8.0 {
                break;
            }
            n += 1;
        }
        let mut z = x;
        let mut k = 0;
        while true {
            if z <= 0.5 {
                break;
            }
            z = z * 0.5;
            if z < 2.0 {
                continue;
            }
            k += 1;
        }
        let mut s = 0.0;
        for v in xs {
            if v < 0.0 {
                break;
            }
            if v > 10.0 {
                continue;
            }
            s += v;
        }
        let mut u = x;
        for i in 0..3 {
            if u > 3.0 {
                break;
            }
            u = u + 0.5 * i;
        }
        (y, z, s, u, n, k)
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (3.0f32, vec![1.0f32, 2.0, -1.0, 5.0]),
        (0.25, vec![]),
        (20.0, vec![4.0, 20.0, 1.0]),
        (2.75, vec![-1.0]),
    ];
    let outputs = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&outputs, 0), [12.0, 16.0, 40.0, 11.0]);
    assert_eq!(floats(&outputs, 1), [0.375, 0.25, 0.3125, 0.34375]);
    assert_eq!(floats(&outputs, 2), [3.0, 0.0, 5.0, 0.0]);
    assert_eq!(floats(&outputs, 3), [3.5, 1.75, 20.0, 3.25]);
    assert_eq!(integers(&outputs, 4), [1, 5, 0, 1]);
    assert_eq!(integers(&outputs, 5), [0, 0, 3, 0]);
}

#[test]
fn a_loop_over_numbers_gives_an_array() {
    let net = network!(|x: Tensor<f32, _>| {
        let powers = for i in 0..3 {
            x * i
        };
        powers[0] + powers[1] + powers[2]
    });
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), [1.0, 2.0]).unwrap();
    assert_eq!(floats(&outputs, 0), [3.0, 6.0]);
}

/// What a loop collects of rows that leave it, or an iteration, before they come to the value.
#[test]
fn collecting_what_there_is() {
    let net = network!(|xs: Seq<f32>, limit: Tensor<f32, _>| {
        let mut total = 0.0;
        let sums = for x in xs {
            if x < 0.0 {
                continue;
            }
            total += x;
            if total > limit {
                break;
            }
            (total, x * 2.0)
        };
        let mut left = limit;
        let steps = while left > 0.0 {
            left -= 2.0;
            if left == 3.0 {
                break;
            } else if left == 1.0 {
                continue;
            } else {
                left
            }
        };
        let (sums, twice) = sums;
        (sums, twice, steps, sequence_length(sums))
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = vec![
        (vec![1.0f32, -5.0, 2.0, 9.0, 1.0], 4.0f32),
        (vec![], 6.0),
        (vec![9.0, 1.0], 5.0),
        (vec![-1.0, -2.0], 3.0),
        (vec![1.0, 1.0, 1.0], 9.0),
    ];
    let outputs = infer(&net, &parameters, rows).unwrap();
    assert_eq!(floats(&outputs, 0), [1.0, 3.0, 1.0, 2.0, 3.0]);
    assert_eq!(outputs.offsets(0), Some(&[0, 2, 2, 2, 2, 5][..]));
    assert_eq!(floats(&outputs, 1), [2.0, 4.0, 2.0, 2.0, 2.0]);
    assert_eq!(floats(&outputs, 2), [2.0, 0.0, 4.0, 2.0, 0.0, -1.0, 7.0, 5.0]);
    assert_eq!(outputs.offsets(2), Some(&[0, 2, 5, 5, 6, 8][..]));
    assert_eq!(integers(&outputs, 3), [2, 0, 0, 0, 3]);
}
