//! A tree as text, in the layout of rustfmt.

use paddle_core::ops::Program;
use paddle_core::program::VarId;

use super::names::Names;
use super::parameters::Parameters;
use super::tree::{Body, Call, Expr, Head, If, Loop, Statement};

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
                Statement::Let { outputs, value } => self.bind(outputs, value, depth),
                Statement::Assign { targets, value } => {
                    let names = targets.iter().map(|target| self.names.name(*target).to_string());
                    let target = tuple(names.collect());
                    self.line(depth, &format!("{target} = "), value, ";");
                }
                Statement::Loop(it) => self.repeat(it, depth),
            }
        }
        match &body.results[..] {
            [] => {}
            [only] => self.line(depth, "", only, ""),
            results => self.line(depth, "", &Expr::Tuple(results.to_vec()), ""),
        }
    }

    fn bind(&mut self, outputs: &[Option<VarId>], value: &Expr, depth: usize) {
        let pattern = self.pattern(outputs);
        let mut value = value.clone();
        if let ([Some(output)], Expr::Call(call)) = (outputs, &mut value)
            && self.parameters.are_named_by(call, self.names.name(*output))
        {
            let options = self.parameters.options(self.program, call);
            call.parameters.clear();
            call.named.extend(options.into_iter().map(|(name, value)| (name, Expr::Word(value))));
        }
        self.line(depth, &format!("let {pattern} = "), &value, ";");
    }

    fn pattern(&self, outputs: &[Option<VarId>]) -> String {
        let name = |output: &Option<VarId>| output.map_or("_", |output| self.names.name(output)).to_string();
        tuple(outputs.iter().map(name).collect())
    }

    fn repeat(&mut self, it: &Loop, depth: usize) {
        for state in &it.states {
            let name = self.names.name(state.after).to_string();
            self.line(depth, &format!("let mut {name} = "), &state.initial, ";");
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

    /// Writes an expression between texts, on one line or on several.
    fn line(&mut self, depth: usize, before: &str, value: &Expr, behind: &str) {
        self.indent(depth);
        self.text.push_str(before);
        if let Expr::If(branch) = value {
            self.branches(branch, depth);
        } else {
            let one = self.expr(value, 0);
            let is_long = 4 * depth + before.len() + one.len() + behind.len() > WIDTH;
            match value {
                Expr::Call(call) if is_long => self.tall(call, depth),
                Expr::Infix(symbol, sides) if is_long => {
                    let level = precedence(symbol);
                    let [left, right] = [self.expr(&sides[0], level), self.expr(&sides[1], level + 1)];
                    self.text.push_str(&left);
                    self.text.push('\n');
                    self.indent(depth + 1);
                    self.text.push_str(&format!("{symbol} {right}"));
                }
                _ => self.text.push_str(&one),
            }
        }
        self.text.push_str(behind);
        self.text.push('\n');
    }

    /// A call with a line for each argument.
    fn tall(&mut self, call: &Call, depth: usize) {
        self.text.push_str(&format!("{}(\n", call.layer));
        for argument in self.arguments(call) {
            self.indent(depth + 1);
            self.text.push_str(&format!("{argument},\n"));
        }
        self.indent(depth);
        self.text.push(')');
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
            Expr::Text(text) => (format!("\"{text}\""), ATOM),
            Expr::List(parts) => (format!("[{}]", self.list(parts)), ATOM),
            Expr::Tuple(parts) => (format!("({})", self.list(parts)), ATOM),
            Expr::Call(call) => (format!("{}({})", call.layer, self.arguments(call).join(", ")), ATOM),
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

    fn list(&self, parts: &[Expr]) -> String {
        parts.iter().map(|part| self.expr(part, 0)).collect::<Vec<_>>().join(", ")
    }

    fn arguments(&self, call: &Call) -> Vec<String> {
        let positional = call.positional.iter().map(|value| self.expr(value, 0));
        let named = call.named.iter().map(|(name, value)| format!("{name} = {}", self.expr(value, 0)));
        let of_parameters = self.parameters.arguments(self.program, call);
        let of_parameters = of_parameters.into_iter().map(|(name, value)| format!("{name} = {value}"));
        positional.chain(named).chain(of_parameters).collect()
    }
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
