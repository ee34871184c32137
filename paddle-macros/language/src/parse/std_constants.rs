//! Numbers that Rust's standard library has under names: `f32::INFINITY`, `std::f32::consts::PI`, `i64::MAX`.

use paddle_core::ops::Number;
use paddle_core::program::DType;

use crate::ast::text;

/// The number under this path, and its element type.
pub(super) fn number(path: &syn::Path) -> Option<(Number, DType)> {
    if path.segments.iter().any(|segment| !segment.arguments.is_none()) {
        return None;
    }
    let names: Vec<String> = path.segments.iter().map(|segment| text(&segment.ident)).collect();
    let mut names: &[String] = &names;
    let is_in_std = matches!(names.first().map(String::as_str), Some("std" | "core"));
    if is_in_std {
        names = &names[1..];
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names[..] {
        ["f32", name] => single(name).map(|value| (Number::Float(value.into()), DType::F32)),
        ["f64", name] => double(name).map(|value| (Number::Float(value), DType::F64)),
        ["i32", "MAX"] => Some((Number::Int(i32::MAX.into()), DType::I32)),
        ["i32", "MIN"] => Some((Number::Int(i32::MIN.into()), DType::I32)),
        ["i64", "MAX"] => Some((Number::Int(i64::MAX), DType::I64)),
        ["i64", "MIN"] => Some((Number::Int(i64::MIN), DType::I64)),
        ["f32", "consts", name] if is_in_std => {
            mathematical(name).map(|value| (Number::Float((value as f32).into()), DType::F32))
        }
        ["f64", "consts", name] if is_in_std => {
            mathematical(name).map(|value| (Number::Float(value), DType::F64))
        }
        _ => None,
    }
}

fn single(name: &str) -> Option<f32> {
    Some(match name {
        "INFINITY" => f32::INFINITY,
        "NEG_INFINITY" => f32::NEG_INFINITY,
        "NAN" => f32::NAN,
        "MAX" => f32::MAX,
        "MIN" => f32::MIN,
        "MIN_POSITIVE" => f32::MIN_POSITIVE,
        "EPSILON" => f32::EPSILON,
        _ => return None,
    })
}

fn double(name: &str) -> Option<f64> {
    Some(match name {
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        "MAX" => f64::MAX,
        "MIN" => f64::MIN,
        "MIN_POSITIVE" => f64::MIN_POSITIVE,
        "EPSILON" => f64::EPSILON,
        _ => return None,
    })
}

/// Those of single precision are the nearest to these.
fn mathematical(name: &str) -> Option<f64> {
    use std::f64::consts as of;
    Some(match name {
        "E" => of::E,
        "FRAC_1_PI" => of::FRAC_1_PI,
        "FRAC_1_SQRT_2" => of::FRAC_1_SQRT_2,
        "FRAC_2_PI" => of::FRAC_2_PI,
        "FRAC_2_SQRT_PI" => of::FRAC_2_SQRT_PI,
        "FRAC_PI_2" => of::FRAC_PI_2,
        "FRAC_PI_3" => of::FRAC_PI_3,
        "FRAC_PI_4" => of::FRAC_PI_4,
        "FRAC_PI_6" => of::FRAC_PI_6,
        "FRAC_PI_8" => of::FRAC_PI_8,
        "LN_10" => of::LN_10,
        "LN_2" => of::LN_2,
        "LOG10_2" => of::LOG10_2,
        "LOG10_E" => of::LOG10_E,
        "LOG2_10" => of::LOG2_10,
        "LOG2_E" => of::LOG2_E,
        "PI" => of::PI,
        "SQRT_2" => of::SQRT_2,
        "TAU" => of::TAU,
        _ => return None,
    })
}
