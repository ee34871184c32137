//! Forms as text of WGSL.

use std::fmt::{self, Write};

use super::build::Form;
use super::{Array, Binary, Expression, LANES, Statement, Thread, Type, Unary, Value, Word};

/// The text of a form. `memories` has, for each operand that is used, the number of the memory that it is in.
pub(in crate::gpu) fn print(form: &Form, memories: &[u32]) -> String {
    let mut text = String::new();
    let bound = memories.iter().max().map_or(0, |&last| last + 1);
    let printed = header(&mut text, form, bound)
        .and_then(|()| Printer { text: &mut text, form, memories }.block(&form.body, 1))
        .and_then(|()| text.write_str("}\n"));
    printed.expect("a string takes any text");
    text
}

fn header(text: &mut String, form: &Form, bound: u32) -> fmt::Result {
    writeln!(text, "@group(0) @binding(0) var<storage, read> words: array<u32>;")?;
    writeln!(text, "@group(0) @binding(1) var<storage, read_write> fault: array<atomic<u32>, 4>;")?;
    for memory in 0..bound {
        writeln!(text, "@group(0) @binding({}) var<storage, read_write> m{memory}: array<u32>;", memory + 2)?;
    }
    for (number, array) in form.shared.iter().enumerate() {
        writeln!(text, "var<workgroup> s{number}: array<{}, {}>;", name(array.element), array.length)?;
    }
    writeln!(text, "@compute @workgroup_size({LANES})")?;
    writeln!(
        text,
        "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>, \
         @builtin(num_workgroups) groups: vec3<u32>) {{"
    )?;
    // Behind a launch that failed nothing is written. Within it all threads go on.
    writeln!(text, "    if (atomicLoad(&fault[0]) != 0u && atomicLoad(&fault[1]) != words[0]) {{ return; }}")
}

fn name(ty: Type) -> &'static str {
    match ty {
        Type::Float => "f32",
        Type::Unsigned => "u32",
        Type::Signed => "i32",
        Type::Truth => "bool",
    }
}

struct Printer<'a> {
    text: &'a mut String,
    form: &'a Form,
    memories: &'a [u32],
}

impl Printer<'_> {
    fn block(&mut self, statements: &[Statement], depth: usize) -> fmt::Result {
        statements.iter().try_for_each(|statement| self.statement(statement, depth))
    }

    fn statement(&mut self, statement: &Statement, depth: usize) -> fmt::Result {
        write!(self.text, "{:1$}", "", 4 * depth)?;
        match statement {
            Statement::Let(value, ty, expression) => {
                write!(self.text, "let v{}: {} = ", value.0, name(*ty))?;
                self.expression(expression)?;
                writeln!(self.text, ";")
            }
            Statement::Declare(variable, ty, first) => {
                writeln!(self.text, "var x{}: {} = v{};", variable.0, name(*ty), first.0)
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
                    "for (var c{counter} = v{first}; c{counter} < v{end}; c{counter} += v{step}) {{"
                )?;
                writeln!(self.text, "{:1$}let v{counter} = c{counter};", "", 4 * (depth + 1))?;
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
            Statement::Barrier => writeln!(self.text, "workgroupBarrier();"),
            Statement::Fail(position) => {
                writeln!(
                    self.text,
                    "atomicMin(&fault[2], v{}); atomicStore(&fault[1], words[0]); atomicStore(&fault[0], 1u);",
                    position.0
                )
            }
        }
    }

    fn array(&self, array: Array) -> String {
        match array {
            Array::Memory(operand) => format!("m{}", self.memories[operand as usize]),
            Array::Shared(number) => format!("s{number}"),
        }
    }

    fn expression(&mut self, expression: &Expression) -> fmt::Result {
        match *expression {
            Expression::Float(value) => self.float(value),
            Expression::Unsigned(value) => write!(self.text, "{value}u"),
            Expression::Signed(value) => write!(self.text, "i32({value})"),
            Expression::Truth(value) => write!(self.text, "{value}"),
            Expression::Word(word) => write!(self.text, "words[{}]", word.place(self.form)),
            Expression::Thread(Thread::Lane) => write!(self.text, "lane"),
            Expression::Thread(Thread::Workgroup) => write!(self.text, "group.x"),
            Expression::Thread(Thread::Workgroups) => write!(self.text, "groups.x"),
            Expression::Unary(operation, Value(of)) => match operation {
                Unary::Negate => write!(self.text, "-v{of}"),
                Unary::Not => write!(self.text, "!v{of}"),
                Unary::Flip => write!(self.text, "~v{of}"),
                Unary::Abs => write!(self.text, "abs(v{of})"),
                Unary::Floor => write!(self.text, "floor(v{of})"),
                Unary::Ceil => write!(self.text, "ceil(v{of})"),
                Unary::Trunc => write!(self.text, "trunc(v{of})"),
                Unary::Sqrt => write!(self.text, "sqrt(v{of})"),
            },
            Expression::Binary(operation, Value(left), Value(right)) => {
                write!(self.text, "v{left} {} v{right}", symbol(operation))
            }
            Expression::Rounded(Value(of)) => {
                let zero = Word::Zero.place(self.form);
                write!(self.text, "bitcast<f32>(bitcast<u32>(v{of}) | words[{zero}])")
            }
            Expression::Select(Value(condition), Value(this), Value(other)) => {
                write!(self.text, "select(v{other}, v{this}, v{condition})")
            }
            Expression::Convert(ty, Value(of)) => write!(self.text, "{}(v{of})", name(ty)),
            Expression::Bits(ty, Value(of)) => write!(self.text, "bitcast<{}>(v{of})", name(ty)),
            Expression::Load(array, Value(at)) => {
                let array = self.array(array);
                write!(self.text, "{array}[v{at}]")
            }
            Expression::Read(variable) => write!(self.text, "x{}", variable.0),
        }
    }

    fn float(&mut self, value: f32) -> fmt::Result {
        match value.is_normal() || value == 0.0 {
            true => write!(self.text, "{value:e}f"),
            // A constant that is infinite would be an error of the text, so it is made of bits that are not constant.
            false => write!(
                self.text,
                "bitcast<f32>(words[{}] + {}u)",
                Word::Zero.place(self.form),
                value.to_bits()
            ),
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
