//! Forms as text of WGSL.

use std::fmt::{self, Write};

use super::build::Form;
use super::print::{Dialect, statements};
use super::{LANES, Thread, Type, Unary, Value, Word};

/// The text of a form. `memories` has, for each operand that is used, the number of the memory that it is in.
pub(in crate::gpu) fn print(form: &Form, memories: &[u32]) -> String {
    let mut text = String::new();
    let bound = memories.iter().max().map_or(0, |&last| last + 1);
    let printed = header(&mut text, form, bound)
        .and_then(|()| statements(&mut text, form, Wgsl { memories }))
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
        writeln!(text, "var<workgroup> s{number}: array<{}, {}>;", Wgsl::name(array.element), array.length)?;
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

struct Wgsl<'a> {
    memories: &'a [u32],
}

impl Dialect for Wgsl<'_> {
    fn name(ty: Type) -> &'static str {
        match ty {
            Type::Float => "f32",
            Type::Unsigned => "u32",
            Type::Signed => "i32",
            Type::Truth => "bool",
        }
    }

    fn constant(name: fmt::Arguments<'_>, ty: Type) -> String {
        format!("let {name}: {}", Self::name(ty))
    }

    fn variable(name: fmt::Arguments<'_>, ty: Type) -> String {
        format!("var {name}: {}", Self::name(ty))
    }

    const BARRIER: &'static str = "workgroupBarrier()";

    const MULTIPLY_ADD: &'static str = "fma";

    fn fail(position: Value) -> String {
        format!(
            "atomicMin(&fault[2], v{}); atomicStore(&fault[1], words[0]); atomicStore(&fault[0], 1u);",
            position.0
        )
    }

    fn thread(number: Thread) -> &'static str {
        match number {
            Thread::Lane => "lane",
            Thread::Workgroup => "group.x",
            Thread::Workgroups => "groups.x",
        }
    }

    fn word(&self, word: Word, form: &Form) -> String {
        format!("words[{}]", word.place(form))
    }

    fn memory(&self, operand: u32) -> String {
        format!("m{}", self.memories[operand as usize])
    }

    fn float(value: f32, zero: &str) -> String {
        match value.is_normal() || value == 0.0 {
            true => format!("{value:e}f"),
            // A constant that is infinite would be an error of the text, so it is made of bits that are not constant.
            false => format!("bitcast<f32>({zero} + {}u)", value.to_bits()),
        }
    }

    fn signed(value: i32) -> String {
        format!("i32({value})")
    }

    fn function(operation: Unary) -> &'static str {
        match operation {
            Unary::Abs => "abs",
            Unary::Floor => "floor",
            Unary::Ceil => "ceil",
            Unary::Trunc => "trunc",
            Unary::Sqrt => "sqrt",
            Unary::Negate | Unary::Not | Unary::Flip => unreachable!("these are signs"),
        }
    }

    fn select(condition: Value, this: Value, other: Value) -> String {
        format!("select(v{}, v{}, v{})", other.0, this.0, condition.0)
    }

    fn convert(ty: Type, of: Value) -> String {
        format!("{}(v{})", Self::name(ty), of.0)
    }

    fn bits(ty: Type, of: fmt::Arguments<'_>) -> String {
        format!("bitcast<{}>({of})", Self::name(ty))
    }
}
