//! Formulas of tables as operators: the formulas are evaluated on numbers that are the results of operators.
//!
//! Numbers have to be as easy to copy as other numbers, so they do not refer to the graph. The operators of a formula are listed
//! on its thread while it is evaluated, and written behind that.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};

use super::graph::Writer;
use crate::ops::Real;
use crate::program::DType;

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Input(usize),
    Constant(f64),
    Operator(&'static str, Vec<usize>),
}

thread_local! {
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// A number of a formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term(usize);

/// A truth value of a formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truth(usize);

/// The number of a step, which is listed once.
fn step(step: Step) -> usize {
    STEPS.with_borrow_mut(|steps| match steps.iter().position(|listed| *listed == step) {
        Some(at) => at,
        None => {
            steps.push(step);
            steps.len() - 1
        }
    })
}

fn operator(name: &'static str, operands: impl IntoIterator<Item = usize>) -> usize {
    step(Step::Operator(name, operands.into_iter().collect()))
}

fn is_number(at: usize, number: f64) -> bool {
    STEPS.with_borrow(|steps| steps[at] == Step::Constant(number))
}

/// A number that a formula is evaluated on.
pub(super) fn input(k: usize) -> Term {
    Term(step(Step::Input(k)))
}

impl Writer<'_> {
    /// The number that a formula gives, where its inputs are these values of one element type.
    pub(super) fn formula(
        &mut self,
        inputs: &[&str],
        dtype: DType,
        formula: impl FnOnce() -> Term,
    ) -> String {
        self.steps(inputs, dtype, || formula().0)
    }

    /// The truth value that a formula gives.
    pub(super) fn truth(&mut self, inputs: &[&str], dtype: DType, formula: impl FnOnce() -> Truth) -> String {
        self.steps(inputs, dtype, || formula().0)
    }

    fn steps(&mut self, inputs: &[&str], dtype: DType, formula: impl FnOnce() -> usize) -> String {
        let around = STEPS.take();
        let result = formula();
        let steps = STEPS.replace(around);
        let is_read = |at: usize| {
            let reads = |step: &Step| matches!(step, Step::Operator(_, operands) if operands.contains(&at));
            at == result || steps.iter().any(reads)
        };
        let mut names: Vec<String> = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            names.push(match step {
                _ if !is_read(at) => String::new(),
                Step::Input(k) => inputs[*k].to_string(),
                Step::Constant(number) => self.number(*number, dtype),
                Step::Operator(name, operands) => {
                    let operands: Vec<&str> = operands.iter().map(|&at| names[at].as_str()).collect();
                    self.node(name, &operands)
                }
            });
        }
        names.swap_remove(result)
    }
}

macro_rules! functions {
    ($($method:ident $name:literal)*) => {
        $(fn $method(self) -> Term {
            Term(operator($name, [self.0]))
        })*
    };
}

macro_rules! comparisons {
    ($($method:ident $name:literal)*) => {
        $(fn $method(self, other: Term) -> Truth {
            Truth(operator($name, [self.0, other.0]))
        })*
    };
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $name:literal)*) => {
        $(impl $trait for Term {
            type Output = Term;

            fn $method(self, other: Term) -> Term {
                Term(operator($name, [self.0, other.0]))
            }
        })*
    };
}

arithmetic! { Add add "Add" Sub sub "Sub" Mul mul "Mul" Div div "Div" }

impl Neg for Term {
    type Output = Term;

    fn neg(self) -> Term {
        Term(operator("Neg", [self.0]))
    }
}

impl BitAnd for Truth {
    type Output = Truth;

    fn bitand(self, other: Truth) -> Truth {
        Truth(operator("And", [self.0, other.0]))
    }
}

impl BitOr for Truth {
    type Output = Truth;

    fn bitor(self, other: Truth) -> Truth {
        Truth(operator("Or", [self.0, other.0]))
    }
}

impl Real for Term {
    type Truth = Truth;

    fn of(value: f64) -> Term {
        Term(step(Step::Constant(value)))
    }

    functions! {
        abs "Abs" floor "Floor" ceil "Ceil" sqrt "Sqrt" exp "Exp" ln "Log" sin "Sin" cos "Cos" tan "Tan"
        asin "Asin" acos "Acos" atan "Atan" sinh "Sinh" cosh "Cosh" tanh "Tanh" asinh "Asinh" acosh "Acosh"
        atanh "Atanh" erf "Erf" sign "Sign" sigmoid "Sigmoid" softplus "Softplus"
    }

    comparisons! {
        above "Greater" below "Less" at_least "GreaterOrEqual" at_most "LessOrEqual" equals "Equal"
    }

    // ONNX rounds halves to even numbers.
    fn round(self) -> Term {
        self.sign() * (self.abs() + Term::of(0.5)).floor()
    }

    fn trunc(self) -> Term {
        self.sign() * self.abs().floor()
    }

    fn exp_m1(self) -> Term {
        self.exp() - Term::of(1.0)
    }

    fn ln_1p(self) -> Term {
        (Term::of(1.0) + self).ln()
    }

    fn log2(self) -> Term {
        self.ln() * Term::of(std::f64::consts::LOG2_E)
    }

    fn log10(self) -> Term {
        self.ln() * Term::of(std::f64::consts::LOG10_E)
    }

    fn pow(self, power: Term) -> Term {
        Term(operator("Pow", [self.0, power.0]))
    }

    fn erfc(self) -> Term {
        Term::of(1.0) - self.erf()
    }

    // In the form in which runtimes recognise it, and compute it as one operator.
    fn gelu(self) -> Term {
        let share = (self / Term::of(std::f64::consts::SQRT_2)).erf() + Term::of(1.0);
        self * share * Term::of(0.5)
    }

    fn is_not_a_number(self) -> Truth {
        Truth(operator("IsNaN", [self.0]))
    }

    fn max(self, other: Term) -> Term {
        match is_number(other.0, 0.0) {
            true => Term(operator("Relu", [self.0])),
            false => Term(operator("Max", [self.0, other.0])),
        }
    }

    fn min(self, other: Term) -> Term {
        Term(operator("Min", [self.0, other.0]))
    }

    fn select(condition: Truth, this: Term, other: Term) -> Term {
        let chosen = STEPS.with_borrow(|steps| steps[condition.0].clone());
        match chosen {
            // Runtimes know `Relu` and `Max`, which they compute together with what is in front of them.
            Step::Operator("Greater", of) if of == [this.0, other.0] => Term(of[0]).max(Term(of[1])),
            _ => Term(operator("Where", [condition.0, this.0, other.0])),
        }
    }
}
