//! A statement without its numbers and names: what is the same in statements that differ in these only.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::layers::{Kind, Layer};
use paddle_core::ops::Program;
use paddle_core::program::VarId;

use super::factor::Function;
use super::parameters::Parameters;
use super::sizes::named;
use super::tree::{Call, Expr, Statement};

/// What numbers in the names of parameters are called.
pub(super) const COUNTED: &str = "n";

/// A statement, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// The value, in which parameters have their names as arguments.
    value: Expr,
    pub(super) outputs: Vec<Option<VarId>>,
    /// Everything but the numbers, in order.
    tokens: Vec<Token>,
    /// The numbers, and where they stand.
    pub(super) numbers: Vec<(Place, i64)>,
    /// Whether a part of a network may begin with it: it has weights.
    pub(super) begins_a_part: bool,
    /// Whether it calls a function that was taken out.
    pub(super) is_of_function: bool,
}

/// Where a number stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the name of a parameter.
    Text,
    /// In an argument of this name.
    Argument(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Text(u32),
    Number,
    Value(VarId),
}

/// A part of several statements: a text by its number, a number, or a value by where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Text(u32),
    Number,
    /// An output of a statement among them.
    Inside(usize, usize),
    /// A value from in front of them, by the order in which they are read.
    Outside(usize),
    /// The end of a statement with so many outputs.
    End(usize),
}

impl Shape {
    /// `None` for a statement that is not of one line, or that has a size which only the network names. `words` has a number
    /// for each text that was met.
    pub(super) fn of(
        program: &Program,
        (parameters, sizes): (&Parameters, &BTreeSet<String>),
        functions: &[Function],
        words: &mut BTreeMap<String, u32>,
        statement: &Statement,
    ) -> Option<Self> {
        let Statement::Let { outputs, value } = statement else { return None };
        let mut names_a_size = false;
        value.walk(&mut |part| {
            if let Expr::Word(word) = part {
                names_a_size |= named(word, sizes).next().is_some();
            }
        });
        if names_a_size {
            return None;
        }
        let mut value = value.clone();
        let begins_a_part = value.has_parameters() && !is_of_channels(&value);
        let is_of_function = matches!(&value, Expr::Call(call) if call.is_of_function());
        written_out(program, parameters, &mut value)?;
        let mut reader = Reader { functions, words, tokens: Vec::new(), numbers: Vec::new() };
        reader.read(&value, "number");
        let Reader { tokens, numbers, .. } = reader;
        Some(Shape { value, outputs: outputs.clone(), tokens, numbers, begins_a_part, is_of_function })
    }

    /// What statements one behind the other are, without numbers and names.
    pub(super) fn together(window: &[&Shape]) -> Vec<Part> {
        let (mut inside, mut outside) = (BTreeMap::new(), BTreeMap::new());
        let mut parts = Vec::new();
        for (at, shape) in window.iter().enumerate() {
            for token in &shape.tokens {
                parts.push(match token {
                    Token::Text(text) => Part::Text(*text),
                    Token::Number => Part::Number,
                    Token::Value(var) => match inside.get(var) {
                        Some((statement, output)) => Part::Inside(*statement, *output),
                        None => {
                            let count = outside.len();
                            Part::Outside(*outside.entry(*var).or_insert(count))
                        }
                    },
                });
            }
            parts.push(Part::End(shape.outputs.len()));
            let outputs = shape.outputs.iter().enumerate();
            inside.extend(outputs.filter_map(|(place, output)| Some(((*output)?, (at, place)))));
        }
        parts
    }

    /// The values from in front of statements, in the order in which they are read.
    pub(super) fn values_from_outside(window: &[&Shape]) -> Vec<VarId> {
        let (mut inside, mut outside): (Vec<VarId>, Vec<VarId>) = (Vec::new(), Vec::new());
        for shape in window {
            for token in &shape.tokens {
                if let Token::Value(var) = token
                    && !inside.contains(var)
                    && !outside.contains(var)
                {
                    outside.push(*var);
                }
            }
            inside.extend(shape.outputs.iter().flatten());
        }
        outside
    }

    /// The statement with other words for its numbers. Within texts they stand in braces, if they are words.
    pub(super) fn with_numbers(&self, word: &mut dyn FnMut(i64) -> String) -> Statement {
        let mut value = self.value.clone();
        replace(&mut value, word);
        Statement::Let { outputs: self.outputs.clone(), value }
    }
}

/// Takes expressions apart.
struct Reader<'w> {
    functions: &'w [Function],
    words: &'w mut BTreeMap<String, u32>,
    tokens: Vec<Token>,
    numbers: Vec<(Place, i64)>,
}

impl Reader<'_> {
    fn text(&mut self, text: impl Into<String>) {
        let count = self.words.len() as u32;
        self.tokens.push(Token::Text(*self.words.entry(text.into()).or_insert(count)));
    }

    fn number(&mut self, place: Place, number: i64) {
        self.tokens.push(Token::Number);
        self.numbers.push((place, number));
    }

    /// Reads an expression, which stands in an argument of this name.
    fn read(&mut self, value: &Expr, argument: &str) {
        match value {
            Expr::Value(var) => self.tokens.push(Token::Value(*var)),
            Expr::Word(word) => match number(word) {
                // A function takes it for names of parameters.
                Some(number) if is_counted(argument) => self.number(Place::Text, number),
                Some(number) => self.number(Place::Argument(argument.to_string()), number),
                None => self.text(word),
            },
            Expr::Text(text) => {
                self.text("\"");
                for piece in pieces(text) {
                    match number(piece) {
                        Some(number) => self.number(Place::Text, number),
                        None => self.text(piece),
                    }
                }
            }
            Expr::List(parts) | Expr::Tuple(parts) => {
                self.text(format!("[{}", parts.len()));
                parts.iter().for_each(|part| self.read(part, argument));
            }
            Expr::Call(call) => {
                self.text(format!("{}({}", call.layer, call.positional.len()));
                for (at, part) in call.positional.iter().enumerate() {
                    let of_layer =
                        Layer::find(&call.layer).and_then(|layer| layer.at(at)).map(|known| known.name);
                    let function = self.functions.iter().find(|function| function.name == call.layer);
                    let place = function.and_then(|function| at.checked_sub(function.values.len()));
                    let of_function = function.zip(place).and_then(|(of, at)| of.numbers.get(at));
                    self.read(part, of_layer.or(of_function.map(String::as_str)).unwrap_or("number"));
                }
                for (name, part) in &call.named {
                    self.text(*name);
                    self.read(part, name);
                }
            }
            Expr::Infix(symbol, sides) => {
                self.text(*symbol);
                sides.iter().for_each(|side| self.read(side, "number"));
            }
            Expr::Prefix(symbol, x) => {
                self.text(*symbol);
                self.read(x, "number");
            }
            Expr::If(_) | Expr::Lack(_) => {}
        }
    }
}

/// Writes out what is left out of a call with filters or windows, so that calls differ only in numbers.
fn with_defaults(call: &mut Call) {
    let Some(layer) = Layer::find(&call.layer).filter(|layer| layer.name.ends_with("2d")) else { return };
    for argument in layer.named {
        let is_of_windows = matches!(argument.kind, Kind::Size | Kind::Sizes | Kind::IntsOr(_));
        if let Some(default) = argument.default.filter(|_| is_of_windows)
            && !call.named.iter().any(|(name, _)| *name == argument.name)
        {
            call.named.push((argument.name, Expr::word(default)));
        }
    }
    // What is about parameters stands last.
    let is_about_parameters =
        |name: &str| matches!(name, "param" | "init" | "bias_init" | "lr" | "decay" | "clip");
    let place = |name: &str| layer.named.iter().position(|argument| argument.name == name);
    call.named.sort_by_key(|(name, _)| (is_about_parameters(name), place(name)));
}

/// Leaves out of a call what has its default.
fn without_defaults(call: &mut Call) {
    let Some(layer) = Layer::find(&call.layer).filter(|layer| layer.name.ends_with("2d")) else { return };
    call.named.retain(|(name, value)| {
        let default = layer.named(name).and_then(|argument| argument.default);
        !matches!((value, default), (Expr::Word(word), Some(default)) if *word == default.to_string())
    });
}

/// Whether a number of a function is a part of names: `n`, `n2`.
fn is_counted(argument: &str) -> bool {
    argument.strip_prefix(COUNTED).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether channels are normalised, which belongs to the layer before.
fn is_of_channels(value: &Expr) -> bool {
    matches!(value, Expr::Call(call) if call.layer == "batch_norm")
}

/// Writes the parameters of all calls out as arguments. `None` if there is a branch.
fn written_out(program: &Program, parameters: &Parameters, value: &mut Expr) -> Option<()> {
    match value {
        Expr::Value(_) | Expr::Word(_) | Expr::Text(_) => Some(()),
        Expr::If(_) | Expr::Lack(_) => None,
        Expr::List(parts) | Expr::Tuple(parts) => {
            parts.iter_mut().try_for_each(|part| written_out(program, parameters, part))
        }
        Expr::Call(call) => {
            let arguments = parameters.arguments(program, call, None);
            call.named.extend(arguments);
            call.parameters.clear();
            with_defaults(call);
            let Call { positional, named, .. } = call;
            let named = named.iter_mut().map(|(_, value)| value);
            positional.iter_mut().chain(named).try_for_each(|value| written_out(program, parameters, value))
        }
        Expr::Infix(_, sides) => sides.iter_mut().try_for_each(|side| written_out(program, parameters, side)),
        Expr::Prefix(_, x) => written_out(program, parameters, x),
    }
}

/// Replaces the numbers of an expression, in the order in which they are read.
fn replace(value: &mut Expr, with: &mut dyn FnMut(i64) -> String) {
    match value {
        Expr::Value(_) | Expr::If(_) | Expr::Lack(_) => {}
        Expr::Word(word) => {
            if let Some(number) = number(word) {
                *word = with(number);
            }
        }
        Expr::Text(text) => {
            let mut changed = String::new();
            for piece in pieces(text) {
                match number(piece).map(&mut *with) {
                    Some(word) if number(&word).is_none() => changed.push_str(&format!("{{{word}}}")),
                    Some(number) => changed.push_str(&number),
                    None => changed.push_str(piece),
                }
            }
            *text = changed;
        }
        Expr::List(parts) | Expr::Tuple(parts) => parts.iter_mut().for_each(|part| replace(part, with)),
        Expr::Call(call) => {
            let named = call.named.iter_mut().map(|(_, value)| value);
            call.positional.iter_mut().chain(named).for_each(|value| replace(value, with));
            without_defaults(call);
        }
        Expr::Infix(_, sides) => sides.iter_mut().for_each(|side| replace(side, with)),
        Expr::Prefix(_, x) => replace(x, with),
    }
}

/// A whole number as it is written; none with zeros in front, which would be lost.
fn number(word: &str) -> Option<i64> {
    let is_whole = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| is_whole && (word == "0" || !word.starts_with('0')))
}

/// A text, cut at the beginnings and ends of numbers.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
