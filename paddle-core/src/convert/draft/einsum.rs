//! `einsum`: sums of products, written with a letter for each dimension.

use super::{At, Tried};
use crate::convert::error::Fault;
use crate::convert::types::{is_small_product, product};
use crate::ops::{Binary, BinaryKind, Matmul, Reduce, ReduceKind, Reshape, Transpose};
use crate::program::{Dim, VarId};

/// A value, and the letter of each of its dimensions.
struct Term {
    var: VarId,
    letters: Vec<char>,
}

impl At<'_> {
    /// All dimensions have letters, the batch too. What is left of the letters that only one value has is summed first; values
    /// are then multiplied as matrices, one after another.
    pub(in crate::convert) fn einsum(&mut self, equation: &str, operands: &[VarId]) -> Tried {
        if operands.iter().any(|&operand| self.ty(operand).rows.is_some()) {
            return Ok(Err("its values have rows of sequences or branches"));
        }
        let equation = equation.replace(' ', "");
        // Without a result, it has the letters that occur once, in the order of the alphabet.
        let (inputs, result) = match equation.split_once("->") {
            Some((inputs, result)) => (inputs, result.to_string()),
            None => {
                let letters = || equation.chars().filter(|letter| letter.is_ascii_alphabetic());
                let once = letters().filter(|letter| letters().filter(|other| other == letter).count() == 1);
                let once: std::collections::BTreeSet<char> = once.collect();
                (&equation[..], once.into_iter().collect())
            }
        };
        let inputs: Vec<Vec<char>> = inputs.split(',').map(|input| input.chars().collect()).collect();
        let result: Vec<char> = result.chars().collect();
        let fits = |(letters, &var): (&Vec<char>, &VarId)| {
            is_plain(letters) && letters.len() == self.ty(var).rank() && self.ty(var).dtype.is_float()
        };
        let known = |letter: &char| inputs.iter().any(|input| input.contains(letter));
        if inputs.len() != operands.len()
            || !inputs.iter().zip(operands).all(fits)
            || !is_plain(&result)
            || !result.iter().all(known)
        {
            return Ok(Err("its equation has `...`, a letter twice, or other dimensions than its values"));
        }
        let mut left: Vec<Term> =
            inputs.into_iter().zip(operands).map(|(letters, &var)| Term { var, letters }).collect();
        left.reverse();
        let Some(mut term) = left.pop() else { return Ok(Err("it has no values")) };
        while let Some(next) = left.pop() {
            let kept = |letter: &char| {
                result.contains(letter) || left.iter().any(|later| later.letters.contains(letter))
            };
            let (a, b) = (term.letters.clone(), next.letters.clone());
            let first = self.summed(term, |letter| kept(letter) || b.contains(letter))?;
            let second = self.summed(next, |letter| kept(letter) || a.contains(letter))?;
            let Some(both) = self.multiplied(first, second, kept)? else {
                return Ok(Err("sizes of its values are too long"));
            };
            term = both;
        }
        let term = self.summed(term, |letter| result.contains(letter))?;
        Ok(Ok(self.in_order(&term, &result)?))
    }

    /// The sum over the letters that are not kept.
    fn summed(&mut self, term: Term, kept: impl Fn(&char) -> bool) -> Result<Term, Fault> {
        let axes: Vec<i64> =
            (0..).zip(&term.letters).filter(|(_, letter)| !kept(letter)).map(|(axis, _)| axis).collect();
        if axes.is_empty() {
            return Ok(term);
        }
        let letters = term.letters.iter().copied().filter(|letter| kept(letter)).collect();
        let sum = Reduce { kind: ReduceKind::Sum, axes, keep_dim: false };
        Ok(Term { var: self.emit(sum, &[term.var])?, letters })
    }

    /// The product of two values: letters of both that are kept stay apart, the others of both are summed over.
    fn multiplied(&mut self, a: Term, b: Term, kept: impl Fn(&char) -> bool) -> Result<Option<Term>, Fault> {
        let of = |term: &Term, wanted: &dyn Fn(&char) -> bool| -> Vec<char> {
            term.letters.iter().copied().filter(|letter| wanted(letter)).collect()
        };
        let (in_a, in_b) = (|l: &char| a.letters.contains(l), |l: &char| b.letters.contains(l));
        let apart = of(&a, &|letter| in_b(letter) && kept(letter));
        let summed = of(&a, &|letter| in_b(letter) && !kept(letter));
        let (rows, columns) = (of(&a, &|letter| !in_b(letter)), of(&b, &|letter| !in_a(letter)));
        let letters = [&apart[..], &rows, &columns].concat();
        let dims = |reading: &Self, term: &Term, letters: &[char]| -> Vec<Dim> {
            let axis = |letter: &char| term.letters.iter().position(|own| own == letter);
            letters.iter().filter_map(axis).map(|axis| reading.ty(term.var).dims[axis].clone()).collect()
        };
        let (batch, m, k, n) = (
            dims(self, &a, &apart),
            dims(self, &a, &rows),
            dims(self, &a, &summed),
            dims(self, &b, &columns),
        );
        let out = [&batch[..], &m, &n].concat();
        if ![&m, &k, &n].into_iter().all(|dims| is_small_product(dims)) {
            return Ok(None);
        }
        let x = self.in_order(&a, &[&apart[..], &rows, &summed].concat())?;
        let y = self.in_order(&b, &[&apart[..], &summed, &columns].concat())?;
        let (m, k, n) = (product(&m)?, product(&k)?, product(&n)?);
        let matrix = |rows: &Dim, columns: &Dim| Reshape {
            dims: [&batch[..], &[rows.clone(), columns.clone()]].concat(),
        };
        let x = self.emit(matrix(&m, &k), &[x])?;
        let y = self.emit(matrix(&k, &n), &[y])?;
        let both = match summed.is_empty() {
            // Sums of one product each.
            true => self.emit(Binary { kind: BinaryKind::Mul }, &[x, y])?,
            false => self.emit(Matmul::PLAIN, &[x, y])?,
        };
        Ok(Some(Term { var: self.emit(Reshape { dims: out }, &[both])?, letters }))
    }

    /// The value with its dimensions in this order.
    fn in_order(&mut self, term: &Term, letters: &[char]) -> Result<VarId, Fault> {
        let axis = |letter: &char| term.letters.iter().position(|own| own == letter);
        let perm: Vec<i64> = letters.iter().filter_map(axis).map(|axis| axis as i64).collect();
        match perm.iter().enumerate().all(|(axis, &from)| axis as i64 == from) {
            true => Ok(term.var),
            false => self.emit(Transpose { perm }, &[term.var]),
        }
    }
}

/// Letters, each once.
fn is_plain(letters: &[char]) -> bool {
    let once = |(at, letter): (usize, &char)| letter.is_ascii_alphabetic() && !letters[..at].contains(letter);
    letters.iter().enumerate().all(once)
}
