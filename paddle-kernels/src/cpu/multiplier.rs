//! What multiplies matrices: our kernels, or those of the crate `matrixmultiply`. It is chosen once for a CPU.

use std::fmt;

use super::isa::{Isa, Level};

/// The environment variable that chooses what multiplies matrices.
pub const VARIABLE: &str = "PADDLE_MATMUL";

/// Products with fewer rows, or fewer columns, repay none of the packing that `matrixmultiply` does for them.
const FEWEST: usize = 8;

/// What multiplies matrices, in the operators that are products of matrices in memory. Convolutions and attention, whose
/// factors are made as they are needed, always use our kernels.
///
/// Whichever it is, the bits of a product depend on no number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplier {
    /// Our kernels. They allocate nothing, and an element of a product has the same bits among any other rows.
    Own,
    /// The crate `matrixmultiply`, a tile at a time. It uses the widest registers of the processor, also where a
    /// narrower instruction set was asked for. It allocates what it packs a tile into, at most 2.2 MiB on each thread,
    /// and ends the process where there is no memory for that.
    Matrixmultiply,
    /// `matrixmultiply` for products of at least eight rows and eight columns, and our kernels for others: so an
    /// element of a product may have other last bits among other rows.
    ByShape,
}

impl Multiplier {
    /// What `PADDLE_MATMUL` names, otherwise the best for this instruction set.
    pub fn from_environment(isa: Isa) -> Result<Multiplier, MultiplierError> {
        match std::env::var_os(VARIABLE) {
            Some(name) => Multiplier::named(&name.to_string_lossy()),
            None => Ok(Multiplier::best(isa)),
        }
    }

    /// The one of this name: `own` or `matrixmultiply`.
    pub fn named(name: &str) -> Result<Multiplier, MultiplierError> {
        match name {
            "own" => Ok(Multiplier::Own),
            "matrixmultiply" => Ok(Multiplier::Matrixmultiply),
            _ => Err(MultiplierError { name: name.to_owned() }),
        }
    }

    /// `ByShape` where it was measured to be faster: on x86-64 processors that have AVX, but not AVX2, for which we have
    /// kernels. `Own` elsewhere, and where the instruction set is not the best of this machine: who asks for a
    /// narrower one does not want registers that it lacks. `benches/NOTES.md` of the repository has the measurements.
    pub fn best(isa: Isa) -> Multiplier {
        let is_best = Isa::available().next() == Some(isa);
        match isa.level() {
            Level::Portable if is_best && has_wider_registers() => Multiplier::ByShape,
            _ => Multiplier::Own,
        }
    }

    /// Whether `matrixmultiply` computes a product of so many rows and columns.
    pub(super) fn is_matrixmultiply(self, rows: usize, columns: usize) -> bool {
        match self {
            Multiplier::Own => false,
            Multiplier::Matrixmultiply => true,
            Multiplier::ByShape => rows.min(columns) >= FEWEST,
        }
    }
}

/// Whether `matrixmultiply` has wider registers on this machine than the portable set: those of AVX.
fn has_wider_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Nothing that multiplies matrices has the requested name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultiplierError {
    /// The requested name.
    pub name: String,
}

impl fmt::Display for MultiplierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VARIABLE} is `{}`, but matrices are multiplied by own, matrixmultiply; ", self.name)?;
        write!(f, "name one of these, or unset it for the best")
    }
}

impl std::error::Error for MultiplierError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood_or_refused() {
        assert_eq!(Multiplier::named("own"), Ok(Multiplier::Own));
        assert_eq!(Multiplier::named("matrixmultiply"), Ok(Multiplier::Matrixmultiply));
        for name in ["", "Own", "blas", "own,matrixmultiply"] {
            let error = Multiplier::named(name).unwrap_err();
            assert_eq!(error.name, name);
            let text = error.to_string();
            assert!(
                text.contains(&format!("{VARIABLE} is `{name}`")) && text.contains("own, matrixmultiply"),
                "{text}"
            );
        }
    }

    #[test]
    fn sets_with_kernels_of_our_own_use_them() {
        for isa in Isa::available() {
            let best = Multiplier::best(isa);
            let may_differ =
                isa.name() == "portable" && Isa::available().count() == 1 && has_wider_registers();
            assert_eq!(best, if may_differ { Multiplier::ByShape } else { Multiplier::Own }, "{isa:?}");
        }
    }

    #[test]
    fn products_of_few_rows_or_columns_are_ours_by_shape() {
        for (rows, columns, is_theirs) in
            [(8, 8, true), (7, 100, false), (100, 7, false), (1, 1, false), (0, 9, false)]
        {
            assert_eq!(Multiplier::ByShape.is_matrixmultiply(rows, columns), is_theirs, "{rows} {columns}");
            assert!(Multiplier::Matrixmultiply.is_matrixmultiply(rows, columns));
            assert!(!Multiplier::Own.is_matrixmultiply(rows, columns));
        }
    }
}
