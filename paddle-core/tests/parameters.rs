//! Parameters: what their uses agree on, where it is kept, what training makes of it.

use paddle_core::convert::{from_wire, to_wire};
use paddle_core::ops::{Fill, Number, ParameterUse, Program, Sgd, UniformRandom};
use paddle_core::passes::backward::backward;
use paddle_core::passes::check_trainable;
use paddle_core::passes::optimize::{Settings, optimize};
use paddle_core::program::{BuildError, DType, ParameterOptions, Place, Role, Site, Type};
use paddle_core::text;

fn constant(value: f64, options: &ParameterOptions) -> ParameterUse {
    let fill = Fill { value: Number::Float(value), ty: Type::new(DType::F32, [2]) };
    ParameterUse { initializer: fill.into(), options: options.clone(), site: Site::default() }
}

fn options(set: impl FnOnce(&mut ParameterOptions)) -> ParameterOptions {
    let mut options = ParameterOptions::default();
    set(&mut options);
    options
}

/// What two uses of one name make of it.
fn both(first: ParameterUse, second: ParameterUse) -> Result<String, String> {
    let mut program = Program::new();
    let var = program.create_parameter("w", first).map_err(|error| error.to_string())?;
    assert_eq!(program.create_parameter("w", second).map_err(|error| error.to_string())?, var);
    let text = program.to_string();
    Ok(text.lines().nth(1).unwrap().trim().to_string())
}

#[test]
fn what_is_left_out_agrees_with_anything() {
    let chosen = options(|it| it.chosen = true);
    let some = options(|it| (it.lr, it.clip) = (Some(0.5), Some(1.0)));
    let other = options(|it| (it.lr, it.decay) = (Some(0.5), Some(0.1)));
    for (first, second, expected) in [
        (constant(0.0, &ParameterOptions::default()), constant(1.0, &chosen), "value=1.0) [chosen]"),
        (constant(1.0, &chosen), constant(0.0, &ParameterOptions::default()), "value=1.0) [chosen]"),
        (constant(1.0, &chosen), constant(1.0, &chosen), "value=1.0) [chosen]"),
        (constant(0.0, &some), constant(0.0, &other), "value=0.0) [lr=0.5 decay=0.1 clip=1.0]"),
    ] {
        assert_eq!(both(first, second), Ok(format!("parameter w: f32[2] = fill_constant({expected}")));
    }
}

#[test]
fn uses_that_disagree_are_refused() {
    let ty = Type::new(DType::F32, [2]);
    let plain = ParameterOptions::default();
    let uniform = UniformRandom { min: -0.5, max: 0.5, fan: None, path: String::new(), ty: ty.clone() };
    let shape = Fill { value: Number::Float(0.0), ty: Type::new(DType::F32, [2, 3]) };
    let dtype = Fill { value: Number::Float(0.0), ty: Type::new(DType::F64, [2]) };
    let chosen = options(|it| it.chosen = true);
    let lr = |value| constant(0.0, &options(|it| it.lr = Some(value)));
    for (first, second, expected) in [
        (constant(0.0, &plain), shape.into(), "[2, 3] here, but [2] where"),
        (constant(0.0, &plain), dtype.into(), "f64[2] here, but f32[2] where"),
        (
            constant(0.1, &chosen),
            uniform.into(),
            "initialised by `uniform(-0.5, 0.5)` here, but initialised by `constant(0.1)` where",
        ),
        (lr(0.5), lr(1.0), "trained with `lr = 1.0` here, but trained with `lr = 0.5` where"),
        (
            constant(0.0, &plain),
            constant(0.0, &options(|it| it.trainable = false)),
            "a statistic, which is not trained here, but trained where",
        ),
    ] {
        let expected = format!("parameter `w` is {expected} it was first used");
        assert_eq!(both(first, second), Err(expected));
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (name, value, expected) in [
        ("lr", -1.0, "`lr` of parameter `w` has to be 0 or a number above"),
        ("decay", f64::NAN, "`decay` of parameter `w` has to be 0 or a number above"),
        ("clip", 0.0, "`clip` of parameter `w` has to be a number above 0"),
        ("clip", f64::INFINITY, "`clip` of parameter `w` has to be a number above 0"),
    ] {
        let wanted = constant(0.0, &options(|it| *it.number_mut(name).unwrap() = Some(value)));
        let error = Program::new().create_parameter("w", wanted).unwrap_err();
        assert!(matches!(error, BuildError::Mismatch(_)));
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn options_and_places_come_back() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let file = program.create_file("src/model.rs");
    let site = Site { role: Role::Forward, place: Some(Place { file, line: 3, column: 14, layer: None }) };
    let all = ParameterOptions {
        chosen: true,
        trainable: false,
        lr: Some(0.1),
        decay: Some(1e-300),
        clip: Some(f64::MAX),
        former: Some("line_1.w".to_string()),
    };
    program.create_parameter("w", ParameterUse { site, ..constant(0.1, &all) })?;
    program.create_parameter("b", constant(0.0, &options(|it| it.lr = Some(0.0))))?;
    let printed = text::with_places(&program).to_string();
    let note = "[chosen untrained lr=0.1 decay=1e-300 clip=1.7976931348623157e308 former line_1.w at src/model.rs:3:14]";
    assert!(printed.contains(note), "{printed}");
    assert_eq!(text::parse(&printed)?, program);
    let wire = to_wire(&program);
    assert_eq!(from_wire(&wire.main, Some(&wire.startup))?, program);
    assert_eq!(program.parameter_place(program.find("w").unwrap()).unwrap().to_string(), "src/model.rs:3:14");
    Ok(())
}

#[test]
fn notes_that_are_not_known_are_refused() {
    for (note, expected) in [
        (
            "[rate=1.0]",
            "expected `chosen`, `untrained`, `lr`, `decay`, `clip`, `former`, `at` or `]`, found `rate`",
        ),
        ("[lr]", "expected `=`, found `]`"),
        ("[at a:1:1 chosen]", "expected `]`, found `chosen`"),
    ] {
        let source = format!(
            "program {{\n  parameter w: f32[] = fill_constant(value=0.0) {note}\n  block 0 {{\n  }}\n}}\n"
        );
        let error = text::parse(&source).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn statistics_and_frozen_parameters_are_not_trained_and_options_are_applied_in_order()
-> Result<(), Box<dyn std::error::Error>> {
    let mut program = text::parse(
        "program {
          parameter w: f32[2] = fill_constant(value=0.5) [lr=0.1 decay=0.01 clip=2.0]
          parameter mean: f32[2] = fill_constant(value=0.0) [untrained]
          parameter frozen: f32[2] = fill_constant(value=1.0) [lr=0.0]
          block 0 (x: f32[2]) {
            scaled: f32[2] = elementwise_mul(x, frozen)
            centred: f32[2] = elementwise_sub(scaled, mean)
            product: f32[2] = elementwise_mul(centred, w)
            cost: f32[] = reduce_sum(product)
            return cost
          }
        }",
    )?;
    check_trainable(&program)?;
    backward(&mut program)?;
    let trained = program.gradients().iter().map(|pair| program.var(pair.parameter).name.as_str());
    assert_eq!(trained.collect::<Vec<_>>(), ["w"]);
    optimize(&mut program, &Settings::default(), &|update| {
        let inputs = [update.pair.parameter, update.pair.gradient, update.learning_rate];
        update.program.append_op(Program::GLOBAL, Sgd {}, &inputs, update.site).map(drop)
    })?;
    program.verify()?;
    let printed = program.to_string();
    let updates = printed.split("[optimize]").map(|line| line.trim().lines().last().unwrap_or("").trim());
    let updates: Vec<&str> = updates.filter(|line| !line.starts_with("return") && *line != "}").collect();
    assert_eq!(
        updates,
        [
            "clip: f32[2] = clip(w@GRAD, min=-2.0, max=2.0)",
            "scale: f32[2] = scale(w, scale=0.01)",
            "elementwise_add: f32[2] = elementwise_add(clip, scale)",
            "scale_1: f32[] = scale(learning_rate, scale=0.1)",
            "sgd(w, elementwise_add, scale_1)",
        ]
    );
    Ok(())
}

/// The operator that ends the path is named, with its place, however far from the parameter it is.
#[test]
fn what_ends_the_path_to_the_cost_is_named() -> Result<(), Box<dyn std::error::Error>> {
    let source = |body: &str| {
        format!(
            "program {{
              parameter w: f32[] = fill_constant(value=0.5)
              parameter v: f32[] = fill_constant(value=0.5)
              block 0 (x: f32[]) {{ {body} return cost }}
            }}"
        )
    };
    for (body, expected) in [
        (
            "a: f32[] = tanh(w)
             b: bool[] = less_than(a, x) [at model.rs:4:7]
             c: f32[], d: f32[] = if(b) { block 1 { yield v, x } block 2 { yield x, x } }
             cost: f32[] = elementwise_add(c, d)",
            "model.rs:4:7: parameter `w` has no differentiable path to the cost, so it cannot be trained: `less_than` \
             has no derivative",
        ),
        (
            "cost: f32[] = elementwise_mul(w, x)",
            "parameter `v` has no path to the cost, so it cannot be trained",
        ),
        (
            "cost: bool[] = less_than(w, v) [at model.rs:4:7]",
            "model.rs:4:7: the cost `cost` is bool[], but training needs a floating-point scalar; `less_than` has no \
             derivative: run the network with `infer`, or train it on a distance",
        ),
    ] {
        let error = check_trainable(&text::parse(&source(body))?).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    Ok(())
}

/// What the user stopped is left out, what is for nothing is not, and the others train.
#[test]
fn what_is_stopped_is_left_out() -> Result<(), Box<dyn std::error::Error>> {
    let source = |body: &str| {
        format!(
            "program {{
              parameter w: f32[] = fill_constant(value=0.5)
              parameter v: f32[] = fill_constant(value=0.5)
              block 0 (x: f32[]) {{ {body} }}
            }}"
        )
    };
    for (body, trained) in [
        // On the only path, with a derivative but for it, and without any.
        ("a: f32[] = share_data(v) b: f32[] = elementwise_mul(a, w) return b", Ok("w")),
        ("a: bool[] = less_than(v, x) b: bool[] = share_data(a) c: f32[] = where(b, w, x) return c", Ok("w")),
        // Beside a path that has none anyway.
        (
            "a: f32[] = share_data(v) b: f32[] = sign(v) c: f32[] = elementwise_add(a, b) d: f32[] = \
             elementwise_mul(c, w) return d",
            Ok("w"),
        ),
        // Nothing is read of it, or only by another result.
        ("a: f32[] = tanh(v) b: f32[] = share_data(a) c: f32[] = elementwise_mul(x, w) return c", Ok("w")),
        ("a: f32[] = share_data(v) c: f32[] = elementwise_mul(x, w) return c, a", Ok("w")),
        // A path that is not stopped is one.
        (
            "a: f32[] = share_data(v) b: f32[] = elementwise_mul(a, w) c: f32[] = elementwise_add(b, v) return c",
            Ok("w v"),
        ),
        ("a: f32[] = tanh(v) c: f32[] = elementwise_mul(x, w) return c", Err("parameter `v` has no path")),
        ("a: f32[] = tanh(v) c: f32[] = elementwise_mul(x, w) return c, a", Err("parameter `v` has no path")),
        (
            "a: bool[] = less_than(v, x) b: f32[] = where(a, w, x) return b",
            Err("parameter `v` has no differentiable path"),
        ),
        (
            "a: f32[] = elementwise_add(v, w) b: f32[] = share_data(a) return b",
            Err("`stop_gradient` stops every path"),
        ),
    ] {
        let mut program = text::parse(&source(body))?;
        match (backward(&mut program), trained) {
            (Ok(()), Ok(names)) => {
                let found: Vec<&str> = program
                    .gradients()
                    .iter()
                    .map(|pair| program.var(pair.parameter).name.as_str())
                    .collect();
                let mut expected: Vec<&str> = names.split(' ').collect();
                expected.sort_by_key(|name| *name == "v");
                assert_eq!(found, expected, "{body}");
            }
            (Err(error), Err(expected)) => {
                assert!(error.to_string().starts_with(expected), "{body}: {error}")
            }
            (found, _) => panic!("{body}: {found:?}"),
        }
    }
    Ok(())
}
