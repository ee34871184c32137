//! Numbers that Rust's standard library has under names: `f32::INFINITY`, `std::f32::consts::PI`, `i64::MAX`.

use paddle_core::ops::Number;
use paddle_core::program::DType;

use crate::ast::text;
use crate::messages::did_you_mean;

/// The number under a path of the standard library and its element type, or the hint for a name that it does not have. `None` for other
/// paths.
pub(super) fn number(path: &syn::Path) -> Option<Result<(Number, DType), String>> {
    if path.segments.iter().any(|segment| !segment.arguments.is_none()) {
        return None;
    }
    let names: Vec<String> = path.segments.iter().map(|segment| text(&segment.ident)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (module, name) = match names[..] {
        ["std" | "core", of, "consts", name] => (Module::Mathematical(float(of)?), name),
        [of, name] | ["std" | "core", of, name] => match of {
            "i32" => (Module::Bounds(DType::I32), name),
            "i64" => (Module::Bounds(DType::I64), name),
            of => (Module::Limits(float(of)?), name),
        },
        _ => return None,
    };
    let known = module.numbers();
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, number)| (*number, module.dtype()));
    Some(found.ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
        let hint = did_you_mean(name, known.iter().copied());
        if hint.is_empty() { format!("; there are `{}`", known.join("`, `")) } else { hint }
    }))
}

fn float(name: &str) -> Option<DType> {
    DType::from_name(name).filter(|dtype| dtype.is_float())
}

/// Where the standard library has numbers.
enum Module {
    /// `f32`
    Limits(DType),
    /// `i64`
    Bounds(DType),
    /// `std::f32::consts`
    Mathematical(DType),
}

impl Module {
    fn dtype(&self) -> DType {
        let (Module::Limits(dtype) | Module::Bounds(dtype) | Module::Mathematical(dtype)) = self;
        *dtype
    }

    fn numbers(&self) -> Vec<(&'static str, Number)> {
        use std::f64::consts as of;
        // As if they were written out.
        let single = |value: f32| Number::Float(format!("{value:?}").parse().unwrap_or(f64::NAN));
        match self {
            Module::Limits(DType::F32) => vec![
                ("INFINITY", single(f32::INFINITY)),
                ("NEG_INFINITY", single(f32::NEG_INFINITY)),
                ("NAN", single(f32::NAN)),
                ("MAX", single(f32::MAX)),
                ("MIN", single(f32::MIN)),
                ("MIN_POSITIVE", single(f32::MIN_POSITIVE)),
                ("EPSILON", single(f32::EPSILON)),
            ],
            Module::Limits(_) => vec![
                ("INFINITY", Number::Float(f64::INFINITY)),
                ("NEG_INFINITY", Number::Float(f64::NEG_INFINITY)),
                ("NAN", Number::Float(f64::NAN)),
                ("MAX", Number::Float(f64::MAX)),
                ("MIN", Number::Float(f64::MIN)),
                ("MIN_POSITIVE", Number::Float(f64::MIN_POSITIVE)),
                ("EPSILON", Number::Float(f64::EPSILON)),
            ],
            Module::Bounds(DType::I32) => {
                vec![("MAX", Number::Int(i32::MAX.into())), ("MIN", Number::Int(i32::MIN.into()))]
            }
            Module::Bounds(_) => vec![("MAX", Number::Int(i64::MAX)), ("MIN", Number::Int(i64::MIN))],
            Module::Mathematical(dtype) => {
                let all = [
                    ("E", of::E),
                    ("FRAC_1_PI", of::FRAC_1_PI),
                    ("FRAC_1_SQRT_2", of::FRAC_1_SQRT_2),
                    ("FRAC_2_PI", of::FRAC_2_PI),
                    ("FRAC_2_SQRT_PI", of::FRAC_2_SQRT_PI),
                    ("FRAC_PI_2", of::FRAC_PI_2),
                    ("FRAC_PI_3", of::FRAC_PI_3),
                    ("FRAC_PI_4", of::FRAC_PI_4),
                    ("FRAC_PI_6", of::FRAC_PI_6),
                    ("FRAC_PI_8", of::FRAC_PI_8),
                    ("LN_10", of::LN_10),
                    ("LN_2", of::LN_2),
                    ("LOG10_2", of::LOG10_2),
                    ("LOG10_E", of::LOG10_E),
                    ("LOG2_10", of::LOG2_10),
                    ("LOG2_E", of::LOG2_E),
                    ("PI", of::PI),
                    ("SQRT_2", of::SQRT_2),
                    ("TAU", of::TAU),
                ];
                // Those of single precision are the nearest to these.
                let rounded = |value: f64| {
                    if *dtype == DType::F32 { single(value as f32) } else { Number::Float(value) }
                };
                all.into_iter().map(|(name, value)| (name, rounded(value))).collect()
            }
        }
    }
}
