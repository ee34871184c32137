//! Rows that do not fit a network, and readers that do not yield batches of its rows.

use paddle::attribute::network;
use paddle::{Error, Options, Parameters, Sgd, Trainer};

#[network]
mod line {
    pub fn cost(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(fc(x, 1) - y))
    }

    pub fn apart(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(fc(x, 2, param = "apart") - y))
    }
}

fn main() -> Result<(), Error> {
    let cost = line::cost();
    cost.row([1.0, 2.0, 3.0], 1.0);
    //~      ^^^^^^^^^^^^^^^ columns
    cost.row([1.0, 2.0], "one");
    //~                  ^^^^^ element
    cost.row([1.0, 2.0]);
    //~  ^^^ columns

    let mut parameters = Parameters::create(&cost)?;
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let row = cost.row([1.0, 2.0], 1.0);
    trainer.train(&cost, &mut parameters, [row], Options::default(), |_| Ok(()))?;
    //~                                   ^^^^^ batch
    trainer.step(&cost, &mut parameters, &[([1.0, 2.0], 1.0)])?;
    //~                                   ^^^^^^^^^^^^^^^^^^^ tuples
    let other = line::apart().row([1.0, 2.0], [3.0, 4.0]);
    trainer.step(&cost, &mut parameters, [other])?;
    //~                                  ^^^^^^^ rows of another network
    let lines = ["1.0 2.0 1.0".to_string()];
    trainer.train(&cost, &mut parameters, lines, Options::default(), |_| Ok(()))?;
    //~                                   ^^^^^ item
    Ok(())
}
