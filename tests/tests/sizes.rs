//! Sizes that rustc or the caller knows, from the source of a network to its runs.

use paddle::core::ops::Program;
use paddle::{Error, Network, Parameters, Sgd, Spec, Trainer, infer, network};

const WIDTH: usize = 6;

mod config {
    pub(crate) const INPUTS: usize = 4;
}

/// Sums of values whose sizes others know.
#[paddle::attribute::network]
pub mod sums {
    const HALF: usize = super::WIDTH / 2;
    const WORDS: usize;
    const MORE: usize = 2 * WORDS - 1;

    fn twice(x: Tensor<f32, _, D>) -> Tensor<f32, _, D> {
        x + x
    }

    /// Rustc knows all sizes.
    pub fn fixed(x: Tensor<f32, _, super::config::INPUTS>, y: Tensor<f32, _, { HALF + 1 }>) -> _ {
        let sum: Tensor<f32, _, { self::super::WIDTH - 2 }> = twice(x) + y;
        sum
    }

    /// Each instantiation has its own size.
    pub fn instance<const N: usize>(x: Tensor<f32, _, N>, y: Tensor<f32, _, { 2 * HALF }>) -> _ {
        const LAST: usize = N / 2 * 2;
        let sum: Tensor<f32, _, LAST> = x + y;
        sum
    }

    /// The caller knows a size.
    pub fn words(x: Tensor<f32, _, WORDS>, y: Tensor<f32, _, { MORE - 2 }>) -> _ {
        x + y
    }

    /// The caller knows one, and the instantiation another.
    pub fn both<const N: usize>(x: Tensor<f32, _, WORDS, N>) -> _ {
        x * 2.0
    }
}

/// Parameters whose shapes others know.
#[paddle::attribute::network]
pub mod mlp {
    const CLASSES: usize;

    fn features(x: _) -> Tensor<f32, _, { super::WIDTH / 2 }> {
        let hidden = fc(x, super::WIDTH, act = relu);
        const HALF: usize = super::WIDTH / 2;
        fc(hidden, HALF)
    }

    pub fn fixed(x: Tensor<f32, _, super::config::INPUTS>) -> _ {
        features(x)
    }

    pub fn instance<const HIDDEN: usize>(x: Tensor<f32, _, super::config::INPUTS>) -> _ {
        let hidden = fc(x, HIDDEN, act = relu);
        fc(hidden, HIDDEN + 1)
    }

    /// One parameter, where only rustc knows that the shapes are one.
    pub fn shared(x: Tensor<f32, _, super::WIDTH>, y: Tensor<f32, _, { super::config::INPUTS + 2 }>) -> _ {
        fc(x, 2, param = "D") + fc(y, 2, param = "D")
    }

    pub fn cost(x: Tensor<f32, _, super::config::INPUTS>, y: Tensor<i64, _, 1>) -> Tensor<f32> {
        let many = fc(features(x), 2 * CLASSES);
        mean(softmax_with_cross_entropy(fc(many, CLASSES), y))
    }
}

/// Imports what reads a path, which stays that of where it comes from.
#[paddle::attribute::network]
pub mod importer {
    use super::exporter::widened;

    const WIDTH: usize = 5;

    pub fn wide(x: Tensor<f32, _, WIDTH>) -> _ {
        widened(x)
    }
}

/// Exports what reads a path.
#[paddle::attribute::network]
pub mod exporter {
    /// A layer as wide as a `const` of this crate.
    pub fn widened(x: Tensor<f32, _, 5>) -> _ {
        fc(x, crate::WIDTH, param = "wide")
    }
}

fn shown(program: &Program, name: &str) -> String {
    program.show(program.ty(program.find(name).unwrap()))
}

#[test]
fn paths_are_bound_when_the_network_is_made() {
    let net = sums::fixed();
    let program = net.program().unwrap();
    assert_eq!((program.symbols().len(), program.checks().len()), (1, 0));
    assert_eq!(shown(program, "y"), "f32[_, 4]");
    let row = sums::fixed::Row { x: [1.0; config::INPUTS], y: [3.0; WIDTH / 2 + 1] };
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [row]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice(), Some(&[5.0; 4][..]));
    let net = network!(|x: Tensor<f32, _, self::WIDTH>| {
        const HALF: usize = crate::WIDTH / 2;
        let y: Tensor<f32, _, { 2 * HALF }> = relu(x);
        y
    });
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), [[1.0; WIDTH]]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [1, 6]);
}

#[test]
fn instances_are_networks_of_their_own() {
    let net = sums::instance::<6>();
    assert_eq!(shown(net.program().unwrap(), "sum"), "f32[_, 6]");
    let rows = [sums::instance::Row { x: vec![1.0; 6], y: [1.0; 6] }];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), &rows).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice(), Some(&[2.0; 6][..]));
    let wrong = [sums::instance::Row { x: vec![1.0; 5], y: [1.0; 6] }];
    assert!(infer(&net, &Parameters::create(&net).unwrap(), &wrong).is_err());
}

#[test]
fn sizes_of_the_caller_are_given_when_the_network_is_made() {
    let words = ["a", "b", "c"];
    let net = sums::words::with(sums::words::Sizes { WORDS: words.len() }).unwrap();
    assert_eq!(shown(net.program().unwrap(), "x"), "f32[_, 3]");
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [net.row(vec![1.0; 3], vec![2.0; 3])]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice(), Some(&[3.0; 3][..]));
    let net = sums::both::with::<2>(sums::both::Sizes { WORDS: 3 }).unwrap();
    let outputs = infer(&net, &parameters, [vec![vec![1.0, 2.0]; 3]]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().shape(), [1, 3, 2]);
    assert!(infer(&net, &parameters, [vec![vec![1.0, 2.0]; 4]]).is_err());
}

/// What the error says behind its place.
fn said(error: &Error) -> String {
    let text = error.to_string();
    let place = text.strip_prefix(concat!(file!(), ":")).unwrap_or(&text);
    place.trim_start_matches(|c: char| c.is_ascii_digit() || ":. ".contains(c)).to_string()
}

fn refused<S: Spec>(net: Result<Network<S>, Error>) -> String {
    match net {
        Ok(_) => panic!("the sizes are nonsense"),
        Err(error) => said(&error),
    }
}

#[test]
fn nonsense_of_the_caller_is_a_typed_error() {
    let with = |size| sums::words::with(sums::words::Sizes { WORDS: size });
    assert_eq!(
        refused(with(0)),
        "a dimension is a whole number above 0, but this is `WORDS`, where `WORDS` is 0"
    );
    assert_eq!(
        refused(with(4)),
        "`y` is f32[_, 2 * WORDS - 3], but `x` is f32[_, WORDS]: `+` needs shapes that agree, where `WORDS` is 4"
    );
    assert_eq!(refused(with(usize::MAX)), "a size overflows 64-bit integers");
    // One that can be counted, but not be had.
    let both = |words| sums::both::with::<2>(sums::both::Sizes { WORDS: words });
    let huge = both(1 << 50).unwrap();
    assert!(infer(&huge, &Parameters::create(&huge).unwrap(), [vec![vec![1.0, 2.0]; 4]]).is_err());
    assert_eq!(
        refused(both(1 << 60)),
        "`scale` would give f32[_, 1152921504606846976, 2], which is larger than any memory"
    );
}

#[test]
fn sizes_of_a_batch_are_checked_with_their_values() {
    let net = network!(|x: Tensor<f32, _, T>, y: Tensor<f32, _, U>| { x - y });
    let parameters = Parameters::create(&net).unwrap();
    let outputs = infer(&net, &parameters, [net.row(vec![3.0; 3], vec![1.0; 3])]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice(), Some(&[2.0; 3][..]));
    let error = infer(&net, &parameters, [net.row(vec![3.0; 3], vec![1.0; 4])]).unwrap_err();
    assert_eq!(
        said(&error),
        "`y` is f32[_, U], but `x` is f32[_, T]: `-` needs shapes that agree, where `T` is 3 and `U` is 4"
    );
}

#[test]
fn parameters_have_the_shapes_that_others_know() {
    let net = mlp::fixed();
    assert_eq!(shown(net.program().unwrap(), "features.hidden.w"), "f32[4, 6]");
    let large = mlp::instance::<16>();
    let parameters = Parameters::create(&large).unwrap();
    assert_eq!(parameters.get::<f32>("hidden.w").unwrap().shape(), [4, 16]);
    assert_eq!(shown(mlp::shared().program().unwrap(), "D.w"), "f32[6, 2]");
    // Xavier's bound, by the size of the instance.
    let weights = parameters.get::<f32>("hidden.w").unwrap();
    let largest = weights.iter().fold(0f32, |largest, weight| largest.max(weight.abs()));
    let bound = (6f32 / 20.0).sqrt();
    assert!(largest <= bound && largest > 0.8 * bound, "{largest}");
}

#[test]
fn what_is_imported_keeps_its_paths() {
    assert_eq!(shown(importer::wide().program().unwrap(), "wide.w"), "f32[5, 6]");
}

#[test]
fn a_network_of_the_callers_size_trains() {
    let classes = ["a", "b", "c"];
    let net = mlp::cost::with(mlp::cost::Sizes { CLASSES: classes.len() }).unwrap();
    assert_eq!(shown(net.program().unwrap(), "many.w"), "f32[3, 6]");
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let rows = [net.row([1.0, 2.0, 3.0, 4.0], 2), net.row([4.0, 3.0, 2.0, 1.0], 0)];
    let first = trainer.step(&net, &mut parameters, &rows).unwrap().cost();
    let mut last = first;
    for _ in 0..50 {
        last = trainer.step(&net, &mut parameters, &rows).unwrap().cost();
    }
    assert!(last < first, "{first} → {last}");
    assert!(mlp::cost::with(mlp::cost::Sizes { CLASSES: 0 }).is_err());
    let other = mlp::cost::with(mlp::cost::Sizes { CLASSES: 4 }).unwrap();
    let error = Parameters::create((&net, &other)).unwrap_err().to_string();
    assert!(error.starts_with(concat!("parameter `many.w` is [3, 6] at ", file!(), ":")), "{error}");
    let huge = mlp::cost::with(mlp::cost::Sizes { CLASSES: 1 << 28 }).unwrap();
    assert!(Parameters::create(&huge).is_err());
    assert!(mlp::cost::with(mlp::cost::Sizes { CLASSES: 1 << 61 }).is_err());
}

/// The rows of an iteration stay what they are: those that are still there, and not those around the loop.
#[test]
fn sizes_in_loops_that_rows_leave() {
    #[paddle::attribute::network]
    mod loops {
        const WORDS: usize;
        const WIDTH: usize;

        pub fn vector(words: Seq<i64>) -> Tensor<f32, _, WIDTH> {
            let mut h = zeros(WIDTH);
            for x in embedding(words, [WORDS, WIDTH], init = constant(1.0)) {
                h += x;
            }
            while mean(h, axis = 1) < 3.0 {
                h += 1.0;
            }
            h
        }
    }

    let net = loops::vector::with(loops::vector::Sizes { WORDS: 3, WIDTH: 2 }).unwrap();
    let texts = [vec![0, 1, 2, 0], vec![2], vec![]];
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), texts).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice(), Some(&[4.0, 4.0, 3.0, 3.0, 3.0, 3.0][..]));
}
