//! Sizes and types in the language.

use std::collections::BTreeSet;

use paddle_core::ops::Program;
use paddle_core::program::{Arithmetic, Dim, RowOrigin, RowsId, SymbolId, Type, VarId};

use super::names::is_identifier;

/// The names of sizes whose own names are none in the language, as those of PaddlePaddle's variables are: `ids[1]`.
const LETTERS: [&str; 7] = ["T", "S", "U", "V", "W", "K", "M"];

/// The name of a number of rows, which numbers follow where there are several.
const ROWS: &str = "N";

/// The name of a size in the language.
pub(super) fn symbol_name(program: &Program, symbol: SymbolId) -> String {
    let name = |symbol: SymbolId| &program.symbols()[symbol.0 as usize].name;
    let is_plain = |name: &str| is_identifier(name);
    if is_plain(name(symbol)) && !is_of_rows(program, symbol) {
        return name(symbol).clone();
    }
    let taken: BTreeSet<&str> = program.symbols().iter().map(|symbol| symbol.name.as_str()).collect();
    let before = (0..symbol.0)
        .map(SymbolId)
        .filter(|other| is_of_rows(program, *other) == is_of_rows(program, symbol));
    let place = before.filter(|other| is_of_rows(program, *other) || !is_plain(name(*other))).count();
    let is_free = |free: &String| !taken.contains(free.as_str());
    if is_of_rows(program, symbol) {
        let numbered = std::iter::once(ROWS.to_string()).chain((1..).map(|number| format!("{ROWS}{number}")));
        return numbered.filter(is_free).nth(place).unwrap_or_default();
    }
    let letters = LETTERS.iter().map(|letter| letter.to_string());
    let numbered = (1..).map(|number| format!("T{number}"));
    letters.chain(numbered).filter(is_free).nth(place).unwrap_or_default()
}

fn is_of_rows(program: &Program, symbol: SymbolId) -> bool {
    program.row_spaces().iter().any(|rows| rows.size == symbol)
}

/// The first input that has these rows.
pub(super) fn fed_with(program: &Program, rows: RowsId) -> Option<VarId> {
    program.inputs().iter().copied().find(|input| program.ty(*input).rows == Some(rows))
}

/// Whether the number of these rows can have a name: they are fed, or tokens that the network makes, or those of an iteration.
pub(super) fn has_name(program: &Program, rows: RowsId) -> bool {
    let is_made = matches!(program.row_space(rows).origin, RowOrigin::Tokens | RowOrigin::Active { .. });
    is_made || fed_with(program, rows).is_some()
}

/// Both sides of the `let` that names the number of a value's rows.
pub(super) fn naming(name: &str, of: &str) -> (String, String) {
    (format!("_: Tensor<i64, {name}>"), format!("all_rows(row_numbers({of}))"))
}

/// Numbers of rows that the source can name: each with its name, and with an input that has the rows.
pub(super) fn numbers_of_rows(program: &Program) -> Vec<(String, VarId)> {
    let spaces = (0..).map(RowsId).zip(program.row_spaces());
    spaces.filter_map(|(at, rows)| Some((symbol_name(program, rows.size), fed_with(program, at)?))).collect()
}

/// The names of sizes that are bound in the network alone, and not in functions that are taken out of it.
pub(super) fn of_the_network(program: &Program) -> BTreeSet<String> {
    let symbols = (0..).map(SymbolId).zip(program.symbols()).filter(|(_, symbol)| !symbol.outside);
    symbols.map(|(symbol, _)| symbol_name(program, symbol)).collect()
}

/// The names of sizes in an expression.
pub(super) fn named<'w>(words: &'w str, names: &BTreeSet<String>) -> impl Iterator<Item = &'w str> {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    words.split(move |letter| !is_of_name(letter)).filter(|word| names.contains(*word))
}

/// A size as source. `None` if it has one that the source cannot name: a number of rows that are not fed.
pub(super) fn size(program: &Program, dim: &Dim) -> Option<String> {
    let Written { text, .. } = dim.compute(&Source { program, has_rows: true })?;
    Some(text)
}

/// A size without numbers of rows, as types have it.
pub(super) fn size_without_rows(program: &Program, dim: &Dim) -> Option<String> {
    let Written { text, .. } = dim.compute(&Source { program, has_rows: false })?;
    Some(text)
}

/// The type of an input as source; `None` if the language has no such inputs.
pub(super) fn input(program: &Program, ty: &Type) -> Option<String> {
    let mut levels = 0;
    let mut rows = ty.rows;
    while let Some(of) = rows.filter(|rows| program.row_space(*rows).origin == RowOrigin::Tokens) {
        levels += 1;
        rows = program.row_space(of).parent;
    }
    let dims = ty.dims.iter().map(|dim| braced(program, dim)).collect::<Option<Vec<_>>>()?;
    if levels == 0 {
        return Some(tensor(ty, ty.rows.map(|rows| name_of_rows(program, rows)).into_iter().chain(dims)));
    }
    // The rows around the sequences are those of the batch.
    rows.filter(|rows| program.row_space(*rows).name == "_")?;
    let token = if dims.is_empty() { ty.dtype.to_string() } else { tensor(ty, dims.into_iter()) };
    Some(format!("{}{token}{}", "Seq<".repeat(levels), ">".repeat(levels)))
}

/// The type of a result as source. What is not fed as such is left to the compiler: `_`.
pub(super) fn result(program: &Program, ty: &Type) -> String {
    let is_fed = |rows: RowsId| {
        let is_root = program.row_space(rows).origin == RowOrigin::Root;
        is_root || program.inputs().iter().any(|input| program.ty(*input).rows == Some(rows))
    };
    match ty.rows.is_none_or(is_fed) {
        true => input(program, ty).unwrap_or_else(|| "_".into()),
        false => "_".into(),
    }
}

fn tensor(ty: &Type, dims: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = std::iter::once(ty.dtype.to_string()).chain(dims).collect();
    format!("Tensor<{}>", parts.join(", "))
}

fn name_of_rows(program: &Program, rows: RowsId) -> String {
    program.row_space(rows).name.clone()
}

/// A size within a type: what is computed stands in braces.
fn braced(program: &Program, dim: &Dim) -> Option<String> {
    let text = size_without_rows(program, dim)?;
    let is_plain = dim.constant().is_some() || dim.as_symbol().is_some();
    Some(if is_plain { text } else { format!("{{ {text} }}") })
}

/// Writes sizes as source.
struct Source<'p> {
    program: &'p Program,
    /// Whether numbers of rows that are fed have names.
    has_rows: bool,
}

/// The text of a size, and whether it is a sum, which needs parentheses within a product.
struct Written {
    text: String,
    is_sum: bool,
}

impl Written {
    fn factor(self) -> String {
        if self.is_sum { format!("({})", self.text) } else { self.text }
    }
}

impl Arithmetic for Source<'_> {
    type Size = Written;

    fn number(&self, value: i64) -> Option<Written> {
        Some(Written { text: value.to_string(), is_sum: false })
    }

    fn symbol(&self, symbol: SymbolId) -> Option<Written> {
        let rows = self.program.row_spaces().iter().position(|rows| rows.size == symbol);
        let origin = rows.map(|rows| self.program.row_spaces()[rows].origin);
        if let Some(RowOrigin::Fixed(count)) = origin {
            return self.number(i64::from(count));
        }
        let is_known = rows.is_none_or(|rows| self.has_rows && has_name(self.program, RowsId(rows as u32)));
        is_known.then(|| Written { text: symbol_name(self.program, symbol), is_sum: false })
    }

    fn add(&self, a: Written, b: Written) -> Option<Written> {
        let text = match (a.text.strip_prefix('-'), b.text.strip_prefix('-')) {
            (Some(number), None) => format!("{} - {number}", b.text),
            (_, Some(number)) => format!("{} - {number}", a.text),
            (None, None) => format!("{} + {}", a.text, b.text),
        };
        Some(Written { text, is_sum: true })
    }

    fn multiply(&self, a: Written, b: Written) -> Option<Written> {
        let b = match b.text.contains('/') && !b.is_sum {
            true => format!("({})", b.text),
            false => b.factor(),
        };
        Some(Written { text: format!("{} * {b}", a.factor()), is_sum: false })
    }

    fn floor_div(&self, a: Written, b: Written) -> Option<Written> {
        let (a, b) = (a.factor(), b.factor());
        let b = if b.contains(' ') && !b.starts_with('(') { format!("({b})") } else { b };
        Some(Written { text: format!("{a} / {b}"), is_sum: false })
    }
}
