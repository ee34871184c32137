//! Lowering: tree → program, with every check of types. Sub-networks are inlined at each call.

mod argument;
mod assigned;
mod binding;
mod branch;
mod call;
mod const_values;
mod constants;
mod editor_types;
mod expr;
mod for_sequences;
mod indexing;
mod inputs;
mod layer;
mod loop_state;
mod meaning;
mod methods;
mod operator;
mod outputs;
mod outside_constants;
mod outside_sizes;
mod static_branches;
mod types;
mod unroll;
mod unused_values;
mod while_loop;

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::{Mismatch, MismatchKind, Program};
use paddle_core::program::{BlockId, BuildError, Definition, LayerId, Place, Role, RowsId, Site, VarId};
use proc_macro2::Span;

use crate::ast::{
    BindingId, Block, Constant, Expr, Function, FunctionId, Network, Origin, OutsideSize, Pattern,
    PatternKind, Shown, Statement, TypeExpr, UnitId,
};
use crate::messages::Message;
use crate::parameter_names::Names;
use crate::report::{Blame, Extent, Frame, Report, Sink};
use crate::values::{Dims, Env, Slot, Value};

use binding::Bound;
pub use inputs::Input;
use meaning::Meanings;
pub use operator::declare;
use outside_sizes::OutsideSymbols;
pub use outside_sizes::Sizes;
use types::ITSELF;

/// A lowered topology.
#[derive(Debug)]
pub struct Lowered {
    pub inputs: Vec<Input>,
    /// `None` if a mistake has been reported.
    pub program: Option<Program>,
    /// Its outside sizes and constants.
    pub sizes: Sizes,
    /// The place of the first use of each parameter name.
    pub uses: BTreeMap<String, Blame>,
    /// The types that editors show of its variables.
    pub shown: BTreeMap<BindingId, Shown>,
}

/// Lowers one topology. `is_known` is false if mistakes have been reported that make some names or values unknown.
pub fn lower(network: &Network, function: FunctionId, is_known: bool, sink: &mut Sink) -> Lowered {
    // The sink is this topology's own: mistakes of other topologies do not make it incomplete.
    let mut own = Sink::default();
    let mut lowering = Lowering::new(network, is_known, &mut own);
    let mut inputs = lowering.topology(function).unwrap_or_default();
    let sizes = lowering.finish_sizes();
    let program = std::mem::take(&mut lowering.program);
    for input in &mut inputs {
        input.dims.clone_from(&program.ty(input.var).dims);
    }
    let uses = std::mem::take(&mut lowering.first_uses);
    let shown = std::mem::take(&mut lowering.shown);
    let is_right = is_known && own.is_empty();
    sink.absorb(own);
    Lowered { inputs, program: is_right.then_some(program), sizes, uses, shown }
}

/// Lowers only the inputs of a network that has mistakes elsewhere.
pub fn inputs(network: &Network, function: FunctionId) -> Lowered {
    let mut unseen = Sink::default();
    let mut lowering = Lowering::new(network, false, &mut unseen);
    lowering.constants();
    for size in &network.functions[function.0].generics {
        lowering.constant(size);
    }
    let inputs = lowering.inputs(network.functions[function.0].params.iter());
    let inputs = inputs.into_iter().collect::<Option<_>>().unwrap_or_default();
    let outside = lowering.outside.into_values().collect();
    let sizes = Sizes { outside, constants: Vec::new(), blames: Vec::new() };
    let shown = lowering.shown;
    unseen.finish();
    Lowered { inputs, program: None, sizes, uses: BTreeMap::new(), shown }
}

/// The place of a topology's result.
fn result(function: &Function) -> Extent {
    function.body.tail.as_ref().map_or(function.body.at, |tail| tail.at)
}

struct Lowering<'a, 's> {
    network: &'a Network,
    /// Whether all names are known and all source was read.
    is_known: bool,
    sink: &'s mut Sink,
    program: Program,
    /// The block that operators are appended to.
    block: BlockId,
    env: Env<'a>,
    /// The dimensions named in the sub-network that is being inlined; `None` for one with a mistake.
    dims: Dims,
    /// The unit of the sub-network that is being inlined.
    unit: UnitId,
    /// Whether this is the definition of a user's operator. Its operators need no gradient, and only `_` stands for
    /// rows in its types.
    is_definition: bool,
    /// The call that entered the library: its place, its unit, and the layer.
    library_call: Option<(Span, UnitId, LayerId)>,
    /// The calls that are being inlined, the outermost first.
    calls: Vec<Frame>,
    names: Names,
    /// The nesting depth of the present expression, including the calls that led to it.
    depth: usize,
    /// Whether the depth limit was exceeded.
    is_too_deep: bool,
    /// How many times bodies of `for` have been lowered.
    iterations: usize,
    /// How many calls of `rehearse` are active.
    rehearsals: usize,
    /// How many times sub-networks have been inlined.
    inlined: usize,
    /// The variables of the `for` loops that are being unrolled.
    loop_variables: Vec<Option<String>>,
    /// The binding of the present expression. It names parameters.
    binding: Bound,
    /// The place of the first use of each parameter name.
    first_uses: BTreeMap<String, Blame>,
    /// Values that already have a name from the user.
    named: BTreeSet<VarId>,
    /// Outside sizes and their symbols.
    outside: OutsideSymbols,
    /// Outside constants, by their names in the program.
    outside_constants: Vec<(String, OutsideSize)>,
    /// For each check of the program, the tokens to blame.
    check_blames: Vec<Blame>,
    /// The meanings of layers' results.
    meanings: Meanings,
    /// Loop state that began as an integer, with the name of its variable, for a hint.
    whole_states: BTreeMap<VarId, String>,
    /// Values that the user leaves unused, and their places.
    left_out: Vec<(VarId, Span)>,
    /// The types that editors show of variables.
    shown: BTreeMap<BindingId, Shown>,
}

impl<'a, 's> Lowering<'a, 's> {
    fn new(network: &'a Network, is_known: bool, sink: &'s mut Sink) -> Self {
        Lowering {
            network,
            is_known,
            sink,
            program: Program::new(),
            block: Program::GLOBAL,
            env: Env::new(),
            dims: Dims::new(),
            unit: UnitId(0),
            is_definition: false,
            library_call: None,
            calls: Vec::new(),
            names: Names::new(),
            depth: 0,
            is_too_deep: false,
            iterations: 0,
            rehearsals: 0,
            inlined: 0,
            loop_variables: Vec::new(),
            binding: Bound::default(),
            first_uses: BTreeMap::new(),
            named: BTreeSet::new(),
            outside: OutsideSymbols::new(),
            outside_constants: Vec::new(),
            check_blames: Vec::new(),
            meanings: Meanings::new(),
            whole_states: BTreeMap::new(),
            left_out: Vec::new(),
            shown: BTreeMap::new(),
        }
    }

    fn topology(&mut self, function: FunctionId) -> Option<Vec<Input>> {
        let network = self.network;
        let function = &network.functions[function.0];
        self.unit = function.unit;
        self.constants();
        for size in &function.generics {
            self.constant(size);
        }
        let inputs = self.inputs(function.params.iter());
        let value = self.body(&function.body, &function.result);
        let at = result(function);
        if value.is_unit() {
            self.no_value("this network", &function.body);
        }
        let mut outputs = Vec::new();
        self.outputs(&value, function.body.tail.as_deref(), at, &mut outputs);
        if let Err(error) = self.program.set_outputs(&outputs) {
            self.build_error(error, at, &[]);
        }
        self.stop_left_out();
        if self.is_known && !value.is_unit() {
            self.unused_inputs(&function.params, &inputs);
        }
        inputs.into_iter().collect()
    }

    /// The `const`s of the module.
    fn constants(&mut self) {
        let network = self.network;
        for constant in &network.constants {
            self.constant(constant);
        }
    }

    /// Reports a body without a value, unless its last statement has one, for which that has been reported.
    fn no_value(&mut self, what: &str, body: &Block) {
        let last = body.statements.last().and_then(|statement| match statement {
            Statement::Expr { value, .. } => Some(value.at),
            Statement::Let { .. } | Statement::Const(_) => None,
        });
        if !last.is_some_and(|last| self.sink.blames(last)) {
            self.error(body.at.end, Message::NoValue { what: what.to_string() });
        }
    }

    /// Lowers the body of a sub-network, and checks the declared type of its result.
    fn body(&mut self, body: &'a Block, result: &'a Option<TypeExpr>) -> Value<'a> {
        let value = self.block_with(body, true);
        match (result, &body.tail) {
            (Some(ty), Some(tail)) => self.ascribe(ty, value, "this result", ITSELF, tail.at),
            (Some(ty), None) if !matches!(&ty.kind, crate::ast::TypeKind::Tuple(parts) if parts.is_empty()) =>
            {
                self.no_value("this sub-network", body);
                Value::Unknown
            }
            _ => value,
        }
    }

    /// Lowers the statements of a block, then its tail, whose value it returns.
    fn block(&mut self, block: &'a Block) -> Value<'a> {
        self.block_with(block, false)
    }

    /// Lowers a block. The block of a body has to have a value.
    fn block_with(&mut self, block: &'a Block, is_body: bool) -> Value<'a> {
        let binding = std::mem::take(&mut self.binding);
        let last = block.statements.len().saturating_sub(1);
        for (at, statement) in block.statements.iter().enumerate() {
            match statement {
                Statement::Let { pattern, ty, value, .. } => self.declaration(pattern, ty, value),
                Statement::Const(constant) => self.constant(constant),
                Statement::Expr { value, .. } => {
                    self.statement(value, is_body && at == last && block.tail.is_none());
                }
            }
        }
        self.binding = binding;
        match &block.tail {
            Some(tail) => self.expr(tail),
            None => Value::unit(),
        }
    }

    /// Lowers an expression whose value is dropped. If it ends a body, the user may have meant it as the body's value.
    fn statement(&mut self, expr: &'a Expr, ends_body: bool) {
        let taps = self.program.taps().len();
        let value = self.expr(expr);
        let is_dropped =
            matches!(value, Value::Var(_) | Value::Tuple(_) | Value::Constant(_)) && !value.is_unit();
        if is_dropped && !expr.is_control_flow() && self.program.taps().len() == taps {
            let instead = match ends_body {
                true => "without the `;` behind it, it is the value of this body",
                false => {
                    "a layer changes nothing in place: bind what it gives, as in `let h = ..;`, or assign it; if it is left \
                     out on purpose, write `let _ = ..;`"
                }
            };
            self.error(expr.at, Message::UnusedValue { what: expr.words(), instead: instead.into() });
        }
    }

    fn constant(&mut self, constant: &'a Constant) {
        let value = self.declared_constant(constant);
        if let Some(binding) = constant.binding {
            self.env.insert(binding, Slot { value, at: constant.value.at });
        }
    }

    fn declaration(&mut self, pattern: &'a Pattern, ty: &'a Option<TypeExpr>, value: &'a Option<Expr>) {
        let Some(value) = value else {
            self.bind(pattern, Value::Unassigned, pattern.at);
            return;
        };
        self.binding = Bound::of_pattern(pattern);
        let mut bound = self.expr(value);
        self.binding = Bound::default();
        if let Some(ty) = ty {
            bound = self.ascribe(ty, bound, &value.words(), ITSELF, value.at);
        }
        if bound.is_unit() && !matches!(&pattern.kind, PatternKind::Tuple(parts) if parts.is_empty()) {
            self.error(value.at, Message::NoValue { what: "this".into() });
            bound = Value::Unknown;
        }
        self.bind(pattern, bound, value.at);
    }

    /// Binds a pattern to a value. Values take the names of the variables.
    fn bind(&mut self, pattern: &'a Pattern, value: Value<'a>, at: Extent) {
        match &pattern.kind {
            PatternKind::Wildcard => self.leave_out(&value, at.start),
            PatternKind::Name { ident, binding, .. } => {
                if crate::ast::text(ident).starts_with('_') {
                    self.leave_out(&value, at.start);
                }
                if let Value::Var(var) = value {
                    self.rename(var, &crate::ast::text(ident));
                }
                if let Some(binding) = binding {
                    self.declare(*binding, value, at);
                }
            }
            PatternKind::Invalid(parts) => {
                parts.iter().for_each(|part| self.bind(part, Value::Unknown, at));
            }
            PatternKind::Tuple(parts) => {
                let values = self.parts(value, parts.len(), pattern.at, at);
                for (part, value) in parts.iter().zip(values) {
                    self.bind(part, value, at);
                }
            }
        }
    }

    /// Declares a variable.
    fn declare(&mut self, binding: BindingId, value: Value<'a>, at: Extent) {
        self.show_binding(binding, &value);
        self.env.insert(binding, Slot { value, at });
    }

    /// Splits a tuple into as many parts as there are `names`.
    fn parts(&mut self, value: Value<'a>, names: usize, names_at: Extent, at: Extent) -> Vec<Value<'a>> {
        match value {
            Value::Tuple(values) if values.len() == names => return values,
            Value::Unknown => {}
            Value::Unassigned => return vec![Value::Unassigned; names],
            Value::Tuple(values) => {
                let found = format!("a pattern of {names}");
                let expected = format!("the value is a tuple of {}", values.len());
                self.error(names_at, Message::Tuple { found, expected });
            }
            value => {
                let expected = format!("{names} names wait for a tuple of {names}");
                let found = match value {
                    Value::Array(_) => self.describe(&value),
                    _ => "one value".to_string(),
                };
                self.error(at, Message::Tuple { found, expected });
            }
        }
        vec![Value::Unknown; names]
    }

    /// Gives the result of an operator the user's name, unless it already has one.
    fn rename(&mut self, var: VarId, name: &str) {
        if self.program.var(var).definition == Definition::Operator && self.named.insert(var) {
            self.program.rename(var, name);
        }
    }

    /// Reports a variable that is read before it is assigned. After other mistakes it is not reported, as a failed
    /// statement may have assigned it.
    fn unassigned(&mut self, at: impl Into<Extent>, name: String) {
        if self.is_known {
            self.error(at, Message::Unassigned { name });
        }
    }

    /// Reports a mistake.
    fn error(&mut self, at: impl Into<Extent>, message: Message) {
        let blame = self.blame(at.into());
        // A library layer is correct in itself, so all mistakes inside of it are one mistake of the call.
        if self.library_call.is_some() && self.sink.blames_call(blame.at) {
            return;
        }
        self.sink.push(Report { message, blame });
    }

    /// Reports a doubt. Doubts about other modules are reported to those who compile them.
    fn doubt(&mut self, at: Extent, message: Message) {
        if self.network.is_here(self.unit) {
            let blame = self.blame(at);
            self.sink.doubt(Report { message, blame });
        }
    }

    /// The blame for a mistake at these tokens, in the present unit.
    fn blame(&self, at: Extent) -> Blame {
        self.blame_in(&self.calls, at, self.unit)
    }

    /// The blame for a mistake in a unit, with the calls that led there. For a sub-network of another module, the call
    /// into that module is to blame: rustc cannot show the other module's tokens.
    fn blame_in(&self, calls: &[Frame], at: Extent, unit: UnitId) -> Blame {
        let is_here = |frame: &Frame| self.network.is_here(frame.unit);
        match calls.iter().rposition(is_here).filter(|_| !self.network.is_here(unit)) {
            None => Blame { at, calls: calls.to_vec(), inside: None },
            Some(last) => {
                let (outer, left) = calls.split_at(last);
                let place = match &self.network.units[unit.0].origin {
                    Origin::Imported { file } => {
                        let start = at.start.start();
                        format!(", at {file}:{}:{}", start.line, start.column + 1)
                    }
                    Origin::Here | Origin::Library => String::new(),
                };
                let inside = left.last().map(|frame| format!("`{}`{place}", frame.name));
                Blame { at: left[0].call, calls: outer.to_vec(), inside }
            }
        }
    }

    /// Reports an error from the program's construction. `inputs` are the places of the operator's inputs.
    fn build_error(&mut self, error: BuildError, at: Extent, inputs: &[Extent]) {
        let BuildError::Mismatch(Mismatch { input, kind, message: text }) = error else {
            self.error(at, Message::Limit { text: error.to_string() });
            return;
        };
        let at = input.and_then(|input| inputs.get(input).copied()).unwrap_or(at);
        let text = self.in_the_users_words(text);
        let message = match kind {
            MismatchKind::ElementType => Message::ElementType { text },
            MismatchKind::Rows => Message::RowSpaces { text },
            MismatchKind::Attribute => Message::Constant { text },
            MismatchKind::Shape | MismatchKind::Count | MismatchKind::Change | MismatchKind::Size => {
                Message::Shape { text }
            }
        };
        self.error(at, message);
    }

    /// Replaces names such as `_.3` by `_`: rows chosen from the batch are still `_` to the user.
    fn in_the_users_words(&self, text: String) -> String {
        let mut chosen: Vec<(&str, &str)> = Vec::new();
        for (rows, id) in self.program.row_spaces().iter().zip(0..) {
            let root = self.program.row_space(self.program.drawn_from(RowsId(id)));
            chosen.push((&rows.name, &root.name));
        }
        // `_.10` before `_.1`.
        chosen.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        chosen.iter().fold(text, |text, (name, root)| {
            let text = text.replace(&format!("[{name}"), &format!("[{root}"));
            text.replace(&format!("`{name}`"), &format!("`{root}`"))
        })
    }

    /// Brings the value to the rows of the present block.
    fn localize(&mut self, var: VarId, at: Span) -> Option<VarId> {
        let site = self.site(at);
        match self.program.localize(self.block, var, site) {
            Ok(local) => {
                if local != var {
                    let name = self.program.var(var).name.clone();
                    self.rename(local, &name);
                    self.keep_meaning(var, local);
                }
                Some(local)
            }
            Err(error) => {
                self.build_error(error, at.into(), &[]);
                None
            }
        }
    }

    /// The site of an operator.
    fn site(&mut self, span: Span) -> Site {
        self.site_in(span, None)
    }

    /// The site of an operator of a layer. Inside of the library, it is the place of the call into the library.
    fn site_in(&mut self, span: Span, layer: Option<&str>) -> Site {
        let (mut span, mut unit) = (span, self.unit);
        let mut layer = layer.map(|layer| self.program.create_layer(layer));
        if self.network.is_library(unit)
            && let Some((call, caller, called)) = self.library_call
        {
            (span, unit, layer) = (call, caller, Some(called));
        }
        let start = span.start();
        let file = match &self.network.units[unit.0].origin {
            Origin::Imported { file } => file.clone(),
            Origin::Here | Origin::Library => self.network.files.name(span),
        };
        let file = self.program.create_file(&file);
        let place = Place { file, line: start.line as u32, column: start.column as u32 + 1, layer };
        Site { role: Role::Forward, place: Some(place) }
    }
}
