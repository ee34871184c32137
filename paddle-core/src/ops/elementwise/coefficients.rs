//! The attributes of formulas: a few numbers and flags, named in the rows of the tables.

use crate::ops::{Attribute, AttributeError, AttributeReader, Number};

/// The attributes of a formula, in the order of its row; zeros behind them.
pub type Coefficients = [f64; 3];

/// Names and defaults of attributes.
pub(super) type Named = [(&'static str, Number)];

/// The attributes of a formula as variables, each as what `$of` makes of it.
macro_rules! bind {
    ($of:expr, $coefficients:ident $(, $($name:ident)*)?) => {
        let [$($($name,)*)? ..] = $coefficients;
        $($(
            #[allow(unused_variables, reason = "a formula need not mention every attribute")]
            let $name = $of($name);
        )*)?
    };
}

/// The default of an attribute of a row.
macro_rules! number {
    (Number $default:literal) => {
        $crate::ops::Number::Float($default)
    };
    (Int $default:literal) => {
        $crate::ops::Number::Int($default)
    };
    (Flag $default:literal) => {
        $crate::ops::Number::Bool($default)
    };
}

/// What an optional part of a row says, or something else.
macro_rules! or {
    ($otherwise:expr $(,)?) => {
        $otherwise
    };
    ($otherwise:expr, $value:expr) => {
        $value
    };
}

/// Those left out.
pub(super) const fn defaults(named: &Named) -> Coefficients {
    let (mut coefficients, mut i) = ([0.0; 3], 0);
    while i < named.len() {
        coefficients[i] = named[i].1.as_f64();
        i += 1;
    }
    coefficients
}

/// Others than those left out, for samples.
pub(super) fn others(named: &Named) -> Coefficients {
    let mut coefficients = defaults(named);
    for (coefficient, (_, default)) in coefficients.iter_mut().zip(named) {
        match default {
            Number::Bool(flag) => *coefficient = f64::from(u8::from(!flag)),
            Number::Int(_) => *coefficient = 1.0,
            Number::Float(_) => *coefficient *= 1.25,
        }
    }
    coefficients
}

pub(super) fn to_attributes(
    named: &'static Named,
    coefficients: Coefficients,
) -> Vec<(&'static str, Attribute)> {
    let number = |default, coefficient| match default {
        Number::Bool(_) => Number::Bool(coefficient != 0.0),
        Number::Int(_) => Number::Int(coefficient as i64),
        Number::Float(_) => Number::Float(coefficient),
    };
    let pairs = named.iter().zip(coefficients);
    pairs.map(|(&(name, default), c)| (name, Attribute::Number(number(default, c)))).collect()
}

pub(super) fn read(
    named: &'static Named,
    mut reader: AttributeReader<'_>,
) -> Result<Coefficients, AttributeError> {
    let mut coefficients = defaults(named);
    for (coefficient, (name, default)) in coefficients.iter_mut().zip(named) {
        *coefficient = match *default {
            Number::Bool(flag) => f64::from(u8::from(reader.take(name, Some(flag))?)),
            Number::Int(int) => reader.take::<i64>(name, Some(int))? as f64,
            Number::Float(float) => reader.take(name, Some(float))?,
        };
    }
    reader.finish()?;
    Ok(coefficients)
}
