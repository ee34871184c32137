//! The functions of a program, read from its file: their calls, and whether they compute.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::read::elf::ElfFile64;
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind, SymbolKind,
};
use rustc_demangle::demangle;

/// The functions by address.
pub(crate) struct Program(BTreeMap<u64, Function>);

/// A function.
pub(crate) struct Function {
    /// Its path, without the suffixes of functions that differ in types.
    pub(crate) name: String,
    /// The names of the functions of other files that it calls, or whose addresses it takes.
    pub(crate) foreign: BTreeSet<String>,
    /// The addresses of the functions of this file that it calls, or whose addresses it takes.
    pub(crate) calls: BTreeSet<u64>,
    /// Whether it computes with floating-point numbers.
    pub(crate) computes: bool,
    /// Whether it has an instruction that multiplies and adds at once.
    pub(crate) is_fused: bool,
}

/// The meaning of an address.
enum Target {
    Foreign(String),
    Function(u64),
}

impl Program {
    pub(crate) fn read(path: &Path) -> Program {
        let bytes = std::fs::read(path).expect("the file of a program that runs");
        let file = ElfFile64::<object::LittleEndian>::parse(&*bytes).expect("an ELF file");
        let text: Vec<(u64, &[u8])> = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| (section.address(), section.data().expect("the code is in the file")))
            .collect();
        let named = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let named: BTreeMap<u64, (String, u64)> = named
            .filter_map(|symbol| {
                let name = format!("{:#}", demangle(symbol.name().ok()?));
                Some((symbol.address(), (name, symbol.size())))
            })
            .collect();
        let foreign = |index| {
            let symbol = file.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
            Some((symbol.name().ok()?.to_owned(), symbol.address()))
        };
        // The locations of addresses that the loader fills in.
        let slots = file.dynamic_relocations().into_iter().flatten().filter_map(|(slot, relocation)| {
            let target = match relocation.target() {
                RelocationTarget::Symbol(index) => match foreign(index)? {
                    (_, address) if named.contains_key(&address) => Target::Function(address),
                    (name, _) => Target::Foreign(name),
                },
                _ => Target::Function(relocation.addend() as u64),
            };
            Some((slot, target))
        });
        let slots: HashMap<u64, Target> = slots.collect();
        let code = |start: u64, length: usize| {
            text.iter().find_map(|(first, bytes)| {
                let from = usize::try_from(start.checked_sub(*first)?).ok()?;
                bytes.get(from..).map(|bytes| &bytes[..length.min(bytes.len())])
            })
        };
        let functions = named.iter().filter_map(|(&start, (name, size))| {
            let mut function = Function {
                name: name.clone(),
                foreign: BTreeSet::new(),
                calls: BTreeSet::new(),
                computes: false,
                is_fused: false,
            };
            let own = start..start + size;
            for instruction in decode(start, code(start, *size as usize)?) {
                let mnemonic = format!("{:?}", instruction.mnemonic());
                function.computes |= is_arithmetic(&mnemonic);
                function.is_fused |= ["Vfm", "Vfnm", "Vdp"].iter().any(|kind| mnemonic.starts_with(kind));
                for mut address in
                    addresses(&instruction).into_iter().filter(|address| !own.contains(address))
                {
                    // This is a stub that jumps to an address that the loader fills in.
                    if !named.contains_key(&address)
                        && let Some(stub) = code(address, 16)
                        && let Some(slot) = decode(address, stub).take(2).flat_map(|i| addresses(&i)).next()
                        && slots.contains_key(&slot)
                    {
                        address = slot;
                    }
                    match slots.get(&address) {
                        Some(Target::Foreign(name)) => _ = function.foreign.insert(name.clone()),
                        Some(Target::Function(address)) => _ = function.calls.insert(*address),
                        None if named.contains_key(&address) => _ = function.calls.insert(address),
                        None => {}
                    }
                }
            }
            Some((start, function))
        });
        Program(functions.collect())
    }

    /// All functions by address.
    pub(crate) fn functions(&self) -> &BTreeMap<u64, Function> {
        &self.0
    }
}

fn decode(start: u64, code: &[u8]) -> impl Iterator<Item = Instruction> {
    Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter()
}

/// The targets of an instruction, and the addresses that it reads.
fn addresses(instruction: &Instruction) -> Vec<u64> {
    let target = Some(instruction.near_branch_target()).filter(|&target| target != 0);
    let read = instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
    target.into_iter().chain(read).collect()
}

/// Whether an instruction computes with floating-point numbers, one or many at a time.
fn is_arithmetic(mnemonic: &str) -> bool {
    const KINDS: [&str; 12] =
        ["add", "sub", "mul", "div", "sqrt", "max", "min", "fm", "fnm", "dp", "ucomi", "cmp"];
    let name = mnemonic.to_ascii_lowercase();
    let of_floats = ["ss", "sd", "ps", "pd"].iter().any(|kind| name.ends_with(kind));
    let operation = name.strip_prefix('v').unwrap_or(&name);
    of_floats && KINDS.iter().any(|kind| operation.starts_with(kind))
}
