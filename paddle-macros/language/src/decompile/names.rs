//! Names of variables: those of the program, if a person gave them, or else after what gives the value.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::layers::{LIBRARY, Layer};
use paddle_core::ops::{Op, Program};
use paddle_core::program::VarId;

use super::loops::Variables;
use super::tree::{Body, Expr, Head, Statement};

/// The names of all variables of a function.
pub(super) struct Names<'p> {
    program: &'p Program,
    variables: Variables,
    names: BTreeMap<VarId, String>,
    taken: BTreeSet<String>,
    /// Names of layers and operators, which tell nothing about a value.
    usual: BTreeSet<&'static str>,
    counts: BTreeMap<String, usize>,
}

impl<'p> Names<'p> {
    pub(super) fn of(program: &'p Program, body: &Body, variables: Variables, function: &str) -> Self {
        let mut taken: BTreeSet<String> = Layer::all().map(|layer| layer.name.to_string()).collect();
        taken.extend(LIBRARY.iter().map(|layer| layer.name.to_string()));
        taken.extend(program.symbols().iter().map(|symbol| symbol.name.clone()));
        taken.insert(function.to_string());
        let usual = usual();
        let (names, counts) = (BTreeMap::new(), BTreeMap::new());
        let mut all = Names { program, variables, names, taken, usual, counts };
        // Inputs have the names of layers, unless these are called.
        let mut called = BTreeSet::new();
        body.walk(&mut |value| {
            if let Expr::Call(call) = value {
                called.insert(call.layer);
            }
        });
        for &input in program.inputs() {
            let name = identifier(&program.var(input).name);
            if !called.contains(name.as_str()) && Layer::find(&name).is_some() {
                all.taken.remove(&name);
            }
            let name = all.free(&name);
            all.names.insert(input, name);
        }
        all.body(body);
        all
    }

    /// The name of a variable, as it is written.
    pub(super) fn name(&self, var: VarId) -> &str {
        self.names.get(&self.variables.named_after(var)).map_or("_", String::as_str)
    }

    fn body(&mut self, body: &Body) {
        for statement in &body.statements {
            match statement {
                Statement::Let { outputs, value } => {
                    self.branches(value);
                    let kind = kind(value);
                    outputs.iter().flatten().for_each(|output| self.bind(*output, *output, &kind));
                }
                Statement::Assign { value, .. } => self.branches(value),
                Statement::Loop(it) => {
                    for state in &it.states {
                        let named = state.before.last().copied().unwrap_or(state.after);
                        self.bind(state.after, named, "state");
                    }
                    if let Head::For(items) = &it.head {
                        items.iter().for_each(|(item, _)| self.bind(*item, *item, "item"));
                    }
                    self.body(&it.body);
                    it.collected.iter().flatten().for_each(|var| self.bind(*var, *var, "seen"));
                }
            }
        }
        body.results.iter().for_each(|result| self.branches(result));
    }

    fn branches(&mut self, value: &Expr) {
        if let Expr::If(branch) = value {
            branch.branches.iter().for_each(|branch| self.body(branch));
        }
    }

    /// Names a variable after a value of the program, or else by a word for its kind.
    fn bind(&mut self, var: VarId, named: VarId, kind: &str) {
        if self.names.contains_key(&var) {
            return;
        }
        let given = self.program.vars().get(named.0 as usize).and_then(|var| given(&var.name, &self.usual));
        let name = match given {
            Some(name) => self.free(&name),
            None => self.numbered(kind),
        };
        self.names.insert(var, name);
    }

    /// The name itself, or the first with a number behind it that nothing else has.
    fn free(&mut self, name: &str) -> String {
        let mut free = name.to_string();
        let mut number = 1;
        while !self.taken.insert(free.clone()) {
            number += 1;
            free = format!("{}_{number}", name.trim_start_matches("r#"));
        }
        free
    }

    fn numbered(&mut self, kind: &str) -> String {
        loop {
            let count = self.counts.entry(kind.to_string()).or_default();
            *count += 1;
            let name = format!("{kind}{count}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The words that compilers name values by, and not people.
pub(super) fn usual() -> BTreeSet<&'static str> {
    let operators: Vec<&'static str> = Op::prototypes().iter().map(Op::name).collect();
    let layers = Layer::all().map(|layer| layer.name);
    operators.into_iter().chain(layers).chain(["tmp", "state", "rnn"]).collect()
}

/// The name that a person gave a value, without the number that a compiler has added.
pub(super) fn given(name: &str, usual: &BTreeSet<&'static str>) -> Option<String> {
    let bare = match name.rsplit_once('_') {
        Some((bare, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => name,
    };
    let is_plain = bare.starts_with(|first: char| first.is_ascii_alphabetic())
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_plain && !usual.contains(bare) && is_identifier(bare)).then(|| bare.to_string())
}

/// A name that the language takes, as near to this one as possible.
pub(super) fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '_' };
    let mut word: String = name.chars().map(plain).collect();
    if !word.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        word.insert_str(0, "x_");
    }
    match word.as_str() {
        "self" | "Self" | "super" | "crate" | "_" => format!("{word}_"),
        _ if is_identifier(&word) => word,
        _ => format!("r#{word}"),
    }
}

fn is_identifier(word: &str) -> bool {
    word != "gen" && syn::parse_str::<syn::Ident>(word).is_ok()
}

/// A word for what gives a value.
fn kind(value: &Expr) -> String {
    match value {
        Expr::Call(call) => match call.layer {
            "batch_norm" | "layer_norm" | "group_norm" | "instance_norm" => "norm".into(),
            "embedding" => "embedded".into(),
            layer => layer.replace("2d", "").replace("1d", ""),
        },
        Expr::Infix("+", _) => "sum".into(),
        Expr::Infix("-", _) => "difference".into(),
        Expr::Infix("*", _) => "product".into(),
        Expr::Infix("/", _) => "quotient".into(),
        Expr::Infix("<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||", _) | Expr::Prefix("!", _) => "holds".into(),
        Expr::If(_) => "chosen".into(),
        Expr::List(_) => "numbers".into(),
        _ => "value".into(),
    }
}
