//! `attend` under masks that tiles meet in all ways: those that leave out what is behind, before, or far away, rows of which nothing
//! is left, and scores so low that what is left out counts.

use paddle_core::ops::{Attend, AttendGrad, Sample};
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::run::Case;

/// Which of so many places, the second number, a place sees.
type Sees = fn([usize; 2], [usize; 2]) -> bool;

const SEES: [(&str, Sees); 6] = [
    ("all", |_, _| true),
    ("those before it", |[i, j], _| j <= i),
    ("those behind it", |[i, j], _| j >= i),
    ("its neighbours", |[i, j], _| i.abs_diff(j) < 20),
    ("the first ones", |[_, j], [_, s]| j < s / 3),
    ("none, or some that are far away", |[i, j], [_, s]| i % 7 != 0 && j + 30 > s),
];

/// How a mask is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    Kept,
    LeftOut,
    Numbers(f64),
}

const WRITTEN: [(Written, f64); 6] = [
    (Written::Kept, -1e9),
    (Written::LeftOut, f64::NEG_INFINITY),
    // So little is left out that it counts.
    (Written::Kept, -3.0),
    (Written::Numbers(-1e4), 0.0),
    (Written::Numbers(f64::NEG_INFINITY), 0.0),
    (Written::Numbers(-2.0), 0.0),
];

fn attend((written, masked): (Written, f64), heads_last: bool) -> Attend {
    Attend { scale: 0.3, kept: written != Written::LeftOut, masked, heads_last: [heads_last; 4] }
}

/// The dimensions of operands of 2 heads: the places, and the elements of each.
fn dims(attend: &Attend, places: usize, width: usize) -> Vec<i64> {
    let [places, width] = [places, width].map(|size| size as i64);
    if attend.heads_last[0] { vec![places, 2, width] } else { vec![2, places, width] }
}

/// A network of two rows with this many places that ask and that are asked.
struct Network {
    attend: Attend,
    places: [usize; 2],
    mask: Host,
}

impl Network {
    fn new(written: (Written, f64), heads_last: bool, sees: Sees, places: [usize; 2]) -> Self {
        let [asking, asked] = places;
        let pairs = (0..asking).flat_map(|i| (0..asked).map(move |j| [i, j]));
        let seen = pairs.map(|pair| sees(pair, places));
        let mask = match written.0 {
            Written::Kept => Host::Bool(seen.collect()),
            Written::LeftOut => Host::Bool(seen.map(|seen| !seen).collect()),
            Written::Numbers(other) => {
                Host::F32(seen.map(|seen| if seen { 0.5 } else { other as f32 }).collect())
            }
        };
        Network { attend: attend(written, heads_last), places, mask }
    }

    /// Adds `Q`, `K` and `V`.
    fn operands(&self, sample: Sample) -> Sample {
        let [asking, asked] = self.places;
        let dims = |places, width| dims(&self.attend, places, width);
        sample.rows(2, &dims(asking, 5)).rows(2, &dims(asked, 5)).rows(2, &dims(asked, 18))
    }

    /// Adds the mask, which is for all rows and heads.
    fn masked(&self, sample: Sample) -> Sample {
        sample.dense(&self.places.map(|places| places as i64)).dtype(self.mask.slice().dtype())
    }

    fn forward(&self, draw: &mut Draw) -> Case {
        let mut case = Case::of(&self.masked(self.operands(Sample::of(self.attend))), draw);
        case.inputs[3] = self.mask.clone();
        case
    }

    /// The gradient of a case of `forward`.
    fn backward(&self, forward: &Case, draw: &mut Draw) -> Case {
        let Attend { scale, kept, masked, heads_last } = self.attend;
        let grad = AttendGrad { scale, kept, masked, heads_last, of_mask: false };
        let (asking, out) = (self.places[0], dims(&self.attend, self.places[0], 18));
        let sample = self.operands(Sample::of(grad)).rows(2, &out).rows(2, &[2, asking as i64]);
        let mut case = Case::of(&self.masked(sample.rows(2, &out)), draw);
        case.inputs[..3].clone_from_slice(&forward.inputs[..3]);
        let results = forward.run(&Reference::double()).unwrap();
        for (to, result) in case.inputs[3..5].iter_mut().zip(&results) {
            *to = result.rounded_as(to);
        }
        case.inputs[6] = self.mask.clone();
        case
    }
}

/// Compares all machines with the reference. Numbers that are none are as near as equal ones.
fn agree(case: &Case, within: f64, what: &str) {
    let exact = case.run(&Reference::double()).unwrap();
    for isa in Isa::available() {
        let found = case.run(&Cpu::with_isa(2, isa).unwrap()).unwrap();
        for (result, (found, exact)) in found.iter().zip(&exact).enumerate() {
            let pairs = found.floats().into_iter().zip(exact.floats());
            for (i, (x, y)) in pairs.enumerate() {
                let agree = x == y || x.is_nan() && y.is_nan() || (x - y).abs() < within * y.abs().max(1.0);
                let op = case.op().name();
                assert!(agree, "{what}: {op} on {}: result {result} at {i} is {x}, not {y}", isa.name());
            }
        }
    }
}

#[test]
fn what_a_mask_leaves_out_does_not_count() {
    let mut draw = Draw::new(71);
    for (name, sees) in SEES {
        for (k, written) in WRITTEN.into_iter().enumerate() {
            let sizes = [[70, 130], [33, 33], [1, 40], [100, 20]][k % 4];
            let network = Network::new(written, k % 2 == 0, sees, sizes);
            let forward = network.forward(&mut draw);
            let what = format!("{name}, {written:?}, {sizes:?}");
            // Scores near -10,000 have rounding errors of 0.001.
            let within = if written.0 == Written::Numbers(-1e4) { 5e-3 } else { 1e-4 };
            agree(&forward, within, &what);
            agree(&network.backward(&forward, &mut draw), within, &what);
        }
    }
}

/// A value that is not finite reaches every place, as 0 times it is no number.
#[test]
fn what_is_left_out_counts_if_it_is_not_finite() {
    let mut draw = Draw::new(72);
    let network = Network::new(WRITTEN[0], false, SEES[1].1, [40, 40]);
    let mut forward = network.forward(&mut draw);
    let Host::F32(values) = &mut forward.inputs[2] else { panic!("values are of f32") };
    *values.last_mut().unwrap() = f32::INFINITY;
    agree(&forward, 1e-4, "an infinite value");
    let last = forward.run(&Reference::double()).unwrap()[0].floats();
    assert!(last[17].is_finite() && last[last.len() - 1 - 18].is_nan());
}

/// Scores may be lower than what the mask puts in the place of others. Then these others have all the weight.
#[test]
fn what_is_left_out_counts_beside_lower_scores() {
    let mut draw = Draw::new(73);
    for written in [(Written::Kept, -1e3), (Written::Numbers(-2e3), 0.0)] {
        let mut network = Network::new(written, true, SEES[1].1, [40, 40]);
        network.attend.scale = -1024.0;
        let mut forward = network.forward(&mut draw);
        // The scores of the places that are seen first are the lowest: -5120, -3840, -2560 and -1280.
        let [Host::F32(asking), Host::F32(asked), ..] = &mut forward.inputs[..] else {
            panic!("they are of f32")
        };
        asking.fill(1.0);
        for (i, x) in asked.iter_mut().enumerate() {
            *x = 0.25 * (4 - i / 10 % 40 / 10) as f32;
        }
        agree(&forward, 1e-4, "scores of less than -1000");
        // Gradients are multiplied by -1024.
        agree(&network.backward(&forward, &mut draw), 1e-3, "scores of less than -1000");
    }
}
