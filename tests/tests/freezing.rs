//! Parameters that a call of `train`, or a step, leaves as they are.

use std::collections::BTreeMap;

use paddle::attribute::network;
use paddle::{Adam, Decay, Options, ParameterGroup, Parameters, Sgd, Trainer, parameters};

/// Two networks that are trained against each other.
#[network]
pub mod gan {
    fn generated(noise: Tensor<f32, _, 3>) -> Tensor<f32, _, 4> {
        let hidden = batch_norm(fc(noise, 8, param = "G.hidden"), param = "G.norm");
        fc(relu(hidden), 4, param = "G.out")
    }

    fn judged(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 1> {
        let hidden = batch_norm(fc(x, 8, param = "D.hidden"), param = "D.norm");
        fc(leaky_relu(hidden), 1, param = "D.out")
    }

    /// What `D` is trained with.
    pub fn d(noise: Tensor<f32, _, 3>, real: Tensor<f32, _, 4>) -> Tensor<f32> {
        mean(softplus(judged(generated(noise))) + softplus(-judged(real)))
    }

    /// What `G` is trained with.
    pub fn g(noise: Tensor<f32, _, 3>) -> Tensor<f32> {
        mean(softplus(-judged(generated(noise))))
    }
}

/// The bits of each parameter.
fn bits(parameters: &Parameters) -> BTreeMap<String, Vec<u32>> {
    let values = |name: &str| parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect();
    parameters.names().map(|name| (name.to_string(), values(name))).collect()
}

/// The names of the parameters that differ.
fn changed(before: &BTreeMap<String, Vec<u32>>, parameters: &Parameters) -> Vec<String> {
    let after = bits(parameters);
    before.iter().filter(|(name, bits)| after[*name] != **bits).map(|(name, _)| name.clone()).collect()
}

fn noise(step: usize) -> [[f32; 3]; 5] {
    std::array::from_fn(|i| std::array::from_fn(|j| ((7 * i + 3 * j + step) % 11) as f32 / 5.0 - 1.0))
}

fn real() -> [[f32; 4]; 5] {
    std::array::from_fn(|i| std::array::from_fn(|j| ((5 * i + 2 * j) % 7) as f32 / 3.0 - 1.0))
}

#[test]
fn each_of_two_networks_leaves_every_bit_of_the_other() {
    let (d, g) = (gan::d(), gan::g());
    let mut parameters = parameters![gan::d, gan::g].unwrap();
    let adam = || Trainer::new(Adam::new(0.01)).decay(Decay::L2(0.1));
    let (mut d_trainer, mut g_trainer) = (adam(), adam());
    let of = |group: ParameterGroup, names: &[String]| {
        assert!(!names.is_empty() && names.iter().all(|name| group.contains(name)), "{names:?}");
    };
    for step in 0..5 {
        let before = bits(&parameters);
        let rows: Vec<_> = noise(step).into_iter().zip(real()).map(|(z, x)| d.row(z, x)).collect();
        d_trainer.step_with(&d, &mut parameters, rows, &Options::default().freeze(gan::params::G)).unwrap();
        of(gan::params::D, &changed(&before, &parameters));

        let before = bits(&parameters);
        let rows = noise(step + 100).map(|z| g.row(z));
        g_trainer
            .step_with(&g, &mut parameters, rows.to_vec(), &Options::default().freeze(gan::params::D))
            .unwrap();
        of(gan::params::G, &changed(&before, &parameters));
    }
    // Neither keeps anything of what it never trained.
    let kept = |trainer: &Trainer<Adam>| {
        trainer.states(&parameters).map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    of(gan::params::D, &kept(&d_trainer));
    of(gan::params::G, &kept(&g_trainer));
}

/// A step with everything trained, then one with a part frozen, then the first again: states go on where they were.
#[test]
fn what_is_frozen_for_a_while_keeps_its_states() {
    let d = gan::d();
    let mut parameters = Parameters::create(&d).unwrap();
    let mut trainer = Trainer::new(Adam::new(0.01));
    let rows = || noise(0).into_iter().zip(real()).map(|(z, x)| d.row(z, x)).collect::<Vec<_>>();
    trainer.step(&d, &mut parameters, rows()).unwrap();
    let moments = |trainer: &Trainer<Adam>, parameters: &Parameters, name: &str| {
        let moments = trainer.state::<f32>(parameters, name, "Moment1").unwrap();
        moments.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let [g, d_out] = ["G.out.w", "D.out.w"].map(|name| moments(&trainer, &parameters, name));
    let frozen = Options::default().freeze(gan::params::G);
    trainer.step_with(&d, &mut parameters, rows(), &frozen).unwrap();
    assert_eq!(moments(&trainer, &parameters, "G.out.w"), g);
    assert_ne!(moments(&trainer, &parameters, "D.out.w"), d_out);
    trainer.step(&d, &mut parameters, rows()).unwrap();
    assert_ne!(moments(&trainer, &parameters, "G.out.w"), g);
}

#[test]
fn one_parameter_can_be_frozen_and_not_all() {
    let d = gan::d();
    let mut parameters = Parameters::create(&d).unwrap();
    let rows = || noise(0).into_iter().zip(real()).map(|(z, x)| d.row(z, x)).collect::<Vec<_>>();
    let before = bits(&parameters);
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let one = Options::default().freeze(gan::params::D::out::w);
    trainer.train(&d, &mut parameters, [rows()], one, |_| Ok(())).unwrap();
    let names = changed(&before, &parameters);
    assert!(!names.contains(&"D.out.w".to_string()) && names.contains(&"D.out.b".to_string()), "{names:?}");

    let all = Options::default().freeze(gan::params::D).freeze(gan::params::G);
    let before = bits(&parameters);
    let error = trainer.step_with(&d, &mut parameters, rows(), &all).unwrap_err();
    assert!(error.to_string().contains("no parameters to train"), "{error}");
    assert_eq!(changed(&before, &parameters), Vec::<String>::new());
}
