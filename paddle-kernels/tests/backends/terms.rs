//! What the results of an operator are sums of, found by changing its inputs.
//!
//! To first order a result `y` is made of the terms `x · ∂y/∂x`, one for each element `x` of an input: they are what a
//! kernel adds up, or as much as the roundings of a kernel that loses no digits come to. An element that is changed by
//! a small part of itself changes `y` by that part of its term, so the differences of the reference in `f64` show the
//! terms of any operator.
//!
//! In a sum of products each operand has every product once. So the terms of the operands are not summed: those of one
//! operand count, of the one that has the most.

use paddle_core::ops::Terms;
use paddle_core::plan::Operand;
use paddle_kernels::reference::Reference;

use crate::host::Host;
use crate::run::Case;

/// The part of itself that an element is changed by: small beside what functions bend on, large beside the roundings
/// of `f64`.
const PART: f64 = 1.0 / (1 << 20) as f64;

/// An operand of many elements is changed a group of elements at a time: every 17th, and then every 19th, so that
/// neighbours along an axis are in different groups in one of the two ways at least. Terms of a group may cancel, so
/// groups give fewer and smaller terms than single elements, and allow no more.
const GROUPS: [usize; 2] = [17, 19];

/// The terms of each element of each result; those that were found when they were enough.
pub(crate) fn terms(
    case: &Case,
    exact: &[Host],
    is_enough: &dyn Fn(&[Vec<Terms>]) -> bool,
) -> Vec<Vec<Terms>> {
    let case = &apart(case);
    let mut all: Vec<Vec<Terms>> = exact.iter().map(itself).collect();
    let is_read = |k: &usize| case.op().operation().input(*k).is_read;
    let operands = (0..case.inputs.len()).filter(|&k| case.inputs[k].is_float()).filter(is_read);
    for (operand, groups) in operands.flat_map(|operand| GROUPS.map(|groups| (operand, groups))) {
        if is_enough(&all) {
            break;
        }
        for (all, of_operand) in all.iter_mut().zip(of_operand(case, exact, operand, groups)) {
            for (most, terms) in all.iter_mut().zip(of_operand) {
                most.count = most.count.max(terms.count);
                most.size = most.size.max(terms.size);
            }
        }
    }
    all
}

/// The same case with an input for each slot: the terms of a value that is in two slots cancel, as a kernel's do not.
fn apart(case: &Case) -> Case {
    let mut apart = case.clone();
    let slots = &mut apart.op_mut().inputs;
    let inputs: Vec<usize> = slots
        .iter()
        .map(|slot| match slot {
            Operand::Input(input) => *input,
            Operand::Output(_) | Operand::Temporary(_) => panic!("a case of one operator has inputs"),
        })
        .collect();
    slots.iter_mut().enumerate().for_each(|(k, slot)| *slot = Operand::Input(k));
    apart.group.inputs = inputs.iter().map(|&input| case.group.inputs[input].clone()).collect();
    apart.inputs = inputs.iter().map(|&input| case.inputs[input].clone()).collect();
    apart
}

/// A result is no larger than its terms.
fn itself(result: &Host) -> Vec<Terms> {
    match result.is_float() {
        true => result.floats().into_iter().map(|y| Terms { count: 1, size: y.abs() }).collect(),
        false => Vec::new(),
    }
}

/// The terms that the elements of an operand give, changed in groups whose number is given.
fn of_operand(case: &Case, exact: &[Host], operand: usize, groups: usize) -> Vec<Vec<Terms>> {
    let values = case.inputs[operand].floats();
    let mut found: Vec<Vec<Terms>> =
        exact.iter().map(|result| vec![Terms::default(); itself(result).len()]).collect();
    for group in 0..values.len().min(groups) {
        let changed = |(i, &x): (usize, &f64)| if i % groups == group { x + x * PART } else { x };
        let mut case = case.clone();
        case.inputs[operand] = Host::F64(values.iter().enumerate().map(changed).collect());
        let results = case.run(&Reference::double()).expect("a small change is accepted");
        for ((found, result), exact) in found.iter_mut().zip(&results).zip(exact) {
            if !exact.is_float() {
                continue;
            }
            for ((terms, y), exact) in found.iter_mut().zip(result.floats()).zip(exact.floats()) {
                terms.count += usize::from(y != exact);
                terms.size += (y - exact).abs() / PART;
            }
        }
    }
    found
}
