//! Metrics over a pass, beside what other libraries say: scikit-learn 1.7 for classes, scores and numbers, NLTK 3.10 for BLEU
//! and distances, seqeval 1.2 for chunks. Their values were computed once, from the same numbers of a congruence.

use ndarray::{ArrayD, ArrayViewD, Axis};
use paddle::best::{Best, EarlyStopping};
use paddle::event::EventKind;
use paddle::metrics::{
    AreaUnderCurve, Average, Bleu, Chunks, Confusion, EditDistance, MeanAbsoluteError, Measure, MeasureError,
    Perplexity, RSquared, Scheme, Sequences, TopK,
};
use paddle::reader::{DataSet, Reader};
use paddle::{Ended, Error, Options, Parameters, Sgd, Trainer, infer_each, network};

/// Numbers of 31 bits, by a linear congruence modulo 2⁶⁴.
fn numbers(count: usize, seed: u64) -> Vec<i64> {
    let next =
        |x: &u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(seed), next).skip(1).take(count).map(|x| (x >> 33) as i64).collect()
}

fn array<T>(values: impl IntoIterator<Item = T>) -> ArrayD<T> {
    ndarray::Array1::from_iter(values).into_dyn()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

/// The value of a measure that was given 100 rows as a whole; it is that of parts which are merged.
fn measured<M, P, R>(new: impl Fn() -> M, predicted: &ArrayD<P>, right: &ArrayD<R>) -> M
where
    M: for<'a> Measure<Batch<'a> = (ArrayViewD<'a, P>, ArrayViewD<'a, R>)>,
{
    let (mut whole, mut merged) = (new(), new());
    whole.add((predicted.view(), right.view())).unwrap();
    for rows in [0..1, 1..37, 37..37, 37..100] {
        let mut part = new();
        let rows = ndarray::Slice::from(rows);
        part.add((predicted.slice_axis(Axis(0), rows), right.slice_axis(Axis(0), rows))).unwrap();
        merged.merge(&part).unwrap();
    }
    near(merged.value(), whole.value());
    whole
}

#[test]
fn the_area_under_the_curve_is_that_of_scikit_learn() {
    let bits = numbers(200, 1);
    let labels = array(bits[..100].iter().map(|b| b % 2));
    let scores = array(bits[100..].iter().zip(&labels).map(|(b, label)| (b % 50 + 20 * label) as f32 / 64.0));
    near(measured(AreaUnderCurve::default, &scores, &labels).value(), 0.829_061_595_700_702_8);
    // Without one of the classes nothing ranks above anything.
    assert_eq!(measured(AreaUnderCurve::default, &scores, &labels.mapv(|_| 1)).value(), 0.5);
    assert_eq!(AreaUnderCurve::default().value(), 0.5);
}

#[test]
fn counts_of_classes_are_those_of_scikit_learn() {
    let bits = numbers(400, 1);
    let predicted: Vec<i64> = bits[200..300].iter().map(|b| b % 4).collect();
    let right =
        array(predicted.iter().zip(&bits[300..]).map(|(p, b)| if b % 3 == 0 { b / 3 % 4 } else { *p }));
    let predicted = array(predicted);
    let classes = measured(|| Confusion::new(4), &predicted, &right);
    let matrix = [[12, 3, 0, 0], [6, 25, 5, 6], [1, 1, 16, 2], [2, 4, 5, 12]];
    assert_eq!(classes.matrix(), ndarray::arr2(&matrix));
    near(classes.value(), 0.65);
    near(classes.precision(Average::Macro), 0.636_097_236_097_236_1);
    near(classes.recall(Average::Macro), 0.679_244_306_418_219_5);
    near(classes.f1(Average::Macro), 0.646_781_260_532_524_5);
    near(classes.f1(Average::Micro), 0.65);
    near(classes.precision(Average::Class(1)), 0.757_575_757_575_757_6);
    near(classes.recall(Average::Class(1)), 0.595_238_095_238_095_2);
    near(classes.f1(Average::Class(3)), 0.558_139_534_883_720_9);

    let two =
        measured(|| Confusion::new(2), &predicted.mapv(|class| class % 2), &right.mapv(|class| class % 2));
    near(two.precision(Average::Class(1)), 0.886_792_452_830_188_7);
    near(two.recall(Average::Class(1)), 0.723_076_923_076_923_1);
    near(two.f1(Average::Class(1)), 0.796_610_169_491_525_4);

    // What there is nothing of is 0.
    let none = Confusion::new(2);
    assert_eq!((none.value(), none.f1(Average::Macro), none.recall(Average::Class(1))), (0.0, 0.0, 0.0));
    assert_eq!((none.precision(Average::Class(2)), Confusion::new(0).f1(Average::Macro)), (0.0, 0.0));
}

#[test]
fn top_k_is_that_of_scikit_learn() {
    let scores: Vec<f32> = numbers(500, 2).iter().map(|b| ((b >> 3) % 997) as f32 / 997.0).collect();
    let scores = ArrayD::from_shape_vec(vec![100, 5], scores).unwrap();
    let right = array(numbers(100, 3).iter().map(|b| b % 5));
    for (k, expected) in [(0, 0.0), (1, 0.19), (2, 0.41), (3, 0.65), (5, 1.0)] {
        near(measured(|| TopK::new(k), &scores, &right).value(), expected);
    }
    let mut even = TopK::new(1);
    let equal = ndarray::arr2(&[[0.5, 0.5], [0.5, 0.5]]).into_dyn();
    even.add((equal.view(), array([0, 1]).view())).unwrap();
    assert_eq!(even.value(), 0.5);
}

#[test]
fn errors_of_numbers_are_those_of_scikit_learn() {
    let drawn: Vec<f32> = numbers(100, 4).iter().map(|b| (b % 1000) as f32 / 100.0).collect();
    let right = array(
        drawn
            .iter()
            .zip(numbers(100, 5))
            .map(|(&p, b)| (f64::from(p) * 0.75 + (b % 100) as f64 / 50.0 + 1000.0) as f32),
    );
    let predicted = array(drawn.iter().map(|p| p + 1001.0));
    let error = measured(MeanAbsoluteError::default, &predicted, &right).value();
    let explained = measured(RSquared::default, &predicted, &right).value();
    assert!((error - 1.334_400_634_765_625).abs() < 1e-4, "{error}");
    assert!((explained - 0.534_696_145_147_759_5).abs() < 1e-4, "{explained}");
    assert_eq!(measured(RSquared::default, &right, &right).value(), 1.0);
    let constant = right.mapv(|_| 3.0);
    assert_eq!(measured(RSquared::default, &predicted, &constant).value(), 0.0);
    assert_eq!(measured(RSquared::default, &constant, &constant).value(), 1.0);
}

#[test]
fn perplexity_is_over_tokens() {
    let mut perplexity = Perplexity::default();
    assert_eq!(perplexity.value(), 1.0);
    perplexity.add(array([4.0_f32.ln(); 3]).view()).unwrap();
    perplexity.add(array([2.0_f32.ln()]).view()).unwrap();
    // (4³ · 2)^(1/4), and not (4 + 2) / 2.
    assert!((perplexity.value() - 128.0_f64.powf(0.25)).abs() < 1e-6);
}

/// Texts, and others that are near them.
fn texts() -> [Vec<Vec<i64>>; 3] {
    let said: Vec<Vec<i64>> =
        (0..8).map(|i| numbers(12 + i, 10 + i as u64).iter().map(|b| b % 7).collect()).collect();
    let near = |text: &[i64], seed: u64| -> Vec<i64> {
        let drawn = numbers(text.len(), seed);
        let pairs = text.iter().zip(&drawn);
        match seed % 2 {
            1 => pairs.filter(|(_, b)| *b % 9 != 0).map(|(token, _)| *token).collect(),
            _ => pairs.map(|(token, b)| if b % 5 == 0 { b % 7 } else { *token }).collect(),
        }
    };
    let first = said.iter().zip(30..).map(|(text, seed)| near(text, seed)).collect();
    let second = said.iter().zip(51..).map(|(text, seed)| [near(text, seed), vec![1, 2]].concat()).collect();
    [said, first, second]
}

#[test]
fn bleu_is_that_of_nltk() {
    let [said, first, second] = texts();
    let value = |mut bleu: Bleu, references: &[&Vec<Vec<i64>>]| {
        // In two parts, which are merged.
        let mut other = bleu.clone();
        for (bleu, rows) in [(&mut bleu, 0..3), (&mut other, 3..8)] {
            let references: Vec<Sequences> =
                references.iter().map(|texts| texts[rows.clone()].iter().collect()).collect();
            bleu.add((said[rows].iter().collect(), &references)).unwrap();
        }
        bleu.merge(&other).unwrap();
        bleu.value()
    };
    near(value(Bleu::default(), &[&first]), 0.678_688_548_861_307_4);
    near(value(Bleu::default(), &[&second]), 0.690_287_796_927_448_3);
    near(value(Bleu::default(), &[&first, &second]), 0.922_412_968_268_783_2);
    near(value(Bleu::new(2), &[&first]), 0.812_855_552_392_000_9);
    assert_eq!(Bleu::default().value(), 0.0);
}

#[test]
fn distances_are_those_of_nltk() {
    let [said, first, _] = texts();
    let mut distance = EditDistance::default();
    let edits = said.iter().zip(&first).map(|(said, right)| {
        let mut one = EditDistance::default();
        one.add(([said].iter().collect(), [right].iter().collect())).unwrap();
        distance.merge(&one).unwrap();
        one.edits()
    });
    assert_eq!(edits.collect::<Vec<_>>(), [1, 1, 3, 2, 2, 2, 5, 2]);
    near(distance.value(), 0.153_846_153_846_153_85);
    assert_eq!(distance.wrong(), 1.0);
    let mut empty = EditDistance::default();
    empty.add(([vec![], vec![1, 2]].iter().collect(), [vec![3], vec![]].iter().collect())).unwrap();
    assert_eq!((empty.edits(), empty.value()), (3, 3.0));
}

#[test]
fn chunks_are_those_of_seqeval() {
    for (scheme, tags, expected) in [
        (Scheme::Iob, 2, [0.659_574_468_085_106_3, 0.650_349_650_349_650_3, 0.654_929_577_464_788_6]),
        (Scheme::Ioe, 2, [0.644_736_842_105_263_2, 0.644_736_842_105_263_2, 0.644_736_842_105_263_2]),
        (Scheme::Iobes, 4, [0.710_059_171_597_633_1, 0.727_272_727_272_727_3, 0.718_562_874_251_497]),
    ] {
        let of = |seed: u64| numbers(20, seed);
        let predicted: Vec<Vec<i64>> =
            (100..110).map(|seed| of(seed).iter().map(|b| b % (3 * tags + 1)).collect()).collect();
        let right = predicted.iter().zip(200..).map(|(tags_of, seed)| -> Vec<i64> {
            let pairs = tags_of.iter().zip(of(seed));
            pairs.map(|(&tag, b)| if b % 3 == 0 { (b >> 8) % (3 * tags + 1) } else { tag }).collect()
        });
        let right: Vec<_> = right.collect();
        let (mut chunks, mut other) = (Chunks::new(scheme, 3), Chunks::new(scheme, 3));
        chunks.add((predicted[..4].iter().collect(), right[..4].iter().collect())).unwrap();
        other.add((predicted[4..].iter().collect(), right[4..].iter().collect())).unwrap();
        chunks.merge(&other).unwrap();
        let found = [chunks.precision(), chunks.recall(), chunks.value()];
        found.into_iter().zip(expected).for_each(|(found, expected)| near(found, expected));
    }
    // Neighbours of a kind are one chunk, where kinds alone are marked.
    let mut plain = Chunks::new(Scheme::Plain, 2);
    plain.add(([[0, 0, 1, 2, 1]].iter().collect(), [[0, 0, 1, 2, 2]].iter().collect())).unwrap();
    assert_eq!((plain.precision(), plain.recall()), (2.0 / 3.0, 1.0));
}

#[test]
fn what_cannot_be_counted_is_an_error_and_does_not_count() {
    let (two, three) = (array([0.5_f32, 0.25]), array([0_i64, 1, 1]));
    let mut area = AreaUnderCurve::default();
    let lengths = MeasureError::Lengths { predicted: 2, right: 3 };
    assert_eq!(area.add((two.view(), three.view())), Err(lengths));
    assert_eq!(
        area.add((two.view(), array([1, 2]).view())),
        Err(MeasureError::Class { row: 1, found: 2, classes: 2 })
    );
    let nan = area.add((array([0.5, f32::NAN]).view(), array([1, 0]).view()));
    assert!(matches!(nan, Err(MeasureError::NotFinite { row: 1, .. })));
    assert_eq!(area, AreaUnderCurve::default());

    let mut classes = Confusion::new(2);
    assert!(classes.add((array([1, -1]).view(), array([1, 1]).view())).is_err());
    assert_eq!(classes, Confusion::new(2));
    assert_eq!(classes.merge(&Confusion::new(3)), Err(MeasureError::Settings));
    assert_eq!(TopK::new(1).merge(&TopK::new(2)), Err(MeasureError::Settings));
    assert_eq!(Bleu::new(2).merge(&Bleu::new(3)), Err(MeasureError::Settings));
    assert!(TopK::new(1).add((two.view(), array([0, 1]).view())).is_err());
    assert!(RSquared::default().add((array([f32::INFINITY]).view(), array([1.0]).view())).is_err());
    let mut chunks = Chunks::new(Scheme::Iob, 1);
    assert!(chunks.add(([vec![0, 3]].iter().collect(), [vec![0, 2]].iter().collect())).is_err());
    assert!(chunks.add(([vec![0, 2]].iter().collect(), [vec![0]].iter().collect())).is_err());
    assert_eq!(chunks, Chunks::new(Scheme::Iob, 1));
    for offsets in [&[][..], &[0, 1], &[1, 2], &[0, 2, 1, 2]] {
        assert_eq!(Sequences::new(&[7, 8], offsets), Err(MeasureError::Offsets { tokens: 2 }));
    }
}

/// A measure in a handler says when to stop, and sequences come from a network.
#[test]
fn measures_in_handlers_and_of_networks() {
    let cost =
        network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1, param = "line") - y)));
    let line = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1, param = "line");
        (price, y)
    });
    let rows: Vec<([f32; 2], f32)> =
        (0..20).map(|k| ([k as f32 / 20.0, (k % 3) as f32], k as f32 / 10.0 - (k % 3) as f32)).collect();
    let mut parameters = Parameters::create((&cost, &line)).unwrap();
    let (mut early, mut explained) = (EarlyStopping::new(Best::highest().least_gain(1e-4), 2), Vec::new());
    let reader = rows.iter().copied().passes(10_000).batch(5);
    let ended =
        Trainer::new(Sgd::new(0.1)).train(&cost, &mut parameters, reader, Options::default(), |event| {
            if let EventKind::EndPass { pass, .. } = event.kind() {
                let mut measure = RSquared::default();
                event.infer_each(&line, rows.iter().copied().batch(7), |outputs| {
                    Ok(measure.add((outputs.get("price")?, outputs.get("y")?))?)
                })?;
                explained.push(measure.value());
                if early.see(pass, measure.value()) {
                    event.stop();
                }
            }
            Ok(())
        });
    assert_eq!(ended.unwrap(), Ended::Stopped);
    assert!(explained[0] < 0.9 && early.best().value().unwrap() > 0.99, "{explained:?}");

    let mut classes = Confusion::new(2);
    let failed = infer_each(&line, &parameters, rows.iter().copied().batch(7), |_| {
        Ok(classes.add((array([3]).view(), array([0]).view()))?)
    });
    let Err(Error::BatchFailed(failed)) = failed else { panic!("{failed:?}") };
    assert_eq!((failed.batch, failed.to_string().contains("found class 3")), (0, true));
}
