//! Factors of products: their elements, and registers of them.
#![allow(unsafe_code, reason = "functions that need an instruction set")]

use super::{Element, Register, Vector, Work};
use crate::cpu::isa::Isa;
use crate::cpu::matmul::Gemm;

/// An element of the factors of products: a number, or a pair of numbers of half precision.
pub(crate) trait Factor: Copy + Default + Send + Sync + 'static {
    /// The numbers in which products are added up.
    type Sum: Element;

    const ZERO: Self;
    /// What the crate `matrixmultiply` has for such matrices.
    const GEMM: Option<Gemm<Self>>;

    /// Transposes `BLOCK` by `BLOCK` elements: `to[p * step + j] = from[j * stride + p]`.
    ///
    /// # Safety
    /// These elements are valid.
    unsafe fn transpose_block(from: *const Self, stride: usize, to: *mut Self, step: usize);

    /// Does work on the widest registers of an instruction set.
    fn on_factors(isa: Isa, work: impl FactorWork<Self>);
}

/// A register of factors, which are multiplied and added to sums lane by lane.
///
/// # Safety
/// As for [`Register`].
pub(crate) trait Factors: Register {
    /// As many sums.
    type Sums: Vector<Element = <Self::Element as Factor>::Sum>;

    /// Adds the products with `b` to `sums`.
    unsafe fn multiply(self, b: Self, sums: Self::Sums) -> Self::Sums;
}

impl<V: Vector> Factors for V {
    type Sums = V;

    #[inline(always)]
    unsafe fn multiply(self, b: V, sums: V) -> V {
        // SAFETY: the caller's.
        unsafe { self.mul_add(b, sums) }
    }
}

/// Work on factors that is compiled for the registers of each instruction set.
pub(crate) trait FactorWork<T: Factor> {
    /// Does the work.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`. This function is inlined into one that is compiled for it.
    unsafe fn run<V: Factors<Element = T>>(self);
}

/// Work on factors that are numbers.
pub(super) struct OfNumbers<W>(pub(super) W);

impl<T: Element, W: FactorWork<T>> Work<T> for OfNumbers<W> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's.
        unsafe { self.0.run::<V>() }
    }
}
