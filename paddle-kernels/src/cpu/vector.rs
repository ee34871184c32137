//! Vector registers, for kernels that decide themselves which values are held in registers.
#![allow(unsafe_code, reason = "vector instructions and raw loads")]

mod factors;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use matrixmultiply::{dgemm, sgemm};

use self::factors::OfNumbers;
pub(crate) use self::factors::{Factor, FactorWork, Factors};
use super::isa::{Isa, Level, PORTABLE_IS_FUSED, has_no_copy};
use super::matmul::Gemm;
use super::number;

/// A number of matrices, and the registers that hold such numbers.
pub(crate) trait Element: number::Element + Factor<Sum = Self> + From<i8> {
    /// Those of AVX-512, if the elements are [`WIDE`](number::Element::WIDE).
    #[cfg(target_arch = "x86_64")]
    type Avx512: Vector<Element = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Element = Self>;
    type Portable: Vector<Element = Self>;
}

/// The registers that kernels use of double precision, and of instruction sets that are chosen where there is no other. These have
/// more, but each shape of a kernel takes time to build, in each program that uses this library.
pub(super) const FEW_REGISTERS: usize = 8;

/// The side of the square that [`Factor::transpose_block`] transposes.
pub(crate) const BLOCK: usize = 4;

/// Asks for the line of the cache at an address, which need not be one of memory.
#[inline(always)]
pub(crate) fn fetch<T>(address: *const T) {
    fetch_to::<FIRST, T>(address);
}

/// The same, for the second-level cache: what is needed much later would leave the first.
#[inline(always)]
pub(crate) fn fetch_to_second<T>(address: *const T) {
    fetch_to::<SECOND, T>(address);
}

/// The caches, as instructions of x86-64 number them.
const FIRST: i32 = 3;
const SECOND: i32 = 2;

/// Asks for a line in this cache.
#[inline(always)]
fn fetch_to<const CACHE: i32, T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it is a hint, which reads nothing.
    unsafe {
        _mm_prefetch::<CACHE>(address.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Element for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = F32x16;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = F32x8;
    type Portable = Lanes<f32, 4>;
}

impl Factor for f32 {
    type Sum = f32;

    const ZERO: f32 = 0.0;
    const GEMM: Option<Gemm<f32>> = Some(Gemm { compute: sgemm, zero_and_one: [0.0, 1.0] });

    fn on_factors(isa: Isa, work: impl FactorWork<f32>) {
        on_registers(isa, OfNumbers(work));
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn transpose_block(from: *const f32, stride: usize, to: *mut f32, step: usize) {
        // SAFETY: the caller ensures that the elements are valid; x86-64 has SSE.
        unsafe {
            let mut lines = [_mm_setzero_ps(); BLOCK];
            for (j, line) in lines.iter_mut().enumerate() {
                *line = _mm_loadu_ps(from.add(j * stride));
            }
            let [a, b, c, d] = &mut lines;
            _MM_TRANSPOSE4_PS(a, b, c, d);
            for (p, line) in lines.iter().enumerate() {
                _mm_storeu_ps(to.add(p * step), *line);
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    unsafe fn transpose_block(from: *const f32, stride: usize, to: *mut f32, step: usize) {
        // SAFETY: as required of the caller.
        unsafe { transpose_block(from, stride, to, step) }
    }
}

impl Element for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = F64x4;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = F64x4;
    type Portable = Lanes<f64, 2>;
}

impl Factor for f64 {
    type Sum = f64;

    const ZERO: f64 = 0.0;
    const GEMM: Option<Gemm<f64>> = Some(Gemm { compute: dgemm, zero_and_one: [0.0, 1.0] });

    fn on_factors(isa: Isa, work: impl FactorWork<f64>) {
        on_registers(isa, OfNumbers(work));
    }

    #[inline(always)]
    unsafe fn transpose_block(from: *const f64, stride: usize, to: *mut f64, step: usize) {
        // SAFETY: as required of the caller.
        unsafe { transpose_block(from, stride, to, step) }
    }
}

/// # Safety
/// As for [`Factor::transpose_block`].
#[inline(always)]
pub(crate) unsafe fn transpose_block<T: Copy>(from: *const T, stride: usize, to: *mut T, step: usize) {
    for p in 0..BLOCK {
        for j in 0..BLOCK {
            // SAFETY: as required of the caller.
            unsafe { *to.add(p * step + j) = *from.add(j * stride + p) }
        }
    }
}

/// A register of `LANES` elements.
///
/// # Safety
/// Every function needs the instruction set of its type, and is fast only if it is inlined into a function compiled for
/// that set. Loads and stores access `LANES` elements; the partial ones access the first `count <= LANES`. No alignment
/// is needed beyond that of an element.
pub(crate) trait Register: Copy {
    type Element: Factor;
    const LANES: usize;
    /// The number of registers that kernels hold values in. There is a copy of a kernel for each shape that fits them.
    const REGISTERS: usize;

    unsafe fn splat(value: Self::Element) -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Loads `count` elements; the lanes behind them are zero.
    unsafe fn load_partial(from: *const Self::Element, count: usize) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    unsafe fn store_partial(self, to: *mut Self::Element, count: usize);
}

/// A register of numbers.
///
/// # Safety
/// As for [`Register`].
pub(crate) trait Vector: Register<Element: Element> {
    /// `self * b + c`, rounded once if the instruction set can.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// `self` where it is larger than `b`, and `b` elsewhere, also where they cannot be compared.
    unsafe fn or_larger(self, b: Self) -> Self;
    /// `yes` where `self` and `b` have the same bits, and `no` elsewhere.
    unsafe fn select_same(self, b: Self, yes: Self, no: Self) -> Self;
}

/// Work that is compiled for the registers of each instruction set.
pub(crate) trait Work<T: Element> {
    /// Does the work.
    ///
    /// # Safety
    /// The machine has the instruction set of `V`. This function is inlined into one that is compiled for it.
    unsafe fn run<V: Vector<Element = T>>(self);
}

/// Does work on the widest registers of an instruction set.
pub(crate) fn on_registers<T: Element>(isa: Isa, work: impl Work<T>) {
    // SAFETY: an `Isa` exists only where the machine has it.
    unsafe {
        match isa.level() {
            // The compiler makes no copy that these constants exclude.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if const { Level::Avx512.has_copy(T::WIDE) } => avx512(work),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx2 if const { Level::Avx2.has_copy(T::WIDE) } => avx2(work),
            Level::Portable if const { Level::Portable.has_copy(T::WIDE) } => work.run::<T::Portable>(),
            level => has_no_copy(level),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn avx512<T: Element>(work: impl Work<T>) {
    // SAFETY: this function is compiled for these registers.
    unsafe { work.run::<T::Avx512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<T: Element>(work: impl Work<T>) {
    // SAFETY: this function is compiled for these registers.
    unsafe { work.run::<T::Avx2>() }
}

/// The widest registers of an instruction set.
pub(crate) struct Registers {
    pub(crate) count: usize,
    pub(crate) lanes: usize,
}

impl Registers {
    pub(crate) fn of<T: Element>(isa: Isa) -> Self {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if T::WIDE => Registers::like::<T::Avx512>(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx2 => Registers::like::<T::Avx2>(),
            Level::Portable => Registers::like::<T::Portable>(),
        }
    }

    fn like<V: Vector>() -> Self {
        Registers { count: V::REGISTERS, lanes: V::LANES }
    }
}

/// An x86-64 register, by its intrinsics.
#[cfg(target_arch = "x86_64")]
macro_rules! register {
    (
        $name:ident: $register:ident of $lanes:literal $element:ident, $registers:tt registers,
        $splat:ident, $load:ident, $store:ident, $mul_add:ident,
        $add:ident, $sub:ident, $mul:ident, $div:ident, $max:ident,
        |$a:ident, $b:ident, $yes:ident, $no:ident| $select_same:expr,
        |$from:ident, $load_count:ident| $load_partial:expr,
        |$to:ident, $store_count:ident, $value:ident| $store_partial:expr
    ) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub(crate) $register);

        impl Register for $name {
            type Element = $element;
            const LANES: usize = $lanes;
            const REGISTERS: usize = $registers;

            #[inline(always)]
            unsafe fn splat(value: $element) -> Self {
                // SAFETY: the caller has the instruction set.
                unsafe { $name($splat(value)) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller has the instruction set, and `from` is valid for all lanes.
                unsafe { $name($load(from)) }
            }

            #[inline(always)]
            unsafe fn load_partial($from: *const $element, $load_count: usize) -> Self {
                // SAFETY: the caller has the instruction set; lanes beyond the valid ones are masked off.
                unsafe { $name($load_partial) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the caller has the instruction set, and `to` is valid for all lanes.
                unsafe { $store(to, self.0) }
            }

            #[inline(always)]
            unsafe fn store_partial(self, $to: *mut $element, $store_count: usize) {
                let $value = self.0;
                // SAFETY: the caller has the instruction set; lanes beyond the valid ones are masked off.
                unsafe { $store_partial }
            }
        }

        impl Vector for $name {
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the caller has the instruction set.
                unsafe { $name($mul_add(self.0, b.0, c.0)) }
            }

            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: the caller has the instruction set.
                unsafe { $name($add(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                // SAFETY: the caller has the instruction set.
                unsafe { $name($sub(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: the caller has the instruction set.
                unsafe { $name($mul(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn div(self, b: Self) -> Self {
                // SAFETY: the caller has the instruction set.
                unsafe { $name($div(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn or_larger(self, b: Self) -> Self {
                // The instruction gives the second operand if neither is larger.
                // SAFETY: the caller has the instruction set.
                unsafe { $name($max(self.0, b.0)) }
            }

            #[inline(always)]
            unsafe fn select_same(self, b: Self, yes: Self, no: Self) -> Self {
                let ($a, $b, $yes, $no) = (self.0, b.0, yes.0, no.0);
                // SAFETY: the caller has the instruction set.
                unsafe { $name($select_same) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
register! {
    F32x16: __m512 of 16 f32, 32 registers,
    _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps,
    _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_div_ps, _mm512_max_ps,
    |a, b, yes, no| {
        let same = _mm512_cmpeq_epi32_mask(_mm512_castps_si512(a), _mm512_castps_si512(b));
        _mm512_mask_blend_ps(same, no, yes)
    },
    |from, count| _mm512_maskz_loadu_ps(((1u32 << count) - 1) as u16, from),
    |to, count, value| _mm512_mask_storeu_ps(to, ((1u32 << count) - 1) as u16, value)
}

#[cfg(target_arch = "x86_64")]
register! {
    F32x8: __m256 of 8 f32, 16 registers,
    _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps,
    _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps, _mm256_max_ps,
    |a, b, yes, no| {
        let same = _mm256_cmpeq_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b));
        _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(same))
    },
    |from, count| _mm256_maskload_ps(from, first_of_8(count)),
    |to, count, value| _mm256_maskstore_ps(to, first_of_8(count), value)
}

#[cfg(target_arch = "x86_64")]
register! {
    F64x4: __m256d of 4 f64, FEW_REGISTERS registers,
    _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd,
    _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd, _mm256_max_pd,
    |a, b, yes, no| {
        let same = _mm256_cmpeq_epi64(_mm256_castpd_si256(a), _mm256_castpd_si256(b));
        _mm256_blendv_pd(no, yes, _mm256_castsi256_pd(same))
    },
    |from, count| _mm256_maskload_pd(from, first_of_4(count)),
    |to, count, value| _mm256_maskstore_pd(to, first_of_4(count), value)
}

/// The mask of the first `count` of 8 lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn first_of_8(count: usize) -> __m256i {
    _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
}

/// The mask of the first `count` of 4 lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn first_of_4(count: usize) -> __m256i {
    _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3))
}

/// A register of the compiler's target, whichever that is.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<T, const LANES: usize>(pub(crate) [T; LANES]);

macro_rules! lanes {
    ($element:ident, $lanes:literal) => {
        impl Register for Lanes<$element, $lanes> {
            type Element = $element;
            const LANES: usize = $lanes;
            const REGISTERS: usize = if cfg!(target_arch = "aarch64") { 32 } else { FEW_REGISTERS };

            #[inline(always)]
            unsafe fn splat(value: $element) -> Self {
                Lanes([value; $lanes])
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: `from` is valid for all lanes.
                Lanes(unsafe { from.cast::<[$element; $lanes]>().read() })
            }

            #[inline(always)]
            unsafe fn load_partial(from: *const $element, count: usize) -> Self {
                let mut lanes = [0.0; $lanes];
                for (lane, value) in lanes.iter_mut().enumerate().take(count) {
                    // SAFETY: `from` is valid for `count` lanes.
                    *value = unsafe { *from.add(lane) };
                }
                Lanes(lanes)
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: `to` is valid for all lanes.
                unsafe { to.cast::<[$element; $lanes]>().write(self.0) }
            }

            #[inline(always)]
            unsafe fn store_partial(self, to: *mut $element, count: usize) {
                for (lane, value) in self.0.into_iter().enumerate().take(count) {
                    // SAFETY: `to` is valid for `count` lanes.
                    unsafe { *to.add(lane) = value };
                }
            }
        }

        impl Vector for Lanes<$element, $lanes> {
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                let mut lanes = c.0;
                for lane in 0..$lanes {
                    lanes[lane] = if PORTABLE_IS_FUSED {
                        self.0[lane].mul_add(b.0[lane], c.0[lane])
                    } else {
                        self.0[lane] * b.0[lane] + c.0[lane]
                    };
                }
                Lanes(lanes)
            }

            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                Lanes(std::array::from_fn(|lane| self.0[lane] + b.0[lane]))
            }

            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                Lanes(std::array::from_fn(|lane| self.0[lane] - b.0[lane]))
            }

            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                Lanes(std::array::from_fn(|lane| self.0[lane] * b.0[lane]))
            }

            #[inline(always)]
            unsafe fn div(self, b: Self) -> Self {
                Lanes(std::array::from_fn(|lane| self.0[lane] / b.0[lane]))
            }

            #[inline(always)]
            unsafe fn or_larger(self, b: Self) -> Self {
                let larger = |lane: usize| if self.0[lane] > b.0[lane] { self.0[lane] } else { b.0[lane] };
                Lanes(std::array::from_fn(larger))
            }

            #[inline(always)]
            unsafe fn select_same(self, b: Self, yes: Self, no: Self) -> Self {
                let same = |lane: usize| self.0[lane].to_bits() == b.0[lane].to_bits();
                Lanes(std::array::from_fn(|lane| if same(lane) { yes.0[lane] } else { no.0[lane] }))
            }
        }
    };
}

lanes!(f32, 4);
lanes!(f64, 2);
