//! Whether two programs compute the same, by what each value is computed from.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use paddle_core::ops::{Attribute, Op, Operator, Program};
use paddle_core::program::{BlockId, Definition, Dim, Type, VarId};

/// Why two programs differ, if they do.
pub(crate) fn same(one: &Program, other: &Program) -> Result<(), String> {
    let types = |program: &Program, vars: &[VarId]| -> Vec<String> {
        vars.iter()
            .map(|var| format!("{}: {}", program.var(*var).name, program.show(program.ty(*var))))
            .collect()
    };
    let (inputs, others) = (types(one, one.inputs()), types(other, other.inputs()));
    if inputs != others {
        return Err(format!("inputs {inputs:?} and {others:?}"));
    }
    let [parameters, others] = [one, other].map(|program| {
        let all: Vec<VarId> = program.parameters().collect();
        let mut all: Vec<String> = all
            .iter()
            .map(|parameter| {
                let it = program.parameter(*parameter).unwrap();
                let options = program.parameter_options(*parameter);
                format!(
                    "{} {:?} {:?} {:?}",
                    types(program, &[*parameter])[0],
                    it.chosen_initializer(),
                    options.numbers(),
                    options.trainable
                )
            })
            .collect();
        all.sort();
        all
    });
    let (mut first, mut second) = (Hashes::of(one), Hashes::of(other));
    for (at, (a, b)) in one.outputs().iter().zip(other.outputs()).enumerate() {
        if first.value(*a) != second.value(*b) {
            return Err(format!("output {at}\n{other}"));
        }
    }
    if one.outputs().len() != other.outputs().len() {
        return Err("numbers of outputs".into());
    }
    // Parameters that no result needs are not printed.
    let is_read = |parameter: &&String| {
        let name = parameter.split_once(':').map_or("", |(name, _)| name);
        one.find(name).is_some_and(|var| first.known.contains_key(&var))
    };
    let missing: Vec<_> = parameters.iter().filter(is_read).filter(|it| !others.contains(it)).collect();
    let more: Vec<_> = others.iter().filter(|it| !parameters.contains(it)).collect();
    if !missing.is_empty() || !more.is_empty() {
        return Err(format!("parameters {missing:?} and {more:?}"));
    }
    let taps = |program: &Program| program.taps().iter().map(|tap| tap.name.clone()).collect::<Vec<_>>();
    if taps(one) != taps(other) {
        return Err("taps".into());
    }
    Ok(())
}

/// A number for each value, by what it is computed from.
struct Hashes<'p> {
    program: &'p Program,
    known: BTreeMap<VarId, u64>,
    writers: BTreeMap<VarId, &'p Operator>,
}

impl<'p> Hashes<'p> {
    fn of(program: &'p Program) -> Self {
        let operators = program.blocks().iter().flat_map(|block| &block.ops);
        let writers =
            operators.flat_map(|operator| operator.outputs.iter().map(move |output| (*output, operator)));
        Hashes { program, known: BTreeMap::new(), writers: writers.collect() }
    }

    fn value(&mut self, var: VarId) -> u64 {
        if let Some(known) = self.known.get(&var) {
            return *known;
        }
        let mut hasher = DefaultHasher::new();
        match self.writers.get(&var).copied() {
            Some(operator) if self.is_identity(operator) => return self.value(operator.inputs[0]),
            // Only the last shape counts.
            Some(Operator { op: Op::Reshape(op), inputs, .. }) => {
                let mut from = inputs[0];
                while let Some(Operator { op: Op::Reshape(_), inputs, .. }) = self.writers.get(&from) {
                    from = inputs[0];
                }
                if self.program.ty(from) == self.program.ty(var) {
                    return self.value(from);
                }
                ("reshape", self.attribute(&Attribute::Dims(op.dims.clone())), self.value(from))
                    .hash(&mut hasher);
            }
            Some(Operator { op: Op::Size(op), inputs, .. }) => {
                let ty = self.program.ty(inputs[0]);
                let all = (usize::from(ty.rows.is_some())..ty.rank()).map(|axis| axis as i64).collect();
                let axes = if op.axes.is_empty() { all } else { op.axes.clone() };
                let size = |axis: &i64| ty.dims[*axis as usize - usize::from(ty.rows.is_some())].clone();
                self.attribute(&Attribute::Dims(axes.iter().map(size).collect())).hash(&mut hasher);
            }
            Some(operator) => {
                let at = operator.outputs.iter().position(|output| *output == var);
                (at, self.operator(operator)).hash(&mut hasher);
            }
            None => {
                assert!(self.program.var(var).definition != Definition::BlockParameter);
                self.program.var(var).name.hash(&mut hasher);
            }
        }
        self.known.insert(var, hasher.finish());
        hasher.finish()
    }

    /// Whether an operator gives what it gets, perhaps on other rows.
    fn is_identity(&self, operator: &Operator) -> bool {
        let (Some(x), [y, ..]) = (operator.inputs.first(), &operator.outputs[..]) else { return false };
        let same = self.program.ty(*x) == self.program.ty(*y);
        match &operator.op {
            Op::GatherRows(_) | Op::ScatterRows(_) | Op::Assign(_) => true,
            Op::Scale(op) => (op.scale, op.bias) == (1.0, 0.0),
            Op::Cast(_) | Op::Reshape(_) | Op::Slice(_) | Op::Concat(_) => same,
            _ => false,
        }
    }

    fn operator(&mut self, operator: &Operator) -> u64 {
        let mut hasher = DefaultHasher::new();
        operator.op.name().hash(&mut hasher);
        for (name, attribute) in operator.op.attributes() {
            if !["path", "rows"].contains(&name) {
                self.attribute(&attribute).hash(&mut hasher);
            }
        }
        // The numbers of rows are an input only in blocks.
        let count = match operator.op {
            Op::Dropout(_) => 1,
            Op::GaussianRandom(_) | Op::UniformRandom(_) => 0,
            _ => operator.inputs.len(),
        };
        for input in &operator.inputs[..count] {
            self.value(*input).hash(&mut hasher);
        }
        for block in &operator.blocks {
            self.block(*block).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn block(&mut self, id: BlockId) -> Vec<u64> {
        let block = self.program.block(id);
        let depth = std::iter::successors(block.parent, |parent| self.program.block(*parent).parent).count();
        for (at, param) in block.params.iter().enumerate() {
            let mut hasher = DefaultHasher::new();
            ("parameter", depth, at).hash(&mut hasher);
            self.known.insert(*param, hasher.finish());
        }
        block.results.iter().map(|result| self.value(*result)).collect()
    }

    fn attribute(&self, attribute: &Attribute) -> String {
        let dims =
            |dims: &[Dim]| dims.iter().map(|dim| self.program.show_dim(dim)).collect::<Vec<_>>().join(", ");
        let ty = |ty: &Type| format!("{} [{}] {}", ty.dtype, dims(&ty.dims), ty.rows.is_some());
        match attribute {
            Attribute::Dims(all) => dims(all),
            Attribute::Type(it) => ty(it),
            Attribute::Types(all) => all.iter().map(ty).collect(),
            Attribute::Rows(_) => String::new(),
            other => format!("{other:?}"),
        }
    }
}
