//! The terms whose sums are the results of an operator, found by changing its inputs.
//!
//! To first order, a result `y` consists of the terms `x · ∂y/∂x`, one for each element `x` of an input. A kernel adds
//! up these terms, or its roundings are as large as they would be if it did, provided that it loses no digits. If an
//! element changes by a small part of itself, `y` changes by that part of the element's term. So the differences of the
//! reference in `f64` show the terms of any operator.
//!
//! In a sum of products, each operand has every product once. So the terms of different operands are not added: only
//! those of the operand with the most terms count.

use paddle_core::ops::Terms;
use paddle_core::plan::Operand;
use paddle_kernels::reference::Reference;

use crate::host::Host;
use crate::run::Case;

/// The part of itself by which an element is changed: small enough for functions to be linear, large compared with the
/// roundings of `f64`.
const PART: f64 = 1.0 / (1 << 20) as f64;

/// The elements of a large operand are changed in groups: every 17th, and then every 19th, so that neighbours along an
/// axis are in different groups in at least one of the two ways. Terms of a group may cancel. So groups give fewer and
/// smaller terms than single elements, and allow no larger errors.
const GROUPS: [usize; 2] = [17, 19];

/// The terms of each element of each result. The search ends when those found are enough.
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

/// The case with an input for each slot. The terms of a value in two slots could cancel, although those of a kernel do
/// not.
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

/// Each result as its only term, as a result is not larger than its terms.
fn itself(result: &Host) -> Vec<Terms> {
    match result.is_float() {
        true => result.floats().into_iter().map(|y| Terms { count: 1, size: y.abs() }).collect(),
        false => Vec::new(),
    }
}

/// The terms of an operand's elements, which are changed in this number of groups.
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
