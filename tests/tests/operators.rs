//! Operators of the user's own: with a sub-network as gradient, imported, in files, and with kernels that fail.

use paddle::attribute::network;
use paddle::core::convert::{from_wire, legalise, to_wire};
use paddle::core::plan::PlanError;
use paddle::core::text;
use paddle::operator::{Inputs, Operator, OperatorError, Output, Sample};
use paddle::testing::{CheckError, DifferenceError, check_gradients, check_operator};
use paddle::{Batch, Dynamic, Error, Network, Parameters, Sgd, Trainer, infer};

/// Operators of this file.
#[network]
pub mod operators {
    /// Each number and its square, side by side. Its gradient is a sub-network.
    #[operator(row_wise, gradient = with_squares_gradient)]
    pub fn with_squares(x: Tensor<f32, _, D>, #[default = 1.0] factor: f32) -> Tensor<f32, _, D, 2>;

    fn with_squares_gradient(x: Tensor<f32, _, D>, grad: Tensor<f32, _, D, 2>, factor: f32) -> _ {
        let (plain, square) = (slice(grad, [2], [0], [1]), slice(grad, [2], [1], [2]));
        reshape(plain, [D]) + 2.0 * factor * x * reshape(square, [D])
    }

    /// How far each row is from the mean of all rows. Rows mix.
    #[operator(gradient = centred)]
    pub fn centre(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    fn centred(grad: Tensor<f32, _, D>) -> _ {
        centre(grad)
    }

    /// Which numbers are above those of `y`.
    #[operator(row_wise)]
    pub fn above(x: Tensor<f32, _, D>, y: Tensor<f32, D>) -> Tensor<bool, _, D>;

    /// Its kernel leaves elements as they are, its gradient is wrong, and it fails as it is told.
    #[operator(row_wise, gradient = wrong_gradient)]
    pub fn wrong(x: Tensor<f32, _, D>, #[default = 0] fault: i64) -> Tensor<f32, _, D>;

    fn wrong_gradient(grad: _) -> _ {
        grad * 2.0
    }
}

/// Networks that use them.
#[network]
pub mod nets {
    use super::operators::{above, centre, with_squares, wrong};
    use models::operators::{halves, thrice};

    /// Through a branch, so that rows are chosen, and through the gradient.
    pub fn cost(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let hidden = fc(x, 4);
        let squares: Tensor<f32, _, 4, 2> = with_squares(hidden, factor = 0.5);
        let answer = if y > 0.0 { fc(squares, 1) } else { fc(centre(hidden), 1) };
        mean(square(answer - y))
    }

    /// Truth values.
    pub fn is_above(x: Tensor<f32, _, 3>, y: Tensor<f32, 3>) -> _ {
        above(x, y)
    }

    /// Of another crate, by way of a layer.
    pub fn abroad(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 6> {
        thrice(halves(x))
    }

    /// Its gradient is twice what it is.
    pub fn doubted(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(wrong(fc(x, 2))))
    }

    /// Fails.
    pub fn failing(x: Tensor<f32, _, 2>) -> _ {
        wrong(x, fault = 1)
    }

    /// Panics.
    pub fn panicking(x: Tensor<f32, _, 2>) -> _ {
        wrong(x, fault = 2)
    }
}

/// Two operators of one name.
#[network]
pub mod clashing {
    use super::namesakes::above as other;
    use super::operators::above;

    /// Which is which?
    pub fn both(x: Tensor<f32, _, 2>, y: Tensor<f32, 2>) -> _ {
        above(other(x), y)
    }
}

/// An operator that has the name of another.
#[network]
pub mod namesakes {
    /// Nothing.
    #[operator(row_wise)]
    pub fn above(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;
}

/// Networks that use one of them.
#[network]
pub mod squares {
    use super::operators::with_squares;

    /// Their sum.
    pub fn total(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        sum(with_squares(x, factor = 3.0))
    }
}

impl Operator for operators::with_squares {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f32>(0)?, output.get::<f32>()?);
        let factor = inputs.number("factor")? as f32;
        for (x, mut y) in x.iter().zip(y.rows_mut()) {
            (y[0], y[1]) = (*x, factor * x * x);
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, mut y) = (inputs.get::<f64>(0)?, output.get::<f64>()?);
        let factor = inputs.number("factor")?;
        for i in 0..x.shape()[1] {
            y[[0, i, 0]] = x[[0, i]];
            y[[0, i, 1]] = factor * x[[0, i]] * x[[0, i]];
        }
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        let of = |rows| op.clone().rows(rows, &[3]);
        vec![of(0), of(1), of(4), of(5000), op.clone().sequences(&[2, 0, 1], &[3])]
    }
}

/// The mean of all rows, then the distances.
macro_rules! centre {
    ($float:ty, $inputs:ident, $output:ident) => {{
        let (x, mut y) = ($inputs.get::<$float>(0)?, $output.get::<$float>()?);
        let rows = x.shape()[0];
        for column in 0..x.shape()[1] {
            let sum: $float = (0..rows).map(|row| x[[row, column]]).sum();
            for row in 0..rows {
                y[[row, column]] = x[[row, column]] - sum / rows as $float;
            }
        }
        Ok(())
    }};
}

impl Operator for operators::centre {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        centre!(f32, inputs, output)
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        centre!(f64, inputs, output)
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        [0, 1, 5].map(|rows| op.clone().rows(rows, &[2])).into()
    }
}

impl Operator for operators::above {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, y, mut out) = (inputs.get::<f32>(0)?, inputs.get::<f32>(1)?, output.get::<bool>()?);
        for (x, mut out) in x.rows().into_iter().zip(out.rows_mut()) {
            for (i, x) in x.iter().enumerate() {
                out[i] = *x > y[i];
            }
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let (x, y, mut out) = (inputs.get::<f64>(0)?, inputs.get::<f64>(1)?, output.get::<bool>()?);
        for i in 0..x.shape()[1] {
            out[[0, i]] = x[[0, i]] > y[i];
        }
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        [0, 1, 4].map(|rows| op.clone().rows(rows, &[3]).dense(&[3])).into()
    }
}

impl Operator for namesakes::above {
    fn cpu(&self, _: &Inputs<'_>, _: &mut Output<'_>) -> Result<(), String> {
        Ok(())
    }

    fn reference(&self, _: &Inputs<'_>, _: &mut Output<'_>) -> Result<(), String> {
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        // Nothing is written.
        vec![op.rows(2, &[2])]
    }
}

impl Operator for operators::wrong {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        match inputs.number("fault")? as i64 {
            0 => output.get::<f32>()?.assign(&inputs.get::<f32>(0)?),
            1 => return inputs.get::<i64>(0).map(drop),
            _ => panic!("at row {}", inputs.get::<f32>(0)?.shape()[0]),
        }
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f64>()?.assign(&inputs.get::<f64>(0)?);
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        vec![op.rows(2, &[2])]
    }
}

#[test]
fn right_operators_are_right() {
    let compared = check_operator(&operators::with_squares).unwrap();
    // 0, 1 and 4 rows of 3 numbers, and 3 tokens of as many.
    assert_eq!((compared.elements, compared.rough), (3 + 12 + 9, 0));
    assert!(check_operator(&operators::centre).unwrap().elements == 12);
    assert_eq!(check_operator(&operators::above).unwrap().elements, 0);
    check_operator(&models::operators::halves).unwrap();
}

#[test]
fn wrong_operators_are_found() {
    let error = check_operator(&operators::wrong).unwrap_err();
    let CheckError::Gradient { error: DifferenceError::Differs { gradient, difference, .. }, .. } = &error
    else {
        panic!("{error}");
    };
    assert!((gradient / difference - 2.0).abs() < 1e-6, "{error}");
    let error = check_operator(&namesakes::above).unwrap_err().to_string();
    assert!(error.contains("element 0 of the output of `above` is not written"), "{error}");
}

#[test]
fn it_trains_in_a_branch() {
    let net = nets::cost();
    let mut parameters = Parameters::create(&net).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.02));
    let rows: Vec<_> = (0..12)
        .map(|i| {
            let x = [i as f32 / 6.0 - 1.0, (i % 3) as f32 - 1.0, 0.5];
            net.row(x, x[0] * x[0] + 0.5 * x[1])
        })
        .collect();
    let batch = net.batch(&rows).unwrap();
    let mut costs = Vec::new();
    for _ in 0..200 {
        costs.push(trainer.step(&net, &mut parameters, &batch).unwrap().cost());
    }
    assert!(costs[199] < costs[0] / 3.0, "{} to {}", costs[0], costs[199]);
}

#[test]
fn the_gradients_of_networks_are_differences() {
    let net = nets::cost();
    let rows =
        [net.row([0.3, -0.7, 1.1], 0.4), net.row([-0.2, 0.9, 0.6], -0.8), net.row([0.5, 0.1, -1.3], 1.2)];
    let compared = check_gradients(&net, &rows[..]).unwrap();
    // Three layers: 3 · 4 + 4, 8 + 1, 4 + 1.
    assert_eq!((compared.elements, compared.rough), (16 + 9 + 5, 0));
    let net = nets::doubted();
    let error = check_gradients(&net, [[0.5, -0.25]]).unwrap_err();
    assert!(matches!(error, CheckError::Parameter(DifferenceError::Differs { .. })), "{error}");
}

#[test]
fn truth_values_and_other_crates() {
    let net = nets::is_above();
    let parameters = Parameters::create(&net).unwrap();
    let x = ndarray::arr2(&[[1.0f32, 2.0, 3.0], [3.0, 2.0, 1.0]]);
    let y = ndarray::arr1(&[2.0f32, 1.5, 2.0]);
    let batch = Batch::new(&net).unwrap().with("x", &x).unwrap().with("y", &y).unwrap();
    let outputs = infer(&net, &parameters, &batch).unwrap();
    let above = outputs.at::<bool>(0).unwrap();
    assert_eq!(above.iter().copied().collect::<Vec<_>>(), [false, true, true, true, true, false]);

    let net = nets::abroad();
    let outputs = infer(&net, &Parameters::create(&net).unwrap(), [[1.0, 2.0, 3.0, 4.0]]).unwrap();
    assert_eq!(outputs.at::<f32>(0).unwrap().as_slice().unwrap(), [3.0, 7.0, 3.0, 7.0, 3.0, 7.0]);
}

#[test]
fn a_failing_kernel_is_an_error() {
    let (failing, panicking) = (nets::failing(), nets::panicking());
    let parameters = Parameters::create((&failing, &panicking)).unwrap();
    let rows = vec![[0.0, 1.0]; 10_000];
    let error = infer(&failing, &parameters, &rows[..]).unwrap_err().to_string();
    assert!(error.contains("`wrong`: input 0 of `wrong` is f32, not i64"), "{error}");
    assert!(error.contains("tests/operators.rs:"), "{error}");
    for _ in 0..3 {
        let error = infer(&panicking, &parameters, &rows[..]).unwrap_err().to_string();
        assert!(error.contains("the kernel of `wrong` panicked: at row"), "{error}");
    }
}

#[test]
fn two_of_one_name_are_refused() {
    let error = clashing::both().program().unwrap_err();
    assert!(matches!(&error, Error::Operator(OperatorError::Clash { name }) if name == "above"), "{error}");
}

#[test]
fn a_program_is_written_read_and_linked() {
    let net = squares::total();
    let program = net.program().unwrap();
    let printed = program.to_string();
    assert!(printed.contains("custom(x, name=\"with_squares\", row_wise=true"), "{printed}");
    assert_eq!(text::parse(&printed).unwrap().to_string(), printed);
    let wire = to_wire(program);
    let read = from_wire(&wire.main, Some(&wire.startup)).unwrap();
    assert_eq!(read.to_string(), printed);
    let refused = legalise(program).unwrap_err().to_string();
    assert!(
        refused.contains("`with_squares`") && refused.contains("PaddlePaddle does not have"),
        "{refused}"
    );

    // Loaded, it says what it needs.
    let loaded = Network::<Dynamic<[f32; 2]>>::from_program(read).unwrap();
    let parameters = Parameters::create(&loaded).unwrap();
    let error = infer(&loaded, &parameters, [[1.0, 2.0]]).unwrap_err();
    assert!(
        matches!(&error, Error::Plan(PlanError::Unsupported { operator, .. }) if operator == "with_squares")
    );
    assert!(error.to_string().contains("with_operators"), "{error}");
    let linked = loaded.with_operators(&[&operators::with_squares]).unwrap();
    let outputs = infer(&linked, &parameters, [[1.0, 2.0]]).unwrap();
    // 1 + 2 + 3 · (1 + 4)
    assert_eq!(outputs.at::<f32>(0).unwrap().iter().next(), Some(&18.0));

    // An operator of that name with other types.
    let other = printed.replace("name=\"with_squares\"", "name=\"above\"");
    let other = Network::<Dynamic<[f32; 2]>>::from_program(text::parse(&other).unwrap()).unwrap();
    let error = other.with_operators(&[&operators::above]).unwrap_err().to_string();
    let expected = "uses the operator `above` as (x: f32[_, D]) -> f32[_, D, 2], row by row, but it is declared as \
                    (x: f32[_, D], y: f32[D]) -> bool[_, D], row by row";
    assert!(error.contains(expected), "{error}");
}
