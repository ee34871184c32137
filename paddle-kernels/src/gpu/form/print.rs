//! Forms as text: what the languages of devices have in common.

use std::fmt::{self, Write};

use super::build::Form;
use super::{Array, Binary, Expression, Statement, Thread, Type, Unary, Value, Word};

/// A language, in which a device takes kernels. Its statements are those of C, but for these.
pub(super) trait Dialect {
    /// The name of a type.
    fn name(ty: Type) -> &'static str;

    /// The declaration of a value that stays as it is.
    fn constant(name: fmt::Arguments<'_>, ty: Type) -> String;

    /// The declaration of a variable.
    fn variable(name: fmt::Arguments<'_>, ty: Type) -> String;

    /// What waits for the threads of a workgroup.
    const BARRIER: &'static str;

    /// The function that multiplies and adds.
    const MULTIPLY_ADD: &'static str;

    /// What says that the launch fails at a position.
    fn fail(position: Value) -> String;

    /// A number of the thread.
    fn thread(number: Thread) -> &'static str;

    /// A word of the launch.
    fn word(&self, word: Word, form: &Form) -> String;

    /// A memory.
    fn memory(&self, operand: u32) -> String;

    /// A constant that is no whole number.
    fn float(value: f32, zero: &str) -> String;

    /// A constant with a sign.
    fn signed(value: i32) -> String;

    /// A function of one value.
    fn function(operation: Unary) -> &'static str;

    /// The second value if the first holds, otherwise the third.
    fn select(condition: Value, this: Value, other: Value) -> String;

    /// A conversion of a value to another type.
    fn convert(ty: Type, of: Value) -> String;

    /// The bits of an expression, as another type.
    fn bits(ty: Type, of: fmt::Arguments<'_>) -> String;
}

/// Appends the statements of a form.
pub(super) fn statements<D: Dialect>(text: &mut String, form: &Form, dialect: D) -> fmt::Result {
    Printer { text, form, dialect }.block(&form.body, 1)
}

struct Printer<'a, D> {
    text: &'a mut String,
    form: &'a Form,
    dialect: D,
}

impl<D: Dialect> Printer<'_, D> {
    fn block(&mut self, statements: &[Statement], depth: usize) -> fmt::Result {
        statements.iter().try_for_each(|statement| self.statement(statement, depth))
    }

    fn statement(&mut self, statement: &Statement, depth: usize) -> fmt::Result {
        write!(self.text, "{:1$}", "", 4 * depth)?;
        match statement {
            Statement::Let(value, ty, expression) => {
                let expression = self.expression(expression);
                writeln!(self.text, "{} = {expression};", D::constant(format_args!("v{}", value.0), *ty))
            }
            Statement::Declare(variable, ty, first) => {
                let declaration = D::variable(format_args!("x{}", variable.0), *ty);
                writeln!(self.text, "{declaration} = v{};", first.0)
            }
            Statement::Assign(variable, value) => writeln!(self.text, "x{} = v{};", variable.0, value.0),
            Statement::Store(array, at, value) => {
                let array = self.array(*array);
                writeln!(self.text, "{array}[v{}] = v{};", at.0, value.0)
            }
            Statement::For { counter, first, end, step, body } => {
                let (counter, first, end, step) = (counter.0, first.0, end.0, step.0);
                writeln!(
                    self.text,
                    "for ({} = v{first}; c{counter} < v{end}; c{counter} += v{step}) {{",
                    D::variable(format_args!("c{counter}"), Type::Unsigned)
                )?;
                let constant = D::constant(format_args!("v{counter}"), Type::Unsigned);
                writeln!(self.text, "{:1$}{constant} = c{counter};", "", 4 * (depth + 1))?;
                self.block(body, depth + 1)?;
                writeln!(self.text, "{:1$}}}", "", 4 * depth)
            }
            Statement::If(condition, body, otherwise) => {
                writeln!(self.text, "if (v{}) {{", condition.0)?;
                self.block(body, depth + 1)?;
                if !otherwise.is_empty() {
                    writeln!(self.text, "{:1$}}} else {{", "", 4 * depth)?;
                    self.block(otherwise, depth + 1)?;
                }
                writeln!(self.text, "{:1$}}}", "", 4 * depth)
            }
            Statement::Barrier => writeln!(self.text, "{};", D::BARRIER),
            Statement::Fail(position) => writeln!(self.text, "{}", D::fail(*position)),
        }
    }

    fn array(&self, array: Array) -> String {
        match array {
            Array::Memory(operand) => self.dialect.memory(operand),
            Array::Shared(number) => format!("s{number}"),
        }
    }

    /// The word that is zero, which the compiler does not know.
    fn zero(&self) -> String {
        self.dialect.word(Word::Zero, self.form)
    }

    fn expression(&self, expression: &Expression) -> String {
        match *expression {
            Expression::Float(value) => D::float(value, &self.zero()),
            Expression::Unsigned(value) => format!("{value}u"),
            Expression::Signed(value) => D::signed(value),
            Expression::Truth(value) => value.to_string(),
            Expression::Word(word) => self.dialect.word(word, self.form),
            Expression::Thread(number) => D::thread(number).into(),
            Expression::Unary(operation, Value(of)) => match operation {
                Unary::Negate => format!("-v{of}"),
                Unary::Not => format!("!v{of}"),
                Unary::Flip => format!("~v{of}"),
                function => format!("{}(v{of})", D::function(function)),
            },
            Expression::Binary(operation, Value(left), Value(right)) => {
                format!("v{left} {} v{right}", symbol(operation))
            }
            Expression::MultiplyAdd(x, y, z) => format!("{}(v{}, v{}, v{})", D::MULTIPLY_ADD, x.0, y.0, z.0),
            Expression::Rounded(of) => {
                let bits = D::bits(Type::Unsigned, format_args!("v{}", of.0));
                D::bits(Type::Float, format_args!("{bits} | {}", self.zero()))
            }
            Expression::Select(condition, this, other) => D::select(condition, this, other),
            Expression::Convert(ty, of) => D::convert(ty, of),
            Expression::Bits(ty, of) => D::bits(ty, format_args!("v{}", of.0)),
            Expression::Load(array, Value(at)) => format!("{}[v{at}]", self.array(array)),
            Expression::Read(variable) => format!("x{}", variable.0),
        }
    }
}

fn symbol(operation: Binary) -> &'static str {
    match operation {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Rem => "%",
        Binary::And => "&",
        Binary::Or => "|",
        Binary::Xor => "^",
        Binary::ShiftLeft => "<<",
        Binary::ShiftRight => ">>",
        Binary::Equal => "==",
        Binary::NotEqual => "!=",
        Binary::Less => "<",
        Binary::LessEqual => "<=",
        Binary::Greater => ">",
        Binary::GreaterEqual => ">=",
    }
}
