//! From the wire: one rule per operator.
//!
//! A rule reads slots and attributes, appends operators of ours, and says which of their outputs are the variables in
//! the output slots. A rule returns `false` for a form that is not of ours (a softmax along another axis); the
//! operator then stays foreign. Slots that no rule reads (`XShape`, `StepScopes`) are dead.

use super::control;
use super::error::{ConvertError, Fault, VariableFault};
use super::from_wire::{Reader, one};
use super::names::{CALLSTACK, DIMS, EMPTY, OURS, ROLE, ROLE_VAR, TYPE, TYPES};
use super::types::{dtype, fits, is_small_product, parse_dim, parse_type};
use crate::ops::{
    Assign, Expand, Fill, Foreign, GaussianRandom, Matmul, Number, Op, Reduce, ReduceKind, Reshape, Scale,
    Sgd, Size, UniformRandom,
};
use crate::program::{BlockId, DType, Dim, Program, Role, Site, Type, VarId};
use crate::wire::{AttrType, OpDesc, VarKind};

/// What a rule is.
type Rule = fn(&mut Reading<'_, '_>) -> Result<bool, ConvertError>;

/// The rule for an operator of this name.
#[rustfmt::skip]
fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "assign"                                                            => |x| x.plain(),
        "relu" | "tanh" | "square"                                          => |x| x.plain(),
        "relu_grad" | "tanh_grad" | "square_grad"                           => |x| x.plain(),
        "logical_and" | "logical_or" | "logical_not"                        => |x| x.plain(),
        "elementwise_add" | "elementwise_sub" | "elementwise_mul"           => |x| x.aligned(),
        "elementwise_div" | "elementwise_mod" | "elementwise_floordiv"      => |x| x.aligned(),
        "less_than" | "less_equal" | "greater_than" | "greater_equal"       => |x| x.aligned(),
        "equal" | "not_equal"                                               => |x| x.aligned(),
        "scale"                                                             => |x| x.scale(),
        "increment"                                                         => |x| x.increment(),
        "cast"                                                              => |x| x.cast(),
        "matmul_v2"                                                         => |x| x.matmul(),
        "mul"                                                               => |x| x.mul(),
        "mean"                                                              => |x| x.mean(),
        "reduce_sum" | "reduce_mean"                                        => |x| x.reduce(),
        "reshape2"                                                          => |x| x.reshape(),
        "softmax" | "softmax_grad"                                          => |x| x.softmax(),
        "softmax_with_cross_entropy" | "softmax_with_cross_entropy_grad"    => |x| x.cross_entropy(),
        "fill_constant" | "uniform_random" | "gaussian_random"              => |x| x.constant(),
        "sgd"                                                               => |x| x.sgd(),
        "while"                                                             => control::raise_while,
        // Ours.
        "rust.gather_rows"                                                  => |x| x.plain(),
        "rust.size"                                                         => |x| x.size(),
        "rust.expand_as_v2"                                                 => |x| x.expand(),
        "rust.if"                                                           => control::read_if,
        "rust.while"                                                        => control::read_while,
        "rust.while_grad"                                                   => control::read_while_grad,
        _ => return None,
    })
}

/// One operator while it is read.
pub(super) struct Reading<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) desc: &'a OpDesc,
    /// The block of the wire.
    pub(super) block: usize,
    pub(super) site: Site,
}

impl<'a> Reading<'_, 'a> {
    /// Reads the operator by its rule, or keeps it as foreign.
    pub(super) fn operator(&mut self) -> Result<(), ConvertError> {
        let known = match rule(&self.desc.r#type) {
            Some(rule) => rule(self)?,
            None if self.desc.r#type.starts_with(OURS) => return Err(Fault::UnknownOperator.into()),
            None => false,
        };
        if !known {
            self.foreign()?;
        }
        // Operators that update a parameter name its gradient too.
        if self.site.role != Role::Optimize {
            self.reader.note_gradients(self.desc, self.block)?;
        }
        Ok(())
    }

    pub(super) fn id(&self) -> BlockId {
        // A block's operators are read after it was entered.
        self.reader.versions.id(self.block).unwrap_or(BlockId(u32::MAX))
    }

    /// The variables in an input slot.
    pub(super) fn inputs(&self, slot: &str) -> Result<Vec<VarId>, Fault> {
        self.desc.input(slot).iter().map(|name| self.read(name)).collect()
    }

    /// The only variable in an input slot.
    pub(super) fn input(&self, slot: &'static str) -> Result<VarId, Fault> {
        self.read(one(self.desc.input(slot), slot)?)
    }

    pub(super) fn read(&self, name: &str) -> Result<VarId, Fault> {
        self.reader.versions.read(&self.reader.blocks, self.block, name)
    }

    pub(super) fn ty(&self, var: VarId) -> &Type {
        self.reader.program.ty(var)
    }

    /// Whether one of these optional slots holds something.
    fn has(&self, slots: &[&str]) -> bool {
        slots.iter().any(|slot| !self.desc.input(slot).is_empty())
    }

    fn bool(&self, name: &str, default: bool) -> Result<bool, Fault> {
        Ok(self.desc.attr_bool(name)?.unwrap_or(default))
    }

    fn axis(&self, var: VarId, axis: i64) -> Option<usize> {
        let rank = self.ty(var).rank() as i64;
        usize::try_from(if axis < 0 { axis.checked_add(rank)? } else { axis })
            .ok()
            .filter(|&a| (a as i64) < rank)
    }

    /// Appends an operator with one output, which no variable holds.
    fn emit(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<VarId, Fault> {
        let (op, id) = (op.into(), self.id());
        let name = op.name();
        Ok(self.reader.append(id, op, inputs, &[], &[name], self.site)?[0])
    }

    /// Appends an operator whose outputs are the new versions of these variables.
    pub(super) fn define(
        &mut self,
        op: impl Into<Op>,
        inputs: &[VarId],
        blocks: &[BlockId],
        names: &[&'a str],
    ) -> Result<bool, ConvertError> {
        let id = self.id();
        let values = self.reader.append(id, op.into(), inputs, blocks, names, self.site)?;
        for (&name, value) in names.iter().zip(values) {
            self.reader.versions.write(&self.reader.blocks, self.block, name, value)?;
        }
        Ok(true)
    }

    /// Appends an operator whose only output is the variable in slot `Out`.
    fn out(&mut self, op: impl Into<Op>, inputs: &[VarId]) -> Result<bool, ConvertError> {
        let desc = self.desc;
        self.define(op, inputs, &[], &[one(desc.output("Out"), "Out")?])
    }

    /// An operator of the same name and slots, without attributes that matter.
    fn plain(&mut self) -> Result<bool, ConvertError> {
        let name = self.desc.r#type.as_str();
        let op = Op::from_attributes(name.strip_prefix(OURS).unwrap_or(name), Vec::new());
        let Ok(op) = op else { return Ok(false) };
        let schema = op.schema();
        let inputs = schema.inputs.iter().map(|slot| self.input(slot)).collect::<Result<Vec<_>, _>>()?;
        let desc = self.desc;
        let names = schema.outputs.iter().map(|slot| one(desc.output(slot), slot));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        self.define(op, &inputs, &[], &names)
    }

    /// Element-wise operators of two values: `axis` says where in `X` the dimensions of `Y` start. Ours are aligned
    /// at the end, so `Y` gets trailing dimensions of 1.
    fn aligned(&mut self) -> Result<bool, ConvertError> {
        let (x, mut y) = (self.input("X")?, self.input("Y")?);
        let axis = i64::from(self.desc.attr_int("axis")?.unwrap_or(-1));
        let (x_rank, y_rank) = (self.ty(x).rank() as i64, self.ty(y).rank() as i64);
        if axis >= 0 && y_rank > 0 {
            let missing = x_rank - axis - y_rank;
            if missing < 0 {
                return Ok(false);
            }
            if missing > 0 {
                let mut dims = self.ty(y).dims.clone();
                dims.extend(std::iter::repeat_n(Dim::from(1), missing as usize));
                y = self.emit(Reshape { dims }, &[y])?;
            }
        } else if axis < -1 {
            return Ok(false);
        }
        let Ok(op) = Op::from_attributes(&self.desc.r#type, Vec::new()) else { return Ok(false) };
        self.out(op, &[x, y])
    }

    /// The bias may be added before the multiplication.
    fn scale(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["ScaleTensor"]) {
            return Ok(false);
        }
        let x = self.input("X")?;
        let mut scale = float(self.desc, "scale", "rust.scale", 1.0)?;
        let mut bias = float(self.desc, "bias", "rust.bias", 0.0)?;
        if !self.ty(x).dtype.is_float() {
            (scale, bias) = (scale.trunc(), bias.trunc());
        }
        if !self.bool("bias_after_scale", true)? {
            bias *= scale;
        }
        self.out(Scale { scale, bias }, &[x])
    }

    fn increment(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let step = float(self.desc, "step", "rust.step", 1.0)?;
        self.out(Scale { scale: 1.0, bias: step }, &[x])
    }

    /// Only from a type to itself.
    fn cast(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let attribute = "out_dtype";
        let to = self.desc.attr_int(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        match VarKind::try_from(to).ok().and_then(dtype) {
            Some(to) if to == self.ty(x).dtype => self.out(Assign, &[x]),
            _ => Ok(false),
        }
    }

    /// Matrices only.
    fn matmul(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("X")?, self.input("Y")?);
        if self.ty(x).rank() != 2 || self.ty(y).rank() != 2 {
            return Ok(false);
        }
        let op = Matmul { trans_x: self.bool("trans_x", false)?, trans_y: self.bool("trans_y", false)? };
        self.out(op, &[x, y])
    }

    /// The product of two values as matrices: the first `num_col_dims` dimensions are one, the others are the other.
    fn mul(&mut self) -> Result<bool, ConvertError> {
        let inputs = [("X", "x_num_col_dims"), ("Y", "y_num_col_dims")];
        let mut matrices = [VarId(0); 2];
        let mut kept = Vec::new();
        for (side, (slot, attribute)) in inputs.into_iter().enumerate() {
            let var = self.input(slot)?;
            let split = i64::from(self.desc.attr_int(attribute)?.unwrap_or(1));
            let (rows, dims) = (self.ty(var).rows.is_some(), self.ty(var).dims.clone());
            let rank = self.ty(var).rank();
            let Some(split) = usize::try_from(split).ok().filter(|&split| 0 < split && split < rank) else {
                let message = format!("{split} does not split {rank} dimensions in two");
                return Err(Fault::Attribute { attribute, message }.into());
            };
            // Rows are a dimension of the product by themselves, or not at all.
            if (rows && split != 1) || !is_small_product(&dims) {
                return Ok(false);
            }
            let (left, right) = dims.split_at(split - usize::from(rows));
            kept.extend_from_slice(if side == 0 { left } else { right });
            matrices[side] = var;
            if rank != 2 {
                let dims = if rows { vec![product(right)?] } else { vec![product(left)?, product(right)?] };
                matrices[side] = self.emit(Reshape { dims }, &[var])?;
            }
        }
        let product = Matmul { trans_x: false, trans_y: false };
        if kept.len() + usize::from(self.ty(matrices[0]).rows.is_some()) == 2 {
            return self.out(product, &matrices);
        }
        let product = self.emit(product, &matrices)?;
        self.out(Reshape { dims: kept }, &[product])
    }

    fn mean(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        self.out(Reduce { kind: ReduceKind::Mean, axes: Vec::new(), keep_dim: false }, &[x])
    }

    /// Negative axes count from the end; none, or `reduce_all`, are all.
    fn reduce(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let out_dtype = self.desc.attr_int("out_dtype")?.unwrap_or(-1);
        if out_dtype >= 0 && VarKind::try_from(out_dtype).ok().and_then(dtype) != Some(self.ty(x).dtype) {
            return Ok(false);
        }
        let kind = if self.desc.r#type == "reduce_sum" { ReduceKind::Sum } else { ReduceKind::Mean };
        let keep_dim = self.bool("keep_dim", false)?;
        let mut axes = Vec::new();
        if !self.bool("reduce_all", false)? {
            for axis in self.desc.attr_longs("dim")?.unwrap_or_else(|| vec![0]) {
                let Some(axis) = self.axis(x, axis) else {
                    let message = format!("there is no axis {axis} of {} dimensions", self.ty(x).rank());
                    return Err(Fault::Attribute { attribute: "dim", message }.into());
                };
                axes.push(axis as i64);
            }
            axes.sort_unstable();
            axes.dedup();
        }
        self.out(Reduce { kind, axes, keep_dim }, &[x])
    }

    /// In `shape`, 0 is the size that `X` has at this place, and -1, once, what is left. Rows stay rows.
    fn reshape(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["Shape", "ShapeTensor"]) {
            return Ok(false);
        }
        let x = self.input("X")?;
        let dims = match self.desc.attr_strings(DIMS)? {
            Some(dims) => dims.iter().map(|dim| parse_dim(&self.reader.program, dim)).collect(),
            None => self.resolve_shape(x)?,
        };
        let Some(dims) = dims else { return Ok(false) };
        if !is_small_product(&dims) || !is_small_product(&self.ty(x).dims) {
            return Ok(false);
        }
        self.out(Reshape { dims }, &[x])
    }

    fn resolve_shape(&self, x: VarId) -> Result<Option<Vec<Dim>>, Fault> {
        let shape = self.desc.attr_ints("shape")?.unwrap_or_default();
        let ty = self.ty(x);
        let rows = usize::from(ty.rows.is_some());
        if rows == 1 && !matches!(shape.first(), Some(0 | -1)) {
            return Ok(None);
        }
        let mut dims = Vec::with_capacity(shape.len());
        let mut rest = None;
        for (axis, &size) in shape.iter().enumerate().skip(rows) {
            dims.push(match size {
                0 => match axis.checked_sub(rows).and_then(|axis| ty.dims.get(axis)) {
                    Some(dim) => dim.clone(),
                    None => return Ok(None),
                },
                // With -1 for the rows, this is a second one.
                -1 if rest.is_none() && !(rows == 1 && shape[0] == -1) => {
                    rest = Some(axis - rows);
                    Dim::from(1)
                }
                1.. => Dim::from(i64::from(size)),
                _ => return Ok(None),
            });
        }
        if let Some(rest) = rest {
            if !is_small_product(&dims) || !is_small_product(&ty.dims) {
                return Ok(None);
            }
            let Some(left) = product(&ty.dims)?.floor_div(&product(&dims)?) else { return Ok(None) };
            dims[rest] = left;
        }
        Ok(Some(dims))
    }

    /// Along the last axis only.
    fn softmax(&mut self) -> Result<bool, ConvertError> {
        let value = self.input(if self.desc.r#type == "softmax" { "X" } else { "Out" })?;
        if self.is_last_axis(value)? { self.plain() } else { Ok(false) }
    }

    fn is_last_axis(&self, var: VarId) -> Result<bool, Fault> {
        let axis = self.desc.attr_int("axis")?.unwrap_or(-1);
        Ok(self.axis(var, i64::from(axis)).map(|axis| axis + 1) == Some(self.ty(var).rank()))
    }

    /// Of class ids and logits along the last axis. No id is ignored.
    fn cross_entropy(&mut self) -> Result<bool, ConvertError> {
        let is_grad = self.desc.r#type.ends_with("_grad");
        let values = self.input(if is_grad { "Softmax" } else { "Logits" })?;
        let ours = !self.bool("soft_label", false)?
            && self.bool("use_softmax", true)?
            && self.desc.attr_int("ignore_index")?.unwrap_or(-100) < 0
            && self.is_last_axis(values)?;
        if ours { self.plain() } else { Ok(false) }
    }

    fn constant(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["ValueTensor", "ShapeTensor", "ShapeTensorList"]) {
            return Ok(false);
        }
        match source_op(&self.reader.program, self.desc)? {
            Some(op) => self.out(op, &[]),
            None => Ok(false),
        }
    }

    /// The parameter is updated where it is.
    fn sgd(&mut self) -> Result<bool, ConvertError> {
        if self.has(&["MasterParam"]) || self.desc.output("ParamOut") != self.desc.input("Param") {
            return Ok(false);
        }
        let inputs = [self.input("Param")?, self.input("LearningRate")?, self.input("Grad")?];
        self.define(Sgd, &inputs, &[], &[])
    }

    fn size(&mut self) -> Result<bool, ConvertError> {
        let axes = self.desc.attr_longs("axes")?.unwrap_or_default();
        let x = self.input("X")?;
        self.out(Size { axes }, &[x])
    }

    fn expand(&mut self) -> Result<bool, ConvertError> {
        let axes = self.desc.attr_longs("axes")?.unwrap_or_default();
        let op = Expand { axes, keep_dim: self.bool("keep_dim", false)? };
        let inputs = [self.input("X")?, self.input("Y")?];
        self.out(op, &inputs)
    }

    /// An operator that is not known. Its outputs are what is declared.
    fn foreign(&mut self) -> Result<(), ConvertError> {
        let desc = self.desc;
        let blocks = [AttrType::Block, AttrType::Blocks].map(i32::from);
        if desc.attrs.iter().any(|attr| blocks.contains(&attr.r#type)) {
            return Err(Fault::UnknownStructure.into());
        }
        let names = |slots: &'a [crate::wire::OpVar]| {
            slots.iter().flat_map(|slot| &slot.arguments).map(String::as_str).filter(|name| *name != EMPTY)
        };
        let inputs = names(&desc.inputs).map(|name| self.read(name)).collect::<Result<Vec<_>, _>>()?;
        let outputs: Vec<&'a str> = names(&desc.outputs).collect();
        let types = match desc.attr_strings(TYPES)? {
            Some(texts) => {
                let parse = |text: &String| {
                    let ty = parse_type(&self.reader.program, text);
                    ty.filter(fits).ok_or_else(|| Fault::Attribute {
                        attribute: TYPES,
                        message: format!("`{text}` is not a type"),
                    })
                };
                texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?
            }
            None => outputs.iter().map(|name| self.declared(name)).collect::<Result<Vec<_>, _>>()?,
        };
        if types.len() != outputs.len() {
            let message = format!("{} types for {} outputs", types.len(), outputs.len());
            return Err(Fault::Attribute { attribute: TYPES, message }.into());
        }
        let op = Foreign { name: desc.r#type.clone(), desc: anonymous(desc), types };
        self.define(op, &inputs, &[], &outputs)?;
        Ok(())
    }

    /// The declared type of a variable that is visible here.
    fn declared(&mut self, name: &str) -> Result<Type, Fault> {
        let mut at = Some(self.block);
        while let Some(block) = at {
            if let Some(&var) = self.reader.blocks[block].declared.get(name) {
                return self.reader.declared_type(var, true);
            }
            at = self.reader.blocks[block].parent;
        }
        Err(Fault::Undeclared { name: name.to_string() })
    }
}

/// The description of an operator without what the program holds beside it: names of variables, role, place.
fn anonymous(desc: &OpDesc) -> Vec<u8> {
    let mut desc = desc.clone();
    let ours = [ROLE, ROLE_VAR, CALLSTACK, TYPES];
    desc.attrs.retain(|attr| !ours.contains(&attr.name.as_str()));
    for argument in desc.inputs.iter_mut().chain(&mut desc.outputs).flat_map(|slot| &mut slot.arguments) {
        if argument != EMPTY {
            argument.clear();
        }
    }
    desc.encode_to_vec()
}

fn product(dims: &[Dim]) -> Result<Dim, Fault> {
    let product = dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    product.map_err(|_| Fault::Size { ty: "of a size that overflows".into() })
}

/// A number: the exact one, if it is there; else the one of single precision, as it is.
fn float(desc: &OpDesc, name: &str, exact: &str, default: f64) -> Result<f64, Fault> {
    if let Some(attr) = desc.attr(exact)
        && attr.r#type == i32::from(AttrType::Float64)
        && let Some(value) = attr.float64
    {
        return Ok(value);
    }
    Ok(desc.attr_float(name)?.map_or(default, f64::from))
}

/// The initialiser of a parameter of type `ty`; `None` if nothing is known of it but that it exists.
pub(super) fn initializer(program: &Program, desc: &OpDesc, ty: &Type) -> Result<Option<Op>, Fault> {
    if !desc.inputs.iter().all(|slot| slot.arguments.is_empty()) {
        return Ok(None);
    }
    match source_op(program, desc)? {
        Some(op) => Ok(Some(op)),
        None if desc.outputs.iter().flat_map(|slot| &slot.arguments).count() == 1 => {
            let (name, desc) = (desc.r#type.clone(), anonymous(desc));
            Ok(Some(Foreign { name, desc, types: vec![ty.clone()] }.into()))
        }
        None => Ok(None),
    }
}

/// An operator without inputs.
fn source_op(program: &Program, desc: &OpDesc) -> Result<Option<Op>, Fault> {
    let kind = desc.r#type.as_str();
    if !matches!(kind, "fill_constant" | "uniform_random" | "gaussian_random") {
        return Ok(None);
    }
    let Some(ty) = source_type(program, desc)? else { return Ok(None) };
    Ok(Some(match kind {
        "fill_constant" => Fill { value: fill_value(desc, ty.dtype)?, ty }.into(),
        "uniform_random" => UniformRandom {
            min: float(desc, "min", "rust.min", -1.0)?,
            max: float(desc, "max", "rust.max", 1.0)?,
            ty,
        }
        .into(),
        _ => GaussianRandom {
            mean: float(desc, "mean", "rust.mean", 0.0)?,
            std: float(desc, "std", "rust.std", 1.0)?,
            ty,
        }
        .into(),
    }))
}

/// The type of an operator without inputs; `None` if some size comes from elsewhere.
fn source_type(program: &Program, desc: &OpDesc) -> Result<Option<Type>, Fault> {
    let ty = match desc.attr_string(TYPE)? {
        Some(text) => parse_type(program, text).ok_or_else(|| Fault::Attribute {
            attribute: TYPE,
            message: format!("`{text}` is not a type"),
        })?,
        None => {
            let number = desc.attr_int("dtype")?.unwrap_or(VarKind::Fp32.into());
            let Some(dtype) = VarKind::try_from(number).ok().and_then(dtype) else { return Ok(None) };
            let shape = desc.attr_longs("shape")?.unwrap_or_default();
            if shape.contains(&-1) {
                return Ok(None);
            }
            Type::new(dtype, shape)
        }
    };
    if !fits(&ty) {
        return Err(Fault::Variable {
            name: desc.output("Out").first().cloned().unwrap_or_default(),
            reason: VariableFault::Dimensions(super::types::wire_dims(&ty)),
        });
    }
    Ok(Some(ty))
}

/// The value of a constant: `str_value` if there is one, which is exact.
fn fill_value(desc: &OpDesc, dtype: DType) -> Result<Number, Fault> {
    let attribute = "str_value";
    let text = desc.attr_string(attribute)?.unwrap_or_default();
    let single = desc.attr_float("value")?.unwrap_or(0.0);
    let number = match text {
        "" => Number::Float(f64::from(single)),
        _ => match (text.parse(), text.parse()) {
            (Ok(int), _) => Number::Int(int),
            (_, Ok(float)) => Number::Float(float),
            _ => return Err(Fault::Attribute { attribute, message: format!("`{text}` is not a number") }),
        },
    };
    Ok(match dtype {
        DType::Bool => Number::Bool(number.as_f64() != 0.0),
        DType::I32 | DType::I64 => match number {
            Number::Float(value) => Number::Int(value as i64),
            number => number,
        },
        DType::F32 | DType::F64 => number,
    })
}
