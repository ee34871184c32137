//! Sizes that no memory has, of values and parameters; and what fits exactly, but not when it is rounded up.

use paddle::core::plan::RunError;
use paddle::core::text;
use paddle::{Dynamic, Error, Network, Parameters, Spec, infer, network};

use crate::allocator::limited;

/// What `infer` says of a network and these rows.
fn refused<S: Spec>(net: &Network<S>, rows: &[S::Row]) -> Error {
    let parameters = Parameters::create(net).unwrap();
    let error = infer(net, &parameters, rows).unwrap_err();
    let is_typed = error.out_of_memory().is_some() || matches!(error, Error::Run(RunError::TooLarge { .. }));
    assert!(is_typed, "{error:#?}");
    error
}

/// A program that fills a value of so many elements.
fn filling(elements: u64) -> String {
    format!(
        "program {{ rows _ block 0 (x: f32[_, 1]) {{ y: f32[{elements}] = fill_constant(value=1.0) return y }} }}"
    )
}

fn filled(elements: u64) -> Network<Dynamic<[f32; 1]>> {
    Network::from_program(text::parse(&filling(elements)).unwrap()).unwrap()
}

#[test]
fn constants() {
    let error = limited(1 << 32, || refused(&filled(1 << 31), &[[1.0]]));
    assert_eq!(
        error.to_string(),
        "cannot allocate 8589934592 bytes for the values of a run, of which `y` takes 8589934592"
    );
    let error = refused(&filled(1 << 40), &[[1.0]]);
    assert_eq!(error.out_of_memory().unwrap().bytes, Some(1 << 42), "{error}");
    let error = refused(&filled(1 << 60), &[[1.0]]);
    assert_eq!(error.out_of_memory().unwrap().bytes, Some(1 << 62), "{error}");
    // What no memory has is no program.
    let error = text::parse(&filling(1 << 62)).unwrap_err();
    assert_eq!(error.message, "`y` would be f32[4611686018427387904], which is larger than any memory");
}

#[test]
fn values_that_operators_make() {
    macro_rules! refused {
        ($(|$x:ident| $value:expr;)*) => {$({
            let net = network!(|$x: Tensor<f32, _, 1>| $value);
            let row = || net.row(1.0);
            let error = limited(1 << 32, || refused(&net, &[row(), row()]));
            assert!(error.out_of_memory().unwrap().bytes.unwrap() > 1 << 42, "{error}");
        })*};
    }
    refused! {
        |x| expand(x, [1099511627776]);
        |x| sum(expand(x, [1099511627776]));
        |x| tile(x, [1099511627776]);
        |x| pad(x, [0, 1099511627776]);
        |x| concat([x, expand(x, [1099511627776])]);
        |x| reshape(expand(x, [1048576, 1048576]), [1099511627776]);
        |x| one_hot(cast(x, i64), 1099511627776);
        |x| x + full([1099511627776], 1.0);
    }
}

#[test]
fn parameters() {
    let wide = network!(|x: Tensor<f32, _, 1>| fc(x, 1099511627776, param = "wide"));
    let error = Parameters::create(&wide).unwrap_err();
    assert_eq!(error.to_string(), "cannot allocate 4398046511104 bytes for the parameter `wide.w`");
    let table = network!(|ids: Tensor<i64, _, 1>| embedding(ids, [1099511627776, 4]));
    let error = Parameters::create(&table).unwrap_err();
    assert_eq!(error.out_of_memory().unwrap().bytes, Some(1 << 44), "{error}");
}

/// A larger batch than those before is laid out for somewhat more rows than it has, where there is memory for that.
#[test]
fn a_batch_that_fits_exactly() {
    let net = network!(|x: Tensor<f32, _, 64>| tanh(x));
    let rows: Vec<_> = (0..10_000).map(|k| net.row([k as f32 / 10_000.0; 64])).collect();
    let parameters = Parameters::create(&net).unwrap();
    infer(&net, &parameters, &rows[..10]).unwrap();
    let bytes = rows.len() * 64 * 4;
    // An allocation has the room to align a buffer, too.
    let fitting = limited(bytes + 64, || infer(&net, &parameters, &rows).unwrap());
    let again = infer(&net, &Parameters::create(&net).unwrap(), &rows).unwrap();
    assert_eq!(fitting.at::<f32>(0).unwrap(), again.at::<f32>(0).unwrap());
    let error = limited(bytes - 1, || infer(&net, &Parameters::create(&net).unwrap(), &rows).unwrap_err());
    assert!(error.out_of_memory().is_some(), "{error}");
}
