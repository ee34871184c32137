//! An operator of the user's own on a cluster of processes.

use paddle::attribute::network;
use paddle::cluster::{Cluster, with_operators_of};
use paddle::operator::{Inputs, Operator, Output, Sample};
use paddle::{Adam, Options, Parameters, Trainer};

/// A network and its operator.
#[network]
pub mod own {
    #[operator(row_wise, gradient = of_same)]
    pub fn same(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    fn of_same(grad: _) -> _ {
        grad
    }

    pub fn cost(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(same(fc(x, 2)) - 1.0))
    }
}

impl Operator for own::same {
    fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f32>()?.assign(&inputs.get::<f32>(0)?);
        Ok(())
    }

    fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
        output.get::<f64>()?.assign(&inputs.get::<f64>(0)?);
        Ok(())
    }

    fn samples(&self, _: Sample) -> Vec<Sample> {
        Vec::new()
    }
}

fn main() {
    let net = own::cost();
    // The test runs itself once more, as a program that forgets it.
    if std::env::var_os("UNTOLD").is_none() {
        with_operators_of(&net).unwrap();
    }
    // In the processes of the cluster it does not return.
    let cluster = Cluster::local(2).servers(2);
    let train = |trainer: Trainer<Adam>| {
        let (mut trainer, mut parameters) = (trainer, Parameters::create_with_seed(&net, 1).unwrap());
        let options = Options::default().shards(2);
        for _ in 0..3 {
            trainer
                .step_with(&net, &mut parameters, [[1.0, 2.0], [-1.0, 0.5]], &options)
                .map_err(|error| error.to_string())?;
        }
        Ok::<_, String>(parameters.get::<f32>("fc.w").unwrap())
    };
    let together = train(Trainer::new(Adam::new(0.1)).on(&cluster));
    if std::env::var_os("UNTOLD").is_some() {
        let error = together.unwrap_err();
        assert!(error.contains("`same`") && error.contains("with_operators_of"), "{error}");
        return;
    }
    assert_eq!(together, train(Trainer::new(Adam::new(0.1))));
    drop(cluster);
    let program = std::env::current_exe().unwrap();
    assert!(std::process::Command::new(program).env("UNTOLD", "1").status().unwrap().success());
}
