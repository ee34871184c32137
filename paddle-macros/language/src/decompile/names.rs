//! Names of variables: those of the program, if a person gave them, or else after what gives the value.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::layers::{LIBRARY, Layer};
use paddle_core::ops::Op;
use paddle_core::program::VarId;

use super::graph::Graph;
use super::loops::Variables;
use super::tree::{Body, Expr, Head, Statement};

/// What names depend on.
pub(super) struct Naming<'a> {
    pub(super) variables: &'a Variables,
    /// The names that people gave.
    pub(super) given: &'a BTreeMap<VarId, String>,
    /// Names of functions and sizes.
    pub(super) reserved: Vec<String>,
}

/// The names of all variables of a function.
pub(super) struct Names<'a> {
    naming: &'a Naming<'a>,
    names: BTreeMap<VarId, String>,
    taken: BTreeSet<String>,
    counts: BTreeMap<String, usize>,
}

impl<'a> Names<'a> {
    /// The names in a body. `values` are those that the function takes, `numbers` the names of numbers.
    pub(super) fn of(
        naming: &'a Naming<'a>,
        values: &[(VarId, String)],
        numbers: impl IntoIterator<Item = String>,
        body: &Body,
    ) -> Self {
        let mut taken: BTreeSet<String> = Layer::all().map(|layer| layer.name.to_string()).collect();
        taken.extend(LIBRARY.iter().map(|layer| layer.name.to_string()));
        taken.extend(naming.reserved.iter().cloned().chain(numbers));
        let mut all = Names { naming, names: BTreeMap::new(), taken, counts: BTreeMap::new() };
        // Inputs have the names of layers, unless these are called.
        let mut called = BTreeSet::new();
        body.walk(&mut |value| {
            if let Expr::Call(call) = value {
                called.insert(call.layer.clone());
            }
        });
        for (value, name) in values {
            if !called.contains(name.as_str()) && Layer::find(name).is_some() {
                all.taken.remove(name);
            }
            let name = all.free(name);
            all.names.insert(*value, name);
        }
        all.body(body);
        all
    }

    /// The name of a variable, as it is written.
    pub(super) fn name(&self, var: VarId) -> &str {
        self.names.get(&self.naming.variables.named_after(var)).map_or("_", String::as_str)
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
                Statement::Rows { .. } => {}
                Statement::Chain(chain) => {
                    let numbers = chain.arguments.iter().filter(|(_, is_name)| *is_name);
                    self.taken.extend(numbers.map(|(name, _)| name.clone()));
                    self.branches(&chain.initial);
                    self.bind(chain.state, chain.state, "h");
                }
                Statement::Loop(it) => {
                    for state in &it.states {
                        self.branches(&state.initial);
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
        let name = match self.naming.given.get(&named).cloned() {
            Some(name) => self.free(&name),
            None => self.numbered(kind),
        };
        self.names.insert(var, name);
    }

    /// The name itself, or the first with a number behind it that nothing else has.
    fn free(&mut self, name: &str) -> String {
        let mut free = name.to_string();
        while !self.taken.insert(free.clone()) {
            let number = self.counts.entry(format!("{name}_")).or_insert(1);
            *number += 1;
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

/// The names that people gave values, or to values that are the same.
pub(super) fn all_given(graph: &Graph<'_>) -> BTreeMap<VarId, String> {
    let usual = usual();
    let name = |var: VarId| given(&graph.program.var(var).name, &usual);
    let mut names = BTreeMap::new();
    for var in (0..graph.program.vars().len() as u32).map(VarId) {
        names.extend(name(var).map(|name| (var, name)));
    }
    for (var, is) in graph.aliases() {
        if let (Some(name), false) = (name(var), names.contains_key(&is)) {
            names.insert(is, name);
        }
    }
    names
}

/// The words that compilers name values by, and not people.
fn usual() -> BTreeSet<&'static str> {
    let operators: Vec<&'static str> = Op::prototypes().iter().map(Op::name).collect();
    let layers = Layer::all().map(|layer| layer.name);
    operators.into_iter().chain(layers).chain(["tmp", "state", "rnn"]).collect()
}

/// The name that a person gave a value, without the number that a compiler has added.
fn given(name: &str, usual: &BTreeSet<&'static str>) -> Option<String> {
    let without_number = |name: &str| -> Option<usize> {
        let (bare, number) = name.rsplit_once('_')?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(bare.len())
    };
    let bare = without_number(name).map_or(name, |end| &name[..end]);
    // A compiler may have added several.
    let mut word = bare;
    while let Some(end) = without_number(word).filter(|_| !usual.contains(word)) {
        word = &word[..end];
    }
    let is_plain = bare.starts_with(|first: char| first.is_ascii_alphabetic())
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_plain && !usual.contains(word) && is_identifier(bare)).then(|| bare.to_string())
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

/// Whether a word can stand as a name without more.
pub(super) fn is_identifier(word: &str) -> bool {
    word != "gen" && syn::parse_str::<syn::Ident>(word).is_ok()
}

/// A word for what gives a value.
fn kind(value: &Expr) -> String {
    match value {
        Expr::Call(call) if call.is_of_function() => "h".into(),
        Expr::Call(call) => match &*call.layer {
            "batch_norm" | "layer_norm" | "group_norm" | "instance_norm" => "norm".into(),
            "embedding" => "embedded".into(),
            "assign" => "numbers".into(),
            layer => layer.replace("2d", "").replace("1d", ""),
        },
        Expr::Infix("+", _) => "sum".into(),
        Expr::Infix("-", _) => "difference".into(),
        Expr::Infix("*", _) => "product".into(),
        Expr::Infix("/", _) => "quotient".into(),
        Expr::Infix("<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||", _) | Expr::Prefix("!", _) => {
            "holds".into()
        }
        Expr::If(_) => "chosen".into(),
        Expr::List(_) => "numbers".into(),
        _ => "value".into(),
    }
}
