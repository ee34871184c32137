//! The tree of what is printed: bodies of statements and expressions, whose leaves are values of the program.

use std::borrow::Cow;

use paddle_core::program::VarId;

use super::error::Lack;

/// What the names of functions that are taken out begin with.
pub(super) const FUNCTION: &str = "block";

/// The statements of a function, a branch or an iteration, and the values behind them.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub(super) statements: Vec<Statement>,
    pub(super) results: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    /// `let y = ..`, or a tuple of several values; those that nothing uses are `None`.
    Let {
        outputs: Vec<Option<VarId>>,
        value: Expr,
    },
    /// `h = ..`: the next value of one variable of a loop, or of several.
    Assign {
        targets: Vec<VarId>,
        value: Expr,
    },
    Loop(Loop),
    Chain(Chain),
    /// A name for the number of a value's rows: `let _: Tensor<i64, N> = all_rows(row_numbers(x));`.
    Rows {
        name: String,
        of: Expr,
    },
}

/// Calls of a function for rows of numbers, each of what the one before gives.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The value behind all calls.
    pub(super) state: VarId,
    pub(super) initial: Expr,
    pub(super) function: String,
    /// The numbers of each call: a name of the loop, or what is the same in all.
    pub(super) arguments: Vec<(String, bool)>,
    pub(super) rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) head: Head,
    pub(super) states: Vec<State>,
    /// Its results are the next values of the states, and then those that are collected.
    pub(super) body: Body,
    /// The collected values; those that nothing uses are `None`.
    pub(super) collected: Vec<Option<VarId>>,
}

#[derive(Clone, Debug)]
pub(super) enum Head {
    While(Expr),
    /// What an iteration gets of each of these sequences.
    For(Vec<(VarId, Expr)>),
}

/// A variable that a loop changes.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) initial: Expr,
    /// The value in the condition of a `while`, and at the beginning of an iteration.
    pub(super) before: Vec<VarId>,
    /// The value behind the loop.
    pub(super) after: VarId,
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Value(VarId),
    /// A number, a size, or a word without quotes.
    Word(String),
    /// A text in quotes.
    Text(String),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Call(Call),
    Infix(&'static str, Box<[Expr; 2]>),
    Prefix(&'static str, Box<Expr>),
    If(Box<If>),
    /// What the language cannot say.
    Lack(Box<Lack>),
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The name of a layer, or of a function that was taken out.
    pub(super) layer: Cow<'static, str>,
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(&'static str, Expr)>,
    /// The parameters, in the order in which the layer creates them, with their roles: `w`, `b`.
    pub(super) parameters: Vec<(String, VarId)>,
}

#[derive(Clone, Debug)]
pub(super) struct If {
    pub(super) condition: Expr,
    pub(super) branches: [Body; 2],
}

impl Expr {
    pub(super) fn word(word: impl ToString) -> Self {
        Expr::Word(word.to_string())
    }

    /// Calls `visit` for each value in the expression, those of branches included. The flag says whether it is in a branch.
    pub(super) fn values(&self, inside: bool, visit: &mut dyn FnMut(VarId, bool)) {
        match self {
            Expr::Value(var) => visit(*var, inside),
            Expr::Word(_) | Expr::Text(_) | Expr::Lack(_) => {}
            Expr::List(parts) | Expr::Tuple(parts) => {
                parts.iter().for_each(|part| part.values(inside, visit));
            }
            Expr::Call(call) => {
                let named = call.named.iter().map(|(_, value)| value);
                call.positional.iter().chain(named).for_each(|value| value.values(inside, visit));
            }
            Expr::Infix(_, sides) => sides.iter().for_each(|side| side.values(inside, visit)),
            Expr::Prefix(_, x) => x.values(inside, visit),
            Expr::If(branch) => {
                branch.condition.values(inside, visit);
                branch.branches.iter().for_each(|body| body.values(true, visit));
            }
        }
    }

    /// Calls `visit` for the expression and all that it consists of.
    pub(super) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        match self {
            Expr::Value(_) | Expr::Word(_) | Expr::Text(_) | Expr::Lack(_) => {}
            Expr::List(parts) | Expr::Tuple(parts) => parts.iter().for_each(|part| part.walk(visit)),
            Expr::Call(call) => {
                let named = call.named.iter().map(|(_, value)| value);
                call.positional.iter().chain(named).for_each(|value| value.walk(visit));
            }
            Expr::Infix(_, sides) => sides.iter().for_each(|side| side.walk(visit)),
            Expr::Prefix(_, x) => x.walk(visit),
            Expr::If(branch) => {
                branch.condition.walk(visit);
                branch.branches.iter().for_each(|body| body.walk(visit));
            }
        }
    }

    /// Replaces values by what `with` gives for them, except in branches.
    pub(super) fn replace(&mut self, with: &mut dyn FnMut(VarId) -> Option<Expr>) {
        match self {
            Expr::Value(var) => {
                if let Some(value) = with(*var) {
                    *self = value;
                }
            }
            Expr::Word(_) | Expr::Text(_) | Expr::Lack(_) => {}
            Expr::List(parts) | Expr::Tuple(parts) => parts.iter_mut().for_each(|part| part.replace(with)),
            Expr::Call(call) => {
                let named = call.named.iter_mut().map(|(_, value)| value);
                call.positional.iter_mut().chain(named).for_each(|value| value.replace(with));
            }
            Expr::Infix(_, sides) => sides.iter_mut().for_each(|side| side.replace(with)),
            Expr::Prefix(_, x) => x.replace(with),
            Expr::If(branch) => branch.condition.replace(with),
        }
    }

    /// Whether a layer with parameters is called in it.
    pub(super) fn has_parameters(&self) -> bool {
        match self {
            Expr::Value(_) | Expr::Word(_) | Expr::Text(_) | Expr::Lack(_) => false,
            Expr::List(parts) | Expr::Tuple(parts) => parts.iter().any(Expr::has_parameters),
            Expr::Call(call) => {
                let names_them = call.named.iter().any(|(name, _)| *name == "param");
                let is_one = names_them || !call.parameters.is_empty() || call.is_of_function();
                is_one || call.positional.iter().any(Expr::has_parameters)
            }
            Expr::Infix(_, sides) => sides.iter().any(Expr::has_parameters),
            Expr::Prefix(_, x) => x.has_parameters(),
            Expr::If(_) => true,
        }
    }
}

impl Call {
    pub(super) fn of(layer: impl Into<Cow<'static, str>>, positional: Vec<Expr>) -> Self {
        Call { layer: layer.into(), positional, named: Vec::new(), parameters: Vec::new() }
    }

    /// Whether a function is called that was taken out of the network.
    pub(super) fn is_of_function(&self) -> bool {
        self.layer.starts_with(FUNCTION)
    }

    pub(super) fn named(mut self, name: &'static str, value: Expr) -> Self {
        self.named.push((name, value));
        self
    }
}

impl From<Call> for Expr {
    fn from(call: Call) -> Expr {
        Expr::Call(call)
    }
}

impl Body {
    /// Calls `visit` for each value that the body reads. The flag says whether it is in a body inside of this one.
    pub(super) fn values(&self, inside: bool, visit: &mut dyn FnMut(VarId, bool)) {
        self.statements.iter().for_each(|statement| statement.values(inside, visit));
        self.results.iter().for_each(|result| result.values(inside, visit));
    }
}

impl Body {
    /// Calls `visit` for all expressions of the body, and of those inside of it.
    pub(super) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        for statement in &self.statements {
            match statement {
                Statement::Let { value, .. }
                | Statement::Assign { value, .. }
                | Statement::Rows { of: value, .. } => value.walk(visit),
                Statement::Loop(it) => {
                    it.states.iter().for_each(|state| state.initial.walk(visit));
                    match &it.head {
                        Head::While(condition) => condition.walk(visit),
                        Head::For(items) => items.iter().for_each(|(_, items)| items.walk(visit)),
                    }
                    it.body.walk(visit);
                }
                Statement::Chain(chain) => chain.initial.walk(visit),
            }
        }
        self.results.iter().for_each(|result| result.walk(visit));
    }
}

impl Statement {
    pub(super) fn values(&self, inside: bool, visit: &mut dyn FnMut(VarId, bool)) {
        match self {
            Statement::Let { value, .. }
            | Statement::Assign { value, .. }
            | Statement::Rows { of: value, .. } => value.values(inside, visit),
            Statement::Chain(chain) => chain.initial.values(inside, visit),
            Statement::Loop(it) => {
                it.states.iter().for_each(|state| state.initial.values(inside, visit));
                match &it.head {
                    Head::While(condition) => condition.values(true, visit),
                    Head::For(items) => items.iter().for_each(|(_, items)| items.values(inside, visit)),
                }
                it.body.values(true, visit);
            }
        }
    }
}
