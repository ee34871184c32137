//! Operators that a layer becomes by itself. The table of the layers says which arguments a call has; this table says only
//! what an operator calls otherwise than its layer.

use std::collections::BTreeMap;

use paddle_core::layers::{Argument, Kind, Layer, LeftOut};
use paddle_core::ops::{Attribute, Number, Op, Operator, Program};
use paddle_core::program::{DType, Dim, VarId};

use super::constants::float;
use super::sizes::{size, size_without_rows};
use super::tree::{Call, Expr};

/// How an operator and its layer differ.
struct Row {
    operator: &'static str,
    layer: &'static str,
    /// Names of arguments, and of the attributes that hold them.
    attributes: &'static [(&'static str, &'static str)],
    /// Inputs that are parameters of the layer: their positions and roles, in the order in which the layer creates them.
    parameters: &'static [(usize, &'static str)],
    /// The output that the layer gives, if it gives one and the operator several.
    output: usize,
}

const SAME: Row = Row { operator: "", layer: "", attributes: &[], parameters: &[], output: 0 };

const AXIS: &[(&str, &str)] = &[("axis", "axes")];
const WINDOWS: &[(&str, &str)] = &[
    ("size", "ksize"),
    ("kind", "pooling_type"),
    ("stride", "strides"),
    ("padding", "paddings"),
    ("ceil", "ceil_mode"),
];
const FILTERS: &[(&str, &str)] = &[("stride", "strides"), ("padding", "paddings"), ("dilation", "dilations")];
const SCALE_AND_SHIFT: &[(usize, &str)] = &[(1, "scale"), (2, "shift")];

/// The operators that differ from their layers. Others have the names of their layers, and so have their attributes.
const ROWS: &[Row] = &[
    Row { operator: "auc", layer: "auc", parameters: &[(2, "positives"), (3, "negatives")], ..SAME },
    Row { operator: "axis_to_rows", layer: "each_row", ..SAME },
    Row {
        operator: "batch_norm",
        layer: "batch_norm",
        parameters: &[(1, "scale"), (2, "shift"), (3, "mean"), (4, "variance")],
        ..SAME
    },
    Row { operator: "cast", layer: "cast", attributes: &[("to", "dtype")], ..SAME },
    Row {
        operator: "chunk_eval",
        layer: "chunk_eval",
        attributes: &[
            ("kinds", "num_chunk_types"),
            ("scheme", "chunk_scheme"),
            ("excluded", "excluded_chunk_types"),
        ],
        ..SAME
    },
    Row { operator: "conv2d", layer: "conv2d", attributes: FILTERS, parameters: &[(1, "w")], ..SAME },
    Row {
        operator: "conv2d_transpose",
        layer: "conv2d_transpose",
        attributes: FILTERS,
        parameters: &[(1, "w")],
        ..SAME
    },
    Row { operator: "crf_decoding", layer: "crf_decoding", parameters: &[(1, "w")], ..SAME },
    Row {
        operator: "dropout",
        layer: "dropout",
        attributes: &[("rate", "dropout_prob"), ("mode", "dropout_implementation")],
        ..SAME
    },
    Row { operator: "elementwise_heaviside", layer: "heaviside", ..SAME },
    Row { operator: "elementwise_max", layer: "maximum", ..SAME },
    Row { operator: "elementwise_min", layer: "minimum", ..SAME },
    Row { operator: "group_norm", layer: "group_norm", parameters: SCALE_AND_SHIFT, ..SAME },
    Row { operator: "isfinite_v2", layer: "isfinite", ..SAME },
    Row { operator: "isinf_v2", layer: "isinf", ..SAME },
    Row { operator: "isnan_v2", layer: "isnan", ..SAME },
    Row {
        operator: "layer_norm",
        layer: "layer_norm",
        attributes: &[("axis", "begin_norm_axis")],
        parameters: SCALE_AND_SHIFT,
        ..SAME
    },
    Row {
        operator: "linear_chain_crf",
        layer: "linear_chain_crf",
        parameters: &[(1, "w")],
        output: 1,
        ..SAME
    },
    Row { operator: "lookup_table_v2", layer: "embedding", parameters: &[(1, "w")], ..SAME },
    Row {
        operator: "matmul_v2",
        layer: "matmul",
        attributes: &[("transpose_x", "trans_x"), ("transpose_y", "trans_y")],
        ..SAME
    },
    Row { operator: "max_pool2d_with_index", layer: "max_pool2d_with_index", attributes: WINDOWS, ..SAME },
    Row { operator: "one_hot_v2", layer: "one_hot", ..SAME },
    Row { operator: "pool2d", layer: "pool2d", attributes: WINDOWS, ..SAME },
    Row { operator: "reduce_all", layer: "all", attributes: AXIS, ..SAME },
    Row { operator: "reduce_any", layer: "any", attributes: AXIS, ..SAME },
    Row { operator: "reduce_max", layer: "max", attributes: AXIS, ..SAME },
    Row { operator: "reduce_mean", layer: "mean", attributes: AXIS, ..SAME },
    Row { operator: "reduce_min", layer: "min", attributes: AXIS, ..SAME },
    Row { operator: "reduce_prod", layer: "prod", attributes: AXIS, ..SAME },
    Row { operator: "reduce_sum", layer: "sum", attributes: AXIS, ..SAME },
    Row { operator: "reshape2", layer: "reshape", attributes: &[("shape", "dims")], ..SAME },
    Row { operator: "rows_to_axis", layer: "all_rows", ..SAME },
    Row { operator: "scale", layer: "scale", attributes: &[("factor", "scale")], ..SAME },
    Row { operator: "sequence_expand_as", layer: "sequence_expand", ..SAME },
    Row { operator: "sequence_pad", layer: "sequence_pad", attributes: &[("maxlen", "length")], ..SAME },
    Row { operator: "sequence_pool", layer: "sequence_pool", attributes: &[("kind", "pooltype")], ..SAME },
    Row { operator: "sequence_product", layer: "sequence_products", ..SAME },
    Row { operator: "share_data", layer: "stop_gradient", ..SAME },
    Row { operator: "softmax_with_cross_entropy", layer: "softmax_with_cross_entropy", output: 1, ..SAME },
    Row { operator: "split", layer: "split", attributes: &[("parts", "sections")], ..SAME },
    Row { operator: "strided_slice", layer: "slice", ..SAME },
    Row { operator: "tile", layer: "tile", attributes: &[("times", "repeat_times")], ..SAME },
    Row { operator: "transpose2", layer: "transpose", attributes: &[("axes", "perm")], ..SAME },
    Row { operator: "top_k_v2", layer: "top_k", ..SAME },
    Row {
        operator: "unfold",
        layer: "unfold",
        attributes: &[
            ("size", "kernel_sizes"),
            ("stride", "strides"),
            ("padding", "paddings"),
            ("dilation", "dilations"),
        ],
        ..SAME
    },
    Row { operator: "where", layer: "select", ..SAME },
];

/// Attributes that a layer sets by itself: streams of random numbers, and types.
const OF_THE_LAYER: [&str; 6] = ["path", "ty", "is_test", "fan", "data_format", "rows"];

/// A call of the layer that becomes this operator, and the output that it gives; or why there is none.
pub(super) fn call(
    program: &Program,
    operator: &Operator,
    value: &dyn Fn(VarId) -> Expr,
    is_parameter: &dyn Fn(VarId) -> bool,
) -> Result<(Call, usize), String> {
    let name = operator.op.name();
    let row = ROWS.iter().find(|row| row.operator == name).unwrap_or(&SAME);
    let layer = Layer::find(if row.layer.is_empty() { name } else { row.layer });
    let Some(layer) = layer.filter(|_| operator.blocks.is_empty()) else {
        return Err("no layer becomes it".into());
    };
    let mut roles = Vec::new();
    for (at, role) in row.parameters {
        match operator.inputs.get(*at) {
            Some(&input) if is_parameter(input) || layer.named(role).is_some() => {
                roles.push((role.to_string(), input));
            }
            _ => return Err(format!("`{role}` of `{}` is computed, and no parameter", layer.name)),
        }
    }
    let is_own = |at: &usize| !row.parameters.iter().any(|(of, _)| of == at);
    let own = operator.inputs.iter().enumerate().filter(|(at, _)| is_own(at));
    let mut inputs = own.map(|(_, input)| value(*input));
    let mut attributes: BTreeMap<&str, Attribute> = operator.op.attributes().into_iter().collect();
    let cx = Context { program, operator, layer };
    let mut call = Call::of(layer.name, Vec::new());
    for argument in layer.positional {
        let given = match argument.kind {
            Kind::Value | Kind::Whole => inputs.next(),
            Kind::Values => Some(Expr::List(inputs.by_ref().collect())),
            Kind::Operands => {
                call.positional.extend(inputs.by_ref());
                continue;
            }
            _ => match attributes.remove(row.attribute(argument.name)) {
                Some(attribute) => cx.argument(argument, &attribute),
                None => cx.of_weight(argument.name, &roles),
            },
        };
        let missing = || format!("`{}` of `{}` cannot be written", argument.name, layer.name);
        call.positional.push(given.ok_or_else(missing)?);
    }
    for argument in layer.named {
        // What is computed is given in place of a parameter.
        let computed = roles.iter().find(|(role, input)| role == argument.name && !is_parameter(*input));
        if let Some((_, input)) = computed {
            call.named.push((argument.name, value(*input)));
            continue;
        }
        let Some(attribute) = attributes.remove(row.attribute(argument.name)) else { continue };
        if cx.is_left_out(argument, &attribute) {
            continue;
        }
        let given = cx.argument(argument, &attribute);
        let missing = || format!("`{}` of `{}` cannot be written", argument.name, layer.name);
        call.named.push((argument.name, given.ok_or_else(missing)?));
    }
    // The others of these number the rows, which the layer does by itself.
    if inputs.next().is_some() && !matches!(operator.op, Op::Dropout(_)) {
        return Err(format!("`{}` does not take all of its inputs", layer.name));
    }
    if layer.name == "embedding" && program.ty(roles[0].1).dtype != DType::F32 {
        return Err("the entries of an `embedding` are f32".into());
    }
    if layer.named("bias").is_some_and(|bias| bias.kind == Kind::Flag) {
        call.named.push(("bias", Expr::word(false)));
    }
    let other = attributes.iter().find(|(name, attribute)| {
        !OF_THE_LAYER.contains(*name) && default(&operator.op, name).as_ref() != Some(*attribute)
    });
    roles.retain(|(_, input)| is_parameter(*input));
    call.parameters = roles;
    match other {
        Some((attribute, _)) => Err(format!("`{}` does not set `{attribute}`", layer.name)),
        None => Ok((call, row.output)),
    }
}

impl Row {
    /// The attribute that holds an argument.
    fn attribute(&self, argument: &'static str) -> &'static str {
        let renamed = self.attributes.iter().find(|(name, _)| *name == argument);
        renamed.map_or(argument, |(_, attribute)| attribute)
    }
}

/// The value of an attribute that is left out.
fn default(op: &Op, attribute: &str) -> Option<Attribute> {
    let others = op.attributes().into_iter().filter(|(name, _)| *name != attribute);
    let op = op.with_attributes(others.map(|(name, value)| (name.to_string(), value)).collect()).ok()?;
    op.attributes().into_iter().find(|(name, _)| *name == attribute).map(|(_, value)| value)
}

struct Context<'p> {
    program: &'p Program,
    operator: &'p Operator,
    layer: &'static Layer,
}

impl Context<'_> {
    /// The rank of the first input, to which axes refer.
    fn rank(&self) -> i64 {
        self.operator.inputs.first().map_or(0, |input| self.program.ty(*input).rank() as i64)
    }

    /// An argument that the shape of the first weight has.
    fn of_weight(&self, argument: &str, weights: &[(String, VarId)]) -> Option<Expr> {
        let dims = &self.program.ty(weights.first()?.1).dims;
        let word = |dim| size(self.program, dim).map(Expr::Word);
        match (self.layer.name, argument, &dims[..]) {
            ("embedding", "size", dims) => dims.iter().map(word).collect::<Option<_>>().map(Expr::List),
            ("conv2d", "filters", [filters, ..]) => word(filters),
            ("conv2d_transpose", "filters", [_, filters, ..]) => {
                let groups = self.operator.op.attributes().into_iter().find(|(name, _)| *name == "groups");
                let Some((_, Attribute::Number(Number::Int(groups)))) = groups else { return None };
                Some(Expr::word(filters.constant()?.checked_mul(groups)?))
            }
            (_, "filter_size", [_, _, window @ ..]) => {
                Some(compact(window.iter().map(word).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// Whether an argument has the value that it has if it is left out.
    fn is_left_out(&self, argument: &Argument, attribute: &Attribute) -> bool {
        match (argument.default, attribute) {
            (Some(LeftOut::Flag(default)), Attribute::Number(Number::Bool(is))) => default == *is,
            (Some(LeftOut::Int(default)), Attribute::Number(number)) => {
                let default = match argument.name {
                    "axis" if default < 0 => default + self.rank(),
                    _ => default,
                };
                number.as_i64() == Some(default)
            }
            (Some(LeftOut::Int(default)), Attribute::Ints(all)) => {
                !all.is_empty() && all.iter().all(|is| *is == default)
            }
            (Some(LeftOut::Int(default)), Attribute::Dims(all)) => {
                all.iter().all(|is| is.constant() == Some(default))
            }
            (Some(LeftOut::Number(default)), Attribute::Number(number)) => {
                let number = number.as_f64();
                default == number || (f64::from(default as f32) == number)
            }
            (Some(LeftOut::Word(default)), Attribute::Text(word)) => default.eq_ignore_ascii_case(word),
            (Some(LeftOut::Word(default)), Attribute::DType(dtype)) => default == dtype.name(),
            (None, Attribute::Ints(all)) => {
                let is_size = argument.name == "stride"
                    && self
                        .operator
                        .op
                        .attributes()
                        .iter()
                        .any(|(name, size)| *name == "ksize" && *size == Attribute::Ints(all.clone()));
                all.is_empty() || is_size
            }
            (None, Attribute::Number(number)) => {
                argument.name == "padding_idx" && number.as_i64() == Some(-1)
            }
            _ => false,
        }
    }

    /// The value of an attribute as an argument; `None` if the argument does not take it.
    fn argument(&self, argument: &Argument, attribute: &Attribute) -> Option<Expr> {
        let flag = |number: &Number| Expr::word(number.as_f64() != 0.0);
        Some(match (argument.kind, attribute) {
            (Kind::Flag, Attribute::Number(number)) => flag(number),
            (Kind::Number, Attribute::Number(number)) => Expr::Word(float(number.as_f64())),
            (Kind::Int | Kind::Size, Attribute::Number(number)) => Expr::word(number.as_i64()?),
            (Kind::Size, Attribute::Dims(dims)) => match &dims[..] {
                [dim] => Expr::Word(size(self.program, dim)?),
                _ => return None,
            },
            (Kind::Int, Attribute::Dims(dims)) => match &dims[..] {
                [dim] => Expr::word(dim.constant()?),
                _ => return None,
            },
            (Kind::Choice(words), Attribute::Text(text)) => {
                Expr::word(words.iter().find(|word| word.eq_ignore_ascii_case(text))?)
            }
            (Kind::Choice(words), Attribute::DType(dtype)) => {
                Expr::word(words.iter().find(|word| **word == dtype.name())?)
            }
            (Kind::IntsOr(words), Attribute::Ints(all)) if all.is_empty() => Expr::word(words.first()?),
            (Kind::Ints, Attribute::Number(number)) => Expr::word(number.as_i64()?),
            (Kind::Ints | Kind::IntsOr(_) | Kind::Sizes, Attribute::Ints(all)) => {
                self.list(argument.name, all.iter().map(Expr::word).collect())
            }
            (Kind::Sizes | Kind::Shape | Kind::SizesIfAny, Attribute::Dims(dims)) => {
                // In a shape, one number of rows is what is left.
                let has_rows = |dim: &&Dim| size_without_rows(self.program, dim).is_none();
                let is_left = argument.kind == Kind::Shape
                    && dims.iter().filter(has_rows).count() == 1
                    && dims.iter().all(|dim| dim.constant().is_some() || has_rows(&dim));
                let word = |dim: &Dim| match is_left && has_rows(&dim) {
                    true => Some(Expr::word(-1)),
                    false => size(self.program, dim).map(Expr::Word),
                };
                let dims: Option<Vec<Expr>> = dims.iter().map(word).collect();
                match (argument.kind, argument.name) {
                    (Kind::Sizes, "parts") => parts(dims?),
                    _ => Expr::List(dims?),
                }
            }
            _ => return None,
        })
    }

    /// Several whole numbers: one for all where that means the same, and without brackets if there is one only.
    fn list(&self, argument: &str, numbers: Vec<Expr>) -> Expr {
        match argument {
            "stride" | "padding" | "dilation" | "size" | "output_padding" | "windows" => compact(numbers),
            "axis" if numbers.len() == 1 => numbers.into_iter().next().unwrap_or(Expr::List(Vec::new())),
            _ => Expr::List(numbers),
        }
    }
}

/// Sizes of images: one for both if they are equal. Four are those above, below, on the left and on the right.
fn compact(sizes: Vec<Expr>) -> Expr {
    let words: Vec<&str> =
        sizes.iter().map(|size| if let Expr::Word(word) = size { word.as_str() } else { "" }).collect();
    match &words[..] {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => Expr::word(first),
        [above, below, left, right] if above == below && left == right => {
            Expr::List(vec![Expr::word(above), Expr::word(left)])
        }
        _ => Expr::List(sizes),
    }
}

/// The parts of a `split`: their number if they are equal.
fn parts(sizes: Vec<Expr>) -> Expr {
    let word = |size: &Expr| if let Expr::Word(word) = size { word.clone() } else { String::new() };
    let first = sizes.first().map(word);
    match sizes.len() > 1 && sizes.iter().all(|size| Some(word(size)) == first) {
        true => Expr::word(sizes.len()),
        false => Expr::List(sizes),
    }
}
