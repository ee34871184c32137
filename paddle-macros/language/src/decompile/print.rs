//! A tree as text: what does not fit on a line has a line for each of its parts.

use paddle_core::ops::Program;
use paddle_core::program::VarId;

use super::names::Names;
use super::parameters::Parameters;
use super::sizes;
use super::tree::{Body, Call, Chain, Expr, Head, If, Loop, Statement};

/// The longest line.
const WIDTH: usize = 100;

/// The precedence of what needs no parentheses.
const ATOM: u8 = 7;

pub(super) struct Printer<'a> {
    pub(super) program: &'a Program,
    pub(super) names: &'a Names<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) text: String,
}

impl Printer<'_> {
    /// Writes the statements of a body, and its value.
    pub(super) fn body(&mut self, body: &Body, depth: usize) {
        for statement in &body.statements {
            match statement {
                Statement::Let { outputs, value } => {
                    let bound = outputs.iter().flatten().map(|output| self.names.name(*output)).next();
                    let bound = bound.filter(|_| outputs.len() == 1).map(str::to_string);
                    let before = format!("let {} = ", self.pattern(outputs));
                    self.line(depth, &before, value, bound.as_deref(), ";");
                }
                Statement::Assign { targets, value } => {
                    if let Some((before, change)) = self.update(targets, value) {
                        self.line(depth, &before, change, None, ";");
                        continue;
                    }
                    let names = targets.iter().map(|target| self.names.name(*target).to_string());
                    let before = format!("{} = ", tuple(names.collect()));
                    self.line(depth, &before, value, None, ";");
                }
                Statement::Loop(it) => self.repeat(it, depth),
                Statement::Chain(chain) => self.chain(chain, depth),
                Statement::Rows { name, of } => {
                    let (pattern, number) = sizes::naming(name, &self.expr(of, 0));
                    self.indent(depth);
                    self.text.push_str(&format!("let {pattern} = {number};\n"));
                }
            }
        }
        match &body.results[..] {
            [] => {}
            [only] => self.line(depth, "", only, None, ""),
            results => self.line(depth, "", &Expr::Tuple(results.to_vec()), None, ""),
        }
    }

    fn pattern(&self, outputs: &[Option<VarId>]) -> String {
        let name = |output: &Option<VarId>| output.map_or("_", |output| self.names.name(output)).to_string();
        tuple(outputs.iter().map(name).collect())
    }

    /// `h += `, and what is added, if that is how a variable changes.
    fn update<'e>(&self, targets: &[VarId], value: &'e Expr) -> Option<(String, &'e Expr)> {
        let ([target], Expr::Infix(symbol, sides)) = (targets, value) else { return None };
        let name = self.names.name(*target);
        let is_it = matches!(sides[0], Expr::Value(var) if self.names.name(var) == name);
        (is_it && precedence(symbol) > 3).then(|| (format!("{name} {symbol}= "), &sides[1]))
    }

    /// A loop over numbers, known when the network is compiled.
    fn chain(&mut self, chain: &Chain, depth: usize) {
        let name = self.names.name(chain.state).to_string();
        self.line(depth, &format!("let mut {name} = "), &chain.initial, None, ";");
        let names = chain.arguments.iter().filter(|(_, is_name)| *is_name).map(|(name, _)| name.clone());
        let row = |row: &Vec<String>| Expr::Word(tuple(row.clone()));
        let rows = match numbers_in_a_row(&chain.rows) {
            Some(range) => Expr::Word(range),
            None => Expr::List(chain.rows.iter().map(row).collect()),
        };
        self.indent(depth);
        let before = format!("for {} in ", tuple(names.collect()));
        self.text.push_str(&before);
        self.laid_out(&rows, depth, before.len() + 2, None);
        self.text.push_str(" {\n");
        self.indent(depth + 1);
        let arguments: Vec<&str> = chain.arguments.iter().map(|(argument, _)| argument.as_str()).collect();
        self.text.push_str(&format!("{name} = {}({name}, {});\n", chain.function, arguments.join(", ")));
        self.indent(depth);
        self.text.push_str("}\n");
    }

    fn repeat(&mut self, it: &Loop, depth: usize) {
        for state in &it.states {
            let before = format!("let mut {} = ", self.names.name(state.after));
            self.line(depth, &before, &state.initial, None, ";");
        }
        let bound = match it.collected.is_empty() {
            true => String::new(),
            false => format!("let {} = ", self.pattern(&it.collected)),
        };
        let head = match &it.head {
            Head::While(condition) => format!("while {}", self.expr(condition, 0)),
            Head::For(items) => {
                let names = items.iter().map(|(item, _)| self.names.name(*item).to_string()).collect();
                let sequences = items.iter().map(|(_, items)| self.expr(items, 0)).collect();
                format!("for {} in {}", tuple(names), tuple(sequences))
            }
        };
        self.indent(depth);
        self.text.push_str(&format!("{bound}{head} {{\n"));
        self.body(&it.body, depth + 1);
        self.indent(depth);
        self.text.push_str(if bound.is_empty() { "}\n" } else { "};\n" });
    }

    fn indent(&mut self, depth: usize) {
        self.text.extend(std::iter::repeat_n("    ", depth));
    }

    /// Writes an expression between texts, on one line or on several. `bound` is the variable that it is bound to.
    fn line(&mut self, depth: usize, before: &str, value: &Expr, bound: Option<&str>, behind: &str) {
        self.indent(depth);
        self.text.push_str(before);
        match value {
            Expr::If(branch) => self.branches(branch, depth),
            value => self.laid_out(value, depth, before.len() + behind.len(), bound),
        }
        self.text.push_str(behind);
        self.text.push('\n');
    }

    /// Writes an expression. `beside` is the number of characters that are on its first line, too.
    fn laid_out(&mut self, value: &Expr, depth: usize, beside: usize, bound: Option<&str>) {
        let one = match value {
            Expr::Call(call) => self.call(call, bound),
            value => self.expr(value, 0),
        };
        if 4 * depth + beside + one.len() <= WIDTH {
            return self.text.push_str(&one);
        }
        match value {
            Expr::Call(call) => {
                self.text.push_str(&format!("{}(\n", call.layer));
                for (name, value) in self.arguments(call, bound) {
                    let name = name.map_or(String::new(), |name| format!("{name} = "));
                    self.part(&name, &value, depth + 1);
                }
                self.indent(depth);
                self.text.push(')');
            }
            Expr::List(parts)
                if parts.iter().all(|part| matches!(part, Expr::Word(word) if !word.starts_with('('))) =>
            {
                self.filled(parts, depth);
            }
            Expr::List(parts) | Expr::Tuple(parts) => {
                let [open, close] = if matches!(value, Expr::List(_)) { ["[\n", "]"] } else { ["(\n", ")"] };
                self.text.push_str(open);
                parts.iter().for_each(|part| self.part("", part, depth + 1));
                self.indent(depth);
                self.text.push_str(close);
            }
            Expr::Infix(symbol, sides) => {
                let level = precedence(symbol);
                let [left, right] = [self.expr(&sides[0], level), self.expr(&sides[1], level + 1)];
                self.text.push_str(&format!("{left}\n"));
                self.indent(depth + 1);
                self.text.push_str(&format!("{symbol} {right}"));
            }
            _ => self.text.push_str(&one),
        }
    }

    /// Writes numbers on as many lines as they take.
    fn filled(&mut self, words: &[Expr], depth: usize) {
        self.text.push_str("[\n");
        let mut line = String::new();
        for word in words {
            let word = format!("{},", self.expr(word, 0));
            if !line.is_empty() && 4 * (depth + 1) + line.len() + 1 + word.len() > WIDTH {
                self.indent(depth + 1);
                self.text.push_str(&format!("{line}\n"));
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(&word);
        }
        self.indent(depth + 1);
        self.text.push_str(&format!("{line}\n"));
        self.indent(depth);
        self.text.push(']');
    }

    /// Writes a part of an expression on lines of its own.
    fn part(&mut self, name: &str, value: &Expr, depth: usize) {
        self.indent(depth);
        self.text.push_str(name);
        self.laid_out(value, depth, name.len() + 1, None);
        self.text.push_str(",\n");
    }

    fn branches(&mut self, branch: &If, depth: usize) {
        let condition = self.expr(&branch.condition, 0);
        self.text.push_str(&format!("if {condition} {{\n"));
        self.body(&branch.branches[0], depth + 1);
        self.indent(depth);
        self.text.push_str("} else {\n");
        self.body(&branch.branches[1], depth + 1);
        self.indent(depth);
        self.text.push('}');
    }

    /// An expression on one line, in parentheses if what is around it binds stronger.
    fn expr(&self, value: &Expr, around: u8) -> String {
        let (text, level) = match value {
            Expr::Value(var) => (self.names.name(*var).to_string(), ATOM),
            // A negative number is one with an operator.
            Expr::Word(word) => (word.clone(), if word.starts_with('-') { ATOM - 1 } else { ATOM }),
            Expr::Text(text) => (format!("{text:?}"), ATOM),
            Expr::List(parts) => (format!("[{}]", self.list(parts)), ATOM),
            Expr::Tuple(parts) => (format!("({})", self.list(parts)), ATOM),
            Expr::Call(call) => (self.call(call, None), ATOM),
            Expr::Infix(symbol, sides) => {
                let level = precedence(symbol);
                // Comparisons stand beside none.
                let left = self.expr(&sides[0], if level == 3 { level + 1 } else { level });
                let right = self.expr(&sides[1], level + 1);
                (format!("{left} {symbol} {right}"), level)
            }
            Expr::Prefix(symbol, x) => (format!("{symbol}{}", self.expr(x, ATOM)), ATOM - 1),
            // These have lines of their own.
            Expr::If(_) | Expr::Lack(_) => (String::new(), ATOM),
        };
        if level < around { format!("({text})") } else { text }
    }

    fn call(&self, call: &Call, bound: Option<&str>) -> String {
        let arguments = self.arguments(call, bound).into_iter().map(|(name, value)| {
            let value = self.expr(&value, 0);
            name.map_or(value.clone(), |name| format!("{name} = {value}"))
        });
        format!("{}({})", call.layer, arguments.collect::<Vec<_>>().join(", "))
    }

    fn list(&self, parts: &[Expr]) -> String {
        parts.iter().map(|part| self.expr(part, 0)).collect::<Vec<_>>().join(", ")
    }

    fn arguments(&self, call: &Call, bound: Option<&str>) -> Vec<(Option<&'static str>, Expr)> {
        let positional = call.positional.iter().map(|value| (None, value.clone()));
        let named = call.named.iter().map(|(name, value)| (Some(*name), value.clone()));
        let of_parameters = self.parameters.arguments(self.program, call, bound);
        let of_parameters = of_parameters.into_iter().map(|(name, value)| (Some(name), value));
        positional.chain(named).chain(of_parameters).collect()
    }
}

/// Numbers that follow each other, one in each row, as a range.
fn numbers_in_a_row(rows: &[Vec<String>]) -> Option<String> {
    let number = |row: &Vec<String>| if let [only] = &row[..] { only.parse::<i64>().ok() } else { None };
    let numbers = rows.iter().map(number).collect::<Option<Vec<i64>>>()?;
    let first = *numbers.first()?;
    let is_range = numbers.iter().zip(first..).all(|(number, expected)| *number == expected);
    is_range.then(|| format!("{first}..{}", first + numbers.len() as i64))
}

fn precedence(symbol: &str) -> u8 {
    match symbol {
        "||" => 1,
        "&&" => 2,
        "+" | "-" => 4,
        "*" | "/" | "%" => 5,
        _ => 3,
    }
}

/// One name as it is, and several in parentheses.
fn tuple(mut parts: Vec<String>) -> String {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => format!("({})", parts.join(", ")),
    }
}
