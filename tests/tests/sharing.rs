//! Parameters that networks share, within a module, between modules and across crates.

use models::gan;
use paddle::attribute::network as network_module;
use paddle::core::ops::Program;
use paddle::core::text;
use paddle::sharing::ParamUse;
use paddle::{Dynamic, Error, Network, Parameters, Sgd, Spec, Trainer, network, parameters};

/// A user of the discriminator of another crate, in its own words.
#[network_module]
mod judge {
    pub fn score(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 1> {
        let hidden = fc(x, 4, param = "D.hidden", act = relu);
        fc(hidden, 1, param = "D.out", clip = 1.0)
    }
}

fn names(parameters: &Parameters) -> Vec<&str> {
    parameters.names().collect()
}

#[test]
fn one_set_for_networks_of_two_crates() -> Result<(), Error> {
    let by_path = parameters![gan::d0, gan::d1, judge::score]?;
    let all = ["D.hidden.w", "D.hidden.b", "D.out.w", "D.out.b", "G.type.w", "G.type.b"];
    assert_eq!(names(&by_path), all);
    let by_value = Parameters::create((&gan::d0(), &gan::d1(), &judge::score()))?;
    assert_eq!(by_value.get::<f32>("D.hidden.w")?, by_path.get::<f32>("D.hidden.w")?);
    Ok(())
}

/// Also where the network that does not ask for one comes first.
#[test]
fn the_initialiser_that_was_asked_for_wins() -> Result<(), Error> {
    let constants = network!(|x: Tensor<f32, _, 3>| fc(
        x,
        4,
        param = "D.hidden",
        init = constant(0.25),
        bias_init = constant(0.5)
    ));
    let parameters = Parameters::create((&judge::score(), &constants))?;
    assert!(parameters.get::<f32>("D.hidden.w")?.iter().all(|&w| w == 0.25));
    assert!(parameters.get::<f32>("D.hidden.b")?.iter().all(|&b| b == 0.5));
    Ok(())
}

#[test]
fn what_rustc_compares() {
    let specs = <gan::d1::Spec as Spec>::PARAMS;
    let names: Vec<&str> = (0..specs.len()).map(|at| specs.name(at)).collect();
    assert_eq!(names, ["D.hidden.b", "D.hidden.w", "D.out.b", "D.out.w", "G.type.b", "G.type.w"]);
    let expected = ParamUse {
        dtype: "f32",
        shape: &[3, 4],
        initializer: Some("normal(0.0, 0.1)"),
        trainable: true,
        options: [None; 3],
    };
    assert_eq!((*specs.usage(1), specs.place(1)), (expected, "tests/crates/models/src/lib.rs:10:22"));
    assert_eq!(specs.usage(3).options, [Some("0.5"), None, None]);
}

#[test]
fn names_are_items() -> Result<(), Error> {
    let mut parameters = parameters![gan::d0, gan::d1]?;
    let d = ["D.hidden.w", "D.hidden.b", "D.out.w", "D.out.b"];
    assert_eq!(parameters.names_in(gan::params::D).collect::<Vec<_>>(), d);
    assert_eq!(parameters.names_in(gan::params::D::hidden).collect::<Vec<_>>(), d[..2]);
    let b = parameters.get::<f32>(gan::params::G::r#type::b)? + 1.0;
    parameters.set(gan::params::G::r#type::b, &b)?;
    assert_eq!(parameters.get::<f32>("G.type.b")?, b);
    Ok(())
}

#[test]
fn names_are_fields() -> Result<(), Error> {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let r#gen = fc(x, 1);
        let line = fc(r#gen, 1, param = "super.line");
        fc(line, 1, param = "super.line.w")
    });
    let parameters = Parameters::create(&net)?;
    let all = ["gen.w", "gen.b", "super.line.w", "super.line.b", "super.line.w.w", "super.line.w.b"];
    assert_eq!(names(&parameters), all);
    assert_eq!(parameters.names_in(net.params).count(), 6);
    assert_eq!(parameters.names_in(net.params.super_).collect::<Vec<_>>(), all[2..]);
    assert_eq!(parameters.names_in(net.params.super_.line.w).collect::<Vec<_>>(), all[4..]);
    assert_eq!(parameters.get::<f32>(net.params.r#gen.w)?.shape(), [2, 1]);
    assert_eq!(parameters.get::<f32>(net.params.super_.line.w)?.shape(), [1, 1]);
    assert_eq!(parameters.get::<f32>(net.params.super_.line.w.b)?.shape(), [1]);
    Ok(())
}

fn dynamic(parameter: &str) -> Network<Dynamic> {
    let source = format!(
        "program {{
          parameter D.hidden.w: {parameter}
          block 0 {{ return D.hidden.w }}
        }}"
    );
    let program: Program = text::parse(&source).unwrap();
    Network::from_program(program).unwrap()
}

/// What is made or loaded at run time is compared there, in the same words.
#[test]
fn networks_of_run_time_are_compared_at_run_time() {
    let fits = dynamic("f32[3, 4] = fill_constant(value=0.0)");
    assert!(Parameters::create((&gan::d0(), &fits)).is_ok());
    for (parameter, expected) in [
        (
            "f32[3, 5] = fill_constant(value=0.0) [at a.rs:1:2]",
            "parameter `D.hidden.w` is [3, 4] at tests/crates/models/src/lib.rs:10:22, but [3, 5] at a.rs:1:2\n",
        ),
        (
            "f32[3, 4] = fill_constant(value=0.0) [chosen]",
            "parameter `D.hidden.w` is initialised by `normal(0.0, 0.1)` at \
             tests/crates/models/src/lib.rs:10:22, but initialised by `constant(0.0)`\n",
        ),
    ] {
        let error = Parameters::create((&gan::d0(), &dynamic(parameter))).unwrap_err();
        assert!(matches!(error, Error::Parameter(_)));
        let error = error.to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(error.ends_with("give one of them another name with `param = \"..\"`"), "{error}");
    }
}

/// `lr = 0` leaves a layer as it is; decay pulls towards 0.
#[test]
fn options_are_honoured() -> Result<(), Error> {
    let cost = network!(|x: Tensor<f32, _, 1>| {
        let still = fc(x, 1, lr = 0, init = constant(0.5));
        let pulled = fc(x, 1, decay = 1, init = constant(0.5));
        mean(still + pulled)
    });
    let mut parameters = Parameters::create(&cost)?;
    Trainer::new(Sgd::new(0.1)).step(&cost, &mut parameters, [cost.row(0.0)])?;
    assert_eq!(parameters.get::<f32>(cost.params.still.b)?.sum(), 0.0);
    assert_eq!(parameters.get::<f32>(cost.params.still.w)?.sum(), 0.5);
    assert_eq!(parameters.get::<f32>(cost.params.pulled.b)?.sum(), -0.1);
    assert_eq!(parameters.get::<f32>(cost.params.pulled.w)?.sum(), 0.45);
    Ok(())
}

/// Several inputs have a weight each.
#[test]
fn weights_of_several_inputs() -> Result<(), Error> {
    let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 3>| {
        let both = fc([x, y], 4);
        both
    });
    let parameters = Parameters::create(&net)?;
    assert_eq!(names(&parameters), ["both.w0", "both.w1", "both.b"]);
    assert_eq!(parameters.get::<f32>(net.params.both.w1)?.shape(), [3, 4]);
    Ok(())
}
