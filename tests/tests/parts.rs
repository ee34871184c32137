//! Parts of values by their places, the methods of what a `for` goes over, and what the crate has in arrays.

use ndarray::{ArrayD, array};
use paddle::{Network, Parameters, Spec, infer, network};

const SIZES: [usize; 3] = [5, 7, 4];
const PAIRS: [(usize, [usize; 2]); 2] = [(3, [1, 2]), (6, [4, 5])];

/// What a network gives for rows.
fn given<S: Spec>(net: &Network<S>, rows: Vec<S::Row>) -> paddle::Outputs
where
    S::Row: paddle::Row + paddle::reader::IntoItem,
{
    infer(net, &Parameters::create(net).unwrap(), rows).unwrap()
}

#[test]
fn values_are_cut_along_their_axes() {
    let net = network!(|x: Tensor<f32, _, 3, 4>| {
        let table = [[1.0, 2.0], [3.0, 4.0]];
        let column = x[(.., .., 0)];
        let last = x[(.., -1, 1..3)];
        let open = x[(.., 1.., ..=-2)];
        let whole = [0.0, 5.0, 6.0][(1,)] + table[(.., 0)][1];
        (column, last, open, x[(.., 1)], x[..], x[(.., 0)][(.., 2)] * table[1][0], zeros([2, 3])[1], whole)
    });
    let row = [[0.0, 1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0], [20.0, 21.0, 22.0, 23.0]];
    let outputs = given(&net, vec![row]);
    let at = |at: usize| outputs.at::<f32>(at).unwrap().to_owned();
    assert_eq!(at(0), array![[0.0, 10.0, 20.0]].into_dyn());
    assert_eq!(at(1), array![[21.0, 22.0]].into_dyn());
    assert_eq!(at(2), array![[[10.0, 11.0, 12.0], [20.0, 21.0, 22.0]]].into_dyn());
    assert_eq!(at(3), array![[10.0, 11.0, 12.0, 13.0]].into_dyn());
    assert_eq!(at(4).shape(), [1, 3, 4]);
    assert_eq!(at(5), array![6.0].into_dyn());
    assert_eq!(at(6), ArrayD::<f32>::zeros(vec![3]));
    assert_eq!(at(7).first(), Some(&8.0));
}

#[test]
fn numbers_of_the_network_take_parts_too() {
    let net = network!(|x: Tensor<f32, _, 2, 3>, at: Tensor<i64, _>, order: Tensor<i64, _, 2>| {
        (x[(.., 1, at)], x[(.., order)], x[(.., .., 1..)][(.., 0)])
    });
    let row = net.row([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]], 2, [1, 0]);
    let outputs = given(&net, vec![row]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![12.0].into_dyn());
    assert_eq!(outputs.at::<f32>(1).unwrap(), array![[[10.0, 11.0, 12.0], [0.0, 1.0, 2.0]]].into_dyn());
    assert_eq!(outputs.at::<f32>(2).unwrap(), array![[1.0, 2.0]].into_dyn());
}

#[test]
fn parts_of_sizes_that_are_fed_are_checked_when_they_are_known() {
    let net = network!(|x: Tensor<f32, _, T, 2>| (sum(x[(.., 1..)]), x[(.., -1)]));
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [vec![[1.0, 2.0], [3.0, 4.0]]]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![7.0].into_dyn().into_shape_with_order(vec![]).unwrap());
    assert_eq!(outputs.at::<f32>(1).unwrap(), array![[3.0, 4.0]].into_dyn());
    let error = infer(&net, &parameters, [vec![[1.0, 2.0]]]).unwrap_err().to_string();
    assert!(error.contains("axis 1"), "{error}");
}

#[test]
fn a_for_goes_over_what_methods_make() {
    let net = network!(|words: Seq<f32>, others: Seq<f32>| {
        let mut back = 0.0;
        for word in words.rev() {
            back = 10.0 * back + word;
        }
        let placed = for (i, word) in words.iter().enumerate() {
            cast(i, f32) * word
        };
        let mut both = 0.0;
        for (i, (a, b)) in words.zip(others).enumerate() {
            both += a * b * cast(i + 1, f32);
        }
        (back, placed, both, words.len())
    });
    let outputs =
        given(&net, vec![net.row(vec![1.0, 2.0, 3.0], vec![1.0, 0.5, 2.0]), net.row(vec![4.0], vec![2.0])]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![321.0, 4.0].into_dyn());
    assert_eq!(outputs.at::<f32>(1).unwrap(), array![0.0, 2.0, 6.0, 0.0].into_dyn());
    assert_eq!(outputs.at::<f32>(2).unwrap(), array![1.0 + 2.0 + 18.0, 8.0].into_dyn());
    assert_eq!(outputs.at::<i64>(3).unwrap(), array![3, 1].into_dyn());
}

#[test]
fn so_do_arrays_and_ranges() {
    let net = network!(|x: Tensor<f32, _, 1>| {
        const NUMBERS: [f32; 3] = [1.0, 2.0, 3.0];
        let mut h = x;
        for (i, number) in NUMBERS.iter().rev().enumerate() {
            h = h * number + i;
        }
        for (i, (a, b)) in (0..3).rev().zip(NUMBERS[1..]).enumerate() {
            h += a * b * i;
        }
        h + NUMBERS.len()
    });
    let outputs = given(&net, vec![1.0]);
    // ((1 · 3 + 0) · 2 + 1) · 1 + 2, then 0 and 1 · 3 · 1, then 3.
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![[9.0 + 3.0 + 3.0]].into_dyn());
}

#[test]
fn sizes_stand_in_arrays_of_the_crate() {
    let net = network!(|x: Tensor<f32, _, { crate::PAIRS[0].0 }>| {
        let mut h = x;
        for t in 0..3 {
            h = fc(h, crate::SIZES[t], param = "layer{t}");
        }
        fc(h, crate::PAIRS[1].1[0] + crate::SIZES.len())
    });
    let outputs = given(&net, vec![[0.0; 3]]);
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [1, 7]);
    let program = net.program().unwrap();
    let shape = |name: &str| program.show(program.ty(program.find(name).unwrap()));
    assert_eq!(shape("layer1.w"), "f32[5, 7]");
}

#[test]
fn rows_meet_all_other_rows() {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 2>| {
        let x = x * parameter(2, init = constant(1.0));
        let fits = matmul(x, all_rows(y), transpose_y = true);
        // Each row is to find its own among all.
        let loss = mean(softmax_with_cross_entropy(fits, row_numbers(x)));
        let turned = each_row(transpose(all_rows(x), [0, 1]), x);
        (loss, fits, row_numbers(y), turned)
    });
    let rows = vec![
        net.row([1.0, 0.0], [1.0, 2.0]),
        net.row([0.0, 1.0], [3.0, 4.0]),
        net.row([1.0, 1.0], [0.5, 0.5]),
    ];
    let outputs = given(&net, rows.clone());
    let fits = array![[1.0, 3.0, 0.5], [2.0, 4.0, 0.5], [3.0, 7.0, 1.0]];
    assert_eq!(outputs.at::<f32>(1).unwrap(), fits.into_dyn());
    assert_eq!(outputs.at::<i64>(2).unwrap(), array![0, 1, 2].into_dyn());
    assert_eq!(outputs.at::<f32>(3).unwrap(), array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]].into_dyn());
    paddle::testing::check_gradients(&net, &rows).unwrap();
}

#[test]
fn rows_of_their_own_are_in_each_row() {
    let net = network!(|user: Tensor<f32, _, 2>, item: Tensor<f32, ITEMS, 2>| {
        matmul(user, all_rows(item), transpose_y = true)
    });
    let items = || vec![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
    let outputs = given(&net, vec![net.row([1.0, 2.0], items()), net.row([3.0, 4.0], items())]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![[1.0, 2.0, 3.0], [3.0, 4.0, 7.0]].into_dyn());
}

#[test]
fn losses_are_of_each_place() {
    let net = network!(|x: Tensor<f32, _, T, 3>, label: Tensor<i64, _, T, 1>, plain: Tensor<i64, _, T>| {
        let logits = fc(x, 4, axis = -1);
        let loss = softmax_with_cross_entropy(logits, label, ignore_index = 3);
        let other = cross_entropy(softmax(logits), plain);
        (mean(loss) + mean(other), loss, other, accuracy(softmax(logits), label))
    });
    let rows = [
        net.row(vec![[0.1, 0.2, 0.3], [1.0, 0.0, -1.0]], vec![[2], [3]], vec![2, 0]),
        net.row(vec![[0.5, 0.2, 0.3], [0.0, 0.0, -1.0]], vec![[0], [1]], vec![0, 1]),
    ];
    let outputs = given(&net, rows.to_vec());
    let (loss, other) = (outputs.at::<f32>(1).unwrap(), outputs.at::<f32>(2).unwrap());
    assert_eq!((loss.shape(), other.shape()), (&[2, 2, 1][..], &[2, 2, 1][..]));
    assert_eq!(loss[[0, 1, 0]], 0.0);
    assert!((loss[[1, 1, 0]] - other[[1, 1, 0]]).abs() < 1e-6);
    paddle::testing::check_gradients(&net, &rows).unwrap();
}

mod scaled {
    pub(crate) const WIDTH: usize = 9;

    #[paddle::attribute::network]
    pub mod models {
        const HEADS: usize;

        pub fn of_rustc(x: Tensor<f32, _, super::WIDTH>) -> _ {
            sum(x, axis = 1) / sqrt(super::WIDTH) + 0.5 * super::WIDTH
        }

        pub fn of_the_caller(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
            let mut h = x;
            let mut i = 0;
            while i < HEADS {
                h = h + HEADS;
                i += 1;
            }
            h
        }

        pub fn of_the_batch(x: Tensor<f32, _, T, D>, n: Tensor<i64, _>) -> _ {
            (sum(x) / T, mean(x) * maximum(D, 3), n * (T + D), T)
        }
    }
}

#[test]
fn sizes_are_numbers_too() {
    use scaled::models;
    let outputs = given(&models::of_rustc(), vec![[1.0; 9]]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![9.0 / 3.0 + 4.5].into_dyn());
    let net = models::of_the_caller::with(models::of_the_caller::Sizes { HEADS: 2 }).unwrap();
    assert_eq!(given(&net, vec![[1.0; 4]]).at::<f32>(0).unwrap(), array![[5.0, 5.0, 5.0, 5.0]].into_dyn());
    let net = models::of_the_batch();
    let outputs = given(&net, vec![models::of_the_batch::Row { x: vec![vec![1.0, 2.0]; 4], n: 3 }]);
    assert_eq!(outputs.at::<f32>(0).unwrap().first(), Some(&3.0));
    assert_eq!(outputs.at::<f32>(1).unwrap().first(), Some(&4.5));
    assert_eq!(outputs.at::<i64>(2).unwrap(), array![18].into_dyn());
    assert_eq!(outputs.at::<i64>(3).unwrap().first(), Some(&4));
}

/// More than there is memory for elements of it.
const POPULATION: usize = 8_000_000_000_000;

#[test]
fn a_size_that_is_a_number_alone_takes_no_memory() {
    let net = network!(|x: Tensor<f32, _, 1>| x / crate::POPULATION);
    assert_eq!(given(&net, vec![4e12]).at::<f32>(0).unwrap(), array![[0.5]].into_dyn());
}

#[test]
fn what_is_not_trained_may_decide() {
    let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| {
        let border = stop_gradient(parameter(1, init = constant(0.5)));
        let price = if x > border { fc(x, 1, param = "high") } else { fc(x, 1, param = "low") };
        mean(square(price - y))
    });
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = paddle::Trainer::new(paddle::updater::Sgd::new(0.1));
    let before = parameters.get::<f32>(net.params.border.w).unwrap().to_owned();
    trainer.step(&net, &mut parameters, [(0.2, 1.0), (0.8, 2.0)]).unwrap();
    assert_eq!(parameters.get::<f32>(net.params.border.w).unwrap(), before);
}

mod around {
    pub(crate) const GATE: [f32; 3] = [1.0, 0.0, 0.5];
    pub(crate) const TABLE: [[f64; 2]; 2] = [[1.0, 2.0], [3.0, 4.0]];
    pub(crate) const RATE: f32 = 0.25;
    pub(crate) const KNOWN: [bool; 2] = [true, false];
    pub(crate) const LAYERS: [(usize, f32); 2] = [(4, 0.5), (3, 2.0)];

    #[paddle::attribute::network]
    pub mod models {
        const GATE: [f32; 3] = super::GATE;
        const RATE: f32 = super::RATE;
        const TABLE: [[f64; 2]; 2] = crate::around::TABLE;
        const KNOWN: [bool; 2] = super::KNOWN;
        const LAYERS: [(usize, f32); 2] = super::LAYERS;

        /// Gated.
        pub fn gated(x: Tensor<f32, _, 3>) -> (_, _, _) {
            let mut last = x;
            // Its elements are numbers of the program, one by one.
            for gate in GATE.rev() {
                last = last * RATE + gate;
            }
            let half = if RATE < 0.5 { x * GATE[0] } else { x };
            (x * GATE + RATE, last, half)
        }

        pub fn looked_up(kind: Tensor<i64, _>) -> Tensor<f64, _, 2> {
            let rows = gather(TABLE, kind);
            if gather(KNOWN, kind) { rows } else { rows * TABLE[1] }
        }

        pub fn deep(x: Tensor<f32, _, 2>) -> _ {
            let mut h = x;
            for (i, (size, scale)) in LAYERS.enumerate() {
                h = fc(h, size, param = "layer{i}", init = constant(1.0)) * scale;
            }
            h
        }
    }
}

#[test]
fn constants_of_the_code_around_are_values() {
    use around::models;
    let outputs = given(&models::gated(), vec![[2.0, 4.0, 8.0]]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![[2.25, 0.25, 4.25]].into_dyn());
    // ((x / 4 + 0.5) / 4 + 0) / 4 + 1
    let last = [2.0_f32, 4.0, 8.0].map(|x| (x * 0.25 + 0.5) * 0.0625 + 1.0);
    assert_eq!(outputs.at::<f32>(1).unwrap().as_slice(), Some(&last[..]));
    assert_eq!(outputs.at::<f32>(2).unwrap(), array![[2.0, 4.0, 8.0]].into_dyn());
    let outputs = given(&models::looked_up(), vec![0, 1]);
    assert_eq!(outputs.at::<f64>(0).unwrap(), array![[1.0, 2.0], [9.0, 16.0]].into_dyn());
    let outputs = given(&models::deep(), vec![[1.0, 2.0]]);
    assert_eq!(outputs.at::<f32>(0).unwrap(), array![[12.0, 12.0, 12.0]].into_dyn());
    let net = network!(|x: Tensor<f32, _, 3>| {
        const GATE: [f32; 3] = crate::around::GATE;
        x * GATE
    });
    assert_eq!(given(&net, vec![[1.0, 2.0, 3.0]]).at::<f32>(0).unwrap(), array![[1.0, 0.0, 1.5]].into_dyn());
    assert!(net.program().unwrap().outside_constants().is_empty());
}

#[test]
fn sizes_of_the_code_around_are_captured() {
    let (words, width) = (["a", "b", "c"].len(), 4);
    let net = network!(move |word: Tensor<i64, _>| {
        const WIDER: usize = 2 * width;
        let h = fc(embedding(word, [words, width]), WIDER) / sqrt(width);
        let last = |x| fc(x, words);
        last(h)
    })
    .unwrap();
    let outputs = given(&net, vec![0, 2]);
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [2, 3]);
    let program = net.program().unwrap();
    let shape = |name: &str| program.show(program.ty(program.find(name).unwrap()));
    assert_eq!((shape("h_embedding.w"), shape("h.w")), ("f32[3, 4]".into(), "f32[4, 8]".into()));
    let shadowed = network!(move |x: Tensor<f32, _, 2>| {
        let wider = fc(x, width);
        let width = fc(wider, words);
        width
    });
    assert_eq!(given(&shadowed.unwrap(), vec![[0.5; 2]]).at::<f32>(0).unwrap().shape(), [1, 3]);
    let none = 0;
    let refused = network!(move |x: Tensor<f32, _, 2>| fc(x, none)).unwrap_err().to_string();
    assert!(refused.contains("`none`") || refused.contains("above 0"), "{refused}");
}
