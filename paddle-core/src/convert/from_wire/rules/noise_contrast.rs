//! The rule for `nce`, noise-contrastive estimation: a classifier with many classes learns to tell the right class of a row from some that
//! are drawn. Gutmann and Hyvärinen, "Noise-contrastive estimation", 2010.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{
    AssignValue, BinaryKind, Cast, Compare, CompareKind, Concat, Fill, Gather, LookupTable, Number, Reduce,
    ReduceKind, RowsToAxis, Select, Unary, UnaryKind, UniformRandom,
};
use crate::program::{DType, Dim, Type, VarId};

/// How classes are drawn.
enum Sampler {
    /// All are equally likely.
    Uniform,
    /// Those in front are drawn more often, as words are that are sorted by how often they occur.
    LogUniform,
    /// The probability of each class, and the tables from which Walker's alias method draws.
    Custom([VarId; 3]),
}

impl Reading<'_, '_> {
    pub(super) fn nce(&mut self) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let (x, weight, label) = (self.input("Input")?, self.input("Weight")?, self.input("Label")?);
        let bias = if self.has(&["Bias"]) { Some(self.input("Bias")?) } else { None };
        let of_rows = if self.has(&["SampleWeight"]) { Some(self.input("SampleWeight")?) } else { None };
        let classes = desc.attr_long("num_total_classes")?.unwrap_or(0);
        let drawn = desc.attr_long("num_neg_samples")?.unwrap_or(10);
        let given = desc.attr_longs("custom_neg_classes")?.unwrap_or_default();
        let sampler = match desc.attr_int("sampler")?.unwrap_or(0) {
            0 => Sampler::Uniform,
            1 => Sampler::LogUniform,
            2 => Sampler::Custom([
                self.input("CustomDistProbs")?,
                self.input("CustomDistAlias")?,
                self.input("CustomDistAliasProbs")?,
            ]),
            _ => return self.lacks("there is no such way to draw classes"),
        };
        if classes < 2 || drawn < 1 || !(given.is_empty() || given.len() as i64 == drawn) {
            return self
                .lacks("it needs two classes and one that is drawn, and as many given ones as are drawn");
        }
        let mut at = self.at();
        let is_fixed = at.ty(x).rows.is_none();
        let (Some(x), Some(label)) = (at.along_rows(x)?, at.along_rows(label)?) else {
            return self.lacks("the number of rows is not known");
        };
        let rows = at.ty(x).rows;
        if rows != at.ty(label).rows || at.ty(x).dims.len() != 1 || at.ty(label).dims.len() > 1 {
            return self.lacks("its values have other dimensions, or other rows");
        }
        let right = at.ty(label).dims.first().cloned().unwrap_or(Dim::from(1));
        let label = at.emit(Cast { dtype: DType::I64 }, &[label])?;
        let label = at.shaped(label, vec![right.clone()])?;
        let like = Type { rows, ..Type::new(DType::I64, [drawn]) };
        let noise = match given.is_empty() {
            true => at.drawn_classes(&sampler, classes, &like)?,
            false => {
                let values = given.iter().map(|&class| Number::Int(class)).collect();
                let list = at.emit(AssignValue { values, ty: Type::new(DType::I64, [drawn]) }, &[])?;
                let zeros = at.emit(Fill::zeros(like), &[])?;
                at.binary(BinaryKind::Add, zeros, list)?
            }
        };
        let labels = at.emit(Concat { axis: 1 }, &[label, noise])?;

        // The probability of each of these classes, by the model and as noise.
        let weights = at.emit(LookupTable { padding_idx: -1 }, &[labels, weight])?;
        let row = at.with_axis_of_one(x)?;
        let product = at.binary(BinaryKind::Mul, weights, row)?;
        let mut logits =
            at.emit(Reduce { kind: ReduceKind::Sum, axes: vec![2], keep_dim: false }, &[product])?;
        if let Some(bias) = bias {
            let bias = at.shaped(bias, vec![Dim::from(classes)])?;
            let bias = at.emit(Gather { axis: 0 }, &[bias, labels])?;
            logits = at.binary(BinaryKind::Add, logits, bias)?;
        }
        let model = at.emit(Unary::of(UnaryKind::Sigmoid), &[logits])?;
        let dtype = at.ty(model).dtype;
        let noise = at.probability(&sampler, classes, labels)?;
        let noise = at.scaled(noise, drawn as f64, 0.0)?;
        let noise = at.emit(Cast { dtype }, &[noise])?;
        // The cost of the right classes is -ln(model / (model + noise)), that of the others -ln(noise / (model + noise)).
        let both = at.binary(BinaryKind::Add, model, noise)?;
        let places =
            [at.emit(Fill { value: Number::Bool(true), ty: at.ty(label).with_dtype(DType::Bool) }, &[])?, {
                let ty = Type { rows, ..Type::new(DType::Bool, [drawn]) };
                at.emit(Fill { value: Number::Bool(false), ty }, &[])?
            }];
        let is_right = at.emit(Concat { axis: 1 }, &places)?;
        let own = at.emit(Select, &[is_right, model, noise])?;
        let cost = at.binary(BinaryKind::Div, both, own)?;
        let cost = at.emit(Unary::of(UnaryKind::Log), &[cost])?;
        let mut cost = at.emit(Reduce { kind: ReduceKind::Sum, axes: vec![1], keep_dim: true }, &[cost])?;
        if let Some(of_rows) = of_rows {
            let Some(of_rows) = at.along_rows(of_rows)? else {
                return self.lacks("the number of rows is not known");
            };
            let of_rows = at.shaped(of_rows, vec![Dim::from(1)])?;
            cost = at.binary(BinaryKind::Mul, cost, of_rows)?;
        }
        for (slot, mut value) in [("Cost", cost), ("SampleLogits", model), ("SampleLabels", labels)] {
            if is_fixed {
                value = self.emit(RowsToAxis, &[value])?;
            }
            if slot == "Cost" || self.reader.readers(one(desc.output(slot), slot)?) > 0 {
                self.named_value(one(desc.output(slot), slot)?, value)?;
            }
        }
        Ok(true)
    }
}

impl At<'_> {
    /// Classes that are drawn, of this type.
    fn drawn_classes(&mut self, sampler: &Sampler, classes: i64, like: &Type) -> Result<VarId, Fault> {
        let uniform = |max: f64| UniformRandom {
            min: 0.0,
            max,
            fan: None,
            path: String::new(),
            ty: like.with_dtype(DType::F64),
        };
        let whole = Cast { dtype: DType::I64 };
        let of = classes as f64;
        match sampler {
            Sampler::Uniform => {
                let drawn = self.emit(uniform(of), &[])?;
                self.emit(whole, &[drawn])
            }
            // ⌊classesᵘ⌋ - 1, modulo one less than there are classes.
            Sampler::LogUniform => {
                let drawn = self.emit(uniform(of.ln()), &[])?;
                let drawn = self.emit(Unary::of(UnaryKind::Exp), &[drawn])?;
                let drawn = self.emit(whole, &[drawn])?;
                let drawn = self.scaled(drawn, 1.0, -1.0)?;
                let most = self.number(of - 1.0, DType::I64)?;
                self.binary(BinaryKind::Mod, drawn, most)
            }
            Sampler::Custom([_, alias, least]) => {
                let drawn = self.emit(uniform(of), &[])?;
                let class = self.emit(whole, &[drawn])?;
                let chance = self.emit(uniform(1.0), &[])?;
                let least = self.emit(Gather { axis: 0 }, &[*least, class])?;
                let least = self.emit(Cast { dtype: DType::F64 }, &[least])?;
                let other = self.emit(Gather { axis: 0 }, &[*alias, class])?;
                let other = self.emit(whole, &[other])?;
                // An alias below 0 stands for none.
                let none = self.number(0.0, DType::I64)?;
                let has_none = self.emit(Compare { kind: CompareKind::LessThan }, &[other, none])?;
                let other = self.emit(Select, &[has_none, class, other])?;
                let is_other = self.emit(Compare { kind: CompareKind::GreaterThan }, &[chance, least])?;
                self.emit(Select, &[is_other, other, class])
            }
        }
    }

    /// The probability that classes are drawn: f64.
    fn probability(&mut self, sampler: &Sampler, classes: i64, labels: VarId) -> Result<VarId, Fault> {
        let double = Cast { dtype: DType::F64 };
        match sampler {
            Sampler::Uniform => {
                let ty = self.ty(labels).with_dtype(DType::F64);
                self.emit(Fill { value: Number::Float(1.0 / classes as f64), ty }, &[])
            }
            Sampler::LogUniform => {
                let class = self.emit(double, &[labels])?;
                let [next, behind] = [self.scaled(class, 1.0, 1.0)?, self.scaled(class, 1.0, 2.0)?];
                let ratio = self.binary(BinaryKind::Div, behind, next)?;
                let ratio = self.emit(Unary::of(UnaryKind::Log), &[ratio])?;
                self.scaled(ratio, 1.0 / (classes as f64).ln(), 0.0)
            }
            Sampler::Custom([probabilities, ..]) => {
                let found = self.emit(Gather { axis: 0 }, &[*probabilities, labels])?;
                self.emit(double, &[found])
            }
        }
    }
}
