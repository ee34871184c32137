//! Inputs that are no batch, though their first size is not known: numbers of the rows of other inputs, as the edges of a graph
//! or the places of masked words are.
//!
//! PaddlePaddle says of each input only that its first size may vary. Inputs that operators combine have one size, and all those
//! that it does not tell apart are the batch. An operator that takes elements of one value by the numbers in another one tells
//! them apart: what belongs to the numbers has a size of its own.

use std::collections::BTreeMap;

use super::Reader;
use crate::wire::{OpDesc, VarDesc};

/// Inputs that have one size: for each the number of another one, or its own.
struct Alike(Vec<usize>);

impl Alike {
    fn first(&self, mut of: usize) -> usize {
        while self.0[of] != of {
            of = self.0[of];
        }
        of
    }

    /// Joins two of them, if there are two.
    fn join(&mut self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        let (a, b) = (self.first(a), self.first(b));
        let (first, other) = (a.min(b), a.max(b));
        self.0[other] = first;
        Some(first)
    }
}

/// How an operator takes or changes elements by their numbers along the first axis.
struct ByNumber<'o> {
    of: &'o [String],
    numbers: Vec<&'o [String]>,
    /// Whether the result belongs to the numbers, and not to what is numbered.
    takes: bool,
}

fn by_number(op: &OpDesc) -> Option<ByNumber<'_>> {
    let all = |of, numbers: &[&str], takes| {
        let numbers = numbers.iter().map(|slot| op.input(slot)).collect();
        Some(ByNumber { of: op.input(of), numbers, takes })
    };
    let is_first = |name| op.attr_long(name).ok().flatten().unwrap_or(0) == 0;
    match op.r#type.as_str() {
        "gather" if is_first("axis") && op.input("Axis").is_empty() => all("X", &["Index"], true),
        "index_select" if is_first("dim") => all("X", &["Index"], true),
        "gather_nd" => all("X", &["Index"], true),
        "scatter" => all("X", &["Ids", "Updates"], false),
        "scatter_nd_add" => all("X", &["Index", "Updates"], false),
        "graph_send_recv" => all("X", &["Src_index", "Dst_index"], false),
        "graph_send_ue_recv" => all("X", &["Y", "Src_index", "Dst_index"], false),
        "graph_send_uv" => all("x", &["src_index", "dst_index"], true),
        _ => None,
    }
}

impl<'a> Reader<'a> {
    /// The inputs that have sizes of their own, with the input that gives the size its name.
    pub(super) fn inputs_of_other_sizes(&self, names: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
        let varies = |var: &VarDesc| {
            let tensor = var.r#type.lod_tensor.as_ref();
            tensor.is_some_and(|tensor| {
                tensor.lod_level.unwrap_or(0) == 0 && tensor.tensor.dims.first() == Some(&-1)
            })
        };
        let declared = |name: &str| self.blocks[0].declared.get(name).is_some_and(|var| varies(var));
        let mut alike = Alike((0..names.len()).collect());
        // The input whose first size that of a variable is.
        let mut of: BTreeMap<&str, usize> =
            names.iter().enumerate().filter(|(_, name)| declared(name)).map(|(k, &name)| (name, k)).collect();
        let mut apart = Vec::new();
        for op in &self.blocks[0].desc.ops {
            let all = |names: &[String], alike: &mut Alike, of: &BTreeMap<&str, usize>| {
                names.iter().fold(None, |found, name| alike.join(found, of.get(name.as_str()).copied()))
            };
            let size = match by_number(op) {
                Some(found) => {
                    let whole = all(found.of, &mut alike, &of);
                    let mut numbers = None;
                    for slot in found.numbers {
                        let own = all(slot, &mut alike, &of);
                        numbers = alike.join(numbers, own);
                    }
                    apart.extend(whole.zip(numbers));
                    if found.takes { numbers } else { whole }
                }
                None => {
                    let inputs = op.inputs.iter();
                    inputs.fold(None, |found, slot| {
                        let own = all(&slot.arguments, &mut alike, &of);
                        alike.join(found, own)
                    })
                }
            };
            let Some(size) = size.filter(|_| !matches!(op.r#type.as_str(), "feed" | "fetch")) else {
                continue;
            };
            for name in op.outputs.iter().flat_map(|slot| &slot.arguments) {
                of.insert(name, size);
            }
        }
        let numbered: Vec<usize> = apart
            .into_iter()
            .map(|(whole, numbers)| (alike.first(whole), alike.first(numbers)))
            .filter(|(whole, numbers)| whole != numbers)
            .map(|(_, numbers)| numbers)
            .collect();
        let inputs = names.iter().enumerate().filter(|(_, name)| declared(name));
        let first = inputs.map(|(k, &name)| (name, alike.first(k)));
        first
            .filter(|(_, first)| numbered.contains(first))
            .map(|(name, first)| (name, names[first]))
            .collect()
    }
}
