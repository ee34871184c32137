//! The numbers that are given to an operator of the user's.

use std::fmt;

use crate::ops::{Attribute, AttributeValue, Number};

/// Numbers by their names, in the order in which the operator declares them. As text: `frequency=2.0, centred=true`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Vec<(String, Number)>);

impl Arguments {
    /// The arguments with these names and numbers. Names consist of letters, digits and `_`.
    pub fn new(numbers: impl IntoIterator<Item = (String, Number)>) -> Self {
        Arguments(numbers.into_iter().collect())
    }

    /// The number with this name.
    pub fn get(&self, name: &str) -> Option<Number> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// Reads the text form; `None` if the text is no list of named numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split(", ").filter(|_| !text.is_empty());
        let argument = |part: &str| {
            let (name, number) = part.split_once('=')?;
            let is_plain = |c: char| c.is_alphanumeric() || c == '_';
            let is_name = !name.is_empty() && name.chars().all(is_plain);
            is_name.then_some((name.to_string(), parse_number(number)?))
        };
        parts.map(argument).collect::<Option<_>>().map(Arguments)
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let truth = || text.parse().ok().map(Number::Bool);
    let int = || text.parse().ok().map(Number::Int);
    truth().or_else(int).or_else(|| text.parse().ok().map(Number::Float))
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, number)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={number}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl AttributeValue for Arguments {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.to_string())
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(text) => Arguments::parse(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_reads_back() {
        let numbers = [Number::Bool(true), Number::Int(-3), Number::Float(0.5), Number::Float(f64::INFINITY)];
        let names = ["a", "b_1", "c", "d"].map(str::to_string);
        let arguments = Arguments::new(names.into_iter().zip(numbers));
        assert_eq!(arguments.to_string(), "a=true, b_1=-3, c=0.5, d=inf");
        assert_eq!(Arguments::parse(&arguments.to_string()), Some(arguments.clone()));
        assert_eq!(arguments.get("b_1"), Some(Number::Int(-3)));
        assert_eq!(Arguments::parse(""), Some(Arguments::default()));
        for wrong in ["a", "=1", "a=", "a=1,b=2", "a=one", "a b=1"] {
            assert_eq!(Arguments::parse(wrong), None, "{wrong}");
        }
    }
}
