//! Operators that users write. This crate knows an operator of theirs by its definition only; the kernel is written
//! outside.

mod arguments;
mod definition;
mod linked_kernel;

pub use arguments::Arguments;
pub use definition::{Definition, DefinitionError};
pub use linked_kernel::LinkedKernel;

use super::{
    AccuracyClass, Attribute, AttributeError, AttributeReader, AttributeValue, Attributes, Effects, Gradient,
    GradientError, Infer, Mismatch, MismatchKind, Operation, Schema, Slot,
};
use crate::program::{Type, VarId};

/// An operator that a user wrote.
///
/// Its shape rule unifies the types of the definition with those of the inputs. Its gradient consists of the
/// definition's operators, applied to the operator's own values. A [`LinkedKernel`] computes it; this is linked to the
/// program before the program is planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Custom {
    /// The operator's name, by which its kernel is found.
    pub name: String,
    /// Whether row `i` of the output depends on row `i` of the inputs only.
    pub row_wise: bool,
    /// The numbers that the operator was given.
    pub arguments: Arguments,
    /// The types of its values, and its gradient.
    pub definition: Definition,
    /// The kernel, which is no part of the operator: it is neither compared nor written.
    pub kernel: LinkedKernel,
}

impl Custom {
    /// The message for an operator to which no kernel is linked.
    pub const NOT_LINKED: &str = "it is an operator of your own, and nothing is linked to it that computes it; a program that \
         was loaded gets it by `Network::from_program(program)?.with_operators(&[&swirl])`";

    /// The types as text, and whether the operator is row-wise. An operator and the kernel that is linked to it have to
    /// agree on both.
    pub fn signature(&self) -> String {
        let row_wise = if self.row_wise { ", row by row" } else { "" };
        format!("{}{row_wise}", self.definition.signature())
    }
}

impl Attributes for Custom {
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("name", self.name.to_attribute()),
            ("row_wise", self.row_wise.to_attribute()),
            ("arguments", self.arguments.to_attribute()),
            ("definition", self.definition.to_attribute()),
        ]
    }

    fn with_attributes(&self, mut reader: AttributeReader<'_>) -> Result<Self, AttributeError> {
        let custom = Custom {
            name: reader.take("name", None)?,
            row_wise: reader.take("row_wise", Some(false))?,
            arguments: reader.take("arguments", Some(Arguments::default()))?,
            definition: reader.take("definition", None)?,
            kernel: LinkedKernel::none(),
        };
        reader.finish()?;
        Ok(custom)
    }

    fn prototypes() -> Vec<Self> {
        vec![Custom {
            name: String::new(),
            row_wise: false,
            arguments: Arguments::default(),
            definition: Definition::default(),
            kernel: LinkedKernel::none(),
        }]
    }
}

const fn schema(row_wise: bool, differentiable: bool) -> Schema {
    let effects = if row_wise { Effects::ROW_WISE } else { Effects::PURE };
    Schema {
        name: "custom",
        doc: "An operator of the user's own.",
        inputs: const { &[Slot::of("X").variadic()] },
        outputs: const { &[Slot::of("Out")] },
        accuracy: AccuracyClass::Accumulating("what the kernel rounds is not known"),
        effects: Effects { differentiable, ..effects },
    }
}

impl Operation for Custom {
    fn schema(&self) -> &'static Schema {
        match (self.row_wise, self.definition.has_gradient()) {
            (false, false) => const { &schema(false, false) },
            (false, true) => const { &schema(false, true) },
            (true, false) => const { &schema(true, false) },
            (true, true) => const { &schema(true, true) },
        }
    }

    fn called(&self) -> &str {
        &self.name
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let out = self.definition.ty(self.definition.output());
        if self.row_wise && out.rows.is_none() {
            let message = format!("`{}` is declared to be row-wise, but its output has no rows", self.name);
            return Err(cx.fail(MismatchKind::Shape, message));
        }
        Ok(vec![self.definition.bind(cx)?.ty(out)?])
    }

    /// Applies the operators of the definition to this operator's values.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        if !self.definition.has_gradient() {
            let hint = "declare one, `#[operator(gradient = ..)]`";
            return Err(g.refuse(format!("`{}` has no gradient; {hint}", self.name)));
        }
        let grad = g.grad(0)?;
        let inputs = g.operator().inputs.clone();
        let types = self.definition.bind_to(g.program(), &inputs);
        let values: Vec<VarId> = inputs.iter().copied().chain([g.output(0), grad]).collect();
        let gradients = self.definition.inline(&values, |op, inputs| {
            let op = types.op(op).map_err(|error| g.refuse(error.to_string()))?;
            g.emit_all(op, inputs)
        })?;
        let mut gradients = gradients.into_iter();
        let of_input =
            |&input: &VarId| self.definition.ty(input).dtype.is_float().then(|| gradients.next())?;
        Ok(self.definition.inputs().iter().map(of_input).collect())
    }

    /// The definition has the types of the inputs: gradients pass to those of floating-point numbers.
    fn input(&self, k: usize) -> Slot {
        let inputs = self.definition.inputs();
        let is_float = |&input: &VarId| self.definition.ty(input).dtype.is_float();
        Slot { passes_gradient: inputs.get(k).is_some_and(is_float), ..self.schema().input(k) }
    }
}
