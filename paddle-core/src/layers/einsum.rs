//! `einsum`: sums of products, written with a letter for each dimension.

use super::Call;
use crate::ops::{Binary, BinaryKind, Matmul, MismatchKind, Reduce, ReduceKind, Reshape, Transpose};
use crate::program::{Answer, BuildError, Condition, DType, Dim, DimOverflow, VarId};

/// A dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Letter(char),
    /// One of the dimensions of `...`, counted from the last.
    Unnamed(usize),
}

/// A value, and the labels of its dimensions.
struct Term {
    var: VarId,
    labels: Vec<Label>,
}

/// The letters of a value as they are written: those before `...`, and those behind it, if there is one.
struct Letters<'e> {
    written: &'e str,
    before: Vec<char>,
    behind: Option<Vec<char>>,
}

pub(super) fn build(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let equation = call.text("equation")?;
    let equation: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
    let operands = call.values("x")?;
    let (inputs, result) = match equation.split_once("->") {
        Some((inputs, result)) => (inputs, Some(letters(call, result)?)),
        None => (&equation[..], None),
    };
    let inputs = inputs.split(',').map(|written| letters(call, written)).collect::<Result<Vec<_>, _>>()?;
    if inputs.len() != operands.len() {
        let count = |n: usize| if n == 1 { "1 value".to_string() } else { format!("{n} values") };
        let (of, given) = (count(inputs.len()), count(operands.len()));
        return Err(wrong(call, &format!("it has the letters of {of}, and {given} follow")));
    }
    let mut terms = Vec::with_capacity(operands.len());
    for (&var, letters) in operands.iter().zip(&inputs) {
        terms.push(Term { var, labels: labels(call, var, letters)? });
    }
    let result = match result {
        Some(letters) => named_result(call, &terms, &letters)?,
        None => implied_result(&terms),
    };
    check_types(call, &terms)?;
    check_rows(call, &terms, &result)?;
    check_sizes(call, &terms)?;
    let mut terms = terms.into_iter();
    let Some(mut term) = terms.next() else { return Err(BuildError::NoSuch { what: "value" }) };
    while let Some(next) = terms.next() {
        let later = terms.as_slice();
        let is_kept =
            |label: &Label| result.contains(label) || later.iter().any(|term| term.labels.contains(label));
        term = product(call, term, next, &is_kept)?;
    }
    let term = summed(call, term, &|label| result.contains(label))?;
    Ok(ordered(call, term, &result)?.var)
}

fn wrong(call: &Call<'_>, but: &str) -> BuildError {
    call.wrong("equation", MismatchKind::Attribute, but)
}

fn letters<'e>(call: &Call<'_>, written: &'e str) -> Result<Letters<'e>, BuildError> {
    let (before, behind) = match written.split_once("...") {
        Some((before, behind)) => (before, Some(behind)),
        None => (written, None),
    };
    let all = || before.chars().chain(behind.unwrap_or("").chars());
    if let Some(other) = all().find(|letter| !letter.is_ascii_alphabetic()) {
        let but = format!(
            "`{other}` is no letter; write letters, `,` between values, and `->` before the result: \"bij,bjk->bik\""
        );
        return Err(wrong(call, &but));
    }
    Ok(Letters {
        written,
        before: before.chars().collect(),
        behind: behind.map(|part| part.chars().collect()),
    })
}

/// The labels of a value's dimensions. That of the rows comes first.
fn labels(call: &Call<'_>, var: VarId, letters: &Letters<'_>) -> Result<Vec<Label>, BuildError> {
    let rank = call.ty(var).rank();
    let named = letters.before.len() + letters.behind.as_ref().map_or(0, Vec::len);
    let unnamed = rank.checked_sub(named).filter(|&unnamed| unnamed == 0 || letters.behind.is_some());
    let Some(unnamed) = unnamed else {
        let but = format!("`{}` names {named} dimensions, with that of the rows", letters.written);
        return Err(call.wrong_value(var, MismatchKind::Shape, &but));
    };
    let labels = letters.labels(unnamed);
    if let Some(label) = repeated(&labels) {
        let but = format!(
            "`{}` has {} twice, a diagonal; give each a letter, and sum over one of `select(i == j, x, 0.0)`, where `i` and `j` \
             are their places: `unsqueeze(arange(N), 1)` and `arange(N)`",
            letters.written,
            label.show()
        );
        return Err(wrong(call, &but));
    }
    Ok(labels)
}

impl Letters<'_> {
    fn labels(&self, unnamed: usize) -> Vec<Label> {
        let letters = |letters: &[char]| letters.iter().copied().map(Label::Letter).collect::<Vec<_>>();
        let unnamed = (0..unnamed).rev().map(Label::Unnamed);
        let behind = self.behind.as_deref().unwrap_or_default();
        letters(&self.before).into_iter().chain(unnamed).chain(letters(behind)).collect()
    }
}

impl Label {
    fn show(self) -> String {
        match self {
            Label::Letter(letter) => format!("`{letter}`"),
            Label::Unnamed(_) => "`...`".to_string(),
        }
    }
}

fn repeated(labels: &[Label]) -> Option<Label> {
    labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label)).map(|(_, label)| *label)
}

/// The number of dimensions for which `...` stands, at most.
fn unnamed(terms: &[Term]) -> usize {
    let is_unnamed = |label: &&Label| matches!(label, Label::Unnamed(_));
    terms.iter().map(|term| term.labels.iter().filter(is_unnamed).count()).max().unwrap_or(0)
}

fn named_result(call: &Call<'_>, terms: &[Term], letters: &Letters<'_>) -> Result<Vec<Label>, BuildError> {
    let unnamed = unnamed(terms);
    if unnamed > 0 && letters.behind.is_none() {
        return Err(wrong(
            call,
            &format!("its result `{}` has no `...` for what has no letter", letters.written),
        ));
    }
    let labels = letters.labels(unnamed);
    if let Some(label) = repeated(&labels) {
        return Err(wrong(call, &format!("its result has {} twice", label.show())));
    }
    let is_known = |label: &&Label| terms.iter().any(|term| term.labels.contains(label));
    match labels.iter().find(|label| !is_known(label)) {
        Some(label) => Err(wrong(call, &format!("no value has {}, which its result has", label.show()))),
        None => Ok(labels),
    }
}

/// The result that is implied without `->`, as in NumPy: the dimensions without letters, then the letters that occur
/// once, in alphabetical order.
fn implied_result(terms: &[Term]) -> Vec<Label> {
    let all = || terms.iter().flat_map(|term| &term.labels);
    let mut letters: Vec<char> = all()
        .filter(|label| all().filter(|other| other == label).count() == 1)
        .filter_map(|label| if let Label::Letter(letter) = label { Some(*letter) } else { None })
        .collect();
    letters.sort_unstable();
    let unnamed = (0..unnamed(terms)).rev().map(Label::Unnamed);
    unnamed.chain(letters.into_iter().map(Label::Letter)).collect()
}

fn check_types(call: &Call<'_>, terms: &[Term]) -> Result<(), BuildError> {
    let first = terms[0].var;
    for term in terms {
        let dtype = call.ty(term.var).dtype;
        if dtype == DType::Bool {
            return Err(call.wrong_value(term.var, MismatchKind::ElementType, "`einsum` needs numbers"));
        }
        if dtype != call.ty(first).dtype {
            let shown = call.program.show(call.ty(first));
            let but = format!("{} is {shown}: `einsum` needs one element type", call.words(first));
            return Err(call.wrong_value(term.var, MismatchKind::ElementType, &but));
        }
    }
    Ok(())
}

/// Checks the rows, which stay apart and come first. All values with rows have one letter for them, values without rows
/// do not have it, and the result begins with it.
fn check_rows(call: &Call<'_>, terms: &[Term], result: &[Label]) -> Result<(), BuildError> {
    let Some(first) = terms.iter().find(|term| call.ty(term.var).rows.is_some()) else { return Ok(()) };
    let rows = first.labels[0];
    let letter = rows.show();
    let words = call.words(first.var);
    for term in terms {
        let of = call.ty(term.var).rows;
        let but = if of.is_some() && of != call.ty(first.var).rows {
            let shown = call.program.show(call.ty(first.var));
            format!("{words} is {shown}: their rows do not belong together")
        } else if of.is_some() && term.labels[0] != rows {
            let other = term.labels[0].show();
            format!(
                "its rows are {other}, and those of {words} are {letter}; rows are not combined: give them one letter"
            )
        } else if of.is_none() && term.labels.contains(&rows) {
            format!("it has no rows, and {letter} are those of {words}")
        } else {
            continue;
        };
        return Err(call.wrong_value(term.var, MismatchKind::Rows, &but));
    }
    if result.first() == Some(&rows) {
        return Ok(());
    }
    let but =
        format!("{letter} are the rows of {words}, which stay apart: its result has to begin with {letter}");
    Err(call.wrong("equation", MismatchKind::Rows, &but))
}

/// Checks that each letter has one size. A size that is not known yet leads to a check at run time.
fn check_sizes(call: &mut Call<'_>, terms: &[Term]) -> Result<(), BuildError> {
    for (at, term) in terms.iter().enumerate() {
        for &label in &term.labels {
            let Some(before) = terms[..at].iter().find(|before| before.labels.contains(&label)) else {
                continue;
            };
            let (Some(size), Some(known)) = (term.size(call, label), before.size(call, label)) else {
                continue;
            };
            let is = format!(
                "{} is {} in {}",
                label.show(),
                call.program.show_dim(&known),
                call.words(before.var)
            );
            let error = call.wrong_value(term.var, MismatchKind::Shape, &is);
            let place = call.site.place;
            if call.program.test(Condition::Equal(known, size), place, || error.to_string()) == Answer::Fails
            {
                return Err(error);
            }
        }
    }
    Ok(())
}

impl Term {
    /// The size of a dimension; `None` for the rows.
    fn size(&self, call: &Call<'_>, label: Label) -> Option<Dim> {
        let ty = call.ty(self.var);
        let at = self.labels.iter().position(|known| *known == label)?;
        Some(ty.dims[at.checked_sub(usize::from(ty.rows.is_some()))?].clone())
    }

    fn sizes(&self, call: &Call<'_>, labels: &[Label]) -> Vec<Dim> {
        labels.iter().filter_map(|label| self.size(call, *label)).collect()
    }

    fn rows(&self, call: &Call<'_>) -> Option<Label> {
        call.ty(self.var).rows.map(|_| self.labels[0])
    }
}

/// Sums over the dimensions that are not kept.
fn summed(
    call: &mut Call<'_>,
    Term { var, labels }: Term,
    is_kept: &dyn Fn(&Label) -> bool,
) -> Result<Term, BuildError> {
    let axes: Vec<i64> =
        (0..).zip(&labels).filter(|(_, label)| !is_kept(label)).map(|(axis, _)| axis).collect();
    if axes.is_empty() {
        return Ok(Term { var, labels });
    }
    let sum = call.emit_one(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[var])?;
    Ok(Term { var: sum, labels: labels.into_iter().filter(is_kept).collect() })
}

/// Reorders the dimensions.
fn ordered(call: &mut Call<'_>, Term { var, labels }: Term, order: &[Label]) -> Result<Term, BuildError> {
    if labels == order {
        return Ok(Term { var, labels });
    }
    let perm = order.iter().filter_map(|label| labels.iter().position(|known| known == label));
    let perm = perm.map(|axis| axis as i64).collect();
    Ok(Term { var: call.emit_one(Transpose { perm }, &[var])?, labels: order.to_vec() })
}

fn shaped(call: &mut Call<'_>, var: VarId, dims: Vec<Dim>) -> Result<VarId, BuildError> {
    if call.ty(var).dims == dims {
        return Ok(var);
    }
    call.emit_one(Reshape { dims }, &[var])
}

fn size_of_all(dims: &[Dim]) -> Result<Dim, BuildError> {
    let product = dims.iter().try_fold(Dim::from(1), |product, dim| &product * dim);
    product.map_err(|error: DimOverflow| BuildError::Mismatch(error.into()))
}

/// Multiplies two values, and sums over the dimensions that are not kept.
fn product(
    call: &mut Call<'_>,
    x: Term,
    y: Term,
    is_kept: &dyn Fn(&Label) -> bool,
) -> Result<Term, BuildError> {
    let x = summed(call, x, &|label| y.labels.contains(label) || is_kept(label))?;
    let y = summed(call, y, &|label| x.labels.contains(label) || is_kept(label))?;
    // Rows come first in the result of a product, so the first factor has to have them.
    let (x, y) = if x.rows(call).is_none() && y.rows(call).is_some() { (y, x) } else { (x, y) };
    let is_shared = |label: &&Label| y.labels.contains(label);
    let of = |term: &Term, is_wanted: &dyn Fn(&&Label) -> bool| -> Vec<Label> {
        term.labels.iter().filter(is_wanted).copied().collect()
    };
    let summed_over = of(&x, &|label| is_shared(label) && !is_kept(label));
    let of_both = of(&x, &|label| is_shared(label) && is_kept(label));
    let of_x = of(&x, &|label| !is_shared(label));
    let of_y = of(&y, &|label| !x.labels.contains(label));
    let is_sum_of_matrices = !summed_over.is_empty() && call.ty(x.var).dtype.is_float();
    if is_sum_of_matrices && !(of_x.is_empty() && of_y.is_empty()) {
        return of_matrices(call, [x, y], &summed_over, &of_both, [&of_x, &of_y]);
    }
    // The product is element by element: a dimension that one factor lacks has size 1 in it.
    let ones = |labels: &[Label]| vec![Dim::from(1); labels.len()];
    let y_order: Vec<Label> = x.labels.iter().filter(is_shared).chain(&of_y).copied().collect();
    let wide_x = [call.ty(x.var).dims.clone(), ones(&of_y)].concat();
    let y = ordered(call, y, &y_order)?;
    let rows = x.rows(call);
    let inner = x.labels.iter().filter(|label| Some(**label) != rows);
    let wide_y = inner.map(|label| y.size(call, *label).unwrap_or(Dim::from(1)));
    let wide_y = wide_y.chain(y.sizes(call, &of_y)).collect();
    let (wide_x, wide_y) = (shaped(call, x.var, wide_x)?, shaped(call, y.var, wide_y)?);
    let var = call.emit_one(Binary { kind: BinaryKind::Mul }, &[wide_x, wide_y])?;
    summed(call, Term { var, labels: [x.labels, of_y].concat() }, is_kept)
}

/// The product as one of matrices, `[.., of x, summed] · [.., summed, of y]`, with the dimensions that both keep in
/// front.
fn of_matrices(
    call: &mut Call<'_>,
    [x, y]: [Term; 2],
    summed_over: &[Label],
    of_both: &[Label],
    [of_x, of_y]: [&[Label]; 2],
) -> Result<Term, BuildError> {
    let rows = x.rows(call).into_iter().collect::<Vec<_>>();
    let without_rows =
        |labels: &[Label]| labels.iter().copied().filter(|label| !rows.contains(label)).collect();
    let (counted, down): (Vec<Label>, Vec<Label>) = (without_rows(of_both), without_rows(of_x));
    let y_rows = y.rows(call).into_iter().collect::<Vec<_>>();
    let x = ordered(call, x, &[&rows[..], &counted, &down, summed_over].concat())?;
    let y = ordered(call, y, &[&y_rows[..], &counted, summed_over, of_y].concat())?;
    // Rows that only the first factor has can be those of its matrix.
    let is_one_matrix = !rows.is_empty() && y_rows.is_empty() && counted.is_empty() && down.is_empty();
    let sizes = |call: &Call<'_>, term: &Term, parts: [&[Label]; 2]| {
        let counted = term.sizes(call, &counted);
        let flat = parts.map(|labels| size_of_all(&term.sizes(call, labels)));
        let [down, across] = flat;
        Ok::<_, BuildError>([counted, vec![down?, across?]].concat())
    };
    let mut wide_x = sizes(call, &x, [&down, summed_over])?;
    if is_one_matrix {
        wide_x.remove(0);
    }
    let wide_y = sizes(call, &y, [summed_over, of_y])?;
    let (matrices_x, matrices_y) = (shaped(call, x.var, wide_x)?, shaped(call, y.var, wide_y)?);
    let var = call.emit_one(Matmul::PLAIN, &[matrices_x, matrices_y])?;
    let kept = call.ty(var).dims[..counted.len()].to_vec();
    let dims = [kept, x.sizes(call, &down), y.sizes(call, of_y)].concat();
    let var = shaped(call, var, dims)?;
    Ok(Term { var, labels: [&rows[..], &counted, &down, of_y].concat() })
}
