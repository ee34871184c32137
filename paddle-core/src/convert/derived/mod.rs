//! Operators whose form on the wire follows from their definition.
//!
//! The slots on the wire are those of the schema, and the attributes are those of `attributes!`, with their names,
//! kinds and defaults. So an operator that PaddlePaddle has under the same names needs no line here. If its attributes
//! differ from PaddlePaddle's, a row of [`form`] describes the difference for both directions.
//!
//! | file | holds |
//! | --- | --- |
//! | `form.rs` | how the attributes of an operator stand on the wire |
//! | `write.rs` | slots and attributes, written |
//! | `read.rs` | attributes, read |

mod form;
mod read;
mod write;

use super::dialect::OURS;
use crate::ops::Op;

pub(super) use self::read::{float, row_space, with_attributes};
pub(super) use self::write::{attributes, changed_slot, push_float, slots, whole, wholes};
#[cfg(feature = "read")]
pub(super) use self::{form::is_of_our_form, read::attributes_of};

/// The name of an operator on the wire. It depends on the operator's kind only.
pub(super) fn name(op: &Op) -> String {
    let name = op.schema().name;
    if op.operation().is_ours() { format!("{OURS}{name}") } else { name.to_string() }
}

/// An operator of the kind with this name on the wire; `None` if the name alone does not determine the kind.
pub(super) fn named(name: &str) -> Option<Op> {
    // Such operators are written under names of others: `conv2d_grad`, or the name of the unknown operator.
    let has_no_name = |op: &Op| matches!(op, Op::Conv2dGrad(_) | Op::Foreign(_));
    let (name, is_ours) = name.strip_prefix(OURS).map_or((name, false), |own| (own, true));
    let named = Op::prototype(name).filter(|op| op.operation().is_ours() == is_ours && !has_no_name(op));
    named.cloned()
}

#[cfg(all(test, feature = "read"))]
mod tests {
    use super::form::{Form, form};
    use super::{attributes, name, with_attributes};
    use crate::convert::dialect::{DIMS, TYPE};
    use crate::convert::is_known;
    use crate::convert::to_wire::operators::describe;
    use crate::ops::{Attribute, Number, Op, Program};
    use crate::program::{DType, Type};
    use crate::wire::OpDesc;

    /// The operator with changed attributes, if it allows changes.
    fn changed(op: &Op) -> Op {
        let mut changed = op.clone();
        for (place, (_, value)) in op.attributes().into_iter().enumerate() {
            let other = match value {
                Attribute::Number(Number::Bool(flag)) => Attribute::Number(Number::Bool(!flag)),
                Attribute::Number(Number::Int(number)) => Attribute::Number(Number::Int(number + 1)),
                // This is no number of single precision.
                Attribute::Number(Number::Float(number)) => Attribute::Number(Number::Float(number + 0.1)),
                Attribute::Ints(numbers) => {
                    Attribute::Ints(numbers.iter().map(|number| number + 1).collect())
                }
                Attribute::DType(_) => Attribute::DType(DType::F64),
                other => other,
            };
            let mut attributes: Vec<(String, Attribute)> =
                changed.attributes().into_iter().map(|(name, value)| (name.to_string(), value)).collect();
            attributes[place].1 = other;
            changed = changed.with_attributes(attributes).unwrap_or(changed);
        }
        changed
    }

    /// Operators that are written as they are defined, with their descriptions.
    fn derived() -> Vec<(Op, OpDesc)> {
        let ty = Type::new(DType::F32, [1]);
        let of = |op: Op| {
            let mut desc = OpDesc::new(name(&op));
            desc.attrs = attributes(&op);
            let is_derived = describe(&op, &[], &[], &[&ty; 3]).attrs == desc.attrs;
            is_derived.then_some((op, desc))
        };
        Op::prototypes().iter().map(changed).filter_map(of).collect()
    }

    #[test]
    fn a_row_has_each_attribute_once() {
        for op in Op::prototypes() {
            let Some(row) = form(&op) else { continue };
            let mut own: Vec<&str> = row.iter().filter_map(Form::ours).collect();
            let mut all: Vec<&str> = op.attributes().into_iter().map(|(name, _)| name).collect();
            own.sort_unstable();
            all.sort_unstable();
            assert_eq!(own, all, "{}", op.name());
        }
    }

    #[test]
    fn every_operator_is_read() {
        for op in Op::prototypes() {
            let stands_under_its_name = !matches!(op, Op::Conv2dGrad(_) | Op::Foreign(_));
            assert_eq!(is_known(&name(&op)), stands_under_its_name, "{}", op.name());
        }
    }

    #[test]
    fn what_is_derived_is_read_as_it_was_written() {
        let mut program = Program::new();
        program.create_rows("_");
        let all = derived();
        for (op, desc) in &all {
            let again = with_attributes(&program, desc, op).unwrap_or_else(|error| panic!("{op:?}: {error}"));
            assert_eq!(again, *op);
        }
        assert!(all.len() > 150, "{} operators are written as they are defined", all.len());
    }

    #[test]
    fn paddlepaddle_knows_every_attribute_that_is_derived_for_it() {
        for (op, desc) in derived().iter().filter(|(op, _)| !op.operation().is_ours()) {
            let is_ours = |name: &str| [DIMS, TYPE].contains(&name);
            assert!(!desc.attrs.iter().any(|attr| is_ours(&attr.name)), "{op:?} has to be written by hand");
        }
    }
}
