//! The attributes of formulas: a few numbers and flags, named in the rows of the tables.

use crate::ops::{Attribute, AttributeError, AttributeReader, Number};

/// The attributes of a formula, in the order of its row. The rest are zeros.
pub type Coefficients = [f64; 3];

/// The names and defaults of attributes.
pub(super) type Named = [(&'static str, Number)];

/// Binds each attribute of a formula to a variable: a flag as a `bool`, others converted by `$of`.
macro_rules! bind {
    (@ Flag $of:expr, $name:ident) => { $name != 0.0 };
    (@ $kind:ident $of:expr, $name:ident) => { $of($name) };
    ($of:expr, $coefficients:ident $(, $($name:ident: $kind:ident)*)?) => {
        let [$($($name,)*)? ..] = $coefficients;
        $($(
            #[allow(unused_variables, reason = "a formula need not mention every attribute")]
            let $name = bind!(@ $kind $of, $name);
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

/// An optional part of a row, or another value if the row lacks it.
macro_rules! or {
    ($otherwise:expr $(,)?) => {
        $otherwise
    };
    ($otherwise:expr, $value:expr) => {
        $value
    };
}

/// The defaults of the attributes.
pub(super) const fn defaults(named: &Named) -> Coefficients {
    let (mut coefficients, mut i) = ([0.0; 3], 0);
    while i < named.len() {
        coefficients[i] = named[i].1.as_f64();
        i += 1;
    }
    coefficients
}

/// Attributes for samples, other than the defaults.
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
