//! Forms as text of CUDA C++, without headers.

use std::fmt::{self, Write};

use super::build::Form;
use super::print::{Dialect, statements};
use super::{LANES, Thread, Type, Unary, Value, Word};

/// The name of the function.
pub(in crate::gpu) const ENTRY: &str = "paddle_kernel";

/// The number of words of a launch.
pub(in crate::gpu) fn words(form: &Form) -> usize {
    Word::Size(form.sizes.len() as u32).place(form)
}

/// The text of a form. The function takes addresses, of the fault and of each operand that is used, and behind them the words of the launch.
pub(in crate::gpu) fn print(form: &Form) -> String {
    let mut text = String::new();
    let printed = header(&mut text, form)
        .and_then(|()| statements(&mut text, form, Cuda))
        .and_then(|()| text.write_str("}\n"));
    printed.expect("a string takes any text");
    text
}

const CASTS: &str = "\
__device__ __forceinline__ unsigned bits_unsigned(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned bits_unsigned(int x) { return (unsigned)x; }
__device__ __forceinline__ float bits_float(unsigned x) { return __uint_as_float(x); }
__device__ __forceinline__ int bits_int(unsigned x) { return (int)x; }
";

fn header(text: &mut String, form: &Form) -> fmt::Result {
    let operands = form.operands.len();
    writeln!(text, "struct Launch {{ unsigned* at[{}]; unsigned words[{}]; }};", 1 + operands, words(form))?;
    text.write_str(CASTS)?;
    // Which thread finds a fault first must not matter: the least position is kept, and the number of the launch is there
    // before the sign that something failed.
    writeln!(
        text,
        "__device__ __noinline__ void fail(unsigned* fault, unsigned launch, unsigned position) {{\n    \
         atomicMin(&fault[2], position);\n    atomicExch(&fault[1], launch);\n    __threadfence();\n    \
         atomicExch(&fault[0], 1u);\n}}"
    )?;
    writeln!(
        text,
        "extern \"C\" __global__ void __launch_bounds__({LANES}) {ENTRY}(const __grid_constant__ Launch launch) {{"
    )?;
    writeln!(text, "    unsigned* const fault = launch.at[0];")?;
    (0..operands).try_for_each(|k| writeln!(text, "    unsigned* const m{k} = launch.at[{}];", 1 + k))?;
    for (number, array) in form.shared.iter().enumerate() {
        writeln!(text, "    __shared__ {} s{number}[{}];", Cuda::name(array.element), array.length)?;
    }
    // Behind a launch that failed nothing is written, if that would outlive the run. Within it all threads go on.
    writeln!(
        text,
        "    if (fault != nullptr && *(volatile unsigned*)&fault[0] != 0u) {{\n        __threadfence();\n        \
         if (*(volatile unsigned*)&fault[1] != launch.words[0]) {{ return; }}\n    }}"
    )
}

struct Cuda;

impl Dialect for Cuda {
    fn name(ty: Type) -> &'static str {
        match ty {
            Type::Float => "float",
            Type::Unsigned => "unsigned",
            Type::Signed => "int",
            Type::Truth => "bool",
        }
    }

    fn constant(name: fmt::Arguments<'_>, ty: Type) -> String {
        format!("const {} {name}", Self::name(ty))
    }

    fn variable(name: fmt::Arguments<'_>, ty: Type) -> String {
        format!("{} {name}", Self::name(ty))
    }

    const BARRIER: &'static str = "__syncthreads()";

    const MULTIPLY_ADD: &'static str = "fmaf";

    fn fail(position: Value) -> String {
        format!("fail(fault, launch.words[0], v{});", position.0)
    }

    fn thread(number: Thread) -> &'static str {
        match number {
            Thread::Lane => "threadIdx.x",
            Thread::Workgroup => "blockIdx.x",
            Thread::Workgroups => "gridDim.x",
        }
    }

    fn word(&self, word: Word, form: &Form) -> String {
        match word {
            // The pointers are those of operands.
            Word::Offset(_) => "0u".into(),
            word => format!("launch.words[{}]", word.place(form)),
        }
    }

    fn memory(&self, operand: u32) -> String {
        format!("m{operand}")
    }

    fn float(value: f32, _: &str) -> String {
        match value.is_normal() || value == 0.0 {
            true => format!("{value:e}f"),
            false => format!("__uint_as_float({}u)", value.to_bits()),
        }
    }

    fn signed(value: i32) -> String {
        // The least number has no positive counterpart, whose opposite it could be written as.
        match value {
            i32::MIN => "(-2147483647 - 1)".into(),
            value => value.to_string(),
        }
    }

    fn function(operation: Unary) -> &'static str {
        match operation {
            Unary::Abs => "fabsf",
            Unary::Floor => "floorf",
            Unary::Ceil => "ceilf",
            Unary::Trunc => "truncf",
            Unary::Sqrt => "sqrtf",
            Unary::Negate | Unary::Not | Unary::Flip => unreachable!("these are signs"),
        }
    }

    fn select(condition: Value, this: Value, other: Value) -> String {
        format!("v{} ? v{} : v{}", condition.0, this.0, other.0)
    }

    fn convert(ty: Type, of: Value) -> String {
        format!("({})v{}", Self::name(ty), of.0)
    }

    fn bits(ty: Type, of: fmt::Arguments<'_>) -> String {
        format!("bits_{}({of})", Self::name(ty))
    }
}
