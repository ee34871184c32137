//! Reads types from the wire.

use super::{EQUAL, POSITIVE, dim_text, element, wire_dims};
use crate::convert::error::Fault;
use crate::ops::Program;
use crate::program::{Condition, DType, Dim, RowOrigin, RowsId, SymbolId, Type};
use crate::wire::VarKind;

/// The longest text of a symbolic dimension. It keeps arithmetic on hostile ones small.
const MAX_DIM_TEXT: usize = 1024;

/// The most floor divisions of a dimension, as reading one recurses.
const MAX_DIVISIONS: usize = 64;

/// The element type of this kind, or the one that holds its values, if there is one.
pub(in crate::convert) fn dtype(kind: VarKind) -> Option<DType> {
    DType::ALL.into_iter().find(|&dtype| element(dtype) == kind).or_else(|| wider(kind))
}

/// The type that holds the values of a narrower one.
pub(in crate::convert) fn wider(kind: VarKind) -> Option<DType> {
    match kind {
        VarKind::Uint8 | VarKind::Int8 | VarKind::Int16 => Some(DType::I32),
        VarKind::Fp16 | VarKind::Bf16 => Some(DType::F32),
        _ => None,
    }
}

/// Reads the exact text of a condition.
pub(in crate::convert) fn parse_condition(program: &Program, text: &str) -> Option<Condition> {
    match text.split_once(EQUAL) {
        Some((a, b)) => Some(Condition::Equal(parse_dim(program, a)?, parse_dim(program, b)?)),
        None => Some(Condition::Positive(parse_dim(program, text.strip_suffix(POSITIVE)?)?)),
    }
}

/// The fault of a value that is larger than any memory.
pub(in crate::convert) fn too_large(ty: &Type) -> Fault {
    Fault::Size { message: format!("a value would be {}{:?}, which is too large", ty.dtype, wire_dims(ty)) }
}

/// The number of elements.
#[cfg(feature = "read")]
pub(in crate::convert) fn product(dims: &[Dim]) -> Result<Dim, Fault> {
    let product = dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    product.map_err(|_| size_overflows())
}

/// A size that is more than so many.
#[cfg(feature = "read")]
pub(in crate::convert) fn enlarged(size: &Dim, more: i64) -> Result<Dim, Fault> {
    (size + &Dim::from(more)).map_err(|_| size_overflows())
}

#[cfg(feature = "read")]
fn size_overflows() -> Fault {
    Fault::Size { message: "a value would be of a size that overflows".into() }
}

/// Whether the text of a dimension is of moderate length.
#[cfg(feature = "read")]
pub(in crate::convert) fn is_moderate(dim: &Dim) -> bool {
    dim.constant().is_some() || dim_text(dim).len() <= MAX_DIM_TEXT
}

/// Whether the product of these dimensions is a polynomial of moderate length.
pub(in crate::convert) fn is_small_product(dims: &[Dim]) -> bool {
    let terms = |dim: &Dim| {
        if dim.constant().is_some() {
            return 1;
        }
        let text = dim_text(dim);
        1 + text.matches(" + ").count() + text.matches(" - ").count()
    };
    dims.iter()
        .map(terms)
        .try_fold(1usize, |all, terms| all.checked_mul(terms))
        .is_some_and(|all| all <= 1_000)
}

/// The tables of symbols and row spaces.
#[derive(Clone, Copy, Default)]
pub(in crate::convert) struct Tables<'a> {
    pub(in crate::convert) symbols: &'a [String],
    /// The symbols that are bound from outside.
    pub(in crate::convert) outside: &'a [i64],
    /// The names of row spaces.
    pub(in crate::convert) rows: &'a [String],
    /// The symbol of each row space.
    pub(in crate::convert) sizes: &'a [i64],
    /// For each row space, the one from which its rows are taken, or -1.
    pub(in crate::convert) parents: &'a [i64],
    /// The row spaces that are tokens of sequences of their parent.
    pub(in crate::convert) tokens: &'a [i64],
    /// The origins of other row spaces: triples of a row space, its kind, and another one that belongs to it, or a number.
    pub(in crate::convert) origins: &'a [i64],
}

/// Creates the symbols and row spaces that the program's tables list, so that their numbers are their ids. `None` if the
/// tables contradict each other.
pub(in crate::convert) fn declare(program: &mut Program, tables: Tables<'_>) -> Option<()> {
    let Tables { symbols, outside, rows, sizes, parents, tokens, origins } = tables;
    if rows.len() != sizes.len() || rows.len() != parents.len() {
        return None;
    }
    // A symbol that is the size of a row space is made together with it, in the order of both.
    let mut left = rows.iter().zip(sizes).zip(parents).peekable();
    for (number, name) in symbols.iter().enumerate() {
        let Some(((rows, _), &parent)) = left.next_if(|((_, size), _)| usize::try_from(**size) == Ok(number))
        else {
            match outside.contains(&(number as i64)) {
                true => program.create_outside_symbol(name),
                false => program.create_symbol(name),
            };
            continue;
        };
        let known = program.row_spaces().len();
        let is_tokens = tokens.contains(&(known as i64));
        let numbers = origins.chunks(3).find(|origin| origin[0] == known as i64);
        let (parent, origin) = match parent {
            -1 if is_tokens => return None,
            -1 => match numbers {
                Some(&[_, FIXED, count]) => (None, RowOrigin::Fixed(u32::try_from(count).ok()?)),
                Some(_) => return None,
                None => (None, RowOrigin::Root),
            },
            parent => {
                let parent = u32::try_from(parent).ok().filter(|&parent| (parent as usize) < known)?;
                let origin = match numbers {
                    Some(&[_, kind, of]) => origin_of_numbers(kind, of, known)?,
                    Some(_) => return None,
                    None if is_tokens => RowOrigin::Tokens,
                    None => RowOrigin::Chosen,
                };
                (Some(RowsId(parent)), origin)
            }
        };
        program.add_rows(rows.clone(), parent, origin);
    }
    left.next().is_none().then_some(())
}

/// The kind of row spaces of a fixed number of rows.
const FIXED: i64 = 4;

/// The origin for two numbers. There are `known` row spaces before it.
fn origin_of_numbers(kind: i64, of: i64, known: usize) -> Option<RowOrigin> {
    let of = u32::try_from(of).ok().filter(|&of| (of as usize) < known).map(RowsId);
    Some(match kind {
        0 => RowOrigin::Active { steps: of? },
        1 => RowOrigin::Steps,
        2 => RowOrigin::Part { of: of? },
        3 => RowOrigin::Rounds,
        _ => return None,
    })
}

/// Reads the exact text of a type.
pub(in crate::convert) fn parse_type(program: &Program, text: &str) -> Option<Type> {
    let (dtype, rest) = text.split_once('[')?;
    let dtype = DType::from_name(dtype)?;
    let inner = rest.strip_suffix(']')?;
    let mut parts = inner.split(", ").filter(|_| !inner.is_empty()).peekable();
    let mut rows = None;
    if let Some(number) = parts.peek().and_then(|part| part.strip_prefix('@')) {
        let number = number.parse::<u32>().ok()?;
        rows = Some(RowsId(number)).filter(|_| (number as usize) < program.row_spaces().len());
        rows?;
        parts.next();
    }
    let dims =
        parts.take(Type::MAX_RANK + 1).map(|part| parse_dim(program, part)).collect::<Option<Vec<Dim>>>()?;
    Some(Type { dtype, rows, dims })
}

/// Reads the exact text of a dimension.
pub(in crate::convert) fn parse_dim(program: &Program, text: &str) -> Option<Dim> {
    if text.len() > MAX_DIM_TEXT {
        return None;
    }
    let mut parser = DimParser { symbols: program.symbols().len(), rest: text, divisions: 0 };
    let dim = parser.sum()?;
    parser.rest.is_empty().then_some(dim)
}

/// Reads what [`Dim::display`] writes: `sum = ["-"] term {(" + " | " - ") term}`, `term = factor {" * " factor}`,
/// `factor = number | "#" number | "((" sum ") / (" sum "))"`.
struct DimParser<'a> {
    /// The number of symbols.
    symbols: usize,
    rest: &'a str,
    divisions: usize,
}

impl DimParser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<Dim> {
        let mut negative = self.eat("-");
        let mut total = Dim::from(0);
        loop {
            let term = self.term(negative)?;
            total = (&total + &term).ok()?;
            match (self.eat(" + "), self.eat(" - ")) {
                (true, _) => negative = false,
                (_, true) => negative = true,
                (false, false) => return Some(total),
            }
        }
    }

    /// The sign goes into the first factor: the smallest number has no positive counterpart.
    fn term(&mut self, negative: bool) -> Option<Dim> {
        let sign = Dim::from(if negative { -1 } else { 1 });
        let mut product = match self.number() {
            Some(size) => Dim::from(i64::try_from(if negative { -size } else { size }).ok()?),
            None => (&sign * &self.factor()?).ok()?,
        };
        while self.eat(" * ") {
            product = (&product * &self.factor()?).ok()?;
        }
        Some(product)
    }

    fn number(&mut self) -> Option<i128> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = digits.parse().ok()?;
        self.rest = rest;
        Some(number)
    }

    fn factor(&mut self) -> Option<Dim> {
        if self.eat("#") {
            let number = u32::try_from(self.number()?).ok().filter(|&n| (n as usize) < self.symbols)?;
            return Some(Dim::symbol(SymbolId(number)));
        }
        self.divisions += 1;
        if !self.eat("((") || self.divisions > MAX_DIVISIONS {
            return None;
        }
        let numerator = self.sum()?;
        let denominator = self.eat(") / (").then(|| self.sum())??;
        self.eat("))").then_some(())?;
        numerator.floor_div(&denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{condition_text, type_text};
    use super::*;

    fn program() -> Program {
        let mut program = Program::new();
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        declare(
            &mut program,
            Tables {
                symbols: &names(&["_", "T", "N"]),
                outside: &[2],
                rows: &names(&["_"]),
                sizes: &[0],
                parents: &[-1],
                ..Tables::default()
            },
        )
        .unwrap();
        program
    }

    #[test]
    fn tables_keep_their_numbers() {
        let mut program = Program::new();
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let (symbols, rows) = (names(&["T", "_", "_.1", "N"]), names(&["_", "_.1"]));
        declare(
            &mut program,
            Tables {
                symbols: &symbols,
                outside: &[3],
                rows: &rows,
                sizes: &[1, 2],
                parents: &[-1, 0],
                ..Tables::default()
            },
        )
        .unwrap();
        assert_eq!(program.symbols().iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), symbols);
        assert_eq!(program.outside_symbols().collect::<Vec<_>>(), [SymbolId(3)]);
        assert_eq!(program.row_space(RowsId(1)).parent, Some(RowsId(0)));
        for (sizes, parents) in
            [(&[1, 4], &[-1, 0]), (&[2, 1], &[-1, 0]), (&[1, 1], &[-1, 0]), (&[1, 2], &[-1, 1])]
        {
            assert_eq!(
                declare(
                    &mut Program::new(),
                    Tables { symbols: &symbols, rows: &rows, sizes, parents, ..Tables::default() }
                ),
                None,
                "{sizes:?}"
            );
        }
        let mut program = Program::new();
        declare(
            &mut program,
            Tables {
                symbols: &symbols,
                rows: &rows,
                sizes: &[1, 2],
                parents: &[-1, 0],
                tokens: &[1],
                ..Tables::default()
            },
        )
        .unwrap();
        assert_eq!(program.row_space(RowsId(1)).origin, RowOrigin::Tokens);
        assert_eq!(
            declare(
                &mut Program::new(),
                Tables {
                    symbols: &symbols,
                    rows: &rows,
                    sizes: &[1, 2],
                    parents: &[-1, 0],
                    tokens: &[0],
                    ..Tables::default()
                }
            ),
            None
        );
    }

    #[test]
    fn exact_types_survive() {
        let program = program();
        let (t, n) = (Dim::symbol(SymbolId(1)), Dim::symbol(SymbolId(2)));
        let polynomial = (&(&(&t * &t).unwrap() * &Dim::from(-3)).unwrap() + &n).unwrap();
        let half = (&polynomial + &Dim::from(7)).unwrap().floor_div(&Dim::from(2)).unwrap();
        let nested = (&half - &t).unwrap().floor_div(&n).unwrap();
        for dims in [
            vec![],
            vec![Dim::from(0), Dim::from(i64::MAX), Dim::from(i64::MIN)],
            vec![polynomial, half],
            vec![(&nested - &Dim::from(5)).unwrap()],
        ] {
            for rows in [None, Some(RowsId(0))] {
                let ty = Type { dtype: DType::F64, rows, dims: dims.clone() };
                assert_eq!(parse_type(&program, &type_text(&ty)), Some(ty.clone()), "{}", type_text(&ty));
            }
        }
    }

    #[test]
    fn conditions_survive() {
        let program = program();
        let (t, n) = (Dim::symbol(SymbolId(1)), Dim::symbol(SymbolId(2)));
        let half = (&n - &Dim::from(3)).unwrap().floor_div(&t).unwrap();
        for condition in [Condition::Equal(t, half.clone()), Condition::Positive(half)] {
            let text = condition_text(&condition);
            assert_eq!(parse_condition(&program, &text), Some(condition), "{text}");
        }
        for text in ["", "#1", "#1 = ", "#1 = #9", "#1 > 1", "#1 = #2 > 0"] {
            assert_eq!(parse_condition(&program, text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        let program = program();
        let deep = "((".repeat(1_000);
        for text in [
            "",
            "f32",
            "f32[",
            "f16[]",
            "f32[#9]",
            "f32[@1]",
            "f32[3, @0]",
            "f32[3 +]",
            "f32[- ]",
            "f32[99999999999999999999]",
        ] {
            assert_eq!(parse_type(&program, text), None, "{text}");
        }
        assert_eq!(parse_dim(&program, &deep), None);
        assert_eq!(parse_dim(&program, "((#1) / (0))"), None);
        assert_eq!(parse_dim(&program, "9223372036854775807 + 1"), None);
    }
}
