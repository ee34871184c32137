//! The instruction set that the kernels use, chosen once at run time, and one copy of a kernel for each.
#![allow(unsafe_code, reason = "calls functions compiled for instruction sets that were detected")]

use std::fmt;

/// The environment variable that pins the instruction set.
pub const VARIABLE: &str = "PADDLE_ISA";

/// An instruction set that this machine has. None can be made that the machine lacks; so it is sound to call code that
/// is compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isa {
    level: Level,
    /// What multiplies bf16 numbers. Kernels are not compiled for these instructions, but for a few functions of `pairs` and `amx`.
    bf16: Bf16,
}

/// The instructions for products of bf16 numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bf16 {
    /// None but those for `f32`.
    Numbers,
    /// Dot products of pairs: AVX-512 BF16, which Cooper Lake, Sapphire Rapids and Zen 4 have.
    #[cfg(target_arch = "x86_64")]
    Dots,
    /// Products of tiles: AMX, which Sapphire Rapids has.
    #[cfg(target_arch = "x86_64")]
    Tiles,
}

/// The instruction sets for which kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// x86-64 with 512-bit vectors (F, BW, CD, DQ, VL: all that the Skylake servers and Zen 4 have), and `Avx2`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// x86-64 with 256-bit vectors and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The instruction set of the compiler's target: SSE2 on x86-64, NEON on AArch64.
    Portable,
}

impl Level {
    /// Best first.
    const ALL: &[Level] = &[
        #[cfg(target_arch = "x86_64")]
        Level::Avx512,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2,
        Level::Portable,
    ];

    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            Level::Portable => "portable",
        }
    }

    /// Whether the whole program is compiled for this level, as by `-C target-cpu=native`: no machine that runs it has less.
    const fn is_given(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => cfg!(all(
                target_feature = "avx512f",
                target_feature = "avx512bw",
                target_feature = "avx512cd",
                target_feature = "avx512dq",
                target_feature = "avx512vl",
            )),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => cfg!(all(target_feature = "avx2", target_feature = "fma")),
            Level::Portable => true,
        }
    }

    /// Whether a function has a copy for this level, if one for 512 bits is worth its time (`wide`): none where all machines have more.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "there is one level"))]
    pub(crate) const fn has_copy(self, wide: bool) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => wide,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => !(wide && Level::Avx512.is_given()),
            #[cfg(target_arch = "x86_64")]
            Level::Portable => !Level::Avx2.is_given(),
            #[cfg(not(target_arch = "x86_64"))]
            Level::Portable => true,
        }
    }

    /// The levels that some machine which runs this program may need, best first.
    fn all() -> impl Iterator<Item = Level> {
        let given = Level::ALL.iter().position(|level| level.is_given()).unwrap_or(0);
        Level::ALL[..=given].iter().copied()
    }

    fn is_supported(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                Level::Avx2.is_supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Level::Portable => true,
        }
    }

    /// What of this level multiplies bf16 numbers on this machine, best first.
    fn bf16(self) -> impl Iterator<Item = Bf16> {
        let all = match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => [
                super::amx::is_permitted().then_some(Bf16::Tiles),
                is_x86_feature_detected!("avx512bf16").then_some(Bf16::Dots),
                Some(Bf16::Numbers),
            ],
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => [Some(Bf16::Numbers), None, None],
            Level::Portable => [Some(Bf16::Numbers), None, None],
        };
        all.into_iter().flatten()
    }
}

impl Isa {
    /// The instruction set that `PADDLE_ISA` names, otherwise the best that this machine has.
    pub fn from_environment() -> Result<Isa, IsaError> {
        match std::env::var_os(VARIABLE) {
            Some(name) => Isa::named(&name.to_string_lossy()),
            None => Ok(Isa::available().next().expect("every machine has the least")),
        }
    }

    /// The instruction set with this name.
    pub fn named(name: &str) -> Result<Isa, IsaError> {
        Isa::available().find(|isa| isa.name() == name).ok_or_else(|| IsaError { name: name.to_owned() })
    }

    /// The instruction sets that this machine has, best first.
    pub fn available() -> impl Iterator<Item = Isa> {
        let levels = Level::all().filter(|level| level.is_supported());
        levels.flat_map(|level| level.bf16().map(move |bf16| Isa { level, bf16 }))
    }

    /// The name, as in `PADDLE_ISA`.
    pub fn name(self) -> &'static str {
        match self.bf16 {
            #[cfg(target_arch = "x86_64")]
            Bf16::Tiles => "amx",
            #[cfg(target_arch = "x86_64")]
            Bf16::Dots => "avx512bf16",
            Bf16::Numbers => self.level.name(),
        }
    }

    pub(crate) fn level(self) -> Level {
        self.level
    }

    /// Whether there are dot products of pairs of bf16 numbers. In a copy of a kernel, which knows its level alone, this is never so.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn has_dots(self) -> bool {
        // Where there are tiles, there are dot products, too.
        self.bf16 != Bf16::Numbers
    }

    /// Whether there are products of tiles of bf16 numbers. As for dot products, not in a copy of a kernel.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn has_tiles(self) -> bool {
        self.bf16 == Bf16::Tiles
    }

    /// The instruction set that a copy of a kernel is compiled for: in the copy it is known, so that calls of other
    /// functions with copies lead straight to theirs.
    ///
    /// # Safety
    /// The machine has the instruction set.
    pub(crate) const unsafe fn of_copy(level: Level) -> Isa {
        Isa { level, bf16: Bf16::Numbers }
    }
}

/// The requested instruction set does not exist, or this machine lacks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsaError {
    /// The requested name.
    pub name: String,
}

impl fmt::Display for IsaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let available: Vec<_> = Isa::available().map(Isa::name).collect();
        write!(f, "{VARIABLE} is `{}`, but this machine has ", self.name)?;
        write!(f, "{}; name one of these, or unset it for the best", available.join(", "))
    }
}

impl std::error::Error for IsaError {}

/// Whether `mul_add` is one instruction on the compiler's target. Otherwise it is a slow call of a library function.
pub(crate) const PORTABLE_IS_FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// No copy is asked for that there is none of: no [`Isa`] has such a level.
#[cold]
pub(crate) fn has_no_copy(level: Level) -> ! {
    unreachable!("this program runs on machines that have more than {}", level.name())
}

/// Defines a function that is compiled once for each instruction set, from one body, and takes the [`Isa`] to use
/// as its first argument.
///
/// ```text
/// dispatch! {
///     /// `y += a x`
///     pub(crate) fn axpy<const FUSED: bool>(isa, a: f32, x: &[f32], y: &mut [f32]) {
///         for (y, x) in y.iter_mut().zip(x) {
///             *y = fma::<FUSED>(a, *x, *y);
///         }
///     }
/// }
/// axpy(isa, 2.0, &x, &mut y);
/// ```
///
/// `FUSED` tells the body whether `mul_add` is one instruction. The body can use the [`Isa`], which is that of
/// the copy, for calls of other functions that are defined so. The body and its closures are compiled within each copy, for the copy's instruction
/// set. The functions that it calls must be `#[inline(always)]`: a function that is
/// not inlined is compiled for the portable set, where each `mul_add` may be a call of a library function. So
/// arithmetic is better in a loop than in a method of iterators that takes a closure, as such methods are not always
/// inlined. `tests/calls` looks for calls that are left.
///
/// Type parameters follow `FUSED`, each with one bound: `<const FUSED: bool, F: Fn(f32) -> f32>`. An `unsafe fn` stays
/// unsafe.
///
/// Every copy takes time to build, in each program that uses this library. So there is one for vectors of 512 bits only
/// where the function says so, by a constant condition in front: `wide if T::WIDE;`. Other functions use 256 bits there,
/// which is as fast where memory is the limit, and as good where an operator is rare. What a wide function calls has to
/// be wide for the same types, or it leaves its instruction set.
macro_rules! dispatch {
    ($(#[$attribute:meta])* wide if $wide:expr; $vis:vis fn $($rest:tt)*) => {
        $crate::cpu::isa::dispatch!(@ [$(#[$attribute])*] [$vis] [$wide] [] $($rest)*);
    };
    ($(#[$attribute:meta])* wide if $wide:expr; $vis:vis unsafe fn $($rest:tt)*) => {
        $crate::cpu::isa::dispatch!(@ [$(#[$attribute])*] [$vis] [$wide] [unsafe] $($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis fn $($rest:tt)*) => {
        $crate::cpu::isa::dispatch!(@ [$(#[$attribute])*] [$vis] [false] [] $($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis unsafe fn $($rest:tt)*) => {
        $crate::cpu::isa::dispatch!(@ [$(#[$attribute])*] [$vis] [false] [unsafe] $($rest)*);
    };
    (@ [$(#[$attribute:meta])*] [$vis:vis] [$wide:expr] [$($unsafety:tt)?] $name:ident
        <const $fused:ident: bool $(, $type:ident: $bound:path)* $(,)?>
        ($isa:ident $(, $argument:ident: $argument_type:ty)* $(,)?) $(-> $result:ty)? $body:block
    ) => {
        $(#[$attribute])*
        #[allow(unsafe_code)]
        $vis $($unsafety)? fn $name<$($type: $bound),*>(
            $isa: $crate::cpu::isa::Isa $(, $argument: $argument_type)*
        ) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[inline(never)]
            #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
            #[allow(clippy::too_many_arguments)]
            $($unsafety)? fn avx512<$($type: $bound),*>($($argument: $argument_type),*) $(-> $result)? {
                // SAFETY: this copy is called only where the machine has its features.
                #[allow(dead_code, non_upper_case_globals)]
                const $isa: $crate::cpu::isa::Isa = unsafe { $crate::cpu::isa::Isa::of_copy($crate::cpu::isa::Level::Avx512) };
                #[allow(dead_code)]
                const $fused: bool = true;
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(never)]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            $($unsafety)? fn avx2<$($type: $bound),*>($($argument: $argument_type),*) $(-> $result)? {
                // SAFETY: this copy is called only where the machine has its features.
                #[allow(dead_code, non_upper_case_globals)]
                const $isa: $crate::cpu::isa::Isa = unsafe { $crate::cpu::isa::Isa::of_copy($crate::cpu::isa::Level::Avx2) };
                #[allow(dead_code)]
                const $fused: bool = true;
                $body
            }

            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            $($unsafety)? fn portable<$($type: $bound),*>($($argument: $argument_type),*) $(-> $result)? {
                // SAFETY: this copy is called only where the machine has its features.
                #[allow(dead_code, non_upper_case_globals)]
                const $isa: $crate::cpu::isa::Isa = unsafe { $crate::cpu::isa::Isa::of_copy($crate::cpu::isa::Level::Portable) };
                #[allow(dead_code)]
                const $fused: bool = $crate::cpu::isa::PORTABLE_IS_FUSED;
                $body
            }

            // SAFETY: an `Isa` exists only where the machine has its features. This function requires of its caller
            // what the body requires.
            #[allow(unused_unsafe)]
            unsafe {
                match $isa.level() {
                    // The compiler makes no copy that these constants exclude.
                    #[cfg(target_arch = "x86_64")]
                    $crate::cpu::isa::Level::Avx512 if const { $crate::cpu::isa::Level::Avx512.has_copy($wide) } => {
                        avx512::<$($type),*>($($argument),*)
                    }
                    #[cfg(target_arch = "x86_64")]
                    $crate::cpu::isa::Level::Avx512 | $crate::cpu::isa::Level::Avx2
                        if const { $crate::cpu::isa::Level::Avx2.has_copy($wide) } =>
                    {
                        avx2::<$($type),*>($($argument),*)
                    }
                    $crate::cpu::isa::Level::Portable
                        if const { $crate::cpu::isa::Level::Portable.has_copy($wide) } =>
                    {
                        portable::<$($type),*>($($argument),*)
                    }
                    level => $crate::cpu::isa::has_no_copy(level),
                }
            }
        }
    };
}
pub(crate) use dispatch;

/// `a * b + c`, rounded once where that is one instruction.
#[inline(always)]
pub(crate) fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::vector::Element;

    dispatch! {
        fn axpy<const FUSED: bool>(isa, a: f32, x: &[f32], y: &mut [f32]) {
            for (y, x) in y.iter_mut().zip(x) {
                *y = fma::<FUSED>(a, *x, *y);
            }
        }
    }

    dispatch! {
        fn sum_of<const FUSED: bool, F: Fn(f32) -> f32>(isa, x: &[f32], f: F) -> f32 {
            x.iter().map(|&x| f(x)).sum()
        }
    }

    dispatch! {
        unsafe fn first<const FUSED: bool, T: Copy>(isa, x: *const T) -> (T, bool) {
            // SAFETY: the caller's.
            (unsafe { *x }, FUSED)
        }
    }

    dispatch! {
        wide if T::WIDE;
        fn name_of_copy<const FUSED: bool, T: Element>(isa) -> (T, &'static str) {
            (T::ZERO, isa.name())
        }
    }

    #[test]
    fn only_wide_functions_have_copies_for_512_bits() {
        for isa in Isa::available() {
            let wide = isa.level().name();
            let narrow = if wide == "avx512" { "avx2" } else { wide };
            assert_eq!(name_of_copy::<f32>(isa), (0.0, wide));
            assert_eq!(name_of_copy::<f64>(isa), (0.0, narrow));
        }
    }

    #[test]
    fn every_copy_computes_the_same() {
        for isa in Isa::available() {
            let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
            let mut y = vec![1.0; 1000];
            axpy(isa, 2.0, &x, &mut y);
            assert!(y.iter().enumerate().all(|(i, &y)| y == 2.0 * i as f32 + 1.0), "{isa:?}");
            assert_eq!(sum_of(isa, &x[..100], |x| x + 1.0), 5050.0);
            // SAFETY: `x` has a first element.
            let (value, fused) = unsafe { first(isa, x.as_ptr()) };
            assert_eq!(value, 0.0);
            assert_eq!(fused, isa.name() != "portable" || PORTABLE_IS_FUSED);
        }
    }

    #[test]
    fn names_are_understood_or_refused() {
        assert_eq!(Isa::named("portable").is_ok(), Level::Portable.has_copy(false));
        for isa in Isa::available() {
            assert_eq!(Isa::named(isa.name()), Ok(isa));
        }
        for name in ["", "AVX2", "sse9"] {
            let error = Isa::named(name).unwrap_err();
            assert_eq!(error.name, name);
            assert!(error.to_string().contains(Isa::available().last().unwrap().name()), "{error}");
        }
    }
}
