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

#[cfg(all(test, feature = "cuda", feature = "wgpu"))]
mod tests {
    use paddle_core::plan::Extent;

    use crate::gpu::form::{
        Float, Form, Register, Unsigned, build, cuda, each, load_word, operand, scalar, store_word, wgsl,
    };

    /// Twice the first operand, and 1, but not less than 0, in the second.
    fn form() -> Form {
        let write = || {
            let ((x, from), (y, to)) = (operand(0), operand(1));
            each(scalar(&[Extent::Bound(0)]), |at: Unsigned| {
                let value = load_word(x, from + at).as_float();
                let value = Float::constant(2.0).multiply_add(value, Float::constant(1.0));
                let zero = Float::constant(0.0);
                store_word(y, to + at, Float::choose(value.less(zero), zero, value).bits());
            });
        };
        build(write).0
    }

    fn body(text: &str) -> Vec<&str> {
        let from = text.find("v0").expect("a statement");
        let lines = text[..from].rfind('\n').map_or(text, |at| &text[at + 1..]).lines();
        lines.map(str::trim).filter(|line| *line != "}").collect()
    }

    #[test]
    fn each_language_has_its_own_words() {
        let found = wgsl::print(&form(), &[0, 1]);
        let expected = [
            "let v0: u32 = words[4];",
            "let v1: u32 = words[5];",
            "let v2: u32 = words[6];",
            "let v3: u32 = group.x;",
            "let v4: u32 = 64u;",
            "let v5: u32 = v3 * v4;",
            "let v6: u32 = lane;",
            "let v7: u32 = v5 + v6;",
            "let v8: u32 = groups.x;",
            "let v9: u32 = 64u;",
            "let v10: u32 = v8 * v9;",
            "for (var c11: u32 = v7; c11 < v2; c11 += v10) {",
            "let v11: u32 = c11;",
            "let v12: u32 = v0 + v11;",
            "let v13: u32 = m0[v12];",
            "let v14: f32 = bitcast<f32>(v13);",
            "let v15: f32 = 2e0f;",
            "let v16: f32 = 1e0f;",
            "let v17: f32 = fma(v15, v14, v16);",
            "let v18: f32 = 0e0f;",
            "let v19: u32 = v1 + v11;",
            "let v20: bool = v17 < v18;",
            "let v21: f32 = select(v17, v18, v20);",
            "let v22: u32 = bitcast<u32>(v21);",
            "m1[v19] = v22;",
        ];
        assert_eq!(body(&found), expected);

        let found = cuda::print(&form());
        let expected = [
            "const unsigned v0 = 0u;",
            "const unsigned v1 = 0u;",
            "const unsigned v2 = launch.words[6];",
            "const unsigned v3 = blockIdx.x;",
            "const unsigned v4 = 64u;",
            "const unsigned v5 = v3 * v4;",
            "const unsigned v6 = threadIdx.x;",
            "const unsigned v7 = v5 + v6;",
            "const unsigned v8 = gridDim.x;",
            "const unsigned v9 = 64u;",
            "const unsigned v10 = v8 * v9;",
            "for (unsigned c11 = v7; c11 < v2; c11 += v10) {",
            "const unsigned v11 = c11;",
            "const unsigned v12 = v0 + v11;",
            "const unsigned v13 = m0[v12];",
            "const float v14 = bits_float(v13);",
            "const float v15 = 2e0f;",
            "const float v16 = 1e0f;",
            "const float v17 = fmaf(v15, v14, v16);",
            "const float v18 = 0e0f;",
            "const unsigned v19 = v1 + v11;",
            "const bool v20 = v17 < v18;",
            "const float v21 = v20 ? v18 : v17;",
            "const unsigned v22 = bits_unsigned(v21);",
            "m1[v19] = v22;",
        ];
        assert_eq!(body(&found), expected);
    }

    /// What no literal of a language can be.
    #[test]
    fn constants_at_the_ends_are_written_otherwise() {
        let (form, ()) = build(|| {
            let (y, to) = operand(0);
            let least = crate::gpu::form::Signed::of(i32::MIN);
            store_word(y, to, Float::constant(f32::INFINITY).bits());
            store_word(y, to, least.as_unsigned());
        });
        let (found, of_cuda) = (wgsl::print(&form, &[0]), cuda::print(&form));
        assert!(found.contains("bitcast<f32>(words[1] + 2139095040u)"), "{found}");
        assert!(found.contains("i32(-2147483648)"), "{found}");
        assert!(of_cuda.contains("__uint_as_float(2139095040u)"), "{of_cuda}");
        assert!(of_cuda.contains("(-2147483647 - 1)"), "{of_cuda}");
    }
}
