//! Symbolic sizes: integer polynomials over size symbols and floor divisions. Their normal form makes equal sizes equal
//! values.

use std::fmt;

/// A size symbol of a program: a named dimension (`T`), the number of rows of a row space, or a size bound from
/// outside. An index into [`Program::symbols`](super::Program::symbols).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// A factor of a monomial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Atom {
    Symbol(SymbolId),
    /// `⌊numerator / denominator⌋` of two sizes that do not divide symbolically.
    FloorDiv(Box<Dim>, Box<Dim>),
}

/// The most atoms that a size may have. Without the limit, a short program could multiply and divide sizes until one
/// takes all memory.
const MOST_ATOMS: usize = 1 << 12;

/// A product of atoms with powers, sorted by atom; empty for the constant term.
type Monomial = Vec<(Atom, u32)>;

/// A dimension: a polynomial with integer coefficients, in normal form.
///
/// ```
/// use paddle_core::program::{Dim, SymbolId};
/// let t = Dim::symbol(SymbolId(0));
/// let two = Dim::from(2);
/// assert_eq!(&(&t + &t)?, &(&two * &t)?);
/// assert_eq!((&t * &two)?.evaluate(&|_| Some(21)), Some(42));
/// # Ok::<(), paddle_core::program::DimOverflow>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dim {
    /// Terms sorted by monomial, without zero coefficients; empty for 0.
    terms: Vec<(Monomial, i64)>,
}

/// The answer to a condition on sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The condition holds for all values of the symbols.
    Holds,
    /// The condition fails for all values of the symbols.
    Fails,
    /// The answer depends on the values of symbols.
    Depends,
}

/// The arithmetic in which [`Dim::compute`] evaluates a dimension: on numbers, on dimensions, or as source of another
/// language.
///
/// Each operation gives `None` if the result does not exist.
pub trait Arithmetic {
    /// The type of a size.
    type Size;
    /// A number.
    fn number(&self, value: i64) -> Option<Self::Size>;
    /// The value of a symbol.
    fn symbol(&self, symbol: SymbolId) -> Option<Self::Size>;
    /// `a + b`.
    fn add(&self, a: Self::Size, b: Self::Size) -> Option<Self::Size>;
    /// `a · b`.
    fn multiply(&self, a: Self::Size, b: Self::Size) -> Option<Self::Size>;
    /// `⌊a / b⌋`.
    fn floor_div(&self, a: Self::Size, b: Self::Size) -> Option<Self::Size>;
}

/// Arithmetic on sizes overflowed 64-bit integers, or gave a size with too many atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimOverflow;

impl fmt::Display for DimOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size overflows 64-bit integers")
    }
}

impl std::error::Error for DimOverflow {}

impl From<i64> for Dim {
    fn from(value: i64) -> Self {
        Dim { terms: if value == 0 { Vec::new() } else { vec![(Vec::new(), value)] } }
    }
}

impl Dim {
    /// The size that `symbol` stands for.
    pub fn symbol(symbol: SymbolId) -> Self {
        Dim { terms: vec![(vec![(Atom::Symbol(symbol), 1)], 1)] }
    }

    /// The value, if the size has no symbols.
    pub fn constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(monomial, value)] if monomial.is_empty() => Some(*value),
            _ => None,
        }
    }

    /// The symbol, if the size is a single symbol.
    pub fn as_symbol(&self) -> Option<SymbolId> {
        match self.terms.as_slice() {
            [(monomial, 1)] => match monomial.as_slice() {
                [(Atom::Symbol(symbol), 1)] => Some(*symbol),
                _ => None,
            },
            _ => None,
        }
    }

    /// `⌊self / divisor⌋`, divided term by term if each has the divisor as a factor: `8 T N` by `8 T` is `N`. `None` if the
    /// divisor is a constant ≤ 0.
    pub fn floor_div(&self, divisor: &Dim) -> Option<Dim> {
        if let Some(d) = divisor.constant() {
            if d <= 0 {
                return None;
            }
            if let Some(n) = self.constant() {
                return Some(Dim::from(n.div_euclid(d)));
            }
            if self.terms.iter().all(|(_, c)| c % d == 0) {
                let terms = self.terms.iter().map(|(m, c)| (m.clone(), c / d)).collect();
                return Some(Dim { terms });
            }
        }
        if self == divisor {
            return Some(Dim::from(1));
        }
        if let [(monomial, coefficient)] = &divisor.terms[..]
            && let Some(quotient) = self.without_factor(monomial, *coefficient)
        {
            return Some(quotient);
        }
        let atom = Atom::FloorDiv(Box::new(self.clone()), Box::new(divisor.clone()));
        Some(Dim { terms: vec![(vec![(atom, 1)], 1)] })
    }

    /// The size whose product with a monomial this is; `None` if a term does not have it as a factor.
    fn without_factor(&self, monomial: &[(Atom, u32)], coefficient: i64) -> Option<Dim> {
        let divide = |(of, number): &(Monomial, i64)| {
            let mut left = of.clone();
            for (atom, power) in monomial {
                let factor = left.iter_mut().find(|(other, _)| other == atom)?;
                factor.1 = factor.1.checked_sub(*power)?;
            }
            left.retain(|(_, power)| *power > 0);
            (coefficient > 0 && number % coefficient == 0).then(|| (left, number / coefficient))
        };
        let mut terms = self.terms.iter().map(divide).collect::<Option<Vec<_>>>()?;
        terms.sort();
        Some(Dim { terms })
    }

    /// Evaluates the dimension in `arithmetic`.
    pub fn compute<A: Arithmetic>(&self, arithmetic: &A) -> Option<A::Size> {
        let mut total: Option<A::Size> = None;
        for (monomial, coefficient) in &self.terms {
            // The coefficient 1 is left out, except for the constant term.
            let mut product = match (monomial.is_empty(), *coefficient) {
                (false, 1) => None,
                (_, coefficient) => Some(arithmetic.number(coefficient)?),
            };
            for (atom, power) in monomial {
                for _ in 0..*power {
                    let factor = match atom {
                        Atom::Symbol(symbol) => arithmetic.symbol(*symbol)?,
                        Atom::FloorDiv(n, d) => {
                            arithmetic.floor_div(n.compute(arithmetic)?, d.compute(arithmetic)?)?
                        }
                    };
                    product = Some(match product {
                        Some(product) => arithmetic.multiply(product, factor)?,
                        None => factor,
                    });
                }
            }
            let term = product?;
            total = Some(match total {
                Some(total) => arithmetic.add(total, term)?,
                None => term,
            });
        }
        total.or_else(|| arithmetic.number(0))
    }

    /// The value if `sizes` binds every symbol. `None` if a symbol is unbound, a divisor is not positive or the value
    /// overflows.
    pub fn evaluate(&self, sizes: &dyn Fn(SymbolId) -> Option<i64>) -> Option<i64> {
        self.compute(&Values(sizes))
    }

    /// The same polynomial with each symbol replaced.
    pub fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Dim, DimOverflow> {
        self.compute(&Substitution(with)).ok_or(DimOverflow)
    }

    /// Whether the two sizes are equal.
    pub fn equals(&self, other: &Dim) -> Answer {
        if self == other {
            return Answer::Holds;
        }
        let Ok(difference) = self - other else { return Answer::Depends };
        let (constant, others) = difference.split();
        // The sum of the other terms is a multiple of the step.
        let step = others.iter().fold(0, |step, (_, coefficient)| gcd(step, coefficient.unsigned_abs()));
        let reaches = match step {
            0 => constant == 0,
            step => constant.unsigned_abs() % step == 0,
        };
        let above = Dim::differs(constant, others, 1);
        let below = Dim::differs(constant, others, -1);
        if reaches && !above && !below { Answer::Depends } else { Answer::Fails }
    }

    /// Solves `self == other` for a symbol, if one symbol is all that the two sizes contain.
    pub fn solve(&self, other: &Dim) -> Option<(SymbolId, i64)> {
        let difference = (self - other).ok()?;
        let (constant, others) = difference.split();
        let [(monomial, factor)] = others else { return None };
        let [(Atom::Symbol(symbol), 1)] = &monomial[..] else { return None };
        (constant % factor == 0).then(|| (*symbol, -constant / factor))
    }

    /// Whether the size is greater than 0. Symbols are never negative.
    pub fn is_positive(&self) -> Answer {
        let (constant, others) = self.split();
        if constant > 0 && others.iter().all(|term| Dim::is_counted(term, 1)) {
            Answer::Holds
        } else if constant <= 0 && others.iter().all(|term| Dim::is_counted(term, -1)) {
            Answer::Fails
        } else {
            Answer::Depends
        }
    }

    /// The greatest common divisor of the coefficients, which divides the size for all values of the symbols.
    pub fn content(&self) -> u64 {
        self.terms.iter().fold(0, |divisor, (_, coefficient)| gcd(divisor, coefficient.unsigned_abs()))
    }

    /// The constant term and the other terms.
    fn split(&self) -> (i64, &[(Monomial, i64)]) {
        match self.terms.split_first() {
            Some(((monomial, constant), others)) if monomial.is_empty() => (*constant, others),
            _ => (0, &self.terms),
        }
    }

    /// Whether a difference has this sign for all values of the symbols, except where a dimension is 0. A tensor with
    /// such a dimension has no elements, so the exception does not matter.
    fn differs(constant: i64, others: &[(Monomial, i64)], sign: i64) -> bool {
        let is_dimension = |(monomial, _): &(Monomial, i64)| {
            monomial.iter().all(|(atom, _)| matches!(atom, Atom::Symbol(_)))
        };
        let is_some = constant.signum() == sign || constant == 0 && others.iter().any(is_dimension);
        is_some && others.iter().all(|term| Dim::is_counted(term, sign))
    }

    /// Whether a term is never on the other side of 0: its coefficient has this sign, and its atoms are symbols or
    /// quotients of such terms.
    fn is_counted((monomial, coefficient): &(Monomial, i64), sign: i64) -> bool {
        let is_count = |atom: &Atom| match atom {
            Atom::Symbol(_) => true,
            Atom::FloorDiv(n, _) => n.terms.iter().all(|term| Dim::is_counted(term, 1)),
        };
        coefficient.signum() == sign && monomial.iter().all(|(atom, _)| is_count(atom))
    }

    /// The symbols of the size, without duplicates, in order.
    pub fn symbols(&self) -> Vec<SymbolId> {
        let mut found = Vec::new();
        self.collect_symbols(&mut found);
        found.sort();
        found.dedup();
        found
    }

    fn collect_symbols(&self, found: &mut Vec<SymbolId>) {
        for (atom, _) in self.terms.iter().flat_map(|(m, _)| m) {
            match atom {
                Atom::Symbol(symbol) => found.push(*symbol),
                Atom::FloorDiv(n, d) => {
                    n.collect_symbols(found);
                    d.collect_symbols(found);
                }
            }
        }
    }

    /// Prints with the symbols' names.
    pub fn display<'a>(&'a self, names: &'a dyn Fn(SymbolId) -> String) -> impl fmt::Display + 'a {
        DisplayDim { dim: self, names }
    }

    fn from_terms(mut terms: Vec<(Monomial, i64)>) -> Result<Dim, DimOverflow> {
        terms.sort();
        let mut merged: Vec<(Monomial, i64)> = Vec::with_capacity(terms.len());
        for (monomial, coefficient) in terms {
            match merged.last_mut() {
                Some((last, sum)) if *last == monomial => {
                    *sum = sum.checked_add(coefficient).ok_or(DimOverflow)?;
                }
                _ => merged.push((monomial, coefficient)),
            }
        }
        merged.retain(|(_, coefficient)| *coefficient != 0);
        let dim = Dim { terms: merged };
        if dim.atoms() > MOST_ATOMS { Err(DimOverflow) } else { Ok(dim) }
    }

    /// The number of atoms, each counted as often as its power.
    fn atoms(&self) -> usize {
        let of_factor = |(atom, power): &(Atom, u32)| {
            let atoms = match atom {
                Atom::Symbol(_) => 1,
                Atom::FloorDiv(n, d) => 1 + n.atoms() + d.atoms(),
            };
            atoms.saturating_mul(*power as usize)
        };
        let of_term =
            |(monomial, _): &(Monomial, i64)| monomial.iter().map(of_factor).fold(1, usize::saturating_add);
        self.terms.iter().map(of_term).fold(0, usize::saturating_add)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Arithmetic that replaces symbols by numbers.
struct Values<'a>(&'a dyn Fn(SymbolId) -> Option<i64>);

impl Arithmetic for Values<'_> {
    type Size = i64;

    fn number(&self, value: i64) -> Option<i64> {
        Some(value)
    }

    fn symbol(&self, symbol: SymbolId) -> Option<i64> {
        (self.0)(symbol)
    }

    fn add(&self, a: i64, b: i64) -> Option<i64> {
        a.checked_add(b)
    }

    fn multiply(&self, a: i64, b: i64) -> Option<i64> {
        a.checked_mul(b)
    }

    fn floor_div(&self, a: i64, b: i64) -> Option<i64> {
        (b > 0).then(|| a.div_euclid(b))
    }
}

/// Arithmetic that replaces symbols by sizes.
struct Substitution<'a>(&'a dyn Fn(SymbolId) -> Dim);

impl Arithmetic for Substitution<'_> {
    type Size = Dim;

    fn number(&self, value: i64) -> Option<Dim> {
        Some(Dim::from(value))
    }

    fn symbol(&self, symbol: SymbolId) -> Option<Dim> {
        Some((self.0)(symbol))
    }

    fn add(&self, a: Dim, b: Dim) -> Option<Dim> {
        (&a + &b).ok()
    }

    fn multiply(&self, a: Dim, b: Dim) -> Option<Dim> {
        (&a * &b).ok()
    }

    fn floor_div(&self, a: Dim, b: Dim) -> Option<Dim> {
        a.floor_div(&b)
    }
}

impl std::ops::Add for &Dim {
    type Output = Result<Dim, DimOverflow>;

    fn add(self, other: &Dim) -> Self::Output {
        Dim::from_terms(self.terms.iter().chain(&other.terms).cloned().collect())
    }
}

impl std::ops::Sub for &Dim {
    type Output = Result<Dim, DimOverflow>;

    fn sub(self, other: &Dim) -> Self::Output {
        self + &(other * &Dim::from(-1))?
    }
}

impl std::ops::Mul for &Dim {
    type Output = Result<Dim, DimOverflow>;

    fn mul(self, other: &Dim) -> Self::Output {
        let count = self.terms.len().saturating_mul(other.terms.len());
        if count > MOST_ATOMS {
            return Err(DimOverflow);
        }
        let mut terms = Vec::with_capacity(count);
        for (m1, c1) in &self.terms {
            for (m2, c2) in &other.terms {
                let mut monomial = m1.clone();
                for (atom, power) in m2 {
                    match monomial.iter_mut().find(|(a, _)| a == atom) {
                        Some((_, p)) => *p = p.checked_add(*power).ok_or(DimOverflow)?,
                        None => monomial.push((atom.clone(), *power)),
                    }
                }
                monomial.sort();
                terms.push((monomial, c1.checked_mul(*c2).ok_or(DimOverflow)?));
            }
        }
        Dim::from_terms(terms)
    }
}

struct DisplayDim<'a> {
    dim: &'a Dim,
    names: &'a dyn Fn(SymbolId) -> String,
}

impl fmt::Display for DisplayDim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dim.terms.is_empty() {
            return f.write_str("0");
        }
        let product = |monomial: &Monomial| {
            let factor = |(atom, power): &(Atom, u32)| {
                let factor = match atom {
                    Atom::Symbol(symbol) => (self.names)(*symbol),
                    Atom::FloorDiv(n, d) => {
                        format!("(({}) / ({}))", n.display(self.names), d.display(self.names))
                    }
                };
                vec![factor; *power as usize]
            };
            let mut factors: Vec<String> = monomial.iter().flat_map(factor).collect();
            factors.sort();
            factors
        };
        let mut terms: Vec<_> = self.dim.terms.iter().map(|(m, c)| (product(m), *c)).collect();
        // By degree, then by name. This order does not depend on the ids of symbols.
        terms.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        for (i, (factors, coefficient)) in terms.iter().enumerate() {
            let size = coefficient.unsigned_abs();
            f.write_str(match (i, *coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            if factors.is_empty() || size != 1 {
                write!(f, "{size}{}", if factors.is_empty() { "" } else { " * " })?;
            }
            f.write_str(&factors.join(" * "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t() -> Dim {
        Dim::symbol(SymbolId(0))
    }

    fn n() -> Dim {
        Dim::symbol(SymbolId(1))
    }

    fn text(dim: &Dim) -> String {
        dim.display(&|s| ["T", "N"][s.0 as usize].to_string()).to_string()
    }

    #[test]
    fn normal_form_decides_equality() {
        let left = (&(&t() + &n()).unwrap() * &(&t() - &n()).unwrap()).unwrap();
        let right = (&(&t() * &t()).unwrap() - &(&n() * &n()).unwrap()).unwrap();
        assert_eq!(left, right);
        assert_ne!(left, t());
        assert_eq!((&t() - &t()).unwrap(), Dim::from(0));
    }

    #[test]
    fn sizes_that_would_take_all_memory_overflow() {
        let one = Dim::from(1);
        type Longer = fn(&Dim, &Dim) -> Result<Dim, DimOverflow>;
        let ways: [Longer; 3] = [
            |size, _| size * size,
            |size, one| &(size + one)? * &(size + one)?,
            |size, one| size.floor_div(&(size + one)?).ok_or(DimOverflow),
        ];
        for longer in ways {
            let mut size = t();
            let made = (0..64).try_for_each(|_| longer(&size, &one).map(|made| size = made));
            assert_eq!(made, Err(DimOverflow));
            assert!(text(&size).len() < 1 << 20);
        }
        let mut halves = t();
        for _ in 0..100 {
            halves = (&halves + &one).unwrap().floor_div(&Dim::from(2)).unwrap();
        }
        assert_eq!(halves.evaluate(&|_| Some(1 << 40)), Some(1));
    }

    #[test]
    fn division() {
        let twice = (&t() * &Dim::from(2)).unwrap();
        assert_eq!(twice.floor_div(&Dim::from(2)), Some(t()));
        assert_eq!(t().floor_div(&Dim::from(0)), None);
        let half = t().floor_div(&Dim::from(2)).unwrap();
        assert_eq!(half.evaluate(&|_| Some(7)), Some(3));
        assert_eq!(text(&half), "((T) / (2))");
        assert_eq!(half.symbols(), vec![SymbolId(0)]);
    }

    fn dim(terms: &[(i64, Dim)]) -> Dim {
        let term = |sum: Dim, (k, dim): &(i64, Dim)| (&sum + &(&Dim::from(*k) * dim).unwrap()).unwrap();
        terms.iter().fold(Dim::from(0), term)
    }

    #[test]
    fn tests_have_three_answers() {
        use Answer::{Depends, Fails, Holds};
        let (one, half) = (Dim::from(1), t().floor_div(&Dim::from(2)).unwrap());
        for (left, right, answer) in [
            (t(), t(), Holds),
            (t(), n(), Depends),
            (t(), Dim::from(3), Depends),
            (Dim::from(4), Dim::from(3), Fails),
            // `T + 1` is never `T`.
            (dim(&[(1, t()), (1, one.clone())]), t(), Fails),
            // An even number is never odd.
            (dim(&[(2, t())]), dim(&[(4, n()), (1, one.clone())]), Fails),
            (dim(&[(2, t())]), dim(&[(4, n()), (6, one.clone())]), Depends),
            // A sum of counts and 1 is above 0.
            (dim(&[(1, t()), (2, half.clone()), (3, one.clone())]), Dim::from(0), Fails),
            (dim(&[(1, t()), (-3, one.clone())]), Dim::from(0), Depends),
            // `64 T` and `63 T` are equal only if `T` is 0.
            (dim(&[(64, t())]), dim(&[(63, t())]), Fails),
            (dim(&[(2, t()), (1, half.clone())]), t(), Fails),
            (dim(&[(1, half.clone())]), Dim::from(0), Depends),
        ] {
            assert_eq!(left.equals(&right), answer, "{} = {}", text(&left), text(&right));
            assert_eq!(right.equals(&left), answer, "{} = {}", text(&right), text(&left));
        }
        let twice = dim(&[(2, t()), (1, one.clone())]);
        assert_eq!(twice.solve(&Dim::from(9)), Some((SymbolId(0), 4)));
        assert_eq!(Dim::from(9).solve(&twice), Some((SymbolId(0), 4)));
        assert_eq!((twice.solve(&Dim::from(8)), t().solve(&n()), half.solve(&one)), (None, None, None));
        for (size, answer) in [
            (t(), Depends),
            (dim(&[(1, t()), (1, one.clone())]), Holds),
            (dim(&[(1, half), (1, one.clone())]), Holds),
            (dim(&[(-1, t())]), Fails),
            (dim(&[(-1, t()), (1, one)]), Depends),
            (Dim::from(0), Fails),
        ] {
            assert_eq!(size.is_positive(), answer, "{}", text(&size));
        }
    }

    #[test]
    fn substitution_keeps_the_value() {
        let size = dim(&[(3, (&t() * &t()).unwrap()), (-1, t().floor_div(&n()).unwrap()), (5, Dim::from(1))]);
        let with =
            |symbol: SymbolId| [dim(&[(2, n()), (1, Dim::from(1))]), Dim::from(4)][symbol.0 as usize].clone();
        let values = |symbol: SymbolId| Some([7, 3][symbol.0 as usize]);
        let replaced = |symbol: SymbolId| with(symbol).evaluate(&values);
        assert_eq!(size.substitute(&with).unwrap().evaluate(&values), size.evaluate(&replaced));
        assert_eq!(Dim::from(0).evaluate(&values), Some(0));
    }

    #[test]
    fn overflow_is_an_error() {
        let big = Dim::from(i64::MAX);
        assert_eq!(&big + &Dim::from(1), Err(DimOverflow));
        assert_eq!(&big * &Dim::from(2), Err(DimOverflow));
        assert_eq!((&t() * &t()).unwrap().evaluate(&|_| Some(i64::MAX)), None);
    }

    #[test]
    fn prints_as_people_write() {
        let dim = (&(&(&t() * &Dim::from(2)).unwrap() + &Dim::from(1)).unwrap() - &n()).unwrap();
        assert_eq!(text(&dim), "-N + 2 * T + 1");
    }
}
