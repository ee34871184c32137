//! The copies of kernels, and their faults.

use std::collections::BTreeSet;

use paddle_core::plan::{Backend, Group, Unsupported};
use paddle_kernels::Cpu;
use paddle_kernels::cpu::Kernel;

use super::program::{Function, Program};

/// The mathematical functions of C's library. With an `f` behind their names, they are those of single precision.
const OF_NUMBERS: &str = "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf erfc exp exp10 exp2 expm1 \
    fdim floor fma fmax fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 modf nearbyint pow remainder rint round \
    roundeven scalbn sin sincos sinh sqrt tan tanh tgamma trunc";

/// The functions that may call them: some functions for `f64`; random numbers, which are the same on every backend; and
/// a number that `dropout` computes once.
const MAY_CALL: [&str; 3] = [
    "paddle_kernels::cpu::math::library::",
    "<paddle_kernels::cpu::ops::random::",
    "paddle_kernels::cpu::ops::dropout::<impl paddle_kernels::cpu::ops::Compile",
];

/// Functions that are called on errors, or for memory.
const ASIDE: [&str; 5] = ["core::panicking", "core::fmt", "<core::fmt", "alloc::", "std::"];

const INSTRUCTION_SETS: [&str; 4] = ["avx512bf16", "avx512", "avx2", "portable"];

/// The instruction set of the copy that a function is, or is part of.
fn instruction_set(name: &str) -> Option<&'static str> {
    let is_copy = |isa: &&str| name.split("::").any(|part| part == *isa);
    INSTRUCTION_SETS.into_iter().find(is_copy).filter(|_| name.contains("paddle_kernels::cpu::"))
}

fn may_call(function: &Function) -> bool {
    MAY_CALL.iter().any(|prefix| function.name.starts_with(prefix))
}

/// The mathematical functions of C's library that it calls, those of the system or those of Rust.
fn of_numbers<'a>(program: &'a Program, function: &'a Function) -> Vec<&'a str> {
    let called = function.calls.iter().filter_map(|call| program.functions().get(call));
    let names = called.map(|called| &*called.name).chain(function.foreign.iter().map(|name| &**name));
    let is_of_numbers = |name: &&str| {
        name.starts_with("libm::")
            || OF_NUMBERS.split_whitespace().any(|of| *name == of || name.strip_suffix('f') == Some(of))
    };
    names.filter(is_of_numbers).collect()
}

/// The faults of a copy, in its own calls and in those of the functions that it calls.
fn faults(program: &Program, address: u64, copy: &Function) -> Vec<String> {
    let isa = instruction_set(&copy.name).expect("a copy");
    let is_loop = copy.name.contains("paddle_kernels::cpu::ops::elementwise::loops::");
    let (mut seen, mut open, mut faults) = (BTreeSet::from([address]), vec![address], Vec::new());
    while let Some(function) = open.pop().and_then(|address| program.functions().get(&address)) {
        let is_own = instruction_set(&function.name) == Some(isa);
        for name in of_numbers(program, function) {
            faults.push(format!("{}: {} calls `{name}`", copy.name, function.name));
        }
        if isa != "portable" && !is_own && function.computes {
            faults.push(format!("{}: {} computes, and is not inlined", copy.name, function.name));
        }
        for &call in &function.calls {
            let Some(called) = program.functions().get(&call) else { continue };
            let is_aside = ASIDE.iter().any(|prefix| called.name.starts_with(prefix));
            if is_aside || may_call(called) || !seen.insert(call) {
                continue;
            }
            if is_loop {
                faults.push(format!("{}: {} is not inlined", copy.name, called.name));
            }
            open.push(call);
        }
    }
    faults
}

#[test]
fn loops_stay_in_their_instruction_set() {
    // This links everything that the backend can compile into this program.
    let compile: fn(&Cpu, &Group) -> Result<Kernel, Unsupported> = Cpu::compile;
    std::hint::black_box(compile);
    let program = Program::read(&std::env::current_exe().expect("a program"));
    let functions = program.functions();
    let copies = || functions.iter().filter(|(_, function)| instruction_set(&function.name).is_some());

    // Checks the checker: it finds all copies, and sees their instructions.
    for isa in INSTRUCTION_SETS {
        let of = |(_, function): &(&u64, &Function)| instruction_set(&function.name) == Some(isa);
        let (all, computing) =
            (copies().filter(of).count(), copies().filter(of).filter(|(_, f)| f.computes).count());
        // Few functions have a copy for 512 bits. For products of bf16 there are two: tiles, and panels, which do not compute.
        let more_than = match isa {
            "avx512bf16" => [1, 0, 0],
            "avx512" => [150, 150, 50],
            _ => [300, 200, 50],
        };
        assert!(
            all > more_than[0] && computing > more_than[1],
            "{isa}: {computing} of {all} copies compute; was it stripped?"
        );
        let fused = copies().filter(of).filter(|(_, function)| function.is_fused).count();
        let has_fused = isa != "portable" || cfg!(target_feature = "fma");
        assert!(
            if has_fused { fused > more_than[2] } else { fused == 0 },
            "{isa}: {fused} copies multiply and add at once"
        );
    }
    let library: Vec<_> = functions.values().filter(|function| may_call(function)).collect();
    for name in ["sin", "tan", "pow"] {
        assert!(library.iter().any(|function| of_numbers(&program, function).contains(&name)), "{name}");
    }

    let mut faults: BTreeSet<String> =
        copies().flat_map(|(&address, copy)| faults(&program, address, copy)).collect();
    for function in functions.values().filter(|function| function.name.contains("paddle_kernels::cpu::")) {
        if !may_call(function) {
            let calls = of_numbers(&program, function).into_iter();
            faults.extend(calls.map(|name| format!("{} calls `{name}`", function.name)));
        }
    }
    assert!(
        faults.is_empty(),
        "kernels leave their instruction set, or call C's library; mark what is called `#[inline(always)]`, and \
         make functions of closures:\n{}",
        faults.into_iter().collect::<Vec<_>>().join("\n")
    );
}
