//! `einsum`: sums over letters, beside loops over all places that the letters count.

use std::collections::BTreeMap;

use ndarray::{ArrayD, IxDyn};
use paddle::testing::check_gradients;
use paddle::{Batch, Network, Parameters, Spec, infer, network};

/// How large each letter is, that of the rows too.
fn size(letter: char) -> usize {
    match letter {
        'b' | 'n' => 3,
        'i' | 'd' => 2,
        'j' => 4,
        'k' => 5,
        _ => 3,
    }
}

fn array(letters: &str, seed: usize) -> ArrayD<f32> {
    let shape: Vec<usize> = letters.chars().map(size).collect();
    let mut at = seed * 97;
    ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
        at += 1;
        ((at * 7919) % 401) as f32 / 200.0 - 1.0
    })
}

/// The sum by its definition: over all places of all letters, of the product of what stands there.
fn by_loops(inputs: &[(&str, ArrayD<f32>)], result: &str) -> ArrayD<f64> {
    let sizes: BTreeMap<char, usize> =
        inputs.iter().flat_map(|(letters, _)| letters.chars()).map(|letter| (letter, size(letter))).collect();
    let letters: Vec<char> = sizes.keys().copied().collect();
    let shape: Vec<usize> = result.chars().map(size).collect();
    let mut sum = ArrayD::<f64>::zeros(IxDyn(&shape));
    for mut number in 0..sizes.values().product() {
        let mut place = BTreeMap::new();
        for letter in &letters {
            place.insert(*letter, number % sizes[letter]);
            number /= sizes[letter];
        }
        let at = |letters: &str| letters.chars().map(|letter| place[&letter]).collect::<Vec<_>>();
        sum[&at(result)[..]] +=
            inputs.iter().map(|(letters, x)| f64::from(x[&at(letters)[..]])).product::<f64>();
    }
    sum
}

/// A network of values of these letters gives what the loops do.
fn assert_sums<S: Spec>(net: &Network<S>, inputs: &[&str], result: &str) {
    let names = ["x", "y", "z"];
    let inputs: Vec<_> =
        inputs.iter().enumerate().map(|(seed, letters)| (*letters, array(letters, seed))).collect();
    let mut batch = Batch::new(net).unwrap();
    for (name, (_, x)) in names.iter().zip(&inputs) {
        batch.set(name, x).unwrap();
    }
    let outputs = infer(net, &Parameters::create(net).unwrap(), batch).unwrap();
    let (found, expected) = (outputs.at::<f32>(0).unwrap(), by_loops(&inputs, result));
    assert_eq!(found.shape(), expected.shape(), "{inputs:?} to {result}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-5,
            "{found} is not {expected}: {inputs:?} to {result}"
        );
    }
}

#[test]
fn products_of_rows() {
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, _, 4, 5>| einsum("bij,bjk->bik", x, y));
    assert_sums(&net, &["bij", "bjk"], "bik");
    // What comes last need not be what is summed over, and spaces say nothing.
    let net =
        network!(|x: Tensor<f32, _, 4, 2>, y: Tensor<f32, _, 5, 4>| einsum("b j i, b k j -> b k i", x, y));
    assert_sums(&net, &["bji", "bkj"], "bki");
    // Several letters are summed over, several are kept by both.
    let net =
        network!(|x: Tensor<f32, _, 2, 4, 5>, y: Tensor<f32, _, 4, 5, 3>| einsum("bijk,bjkm->bmi", x, y));
    assert_sums(&net, &["bijk", "bjkm"], "bmi");
    let net =
        network!(|x: Tensor<f32, _, 2, 3, 4>, y: Tensor<f32, _, 5, 3, 4>| einsum("bihj,bkhj->bhik", x, y));
    assert_sums(&net, &["bihj", "bkhj"], "bhik");
    // A number for each row, a product without sum, and outer products.
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, _, 2, 4>| einsum("bij,bij->b", x, y));
    assert_sums(&net, &["bij", "bij"], "b");
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, _, 4>| einsum("bij,bj->bij", x, y));
    assert_sums(&net, &["bij", "bj"], "bij");
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 4>| einsum("bi,bj->bij", x, y));
    assert_sums(&net, &["bi", "bj"], "bij");
    // What only one has, and the result has not, is summed first.
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, _, 4, 5>| einsum("bij,bjk->bj", x, y));
    assert_sums(&net, &["bij", "bjk"], "bj");
}

#[test]
fn products_with_values_without_rows() {
    let net = network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, 4, 5>| einsum("bj,jk->bk", x, y));
    assert_sums(&net, &["bj", "jk"], "bk");
    let net = network!(|x: Tensor<f32, 5, 4>, y: Tensor<f32, _, 4>| einsum("kj,bj->bk", x, y));
    assert_sums(&net, &["kj", "bj"], "bk");
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, 4, 5>| einsum("bij,jk->bki", x, y));
    assert_sums(&net, &["bij", "jk"], "bki");
    let net = network!(|x: Tensor<f32, _, 3, 4>, y: Tensor<f32, 3, 4, 5>| einsum("bhj,hjk->bhk", x, y));
    assert_sums(&net, &["bhj", "hjk"], "bhk");
    let net = network!(|x: Tensor<f32, 3, 4, 5>, y: Tensor<f32, _, 3, 2, 4>| einsum("hjk,bhij->bikh", x, y));
    assert_sums(&net, &["hjk", "bhij"], "bikh");
    // Without rows at all.
    let net = network!(|x: Tensor<f32, 2, 4>, y: Tensor<f32, 4, 5>| einsum("ij,jk", x, y));
    assert_sums(&net, &["ij", "jk"], "ik");
    let net = network!(|x: Tensor<f32, 4>, y: Tensor<f32, 4>| einsum("j,j->", x, y));
    assert_sums(&net, &["j", "j"], "");
    let net = network!(|x: Tensor<f32, 2>, y: Tensor<f32, 4>| einsum("i,j->ji", x, y));
    assert_sums(&net, &["i", "j"], "ji");
}

#[test]
fn one_value_and_more_than_two() {
    let net = network!(|x: Tensor<f32, _, 2, 4>| einsum("bij->bji", x));
    assert_sums(&net, &["bij"], "bji");
    let net = network!(|x: Tensor<f32, _, 2, 4, 5>| einsum("bijk->bk", x));
    assert_sums(&net, &["bijk"], "bk");
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, 5, 2, 4>, z: Tensor<f32, _, 4>| {
        einsum("bi,kij,bj->bk", x, y, z)
    });
    assert_sums(&net, &["bi", "kij", "bj"], "bk");
    // A letter that the first two have stays for the third.
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, _, 4, 5>, z: Tensor<f32, 4, 5>| {
        einsum("bij,bjk,jk->bi", x, y, z)
    });
    assert_sums(&net, &["bij", "bjk", "jk"], "bi");
}

/// `...` is what has no letter, aligned from the last; without `->` the letters that occur once are the result.
#[test]
fn what_is_left_out() {
    let net =
        network!(|x: Tensor<f32, _, 3, 2, 4>, y: Tensor<f32, _, 3, 4, 5>| einsum("...ij,...jk->...ik", x, y));
    assert_sums(&net, &["bhij", "bhjk"], "bhik");
    let net = network!(|x: Tensor<f32, _, 3, 4>, y: Tensor<f32, 4, 5>| einsum("...j,jk->...k", x, y));
    assert_sums(&net, &["bhj", "jk"], "bhk");
    let net = network!(|x: Tensor<f32, _, 3, 4>, y: Tensor<f32, 3, 4>| einsum("...j,...j->...", x, y));
    assert_sums(&net, &["bhj", "hj"], "bh");
    let net = network!(|x: Tensor<f32, _, 4, 3>| einsum("b...m->bm...", x));
    assert_sums(&net, &["bjm"], "bmj");
    let net = network!(|x: Tensor<f32, _, 5, 2>| einsum("bki", x));
    assert_sums(&net, &["bki"], "bik");
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, 4, 5>| einsum("...j,jk", x, y));
    assert_sums(&net, &["bij", "jk"], "bik");
}

/// In a sub-network, the text may be a constant, and sizes those of the caller or of a batch.
#[test]
fn sizes_that_are_known_later() {
    let net = network!(|x: Tensor<f32, _, T, 4>, y: Tensor<f32, _, U, 4>| {
        const FITS: &str = "bik,bjk->bij";
        einsum(FITS, x, y)
    });
    let of = |t: usize, u: usize| {
        let rows = Batch::new(&net).unwrap();
        let rows = rows.with("x", &ArrayD::from_elem(IxDyn(&[2, t, 4]), 0.5f32)).unwrap();
        let rows = rows.with("y", &ArrayD::from_elem(IxDyn(&[2, u, 4]), 1.0f32)).unwrap();
        infer(&net, &Parameters::create(&net).unwrap(), rows)
            .map(|outputs| outputs.at::<f32>(0).unwrap().to_owned())
    };
    assert_eq!(of(3, 2).unwrap(), ArrayD::from_elem(IxDyn(&[2, 3, 2]), 2.0));
    // Two letters are summed over: as many elements are not as many of each.
    let net = network!(|x: Tensor<f32, _, T, 6>, y: Tensor<f32, _, U, 6>| einsum("btd,btd->b", x, y));
    let of = |t: usize, u: usize| {
        let rows = Batch::new(&net).unwrap();
        let rows = rows.with("x", &ArrayD::from_elem(IxDyn(&[2, t, 6]), 0.5f32)).unwrap();
        let rows = rows.with("y", &ArrayD::from_elem(IxDyn(&[2, u, 6]), 1.0f32)).unwrap();
        infer(&net, &Parameters::create(&net).unwrap(), rows)
            .map(|outputs| outputs.at::<f32>(0).unwrap().to_owned())
    };
    assert_eq!(of(3, 3).unwrap(), ArrayD::from_elem(IxDyn(&[2]), 9.0));
    let error = of(3, 1).unwrap_err().to_string();
    assert!(
        error.contains("`y` is f32[_, U, 6], but `t` is T in `x`, where `T` is 3 and `U` is 1"),
        "{error}"
    );
}

#[test]
fn whole_numbers_and_tokens() {
    let net = network!(|x: Tensor<i64, _, 2, 3>, y: Tensor<i64, 3, 2>| einsum("bij,jk->bik", x, y));
    let rows = [([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, 2]])];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    assert_eq!(outputs.at::<i64>(0).unwrap().iter().copied().collect::<Vec<_>>(), [7, 8, 16, 17]);
    // The rows are tokens, and the rows of a branch.
    let net = network!(|x: Seq<Tensor<f32, 2>>, w: Tensor<f32, 2, 2>| {
        let y = einsum("td,de->te", x, w);
        if sum(y, axis = 1) > 0.0 { einsum("td,td->td", y, y) } else { y }
    });
    let rows = [
        (vec![[1.0, 2.0], [-1.0, -2.0]], [[1.0, 0.0], [1.0, 1.0]]),
        (vec![[0.0, 3.0]], [[1.0, 0.0], [1.0, 1.0]]),
    ];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), rows).unwrap();
    let found: Vec<f32> = outputs.at::<f32>(0).unwrap().iter().copied().collect();
    assert_eq!(found, [9.0, 4.0, -3.0, -2.0, 9.0, 9.0]);
}

#[test]
fn gradients_are_those_of_differences() {
    let net = network!(|x: Tensor<f32, _, 3, 2>| {
        let keys = fc(x, 4, axis = -1);
        let fits = einsum("bid,bjd->bij", keys, fc(x, 4, axis = -1));
        let seen = einsum("bij,bjd,e->bied", fits, keys, parameter(2));
        mean(square(einsum("...ed,df->...fe", seen, parameter([4, 3])))) + mean(einsum("bied->b", seen))
    });
    let rows = [[[0.5, -1.0], [0.25, 0.75], [-0.5, 1.0]], [[1.0, 0.5], [-0.25, 0.0], [0.5, -0.75]]];
    check_gradients(&net, rows).unwrap();
}

/// A product of matrices is one, without copies around it.
#[test]
fn programs_have_what_they_need() {
    let operators = |text: String| {
        let names = ["matmul_v2", "transpose2", "reshape2", "reduce_sum", "elementwise_mul"];
        names.map(|name| text.matches(&format!("{name}(")).count())
    };
    let net = network!(|x: Tensor<f32, _, 2, 4>, y: Tensor<f32, _, 4, 5>| einsum("bij,bjk->bik", x, y));
    assert_eq!(operators(net.program().unwrap().to_string()), [1, 0, 0, 0, 0]);
    let net = network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, 4, 5>| einsum("bj,jk->bk", x, y));
    assert_eq!(operators(net.program().unwrap().to_string()), [1, 0, 0, 0, 0]);
    let net = network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, 4>| einsum("bj,bj->b", x, y));
    assert_eq!(operators(net.program().unwrap().to_string()), [0, 0, 0, 1, 1]);
}
